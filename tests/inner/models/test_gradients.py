"""Gradients by formulas against central differences; containers, blocks."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from gradient_rows import SCORE_FIRST, TWO, X, Y, central, y
from mixed_columns import fitted_quietly
from roundoff import roundoff
from scipy import sparse
from sklearn import config_context
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
)
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (
    ARDRegression,
    BayesianRidge,
    ElasticNet,
    GammaRegressor,
    HuberRegressor,
    Lars,
    Lasso,
    LinearRegression,
    LogisticRegression,
    MultiTaskLasso,
    OrthogonalMatchingPursuit,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
    SGDRegressor,
    TweedieRegressor,
)
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

from skvarimp._models.gradients import (
    differentiable,
    gradient,
    gradient_blocks,
    linear_coefficients,
    piecewise_constant,
)
from skvarimp._models.model import Model

COUNTS = np.exp(0.3 * X[:, 0])
THREE = np.digitize(y, [0.0, 1.0])


def network(kind, **parameters):
    """A small perceptron."""
    parameters.setdefault("hidden_layer_sizes", (6, 5))
    return kind(max_iter=15, random_state=0, **parameters)


LINEAR = [
    (LinearRegression(), y),
    (LinearRegression(fit_intercept=False), y),
    (LinearRegression(), Y),
    (Ridge(), Y),
    (Lasso(0.05), y),
    (ElasticNet(0.05), y),
    (MultiTaskLasso(0.05), Y),
    (Lars(), y),
    (OrthogonalMatchingPursuit(), y),
    (BayesianRidge(), y),
    (ARDRegression(), y),
    (HuberRegressor(), y),
    (SGDRegressor(random_state=0), y),
    (LinearSVR(random_state=0), y),
    (TweedieRegressor(power=0), y),
    (LogisticRegression(), TWO),
    (LogisticRegression(), THREE),
    (RidgeClassifier(), TWO),
    (RidgeClassifier(), THREE),
    (LinearSVC(random_state=0), THREE),
    (SGDClassifier(random_state=0), TWO),
    (LinearDiscriminantAnalysis(), THREE),
    (SVR(kernel="linear"), y),
    (SVC(kernel="linear"), TWO),
    (SVC(kernel="linear", decision_function_shape="ovo"), THREE),
    (KernelRidge(kernel="linear"), Y),
    (make_pipeline(StandardScaler(), Ridge()), y),
    (make_pipeline(StandardScaler(with_mean=False), LinearRegression()), Y),
    (make_pipeline(MinMaxScaler(), RobustScaler(), LogisticRegression()), TWO),
    (make_pipeline(MaxAbsScaler(), "passthrough", SVR(kernel="linear")), y),
    (make_pipeline("passthrough", Ridge()), y),
]
CURVED = [
    (PoissonRegressor(), COUNTS, "auto"),
    (GammaRegressor(), COUNTS, "auto"),
    (TweedieRegressor(power=1.5), COUNTS, "auto"),
    (TweedieRegressor(power=0, link="log"), COUNTS, "auto"),
    (LogisticRegression(), TWO, "predict_proba"),
    (LogisticRegression(), THREE, "predict_proba"),
    (LinearDiscriminantAnalysis(), TWO, "predict_proba"),
    (LinearDiscriminantAnalysis(), THREE, "predict_proba"),
    (SGDClassifier("log_loss", random_state=0), TWO, "predict_proba"),
    (SGDClassifier("log_loss", random_state=0), THREE, "predict_proba"),
    (SVR(), y, "auto"),
    (SVR(gamma="auto"), y, "auto"),
    (SVR(kernel="poly", degree=3, coef0=1.0), y, "auto"),
    (SVR(kernel="poly", degree=2, coef0=0.0), y, "auto"),
    (SVR(kernel="sigmoid", gamma=0.1), y, "auto"),
    (NuSVR(gamma=0.3), y, "auto"),
    (SVC(gamma=0.3), TWO, "auto"),
    (SVC(kernel="poly", coef0=1.0), TWO, "auto"),
    (NuSVC(kernel="sigmoid", nu=0.2), TWO, "auto"),
    (SVC(decision_function_shape="ovo"), THREE, "auto"),
    (SVC(), THREE, "auto"),
    (NuSVC(nu=0.2), THREE, "auto"),
    (OneClassSVM(), y, "decision_function"),
    (KernelRidge(kernel="rbf", gamma=0.2), Y, "auto"),
    (KernelRidge(kernel="rbf"), y, "auto"),
    (KernelRidge(kernel="polynomial", degree=2), y, "auto"),
    (KernelRidge(kernel="poly", degree=2), y, "auto"),
    (KernelRidge(kernel="sigmoid", gamma=0.1), y, "auto"),
    (network(MLPRegressor, activation="relu"), y, "auto"),
    (network(MLPRegressor, activation="tanh"), Y, "auto"),
    (network(MLPRegressor, activation="logistic"), y, "auto"),
    (network(MLPRegressor, activation="identity"), y, "auto"),
    (network(MLPRegressor, loss="poisson", activation="tanh"), COUNTS, "auto"),
    (network(MLPRegressor, hidden_layer_sizes=(7,)), Y, "auto"),
    (network(MLPClassifier, activation="tanh"), TWO, "auto"),
    (network(MLPClassifier, activation="relu"), THREE, "auto"),
    (network(MLPClassifier, activation="tanh"), (X[:, :3] > 0).astype(int), "auto"),
    (make_pipeline(StandardScaler(), SVR()), y, "auto"),
    (make_pipeline(MinMaxScaler(), network(MLPClassifier)), THREE, "auto"),
    (
        make_pipeline(StandardScaler(with_std=False), LogisticRegression()),
        THREE,
        "predict_proba",
    ),
]


def label(case):
    """Readable test ids."""
    estimator, target = case[:2]
    return f"{estimator!r:.60}-{np.shape(target)}-{case[-1] if len(case) > 2 else ''}"


@pytest.mark.parametrize("case", LINEAR, ids=label)
def test_linear_scores_are_their_coefficients(case):
    """A linear score is coef @ x + b, and its gradient is coef at every row."""
    estimator, target = case
    model = Model(fitted_quietly(estimator, X, target), prefer=SCORE_FIRST)
    coef, intercept = linear_coefficients(model, X)
    np.testing.assert_allclose(X @ coef.T + intercept, model(X), atol=1e-10)
    np.testing.assert_allclose(
        gradient(model, X[:7]), np.broadcast_to(coef.T, (7, *coef.T.shape)), rtol=1e-12
    )
    np.testing.assert_allclose(gradient(model, X[:7]), central(model, X)[:7], atol=1e-6)


@pytest.mark.parametrize("case", CURVED, ids=label)
def test_formulas_equal_central_differences(case):
    """A formula is the derivative of the model's own output."""
    estimator, target, method = case
    model = Model(fitted_quietly(estimator, X, target), method, prefer=SCORE_FIRST)
    differentiable(model, X)  # no NoGradient: it is not a difference with a difference
    expected = central(model, X)
    np.testing.assert_allclose(gradient(model, X), expected, rtol=1e-6, atol=1e-6)
    assert linear_coefficients(model, X) is None
    assert piecewise_constant(model, X) is None


