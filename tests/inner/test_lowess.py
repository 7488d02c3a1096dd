"""LOWESS against a literal loop over its local problems."""

import numpy as np
import pytest
from combinations import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context

from skvarimp._lowess import lowess_fit
from skvarimp.filters import lowess_r2


def literal_lowess(x, y, frac, n_iter):
    """Cleveland (1979), one local least squares problem after the other."""
    n = len(x)
    n_neighbours = min(max(int(frac * n + 0.5), 1), n)

    def local(i, robustness):
        distance = np.abs(x - x[i])
        width = np.sort(distance)[n_neighbours - 1]
        if width == 0:
            weight = (distance == 0).astype(float)
        else:
            weight = np.where(distance < width, (1 - (distance / width) ** 3) ** 3, 0)
        if np.any(weight * robustness > 0):
            weight = weight * robustness
        used = weight > 0
        if len(np.unique(x[used])) == 1:
            return np.average(y[used], weights=weight[used])
        root = np.sqrt(weight[used])
        line = np.column_stack([np.ones(used.sum()), x[used] - x[i]])
        return np.linalg.lstsq(line * root[:, None], y[used] * root, rcond=None)[0][0]

    fitted = np.array([local(i, np.ones(n)) for i in range(n)])
    for _ in range(n_iter):
        residual = np.abs(y - fitted)
        scale = 6 * np.median(residual)
        if scale <= 1e-7 * np.mean(np.abs(y - y.mean())):
            break
        robustness = np.where(residual < scale, (1 - (residual / scale) ** 2) ** 2, 0)
        fitted = np.array([local(i, robustness) for i in range(n)])
    return fitted


def r_squared(fitted, y):
    """Plain 1 - SSE / SST."""
    return 1 - np.sum((y - fitted) ** 2) / np.sum((y - y.mean()) ** 2)


