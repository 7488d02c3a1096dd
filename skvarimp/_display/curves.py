"""`CurvesDisplay`: partial dependence curves side by side; draws with matplotlib."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skvarimp._data.values import is_missing
from skvarimp._display.drawing import (
    COLORS,
    check_count,
    check_has,
    drawable,
    n_columns,
    panel_axes,
    plain,
    wrapped,
)

LINE_STYLES = ["-", "--", ":", "-."]  # once the colours are used up
LONGEST_LINE, MOST_LEVELS = 30, 12


class CurvesDisplay:
    """Partial dependence curves, one panel per entry, on one vertical scale.

    Numeric inputs are drawn as lines, with ticks at the deciles of their observed
    values above the axis; categorical ones as points per level. Missing values, where
    the data have them, are a point right of the line.

    Parameters
    ----------
    curves : list of (str, ndarray, ndarray)
        Title, grid of shape (n_cells,), and averages of shape (n_cells, n_outputs).
    output_names : list of str
        Names of the outputs.
    deciles : dict, default=None
        Title -> values to mark on the axis.
    individual : dict, default=None
        Title -> (values of shape (k,), responses of shape (n_rows, k, n_outputs)),
        single rows' curves drawn behind the averages.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        The panels drawn.
    figure_ : matplotlib Figure
        Their figure.

    Examples
    --------
    >>> from skvarimp import CurvesDisplay
    >>> curve = ("age", [20.0, 40.0, 60.0], [[1.0], [2.0], [2.5]])
    >>> CurvesDisplay([curve], ["y"]).plot().axes_[0].get_xlabel()
    'age'
    """

    def __init__(
        self,
        curves: Sequence[tuple[str, ArrayLike, ArrayLike]],
        output_names: Sequence[str],
        deciles: Mapping[str, ArrayLike] | None = None,
        individual: Mapping[str, tuple[ArrayLike, ArrayLike]] | None = None,
    ) -> None:
        self.curves = curves
        self.output_names = output_names
        self.deciles = deciles
        self.individual = individual

    @classmethod
    def from_importance(
        cls,
        importance: Any,
        *,
        n_curves: int | None = 9,
        axes: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curves of a fitted `PartialDependenceImportance`.

        Groups of columns have no single axis to be drawn on and are left out.

        Parameters
        ----------
        importance : PartialDependenceImportance
            Fitted.
        n_curves : int or None, default=9
            Number of curves to draw, the least flat first; None: all.
        axes : array-like of matplotlib Axes, default=None
            Axes to draw into, one per curve; None makes a figure.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : CurvesDisplay
            Holds `axes_` and `figure_`.
        """
        check_has(importance, "curves_", "a PartialDependenceImportance")
        if n_curves is not None:
            check_count("n_curves", n_curves)
        curves = []
        for e in np.argsort(importance.ranking_):
            name = importance.entry_names_[e]
            grid, averages = importance.curves_.get(name, (np.empty((0, 2)), None))
            if grid.ndim == 1:
                curves.append((name, grid, averages.reshape(len(grid), -1)))
        if not curves:
            raise ValueError(
                "There is no curve to draw: every entry is a group of columns. Read "
                "`curves_`, or fit with single columns as `features`."
            )
        display = cls(
            curves[:n_curves],
            importance.output_names_,
            importance.deciles_,
            getattr(importance, "individual_curves_", None),
        )
        return display.plot(axes=axes, **kwargs)

    def plot(self, axes: Any = None, ylabel: str = "partial dependence") -> Self:
        """Draw the curves.

        Parameters
        ----------
        axes : array-like of matplotlib Axes, default=None
            Axes to draw into, at least one per curve; None makes a figure.
        ylabel : str, default="partial dependence"
            Label of the vertical axes.

        Returns
        -------
        display : CurvesDisplay
            This object.
        """
        n, own_figure = len(self.curves), axes is None
        if n == 0:
            raise ValueError("`curves` is empty: there is nothing to draw.")
        for name, grid, averages in self.curves:
            shape = (len(grid), len(self.output_names))
            drawable(averages, shape, f"curves of {name!r}")
        self.axes_ = panel_axes(axes, n, "curves", (3.2, 2.5), (0.4, 0.2))
        self.figure_ = self.axes_[0].figure
        limits = self._limits()
        for ax, (name, grid, averages) in zip(self.axes_, self.curves):
            self._panel(ax, name, np.asarray(grid), np.asarray(averages))
            ax.set_ylim(limits)
        for ax in self.axes_[: n : n_columns(self.axes_[0])]:
            ax.set_ylabel(ylabel)
        if len(self.output_names) > 1:
            self._legend(own_figure)
        return self

    def _legend(self, own_figure):
        lines = self.axes_[0].get_lines()[: 2 * len(self.output_names) : 2]
        if own_figure:  # beside the panels, where no curve runs
            place = self.figure_, "outside right upper"
        else:
            place = self.axes_[0], "best"
        legend = place[0].legend(
            lines, self.output_names, title="output", fontsize="small", loc=place[1]
        )
        plain(legend.get_texts())

    def _limits(self):
        """One vertical scale for all panels: flat curves look flat."""
        behind = [self._individual(name)[1] for name, *_ in self.curves]
        drawn = [averages for *_, averages in self.curves] + behind
        values = np.concatenate([np.ravel(part) for part in drawn])
        values = values[~np.isnan(values)]
        low, high = values.min(initial=np.inf), values.max(initial=-np.inf)
        if low > high:  # nothing but NaN
            return 0.0, 1.0
        margin = 0.08 * (high - low) or max(abs(high), 1.0) * 0.1
        return low - 1.5 * margin, high + margin

    def _individual(self, name):
        """Values and single rows' responses of a panel; empty where there are none."""
        nothing = np.empty(0), np.empty((0, 0, len(self.output_names)))
        values, curves = (self.individual or {}).get(name, nothing)
        return np.asarray(values), np.asarray(curves, dtype=np.float64)

    def _draw_individual(self, ax, name, places):
        """Single rows' curves behind the averages, where values have a place."""
        values, curves = self._individual(name)
        shown = [k for k, value in enumerate(values.tolist()) if value in places]
        at = [places[values.tolist()[k]] for k in shown]
        for o in range(curves.shape[2]):
            style = {"color": COLORS[o % len(COLORS)], "alpha": 0.35, "lw": 0.6}
            ax.plot(at, curves[:, shown, o].T, zorder=1, **style)

    def _panel(self, ax, name, grid, averages):
        missing = np.array([is_missing(value) for value in grid], dtype=bool)
        known = grid[~missing]
        dates = _are_dates(known)
        as_levels = not dates and (
            grid.dtype.kind not in "fiu"
            or (self.deciles is not None and name not in self.deciles)
        )
        at = known
        if as_levels:
            at = np.arange(len(known))
        elif dates:
            at = _date_numbers(ax, known)
        beyond = _right_of(at)
        for o in range(len(self.output_names)):
            color = COLORS[o % len(COLORS)]
            line = LINE_STYLES[o // len(COLORS) % len(LINE_STYLES)]
            line = "o" if as_levels or len(known) < 2 else line
            ax.plot(at, averages[~missing, o], line, color=color)
            ax.plot([beyond] * missing.sum(), averages[missing, o], "s", color=color)
        self._draw_individual(ax, name, dict(zip(known.tolist(), at)))
        if as_levels:
            ticks = [*at, beyond] if missing.any() else at
            _mark_levels(ax, ticks, [*known, "missing"][: len(ticks)])
        elif missing.any():
            _mark_missing(ax, beyond)
        # ticks up to 4% of the panel's height
        marks = (self.deciles or {}).get(name, [])
        ax.vlines(marks, 0, 0.04, "0.3", lw=0.9, transform=ax.get_xaxis_transform())
        plain([ax.set_xlabel(wrapped(name, LONGEST_LINE))])
        ax.spines[["top", "right"]].set_visible(False)


def _are_dates(values):
    """Whether all values, of which there is one, are dates or times."""
    return len(values) > 0 and all(isinstance(v, date | np.datetime64) for v in values)


def _date_numbers(ax, values):
    """Dates as matplotlib's numbers, on an axis that shows them as dates."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num

    locator = AutoDateLocator(minticks=3, maxticks=6)
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    return date2num(list(values))


def _right_of(at):
    if len(at) == 0:
        return 0.0
    width = at[-1] - at[0]
    return at[-1] + (0.12 * width if width > 0 else 1.0)


def _mark_levels(ax, at, levels):
    """Names of the levels, every m-th where there are many."""
    every = -(-len(levels) // MOST_LEVELS)
    labels = [wrapped(level, 16) for level in levels[::every]]
    ax.set_xticks(at[::every], labels)
    plain(ax.get_xticklabels())
    if sum(map(len, labels)) > 24:
        for tick in ax.get_xticklabels():
            tick.set(rotation=35, ha="right", rotation_mode="anchor")
    ax.margins(x=0.15)


def _mark_missing(ax, position):
    ax.text(
        position,
        0.06,
        "missing",
        transform=ax.get_xaxis_transform(),
        rotation=90,
        ha="center",
        va="bottom",
        fontsize="x-small",
        color="0.3",
    )
