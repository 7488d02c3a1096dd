"""`RowsDisplay`: each row's effect or importance as a point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skvarimp._data.base_table import is_missing, numbers_if_possible
from skvarimp._data.table import as_table
from skvarimp._display.drawing import (
    CONTRAST,
    FULL_WIDTH,
    cell_inches,
    check_choice,
    contrast,
    drawable,
    hue,
    inches,
    ink,
    mixed,
    plain,
    pyplot,
    size_texts,
)
from skvarimp._display.named_rows import SMALLEST, NamedRows
from skvarimp._display.texts import TextRoom, points, text_inches, unique_names
from skvarimp._display.times import as_times
from skvarimp._types import Matrix

N_BINS, MOST_NAMED = 100, 4  # categories of a feature that are named
LEVEL, WIDE_LEVEL = 8.0, 14.0  # width of a category's name, relative to its size
EFFECT = "effect of the row's own value on the prediction"
HEIGHT = 0.8  # of the points of a feature, where they are densest


@dataclass(eq=False, repr=False)
class RowsDisplay(NamedRows):
    """A point per row and feature at the row's effect, coloured by the feature's value.

    Of a fitted importance the effect is the row's prediction minus its mean as the
    feature takes the values of other rows: how much the row's own value lifts the
    prediction. Of additive models it is the row's Shapley value.

    Where many rows have nearly the same effect, their points spread vertically. Numbers
    are coloured by their rank, from the smallest to the largest. The most frequent
    categories have colours of their own, named on the right. Missing values
    are grey.

    Parameters
    ----------
    row_importances : array-like of shape (n_samples, n_features)
        Each row's own importance or effect; rows of NaN are left out.
    feature_names : sequence of str
        Names of the features.
    values : sequence of (array-like of shape (n_samples,) or None), default=None
        Values of each feature in the rows; None: points of one colour, as for groups.
    label : str, default="importance of the row"
        What the points are, below them.
    signed : bool, default=False
        Whether points are effects of either sign.
    order_by : array-like of shape (n_features,), default=None
        The importances of the features, of which the largest is on top; None: means of
        the points, or of their sizes if they are `signed`.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes drawn into.
    figure_ : matplotlib Figure
        Their figure.
    key_ : matplotlib Text or None
        The small print below the label: what marks mean, and what is not shown.
    points_ : list of matplotlib PathCollection
        The points of each feature shown, the most important first.

    See Also
    --------
    ImportanceDisplay : Only the means of these points.

    Examples
    --------
    >>> from skvarimp import RowsDisplay
    >>> display = RowsDisplay([[0.1, 2.0], [0.3, 1.0]], ["age", "bmi"]).plot()
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['bmi', 'age']
    """

    row_importances: ArrayLike
    feature_names: Sequence[str]
    _: KW_ONLY
    values: Sequence[ArrayLike | None] | None = None
    label: str = "importance of the row"
    signed: bool = False
    order_by: ArrayLike | None = None

    _most, _of_names = 20, 0.35

    @property
    def _in_units(self):
        return self.order_by is None

    @property
    def _height(self):
        """Rows are tall enough for the names of their categories."""
        most = 0
        for values in self.values or ():
            known = [] if values is None else _without_missing(values)[0]
            if len(known) and known.dtype.kind != "f":
                most = max(most, min(len(np.unique(known)), MOST_NAMED))
        return max(1.6, 0.4 + 0.5 * most)

    @classmethod
    def from_importance(
        cls,
        importance: Any,
        X: Matrix,
        *,
        what: Literal["auto", "effect", "importance"] = "auto",
        **kwargs: Any,
    ) -> Self:
        """Draw the rows of a fitted importance.

        Parameters
        ----------
        importance : importance instance
            Fitted with ``keep_rows=True``.
        X : {array-like, frame, sparse} of shape (n_samples, n_features)
            The rows it was fitted on, for the colours.
        what : {"auto", "effect", "importance"}, default="auto"
            "effect": `row_effects_`, of one output. "importance": `row_importances_`,
            where the importance is a mean over rows. "auto": effects if there are any.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : RowsDisplay
            The drawn display.
        """
        check_is_fitted(importance, "importances_")
        check_choice("what", what, ["auto", "effect", "importance"])
        effects = importance.result_.row_effects
        signed = effects is not None and effects.ndim == 2 and what != "importance"
        own = getattr(importance, "row_importances_", None)
        contributions = effects if signed else own
        if contributions is None or (what == "effect" and not signed):
            raise ValueError(
                f"{type(importance).__name__} has no `row_importances_`, or no "
                "`row_effects_` of one output, to draw. Fit a measure that is a mean "
                "over rows, such as SensitivityImportance, with keep_rows=True."
            )
        kept = importance.result_.rows.kept[:, np.newaxis]
        contributions = np.where(kept, contributions, np.nan)
        table = as_table(X)
        if table.n_samples != len(contributions):
            raise ValueError(
                f"X must have the {len(contributions)} rows that the importance was "
                f"fitted on, got {table.n_samples}."
            )
        values = [
            table.column(columns[0]) if len(columns) == 1 else None
            for columns in importance._feature_columns
        ]
        given = {"values": values, "order_by": importance.importances_}
        given |= {"label": EFFECT if signed else cls.label, "signed": signed}
        return cls(contributions, importance.features_, **given).plot(**kwargs)

    def _rows(self, most, room):
        given = np.asarray(self.row_importances, dtype=np.float64)
        shape = len(given), len(self.feature_names)
        given = drawable(given, shape, "row_importances")
        known = ~np.isnan(given).all(axis=1)
        rows = given[known]
        sizes = np.asarray(self.row_importances, dtype=np.float64)[known]
        sizes = np.abs(sizes) if self.signed else sizes
        means = sizes.mean(axis=0) if len(rows) else np.full(shape[1], np.nan)
        if self.order_by is not None:
            means = np.asarray(self.order_by, dtype=np.float64)
        return *self._largest(means, most, room, self.label), rows, known

    def _mark(self, ax, own_figure, keywords, shown, rows, known):
        style = {"s": 6 if len(rows) < 2000 else 2, "linewidths": 0} | keywords
        self.points_, numbers, missing = [], False, False
        for place, e in enumerate(shown):
            colors, levels = [hue(0)] * len(rows), []
            if self.values is not None and self.values[e] is not None:
                values, are_known = _without_missing(np.asarray(self.values[e])[known])
                colors, levels = _colors(values, are_known)
                numbers |= values.dtype.kind == "f"
                missing |= not are_known.all()
            at = place + _spread(rows[:, e])
            marks = ax.scatter(rows[:, e], at, c=colors, rasterized=True, **style)
            self.points_.append(marks)
            _name_levels(ax, place, levels, inches(ax)[1] / len(shown))
        if numbers:
            plt = pyplot()
            scale = plt.cm.ScalarMappable(plt.Normalize(0, 1), _colormap())
            beside = max([0.0, *(t.get_window_extent().x1 for t in ax.texts)])
            beside = max(0.0, beside - ax.get_window_extent().x1) / ax.bbox.width
            pad = 0.02 + (0.0 if self.figure_.get_layout_engine() else beside)
            bar = self.figure_.colorbar(scale, ax=ax, aspect=30, pad=pad, shrink=0.8)
            bar.set_ticks([0, 1], labels=["low", "high"])
            bar.set_label("value of the feature")
            bar.outline.set_visible(False)
            size_texts(bar.ax)
        return ["grey: missing"] if missing else []


def _spread(values):
    """Vertical places of the points of one feature: wide where there are many."""
    known = ~np.isnan(values)
    every, values = np.zeros(len(known)), values[known]
    low, high = values.min(initial=0.0), values.max(initial=0.0)
    width = high - low or 1.0
    bins = ((values - low) / width * (N_BINS - 1e-9)).astype(np.intp)
    counts = np.bincount(bins, minlength=1)
    order = np.argsort(bins, kind="stable")
    starts = np.cumsum(counts) - counts
    place = np.empty(len(values))
    place[order] = np.arange(len(values)) - starts[bins[order]]
    # the points of a bin evenly over its width, neighbours in the data far apart
    golden = np.mod((place + 1) * 0.6180339887498949, 1.0) - 0.5
    width = HEIGHT * np.sqrt(counts / counts.max(initial=1))
    every[known] = golden * width[bins] * (counts[bins] > 1)
    return every


def _without_missing(values):
    """Numbers, dates and durations as float64, others as texts; which these are."""
    values = np.asarray(values)
    known = np.array([not is_missing(value) for value in values.tolist()], dtype=bool)
    values = numbers_if_possible(values[known])
    if (times := as_times(values)) is not None:
        return times.astype(np.int64).astype(np.float64), known
    return values.astype(np.float64 if values.dtype.kind in "fiu" else str), known


def _colors(values, known):
    """Colour of each point, and the (name, colour) of the levels of categories."""
    from matplotlib.colors import to_rgba

    colors = np.tile(ink(0.5), (len(known), 1))
    levels, which = np.unique(values, return_inverse=True)
    if values.dtype.kind == "f":
        colors[known] = _colormap()(which / max(len(levels) - 1, 1))
        return colors, []
    frequent = np.argsort(-np.bincount(which), kind="stable")
    place = np.argsort(frequent)  # of each level among them
    n_named = len(levels) if len(levels) <= MOST_NAMED else MOST_NAMED - 1
    palette = np.array([to_rgba(hue(k)) for k in range(MOST_NAMED)])
    colors[known] = palette[np.minimum(place, n_named)[which]]
    named = list(zip(levels[frequent[:n_named]], palette))
    if n_named < len(levels):
        named.append((f"{len(levels) - n_named} others", palette[n_named]))
    return colors, named


def _colormap():
    """The colours of plasma that stand out from the paper."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    colors, paper = colormaps["plasma"](np.linspace(0.0, 1.0, 256)), ink(0.0)
    seen = [color for color in colors if contrast(color, paper) >= CONTRAST]
    return ListedColormap(seen or colors)


def _name_levels(ax, place, levels, height):
    """Names of the levels right of the points of a row, each in its colour."""
    row, n = 72 * height, len(levels)
    size = max(min(points("small"), 0.8 * row / max(n, 1)), SMALLEST)
    ems = LEVEL if cell_inches(ax)[0] < FULL_WIDTH else WIDE_LEVEL
    room = TextRoom(ems * size / 72, 1, partial(text_inches, size=size))
    names = unique_names([name for name, _ in levels], room)
    for k, (name, (_, color)) in enumerate(zip(names, levels)):
        step = min(0.9 / n, 1.5 * size / row)
        at = 1.0, place + step * (k + 0.5 - 0.5 * n)
        how = {"xycoords": ax.get_yaxis_transform(), "annotation_clip": False}
        how |= {"xytext": (3, 0), "textcoords": "offset points", "va": "center"}
        how |= {"color": mixed(color[:3], 0.3), "fontsize": size}
        plain([ax.annotate(name, at, **how)])