def cubic(X):
    """x0^2 x1 + 3 x2, outputs f and -f; its derivatives are known."""
    X = np.asarray(X)
    f = X[:, 0] ** 2 * X[:, 1] + 3 * X[:, 2]
    return np.column_stack([f, -f])


def test_central_differences_of_a_callable():
    """Derivatives of a polynomial are known by hand."""
    result = gradient(Model(cubic), X)
    expected = np.zeros((60, 4, 2))
    expected[:, 0, 0] = 2 * X[:, 0] * X[:, 1]
    expected[:, 1, 0] = X[:, 0] ** 2
    expected[:, 2, 0] = 3.0
    expected[:, :, 1] = -expected[:, :, 0]
    np.testing.assert_allclose(result, expected, atol=1e-8)
    _, some = next(gradient_blocks(Model(cubic), X, columns=[2, 0]))
    np.testing.assert_allclose(some, expected[:, [2, 0]], atol=1e-8)
    # a column where nothing moves still gets a usable step
    flat = np.column_stack([X[:, 0], np.full(60, 2.0), np.zeros(60), X[:, 3]])
    np.testing.assert_allclose(gradient(Model(cubic), flat)[:, 2, 0], 3.0, rtol=1e-6)


def test_columns_of_an_analytic_gradient():
    """Asking for columns selects from the whole gradient."""
    model = Model(SVR().fit(X, y))
    _, some = next(gradient_blocks(model, X, columns=[3, 1]))
    np.testing.assert_array_equal(some, gradient(model, X)[:, [3, 1]])


