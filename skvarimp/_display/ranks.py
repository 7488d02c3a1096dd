"""Ranks that the data allow, and differences of importances, as points with lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skvarimp._display.bars import DOTS
from skvarimp._display.drawing import drawable, hue, ink, not_shown, thin
from skvarimp._display.named_rows import NamedRows, row_names


@dataclass(eq=False, repr=False)
class RanksDisplay(NamedRows):
    """The ranks that the data allow for each feature as lines, rank 1 at the left.

    A dot is the rank of the estimate. Where the lines of two features do not overlap,
    their order is settled at the confidence that was asked for.

    Parameters
    ----------
    ranks : array-like of shape (n_features,)
        Ranks of the estimates, 1 = most important.
    lowest_rank, highest_rank : array-like of shape (n_features,)
        The ranks that the data allow.
    feature_names : sequence of str
        Names of the features; long ones are wrapped, not cut off.
    label : str, default="rank"
        What the positions are, below the lines.
    confidence : float, default=0.95
        Of all lines together, said in small print.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes drawn into.
    figure_ : matplotlib Figure
        Their figure.
    key_ : matplotlib Text or None
        The small print below the label: what marks mean, and what is not shown.
    dots_ : matplotlib Line2D
        The ranks of the estimates.
    lines_ : matplotlib LineCollection
        The ranks that the data allow.

    See Also
    --------
    rank_intervals : Makes the numbers.

    Examples
    --------
    >>> from skvarimp import RanksDisplay
    >>> display = RanksDisplay([2, 1], [1, 1], [2, 2], ["age", "bmi"]).plot()
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['bmi', 'age']
    """

    ranks: ArrayLike
    lowest_rank: ArrayLike
    highest_rank: ArrayLike
    feature_names: Sequence[str]
    _: KW_ONLY
    label: str = "rank"
    confidence: float = 0.95

    @classmethod
    def from_ranks(cls, ranks: Any, *, label: str | None = None, **kwargs: Any) -> Self:
        """Draw what `rank_intervals` returned.

        Parameters
        ----------
        ranks : RankIntervals
            Ranks of each feature.
        label : str, default=None
            What the positions are. None: the rank by what the importances are.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : RanksDisplay
            The drawn display.
        """
        display = cls(
            ranks.ranking,
            ranks.lowest_rank,
            ranks.highest_rank,
            ranks.features,
            label=label or f"rank by {ranks.quantity.label}",
            confidence=ranks.confidence,
        )
        return display.plot(**kwargs)

    def _rows(self, most, longest):
        shape = (len(self.feature_names),)
        given = {"ranks": self.ranks, "lowest_rank": self.lowest_rank}
        given["highest_rank"] = self.highest_rank
        numbers = [drawable(of, shape, name) for name, of in given.items()]
        order = np.argsort(numbers[0], kind="stable")
        shown, n = order[:most], len(order)
        below = [self.label, *not_shown(n - len(shown), n)]
        return (
            row_names(self.feature_names, shown, longest),
            below,
            *(of[shown] for of in numbers),
        )

    def _mark(self, ax, own_figure, keywords, ranks, lowest, highest):
        at = np.arange(len(ranks))
        style = {"linewidth": 2.5, "color": thin(hue(0))}
        self.lines_ = ax.hlines(at, lowest, highest, **style)
        style = DOTS | {"color": hue(0), "zorder": 4} | keywords
        (self.dots_,) = ax.plot(ranks, at, **style)
        ax.set_xlim(0.5, max(highest.max(initial=1.0), 1.0) + 0.5)
        ax.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
        return [f"lines: ranks allowed, jointly at {self.confidence:.0%}"]


@dataclass(eq=False, repr=False)
class DifferencesDisplay(NamedRows):
    """Differences of two importances as points around 0, with lines that hold together.

    Features whose line does not reach 0 have a dark point.

    Parameters
    ----------
    differences : array-like of shape (n_features,)
        The first importance minus the second; NaN is not drawn.
    ends : array-like of shape (n_features, 2)
        Lower and upper ends of intervals for all features together.
    feature_names : sequence of str
        Names of the features; long ones are wrapped, not cut off.
    label : str, default="difference of importances"
        What the positions are, below the points.
    confidence : float, default=0.95
        Of all lines together, said in small print.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes drawn into.
    figure_ : matplotlib Figure
        Their figure.
    key_ : matplotlib Text or None
        The small print below the label: what marks mean, and what is not shown.
    points_ : matplotlib PathCollection
        The differences.
    lines_ : matplotlib LineCollection
        The intervals.

    See Also
    --------
    importance_difference : Makes the numbers.

    Examples
    --------
    >>> from skvarimp import DifferencesDisplay
    >>> ends = [[-0.2, 0.4], [0.5, 1.3]]
    >>> display = DifferencesDisplay([0.1, 0.9], ends, ["age", "bmi"]).plot()
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['bmi', 'age']
    """

    differences: ArrayLike
    ends: ArrayLike
    feature_names: Sequence[str]
    _: KW_ONLY
    label: str = "difference of importances"
    confidence: float = 0.95

    _in_units = False

    @classmethod
    def from_differences(
        cls, differences: Any, *, label: str | None = None, **kwargs: Any
    ) -> Self:
        """Draw what `importance_difference` returned.

        Parameters
        ----------
        differences : ImportanceDifferences
            The first importance minus the second.
        label : str, default=None
            What the positions are. None: the difference of what the importances are.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : DifferencesDisplay
            The drawn display.
        """
        display = cls(
            differences.importances,
            differences.joint_ends.T,
            differences.features,
            label=label or differences.quantity.label,
            confidence=differences.confidence,
        )
        return display.plot(**kwargs)

    def _rows(self, most, longest):
        n = len(self.feature_names)
        values = drawable(self.differences, (n,), "differences")
        ends = drawable(self.ends, (n, 2), "ends")
        size = np.abs(np.asarray(self.differences, dtype=np.float64))
        names, below, shown = self._largest(size, most, longest, self.label)
        return names, below, values[shown], ends[shown]

    def _mark(self, ax, own_figure, keywords, values, ends):
        at = np.arange(len(values))
        apart = (ends[:, 0] > 0) | (ends[:, 1] < 0)
        colors = [hue(0) if clear else ink(0.45) for clear in apart]
        lower, upper = np.nan_to_num(ends, nan=np.nan, posinf=np.nan, neginf=np.nan).T
        self.lines_ = ax.hlines(at, lower, upper, colors, linewidth=1.5)
        style = {"s": 25.0, "c": colors, "zorder": 4} | keywords
        self.points_ = ax.scatter(values, at, **style)
        return [f"lines: joint {self.confidence:.0%} intervals"]
