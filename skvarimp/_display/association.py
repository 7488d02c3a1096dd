"""`AssociationDisplay`: heat map of the predictive measure of association."""

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skvarimp._display.drawing import check_count
from skvarimp._display.matrix import MatrixDisplay
from skvarimp._types import Axes


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
    >>> from skvarimp._display.association import AssociationDisplay
    >>> display = AssociationDisplay([[1, 0.5], [0, 1]], ["a", "b"]).plot()
    >>> display.ax_.get_ylabel()
    'optimal split on'
    """

    def __init__(self, matrix, names, label="association"):
        super().__init__(matrix, names, label)

    @classmethod
    def from_importance(
        cls,
        importance: Any,
        *,
        max_entries: int = 30,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the associations of a fitted `ImpurityImportance`.

        Parameters
        ----------
        importance : ImpurityImportance
            Fitted with surrogates.
        max_entries : int, default=30
            Number of columns to draw; of more, the most important ones.
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : AssociationDisplay
            Holds `ax_` and `figure_`.
        """
        check_count("max_entries", max_entries)
        check_is_fitted(importance)
        if importance.association_ is None:
            raise ValueError(
                "There are no associations to draw: `surrogates` must be True or a "
                "number, got False. Use ImpurityImportance(surrogates=True)."
            )
        kept = np.flatnonzero(importance.ranking_ <= max_entries)
        names = [importance.entry_names_[j] for j in kept]
        display = cls(importance.association_[np.ix_(kept, kept)], names)
        display.plot(ax=ax, **kwargs)
        display._say_left_out(len(importance.entry_names_))
        return display

    def plot(self, ax=None, cmap="cividis"):
        """Draw the matrix.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        cmap : str or matplotlib Colormap, default="cividis"
            Colours; the default reads the same for colour-blind readers.

        Returns
        -------
        display : AssociationDisplay
            This object.
        """
        super().plot(ax=ax, cmap=cmap)
        self.ax_.set_ylabel("optimal split on")
        self.ax_.set_xlabel("surrogate split on")
        return self
