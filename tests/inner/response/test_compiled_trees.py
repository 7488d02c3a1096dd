"""Compiled kernels of trees against the NumPy path."""

import threading
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from combinations import half, one_per
from response_oracle import walks_asked
from roundoff import roundoff
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor
from tree_models import FEATURES, HIST, MODELS, data, fitted, frame, uneven, walked

from skvarimp import (
    PermutationImportance,
    SensitivityImportance,
)
from skvarimp._compiled import built, use_compiled
from skvarimp._data.table import as_table, resolve_features
from skvarimp._measures.problem import make_problem
from skvarimp._models.model import Model
from skvarimp._models.tree_table import TreeTable
from skvarimp._models.trees import Encoding, Tree
from skvarimp._response.grid import make_move
from skvarimp._response.probe import fast_response
from skvarimp._response.responses.trees import pieces as pieces_of_trees
from skvarimp._response.responses.trees.pieces import TreeGrids, TreeMove
from skvarimp._response.responses.trees.walks import TreeTasks
from skvarimp._response.walk import run_walk

pytestmark = pytest.mark.skipif(not built(), reason="kernels are not built")


def outcomes(model, X, method, features, weights, y=None):
    """Every reduction of every request, by the engine that is switched on."""
    problem = make_problem(model, X, y, weights, method)
    if y is None:
        problem.y = np.random.RandomState(5).randn(*problem.base.T.shape)
    fast = fast_response(problem.model, problem.table)
    table = problem.table
    features = resolve_features(features, table.names, table.n_columns)
    asked = walks_asked(problem, features, ["all", 4], 2)
    walks = (problem.walk(fast, *some) for some in asked)
    found = [outcomes for walk in walks for outcomes in run_walk(walk)]
    return fast.path, np.abs(problem.base).max(), found


def check_engines(monkeypatch, model, X, method="auto", features=None, weights=None):
    """Compiled and NumPy walk agree to 1e-12 in every importance, error and curve.

    Plus two units of the last digit of the response: that is what curves differ by.
    """
    monkeypatch.setenv("SKVARIMP_COMPILED", "1")
    path, size, compiled = outcomes(model, X, method, features, weights)
    assert path == "trees, compiled"
    monkeypatch.setenv("SKVARIMP_COMPILED", "0")
    path, _, plain = outcomes(model, X, method, features, weights)
    assert path == "trees"
    atol = 4 * np.finfo(float).eps * max(size, 1.0)
    for of_request, of_plain in zip(compiled, plain):
        for a, b in zip(of_request, of_plain):
            np.testing.assert_allclose(
                a.importances, b.importances, rtol=1e-12, atol=atol
            )
            # roots of sums of squares that may all but cancel
            np.testing.assert_allclose(
                a.standard_errors, b.standard_errors, rtol=1e-12, atol=100 * atol
            )
            assert (a.curves is None) == (b.curves is None)
            for of_a, of_b in zip(a.curves or [], b.curves or []):
                if of_b is not None:
                    np.testing.assert_allclose(of_a, of_b, rtol=1e-12, atol=atol)


WHOLE = ("boosting", "adaboost", "bagging")  # these take no missing values


@pytest.mark.parametrize(
    ("name", "missing"),
    half(
        one_per(
            lambda name, missing: name.split()[0].strip(","),
            [(name, True) for name in MODELS if not name.startswith(WHOLE)]
            + [(name, False) for name in MODELS],
        )
    ),
)
def test_engines_agree(name, missing, monkeypatch):
    """Every kind of model, output, link and group, weighted, with every reduction."""
    model, X, method = fitted(name, missing)
    check_engines(monkeypatch, model, X, method, FEATURES, uneven(len(X)))


def test_engines_agree_on_categorical_splits(monkeypatch):
    """Sets of categories, missing ones and some never seen."""
    X, y = frame()
    model = HistGradientBoostingRegressor(categorical_features="from_dtype", **HIST)
    model.fit(X, y)
    names = ["number", "colour", "flat", "rank", "yes", ["colour", "rank"]]
    check_engines(monkeypatch, model, X, features=names)
    X["colour"] = X["colour"].astype(str).replace("red", "violet").astype("category")
    check_engines(monkeypatch, model, X, features=names, weights=uneven(len(X)))


@pytest.mark.parametrize("loss", ["log_loss", "zero_one", "squared_error"])
def test_engines_agree_on_losses_of_classes(loss, monkeypatch):
    """Some losses are served from the curves' steps; the numbers are the same."""
    importances = []
    for name in ("forest, classes", "boosting, classes", "hist, two classes"):
        model, X, _ = fitted(name)
        y = model.predict(X[::-1])
        for switch in ("1", "0"):
            monkeypatch.setenv("SKVARIMP_COMPILED", switch)
            imp = PermutationImportance(loss=loss, estimation="exact").fit(model, X, y)
            importances.append([imp.importances_, imp.standard_errors_])
    np.testing.assert_allclose(
        importances[::2],
        importances[1::2],
        rtol=1e-12,
        atol=roundoff(len(X), importances),
    )


