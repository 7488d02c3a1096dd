"""Means over rows as two columns move, from few nodes in both: the model's own."""

import warnings

import numpy as np
import pytest
from combinations import each
from sklearn.neural_network import MLPClassifier, MLPRegressor

from skvarimp import InteractionImportance
from skvarimp._response.responses import projection

RNG = np.random.default_rng(0)
X = RNG.normal(size=(700, 4))
X[:, 1] = np.round(X[:, 1], 1)
Y = np.sin(X[:, 0]) * X[:, 1] + X[:, 2]
CLASSES = np.digitize(Y, [-0.5, 0.5])
SMALL = {"hidden_layer_sizes": (6,), "alpha": 5.0, "max_iter": 60, "random_state": 0}
DEEP = SMALL | {"hidden_layer_sizes": (5, 4), "activation": "logistic"}
MODELS = {
    "tanh": (MLPRegressor(activation="tanh", **SMALL), Y),
    "deep": (MLPClassifier(**DEEP), CLASSES),
}


@pytest.fixture
def served(monkeypatch):
    """Whether the means of each pair asked for came from nodes."""
    answers, function = [], projection.mean_over_nodes

    def recorded(*args):
        result = function(*args)
        answers.append(result is not None)
        return result

    monkeypatch.setattr(projection, "mean_over_nodes", recorded)
    return answers


def fitted(name):
    """A model of the table, fitted."""
    model, target = MODELS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, target)


@pytest.mark.parametrize(("name", "weighted"), each(MODELS, [True, False]))
def test_equals_the_model_itself(name, weighted, served):
    """H at the rows and on a grid, with ties, weights and a constant column."""
    model, rows = fitted(name), X.copy()
    rows[:, 3] = 0.5
    ask = getattr(model, "predict_proba", model.predict)
    weights = RNG.uniform(0.5, 2.0, len(X)) if weighted else None
    for asked in ({"statistic": "h"}, {"grid": 40}):
        imp = InteractionImportance(pairs=[(0, 1), (2, 0)], **asked)
        imp.fit(model, rows, sample_weight=weights)
        assert not imp.response_path_.startswith("black box")
        plain = InteractionImportance(pairs=[(0, 1), (2, 0)], **asked)
        plain.fit(lambda rows: ask(rows), rows, sample_weight=weights)
        np.testing.assert_allclose(
            imp.importances_per_output_,
            plain.importances_per_output_,
            rtol=1e-9,
            atol=1e-12,
        )
    # H at 700 points may take more than 350 nodes; the grid has 1600 cells
    assert len(served) == 4
    assert served[2:] == [True, True]
    assert name == "tanh" or all(served)
    # a column of one value leaves no second direction
    constant = InteractionImportance(statistic="h", pairs=[(1, 3)]).fit(model, rows)
    assert constant.importances_[0] < 1e-10
    assert not served[-1]


def test_rough_functions_are_evaluated_at_every_cell(served):
    """A steep network would take more nodes than there are cells."""
    model = fitted("tanh")
    model.coefs_[0] *= 50
    imp = InteractionImportance(statistic="h", pairs=[(0, 1)]).fit(model, X[:60])
    plain = InteractionImportance(statistic="h", pairs=[(0, 1)])
    plain.fit(lambda rows: model.predict(rows), X[:60])
    np.testing.assert_allclose(imp.importances_, plain.importances_, rtol=1e-9)
    assert served == [False]
