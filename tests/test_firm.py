"""The theorems and examples of the paper (Zien et al. 2009), each as one test."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.svm import SVC

from skvarimp import FIRMImportance
from skvarimp.feature_functions import (
    Conjunction,
    Disjunction,
    ExclusiveOr,
    Linear,
    Not,
    Product,
    Step,
)

CUBE = np.array(list(itertools.product([-1.0, 1.0], repeat=4)))
W = np.array([0.7, -1.2, 0.4, 2.0])


def linear_score(X):
    """s(x) = w'x + b with the weights W."""
    return np.asarray(X) @ W[: np.shape(X)[1]] + 0.3


def correlated(n, rho, seed=0, n_noise=1):
    """Normal columns, the first two with correlation rho."""
    Z = np.random.default_rng(seed).normal(size=(n, 2 + n_noise))
    Z[:, 1] = rho * Z[:, 0] + np.sqrt(1 - rho**2) * Z[:, 1]
    return Z


# --- section 2.4.1: independent, uniform binary data ---


def test_independent_binary_columns_have_their_weights():
    """Q_j = w_j: nothing else goes along with column j."""
    imp = FIRMImportance().fit(linear_score, CUBE)
    np.testing.assert_allclose(imp.signed_importances_[:, 0], W, rtol=1e-13)
    np.testing.assert_allclose(imp.importances_, np.abs(W), rtol=1e-13)
    assert imp.method_ == ["binary"] * 4


def test_coding_0_1_halves_the_weights():
    """The score changes by w_j between the values, and sd is 1/2 (see the errata)."""
    score = lambda X: X @ W  # noqa: E731
    imp = FIRMImportance().fit(score, (CUBE + 1) / 2)
    np.testing.assert_allclose(imp.signed_importances_[:, 0], W / 2, rtol=1e-13)


@pytest.mark.parametrize(("j", "k"), list(itertools.combinations(range(4), 2)))
def test_conjunctions_of_independent_columns(j, k):
    """(w_j + w_k) / sqrt(3); a negated literal changes its weight's sign."""
    functions = [Conjunction(j, k), Conjunction(j, Not(k)), Conjunction(Not(j), Not(k))]
    imp = FIRMImportance(feature_functions=functions).fit(linear_score, CUBE)
    expected = np.array([W[j] + W[k], W[j] - W[k], -W[j] - W[k]]) / np.sqrt(3)
    np.testing.assert_allclose(imp.signed_importances_[:, 0], expected, rtol=1e-12)


def test_exclusive_or_is_0_for_a_linear_score():
    """A linear score cannot know a parity."""
    functions = [ExclusiveOr(0, 1), ExclusiveOr(0, 1, 2), ExclusiveOr(1, Not(3))]
    imp = FIRMImportance(feature_functions=functions).fit(linear_score, CUBE)
    np.testing.assert_allclose(imp.importances_, 0.0, atol=1e-14)


# --- sections 2.3 and 2.4.2: binary data with an empirical distribution ---


@pytest.fixture(scope="module")
def binary_rows():
    """Correlated, unbalanced -1/+1 columns and a score that is not linear."""
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(70, 6)) @ rng.normal(size=(6, 6)) + rng.normal(size=6)
    X = np.where(Z > 0, 1.0, -1.0)
    return X, X @ rng.normal(size=6) + X[:, 0] * X[:, 1] + 2.0


def eq_10(x, s):
    """(q_b - q_a) sqrt(p_a p_b), by loops."""
    a, b = min(x), max(x)
    rows_a = [i for i in range(len(x)) if x[i] == a]
    rows_b = [i for i in range(len(x)) if x[i] == b]
    q_a = sum(s[i] for i in rows_a) / len(rows_a)
    q_b = sum(s[i] for i in rows_b) / len(rows_b)
    p_a, p_b = len(rows_a) / len(x), len(rows_b) / len(x)
    return (q_b - q_a) * np.sqrt(p_a * p_b)


def eq_11(X, s):
    """M's, M = 1 D_0 + X D_1, for -1/+1 data; the sign of D_0 as corrected."""
    n = len(X)
    plus, minus = (X == 1).sum(axis=0), (X == -1).sum(axis=0)
    D1 = np.diag(1 / (2 * np.sqrt(plus * minus)))
    D0 = np.diag((minus - plus) / (2 * n * np.sqrt(plus * minus)))
    M = np.ones(X.shape) @ D0 + X @ D1
    return M.T @ s


