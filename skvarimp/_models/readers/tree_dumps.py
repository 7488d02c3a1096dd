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
        `sets` by the categories' numbers; changed in place.
    others_left : bool
        Whether categories that a split does not name go left.

    Returns
    -------
    dict
        Column -> its named categories, ascending.
    """
    named, numeric = {}, set()
    for tree in trees:
        for node, own in tree.sets.items():
            of_column = named.setdefault(int(tree.column[node]), set())
            of_column.update(np.flatnonzero(own != others_left).tolist())
        numeric.update(np.delete(tree.column, list(tree.sets)).tolist())
    if numeric & set(named):
        raise NotReadable("a column is split both as a number and as categories")
    named = {j: np.array(sorted(numbers)) for j, numbers in named.items()}
    for tree in trees:
        for node, own in tree.sets.items():
            numbers = named[int(tree.column[node])]
            inside = numbers < len(own)
            tree.sets[node] = np.full(len(numbers) + 1, others_left)
            tree.sets[node][:-1][inside] = own[numbers[inside]]
    return named
