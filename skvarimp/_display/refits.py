"""Displays of refits: scores along a path of subsets, boxes of rounds and of folds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skvarimp._data.base_table import column_names
from skvarimp._display.drawing import (
    add_legend,
    drawable,
    fill_band,
    fit_labels,
    hue,
    inches,
    ink,
    lay_out,
    mixed,
    single_axes,
    with_fitting_text,
    write_key,
    write_powers,
)
from skvarimp._display.named_rows import (
    BOXES,
    NamedRows,
    draw_boxes,
    mark_names,
    row_names,
    write_spans,
)
from skvarimp._display.texts import line_inches, points
from skvarimp._types import Axes

FEW_FOLDS = 30  # so many are drawn one by one as well
STATES = {
    "selected": (2, {"marker": "o"}),
    "tentative": (5, {"marker": "o", "markerfacecolor": "none"}),
    "rejected": (1, {"marker": "x"}),
}  # the place of its colour, and its mark
COPY = "largest copy"


@dataclass(kw_only=True, eq=False, repr=False)
class SelectionPathDisplay:
    """Score against number of features, with the kept and the best subset.

    Parameters
    ----------
    n_features : array-like of shape (n_steps,)
        Sizes of the subsets.
    score : array-like of shape (n_steps,)
        Their mean scores.
    fold_scores : array-like of shape (n_steps, n_folds)
        The scores of the folds.
    chosen : int
        Size of the subset kept.
    needed : float, default=None
        The score that was good enough.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes drawn into.
    figure_ : matplotlib Figure
        Figure of the axes.
    key_ : matplotlib Text or None
        What band and lines are, in small print below the label.
    line_ : matplotlib Line2D
        The scores.

    See Also
    --------
    BackwardEliminationSelector : Its `plot_path` draws this.

    Examples
    --------
    >>> from skvarimp import SelectionPathDisplay
    >>> display = SelectionPathDisplay(
    ...     n_features=[3, 2, 1],
    ...     score=[0.8, 0.8, 0.3],
    ...     fold_scores=[[0.8], [0.8], [0.3]],
    ...     chosen=2,
    ... ).plot()
    >>> display.ax_.get_xlabel()
    'number of features'
    """

    n_features: ArrayLike
    score: ArrayLike
    fold_scores: ArrayLike
    chosen: int
    needed: float | None = None

    @classmethod
    def from_selector(cls, selector: Any, **kwargs: Any) -> Self:
        """Draw the path of a fitted selector.

        Parameters
        ----------
        selector : BackwardEliminationSelector or ForwardSelector
            Fitted.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : SelectionPathDisplay
            The drawn display.
        """
        drawn = {k: selector.path_[k] for k in ("n_features", "score", "fold_scores")}
        drawn |= {"chosen": selector.n_features_, "needed": selector.score_needed_}
        return cls(**drawn).plot(**kwargs)

    @with_fitting_text
    def plot(
        self,
        ax: Axes | None = None,
        *,
        title: str | None = None,
        figsize: tuple[float, float] | None = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        title : str, default=None
            Title of the picture.
        figsize : (float, float), default=None
            Width and height in inches of a figure of its own.

        Returns
        -------
        self : SelectionPathDisplay
            With `ax_`, `figure_` and `line_`.
        """
        ax = single_axes(ax, figsize, (6.4, 4.4), title)
        order = np.argsort(self.n_features)
        columns = self.n_features, self.score, self.fold_scores
        n, score, folds = (np.asarray(column)[order] for column in columns)
        score = drawable(score, n.shape, "score")
        folds = drawable(folds, folds.shape, "fold_scores")
        notes = []
        if folds.shape[1] > 1:
            spread = folds.std(axis=1, ddof=1)
            fill_band(ax, n, score - spread, score + spread, hue(0))
            notes.append("band: ± 1 standard deviation over folds")
        if self.needed is not None:
            ax.axhline(self.needed, color=ink(0.6), lw=0.8, ls="--")
            notes.append("dashed: good enough, the smallest subset above is kept")
        (self.line_,) = ax.plot(n, score, ".-", color=hue(0))
        if n.max() / n.min() >= 50:
            ax.set_xscale("log")
            ax.xaxis.set_major_formatter("{x:.0f}")
        else:
            ax.xaxis.get_major_locator().set_params(integer=True)
        write_powers(ax.yaxis)
        self.ax_, self.figure_ = ax, ax.figure
        ax.set(xlabel="number of features", ylabel="held-out score")
        fit_labels([ax])
        self.key_ = write_key(ax, notes)
        kept = int(np.flatnonzero(n == self.chosen)[0])
        best = int(np.argmax(np.where(np.isnan(score), -np.inf, score)))
        _name_points(ax, n, score, {"best": best, "kept": kept})
        return self


