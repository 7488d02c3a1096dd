"""Linear responses equal the black box, in closed form wherever there is one."""

import pickle
from itertools import cycle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from combinations import each, half, one_per
from mixed_columns import fitted_quietly, mixed_columns
from response_oracle import check_equal, problem_of
from roundoff import roundoff
from scipy import sparse
from sklearn.cross_decomposition import CCA, PLSCanonical, PLSRegression
from sklearn.datasets import make_multilabel_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import (
    Lasso,
    LinearRegression,
    LogisticRegression,
    Perceptron,
    PoissonRegressor,
    RANSACRegressor,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
    SGDOneClassSVM,
    SGDRegressor,
    TweedieRegressor,
)
from sklearn.naive_bayes import ComplementNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC, LinearSVR

from skvarimp import SensitivityImportance
from skvarimp._data.table import Feature, as_table
from skvarimp._models.forms import NotReadable
from skvarimp._models.links import LOGISTIC, Shares, Then
from skvarimp._response import basis
from skvarimp._response.grid import Move, make_move
from skvarimp._response.line import distances_to, mean_distances
from skvarimp._response.responses.many_columns import line_batches

N = 80


X, NOISE, WEIGHTS = mixed_columns(N, 3, 100)
Y = X[:, 0] + 0.5 * X[:, 1] - X[:, 3] + 0.1 * X[:, 4] + 0.3 * NOISE
Y -= Y.mean()
CENTRED = X - X.mean(axis=0)
COUNTS = np.round(np.abs(X))
TWO = (Y > 0).astype(int)
THREE = np.digitize(Y, np.quantile(Y, [0.3, 0.7]))
NAMED = np.array(["low", "mid", "high"])[THREE]
LABELS = make_multilabel_classification(N, 6, n_classes=3, random_state=0)[1]
FEATURES = [0, 1, 2, 3, 4, [0, 1], [3, 4, 5]]


def linear_cases():
    """(model, X, response_method)."""
    both = np.column_stack([Y, -2 * Y + X[:, 5]])
    logistic = LogisticRegression(max_iter=2000)
    log_loss = SGDClassifier(loss="log_loss", random_state=0, alpha=0.1)
    cases = [
        (Ridge(), X, Y, "predict"),
        (Ridge(fit_intercept=False), X, Y, "predict"),
        (LinearRegression(), X, both, "predict"),
        (Lasso(0.3), X, Y, "predict"),
        (LinearSVR(max_iter=100), CENTRED, Y, "predict"),
        (SGDRegressor(max_iter=20, average=True), CENTRED, Y, "predict"),
        (RANSACRegressor(random_state=0), CENTRED, Y, "predict"),
        (PoissonRegressor(), X, np.exp(Y), "predict"),
        (TweedieRegressor(power=0), X, Y, "predict"),
        (TweedieRegressor(power=0, link="log"), X, np.exp(Y), "predict"),
        (TweedieRegressor(power=1.5), X, np.exp(Y), "predict"),
        (PLSRegression(2), X, Y, "predict"),
        (PLSRegression(2, scale=False), X, both, "predict"),
        (PLSCanonical(2), X, both, "predict"),
        (CCA(1), X, both, "predict"),
        (SGDOneClassSVM(), CENTRED, Y, "decision_function"),
        (SGDOneClassSVM(), CENTRED, Y, "predict"),
        (MultinomialNB(), COUNTS, TWO, "predict_proba"),
        (MultinomialNB(), COUNTS, THREE, "predict_proba"),
        (ComplementNB(), COUNTS, THREE, "predict"),
        (RidgeClassifier(), X, LABELS, "predict"),
        (RidgeClassifier(), X, LABELS, "decision_function"),
        (Perceptron(), CENTRED, NAMED, "predict"),
        (log_loss, CENTRED, TWO, "predict_proba"),
        (log_loss, CENTRED, THREE, "predict_proba"),
        (LogisticRegression(C=1e4, max_iter=5000), X, TWO, "predict_proba"),
        (LogisticRegression(solver="liblinear"), X, TWO, "predict_proba"),
    ]
    for y in (TWO, NAMED):
        cases += [
            (logistic, X, y, "decision_function"),
            (logistic, X, y, "predict_proba"),
            (logistic, X, y, "predict"),
            (LinearDiscriminantAnalysis(), X, y, "decision_function"),
            (LinearDiscriminantAnalysis(), X, y, "predict_proba"),
            (LinearSVC(max_iter=100), CENTRED, y, "decision_function"),
            (LinearSVC(max_iter=100), CENTRED, y, "predict"),
        ]
    return cases


