"""Feature functions against Python's own operators, row by row."""

import copy
import itertools
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from messages import says
from scipy import sparse

from skvarimp.feature_functions import (
    Conjunction,
    Disjunction,
    ExclusiveOr,
    Level,
    Linear,
    Not,
    Product,
    Step,
)

TRUTH = np.array(list(itertools.product([0.0, 1.0], repeat=3)))
X = np.random.default_rng(0).normal(size=(30, 4))

BOOLEAN = [
    (Conjunction(0, 1), lambda a, b, c: a and b),
    (Conjunction(0, Not(2)), lambda a, b, c: a and not c),
    (Conjunction(0, 1, 2), lambda a, b, c: a and b and c),
    (Disjunction(0, Not(1)), lambda a, b, c: a or not b),
    (Disjunction(Not(0), Not(1), 2), lambda a, b, c: not a or not b or c),
    (ExclusiveOr(0, 1), lambda a, b, c: a != b),
    (ExclusiveOr(0, 1, 2), lambda a, b, c: (a + b + c) % 2 == 1),
    (ExclusiveOr(0, Not(2)), lambda a, b, c: a == c),
    (Not(1), lambda a, b, c: not b),
    (Not(Not(1)), lambda a, b, c: b),
    (Disjunction(Conjunction(0, 1), Not(2)), lambda a, b, c: (a and b) or not c),
    (Conjunction(0, Step(1, 0.5)), lambda a, b, c: a and b),
]


@pytest.mark.parametrize(
    ("function", "operator"),
    BOOLEAN,
    ids=lambda f: "" if callable(f) and hasattr(f, "__code__") else f"{f!r:.50}",
)
@pytest.mark.parametrize("coding", ["0/1", "-1/+1", "bool"])
def test_truth_tables(function, operator, coding):
    """Every row of the truth table, in every coding of true and false."""
    rows = {"0/1": TRUTH, "-1/+1": 2 * TRUTH - 1, "bool": TRUTH.astype(bool)}[coding]
    expected = [float(operator(*map(bool, row))) for row in TRUTH]
    assert function(rows).tolist() == expected


NUMERIC = [
    (Product(0, 1), lambda r: r[0] * r[1]),
    (Product(2, 2, 3), lambda r: r[2] ** 2 * r[3]),
    (Product(0, Step(1, 0.0)), lambda r: r[0] * (r[1] > 0)),
    (Product(-1), lambda r: r[3]),
    (Step(0, 0.3), lambda r: float(r[0] > 0.3)),
    (Step(Linear([1, 1, 0, 0]), 0.1), lambda r: float(r[0] + r[1] > 0.1)),
    (Linear([1.0, -2.0, 0.0, 0.5]), lambda r: r[0] - 2 * r[1] + 0.5 * r[3]),
    (Linear({0: 1.0, -1: 3.0}), lambda r: r[0] + 3 * r[3]),
]


@pytest.mark.parametrize(
    ("function", "formula"),
    NUMERIC,
    ids=lambda f: "" if callable(f) and hasattr(f, "__code__") else f"{f!r:.50}",
)
def test_numeric_functions(function, formula):
    """The formula of each row."""
    np.testing.assert_allclose(function(X), [formula(row) for row in X], rtol=1e-14)


FUNCTIONS = [f for f, _ in BOOLEAN[:8] + NUMERIC]


@pytest.mark.parametrize("function", FUNCTIONS, ids=repr)
@pytest.mark.parametrize(
    "container", [pd.DataFrame, pl.DataFrame, sparse.csr_matrix, sparse.csc_array, list]
)
def test_every_container(function, container):
    """Columns are the same values wherever they are kept."""
    data = X.tolist() if container is list else container(X)
    np.testing.assert_array_equal(function(data), function(X))


@pytest.mark.parametrize("function", FUNCTIONS, ids=repr)
def test_copies_are_equal(function):
    """clone deep-copies parameters and pickles travel to workers."""
    for again in (copy.deepcopy(function), pickle.loads(pickle.dumps(function))):
        assert again == function
        assert hash(again) == hash(function)
        assert repr(again) == repr(function)
    assert function != Level(0, "other")
    assert eval(repr(function)) == function


