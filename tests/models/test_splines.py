"""Multivariate adaptive regression splines: importance by GCV."""

import warnings

import numpy as np
import pytest
from messages import says
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV

from skvarimp import CoefficientImportance

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of its own imports
    pymars = pytest.importorskip("pymars")

N = 50
RANDOM = np.random.RandomState(0)
X = RANDOM.normal(size=(N, 5))
X[:, 2] = RANDOM.randint(0, 3, N)
Y = np.abs(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * RANDOM.normal(size=N)
WEIGHTS = RANDOM.randint(1, 4, N).astype(float)
SPLINE = pymars.EarthRegressor(max_degree=2, max_terms=7).fit(X, Y)


def plain_gcv(functions, y, penalty):
    """The criterion of some basis functions, by its formula."""
    n, C = len(y), 0.0
    columns = []
    for function in functions:
        columns.append(function.transform(X, np.zeros_like(X, dtype=bool)))
        C += 1.0
        if type(function).__name__ == "HingeBasisFunction":
            C += penalty
    if not columns:
        columns, C = [np.ones(n)], 1.0
    B = np.column_stack(columns)
    residuals = y - B @ np.linalg.lstsq(B, y, rcond=None)[0]
    return sum(residuals**2) / (n * (1.0 - C / n) ** 2)


@pytest.mark.parametrize("penalty", [3.0, 0.5])
@pytest.mark.parametrize("kind", [pymars.Earth, pymars.EarthRegressor])
def test_gcv_equals_a_plain_loop(kind, penalty):
    """Leave out the functions of each column, fit the rest, take the difference."""
    model = kind(max_degree=2, max_terms=7, penalty=penalty).fit(X, Y)
    whole = plain_gcv(model.basis_, Y, penalty)
    assert whole == pytest.approx(model.gcv_, rel=1e-9)
    expected = []
    for j in range(5):
        left = [b for b in model.basis_ if j not in b.get_involved_variables()]
        expected.append(plain_gcv(left, Y, penalty) - whole)
    imp = CoefficientImportance(statistic="gcv").fit(model, X, Y)
    np.testing.assert_allclose(imp.importances_, expected, rtol=1e-9, atol=1e-12)
    assert imp.ranking_[0] <= 3
    assert imp.output_names_ == ["y"]
    search = GridSearchCV(kind(max_degree=2, max_terms=7, penalty=penalty), {}, cv=2)
    again = CoefficientImportance(statistic="gcv").fit(search.fit(X, Y), X, Y)
    np.testing.assert_array_equal(again.importances_, imp.importances_)
    default = CoefficientImportance().fit(model, X, Y)
    assert default.statistic_ == "gcv"
    np.testing.assert_array_equal(default.importances_, imp.importances_)


def test_gcv_of_a_model_of_one_column():
    """Without it the mean remains: its own criterion is n RSS / (n - 1)^2."""
    y = np.abs(X[:, 0])
    model = pymars.Earth(max_terms=3).fit(X[:, :1], y)
    imp = CoefficientImportance(statistic="gcv").fit(model, X[:, :1], y)
    mean = N * np.sum((y - y.mean()) ** 2) / (N - 1) ** 2
    np.testing.assert_allclose(imp.importances_, [mean - model.gcv_], rtol=1e-9)


def test_gcv_says_what_it_needs():
    """A spline of its own kind, its training data, and no weights."""
    gcv = CoefficientImportance(statistic="gcv")
    with pytest.raises(
        TypeError,
        match=says(
            "statistic='gcv' … Earth … mars-earth, got Ridge … SensitivityImportance"
        ),
    ):
        gcv.fit(Ridge().fit(X, Y), X, Y)
    categorical = pymars.Earth(categorical_features=[2], max_terms=5).fit(X, Y)
    with pytest.raises(
        TypeError,
        match=says(
            "statistic='gcv' … numeric … Earth … categorical … SensitivityImportance"
        ),
    ):
        gcv.fit(categorical, X, Y)
    with pytest.raises(ValueError, match=says("statistic='gcv' … training target y")):
        gcv.fit(SPLINE, X)
    with pytest.raises(
        ValueError,
        match=says("statistic='gcv' … training data X … statistic='absolute'"),
    ):
        gcv.fit(SPLINE, None, Y)
    with pytest.raises(ValueError, match=says("EarthRegressor … training data")):
        gcv.fit(SPLINE, X[:30], Y[:30])
    for weights in (WEIGHTS, np.r_[1.2, np.ones(N - 1)], np.r_[0.0, np.ones(N - 1)]):
        with pytest.raises(
            ValueError, match=says("EarthRegressor … sample_weight=None")
        ):
            gcv.fit(SPLINE, X, Y, sample_weight=weights)
    same = gcv.fit(SPLINE, X, Y, sample_weight=np.full(N, 3.0)).importances_
    np.testing.assert_array_equal(same, gcv.fit(SPLINE, X, Y).importances_)
