"""How trees are walked: sizes of blocks, workers, memory, cost."""

import tracemalloc
from types import SimpleNamespace

import joblib
import numpy as np
import pytest
from combinations import BACKENDS, half
from response_oracle import check_equal, problem_of
from roundoff import roundoff
from sklearn import config_context
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeRegressor
from tree_models import HIST, data, fitted, frame, path_of_trees, uneven, walked

from skvarimp import SensitivityImportance
from skvarimp._data.table import as_table, resolve_features
from skvarimp._measures.problem import Request
from skvarimp._models.model import Model
from skvarimp._response import grid as _grid
from skvarimp._response import probe as _probe
from skvarimp._response import steps as _steps
from skvarimp._response.contract import BlackBoxResponse
from skvarimp._response.grid import make_move
from skvarimp._response.mean_curves import MeanCurve
from skvarimp._response.probe import fast_response
from skvarimp._response.reductions import Observed, Pairs, Range
from skvarimp._response.responses.trees import curves, groups
from skvarimp._response.responses.trees.response import TreeResponse
from skvarimp._response.responses.trees.walks import TreeTasks
from skvarimp._response.walk import run_walk


@pytest.mark.parametrize("by_rows", half([True, False]))
def test_groups_either_way(by_rows, monkeypatch):
    """Rows that reach leaves and cells that reach leaves give the same curves."""
    monkeypatch.setattr(groups, "rows_reach_fewer", lambda *_: by_rows)
    together = [[0, 4], [0, 1, 3, 4], [1, 2, 5], [4, 3]]
    for name in ("forest", "hist, poisson", "forest, impure labels"):
        model, X, method = fitted(name, missing=True)
        check_equal(model, X, uneven(len(X)), method, together, ["all"])
    X, y = frame()
    X = X[["number", "colour", "rank"]]
    model = HistGradientBoostingRegressor(categorical_features="from_dtype", **HIST)
    together = [["colour", "rank"], ["number", "rank"], ["number", "colour", "rank"]]
    check_equal(model.fit(X, y), X, None, "auto", together, ["all"])


@pytest.mark.parametrize(
    ("moving", "rows"),
    [([True, False, False], True), ([True, True, False], False)],
)
def test_rows_go_both_ways_where_at_most_half_of_the_splits_move(moving, rows):
    """Feature 0 splits two of four nodes, feature 1 one, whatever the leaves (-1)."""
    table = SimpleNamespace(feature=np.array([0, 1, -1, -1, 0, 2, -1, -1, -1]))
    assert groups.rows_reach_fewer(table, np.array(moving)) == rows


@pytest.mark.parametrize("name", ["forest", "hist, poisson", "hist, classes"])
def test_values_that_no_tree_tells_apart_are_joined(name):
    """Numbers, errors, rows and directions are those of all values."""
    model, X, method = fitted(name, missing=True)
    problem, fast = problem_of(model, X, uneven(len(X)), method)
    features = resolve_features(range(X.shape[1]), None, X.shape[1])
    wanted = [Pairs(), Observed(), Range(), MeanCurve()]
    scale = np.ones(len(problem.base))
    request = Request("all", wanted, [scale] * len(wanted))
    slow = BlackBoxResponse(problem.model, len(scale))
    of_cells, of_values = (
        problem.walk(response, features, [request], keep_rows=True)
        for response in (fast, slow)
    )
    assert of_cells.moves[5].n_cells == 1  # unused
    assert of_cells.moves[0].n_cells < of_values.moves[0].n_cells
    atol = roundoff(len(X) ** 2, problem.base)
    for a, b in zip(run_walk(of_cells)[0], run_walk(of_values)[0]):
        for key in ("importances", "standard_errors", "influences", "directions"):
            found, known = getattr(a, key), getattr(b, key)
            assert (found is None) == (known is None)
            if found is not None:
                np.testing.assert_allclose(found, known, rtol=1e-9, atol=atol)


