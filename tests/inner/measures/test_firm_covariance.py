"""Shrunk covariances of FIRM."""

import numpy as np
import pytest
from roundoff import roundoff
from scipy import sparse
from sklearn.covariance import (
    LedoitWolf,
)

from skvarimp._measures.firm import covariance as _firm_covariance

rng = np.random.default_rng(0)
MIX = rng.normal(size=(4, 4))
X = rng.normal(size=(60, 4)) @ MIX + [1.0, 0.0, -2.0, 0.5]


def literal_schaefer_strimmer(X):
    """The estimator pair by pair, as its definition reads."""
    n, p = X.shape
    v = [np.var(X[:, i], ddof=1) for i in range(p)]
    Z = np.column_stack([(X[:, i] - X[:, i].mean()) / np.sqrt(v[i]) for i in range(p)])
    r, numerator, denominator = np.eye(p), 0.0, 0.0
    for i in range(p):
        for j in range(p):
            if i == j:
                continue
            w = Z[:, i] * Z[:, j]
            r[i, j] = w.sum() / (n - 1)
            numerator += n / (n - 1) ** 3 * np.sum((w - w.mean()) ** 2)
            denominator += r[i, j] ** 2
    a = min(1.0, numerator / denominator)
    median = np.median(v)
    spread = 0.0
    for i in range(p):
        w = (X[:, i] - X[:, i].mean()) ** 2
        spread += n / (n - 1) ** 3 * np.sum((w - w.mean()) ** 2)
    b = min(1.0, spread / sum((vi - median) ** 2 for vi in v))
    sd = np.sqrt([b * median + (1 - b) * vi for vi in v])
    shrunk = (1 - a) * r
    np.fill_diagonal(shrunk, 1.0)
    return sd[:, None] * shrunk * sd, a, b


@pytest.fixture(scope="module")
def wide():
    """20 rows of 200 columns: two factors, a different scale each."""
    rng = np.random.default_rng(5)
    factors = rng.normal(size=(20, 2)) @ rng.normal(size=(2, 200))
    return (factors + rng.normal(size=(20, 200))) * rng.uniform(0.5, 3.0, 200) + 4.0


def matrix(covariance, p):
    """The covariance from its products with unit vectors."""
    return covariance.product(np.eye(p))


def test_schaefer_strimmer_equals_its_definition(wide):
    """n = 20, p = 200, and a tall sample; positive definite where n < p."""
    for data in (wide, wide[:, :7], np.random.default_rng(0).normal(size=(50, 3))):
        expected, a, b = literal_schaefer_strimmer(data)
        shrunk = _firm_covariance.schaefer_strimmer(data)
        assert 0 < a <= 1
        assert 0 < b <= 1
        assert shrunk.kept == pytest.approx(1 - a, rel=1e-10, abs=1e-12)
        found = matrix(shrunk, data.shape[1])
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(shrunk.variances, np.diag(expected), rtol=1e-10)
        assert np.linalg.eigvalsh(found).min() > 0
    assert np.linalg.eigvalsh(np.cov(wide.T)).min() < 1e-10  # the sample's is not


def test_ledoit_wolf_equals_scikit_learn(wide):
    """The same intensity and matrix without a p x p computation."""
    for data in (wide, X, wide[:, :1]):
        expected = LedoitWolf().fit(data)
        shrunk = _firm_covariance.ledoit_wolf(data)
        assert shrunk.kept == pytest.approx(1 - expected.shrinkage_, rel=1e-9)
        p = data.shape[1]
        np.testing.assert_allclose(matrix(shrunk, p), expected.covariance_, rtol=1e-9)
        np.testing.assert_allclose(
            shrunk.variances, np.diag(expected.covariance_), rtol=1e-9
        )


