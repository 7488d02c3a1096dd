"""FIRM of normal data and of any score: theorems of the paper (Zien et al. 2009)."""

import numpy as np
import pytest
from firm_scores import W, correlated, eq_10, linear_score
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge

from skvarimp import FIRMImportance
from skvarimp.feature_functions import ExclusiveOr, Linear, Product, Step

# --- section 2.4.3: normal data, linear scores ---


def test_gaussian_linear_score_is_the_closed_form():
    """Q = D^-1 Sigma w with the empirical covariance; the slope gives the same."""
    X = correlated(80, 0.8, n_noise=2) * [1.0, 3.0, 0.1, 1.0] + [5.0, 0.0, 1e3, 0.0]
    model = Ridge().fit(X, X @ W + np.sin(X[:, 0]))
    sigma = np.cov(X.T, bias=True)
    closed = sigma @ model.coef_ / np.sqrt(np.diag(sigma))
    gaussian = FIRMImportance(method="gaussian").fit(model, X)
    line = FIRMImportance(method="linear").fit(model, X)
    auto = FIRMImportance().fit(model, X)
    for imp in (gaussian, line, auto):
        np.testing.assert_allclose(
            imp.signed_importances_[:, 0], closed, rtol=1e-11, atol=1e-12
        )
        np.testing.assert_allclose(
            imp.standard_errors_, line.standard_errors_, rtol=1e-8
        )
    assert auto.method_ == ["linear"] * 4


def test_least_squares_gives_the_same_from_model_and_labels():
    """Q = (1/n) D^-1 X'y, centred: the residuals are orthogonal to X (eq. 13)."""
    X = correlated(60, 0.7, n_noise=2)
    y = X @ W + np.random.default_rng(1).normal(size=60)
    centred = X - X.mean(axis=0)
    closed = centred.T @ (y - y.mean()) / 60 / X.std(axis=0)
    model = LinearRegression().fit(X, y)
    for method in ("gaussian", "linear", "auto"):
        imp = FIRMImportance(method=method).fit(model, X)
        np.testing.assert_allclose(imp.signed_importances_[:, 0], closed, atol=1e-13)
    labels = FIRMImportance(method="linear").fit(None, X, y)
    np.testing.assert_allclose(labels.signed_importances_[:, 0], closed, atol=1e-13)


def test_uncorrelated_columns_reduce_to_weight_times_sd():
    """Q = D w where Sigma is diagonal: rescaling a column is compensated."""
    q, _ = np.linalg.qr(np.column_stack([np.ones(50), correlated(50, 0, n_noise=2)]))
    X = q[:, 1:] * [1.0, 10.0, 5.0, 2.0]
    imp = FIRMImportance(method="gaussian").fit(linear_score, X)
    np.testing.assert_allclose(
        imp.signed_importances_[:, 0], W * X.std(axis=0), rtol=1e-6
    )


@pytest.mark.thorough
def test_correlation_shares_out_what_the_lasso_gives_to_one():
    """Section 2.4.3: (w, rho w) from the weights (w, 0)."""
    X = correlated(4000, 0.95)
    w = np.array([1.0, 0.0, 0.0])
    imp = FIRMImportance(method="gaussian").fit(lambda X: X @ w, X)
    ratio = imp.importances_[1] / imp.importances_[0]
    rho = np.corrcoef(X[:, 0], X[:, 1])[0, 1]
    assert ratio == pytest.approx(rho, rel=1e-6)
    even = FIRMImportance(method="gaussian").fit(
        lambda X: X @ np.array([0.5, 0.5, 0.0]), X
    )
    # q = w (1 + rho) / 2 for both, up to the sample variances
    np.testing.assert_allclose(even.importances_[:2], (1 + rho) / 2, rtol=0.03)


def test_lasso_and_ridge_agree_after_firm():
    """FIRM depends little on which of two correlated columns a method picked."""
    X = correlated(300, 0.97, seed=4)
    y = 1.3 * X[:, 0] + 0.7 * X[:, 1] + 0.5 * np.random.default_rng(0).normal(size=300)
    lasso, ridge = Lasso(0.3).fit(X, y), Ridge(30.0).fit(X, y)
    assert np.abs(lasso.coef_[0] - lasso.coef_[1]) > 0.3
    assert np.abs(ridge.coef_[0] - ridge.coef_[1]) < 0.2
    for model in (lasso, ridge):
        imp = FIRMImportance(standardize=True).fit(model, X)
        np.testing.assert_allclose(imp.importances_[:2], 0.99, atol=0.01)


# --- section 2.1: any score, any feature ---


def test_conditional_expected_score_is_not_partial_dependence():
    """sin(x0) with a column correlated 0.9: that column gets credit, a third none."""
    X = correlated(2000, 0.9)
    imp = FIRMImportance().fit(lambda X: np.sin(X[:, 0]), X)
    assert imp.method_ == ["conditional_mean"] * 3
    # sd(sin x0) = ((1 - exp(-2)) / 2)^(1/2) for standard normal x0
    assert imp.importances_[0] == pytest.approx(np.sqrt((1 - np.exp(-2)) / 2), abs=0.03)
    assert imp.importances_[0] == pytest.approx(np.std(np.sin(X[:, 0])), abs=0.03)
    assert imp.importances_[1] > 0.75 * imp.importances_[0]
    assert imp.importances_[2] < 0.05


