"""FIRM of binary data: sections 2.3 and 2.4 of the paper (Zien et al. 2009)."""

import itertools

import numpy as np
import pytest
from firm_scores import W, correlated, eq_10, linear_score
from messages import says
from roundoff import roundoff
from scipy import sparse

from skvarimp import FIRMImportance
from skvarimp.feature_functions import Conjunction, ExclusiveOr, Not

CUBE = np.array(list(itertools.product([-1.0, 1.0], repeat=4)))


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
    np.testing.assert_allclose(
        imp.importances_, 0.0, atol=roundoff(len(CUBE), linear_score(CUBE))
    )


# --- sections 2.3 and 2.4.2: binary data with an empirical distribution ---


@pytest.fixture(scope="module")
def binary_rows():
    """Correlated, unbalanced -1/+1 columns and a score that is not linear."""
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(70, 6)) @ rng.normal(size=(6, 6)) + rng.normal(size=6)
    X = np.where(Z > 0, 1.0, -1.0)
    return X, X @ rng.normal(size=6) + X[:, 0] * X[:, 1] + 2.0


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


@pytest.mark.parametrize(("n_values", "said"), [(3, "3"), (7, "7"), (8, "more than 7")])
def test_how_many_values_are_too_many_for_two(n_values, said):
    """Values are counted up to the number of bins."""
    X = np.tile(np.arange(float(n_values)), 3)[:, np.newaxis]
    with pytest.raises(ValueError, match=says(f"'x0' … has {said} values")):
        FIRMImportance(method="binary", n_bins=7).fit(None, X, X[:, 0])
