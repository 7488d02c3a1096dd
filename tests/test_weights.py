"""Coefficient statistics and connection weights against certified and hand values."""

import json
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import gammaln, log_softmax
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import (
    GammaRegressor,
    HuberRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    TweedieRegressor,
)
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from skvarimp import CoefficientImportance, ConnectionWeightImportance
from skvarimp.exceptions import ImportanceWarning

REFERENCE = Path(__file__).parent / "reference_values"
EXACTLY = {"tol": 1e-9, "max_iter": 10_000, "solver": "newton-cholesky"}


def regression_data(n=60, seed=0):
    """Columns of different scales and offsets, and a noisy linear target."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1, 100, 0.01] + [0, 1000, 5]
    return X, X @ [2.0, 0.01, 0.0] + rng.normal(size=n)


def textbook_t(X, y, weights=None, fit_intercept=True):
    """t by the normal equations, and the rest of the table."""
    weights = np.ones(len(y)) if weights is None else weights
    A = np.column_stack([np.ones(len(y)), X]) if fit_intercept else X
    inverse = np.linalg.inv(A.T @ (weights[:, None] * A))
    beta = inverse @ A.T @ (weights * y)
    variance = np.sum(weights * (y - A @ beta) ** 2) / (len(y) - A.shape[1])
    errors = np.sqrt(variance * np.diag(inverse))
    return (beta / errors)[int(fit_intercept) :], errors[int(fit_intercept) :], variance


# ---------------------------------------------------------------- least squares


def exact_regression(reference):
    """Coefficients, squared errors and residual variance as fractions."""
    rows = [
        [Fraction(1)] * reference["fit_intercept"] + [Fraction(str(v)) for v in row]
        for row in reference["X"]
    ]
    y = [Fraction(v) for v in reference["y"]]
    p = len(rows[0])
    table = [  # [A'A | I | A'y], reduced to [I | inverse | coefficients]
        [sum(r[a] * r[b] for r in rows) for b in range(p)]
        + [Fraction(int(a == b)) for b in range(p)]
        + [sum(r[a] * v for r, v in zip(rows, y))]
        for a in range(p)
    ]
    for a in range(p):
        table[a] = [v / table[a][a] for v in table[a]]
        for b in range(p):
            if b != a:
                factor = table[b][a]
                table[b] = [u - factor * v for u, v in zip(table[b], table[a])]
    beta = [row[-1] for row in table]
    residuals = [v - sum(c * b for c, b in zip(r, beta)) for r, v in zip(rows, y)]
    variance = sum(r * r for r in residuals) / (len(y) - p)
    return beta, [variance * table[a][p + a] for a in range(p)], variance


@pytest.mark.parametrize("name", ["longley", "noint1"])
def test_certified_values_of_nist(name):
    """Certified coefficients, errors and t; and the certificate by fractions."""
    reference = json.loads((REFERENCE / f"{name}.json").read_text())
    X, y = np.array(reference["X"]), np.array(reference["y"], dtype=float)
    slopes = slice(int(reference["fit_intercept"]), None)
    coefficients = np.array(reference["coefficients"])
    errors = np.array(reference["standard_errors"])

    exact, squares, variance = exact_regression(reference)
    assert_allclose([float(b) for b in exact], coefficients, rtol=5e-15)
    assert_allclose(np.sqrt([float(s) for s in squares]), errors, rtol=5e-15)
    deviation = reference["residual_standard_deviation"]
    assert_allclose(float(variance) ** 0.5, deviation, rtol=5e-15)

    model = LinearRegression(fit_intercept=reference["fit_intercept"]).fit(X, y)
    importance = CoefficientImportance().fit(model, X, y)

    near = {"rtol": reference["relative_tolerance"]}
    t = (coefficients / errors)[slopes]
    assert_allclose(importance.signed_importances_[:, 0], t, **near)
    assert_allclose(importance.importances_, np.abs(t), **near)
    assert_allclose(importance.coefficient_errors_[:, 0], errors[slopes], **near)
    assert_allclose(np.sqrt(importance.dispersion_), deviation, **near)
    assert importance.degrees_of_freedom_ == reference["degrees_of_freedom"]


def test_hand_worked_line():
    """Slope 0.6, residuals -0.8, 0.6, 1, -0.6, -0.2 with squares 2.4, Sxx = 10."""
    X, y = np.arange(1.0, 6)[:, None], np.array([2.0, 4, 5, 4, 5])
    model = LinearRegression().fit(X, y)

    importance = CoefficientImportance().fit(model, X, y)

    assert_allclose(importance.importances_, 0.6 / np.sqrt(2.4 / 3 / 10))
    assert_allclose(importance.dispersion_, 0.8)
    assert_allclose(importance.coefficient_errors_, [[np.sqrt(0.08)]])


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_t_equals_the_normal_equations(fit_intercept, weighted):
    """With weights in both, columns of very different scale included."""
    X, y = regression_data()
    weights = np.random.default_rng(1).uniform(0.5, 3, len(y)) if weighted else None
    model = LinearRegression(fit_intercept=fit_intercept)
    model.fit(X, y, sample_weight=weights)

    importance = CoefficientImportance().fit(model, X, y, sample_weight=weights)

    t, errors, variance = textbook_t(X, y, weights, fit_intercept)
    assert_allclose(importance.signed_importances_[:, 0], t, rtol=1e-7)
    assert_allclose(importance.coefficient_errors_[:, 0], errors, rtol=1e-7)
    assert_allclose(importance.dispersion_, variance)


def test_t_does_not_depend_on_units():
    """Scale and offset of a column, and of y, cancel in t."""
    X, y = regression_data()
    t = CoefficientImportance().fit(LinearRegression().fit(X, y), X, y).importances_
    X, y = X * [-1e3, 0.1, 1e2] + 7, 1e6 * y - 3

    moved = CoefficientImportance().fit(LinearRegression().fit(X, y), X, y)

    assert_allclose(moved.importances_, t, rtol=1e-8)


def test_several_outputs_are_single_regressions_side_by_side():
    """Importances are the mean over the outputs' |t|."""
    X, y = regression_data()
    Y = np.column_stack([y, np.random.default_rng(2).normal(size=len(y))])
    single = [
        CoefficientImportance().fit(LinearRegression().fit(X, v), X, v) for v in Y.T
    ]

    both = CoefficientImportance().fit(LinearRegression().fit(X, Y), X, Y)

    expected = np.column_stack([s.importances_ for s in single])
    assert_allclose(both.importances_per_output_, expected)
    assert_allclose(both.importances_, expected.mean(axis=1))
    assert_allclose(both.dispersion_, [s.dispersion_[0] for s in single])
    assert both.output_names_ == ["y0", "y1"]


