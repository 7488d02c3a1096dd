"""`LeaveOutImportances`: what `leave_out_importances` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.stats import t

from skvarimp._data.statistics import Units, divided
from skvarimp._display.bars import ImportanceDisplay
from skvarimp._display.html import LINES, bars, numbers, texts
from skvarimp._stability.results import ResultWithErrors, one_sided_pvalues
from skvarimp._types import Axes, Floats


@dataclass(frozen=True, eq=False, repr=False)
class LeaveOutImportances(ResultWithErrors):
    """Increase of the held-out loss without each entry, with its error.

    Made by :func:`leave_out_importances`, whose notes say how intervals and p-values
    are computed.

    Attributes
    ----------
    entry_names : list of str
        Names of the entries.
    importances : ndarray of shape (n_entries,)
        Mean increase, in units of the loss.
    standard_errors : ndarray of shape (n_entries,)
        Their standard errors.
    differences : ndarray of shape (n_samples, n_entries)
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
    `to_frame` has the columns entry, importance, standard_error, lower and upper (95%
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

    entry_names: list[str]
    importances: Floats
    standard_errors: Floats
    differences: Floats
    baseline: float
    degrees_of_freedom: float = np.inf
    frame_library: str = "pandas"

    @classmethod
    def _of(
        cls,
        entry_names: list[str],
        losses: Floats,
        weights: Floats,
        groups: Any,
        frame_library: str,
    ) -> Self:
        """Estimate from held-out losses.

        Parameters
        ----------
        entry_names : list of str
            Names of the entries.
        losses : ndarray of shape (n_samples, 1 + n_entries)
            Mean loss of each row, with all columns and without each entry; NaN for
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
            unknown = np.full(len(entry_names), np.nan)
            return cls(
                entry_names,
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
            entry_names, mean, errors, differences, baseline, freedom, frame_library
        )

    def __repr__(self) -> str:
        n_rows = int((~np.isnan(self.differences[:, 0])).sum())
        return (
            f"<increase of the loss without each of {len(self.entry_names)} entries, "
            f"over {n_rows} held-out rows: to_frame()>"
        )

    @property
    def pvalues(self) -> Floats:
        """One-sided p-values of "not positive", of shape (n_entries,).

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
        return "Held-out loss without each entry", note, columns

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