def _name_points(ax, n, score, places):
    """Marks and names of points, in lines of their own above all that is drawn."""
    marks = {"best": "x", "kept": "o"}
    style = {"ms": 0.9 * points(), "mfc": "none", "mec": ink(), "mew": 1.5}
    for what, at in places.items():
        ax.plot(n[at], score[at], marks[what], **style)
    if places["best"] == places["kept"]:
        places = {"best and kept": places["best"]}
    lay_out(ax.figure)  # to know the height of the lines
    line = 1.4 * line_inches() / inches(ax)[1]
    low, high = ax.get_ylim()
    above = line * (len(places) + 0.3)
    ax.set_ylim(low, low + (high - low) / (1.0 - min(above, 0.6)))
    to_right = [
        ax.transLimits.transform((n[at], 0.0))[0] < 0.5 for at in places.values()
    ]
    # the line from the upper name does not cross the lower one
    names = sorted(places, key=lambda what: n[places[what]], reverse=not to_right[0])
    for row, what in enumerate(names):
        at = places[what]
        right = to_right[[*places].index(what)]
        how = {"xytext": (n[at], 1.0 - line * (row + 0.5)), "va": "center"}
        how |= {
            "textcoords": ("data", "axes fraction"),
            "ha": "left" if right else "right",
        }
        how["arrowprops"] = {"arrowstyle": "-", "color": ink(0.6), "lw": 0.8}
        how["arrowprops"] |= {"relpos": (0.0 if right else 1.0, 0.0), "shrinkA": 0.0}
        text = f"{what}: {score[at]:.4g} with {n[at]} of {n.max()}"
        named = ax.annotate(text, (n[at], score[at]), **how)
        named.set_bbox({"facecolor": ink(0.0), "linewidth": 0.0, "pad": 1.0})


@dataclass(eq=False, repr=False)
class AllRelevantDisplay(NamedRows):
    """Importances of each column over the rounds, with those of the largest copy.

    A box spans the middle half of the rounds, with a bar at the median. Its whiskers
    end at the lowest and the highest importance. The columns and the largest copy are
    sorted by their medians, the largest on top; a line marks the largest copy's. The
    colour of names and boxes says whether a column was selected, rejected or left
    tentative.

    Parameters
    ----------
    importances : array-like of shape (n_rounds, n_features)
        NaN after a column was rejected.
    largest_copy : array-like of shape (n_rounds,)
        The largest importance of the copies.
    feature_names : sequence of str
        Names of the columns; long ones are wrapped, not cut off.
    states : sequence of {"selected", "tentative", "rejected"}
        What became of each column.
    label : str, default="importance"
        What the positions are, below the boxes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes drawn into.
    figure_ : matplotlib Figure
        Their figure.
    key_ : matplotlib Text or None
        The small print below the label: what marks mean, and what is not shown.
    boxes_ : matplotlib BarContainer
        The middle halves, one per row from the top.

    See Also
    --------
    AllRelevantSelector : Makes the numbers.

    Examples
    --------
    >>> from skvarimp import AllRelevantDisplay
    >>> values, copies = [[0.9, 0.1], [0.8, 0.2]], [0.3, 0.4]
    >>> states = ["selected", "rejected"]
    >>> display = AllRelevantDisplay(values, copies, ["bmi", "age"], states).plot()
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['bmi', 'largest copy', 'age']
    """

    importances: ArrayLike
    largest_copy: ArrayLike
    feature_names: Sequence[str]
    states: Sequence[str]
    _: KW_ONLY
    label: str = "importance"

    _height, _n_lines = 1.2, 6

    @classmethod
    def from_selector(
        cls, selector: Any, *, label: str = "importance", **kwargs: Any
    ) -> Self:
        """Draw the history of a fitted selector.

        Parameters
        ----------
        selector : AllRelevantSelector
            Fitted.
        label : str, default="importance"
            What the positions are.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : AllRelevantDisplay
            The drawn display.
        """
        n_features = selector.n_features_in_
        names = column_names(getattr(selector, "feature_names_in_", None), n_features)
        chosen = [selector.support_, selector.tentative_]
        states = np.select(chosen, ["selected", "tentative"], "rejected")
        history = selector.history_
        given = history["importances"], history["largest_copy"], names, states.tolist()
        return cls(*given, label=label).plot(**kwargs)

    def _rows(self, most, room):
        shape = (len(self.largest_copy), len(self.feature_names))
        values = drawable(self.importances, shape, "importances")
        copies = drawable(self.largest_copy, shape[:1], "largest_copy")
        names = [COPY, *self.feature_names]
        states = [COPY, *self.states]
        # a column's own rounds; the copies have all of them
        rows = [copies, *(column[~np.isnan(column)] for column in values.T)]
        medians = np.array([np.median(row) if len(row) else -np.inf for row in rows])
        order = np.argsort(-medians, kind="stable")
        hidden = order[order > 0][most:]
        shown = order[~np.isin(order, hidden)]
        below = [f"{self.label} ({len(copies)} rounds)"]
        if len(hidden):
            count = Counter(states[j] for j in hidden)
            listed = ", ".join(f"{count[s]} {s}" for s in STATES if count[s])
            below.append(f"not shown: {listed}")
        chosen = [rows[j] for j in shown], [states[j] for j in shown]
        return row_names(names, shown, room), below, *chosen

    def _mark(self, ax, own_figure, keywords, rows, states):
        hues = {state: hue(place) for state, (place, _) in STATES.items()}
        hues[COPY] = ink(0.6)
        colors = [hues[state] for state in states]
        self.boxes_ = draw_boxes(ax, rows, colors, keywords)
        for text, color in zip(ax.get_yticklabels(), colors):
            text.set_color(mixed(color, 0.3))
        copies = np.median(rows[states.index(COPY)])
        ax.axvline(copies, color=ink(0.6), lw=0.8, ls="--", zorder=0)
        # the mark of each state that occurs, and how many columns have it
        count, handles = Counter(self.states), []
        drawn = [state for state in STATES if state in states and count[state]]
        for state in drawn:
            at = [row for row, own in enumerate(states) if own == state]
            style = {"color": hues[state]} | STATES[state][1]
            handles += mark_names(ax, at, **style)
        labels = [f"{state} ({count[state]})" for state in drawn]
        if drawn:
            add_legend(ax, own_figure, handles, labels)
        return [BOXES, "dashed line: median of the largest copy"]


