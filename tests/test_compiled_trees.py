"""Compiled kernels of trees against the NumPy path, and what they need of a system."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from response_oracle import requests
from sklearn.datasets import make_friedman1
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from tree_models import FEATURES, HIST, MODELS, data, fitted, frame, uneven, walked

from skvarimp import (
    PermutationImportance,
    SensitivityImportance,
)
from skvarimp._data.entries import resolve_features
from skvarimp._measures.response_importance import make_problem
from skvarimp._response.engine import run_walk
from skvarimp._response.lowering import lowered
from skvarimp._response.responses.trees.response import TreeResponse
from skvarimp._running.compiled import use_compiled

pytest.importorskip("numba")

ROOT = Path(__file__).parents[1]


def outcomes(model, X, method, features, weights, y=None):
    """Every reduction of every request, by the engine that is switched on."""
    problem = make_problem(model, X, y, weights, method)
    if y is None:
        problem.y = np.random.RandomState(5).randn(*problem.base.T.shape)
    fast = lowered(problem.model, problem.table)
    table = problem.table
    entries = resolve_features(features, table.names, table.n_columns)
    asked = requests(problem, ["all", "equidistant", 4])
    found = run_walk(problem.walk(fast, entries, asked))
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
            for of_a, of_b in zip(a.curves, b.curves):
                if of_b is not None:
                    np.testing.assert_allclose(of_a, of_b, rtol=1e-12, atol=atol)


@pytest.mark.parametrize("missing", [False, True], ids=["whole", "missing"])
@pytest.mark.parametrize("name", MODELS)
def test_engines_agree(name, missing, monkeypatch):
    """Every kind of model, output, link and group, weighted, with every reduction."""
    if missing and name.startswith(("boosting", "adaboost", "bagging")):
        pytest.skip("these take no missing values")
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
        importances[::2], importances[1::2], rtol=1e-12, atol=1e-15
    )


def test_sizes_of_tasks_change_nothing(monkeypatch):
    """Many small tasks, and steps handed out a few rows at a time."""
    from skvarimp._response.responses.trees import compiled_trees as _compiled_trees

    for name in ("forest", "hist, classes", "forest, impure labels"):
        model, X, method = fitted(name)
        _, reference = walked(model, X, method)
        with monkeypatch.context() as small:
            small.setattr(TreeResponse, "TASK_VISITS", 200)
            small.setattr(TreeResponse, "TASK_PATHS", 40)
            small.setattr(_compiled_trees, "ROOM", 1)
            _, parts = walked(model, X, method)
        for a, b in zip(reference, parts):
            np.testing.assert_allclose(a.importances, b.importances, rtol=1e-13)
            np.testing.assert_allclose(a.standard_errors, b.standard_errors, rtol=1e-11)


def test_small_trees_remembered_or_not(monkeypatch):
    """What answers lead to is the same, looked up or walked."""
    from skvarimp._response.responses.trees import compiled_trees as _compiled_trees

    X, y = make_friedman1(200, random_state=0)
    model = GradientBoostingRegressor(n_estimators=8).fit(X, y)
    _, remembered = walked(model, X, features=None)
    monkeypatch.setattr(_compiled_trees, "QUESTIONS", 0)
    _, walked_down = walked(model, X, features=None)
    for a, b in zip(remembered, walked_down):
        np.testing.assert_array_equal(a.importances, b.importances)


@pytest.mark.parametrize("n", [1, 2, 8, 9, 16, 17, 127, 128, 129, 256, 257, 1000])
def test_pieces_are_sorted(n):
    """Counted up to a block, merged beyond; of equal values any order."""
    from skvarimp._response.responses.trees import compiled_walk as kernels

    random = np.random.default_rng(n)
    for values in (
        random.standard_normal(n),
        random.integers(0, 5, n).astype(float),
        np.zeros(n),
        -np.arange(float(n)),
    ):
        size = n + kernels.LANES
        keys, spare_keys = np.empty(size), np.empty(size)
        order, spare_order, ends = np.empty((3, size), dtype=np.int32)
        found, at = kernels.sort(values, n, keys, order, spare_keys, spare_order, ends)
        np.testing.assert_array_equal(found[:n], np.sort(values))
        np.testing.assert_array_equal(values[at[:n]], found[:n])
        np.testing.assert_array_equal(np.sort(at[:n]), np.arange(n))


def test_bits_of_lists_hold_rows_and_features():
    """A row, a feature and an edge share a number on the way down."""
    from skvarimp._response.responses.trees import compiled_walk as kernels
    from skvarimp._response.responses.trees import response as _trees

    assert kernels.BLOCK <= kernels.OF_ROW + 1
    assert _trees.COMPILED_FEATURES << kernels.MOVED <= kernels.OF_MOVED


def test_workers_are_threads(monkeypatch):
    """Kernels need no lock: `n_jobs` means threads, and changes nothing."""
    X, y, _ = data(300)
    model = RandomForestRegressor(10, random_state=0).fit(X, y)
    monkeypatch.setattr(TreeResponse, "TASK_VISITS", 2000)
    seen, run = set(), TreeResponse.run

    def noting(self, walk, task):
        seen.add(os.getpid())
        return run(self, walk, task)

    monkeypatch.setattr(TreeResponse, "run", noting)
    _, one = walked(model, X)
    _, two = walked(model, X, n_jobs=2)
    assert seen == {os.getpid()}
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


def run_python(code, tmp_path, **environment):
    """Run code in a process of its own; its output."""
    file = tmp_path / "code.py"
    file.write_text(textwrap.dedent(code))
    done = subprocess.run(
        [sys.executable, str(file)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "SKVARIMP_COMPILED": "1"}
        | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_compiles_nothing(tmp_path):
    """Neither importing the library nor a linear model's importances import numba."""
    code = """
        import sys
        import numpy as np
        from sklearn.linear_model import LinearRegression
        import skvarimp
        X = np.random.RandomState(0).randn(20, 2)
        model = LinearRegression().fit(X, X[:, 0])
        skvarimp.SensitivityImportance().fit(model, X, X[:, 0])
        print("numba" in sys.modules)
    """
    assert run_python(code, tmp_path).strip() == "False"


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs POSIX permissions")
def test_nowhere_to_keep_compiled_code(tmp_path):
    """Without any directory to write to, kernels are compiled in memory."""
    code = """
        import numba.core.caching as caching
        from skvarimp._running.compiled import kernel
        caching.CacheImpl._locator_classes = []

        @kernel
        def twice(x):
            return 2 * x

        print(twice(21))
    """
    assert run_python(code, tmp_path).strip() == "42"