def test_equal_grids_of_one_feature_share_a_strip():
    """A feature moves once through the same cells: the curves are those of each."""
    X, y = frame()
    model = HistGradientBoostingRegressor(categorical_features="from_dtype", **HIST)
    table = as_table(X)
    trees = fast_response(Model(model.fit(X, y)), table)
    weights, codes, members = np.full(len(X), 1 / len(X)), trees.codes.rows(table), []
    for name in ("number", "rank", "colour", "yes"):
        (feature,) = resolve_features([name], table.names, table.n_columns)
        for grid in ("all", 3):
            move = make_move(table, weights, feature, grid)
            members.append(
                TreeMove(
                    trees.trees, len(members), move, *trees.codes.grid(table, move)
                )
            )

    def on_all_cells(grids):
        """The curves of all members."""
        cells = [np.arange(len(m.cell_of_value))[:, np.newaxis] for m in grids.members]
        parts = [
            moved.ravel()
            for _, curves, _ in grids.pieces(codes)
            for moved in grids.at(curves, cells)
        ]
        return np.concatenate(parts, axis=None)

    grids = TreeGrids(trees, members)
    assert grids.strip_of.tolist() == [0, 1, 2, 2, 3, 3, 4, 4]
    alone = [on_all_cells(TreeGrids(trees, [member])) for member in members]
    shared, alone = on_all_cells(grids), np.concatenate(alone)
    np.testing.assert_allclose(shared, alone, rtol=0, atol=1e-13 * np.ptp(alone))


def test_sizes_of_tasks_change_nothing(monkeypatch):
    """Many small tasks, and steps handed out a few rows at a time."""
    for name in ("forest", "hist, classes", "forest, impure labels"):
        model, X, method = fitted(name)
        _, reference = walked(model, X, method)
        with monkeypatch.context() as small:
            small.setattr(TreeTasks, "TASK_VISITS", 200)
            small.setattr(pieces_of_trees, "CACHE", 1)
            _, parts = walked(model, X, method)
        for a, b in zip(reference, parts):
            np.testing.assert_allclose(a.importances, b.importances, rtol=1e-13)
            np.testing.assert_allclose(a.standard_errors, b.standard_errors, rtol=1e-11)


