"""X in a memory map is read piece by piece, never copied as a whole."""

import tracemalloc

import numpy as np
import pytest
import sklearn
from combinations import each
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPRegressor
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

from skvarimp import (
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
)

N_ROWS, N_COLUMNS = 40_000, 60


class BlackBox:
    """Looks at two columns."""

    def predict(self, X):
        """Their sum."""
        return X[:, 0] + X[:, 1]


def models(rows):
    """Fitted models, one for each path of the engine."""
    y = rows[:, 0] + rows[:, 1]
    network = MLPRegressor(
        hidden_layer_sizes=(3,), solver="lbfgs", max_iter=500, tol=1.0, random_state=0
    )
    return {
        "black box": BlackBox(),
        "linear": LinearRegression().fit(rows, y),
        "logistic": LogisticRegression().fit(rows, y > np.median(y)),
        "trees": DecisionTreeRegressor(max_depth=4).fit(rows, y),
        "histogram": HistGradientBoostingRegressor(max_iter=4).fit(rows, y),
        "kernel": SVR().fit(rows[:30], y[:30]),
        "network": network.fit(rows, y),
    }


MEASURES = {
    "draws": SensitivityImportance(
        contrast="observed", estimation="sampled", n_draws=4, random_state=0
    ),
    "exact": SensitivityImportance(grid=4, scale=None, estimation="exact"),
    "curves": PartialDependenceImportance(grid=4),
    "losses": PermutationImportance(
        estimation="sampled", n_draws=4, random_state=0, loss="squared_error"
    ),
}


@pytest.fixture(scope="module")
def mapped(tmp_path_factory):
    """A read-only map of few distinct values per column."""
    path = tmp_path_factory.mktemp("map") / "x"
    X = np.memmap(path, np.float64, "w+", shape=(N_ROWS, N_COLUMNS))
    X[:] = np.random.default_rng(0).integers(0, 20, X.shape) / 7.0
    X.flush()
    return np.memmap(path, np.float64, "r", shape=(N_ROWS, N_COLUMNS))


@pytest.fixture(scope="module")
def fitted(mapped):
    """The models, fitted on a few rows."""
    return models(np.array(mapped[:200]))


PATHS = ["black box", "linear", "logistic", "trees", "histogram", "kernel", "network"]


@pytest.mark.parametrize(("path", "name"), each(PATHS, MEASURES))
def test_no_copy_of_a_mapped_x(path, name, mapped, fitted):
    """The peak of memory is below X's size, for any family and measure."""
    y = np.asarray(mapped[:, 0] + mapped[:, 1])
    options = {"features": [0, 1]}
    if path == "logistic" and name == "losses":
        y, options = y > 2, {**options, "loss": "zero_one"}
    measure = clone(MEASURES[name]).set_params(**options)
    with sklearn.config_context(working_memory=4):
        measure.fit(fitted[path], mapped[:500], y[:500])  # imports and compiles
        tracemalloc.start()
        try:
            measure.fit(fitted[path], mapped, y)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < mapped.nbytes
