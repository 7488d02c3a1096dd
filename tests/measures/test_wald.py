"""Wald statistics against second differences of the likelihood; separation."""

import warnings

import numpy as np
import pytest
from literal_weights import glm_data
from messages import says
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import gammaln, log_softmax
from sklearn.linear_model import (
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    TweedieRegressor,
)

from skvarimp import CoefficientImportance
from skvarimp.exceptions import ImportanceWarning

EXACTLY = {"tol": 1e-9, "max_iter": 10_000, "solver": "newton-cholesky"}


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
    model.coef_ = model.coef_ + np.arange(p - fit_intercept)  # the same probabilities
    same = CoefficientImportance().fit(model, X, y).signed_importances_
    assert_allclose(same, importance.signed_importances_, rtol=1e-9)


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
        found = CoefficientImportance().fit(model, X, y)

    assert_allclose(found.importances_[:4], expected[[0, 1, 2, 0]], rtol=1e-4)
    assert found.importances_[4] == 0
    assert np.isnan(found.pvalues_[:, 0]).tolist() == [False] * 4 + [True]


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_columns_of_zeros_alone(n_classes):
    """Without an intercept nothing is determined: statistics are 0, p-values NaN."""
    X, y = np.zeros((12, 2)), np.arange(12.0)
    model = LinearRegression(fit_intercept=False)
    if n_classes:
        y = np.arange(12) % n_classes
        model = LogisticRegression(C=np.inf, fit_intercept=False)
    with pytest.warns(ImportanceWarning, match=r"\['x0', 'x1'\] are constant"):
        found = CoefficientImportance(statistic="t").fit(model.fit(X, y), X, y)
    assert np.all(found.importances_ == 0)
    assert np.all(np.isnan(found.pvalues_))


@pytest.mark.parametrize("partly", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_separated_classes_are_warned_of(partly, n_classes):
    """Wholly along one column, or only for the rows an indicator marks."""
    rng, X, eta = glm_data()
    if partly:
        X[:, 2] = np.arange(150) < 20
        y = np.digitize(eta + rng.logistic(size=150), [0, 1][: n_classes - 1])
        y[:20] = 1
    else:
        y = np.digitize(X[:, 0], [0, 1][: n_classes - 1])
    model = LogisticRegression(C=np.inf, max_iter=10_000).fit(X, y)

    with pytest.warns(ImportanceWarning, match="separates? the classes of y"):
        CoefficientImportance().fit(model, X, y)


@pytest.mark.parametrize("power", [1, 1.5])
def test_separated_zeros_are_warned_of(power):
    """All rows an indicator marks are 0: its coefficient runs to minus infinity."""
    rng, X, eta = glm_data()
    X[:, 2] = np.arange(150) < 20
    y = rng.poisson(np.exp(eta)).astype(float)
    assert np.any(y[20:] == 0)
    model = TweedieRegressor(power=power, alpha=0, max_iter=1000)
    fine = CoefficientImportance().fit(model.fit(X, y), X, y)
    assert np.isfinite(fine.importances_).all()

    y[:20] = 0
    with pytest.warns(ImportanceWarning, match="the rows with y = 0"):
        CoefficientImportance().fit(model.fit(X, y), X, y)


@pytest.mark.parametrize(("ones", "doubt"), [(248, False), (252, True)])
def test_slopes_that_no_bend_makes_up_for_are_doubted(ones, doubt):
    """By hand, for one coefficient 0 and a column of ones of total weight w = 0.04.

    Score w (mean(y) - 1/2) and information w / 4: lambda R is 4 (mean(y) - 1/2), and
    may be 1/2. The maximum is 2 sqrt(w) (mean(y) - 1/2) < 0.1 errors away.
    """
    X, y = np.ones((400, 1)), (np.arange(400) < ones).astype(int)
    model = LogisticRegression(C=np.inf, fit_intercept=False).fit(X, y)
    model.coef_ = np.zeros((1, 1))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        CoefficientImportance().fit(model, X, y, sample_weight=np.full(400, 1e-4))
    found = ["may have no maximum" in str(one.message) for one in caught]
    assert found == [True] * doubt


@pytest.mark.parametrize("errors", [0.09, 0.11, 0.95, 1.08])
def test_errors_from_the_maximum_are_warned_of_or_refused(errors):
    """Least squares: from a tenth of a standard error, and from a whole one."""
    X, y = np.ones((50, 1)), np.arange(50.0)
    model = LinearRegression(fit_intercept=False).fit(X, y)
    # by Pearson's dispersion around the coefficient that is off
    off = errors * np.sqrt(y.var() / (49 - errors**2))
    model.coef_ = model.coef_ + off
    imp = CoefficientImportance(statistic="t")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if errors < 1:
            imp.fit(model, X, y)
        else:
            with pytest.raises(ValueError, match=says("up to 1.1 standard errors")):
                imp.fit(model, X, y)
    found = [f"up to {errors} standard errors" in str(one.message) for one in caught]
    assert found == [True] * (0.1 < errors < 1)


def test_overlapping_but_confident_classes_are_not_called_separated():
    """One row on the wrong side is enough for a maximum to exist."""
    x = np.r_[np.linspace(-3, -0.1, 30), np.linspace(0.1, 3, 30)]
    y = (x > 0).astype(int)
    y[29], y[30] = 1, 0
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(x[:, None], y)

    importance = CoefficientImportance().fit(model, x[:, None], y)

    assert 1 < importance.importances_[0] < 10