def name_of(case):
    """Readable test id."""
    if not isinstance(case, tuple):
        return "equal" if case is None else "weighted"
    model, _, y, method = case
    n = len(np.unique(y, axis=0)) if y.dtype.kind != "f" else "values"
    return f"{type(model).__name__}-{n}-{method}"


@pytest.mark.parametrize(
    ("case", "weights"),
    half(
        one_per(  # test_registry has every class
            lambda case, weights: (case[3], len(np.unique(case[2], axis=0))),
            zip(linear_cases(), cycle([None, WEIGHTS])),
        )
    ),
    ids=name_of,
)
def test_equals_black_box(case, weights):
    """Every reduction, grid and group, for every response method."""

    model, X, y, method = case
    fitted = fitted_quietly(model, X, y)
    response = check_equal(fitted, X, weights, method, FEATURES, n_full=2)
    assert response.path == "linear"


@pytest.mark.parametrize(
    ("model", "container"),
    each(
        [Ridge(), LogisticRegression(C=10, max_iter=5000)], [pd.DataFrame, pl.DataFrame]
    ),
)
def test_frames(model, container):
    """Columns of a frame, one boolean and one of integers."""
    columns = {f"c{j}": X[:, j] for j in range(6)}
    columns["c3"] = X[:, 3].astype(bool)
    columns["c1"] = X[:, 1].astype(int)
    frame = container(columns)
    y = Y if isinstance(model, Ridge) else TWO
    check_equal(model.fit(frame, y), frame, WEIGHTS, features=FEATURES)


SPARSE = np.where(np.random.RandomState(1).rand(N, 6) < 0.3, np.round(2 * X), 0.0)
SPARSE[:, 0] = np.random.RandomState(2).rand(N) < 0.2  # two values
SPARSE[:, 1] = 0.0
SPARSE[:, 2] = 3.0
SPARSE[:, 3] = np.random.RandomState(3).randint(1, 3, N)  # no zeros


@pytest.mark.parametrize(
    ("case", "kind", "weights"),
    each(
        [
            (Ridge(), Y),
            (PoissonRegressor(), np.exp(Y / 3)),
            (LogisticRegression(), TWO),
            (LogisticRegression(), THREE),
        ],
        [sparse.csr_matrix, sparse.csc_array],
        [None, WEIGHTS],
    ),
)
def test_sparse(case, kind, weights):
    """All-zero, dense, binary and general sparse columns; explicit zeros."""
    model, y = case
    S = kind(SPARSE)
    S.data[::17] = 0.0
    check_equal(fitted_quietly(model, S, y), S, weights, features=FEATURES)


def test_sparse_integers_keep_their_values():
    """Data of another type than float64 is not rounded to it and back."""
    S = sparse.csc_array(SPARSE.astype(np.int8))
    check_equal(LogisticRegression().fit(S, TWO), S, features=FEATURES)
    check_equal(Ridge().fit(S, Y), S, features=FEATURES)


def test_sparsified_coefficients():
    """`sparsify` makes `coef_` a sparse matrix."""
    model = LogisticRegression(l1_ratio=1, solver="saga", C=0.5, max_iter=5000)
    check_equal(
        fitted_quietly(model, CENTRED, THREE).sparsify(), CENTRED, features=FEATURES
    )


def test_unused_and_constant_inputs_are_exactly_zero():
    """Not 1e-17: a coefficient of 0 and a constant column move nothing."""
    for model, y in [
        (Ridge(), Y),
        (PoissonRegressor(max_iter=1000), np.exp(Y)),
        (LogisticRegression(max_iter=3000), TWO),
        (LogisticRegression(max_iter=3000), THREE),
    ]:
        model.fit(X, y)
        model.coef_[..., 5] = 0.0
        for contrast in ("pairs", "observed", "range"):
            for features in (None, [5, [2, 5], 2, 0]):
                imp = SensitivityImportance(
                    contrast=contrast, scale=None, features=features
                ).fit(model, X)
                assert imp.response_path_ == "linear"
                zero = [n in ("x2", "x5", "x2+x5") for n in imp.features_]
                assert np.all((imp.importances_ == 0) == zero)
                assert np.all(imp.standard_errors_[zero] == 0)


def test_gini_mean_difference_of_a_line():
    """Pairs of a linear model: the coefficient times the column's own difference."""
    model = Ridge().fit(X, Y)
    imp = SensitivityImportance(scale=None).fit(model, X)
    gaps = np.abs(X[:, None] - X[None]).mean(axis=(0, 1))
    np.testing.assert_allclose(imp.importances_, np.abs(model.coef_) * gaps, 1e-12)


