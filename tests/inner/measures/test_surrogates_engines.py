"""The compiled search for surrogates against the one in NumPy."""

import sys

import numpy as np
import pytest
from combinations import each, half
from literal_surrogates import bare_tree
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skvarimp import ImpurityImportance, SurrogateTreePredictor, _compiled
from skvarimp._compiled import built
from skvarimp._measures.impurity import search
from skvarimp._measures.impurity.grove import Grove, SortedColumns
from skvarimp._measures.impurity.search import Rules, find_surrogates
from skvarimp._measures.impurity.tree_reader import Training

pytestmark = pytest.mark.skipif(not built(), reason="kernels are not built")

FIELDS = ("tree", "node", "feature", "threshold", "direction", "rank")


def columns(n, p, seed=0, distinct=None):
    """Columns that imitate the first ones; of few distinct values where asked."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    for j in range(2, p):
        X[:, j] += X[:, j % 2] * rng.choice([-1.5, 1.5])
    return X if distinct is None else np.floor(distinct * (X + 4) / 8)


def with_holes(X, share=0.2):
    """Some values missing."""
    X = X.copy()
    X[np.random.default_rng(1).random(X.shape) < share] = np.nan
    return X


def numbers(X, seed=0):
    """A positive target of the first columns."""
    noise = np.random.default_rng(seed).normal(size=len(X))
    return np.exp((X[:, 0] - X[:, 1] + 0.5 * noise) / 3)


def classes(X, k=3, seed=0):
    """Classes by the target's size."""
    y = numbers(X, seed)
    return np.searchsorted(np.quantile(y, np.arange(1, k) / k), y)


def weights(kind, n):
    """None, whole numbers with zeros, fractions, or of very different sizes."""
    rng = np.random.default_rng(2)
    return {
        "none": None,
        "whole": rng.integers(0, 4, n).astype(float),
        "fractions": rng.gamma(0.5, 1.0, n) * (rng.random(n) < 0.9),
        "tenths": rng.integers(1, 5, n) / 10,
        "wide": 2.0 ** rng.integers(-12, 1, n),
    }[kind]


def of_criterion(criterion):
    """A tree grown by a criterion, and its data."""
    X = columns(150, 5)
    if criterion in ("gini", "entropy"):
        y = np.column_stack([classes(X), classes(X, 2, 1)])
        return DecisionTreeClassifier(criterion=criterion, random_state=0), X, y
    y = np.column_stack([numbers(X), numbers(X, 1)])
    if criterion == "absolute_error":
        y = y[:, 0]
    return DecisionTreeRegressor(criterion=criterion, random_state=0), X, y


def categories():
    """Histogram boosting with a column of categories and missing values."""
    X = columns(300, 4)
    X[:, 3] = np.floor(3 * np.abs(X[:, 0])) % 7
    return (
        HistGradientBoostingRegressor(
            max_iter=8, categorical_features=[3], random_state=0
        ),
        with_holes(X, 0.1),
        numbers(X),
    )


