"""Class labels: the classes of y, the outputs that stand for them, and indicators."""

import numpy as np

from skvarimp._data.base_table import factorized, numbers_if_possible
from skvarimp._running.guards import spend, users_code


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
    shown = [watched(np.arange(len(classes))) for classes in lists]
    return where_codes(positions(y, lists, strict), shown).astype(np.float64)


def where_codes(codes, shown):
    """Whether each row has each of some codes, side by side, (n_samples, n) bool.

    Parameters
    ----------
    codes : ndarray of shape (n_samples, n_columns)
    shown : iterable of ndarray
        Codes of each column.
    """
    return np.hstack([codes[:, [c]] == of_one for c, of_one in enumerate(shown)])


def classes_of(classifier):
    """`class_lists` of a fitted classifier."""
    classes = getattr(classifier, "classes_", None)
    if classes is None:
        raise ValueError(
            f"{type(classifier).__name__} is a classifier without `classes_`. "
            "Pass a callable that returns its scores instead."
        )
    return class_lists(classes)


def shown_names(lists, n_outputs):
    """Names of so many scores, of all classes or of those watched; None: of neither."""
    if len(lists) == 1:
        for shown in (watched(lists[0]), lists[0]):
            if n_outputs == len(shown):
                return [str(c) for c in shown]
    return None


def are_several(model, blocks, X):
    """Whether probabilities, which do not sum to 1, are those of several labels.

    Classifiers of several labels then predict several columns. Others, such as one
    against the rest, predict one class of one target, perhaps as one column.
    """
    block, predict = blocks[0], getattr(model.estimator, "predict", None)
    several = block.ndim == 2 and block.shape[1] > 1 and len(model.class_lists) == 1
    if len(blocks) > 1 or not several or np.allclose(block.sum(axis=1), 1.0, atol=1e-6):
        return False
    spend(X.shape[0])
    with users_code():
        return predict is not None and as_columns(predict(X)).shape[1] > 1


def probabilities(estimator, blocks, lists):
    """Probabilities side by side, a two-class output's first class dropped."""
    for block, classes in zip(blocks, lists, strict=False):
        if block.ndim != 2 or block.shape[1] != len(classes):
            raise ValueError(
                f"`predict_proba` of {type(estimator).__name__} must have one column "
                f"for each of its {len(classes)} classes, got shape {block.shape}."
            )
    kept = [b[:, 1:] if b.shape[1] == 2 else b for b in blocks]
    return np.ascontiguousarray(np.hstack(kept))