@pytest.mark.parametrize(
    ("function", "label", "named"),
    [
        (Product(0, 1), "x0 * x1", "a * b"),
        (Product("a", "c"), None, "a * c"),
        (Step(0, 0.5), "x0 > 0.5", "a > 0.5"),
        (Linear([1, -1, 2.5]), "x0 - x1 + 2.5 * x2", "a - b + 2.5 * c"),
        (Linear({1: -1}), "-x1", "-b"),
        (Linear([0, 0, 0]), "0", "0"),
        (Level(0, "red"), "x0 == 'red'", "a == 'red'"),
        (Conjunction(0, Not(2)), "x0 & ~x2", "a & ~c"),
        (Disjunction(0, 1, -1), "x0 | x1 | x2", "a | b | c"),
        (ExclusiveOr(0, 1), "x0 ^ x1", "a ^ b"),
        (Not(Disjunction(0, 1)), "~(x0 | x1)", "~(a | b)"),
        (Conjunction(0, Step(1, 2)), "x0 & (x1 > 2)", "a & (b > 2)"),
    ],
    ids=repr,
)
def test_labels(function, label, named):
    """Formulas a reader knows, with names where X has some."""
    if label is not None:
        assert function.label(n_columns=3) == label
    assert function.label(["a", "b", "c"]) == named


def test_labels_without_x():
    """A function can be read before X is known."""
    assert Conjunction(0, Not("b")).label() == "x0 & ~b"
    assert Linear(np.ones(10)).label(n_columns=10) == "linear in 10 columns"
    assert Linear([1, 2]).label() == "Linear([1.0, 2.0])"


@pytest.mark.parametrize("container", [pd.DataFrame, pl.DataFrame, np.array])
def test_levels_of_categories(container):
    """Strings, numbers, booleans and missing values compare with their own kind."""
    rows = [["red", 1.0, True], ["blue", np.nan, False], [None, 2.0, True]]
    if container is np.array:
        data = np.array(rows, dtype=object)
    else:
        names = ["c", "n", "b"]
        columns = dict(zip(names, map(list, zip(*rows))))
        data = container(columns)
    assert Level(0, "red")(data).tolist() == [1, 0, 0]
    assert Level(0, None)(data).tolist() == [0, 0, 1]
    assert Level(1, 2)(data).tolist() == [0, 0, 1]
    assert Level(1, np.nan)(data).tolist() == [0, 1, 0]
    assert Level(1, "red")(data).tolist() == [0, 0, 0]
    assert Level(2, True)(data).tolist() == [1, 0, 1]
    assert Conjunction(Level(0, "red"), 2)(data).tolist() == [1, 0, 0]


def test_errors_name_the_way_out():
    """What was given, why it cannot be, what to do."""
    frame = pd.DataFrame({"a": ["u", "v"], "b": [1.0, np.nan]})
    with pytest.raises(TypeError, match="Product needs numbers, but feature 'a'"):
        Product("a", "b")(frame)
    with pytest.raises(TypeError, match=r"Use Level\('a', 'u'\) as the operand"):
        Conjunction("a")(frame)
    with pytest.raises(ValueError, match=says("Step … 'b' … leave the rows out")):
        Step("b", 0)(frame)
    with pytest.raises(ValueError, match=says("'z' … 2 features … ['a', 'b']")):
        Product("z")(frame)
    with pytest.raises(ValueError, match="Feature 7 is not among"):
        Conjunction(0, 7)(X)
    with pytest.raises(TypeError, match="takes column names, integer positions"):
        Product(0.5)(X)
    with pytest.raises(TypeError, match=says("Conjunction … one column, got none")):
        Conjunction()
    with pytest.raises(ValueError, match="`weights` of Linear has 2 numbers, but X"):
        Linear([1, 2])(X)
    with pytest.raises(ValueError, match="`weights` must be 1-dimensional"):
        Linear([[1, 2]])
    with pytest.raises(ValueError, match="`weights` must be finite"):
        Linear([1, np.inf])
    with pytest.raises(ValueError, match="`weights` must be finite"):
        Linear([])
    with pytest.raises(ValueError, match=says("`threshold` … finite … got nan")):
        Step(0, np.nan)


def test_x_is_not_modified():
    """Feature functions read."""
    before = X.copy()
    for function in FUNCTIONS:
        function(X)
    np.testing.assert_array_equal(X, before)
