"""Chebyshev nodes against NumPy, SciPy and the bound of Trefethen's theorem 8.2."""

import numpy as np
import pytest
from numpy.polynomial import chebyshev
from scipy.interpolate import BarycentricInterpolator

from skvarimp._response.basis import (
    _sizes,
    coefficients,
    gaussian_nodes,
    interpolation,
    nodes,
    tanh_nodes,
)


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
