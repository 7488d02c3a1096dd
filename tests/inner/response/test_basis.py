"""Chebyshev nodes against NumPy, SciPy and the bound of Trefethen's theorem 8.2."""

import numpy as np
import pytest
from numpy.polynomial import chebyshev
from scipy.interpolate import BarycentricInterpolator

from skvarimp._response.basis import (
    TOO_MANY,
    Basis,
    _sizes,
    coefficients,
    gaussian_nodes,
    interpolation,
    nodes,
    relative,
    tanh_nodes,
)
from skvarimp._response.rows import Rows
from skvarimp._response.shape import Cells, NeedsValues

N_ROWS, N_CELLS = 30, 600
RANDOM = np.random.RandomState(0)
CELLS = np.sort(RANDOM.uniform(2.0, 5.0, N_CELLS))
CHANCES = RANDOM.dirichlet(np.ones(N_CELLS))


def best_degree(log_bound, highest=np.inf):
    """The least real n with 4 M rho^-n / (rho - 1) <= 1e-17 for one of many rho."""
    rho = np.exp(np.linspace(0.005, np.log(1e4), 20_000))
    height = (rho - 1 / rho) / 2
    rho, height = rho[height < highest], height[height < highest]
    needed = np.log(4 / (rho - 1) / 1e-17) + log_bound(height)
    return np.min(needed / np.log(rho))


def check_numbers(found, needed):
    """The whole number above, plus 1; a coarser grid of rho costs 1% at most."""
    assert np.all(found >= np.ceil(needed) + 1)
    assert np.all(found <= np.ceil(1.01 * needed + 0.02) + 1)


def test_nodes_of_a_gaussian_are_as_many_as_the_theorem_needs():
    """exp(-c z^2) is at most exp(c y^2) at the height y."""
    widths = np.geomspace(0.01, 300.0, 30)
    needed = [best_degree(lambda y, c=c: c * y**2) for c in widths]
    check_numbers(np.array([gaussian_nodes(c) for c in widths]), np.array(needed))


def test_nodes_of_tanh_are_as_many_as_the_theorem_needs():
    """|tanh| is at most max(1, tan y), and has poles at pi / 2; 1.55 is below them."""
    slopes = np.geomspace(0.01, 3.0, 30)
    needed = [
        best_degree(lambda y, s=s: np.log(np.maximum(np.tan(s * y), 1.0)), 1.55 / s)
        for s in slopes
    ]
    check_numbers(np.array([tanh_nodes(slope) for slope in slopes]), np.array(needed))


@pytest.mark.parametrize(("k", "end"), [(0, -1.0), (1, 1.0)])
def test_no_position_is_outside_of_the_nodes(k, end):
    """Between 1 and 2 there is no number midway between ends three steps apart."""
    step = np.finfo(float).eps
    low, high = 1 + k * step, 1 + (k + 3) * step
    # the middle is rounded to the even neighbour, which is two steps from one end
    assert abs(np.array([low, high]) - (low + high) / 2).max() == 2 * step
    found = relative(np.array([low, high]), low, high)
    assert np.abs(found).max() == 1.0
    assert end in found


@pytest.mark.parametrize("n", [2, 3, 4, 9])
def test_nodes_and_coefficients_are_those_of_numpy(n):
    """`chebpts2`, and a polynomial through all points."""
    at = nodes(-1.0, 1.0, n)
    np.testing.assert_allclose(at, chebyshev.chebpts2(n), rtol=0, atol=1e-15)
    values = np.random.RandomState(n).randn(3, n)
    expected = chebyshev.chebfit(at, values.T, n - 1).T
    np.testing.assert_allclose(values @ coefficients(n), expected, atol=n * 1e-14)