def test_weights_are_precisions_not_counts():
    """Multiples change nothing; weight 0 removes; repeated rows only scale t."""
    X, y = regression_data(40)
    weights = np.random.default_rng(3).integers(0, 4, 40).astype(float)

    def t(X, y, weights=None):
        model = LinearRegression().fit(X, y, sample_weight=weights)
        return CoefficientImportance().fit(model, X, y, sample_weight=weights)

    weighted = t(X, y, weights)
    assert_allclose(t(X, y, weights / 7).importances_, weighted.importances_)
    kept = weights > 0
    dropped = t(X[kept], y[kept], weights[kept])
    assert_allclose(dropped.importances_, weighted.importances_)
    assert weighted.degrees_of_freedom_ == kept.sum() - 4
    rows = np.repeat(np.arange(40), weights.astype(int))
    repeated = t(X[rows], y[rows])
    ratio = np.sqrt((weights.sum() - 4) / (kept.sum() - 4))
    assert_allclose(repeated.importances_, ratio * weighted.importances_)


def test_aliased_columns_are_named_and_shared_by_the_pseudo_inverse():
    """t of the shortest solution, literally: b = X^+ y, variance s² (X'X)^+."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(30, 5))
    X[:, 3] = X[:, 0] - 2 * X[:, 1] + 3
    X[:, 4] = 0.1
    y = X[:, 0] + X[:, 2] + rng.normal(size=30)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d", "e"])
    model = LinearRegression().fit(frame, y)

    with pytest.warns(ImportanceWarning, match=r"\['a', 'b', 'd', 'e'\] are") as record:
        importance = CoefficientImportance().fit(model, frame, y)

    assert record[0].filename == __file__
    centred = X - X.mean(axis=0)
    centred[:, 4] = 0
    pseudo = np.linalg.pinv(centred, rcond=1e-10)
    beta = pseudo @ (y - y.mean())
    variance = np.sum((y - y.mean() - centred @ beta) ** 2) / (30 - 4)
    errors = np.sqrt(variance * np.sum(pseudo**2, axis=1))
    assert importance.degrees_of_freedom_ == 26
    assert_allclose(
        importance.signed_importances_[:4, 0], beta[:4] / errors[:4], rtol=1e-9
    )
    assert importance.importances_[4] == 0.0


def test_a_copy_of_a_column_shares_its_statistic():
    """Twice the same column: half the coefficient, half the error, the same t."""
    X, y = regression_data()
    alone = CoefficientImportance().fit(LinearRegression().fit(X, y), X, y)
    twice = np.column_stack([X, X[:, 0]])
    with pytest.warns(ImportanceWarning, match=r"\['x0', 'x3'\]"):
        shared = CoefficientImportance().fit(LinearRegression().fit(twice, y), twice, y)

    assert_allclose(shared.importances_[[0, 1, 2, 3]], alone.importances_[[0, 1, 2, 0]])


def test_sparse_and_framed_input():
    """The container changes neither numbers nor, without names, labels."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(50, 4)) * (rng.uniform(size=(50, 4)) < 0.5)
    y = X @ [1.0, 0, -1, 2] + rng.normal(size=50)
    model = LinearRegression().fit(X, y)
    expected = CoefficientImportance().fit(model, X, y)

    for container in (sparse.csr_array(X), sparse.csc_matrix(X), X.tolist()):
        found = CoefficientImportance().fit(model, container, y)
        assert_allclose(found.importances_, expected.importances_, rtol=1e-12)
        assert found.entry_names_ == ["x0", "x1", "x2", "x3"]
    frame = pd.DataFrame(X, columns=list("abcd"))
    found = CoefficientImportance().fit(LinearRegression().fit(frame, y), frame, y)
    assert_allclose(found.importances_, expected.importances_, rtol=1e-12)
    assert found.to_frame()["entry"].iloc[0] == "d"