def test_blocks_of_rows_that_nothing_moves(monkeypatch):
    """They merge with those that a feature does move."""
    X = np.column_stack([np.arange(60.0), np.arange(60.0) % 2])
    model = DecisionTreeRegressor().fit(X, (X[:, 0] > 29) * X[:, 1])
    monkeypatch.setenv("SKVARIMP_COMPILED", "0")
    _, reference = walked(model, X, features=None)
    monkeypatch.setattr(TreeTasks, "TASK_VISITS", 10)
    _, parts = walked(model, X, features=None)
    for a, b in zip(reference, parts):
        assert np.all(a.standard_errors > 0)
        np.testing.assert_allclose(a.importances, b.importances, rtol=1e-12)
        np.testing.assert_allclose(a.standard_errors, b.standard_errors, rtol=1e-12)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("forest", marks=pytest.mark.thorough),
        pytest.param("hist, classes", marks=pytest.mark.thorough),
        "forest, impure labels",
    ],
)
def test_sizes_of_blocks_change_nothing(name, monkeypatch):
    """Small blocks, small frontiers, small chunks: the same numbers up to rounding."""
    model, X, method = fitted(name)
    some = [0, 3, [0, 4]]
    _, reference = walked(model, X, method, some)
    monkeypatch.setattr(TreeTasks, "TASK_VISITS", 400)
    monkeypatch.setattr(TreeTasks, "TASK_EVALUATIONS", 100)
    monkeypatch.setattr(curves, "CACHE", 11)
    monkeypatch.setattr(curves, "HELD", 50)
    monkeypatch.setattr(groups, "HELD", 50)
    monkeypatch.setattr(curves, "BLOCK", 60)
    monkeypatch.setattr(_steps, "CACHE", 10)
    with config_context(working_memory=4e-3):
        _, small = walked(model, X, method, some)
    for a, b in zip(reference, small):
        np.testing.assert_allclose(
            a.importances,
            b.importances,
            rtol=1e-12,
            atol=roundoff(len(X), a.importances),
        )
        np.testing.assert_allclose(
            a.standard_errors,
            b.standard_errors,
            rtol=1e-10,
            atol=roundoff(len(X), a.importances),
        )


