"""`ImportanceDisplay`: importances as horizontal bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skvarimp._display.drawing import COLORS, NamedRows, columns_of, drawable
from skvarimp._display.text import ink

INTERVAL = 1.96  # standard errors either side: 95% of a normal distribution
LIGHT = "#99C7E0"  # of COLORS[0]
PARTS = ["by itself", "with interactions"]
ERROR_STYLE = {"fmt": "none", "elinewidth": 1.0, "capsize": 2.0}


@dataclass(eq=False, repr=False)
class ImportanceDisplay(NamedRows):
    """Importances as horizontal bars, most important on top.

    Parameters
    ----------
    importances : array-like of shape (n_entries,)
        Lengths of the bars; NaN is not drawn.
    entry_names : sequence of str
        Names of the entries; long ones are wrapped, not cut off.
    standard_errors : array-like of shape (n_entries,), default=None
        Drawn as 95% intervals, 1.96 standard errors on either side; NaN: none.
        `from_importance` combines the sampling error and the error of random draws: it
        takes the root of the sum of their squares.
    label : str, default="importance"
        What the lengths are, below the bars.
    intervals : array-like of shape (n_entries, 2), default=None
        Lower and upper ends, drawn in place of standard errors; NaN: none.
    own : array-like of shape (n_entries,), default=None
        The part of each importance that the entry has by itself, drawn as a darker
        bar in front. The rest comes from interactions.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes drawn into.
    figure_ : matplotlib Figure
        Their figure.
    bars_ : matplotlib BarContainer
        One bar per entry shown, the most important first.
    errors_ : matplotlib ErrorbarContainer or None
        The intervals.

    See Also
    --------
    ComparisonDisplay : Several models and measures side by side.

    Examples
    --------
    >>> from skvarimp import ImportanceDisplay
    >>> display = ImportanceDisplay([0.2, 0.9], ["age", "bmi"]).plot()
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['bmi', 'age']
    """

    importances: ArrayLike
    entry_names: Sequence[str]
    _: KW_ONLY
    standard_errors: ArrayLike | None = None
    label: str = "importance"
    intervals: ArrayLike | None = None
    own: ArrayLike | None = None

    @classmethod
    def from_importance(
        cls, importance: Any, *, label: str | None = None, **kwargs: Any
    ) -> Self:
        """Draw a fitted importance.

        Parameters
        ----------
        importance : importance instance
            Fitted.
        label : str, default=None
            Label below the bars; None: the measure's quantity and its unit.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : ImportanceDisplay
            The drawn display.
        """
        check_is_fitted(importance, "importances_")
        display = cls(
            importance.importances_,
            importance.entry_names_,
            standard_errors=whole_error(importance),
            label=importance._quantity() if label is None else label,
            intervals=_corrected_intervals(importance),
        )
        return display.plot(**kwargs)

    @classmethod
    def from_ranks(cls, frame: Any, **kwargs: Any) -> Self:
        """Draw the table of `rank_intervals`: simultaneous intervals and ranks.

        Parameters
        ----------
        frame : frame
            As `rank_intervals` returns it, in any library.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : ImportanceDisplay
            The drawn display.
        """
        table = columns_of(frame)
        ranks = zip(table["lowest_rank"], table["highest_rank"])
        spans = [low if low == high else f"{low} to {high}" for low, high in ranks]
        names = [f"{entry} (rank {span})" for entry, span in zip(table["entry"], spans)]
        display = cls(
            table["importance"],
            names,
            intervals=np.column_stack([table["lower"], table["upper"]]),
            label="importance, with simultaneous intervals",
        )
        return display.plot(**kwargs)

    def _rows(self, most, longest):
        values = drawable(self.importances, (len(self.entry_names),), "importances")
        return *self._largest(values, most, longest, self.label), values

    def _mark(self, ax, keywords, shown, values):
        at = np.arange(len(shown))
        color = COLORS[0] if self.own is None else LIGHT
        style = {"height": 0.7, "color": color} | keywords
        self.bars_ = ax.barh(at, values[shown], **style)
        if self.own is not None:
            own = drawable(self.own, values.shape, "own")[shown]
            alone = ax.barh(at, own, height=0.4, color=COLORS[0])
            ax.legend([alone, self.bars_], PARTS, fontsize="small", loc="lower right")
        ends = self.intervals
        if ends is None:
            ends = error_ends(values, self.standard_errors)
        ends = drawable(ends, (len(values), 2), "intervals")[shown]
        self.errors_ = draw_intervals(ax, at, values[shown], ends)


def whole_error(importance):
    """Sampling error and error of drawing together, as far as known; or None."""
    kinds = "standard_errors_", "monte_carlo_errors_"
    errors = [getattr(importance, kind, None) for kind in kinds]
    errors = [of_kind for of_kind in errors if of_kind is not None]
    if not errors:
        return None
    known = np.any(~np.isnan(errors), axis=0)
    return np.where(known, np.sqrt(np.nansum(np.square(errors), axis=0)), np.nan)


def _corrected_intervals(importance):
    """Intervals corrected for skewness, where the importance has kept its rows."""
    if getattr(importance, "_rows", None) is None:
        return None
    table = columns_of(importance.interval())
    ends = dict(zip(table["entry"], zip(table["lower"], table["upper"])))
    return np.array([ends[name] for name in importance.entry_names_])


def error_ends(values, errors):
    """Ends of 95% intervals, (n_entries, 2); NaN where no error is known."""
    if errors is None:
        return np.full((len(values), 2), np.nan)
    errors = drawable(errors, values.shape, "standard_errors")
    return values[:, np.newaxis] + np.multiply.outer(errors, [-INTERVAL, INTERVAL])


def draw_intervals(ax, at, values, ends, **style):
    """Draw intervals about values; None where no end is known."""
    reach = np.abs(ends - values[:, np.newaxis])
    # neither NaN nor rounding of 0
    known = np.all(reach > 1e-9 * np.abs(values[:, np.newaxis]), axis=1)
    if not known.any():
        return None
    style = ERROR_STYLE | {"ecolor": ink(0.75)} | style
    return ax.errorbar(values[known], at[known], xerr=reach[known].T, **style)