def test_rows_in_several_blocks(monkeypatch):
    """Orthogonal factors merged over blocks of rows equal one factor."""
    X, y = regression_data(200)
    model = LinearRegression().fit(X, y)
    expected = CoefficientImportance().fit(model, X, y).importances_
    monkeypatch.setattr("skvarimp._blocks.BLOCK_ELEMENTS", 60)

    blockwise = CoefficientImportance().fit(model, X, y).importances_

    assert_allclose(blockwise, expected, rtol=1e-10)


# ---------------------------------------------------------------- Wald


def second_derivatives(function, at, step):
    """Matrix of second derivatives by central differences."""
    at, n = np.asarray(at, dtype=float), len(at)
    steps = np.diag(np.broadcast_to(step, n))
    result = np.empty((n, n))
    for a in range(n):
        for b in range(n):
            result[a, b] = sum(
                i * j * function(at + i * steps[a] + j * steps[b])
                for i in (-1, 1)
                for j in (-1, 1)
            ) / (4 * steps[a, a] * steps[b, b])
    return result


def glm_data(n=150, seed=0):
    """Columns, and a linear predictor of moderate size."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1, 2, 0.5] + [0, 1, 0]
    return rng, X, X @ [0.5, -0.3, 0.4]


def test_binary_logistic_against_observed_information():
    """Second differences of minus the log-likelihood, with weights."""
    rng, X, eta = glm_data()
    y = np.where(rng.uniform(size=150) < 1 / (1 + np.exp(-eta)), "yes", "no")
    weights = rng.integers(0, 3, 150).astype(float)
    model = LogisticRegression(C=np.inf, **EXACTLY).fit(X, y, sample_weight=weights)
    A = np.column_stack([np.ones(150), X])
    sign = np.where(y == "yes", 1, -1)

    def minus_log_likelihood(b):
        return np.sum(weights * np.logaddexp(0, -sign * (A @ b)))

    b = np.r_[model.intercept_, model.coef_[0]]
    errors = np.sqrt(
        np.diag(np.linalg.inv(second_derivatives(minus_log_likelihood, b, 1e-3)))
    )
    importance = CoefficientImportance().fit(model, X, y, sample_weight=weights)

    assert_allclose(importance.coefficient_errors_[:, 0], errors[1:], rtol=1e-5)
    assert_allclose(importance.signed_importances_[:, 0], (b / errors)[1:], rtol=1e-5)
    assert_array_equal(importance.dispersion_, [1.0])
    assert importance.output_names_ == ["yes"]


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_multinomial_logistic_against_observed_information(fit_intercept):
    """Its pseudo-inverse: coefficients that sum to 0 over the classes."""
    rng, X, eta = glm_data()
    y = np.digitize(eta + rng.logistic(size=150), [-0.5, 0.7])
    model = LogisticRegression(C=np.inf, fit_intercept=fit_intercept, **EXACTLY)
    model.fit(X, y)
    A = np.column_stack([np.ones(150), X]) if fit_intercept else X
    p = A.shape[1]

    def minus_log_likelihood(b):
        return -np.sum(log_softmax(A @ b.reshape(3, p).T, axis=1)[np.arange(150), y])

    b = model.coef_ - model.coef_.mean(axis=0)
    if fit_intercept:
        b = np.column_stack([model.intercept_ - model.intercept_.mean(), b])
    information = second_derivatives(minus_log_likelihood, b.ravel(), 1e-3)
    errors = np.sqrt(np.diag(np.linalg.pinv(information, rcond=1e-6))).reshape(3, p)
    expected = (b / errors)[:, int(fit_intercept) :].T

    importance = CoefficientImportance().fit(model, X, y)

    assert_allclose(importance.signed_importances_, expected, rtol=1e-4)
    assert importance.output_names_ == ["0", "1", "2"]
    assert_allclose(importance.importances_, np.abs(expected).mean(axis=1), rtol=1e-4)


def test_poisson_against_observed_information():
    """Counts without dispersion: integer weights equal repeated rows."""
    rng, X, eta = glm_data()
    y = rng.poisson(np.exp(eta)).astype(float)
    weights = rng.integers(0, 4, 150)
    model = PoissonRegressor(alpha=0, **EXACTLY).fit(X, y, sample_weight=weights)
    A = np.column_stack([np.ones(150), X])

    def minus_log_likelihood(b):
        return np.sum(weights * (np.exp(A @ b) - y * (A @ b) + gammaln(y + 1)))

    b = np.r_[model.intercept_, model.coef_]
    information = second_derivatives(minus_log_likelihood, b, 1e-3)
    errors = np.sqrt(np.diag(np.linalg.inv(information)))
    importance = CoefficientImportance().fit(model, X, y, sample_weight=weights)

    assert_allclose(importance.signed_importances_[:, 0], (b / errors)[1:], rtol=1e-5)
    rows = np.repeat(np.arange(150), weights)
    repeated = CoefficientImportance().fit(model, X[rows], y[rows])
    assert_allclose(repeated.importances_, importance.importances_)


def unit_deviance(y, mean, power):
    """Half the unit deviance of the Tweedie families, up to a function of y."""
    if power == 1:
        return mean - y * np.log(mean)
    if power == 2:
        return y / mean + np.log(mean)
    return mean ** (2 - power) / (2 - power) - y * mean ** (1 - power) / (1 - power)


@pytest.mark.parametrize("link", ["log", "identity"])
@pytest.mark.parametrize("power", [0, 1, 1.5, 2, 3])
def test_dispersion_families_against_expected_information(power, link):
    """The observed information is linear in y: at y = mean it is the expected one.

    The dispersion is Pearson's: weighted squares over variances, over n - 4.
    """
    rng, X, eta = glm_data()
    X = np.abs(X)
    true = np.exp(0.3 * eta) if link == "log" else 1 + X @ [0.5, 1.0, 0.2]
    y = rng.gamma(20, true / 20)
    weights = rng.integers(0, 3, 150).astype(float)
    model = TweedieRegressor(
        power=power, link=link, alpha=0, solver="lbfgs", tol=1e-7, max_iter=10_000
    ).fit(X, y, sample_weight=weights)
    A = np.column_stack([np.ones(150), X])
    b = np.r_[model.intercept_, model.coef_]
    mean = model.predict(X)

    def half_deviance(b):
        eta = A @ b
        moved = np.exp(eta) if link == "log" else eta
        return np.sum(weights * unit_deviance(mean, moved, power))

    information = second_derivatives(half_deviance, b, 1e-4)
    dispersion = np.sum(weights * (y - mean) ** 2 / mean**power)
    dispersion = dispersion / (np.sum(weights > 0) - 4) if power != 1 else 1.0
    errors = np.sqrt(dispersion * np.diag(np.linalg.inv(information)))

    importance = CoefficientImportance().fit(model, X, y, sample_weight=weights)

    assert_allclose(importance.dispersion_, dispersion)
    assert_allclose(importance.coefficient_errors_[:, 0], errors[1:], rtol=1e-4)
    assert_allclose(importance.signed_importances_[:, 0], (b / errors)[1:], rtol=1e-4)


def test_tweedie_contains_the_named_families():
    """Powers 0, 1 and 2 are least squares, Poisson and gamma regression."""
    rng, X, eta = glm_data()
    y = rng.gamma(3, np.exp(eta) / 3)
    for power, named in [
        (0, LinearRegression()),
        (1, PoissonRegressor(alpha=0, **EXACTLY)),
        (2, GammaRegressor(alpha=0, **EXACTLY)),
    ]:
        tweedie = TweedieRegressor(power=power, alpha=0, **EXACTLY)
        found, expected = (
            CoefficientImportance().fit(model.fit(X, y), X, y).importances_
            for model in (tweedie, named)
        )
        assert_allclose(found, expected, rtol=1e-6)


def test_aliased_columns_of_a_generalised_linear_model():
    """A copied column of a logistic model shares its statistic, too."""
    rng, X, eta = glm_data()
    y = rng.uniform(size=150) < 1 / (1 + np.exp(-eta))
    alone = LogisticRegression(C=np.inf, tol=1e-8, max_iter=1000).fit(X, y)
    expected = CoefficientImportance().fit(alone, X, y).importances_
    X = np.column_stack([X, X[:, 0], np.ones(150)])
    model = LogisticRegression(C=np.inf, tol=1e-8, max_iter=1000).fit(X, y)

    with pytest.warns(ImportanceWarning, match=r"\['x0', 'x3', 'x4'\]"):
        found = CoefficientImportance().fit(model, X, y).importances_

    assert_allclose(found[:4], expected[[0, 1, 2, 0]], rtol=1e-4)
    assert found[4] == 0


@pytest.mark.parametrize("partly", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_separated_classes_have_no_statistic(partly, n_classes):
    """Wholly along one column, or only for the rows an indicator marks."""
    rng, X, eta = glm_data()
    if partly:
        X[:, 2] = np.arange(150) < 20
        y = np.digitize(eta + rng.logistic(size=150), [0, 1][: n_classes - 1])
        y[:20] = 1
    else:
        y = np.digitize(X[:, 0], [0, 1][: n_classes - 1])
    model = LogisticRegression(C=np.inf, max_iter=10_000).fit(X, y)

    with pytest.raises(ValueError, match="separates the classes of y"):
        CoefficientImportance().fit(model, X, y)


@pytest.mark.parametrize("power", [1, 1.5])
def test_separated_zeros_have_no_statistic(power):
    """All rows an indicator marks are 0: its coefficient runs to minus infinity."""
    rng, X, eta = glm_data()
    X[:, 2] = np.arange(150) < 20
    y = rng.poisson(np.exp(eta)).astype(float)
    assert np.any(y[20:] == 0)
    model = TweedieRegressor(power=power, alpha=0, max_iter=1000)
    fine = CoefficientImportance().fit(model.fit(X, y), X, y)
    assert np.isfinite(fine.importances_).all()

    y[:20] = 0
    with pytest.raises(ValueError, match="separates rows with y = 0"):
        CoefficientImportance().fit(model.fit(X, y), X, y)


def test_overlapping_but_confident_classes_are_not_called_separated():
    """One row on the wrong side is enough for a maximum to exist."""
    x = np.r_[np.linspace(-3, -0.1, 30), np.linspace(0.1, 3, 30)]
    y = (x > 0).astype(int)
    y[29], y[30] = 1, 0
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(x[:, None], y)

    importance = CoefficientImportance().fit(model, x[:, None], y)

    assert 1 < importance.importances_[0] < 10


# ---------------------------------------------------------------- other statistics


def test_standardized_coefficients():
    """Slope times sd(x) over sd(y), by hand: 0.6 sqrt(2 / 1.2)."""
    X, y = np.arange(1.0, 6)[:, None], np.array([2.0, 4, 5, 4, 5])
    model = LinearRegression().fit(X, y)
    standardized = CoefficientImportance(statistic="standardized")

    assert_allclose(standardized.fit(model, X, y).importances_, 0.6 * np.sqrt(2 / 1.2))
    assert standardized.dispersion_ is None
    absolute = CoefficientImportance(statistic="absolute").fit(model)
    assert_allclose(absolute.importances_, [0.6])


def test_standardized_coefficients_are_those_of_standardised_data():
    """For any linear model, weights and sparse X included."""
    X, y = load_diabetes(return_X_y=True)
    X = X[:, :4] * [1, 10, 100, 0.1] * 20
    weights = np.random.default_rng(0).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    model = LinearRegression().fit(X, y, sample_weight=weights)
    scaled = LinearRegression().fit(
        StandardScaler().fit_transform(X[rows]),
        (y[rows] - y[rows].mean()) / y[rows].std(),
    )

    for container in (X, sparse.csr_array(X)):
        importance = CoefficientImportance(statistic="standardized").fit(
            model, container, y, sample_weight=weights
        )
        assert_allclose(importance.signed_importances_[:, 0], scaled.coef_)
    ridge = Ridge().fit(X, y)
    expected = ridge.coef_ * X.std(axis=0) / y.std()
    found = CoefficientImportance(statistic="standardized").fit(ridge, X, y)
    assert_allclose(found.signed_importances_[:, 0], expected)


def test_beta_coefficients_of_huh_and_lee():
    """Their simulated data (section 4): 4, 3, 2, 1 over sqrt(31), Table 3 nearly."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 4))
    y = X @ [4, 3, 2, 1] + rng.normal(size=20_000)
    model = LinearRegression().fit(X, y)

    betas = CoefficientImportance(statistic="standardized").fit(model, X, y)

    assert_allclose(betas.importances_, np.array([4, 3, 2, 1]) / np.sqrt(31), atol=0.01)


