"""No measure depends on the unit of y or of a column: powers of two round nothing."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from skvarimp import (
    ALEImportance,
    CoefficientImportance,
    DerivativeImportance,
    FilterImportance,
    FIRMImportance,
    ImpurityImportance,
    InteractionImportance,
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
    ShapleyImportance,
    SobolImportance,
)

N = 40
RANDOM = np.random.RandomState(0)
X = RANDOM.randn(N, 4)
X[:, 1] += 0.7 * X[:, 0]
X[:, 3] = RANDOM.randint(0, 3, N)
Y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * RANDOM.randn(N)
WEIGHTS = RANDOM.uniform(0.5, 2.0, N)


def black_box(X):
    """Smooth, with an interaction; the last column is not used much."""
    return np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * X[:, 3]


KEPT = {"keep_rows": True}
# how the numbers grow with the unit of y: by which power of it
MEASURES = [
    (PermutationImportance(**KEPT), 2),
    (PermutationImportance(loss="absolute_error"), 1),
    (PermutationImportance(relative=True), 0),
    (PermutationImportance(n_draws=4), 2),
    (PermutationImportance(conditional="subgroups"), 2),
    (SensitivityImportance(**KEPT), 0),
    (SensitivityImportance(scale=None), 1),
    (SensitivityImportance(contrast="range", scale=None), 1),
    (SensitivityImportance(contrast="observed"), 1),
    (PartialDependenceImportance(**KEPT), 1),
    (PartialDependenceImportance(kind="individual"), 1),
    (ShapleyImportance(estimation="exact", **KEPT), 0),
    (ShapleyImportance(loss="squared_error", scale=None, n_repeats=4), 2),
    (SobolImportance(**KEPT), 0),
    (SobolImportance(order="first"), 0),
    (InteractionImportance(statistic="conditional_std"), 1),
    (InteractionImportance(pairs=2), 1),
    (InteractionImportance(statistic="h"), 0),
    (InteractionImportance(statistic="h_overall"), 0),
    (InteractionImportance(statistic="h_total"), 0),
    (DerivativeImportance(**KEPT), 1),
    (ALEImportance(**KEPT), 1),
    (FIRMImportance(method="linear", **KEPT), 1),
    (FIRMImportance(method="linear", features=[[0, 1], 2], standardize=True), 0),
    (FIRMImportance(method="conditional_mean", features=[[0, 1], 3]), 1),
    (FIRMImportance(method="gaussian", **KEPT), 1),
]


def check_alike(found, expected, factor):
    """Importances and errors are those of another unit, to rounding."""
    for name in ("importances_", "standard_errors_", "monte_carlo_errors_"):
        values, others = getattr(found, name, None), getattr(expected, name, None)
        assert (values is None) == (others is None)
        if values is not None:
            values = np.asarray(values) / factor
            np.testing.assert_allclose(values, others, rtol=1e-10, atol=1e-13)


LARGE = pytest.mark.thorough


@pytest.mark.parametrize("unit", [2.0**-30, pytest.param(2.0**30, marks=LARGE)])
@pytest.mark.parametrize(("measure", "power"), MEASURES)
def test_units_of_black_boxes(measure, power, unit):
    """Of the response and y together, then of columns."""
    measure = clone(measure)
    if "random_state" in measure.get_params():
        measure.set_params(random_state=0)
    expected = clone(measure).fit(black_box, X, Y, sample_weight=WEIGHTS)
    found = clone(measure)
    found.fit(lambda X: unit * black_box(X), X, unit * Y, sample_weight=WEIGHTS)
    check_alike(found, expected, unit**power)
    units = np.array([unit, 1.0, 1 / unit, unit])
    moved = clone(measure)
    moved.fit(lambda Z: black_box(Z / units), X * units, Y, sample_weight=WEIGHTS)
    check_alike(moved, expected, 1.0)


TREE = DecisionTreeRegressor(max_depth=3, random_state=0)
BOOSTING = GradientBoostingRegressor(n_estimators=5, max_depth=2, random_state=0)
LINE = LinearRegression()
# models that are fitted again, and how the numbers grow with the unit of y
READ = [
    (TREE, ImpurityImportance(), 2),
    (TREE, ImpurityImportance(surrogates=True, convention="rpart"), 2),
    (TREE, ImpurityImportance(rows="unseen"), 2),
    (BOOSTING, ImpurityImportance(rows="unseen"), 2),
    (BOOSTING, PermutationImportance(), 2),
    (BOOSTING, SensitivityImportance(), 0),
    (TREE, ShapleyImportance(estimation="exact"), 0),
    (TREE, SobolImportance(), 0),
    (TREE, PartialDependenceImportance(), 1),
    (TREE, PermutationImportance(scoring="r2", n_draws=4), 0),
    (LINE, PermutationImportance(loss="absolute_error"), 1),
    (LINE, SensitivityImportance(), 0),
    (LINE, ShapleyImportance(), 0),
    (LINE, DerivativeImportance(), 1),
    (LINE, FIRMImportance(method="gaussian"), 1),
    (LINE, CoefficientImportance(statistic="t"), 0),
    (LINE, CoefficientImportance(statistic="standardized"), 0),
    (None, FilterImportance(), 0),
]


@pytest.mark.parametrize("unit", [2.0**-12, pytest.param(2.0**12, marks=LARGE)])
@pytest.mark.parametrize(("model", "measure", "power"), READ)
def test_units_of_models_that_are_read(model, measure, power, unit):
    """Fitted to the numbers in other units, with all rows alike."""
    measure = clone(measure)
    if "random_state" in measure.get_params():
        measure.set_params(random_state=0)

    def found(units, of_y):
        own = None if model is None else clone(model).fit(X * units, Y * of_y)
        if model is LINE:  # least squares takes columns of tiny numbers for constant
            own.fit(X, Y)
            own.coef_, own.intercept_ = own.coef_ * of_y / units, own.intercept_ * of_y
        return clone(measure).fit(own, X * units, Y * of_y)

    expected, units = found(np.ones(4), 1.0), np.array([unit, 1.0, 1 / unit, unit])
    check_alike(found(np.ones(4), unit), expected, unit**power)
    check_alike(found(units, 1.0), expected, 1.0)
