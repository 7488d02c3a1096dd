"""Displays of oligomer importances; matplotlib is imported when drawing only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skvarimp._display.drawing import (
    DIVERGING,
    LARGEST_DRAWN,
    TOO_LARGE,
    add_legend,
    drawable,
    fit_labels,
    hue,
    ink,
    keep_inside,
    not_shown,
    powers,
    single_axes,
    size_texts,
    with_fitting_text,
    write_key,
    write_powers,
)
from skvarimp._display.named_rows import Room, fit_names
from skvarimp._types import Axes
from skvarimp.sequence._motif import MotifProfile
from skvarimp.sequence._sequences import check_order

LETTER, MOST_INCHES = 0.92, 14.0  # of a position's width; of a figure with many
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
            facecolor=ink(0.12),
            edgecolor=ink(0.5),
            label="no letter in common, ±1 SD",
        )
        lines = [
            (profile.exact, "-", profile.motif),
            (profile.one_replaced, "--", "1 letter replaced, mean"),
            (profile.two_replaced, "-.", "2 letters replaced, mean"),
        ]
        n_lines = 2 if len(profile.motif) == 1 else 3
        for color, (values, style, label) in zip((1, 3, 0), lines[:n_lines]):
            ax.plot(x, values, color=hue(color), linestyle=style, label=label)
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
        keep_inside(ax)
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
    key_ : matplotlib Text or None
        The small print below the label: what is not shown.

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
        ax.set_facecolor(ink(0.15))  # where there is no value
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
        ax.set(xlabel="position", ylabel="oligomer")
        bar = ax.figure.colorbar(
            image, ax=ax, label="importance (units of the score)", format=powers()
        )
        size_texts(bar.ax)
        fit_labels([ax, bar.ax])
        notes = not_shown(left, len(names), "oligomers")
        if np.any(np.abs(self.importances) > LARGEST_DRAWN):
            notes.append(f"grey: {TOO_LARGE}")
        self.key_ = write_key(ax, notes)
        fit_names(ax, names[:n_rows])
        self.ax_, self.figure_ = ax, ax.figure
        return self


class SequenceLogoDisplay:
    """Letters by position, as tall as their importances: a sequence logo.

    Letters that raise the score stand on the axis, the most important on top. Those
    that lower it hang below.

    Parameters
    ----------
    importances : array-like of shape (n_positions, n_letters)
        Signed importances of single letters; NaN is not drawn.
    letters : sequence of str of shape (n_letters,)
        The alphabet.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes drawn into.
    figure_ : matplotlib Figure
        Their figure.
    letters_ : list of (int, str, matplotlib PathPatch)
        Position and outline of each letter drawn.

    See Also
    --------
    OligomerHeatmapDisplay : Longer oligomers by position.

    References
    ----------
    .. [1] T. D. Schneider, R. M. Stephens, "Sequence logos: a new way to display
       consensus sequences", Nucleic Acids Research 18 (1990), 6097-6100.

    Examples
    --------
    >>> from skvarimp.sequence import SequenceLogoDisplay
    >>> display = SequenceLogoDisplay([[1.0, -1.0], [0.2, -0.2]], "AB").plot()
    >>> [letter for _, letter, _ in display.letters_]
    ['A', 'B', 'A', 'B']
    """

    def __init__(self, importances: ArrayLike, letters: Sequence[str]) -> None:
        self.importances = importances
        self.letters = letters

    @classmethod
    def from_importance(cls, importance: Any, **kwargs: Any) -> Self:
        """Draw the importances of single letters.

        They are those of order 1, whatever the order of the importance is.

        Parameters
        ----------
        importance : PositionalOligomerImportance
            Fitted.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : SequenceLogoDisplay
            Drawn.
        """
        check_is_fitted(importance)
        letters = list(importance.weights_.alphabet)
        return cls(importance.of_letters(), letters).plot(**kwargs)

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
        display : SequenceLogoDisplay
            This object.
        """
        shape = (len(self.importances), len(self.letters))
        values = drawable(self.importances, shape, "importances")
        if not values.size:
            raise ValueError("`importances` is empty: there is nothing to draw.")
        width = min(max(4.0, 0.8 + 0.25 * shape[0]), MOST_INCHES)
        ax = single_axes(ax, figsize, (width, 2.8), title)
        self.letters_ = []
        sides = (np.maximum(values, 0.0), np.minimum(values, 0.0))
        for position in range(shape[0]):
            for side in sides:
                self._stack(ax, position, side[position])
        low, high = (side.sum(axis=1) for side in np.nan_to_num(sides))
        low, high = min(high.min(), 0.0), max(low.max(), 0.0)
        margin = 0.04 * (high - low) or 1.0
        ax.set(xlim=(-0.6, shape[0] - 0.4), ylim=(low - margin, high + margin))
        ax.axhline(0.0, color=ink(0.75), linewidth=0.8)
        ax.spines[["top", "right"]].set_visible(False)
        ax.xaxis.get_major_locator().set_params(integer=True)
        write_powers(ax.yaxis)
        ax.set(xlabel="position", ylabel="importance (units of the score)")
        fit_labels([ax])
        keep_inside(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _stack(self, ax, position, heights):
        """The letters of one sign, from the axis outwards, the largest last."""
        from matplotlib.patches import PathPatch
        from matplotlib.transforms import Affine2D

        base = 0.0
        for which in np.argsort(np.abs(heights), kind="stable"):
            height = heights[which]
            if np.isnan(height) or height == 0.0:
                continue
            path = _letter(str(self.letters[which]))
            place = Affine2D().scale(LETTER, abs(height)).translate(position, 0.0)
            place.translate(-0.5 * LETTER, min(base, base + height))
            style = {"facecolor": hue(int(which)), "linewidth": 0.0}
            patch = ax.add_patch(PathPatch(path.transformed(place), **style))
            self.letters_.append((position, str(self.letters[which]), patch))
            base += height


def _letter(letter):
    """The outline of a letter, in a square of length 1."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.path import Path
    from matplotlib.textpath import TextPath
    from matplotlib.transforms import Affine2D

    font = FontProperties(weight="bold")
    if not letter.strip():  # has no outline
        return Path.unit_rectangle()
    path = TextPath((0.0, 0.0), letter, size=1.0, prop=font, usetex=False)
    box = path.get_extents()
    sizes = np.maximum([box.width, box.height], 1e-6)
    return path.transformed(Affine2D().translate(-box.x0, -box.y0).scale(*1.0 / sizes))