def test_models_in_another_unit_than_y_are_not_divided_by_its_spread():
    """Classifiers and log links: |coefficient| sd(x), y not needed."""
    rng, X, eta = glm_data()
    standardized = CoefficientImportance(statistic="standardized")
    for model, y in [
        (LogisticRegression(), eta > 0),
        (LinearSVC(), np.digitize(eta, [-1, 1])),
        (PoissonRegressor(), rng.poisson(np.exp(eta))),
    ]:
        model.fit(X, y)
        expected = np.atleast_2d(np.abs(model.coef_)).T * X.std(axis=0)[:, None]
        found = standardized.fit(model, X).importances_per_output_
        assert_allclose(found, expected)
    identity = TweedieRegressor(power=0).fit(X, eta)
    expected = np.abs(identity.coef_) * X.std(axis=0) / eta.std()
    assert_allclose(standardized.fit(identity, X, eta).importances_, expected)


def test_names_of_outputs():
    """Classes, the second of two, pairs of a support vector machine, numbers."""
    _, X, eta = glm_data()
    letters = np.array(["a", "b", "c"])[np.digitize(eta, [-1, 1])]
    absolute = CoefficientImportance(statistic="absolute")
    for model, y, names in [
        (RidgeClassifier(), letters, ["a", "b", "c"]),
        (RidgeClassifier(), eta > 0, ["True"]),
        (SVC(kernel="linear"), letters, ["a or b", "a or c", "b or c"]),
        (SVC(kernel="linear"), eta > 0, ["True"]),
        (Lasso(0.01), eta, ["y"]),
        (Lasso(0.01), np.column_stack([eta, eta]), ["y0", "y1"]),
    ]:
        found = absolute.fit(model.fit(X, y), X)
        assert found.output_names_ == names
        assert found.importances_per_output_.shape == (3, len(names))
    sparse_model = SVC(kernel="linear").fit(sparse.csr_array(X), eta > 0)
    assert absolute.fit(sparse_model).importances_.shape == (3,)


