"""Multivariate adaptive regression splines: exact responses, and importance by GCV."""

import warnings

import numpy as np
import pytest
from response_oracle import check_equal
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skvarimp import CoefficientImportance, DerivativeImportance, SensitivityImportance

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of its own imports
    pymars = pytest.importorskip("pymars")

N = 50
RANDOM = np.random.RandomState(0)
X = RANDOM.normal(size=(N, 5))
X[:, 2] = RANDOM.randint(0, 3, N)
Y = np.abs(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * RANDOM.normal(size=N)
WEIGHTS = RANDOM.randint(1, 4, N).astype(float)
ENTRIES = [0, 1, 2, 3, [0, 1], [2, 3]]
SPLINE = pymars.EarthRegressor(max_degree=2, max_terms=7).fit(X, Y)

MODELS = {
    "regressor": (SPLINE, Y),
    "core": (pymars.Earth(max_degree=3, max_terms=7), Y),
    "additive": (pymars.EarthRegressor(max_terms=7), Y),
    "hinges": (pymars.Earth(max_degree=2, max_terms=7, allow_linear=False), Y),
    "two classes": (pymars.EarthClassifier(max_terms=7), (Y > 0).astype(int)),
    "classes": (pymars.EarthClassifier(max_terms=7), np.digitize(Y, [0.0, 1.0])),
    "poisson": (pymars.GLMEarth("poisson", max_terms=7), np.abs(Y)),
    "logistic": (pymars.GLMEarth("logistic", max_terms=7), (Y > 0).astype(int)),
    "scaled": (make_pipeline(StandardScaler(), pymars.Earth(max_terms=7)), Y),
}


@pytest.mark.parametrize("name", MODELS)
def test_equals_the_black_box(name):
    """Every reduction, grid and group, for every response method."""
    model, y = MODELS[name]
    model.fit(X, y)
    for method in ("predict", "predict_proba"):
        if hasattr(model, method):
            response = check_equal(model, X, WEIGHTS, method, ENTRIES)
            assert response.path.endswith("low degree")


def test_values_far_from_the_knots():
    """Beyond the last knots the curve is a line; a column without any stays 0."""
    far = np.vstack([X, 10.0 * X, -10.0 * X])[::3]
    check_equal(SPLINE, far, features=[0, 1, [0, 1]])
    exact = SensitivityImportance(scale=None).fit(SPLINE, far)
    used = {v for b in SPLINE.basis_ for v in b.get_involved_variables()}
    assert {j for j in range(5) if exact.importances_[j] > 0} == used
    assert exact.response_path_ == "low degree"


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (pymars.Earth(categorical_features=[2], max_terms=5), "categorical"),
        (
            pymars.EarthClassifier(max_terms=5, classifier=DecisionTreeClassifier()),
            "not summed",
        ),
    ],
    ids=["categories", "trees"],
)
def test_declined(model, reason):
    """Other splines are asked themselves, with the reason."""
    model.fit(X, (Y > 0).astype(int))
    imp = SensitivityImportance(scale=None, estimation="exact").fit(model, X[:20])
    assert imp.response_path_.startswith("black box")
    assert reason in imp.response_path_


def test_derivatives_are_those_of_the_pieces():
    """Central differences agree at rows between the kinks."""
    imp = DerivativeImportance().fit(SPLINE, X)
    slow = DerivativeImportance().fit(SPLINE.predict, X)
    assert imp.method_ == "analytic"
    np.testing.assert_allclose(imp.importances_, slow.importances_, rtol=1e-3)


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
    with pytest.raises(TypeError, match="of the package mars-earth, got Ridge"):
        gcv.fit(Ridge().fit(X, Y), X, Y)
    with pytest.raises(ValueError, match="needs the training target y"):
        gcv.fit(SPLINE, X)
    with pytest.raises(ValueError, match="needs the training data X"):
        gcv.fit(SPLINE, None, Y)
    with pytest.raises(ValueError, match="Pass the training data"):
        gcv.fit(SPLINE, X[:30], Y[:30])
    with pytest.raises(ValueError, match="fitted without sample weights"):
        gcv.fit(SPLINE, X, Y, sample_weight=WEIGHTS)