def test_ties_at_the_decision_boundary_are_the_models_own():
    """Scores of exactly 0 go to the first class, whatever order they were summed in."""
    random = np.random.RandomState(0)
    Z = random.randint(-2, 3, (60, 3)) * 0.1
    for n_classes in (2, 3):
        model = LogisticRegression().fit(Z, np.arange(60) % n_classes)
        if n_classes == 2:
            model.coef_[:] = [[1.0, -1.0, 0.5]]
        else:
            model.coef_[:] = [[1.0, 0.3, 0.0], [0.3, 1.0, 0.0], [0.65, 0.65, 0.1]]
        model.intercept_[:] = 0.0
        own = model.decision_function(Z)
        own = own if own.ndim == 1 else np.sort(own, axis=1)[:, -1:] - own
        assert np.sum(np.abs(own) < 1e-15) > n_classes  # there are ties
        check_equal(model, Z, method="predict", features=[0, 1, [0, 2]])


def test_far_out_in_the_tails():
    """Logistic scores spread over hundreds: many intervals of nodes."""
    model = LogisticRegression().fit(CENTRED, TWO)
    model.coef_ *= 200 / np.abs(CENTRED @ model.coef_.T).max()
    check_equal(model, CENTRED, WEIGHTS, features=[0, 4, [0, 4]])


def test_exponential_overflow_is_the_models_own_error():
    """A grid on which exp overflows: the error names the value."""
    model = PoissonRegressor().fit(CENTRED, np.exp(Y / 3))
    model.coef_[0] = 1.0
    imp = SensitivityImportance(scale=None, grid={"x0": [0.0, 1e4]}, features=[0])
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="'x0' set to"):
        imp.fit(model, CENTRED)


SINGLE = X.astype(np.float32)


@pytest.mark.parametrize(
    ("model", "X", "reason"),
    [
        (Ridge().fit(SINGLE, Y), SINGLE, "single precision"),
        (PLSRegression().fit(X, Y), SINGLE, "single precision"),
        (Ridge().fit(X, Y), X.astype(object), "not numbers"),
    ],
    ids=["single", "centred in single", "object"],
)
def test_declines_with_a_reason(model, X, reason):
    """What would be computed otherwise than by the model has no fast response."""
    with pytest.raises(NotReadable, match=reason):
        problem_of(model, X)
    imp = SensitivityImportance(scale=None).fit(model, X)
    assert reason in imp.response_path_


def test_subclass_and_replaced_method_take_the_black_box():
    """A subclass may predict otherwise."""

    class Shifted(Ridge):
        def predict(self, X):
            return super().predict(X) ** 2

    for model in (Shifted().fit(X, Y), Ridge().fit(X, Y)):
        if type(model) is Ridge:
            model.predict = lambda X: X[:, 0] ** 2
        imp = SensitivityImportance(scale=None, features=[0]).fit(model, X)
        assert imp.response_path_.startswith("black box")


def test_behind_a_pipeline():
    """Scaled columns: the same importances as of the model on scaled data."""
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, TWO)
    imp = SensitivityImportance(scale=None).fit(model, X)
    assert imp.response_path_ == "column-wise steps, linear"
    inner = SensitivityImportance(scale=None).fit(model[-1], model[0].transform(X))
    np.testing.assert_allclose(imp.importances_, inner.importances_, 1e-9, 1e-12)


@pytest.mark.thorough
def test_in_another_process():
    """What goes to a worker and back takes the same path there."""
    X = np.random.RandomState(0).randn(40, 3)
    models = LinearRegression(), LogisticRegression(), PoissonRegressor()
    for model, y in zip(models, (X[:, 0], X[:, 0] > 0, np.exp(X[:, 0]))):
        model.fit(X, y)
        one = SensitivityImportance(scale=None).fit(model, X)
        _, response = problem_of(model, X)
        again = pickle.loads(pickle.dumps(response))
        assert again.link is response.link
        two = SensitivityImportance(scale=None, n_jobs=2).fit(model, X)
        np.testing.assert_array_equal(one.importances_, two.importances_)


def test_many_columns_in_batches():
    """More columns than a batch holds, dense and sparse, each as if alone."""
    random = np.random.RandomState(0)
    Z = random.randn(50, 6000) * (random.rand(50, 6000) < 0.3)
    for S in (Z, sparse.csr_array(Z)):
        model = Ridge().fit(S, Y[:50])
        columns = list(line_batches(as_table(S), np.arange(6000)))
        assert len(columns) > 1
        assert np.array_equal(np.sort(np.concatenate(columns)), np.arange(6000))
        imp = SensitivityImportance(scale=None).fit(model, S)
        gaps = [np.abs(Z[:, j, None] - Z[:, j]).mean() for j in range(0, 6000, 500)]
        np.testing.assert_allclose(
            imp.importances_[::500], np.abs(model.coef_[::500]) * gaps, 1e-10
        )


