"""`CandidatesDisplay`: the range over good models behind the best one's bar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skvarimp._display.drawing import add_legend, drawable, hue, ink, pale
from skvarimp._display.named_rows import NamedRows, write_spans


@dataclass(eq=False, repr=False)
class CandidatesDisplay(NamedRows):
    """Importances in the best model as bars, before their range over all good models.

    The features that matter most to the best model are on top. The best and the worst
    rank of each feature over the models stand on the right. A circle marks the features
    that a good model can do without.

    Parameters
    ----------
    by_model : array-like of shape (n_models, n_features)
        Importances in each model, the best model first.
    feature_names : sequence of str
        Names of the features; long ones are wrapped, not cut off.
    ranks : array-like of shape (n_models, n_features), default=None
        Rank of each feature in each model; None: no ranks are written.
    dispensable : array-like of shape (n_features,), default=None
        Whether a good model can do without the feature; None: nothing is marked.
    label : str, default="importance"
        What the lengths are, below the bars.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes drawn into.
    figure_ : matplotlib Figure
        Their figure.
    ranges_ : matplotlib BarContainer
        The ranges, one per feature shown.
    bars_ : matplotlib BarContainer
        The bars of the best model.

    See Also
    --------
    importance_across_candidates : Makes the numbers.

    Examples
    --------
    >>> from skvarimp import CandidatesDisplay
    >>> display = CandidatesDisplay([[0.2, 0.9], [0.4, 0.7]], ["age", "bmi"]).plot()
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['bmi', 'age']
    """

    by_model: ArrayLike
    feature_names: Sequence[str]
    _: KW_ONLY
    ranks: ArrayLike | None = None
    dispensable: ArrayLike | None = None
    label: str = "importance"

    _n_lines = 6

    @classmethod
    def from_candidates(
        cls, candidates: Any, *, label: str | None = None, **kwargs: Any
    ) -> Self:
        """Draw what `importance_across_candidates` returned.

        Parameters
        ----------
        candidates : CandidateImportances
            Importances in every good model.
        label : str, default=None
            What the lengths are. None: what the numbers are, with their unit.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : CandidatesDisplay
            The drawn display.
        """
        given = {"ranks": candidates.ranks, "dispensable": candidates.dispensable}
        given["label"] = label or candidates.quantity.label
        return cls(candidates.by_model, candidates.features, **given).plot(**kwargs)

    def _rows(self, most, room):
        shape = (max(len(self.by_model), 1), len(self.feature_names))
        values = drawable(self.by_model, shape, "by_model")
        best = np.asarray(self.by_model[0], dtype=np.float64)
        return *self._largest(best, most, room, self.label), values

    def _mark(self, ax, own_figure, keywords, shown, values):
        at, best = np.arange(len(shown)), values[0, shown]
        low, high = values[:, shown].min(axis=0), values[:, shown].max(axis=0)
        style = {"height": 0.7} | pale(hue(0)) | keywords
        ax.use_sticky_edges = False  # a range does not begin at the edge
        self.ranges_ = ax.barh(at, high - low, left=low, **style)
        self.bars_ = ax.barh(at, best, color=hue(0), height=0.25)
        handles = [self.bars_, self.ranges_]
        labels = ["best model", f"range over {len(values)} good models"]
        if self.dispensable is not None:
            can_go = drawable(self.dispensable, (values.shape[1],), "dispensable")[
                shown
            ]
            where = np.flatnonzero(can_go)
            if len(where):
                style = {"marker": "o", "linestyle": "none", "markerfacecolor": "none"}
                style |= {"markersize": 6.0, "color": ink(0.85), "zorder": 4}
                handles += ax.plot(np.zeros(len(where)), where, **style)
                labels.append("a good model can do without")
        add_legend(ax, own_figure, handles, labels)
        if self.ranks is not None:
            ranks = drawable(self.ranks, values.shape, "ranks")[:, shown]
            write_spans(ax, ranks.min(axis=0), ranks.max(axis=0), "rank, best–worst")
        return []
