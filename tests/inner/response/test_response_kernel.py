"""Kernel machines equal the black box."""

import warnings
from dataclasses import replace
from itertools import cycle

import numpy as np
import pytest
from combinations import one_per
from mixed_columns import curved_target, mixed_columns
from response_oracle import check_equal, problem_of
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

from skvarimp import DerivativeImportance, SensitivityImportance
from skvarimp._data.table import Feature, as_table
from skvarimp._models.array_forms import (
    Gaussian,
    Polynomial,
    Sigmoid,
)
from skvarimp._models.forms import NotReadable
from skvarimp._models.labels import LargestScore, PairwiseVotes
from skvarimp._models.links import Then
from skvarimp._response.conditional import product_move
from skvarimp._response.contract import BlackBoxResponse
from skvarimp._response.grid import make_move

N = 40


X, NOISE, WEIGHTS = mixed_columns(N, 0.5, 3)
Y = curved_target(X, NOISE)
TWO = np.where(np.median(Y) < Y, "yes", "no")
THREE = np.digitize(Y, np.quantile(Y, [0.3, 0.7]))
BOTH = np.column_stack([Y, Y**2])
FEATURES = [0, 1, 2, 3, 4, [0, 1], [3, 4, 5]]


def cases():
    """(model, X, y, response_method)."""
    result = [(NuSVR(), X, Y, "predict")]
    for kernel in ("rbf", "poly", "sigmoid", "linear"):
        gamma = {"sigmoid": 0.01}.get(kernel, "scale")
        one = {"kernel": kernel, "gamma": gamma}
        result += [
            (SVR(**one), X, Y, "predict"),
            (SVC(**one), X, TWO, "decision_function"),
            (SVC(**one), X, TWO, "predict"),
            (SVC(**one), X, THREE, "decision_function"),
            (SVC(**one), X, THREE, "predict"),
            (SVC(**one, decision_function_shape="ovo"), X, THREE, "decision_function"),
            (SVC(**one, break_ties=True), X, THREE, "predict"),
            (NuSVC(**one, nu=0.3), X, THREE, "decision_function"),
            (OneClassSVM(**one), X, Y, "decision_function"),
            (OneClassSVM(**one), X, Y, "predict"),
            (KernelRidge(kernel=kernel, gamma=0.05), X, BOTH, "predict"),
        ]
    result += [
        (KernelRidge(kernel="polynomial", degree=2, coef0=0.3), X, Y, "predict"),
        (SVR(gamma=30.0), X, Y, "predict"),  # narrow: cells, not nodes
        (SVR(gamma="auto"), X, Y, "predict"),
    ]
    return result


def name_of(case):
    """Readable test id."""
    if not isinstance(case, tuple):
        return "equal" if case is None else "weighted"
    model, _, y, method = case
    kernel = str(model.kernel)[:18]
    n = len(np.unique(y)) if y.dtype.kind != "f" else "values"
    return f"{type(model).__name__}-{kernel}-{n}-{method}"


@pytest.mark.parametrize(
    ("case", "weights"),
    one_per(  # test_registry has every class
        lambda case, weights: str(case[0].kernel),
        zip(cases(), cycle([None, WEIGHTS])),
    ),
    ids=name_of,
)
def test_equals_black_box(case, weights):
    """Every reduction, grid and group, for every response method."""
    model, Z, y, method = case
    fitted = clone(model).fit(Z, y)
    n_full = 2 if weights is None else 1
    response = check_equal(fitted, Z, weights, method, FEATURES, n_full=n_full)
    assert response.path in ("linear", "kernel")


@pytest.mark.thorough
@pytest.mark.parametrize(
    "kind", one_per(lambda kind: "sparse", zip([sparse.csr_matrix, sparse.csc_array]))
)
def test_sparse(kind):
    """Support vectors and rows in sparse arrays."""
    random = np.random.RandomState(0)
    S = kind(np.where(random.rand(N, 6) < 0.5, np.round(X, 1), 0.0))
    for model in (SVR(), SVR(kernel="poly"), SVR(kernel="linear")):
        check_equal(model.fit(S, Y), S, WEIGHTS, features=FEATURES)
    for model in (SVC(), SVC(kernel="sigmoid", gamma=0.05)):
        check_equal(model.fit(S, THREE), S, features=FEATURES)
    check_equal(KernelRidge(kernel="rbf").fit(X, Y), S, features=FEATURES)
    check_equal(SVR().fit(S, Y), S.toarray(), features=FEATURES)


def test_far_from_the_origin():
    """Distances do not lose digits where the columns are far from 0."""
    far = X + np.array([1e4, 0, 0, -1e3, 0, 1e5])
    check_equal(SVR(gamma=0.2).fit(far, Y), far, features=[0, 3, 5, [0, 5]])


def test_values_far_apart():
    """Squared distances of 1e12 keep the digits of those near 0."""
    random = np.random.RandomState(0)
    X = random.randint(-(10**6), 10**6, (24, 3))
    X[12:] = X[:12] + random.randint(0, 3, (12, 3))  # few rows are near each other
    y = np.column_stack([random.randn(24), random.randn(24)])
    features, grids = [0, 1, [0, 1], [0, 1, 2]], ["all", "equidistant", 4]
    machine = SVR(gamma=1.0).fit(X, y[:, 0])
    check_equal(machine, X, features=features, grids=grids)
    ridge = KernelRidge(kernel="rbf").fit(X, y)
    with pytest.raises(NotReadable, match="distances cancel"):
        problem_of(ridge, X)
    rows = sparse.csr_array(X.astype(float))
    with pytest.raises(NotReadable, match="distances cancel"):
        problem_of(machine.fit(rows, y[:, 0]), rows)


