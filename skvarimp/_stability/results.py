"""What the results of refits share: their table, their tests, and how they are shown.

A result has `entry_names`, `frame_library`, `importances` and `pvalues`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import false_discovery_control, t

from skvarimp._data.frames import entry_frame
from skvarimp._data.statistics import holm, ranking
from skvarimp._data.validation import check_confidence
from skvarimp._display.bars import ImportanceDisplay
from skvarimp._display.html import result_html
from skvarimp._types import Axes, Floats, Frame, Integers


class RefitResult:
    """Numbers of each entry; see the module for what a subclass has.

    It says in `_columns` what its table has, name -> one value per entry, and in
    `_notebook` the title, the note and the columns of the table in a notebook.
    """

    def _repr_html_(self) -> str:
        return result_html(self, *self._notebook())

    @property
    def ranking(self) -> Integers:
        """Rank of the importances, 1 = most important, of shape (n_entries,)."""
        return ranking(self._ranked())

    def _ranked(self):
        """What the entries are ordered by, the largest first, (n_entries,)."""
        return self.importances

    @property
    def fdr_pvalues(self) -> Floats:
        """`pvalues` adjusted by Benjamini and Hochberg; of shape (n_entries,).

        Of the entries with at most q, a share of at most q is expected to be noise.
        """
        return self._adjusted(false_discovery_control)

    def _adjusted(self, method):
        """P-values adjusted for the number of entries; NaN stays."""
        pvalues = self.pvalues
        known, adjusted = ~np.isnan(pvalues), np.full(len(pvalues), np.nan)
        if known.any():
            adjusted[known] = method(pvalues[known])
        return adjusted

    def to_frame(self) -> Frame:
        """Table of the entries, most important first.

        Returns
        -------
        frame
            The entry and the columns that the class lists, in the frame library X came
            in (pandas for arrays).
        """
        return self._frame(self.ranking, self._columns())

    def _frame(self, ranks, columns):
        return entry_frame(self.entry_names, ranks, columns, self.frame_library)


class ResultWithErrors(RefitResult):
    """A result whose importances have standard errors.

    `_ends(confidence)` gives the ends of intervals, (n_entries,) each.
    """

    def _estimates(self):
        """What the intervals are of, (n_entries,)."""
        return self.importances

    @property
    def holm_pvalues(self) -> Floats:
        """`pvalues` adjusted by Holm; of shape (n_entries,).

        The chance of any false discovery among those below alpha is at most alpha.
        """
        return self._adjusted(holm)

    def interval(self, confidence: float = 0.95) -> Frame:
        """Table of confidence intervals, most important first.

        Parameters
        ----------
        confidence : float, default=0.95
            Probability that the interval of one entry holds its population value.

        Returns
        -------
        frame of shape (n_entries, 4)
            Columns entry, importance, lower and upper, in the frame library X came in
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
        display = ImportanceDisplay(self._estimates(), self.entry_names, **given)
        return display.plot(ax, **kwargs)


def one_sided_pvalues(importances, errors, freedom):
    """Of "not positive", by Student's distribution.

    Where the error is 0, 0 for a positive importance and 1 for others; NaN stays.
    """
    ratio = np.where(importances > 0, np.inf, -np.inf) + 0.0 * errors
    np.divide(importances, errors, out=ratio, where=errors > 0)
    return t.sf(ratio, freedom)
