"""Trees whose thresholds no longer mean what they meant are declined, not misread."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import (
    BaggingRegressor,
    GradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeRegressor

from skvarimp import ImpurityImportance, PermutationImportance, SensitivityImportance

RANDOM = np.random.RandomState(0)
X = np.column_stack([RANDOM.randint(0, 6, 120), RANDOM.normal(size=(120, 2))])
EFFECT = np.array([0.0, 3.0, -2.0, 2.0, -3.0, 1.0])
Y = EFFECT[X[:, 0].astype(int)] + X[:, 1]


class ByCategory:
    """A `tree_` whose first column is split by sets, as a future library may do.

    The model was grown on the ranks of the categories. Here it is given categories,
    and `threshold` is the number of a set.
    """

    def __init__(self, tree):
        self.tree = tree
        self.threshold = np.where(tree.feature == 0, 2.0**40, tree.threshold)

    def __getattr__(self, name):
        return getattr(self.__dict__["tree"], name)

    def ranked(self, rows):
        """Rows with ranks in place of categories."""
        rows = np.array(rows, dtype=np.float32)
        ranks = np.argsort(np.argsort(EFFECT)).astype(np.float32)
        known = np.clip(np.nan_to_num(rows[:, 0]), 0, 5).astype(int)
        rows[:, 0] = ranks[known]
        return rows

    def apply(self, rows):
        """The leaf of each row."""
        return self.tree.apply(self.ranked(rows))

    def predict(self, rows):
        """What the leaves hold."""
        return self.tree.predict(self.ranked(rows))


def with_categories(model, y):
    """A model grown on the ranks, whose trees then stand on categories."""
    ranks = X.copy()
    ranks[:, 0] = np.argsort(np.argsort(EFFECT))[X[:, 0].astype(int)]
    model = clone(model).fit(ranks, y)
    members = [model]
    if hasattr(model, "estimators_"):
        members = np.ravel(model.estimators_)
    for member in members:
        member.tree_ = ByCategory(member.tree_)
    return model


FOREST = RandomForestRegressor(3, random_state=0)
TREE = DecisionTreeRegressor(max_depth=4, random_state=0)
MEASURES = {
    "gains": (TREE, ImpurityImportance()),
    "surrogates": (TREE, ImpurityImportance(surrogates=True)),
    "unseen": (FOREST, ImpurityImportance(rows="unseen")),
    "out of bag": (FOREST, ImpurityImportance(rows="oob")),
    "classes": (RandomForestClassifier(3), ImpurityImportance(rows="unseen")),
    "stages": (GradientBoostingRegressor(n_estimators=3), ImpurityImportance()),
    "bags": (BaggingRegressor(TREE, 3), ImpurityImportance()),
}


@pytest.mark.parametrize(("model", "measure"), MEASURES.values(), ids=MEASURES)
def test_impurity_is_declined(model, measure):
    """With the reason and another measure."""
    y = (Y > 0).astype(int) if isinstance(model, RandomForestClassifier) else Y
    with pytest.raises((TypeError, ValueError), match=r"thresholds say.*Permutation"):
        measure.fit(with_categories(model, y), X, y)


@pytest.mark.parametrize(
    "model", [TREE, FOREST, IsolationForest(n_estimators=3, random_state=0)]
)
def test_other_measures_ask_the_model(model):
    """The numbers of the model as a black box."""
    future = with_categories(model, Y)
    measure = SensitivityImportance(
        scale=None, estimation="exact", response_method="predict"
    )
    found = measure.fit(future, X)
    assert "thresholds say" in found.response_path_
    asked = SensitivityImportance(scale=None, estimation="exact")
    asked.fit(lambda Z: future.predict(Z), X)
    np.testing.assert_allclose(
        found.importances_, asked.importances_, rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("model", [TREE, FOREST, GradientBoostingRegressor()])
def test_trees_of_thresholds_are_read(model):
    """With missing values in training or without, and after a single leaf."""
    for rows in (X, np.where(RANDOM.rand(*X.shape) < 0.2, np.nan, X), X * 0):
        if isinstance(model, GradientBoostingRegressor) and np.isnan(rows).any():
            continue
        fitted = clone(model).fit(rows, Y)
        assert np.isfinite(ImpurityImportance().fit(fitted, rows, Y).importances_).all()
        found = PermutationImportance(estimation="exact").fit(fitted, rows, Y)
        assert "black box" not in found.response_path_
