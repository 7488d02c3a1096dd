"""Models that are smooth, but no sum of functions of single columns.

They are asked themselves: their numbers are those of the same model as a callable, and
those of loops over all rows.
"""

from itertools import combinations
from math import factorial

import numpy as np
import pytest
from combinations import each, half
from mixed_columns import fitted_quietly
from roundoff import roundoff
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import BaggingClassifier
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.svm import SVR

from skvarimp import (
    DerivativeImportance,
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
    ShapleyImportance,
    SobolImportance,
)

N = 60
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 4))
X[:, 3] = RNG.integers(0, 3, N)
Y = X[:, 0] * X[:, 1] + np.sin(X[:, 2]) + 0.5 * X[:, 3]
TWO = (np.median(Y) < Y).astype(int)
WEIGHTS = RNG.integers(0, 3, N).astype(float)


def shares(f, X, target, features):
    """Shapley shares of the squared error by a loop over all coalitions."""
    n, p, value = len(X), len(features), {}
    for size in range(p + 1):
        for coalition in combinations(range(p), size):
            moved = np.tile(X, (n, 1))  # row i of donor k at i n + k
            for e in coalition:
                moved[:, features[e]] = np.repeat(X[:, features[e]], n, axis=0)
            mean = f(moved).reshape(n, n).mean(axis=1)
            value[coalition] = -np.mean((target - mean) ** 2)
    result = np.zeros(p)
    for j in range(p):
        for coalition in value:
            if j not in coalition:
                s = len(coalition)
                chance = factorial(s) * factorial(p - s - 1) / factorial(p)
                after = value[tuple(sorted((*coalition, j)))]
                result[j] += chance * (after - value[coalition])
    return result


def rare_columns():
    """A dummy of one row in a hundred, and a column that is not 0 in three rows."""
    Z = np.random.default_rng(1).normal(size=(100, 3))
    Z[:, 1] = np.arange(100) == 7
    Z[:, 2] = np.where(np.arange(100) % 40 == 3, Z[:, 2], 0.0)
    return Z


CUBIC = make_pipeline(PolynomialFeatures(3), Ridge(1e-3))
SHAPLEY = {
    "rare values": (CUBIC, rare_columns(), None),
    "groups of polynomials": (CUBIC, X[:40], [[0, 1], [2, 3]]),
    "groups of a process": (
        GaussianProcessRegressor(alpha=0.1, optimizer=None),
        X[:40],
        [[0, 1], [2, 3]],
    ),
    "large outputs": (CUBIC, X[:40], None),
}


@pytest.mark.parametrize("name", SHAPLEY)
def test_shapley_shares_equal_all_coalitions(name):
    """Rare dummies, groups of columns, and outputs near 1e9 lose nothing."""
    model, Z, features = SHAPLEY[name]
    y = Z[:, 0] * (1.0 + Z[:, 1]) + 3.0 * Z[:, 1] - 2.0 * Z[:, 2]
    y = y + 1e9 if name == "large outputs" else y
    model.fit(Z, y)
    imp = ShapleyImportance(estimation="exact", scale=None, features=features)
    imp.fit(model, Z)
    assert imp.response_path_.startswith("black box")
    lists = features or [[j] for j in range(Z.shape[1])]
    f = model.predict(Z)
    expected = shares(model.predict, Z, f, lists)
    assert np.abs(imp.importances_ - expected).max() <= roundoff(len(Z) ** 2, f**2)
    assert np.all(imp.importances_ > 0)
    total = imp.importances_.sum()
    assert abs(total - f.var()) <= roundoff(len(Z) ** 2, f**2)


FEW = {"n_components": 10, "random_state": 0}
LOGISTIC = LogisticRegression()
MIXING = {
    "polynomials": PolynomialFeatures(2),
    "components": PCA(3),
    "landmarks": Nystroem(gamma=0.1, **FEW),
    "discriminants": LinearDiscriminantAnalysis(),
}
DECIDING = {
    "threshold": FixedThresholdClassifier(LOGISTIC, threshold=0.45),
    "tuned": TunedThresholdClassifierCV(LOGISTIC, cv=2, thresholds=5),
    "bags": BaggingClassifier(LOGISTIC, 3, random_state=0),
    "one versus rest": OneVsRestClassifier(LOGISTIC),
    "normal": GaussianNB(),
    "quadratic": QuadraticDiscriminantAnalysis(reg_param=0.1),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("step", "last", "method"),
    half(each(MIXING, DECIDING, ["predict", "predict_proba"])),
)
def test_classifiers_behind_steps_that_mix_columns(step, last, method):
    """No false alarm, and the numbers of the model as a callable."""
    model = make_pipeline(MIXING[step], DECIDING[last])
    model = fitted_quietly(model, X, TWO)

    def asked(Z):
        outputs = getattr(model, method)(Z)
        return outputs if outputs.ndim == 1 else outputs[:, 1]

    imp = SensitivityImportance(scale=None, estimation="exact", features=[0, 3, [1, 2]])
    expected = imp.fit(lambda Z: asked(Z).astype(float), X).importances_
    found = imp.set_params(response_method=method).fit(model, X).importances_
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


