"""What the results of refits share, and what `leave_out_importances` returns.

Shared are the table, the tests, and how results are shown. A result has
`feature_names`, `frame_library`, `importances` and `pvalues`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.stats import false_discovery_control, t

from skvarimp._data.frames import feature_frame
from skvarimp._data.statistics import Units, divided, holm, ranking
from skvarimp._data.validation import check_confidence
from skvarimp._display.bars import ImportanceDisplay
from skvarimp._display.html import LINES, bars, numbers, result_html, texts
from skvarimp._results.intervals import one_sided_pvalues
from skvarimp._types import Axes, Floats, Frame, Integers


class RefitResult:
    """Numbers of each feature; see the module for what a subclass has.

    It says in `_columns` what its table has, name -> one value per feature, and in
    `_notebook` the title, the note and the columns of the table in a notebook.
    """

    def _repr_html_(self) -> str:
        return result_html(self, *self._notebook())

    @property
    def ranking(self) -> Integers:
        """Rank of the importances, 1 = most important, of shape (n_features,)."""
        return ranking(self._ranked())

    def _ranked(self):
        """What the features are ordered by, the largest first, (n_features,)."""
        return self.importances

    @property
    def fdr_pvalues(self) -> Floats:
        """`pvalues` adjusted by Benjamini and Hochberg; of shape (n_features,).

        Of the features with at most q, a share of at most q is expected to be noise.
        """
        return self._adjusted(false_discovery_control)

    def _adjusted(self, method):
        """P-values adjusted for the number of features; NaN stays."""
        pvalues = self.pvalues
        known, adjusted = ~np.isnan(pvalues), np.full(len(pvalues), np.nan)
        if known.any():
            adjusted[known] = method(pvalues[known])
        return adjusted

    def to_frame(self) -> Frame:
        """Table of the features, most important first.

        Returns
        -------
        frame
            The feature and the columns that the class lists, in the frame library X
            came in (pandas for arrays).
        """
        return self._frame(self.ranking, self._columns())

    def _frame(self, ranks, columns):
        return feature_frame(self.feature_names, ranks, columns, self.frame_library)


class ResultWithErrors(RefitResult):
    """A result whose importances have standard errors.

    `_ends(confidence)` gives the ends of intervals, (n_features,) each.
    """

    def _estimates(self):
        """What the intervals are of, (n_features,)."""
        return self.importances

    @property
    def holm_pvalues(self) -> Floats:
        """`pvalues` adjusted by Holm; of shape (n_features,).

        The chance of any false discovery among those below alpha is at most alpha.
        """
        return self._adjusted(holm)

    def interval(self, confidence: float = 0.95) -> Frame:
        """Table of confidence intervals, most important first.

        Parameters
        ----------
        confidence : float, default=0.95
            Probability that the interval of one feature holds its population value.

        Returns
        -------
        frame of shape (n_features, 4)
            Columns feature, importance, lower and upper, in the frame library X came in
            (pandas for arrays).
        """
        check_confidence(confidence)
        values, (lower, upper) = self._estimates(), self._ends(confidence)
        columns = {"importance": values, "lower": lower, "upper": upper}
        return self._frame(ranking(values), columns)

    def _columns_of_errors(self):
        """The columns of standard errors, intervals and p-values."""
        lower, upper = self._ends(0.95)
        return {"standard_error": self.standard_errors, "lower": lower, "upper": upper}

    def _columns_of_pvalues(self):
        return {
            "p_value": self.pvalues,
            "holm_p_value": self.holm_pvalues,
            "fdr_p_value": self.fdr_pvalues,
        }

    def _bars(self, ax: Axes | None, label: str, kwargs: Any) -> ImportanceDisplay:
        """Bars with 95% intervals."""
        ends = np.column_stack(self._ends(0.95))
        given = {"intervals": ends, "label": label}
        display = ImportanceDisplay(self._estimates(), self.feature_names, **given)
        return display.plot(ax, **kwargs)


@dataclass(frozen=True, eq=False, repr=False)
class LeaveOutImportances(ResultWithErrors):
    """Increase of the held-out loss without each feature, with its error.

    Made by :func:`leave_out_importances`, whose notes say how intervals and p-values
    are computed.

    Attributes
    ----------
    feature_names : list of str
        Names of the features.
    importances : ndarray of shape (n_features,)
        Mean increase, in units of the loss.
    standard_errors : ndarray of shape (n_features,)
        Their standard errors.
    differences : ndarray of shape (n_samples, n_features)
        Increase of each row's loss; NaN for rows that were never held out.
    baseline : float
        Mean held-out loss with all columns.
    degrees_of_freedom : float, default=inf
        Of Student's t for intervals and p-values: the number of groups, or of
        independent rows, minus 1.
    frame_library : str, default="pandas"
        Library of the frames that `to_frame` makes.

    Notes
    -----
    `to_frame` has the columns feature, importance, standard_error, lower and upper (95%
    interval), p_value, holm_p_value and fdr_p_value.

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

    feature_names: list[str]
    importances: Floats
    standard_errors: Floats
    differences: Floats
    baseline: float
    degrees_of_freedom: float = np.inf
    frame_library: str = "pandas"

    @classmethod
    def _of(
        cls,
        feature_names: list[str],
        losses: Floats,
        weights: Floats,
        groups: Any,
        frame_library: str,
    ) -> Self:
        """Estimate from held-out losses.

        Parameters
        ----------
        feature_names : list of str
            Names of the features.
        losses : ndarray of shape (n_samples, 1 + n_features)
            Mean loss of each row, with all columns and without each feature; NaN for
            rows that were never held out.
        weights : ndarray of shape (n_samples,)
            Weights of the rows.
        groups : array-like of shape (n_samples,) or None
            Labels of rows that depend on each other.
        frame_library : str
            Library of the frames that `to_frame` makes.

        Returns
        -------
        LeaveOutImportances
            The estimates.
        """
        differences = losses[:, 1:] - losses[:, :1]
        used = ~np.isnan(losses[:, 0]) & (weights > 0)
        weight, values = weights[used], differences[used]
        total = weight.sum()
        if total == 0.0:  # stopped before the end of the first fold
            unknown = np.full(len(feature_names), np.nan)
            return cls(
                feature_names,
                unknown,
                unknown,
                differences,
                np.nan,
                frame_library=frame_library,
            )
        labels = None if groups is None else np.asarray(groups)[used]
        units = Units.of(weight / total, labels)
        mean = units.weights @ values
        errors, freedom = units.error((values - mean).T), units.n - 1.0
        baseline = float(units.weights @ losses[used, 0])
        return cls(
            feature_names, mean, errors, differences, baseline, freedom, frame_library
        )

    def __repr__(self) -> str:
        n_rows = int((~np.isnan(self.differences[:, 0])).sum())
        return (
            f"<increase of the loss without each of {len(self.feature_names)} "
            f"features, over {n_rows} held-out rows: to_frame()>"
        )

    @property
    def pvalues(self) -> Floats:
        """One-sided p-values of "not positive", of shape (n_features,).

        Where the error is 0, 0 for a positive importance and 1 for others.
        """
        of_errors = self.standard_errors, self.degrees_of_freedom
        return one_sided_pvalues(self.importances, *of_errors)

    def _ends(self, confidence):
        z = t.isf((1.0 - confidence) / 2.0, self.degrees_of_freedom)
        m, s = self.importances, self.standard_errors
        positive = np.maximum(m, 0.0)
        effect = (positive + np.hypot(positive, np.sqrt(2.0) * s)) / 2.0
        variance = divided(s**2, 4.0 * effect)  # of the effect, whose square is q
        lower, upper = m - z * s, positive + z * s + (z**2 + 2.0) * variance
        return np.where(lower > 0, lower + z**2 * variance, lower), upper

    def _columns(self):
        columns = {"importance": self.importances} | self._columns_of_errors()
        return columns | self._columns_of_pvalues()

    def _notebook(self):
        values = self.importances
        columns = [
            numbers("importance", values),
            numbers("standard error", self.standard_errors, values),
            numbers("p", self.pvalues, digits=3),
            bars("increase of the held-out loss", values, *self._ends(0.95)),
            texts("rank", self.ranking),
        ]
        note = f"{self.baseline:.4g} with all columns; {LINES}"
        return "Held-out loss without each feature", note, columns

    def plot(
        self,
        ax: Axes | None = None,
        *,
        label: str = "increase of the held-out loss",
        **kwargs: Any,
    ) -> ImportanceDisplay:
        """Draw the importances as horizontal bars with their 95% intervals.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        label : str, default="increase of the held-out loss"
            What the lengths are, below the bars.
        **kwargs : dict
            Passed to `ImportanceDisplay.plot`.

        Returns
        -------
        display : ImportanceDisplay
            Holds `ax_` and `figure_`.
        """
        return self._bars(ax, label, kwargs)