def test_names_come_from_the_estimator_where_there_is_no_x():
    """And from X where there is one."""
    X, y = regression_data()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    absolute = CoefficientImportance(statistic="absolute")

    absolute.fit(LinearRegression().fit(frame, y))
    assert absolute.entry_names_ == ["a", "b", "c"]
    assert_array_equal(absolute.feature_names_in_, ["a", "b", "c"])
    absolute.fit(LinearRegression().fit(X, y))
    assert absolute.entry_names_ == ["x0", "x1", "x2"]
    assert absolute.n_features_in_ == 3
    assert not hasattr(absolute, "feature_names_in_")
    assert clone(absolute).statistic == "absolute"


def test_nothing_is_modified():
    """Read-only data, and an estimator with the same attributes after."""
    X, y = regression_data()
    model = LinearRegression().fit(X, y)
    before = {k: np.copy(v) for k, v in vars(model).items()}
    X.setflags(write=False)
    y.setflags(write=False)

    for statistic in ("t", "standardized", "absolute"):
        CoefficientImportance(statistic=statistic).fit(model, X, y)

    assert vars(model).keys() == before.keys()
    for name, value in before.items():
        assert_array_equal(getattr(model, name), value)


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (
            Ridge(),
            TypeError,
            "Ridge has no t or Wald statistics: its penalty .* biased",
        ),
        (Lasso(), TypeError, "Lasso has no t or Wald .* penalty"),
        (HuberRegressor(), TypeError, "HuberRegressor has no t"),
        (LinearRegression(positive=True), ValueError, r"positive=True\) has no t"),
        (LogisticRegression(), ValueError, r"C=1\).*penalty shrinks.*C=np\.inf"),
        (
            LogisticRegression(C=np.inf, class_weight="balanced"),
            ValueError,
            "`class_weight` has no Wald",
        ),
        (PoissonRegressor(), ValueError, r"alpha=1\).*shrinks.*alpha=0"),
        (TweedieRegressor(alpha=0.5), ValueError, r"TweedieRegressor\(alpha=0\.5\)"),
        (RandomForestRegressor(2), TypeError, "linear model with `coef_`, got RandomF"),
        (make_pipeline(StandardScaler(), Ridge()), TypeError, "got a Pipeline"),
    ],
)
def test_models_without_t(model, error, message):
    """The error says why there is none, and what to use."""
    _, X, eta = glm_data()
    y = (eta > 0).astype(int)
    with pytest.raises(error, match=message):
        CoefficientImportance().fit(model.fit(X, y), X, y)


