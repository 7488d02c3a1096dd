"""`rank_intervals`: between which ranks the true importance of each feature lies."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from skvarimp._data.validation import check_confidence
from skvarimp._display.ranks import RanksDisplay
from skvarimp._measures.base import BaseImportance
from skvarimp._measures.rows import rows_of
from skvarimp._results.importances import (  # noqa: F401 annotations need them
    Circumstances,
    Importances,
    Quantity,
)
from skvarimp._results.ranks import MOST_FEATURES, joint_ranks
from skvarimp._types import Axes, Floats, Integers


@dataclass(eq=False, repr=False)
class RankIntervals(Importances):
    """Importances with the ranks that the data allow, jointly for all features.

    Made by :func:`rank_intervals`. `interval` gives simultaneous intervals.

    Parameters
    ----------
    features : list of str
        Names of the features.
    importances : ndarray of shape (n_features,)
        Their importances.
    lowest_rank, highest_rank : ndarray of shape (n_features,)
        The ranks that the data allow.
    joint_ends : ndarray of shape (2, n_features)
        Ends of intervals that hold for all features together.
    **kwargs : dict
        Further attributes of :class:`Importances`; `confidence` is that of all ranks
        and of all intervals.

    Notes
    -----
    `to_frame` has the columns feature, importance, lower and upper (simultaneous over
    the features), rank, lowest_rank and highest_rank.

    Examples
    --------
    >>> import numpy as np
    >>> from skvarimp import ALEImportance, rank_intervals
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> imp = ALEImportance(keep_rows=True).fit(lambda X: 2 * X[:, 0] + X[:, 1], X)
    >>> rank_intervals(imp).highest_rank
    array([1, 2])
    """

    _: KW_ONLY
    lowest_rank: Integers
    highest_rank: Integers
    joint_ends: Floats

    _title = "Ranks that the data allow"

    _interval_noun = "joint interval"

    def ends(self, confidence: float | None = None) -> Floats:
        if confidence is None or confidence == self.confidence:
            return self.joint_ends
        check_confidence(confidence)
        found = _joint(self, confidence)
        return np.array([found["lower"], found["upper"]])

    def _columns(self, confidence):
        lower, upper = self.ends(confidence)
        return {
            "importance": self.importances,
            "lower": lower,
            "upper": upper,
            "rank": self.ranking,
            "lowest_rank": self.lowest_rank,
            "highest_rank": self.highest_rank,
        }

    def _lines(self):
        ends, lines = super()._lines()
        return ends, f"{lines} for all features together"

    def _beside(self):
        pairs = zip(self.lowest_rank, self.highest_rank)
        spans = [f"{low}" if low == high else f"{low}–{high}" for low, high in pairs]
        return {"ranks allowed": spans}

    def _marks_in_words(self):
        return (
            "Lines are the ranks that the data allow, for all features together at a "
            f"confidence of {self.confidence:.0%}, dots are the ranks of the estimates."
        )

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> RanksDisplay:
        """Draw the ranks that the data allow, the most important feature on top.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        **kwargs : dict
            Passed to `RanksDisplay.from_ranks`.

        Returns
        -------
        display : RanksDisplay
            Holds `ax_` and `figure_`.

        See Also
        --------
        ImportanceDisplay.from_importance : Bars with the simultaneous intervals.
        """
        return RanksDisplay.from_ranks(self, ax=ax, **kwargs)


def rank_intervals(
    importance: BaseImportance, *, confidence: float = 0.95
) -> RankIntervals:
    """Ranks between which the true importances lie, jointly for all features.

    A feature's lowest rank is one more than the number of features that are
    significantly more important, its highest rank is the number of features less
    those that are significantly less important. All ordered pairs of features are
    tested together, so that with probability `confidence` every true rank lies
    inside its interval. The model is held fixed; refits are the matter of
    `importance_across_folds`.

    Parameters
    ----------
    importance : importance instance
        Fitted with ``keep_rows=True``.
    confidence : float, default=0.95
        Probability that all ranks are inside, and that all intervals of the
        importances hold.

    Returns
    -------
    RankIntervals
        The importances with simultaneous intervals and ranks; `to_frame()` and
        `plot()`.

    Raises
    ------
    ValueError
        If the importance was fitted without ``keep_rows=True``, or has more than
        5000 features.

    Notes
    -----
    The covariance of the importances is that of their influences; errors of random
    draws add to the variances. Each difference is divided by its standard error and
    corrected for its skewness (Hall 1992). Up to 300 features the critical value is a
    quantile of the largest of all differences that are still undecided, from 5000
    normal draws with a fixed seed, again after each step in which pairs were decided
    (step-down). Above 300 features Holm's procedure replaces the draws.

    The simultaneous intervals take a quantile of the largest corrected statistic of
    the features: in 1000 resamples of the influences up to 5000 rows, in the normal
    draws for more rows, and by Bonferroni's bound above 300 features.

    References
    ----------
    .. [1] M. Mogstad, J. P. Romano, A. M. Shaikh and D. Wilhelm, "Inference for Ranks
       with Applications to Mobility across Neighbourhoods and Academic Achievement
       across Countries", Review of Economic Studies 91 (2024), section 3.
    .. [2] P. Hall, "On the removal of skewness by transformation",
       JRSS B 54 (1992).

    Examples
    --------
    >>> import numpy as np
    >>> from skvarimp import ALEImportance, rank_intervals
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> model = lambda X: 2 * X[:, 0] + X[:, 1] + 0.99 * X[:, 2]
    >>> imp = ALEImportance(keep_rows=True).fit(model, X)
    >>> ranks = rank_intervals(imp).to_frame()
    >>> ranks[["feature", "lowest_rank", "highest_rank"]].values.tolist()
    [['x0', 1, 1], ['x2', 2, 3], ['x1', 2, 3]]
    """
    check_confidence(confidence)
    rows_of(importance)
    n = len(importance.importances_)
    if n > MOST_FEATURES:
        raise ValueError(
            f"rank_intervals compares all pairs of at most {MOST_FEATURES} features, "
            f"got {n}. Name fewer in `features`."
        )
    result = importance.result_
    found = _joint(result, confidence)
    return RankIntervals._from(
        result,
        lowest_rank=found["lowest_rank"],
        highest_rank=found["highest_rank"],
        joint_ends=np.array([found["lower"], found["upper"]]),
        confidence=confidence,
    )


def _joint(found, confidence):
    """Simultaneous intervals and ranks of what keeps its rows; see `joint_ranks`."""
    rows, drawn = found.rows, found.drawn
    terms, freedom = rows.terms(rows.influences), rows.units.freedom
    return joint_ranks(found.importances, terms, drawn, freedom, confidence)
