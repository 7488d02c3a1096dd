"""Fitted trees and ensembles of every kind, for the tests of their responses."""

from functools import cache

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from skvarimp._compiled import use_compiled
from skvarimp._data.table import resolve_features
from skvarimp._measures.problem import Request, make_problem
from skvarimp._response.mean_curves import IndividualFlatness, PartialDependence
from skvarimp._response.probe import fast_response
from skvarimp._response.reductions import Observed, Pairs, Range
from skvarimp._response.walk import run_walk


def data(n=30, seed=0, missing=False):
    """Continuous, few-valued, constant and binary columns, then one unused."""
    random = np.random.RandomState(seed)
    X = np.column_stack(
        [
            random.randn(n),
            random.randint(0, 4, n),
            np.full(n, 1.5),
            random.rand(n) < 0.4,
            np.round(random.randn(n), 1),
            random.randn(n),
        ]
    ).astype(float)
    y = X[:, 0] * (1 + X[:, 1]) + 2 * X[:, 3] * X[:, 4] + 0.3 * random.randn(n)
    if missing:
        X[random.rand(n) < 0.25, 1] = np.nan
        X[random.rand(n) < 0.2, 0] = np.nan
    return X, y, random


# every column, groups of which no, one and all columns are used
FEATURES = {
    **{f"x{j}": j for j in range(6)},
    "pair": [0, 4],
    "three": [4, 1, 3],
    "one used": [2, 3],
    "unused": [2, 5],
}
UNUSED = [2, 5, 9]
GRIDS = ["all", 4, {"x0": [-0.3, 0.2, 0.2, 2.0], "pair": [[0, 1]]}]


def three_classes(y):
    """Strings, so that labels are no positions."""
    return np.array(["low", "mid", "top"])[np.digitize(y, np.quantile(y, [0.3, 0.7]))]


def two_classes(y):
    """See `three_classes`."""
    return np.where(y > np.median(y), "yes", "no")


def bounded(y):
    """Non-negative counts."""
    return np.floor(np.abs(y))


def two_targets(y):
    """Two outputs."""
    return np.column_stack([y, np.abs(y)])


def two_labels(y):
    """Two label columns, of two and of three classes."""
    return np.column_stack([y > np.median(y), np.digitize(y, [-1, 1])]).astype(int)