def noisy_columns(n, seed):
    """Columns with ties, few values and heavy tails; y with outliers."""
    rng = np.random.default_rng(seed)
    smooth = rng.normal(size=n)
    X = np.column_stack(
        [
            smooth,
            np.round(smooth, 1),  # ties
            rng.integers(0, 3, n),  # few values
            np.exp(2 * smooth),  # heavy tail
            rng.integers(0, 2, n),
        ]
    ).astype(float)
    y = np.sin(2 * smooth) + 0.3 * rng.normal(size=n)
    y[:: max(n // 7, 1)] += 8  # outliers
    return X, y


@pytest.mark.parametrize("frac", [0.2, 2 / 3, 1.0])
@pytest.mark.parametrize("n_iter", [0, 1, 3])
def test_lowess_equals_literal_loop(frac, n_iter):
    """Ties, outliers in y, few values and heavy tails included."""
    X, y = noisy_columns(61, seed=0)
    expected = np.column_stack([literal_lowess(x, y, frac, n_iter) for x in X.T])

    fitted = lowess_fit(X, y, frac, n_iter, None)

    assert_allclose(fitted, expected, rtol=0, atol=1e-9)
    scores = lowess_r2(X, y, frac=frac, n_iter=n_iter)
    assert_allclose(scores, [r_squared(f, y) for f in expected.T], atol=1e-9)


@settings(max_examples=examples(60))
@given(
    values=st.lists(
        st.tuples(st.integers(-4, 4), st.integers(-20, 20)), min_size=4, max_size=25
    ),
    frac=st.sampled_from([0.3, 0.5, 2 / 3, 1.0]),
)
def test_lowess_equals_literal_loop_on_integers(values, frac):
    """Heavily tied small samples reach every special case of the local fits."""
    x, y = np.array(values, dtype=float).T
    expected = literal_lowess(x, y, frac, 2)

    fitted = lowess_fit(x[:, None], y, frac, 2, None)[:, 0]

    # A local problem near singularity, or a residual at the edge of its bisquare,
    # may fall on either side; those are rare enough to compare all others.
    assert_allclose(fitted, expected, atol=1e-6 * (1 + np.abs(y).max()))


def test_few_distinct_values_are_fitted_exactly_in_long_columns():
    """Few points suffice where few values occur, so nothing is interpolated."""
    X, y = noisy_columns(700, seed=1)
    few = np.round(X[:, [0]])  # fewer than 200 distinct values among 700 rows

    assert_array_equal(lowess_r2(few, y), lowess_r2(few, y, n_fits=None))


def test_interpolation_is_near_the_exact_fit_and_exact_at_its_points():
    """The error shrinks with the number of points, and is small at the default."""
    X, y = noisy_columns(1500, seed=2)
    exact = lowess_fit(X, y, 2 / 3, 3, None)
    fast = lowess_fit(X, y, 2 / 3, 3, 200)

    assert_allclose(lowess_r2(X, y), lowess_r2(X, y, n_fits=None), atol=1e-4)
    assert np.abs(fast - exact).max() < 0.02
    # Without robustness iterations the lines at the points are the exact ones.
    plain, plain_fast = (lowess_fit(X, y, 2 / 3, 0, n)[:, 0] for n in (None, 200))
    assert np.sum(np.abs(plain_fast - plain) < 1e-12) >= 100
    coarse, fine = (
        np.abs(lowess_fit(X[:, :1], y, 2 / 3, 3, n) - exact[:, :1]).max()
        for n in (10, 100)
    )
    assert fine < coarse


@pytest.mark.parametrize("n_samples", [40, 900])
def test_lowess_reproduces_a_line(n_samples):
    """Local lines leave a line alone, interpolated or not, whatever the x."""
    x = np.random.default_rng(0).lognormal(sigma=3, size=n_samples)

    assert_allclose(lowess_r2(x[:, None], 5 - 3 * x), 1.0, rtol=0, atol=1e-12)


def test_lowess_does_not_depend_on_units():
    """Neighbourhoods, weights and R² are the same in any unit of x and y."""
    X, y = noisy_columns(80, seed=3)

    moved = lowess_r2(-1e9 * X + 3e9, 1e-5 * y + 1)

    assert_allclose(moved, lowess_r2(X, y), atol=1e-6)


def test_one_wild_row_moves_the_robust_curve_hardly():
    """That is what the iterations are for."""
    rng = np.random.default_rng(4)
    x = np.sort(rng.uniform(size=60))
    y = x**2 + 0.01 * rng.normal(size=60)
    wild = y.copy()
    wild[30] = 50.0
    by_iterations = [
        np.abs(
            lowess_fit(x[:, None], wild, 0.5, n, None)
            - lowess_fit(x[:, None], y, 0.5, n, None)
        ).max()
        for n in (0, 3)
    ]

    assert by_iterations[0] > 1.0
    assert by_iterations[1] < 0.01
    # Its own error still counts: the score of one wild row is low.
    assert lowess_r2(x[:, None], wild)[0] < 0.1


def test_median_residual_of_zero_ends_the_iterations():
    """Six of ten rows are met exactly: no scale is left to call others large."""
    x = np.array([0.0] * 6 + [1.0] * 4)
    y = np.array([2.0] * 6 + [0.0, 1.0, 5.0, 10.0])

    fitted = lowess_fit(x[:, None], y, 2 / 3, 3, None)[:, 0]

    assert_allclose(fitted, [2.0] * 6 + [4.0] * 4)


def test_neighbourhood_let_go_as_a_whole_keeps_its_first_fit():
    """All rows with x = 1 are outliers by the scale of the rows with x = 0."""
    noise = np.array([0.1, -0.1, 0.12, -0.12, 0.11, -0.11, 0.09, -0.09])
    x = np.array([0.0] * 8 + [1.0] * 4)
    y = np.concatenate([noise, [-30.0, -20.0, 20.0, 50.0]])

    fitted = lowess_fit(x[:, None], y, 2 / 3, 3, None)[:, 0]

    assert_allclose(fitted[8:], 5.0)
    assert_allclose(fitted, literal_lowess(x, y, 2 / 3, 3), atol=1e-12)


def test_constant_column_scores_exactly_zero():
    """A column without variance explains none."""
    X, y = noisy_columns(50, seed=5)
    X[:, 1] = 0.1

    assert lowess_r2(X, y)[1] == 0.0


def test_lowess_in_little_memory():
    """Tables that are not kept are made anew: the same numbers to the last bit."""
    X, y = noisy_columns(1200, seed=6)
    expected = lowess_r2(X, y)
    with config_context(working_memory=1):
        assert_array_equal(lowess_r2(X, y), expected)


def test_lowess_of_many_short_columns_equals_each_alone():
    """Columns in one block do not know of each other."""
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(30, 400)), rng.normal(size=30)
    some = [0, 145, 146, 399]

    assert_allclose(lowess_r2(X, y)[some], [lowess_r2(X[:, [j]], y)[0] for j in some])


def test_huge_and_tiny_values():
    """No overflow or underflow near the ends of the range of floats."""
    x = np.linspace(-1, 1, 40)
    y = np.abs(x)
    expected = lowess_r2(x[:, None], y)

    assert_allclose(lowess_r2(np.column_stack([1e308 * x, 1e-300 * x]), y)[0], expected)
    assert_allclose(lowess_r2(1e-300 * x[:, None], y), expected)
