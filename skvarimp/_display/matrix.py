"""`MatrixDisplay`: a heat map of a square table of entries or columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skvarimp._display.drawing import (
    check_count,
    check_has,
    drawable,
    single_axes,
)
from skvarimp._display.text import ink, plain, wrapped
from skvarimp._types import Axes

LARGEST_WITH_NUMBERS = 12
LONGEST_LINE = 26
# In equal steps of Oklab, see Ottosson (2020), "A perceptual color space for image
# processing".
WHITE_TO_BLUE = ["#f6fbff", "#c8d6e9", "#9bb3d2", "#6f90bb", "#456ea4", "#174c8c"]


@dataclass(eq=False, repr=False)
class MatrixDisplay:
    """Heat map of a matrix with one row and one column per entry.

    Parameters
    ----------
    matrix : ndarray of shape (n_entries, n_entries)
        Values; NaN is left blank.
    names : list of str
        Names of the entries.
    label : str, default=""
        What the values are, beside the colour bar.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes drawn into.
    figure_ : matplotlib Figure
        Their figure.

    Examples
    --------
    >>> from skvarimp import MatrixDisplay
    >>> nan = float("nan")
    >>> display = MatrixDisplay([[nan, 0.5], [0.5, nan]], ["a", "b"], "strength")
    >>> [t.get_text() for t in display.plot().ax_.get_xticklabels()]
    ['a', 'b']
    """

    matrix: ArrayLike
    names: Sequence[str]
    label: str = ""

    _beside, _below = "", []  # lines of text

    @classmethod
    def from_importance(cls, importance: Any, **kwargs: Any) -> Self:
        """Draw the pairs of a fitted `InteractionImportance`.

        Entries with the strongest pairs come first.

        Parameters
        ----------
        importance : InteractionImportance
            Fitted on pairs.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : MatrixDisplay
            Holds `ax_` and `figure_`.
        """
        check_has(importance, "pairs_", "an InteractionImportance of pairs")
        strongest = {}  # of each entry that is in a pair
        for pair, value in zip(importance.pairs_, importance.importances_):
            for name in pair if value == value else ():
                strongest[name] = max(value, strongest.get(name, value))
        names = sorted(strongest, key=lambda name: -strongest[name])
        matrix = pair_matrix(names, importance.pairs_, importance.importances_)
        display = cls(matrix, names, importance._quantity())
        display._n_entries = len(importance.matrix_names_)
        return display.plot(**kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        cmap: Any = None,
        max_entries: int = 30,
        title: str | None = None,
        figsize: tuple[float, float] | None = None,
    ) -> Self:
        """Draw the matrix.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        cmap : str or matplotlib Colormap, default=None
            Colours; None: from white to blue in even steps of lightness.
        max_entries : int, default=30
            The most entries drawn; a note says how many are not.
        title : str, default=None
            Title of the picture.
        figsize : (float, float), default=None
            Width and height in inches of a figure of its own.

        Returns
        -------
        display : MatrixDisplay
            This object.
        """
        n_named = len(self.names)
        if n_named == 0:
            raise ValueError("`names` is empty: there is nothing to draw.")
        check_count("max_entries", max_entries)
        names = [wrapped(name, LONGEST_LINE) for name in self.names[:max_entries]]
        n = len(names)
        matrix = drawable(self.matrix, (n_named, n_named), "matrix")[:n, :n]
        matrix = np.ma.masked_invalid(matrix)
        ax = single_axes(ax, figsize, _size(names), title)
        self.ax_, self.figure_ = ax, ax.figure
        cmap = light_to_dark() if cmap is None else cmap
        limits = {"vmin": min(0.0, matrix.min()), "vmax": matrix.max() or 1.0}
        image = ax.imshow(matrix, cmap=cmap, **limits)
        ax.set_facecolor(ink(0.08))
        ax.set_xticks(range(n), names, rotation=90 if n > 3 else 0)
        ax.set_yticks(range(n), names)
        plain([*ax.get_xticklabels(), *ax.get_yticklabels()])
        ax.tick_params(length=0, labelsize=9)
        ax.spines[:].set_visible(False)
        if n <= LARGEST_WITH_NUMBERS:
            _write_numbers(ax, matrix, image)
        label = wrapped(self.label, max(20, 5 * n))
        self.figure_.colorbar(image, ax=ax, label=label, shrink=0.8)
        n_all = getattr(self, "_n_entries", n_named)
        note = [f"{n_all - n} of {n_all} entries are not shown"] if n < n_all else []
        ax.set(ylabel=self._beside, xlabel="\n".join([*self._below, *note]))
        return self


def light_to_dark():
    """Colours from white to blue that differ equally."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("light to dark", WHITE_TO_BLUE)


