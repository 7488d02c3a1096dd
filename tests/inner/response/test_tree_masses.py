"""Means over rows from masses: against the double loop over rows and cells."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from combinations import each, half
from roundoff import roundoff
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor

from skvarimp import InteractionImportance, PartialDependenceImportance
from skvarimp._compiled import built
from skvarimp._data.table import as_table
from skvarimp._models.model import Model
from skvarimp._response.conditional import product_move
from skvarimp._response.grid import Feature, make_move
from skvarimp._response.probe import fast_response
from skvarimp._response.responses.trees import masses, means, walks
from skvarimp._response.responses.trees import response as trees_response
from skvarimp._response.rows import Rows

RANDOM = np.random.RandomState(0)
X = RANDOM.randn(120, 4)
X[:, 3] = RANDOM.randint(0, 6, 120)
X[::7, 1] = np.nan
Y = np.nan_to_num(X[:, 0] * X[:, 1] + X[:, 2] * (X[:, 3] % 2))
MODELS = {
    "categories and missing values": HistGradientBoostingRegressor(
        max_iter=15, min_samples_leaf=5, categorical_features=[3]
    ).fit(X, Y),
    "small, categories and missing values": HistGradientBoostingRegressor(
        max_iter=15, min_samples_leaf=5, categorical_features=[3], max_leaf_nodes=4
    ).fit(X, Y),
    "stumps": HistGradientBoostingRegressor(
        max_iter=9, min_samples_leaf=5, categorical_features=[3], max_leaf_nodes=2
    ).fit(X, Y),
    "deep": RandomForestRegressor(8, random_state=0).fit(X, Y),
    "two outputs": DecisionTreeRegressor(max_depth=4).fit(X, np.stack([Y, Y**2]).T),
    "no split": DecisionTreeRegressor().fit(X, np.ones(120)),
    "two inputs": DecisionTreeRegressor(max_depth=3).fit(
        np.nan_to_num(X) * [1, 0, 0, 1], Y
    ),
}
ENGINES = ["0", "1"] if built() else ["0"]


WEIGHTS = {False: np.full(120, 1 / 120), True: RANDOM.dirichlet(np.ones(120))}


@cache
def moves_of(weighted):
    """One move per column."""
    table = as_table(X)
    features = [Feature(str(j), (j,)) for j in range(4)]
    return [make_move(table, WEIGHTS[weighted], feature, 3) for feature in features]


@cache
def by_double_loop(name, weighted, columns):
    """Weighted mean of the moved minus the unmoved response, cell by cell."""
    model, weights = MODELS[name], WEIGHTS[weighted]
    moves = [moves_of(weighted)[j] for j in columns]
    shape = [move.n_cells for move in moves]
    unmoved, moved = model.predict(X).T, []
    for cell in np.ndindex(*shape):
        rows = X.copy()
        for move, k in zip(moves, cell):
            rows[:, move.feature.columns[0]] = move.values[k]
        moved.append(rows)
    outputs = np.split(model.predict(np.vstack(moved)), len(moved))  # asked once
    means = [(of_cell.T - unmoved) @ weights for of_cell in outputs]
    return np.reshape(np.transpose(means), (-1, np.prod(shape)))


@pytest.mark.parametrize(
    ("name", "weighted", "engine"), each(MODELS, [False, True], ENGINES)
)
def test_means_equal_the_double_loop(name, weighted, engine, monkeypatch):
    """As one, two and three columns move, in any order of columns."""
    monkeypatch.setenv("SKVARIMP_COMPILED", engine)
    monkeypatch.setattr(trees_response, "counts_masses", lambda *_: True)
    table, model = as_table(X), MODELS[name]
    response = fast_response(Model(model), table)
    weights, moves = WEIGHTS[weighted], moves_of(weighted)
    base = np.atleast_2d(model.predict(X).T)
    rows = Rows(table, np.arange(120), weights, base)
    averaged = response.averaged(rows, 3)
    for size in (1, 2, 3):
        for some in combinations([3, 0, 2, 1], size):
            wanted = [moves[j] for j in some]
            move = wanted[0]
            for other in wanted[1:]:
                move = product_move(move, other)
            expected = by_double_loop(name, weighted, some)
            np.testing.assert_allclose(
                averaged(move), expected, atol=roundoff(120, base)
            )
            alone = response.mean_curves(rows, move)
            np.testing.assert_allclose(alone, expected, atol=roundoff(120, base))


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_not_split_on_moves_nothing(engine, monkeypatch):
    """Exactly 0, also together with what is: no trees are below splits on both."""
    monkeypatch.setenv("SKVARIMP_COMPILED", engine)
    imp = InteractionImportance(statistic="h").fit(MODELS["two inputs"], X)
    assert np.isnan(imp.matrix_[0, 0])
    assert imp.matrix_[1, 2] == 0.0
    assert imp.matrix_[0, 1] == 0.0


@pytest.mark.parametrize("engine", ENGINES)
def test_trees_of_equal_leaves_move_nothing(engine, monkeypatch):
    """Exactly 0, whatever the leaves and the splits above them hold."""
    monkeypatch.setenv("SKVARIMP_COMPILED", engine)
    monkeypatch.setattr(walks, "ROWS_OF_LEAF", 0)
    forest = RandomForestRegressor(5, max_depth=3, random_state=0).fit(X, Y)
    for k, tree in enumerate(forest.estimators_):
        nodes = tree.tree_
        nodes.value[:] = np.where(nodes.feature < 0, 0.1 + k, 0.7)[:, None, None]
    assert any(tree.tree_.feature[0] == 0 for tree in forest.estimators_)
    imp = PartialDependenceImportance(statistic="std", keep_rows=True).fit(forest, X)
    assert not imp.importances_.any()
    assert not imp.influences_.any()


@pytest.mark.parametrize("engine", half(ENGINES))
def test_limits_change_nothing(engine, monkeypatch):
    """Masses of all sets, of one pair's at a time, and products of incidences."""
    monkeypatch.setenv("SKVARIMP_COMPILED", engine)
    model, found = MODELS["deep"], []
    for sets in (2**22, 2000, 1):
        monkeypatch.setattr(means, "HELD", sets)
        for statistic in ("h", "conditional_std"):
            imp = InteractionImportance(statistic=statistic, features=[0, 2, 1])
            found.append(imp.fit(model, X).importances_)
    for a, b, c in zip(found[:2], found[2:4], found[4:]):
        np.testing.assert_allclose(a, b, rtol=1e-12)
        np.testing.assert_allclose(a, c, rtol=1e-12)