def slope_times_sd(x, s):
    """The slope of the regression of s on x, times sd(x)."""
    slope = np.polyfit(x, s, 1)[0]
    return slope * np.std(x)


def test_binary_formulas_agree(binary_rows):
    """Eq. 10 = corrected eq. 11 = slope times sd, and all are what is computed."""
    X, s = binary_rows
    ten = np.array([eq_10(x.tolist(), s.tolist()) for x in X.T])
    np.testing.assert_allclose(eq_11(X, s), ten, atol=1e-14)
    np.testing.assert_allclose([slope_times_sd(x, s) for x in X.T], ten, atol=1e-14)
    binary = FIRMImportance(method="binary").fit(None, X, s)
    line = FIRMImportance(method="linear").fit(None, X, s)
    stored = FIRMImportance().fit(None, sparse.csr_array((X + 1) / 2), s)
    for imp in (binary, line, stored):
        np.testing.assert_allclose(imp.signed_importances_[:, 0], ten, atol=1e-14)
        np.testing.assert_allclose(
            imp.standard_errors_, binary.standard_errors_, rtol=1e-10
        )


def test_the_printed_sign_of_d0_is_wrong(binary_rows):
    """With (n_+ - n_-), as printed, eq. 11 is not eq. 10: the correction is needed."""
    X, s = binary_rows
    plus, minus = (X == 1).sum(axis=0), (X == -1).sum(axis=0)
    printed = (
        eq_11(X, s)
        + 2 * (plus - minus) / (2 * len(X) * np.sqrt(plus * minus)) * s.sum()
    )
    ten = np.array([eq_10(x.tolist(), s.tolist()) for x in X.T])
    assert np.abs(printed - ten).max() > 0.1


@pytest.mark.parametrize("factor", [3.0, 1e-6, -2.0])
@pytest.mark.parametrize("shift", [0.0, -7.0, 1e4])
@pytest.mark.parametrize("method", ["binary", "linear", "conditional_mean"])
def test_rescaling_or_shifting_a_column_changes_nothing(
    binary_rows, factor, shift, method
):
    """The rows with each value stay the same; a negative factor swaps the sign."""
    X, s = binary_rows
    before = FIRMImportance(method=method).fit(None, X, s)
    after = FIRMImportance(method=method).fit(None, X * factor + shift, s)
    np.testing.assert_allclose(after.importances_, before.importances_, rtol=1e-9)
    np.testing.assert_allclose(
        after.standard_errors_, before.standard_errors_, rtol=1e-9
    )
    np.testing.assert_allclose(
        after.signed_importances_,
        np.sign(factor) * before.signed_importances_,
        rtol=1e-9,
    )


@pytest.mark.parametrize(
    "method", ["auto", "binary", "linear", "conditional_mean", "gaussian"]
)
def test_scaling_the_score_scales_importances(method):
    """Q is in units of the score; the standardised Q has none."""
    X = CUBE if method == "binary" else correlated(90, 0.5)

    def score(X):
        return np.sin(X[:, 0]) + X[:, 1] * X[:, 2]

    def fitted(factor, **parameters):
        imp = FIRMImportance(method=method, **parameters)
        return imp.fit(lambda X: factor * score(X) + 5.0, X)

    one, ten = fitted(1.0), fitted(-10.0)
    np.testing.assert_allclose(
        ten.importances_, 10 * one.importances_, rtol=1e-6, atol=1e-12
    )
    np.testing.assert_allclose(
        ten.standard_errors_, 10 * one.standard_errors_, rtol=1e-5
    )
    one, ten = fitted(1.0, standardize=True), fitted(-10.0, standardize=True)
    np.testing.assert_allclose(
        ten.importances_, one.importances_, rtol=1e-6, atol=1e-12
    )
    np.testing.assert_allclose(ten.standard_errors_, one.standard_errors_, rtol=1e-5)
    spread = np.std(score(X))
    np.testing.assert_allclose(
        one.importances_, fitted(1.0).importances_ / spread, rtol=1e-6, atol=1e-12
    )


def test_standardized_importances_do_not_exceed_1():
    """The variance of a conditional expectation is at most the variance itself."""
    X = correlated(300, 0.9)
    for method in ("linear", "conditional_mean"):
        imp = FIRMImportance(method=method, standardize=True).fit(linear_score, X)
        assert imp.importances_.max() <= 1.0


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
    found = dict(zip(imp.entry_names_, imp.importances_ / np.std(score(X))))
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


# --- section 3.1: the Boolean formula ---

