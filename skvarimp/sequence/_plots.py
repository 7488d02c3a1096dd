"""Displays of oligomer importances; matplotlib is imported when drawing only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skvarimp._display.drawing import (
    COLORS,
    DIVERGING,
    add_legend,
    drawable,
    fit_labels,
    ink,
    not_shown,
    powers,
    single_axes,
    size_texts,
    with_fitting_text,
    write_powers,
)
from skvarimp._display.named_rows import Room, fit_names
from skvarimp._types import Axes
from skvarimp.sequence._motif import MotifProfile
from skvarimp.sequence._sequences import check_order

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
        display : MotifDisplay
            This object.
        """
        own_figure = ax is None
        ax = single_axes(ax, figsize, (7.0, 4.2), title)
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
            color=ink(0.25),
            label="no letter in common, ±1 SD",
        )
        lines = [
            (profile.exact, "-", profile.motif),
            (profile.one_replaced, "--", "1 letter replaced, mean"),
            (profile.two_replaced, "-.", "2 letters replaced, mean"),
        ]
        n_lines = 2 if len(profile.motif) == 1 else 3
        for color, (values, style, label) in zip((1, 3, 0), lines[:n_lines]):
            ax.plot(x, values, color=COLORS[color], linestyle=style, label=label)
        ax.set_xlabel("position")
        ax.set_ylabel(f"{profile.quantity} (units of the score)")
        ax.margins(x=0)
        write_powers(ax.yaxis)
        ax.xaxis.get_major_locator().set_params(integer=True)
        if own_figure:
            add_legend(ax, own_figure, *ax.get_legend_handles_labels())
        else:  # inside the axes, above which the user may write a title
            low, high = ax.get_ylim()
            ax.set_ylim(low, high + 0.25 * (high - low))
            ax.legend(loc="upper center", ncols=2, fontsize="x-small", frameon=False)
        fit_labels([ax])
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
        cls, importance: Any, *, n_oligomers: int = 20, **kwargs: Any
    ) -> Self:
        """Draw the most important oligomers.

        Parameters
        ----------
        importance : PositionalOligomerImportance
            Fitted.
        n_oligomers : int, default=20
            Number of rows: the oligomers with the largest absolute importance at
            any position.
        **kwargs : dict
            Passed to `plot`.

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
        return cls(importance.importances_[:, top], names).plot(**kwargs)

    @with_fitting_text
    def plot(
        self,
        ax: Axes | None = None,
        *,
        title: str | None = None,
        figsize: tuple[float, float] | None = None,
    ) -> Self:
        """Draw the oligomers, or the first ones where there is no room for all.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure that is large enough.
        title : str, default=None
            Title of the picture.
        figsize : (float, float), default=None
            Width and height in inches of a figure of its own.

        Returns
        -------
        display : OligomerHeatmapDisplay
            This object.
        """
        names = list(self.oligomers)
        shape = (len(self.importances), len(names))
        values = drawable(self.importances, shape, "importances")
        if not values.size:
            raise ValueError("`importances` is empty: there is nothing to draw.")
        fit = Room(ax, figsize, n_lines=3).rows(names, height=0.8)
        n_rows = min(fit, len(names))
        values, left = values[:, :n_rows], len(names) - n_rows
        ax = single_axes(ax, figsize, (8.0, 1.4 + 0.22 * n_rows), title)
        limit = np.nanmax(np.abs(values), initial=0.0) or 1.0
        image = ax.imshow(
            values.T,
            aspect="auto",
            interpolation="nearest",
            cmap=DIVERGING,
            vmin=-limit,
            vmax=limit,
        )
        style = {"family": "monospace", "fontsize": "small"}
        ax.set_yticks(range(n_rows), names[:n_rows], **style)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_xlabel(
            "\n".join(["position", *not_shown(left, len(names), "oligomers")])
        )
        ax.set_ylabel("oligomer")
        bar = ax.figure.colorbar(
            image, ax=ax, label="importance (units of the score)", format=powers()
        )
        size_texts(bar.ax)
        fit_labels([ax, bar.ax])
        fit_names(ax, names[:n_rows])
        self.ax_, self.figure_ = ax, ax.figure
        return self