small = {"n_estimators": 6, "random_state": 0}
HIST = {
    "max_iter": 8,
    "min_samples_leaf": 2,
    "random_state": 0,
    "early_stopping": False,
}
MODELS = {
    "tree": (DecisionTreeRegressor(max_depth=4, random_state=0), None, "auto"),
    "full tree": (DecisionTreeRegressor(random_state=0), None, "auto"),
    "tree, two targets": (DecisionTreeRegressor(max_depth=3), two_targets, "auto"),
    "extra tree": (ExtraTreeRegressor(random_state=0), None, "auto"),
    "tree, classes": (DecisionTreeClassifier(max_depth=3), three_classes, "auto"),
    "tree, labels": (DecisionTreeClassifier(max_depth=3), three_classes, "predict"),
    "extra tree, classes": (ExtraTreeClassifier(random_state=0), two_classes, "auto"),
    "forest": (RandomForestRegressor(**small), None, "auto"),
    "forest, two targets": (RandomForestRegressor(**small), two_targets, "auto"),
    "forest, classes": (RandomForestClassifier(**small), three_classes, "auto"),
    "forest, two classes": (RandomForestClassifier(**small), two_classes, "auto"),
    "forest, labels": (RandomForestClassifier(**small), three_classes, "predict"),
    "forest, impure labels": (
        RandomForestClassifier(max_depth=2, **small),
        three_classes,
        "predict",
    ),
    "forest, label columns": (RandomForestClassifier(**small), two_labels, "auto"),
    "forest, columns' labels": (
        RandomForestClassifier(max_leaf_nodes=5, **small),
        two_labels,
        "predict",
    ),
    "extra trees": (ExtraTreesRegressor(max_depth=4, **small), None, "auto"),
    "extra trees, classes": (ExtraTreesClassifier(**small), two_classes, "auto"),
    "boosting": (GradientBoostingRegressor(**small), None, "auto"),
    "boosting, huber": (GradientBoostingRegressor(loss="huber", **small), None, "auto"),
    "boosting from zero": (
        GradientBoostingRegressor(init="zero", **small),
        None,
        "auto",
    ),
    "boosting from constant": (
        GradientBoostingRegressor(init=DummyRegressor(strategy="median"), **small),
        None,
        "auto",
    ),
    "boosting, classes": (GradientBoostingClassifier(**small), three_classes, "auto"),
    "boosting, two classes": (GradientBoostingClassifier(**small), two_classes, "auto"),
    "boosting, exponential": (
        GradientBoostingClassifier(loss="exponential", **small),
        two_classes,
        "auto",
    ),
    "boosting, score": (
        GradientBoostingClassifier(**small),
        three_classes,
        "decision_function",
    ),
    "boosting, labels": (GradientBoostingClassifier(**small), two_classes, "predict"),
    "boosting, three labels": (
        GradientBoostingClassifier(**small),
        three_classes,
        "predict",
    ),
    "hist": (HistGradientBoostingRegressor(**HIST), None, "auto"),
    "hist, quantile": (
        HistGradientBoostingRegressor(loss="quantile", quantile=0.8, **HIST),
        None,
        "auto",
    ),
    "hist, absolute": (
        HistGradientBoostingRegressor(loss="absolute_error", **HIST),
        None,
        "auto",
    ),
    "hist, poisson": (
        HistGradientBoostingRegressor(loss="poisson", **HIST),
        bounded,
        "auto",
    ),
    "hist, gamma": (
        HistGradientBoostingRegressor(loss="gamma", **HIST),
        lambda y: bounded(y) + 1,
        "auto",
    ),
    "hist, classes": (HistGradientBoostingClassifier(**HIST), three_classes, "auto"),
    "hist, two classes": (HistGradientBoostingClassifier(**HIST), two_classes, "auto"),
    "hist, score": (
        HistGradientBoostingClassifier(**HIST),
        two_classes,
        "decision_function",
    ),
    "hist, labels": (HistGradientBoostingClassifier(**HIST), three_classes, "predict"),
    "hist, two labels": (
        HistGradientBoostingClassifier(**HIST),
        two_classes,
        "predict",
    ),
    "isolation forest": (
        IsolationForest(max_features=0.6, **small),
        None,
        "decision_function",
    ),
    "isolation forest, labels": (
        IsolationForest(max_samples=9, contamination=0.3, **small),
        None,
        "predict",
    ),
    "bagging of boosting": (
        BaggingRegressor(GradientBoostingRegressor(**small), **small),
        None,
        "auto",
    ),
    "bagging": (
        BaggingRegressor(max_features=0.7, bootstrap_features=True, **small),
        None,
        "auto",
    ),
    "bagging of forests": (
        BaggingRegressor(RandomForestRegressor(2), n_estimators=3, random_state=0),
        None,
        "auto",
    ),
    "bagging of hist": (
        BaggingRegressor(
            HistGradientBoostingRegressor(**HIST), n_estimators=2, random_state=0
        ),
        None,
        "auto",
    ),
    "bagging, classes": (
        BaggingClassifier(max_features=0.7, max_samples=6, **small),
        three_classes,
        "auto",
    ),
    "bagging, labels": (BaggingClassifier(**small), two_classes, "predict"),
    "bagging, score": (
        BaggingClassifier(GradientBoostingClassifier(**small), **small),
        two_classes,
        "decision_function",
    ),
    "adaboost": (AdaBoostClassifier(**small), two_classes, "auto"),
    "adaboost, three": (
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), **small),
        three_classes,
        "auto",
    ),
    "adaboost, score": (
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), **small),
        three_classes,
        "decision_function",
    ),
    "adaboost, labels": (AdaBoostClassifier(**small), two_classes, "predict"),
    "adaboost, three labels": (
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), **small),
        three_classes,
        "predict",
    ),
}


@cache
def of_session(name, missing):
    """The fitted model of `fitted`."""
    model, target, _ = MODELS[name]
    X, y, _ = data(missing=missing)
    X[:, 5] = 0.0  # constant: no tree can split on it
    return clone(model).fit(X, y if target is None else target(y))


def fitted(name, missing=False):
    """(model, X, method); column 5 is not used."""
    X, _, _ = data(missing=missing)
    return of_session(name, missing), X, MODELS[name][2]


def path_of_trees():
    """What `response_path_` says of trees here."""
    return "trees, compiled" if use_compiled() else "trees"


def uneven(n):
    """Row weights, one of them 0."""
    weights = np.random.RandomState(1).uniform(0.3, 2, n)
    weights[4] = 0.0
    return weights


def walked(model, X, method="auto", features=FEATURES, weights=None, **kwargs):
    """(response, outcomes of some reductions) by the fast response."""
    problem = make_problem(model, X, None, weights, method)
    fast = fast_response(problem.model, problem.table)
    table = problem.table
    features = resolve_features(features, table.names, table.n_columns)
    wanted = [
        Pairs(),
        Observed(),
        Range(),
        PartialDependence.over("std", table.n_samples, 9),
        IndividualFlatness(),
    ]
    request = Request("all", wanted, [np.ones(len(problem.base))] * len(wanted))
    return fast, run_walk(problem.walk(fast, features, [request]), **kwargs)[0]


def frame(n=60, seed=0):
    """Categories as strings and numbers, a boolean, missing values everywhere."""
    random = np.random.RandomState(seed)
    X = pd.DataFrame(
        {
            "number": np.where(random.rand(n) < 0.2, np.nan, random.randn(n)),
            "colour": random.choice(["red", "green", "blue", "grey", None], n),
            "flat": random.randn(n),
            "rank": random.choice([10, 20, 30], n),
            "yes": random.rand(n) < 0.5,
        }
    )
    y = (X["colour"] == "red") * X["flat"] + (X["rank"] == 20) + X["yes"]
    X["colour"] = X["colour"].astype("category")
    X["rank"] = X["rank"].astype("category")
    return X, y.to_numpy() + X["number"].fillna(1.0).to_numpy()
