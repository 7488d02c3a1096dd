"""What defaults ask of a model, counted by the model itself."""

import resource

import numpy as np
import pytest

from skvarimp import (
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
    SobolImportance,
)

DRAWN = {
    "pairs": SensitivityImportance(random_state=0),
    "observed": SensitivityImportance(contrast="observed", random_state=0),
    "loss": PermutationImportance(random_state=0),
}


class Counted:
    """A function of four columns that counts the rows it is asked for."""

    def __init__(self):
        self.n_rows = 0

    def __call__(self, X):
        """The function's values."""
        self.n_rows += len(X)
        return np.sin(X[:, 0]) * X[:, 1] + X[:, 2] + 0.1 * X[:, 3] * X[:, 2]


def rows_and_target(n):
    """Rows of four columns of numbers, and what the function makes of them."""
    X = np.random.default_rng(0).normal(size=(n, 4))
    return X, Counted()(X) + np.random.default_rng(1).normal(size=n)


@pytest.mark.parametrize("name", DRAWN)
def test_six_predictions_of_each_row_and_column(name):
    """And one of each row of X: up to ten thousand rows."""
    X, y = rows_and_target(10_000)
    model = Counted()
    DRAWN[name].fit(model, X, y)
    assert model.n_rows <= 6 * 10_000 * 4 + 10_000


@pytest.mark.thorough
def test_costs_stop_growing_with_the_rows():
    """A million rows: 200 000 predictions of a column, 64 at 20 000 rows for curves."""
    X, y = rows_and_target(1_000_000)
    memory = {}
    measures = {
        **dict.fromkeys(DRAWN, 200_000),
        "curves": 64 * 20_000,
        "shares": 64 * 20_000 + 200_000,
    }
    further = {
        "curves": PartialDependenceImportance(),
        "shares": SobolImportance(random_state=0),
    }
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for name, most in measures.items():
        model = Counted()
        (DRAWN | further)[name].fit(model, X, y)
        assert model.n_rows - len(X) <= 4 * most
        now = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        memory[name] = (now - before) / 2**20  # kilobytes to gigabytes
    assert max(memory.values()) <= 1.5
