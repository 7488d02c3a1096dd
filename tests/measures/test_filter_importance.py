"""`FilterImportance`: any score function with the common attributes."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from messages import says
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.feature_selection import SelectKBest, f_classif, f_regression, r_regression
from sklearn.linear_model import LinearRegression

from skvarimp import FilterImportance
from skvarimp.filters import auc, group_statistic, lowess_r2

FILTERS = [lowess_r2, auc, group_statistic]


def test_filter_importance_has_the_common_attributes():
    """Scores, p-values, names, ranks and the table."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    X["b"] += y

    importance = FilterImportance(score_func=group_statistic).fit(None, X, y)

    f, p = group_statistic(X, y)
    assert_array_equal(importance.importances_, f)
    assert_array_equal(importance.importances_per_output_, f[:, None])
    assert_array_equal(importance.pvalues_, p)
    assert importance.ranking_[1] == 1
    assert importance.features_ == ["a", "b", "c"]
    assert importance.output_names_ == ["y"]
    assert importance.standard_errors_ is None
    assert importance.n_features_in_ == 3
    assert_array_equal(importance.feature_names_in_, ["a", "b", "c"])
    assert importance.to_frame()["feature"].iloc[0] == "b"
    assert clone(importance).score_func is group_statistic


@pytest.mark.parametrize(
    ("classes", "score"), [(True, f_classif), (False, f_regression)]
)
def test_the_kind_of_y_chooses_the_score_without_a_model(classes, score):
    """By default: classes are told by the values of y."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    y = (y > 0).astype(int) if classes else y
    found = FilterImportance().fit(None, X, y)
    assert_array_equal(found.importances_, score(X, y)[0])


def test_filter_importance_does_not_look_at_the_estimator():
    """None, an unfitted model and anything else score alike."""
    X, y = [[1.0], [2.0], [3.0], [5.0]], [0, 1, 0, 1]
    scores = [
        FilterImportance(score_func=auc).fit(estimator, X, y).importances_
        for estimator in (None, LinearRegression(), "anything")
    ]

    assert_array_equal(scores, [[0.75]] * 3)


def test_undefined_scores_rank_last_as_in_select_k_best():
    """NaN of a constant column, here among negative scores."""
    X = np.column_stack([np.ones(5), [1.0, 2, 3, 5, 4], [5.0, 4, 3, 1, 2]])
    y = np.arange(5.0)

    def correlation(X, y):
        return r_regression(X, y, force_finite=False)

    with np.errstate(invalid="ignore"):
        importance = FilterImportance(score_func=correlation).fit(None, X, y)
        selector = SelectKBest(correlation, k=2).fit(X, y)

    assert np.isnan(importance.scores_[0])
    assert_allclose(importance.importances_, [-0.9, 0.9, -0.9])
    assert not selector.get_support()[0]
    assert_array_equal(np.argsort(importance.ranking_)[:1], [1])


@pytest.mark.parametrize("score_func", FILTERS)
def test_whole_weights_equal_repeated_rows(score_func):
    """For every score function, weight 0 included."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 40)
    X = rng.normal(size=(40, 3)) + 0.5 * y[:, None]
    weights = rng.integers(0, 4, 40)
    X_strange = X.copy()
    X_strange[weights == 0] = 1e6  # rows of weight 0 do not exist

    weighted = FilterImportance(score_func=score_func).fit(
        None, X_strange, y, sample_weight=weights
    )

    rows = np.repeat(np.arange(40), weights)
    repeated = FilterImportance(score_func=score_func).fit(None, X[rows], y[rows])
    assert_allclose(weighted.importances_, repeated.importances_, rtol=1e-12)


def test_weights_are_passed_to_functions_that_take_them():
    """Others refuse fractions."""

    def weighted_sum(X, y, sample_weight=None):
        return sample_weight @ X

    X, y = np.array([[1.0, 2.0], [3.0, 4.0], [9.0, 9.0]]), [0, 1, 1]

    importance = FilterImportance(score_func=weighted_sum).fit(
        None, X, y, sample_weight=[0.5, 0.25, 0]
    )

    assert_allclose(importance.importances_, [1.25, 2.0])
    with pytest.raises(
        ValueError,
        match=says("`sample_weight` … whole … got 0.5 … auc … round the weights"),
    ):
        FilterImportance(score_func=auc).fit(None, X, y, sample_weight=[0.5, 0.25, 0])


def test_options_of_a_filter_through_partial():
    """A partial function is a callable without name."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    rough = FilterImportance(score_func=partial(lowess_r2, frac=0.3)).fit(None, X, y)

    assert_array_equal(rough.importances_, lowess_r2(X, y, frac=0.3))


def test_filter_importance_bad_input():
    """Not callable, no y, and not one score per column."""
    X, y = [[1.0, 2.0], [2.0, 1.0], [3.0, 3.0]], [0, 1, 1]
    with pytest.raises(ValueError, match=says("'score_func' … callable … Got 'auc'")):
        FilterImportance(score_func="auc").fit(None, X, y)
    with pytest.raises(TypeError, match="positional"):
        FilterImportance(auc)
    with pytest.raises(ValueError, match="y is needed"):
        FilterImportance(score_func=auc).fit(None, X)
    with pytest.raises(ValueError, match=r"score per column, shape \(2,\), got \(\)"):
        FilterImportance(score_func=lambda X, y: 1.0).fit(None, X, y)
