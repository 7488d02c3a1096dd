"""Importances as bars or dots, with intervals or beside those of shuffled targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from skvarimp._display.drawing import (
    LARGEST_DRAWN,
    add_legend,
    check_choice,
    drawable,
    hue,
    ink,
    mixed,
    not_shown,
    number_format,
    pale,
    too_large,
    with_halo,
)
from skvarimp._display.named_rows import (
    NamedRows,
    mark_directions,
    result_of,
    row_names,
    write_right,
)
from skvarimp._types import Axes

PARTS = ["by itself", "with interactions"]
DOTS = {"marker": "o", "linestyle": "none", "markersize": 5.0}
ERROR_STYLE = {"fmt": "none", "elinewidth": 1.0, "capsize": 2.0}
LEVEL, BAND = 0.05, 0.12  # of family-wise tests; the ink of bands behind dots
VALUE_PAD = 4.0  # points between a bar and its number


@dataclass(eq=False, repr=False)
class ImportanceDisplay(NamedRows):
    """Importances as horizontal bars or dots, most important on top.

    Parameters
    ----------
    importances : array-like of shape (n_features,)
        Lengths of the bars; NaN is not drawn.
    feature_names : sequence of str
        Names of the features; long ones are wrapped, not cut off.
    label : str, default="importance"
        What the lengths are, below the bars.
    intervals : array-like of shape (n_features, 2), default=None
        Lower and upper ends, drawn as lines; NaN: none. `from_importance` draws the
        95% intervals of `interval`.
    own : array-like of shape (n_features,), default=None
        The part of each importance that the feature has by itself, drawn as a darker
        bar in front. The rest comes from interactions.
    lines : str, default="95% intervals"
        What the intervals are, said below the bars.
    pvalues : array-like of shape (n_features,), default=None
        Adjusted p-values of each feature, written on the right.
    directions : array-like of shape (n_features,), default=None
        Which way predictions go as values rise, as `directions_`: a triangle behind
        the name from 0.8 and from -0.8 on, a diamond in between; NaN and 0: none.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes drawn into.
    figure_ : matplotlib Figure
        Their figure.
    key_ : matplotlib Text or None
        The small print below the label: what marks mean, and what is not shown.
    bars_ : matplotlib BarContainer or Line2D
        One bar or dot per feature shown, the most important first.
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
    feature_names: Sequence[str]
    _: KW_ONLY
    label: str = "importance"
    intervals: ArrayLike | None = None
    own: ArrayLike | None = None
    lines: str = "95% intervals"
    pvalues: ArrayLike | None = None
    directions: ArrayLike | None = None

    @classmethod
    def from_importance(
        cls,
        importance: Any,
        *,
        label: str | None = None,
        pvalues: Literal["holm", "fdr"] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw a fitted importance.

        Parameters
        ----------
        importance : measure or Importances
            Fitted.
        label : str, default=None
            Label below the bars; None: the measure's quantity and its unit.
        pvalues : {"holm", "fdr"}, default=None
            P-values to write on the right, by their adjustment; None: none.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : ImportanceDisplay
            The drawn display.
        """
        found = result_of(importance)
        display = cls(
            found.importances,
            found.features,
            label=found.quantity.label if label is None else label,
            intervals=found.ends().T,
            pvalues=None if pvalues is None else found.pvalues(pvalues),
            directions=found.directions,
        )
        display._what = f"{found.quantity.noun or 'feature'}s"
        return display.plot(**kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: Literal["bars", "dots"] = "bars",
        values: bool = True,
        max_features: int | None = None,
        title: str | None = None,
        figsize: tuple[float, float] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the rows, the most important feature on top.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure that is large enough.
        kind : {"bars", "dots"}, default="bars"
            A bar per feature, or a dot, which leaves all of its interval to be seen.
        values : bool, default=True
            Whether the number of each importance stands at the end of its bar.
        max_features : int, default=None
            Features shown, the most important; a note says how many are not. None: 30,
            or as many as fit into `ax` or `figsize`.
        title : str, default=None
            Title of the picture.
        figsize : (float, float), default=None
            Width and height in inches of a figure of its own.
        **kwargs : dict
            Passed to `matplotlib.axes.Axes.barh`, or to `plot` of dots.

        Returns
        -------
        display : ImportanceDisplay
            This object.
        """
        check_choice("kind", kind, ["bars", "dots"])
        given = {"max_features": max_features, "title": title, "figsize": figsize}
        super().plot(ax, kind=kind, **given, **kwargs)
        if values:
            _write_values(self.ax_, *self._ends)
        return self

    def _rows(self, most, room):
        shape = (len(self.feature_names),)
        values = drawable(self.importances, shape, "importances")
        given = np.asarray(self.importances, dtype=np.float64)
        return *self._largest(given, most, room, self.label), values

    def _mark(self, ax, own_figure, keywords, shown, values):
        as_dots, at = keywords.pop("kind") == "dots", np.arange(len(shown))
        color = hue(0) if self.own is None or as_dots else pale(hue(0))["color"]
        style = {"color": color, "height": 0.7}
        if as_dots:
            style = DOTS | {"color": color}
            style |= {} if self.own is None else {"markerfacecolor": "none"}
        elif self.own is not None:
            style |= pale(hue(0))
        style |= keywords
        self.bars_ = _draw(ax, at, values[shown], as_dots, style)
        if self.own is not None:
            own = drawable(self.own, values.shape, "own")[shown]
            style = DOTS if as_dots else {"height": 0.4}
            alone = _draw(ax, at, own, as_dots, style | {"color": hue(0)})
            add_legend(ax, own_figure, [alone, self.bars_], PARTS)
        style = {"ecolor": hue(0), "capsize": 0.0} if as_dots else {}
        given = np.asarray(self.importances, dtype=np.float64)[shown]
        ends = values[shown, np.newaxis]
        if self.intervals is not None:
            drawn = drawable(self.intervals, (len(values), 2), "intervals")[shown]
            ends = np.column_stack([ends, drawn])
        self._ends = given, np.fmin.reduce(ends, axis=1), np.fmax.reduce(ends, axis=1)
        self.errors_ = draw_intervals(ax, at, values, self.intervals, shown, **style)
        if self.pvalues is not None:
            pvalues = drawable(self.pvalues, values.shape, "pvalues")[shown]
            texts = ["" if np.isnan(p) else f"{p:.2g}" for p in pvalues]
            write_right(ax, texts, "adjusted p-value")
        notes = [] if self.errors_ is None else [f"lines: {self.lines}"]
        if self.directions is None:
            return notes
        known = drawable(self.directions, values.shape, "directions")[shown]
        return notes + mark_directions(ax, known[:, np.newaxis])


def _draw(ax, at, values, as_dots, style):
    """Bars, or the dots at their ends."""
    return ax.plot(values, at, **style)[0] if as_dots else ax.barh(at, values, **style)


def _write_values(ax, values, low, high):
    """Numbers beyond the ends of bars and intervals; the axis has room for them."""
    sizes = np.abs(values)
    form = number_format(sizes[sizes <= LARGEST_DRAWN].max(initial=0.0), digits=3)
    names = ax.get_yticklabels()
    style = {"textcoords": "offset points", "va": "center", "color": ink(0.8)}
    style |= {"fontsize": names[0].get_fontsize()} if names else {}
    texts = []
    for row, value in enumerate(values):
        if np.isnan(value):
            continue
        side = -1 if value < 0 else 1
        end = np.nan_to_num(min(low[row], 0.0) if side < 0 else max(high[row], 0.0))
        text = form.format(value) if sizes[row] <= LARGEST_DRAWN else f"{value:.1e}"
        if not text.strip("-0."):
            text = text.removeprefix("-")
        how = {"xytext": (side * VALUE_PAD, 0), "ha": "left" if side > 0 else "right"}
        texts.append((side, end, ax.annotate(text, (end, row), **how, **style)))
    pixels, pad = ax.get_window_extent().width, VALUE_PAD * ax.figure.dpi / 72
    needed = [  # with as much between a number and a name as before the number
        (side, end, min(0.4, (text.get_window_extent().width + 2 * pad) / pixels))
        for side, end, text in texts
    ]
    low, high = ax.get_xlim()
    for _ in range(20):  # each side's texts take room from the other's
        width = high - low
        low = min([low, *(end - s * width for side, end, s in needed if side < 0)])
        high = max([high, *(end + s * width for side, end, s in needed if side > 0)])
    ax.set_xlim(low, high)


def draw_intervals(ax, at, values, intervals, shown, **style):
    """Draw the intervals of the features shown; None where no end is known."""
    if intervals is None:
        return None
    ends = drawable(intervals, (len(values), 2), "intervals")[shown]
    values = values[shown]
    reach = np.abs(ends - values[:, np.newaxis])
    # neither NaN nor rounding of 0
    known = np.all(reach > 1e-9 * np.abs(values[:, np.newaxis]), axis=1)
    if not known.any():
        return None
    on_bars, style = not style, ERROR_STYLE | {"ecolor": ink(0.75)} | style
    errors = ax.errorbar(values[known], at[known], xerr=reach[known].T, **style)
    if on_bars:
        with_halo([*errors.lines[1], *errors.lines[2]], ERROR_STYLE["elinewidth"])
    return errors


@dataclass(eq=False, repr=False)
class NullDisplay(NamedRows):
    """Importances as dots, with the bands of those for shuffled targets.

    A band spans the middle 95% of the importances for shuffled targets. The p-value
    and the family-wise p-value of each feature stand on the right. Dots, names and
    p-values are coloured where the family-wise p-value is at most 0.05, and the dots of
    other features are hollow.

    Parameters
    ----------
    panels : list of (str, float, ndarray, float, float)
        For each row its name, the importance, the null importances of shape
        (n_permutations,), the p-value and the family-wise p-value, from the top.
    label : str, default="importance"
        What the positions are.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes drawn into.
    figure_ : matplotlib Figure
        Their figure.
    key_ : matplotlib Text or None
        The small print below the label: what marks mean, and what is not shown.
    bands_ : matplotlib BarContainer
        The bands, one per row.
    dots_ : matplotlib Line2D
        The importances.

    See Also
    --------
    null_importances : Makes the numbers.

    Examples
    --------
    >>> from skvarimp import NullDisplay
    >>> display = NullDisplay([("age", 3.0, [0.5, 1.0, 1.5], 0.25, 0.25)]).plot()
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['age']
    """

    panels: Sequence[tuple[str, float, ArrayLike, float, float]]
    _: KW_ONLY
    label: str = "importance"

    @classmethod
    def from_null(cls, null: Any, *, label: str | None = None, **kwargs: Any) -> Self:
        """Draw what `null_importances` returned, the most important features first.

        Parameters
        ----------
        null : NullImportances
            Importances beside those for shuffled targets.
        label : str, default=None
            What the positions are. None: what the numbers are, with their unit.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : NullDisplay
            The drawn display.
        """
        columns = null.importances, null.null.T, null.pvalues(), null.familywise_pvalues
        of_features = list(zip(null.features, *columns))
        panels = [of_features[e] for e in np.argsort(null.ranking, kind="stable")]
        return cls(panels, label=label or null.quantity.label).plot(**kwargs)

    def _rows(self, most, room):
        if len(self.panels) == 0:
            return [], [self.label], np.empty((5, 0))
        n, (names, given, null, *pvalues) = len(self.panels), zip(*self.panels)
        values = drawable(given, (n,), "panels")
        null = drawable(null, (n, np.size(null[0])), "panels")
        if null.size == 0:
            raise ValueError("There is no null importance to draw.")
        low, high = np.quantile(null, [0.025, 0.975], axis=1)
        rows = np.array([values, low, high, *pvalues])[:, :most]
        n_shown = rows.shape[1]
        below = [self.label, *not_shown(n - n_shown, n), *too_large(given)]
        return row_names(names, range(n_shown), room), below, rows

    def _mark(self, ax, own_figure, keywords, rows):
        own, low, high, pvalues, familywise = rows
        at = np.arange(len(own))
        ax.use_sticky_edges = False  # bands do not begin at the edge
        style = {"height": 0.6, "color": ink(BAND), "edgecolor": ink(0.5)}
        self.bands_ = ax.barh(at, high - low, left=low, **(style | keywords))
        style = {"color": hue(0), "markersize": 5.0, "zorder": 4}
        significant = familywise <= LEVEL
        (self.dots_,) = ax.plot(own, at, "o", markerfacecolor="none", **style)
        ax.plot(own[significant], at[significant], "o", **style)
        texts = [f"{p:.2g} ({f:.2g})" for p, f in zip(pvalues, familywise)]
        right = write_right(ax, texts, "p-value (family-wise)")
        for row in np.flatnonzero(significant):
            for axes in (ax, right):
                axes.get_yticklabels()[row].set_color(mixed(hue(0), 0.2))
        notes = ["dots: true y, bands: 95% of shuffled y"]
        if significant.any():
            notes.append(f"full dots: family-wise p-value at most {LEVEL:g}")
        return notes
