"""Backgrounds of sequences: certain, impossible, counted and bad ones."""

import numpy as np
import pytest
from literal_sequence import (
    all_sequences,
    chain_probability,
    importance,
    joint_probabilities,
    random_sequences,
    random_tables,
    score,
)
from messages import says
from sequence_chains import random_chain
from sklearn.base import clone

from skvarimp.sequence import (
    OligomerWeights,
    PositionalOligomerImportance,
    oligomer_frequencies,
)


def test_certain_and_impossible_oligomers():
    """p = 1: Q' = Q = 0. p = 0: Q = 0, Q' undefined. No warning, no infinity."""
    weights = OligomerWeights(
        random_tables(np.random.default_rng(2), 3, 2, (1, 2)), alphabet="AB"
    )
    p = np.array([[1.0, 0.0], [0.3, 0.7], [0.0, 1.0]])

    result = PositionalOligomerImportance(1, background=p).fit(weights)

    np.testing.assert_array_equal(result.importances_[[0, 2]], 0)
    np.testing.assert_array_equal(result.poim_[0], [0, np.nan])
    np.testing.assert_array_equal(result.poim_[2], [np.nan, 0])
    assert np.all(np.abs(result.importances_[1]) > 0)


@pytest.mark.parametrize("d", [0, 1])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_chains_with_impossible_steps_equal_enumeration(d, order):
    """B never follows A (d = 1), or never occurs at position 1 (d = 0)."""
    rng = np.random.default_rng(3)
    tables = random_tables(rng, 4, 2, (1, 2, 3))
    start, transitions = random_chain(rng, 2, 4, d, "per position")
    transitions[:] = [[1, 0], [0.4, 0.6]][-(d + 1) :] if d else [[0.5, 0.5]]
    if d == 0:
        transitions[1] = [[1, 0]]
    sequences = all_sequences("AB", 4)
    p = [chain_probability(x, "AB", start, transitions) for x in sequences]
    scores = [score(x, tables, "AB") for x in sequences]
    poim, firm, _ = importance(sequences, p, scores, "AB", order)
    joint = joint_probabilities(sequences, p, "AB", d + 1)

    result = PositionalOligomerImportance(order, markov_order=d, background=joint)
    result.fit(OligomerWeights(tables, alphabet="AB"))

    assert np.isnan(poim).any() == (d == 0 or order > 1)  # AB has probability 0
    np.testing.assert_allclose(result.poim_, poim, atol=1e-13)
    np.testing.assert_allclose(result.importances_, firm, atol=1e-13)


@pytest.mark.parametrize("d", [0, 1, 2])
def test_empirical_background_counts_oligomers(d):
    """Pooled frequencies of (d + 1)-mers, given or counted."""
    rng = np.random.default_rng(4)
    X = random_sequences(rng, 200, 6, "AABC")
    weights = OligomerWeights(random_tables(rng, 6, 3, (1, 2, 3)), alphabet="ABC")
    counted = PositionalOligomerImportance(2, markov_order=d, background="empirical")
    names = all_sequences("ABC", d + 1)
    windows = [x[i : i + d + 1] for x in X for i in range(6 - d)]
    frequencies = np.array([windows.count(z) for z in names]) / len(windows)

    given = clone(counted).set_params(background=frequencies).fit(weights)

    np.testing.assert_allclose(
        counted.fit(weights, X).importances_, given.importances_, atol=1e-13
    )
    np.testing.assert_allclose(
        oligomer_frequencies(X, d + 1, alphabet="ABC"), frequencies, rtol=1e-14
    )


def test_frequencies_per_position_are_a_consistent_background():
    """With and without pseudocount; they are the windows counted at each position."""
    X = random_sequences(np.random.default_rng(5), 30, 5, "AB")
    weights = OligomerWeights(
        random_tables(np.random.default_rng(6), 5, 2, (1, 2)), alphabet="AB"
    )

    for pseudocount in (0.0, 0.5):
        joint = oligomer_frequencies(
            X, 2, per_position=True, pseudocount=pseudocount, alphabet="AB"
        )
        result = PositionalOligomerImportance(2, markov_order=1, background=joint)
        np.testing.assert_allclose(
            result.fit(weights).probabilities_, joint, atol=1e-15
        )
        count = sum(x[2:4] == "BA" for x in X)
        assert joint[2, 2] == pytest.approx(
            (count + pseudocount) / (30 + 4 * pseudocount)
        )


def test_unknown_letters_are_not_counted():
    """A window with N is no window."""
    X = ["ANB", "AAB"]
    frequencies = oligomer_frequencies(X, 1, alphabet="AB", unknown="ignore")
    pairs = oligomer_frequencies(X, 2, alphabet="AB", unknown="ignore")

    np.testing.assert_allclose(frequencies, [3 / 5, 2 / 5])
    np.testing.assert_allclose(pairs, [1 / 2, 1 / 2, 0, 0])
    with pytest.raises(ValueError, match="no window of 2 known letters"):
        oligomer_frequencies(["ANB"], 2, alphabet="AB", unknown="ignore")
    with pytest.raises(ValueError, match="`pseudocount` must be non-negative"):
        oligomer_frequencies(X, 1, alphabet="AB", pseudocount=-1)
    with pytest.raises(ValueError, match=says("`order` … at most 3 … got 4")):
        oligomer_frequencies(["AAB"], 4, alphabet="AB")


@pytest.mark.parametrize(
    ("d", "background", "message"),
    [
        (0, [0.5, 0.6], says("`background` … got … 1.1 in row 0 … Divide")),
        (0, [1.5, -0.5], "non-negative"),
        (0, [np.nan, 1.0], "non-negative"),
        (0, [0.2, 0.3, 0.5], r"shape \(2,\) or \(4, 2\).*got \(3,\)"),
        (0, np.full((3, 2), 0.5), r"got \(3, 2\)"),
        (1, [0.5, 0.5], r"shape \(4,\) or \(3, 4\)"),
        (1, [[0.25] * 4, [0.4, 0.4, 0.1, 0.1], [0.25] * 4], "rows 0 and 1"),
        (
            1,
            [0.0, 1.0, 0.0, 0.0],
            says("`background` … 1 letters … position 1 … `pseudocount`"),
        ),
        (0, "random", "'uniform', 'empirical' or an array"),
        (0, ["A", "B"], says("`background` … array … got ['A', 'B']")),
        (0, "empirical", "needs X"),
        (4, "uniform", says("`markov_order` … less than 4 … got 4")),
    ],
)
def test_bad_backgrounds(d, background, message):
    """Probabilities must be some, and agree with each other."""
    weights = OligomerWeights({1: np.ones((4, 2))}, alphabet="AB")
    with pytest.raises(ValueError, match=message):
        PositionalOligomerImportance(1, markov_order=d, background=background).fit(
            weights
        )
