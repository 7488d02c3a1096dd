"""Numbers of single rows: their means are the importances, their norms the errors."""

import joblib
import numpy as np
import pytest
from combinations import each, half, pairwise
from literal import standard_error
from roundoff import roundoff
from scipy import sparse
from sklearn import config_context
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import SVR

from skvarimp import (
    DerivativeImportance,
    FIRMImportance,
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
    SobolImportance,
)

N = 120
RANDOM = np.random.RandomState(0)
X = np.column_stack([RANDOM.randn(N), RANDOM.randint(0, 3, N), RANDOM.randn(N, 2)])
Y = X[:, 0] * (1 + X[:, 1]) + X[:, 2]
CLASSES = (Y > 0).astype(int) + (Y > 2)
WEIGHTS = RANDOM.uniform(0.2, 2.0, N)
WEIGHTS[3] = 0.0
FEATURES = {"a": 0, "b": 1, "c": 2, "unused": 3, "both": [0, 2]}


def product(X):
    """A model without a fast response."""
    return X[:, 0] * (1 + X[:, 1])


MODELS = {
    "callable": (product, Y),
    "linear": (Ridge().fit(X, Y), Y),
    "logistic": (LogisticRegression().fit(X, CLASSES > 0), CLASSES > 0),
    "softmax": (LogisticRegression().fit(X, CLASSES), CLASSES),
    "kernel": (SVR().fit(X, Y), Y),
    "forest": (RandomForestRegressor(8, random_state=0).fit(X, Y), Y),
    "boosting": (HistGradientBoostingClassifier(max_iter=3).fit(X, CLASSES), CLASSES),
}
KEPT = {"features": FEATURES, "keep_rows": True}
MEASURES = {
    "pairs": SensitivityImportance(estimation="exact", scale=None, **KEPT),
    "observed": SensitivityImportance(
        contrast="observed", estimation="exact", scale=None, **KEPT
    ),
    "range": SensitivityImportance(
        contrast="range", estimation="exact", scale=None, **KEPT
    ),
    "drawn donors": SensitivityImportance(
        estimation="sampled", scale=None, random_state=0, **KEPT
    ),
    "drawn rows": SensitivityImportance(
        estimation="rows", scale=None, random_state=0, **KEPT
    ),
    "precise draws": SensitivityImportance(
        estimation="sampled",
        tol=0.02,
        n_draws=200,
        scale=None,
        random_state=0,
        **KEPT,
    ),
    "dependence": PartialDependenceImportance(statistic="std", grid="all", **KEPT),
    "total": SobolImportance(estimation="exact", **KEPT),
    "first order": SobolImportance(order="first", estimation="exact", **KEPT),
    "individual": PartialDependenceImportance(
        statistic="range", kind="individual", **KEPT
    ),
    "permutation": PermutationImportance(estimation="exact", **KEPT),
    "ratio": PermutationImportance(estimation="exact", relative=True, **KEPT),
    "absolute error": PermutationImportance(
        estimation="exact", loss="absolute_error", **KEPT
    ),
    "drawn losses": PermutationImportance(
        estimation="sampled", relative=True, random_state=0, **KEPT
    ),
}
EXACT = ["pairs", "observed", "range", "dependence", "individual", "permutation"]
EXACT += ["total", "first order"]


def fitted(name, model="callable", X=X, weights=WEIGHTS, y=None, **parameters):
    """A measure of the table, fitted."""
    estimator, target = MODELS[model]
    measure = MEASURES[name]
    measure = type(measure)(**{**measure.get_params(), **parameters})
    y = target if y is None else y
    return measure.fit(estimator, X, y, sample_weight=weights)


@pytest.mark.filterwarnings("ignore:.*, or a smaller tol than 0.02")
@pytest.mark.parametrize(("name", "model"), half(each(MEASURES, MODELS)))
def test_means_and_norms(name, model):
    """Weighted means: psi's 0, the rows' own the importance; the norm is the error."""
    imp = fitted(name, model)
    assert imp.influences_.shape == (N, len(FEATURES))
    assert np.all(np.isnan(imp.influences_[3]))
    kept = WEIGHTS > 0
    weights = WEIGHTS[kept] / WEIGHTS.sum()
    psi = imp.influences_[kept]
    size = max(1.0, np.nanmax(np.abs(psi)))
    known = ~np.isnan(imp.standard_errors_)  # else too few draws
    np.testing.assert_allclose(weights @ psi[:, known], 0.0, atol=1e-12 * size)
    norms = standard_error(psi, weights)
    np.testing.assert_allclose(
        norms, imp.standard_errors_, rtol=1e-12, atol=roundoff(N, psi)
    )
    if name in {"dependence", "first order"}:
        assert imp.row_importances_ is None
        return
    assert np.all(imp.row_importances_[3] == 0)  # a row of weight 0
    means = np.average(imp.row_importances_, axis=0, weights=WEIGHTS)
    np.testing.assert_allclose(means, imp.importances_, rtol=1e-10, atol=1e-12)
    plain = fitted(name, model, keep_rows=False)
    close = {"rtol": 1e-9, "atol": 1e-12}
    np.testing.assert_allclose(plain.importances_, imp.importances_, **close)
    np.testing.assert_allclose(plain.standard_errors_, imp.standard_errors_, **close)
    assert not hasattr(plain, "influences_")


