"""Outputs at shuffled rows, found for all repeats before a scorer asks for them."""

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from skvarimp._data.table import as_table, resolve_features
from skvarimp._measures.scorers.proxies import Responses


def test_joint_values_that_cost_more_than_the_model_are_left_to_it():
    """Of trees: each goes down every tree, and columns have a few pieces."""
    random = np.random.RandomState(0)
    X = random.randn(60, 3)
    y = np.digitize(X.sum(axis=1), [-2.0, -0.5, 0.5, 2.0])
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    table = as_table(X)
    features = resolve_features(["x0", ["x0", "x1"], "x2"], table.names, 3)
    responses = Responses(model, table, features)
    donors = np.array([random.permutation(60) for _ in range(12)])
    for position, column in [(0, 0), (2, 2)]:
        found = responses.at_donors("predict_proba", position, donors, False)
        for repeat, of_rows in enumerate(donors):
            moved = X.copy()
            moved[:, column] = X[of_rows, column]
            expected = model.predict_proba(moved).T
            np.testing.assert_allclose(found[:, repeat], expected, atol=1e-15)
    assert responses.at_donors("predict_proba", 1, donors, False) is None