DEGENERATE = """
    from types import SimpleNamespace

    import numpy as np
    from sklearn.ensemble import (
        GradientBoostingClassifier, HistGradientBoostingRegressor, RandomForestRegressor
    )
    from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

    from skvarimp import (
        PartialDependenceImportance, PermutationImportance, SensitivityImportance,
        compare_importances,
    )
    from skvarimp._response.responses.trees import compiled_trees as _compiled_trees
    from skvarimp._response.responses.trees import curves as _tree_curves
    from skvarimp._response.responses.trees.curves import Member
    from skvarimp._models.tree_encoders import Encoding
    from skvarimp._models.tree_table import TreeTable
    from skvarimp._models.trees import Tree

    def measures():
        return [
            SensitivityImportance(estimation="exact", scale=None),
            SensitivityImportance(contrast="range", estimation="exact", scale=None),
            PartialDependenceImportance(),
            PartialDependenceImportance(kind="individual"),
        ]

    def visit(model, X):
        both = [measures(), measures()[2:3]]
        for some in both:
            some = {str(m): measure for m, measure in enumerate(some)}
            found = compare_importances({"m": model}, X, importances=some)
            for measure in found.fitted.values():
                assert measure.response_path_ == "trees, compiled"

    def check_chain(n):
        # each split below the one before, against the NumPy walk
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
        table = TreeTable([tree], Encoding(single=False))
        assert table.max_depth == n
        rows = random.uniform(0, n, (5, 2))
        codes = np.column_stack([table.codes(u, rows[:, u]) for u in (0, 1)])
        grid = np.arange(-1.0, n, 3.0)
        move = SimpleNamespace(
            categorical=False, n_cells=len(grid), probabilities=np.ones(len(grid))
        )
        members = [
            Member(table, u, move, [u], table.codes(u, grid)[:, np.newaxis])
            for u in (0, 1)
        ]
        plain, raw = _tree_curves.steps_of_rows(table, codes, members, True)
        fast, own = _compiled_trees.steps_of_rows(table, codes, members, True)
        np.testing.assert_allclose(own, raw, rtol=1e-12)
        for u in (0, 1):
            np.testing.assert_allclose(
                fast[u].dense(), plain[u].dense(), rtol=1e-12, atol=1e-12
            )

    random = np.random.RandomState(0)
    powers = 2.0 ** np.arange(-60, 60)[:, np.newaxis]  # one is split off at a time
    powers = np.hstack([powers, np.zeros((120, 1))])
    deep = ExtraTreeRegressor(random_state=0).fit(powers, random.randn(120))
    assert deep.get_depth() > 40
    visit(deep, powers)
    check_chain(2000)
    X = random.randn(300, 3)
    y = X[:, 0] * X[:, 1]
    X[::7, 1] = np.nan
    visit(DecisionTreeRegressor(max_depth=1).fit(X, y), X[:70])  # a stump
    visit(DecisionTreeRegressor().fit(X, y), X[:70])
    visit(RandomForestRegressor(5).fit(X, np.ones(300)), X[:70])  # single leaves
    visit(RandomForestRegressor(5).fit(X, y), X[:33])
    visit(RandomForestRegressor(5).fit(X, y), 1e9 * X[:33])  # all in the last cells
    visit(HistGradientBoostingRegressor(max_leaf_nodes=None).fit(X, y), X[:70])
    labels = np.digitize(np.nan_to_num(y), [-0.3, 0.3])
    X = np.nan_to_num(X)
    boosting = GradientBoostingClassifier(n_estimators=5).fit(X, labels)
    visit(boosting, X[:70])
    PermutationImportance(estimation="exact").fit(boosting, X[:70], labels[:70])
    X = np.hstack([X, random.randint(0, 60, (300, 1))])
    nominal = HistGradientBoostingRegressor(categorical_features=[3], max_iter=20)
    visit(nominal.fit(X, y_of(X)), X[:70])
    print("within bounds")
"""


def test_no_access_out_of_bounds(tmp_path):
    """Deep, wide and degenerate trees with numba's bounds checked."""
    code = DEGENERATE.replace("y_of(X)", "X[:, 3] % 7")
    checked = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    printed = run_python(code, tmp_path, NUMBA_OPT="0", **checked)
    assert printed.strip() == "within bounds"