TABLE = np.array(list(itertools.product([0.0, 1.0], repeat=3)))
TRUE = (TABLE[:, 0] == 1) | (TABLE[:, 1] == 0)
PUBLISHED = json.loads(
    (Path(__file__).parent / "reference_values" / "firm_boolean.json").read_text()
)


@pytest.fixture(scope="module")
def boolean_svm():
    """The machine of section 3.1 on all 8 rows."""
    machine = SVC(kernel="poly", degree=2, gamma=1, coef0=0, C=10)
    return machine.fit(TABLE, np.where(TRUE, 1, -1))


def pairs():
    """All conjunctions and disjunctions of two literals, with negations."""
    for a, b in itertools.combinations(range(3), 2):
        for first, second in itertools.product((a, Not(a)), (b, Not(b))):
            yield Conjunction(first, second)
            yield Disjunction(first, second)


def test_boolean_formula_from_the_machine(boolean_svm):
    """Scores and the leading features of section 3.1, as corrected in the errata."""
    corrected, tolerance = PUBLISHED["corrected"], PUBLISHED["absolute_tolerance"]
    score = dict(zip(map(tuple, TABLE[:, :2]), boolean_svm.decision_function(TABLE)))
    at = lambda place: score[tuple(map(float, place))]  # noqa: E731
    assert at(corrected["at"]) == pytest.approx(PUBLISHED["printed"]["score"], abs=5e-4)
    assert at(corrected["false_at"]) == pytest.approx(
        corrected["score_at_false"], abs=tolerance
    )
    imp = FIRMImportance(features=[0, 1, 2], feature_functions=list(pairs()))
    imp.fit(boolean_svm, TABLE)
    found = dict(zip(imp.entry_names_, imp.importances_))
    first, value = corrected["most_important"]
    names = {"x0": "x1", "x1": "x2", "x2": "x3"}
    best = max(found, key=found.get)
    renamed = best
    for old in reversed(names):
        renamed = renamed.replace(old, names[old])
    assert renamed == first
    assert found[best] == pytest.approx(value, abs=tolerance)
    for single in ("x0", "x1"):
        assert found[single] == pytest.approx(
            corrected["single_variables"], abs=tolerance
        )
    assert found["x2"] == pytest.approx(0.0, abs=1e-3)


def test_boolean_formula_from_the_labels():
    """Only not x1 and x2 is false: by eq. 10 its feature explains all of y."""
    y = np.where(TRUE, 1.0, -1.0)
    imp = FIRMImportance(feature_functions=list(pairs())).fit(None, TABLE, y)
    found = dict(zip(imp.entry_names_, imp.signed_importances_[:, 0]))
    spread = np.std(y)  # 2 sqrt(3/16)
    assert found["~x0 & x1"] == pytest.approx(-spread, rel=1e-12)
    assert found["x0 | ~x1"] == pytest.approx(spread, rel=1e-12)
    others = [abs(v) for k, v in found.items() if k not in ("~x0 & x1", "x0 | ~x1")]
    assert max(others) < 0.9 * spread


# --- section 3.2: two Gaussian classes ---


def test_gaussian_classes_rank_the_discriminating_column_first():
    """Columns 0 and 1 separate the classes, the second best; column 2 is noise."""
    rng = np.random.default_rng(0)
    y = np.repeat([-1, 1], 150)
    X = rng.normal(size=(300, 3)) * [1.0, 1.0, 1.0]
    X[:, 1] += 1.5 * y
    X[:, 0] += 0.5 * y
    machine = SVC(kernel="linear").fit(X, y)
    for method in ("auto", "linear", "gaussian", "conditional_mean"):
        imp = FIRMImportance(method=method, standardize=True).fit(machine, X)
        assert imp.ranking_.tolist() == [2, 1, 3]
        assert imp.importances_[1] > 0.9
        assert imp.importances_[2] < 0.15


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
    product = FIRMImportance(feature_functions=[Product(0, 1)]).fit(model, X)
    assert product.method_ == ["conditional_mean"]  # not linear in X


def test_steps_are_binary():
    """A threshold is a feature of two values."""
    X = correlated(200, 0.5)
    imp = FIRMImportance(feature_functions=[Step(0, 0.0), Step(0, 1.0)])
    imp.fit(linear_score, X)
    assert imp.method_ == ["binary", "binary"]
    assert imp.entry_names_ == ["x0 > 0", "x0 > 1"]
    expected = [eq_10((X[:, 0] > t).tolist(), linear_score(X).tolist()) for t in (0, 1)]
    np.testing.assert_allclose(imp.signed_importances_[:, 0], expected, rtol=1e-12)
