"""The Gaussian closed form: gradients, covariances, standard errors."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from literal import standard_error
from messages import says
from scipy import sparse
from sklearn.covariance import (
    OAS,
    EmpiricalCovariance,
    LedoitWolf,
    MinCovDet,
    ShrunkCovariance,
)
from sklearn.dummy import DummyRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from skvarimp import FIRMImportance
from skvarimp.exceptions import ImportanceWarning
from skvarimp.feature_functions import Linear, Product

NAMED = ("empirical", "ledoit_wolf", "schaefer_strimmer")
rng = np.random.default_rng(0)
MIX = rng.normal(size=(4, 4))
X = rng.normal(size=(60, 4)) @ MIX + [1.0, 0.0, -2.0, 0.5]
TWO = np.column_stack([np.sin(X[:, 0]) + X[:, 1], X[:, 2] * X[:, 3]])
y = TWO[:, 0]


def literal_eq_9(score, X, sigma, mean):
    """(1 / Sigma_jj)^(1/2) Sigma_j. ds/dx, by loops; the gradient by differences."""
    p, h = X.shape[1], 1e-5
    gradient = []
    for k in range(p):
        up, down = mean.copy(), mean.copy()
        up[k] += h
        down[k] -= h
        gradient.append((score(up[None])[0] - score(down[None])[0]) / (2 * h))
    return np.array(
        [
            sum(sigma[j, k] * gradient[k] for k in range(p)) / np.sqrt(sigma[j, j])
            for j in range(p)
        ]
    )


MODELS = [
    SVR(kernel="rbf"),
    SVR(kernel="poly", coef0=1.0, degree=2),
    SVR(kernel="sigmoid", gamma=0.1),
    KernelRidge(kernel="rbf", gamma=0.1),
    GaussianProcessRegressor(alpha=0.5, optimizer=None),
    MLPRegressor(
        hidden_layer_sizes=(5,),
        activation="tanh",
        solver="lbfgs",
        max_iter=200,
        random_state=0,
    ),
    LinearRegression(),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", MODELS, ids=lambda m: f"{m!r:.30}")
def test_equals_equation_9(model):
    """Models with a formula, and the same ones hidden in a function."""
    model.fit(X, y)
    sigma, mean = np.cov(X.T, bias=True), X.mean(axis=0)
    expected = literal_eq_9(model.predict, X, sigma, mean)
    known = FIRMImportance(method="gaussian").fit(model, X)
    hidden = FIRMImportance(method="gaussian").fit(lambda X: model.predict(X), X)
    for imp, errors in ((known, known), (hidden, known)):
        np.testing.assert_allclose(
            imp.signed_importances_[:, 0], expected, rtol=1e-6, atol=1e-7
        )
        np.testing.assert_allclose(
            imp.standard_errors_, errors.standard_errors_, rtol=1e-4
        )


def test_conditional_scores_are_lines_through_the_mean():
    """q_j(t) = s(mean) + Sigma_j'g / Sigma_jj (t - mean_j) (eq. 12)."""
    model = SVR().fit(X, y)
    imp = FIRMImportance(method="gaussian").fit(model, X)
    centre = model.predict(X.mean(axis=0)[None])[0]
    for j in range(4):
        t, q = imp.conditional_scores_[f"x{j}"]
        assert t.tolist() == [X[:, j].min(), X[:, j].max()]
        slope = imp.signed_importances_[j, 0] / X[:, j].std()
        np.testing.assert_allclose(q, centre + slope * (t - X[:, j].mean()), rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("empirical", EmpiricalCovariance()),
        ("ledoit_wolf", LedoitWolf()),
    ],
)
@pytest.mark.parametrize("n_columns", [1, 2, 4])
def test_named_covariances_equal_their_estimators(name, kind, n_columns):
    """Importances by name and by estimator; only "empirical" has standard errors."""
    rows = X[:, :n_columns]
    model = SVR().fit(rows, y)
    named = FIRMImportance(method="gaussian", covariance=name).fit(model, rows)
    given = FIRMImportance(method="gaussian", covariance=kind).fit(model, rows)
    np.testing.assert_allclose(given.importances_, named.importances_, rtol=1e-9)
    assert (named.standard_errors_ is None) == (name == "ledoit_wolf")
    assert given.standard_errors_ is None
    assert given.to_frame()["standard_error"].isna().all()
    assert not hasattr(kind, "covariance_")  # cloned, not fitted


