"""The engine against plain loops over rows and donors."""

import joblib
import numpy as np
import pytest
from combinations import BACKENDS, half, pairwise
from literal import curve, mean_curve, sensitivity
from roundoff import roundoff
from sklearn import config_context
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from skvarimp import SensitivityImportance
from skvarimp._data.table import Feature, as_table
from skvarimp._measures.problem import Request, make_problem
from skvarimp._models.model import Model
from skvarimp._response.contract import BlackBoxResponse
from skvarimp._response.grid import make_move
from skvarimp._response.losses import Loss
from skvarimp._response.mean_curves import IndividualFlatness, PartialDependence
from skvarimp._response.reductions import Observed, Pairs, Range
from skvarimp._response.walk import Tasks, run_walk
from skvarimp._running.memory import CALL_ROWS


def data(n=13, seed=0):
    """Small data with ties, a constant column and an unused one."""
    random = np.random.RandomState(seed)
    X = np.column_stack(
        [
            random.randn(n),
            random.randint(0, 3, n),
            np.full(n, 2.5),
            random.randint(0, 2, n),
            random.randn(n),
        ]
    )
    return X, random


def smooth(X):
    """Two outputs with interactions; column 4 is unused."""
    return np.column_stack(
        [X[:, 0] * (1 + X[:, 1]) + X[:, 2] * X[:, 3], np.sin(X[:, 0] + X[:, 3])]
    )


def remembered(f):
    """The function, which is asked only once about the same rows."""
    known = {}

    def ask(X):
        key = X.tobytes()
        if key not in known:
            known[key] = f(X)
        return known[key]

    return ask


def cases():
    """(name, model, response_method, the response as a function)."""
    X, random = data()
    y = smooth(X) + 0.1 * random.randn(len(X), 2)
    three = random.permutation(np.arange(len(X)) % 3)
    two = np.where(y[:, 0] > np.median(y[:, 0]), "yes", "no")
    forest = RandomForestRegressor(5, max_depth=3, random_state=0).fit(X, y)
    return [
        ("callable", smooth, "auto", smooth),
        ("two outputs", forest, "auto", forest.predict),
        (
            "two classes",
            m2 := RandomForestClassifier(5, random_state=0).fit(X, two),
            "auto",
            lambda X: m2.predict_proba(X)[:, 1:],
        ),
        (
            "three classes",
            m3 := KNeighborsClassifier(4, weights="distance").fit(X, three),
            "predict_proba",
            m3.predict_proba,
        ),
        (
            "three labels",
            m3,
            "predict",
            lambda X: (m3.predict(X)[:, None] == m3.classes_).astype(float),
        ),
        (
            "decision",
            m4 := LogisticRegression().fit(X, two),
            "decision_function",
            lambda X: m4.decision_function(X)[:, None],
        ),
    ]


CASES = [(*case, remembered(f)) for *case, f in cases()]


@pytest.mark.filterwarnings("ignore:The 12 rows count for no more than")
@pytest.mark.parametrize(
    ("case", "weighted", "contrast"),
    half(pairwise(CASES, [False, True], ["pairs", "observed", "range"])),
)
def test_exact_equals_double_loop(case, weighted, contrast):
    """Every feature, groups included, to 1e-10 relative and 1e-12 of the scale."""
    _, model, method, f = case
    X, random = data()
    weights = random.uniform(0.2, 2, len(X)) if weighted else None
    if weighted:
        weights[3] = 0.0
    features = {"a": 0, "b": 1, "constant": 2, "both": [0, 3], "unused": 4}
    imp = SensitivityImportance(
        contrast=contrast,
        estimation="exact",
        scale=None,
        grid="all",
        features=features,
        response_method=method,
    ).fit(model, X, sample_weight=weights)

    kept = slice(None) if weights is None else weights > 0
    for e, columns in enumerate([(0,), (1,), (2,), (0, 3), (4,)]):
        expected = sensitivity(
            f, X[kept], columns, contrast, None if weights is None else weights[kept]
        )
        scale = np.abs(f(X)).max()
        np.testing.assert_allclose(
            imp.importances_per_output_[e], expected, rtol=1e-10, atol=1e-12 * scale
        )
    assert imp.importances_[2] == 0
    assert np.all(imp.importances_ == imp.importances_per_output_.mean(axis=1))


def walk_over(model, X, y, weights, features, requests):
    """Outcomes of a black-box walk."""
    problem = make_problem(model, X, y, weights, "auto")
    assert (problem.y is None) == (y is None)  # as measures do: validated when asked
    response = BlackBoxResponse(problem.model, len(problem.base))
    return problem, run_walk(problem.walk(response, features, requests))