def test_subclasses_may_estimate_otherwise():
    """A penalised subclass of LinearRegression must not get a t."""

    class Shrunken(LinearRegression):
        """Half of the least squares coefficients."""

        def fit(self, X, y):
            super().fit(X, y)
            self.coef_ *= 0.5
            return self

    X, y = regression_data()
    with pytest.raises(TypeError, match="Shrunken has no t"):
        CoefficientImportance().fit(Shrunken().fit(X, y), X, y)


def test_unfitted_models():
    """Fit them first."""
    X, y = regression_data()
    for importance in (CoefficientImportance(), ConnectionWeightImportance()):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            importance.fit(LinearRegression(), X, y)


def test_too_few_rows():
    """As many coefficients as rows leave nothing to estimate errors from."""
    X, y = regression_data(4)
    with pytest.raises(
        ValueError, match="more rows than coefficients, got 4 rows and 4"
    ):
        CoefficientImportance().fit(LinearRegression().fit(X, y), X, y)
    wide = np.random.default_rng(0).normal(size=(5, 9))
    model = LinearRegression().fit(wide, np.arange(5.0))
    with pytest.raises(ValueError, match="got 5 rows and 10 coefficients"):
        CoefficientImportance().fit(model, wide, np.arange(5.0))
    X, y = regression_data(30)
    weights = np.r_[np.ones(4), np.zeros(26)]  # rows of weight 0 do not count
    model = LinearRegression().fit(X, y, sample_weight=weights)
    with pytest.raises(ValueError, match="got 4 rows and 4"):
        CoefficientImportance().fit(model, X, y, sample_weight=weights)


def test_other_data_than_the_training_data():
    """t of coefficients that do not belong to the data is refused."""
    X, y = regression_data(60)
    model = LinearRegression().fit(X, y)
    for other_X, other_y, weights in [
        (X[:30], y[:30], None),
        (X, y[::-1], None),
        (X + 5, y, None),
        (X, y, np.r_[np.ones(30), np.full(30, 0.01)]),
    ]:
        with pytest.raises(ValueError, match="not those of greatest likelihood"):
            CoefficientImportance().fit(model, other_X, other_y, sample_weight=weights)


def test_a_solver_that_stopped_early_is_warned_about():
    """The distance bounds the error of every statistic, to first order."""
    X, y = regression_data(60)
    model = LinearRegression().fit(X, y)
    exact = CoefficientImportance().fit(model, X, y).signed_importances_
    errors = CoefficientImportance().fit(model, X, y).coefficient_errors_
    model.coef_[0] += 0.3 * errors[0, 0]
    with pytest.warns(
        ImportanceWarning, match=r"up to 0\.\d+ standard errors"
    ) as record:
        near = CoefficientImportance().fit(model, X, y).signed_importances_

    assert record[0].filename == __file__
    assert_allclose(near[0] - exact[0], 0.3, atol=0.02)


