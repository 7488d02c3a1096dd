"""Importances that are known in closed form: of linear models, and of Ishigami's.

The cases are those of ``benchmarks/published/closed_forms.py``, on other rows.
"""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from skvarimp import FIRMImportance, PermutationImportance

PUBLISHED = Path(__file__).resolve().parents[2] / "benchmarks" / "published"


@pytest.fixture(scope="module")
def closed_forms():
    """The module of the benchmark."""
    if not PUBLISHED.exists():
        pytest.skip("the benchmarks are not here")
    sys.path.insert(0, str(PUBLISHED))
    try:
        return importlib.import_module("closed_forms")
    finally:
        sys.path.remove(str(PUBLISHED))


@pytest.mark.parametrize(
    ("name", "n"),
    [
        ("permutation", 2000),
        ("conditional", 2000),
        ("first_order", 2000),
        ("owen_prieur", 2000),
        pytest.param("ishigami_effects", 5000, marks=pytest.mark.thorough),
    ],
)
def test_within_four_errors(closed_forms, name, n):
    """Of the rows and of drawing; a normal number is further away once in 16 000."""
    case = getattr(closed_forms, name)
    for seed in (1, 2):
        expected, ours, error = case(np.random.default_rng(seed), n)
        assert (error < 0.2 * expected.max()).all()
        assert (np.abs(ours - expected) <= 4 * error).all()


@pytest.mark.parametrize("estimated", [False, True])
def test_permutation_of_a_linear_model_is_exact(closed_forms, estimated):
    """2 b^2 var + 2 b cov(y - f, x), with the moments of the rows at hand.

    Of all pairs of rows the mean of (e + b (x - x'))^2 - e^2. The second term is 0 for
    least squares on the same rows.
    """
    random = np.random.default_rng(3)
    X = closed_forms.correlated(random, 500)
    y = X @ closed_forms.SLOPES + random.normal(size=500)
    model = closed_forms.linear_model(closed_forms.SLOPES)
    if estimated:
        model = LinearRegression().fit(X, y)
    found = PermutationImportance(estimation="exact").fit(model, X, y).importances_
    centred, rest = X - X.mean(axis=0), y - model.predict(X)
    variances, together = np.mean(centred**2, axis=0), rest @ centred / 500
    expected = 2 * model.coef_**2 * variances
    largest = np.mean(y**2)  # losses of this size are subtracted
    if estimated:
        np.testing.assert_allclose(together, 0.0, atol=500 * 2e-16 * largest)
    else:
        expected = expected + 2 * model.coef_ * together
    np.testing.assert_allclose(found, expected, atol=500 * 2e-16 * largest)


def test_first_order_of_a_linear_model_is_exact(closed_forms):
    """FIRM squared is cov(x, f)^2 / var x, with the moments of the rows at hand."""
    X = closed_forms.correlated(np.random.default_rng(4), 500)
    model = closed_forms.linear_model(closed_forms.SLOPES)
    found = FIRMImportance(method="linear").fit(model, X).importances_
    centred = X - X.mean(axis=0)
    together = centred.T @ (centred @ closed_forms.SLOPES) / 500
    expected = together**2 / np.mean(centred**2, axis=0)
    np.testing.assert_allclose(found**2, expected, rtol=1e-11)
