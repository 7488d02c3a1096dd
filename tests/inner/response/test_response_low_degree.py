"""Quadratic discriminants and polynomials equal the black box."""

import numpy as np
import pytest
from mixed_columns import curved_target, fitted_quietly, mixed_columns
from response_oracle import check_equal, problem_of
from scipy import sparse
from sklearn.covariance import EllipticEnvelope
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.linear_model import (
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
)
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    PolynomialFeatures,
    QuantileTransformer,
    StandardScaler,
)
from sklearn.svm import SVR

from skvarimp import DerivativeImportance, SensitivityImportance
from skvarimp._models.forms import NotReadable

N = 40
X, NOISE, WEIGHTS = mixed_columns(N, 0.5, 3)
Y = curved_target(X, NOISE)
TWO = np.where(np.median(Y) < Y, "yes", "no")
THREE = np.digitize(Y, np.quantile(Y, [0.3, 0.7]))
BOTH = np.column_stack([Y, Y**2])
ENTRIES = [0, 1, 2, 3, 4, [0, 1], [3, 4, 5]]


def polynomial(*behind, degree=2, **options):
    """Polynomial features, then the steps given."""
    return make_pipeline(PolynomialFeatures(degree, **options), *behind)


REGRESSORS = {
    "ridge": (polynomial(Ridge()), Y),
    "degree 3": (polynomial(Ridge(), degree=3), Y),
    "degrees 2 to 4": (polynomial(Lasso(0.1), degree=(2, 4)), Y),
    "products only": (polynomial(Ridge(), degree=3, interaction_only=True), Y),
    "no constant": (polynomial(LinearRegression(), include_bias=False), Y),
    "two outputs": (polynomial(Ridge()), BOTH),
    "logarithm": (polynomial(PoissonRegressor()), np.abs(Y)),
    "scaled before": (make_pipeline(StandardScaler(), polynomial(Ridge())), Y),
    "ranks before": (
        make_pipeline(QuantileTransformer(n_quantiles=20), polynomial(Ridge())),
        Y,
    ),
    "scaled behind": (polynomial(StandardScaler(), Ridge()), Y),
    "some behind": (polynomial(SelectKBest(f_regression, k=8), Ridge()), Y),
    "components behind": (polynomial(StandardScaler(), PCA(5), Ridge()), Y),
    "components before": (
        make_pipeline(StandardScaler(), PCA(3), PolynomialFeatures(3), Ridge()),
        Y,
    ),
    "curves before": (
        make_pipeline(
            StandardScaler(),
            FunctionTransformer(np.tanh),
            PolynomialFeatures(2),
            StandardScaler(),
            Ridge(),
        ),
        Y,
    ),
}


@pytest.mark.parametrize("name", REGRESSORS)
def test_polynomials_equal_the_black_box(name):
    """Every reduction, grid and group."""
    model, y = REGRESSORS[name]
    Z = (X - X.mean(axis=0)) / 2.0
    response = check_equal(fitted_quietly(model, Z, y), Z, WEIGHTS, features=ENTRIES)
    assert response.path.endswith("low degree")


@pytest.mark.parametrize("method", ["predict_proba", "decision_function", "predict"])
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_classifiers_equal_the_black_box(y, method):
    """Probabilities, scores and labels of two and three classes."""
    for model in (
        QuadraticDiscriminantAnalysis(reg_param=0.1),
        QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=0.2),
        make_pipeline(StandardScaler(), QuadraticDiscriminantAnalysis(reg_param=0.1)),
        make_pipeline(PCA(3), QuadraticDiscriminantAnalysis()),
        polynomial(LogisticRegression(C=0.1, max_iter=1000)),
    ):
        fitted = fitted_quietly(model, X, y)
        assert check_equal(fitted, X, WEIGHTS, method, ENTRIES).path.endswith(
            "low degree"
        )


@pytest.mark.parametrize("method", ["decision_function", "predict"])
def test_outliers_equal_the_black_box(method):
    """Squared distances, and their labels."""
    model = EllipticEnvelope(random_state=0, support_fraction=0.9)
    Z = X + 0.1 * np.random.RandomState(1).randn(*X.shape)  # of full rank
    response = check_equal(model.fit(Z), Z, WEIGHTS, method, ENTRIES)
    assert response.path == "low degree"


def test_far_from_the_origin():
    """Quadratics about means far from 0 keep their digits."""
    far = X + np.array([1e3, 0, 0, -1e2, 0, 1e4])
    model = QuadraticDiscriminantAnalysis(reg_param=0.1).fit(far, TWO)
    check_equal(model, far, features=[0, 3, 5, [0, 5]])


def test_sparse():
    """Polynomial features of sparse rows."""
    random = np.random.RandomState(0)
    S = sparse.csr_array(np.where(random.rand(N, 6) < 0.5, np.round(X, 1), 0.0))
    check_equal(polynomial(Ridge()).fit(S, Y), S, WEIGHTS, features=ENTRIES)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (polynomial(SVR()), "in front of a model that is not linear"),
        (polynomial(KNeighborsRegressor()), "in front of a model that is not linear"),
        (polynomial(*polynomial(Ridge())[:]), "in front of a model that is not linear"),
        (polynomial(QuantileTransformer(n_quantiles=9), Ridge()), "multiplies columns"),
    ],
    ids=["kernels", "neighbours", "polynomial", "ranks"],
)
def test_declined(model, reason):
    """What is no polynomial of the columns says why."""
    with pytest.raises(NotReadable, match=reason):
        problem_of(fitted_quietly(model, X, Y), X)


def test_constant_column_is_exactly_zero():
    """A row moved to its own value is the row itself."""
    model = polynomial(Ridge()).fit(X, Y)
    for contrast in ("pairs", "observed", "range"):
        imp = SensitivityImportance(contrast=contrast, scale=None).fit(model, X)
        assert imp.response_path_ == "low degree"
        assert imp.importances_[2] == 0
        assert np.all(imp.importances_[[0, 1, 3]] > 0)


def test_squares_by_hand():
    """f = x^2 on -1, 0, 1: two of three values differ by 1 from the third."""
    Z = np.array([[-1.0], [0.0], [1.0]])
    model = polynomial(LinearRegression()).fit(Z, [1.0, 0.0, 1.0])
    imp = SensitivityImportance(contrast="pairs", scale=None).fit(model, Z)
    np.testing.assert_allclose(imp.importances_, [4 / 9])


def test_derivatives_are_exact():
    """The form's own, where central differences stood before."""
    Z = X[:, [0, 5]]
    model = polynomial(LinearRegression(), degree=3).fit(Z, Z[:, 0] ** 3 - Z[:, 1])
    imp = DerivativeImportance().fit(model, Z)
    assert imp.method_ == "analytic"
    slopes = np.sqrt([np.mean((3.0 * Z[:, 0] ** 2) ** 2), 1.0])
    np.testing.assert_allclose(imp.importances_, slopes * Z.std(axis=0), rtol=1e-9)