@dataclass(eq=False, repr=False)
class FoldsDisplay(NamedRows):
    """Importances in each fold as horizontal boxes, the largest mean on top.

    A box spans the middle half of the folds, with a bar at the median. Its whiskers end
    at the lowest and the highest importance. Up to 30 folds are also drawn as dots. The
    best and the worst rank of each feature stand on the right.

    Parameters
    ----------
    importances : array-like of shape (n_folds, n_features)
        Importances of each fold.
    feature_names : sequence of str
        Names of the features; long ones are wrapped, not cut off.
    ranks : array-like of shape (n_folds, n_features), default=None
        Rank of each feature in each fold; None: no ranks are written.
    label : str, default="importance"
        What the positions are, below the boxes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes drawn into.
    figure_ : matplotlib Figure
        Their figure.
    key_ : matplotlib Text or None
        The small print below the label: what marks mean, and what is not shown.
    boxes_ : matplotlib BarContainer
        The middle halves, one per feature shown.

    See Also
    --------
    importance_across_folds : Makes the numbers.

    Examples
    --------
    >>> from skvarimp import FoldsDisplay
    >>> display = FoldsDisplay([[0.2, 0.9], [0.4, 0.7]], ["age", "bmi"]).plot()
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['bmi', 'age']
    """

    importances: ArrayLike
    feature_names: Sequence[str]
    _: KW_ONLY
    ranks: ArrayLike | None = None
    label: str = "importance"

    _height, _n_lines = 1.2, 5

    @classmethod
    def from_folds(cls, folds: Any, *, label: str | None = None, **kwargs: Any) -> Self:
        """Draw what `importance_across_folds` returned.

        Parameters
        ----------
        folds : FoldImportances
            Importances of every fold.
        label : str, default=None
            What the positions are. None: what the numbers are, with their unit.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : FoldsDisplay
            The drawn display.
        """
        given = {"ranks": folds.ranks, "label": label or folds.quantity.label}
        return cls(folds.by_fold, folds.features, **given).plot(**kwargs)

    def _rows(self, most, room):
        shape = (max(len(self.importances), 1), len(self.feature_names))
        values = drawable(self.importances, shape, "importances")
        label = f"{self.label} ({len(values)} folds)"
        means = np.mean(np.asarray(self.importances, dtype=np.float64), axis=0)
        return *self._largest(means, most, room, label), values

    def _mark(self, ax, own_figure, keywords, shown, values):
        one_by_one = len(values) <= FEW_FOLDS
        place = {"height": 0.4, "above": 0.12} if one_by_one else {}
        colors = [hue(0)] * len(shown)
        self.boxes_ = draw_boxes(ax, values[:, shown].T, colors, keywords, **place)
        notes = [BOXES]
        if one_by_one:  # below the boxes
            at = np.arange(len(shown)) + np.full((len(values), 1), 0.27)
            ax.plot(values[:, shown], at, "o", color=ink(0.75), ms=2.2)
            notes = ["dots: folds, " + BOXES]
        if self.ranks is not None:
            ranks = drawable(self.ranks, values.shape, "ranks")[:, shown]
            write_spans(ax, ranks.min(axis=0), ranks.max(axis=0), "rank, best–worst")
        return notes
