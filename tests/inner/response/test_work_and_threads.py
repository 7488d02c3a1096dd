"""How much work a walk does, who does it, and which path is taken."""

import threading
import time
from collections import Counter

import numpy as np
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    GradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from skvarimp import (
    SensitivityImportance,
)
from skvarimp._compiled import built
from skvarimp._data.table import as_table
from skvarimp._models.forms import NotReadable
from skvarimp._models.model import Model
from skvarimp._response import probe as _probe
from skvarimp._response.contract import BlackBoxResponse
from skvarimp._response.probe import fast_response
from skvarimp._response.responses.kernels import KernelResponse
from skvarimp._response.responses.projections import ProjectionResponse
from skvarimp._response.responses.trees.walks import TreeTasks

RANDOM = np.random.RandomState(0)
X = RANDOM.randn(40, 4)
Y = X[:, 0] * X[:, 1] + np.sin(X[:, 2])
LABELS = np.digitize(Y, np.quantile(Y, [0.3, 0.6]))
NETWORK = MLPRegressor(
    hidden_layer_sizes=(5, 4), solver="lbfgs", max_iter=50, tol=1.0, random_state=0
)


def counting(monkeypatch, owner, name, size):
    """A list that grows by size(result) at every call of a method."""
    seen, method = [], getattr(owner, name)

    def counted(self, *arguments):
        result = method(self, *arguments)
        seen.append(size(result))
        return result

    monkeypatch.setattr(owner, name, counted)
    return seen


@pytest.mark.parametrize(
    ("model", "owner", "name"),
    [
        (KNeighborsRegressor(metric="l1").fit(X, Y), BlackBoxResponse, "at"),
        (SVR().fit(X, Y), KernelResponse, "scores_one_by_one"),
        (NETWORK.fit(X, Y), ProjectionResponse, "moved_scores"),
        (LogisticRegression().fit(X, LABELS), ProjectionResponse, "moved_scores"),
    ],
    ids=["black box", "kernel", "network", "softmax"],
)
def test_some_features_cost_their_share(model, owner, name, monkeypatch):
    """Responses formed for single features add up to those formed for all of them."""
    if owner is ProjectionResponse:
        owner = next(c for c in type(fast_of(model)).__mro__ if name in vars(c))
    monkeypatch.setattr(_probe, "probe", lambda *_: None)  # once per fit
    seen = counting(monkeypatch, owner, name, np.size)
    costs = []
    for features in ([0], [1], [2], [3], None):
        seen.clear()
        measure = SensitivityImportance(scale=None, features=features)
        measure.set_params(estimation="exact").fit(model, X)
        costs.append(sum(seen))
    assert min(costs) > 0
    assert sum(costs[:-1]) == costs[-1]


def fast_of(model):
    """The fast response of a model."""
    return fast_response(Model(model), as_table(X))


def test_some_features_cost_compiled_kernels_their_share():
    """Each split is opened for the one feature that it asks about, and for no other."""
    if not built():
        pytest.skip("kernels are not built")
    from skvarimp._response.grid import make_move
    from skvarimp._response.responses.trees.pieces import TreeGrids, TreeMove

    response = fast_of(GradientBoostingRegressor(n_estimators=20).fit(X, Y))
    table, weights = as_table(X), np.full(len(X), 1 / len(X))
    members = []
    for e, feature in enumerate(SensitivityImportance()._set_features(table, None)):
        move = make_move(table, weights, feature, "all")
        members.append(
            TreeMove(response.trees, e, move, *response.codes.grid(table, move))
        )
    opened = [TreeGrids(response, [m]).arrays[0] for m in members]
    assert np.all(np.sum(opened, axis=0) <= 1)
    together = TreeGrids(response, members)
    np.testing.assert_array_equal(np.any(opened, axis=0), together.arrays[0])
    for column, member in enumerate(members):
        split = response.trees.feature == column
        asking = np.unique(response.trees.tree[split])
        np.testing.assert_array_equal(TreeGrids(response, [member]).trees, asking)


RARE = X[:, 0].argmax()  # a probe of some rows need not see what is done to one


def at_rare(function, change):
    """The function with another result where the first column is largest."""

    def changed(rows, *arguments, **options):
        result = np.array(function(rows, *arguments, **options))
        result[np.asarray(rows)[:, 0] >= X[RARE, 0]] += change
        return result

    return changed


def test_replaced_parts_take_the_black_box():
    """What an instance inside does otherwise is seen, however rarely it matters."""
    forest = RandomForestRegressor(3, random_state=0).fit(X, Y)
    member = forest.estimators_[1]
    member.predict = at_rare(member.predict, 9.0)
    scaled = make_pipeline(StandardScaler(), Ridge()).fit(X, Y)
    scaled[0].transform = at_rare(scaled[0].transform, 9.0)
    target = TransformedTargetRegressor(Ridge(), transformer=StandardScaler())
    target.fit(X, Y).transformer_.inverse_transform = lambda rows: rows - rows[::-1]
    for model in (forest, scaled, target):
        with pytest.raises(NotReadable, match=r"replaced|element-wise"):
            fast_of(model)
        measure = SensitivityImportance(scale=None, estimation="exact")
        assert measure.fit(model, X).response_path_.startswith("black box")


@pytest.mark.skipif(not built(), reason="kernels are not built")
def test_kernels_let_go_of_the_interpreter():
    """Other threads go on while a kernel works: `n_jobs` may mean threads."""
    from skvarimp._compiled import pieces

    n = 200_000  # pieces of one curve: the sort of its values takes a while
    values, cells = np.random.default_rng(0).random((1, n)), np.arange(n)
    curve = (*np.array([[[0]], [[n]], [[n]]]), cells.astype(np.int32), values)
    how = np.zeros(1, dtype=np.int64), np.linspace(0, 1, n + 1), np.ones(1)

    calls, enough = [], threading.Event()

    def work():
        while len(calls) < 100 and not enough.is_set():
            calls.append(1)
            rows, sums = np.zeros((1, 1, 1)), np.zeros((1, n + 1))
            pieces.reduce("pairs", curve, *how, rows[0], rows, sums)

    thread = threading.Thread(target=work)
    thread.start()
    beats = Counter()
    while thread.is_alive():
        time.sleep(0.001)
        beats[len(calls)] += 1
        if sum(n > 4 for n in beats.values()) == 5:
            enough.set()
    assert enough.is_set()  # held back, this thread would beat once per call


def test_compiled_work_is_shared_by_threads(monkeypatch):
    """Of this process: work done in another would not be seen here."""
    if not built():
        pytest.skip("kernels are not built")
    monkeypatch.setenv("SKVARIMP_COMPILED", "1")
    forest = RandomForestRegressor(4, random_state=0).fit(X, Y)
    monkeypatch.setattr(TreeTasks, "TASK_VISITS", 400)
    monkeypatch.setattr(_probe, "probe", lambda *_: None)  # before threads start
    seen, work = [], TreeTasks.reduced

    def noted(*arguments):
        seen.append(threading.current_thread())
        return work(*arguments)

    monkeypatch.setattr(TreeTasks, "reduced", noted)
    SensitivityImportance(n_jobs=2).fit(forest, X, Y)
    assert len(seen) > 2
    assert threading.main_thread() not in seen