@pytest.mark.parametrize(
    ("name", "model"),
    [
        *half(each(EXACT, ["logistic", "forest"])),
        *(pytest.param(name, "callable", marks=pytest.mark.thorough) for name in EXACT),
    ],
)
def test_order_weights_workers_and_kernels_change_nothing(name, model, monkeypatch):
    """Rows in another order, integer weights as repeated rows, two jobs, no kernels."""
    RANDOM = np.random.RandomState(0)
    counts = RANDOM.randint(0, 4, N)
    imp = fitted(name, model, weights=counts)
    order = np.random.RandomState(1).permutation(N)
    y = MODELS[model][1]
    moved = fitted(name, model, X=X[order], weights=counts[order], y=y[order])
    repeated = np.repeat(np.arange(N), counts)
    integer = fitted(name, model, X=X[repeated], weights=None, y=y[repeated])
    with joblib.parallel_config(backend="threading"):
        jobs = fitted(name, model, weights=counts, n_jobs=2)
    monkeypatch.setenv("SKVARIMP_COMPILED", "0")
    plain = fitted(name, model, weights=counts)
    for attribute in ("influences_", "row_importances_"):
        values = getattr(imp, attribute)
        if values is None:
            continue
        close = {"rtol": 1e-10, "atol": 1e-10 * np.nanmax(np.abs(values))}
        np.testing.assert_allclose(getattr(moved, attribute), values[order], **close)
        of_repeated = getattr(integer, attribute)
        np.testing.assert_allclose(of_repeated, values[repeated], **close)
        np.testing.assert_allclose(getattr(jobs, attribute), values, **close)
        np.testing.assert_allclose(getattr(plain, attribute), values, **close)


def test_influences_by_hand():
    """f = x on 0 and 1: pairs 1/2; each row, of influence 1/2 - 1/2 + 2 (1/2 - 1/2)."""
    imp = SensitivityImportance(scale=None, keep_rows=True)
    imp.fit(lambda X: X[:, 0], [[0.0], [1.0], [1.0]])
    # pairs 2 (1/3) (2/3) = 4/9; as donors 0 is at a distance of 2/3, 1 at one of 1/3
    np.testing.assert_allclose(imp.row_importances_[:, 0], [4 / 9] * 3)
    np.testing.assert_allclose(imp.influences_[:, 0], [4 / 9, -2 / 9, -2 / 9])


@pytest.mark.parametrize(
    "model", ["callable", "softmax", pytest.param("forest", marks=pytest.mark.thorough)]
)
def test_curves_too_large_to_keep_are_formed_twice(model):
    """The influences on partial dependence do not depend on the memory."""
    plenty = fitted("dependence", model)
    with config_context(working_memory=0.1):
        little = fitted("dependence", model)
    close = {"rtol": 1e-9, "atol": 1e-12}
    np.testing.assert_allclose(little.influences_, plenty.influences_, **close)
    errors = little.standard_errors_, plenty.standard_errors_
    np.testing.assert_allclose(*errors, **close)


@pytest.mark.parametrize("model", ["callable", "linear", "softmax", "kernel"])
def test_influences_on_derivatives(model):
    """Weighted mean 0 and the standard error's norm; with and without the same."""
    estimator, y = MODELS[model]
    plain = DerivativeImportance().fit(estimator, X, y, sample_weight=WEIGHTS)
    imp = DerivativeImportance(keep_rows=True)
    imp.fit(estimator, X, y, sample_weight=WEIGHTS)
    kept = WEIGHTS > 0
    weights = WEIGHTS[kept] / WEIGHTS.sum()
    psi = imp.influences_[kept]
    np.testing.assert_allclose(weights @ psi, 0.0, atol=roundoff(N, psi))
    norms = standard_error(psi, weights)
    np.testing.assert_allclose(norms, imp.standard_errors_, rtol=1e-12)
    errors = plain.standard_errors_, imp.standard_errors_
    np.testing.assert_allclose(*errors, rtol=1e-6, atol=1e-9)
    assert np.all(np.isnan(imp.influences_[3]))
    assert imp.row_importances_ is None


FIRM = {
    "auto": {},
    "many values": {"method": "conditional_mean"},
    "slopes": {"method": "linear", "features": [0, 1, 2]},
    "standardized": {"standardize": True},
    "closed form": {"method": "gaussian"},
}


@pytest.mark.parametrize(
    ("how", "model", "container"),
    pairwise(FIRM, ["linear", "softmax", "callable"], [np.asarray, sparse.csr_array]),
)
def test_influences_on_firm(how, model, container):
    """Weighted mean 0 and the standard error's norm; the errors stay the same."""
    estimator, y = MODELS[model]
    if model == "callable" and (container is not np.asarray or how == "closed form"):
        return
    rows = container(X)
    plain = FIRMImportance(**FIRM[how]).fit(estimator, rows, y, sample_weight=WEIGHTS)
    imp = FIRMImportance(keep_rows=True, **FIRM[how])
    imp.fit(estimator, rows, y, sample_weight=WEIGHTS)
    kept = WEIGHTS > 0
    weights = WEIGHTS[kept] / WEIGHTS.sum()
    psi = imp.influences_[kept]
    np.testing.assert_allclose(weights @ psi, 0.0, atol=roundoff(N, psi))
    norms = standard_error(psi, weights)
    np.testing.assert_allclose(
        norms, imp.standard_errors_, rtol=1e-12, atol=roundoff(N, psi)
    )
    errors = plain.standard_errors_, imp.standard_errors_
    np.testing.assert_allclose(*errors, rtol=1e-9, atol=1e-12)
    assert np.all(np.isnan(imp.influences_[3]))


def test_losses_without_rows_are_refused():
    """Out-of-bag trees have no loss of each row."""
    forest = RandomForestRegressor(3, oob_score=False, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="keep_rows=True"):
        PermutationImportance(keep_rows=True, rows="oob").fit(forest, X, Y)
