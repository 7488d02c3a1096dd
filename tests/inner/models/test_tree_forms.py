"""Trees as read, against the models they were read from."""

import numpy as np
import pytest
from boosting_checks import fitted as fitted_boosting
from boosting_models import CASES
from tree_models import MODELS, fitted

from skvarimp._data.table import as_table
from skvarimp._models.model import Model
from skvarimp._models.readers import catboost, lightgbm, sklearn_trees, xgboost
from skvarimp._models.registry import read
from skvarimp._models.tree_table import NodeTable
from skvarimp._models.trees import Upwards

READERS = {"xgboost": xgboost, "lightgbm": lightgbm, "catboost": catboost}


@pytest.mark.parametrize("name", MODELS)
def test_scores_of_sklearn(name):
    """The sum of the leaves behind the link is the model's own response."""
    model, X, method = fitted(name)
    watched = Model(model, method)
    form, own = read(watched, as_table(X)), watched(X)
    clear = np.ones(len(own), dtype=bool)
    if form.link is not None and form.link.discrete:  # ties hang on the last digit
        clear = form.link.lead(form.scores(X)) > 1e-12
    assert clear.sum() > len(own) / 2
    np.testing.assert_allclose(
        form.outputs(X).T[clear], own[clear], rtol=1e-10, atol=1e-12
    )


@pytest.mark.parametrize(
    ("library", "name"), [(lib, name) for lib in CASES for name in CASES[lib]]
)
def test_scores_of_boosting_libraries(library, name):
    """The same; XGBoost's own sums are in single precision."""
    model, X, method = fitted_boosting(library, name)
    watched = Model(model, method)
    form = READERS[library].read(watched, as_table(X))
    near = {"rtol": 1e-5, "atol": 1e-5} if library == "xgboost" else {"rtol": 1e-10}
    np.testing.assert_allclose(form.outputs(X).T, watched(X), **near)


@pytest.mark.parametrize("name", ["tree", "forest, classes", "extra trees", "boosting"])
def test_node_values_are_scikit_learns(name):
    """A node's value is the mean of its leaves, which scikit-learn's trees keep."""
    model, X, method = fitted(name)
    form = sklearn_trees.read(Model(model, method), as_table(X))
    nodes = NodeTable(form.trees, form.encoding)
    weight = np.concatenate([tree.weight for tree in form.trees])
    np.testing.assert_allclose(Upwards(nodes).means(weight), nodes.values, atol=1e-12)
