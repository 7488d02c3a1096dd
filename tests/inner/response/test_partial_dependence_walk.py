"""Partial dependence against loops, response by response."""

import warnings

import numpy as np
import pytest
from combinations import half
from partial_dependence_models import X, Y
from sklearn.base import clone
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.inspection import partial_dependence
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from skvarimp import PartialDependenceImportance
from skvarimp._data.table import Feature
from skvarimp._measures.problem import Request, make_problem
from skvarimp._response.grid import make_move
from skvarimp._response.mean_curves import PartialDependence
from skvarimp._response.walk import run_walk

CLASSES = np.digitize(Y, [11, 17])
MODELS = {
    "linear": LinearRegression(),
    "forest": RandomForestRegressor(7, random_state=0),
    "boosting": GradientBoostingRegressor(n_estimators=20, random_state=0),
    "histogram": HistGradientBoostingRegressor(max_iter=15, min_samples_leaf=5),
    "kernel": SVR(C=10.0),
    "network": make_pipeline(
        StandardScaler(),
        MLPRegressor(hidden_layer_sizes=(6,), solver="lbfgs", max_iter=40),
    ),
    "neighbours": KNeighborsRegressor(4, weights="distance"),
    "two classes": LogisticRegression(),
    "three classes": GradientBoostingClassifier(n_estimators=8, random_state=0),
    "decision": SVC(),
}


def fitted(name):
    """The model, and the response method scikit-learn is asked for."""
    model = clone(MODELS[name])
    if name == "two classes":
        return model.fit(X, CLASSES > 0), "predict_proba"
    if name == "three classes":
        return model.fit(X, CLASSES), "predict_proba"
    if name == "decision":
        return model.fit(X, CLASSES > 0), "decision_function"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the network stops early
        return model.fit(X, Y), "auto"


@pytest.mark.parametrize("name", half(MODELS))
def test_equals_scikit_learn_brute(name):
    """Average and individual curves over every distinct value, and eqs. 5 and 6."""
    model, method = fitted(name)
    watched = "predict" if method == "auto" else method
    averages = PartialDependenceImportance(response_method=watched).fit(model, X)
    individual = PartialDependenceImportance(
        kind="individual", response_method=watched
    ).fit(model, X)
    ranges = PartialDependenceImportance(
        statistic="range", response_method=watched
    ).fit(model, X)
    problem = make_problem(model, X, None, None, watched)
    features = [Feature(f"x{j}", (j,)) for j in range(5)]
    response = problem.response(features)
    scale = np.abs(problem.base).max()
    for j, feature in enumerate(features):
        grid = np.unique(X[:, j])
        brute = partial_dependence(
            model,
            X,
            [j],
            custom_values={j: grid},
            method="brute",
            kind="both",
            response_method=method,
        )
        got_grid, got = averages.curves_[feature.name]
        assert np.array_equal(got_grid, grid)
        got = np.reshape(got, (len(grid), -1)).T
        np.testing.assert_allclose(got, brute["average"], rtol=0, atol=1e-10 * scale)
        move = make_move(problem.table, problem.weights, feature, "all")
        curves = response.curves(problem.rows, move)
        np.testing.assert_allclose(
            curves, brute["individual"], rtol=0, atol=1e-10 * scale
        )
        # Greenwell et al., eqs. 5 and 6
        expected = brute["average"].std(axis=1, ddof=1)
        close = {"rtol": 1e-9, "atol": 1e-10 * scale}
        np.testing.assert_allclose(
            averages.importances_per_output_[j], expected, **close
        )
        np.testing.assert_allclose(
            ranges.importances_per_output_[j], np.ptp(brute["average"], axis=1), **close
        )
        np.testing.assert_allclose(
            individual.importances_per_output_[j],
            brute["individual"].std(axis=2, ddof=1).mean(axis=1),
            **close,
        )
        got = np.reshape(individual.curves_[feature.name][1], (len(grid), -1)).T
        np.testing.assert_allclose(got, brute["average"], rtol=0, atol=1e-10 * scale)


def test_standard_errors_of_many_rows_are_close_to_exact():
    """Beyond 200 rows they are estimated from sums with random signs, to about 5%."""
    random = np.random.RandomState(0)
    data = random.rand(1500, 2)

    def f(X):
        return X[:, 0] * (1 + 2 * X[:, 1])

    grid = np.linspace(0, 1, 5)
    imp = PartialDependenceImportance(grid=grid, features=[0]).fit(f, data)
    problem = make_problem(f, data, None, None, "auto")
    exact = PartialDependence.over("std", 1500, 1500)
    features = [Feature("x0", (0,))]
    walk = problem.walk(
        problem.response(features), features, [Request(grid, [exact], [np.ones(1)])]
    )
    ((outcome,),) = run_walk(walk)
    np.testing.assert_allclose(imp.standard_errors_, outcome.standard_errors, rtol=0.2)
    assert not np.array_equal(imp.standard_errors_, outcome.standard_errors)
    np.testing.assert_allclose(imp.importances_, outcome.importances[:, 0], rtol=1e-12)
