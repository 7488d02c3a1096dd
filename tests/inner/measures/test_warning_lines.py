"""The line that a warning names."""

import numpy as np
import pytest
from callback_recorder import Recorder
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, Ridge

import skvarimp
from skvarimp._measures.impurity import search as _impurity_search
from skvarimp.exceptions import ImportanceWarning

X = np.random.default_rng(0).standard_normal((40, 4))
Y = X @ [1.0, 2.0, 0.0, 1.0] + X[:, 0] * X[:, 1]
MANY = np.random.default_rng(1).standard_normal((300, 4))
TWICE = np.column_stack([X[:, :3], X[:, 2]])
LINEAR = LinearRegression().fit(X, Y)
FOREST = RandomForestRegressor(4, max_depth=2, random_state=0).fit(X, Y)


def stopped(measure):
    """The measure with a callback that stops it."""
    return clone(measure).set_callbacks(Recorder(stop_after=0))


CALLS = {
    "walk": lambda: stopped(skvarimp.SensitivityImportance()).fit(LINEAR.predict, X, Y),
    "draws": lambda: stopped(
        skvarimp.SensitivityImportance(
            contrast="observed", estimation="sampled", random_state=0
        )
    ).fit(LINEAR, X, Y),
    "tol": lambda: skvarimp.SensitivityImportance(
        estimation="sampled", tol=1e-9, n_draws=4, random_state=0
    ).fit(LINEAR, MANY, LINEAR.predict(MANY)),
    "trees": lambda: stopped(skvarimp.ImpurityImportance(surrogates=True)).fit(
        FOREST, X, Y
    ),
    "out of bag": lambda: stopped(skvarimp.PermutationImportance(rows="oob")).fit(
        FOREST, X, Y
    ),
    "pairs": lambda: stopped(skvarimp.InteractionImportance(grid=3)).fit(FOREST, X, Y),
    "folds": lambda: skvarimp.importance_across_folds(
        Ridge(),
        X,
        Y,
        skvarimp.SensitivityImportance(),
        callbacks=Recorder(stop_after=0),
    ),
    "permutations": lambda: skvarimp.null_importances(
        Ridge(),
        X,
        Y,
        skvarimp.SensitivityImportance(),
        callbacks=Recorder(stop_after=0),
    ),
    "solver": lambda: skvarimp.CoefficientImportance().fit(
        LinearRegression().fit(TWICE, Y), TWICE, Y
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_line_is_the_users(name, monkeypatch):
    """However many layers and decorators lie between."""
    monkeypatch.setattr(_impurity_search, "CACHE", 1)  # a tree at a time
    with pytest.warns(ImportanceWarning) as caught:
        CALLS[name]()
    assert [warning.filename for warning in caught] == [__file__]
