"""Promises of the documentation that no other test would notice broken.

What a subset of entries costs, rows unlike the training data's, what compiled kernels
leave to other threads, leakage in growing selections.
"""

import numpy as np
import pandas as pd
import pytest
from combinations import each
from response_oracle import check_equal
from sklearn.compose import make_column_transformer
from sklearn.cross_decomposition import PLSRegression
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    VotingRegressor,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeRegressor

from skvarimp import (
    BackwardEliminationSelector,
    FilterImportance,
    ForwardSelector,
    ImportanceEstimator,
    ImpurityImportance,
    PermutationImportance,
    SensitivityImportance,
    importance_across_folds,
    null_importances,
)

RANDOM = np.random.RandomState(0)
X = RANDOM.randn(40, 4)
Y = X[:, 0] * X[:, 1] + np.sin(X[:, 2])
LABELS = np.digitize(Y, np.quantile(Y, [0.3, 0.6]))
NETWORK = MLPRegressor(
    hidden_layer_sizes=(5, 4), solver="lbfgs", max_iter=50, tol=1.0, random_state=0
)
FAMILIES = {
    "partial least squares": (PLSRegression(2), Y, "predict"),
    "discriminant": (LinearDiscriminantAnalysis(), LABELS, "predict_proba"),
    "logistic": (LogisticRegression(), Y > 0, "predict_proba"),
    "support vectors": (SVC(), LABELS, "decision_function"),
    "kernel ridge": (KernelRidge(kernel="poly", degree=2), Y, "predict"),
    "Gaussian process": (
        GaussianProcessRegressor(RBF() + WhiteKernel(), normalize_y=True),
        Y,
        "predict",
    ),
    "network": (NETWORK, Y, "predict"),
    "pipeline": (
        make_pipeline(QuantileTransformer(n_quantiles=20), Ridge()),
        Y,
        "predict",
    ),
    "vote": (
        VotingRegressor([("a", LinearRegression()), ("b", make_pipeline(SVR()))]),
        Y,
        "predict",
    ),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_rows_unlike_the_training_data(name):
    """Importances are over the rows given, wherever the model was fitted."""
    RANDOM = np.random.RandomState(0)
    model, y, method = FAMILIES[name]
    other = RANDOM.standard_t(3, size=(25, 4)) * 2 + 3
    weights = RANDOM.uniform(0.5, 2, 25)
    check_equal(model.fit(X, y), other, weights, method, [0, 2, [1, 3]])


def test_columns_of_a_frame_in_another_order():
    """A ColumnTransformer finds its columns by name, and so does what moves them."""
    frame = pd.DataFrame(X, columns=list("abcd"))
    steps = make_column_transformer(
        (StandardScaler(), ["b", "d"]), (QuantileTransformer(n_quantiles=9), ["a"])
    )
    model = make_pipeline(steps, SVR()).fit(frame, Y)
    turned = frame[list("dcab")]
    check_equal(model, turned, None, "predict", ["a", "c", ["b", "d"]])
    names = {"features": list("abcd"), "scale": None}
    one, other = (
        SensitivityImportance(**names).fit(model, rows) for rows in (frame, turned)
    )
    assert other.response_path_ == "column-wise steps, kernel"
    np.testing.assert_allclose(other.importances_, one.importances_)


def test_weights_near_those_of_training_are_refused():
    """A thousandth of one row's weight is another tree, not rounding."""
    RANDOM = np.random.RandomState(0)
    weights = RANDOM.uniform(0.5, 2, 40)
    tree = DecisionTreeRegressor(max_depth=3, random_state=0)
    tree.fit(X, Y, sample_weight=weights)
    measure = ImpurityImportance(surrogates=True)
    measure.fit(tree, X, Y, sample_weight=weights * (1 + 1e-13))
    weights[7] *= 1.001
    with pytest.raises(ValueError, match="not the training data"):
        measure.fit(tree, X, Y, sample_weight=weights)


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


@pytest.mark.parametrize("function", [importance_across_folds, null_importances])
def test_no_mean_is_taken_over_infinite_importances(function):
    """An error that names the entry, not a mean or a p-value."""
    unbounded = FilterImportance(
        score_func=lambda X, y: np.array([1.0, 2.0, np.inf, 0.5])
    )
    with pytest.raises(ValueError, match="'x2' is NaN or infinite"):
        function(None, X, Y, unbounded, random_state=0)


@BOTH
def test_measures_that_draw_get_the_selectors_seed(kind):
    """Where they have none of their own; what is drawn decides between noise."""

    def path(own, seed):
        measure = PermutationImportance(scoring="r2", n_repeats=1, random_state=own)
        tree = DecisionTreeRegressor(random_state=0)
        selector = kind(tree, measure, cv=2, random_state=seed)
        steps = selector.fit(NOISE, COINS).path_
        return [c.tolist() for c in steps.get("dropped") or steps["added"]]

    assert path(None, 3) == path(None, 3) == path(3, 3) == path(3, 8)
    assert path(None, 3) != path(None, 8)


def test_importance_estimators_have_no_coefficients():
    """So that selectors read the measure, and not the model's own numbers."""
    both = ImportanceEstimator(Ridge(), SensitivityImportance(scale=None)).fit(X, Y)
    assert hasattr(both.estimator_, "coef_")
    assert not hasattr(both, "coef_")
    np.testing.assert_array_equal(
        both.feature_importances_, both.importance_.importances_
    )