@pytest.mark.thorough
def test_small_working_memory():
    """Blocks of rows and cells, and nothing remembered, change no number."""
    model = SVR().fit(X, Y)
    with config_context(working_memory=0.01):
        check_equal(model, X, features=[[0, 5]])
    problem, response = problem_of(model, X)
    move = make_move(problem.table, problem.weights, Feature("g", (0, 5)), "all")
    expected = BlackBoxResponse(problem.model, 1).curves(problem.rows, move)
    with config_context(working_memory=200 / 4096):
        found = response.curves(problem.rows, move)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "model",
    [SVR(), KernelRidge(kernel="sigmoid", gamma=0.05), SVR(kernel="poly")],
    ids=str,
)
def test_mean_curves_of_pairs(model):
    """Partial dependence on two columns, as interactions ask for it."""
    problem, response = problem_of(model.fit(X, Y), X, WEIGHTS)
    one, other = (
        make_move(problem.table, problem.weights, Feature(f"x{j}", (j,)), "deciles")
        for j in (0, 5)
    )
    move = product_move(one, other)
    np.testing.assert_allclose(
        response.mean_curves(problem.rows, move),
        BlackBoxResponse(problem.model, 1).mean_curves(problem.rows, move),
        rtol=1e-9,
        atol=1e-12,
    )


def test_constant_column_is_exactly_zero():
    """A row moved to its own value is the row itself."""
    for model, y in ((SVR(), Y), (SVC(), THREE), (KernelRidge(kernel="poly"), Y)):
        for contrast in ("pairs", "observed", "range"):
            imp = SensitivityImportance(contrast=contrast, scale=None)
            imp.fit(model.fit(X, y), X)
            assert imp.response_path_ == "kernel"
            assert imp.importances_[2] == 0
            assert np.all(imp.importances_[[0, 1, 3]] > 0)


@pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")
@pytest.mark.parametrize(
    ("model", "y", "method", "reason"),
    [
        (SVC(probability=True), TWO, "predict_proba", "couples the probabilities"),
        (SVR(kernel=lambda A, B: A @ B.T), Y, "predict", "kernel <function"),
        (KernelRidge(kernel="laplacian"), Y, "predict", "'laplacian'"),
        (KernelRidge(kernel="poly", degree=2.5), Y**2, "predict", "not whole"),
        (KernelRidge(1e-13, kernel="rbf", gamma=1e-3), Y, "predict", "cancel"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_declines_with_a_reason(model, y, method, reason):
    """The black box serves, and says why."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = clone(model).fit(np.abs(X), y)
    with pytest.raises(NotReadable, match=reason):
        problem_of(model, np.abs(X), method=method)


def test_precomputed_kernel_declines():
    """Columns are then training rows, not inputs."""
    model = SVC(kernel="precomputed").fit(X @ X.T, THREE)
    with pytest.raises(NotReadable, match="'precomputed'"):
        problem_of(model, X @ X.T)


def test_kernels_are_their_formulas():
    """Each kernel, put together from its parts."""
    random = np.random.RandomState(0)
    A, B = random.randn(7, 4), random.randn(5, 4)
    squares = ((A[:, None] - B) ** 2).sum(axis=2)
    inner = A @ B.T
    for kernel, expected in [
        (Gaussian(0.3, B.mean(axis=0)), np.exp(-0.3 * squares)),
        (Polynomial(0.3, 1.5, 3), (0.3 * inner + 1.5) ** 3),
        (Sigmoid(0.3, 0.2), np.tanh(0.3 * inner + 0.2)),
    ]:
        X, S = A, B
        np.testing.assert_allclose(kernel.whole(X, S), expected, rtol=1e-12)
        others = kernel.others(X, S, [1, 3])
        moved = kernel.moved(A[:, [1, 3]], S, [1, 3])  # each row at its own values
        if kernel.separable:
            whole = sum(f * g.T for f, g in zip(others, moved))
        else:
            whole = np.tanh(others + moved.T)
        np.testing.assert_allclose(whole, expected, rtol=1e-12)


def test_votes_near_a_tie_are_the_models_own():
    """Decisions within rounding of 0 are left to the model."""
    scores = np.array([[1.0, 1e-15, -1.0], [0.5, 0.5, 0.5], [2.0, 2.0, -2.0]])
    decision, label = PairwiseVotes(3), LargestScore(exact=True)
    votes = Then(PairwiseVotes(3, confident=False), label)
    for link in (votes, decision, Then(decision, LargestScore())):
        outputs, close = link(scores)
        assert close.tolist() == [False, True, False]
        assert outputs.shape == (3, 3)


def test_remembered_nodes_belong_to_their_table():
    """The same response on another table forgets what it knew of the first."""
    problem, response = problem_of(SVR().fit(X, Y), X)
    other = as_table(X[::-1] * np.linspace(0.5, 1, N)[:, None])
    for table in (problem.table, other, problem.table):
        move = make_move(table, problem.weights, Feature("x0", (0,)), "all")
        base = problem.model(table.native).T
        rows = replace(problem.rows, table=table, base=base)
        expected = BlackBoxResponse(problem.model, 1).curves(rows, move)
        found = response.curves(rows, move)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_machine_without_support_vectors():
    """A constant target needs none: asked itself, it answers without a warning."""
    model = SVR().fit(X, np.ones(N))
    for measure in (DerivativeImportance(), SensitivityImportance(scale=None)):
        assert measure.fit(model, X).importances_.tolist() == [0.0] * 6
    assert "it has no support vectors" in measure.response_path_


@pytest.mark.parametrize("model", [SVR(kernel="poly"), SVR(), KernelRidge()])
def test_a_few_rows(model):
    """Fewer than a probe looks at, and than a curve has nodes."""
    check_equal(clone(model).fit(X, Y), X[:3], features=[0, 4, [0, 1]])
