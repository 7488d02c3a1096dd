"""Models asked at Chebyshev nodes equal the black box, or are declined."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from combinations import half, one_per
from mixed_columns import fitted_quietly
from response_oracle import check_equal, check_response, problem_of
from scipy import sparse
from sklearn.covariance import EllipticEnvelope
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import VotingClassifier
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.gaussian_process import (
    GaussianProcessClassifier,
    GaussianProcessRegressor,
)
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import NearestCentroid
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    PolynomialFeatures,
    QuantileTransformer,
    StandardScaler,
)
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

from skvarimp import DerivativeImportance, SensitivityImportance
from skvarimp._data.table import Feature
from skvarimp._measures.problem import Request, make_problem
from skvarimp._models.forms import NotReadable
from skvarimp._response.reductions import Pairs
from skvarimp._response.responses.smooth import SIZES, InterpolatedResponse
from skvarimp._response.walk import run_walk

N = 150
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(N, 5))
X[:, 1] = np.round(X[:, 1], 1)  # ties
X[:, 2] = 0.5
X[:, 3] = RANDOM.integers(0, 100, N) / 30.0
X[:, 4] = RANDOM.integers(0, 3, N)
Y = np.sin(X[:, 0]) * X[:, 1] + X[:, 3] + 0.3 * (X[:, 4] == 1)
TWO = np.where(np.median(Y) < Y, "yes", "no")
THREE = np.digitize(Y, np.quantile(Y, [0.3, 0.7]))
BOTH = np.column_stack([Y, Y**2])
WEIGHTS = RANDOM.integers(0, 3, N).astype(float)
FEATURES = [0, 1, 2, 3, 4, [0, 4]]
FEW = {"n_components": 15, "random_state": 0}


def process(kernel):
    """A Gaussian process with the noise that real data have."""
    return GaussianProcessRegressor(
        kernel + WhiteKernel(0.5), optimizer=None, normalize_y=True
    )


def polynomial(*behind, degree=2, **options):
    """Polynomial features, then the steps given."""
    return make_pipeline(PolynomialFeatures(degree, **options), *behind)


REGRESSORS = {
    "process": (process(RBF([1, 2, 3, 2, 4])), BOTH),
    "product of kernels": (process(RBF(2.0) * DotProduct(1.0)), Y),
    "power of kernels": (process((RBF(3.0) + ConstantKernel(0.5)) ** 1.5), Y),
    "rational": (process(RationalQuadratic(5.0, 2.0)), Y),
    "landmarks": (make_pipeline(Nystroem(gamma=0.1, **FEW), Ridge()), BOTH),
    "cosines": (make_pipeline(RBFSampler(gamma=0.1, **FEW), Ridge()), Y),
    "components": (make_pipeline(PCA(3), RBFSampler(gamma=0.1, **FEW), Ridge()), Y),
    "machine of components": (make_pipeline(PCA(3), SVR()), Y),
    "ridge": (polynomial(Ridge()), BOTH),
    "degree 3": (polynomial(Ridge(), degree=3), Y),
    "logarithm": (polynomial(PoissonRegressor()), np.abs(Y)),
    "scaled before": (make_pipeline(StandardScaler(), polynomial(Ridge())), Y),
    "scaled behind": (polynomial(StandardScaler(), Ridge()), Y),
    "some behind": (polynomial(SelectKBest(f_regression, k=8), Ridge()), Y),
    "machine behind": (polynomial(SVR(gamma=0.01)), Y),
    "components before": (make_pipeline(PCA(3), polynomial(Ridge(), degree=3)), Y),
    "curves before": (
        make_pipeline(FunctionTransformer(np.tanh), PolynomialFeatures(2), Ridge()),
        Y,
    ),
}
CLASSIFIERS = {
    "quadratic": QuadraticDiscriminantAnalysis(reg_param=0.3),
    "scaled": make_pipeline(
        StandardScaler(), QuadraticDiscriminantAnalysis(reg_param=0.3)
    ),
    "bayes": GaussianNB(var_smoothing=0.3),
    "centroids": NearestCentroid(),
    "process": GaussianProcessClassifier(RBF(4.0), optimizer=None),
    "cosines": make_pipeline(RBFSampler(gamma=0.1, **FEW), LogisticRegression()),
    "polynomial": polynomial(LogisticRegression(C=0.1, max_iter=1000)),
    "votes": VotingClassifier(
        [("bayes", GaussianNB(var_smoothing=0.3)), ("logistic", LogisticRegression())],
        voting="soft",
    ),
}


def first_step(name):
    """The type of a regressor or of its first step."""
    model, _ = REGRESSORS[name]
    return type(model[0] if hasattr(model, "steps") else model)


def interpolated_columns(response):
    """How many columns take fewer nodes than they have values."""
    inner = getattr(response, "inner", response)
    while not isinstance(inner, InterpolatedResponse):
        inner = inner.members[0]
    return sum(n in SIZES for n in inner.sizes.values())


@pytest.mark.parametrize("name", half(one_per(first_step, zip(REGRESSORS))))
def test_regressors_equal_the_black_box(name):
    """Every reduction, with weights, ties, a constant column and a group."""
    model, y = REGRESSORS[name]
    response = check_equal(fitted_quietly(model, X, y), X, WEIGHTS, features=FEATURES)
    assert interpolated_columns(response) >= 1


@pytest.mark.thorough
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_equal_the_black_box(name, y):
    """Probabilities of two and three classes."""
    model = fitted_quietly(CLASSIFIERS[name], X[::4], y[::4])
    response = check_equal(model, X, WEIGHTS, "predict_proba", FEATURES)
    assert interpolated_columns(response) >= 1
    if name in ("quadratic", "bayes", "process"):
        response = check_equal(model, X, None, "predict", FEATURES)
        assert response.path.startswith("link of interpolated")


@pytest.mark.parametrize(
    "model",
    [
        process(RBF(2.0)),
        polynomial(Ridge(), degree=3),
        make_pipeline(Nystroem(gamma=0.1, **FEW), Ridge()),
    ],
    ids=["process", "polynomial", "landmarks"],
)
def test_an_outlier_equals_the_black_box(model):
    """A value a hundred standard deviations away, in some columns."""
    far = X.copy()
    far[7, [0, 3]] = [100.0, -100.0]
    response = check_equal(model.fit(X, Y), far, WEIGHTS, features=[0, 1, 3])
    rough = [j for j, n in response.sizes.items() if n == np.inf]
    assert (response.path == "interpolated") == (not rough)
    if rough:
        assert response.path == f"interpolated ({len(rough)} of 5 columns by values)"


def test_scores_equal_the_black_box():
    """Scores of classifiers and of a detector of outliers."""
    Z = X[:, [0, 1, 3]]
    for model in (QuadraticDiscriminantAnalysis(reg_param=0.3), NearestCentroid()):
        check_equal(model.fit(Z, THREE), Z, None, "decision_function", [0, 1, [0, 2]])
    model = EllipticEnvelope(random_state=0).fit(Z)
    response = check_equal(model, Z, WEIGHTS, "decision_function")
    assert response.sizes == {0: 5, 1: 5, 2: 5}  # parabolas
    check_equal(model, Z, None, "predict")


def test_far_from_the_origin():
    """Columns far from 0 keep their digits."""
    far = X + np.array([1e3, 0, 0, -1e2, 0])
    model = QuadraticDiscriminantAnalysis(reg_param=0.3).fit(far, TWO)
    check_equal(model, far, features=[0, 3, [0, 3]])


@pytest.mark.parametrize("container", ["pandas", "polars", "integers", "sparse"])
def test_containers(container):
    """Whole numbers are moved to values between them; the model takes numbers."""
    RANDOM = np.random.default_rng(0)
    Z = np.column_stack([np.round(30 * X[:, 0]), X[:, 4], X[:, 1]]).astype(int)
    Z[:, 2] = RANDOM.integers(-50, 50, N)
    names = ["a", "b", "c"]
    if container == "pandas":
        Z = pd.DataFrame(Z, columns=names).assign(d=X[:, 0])
    elif container == "polars":
        Z = pl.DataFrame(Z, schema=names).with_columns(pl.Series("d", X[:, 0]))
    elif container == "sparse":
        Z = sparse.csr_array(np.where(np.abs(Z) < 20, 0, Z) / 30.0)
    model = polynomial(Ridge()).fit(Z, Y)
    response = check_equal(model, Z, WEIGHTS)
    assert interpolated_columns(response) >= 2


NETWORK = MLPRegressor(
    hidden_layer_sizes=(4,), solver="lbfgs", max_iter=20, random_state=0
)


@pytest.mark.parametrize(
    ("model", "method", "reason"),
    [
        (process(Matern(2.0, nu=0.5)), "auto", "129 Chebyshev nodes of 'x0'"),
        (
            make_pipeline(Nystroem(kernel="laplacian", gamma=1.0, **FEW), Ridge()),
            "auto",
            "the response is not smooth",
        ),
        (NearestCentroid(), "predict", "distances that are not those of its scores"),
        (polynomial(NETWORK), "auto", "PolynomialFeatures multiplies columns"),
        (polynomial(DecisionTreeRegressor()), "auto", "PolynomialFeatures multiplies"),
        (
            polynomial(QuantileTransformer(n_quantiles=9), Ridge()),
            "auto",
            "multiplies columns",
        ),
        (make_pipeline(PCA(2), *polynomial(NETWORK)), "auto", "PCA is not a col"),
    ],
)
def test_declined(model, method, reason):
    """What is not known to be smooth, or is found not to be, says why."""
    y = THREE if hasattr(model, "predict_proba") else Y
    Z = X[:, [0, 1, 3]]
    with pytest.raises(NotReadable, match=reason):
        problem_of(fitted_quietly(model, Z, y), Z, method=method)


def test_single_precision_is_declined():
    """Its rounding is no series."""
    model = make_pipeline(PCA(3), RBFSampler(**FEW), Ridge())
    Z = X.astype(np.float32)
    with pytest.raises(NotReadable, match="single precision"):
        problem_of(model.fit(Z, Y), Z)


@pytest.mark.parametrize(("waves", "nodes"), [(20.0, 65), (500.0, np.inf)])
def test_rows_that_take_more_nodes(waves, nodes):
    """What a few rows tell is checked on all of them: more nodes, or all values."""
    Z = np.column_stack([np.linspace(-1, 1, N), np.full(N, 0.1)])
    Z[3, 1] = waves  # no row that is looked at first
    problem = make_problem(lambda Z: np.sin(Z[:, 1] * Z[:, 0]), Z, None, None, "auto")
    problem.y = Y[:, np.newaxis]
    response = InterpolatedResponse(problem.model, problem.table)
    assert response.sizes[0] < 20
    check_response(problem, response, features=[0])
    assert response.sizes[0] == nodes


def test_each_column_takes_its_nodes():
    """The model predicts nodes x rows, however many values a column has."""
    seen = []

    class Counted(GaussianNB):
        def predict_proba(self, X):
            seen.append(len(X))
            return super().predict_proba(X)

    model = Counted(var_smoothing=0.3).fit(X, TWO)
    problem = make_problem(model, X, None, None, "auto")
    response = InterpolatedResponse(problem.model, problem.table)
    seen.clear()
    features = [Feature(f"x{j}", (j,)) for j in range(5)]
    run_walk(
        problem.walk(response, features, [Request("all", [Pairs()], [np.ones(1)])])
    )
    served = [n for n in response.sizes.values() if n < N]
    assert sum(seen) <= N * sum(served)
    cost = sum(response.evaluations(N, N) for _ in features)
    assert cost == pytest.approx(sum(seen), rel=0.3)


def test_constant_column_is_exactly_zero():
    """A row moved to its own value is the row itself."""
    model = polynomial(Ridge()).fit(X, Y)
    for contrast in ("pairs", "observed", "range"):
        imp = SensitivityImportance(contrast=contrast, scale=None).fit(model, X)
        assert imp.response_path_ == "interpolated"
        assert imp.importances_[2] == 0
        assert np.all(imp.importances_[[0, 1, 3]] > 0)


def test_grids_wider_than_the_data():
    """A constant column that is moved through values of the grid's own."""
    model = polynomial(Ridge()).fit(X + [0, 0, 1, 0, 0] * X[:, :1], Y)
    grids = [{"x2": np.linspace(0, 1, k), "x0": np.linspace(-9, 9, k)} for k in (3, 40)]
    check_equal(model, X, WEIGHTS, features=[0, 2], grids=grids)


def test_squares_by_hand():
    """f = x^2 on 0, ..., 10: the mean of |a^2 - b^2| over all pairs."""
    Z = np.arange(11.0)[:, np.newaxis]
    model = polynomial(LinearRegression()).fit(Z, Z[:, 0] ** 2)
    imp = SensitivityImportance(contrast="pairs", scale=None).fit(model, Z)
    squares = Z**2
    np.testing.assert_allclose(imp.importances_, np.abs(squares - squares.T).mean())


def test_derivatives_are_differences():
    """Models that are asked themselves have no formula."""
    Z = X[:, [0, 1]]
    model = polynomial(LinearRegression(), degree=3).fit(Z, Z[:, 0] ** 3 - Z[:, 1])
    imp = DerivativeImportance().fit(model, Z)
    assert "differences" in imp.method_
    slopes = np.sqrt([np.mean((3.0 * Z[:, 0] ** 2) ** 2), 1.0])
    np.testing.assert_allclose(imp.importances_, slopes * Z.std(axis=0), rtol=1e-6)
