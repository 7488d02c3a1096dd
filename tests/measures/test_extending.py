"""A new reduction, a new reader and a new measure, by public names."""

import numpy as np
import pytest
from messages import says
from own_reduction import SquaredPairs
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import SVR

from skvarimp import SensitivityImportance
from skvarimp.extending import (
    Additive,
    Plan,
    Request,
    ResponseImportance,
    register_reader,
)

X = np.random.RandomState(0).randn(50, 3)
Y = X[:, 0] + X[:, 1] * X[:, 2]


class SquaredPairsImportance(ResponseImportance):
    """The mean of `SquaredPairs` over the rows, in squared units of the response."""

    features, response_method, n_jobs = None, "auto", None

    def _plan(self, problem, features):
        request = Request("all", [SquaredPairs()], [np.ones(len(problem.base))])
        return Plan(problem, features, request)

    def _conclude(self, plan, outcomes):
        self._store_outcome(plan, outcomes[0])


MODELS = {
    "line": Ridge().fit(X, Y),
    "steps": RandomForestRegressor(10, random_state=0).fit(X, Y),
    "basis": SVR(C=5.0).fit(X, Y),
    "link": LogisticRegression().fit(X, Y > 0),
    "dense": lambda X: np.sin(X).prod(axis=1),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_new_measure_of_a_new_reduction(name):
    """Served by every shape, and equal to the plain loop."""
    model = MODELS[name]
    method = "predict_proba" if name == "link" else "predict"
    f = model if name == "dense" else getattr(model, method)
    found = SquaredPairsImportance().fit(model, X)
    for j in range(3):
        curves = []
        for v in X[:, j]:
            moved = X.copy()
            moved[:, j] = v
            curves.append(f(moved)[:, -1] if name == "link" else f(moved))
        expected = 2 * np.var(curves, axis=0).mean()
        assert found.importances_[j] == pytest.approx(expected, rel=1e-9)


class Tariff(RegressorMixin, BaseEstimator):
    """A model that the package does not know: a price for each column."""

    def fit(self, X, y=None):
        """Prices 1, 2, ..."""
        self.prices_ = 1.0 + np.arange(X.shape[1])
        return self

    def predict(self, X):
        """The sum of the columns times their prices."""
        return X @ self.prices_


def test_a_new_reader():
    """One function, registered by the type, gives the fast response until removed."""

    def read_tariff(model, table):
        prices = model.estimator.prices_[:, np.newaxis]
        return Additive(weights=prices, intercept=np.zeros(1))

    measure = SensitivityImportance(scale=None, estimation="exact")
    model = Tariff().fit(X)
    slow = measure.fit(model, X).importances_
    assert "black box" in measure.response_path_
    register_reader(Tariff, read_tariff)
    np.testing.assert_allclose(measure.fit(model, X).importances_, slow, rtol=1e-10)
    assert measure.response_path_ == "linear"
    register_reader(Tariff, None)
    assert "black box" in measure.fit(model, X).response_path_
    with pytest.raises(TypeError, match=says("`kind` … got Tariff() … the class")):
        register_reader(model, read_tariff)
    with pytest.raises(TypeError, match="function"):
        register_reader(Tariff, "read_tariff")