def test_numbers_of_sets():
    """Sets of ascending ranks are numbered by their largest, then the next."""
    for size in (1, 2, 3):
        every = sorted(combinations(range(6), size), key=lambda ranks: ranks[::-1])
        assert [masses.set_number(ranks) for ranks in every] == list(range(len(every)))


@pytest.mark.parametrize(("name", "engine"), each(MODELS, ENGINES))
def test_partial_dependence_from_masses_and_slopes(name, engine, monkeypatch):
    """The same numbers, curves and influences as from each row's own steps.

    Rows are more than the groups of the sketch: from masses the error is exact
    whether rows are kept or not.
    """
    RANDOM = np.random.RandomState(0)
    monkeypatch.setenv("SKVARIMP_COMPILED", engine)
    rows = np.tile(X, (4, 1)) + np.repeat([0.0, 0.1, -0.2, 0.3], 120)[:, np.newaxis]
    weights = RANDOM.gamma(1.0, size=480)
    found = []
    for least in (0, 10**6):
        monkeypatch.setattr(walks, "ROWS_OF_LEAF", least)
        imp = PartialDependenceImportance(statistic="std", grid=20, keep_rows=True)
        found.append(imp.fit(MODELS[name], rows, sample_weight=weights))
    a, b = found
    small = roundoff(480, a.influences_, *(c for _, c in a.curves_.values()))
    np.testing.assert_allclose(a.importances_, b.importances_, rtol=1e-11, atol=small)
    np.testing.assert_allclose(a.influences_, b.influences_, rtol=1e-9, atol=small)
    monkeypatch.setattr(walks, "ROWS_OF_LEAF", 0)
    alone = PartialDependenceImportance(statistic="std", grid=20)
    alone.fit(MODELS[name], rows, sample_weight=weights)
    np.testing.assert_allclose(
        alone.standard_errors_, b.standard_errors_, rtol=1e-9, atol=small
    )
    np.testing.assert_allclose(
        a.standard_errors_, b.standard_errors_, rtol=1e-9, atol=small
    )
    for of_a, of_b in zip(a.curves_.values(), b.curves_.values()):
        np.testing.assert_allclose(of_a[1], of_b[1], rtol=1e-12, atol=small)
