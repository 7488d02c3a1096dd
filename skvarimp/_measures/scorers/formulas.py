"""Formulas of scikit-learn's scorers: of many repeats, or weightings, at once.

A formula is trusted only where it gives the number that the scorer gives.
"""

from functools import partial

import numpy as np

SMALLEST = np.finfo(np.float64).eps  # probability that scikit-learn's log loss takes


def _squared_error(y, f, mean):
    return mean((1.0 * y - f) ** 2)


def _variance(values, mean):
    values = values - np.mean(values, axis=-1, keepdims=True)
    return mean(values**2) - mean(values) ** 2


def _r2(y, f, mean):
    return 1.0 - _squared_error(y, f, mean) / _variance(1.0 * y, mean)


# Scores of outputs (..., n_samples), of y (n_samples,) and a function `mean` over the
# samples. Labels may be bool, which NumPy does not subtract.
OF_PREDICTIONS = {
    "accuracy": lambda y, f, mean: mean(y == f),
    "explained_variance": lambda y, f, mean: (
        1.0 - _variance(1.0 * y - f, mean) / _variance(1.0 * y, mean)
    ),
    "neg_mean_absolute_error": lambda y, f, mean: -mean(np.abs(1.0 * y - f)),
    "neg_mean_squared_error": lambda y, f, mean: -_squared_error(y, f, mean),
    "neg_root_mean_squared_error": lambda y, f, mean: (
        -np.sqrt(_squared_error(y, f, mean))
    ),
    "r2": _r2,
}


def _log_loss(codes, f, weighting):
    chance = np.take_along_axis(f, np.broadcast_to(codes, f.shape[:-1])[..., None], -1)
    return weighting.mean(np.log(np.clip(chance[..., 0], SMALLEST, 1 - SMALLEST)))


def _brier(codes, f, weighting):
    return -weighting.mean((f[..., 1] - codes) ** 2)


def _area(codes, f, weighting, c=1):
    scores = f if f.ndim == 3 else f[..., c]
    sums, positive, negative = weighting.areas(codes == c, scores)
    return sums / (positive * negative)


def _average_precision(codes, f, weighting):
    scores = f if f.ndim == 3 else f[..., 1]
    sums, positive, _ = weighting.areas(codes == 1, scores, precision=True)
    return sums / positive


def _hits(codes, f, weighting, c):
    """Shares of the rows of a class, of those called so, and of both."""
    is_c, called = codes == c, f == c
    return [weighting.mean(rows) for rows in (is_c, called, is_c & called)]


def _f1(codes, f, weighting, c=1):
    are, called, both = _hits(codes, f, weighting, c)
    return 2.0 * both / (are + called)


def _precision(codes, f, weighting):
    _, called, both = _hits(codes, f, weighting, 1)
    return both / called


def _recall(codes, f, weighting, c=1):
    are, _, both = _hits(codes, f, weighting, c)
    return both / are


def _mean_of_classes(of_class):
    """The formula whose number is the mean of those of all classes of y."""
    return lambda codes, f, weighting: np.mean(
        [of_class(codes, f, weighting, c) for c in np.unique(codes)], axis=0
    )


# Scores of a classifier's outputs, (2, n_repeats, n_samples) scores or positions of
# labels or (2, n_repeats, n_samples, n_classes), of the positions of y's labels among
# the classes and a `Weighting` of the samples.
OF_CLASSES = {
    "average_precision": _average_precision,
    "balanced_accuracy": _mean_of_classes(_recall),
    "f1": _f1,
    "f1_macro": _mean_of_classes(_f1),
    "neg_brier_score": _brier,
    "neg_log_loss": _log_loss,
    "precision": _precision,
    "recall": _recall,
    "roc_auc": _area,
    "roc_auc_ovr": _mean_of_classes(_area),
}


def _concordance(y, f, weighting, sign):
    """Share of pairs in which the row with the first event has the higher risk.

    A row with an event is paired with all rows of a later time, and with those that
    are censored at the same time (Harrell et al. 1996). Times are halved repeatedly:
    each pair is then once in different halves, or at one time.
    """
    risk = np.round(sign * f, 8)  # closer risks are equal for scikit-survival
    event, time = (y[name] for name in y.dtype.names)
    order = np.argsort(time, kind="stable")
    times, starts = np.unique(time[order], return_index=True)
    starts = np.append(starts, len(time))
    right, pairs, spans = 0.0, 0.0, [(0, len(times))]
    while spans:
        first, last = spans.pop()
        middle = (first + last) // 2
        rows, positive = order[starts[first] : starts[last]], event
        if middle > first:
            spans += [(first, middle), (middle, last)]
            positive = time < times[middle]
            rows = rows[event[rows] | ~positive[rows]]
        if 0 < positive[rows].sum() < len(rows):
            sums, P, N = weighting.areas(positive, risk, rows=rows)
            right, pairs = right + sums, pairs + P * N
    return right / pairs


# Scores of outputs of survival models, (2, n_repeats, n_samples), of a structured y
# (n_samples,) and a `Weighting`.
OF_TIMES = {
    "concordance of risks": partial(_concordance, sign=1),
    "concordance of times": partial(_concordance, sign=-1),
}
