"""`MatrixDisplay`: a heat map of a square table of entries; draws with matplotlib."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skvarimp._display.drawing import (
    check_count,
    check_has,
    drawable,
    plain,
    single_axes,
    wrapped,
)
from skvarimp._types import Axes

LARGEST_WITH_NUMBERS = 12
LONGEST_LINE = 26


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

    def __init__(
        self, matrix: ArrayLike, names: Sequence[str], label: str = ""
    ) -> None:
        self.matrix = matrix
        self.names = names
        self.label = label

    @classmethod
    def from_importance(
        cls,
        importance: Any,
        *,
        max_entries: int = 30,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the `matrix_` of a fitted `InteractionImportance`.

        Parameters
        ----------
        importance : InteractionImportance
            Fitted on pairs.
        max_entries : int, default=30
            Number of entries to draw; of more, those with the strongest pairs.
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : MatrixDisplay
            Holds `ax_` and `figure_`.
        """
        check_has(importance, "pairs_", "an InteractionImportance of pairs")
        check_count("max_entries", max_entries)
        strongest = {}  # of each entry that is in a pair
        for pair, value in zip(importance.pairs_, importance.importances_):
            for name in pair if value == value else ():
                strongest[name] = max(value, strongest.get(name, value))
        by_strength = sorted(strongest, key=lambda name: -strongest[name])
        kept = set(by_strength[:max_entries])
        names = [name for name in importance.matrix_names_ if name in kept]
        matrix = pair_matrix(names, importance.pairs_, importance.importances_)
        display = cls(matrix, names, LABELS[importance.statistic_])
        display.plot(ax=ax, **kwargs)
        display._say_left_out(len(importance.matrix_names_))
        return display

    def _say_left_out(self, n_entries):
        """Write below the picture how many of all entries are not in it."""
        left = n_entries - len(self.names)
        if left:
            below = [self.ax_.get_xlabel(), f"{left} of {n_entries} entries not shown"]
            self.ax_.set_xlabel("\n".join(filter(None, below)))

    def plot(self, ax: Axes | None = None, cmap: Any = "cividis") -> Self:
        """Draw the matrix.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        cmap : str or matplotlib Colormap, default="cividis"
            Colours; the default reads the same for colour-blind readers.

        Returns
        -------
        display : MatrixDisplay
            This object.
        """
        n, names = len(self.names), [wrapped(name, LONGEST_LINE) for name in self.names]
        if n == 0:
            raise ValueError("`names` is empty: there is nothing to draw.")
        matrix = np.ma.masked_invalid(drawable(self.matrix, (n, n), "matrix"))
        ax = single_axes(ax, _size(names))
        self.ax_, self.figure_ = ax, ax.figure
        image = ax.imshow(matrix, cmap=cmap, vmin=min(0.0, matrix.min()))
        ax.set_facecolor("0.92")
        ax.set_xticks(range(n), names, rotation=90 if n > 3 else 0)
        ax.set_yticks(range(n), names)
        plain([*ax.get_xticklabels(), *ax.get_yticklabels()])
        ax.tick_params(length=0, labelsize=9)
        ax.spines[:].set_visible(False)
        if n <= LARGEST_WITH_NUMBERS:
            _write_numbers(ax, matrix, image)
        self.figure_.colorbar(image, ax=ax, label=self.label, shrink=0.8)
        return self


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


LABELS = {"h": "Friedman's H", "conditional_std": "interaction (conditional sd)"}


def _size(names):
    """Inches of a figure with room for the names at both sides."""
    lines = [name.split("\n") for name in names]
    longest = max(len(line) for of_name in lines for line in of_name)
    cell = max(0.42, 0.16 * max(map(len, lines)))
    side = 0.4 + max(cell * len(names), 1.6) + 0.085 * longest
    return side + 1.2, side


def _write_numbers(ax, matrix, image):
    """Two significant digits per cell, light on dark and dark on light."""
    for (row, column), value in np.ndenumerate(matrix.filled(np.nan)):
        if np.isnan(value):
            continue
        red, green, blue, _ = image.cmap(image.norm(value))
        dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
        ax.text(
            column,
            row,
            _digits(value, matrix.max()),
            ha="center",
            va="center",
            fontsize=7.5,
            color="white" if dark else "black",
        )


def _digits(value, largest):
    if abs(value) < 1e-3 * largest:
        return "0"
    return f"{value:.2f}" if 0.095 < abs(value) < 100 else f"{value:.2g}"