@pytest.mark.parametrize("seed", range(20))
def test_a_continuous_noise_column_scores_near_0(seed):
    """Within 3 standard errors of 0 and below 0.08 of the score's sd at n = 2000."""
    X = np.random.default_rng(seed).normal(size=(2000, 2))

    def score(X):
        return np.exp(X[:, 0] / 2) + X[:, 0]

    imp = FIRMImportance(features=[1]).fit(score, X)
    assert imp.method_ == ["conditional_mean"]
    assert imp.importances_[0] <= 3 * imp.standard_errors_[0]
    assert imp.importances_[0] < 0.08 * np.std(score(X))


def test_the_correction_makes_noise_unbiased():
    """Without it the variance between 10 groups of noise is (10 - 1) s^2 / n."""
    rng = np.random.default_rng(0)
    squares, raw = [], []
    for _ in range(200):
        x, s = rng.integers(10, size=100), rng.normal(size=100)
        s = s + 3 * (x > 4)  # conditional means +-1.5: Q = 1.5
        imp = FIRMImportance(method="conditional_mean").fit(None, x[:, None], s)
        t, q = imp.conditional_scores_["x0"]
        share = np.array([np.mean(x == v) for v in t])
        raw.append(share @ (q - share @ q) ** 2)
        squares.append(imp.importances_[0] ** 2)
    assert np.mean(squares) == pytest.approx(2.25, abs=0.03)
    assert np.mean(raw) == pytest.approx(2.25 + 9 / 100, abs=0.03)


def test_a_product_in_no_column_is_found():
    """Neither factor alone says anything on x0 x1; the product says all."""
    X = np.random.default_rng(0).normal(size=(2000, 3))

    def score(X):
        return X[:, 0] * X[:, 1]

    functions = [Product(0, 1), Product(0, 2), ExclusiveOr(0, 1)]
    imp = FIRMImportance(features=[0, 1, 2], feature_functions=functions).fit(score, X)
    found = dict(zip(imp.features_, imp.importances_ / np.std(score(X))))
    assert found["x0 * x1"] > 0.9
    assert found["x0 ^ x1"] > 0.5
    assert max(found[name] for name in ("x0", "x1", "x2", "x0 * x2")) < 0.15


def test_the_score_may_be_any_models():
    """A classifier's decision function before its probabilities, a forest's votes."""
    X, y = make_classification(300, 5, random_state=0)
    linear = LogisticRegression().fit(X, y)
    imp = FIRMImportance().fit(linear, X)
    assert imp.method_ == ["linear"] * 5
    by_hand = FIRMImportance(method="linear").fit(linear.decision_function, X)
    np.testing.assert_allclose(imp.importances_, by_hand.importances_, rtol=1e-12)
    assert imp.output_names_ == ["1"]
    probability = FIRMImportance(response_method="predict_proba").fit(linear, X)
    assert probability.method_ == ["conditional_mean"] * 5
    forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    FIRMImportance().fit(forest, X)
    labels = FIRMImportance(response_method="predict", method="linear").fit(linear, X)
    by_hand = FIRMImportance(method="linear").fit(None, X, linear.predict(X))
    np.testing.assert_allclose(labels.importances_, by_hand.importances_, rtol=1e-12)


def test_forest_and_gaussian_say_what_to_use():
    """A tree has no gradient."""
    X = correlated(60, 0.5)
    forest = RandomForestRegressor(3, random_state=0).fit(X, X[:, 0])
    message = (
        "RandomForestRegressor is piecewise constant. Use method='conditional_mean'"
    )
    with pytest.raises(ValueError, match=message):
        FIRMImportance(method="gaussian").fit(forest, X)
    hidden = lambda X: forest.predict(X)  # noqa: E731
    message = "gradient of the score at the mean is 0 everywhere. Use method="
    with pytest.raises(ValueError, match=message):
        FIRMImportance(method="gaussian").fit(hidden, X)


# --- linear features ---


def test_a_linear_feature_of_a_gaussian():
    """a'x: Q = a'Sigma w / (a'Sigma a)^(1/2), by slope and by closed form."""
    X = correlated(70, 0.6, n_noise=2)
    a = np.array([1.0, -0.5, 0.0, 2.0])
    sigma = np.cov(X.T, bias=True)
    closed = a @ sigma @ W / np.sqrt(a @ sigma @ a)
    model = LinearRegression().fit(X, X @ W)
    for method in ("gaussian", "linear", "auto"):
        imp = FIRMImportance(method=method, feature_functions=[Linear(a)])
        imp.fit(model, X)
        assert imp.signed_importances_[0, 0] == pytest.approx(closed, rel=1e-9)
        assert imp.method_ == ["gaussian" if method == "gaussian" else "linear"]
    both = {"features": [0], "feature_functions": [Linear(a)]}
    lines, slopes = (
        FIRMImportance(method=method, **both).fit(model, X + 1).conditional_scores_
        for method in ("gaussian", "linear")
    )
    for (t, q), (ends, expected) in zip(lines.values(), slopes.values()):
        np.testing.assert_allclose(t, ends, rtol=1e-12)
        np.testing.assert_allclose(q, expected, rtol=1e-9)
    product = FIRMImportance(feature_functions=[Product(0, 1)]).fit(model, X)
    assert product.method_ == ["conditional_mean"]  # not linear in X


def test_steps_are_binary():
    """A threshold is a feature of two values."""
    X = correlated(200, 0.5)
    imp = FIRMImportance(feature_functions=[Step(0, 0.0), Step(0, 1.0)])
    imp.fit(linear_score, X)
    assert imp.method_ == ["binary", "binary"]
    assert imp.features_ == ["x0 > 0", "x0 > 1"]
    expected = [eq_10((X[:, 0] > t).tolist(), linear_score(X).tolist()) for t in (0, 1)]
    np.testing.assert_allclose(imp.signed_importances_[:, 0], expected, rtol=1e-12)