MEASURES = [
    SensitivityImportance(scale=None, estimation="exact"),
    PermutationImportance(loss="squared_error", estimation="exact"),
    PartialDependenceImportance(),
    SobolImportance(),
    ShapleyImportance(scale=None, estimation="exact"),
    DerivativeImportance(),
]
BEHIND = {
    "polynomials": make_pipeline(PolynomialFeatures(2), Ridge()),
    "landmarks": make_pipeline(Nystroem(gamma=0.1, **FEW), Ridge()),
    "cosines": make_pipeline(RBFSampler(gamma=0.1, **FEW), Ridge()),
    "process": GaussianProcessRegressor(alpha=0.5, optimizer=None),
}


@pytest.mark.parametrize(
    ("measure", "name"),
    half(each(MEASURES, BEHIND)),
    ids=lambda value: type(value).__name__,
)
def test_a_first_step_that_drops_a_column(measure, name):
    """Every measure gives the numbers of the same model as a callable."""
    model = make_pipeline(SelectKBest(f_regression, k=3), BEHIND[name]).fit(X, Y)
    given = {"y": Y} if isinstance(measure, PermutationImportance) else {}
    found = measure.fit(model, X, **given).importances_
    expected = measure.fit(lambda Z: model.predict(Z), X, **given).importances_
    dropped = ~model[0].get_support()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    assert np.all(found[dropped] == 0)


@pytest.mark.parametrize("contained", ["sparse", "groups", "weights"])
def test_rows_of_shapley_importance(contained):
    """Numbers of each row of X, whatever X is; their mean, and their sum."""
    Z = np.where(np.abs(X) < 0.7, 0.0, X)
    model = make_pipeline(PolynomialFeatures(2), Ridge()).fit(Z, Y)
    weights = WEIGHTS if contained == "weights" else np.ones(N)
    given = {"sample_weight": WEIGHTS} if contained == "weights" else {}
    given |= {"groups": np.arange(N) // 3} if contained == "groups" else {}
    rows = sparse.csr_array(Z) if contained == "sparse" else Z
    imp = ShapleyImportance(scale=None, keep_rows=True, estimation="exact")
    own = imp.fit(model, rows, **given).row_importances_
    assert own.shape == imp.influences_.shape == (N, 4)
    f = model.predict(Z)
    close = {"rtol": 0, "atol": roundoff(N**2, f**2)}
    means = np.average(own, axis=0, weights=weights)
    np.testing.assert_allclose(means, imp.importances_, **close)
    squares = (f - np.average(f, weights=weights)) ** 2
    kept = weights > 0
    np.testing.assert_allclose(own.sum(axis=1)[kept], squares[kept], **close)


def test_a_constant_has_no_slope():
    """The derivative of a constant is 0."""
    imp = DerivativeImportance().fit(DummyRegressor().fit(X, Y), X)
    assert np.all(imp.importances_ == 0)


@pytest.mark.parametrize("outputs", [1, 3])
def test_blocks_of_rows_that_take_different_nodes(outputs, monkeypatch):
    """Partial dependence of kernel machines in several blocks of rows."""
    rows = np.random.default_rng(2).normal(size=(300, 2))
    rows[200:] *= 4.0
    y = np.sin(3.0 * rows[:, 0]) * rows[:, 1]
    if outputs == 1:
        model = SVR(C=10.0).fit(rows, y)
    else:
        y = np.column_stack([y, y**2, -y])
        model = KernelRidge(kernel="rbf", gamma=0.5).fit(rows, y)
    imp = PartialDependenceImportance(grid="all")
    expected = imp.fit(lambda Z: model.predict(Z), rows).importances_
    whole = imp.fit(model, rows)
    np.testing.assert_allclose(whole.importances_, expected, rtol=1e-9)
    errors = whole.standard_errors_
    monkeypatch.setattr("skvarimp._response.responses.scores.at_once", lambda _: 41)
    small = imp.fit(model, rows)
    assert small.response_path_ == "kernel"
    np.testing.assert_allclose(small.importances_, expected, rtol=1e-9)
    np.testing.assert_allclose(small.standard_errors_, errors, rtol=1e-6)
