"""`MatrixDisplay`: a heat map of a square table of entries or columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skvarimp._display.drawing import (
    DIVERGING,
    check_count,
    check_has,
    drawable,
    first_axes,
    inches,
    single_axes,
    with_fitting_text,
)
from skvarimp._display.text import (
    cell_inches,
    character_inches,
    fit_labels,
    ink,
    line_inches,
    not_shown,
    plain,
    points,
    size_texts,
    told_apart,
)
from skvarimp._types import Axes

LARGEST_WITH_NUMBERS = 12
LONGEST_NAME, SMALLEST_NUMBER = 26, 4.5  # characters; points
MOST, NAMES = 20, 0.9  # entries by default; size of names, relative to the font's
# In equal steps of Oklab, see Ottosson (2020), "A perceptual color space for image
# processing".
WHITE_TO_BLUE = ["#f6fbff", "#c8d6e9", "#9bb3d2", "#6f90bb", "#456ea4", "#174c8c"]


@dataclass(eq=False, repr=False)
class MatrixDisplay:
    """Heat map of a matrix with one row and one column per entry.

    Of a symmetric matrix one triangle is drawn. Colours of values that are not negative
    are those of their square roots, so that small values can be told apart. With
    negative values, colours run from blue to red, and 0 is white.

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

        Entries have the order of their columns, whatever the statistic is.

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
        known = zip(importance.pairs_, ~np.isnan(importance.importances_))
        paired = {name for pair, is_known in known if is_known for name in pair}
        names = [name for name in importance.matrix_names_ if name in paired]
        matrix = pair_matrix(names, importance.pairs_, importance.importances_)
        display = cls(matrix, names, importance._quantity())
        display._n_entries = len(importance.matrix_names_)
        return display.plot(**kwargs)

    @with_fitting_text
    def plot(
        self,
        ax: Axes | None = None,
        *,
        cmap: Any = None,
        max_entries: int | None = None,
        title: str | None = None,
        figsize: tuple[float, float] | None = None,
    ) -> Self:
        """Draw the matrix.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        cmap : str or matplotlib Colormap, default=None
            Colours; None: from white to blue in even steps of lightness, and from blue
            over white to red with negative values.
        max_entries : int, default=None
            The most entries drawn, those with the largest sums of their rows; a note
            says how many are not. None: 20, or as many as fit into `ax` or `figsize`.
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
        matrix = drawable(self.matrix, (n_named, n_named), "matrix")
        fit, longest = self._room(ax, figsize)
        most = fit if max_entries is None else max_entries
        check_count("max_entries", most)
        shown = np.argsort(-np.nansum(matrix, axis=1), kind="stable")[:most]
        shown = np.sort(shown)
        matrix, n = matrix[np.ix_(shown, shown)], len(shown)
        names = [" ".join(str(self.names[e]).split()) for e in shown]
        names = told_apart(names, longest, n_lines=1)
        ax = single_axes(ax, figsize, _size(names), title)
        self.ax_, self.figure_ = ax, ax.figure
        cells = _draw_cells(ax, matrix, cmap)
        bar = self.figure_.colorbar(cells, ax=ax, label=self.label, shrink=0.8)
        size_texts(bar.ax)
        flat = n * max(map(len, names)) < 0.8 * inches(ax)[0] / character_inches()
        ax.set_xticks(range(n), names, rotation=0 if flat else 90)
        ax.set_yticks(range(n), names)
        plain([*ax.get_xticklabels(), *ax.get_yticklabels()])
        ax.tick_params(length=0, labelsize=NAMES * points())
        ax.spines[:].set_visible(False)
        n_all = getattr(self, "_n_entries", n_named)
        below = [*self._below, *not_shown(n_all - n, n_all)]
        ax.set(ylabel=self._beside, xlabel="\n".join(below))
        fit_labels([ax, bar.ax])
        if n <= LARGEST_WITH_NUMBERS:
            self.figure_.draw_without_rendering()  # to know the size of the cells
            _write_numbers(ax, cells)
        return self

    def _room(self, ax, figsize):
        """How many entries fit, and how many characters of their names."""
        if ax is not None:
            figsize = cell_inches(first_axes(ax))
        if figsize is None:
            return MOST, LONGEST_NAME
        width, height = figsize
        of_names = 0.3 * min(width, height)
        longest = int(of_names / (NAMES * character_inches()))
        n_lines = 2 + len(self._below) + bool(self._beside)
        side = min(width - 8 * character_inches(), height) - n_lines * line_inches()
        fit = int((side - of_names) / (NAMES * line_inches()))
        return min(MOST, max(2, fit)), min(LONGEST_NAME, max(6, longest))


def _draw_cells(ax, matrix, cmap):
    """The lower triangle of a symmetric matrix, all cells of others; grey is NaN."""
    from matplotlib.colors import (
        LinearSegmentedColormap,
        ListedColormap,
        Normalize,
        PowerNorm,
    )

    n, known = len(matrix), matrix[~np.isnan(matrix)]
    hidden = np.zeros((n, n), dtype=bool)
    if np.array_equal(matrix, matrix.T, equal_nan=True):
        hidden = np.triu(np.ones((n, n), dtype=bool), k=1)
    low, high = known.min(initial=0.0), known.max(initial=0.0) or 1.0
    norm = PowerNorm(0.5, low, high)
    colors = LinearSegmentedColormap.from_list("light to dark", WHITE_TO_BLUE)
    if low < 0:
        most = max(-low, high)
        norm, colors = Normalize(-most, most), DIVERGING
    cmap = colors if cmap is None else cmap
    edges, style = np.arange(n + 1) - 0.5, {"edgecolors": ink(0.2), "linewidth": 0.4}
    unknown = np.isnan(matrix)
    blank = np.ma.array(np.zeros((n, n)), mask=hidden | ~unknown)
    ax.pcolor(edges, edges, blank, cmap=ListedColormap([ink(0.08)]), **style)
    values = np.ma.array(matrix, mask=hidden | unknown)
    cells = ax.pcolor(edges, edges, values, cmap=cmap, norm=norm, **style)
    ax.set(xlim=edges[[0, -1]], ylim=edges[[-1, 0]], aspect="equal")
    return cells


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
    longest = max(map(len, names))
    side = 0.4 + max(0.42 * len(names), 1.6) + NAMES * character_inches() * longest
    return side + 1.2, side


def _write_numbers(ax, cells):
    """The values in one format, light on dark and dark on light, where they fit."""
    values = cells.get_array()
    form = _format(np.abs(values).max())
    known = [(at, form.format(v), v) for at, v in np.ndenumerate(values.filled(np.nan))]
    known = [one for one in known if not np.isnan(one[2])]
    longest = max((len(text) for _, text, _ in known), default=1)
    size = min(
        0.75 * points(), 0.9 * 72 * inches(ax)[0] / (len(values) * 0.64 * longest)
    )
    for (row, column), text, value in known if size >= SMALLEST_NUMBER else ():
        red, green, blue, _ = cells.cmap(cells.norm(value))
        dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
        style = {"ha": "center", "va": "center", "fontsize": size}
        ax.text(column, row, text, color="white" if dark else "black", **style)


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
            Fitted with surrogates.
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
        return cls(importance.association_, importance.entry_names_).plot(**kwargs)