@pytest.mark.parametrize(
    "container", [pd.DataFrame, pl.DataFrame, sparse.csr_array, sparse.csc_matrix]
)
@pytest.mark.parametrize("analytic", [True, False])
def test_every_container_gives_the_same(container, analytic):
    """The container X comes in changes nothing."""
    names = ["a", "b", "c", "d"]
    Z = container(X, columns=names) if container is pd.DataFrame else container(X)
    if analytic:  # machines fitted on dense rows refuse sparse ones
        fitted_on = Z if sparse.issparse(Z) else X
        model = Model(SVR().fit(fitted_on, y))
    else:
        model = Model(
            lambda Z: np.tanh(
                (Z @ np.ones(4)) if sparse.issparse(Z) else np.asarray(Z).sum(axis=1)
            )
        )
    np.testing.assert_allclose(
        gradient(model, Z), gradient(model, X), rtol=1e-7, atol=1e-8
    )


def test_sparse_support_vectors_and_coefficients():
    """Parameters may be stored sparse."""
    model = Model(SVR().fit(sparse.csr_matrix(X), y))
    same = Model(SVR().fit(X, y))
    np.testing.assert_allclose(gradient(model, X), gradient(same, X), atol=1e-8)
    sparsified = SGDClassifier(random_state=0).fit(X, TWO).sparsify()
    coef, _ = linear_coefficients(Model(sparsified, "decision_function"), X)
    np.testing.assert_array_equal(coef, sparsified.coef_.toarray())


@pytest.mark.parametrize(
    "estimator", [SVR(), LinearRegression(), network(MLPRegressor, activation="tanh")]
)
def test_blocks_are_bounded_and_change_nothing(estimator):
    """Blocks cover the rows in order; their size is a matter of memory only."""
    model = Model(fitted_quietly(estimator, X, y))
    whole = gradient(model, X)
    with config_context(working_memory=0.01):
        blocks = list(gradient_blocks(model, X))
    assert len(blocks) > 1 or isinstance(estimator, LinearRegression)
    assert [rows.start for rows, _ in blocks] == sorted(
        rows.start for rows, _ in blocks
    )
    np.testing.assert_allclose(
        np.concatenate([block for _, block in blocks]),
        whole,
        rtol=1e-12,
        atol=roundoff(len(whole), whole),
    )


def test_single_precision_models_have_formulas():
    """A model of float32 parameters is differentiated in float64."""
    model = Model(fitted_quietly(network(MLPRegressor, activation="tanh"), X, y))
    net = network(MLPRegressor, activation="tanh")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net.fit(X.astype(np.float32), y.astype(np.float32))
    single = Model(net)
    differentiable(single, X)
    # float64 arithmetic on float32 parameters: the same function up to fitting
    assert gradient(single, X).dtype == np.float64
    np.testing.assert_allclose(gradient(single, X), gradient(model, X), atol=0.05)
