"""Class labels: encoded here for scales, losses, measures and selectors alike."""

import numpy as np

from skvarimp._data.values import factorized, numbers_if_possible


def as_columns(y):
    """y as (n_samples, n_columns)."""
    y = np.asarray(y)
    return y[:, np.newaxis] if y.ndim == 1 else y


def class_lists(classes):
    """Classes of each column of y as a list of arrays, from `classes_`.

    Parameters
    ----------
    classes : array-like, or list of them
        Of one column, or one for each column.
    """
    if isinstance(classes, list) and np.ndim(classes[0]) > 0:
        return [np.asarray(c) for c in classes]
    return [np.asarray(classes)]


def encoded(y):
    """Classes of one column of labels, and the position of each label among them.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Numbers are sorted by value, and other labels by their text.

    Returns
    -------
    classes : ndarray of shape (n_classes,)
    codes : ndarray of shape (n_samples,)
    """
    y = np.asarray(y)
    codes, first = factorized(numbers_if_possible(y))
    return y[first], codes


def positions(y, lists, strict=True):
    """Position of each label among the classes of its column.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, n_columns)
    lists : list of ndarray
        The classes of each column.
    strict : bool, default=True
        Whether to refuse labels that are no class; else they get -1.

    Returns
    -------
    ndarray of shape (n_samples, n_columns)
    """
    columns = as_columns(y)
    if columns.shape[1] != len(lists):
        raise ValueError(
            f"y has {columns.shape[1]} columns, but the model was fitted with "
            f"{len(lists)}. Pass the y the model was fitted with."
        )
    result = np.empty(columns.shape, dtype=np.intp)
    for c, classes in enumerate(lists):
        labels, codes = encoded(columns[:, c])
        place = {label: k for k, label in enumerate(classes.tolist())}
        places = [place.get(label, -1) for label in labels.tolist()]
        result[:, c] = np.array(places, dtype=np.intp)[codes]
        unknown = result[:, c] < 0
        if strict and unknown.any():
            label = columns[unknown, c].tolist()[0]
            raise ValueError(
                f"y has the label {label!r}, which is not among the model's classes "
                f"{classes.tolist()}."
            )
    return result


def watched(classes):
    """Classes that get an output: the second of two, else all."""
    return classes[1:] if len(classes) == 2 else classes


def n_watched(lists):
    """Number of outputs of all columns."""
    return sum(len(watched(classes)) for classes in lists)


def indicators(y, lists, strict=True):
    """One indicator for each class of each column, the first of two classes dropped.

    Parameters
    ----------
    y, lists, strict
        As for `positions`.

    Returns
    -------
    ndarray of shape (n_samples, n_outputs)
    """
    codes = positions(y, lists, strict)
    return np.hstack(
        [
            codes[:, c, np.newaxis] == watched(np.arange(len(classes)))
            for c, classes in enumerate(lists)
        ]
    ).astype(np.float64)


def output_names(lists):
    """Names of the indicators: classes, of several columns with the column's number."""
    if len(lists) == 1:
        return [str(c) for c in watched(lists[0])]
    return [f"y{o}: {c}" for o, classes in enumerate(lists) for c in watched(classes)]