@pytest.mark.parametrize("n", [1, 2, 8, 9, 16, 17, 127, 128, 129, 256, 257, 1000])
def test_pairs_of_one_curve(n):
    """Against the double loop: counted up to a block, merged beyond; ties."""
    from skvarimp._compiled import pieces

    random = np.random.default_rng(n)
    below = np.concatenate([[0], np.cumsum(random.dirichlet(np.ones(n + 3)))])
    cells = np.sort(random.permutation(n + 2)[: n - 1]) + 1
    cells = np.concatenate([[0], cells]).astype(np.int32)
    chances = np.diff(np.append(below[cells], below[-1]))
    for values in (
        random.standard_normal(n),
        random.integers(0, 5, n).astype(float),
        np.zeros(n),
        -np.arange(float(n)),
    ):
        rows, sums = np.zeros((1, 1, 1)), np.zeros((1, n + 4))
        curve = (*np.array([[[0]], [[n]], [[n + 3]]]), cells, values[None])
        places, weights = np.zeros(1, dtype=np.int64), np.ones(1)
        how = places, below, weights, 0 * rows[0]
        pieces.reduce("pairs", curve, *how, rows, sums)
        apart = np.abs(values[:, np.newaxis] - values)
        np.testing.assert_allclose(rows.ravel(), chances @ apart @ chances, atol=1e-12)
        of_cells = np.cumsum(sums[0])[cells]
        np.testing.assert_allclose(of_cells, apart @ chances, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("n", [63, 64, 65, 130, 300])
def test_rows_go_down_64_at_a_time(n, monkeypatch):
    """Numbers of rows around those that are the bits of one number."""
    X, y, _ = data(n, missing=True)
    check_engines(monkeypatch, HistGradientBoostingRegressor(**HIST).fit(X, y), X)


def test_workers_are_threads(monkeypatch):
    """Kernels need no lock: `n_jobs` means threads, and changes nothing."""
    X, y, _ = data(300)
    model = RandomForestRegressor(10, random_state=0).fit(X, y)
    monkeypatch.setenv("SKVARIMP_COMPILED", "1")
    monkeypatch.setattr(TreeTasks, "TASK_VISITS", 2000)
    seen, run = set(), TreeTasks.reduced

    def noting(self, task):
        seen.add(threading.get_ident())
        return run(self, task)

    _, one = walked(model, X)
    monkeypatch.setattr(TreeTasks, "reduced", noting)  # not in other processes
    _, two = walked(model, X, n_jobs=2)
    assert seen
    assert threading.get_ident() not in seen
    for a, b in zip(one, two):
        np.testing.assert_array_equal(a.importances, b.importances)
        np.testing.assert_array_equal(a.standard_errors, b.standard_errors)


def test_switch(monkeypatch):
    """The environment variable decides at every fit, the path says what was used."""
    X, y, _ = data()
    model = RandomForestRegressor(3).fit(X, y)
    for switch, path in (("0", "trees"), ("1", "trees, compiled")):
        monkeypatch.setenv("SKVARIMP_COMPILED", switch)
        assert use_compiled() == (switch == "1")
        imp = SensitivityImportance().fit(model, X, y)
        assert imp.response_path_ == path


def check_chain(n):
    """Each split below the one before, against the NumPy walk."""
    random = np.random.RandomState(0)
    inner, leaf = np.arange(n), np.arange(n, 2 * n + 1)
    none = np.full(n + 1, -1)
    tree = Tree(
        np.concatenate([inner % 2, none]),
        np.concatenate([inner.astype(float), none]),
        np.concatenate([leaf[:n], none]),
        np.concatenate([inner[1:], leaf[n:], none]),
        np.zeros(2 * n + 1, dtype=bool),
        random.randn(2 * n + 1, 1),
    )
    table = TreeTable([tree], Encoding())
    assert table.max_depth == n
    rows = random.uniform(0, n, (5, 2))
    used = range(len(table.columns))
    codes = np.column_stack([table.codes(u, rows[:, u]) for u in used])
    grid = np.arange(-1.0, n, 3.0)
    move = SimpleNamespace(
        parts=None,
        categorical=False,
        n_cells=len(grid),
        probabilities=np.ones(len(grid)),
    )
    members = [
        TreeMove(table, u, move, [u], table.codes(u, grid)[:, np.newaxis]) for u in used
    ]
    found = []
    for compiled in (False, True):
        trees = SimpleNamespace(trees=table, link=None, compiled=compiled)
        grids = TreeGrids(trees, members)
        assert len(grids.trees) == 1
        (_, curves, own), *more = grids.pieces(codes)
        assert not more
        cells = [np.arange(len(m.cell_of_value))[:, np.newaxis] for m in members]
        found.append([own, *grids.at(curves, cells)])
    for plain, fast in zip(*found):
        np.testing.assert_allclose(fast, plain, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 50, 2000])
def test_chains(n):
    """Trees as deep as they have splits."""
    check_chain(n)


@cache
def degenerate():
    """Deep, wide and degenerate trees, and rows for them."""
    random = np.random.RandomState(0)
    powers = 2.0 ** np.arange(-60, 60)[:, np.newaxis]  # one is split off at a time
    powers = np.hstack([powers, np.zeros((120, 1))])
    deep = ExtraTreeRegressor(random_state=0).fit(powers, random.randn(120))
    assert deep.get_depth() > 40
    X = random.randn(300, 3)
    y = X[:, 0] * X[:, 1]
    X[::7, 1] = np.nan
    y = np.nan_to_num(y)
    whole = np.nan_to_num(X)
    nominal = np.hstack([whole, random.randint(0, 60, (300, 1))])
    histogram = HistGradientBoostingRegressor(categorical_features=[3], max_iter=20)
    return {
        "deep": (deep, powers),
        "a stump": (DecisionTreeRegressor(max_depth=1).fit(X, y), X[:70]),
        "one tree": (DecisionTreeRegressor().fit(X, y), X[:70]),
        "single leaves": (RandomForestRegressor(5).fit(X, np.ones(300)), X[:70]),
        "few rows": (RandomForestRegressor(5).fit(X, y), X[:33]),
        "last cells": (RandomForestRegressor(5).fit(X, y), 1e9 * X[:33]),
        "wide": (HistGradientBoostingRegressor(max_leaf_nodes=None).fit(X, y), X[:70]),
        "classes": (
            GradientBoostingClassifier(n_estimators=5).fit(
                whole, np.digitize(whole[:, 0] * whole[:, 1], [-0.3, 0.3])
            ),
            whole[:70],
        ),
        "categories": (histogram.fit(nominal, nominal[:, 3] % 7), nominal[:70]),
    }


@pytest.mark.parametrize(
    "name",
    half(
        [
            "deep",
            "a stump",
            "one tree",
            "single leaves",
            "few rows",
            "last cells",
            "wide",
            "classes",
            "categories",
        ]
    ),
)
def test_engines_agree_on_degenerate_trees(name, monkeypatch):
    """Every reduction on deep, wide and degenerate trees."""
    check_engines(monkeypatch, *degenerate()[name])