def pair_matrix(names, pairs, values):
    """Symmetric matrix of the values of pairs; NaN where there is none.

    Parameters
    ----------
    names : list of str
        Of the rows and columns; pairs with other names are left out.
    pairs : list of (str, str)
    values : ndarray of shape (n_pairs,)

    Returns
    -------
    ndarray of shape (n_names, n_names)
    """
    place = {name: e for e, name in enumerate(names)}
    matrix = np.full((len(names), len(names)), np.nan)
    for (first, second), value in zip(pairs, values):
        if first in place and second in place:
            j, k = place[first], place[second]
            matrix[j, k] = matrix[k, j] = value
    return matrix


def _size(names):
    """Inches of a figure with room for the names at both sides."""
    longest = max(map(len, "\n".join(names).split("\n")))
    cell = max(0.42, 0.16 * (1 + max(name.count("\n") for name in names)))
    side = 0.4 + max(cell * len(names), 1.6) + 0.085 * longest
    return side + 1.2, side


def _write_numbers(ax, matrix, image):
    """The values in one format, light on dark and dark on light."""
    form = _format(np.abs(matrix).max())
    for (row, column), value in np.ndenumerate(matrix.filled(np.nan)):
        if np.isnan(value):
            continue
        red, green, blue, _ = image.cmap(image.norm(value))
        dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
        style = {"ha": "center", "va": "center", "fontsize": 7.5}
        color = "white" if dark else "black"
        ax.text(column, row, form.format(value), color=color, **style)


def _format(largest):
    """Two digits of the largest number, and as many places of all others."""
    if largest is np.ma.masked or largest == 0:
        return "{:.0f}"
    places = 1 - int(np.floor(np.log10(largest)))
    return f"{{:.{max(places, 0)}f}}" if -3 < places < 5 else "{:.0e}"


@dataclass(eq=False, repr=False)
class AssociationDisplay(MatrixDisplay):
    """Heat map of `association_`: how well one column's splits imitate another's.

    Unlike a correlation it is not symmetric: row i tells how well the other columns
    stand in for the optimal splits on i.

    Parameters
    ----------
    matrix : ndarray of shape (n_features, n_features)
        The predictive measure of association, 0 to 1.
    names : list of str
        Names of the columns.
    label : str, default="association"
        What the values are, beside the colour bar.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes drawn into.
    figure_ : matplotlib Figure
        Their figure.

    Examples
    --------
    >>> from skvarimp import AssociationDisplay
    >>> display = AssociationDisplay([[1, 0.5], [0, 1]], ["a", "b"]).plot()
    >>> display.ax_.get_ylabel()
    'optimal split on'
    """

    label: str = "association"

    _beside, _below = "optimal split on", ["surrogate split on"]

    @classmethod
    def from_importance(cls, importance: Any, **kwargs: Any) -> Self:
        """Draw the associations of a fitted `ImpurityImportance`.

        Parameters
        ----------
        importance : ImpurityImportance
            Fitted with surrogates; its most important columns come first.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : AssociationDisplay
            Holds `ax_` and `figure_`.
        """
        check_has(importance, "importances_", "an ImpurityImportance")
        if getattr(importance, "association_", None) is None:
            raise ValueError(
                "There are no associations to draw: `surrogates` must be True or a "
                "number, got False. Use ImpurityImportance(surrogates=True)."
            )
        order = np.argsort(importance.ranking_, kind="stable")
        names = [importance.entry_names_[j] for j in order]
        return cls(importance.association_[np.ix_(order, order)], names).plot(**kwargs)
