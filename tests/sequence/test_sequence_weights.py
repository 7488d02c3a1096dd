"""Weights of oligomers as values: scores, tables, pickles."""

import pickle

import numpy as np
import pytest
from literal_sequence import random_sequences, random_tables, score
from messages import says
from scipy import sparse
from sequence_machines import fitted
from sklearn.svm import SVC

from skvarimp.sequence import OligomerWeights


@pytest.mark.parametrize("orders", [(1,), (3,), (1, 2, 3), (2, 5)])
def test_decision_function_adds_weights(orders):
    """Eq. (4), orders left out included; sparse and dense tables are the same."""
    rng = np.random.default_rng(0)
    tables = random_tables(rng, 5, 3, orders)
    X = random_sequences(rng, 9, 5, "ABC")
    expected = [0.7 + score(x, tables, "ABC") for x in X]

    dense = OligomerWeights(tables, 0.7, alphabet="ABC")
    as_sparse = {k: sparse.coo_matrix(table) for k, table in tables.items()}
    thin = OligomerWeights(as_sparse, 0.7, alphabet="ABC")

    np.testing.assert_allclose(dense.decision_function(X), expected, rtol=1e-13)
    np.testing.assert_allclose(thin.decision_function(X), expected, rtol=1e-13)
    assert dense.max_order == max(orders)
    assert dense.sequence_length == 5


def test_weights_of_one_oligomer():
    """The column of its table; 0 where the order has none."""
    tables = random_tables(np.random.default_rng(0), 5, 2, (2,))
    weights = OligomerWeights(tables, alphabet="AB")

    np.testing.assert_array_equal(weights.weights_of("BA"), tables[2][:, 2])
    np.testing.assert_array_equal(weights.weights_of("A"), np.zeros(5))
    with pytest.raises(ValueError, match="at most 5"):
        weights.weights_of("AAAAAA")
    with pytest.raises(ValueError, match="'C' at position 1"):
        weights.weights_of("AC")


def test_tables_are_copied_and_survive_pickling():
    """What the user passed is not shared."""
    tables = {1: np.array([[1.0, 2.0]])}
    weights = OligomerWeights(tables, alphabet="AB")
    tables[1][0, 0] = 5

    restored = pickle.loads(pickle.dumps(weights))

    assert restored.decision_function(["A", "B"]).tolist() == [1, 2]
    assert repr(weights).startswith("OligomerWeights(sequence_length=1")


def test_unknown_letters_add_nothing():
    """The windows that hold them are left out."""
    tables = {1: np.ones((3, 2)), 2: np.ones((2, 4))}
    weights = OligomerWeights(tables, alphabet="AB", unknown="ignore")

    assert weights.decision_function(["ABA", "ANA", "BBN"]).tolist() == [5, 2, 3]
    with pytest.raises(ValueError, match="unknown='ignore'"):
        OligomerWeights(tables, alphabet="AB").decision_function(["ANA"])


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({}, says("`tables` … one table, got {}")),
        ({1: np.ones((3, 2)), 2: np.ones((3, 4))}, r"order 2 must have shape \(2, 4\)"),
        ({1: np.ones((3, 3))}, r"must have shape \(3, 2\)"),
        ({0: np.ones((3, 1))}, says("`order` … at least 1, got 0")),
        ({1: np.full((3, 2), np.nan)}, "NaN or infinity"),
        ({1: np.ones((3, 2), complex)}, says("order 1 … matrix of numbers")),
        ({1: np.ones((3, 2, 1))}, says("order 1 … matrix of numbers")),
        ({1: [["A", "B"]]}, says("order 1 … matrix of numbers")),
    ],
)
def test_bad_tables(tables, message):
    """Tables must fit one length and the alphabet."""
    with pytest.raises(ValueError, match=message):
        OligomerWeights(tables, alphabet="AB")


def test_tables_of_nothing():
    """No window has a weight: the score is the intercept."""
    tables = {1: np.zeros((3, 2)), 2: [[0, 0, 0, 1], [0, 0, 0, 0]]}
    weights = OligomerWeights(tables, 0.5, alphabet="AB")
    assert weights.decision_function(["ABA", "BBA"]).tolist() == [0.5, 1.5]


def test_large_intercepts():
    """A whole number of any size is a number; what no float holds is not finite."""
    tables = {1: [[1, 0]]}

    weights = OligomerWeights(tables, 10**30, alphabet="AB")

    assert weights.decision_function(["B"]).tolist() == [1e30]
    for intercept in (10**400, np.inf, np.nan, "1"):
        with pytest.raises(ValueError, match="`intercept` must be a finite number"):
            OligomerWeights(tables, intercept, alphabet="AB")


def test_nothing_is_modified():
    """The machine and the sequences stay as they are."""
    machine, X = fitted(SVC(), 3)
    before, sequences = pickle.dumps(machine), list(X)

    OligomerWeights.from_estimator(machine, X, degree=3)

    assert pickle.dumps(machine) == before
    assert sequences == X