@pytest.mark.parametrize(
    "kind", [ShrunkCovariance(), OAS(), MinCovDet(random_state=0)], ids=repr
)
def test_any_covariance_estimator(kind):
    """Eq. 9 with the estimator's own covariance and location."""
    model = SVR().fit(X, y)
    imp = FIRMImportance(method="gaussian", covariance=kind).fit(model, X)
    kind.fit(X)
    expected = literal_eq_9(model.predict, X, kind.covariance_, kind.location_)
    np.testing.assert_allclose(imp.signed_importances_[:, 0], expected, rtol=1e-6)


@pytest.mark.parametrize("name", NAMED)
def test_sparse_equals_dense(name):
    """A sparse X is centred implicitly."""
    dense = X * (np.abs(X) > 0.5)
    stored = sparse.csr_array(dense)
    for data in (dense, stored):
        model = LinearRegression().fit(data, y)
        model.coef_ = np.array([1.0, -2.0, 0.5, 0.0])
        imp = FIRMImportance(method="gaussian", covariance=name).fit(model, data)
        if data is dense:
            expected = imp
    np.testing.assert_allclose(imp.importances_, expected.importances_, rtol=1e-10)
    if name == "empirical":
        np.testing.assert_allclose(
            imp.standard_errors_, expected.standard_errors_, rtol=1e-8
        )


@pytest.mark.parametrize("name", NAMED)
def test_integer_weights_are_repeated_rows(name):
    """In the importances."""
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 4, size=len(X))
    rows = np.repeat(np.arange(len(X)), weights)
    model = SVR().fit(X, y)
    imp = FIRMImportance(method="gaussian", covariance=name)
    weighted = imp.fit(model, X, sample_weight=weights)
    importances = weighted.importances_
    repeated = imp.fit(model, X[rows])
    np.testing.assert_allclose(importances, repeated.importances_, rtol=1e-9)


def test_fractional_weights_need_the_empirical_covariance():
    """Shrinkage intensities are of numbers of rows."""
    weights = np.linspace(0.5, 2.0, len(X))
    model = LinearRegression().fit(X, y)
    FIRMImportance(method="gaussian").fit(model, X, sample_weight=weights)
    for kind in ("ledoit_wolf", "schaefer_strimmer", OAS()):
        with pytest.raises(
            ValueError,
            match=says("covariance= … whole-number … covariance='empirical'"),
        ):
            FIRMImportance(method="gaussian", covariance=kind).fit(
                model, X, sample_weight=weights
            )


@pytest.mark.thorough
@pytest.mark.parametrize("standardize", [False, True])
def test_standard_errors_are_of_the_importance(standardize):
    """sum over rows of (dQ / d weight)^2, the derivative taken numerically."""
    model = KernelRidge(kernel="rbf", gamma=0.1).fit(X, TWO)
    imp = FIRMImportance(
        method="gaussian",
        standardize=standardize,
        features=[0, 1, [0, 2]],
        feature_functions=[Linear([1, 0, -1, 2])],
    )
    errors = imp.fit(model, X).standard_errors_
    changes = []
    for row in range(len(X)):
        ends = []
        for h in (1e-4, -1e-4):
            weights = np.full(len(X), 1.0 - h)
            weights[row] += h * len(X)
            ends.append(imp.fit(model, X, sample_weight=weights).importances_)
        changes.append((ends[0] - ends[1]) / 2e-4)
    np.testing.assert_allclose(errors, standard_error(np.array(changes)), rtol=1e-4)


