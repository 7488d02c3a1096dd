"""A wrapped model is the model: searches, frozen models, pipelines, votes of one."""

import numpy as np
import pytest
from combinations import each
from sklearn.base import clone
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    RandomForestRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import Pipeline
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeClassifier

from skvarimp import (
    CoefficientImportance,
    ConnectionWeightImportance,
    DerivativeImportance,
    FIRMImportance,
    ImpurityImportance,
    InteractionImportance,
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
)

RANDOM = np.random.RandomState(0)
X = RANDOM.normal(size=(80, 4))
X[:, 1] += X[:, 0]
Y = X[:, 0] - 2 * X[:, 1] + 0.3 * np.sin(X[:, 2]) + 0.1 * RANDOM.normal(size=80)
LABELS = np.digitize(Y, np.quantile(Y, [0.3, 0.7]))

ALL = [
    SensitivityImportance(estimation="exact"),
    PartialDependenceImportance(),
    PermutationImportance(n_draws=4, random_state=0),
    InteractionImportance(grid=3),
    FIRMImportance(),
]
SMOOTH = [DerivativeImportance(), FIRMImportance(method="gaussian")]
CASES = {
    "ridge": (
        Ridge(),
        Y,
        [
            *ALL,
            *SMOOTH,
            CoefficientImportance(statistic="absolute"),
            CoefficientImportance(statistic="standardized"),
        ],
    ),
    "least squares": (LinearRegression(), Y, [CoefficientImportance()]),
    "classes": (
        LogisticRegression(),
        LABELS,
        [
            SensitivityImportance(estimation="exact", response_method="predict_proba"),
            FIRMImportance(response_method="predict_proba"),
            DerivativeImportance(response_method="predict_proba"),
            CoefficientImportance(statistic="absolute"),
        ],
    ),
    "machine": (SVR(), Y, [*ALL, *SMOOTH]),
    "network": (
        MLPRegressor(
            hidden_layer_sizes=(5,), solver="lbfgs", max_iter=30, random_state=0
        ),
        Y,
        [*ALL, *SMOOTH, ConnectionWeightImportance()],
    ),
    "forest": (
        RandomForestRegressor(3, max_depth=4, random_state=0),
        Y,
        [*ALL, ImpurityImportance()],
    ),
}


def voting(model, y):
    """A vote of the model alone."""
    if y.dtype.kind == "f":
        return VotingRegressor([("m", model)])
    return VotingClassifier([("m", model)], voting="soft")


# the model, fitted, inside the others
WRAPPED = {
    "search": lambda model, y: GridSearchCV(model, {}, cv=2).fit(X, y),
    "frozen": lambda model, y: FrozenEstimator(model.fit(X, y)),
    "pipeline": lambda model, y: Pipeline([("m", model.fit(X, y))]),
    "vote": lambda model, y: voting(model, y).fit(X, y),
    "all of them": lambda model, y: GridSearchCV(
        Pipeline([("m", model)]), {}, cv=2
    ).fit(X, y),
}


@pytest.mark.filterwarnings("ignore:lbfgs")
@pytest.mark.parametrize(("name", "how"), each(CASES, WRAPPED))
def test_importances_of_a_wrapped_model_are_the_models(name, how):
    """Of every measure; signs, paths and ways of estimation included."""
    model, y, measures = CASES[name]
    estimator = WRAPPED[how](model, y)
    model.fit(X, y)
    for measure in measures:
        expected = measure.__class__(**measure.get_params()).fit(model, X, y)
        found = measure.__class__(**measure.get_params()).fit(estimator, X, y)
        for name in ("importances_", "standard_errors_", "signed_importances_"):
            one, other = getattr(found, name, None), getattr(expected, name, None)
            assert (one is None) == (other is None), measure
            if one is not None:
                np.testing.assert_allclose(one, other, rtol=1e-9, err_msg=str(measure))
        for name in ("method_", "response_path_"):
            one, other = getattr(found, name, None), getattr(expected, name, None)
            assert one == other, measure


def test_coefficients_of_sums_of_linear_models():
    """A bagging or a vote of linear models has the mean of their coefficients."""
    vote = VotingRegressor([("a", Ridge()), ("b", Ridge(100.0))]).fit(X, Y)
    bag = BaggingRegressor(Ridge(), n_estimators=3, max_features=2, random_state=0)
    bag.fit(X, Y)
    expected = np.zeros(4)
    for member, columns in zip(bag.estimators_, bag.estimators_features_):
        expected[columns] += member.coef_ / 3
    measure = CoefficientImportance(statistic="absolute")
    np.testing.assert_allclose(measure.fit(bag, X).importances_, np.abs(expected))
    mean = np.mean([member.coef_ for member in vote.estimators_], axis=0)
    np.testing.assert_allclose(measure.fit(vote).importances_, np.abs(mean))


@pytest.mark.parametrize("y", [Y > 0, LABELS], ids=["two", "three"])
@pytest.mark.parametrize("depth", [None, 2], ids=["pure leaves", "shares"])
def test_labels_of_bagged_trees(y, depth):
    """They are read as one sum of trees; equal votes are for the first class."""
    tree = DecisionTreeClassifier(max_depth=depth, max_features=2)
    bag = BaggingClassifier(tree, n_estimators=4, random_state=0).fit(X, y)
    shares = np.sort(bag.predict_proba(X), axis=1)
    assert depth or np.any(shares[:, -1] == shares[:, -2])  # ties
    measure = SensitivityImportance(scale=None, estimation="exact")
    found = clone(measure).set_params(response_method="predict").fit(bag, X)
    assert found.response_path_.startswith("trees")
    levels = bag.classes_ if len(bag.classes_) > 2 else bag.classes_[1:]
    black = measure.fit(lambda rows: bag.predict(rows)[:, None] == levels, X)
    assert black.response_path_.startswith("black box")
    # means of 0 and 1
    np.testing.assert_allclose(
        found.importances_per_output_, black.importances_per_output_, atol=1e-12
    )
