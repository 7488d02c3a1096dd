"""Pictures of columns and pairs: heat maps of square tables, and how columns join."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform

from skvarimp._display.drawing import (
    DIVERGING,
    LARGEST_DRAWN,
    TOO_LARGE,
    cell_inches,
    check_count,
    check_has,
    contrast,
    drawable,
    first_axes,
    fit_labels,
    hue,
    inches,
    ink,
    lay_out,
    not_shown,
    number_format,
    plain,
    powers,
    single_axes,
    size_texts,
    with_fitting_text,
    write_key,
)
from skvarimp._display.named_rows import NamedRows, row_names
from skvarimp._display.texts import (
    TextRoom,
    character_inches,
    line_inches,
    points,
    text_inches,
    unique_names,
)
from skvarimp._types import Axes

CELL = 0.42  # inches, in a figure of its own
WIDEST_NAME, SMALLEST_NUMBER = 21.0, 4.5  # relative to the font's size; points
MOST, NAMES = 20, 0.9  # features by default; size of names, relative to the font's
TIGHT = 0.88  # the height of cells, relative to that of lines, at least
NUMBERS = 0.75  # size of numbers at most, relative to the font's
TO_THE_CUT = 2.5  # widths from 1 to the threshold that are drawn at least
# In equal steps of Oklab, see Ottosson (2020), "A perceptual color space for image
# processing".
WHITE_TO_BLUE = ["#f6fbff", "#c8d6e9", "#9bb3d2", "#6f90bb", "#456ea4", "#174c8c"]


@dataclass(eq=False, repr=False)
class MatrixDisplay:
    """Heat map of a matrix with one row and one column per feature.

    Of a symmetric matrix one triangle is drawn. Colours of values that are not negative
    are those of their square roots, so that small values can be told apart. With
    negative values, colours run from blue to red, and 0 is white.

    Parameters
    ----------
    matrix : ndarray of shape (n_features, n_features)
        Values; NaN is left blank.
    names : list of str
        Names of the features.
    label : str, default=""
        What the values are, beside the colour bar.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes drawn into.
    figure_ : matplotlib Figure
        Their figure.
    key_ : matplotlib Text or None
        The small print below the label: what marks mean, and what is not shown.

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

        Features have the order of their columns, whatever the statistic is.

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
        display._n_features = len(importance.matrix_names_)
        return display.plot(**kwargs)

    @with_fitting_text
    def plot(
        self,
        ax: Axes | None = None,
        *,
        max_features: int | None = None,
        title: str | None = None,
        figsize: tuple[float, float] | None = None,
    ) -> Self:
        """Draw the matrix.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        max_features : int, default=None
            The most features drawn, those with the largest sums of their rows; a note
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
        fit, room = self._room(ax, figsize, n_named)
        most = fit if max_features is None else max_features
        check_count("max_features", most)
        shown = np.argsort(-np.nansum(matrix, axis=1), kind="stable")[:most]
        shown = np.sort(shown)
        matrix, n = matrix[np.ix_(shown, shown)], len(shown)
        names = [" ".join(str(self.names[e]).split()) for e in shown]
        names = unique_names(names, room)
        ax = single_axes(ax, figsize, _size(names), title)
        self.ax_, self.figure_ = ax, ax.figure
        cells = _draw_cells(ax, matrix)
        bar = self.figure_.colorbar(
            cells, ax=ax, label=self.label, shrink=0.8, format=powers()
        )
        size_texts(bar.ax)
        flat = n * (_widest(names) + character_inches()) < inches(ax)[0]
        ax.set_xticks(range(n), names, rotation=0 if flat else 90)
        ax.set_yticks(range(n), names)
        plain([*ax.get_xticklabels(), *ax.get_yticklabels()])
        ax.tick_params(length=0, labelsize=NAMES * points())
        ax.spines[:].set_visible(False)
        n_all = getattr(self, "_n_features", n_named)
        notes = not_shown(n_all - n, n_all)
        beyond = np.abs(np.asarray(self.matrix, dtype=np.float64)) > LARGEST_DRAWN
        if beyond.any():
            notes.append(f"grey: {TOO_LARGE}")
        ax.set(ylabel=self._beside, xlabel="\n".join(self._below))
        fit_labels([ax, bar.ax])
        self.key_ = write_key(ax, notes)
        lay_out(self.figure_)  # to know the size of the cells
        _write_numbers(ax, cells)
        return self

    def _room(self, ax, figsize, n):
        """How many of n features fit, and the room of their names."""
        if ax is not None:
            figsize = cell_inches(first_axes(ax))
        width, line = WIDEST_NAME * NAMES * points() / 72, NAMES * line_inches()
        if figsize is None:
            return MOST, TextRoom(width, int(CELL / line), _name_width)
        of_names = 0.3 * min(figsize)
        n_lines = 2 + len(self._below) + bool(self._beside)
        side = min(figsize[0] - 8 * character_inches(), figsize[1])
        side -= n_lines * line_inches() + of_names
        fit = min(MOST, max(2, int(side / (TIGHT * line))))
        n_lines = max(1, int(side / line / min(n, fit)))
        width = min(width, max(of_names, 6 * character_inches()))
        return fit, TextRoom(width, n_lines, _name_width)


def _name_width(name):
    return text_inches(name, NAMES * points())


def _widest(names):
    return max(map(_name_width, "\n".join(names).split("\n")))


def _draw_cells(ax, matrix):
    """The lower triangle of a symmetric matrix, all cells of others; grey is NaN."""
    from matplotlib import colors

    n, unknown = len(matrix), np.isnan(matrix)
    hidden = np.zeros((n, n), dtype=bool)
    if np.array_equal(matrix, matrix.T, equal_nan=True):
        hidden = np.triu(np.ones((n, n), dtype=bool), k=1)
    low, high = np.nanmin(matrix, initial=0.0), np.nanmax(matrix, initial=0.0) or 1.0
    norm = colors.PowerNorm(0.5, low, high)
    cmap = colors.LinearSegmentedColormap.from_list("light to dark", WHITE_TO_BLUE)
    if low < 0:
        most = max(-low, high)
        norm, cmap = colors.Normalize(-most, most), DIVERGING
    edges, style = np.arange(n + 1) - 0.5, {"edgecolors": ink(0.2), "linewidth": 0.4}
    blank = np.ma.array(np.zeros((n, n)), mask=hidden | ~unknown)
    ax.pcolor(edges, edges, blank, cmap=colors.ListedColormap([ink(0.08)]), **style)
    values = np.ma.array(matrix, mask=hidden | unknown)
    cells = ax.pcolor(edges, edges, values, cmap=cmap, norm=norm, **style)
    ax.set(xlim=edges[[0, -1]], ylim=edges[[-1, 0]], aspect="auto")
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
    side = 0.4 + max(CELL * len(names), 1.6) + _widest(names)
    return side + 1.2, side


def _write_numbers(ax, cells):
    """The values in one format, light on dark and dark on light, where they fit."""
    values = cells.get_array()
    form = number_format(np.abs(values).max())
    known = np.argwhere(~np.ma.getmaskarray(values))
    texts = [form.format(values[row, column]) for row, column in known]
    widest = max(map(text_inches, texts), default=1.0)
    size = points() * min(NUMBERS, 0.85 * inches(ax)[0] / len(values) / widest)
    for (row, column), text in zip(known, texts) if size >= SMALLEST_NUMBER else ():
        color = cells.cmap(cells.norm(values[row, column]))
        light = contrast(color, "white") > contrast(color, "black")
        style = {"ha": "center", "va": "center", "fontsize": size}
        ax.text(column, row, text, color="white" if light else "black", **style)


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
    label : str, default="predictive measure of association"
        What the values are, beside the colour bar.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes drawn into.
    figure_ : matplotlib Figure
        Their figure.
    key_ : matplotlib Text or None
        The small print below the label: what marks mean, and what is not shown.

    Examples
    --------
    >>> from skvarimp import AssociationDisplay
    >>> display = AssociationDisplay([[1, 0.5], [0, 1]], ["a", "b"]).plot()
    >>> display.ax_.get_ylabel()
    'optimal split on'
    """

    label: str = "predictive measure of association"

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
        return cls(importance.association_, importance.features_).plot(**kwargs)


