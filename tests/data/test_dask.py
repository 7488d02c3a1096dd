"""Every engine measure and both selectors on a Dask cluster; bytes on the wire."""

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

import skvarimp

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

X, Y = make_friedman1(80, n_features=5, random_state=0)
TREE = DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, Y)
FOREST = RandomForestRegressor(5, max_depth=3, random_state=0).fit(X, Y)
KERNEL = SVR().fit(X, Y)


@pytest.fixture(scope="module")
def client():
    """Two worker processes."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def on_dask(action):
    """The result of an action whose joblib calls go to the cluster."""
    with joblib.parallel_config(backend="dask"):
        return action()


class BlackBox:
    """Has no fast response; fails at an input of 99."""

    def predict(self, X):
        """A sum of columns."""
        if np.any(X == 99.0):
            raise RuntimeError("sensor offline")
        return X @ np.arange(1.0, X.shape[1] + 1.0)


MEASURES = [
    (skvarimp.SensitivityImportance(), TREE),
    (skvarimp.SensitivityImportance(contrast="range", estimation="exact"), BlackBox()),
    (
        skvarimp.SensitivityImportance(
            contrast="observed", estimation="sampled", n_draws=4, random_state=0
        ),
        BlackBox(),
    ),
    (
        skvarimp.SensitivityImportance(estimation="rows", n_draws=4, random_state=0),
        KERNEL,
    ),
    (skvarimp.PartialDependenceImportance(kind="individual"), KERNEL),
    (skvarimp.InteractionImportance(grid=3, features=[0, 1, 2]), TREE),
    (skvarimp.PermutationImportance(), FOREST),
    (
        skvarimp.PermutationImportance(scoring="r2", n_draws=4, random_state=0),
        KERNEL,
    ),
    (skvarimp.PermutationImportance(rows="oob"), FOREST),
    (skvarimp.ImpurityImportance(surrogates=True), FOREST),
    (skvarimp.DerivativeImportance(), KERNEL),
    (skvarimp.FIRMImportance(), KERNEL),
]


@pytest.mark.thorough
def test_measures_give_the_same_numbers(client):
    """Each measure, on workers in other processes."""
    for measure, model in MEASURES:
        here = clone(measure).fit(model, X, Y)
        there = on_dask(lambda m=measure, f=model: clone(m).fit(f, X, Y))
        np.testing.assert_allclose(
            there.importances_, here.importances_, rtol=1e-10, err_msg=str(measure)
        )


def test_selectors_give_the_same_columns(client):
    """Folds on the workers, measures within them."""
    for cls in (skvarimp.BackwardEliminationSelector, skvarimp.ForwardSelector):
        selector = cls(DecisionTreeRegressor(random_state=0), cv=3, step=2)
        here = clone(selector).fit(X, Y)
        there = on_dask(lambda s=selector: clone(s).fit(X, Y))
        assert there.support_.tolist() == here.support_.tolist()
        assert there.path_["score"] == pytest.approx(here.path_["score"])


@pytest.mark.thorough
def test_refits_give_the_same_numbers(client):
    """Folds and null models on the workers."""
    measure = skvarimp.SensitivityImportance(scale=None)
    for function, options in (
        (skvarimp.importance_across_folds, {"cv": 3}),
        (skvarimp.null_importances, {"n_permutations": 4}),
    ):
        options = {"random_state": 0, **options}
        here = function(Ridge(), X, Y, measure, **options)
        there = on_dask(
            lambda f=function, o=options: f(Ridge(), X, Y, measure, **o),
        )
        np.testing.assert_allclose(there.importances, here.importances, rtol=1e-10)


def test_a_models_error_comes_back(client):
    """As it is."""
    measure = skvarimp.SensitivityImportance(scale=None, grid={"x1": [0.5, 99.0]})
    with pytest.raises(RuntimeError, match="sensor offline"):
        on_dask(lambda: measure.fit(BlackBox(), X))


@pytest.fixture
def sent(monkeypatch):
    """A list of the bytes that this process (client and scheduler) sends."""
    from distributed.comm.tcp import TCP

    counts = []
    write = TCP.write

    async def counted(self, *arguments, **options):
        n_bytes = await write(self, *arguments, **options)
        counts.append(n_bytes)
        return n_bytes

    monkeypatch.setattr(TCP, "write", counted)
    return counts


@pytest.mark.thorough
def test_x_is_sent_once_and_not_per_task(client, sent):
    """Twenty tasks more cost less than one more X: tasks carry no data."""
    wide = np.random.default_rng(0).standard_normal((6000, 24))
    measure = skvarimp.SensitivityImportance(
        contrast="observed",
        scale=None,
        estimation="sampled",
        n_draws=4,
        random_state=0,
    )

    def bytes_of(n_features):
        sent.clear()
        asked = clone(measure).set_params(features=list(range(n_features)))
        on_dask(lambda: asked.fit(BlackBox(), wide))
        return sum(sent)

    bytes_of(2)  # the workers import what they need
    few, many = bytes_of(2), bytes_of(22)
    assert few > wide.nbytes  # the data were sent at all
    assert few < 6 * wide.nbytes
    # three numbers of each row and five of each bin of donors come back
    answers = 20 * 8 * (3 + 5) * len(wide)
    assert many - few < wide.nbytes + answers