def chain():
    """A tree as deep as it has branch nodes."""
    x = np.arange(400.0)
    X = np.column_stack([x, x // 3, np.sin(x)])
    return DecisionTreeRegressor(random_state=0), X, 3.0**-x


FEW = {"n_estimators": 5, "random_state": 0}
X_1, X_TIED = columns(200, 6), columns(200, 6, distinct=5)
PROBLEMS = {
    "classes": lambda: (RandomForestClassifier(**FEW), X_1, classes(X_1)),
    "numbers": lambda: (RandomForestRegressor(**FEW), X_1, numbers(X_1)),
    "ties": lambda: (RandomForestClassifier(**FEW), X_TIED, classes(X_TIED, 2)),
    "missing": lambda: (RandomForestClassifier(**FEW), with_holes(X_1), classes(X_1)),
    "mostly missing": lambda: (
        DecisionTreeRegressor(random_state=0),
        with_holes(X_TIED, 0.7),
        numbers(X_1),
    ),
    "constant": lambda: (
        DecisionTreeRegressor(random_state=0),
        np.column_stack([X_1[:, 0], np.ones(200), np.full(200, np.nan)]),
        numbers(X_1),
    ),
    "best first": lambda: (
        DecisionTreeRegressor(max_leaf_nodes=30, random_state=0),
        X_1,
        numbers(X_1),
    ),
    "stumps": lambda: (
        AdaBoostClassifier(n_estimators=20, random_state=0),
        X_TIED,
        classes(X_TIED),
    ),
    "no split": lambda: (DecisionTreeRegressor(), X_1, np.ones(200)),
    "two rows": lambda: (DecisionTreeRegressor(), X_1[:2], [0.0, 1.0]),
    "some columns": lambda: (
        BaggingClassifier(max_features=0.5, max_samples=0.3, **FEW),
        X_1,
        classes(X_1),
    ),
    "random cuts": lambda: (ExtraTreesRegressor(**FEW), X_TIED, numbers(X_TIED)),
    "boosting": lambda: (GradientBoostingClassifier(**FEW), X_1, classes(X_1)),
    "categories": categories,
    "deep": chain,
    "wide": lambda: (
        DecisionTreeClassifier(random_state=0),
        columns(60, 400),
        classes(columns(60, 400)),
    ),
    **{
        criterion: lambda criterion=criterion: of_criterion(criterion)
        for criterion in ("gini", "entropy", "squared_error", "poisson")
    },
    "absolute_error": lambda: of_criterion("absolute_error"),
}
WEIGHTED = ["classes", "numbers", "ties", "missing", "categories", "deep", "poisson"]


def both(monkeypatch, measure, *data):
    """The fitted measure by each engine."""
    monkeypatch.delenv("SKVARIMP_COMPILED", raising=False)
    yield measure.fit(*data).__dict__.copy()
    monkeypatch.setenv("SKVARIMP_COMPILED", "0")
    monkeypatch.setitem(sys.modules, "skvarimp._compiled.surrogates", None)
    yield measure.fit(*data).__dict__.copy()


def agree(first, second):
    """Splits are the same, numbers agree to rounding."""
    splits = first["surrogate_splits_"], second["surrogate_splits_"]
    for field in FIELDS:
        np.testing.assert_array_equal(*(s[field] for s in splits))
    # An association is a difference of parts of 1.
    np.testing.assert_allclose(*(s["association"] for s in splits), rtol=0, atol=1e-12)
    for name in ("importances_", "association_"):
        if name in first:
            np.testing.assert_allclose(
                first[name],
                second[name],
                rtol=1e-12,
                atol=1e-12 * np.max(second[name], initial=0.0),
            )


@pytest.mark.parametrize(
    ("problem", "weighted"),
    [
        *half((problem, "none") for problem in PROBLEMS),
        *half(each(WEIGHTED, ["whole", "fractions", "tenths", "wide"])),
    ],
)
def test_engines_agree(monkeypatch, problem, weighted):
    """Every kind of column, tree, weight and criterion; splits are the same ones."""
    model, X, y = PROBLEMS[problem]()
    weight = weights(weighted, len(X))
    model.fit(X, y, **({} if weight is None else {"sample_weight": weight}))
    conventions = ["matlab", "rpart"]
    if problem in ("boosting", "categories"):  # whose trees' targets are not kept
        conventions = ["rpart"]
    for convention in conventions:
        for kept in (True, 2):
            measure = ImpurityImportance(surrogates=kept, convention=convention)
            agree(*both(monkeypatch, _Weighted(measure, weight), model, X, y))
            monkeypatch.undo()
    if hasattr(model, "classes_") and problem not in ("boosting",):
        measure = ImpurityImportance(surrogates=True, surrogate_cuts="class_boundary")
        agree(*both(monkeypatch, _Weighted(measure, weight), model, X, y))


class _Weighted:
    """A measure with its weights."""

    def __init__(self, measure, weight):
        self.measure, self.weight = measure, weight

    def fit(self, *data):
        return self.measure.fit(*data, sample_weight=self.weight)


@pytest.mark.parametrize("capacity", [1, 3000, 10**9])
def test_room_changes_nothing(monkeypatch, capacity):
    """One column at a time, a few, all at once; threads."""
    model, X, y = PROBLEMS["missing"]()
    model.fit(X, y)
    reference = ImpurityImportance(surrogates=3).fit(model, X, y)
    monkeypatch.setattr(search, "HELD", capacity)
    other = ImpurityImportance(surrogates=3, n_jobs=2).fit(model, X, y)
    agree(reference.__dict__, other.__dict__)
    np.testing.assert_array_equal(reference.importances_, other.importances_)


def test_predictor_agrees(monkeypatch):
    """The same surrogates lead rows with missing values."""
    model, X, y = PROBLEMS["missing"]()
    predictor = SurrogateTreePredictor(model.fit(X, y))
    first, second = both(monkeypatch, predictor, X, y)
    agree(first, second)


def test_trees_without_rows():
    """Nodes that no training row reaches have no surrogates."""
    table = bare_tree(
        left=np.array([1, -1, 3, -1, -1]),
        right=np.array([2, -1, 4, -1, -1]),
        column=np.array([0, -1, 1, -1, -1]),
    )
    X = columns(10, 3)
    for leaf in (np.ones(10, int), np.full(10, 3), np.repeat([1, 4], 5)):
        for weight in (np.ones(10), np.zeros(10)):
            grove = Grove([table], [Training(leaf, weight)])
            engines = [
                find_surrogates(grove, SortedColumns(X), Rules(), compiled)
                for compiled in (True, False)
            ]
            for name in ("node", "feature", "association", "threshold"):
                np.testing.assert_array_equal(*(e[name] for e in engines))


def test_numpy_without_kernels(monkeypatch):
    """Where kernels were not built, or are switched off, nothing asks for them."""
    monkeypatch.setitem(sys.modules, "skvarimp._compiled.surrogates", None)
    model, X, y = PROBLEMS["classes"]()
    model.fit(X, y)
    measure = ImpurityImportance(surrogates=True)
    monkeypatch.setenv("SKVARIMP_COMPILED", "0")
    switched_off = measure.fit(model, X, y).importances_
    monkeypatch.delenv("SKVARIMP_COMPILED")
    monkeypatch.setattr(_compiled, "built", lambda: False)
    np.testing.assert_array_equal(measure.fit(model, X, y).importances_, switched_off)