def test_groups_take_the_best_combination():
    """The explained sd: no combination of the members has more."""
    model = LinearRegression().fit(X, y)
    imp = FIRMImportance(method="gaussian", features=[[0, 2], 0, 2])
    group, *members = imp.fit(model, X).importances_
    assert group >= max(members)
    assert np.isnan(imp.signed_importances_[0, 0])
    line = FIRMImportance(method="linear", features=[[0, 2]]).fit(model, X)
    assert line.importances_[0] == pytest.approx(group, rel=1e-9)
    assert line.standard_errors_[0] == pytest.approx(imp.standard_errors_[0], rel=1e-7)
    t, q = imp.conditional_scores_["x0+x2"]
    assert t.shape == (60, 2)
    np.testing.assert_allclose(np.std(q), group, rtol=1e-9)
    np.testing.assert_allclose(q, line.conditional_scores_["x0+x2"][1], rtol=1e-9)
    # two copies of a column say what the column says
    twice = np.column_stack([X, X[:, 0]])
    score = lambda Z: model.predict(Z[:, :4])  # noqa: E731
    both = FIRMImportance(method="gaussian", features=[0, [0, 4]]).fit(score, twice)
    assert both.importances_[1] == pytest.approx(both.importances_[0], rel=1e-7)


@pytest.mark.parametrize("unit", [2.0**-30, 2.0**-3, 2.0**30])
def test_units_of_a_group_decide_nothing(unit):
    """A model of the rescaled columns has the same errors and importances."""
    units = np.array([unit, 1.0, unit, 1.0])
    imp = FIRMImportance(method="gaussian", features=[[0, 2], [0, 1]])
    model = LinearRegression().fit(X, y)
    expected, errors = imp.fit(model, X).importances_, imp.standard_errors_
    model.coef_ = model.coef_ / units
    imp.fit(model, X * units)
    np.testing.assert_allclose(imp.importances_, expected, rtol=1e-8)
    np.testing.assert_allclose(imp.standard_errors_, errors, rtol=1e-8)


def test_constant_columns_and_scores_are_0():
    """Also where shrinkage gives a constant column a variance."""
    data = np.column_stack([X[:, 0], np.full(60, 3.3), X[:, 1]])
    model = LinearRegression().fit(data, y)
    model.coef_ = np.array([1.0, 5.0, 2.0])
    for kind in (*NAMED, LedoitWolf()):
        imp = FIRMImportance(method="gaussian", covariance=kind).fit(model, data)
        assert imp.importances_[1] == 0.0
        assert np.all(imp.importances_[[0, 2]] > 0)
        pair = FIRMImportance(
            method="gaussian", covariance=kind, features=[[0, 1], [0]]
        ).fit(model, data)
        assert pair.importances_[0] == pytest.approx(pair.importances_[1], rel=1e-9)
        if imp.standard_errors_ is not None:
            assert imp.standard_errors_[1] == 0.0
            assert np.isfinite(imp.standard_errors_).all()
    for constant in (DummyRegressor().fit(X, y), lambda X: np.full(len(X), 0.1)):
        imp = FIRMImportance(method="gaussian").fit(constant, X)
        assert imp.importances_.tolist() == [0.0] * 4
        assert imp.standard_errors_.tolist() == [0.0] * 4


def test_probabilities_have_gradients_too():
    """The score may be any smooth output."""
    model = LogisticRegression().fit(X, y > 0)
    imp = FIRMImportance(method="gaussian", response_method="predict_proba")
    imp.fit(model, X)
    sigma, mean = np.cov(X.T, bias=True), X.mean(axis=0)
    expected = literal_eq_9(lambda Z: model.predict_proba(Z)[:, 1], X, sigma, mean)
    np.testing.assert_allclose(imp.signed_importances_[:, 0], expected, rtol=1e-6)


