"""`rank_intervals`: between which ranks the true importance of each feature lies."""

from __future__ import annotations

from skvarimp._data.validation import check_confidence
from skvarimp._measures.base import BaseImportance
from skvarimp._measures.rows import drawing_errors, rows_of
from skvarimp._results.ranks import MOST_FEATURES, joint_ranks
from skvarimp._types import Frame


def rank_intervals(importance: BaseImportance, *, confidence: float = 0.95) -> Frame:
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
    frame of shape (n_features, 7)
        Columns feature, importance, lower and upper (simultaneous over the features),
        rank, lowest_rank and highest_rank, most important first, in the library of
        X's frame.

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
    >>> ranks = rank_intervals(imp)
    >>> ranks[["feature", "lowest_rank", "highest_rank"]].values.tolist()
    [['x0', 1, 1], ['x2', 2, 3], ['x1', 2, 3]]
    """
    check_confidence(confidence)
    rows, n = rows_of(importance), len(importance.importances_)
    if n > MOST_FEATURES:
        raise ValueError(
            f"rank_intervals compares all pairs of at most {MOST_FEATURES} features, "
            f"got {n}. Name fewer in `features`."
        )
    estimates = importance.importances_
    found = joint_ranks(
        estimates,
        rows.terms(rows.influences),
        drawing_errors(importance),
        rows.units.freedom,
        confidence,
    )
    columns = {"importance": estimates, "lower": found.pop("lower")}
    columns |= {"upper": found.pop("upper"), "rank": importance.ranking_}
    return importance.result_._frame(columns | found)
