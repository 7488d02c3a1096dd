"""Small trees: rows that answer all of their questions alike go down as one.

A split asks a row one question. Trees that ask `QUESTIONS` of them together tell
2^QUESTIONS kinds of rows apart, however many rows there are. So the answers of each
row are put into the bits of one number, one row of each kind goes down, and what it
finds holds for all rows of its kind.
"""

import numpy as np

from skvarimp._response.responses.trees.descent import Descent

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


def kinds(table, codes):
    """Yield some trees at a time, and the kinds of rows that they tell apart.

    Parameters
    ----------
    table : TreeTable
        That is served.
    codes : ndarray of shape (n_features, n_rows)

    Yields
    ------
    trees : ndarray of shape (n_trees,)
    kind : ndarray of shape (n_rows,)
    codes_of_kinds : ndarray of shape (n_features, KINDS)
        Of a row of each kind, and of any row where a kind has none.
    """
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
        yield np.array(trees), kind, codes[:, row]


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


def along(table, codes, members, slopes):
    """Products of rows' curves with numbers of the cells.

    result[m, o, i] = sum_k slopes[m][o, k] (curve of row i, moved minus unmoved)

    Parameters
    ----------
    table : TreeTable
        That is served.
    codes : ndarray of shape (n_rows, n_features)
    members : list of Member
        Each with a feature of its own.
    slopes : list of ndarray of shape (n_raw, n_cells)

    Returns
    -------
    ndarray of shape (n_members, n_raw, n_rows)
    """
    n_features = len(table.columns)
    of_edges = np.zeros((table.n_raw, len(table.feature)))
    for member, slope in zip(members, slopes):
        of_edges[:, table.edges_on(member.feature)] = _over_edges(member, slope)
    moving = np.zeros(n_features, dtype=bool)
    moving[[member.feature for member in members]] = True
    result = np.zeros((n_features, table.n_raw, len(codes)))
    for trees, kind, codes_of_kinds in kinds(table, np.ascontiguousarray(codes.T)):
        descent = Descent(table, codes_of_kinds.T, trees)
        for visits in descent.visits(moving):
            feature = table.edge_feature.take(visits.edge)
            key = feature * KINDS + descent.row(visits.path)
            changes = descent.changes(visits) * of_edges.take(visits.edge, axis=1)
            for o, of_raw in enumerate(changes):
                sums = np.bincount(key, of_raw, n_features * KINDS)
                for u in np.unique(feature):
                    result[u, o] += sums[u * KINDS : (u + 1) * KINDS].take(kind)
    return result[[member.feature for member in members]]


def _over_edges(member, slope):
    """Sums of a slope over the cells that each edge admits, (n_raw, n_edges)."""
    start, count, steps = member.edges
    behind = np.cumsum(slope[:, ::-1], axis=1)[:, ::-1]
    turn = np.arange(len(steps)) - start.repeat(count)
    signed = behind[:, steps] * (1 - 2 * (turn % 2))
    edge = np.arange(len(count)).repeat(count)
    return np.stack([np.bincount(edge, s, len(count)) for s in signed])
