"""Small trees: rows that answer all of their questions alike go down as one.

A split asks a row one question. Trees that ask `QUESTIONS` of them together tell
2^QUESTIONS kinds of rows apart, however many rows there are. So the answers of each
row are put into the bits of one number, one row of each kind goes down, and what it
finds holds for all rows of its kind.
"""

import numpy as np

QUESTIONS = 8  # of the trees that rows go down together, at most
KINDS = 2**QUESTIONS
ROWS_OF_KIND = 16  # from so many on kinds take less time than rows


def serves(table, n_rows):
    """Whether all trees of a table are small, and the rows many."""
    return n_rows >= ROWS_OF_KIND * KINDS and 1 < table.max_leaves <= QUESTIONS + 1


def goes_left(table, node, codes, some_missing):
    """Whether rows of some codes go left at a node, (n_rows,) bool."""
    if table.left_set is not None and table.left_set[node] >= 0:
        return table.sets[table.left_set[node]].take(codes)
    goes = codes < int(table.cut[node])
    if some_missing and table.missing_left[node]:
        goes |= codes == int(table.missing_code[table.feature[node]])
    return goes


def some_missing(table, codes):
    """Whether a value of each feature is missing; codes (n_features, n_rows)."""
    return codes.max(axis=1) == table.missing_code


def alike(table, codes):
    """Yield some trees at a time, and the kinds of rows that they tell apart.

    Parameters
    ----------
    table : TreeTable
    codes : ndarray of shape (n_features, n_rows)

    Yields
    ------
    roots : ndarray of shape (n_trees,)
    kind : ndarray of shape (n_rows,) or None
        None: each row is of its own kind, for all trees.
    codes_of_kinds : ndarray of shape (n_features, n_kinds)
        Of a row of each kind, and of any row where a kind has none.
    """
    if not serves(table, codes.shape[1]):
        yield table.roots, None, codes
        return
    missing = some_missing(table, codes)
    for trees, nodes in _in_groups(table):
        kind = np.zeros(codes.shape[1], dtype=np.uint8)
        for question, node in enumerate(nodes):
            feature = table.feature[node]
            goes = goes_left(table, node, codes[feature], missing[feature])
            kind |= goes.view(np.uint8) << question
        kind = kind.astype(np.intp)
        row = np.zeros(KINDS, dtype=np.intp)
        row[kind] = np.arange(len(kind))
        yield table.roots[trees], kind, codes[:, row]


def _in_groups(table):
    """Yield lists of trees that ask `QUESTIONS` together, and their inner nodes."""
    inner = np.flatnonzero(table.feature >= 0)
    of_tree = np.searchsorted(table.tree[inner], np.arange(len(table.roots) + 1))
    trees, nodes = [], []
    # those that ask about the same features side by side
    for tree in np.argsort(table.feature[table.roots], kind="stable").tolist():
        more = inner[of_tree[tree] : of_tree[tree + 1]].tolist()
        if len(nodes) + len(more) > QUESTIONS:
            yield trees, nodes
            trees, nodes = [], []
        trees, nodes = [*trees, tree], nodes + more
    yield trees, nodes