@pytest.mark.parametrize("together", [False, True])
def test_rows_that_reach_too_many_leaves_go_down_in_parts(together, monkeypatch):
    """The same leaves of the same rows, which come in their order."""
    model, X, _ = fitted("forest")
    response = fast_response(Model(model), as_table(X))
    table, codes = response.trees, response.codes.rows(as_table(X))
    trees, moving = np.arange(len(table.roots)), np.ones(len(table.columns), bool)

    def reached():
        parts, found = [], []
        for part, descent, path, leaf, edge in curves.descents(
            table, codes, trees, moving, len(X), together
        ):
            parts.append(part)
            tree, row = np.divmod(path, descent.n_rows)
            found += zip(tree, part.start + row, leaf, edge)
        return parts, sorted(found)

    whole, expected = reached()
    assert whole == [slice(0, len(X))]
    monkeypatch.setattr(curves, "BLOCK", len(expected) // 5)
    parts, found = reached()
    assert len(parts) > 5
    ends = [part.stop for part in parts]
    assert [part.start for part in parts] == [0, *ends[:-1]]
    assert ends[-1] == len(X)
    assert found == expected
    monkeypatch.setattr(curves, "BLOCK", 1)  # single rows are not split
    parts, found = reached()
    assert [part.stop - part.start for part in parts] == [1] * len(X)
    assert found == expected


@pytest.mark.parametrize("backend", BACKENDS)
def test_workers_change_nothing(backend, monkeypatch):
    """Row chunks go to workers and come back to the same numbers."""
    monkeypatch.setattr(TreeTasks, "TASK_VISITS", 600)
    model, X, method = fitted("hist, classes")
    _, reference = walked(model, X, method)
    with joblib.parallel_config(backend=backend):
        _, parallel = walked(model, X, method, n_jobs=2)
    for a, b in zip(reference, parallel):
        np.testing.assert_allclose(b.importances, a.importances, rtol=1e-13)
        np.testing.assert_allclose(b.standard_errors, a.standard_errors, rtol=1e-12)


def test_a_few_features_cost_their_share(monkeypatch):
    """Only leaves that the asked feature leads to are visited."""
    monkeypatch.setenv("SKVARIMP_COMPILED", "0")
    X, y, _ = data(200)
    model = RandomForestRegressor(10, random_state=0).fit(X, y)
    visited = []
    leaves = curves.Descent.leaves

    def counting(self, moving, together=False):
        for path, leaf, edge in leaves(self, moving, together):
            visited.append(np.count_nonzero(edge >= 0))
            yield path, leaf, edge

    monkeypatch.setattr(_probe, "probe", lambda *_: None)  # once per fit
    monkeypatch.setattr(TreeResponse, "visits", (1.0, 1.0))
    monkeypatch.setattr(curves.Descent, "leaves", counting)
    each = []
    for features in [[0], [1], [3], [4], [5], None]:
        visited.clear()
        walked(model, X, features=features)
        each.append(sum(visited))
    assert min(each) > 0
    assert sum(each[:-1]) == each[-1]


@pytest.mark.thorough
@pytest.mark.parametrize("built", ["0", "1"])
def test_more_tasks_make_no_more_moves(built, monkeypatch):
    """A column of many rows is sorted a few times in all, not once per task.

    So little memory keeps no move, as rows by the million would.
    """
    monkeypatch.setenv("SKVARIMP_COMPILED", built)
    model, X, method = fitted("forest")
    X, made = X[:15], []
    monkeypatch.setattr(_grid, "make_move", lambda *a: made.append(a) or make_move(*a))
    features = [0, 1, [0, 4]]
    with config_context(working_memory=1e-3):
        walked(model, X, method, features)
        few = len(made)
        monkeypatch.setattr(TreeTasks, "TASK_VISITS", 60)
        walked(model, X, method, features)
    assert len(made) == 2 * few


def test_memory_is_bounded():
    """Far below what every row's value on every cell would take."""
    random = np.random.RandomState(0)
    X = random.randn(3000, 6)
    model = ExtraTreesRegressor(8, random_state=0).fit(X, X[:, 0] * X[:, 1])
    table_bytes = 3000 * 3000 * 8
    tracemalloc.start()
    try:
        walked(model, X, features=None)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < table_bytes


def test_the_cost_is_honest():
    """Exact by default wherever that is cheaper than the draws."""
    X, y, _ = data(400)
    model = GradientBoostingRegressor(n_estimators=20).fit(X, y)
    imp = SensitivityImportance().fit(model, X, y)
    assert (imp.estimation_, imp.response_path_) == ("exact", path_of_trees())
    response = fast_response(Model(model), as_table(X))
    assert response.cost(100, 1) < response.cost(100, 1000)
    assert response.cost(200, 10**6) == 2 * response.cost(100, 10**6)


@pytest.mark.parametrize("max_depth", [2, None])
def test_the_smallest_share_of_a_leaf_is_the_gap(max_depth):
    """Of one of three trees; those of nodes that split do not count."""
    X = np.random.default_rng(0).normal(size=(200, 2))
    y = (X[:, 0] > 1.0) & (X[:, 1] > 0)
    model = RandomForestClassifier(3, max_depth=max_depth, random_state=0).fit(X, y)
    smallest = inside = 1.0
    for tree in model.estimators_:
        shares, leaf = tree.tree_.value[:, 0], tree.tree_.feature < 0
        mixed = leaf & (shares > 0).all(axis=1)
        smallest = np.min(shares[mixed], initial=smallest)
        inside = np.min(shares[tree.tree_.feature == 0], initial=inside)
    assert max_depth == 2 or inside < smallest
    _, fast = problem_of(model, X, method="predict_proba")
    assert fast.gap == pytest.approx(smallest / 3, rel=1e-12)
