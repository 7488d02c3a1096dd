"""What the readers of boosting libraries' own model files have in common."""

from contextlib import contextmanager

import numpy as np

from skvarimp._models.forms import NotReadable


@contextmanager
def reading(library):
    """Decline a model whose file lacks what the reader looks for."""
    try:
        yield
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as missed:
        what = f"{type(missed).__name__}: {missed}"
        raise NotReadable(
            f"this version of {library} writes its models in another format ({what})"
        ) from missed


def used_columns(trees):
    """Columns that any of some raw trees splits on, ascending."""
    columns = np.unique(np.concatenate([tree.column for tree in trees]))
    return columns[columns >= 0].tolist()


def number_categories(trees, others_left):
    """Replace categories' numbers by their positions in the sets of raw trees.

    Parameters
    ----------
    trees : list of Tree
        `sets` as wide as the largest number in a tree; changed in place.
    others_left : bool
        Whether categories that a split does not name go left.

    Returns
    -------
    dict
        Column -> its named categories, ascending.
    """
    named, numeric = {}, set()
    for tree in trees:
        nominal = np.zeros(len(tree.column), dtype=bool)
        if tree.left_set is not None:
            nominal = tree.left_set >= 0
            for node in np.flatnonzero(nominal):
                of_node = np.flatnonzero(tree.sets[tree.left_set[node]] != others_left)
                named.setdefault(int(tree.column[node]), set()).update(of_node.tolist())
        numeric.update(tree.column[~nominal & (tree.column >= 0)].tolist())
    if numeric & set(named):
        raise NotReadable("a column is split both as a number and as categories")
    if not named:
        return {}
    named = {j: np.array(sorted(numbers)) for j, numbers in named.items()}
    width = 1 + max(len(numbers) for numbers in named.values())
    for tree in trees:
        _renumber(tree, named, width, others_left)
    return named


def _renumber(tree, named, width, others_left):
    n_sets = 0 if tree.sets is None else len(tree.sets)
    sets = np.full((n_sets, width), others_left)
    if tree.left_set is None:
        tree.left_set = np.full(len(tree.column), -1)
    for node in np.flatnonzero(tree.left_set >= 0):
        s, numbers = tree.left_set[node], named[int(tree.column[node])]
        inside = numbers < tree.sets.shape[1]
        sets[s, np.flatnonzero(inside)] = tree.sets[s, numbers[inside]]
    tree.sets = sets