def test_dropped_directions_are_noticed():
    """LinearRegression drops directions below its `tol`, here of a small column."""
    X, y = regression_data()
    X = X * [1e-9, 1.0, 1.0]
    model = LinearRegression().fit(X, y)
    assert model.rank_ < 3  # or this test tests nothing
    with pytest.raises(ValueError, match="dropped directions"):
        CoefficientImportance().fit(model, X, y)
    model = LinearRegression(tol=0).fit(X, y)
    t = textbook_t(X / [1e-9, 1, 1], y)[0]
    assert_allclose(
        CoefficientImportance().fit(model, X, y).signed_importances_[:, 0], t, rtol=1e-6
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (lambda X, y: (None, y), "statistic='t' needs the training data X"),
        (lambda X, y: (X, None), "statistic='t' needs the training target y"),
        (lambda X, y: (X, np.full(60, "a")), "y must hold numbers"),
        (lambda X, y: (X, np.c_[y, y]), "y has 2 outputs, but the estimator 1"),
        (lambda X, y: (X[:, :2], y), "X has 2 columns"),
        (lambda X, y: (np.where(X > 1200, np.nan, X), y), "X contains NaN"),
        (lambda X, y: (X.astype(str), y), "X must hold numbers"),
        (lambda X, y: (X, y[:3]), "y has 3 entries"),
    ],
)
def test_bad_data(arguments, message):
    """Said before any work starts."""
    X, y = regression_data()
    model = LinearRegression().fit(X, y)
    with pytest.raises(ValueError, match=message):
        CoefficientImportance().fit(model, *arguments(X, y))


def test_no_residual_no_statistic():
    """A perfect fit, and a constant target."""
    X, _ = regression_data()
    for exact in (X @ [1.0, 2, 3] + 1, np.ones(60)):
        with pytest.raises(ValueError, match="without any residual"):
            CoefficientImportance().fit(LinearRegression().fit(X, exact), X, exact)
    model = LinearRegression().fit(X, np.ones(60))
    with pytest.raises(ValueError, match="y is constant"):
        CoefficientImportance(statistic="standardized").fit(model, X, np.ones(60))


def test_unknown_class_and_parameter():
    """Labels that the classifier does not know, and a statistic that is none."""
    _, X, eta = glm_data()
    y = (eta + np.random.default_rng(0).logistic(size=150) > 0).astype(int)
    model = LogisticRegression(C=np.inf).fit(X, y)
    with pytest.raises(ValueError, match=r"y holds .*5.*, which is not among"):
        CoefficientImportance().fit(model, X, np.where(y, 5, 0))
    with pytest.raises(ValueError, match="'statistic' parameter"):
        CoefficientImportance(statistic="f").fit(model, X, y)


# ---------------------------------------------------------------- connection weights