def test_products_of_sparse_columns_far_from_zero():
    """The rounding of X G, which is large, is multiplied by deviations and not by X."""
    far, weights = X + 1e8, np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    of_dense = _firm_covariance.EmpiricalCovariance(far, weights)
    of_sparse = _firm_covariance.EmpiricalCovariance(sparse.csc_array(far), weights)
    np.testing.assert_allclose(
        of_sparse.product(MIX),
        of_dense.product(MIX),
        rtol=0,
        atol=roundoff(sum(X.shape), 1e8 * np.abs(X).max() * MIX),
    )


def test_columns_of_two_values():
    """0 and at most one other, finite value; a full column of one value is constant."""
    held, nan, inf = 3.0, np.nan, np.inf
    columns = {
        (0.0, 0.0, 0.0): True,
        (held, 0.0, 0.0): True,
        (held, held, 0.0): True,
        (1.0, 1.0, 0.0): True,
        (held, held, held): False,
        (held, 4.0, 0.0): False,
        (held, held, 4.0): False,
        (nan, 0.0, 0.0): False,
        (inf, 0.0, inf): False,
    }
    X = sparse.csc_array(np.array(list(columns)).T)
    assert _firm_covariance.two_valued(X).tolist() == list(columns.values())
    stored = sparse.csc_array(([0.0, 2.0], ([0, 1], [0, 0])), shape=(3, 1))
    assert not _firm_covariance.two_valued(stored).any()  # a zero that is held


FACTORIAL = np.array(list(np.ndindex(2, 2, 2))) * 2.0 - 1.0  # S is the identity


def test_columns_without_any_correlation():
    """Nothing to shrink with one variance; correlations of 0 are shrunk to 0."""
    shrunk = _firm_covariance.ledoit_wolf(FACTORIAL)
    assert shrunk.kept == 1.0 == 1 - LedoitWolf().fit(FACTORIAL).shrinkage_
    np.testing.assert_allclose(matrix(shrunk, 3), np.eye(3), rtol=0, atol=1e-15)
    stretched = FACTORIAL * [1.0, 2.0, 3.0]
    shrunk = _firm_covariance.schaefer_strimmer(stretched)
    assert shrunk.kept == 0.0
    # w = (n - 1) / n in all rows: the spread of a variance is 0, and nothing is shrunk
    expected = np.diag([1.0, 4.0, 9.0]) * 8 / 7
    np.testing.assert_allclose(matrix(shrunk, 3), expected, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("n_constant", [1, 3])
def test_constant_columns_take_no_part_in_shrinking(n_constant):
    """Their variance is 0, and the others are shrunk as without them."""
    constant = np.full((len(X), n_constant), 7.0)
    shrunk = _firm_covariance.schaefer_strimmer(np.hstack([X, constant]))
    alone = _firm_covariance.schaefer_strimmer(X)
    found, expected = matrix(shrunk, 4 + n_constant), matrix(alone, 4)
    np.testing.assert_allclose(found[:4, :4], expected, rtol=1e-12)
    assert not found[4:].any()
    assert not found[:, 4:].any()
    of_constants = _firm_covariance.schaefer_strimmer(constant)
    assert not matrix(of_constants, n_constant).any()


def test_shrinking_counts_whole_numbers_of_rows():
    """Weights are repeated rows, also where one row alone is repeated."""
    for weights in (np.r_[2.0, np.ones(59)], np.tile([1.0, 3.0], 30)):
        rows = np.repeat(np.arange(60), weights.astype(int))
        for name in ("schaefer_strimmer", "ledoit_wolf"):
            for data in (X, sparse.csc_array(X)):
                found = _firm_covariance.make_covariance(name, data, weights)
                again = _firm_covariance.make_covariance(
                    name, X[rows], weights[rows] > 0
                )
                np.testing.assert_allclose(
                    matrix(found, 4), matrix(again, 4), rtol=1e-12
                )
    with pytest.raises(ValueError, match="whole-number"):
        _firm_covariance.make_covariance("ledoit_wolf", X, np.r_[1.5, np.ones(59)])
