"""Tables of memory-mapped arrays."""

import joblib
import numpy as np
import pytest
from sklearn.base import clone

from skvarimp import (
    SensitivityImportance,
)
from skvarimp._data.table import as_table

N_ROWS, N_COLUMNS = 40_000, 60


class BlackBox:
    """Looks at two columns."""

    def predict(self, X):
        """Their sum."""
        return X[:, 0] + X[:, 1]


@pytest.fixture(scope="module")
def mapped(tmp_path_factory):
    """A read-only map of few distinct values per column."""
    path = tmp_path_factory.mktemp("map") / "x"
    X = np.memmap(path, np.float64, "w+", shape=(N_ROWS, N_COLUMNS))
    X[:] = np.random.default_rng(0).integers(0, 20, X.shape) / 7.0
    X.flush()
    return np.memmap(path, np.float64, "r", shape=(N_ROWS, N_COLUMNS))


@pytest.mark.thorough
def test_workers_get_the_name_of_the_map(mapped):
    """The table stays a view of the map, which joblib sends as the file's name."""
    view = as_table(mapped).native
    assert np.shares_memory(view, mapped)
    assert isinstance(view.base, np.memmap)
    measure = SensitivityImportance(
        contrast="observed",
        estimation="sampled",
        n_draws=4,
        features=[0],
        random_state=0,
    )
    here = clone(measure).fit(BlackBox(), mapped)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        there = clone(measure).fit(BlackBox(), mapped)
    np.testing.assert_array_equal(there.importances_, here.importances_)