def test_columns_of_equal_values_need_not_be_merged():
    """Rows with their weights give what distinct values would, dense and sparse."""
    for native, dense in ((X, X), (sparse.csc_array(SPARSE), SPARSE)):
        model = Ridge().fit(native, Y)
        imp = SensitivityImportance(scale=None).fit(
            model, native, sample_weight=WEIGHTS
        )
        w = WEIGHTS / WEIGHTS.sum()
        gaps = [w @ np.abs(c[:, None] - c) @ w for c in dense.T]
        expected = np.abs(model.coef_) * gaps
        np.testing.assert_allclose(
            imp.importances_, expected, rtol=1e-12, atol=roundoff(N, expected)
        )


def test_distances():
    """Running sums against all pairs."""
    random = np.random.RandomState(0)
    values, points, weights = random.randn(30), random.randn(20), random.rand(30)
    np.testing.assert_allclose(
        distances_to(points, values, weights),
        np.abs(points[:, None] - values) @ weights,
    )
    values, p = np.sort(values), weights / weights.sum()
    np.testing.assert_allclose(
        mean_distances(values, p), np.abs(values[:, None] - values) @ p
    )


@pytest.mark.parametrize("slope", [0.01, 1.0, 5.0, 40.0])
def test_nodes_are_enough(slope):
    """The a-priori number of nodes leaves rounding only."""
    random = np.random.RandomState(0)
    x, shifts = random.uniform(-3, 5, 200), np.array([0.0, 0.3, -2.0, 7.0])
    half = 4.0
    for function, n in [
        (lambda z: np.tanh(slope * z), basis.tanh_nodes(slope * half)),
        (lambda z: np.exp(-slope * z**2), basis.gaussian_nodes(slope * half**2)),
    ]:
        at = basis.nodes(-3, 5, n)
        matrix = basis.interpolation(x, -3, 5, n)
        for shift in shifts:
            np.testing.assert_allclose(
                matrix @ function(at + shift), function(x + shift), atol=5e-15
            )


def test_links_know_where_they_jump():
    """Sums of vanishing probabilities."""
    _, doubtful = Then(LOGISTIC, Shares())(np.array([[-800.0, 1.0], [-900.0, -800.0]]))
    assert doubtful.tolist() == [True, False]


def test_feature_without_columns():
    """Behind a pipeline a feature may feed no column of the model."""
    problem, response = problem_of(Ridge().fit(X, Y), X)
    nothing = Move(
        Feature("x0", ()), np.empty((3, 0)), None, np.ones(3) / 3, None, False
    )
    ice = response.curves(problem.rows, nothing)
    assert np.array_equal(ice, np.repeat(problem.base[:, :, None], 3, axis=2))


def test_a_jump_is_asked_for_beside_an_overflow():
    """Where the link is infinite and where it may jump, the model itself is asked."""
    model = Ridge().fit(X, Y)
    problem, response = problem_of(model, X)
    feature = Feature("x0", (0,))
    move = make_move(problem.table, problem.weights, feature, "deciles")

    def wrong_at_the_ends(scores):
        outputs, order = scores.copy(), np.argsort(scores[0], axis=None)
        outputs[0].flat[order[0]] = np.inf
        outputs[0].flat[order[-1]] += 1.0
        return outputs, outputs[0] == scores[0].max() + 1.0

    right = response.curves(problem.rows, move)
    response.link = wrong_at_the_ends
    ice = response.curves(problem.rows, move)
    np.testing.assert_allclose(ice, right, rtol=1e-12)


@pytest.mark.parametrize(("n_classes", "module"), [(2, "linear"), (3, "scores")])
def test_curves_of_some_rows_are_summed_on_the_cells(n_classes, module, monkeypatch):
    """Blocks of rows take different nodes; all rows together are summed on them."""
    values = np.random.default_rng(0).normal(size=(300, 2))
    labels = np.digitize(values.sum(axis=1), [0.0, 1.0][: n_classes - 1])
    problem, fast = problem_of(LogisticRegression().fit(values, labels), values)
    move = make_move(problem.table, problem.weights, Feature("x", (0,)), "all")
    (whole,) = fast.shapes(problem.rows, move)
    assert 2 < whole.n_summed < move.n_cells
    name = f"skvarimp._response.responses.{module}.at_once"
    monkeypatch.setattr(name, lambda *_: 200)
    blocks = list(fast.shapes(problem.rows, move))
    assert [shape.n_summed for shape in blocks] == [None, None]
