"""Scores of the rows for FIRM: a model's response, or the labels themselves."""

from dataclasses import dataclass

import numpy as np

from skvarimp._data.values import (
    as_columns,
    encoded,
    indicators,
    numbers_if_possible,
    output_names,
)


@dataclass
class Scores:
    """Centred scores of rows of positive weight.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_outputs)
        Minus their mean; exactly 0 for a constant score.
    mean, scale : ndarray of shape (n_outputs,)
        Scores are mean + scale * values; scale is 1, or their standard deviation.
    weights : ndarray of shape (n_samples,)
        Sum to 1.
    total : float
        What the weights summed to: the sample size.
    standardized : bool
        Whether the values have standard deviation 1.
    keep_rows : bool
        Whether the rows' influences on the importances are kept.
    """

    values: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    weights: np.ndarray
    total: float
    standardized: bool
    keep_rows: bool = False

    @property
    def n_outputs(self):
        """Number of outputs."""
        return self.values.shape[1]

    @property
    def constant(self):
        """Whether each output is the same at all rows, (n_outputs,)."""
        return ~np.any(self.values, axis=0)

    def error(self, squares):
        """Standard errors from the rows' weighted mean squared influence."""
        return np.sqrt(squares / self.total)

    def in_units(self, values):
        """Centred (and scaled) scores back in the units of the score."""
        return self.mean + self.scale * values


def make_scores(raw, weights, standardize):
    """Centre (and standardise) scores.

    Parameters
    ----------
    raw : ndarray of shape (n_samples, n_outputs)
    weights : ndarray of shape (n_samples,)
        Positive, not normalised.
    standardize : bool

    Returns
    -------
    Scores
    """
    total = weights.sum()
    weights = weights / total
    mean = weights @ raw
    values = np.where(np.ptp(raw, axis=0) == 0, 0.0, raw - mean)
    scale = np.ones(raw.shape[1])
    if standardize:
        spread = np.sqrt(weights @ values**2)
        scale = np.where(spread > 0, spread, 1.0)
        values = values / scale
    return Scores(values, mean, scale, weights, total, standardize)


def label_scores(y):
    """The labels as scores, with the names of the outputs.

    Parameters
    ----------
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs), or None
        Numbers as they are; others as indicators of each class, of two classes the
        second.

    Returns
    -------
    scores : ndarray of shape (n_samples, n_outputs)
    names : list of str
    """
    if y is None:
        raise ValueError(
            "fit(None, X, y) takes the labels as the score, but y was not given. Pass "
            "y, or a fitted estimator."
        )
    columns = numbers_if_possible(as_columns(y))
    if columns.dtype.kind in "fbiu":
        n_outputs = columns.shape[1]
        names = [f"y{o}" for o in range(n_outputs)] if n_outputs > 1 else ["y"]
        return columns.astype(np.float64), names
    lists = [encoded(column)[0] for column in columns.T]
    return indicators(columns, lists), output_names(lists)
