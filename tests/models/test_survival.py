"""scikit-survival's models against their own predictions."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from response_oracle import check_equal
from roundoff import roundoff
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from skvarimp import (
    CoefficientImportance,
    DerivativeImportance,
    PermutationImportance,
)

ensemble = pytest.importorskip("sksurv.ensemble")
linear = pytest.importorskip("sksurv.linear_model")
survival_tree = pytest.importorskip("sksurv.tree")
preprocessing = pytest.importorskip("sksurv.preprocessing")
Surv = pytest.importorskip("sksurv.util").Surv

BOOSTING = ensemble.GradientBoostingSurvivalAnalysis
COMPONENTWISE = ensemble.ComponentwiseGradientBoostingSurvivalAnalysis
SMALL = {"n_estimators": 4, "random_state": 0}
MODELS = {
    "tree": survival_tree.SurvivalTree(max_depth=4, random_state=0),
    "random tree": survival_tree.ExtraSurvivalTree(max_depth=4, random_state=0),
    "forest": ensemble.RandomSurvivalForest(**SMALL),
    "forest that keeps sums": ensemble.RandomSurvivalForest(**SMALL, low_memory=True),
    "extra trees": ensemble.ExtraSurvivalTrees(**SMALL),
    "boosting": BOOSTING(**SMALL),
    "boosting with dropout": BOOSTING(**SMALL, dropout_rate=0.5),
    "boosting of times": BOOSTING(**SMALL, loss="ipcwls"),
    "boosting of censored times": BOOSTING(**SMALL, loss="squared"),
    "componentwise": COMPONENTWISE(n_estimators=30),
    "componentwise, times": COMPONENTWISE(n_estimators=30, loss="ipcwls"),
    "cox": linear.CoxPHSurvivalAnalysis(alpha=0.1),
    "coxnet": linear.CoxnetSurvivalAnalysis(n_alphas=10),
    "accelerated failure time": linear.IPCRidge(),
}
TREES = [name for name in MODELS if "tree" in name or "forest" in name]
LINEAR = ["componentwise", "cox", "coxnet"]


@cache
def data(n=60):
    """Numbers with ties, the last of which says nothing; times, some censored."""
    random = np.random.default_rng(0)
    X = np.round(random.normal(size=(n, 4)), 1)
    X[:, 2] = random.integers(0, 3, n)
    time = random.exponential(np.exp(X[:, 0] - 0.5 * X[:, 1] * X[:, 2])) + 1.1
    return X, Surv.from_arrays(random.random(n) < 0.7, np.round(time, 2))


@cache
def fitted(name):
    """A model of the list, fitted to the data."""
    return clone(MODELS[name]).fit(*data())


@pytest.mark.parametrize("name", MODELS)
def test_every_model_equals_its_own_predictions(name):
    """All grids, a group and weights, to 1e-9."""
    model, X = fitted(name), data()[0]
    weights = np.random.default_rng(1).uniform(0.2, 2, len(X))
    fast = check_equal(model, X, weights, features=[0, 1, 2, 3, [0, 2]])
    of_trees = name in TREES or name.startswith("boosting")
    assert fast.path.startswith("trees" if of_trees else "linear")


@pytest.mark.parametrize("name", ["forest", "boosting", "cox"])
def test_frames_and_sparse_rows(name):
    """The containers that the models take."""
    X, y = data()
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = clone(MODELS[name]).fit(frame, y)
    check_equal(model, frame, n_full=0)
    if name != "cox":
        check_equal(clone(MODELS[name]).fit(X, y), sparse.csr_array(X), n_full=0)


@pytest.mark.parametrize("name", TREES)
def test_gaps(name):
    """Missing values go where the trees send them."""
    X, y = data()
    X = X.copy()
    X[::5, 0] = np.nan
    check_equal(clone(MODELS[name]).fit(X, y), X, n_full=0)


@pytest.mark.parametrize("name", LINEAR)
def test_coefficients_and_slopes(name):
    """A linear score rises by its coefficients from 0 to the unit vectors."""
    model, X = fitted(name), data()[0]
    own = CoefficientImportance(statistic="absolute").fit(model).importances_
    rises = np.abs(model.predict(np.eye(4)) - model.predict(np.zeros((1, 4))))
    limit = roundoff(8, own, rises, model.predict(np.zeros((1, 4))))
    np.testing.assert_allclose(own, rises, rtol=0, atol=limit)
    spread = DerivativeImportance().fit(model, X).importances_
    expected = own * np.std(X, axis=0)
    limit = roundoff(len(X), own, X, expected)
    np.testing.assert_allclose(spread, expected, rtol=0, atol=limit)


def test_one_hot_columns_of_the_package_are_read():
    """Each category's columns move with their input."""
    X, y = data()
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"])
    frame["d"] = pd.Categorical(np.array(list("uvw"))[X[:, 2].astype(int)])
    encoder = preprocessing.OneHotEncoder()
    for last in (MODELS["forest"], MODELS["cox"]):
        model = make_pipeline(encoder, last).fit(frame, y)
        fast = check_equal(model, frame, features=["a", "d", ["b", "d"]], n_full=0)
        assert fast.path.startswith("column-wise steps")


def test_concordance_lost():
    """`score` is the concordance; a column that is not used loses none."""
    X, y = data()
    model = fitted("boosting")
    imp = PermutationImportance(scoring="score", random_state=0).fit(model, X, y)
    assert imp.baseline_ == model.score(X, y)
    assert np.argmax(imp.importances_) == 0
    imp.fit(clone(MODELS["cox"]).fit(X * [1, 1, 1, 0], y), X, y)
    assert imp.importances_[3] == 0