def test_what_it_cannot_do_says_what_can():
    """Each error names a way out."""
    model = LinearRegression().fit(X, y)
    gaussian = FIRMImportance(method="gaussian")
    with pytest.raises(ValueError, match="labels are not"):
        gaussian.fit(None, X, y)
    with pytest.raises(ValueError, match="'x0 \\* x1' is another function"):
        FIRMImportance(method="gaussian", feature_functions=[Product(0, 1)]).fit(
            model, X
        )
    frame = pd.DataFrame({"a": X[:, 0], "b": ["u", "v"] * 30})
    with pytest.raises(ValueError, match=says("X … ['b'] … method='conditional_mean'")):
        gaussian.fit(lambda Z: np.asarray(Z["a"]), frame)
    missing = X.copy()
    missing[3, 1] = np.nan
    with pytest.raises(ValueError, match="X contains NaN or infinity in"):
        gaussian.fit(lambda Z: Z[:, 0], missing)
    with pytest.raises(ValueError, match="has no `covariance_`"):
        FIRMImportance(method="gaussian", covariance=Ridge()).fit(model, X)
    for wrong in ("oas", 3):
        with pytest.raises(ValueError, match="'covariance' parameter"):
            FIRMImportance(covariance=wrong).fit(model, X)


def test_wide_data_never_forms_p_by_p():
    """3000 columns of 12 rows: peak memory far below one 3000 x 3000 matrix."""
    import tracemalloc

    p = 3000
    data = np.random.default_rng(0).normal(size=(12, p))
    model = Ridge().fit(data, data[:, 0])
    for kind in NAMED:
        imp = FIRMImportance(method="gaussian", covariance=kind)
        tracemalloc.start()
        imp.fit(model, data)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 0.5 * p * p * 8


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_frames_reach_the_model_as_frames(library):
    """The mean row is asked for in X's own container, integers and booleans too."""
    rng = np.random.default_rng(0)
    columns = {
        "a": X[:, 0],
        "count": rng.integers(0, 9, size=60),
        "flag": X[:, 1] > 0,
        "d": X[:, 3],
    }
    data = library({name: values.tolist() for name, values in columns.items()})
    dense = np.column_stack(list(columns.values())).astype(float)

    def of_frame(data):
        assert isinstance(data, library)
        return np.sin(np.asarray(data["a"], dtype=float)) + np.asarray(
            data["count"], dtype=float
        ) * np.asarray(data["flag"], dtype=float)

    def of_array(Z):
        return np.sin(Z[:, 0]) + Z[:, 1] * Z[:, 2]

    gaussian = FIRMImportance(method="gaussian")
    by_frame = gaussian.fit(of_frame, data).importances_
    errors = gaussian.standard_errors_
    assert gaussian.features_ == list(columns)
    by_array = gaussian.fit(of_array, dense)
    np.testing.assert_allclose(by_frame, by_array.importances_, rtol=1e-7)
    np.testing.assert_allclose(errors, by_array.standard_errors_, rtol=1e-4)
    pipeline = make_pipeline(StandardScaler(), SVR()).fit(data, y)
    known = FIRMImportance(method="gaussian").fit(pipeline, data)
    alike = make_pipeline(StandardScaler(), SVR()).fit(dense, y)
    expected = literal_eq_9(
        alike.predict, dense, np.cov(dense.T, bias=True), dense.mean(axis=0)
    )
    np.testing.assert_allclose(known.signed_importances_[:, 0], expected, rtol=1e-6)


def test_a_covariance_without_influences_keeps_unknown_rows():
    """Shrinkage has no influence function here: NaN for each row, and a warning."""
    X = np.random.default_rng(0).normal(size=(20, 2))
    firm = FIRMImportance(method="gaussian", covariance="ledoit_wolf", keep_rows=True)
    with pytest.warns(ImportanceWarning, match="no influence function"):
        firm.fit(lambda X: X[:, 0], X, sample_weight=[0, *[1] * 19])
    assert firm.influences_.shape == X.shape
    assert np.isnan(firm.influences_).all()
