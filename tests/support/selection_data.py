"""Data for the tests of selectors, and the rule that they follow."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from skvarimp import BackwardEliminationSelector, ForwardSelector

X, Y = make_friedman1(200, noise=0.5, random_state=0)
BOTH = pytest.mark.parametrize("kind", [BackwardEliminationSelector, ForwardSelector])


def assert_rule(selector):
    """The kept subset is the smallest on the path that reaches the threshold."""
    path, n = selector.path_, selector.n_features_in_
    lengths = {len(column) for column in path.values()}
    assert len(lengths) == 1
    best = max(path["score"])
    threshold = selector.performance_threshold
    folds = path["fold_scores"][path["score"].index(best)]
    if threshold == "auto" and len(folds) > 1:
        enough = best - np.sqrt(np.var(folds, ddof=1) / len(folds))
    else:
        share = 0.95 if threshold == "auto" else threshold
        enough = best - (1 - share) * abs(best)
    good = [k for k, s in zip(path["n_features"], path["score"]) if s >= enough]
    assert selector.n_features_ == min(good) == selector.support_.sum()
    for mean, folds in zip(path["score"], path["fold_scores"]):
        assert mean == pytest.approx(np.mean(folds))
    if "dropped" in path:
        assert path["n_features"][0] == n
        left = np.ones(n, dtype=bool)
        for size, dropped in zip(path["n_features"], path["dropped"]):
            left[dropped] = False
            assert left.sum() == size
            if size == selector.n_features_:
                assert np.array_equal(left, selector.support_)
    assert (selector.ranking_ == 1).sum() == selector.n_features_
