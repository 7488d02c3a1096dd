"""`CandidateImportances`: what `importance_across_candidates` returns."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from skvarimp._display.candidates import CandidatesDisplay
from skvarimp._results.importances import (  # noqa: F401 annotations need them
    Circumstances,
    Importances,
    Quantity,
)
from skvarimp._results.words import listed, written
from skvarimp._types import Axes, Floats


@dataclass(eq=False, repr=False)
class CandidateImportances(Importances):
    """Importances in every good model of a search, the best model first.

    Made by :func:`importance_across_candidates`, whose notes say what "dispensable"
    means.

    Parameters
    ----------
    features : list of str
        Names of the features.
    importances : ndarray of shape (n_features,)
        Importances in the best model, in the measure's unit.
    by_model : ndarray of shape (n_models, n_features)
        Importances in each model.
    models : list of str
        Names of the models: the parameters in which candidates differ.
    scores : ndarray of shape (n_models,)
        Mean scores of the models in the search, descending.
    score_needed : float
        The smallest mean score of a good model.
    n_good : int
        Number of good models; more than n_models where there were more than
        `max_models`.
    params : list of dict
        Parameters of each model; empty for models given in a dict.
    dispensable : ndarray of shape (n_features,) or None, default=None
        Whether a good model can do without the feature; None where that cannot be told:
        X is sparse or has too many columns, features are not columns, or there is no
        scorer.
    dispensable_together : ndarray of shape (n_features,) or None, default=None
        The largest set found of features that one good model can do without at once.
    **kwargs : dict
        Further attributes of :class:`Importances`.

    Notes
    -----
    `to_frame` also has the columns lowest, lowest_model, highest, highest_model,
    best_rank and worst_rank over the models, and dispensable and dispensable_together
    where these are known.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Lasso
    >>> from sklearn.model_selection import GridSearchCV
    >>> from skvarimp import importance_across_candidates
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> search = GridSearchCV(Lasso(), {"alpha": [0.01, 0.1]}).fit(X, X[:, 0])
    >>> found = importance_across_candidates(search, X, X[:, 0], within=0.05)
    >>> found.models
    ['alpha=0.01', 'alpha=0.1']
    >>> found.lowest_models
    ['alpha=0.1', 'alpha=0.01']
    """

    _: KW_ONLY
    by_model: Floats
    models: list[str]
    scores: Floats
    score_needed: float
    n_good: int
    params: list[dict[str, Any]]
    dispensable: NDArray[np.bool_] | None = None
    dispensable_together: NDArray[np.bool_] | None = None

    _title = "Importances in all good models"

    def _count(self):
        """How many models, in words."""
        n = len(self.models)
        if n < self.n_good:
            return f"the best {n} of {self.n_good} good models"
        return "1 good model" if n == 1 else f"{n} good models"

    @property
    def lowest(self) -> Floats:
        """Lowest importance over the models, of shape (n_features,)."""
        return self.by_model.min(axis=0)

    @property
    def highest(self) -> Floats:
        """Highest importance over the models, of shape (n_features,)."""
        return self.by_model.max(axis=0)

    @property
    def lowest_models(self) -> list[str]:
        """The model of each lowest importance; of several the best."""
        return [self.models[k] for k in self.by_model.argmin(axis=0)]

    @property
    def highest_models(self) -> list[str]:
        """The model of each highest importance; of several the best."""
        return [self.models[k] for k in self.by_model.argmax(axis=0)]

    @property
    def ranks(self) -> Floats:
        """Rank in each model, 1 = most important, of shape (n_models, n_features).

        Equal importances share the mean of their ranks.
        """
        return rankdata(-self.by_model, axis=1)

    def _further_columns(self):
        ranks = self.ranks
        columns = {
            "lowest": self.lowest,
            "lowest_model": np.array(self.lowest_models, dtype=object),
            "highest": self.highest,
            "highest_model": np.array(self.highest_models, dtype=object),
            "best_rank": ranks.min(axis=0),
            "worst_rank": ranks.max(axis=0),
        }
        if self.dispensable is not None:
            columns["dispensable"] = self.dispensable
            columns["dispensable_together"] = self.dispensable_together
        return columns

    def _beside(self):
        values = np.array([self.lowest, self.highest])
        lowest, highest = written(values, self.importances)
        texts = {"lowest": lowest, "highest": highest}
        if self.dispensable is not None:
            said = self.dispensable.astype(int) + self.dispensable_together
            texts["can go"] = [_WORDS[k] for k in said]
        return texts

    def _lines(self):
        lines = "bars: the best, lines: lowest to highest of them"
        return np.array([self.lowest, self.highest]), f"{self._count()}; {lines}"

    def _marks_in_words(self):
        return f"Ranges are those over {self._count()}, bars are of the best."

    def _conclusions(self):
        """What the models agree on: which features can go, and whether together."""
        said = [f"This is the best of {self._count()}."]
        if self.dispensable is None:
            return said
        names = np.array(self.features, dtype=object)[np.argsort(self.ranking)]
        order = np.argsort(self.ranking)
        can_go, together = self.dispensable[order], self.dispensable_together[order]
        if can_go.all():
            said.append("Each feature can go by itself.")
        elif not can_go.any():
            said.append("No feature was found that a good model can do without.")
        else:
            said.append(f"No good model was found without {listed(names[~can_go])}.")
            verb = "can go"
            each = "Each of " if can_go.sum() > 1 else ""
            said.append(f"{each}{listed(names[can_go])} {verb} by itself.")
        if can_go.sum() > 1:
            if np.array_equal(can_go, together):
                said.append("They can all go at once.")
            else:
                kept = names[can_go & ~together]
                gone = listed(names[together])
                said.append(
                    f"Not all of them can go: without {gone}, {listed(kept)} "
                    f"{'is' if len(kept) == 1 else 'are'} needed."
                )
        return said

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> CandidatesDisplay:
        """Draw the range over all good models behind the bar of the best one.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        **kwargs : dict
            Passed to `CandidatesDisplay.from_candidates`.

        Returns
        -------
        display : CandidatesDisplay
            Holds `ax_` and `figure_`.
        """
        return CandidatesDisplay.from_candidates(self, ax=ax, **kwargs)


_WORDS = ["", "yes", "yes, with others"]
