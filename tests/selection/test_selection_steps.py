"""Which columns go or come in each step of a selection, and by which scores."""

import time

import numpy as np
import pytest
from combinations import each
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from skvarimp import BackwardEliminationSelector, ForwardSelector, PermutationImportance

RANDOM = np.random.RandomState(0)

X = RANDOM.randn(40, 4)

Y = X[:, 0] * X[:, 1] + np.sin(X[:, 2])

NOISE, COINS = RANDOM.randn(150, 5), RANDOM.randint(0, 2, 150)

BOTH = pytest.mark.parametrize("kind", [BackwardEliminationSelector, ForwardSelector])


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kind", "cv"), each([BackwardEliminationSelector, ForwardSelector], [None, 4])
)
def test_neighbours_are_not_asked_about_themselves(kind, cv):
    """A nearest neighbour knows its own row; coins cannot be known."""
    nearest = KNeighborsClassifier(1)
    selector = kind(nearest, cv=cv, step=2, random_state=0).fit(NOISE, COINS)
    assert max(selector.path_["score"]) < 0.75
    assert selector.score(NOISE, COINS) == 1.0  # what a training score would be
    inner = kind(KNeighborsClassifier(5), cv=cv, step=2, random_state=0)
    scores = cross_val_score(make_pipeline(inner, nearest), NOISE, COINS, cv=3)
    assert abs(scores.mean() - 0.5) < 0.1


@BOTH
def test_seconds_are_those_of_each_step(kind):
    """They add up to no more than the whole fit took."""
    start = time.perf_counter()
    path = kind(LinearRegression(), random_state=0).fit(X, Y).path_
    whole = time.perf_counter() - start
    assert min(path["seconds"]) > 0.0
    assert sum(path["seconds"]) < whole


@BOTH
@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_units_of_the_target_decide_nothing(kind, unit):
    """Both thresholds are shares: of the largest importance, of the best score."""
    scaled = make_pipeline(StandardScaler(), LinearRegression())
    wide = np.hstack([NOISE, np.zeros((150, 1))])
    y = NOISE[:, 0] + 0.5 * NOISE[:, 1] + 1e-4 * NOISE[:, 2]
    given = {"importance_threshold": 1e-3, "random_state": 0}
    for scoring in (None, "neg_mean_absolute_error"):
        reference = kind(scaled, scoring=scoring, **given).fit(wide, y)
        other = kind(scaled, scoring=scoring, **given).fit(wide, unit * y)
        assert np.array_equal(other.ranking_, reference.ranking_)
        assert other.path_["n_features"] == reference.path_["n_features"]
        # the noise, and what is a thousand times too weak, went or stayed out at once
        assert reference.path_["n_features"] in ([6, 2, 1], [1, 2])


@pytest.mark.parametrize(
    ("shares", "sizes"),
    [
        ([1.0, 0.5, 0.25, 0.5], [4, 3, 2, 1]),
        ([1.0, 0.25, 0.25, 0.5], [4, 2, 1]),
        ([0.0, 0.0, 0.0, 0.0], [4, 3, 2, 1]),
    ],
)
def test_only_what_lies_below_the_threshold_goes(shares, sizes):
    """A column at the threshold itself, or none but zeros, leaves step by step."""
    selector = BackwardEliminationSelector(
        LinearRegression(),
        lambda estimator, X, y: np.array(shares)[X[0].astype(int)],
        importance_threshold=0.5,
        random_state=0,
    )
    rows = np.tile(np.arange(4.0), (20, 1))
    assert selector.fit(rows, Y[:20]).path_["n_features"] == sizes


@pytest.mark.parametrize(
    ("kind", "change"),
    [(BackwardEliminationSelector, "dropped"), (ForwardSelector, "added")],
)
def test_importances_are_averaged_with_their_signs(kind, change):
    """A column of 3 in one fold and -3 in the other is noise."""
    signs = iter([1.0, -1.0] * 3)

    def importance(estimator, X, y):
        return np.array([1.0, 3.0 * next(signs), 2.0])[X[0].astype(int)]

    rows = np.tile(np.arange(3.0), (20, 1))
    selector = kind(LinearRegression(), importance, cv=2).fit(rows, Y[:20])
    changes = [columns.tolist() for columns in selector.path_[change]]
    expected = {"dropped": [[], [1], [0]], "added": [[2], [0]]}
    assert changes == expected[change]


@BOTH
def test_measures_that_draw_get_the_selectors_seed(kind):
    """Where they have none of their own; what is drawn decides between noise."""

    def path(own, seed):
        measure = PermutationImportance(scoring="r2", n_draws=4, random_state=own)
        tree = DecisionTreeRegressor(random_state=0)
        selector = kind(tree, measure, cv=2, random_state=seed)
        steps = selector.fit(NOISE, COINS).path_
        return [c.tolist() for c in steps.get("dropped") or steps["added"]]

    once = path(None, 3)
    assert once == path(None, 3) == path(3, 8)
    assert once != path(None, 8)


def test_columns_never_added_rank_behind_the_last():
    """Below the threshold they are not tried at all."""
    shares = np.array([0.5, 1.0, 0.0, 0.25, 0.0])
    selector = ForwardSelector(
        LinearRegression(),
        lambda estimator, X, y: shares[X[0].astype(int)],
        importance_threshold=0.25,
        performance_threshold=0.0,
        random_state=0,
    )
    rows = np.tile(np.arange(5.0), (20, 1))
    selector.fit(rows, np.random.RandomState(0).randn(20))
    assert selector.path_["n_features"] == [1, 2, 3]
    assert selector.ranking_.tolist() == [2, 1, 4, 3, 4]
