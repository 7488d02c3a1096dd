"""`DendrogramDisplay`: how columns join to groups, and where a threshold cuts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import cycle

import numpy as np
from numpy.typing import ArrayLike

from skvarimp._display.drawing import COLORS, drawable
from skvarimp._display.named_rows import NamedRows, row_names
from skvarimp._display.text import ink, not_shown


@dataclass(eq=False, repr=False)
class DendrogramDisplay(NamedRows):
    """Columns as rows that join from left to right, at their mean association.

    Made by `plot()` of what :func:`skvarimp.correlated_groups` returns.

    Parameters
    ----------
    linkage : array-like of shape (n_columns - 1, 4)
        As SciPy's `average` returns it, of 1 - association.
    entry_names : sequence of str
        Names of the columns.
    threshold : float
        Groups that join at a smaller association stay apart. Drawn as a dashed line.
    label : str, default="mean association"
        What the joints are, below the axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes drawn into.
    figure_ : matplotlib Figure
        Their figure.
    lines_ : list of matplotlib Line2D
        One bracket for each joint shown, the strongest first. Brackets of one group
        have one colour; those beyond the threshold are grey.
    """

    linkage: ArrayLike
    entry_names: Sequence[str]
    _: KW_ONLY
    threshold: float
    label: str = "mean association"

    _height, _most = 0.75, 40

    def _rows(self, most, longest):
        n, below = len(self.entry_names), [self.label]
        linkage = drawable(self.linkage, (n - 1, 4), "linkage")
        joins, distance = linkage[:, :2].astype(np.intp), linkage[:, 2]
        order = _leaves(joins, n)
        if n > most:
            first = np.empty(2 * n - 1)  # distance at which each node is joined
            first[joins] = distance[:, np.newaxis]
            limit = np.sort(first[:n])[most]
            kept = first[order] < limit  # both columns of a pair, or none
            order = order[kept] if kept.any() else order[:most]
            limit = f", none joins above {1.0 - limit:.2g}"
            below += not_shown(n - len(order), n, "columns", limit)
        names = row_names(self.entry_names, order, longest)
        return names, below, order, joins, distance

    def _mark(self, ax, own_figure, keywords, order, joins, distance):
        """A bracket for each joint of two nodes, of which rows are shown."""
        n = len(self.entry_names)
        row = {column: place for place, column in enumerate(order.tolist())}
        shown = []  # the nodes of each joint of which rows are shown
        for k, pair in enumerate(joins.tolist()):
            shown.append([node for node in pair if node in row])
            if shown[k]:
                row[n + k] = np.mean([row[node] for node in shown[k]])
        last = _last_joints(joins, distance, 1.0 - self.threshold, n)
        groups = sorted({top for top in last.values() if top in row}, key=row.get)
        color = dict(zip(groups, cycle(COLORS[:-1])))  # grey is of no group
        reach, self.lines_ = dict.fromkeys(row, 1.0), []
        for k, pair in enumerate(shown):
            if len(pair) == 1:  # the other rows of this joint are hidden
                reach[n + k] = reach[pair[0]]
            elif pair:
                reach[n + k] = joint = 1.0 - distance[k]
                style = {"color": color.get(last.get(n + k), ink(0.5))} | keywords
                x = [reach[pair[0]], joint, joint, reach[pair[1]]]
                y = np.repeat([row[node] for node in pair], 2)
                self.lines_ += ax.plot(x, y, **({"linewidth": 1.2} | style))
        ax.axvline(self.threshold, color=ink(0.75), linewidth=1.0, linestyle="--")
        ax.set_xlim(1.02, -0.02)
        return [f"dashed: threshold {self.threshold:g}"]


def _leaves(joins, n):
    """The columns in an order in which no brackets cross, (n,)."""
    order, stack = [], [2 * n - 2]
    while stack:
        node = stack.pop()
        if node < n:
            order.append(node)
        else:
            stack += joins[node - n][::-1].tolist()
    return np.array(order)


def _last_joints(joins, distance, cut, n):
    """Joint within the cut -> the last joint of its group."""
    above = {node: n + k for k, pair in enumerate(joins.tolist()) for node in pair}
    last = {}
    for k in np.flatnonzero(distance <= cut)[::-1].tolist():
        last[n + k] = last.get(above.get(n + k), n + k)
    return last