FEATURES = [
    Feature("a", (0,)),
    Feature("b", (1,)),
    Feature("c", (2,)),
    Feature("ab", (0, 1)),
]


@pytest.mark.parametrize("statistic", ["std", "range"])
def test_partial_dependence_and_individual_flatness(statistic):
    """Greenwell et al., eqs. 5 and 6, by loops; all reductions in one walk."""
    X, random = data()
    weights = random.uniform(0.5, 2, len(X))
    reductions = [
        PartialDependence.over(statistic, len(X), 200),
        IndividualFlatness(statistic),
        Pairs(),
        Range(),
        Observed(),
    ]
    ones = np.ones(2)
    request = Request("all", reductions, [ones] * len(reductions))
    _, (outcomes,) = walk_over(smooth, X, None, weights, FEATURES, [request])

    def flat(curves):
        if statistic == "range":
            return np.ptp(curves, axis=0)
        return curves.std(axis=0, ddof=1) if len(curves) > 1 else 0 * curves[0]

    w = weights / weights.sum()
    for e, feature in enumerate(FEATURES):
        values = np.unique(X[:, feature.columns], axis=0)
        mean = mean_curve(smooth, X, feature.columns, values, weights)
        np.testing.assert_allclose(outcomes[0].curves[e], mean.T, rtol=1e-12)
        np.testing.assert_allclose(
            outcomes[0].importances[e],
            flat(mean),
            rtol=1e-10,
            atol=roundoff(len(X), smooth(X)),
        )
        each = [
            flat(curve(smooth, X, i, feature.columns, values)) for i in range(len(X))
        ]
        np.testing.assert_allclose(
            outcomes[1].importances[e],
            w @ np.array(each),
            rtol=1e-10,
            atol=roundoff(len(X), smooth(X)),
        )
    assert outcomes[0].importances[2].max() == 0


@pytest.mark.parametrize("relative", [False, True])
def test_loss_reduction(relative):
    """Permutation importance over all donors, self included, by a double loop."""
    X, random = data()
    y = random.randn(len(X))
    weights = random.uniform(0.5, 2, len(X))
    w = weights / weights.sum()

    def f(X):
        return smooth(X)[:, 0]

    def squared(y, outputs):
        return (y - outputs[0]) ** 2

    request = Request("all", [Loss(squared, relative)], [np.ones(1)])
    _, ((outcome,),) = walk_over(f, X, y, weights, FEATURES, [request])
    base = w @ (y - f(X)) ** 2
    for e, feature in enumerate(FEATURES):
        moved = 0.0
        for i in range(len(X)):
            for k in range(len(X)):
                x = X[i : i + 1].copy()
                x[0, feature.columns] = X[k, feature.columns]
                moved += w[i] * w[k] * (y[i] - f(x)[0]) ** 2
        expected = moved / base if relative else moved - base
        np.testing.assert_allclose(
            outcome.importances[e, 0], expected, rtol=1e-10, atol=1e-12
        )


def test_integer_weights_equal_repeated_rows():
    """A row of weight 2 is two rows of the importances."""
    X, _ = data()
    counts = np.arange(len(X)) % 3  # zeros too
    repeated = np.repeat(X, counts, axis=0)
    for contrast in ("pairs", "observed", "range"):
        imp = SensitivityImportance(contrast=contrast, scale=None, grid="all")
        imp.fit(smooth, X, sample_weight=counts)
        weighted = imp.importances_
        imp.fit(smooth, repeated)
        np.testing.assert_allclose(imp.importances_, weighted, rtol=1e-12)


@pytest.mark.parametrize("backend", [*BACKENDS, "sequential"])
def test_same_numbers_for_every_backend(backend):
    """The split into tasks does not depend on the workers."""
    X, random = data(60)
    model = KNeighborsRegressor(3).fit(X, random.randn(60))
    imp = SensitivityImportance(scale=None, estimation="exact")
    reference = imp.fit(model, X).importances_
    with joblib.parallel_config(backend=backend, n_jobs=2):
        again = imp.fit(model, X).importances_
    np.testing.assert_allclose(again, reference, rtol=1e-14)
    with joblib.parallel_config(backend=backend):
        two = imp.set_params(n_jobs=2).fit(model, X).importances_
    np.testing.assert_allclose(two, reference, rtol=1e-14)