@pytest.mark.parametrize("n", [2, 3, 4, 9])
def test_interpolation_is_that_of_scipy(n):
    """At points between the nodes, and at a node."""
    low, high = 2.0, 5.0
    at = nodes(low, high, n)
    points = np.append(np.linspace(low, high, 11), at[n // 2])
    values = np.random.RandomState(n).randn(n)
    expected = BarycentricInterpolator(at, values)(points)
    found = interpolation(points, low, high, n) @ values
    np.testing.assert_allclose(found, expected, atol=n**2 * 1e-15)


def test_interpolation_of_tiny_numbers():
    """Whose inverses are infinite; they have 2^44 as many digits less."""
    points, n, tiny = np.linspace(2.0, 5.0, 8), 9, 2.0**-1030
    expected = interpolation(points, 2.0, 5.0, n)
    found = interpolation(tiny * points, tiny * 2.0, tiny * 5.0, n)
    np.testing.assert_allclose(found, expected, atol=n**2 * 2.0**-1074 / tiny)


def test_sizes_of_rows_are_root_mean_squares():
    """Over everything but the rows."""
    values = np.random.RandomState(0).randn(2, 3, 4, 5)
    expected = np.sqrt(np.mean(values**2, axis=(0, 1, 3)))
    np.testing.assert_allclose(
        _sizes(values), expected, rtol=1e-15 * values[:, :, 0].size
    )


def basis_of(evaluate, level=0.0):
    """Curves of some rows, evaluate(numbers, rows); the unmoved response is level."""
    rows = Rows(
        None,
        np.arange(N_ROWS),
        RANDOM.dirichlet(np.ones(N_ROWS)),
        np.full((1, N_ROWS), level),
    )

    def at(numbers, some):
        return evaluate(numbers, np.arange(N_ROWS)[some])[np.newaxis, np.newaxis]

    return Basis(rows, Cells(CHANCES[np.newaxis]), CELLS[np.newaxis], at, None, True)


def position(numbers):
    """In [-1, 1]."""
    low, high = CELLS[[0, -1]]
    return (2 * numbers.ravel() - low - high) / (high - low)


@pytest.mark.parametrize("degree", [1, 2, 6, 14, 30, 60, 120, 210])
def test_nodes_grow_with_the_degree_of_the_curves(degree):
    """Enough for the degree, and not many more; the means are then exact."""
    coefs = RANDOM.randn(N_ROWS, degree + 1)

    def evaluate(numbers, some):
        return chebyshev.chebval(position(numbers), coefs[some].T)

    basis = basis_of(evaluate)
    values, matrix = basis.moved
    n = values.shape[-1]
    assert degree < n <= 1.2 * degree + 6
    assert matrix.shape == (1, N_CELLS, n)
    exact = evaluate(CELLS, np.arange(N_ROWS))
    largest = np.abs(coefs).sum(axis=1).max()
    found = (values @ matrix.swapaxes(1, 2)[:, np.newaxis])[0, 0]
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-12 * largest)
    rows, cells = basis.drifts()
    np.testing.assert_allclose(rows[0, 0], exact @ CHANCES, atol=1e-12 * largest)
    expected = basis.rows.weights @ exact
    np.testing.assert_allclose(cells[0, 0], expected, atol=1e-12 * largest)


def test_rows_a_few_at_a_time_have_the_same_values(monkeypatch):
    """And each row is asked for once with the nodes that are enough."""
    slopes, asked = RANDOM.uniform(0.5, 1.0, (N_ROWS, 1)), []

    def evaluate(numbers, some):
        asked.append(some.tolist())
        return np.sin(slopes[some] * position(numbers))

    whole, _ = basis_of(evaluate).moved
    assert asked[-1] == list(range(N_ROWS))
    monkeypatch.setattr("skvarimp._response.basis.CACHE", 1)
    by_row, _ = basis_of(evaluate).moved
    assert asked[-N_ROWS:] == [[i] for i in range(N_ROWS)]
    np.testing.assert_allclose(by_row, whole, rtol=0, atol=1e-15)


def test_differences_of_large_numbers_vanish_down_to_their_rounding():
    """What rounding leaves of 1e8 curves of size 1 is 1e-8 of them, not 2e-13."""
    level, slopes = 1e8, RANDOM.uniform(0.5, 1.0, (N_ROWS, 1))

    def evaluate(numbers, some):
        return level + np.sin(2 * slopes[some] * position(numbers))

    def rough(numbers, some):  # the same rounding, of numbers that are not large
        return evaluate(numbers, some) - level

    values, _ = basis_of(evaluate, level).moved
    assert values.shape[-1] <= 30
    with pytest.raises(NeedsValues):
        basis_of(rough).moved  # noqa: B018


@pytest.mark.parametrize("rough_rows", [slice(0, N_ROWS), slice(7, 8)])
def test_curves_with_a_corner_need_their_values(rough_rows):
    """All of them, or one row among smooth ones."""
    corner = np.zeros((N_ROWS, 1))
    corner[rough_rows] = 1.0

    def evaluate(numbers, some):
        x = position(numbers)
        return np.cos(x) + corner[some] * np.abs(x - 0.1)

    basis = basis_of(evaluate)
    with pytest.raises(NeedsValues):
        basis.moved  # noqa: B018


def test_nodes_of_steep_functions_are_at_most_ten_thousand():
    """However steep; the values themselves are then asked for."""
    assert gaussian_nodes(1e12) == tanh_nodes(1e9) == TOO_MANY


def test_infinite_curves_need_their_values():
    """No number of nodes is enough."""
    basis = basis_of(lambda numbers, some: np.full((len(some), numbers.size), np.inf))
    with np.errstate(invalid="ignore"), pytest.raises(NeedsValues):
        basis.moved  # noqa: B018