def network(*layers, classes=None):
    """A fitted network whose weights are replaced by the given ones."""
    layers = [np.array(layer, dtype=float) for layer in layers]
    hidden = tuple(layer.shape[1] for layer in layers[:-1])
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, len(layers[0])))
    kind, y = MLPRegressor, rng.normal(size=(20, layers[-1].shape[1]))
    if classes is not None:
        kind, y = MLPClassifier, np.resize(classes, 20)
    elif y.shape[1] == 1:
        y = y[:, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one iteration does not converge
        net = kind(hidden_layer_sizes=hidden, max_iter=1, random_state=0).fit(X, y)
    assert [w.shape for w in net.coefs_] == [w.shape for w in layers]
    net.coefs_ = layers
    return net, X


def test_hand_worked_network():
    """2-2-1: weights 2, 1 and -1, 3 in, 4 and -2 out.

    Olden: 2*4 + 1*(-2) = 6 and -1*4 + 3*(-2) = -10. Garson: shares 2/3, 1/4 and
    1/3, 3/4, summing to 11/12 and 13/12.
    """
    net, X = network([[2, 1], [-1, 3]], [[4], [-2]])

    olden = ConnectionWeightImportance().fit(net, X)
    garson = ConnectionWeightImportance(method="garson").fit(net, X)

    assert_allclose(olden.signed_importances_, [[6], [-10]])
    assert_allclose(olden.importances_, [6, 10])
    assert_array_equal(olden.ranking_, [2, 1])
    assert_allclose(garson.importances_, [11 / 24, 13 / 24])
    assert garson.signed_importances_ is None
    assert olden.output_names_ == ["y"]


def test_olden_sums_over_all_paths():
    """Three hidden layers and two outputs, path by path."""
    rng = np.random.default_rng(1)
    layers = [rng.normal(size=s) for s in [(3, 4), (4, 2), (2, 3), (3, 2)]]
    net, X = network(*layers)
    expected = np.zeros((3, 2))
    for j, a, b, c, o in np.ndindex(3, 4, 2, 3, 2):
        expected[j, o] += (
            layers[0][j, a] * layers[1][a, b] * layers[2][b, c] * layers[3][c, o]
        )

    importance = ConnectionWeightImportance().fit(net, X)

    assert_allclose(importance.signed_importances_, expected)
    assert_allclose(importance.importances_, np.abs(expected).mean(axis=1))
    assert importance.output_names_ == ["y0", "y1"]


def literal_garson(first, second):
    """Goh's form, unit by unit."""
    result = np.zeros((first.shape[0], second.shape[1]))
    for o in range(second.shape[1]):
        for h in range(first.shape[1]):
            total = sum(abs(w * second[h, o]) for w in first[:, h])
            for j in range(first.shape[0]):
                if total > 0:
                    result[j, o] += abs(first[j, h] * second[h, o]) / total
        if result[:, o].sum() > 0:
            result[:, o] /= result[:, o].sum()
    return result


def test_garson_equals_its_definition_and_sums_to_one():
    """Several outputs, a unit without output and one without input."""
    rng = np.random.default_rng(2)
    first, second = rng.normal(size=(4, 5)), rng.normal(size=(5, 3))
    second[1, 0] = 0
    first[:, 2] = 0
    net, X = network(first, second)

    garson = ConnectionWeightImportance(method="garson").fit(net, X)

    assert_allclose(garson.importances_per_output_, literal_garson(first, second))
    assert_allclose(garson.importances_per_output_.sum(axis=0), 1)
    assert_allclose(garson.importances_.sum(), 1)


@pytest.mark.parametrize("method", ["olden", "garson"])
def test_hidden_units_may_be_permuted(method):
    """The network is the same function; so must its importances be."""
    rng = np.random.default_rng(3)
    first, second = rng.normal(size=(4, 6)), rng.normal(size=(6, 2))
    order = rng.permutation(6)

    def importances(first, second):
        net, X = network(first, second)
        return ConnectionWeightImportance(method=method).fit(net, X)

    assert_allclose(
        importances(first[:, order], second[order]).importances_per_output_,
        importances(first, second).importances_per_output_,
    )


@pytest.mark.parametrize("method", ["olden", "garson"])
def test_unconnected_column_and_dead_network(method):
    """No weight, no importance; 0 rather than NaN."""
    net, X = network([[0, 0], [1, 2]], [[3], [1]])
    dead, _ = network([[1, 2], [3, 4]], [[0], [0]])
    importance = ConnectionWeightImportance(method=method)

    assert importance.fit(net, X).importances_[0] == 0
    assert_array_equal(importance.fit(dead, X).importances_, [0, 0])


def test_garson_ignores_output_weights_unless_zero():
    """Its known weakness: |v| cancels, so a unit of next to no effect counts fully."""
    first = [[2, 1], [-1, 3]]
    garson = ConnectionWeightImportance(method="garson")
    strong, faint, none = (
        garson.fit(*network(first, [[4], [v]])).importances_ for v in (-2, 1e-9, 0)
    )

    assert_allclose(strong, faint)
    assert_allclose(none, [2 / 3, 1 / 3])


def test_networks_of_classifiers():
    """One output for two classes, named by the second; else one a class."""
    net, X = network([[2, 1], [-1, 3]], [[4], [-2]], classes=["no", "yes"])
    assert ConnectionWeightImportance().fit(net, X).output_names_ == ["yes"]
    net, X = network([[2, 1], [-1, 3]], np.ones((2, 3)), classes=["a", "b", "c"])
    importance = ConnectionWeightImportance().fit(net)
    assert importance.output_names_ == ["a", "b", "c"]
    assert importance.entry_names_ == ["x0", "x1"]


def test_bad_networks():
    """No network, a pipeline, two hidden layers for Garson, other columns."""
    X, y = regression_data()
    olden = ConnectionWeightImportance()
    garson = ConnectionWeightImportance(method="garson")
    linear = LinearRegression().fit(X, y)
    with pytest.raises(
        TypeError, match="`coefs_`, MLPRegressor or MLPClassifier, got L"
    ):
        olden.fit(linear, X)
    with pytest.raises(TypeError, match="got a Pipeline"):
        olden.fit(make_pipeline(linear), X)
    deep, X = network(np.ones((2, 2)), np.ones((2, 2)), np.ones((2, 1)))
    with pytest.raises(ValueError, match="one hidden layer, got 2"):
        garson.fit(deep, X)
    with pytest.raises(ValueError, match="X has 1 columns"):
        olden.fit(deep, X[:, :1])
    with pytest.raises(ValueError, match="'method' parameter"):
        ConnectionWeightImportance(method="goh").fit(deep, X)
    deep.coefs_[0] = deep.coefs_[0] * np.nan
    with pytest.raises(ValueError, match="NaN or infinity"):
        olden.fit(deep, X)
    deep.coefs_ = deep.coefs_[1:]
    deep.coefs_[0] = np.ones((3, 1))
    with pytest.raises(ValueError, match="do not lead from 2 columns"):
        olden.fit(deep, X)