def test_block_size_changes_nothing(monkeypatch):
    """Blocks and tasks of a few rows give the same numbers up to rounding."""
    X, _ = data(40)
    reference = SensitivityImportance(scale=None).fit(smooth, X)
    with config_context(working_memory=1e-3):
        small = SensitivityImportance(scale=None).fit(smooth, X)
    monkeypatch.setattr(Tasks, "TASK_EVALUATIONS", 100)
    monkeypatch.setattr("skvarimp._running.memory.CALL_ROWS", 7)
    tiny = SensitivityImportance(scale=None).fit(smooth, X)
    for other in (small, tiny):
        np.testing.assert_allclose(
            other.importances_, reference.importances_, rtol=1e-13
        )
        np.testing.assert_allclose(
            other.standard_errors_, reference.standard_errors_, rtol=1e-12
        )


def test_calls_are_large_and_never_larger_than_stated():
    """Some ten thousand rows per call, and a row is not asked at its own value."""
    sizes = []

    def counting(X):
        sizes.append(len(X))
        return X[:, 0]

    X = np.random.RandomState(0).randn(300, 2)
    SensitivityImportance(scale=None, estimation="exact").fit(counting, X)
    assert max(sizes) <= CALL_ROWS
    assert sum(sizes) == 300 + 2 * (300 * 300 - 300)
    assert np.median(sizes[1:]) > CALL_ROWS / 2


def test_non_finite_response_names_feature_and_value():
    """The first offending feature and value are in the message."""
    X = np.array([[1.0, 2.0], [3.0, 0.0], [2.0, 1.0]])

    def inverse(X):
        with np.errstate(divide="ignore"):
            return 1 / (X[:, 0] + X[:, 1] - 1)

    with pytest.raises(ValueError, match=r"infinite with 'x0' set to 1\.0, in row 1"):
        SensitivityImportance(scale=None).fit(inverse, X)
    many = np.column_stack([np.arange(6.0), [9.0, 9.0, 9.0, 9.0, -1.0, 9.0]])
    with pytest.raises(ValueError, match=r"infinite with 'x0' set to 2\.0, in row 4"):
        SensitivityImportance(scale=None).fit(inverse, many)


def test_x_is_never_written_to():
    """A model that is handed X's own rows sees them unchanged and read-only works."""
    X, _ = data()
    before = X.copy()
    X.setflags(write=False)
    SensitivityImportance(scale=None, features=[0, [1, 3]]).fit(smooth, X)
    assert np.array_equal(X, before)


def test_moved_rows_keep_the_other_columns():
    """result[m] = X[rows[m]] but for the feature's columns, whose donor is one row."""
    X, _ = data()
    table = as_table(X)
    move = make_move(table, np.full(len(X), 1 / len(X)), Feature("g", (0, 3)), "all")
    seen = []
    response = BlackBoxResponse(Model(lambda X: seen.append(X) or X[:, 0]), 1)
    rows, cells = np.array([5, 1, 2]), np.array([0, 4, 4])
    response.at(table, rows, move, cells)
    (moved,) = seen
    assert np.array_equal(moved[:, [1, 2, 4]], X[rows][:, [1, 2, 4]])
    assert np.array_equal(moved[:, [0, 3]], X[move.donors[cells]][:, [0, 3]])


@pytest.mark.parametrize(("n_outputs", "numbers"), [(1, 1), (2, 3), (4, 7)])
def test_further_outputs_cost_two_numbers_each(n_outputs, numbers):
    """In each call and at each value; a feature of one value costs nothing."""
    response = BlackBoxResponse(Model(smooth), n_outputs)
    assert response.call_cost() == numbers
    assert response.cost(30, 5) == 30 * 5 * numbers
    assert response.cost(30, 2) == 30 * 2 * numbers
    assert response.cost(30, 1) == 0


def test_several_moves_are_asked_for_at_once_and_one_in_calls_of_its_own(monkeypatch):
    """Nobody is asked where no row moves; calls for one move are of six rows here."""
    X, _ = data()
    table, sizes = as_table(X), []
    weights = np.full(len(X), 1 / len(X))
    moves = [make_move(table, weights, Feature("x", (j,)), "all") for j in (0, 3)]
    response = BlackBoxResponse(Model(lambda X: sizes.append(len(X)) or X[:, 0]), 1)
    monkeypatch.setattr("skvarimp._running.memory.CALL_ROWS", 6)
    rows, cells, none = np.arange(12), np.zeros(12, dtype=int), np.arange(0)
    for asked, expected in (
        ([(rows, moves[0], cells)], [6, 6]),
        ([(rows, move, cells) for move in moves], [24]),
        ([(none, move, none) for move in moves], []),
    ):
        sizes.clear()
        found = response.at_several(table, asked)
        assert sizes == expected
        assert [part.shape[1] for part in found] == [len(own) for own, *_ in asked]
