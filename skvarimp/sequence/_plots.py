"""Displays of oligomer importances; matplotlib is imported when drawing only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skvarimp._display.drawing import DIVERGING, drawable, single_axes
from skvarimp._types import Axes
from skvarimp.sequence._motif import MotifProfile
from skvarimp.sequence._sequences import check_order

# Told apart with any colour vision, and by their line styles.
_VERMILLION, _PURPLE, _BLUE, _GREY = "#D55E00", "#AA4499", "#0072B2", "#BBBBBB"


PROFILE_CURVES = (
    "exact",
    "one_replaced",
    "two_replaced",
    "irrelevant_mean",
    "irrelevant_std",
)


class MotifDisplay:
    """A motif by position, its neighbours, and the band of irrelevant oligomers.

    Figure 3 of [1]_: its right panel from importances, its left one from weights.

    Parameters
    ----------
    profile : MotifProfile
        What to draw.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes drawn into.
    figure_ : matplotlib Figure
        Their figure.

    References
    ----------
    .. [1] A. Zien, N. Kraemer, S. Sonnenburg, G. Raetsch, "The Feature Importance
       Ranking Measure", ECML PKDD 2009, figure 3.

    Examples
    --------
    >>> from skvarimp.sequence import OligomerWeights
    >>> weights = OligomerWeights({2: [[0, 1, 0, 0]]}, alphabet="AB")
    >>> display = weights.plot_motif("AB")  # doctest: +SKIP
    """

    def __init__(self, profile: MotifProfile) -> None:
        self.profile = profile

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.

        Returns
        -------
        display : MotifDisplay
            This object.
        """
        ax = single_axes(ax, None, (7.0, 4.2))
        profile = self.profile
        x = drawable(profile.positions, np.shape(profile.positions), "positions")
        if not len(x):
            raise ValueError("`profile` has no positions: there is nothing to draw.")
        for quantity in PROFILE_CURVES:
            drawable(getattr(profile, quantity), x.shape, quantity)
        ax.fill_between(
            x,
            profile.irrelevant_mean - profile.irrelevant_std,
            profile.irrelevant_mean + profile.irrelevant_std,
            color=_GREY,
            label="no letter in common, ±1 SD",
        )
        ax.plot(x, profile.exact, color=_VERMILLION, label=profile.motif)
        lines = [(profile.one_replaced, _PURPLE, "--", "1 letter replaced, mean")]
        if len(profile.motif) > 1:
            lines += [(profile.two_replaced, _BLUE, "-.", "2 letters replaced, mean")]
        for values, color, style, label in lines:
            ax.plot(x, values, color=color, linestyle=style, label=label)
        ax.set_xlabel("position")
        ax.set_ylabel(f"{profile.quantity} (units of the score)")
        ax.margins(x=0)
        low, high = ax.get_ylim()
        ax.set_ylim(low, high + 0.25 * (high - low))  # room for the legend
        ax.legend(loc="upper center", ncols=2, fontsize="x-small", frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self


class OligomerHeatmapDisplay:
    """Heat map of importances: positions against oligomers.

    Parameters
    ----------
    importances : ndarray of shape (n_positions, n_oligomers)
        Signed importances.
    oligomers : sequence of str of shape (n_oligomers,)
        Names of the rows of the picture, from the top.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes drawn into.
    figure_ : matplotlib Figure
        Their figure.

    Examples
    --------
    >>> from skvarimp.sequence import OligomerWeights, PositionalOligomerImportance
    >>> weights = OligomerWeights({2: [[0, 1, 0, 0]]}, alphabet="AB")
    >>> importance = PositionalOligomerImportance(order=1).fit(weights)
    >>> display = importance.plot()  # doctest: +SKIP
    """

    def __init__(self, importances: ArrayLike, oligomers: Sequence[str]) -> None:
        self.importances = importances
        self.oligomers = oligomers

    @classmethod
    def from_importance(
        cls, importance: Any, *, n_oligomers: int = 20, ax: Axes | None = None
    ) -> Self:
        """Draw the most important oligomers.

        Parameters
        ----------
        importance : PositionalOligomerImportance
            Fitted.
        n_oligomers : int, default=20
            Number of rows: the oligomers with the largest absolute importance at
            any position.
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.

        Returns
        -------
        display : OligomerHeatmapDisplay
            Drawn.
        """
        check_is_fitted(importance)
        check_order("n_oligomers", n_oligomers)
        largest = np.abs(importance.importances_).max(axis=0)
        top = np.argsort(-largest, kind="stable")[:n_oligomers]
        names = importance.oligomers_[top].tolist()
        return cls(importance.importances_[:, top], names).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.

        Returns
        -------
        display : OligomerHeatmapDisplay
            This object.
        """
        n_rows = len(self.oligomers)
        shape = (len(self.importances), n_rows)
        values = drawable(self.importances, shape, "importances")
        if not values.size:
            raise ValueError("`importances` is empty: there is nothing to draw.")
        ax = single_axes(ax, None, (8.0, 1.4 + 0.22 * n_rows))
        limit = np.nanmax(np.abs(values), initial=0.0) or 1.0
        image = ax.imshow(
            values.T,
            aspect="auto",
            interpolation="nearest",
            cmap=DIVERGING,
            vmin=-limit,
            vmax=limit,
        )
        ax.set_yticks(range(n_rows), self.oligomers, family="monospace", fontsize=8)
        ax.set_xlabel("position")
        ax.set_ylabel("oligomer")
        ax.figure.colorbar(image, ax=ax, label="importance (units of the score)")
        self.ax_, self.figure_ = ax, ax.figure
        return self
