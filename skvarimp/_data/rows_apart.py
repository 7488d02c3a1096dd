"""Rows that are not in one place, which the room `_partitions` serves.

The other rooms know of it only by `ROWS_APART`, a list with one class, `Partitions`, or
none: then no measure takes a Dask collection. Such rows have a `head`, a few of them;
`problem` is a `Problem` of all, and `fit_firm` and `fit_trees` fit the measures that
ask no `Problem`.
"""

from skvarimp._data.table import as_table

ROWS_APART = []


def as_rows(X, y=None, sample_weight=None, feature_names=None):
    """X as a `Table`, or as rows of `ROWS_APART` together with y and weights.

    Parameters
    ----------
    X, y, sample_weight : object
        As the user passed them; rows apart have theirs.
    feature_names : sequence of str, default=None
        Names for the columns of an X that has none.
    """
    for kind in ROWS_APART:
        if isinstance(X, kind):
            return X
        if kind.takes(X):
            return kind(X, y, sample_weight, feature_names)
    return as_table(X, feature_names)
