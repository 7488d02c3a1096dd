"""`LeaveOutImportances`: what `leave_out_importances` returns."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy.stats import t

from skvarimp._data.statistics import Units, divided
from skvarimp._data.validation import check_confidence
from skvarimp._display.bars import ImportanceDisplay
from skvarimp._display.comparison import ComparisonDisplay
from skvarimp._results.importances import (  # noqa: F401 annotations need them
    Circumstances,
    Importances,
    Quantity,
)
from skvarimp._types import Axes, Floats

INCREASE = Quantity("increase of the held-out loss", zero=True)


@dataclass(eq=False, repr=False)
class LeaveOutImportances(Importances):
    """Increase of the held-out loss without each feature, with its error.

    Made by :func:`leave_out_importances`, whose notes say how intervals and p-values
    are computed.

    Parameters
    ----------
    features : list of str
        Names of the features.
    importances : ndarray of shape (n_features,)
        Mean increase, in units of the loss.
    standard_errors : ndarray of shape (n_features,)
        Their standard errors.
    differences : ndarray of shape (n_samples, n_features)
        Increase of each row's loss; NaN for rows that were never held out.
    baseline : float
        Mean held-out loss with all columns.
    **kwargs : dict
        Further attributes of :class:`Importances`.

    Notes
    -----
    `to_frame` also has the columns p_value, holm_p_value and fdr_p_value.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from skvarimp import leave_out_importances
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> found = leave_out_importances(LinearRegression(), X, X[:, 0])
    >>> found.ranking
    array([1, 2])
    """

    _: KW_ONLY
    differences: Floats
    baseline: float
    quantity: Quantity = INCREASE

    _title = "Held-out loss without each feature"

    @classmethod
    def _of(
        cls,
        features: list[str],
        losses: Floats,
        weights: Floats,
        groups: Any,
        **said: Any,
    ) -> Self:
        """Estimate from held-out losses.

        Parameters
        ----------
        features : list of str
            Names of the features.
        losses : ndarray of shape (n_samples, 1 + n_features)
            Mean loss of each row, with all columns and without each feature; NaN for
            rows that were never held out.
        weights : ndarray of shape (n_samples,)
            Weights of the rows.
        groups : array-like of shape (n_samples,) or None
            Labels of rows that depend on each other.
        **said : dict
            Further attributes.

        Returns
        -------
        LeaveOutImportances
            The estimates.
        """
        differences = losses[:, 1:] - losses[:, :1]
        used = ~np.isnan(losses[:, 0]) & (weights > 0)
        weight, values = weights[used], differences[used]
        total = weight.sum()
        given = {"differences": differences} | said
        if total == 0.0:  # stopped before the end of the first fold
            unknown = np.full(len(features), np.nan)
            given |= {"standard_errors": unknown, "baseline": np.nan}
            return cls(features, unknown, **given)
        labels = None if groups is None else np.asarray(groups)[used]
        units = Units.of(weight / total, labels)
        mean = units.weights @ values
        return cls(
            features,
            mean,
            standard_errors=units.error((values - mean).T),
            degrees_of_freedom=units.n - 1.0,
            baseline=float(units.weights @ losses[used, 0]),
            **given,
        )

    def ends(self, confidence: float | None = None) -> Floats:
        confidence = self.confidence if confidence is None else confidence
        check_confidence(confidence)
        z = t.isf((1.0 - confidence) / 2.0, self.degrees_of_freedom)
        m, s = self.importances, self.standard_errors
        positive = np.maximum(m, 0.0)
        effect = (positive + np.hypot(positive, np.sqrt(2.0) * s)) / 2.0
        variance = divided(s**2, 4.0 * effect)  # of the effect, whose square is q
        lower, upper = m - z * s, positive + z * s + (z**2 + 2.0) * variance
        return np.array([np.where(lower > 0, lower + z**2 * variance, lower), upper])

    def plot(
        self, ax: Axes | None = None, *, per_output: bool = False, **kwargs: Any
    ) -> ImportanceDisplay | ComparisonDisplay:
        written = {} if per_output else {"pvalues": "holm"}
        return super().plot(ax, per_output=per_output, **(written | kwargs))

    def _further_columns(self):
        return {
            "p_value": self.pvalues(),
            "holm_p_value": self.pvalues("holm"),
            "fdr_p_value": self.pvalues("fdr"),
        }

    def _beside(self):
        return {"p": [f"{p:.3f}" for p in self.pvalues()]}

    def _lines(self):
        ends, lines = super()._lines()
        return ends, f"loss {self.baseline:.4g} with all columns; {lines}"
