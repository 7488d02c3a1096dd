"""Responses of boosting models against the models; XGBoost in double precision."""

import json
import warnings

import numpy as np
import pytest
from boosting_models import CASES, data, moving
from response_oracle import check_response

from skvarimp._data.table import as_table, resolve_features
from skvarimp._measures.problem import make_problem
from skvarimp._models.forms import NotReadable
from skvarimp._models.model import Model, rows_for
from skvarimp._response.contract import BlackBoxResponse
from skvarimp._response.grid import make_move
from skvarimp._response.probe import fast_response

FEATURES = {"a": 0, "b": 1, "c": 2, "d": 3, "e": 4, "two": [0, 3], "rest": [1, 2, 4]}


def library_of(name):
    """The library, or the test is skipped."""
    return pytest.importorskip(name)


def fitted(library, name):
    """(model, X, response method) of a case."""
    X, y = data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the libraries' own
        model, method = CASES[library][name](library_of(library), X, y)
    return model, moving(X), method


def weights(n):
    """Uneven, one of them 0."""
    result = np.random.RandomState(4).uniform(0.2, 2, n)
    result[3] = 0
    return result


def check_curves(model, X, method="auto", features=None):
    """Curves equal the model's own, XGBoost's to its rounding; returns the response."""
    problem = make_problem(model, X, None, None, method)
    table, base = problem.table, problem.base
    features = resolve_features(features, table.names, table.n_columns)
    fast = problem.response(features)  # any warning would be an error
    assert not fast.path.startswith("black box"), fast.path
    slow, rows = BlackBoxResponse(problem.model, len(base)), problem.rows
    largest = 0.0
    for feature in features:
        move = make_move(table, problem.weights, feature, "all")
        gap = fast.curves(rows, move) - slow.curves(rows, move)
        largest = max(largest, np.abs(gap).max())
    scale = np.abs(base).max() + np.ptp(base)
    assert largest <= max(fast.rounding, 1e-12) * scale
    assert fast.rounding < 2e-5
    return fast


def declined(model, X, method="auto"):
    """The reason for which a model is asked itself."""
    with pytest.raises(NotReadable) as reason:
        fast_response(Model(model, method), as_table(X))
    return str(reason.value)


def check_in_double(model, X, method, grids=("all", 4)):
    """Four reductions to 1e-9 against XGBoost's own leaves, summed in double."""
    double = DoubleXGBoost(model, rows_for)
    own = make_problem(model, X, None, None, method)

    def outputs(X):  # of two classes the second
        predicted = double.predict(X)
        return predicted[:, -len(own.base) :]

    problem = make_problem(outputs, X, None, weights(len(X)), "auto")
    problem.y = np.random.RandomState(5).randn(*problem.base.T.shape)
    fast = fast_response(own.model, problem.table)
    return check_response(problem, fast, FEATURES, list(grids), n_full=0)


class DoubleXGBoost:
    """The same outputs from XGBoost's own leaves, summed in double precision.

    XGBoost says which leaf of which tree each row is in (`apply`, `pred_leaf`); only
    the leaves' values, the base score and the links are taken here.
    """

    def __init__(self, model, rows_of):
        self.model, self.rows_of = model, rows_of
        self.native = type(model).__name__ == "Booster"
        booster = model if self.native else model.get_booster()
        self.learner = json.loads(bytes(booster.save_raw("json")))["learner"]
        boosted = self.learner["gradient_booster"]
        weights = boosted.get("weight_drop")
        boosted = boosted.get("gbtree", boosted)["model"]
        self.trees, self.groups = boosted["trees"], boosted["tree_info"]
        self.weights = weights or np.ones(len(self.trees))
        parameters = self.learner["learner_model_param"]
        self.n_raw = max(1, int(parameters["num_class"]), int(parameters["num_target"]))
        base = np.array(parameters["base_score"].strip("[]").split(","), np.float32)
        objective = self.learner["objective"]["name"]
        if objective in ("binary:logistic", "reg:logistic", "binary:logitraw"):
            base = -np.log(np.float32(1) / base - np.float32(1))
        elif objective in LOG_LINK:
            base = np.log(base)
        self.base, self.objective = base.astype(float), objective

    def raw(self, X):
        """(n_samples, n_raw)."""
        if self.native:
            leaves = self.model.predict(self.rows_of(self.model, X), pred_leaf=True)
        else:
            leaves = self.model.apply(X)
        leaves = np.asarray(leaves, dtype=int).reshape(X.shape[0], -1)
        result = np.zeros((len(leaves), self.n_raw)) + self.base
        for t in range(leaves.shape[1]):
            tree, node = self.trees[t], leaves[:, t]
            if "leaf_weights" in tree and self.n_raw > 1 and tree["leaf_weights"]:
                vectors = np.array(tree["leaf_weights"], np.float32)
                number = np.array(tree["right_children"])[node]
                result += vectors.reshape(-1, self.n_raw)[number]
            else:
                values = np.array(tree["split_conditions"], np.float32).astype(float)
                result[:, self.groups[t]] += self.weights[t] * values[node]
        return result

    def predict(self, X):
        """What `Model` shows of the model's own response method, (n, n_outputs)."""
        raw = self.raw(X)
        if self.objective in LOG_LINK:
            return np.exp(raw)
        if self.objective in ("binary:logistic", "reg:logistic"):
            return 1 / (1 + np.exp(-raw))
        if self.objective.startswith("multi:soft"):
            odds = np.exp(raw - raw.max(axis=1, keepdims=True))
            return odds / odds.sum(axis=1, keepdims=True)
        return raw


LOG_LINK = (
    "count:poisson",
    "reg:gamma",
    "reg:tweedie",
    "survival:cox",
    "survival:aft",
)
