"""Importances over the rounds of `AllRelevantSelector`, beside the largest copies'."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skvarimp._display.drawing import (
    COLORS,
    Display,
    check_count,
    drawable,
    entitle,
    single_axes,
)
from skvarimp._display.rows import draw_boxes, finish_rows, row_names, row_size
from skvarimp._types import Axes

STATES = {
    "selected": COLORS[2],
    "tentative": COLORS[5],
    "rejected": COLORS[1],
    "largest copy": "0.75",
}


@dataclass(eq=False, repr=False)
class AllRelevantDisplay(Display):
    """Importances of each column over the rounds, with those of the largest copy.

    A box spans the middle half of the rounds, with a bar at the median. Its whiskers
    end at the lowest and the highest importance. The columns and the largest copy are
    sorted by their medians, the largest on top.

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

    _draw = "from_selector"

    @classmethod
    def from_selector(
        cls,
        selector: Any,
        *,
        ax: Axes | None = None,
        label: str = "importance",
        **kwargs: Any,
    ) -> Self:
        """Draw the history of a fitted selector.

        Parameters
        ----------
        selector : AllRelevantSelector
            Fitted.
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
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
        names = getattr(selector, "feature_names_in_", None)
        names = [f"x{j}" for j in range(n_features)] if names is None else list(names)
        states = np.full(n_features, "rejected", dtype=object)
        states[selector.tentative_] = "tentative"
        states[selector.support_] = "selected"
        history = selector.history_
        display = cls(
            history["importances"],
            history["largest_copy"],
            names,
            states.tolist(),
            label=label,
        )
        return display.plot(ax=ax, **kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        max_entries: int = 30,
        title: str | None = None,
        figsize: tuple[float, float] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the boxes.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure that is large enough.
        max_entries : int, default=30
            Columns shown, those with the largest medians; a note says how many of each
            kind are not.
        title : str, default=None
            Title of the picture.
        figsize : (float, float), default=None
            Width and height in inches of a figure of its own.
        **kwargs : dict
            Passed to `matplotlib.axes.Axes.barh`, which draws the middle halves.

        Returns
        -------
        display : AllRelevantDisplay
            This object.
        """
        check_count("max_entries", max_entries)
        shape = (len(self.largest_copy), len(self.feature_names))
        values = drawable(self.importances, shape, "importances")
        copies = drawable(self.largest_copy, shape[:1], "largest_copy")
        # a column's own rounds; the copies have all of them
        rows = [column[~np.isnan(column)] for column in values.T]
        medians = np.array([np.median(row) if len(row) else -np.inf for row in rows])
        order = np.argsort(-medians, kind="stable")
        shown, hidden = order[:max_entries], order[max_entries:]
        place = int((medians[shown] > np.median(copies)).sum())
        states = [self.states[j] for j in shown]
        names = row_names(self.feature_names, shown)
        rows = [rows[j] for j in shown]
        states.insert(place, "largest copy")
        names.insert(place, "largest copy")
        rows.insert(place, copies)
        own_figure = ax is None
        ax = single_axes(ax, figsize, row_size(names, 1.2))
        self.ax_, self.figure_ = ax, ax.figure
        self.boxes_ = draw_boxes(ax, rows, [STATES[state] for state in states], kwargs)
        note = [f"{self.label} ({len(copies)} rounds)"]
        if len(hidden):
            counts = [(s, sum(self.states[j] == s for j in hidden)) for s in STATES]
            listed = ", ".join(f"{count} {state}" for state, count in counts if count)
            note.append(f"not shown: {listed}")
        ax.set_xlabel("\n".join(note))
        finish_rows(ax, names)
        self._legend(ax, states)
        entitle([ax], title, own_figure)
        return self

    def _legend(self, ax, states):
        """A box of each colour that occurs, with how many columns it stands for."""
        handles, labels = [], []
        for state in ("selected", "tentative", "rejected"):
            if state in states:
                handles.append(self.boxes_[states.index(state)])
                labels.append(f"{state} ({sum(s == state for s in self.states)})")
        ax.legend(handles, labels, frameon=False, fontsize="small")