@dataclass(eq=False, repr=False)
class DendrogramDisplay(NamedRows):
    """Columns as rows that join from left to right, at their mean association.

    Made by `plot()` of what :func:`skvarimp.correlated_groups` returns.

    Parameters
    ----------
    linkage : array-like of shape (n_columns - 1, 4)
        As SciPy's `average` returns it, of 1 - association.
    feature_names : sequence of str
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
    key_ : matplotlib Text or None
        The small print below the label: what marks mean, and what is not shown.
    lines_ : list of matplotlib Line2D
        One bracket for each joint shown, the strongest first. Brackets of one group
        have one colour; those beyond the threshold are grey.
    """

    linkage: ArrayLike
    feature_names: Sequence[str]
    _: KW_ONLY
    threshold: float
    label: str = "mean association"

    _height, _most = 0.75, 40

    def _rows(self, most, room):
        n, below = len(self.feature_names), [self.label]
        linkage = drawable(self.linkage, (n - 1, 4), "linkage")
        shown = np.arange(n)
        if n > most:
            joined = np.empty(2 * n - 1)  # distance at which each node is joined
            joined[linkage[:, :2].astype(np.intp)] = linkage[:, 2:3]
            order, limit = hierarchy.leaves_list(linkage), np.sort(joined[:n])[most]
            kept = joined[order] < limit  # both columns of a pair, or none
            shown = order[kept] if kept.any() else order[:most]
            limit = f", none joins above {1.0 - limit:.2g}"
            below += not_shown(n - len(shown), n, "columns", limit)
            distance = squareform(hierarchy.cophenet(linkage))[np.ix_(shown, shown)]
            linkage = hierarchy.single(squareform(distance)) if len(shown) > 1 else []
        tree = {"leaves": [0], "icoord": [], "dcoord": [], "color_list": []}
        if len(linkage):
            # also what joins at the threshold has the colour of its group
            cut = np.nextafter(1.0 - self.threshold, 2.0)
            how = {"color_threshold": cut, "above_threshold_color": "C0"}
            tree = hierarchy.dendrogram(linkage, no_plot=True, **how)
        names = row_names(self.feature_names, shown[tree["leaves"]], room)
        return names, below, tree

    def _mark(self, ax, own_figure, keywords, tree):
        brackets = zip(tree["dcoord"], tree["icoord"], tree["color_list"])
        self.lines_ = []
        for distance, place, color in sorted(brackets, key=lambda one: one[0][1]):
            group = int(color.removeprefix("C"))  # 0: beyond the threshold
            color, width = (hue((group - 1) % 6), 1.6) if group else (ink(0.5), 0.8)
            style = {"color": color, "linewidth": width} | keywords
            rows = (np.array(place) - 5.0) / 10.0  # of SciPy's places
            self.lines_ += ax.plot(1.0 - np.array(distance), rows, **style)
        ax.axvline(self.threshold, color=ink(0.9), linewidth=1.4, linestyle="--")
        # groups and the cut have half of the width, however far away the rest joins
        joints = [1.0 - max(distance) for distance in tree["dcoord"]]
        end = min([self.threshold, *joints])
        middle = 1.0 - TO_THE_CUT * (1.0 - self.threshold)
        end, margin = max(end, min(middle, 0.5)), 0.02
        hidden = sum(joint < end for joint in joints)
        margin *= 1.0 - end
        ax.set_xlim(1.0 + margin, end - margin)
        # a number at the right end would reach out of a small figure
        inside = ax.get_xticks()
        inside = inside[(inside <= 1.0 + margin) & (inside >= end + 3.0 * margin)]
        ax.set_xticks(inside)
        notes = [f"dashed: threshold {self.threshold:g}"]
        if hidden:
            verb = "joint is" if hidden == 1 else "joints are"
            notes.append(f"{hidden} {verb} beyond the right end")
        return notes
