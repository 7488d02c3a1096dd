"""`AssociationDisplay`: heat map of the predictive measure of association."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skvarimp._display.drawing import check_has
from skvarimp._display.matrix import MatrixDisplay


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

    _beside, _below = "optimal split on", ["surrogate split on"]

    def __init__(
        self, matrix: ArrayLike, names: Sequence[str], label: str = "association"
    ) -> None:
        super().__init__(matrix, names, label)

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
        display = cls(importance.association_[np.ix_(order, order)], names)
        return display.plot(**kwargs)
