"""Positional oligomer importance: against enumeration of all sequences, theorems."""

import numpy as np
import pytest
from combinations import pairwise
from hypothesis import given, settings
from hypothesis import strategies as st
from literal_sequence import (
    all_sequences,
    chain_probability,
    importance,
    joint_probabilities,
    random_tables,
    score,
)
from messages import says
from scipy import sparse
from sequence_chains import LETTERS, random_chain

from skvarimp.sequence import OligomerWeights, PositionalOligomerImportance


def check_enumeration(alphabet, length, d, kind, orders, order, seed=0):
    """Compare poim_, importances_, probabilities_ and expected_score_."""
    rng = np.random.default_rng(seed)
    start, transitions = random_chain(rng, len(alphabet), length, d, kind)
    tables = random_tables(rng, length, len(alphabet), orders)
    sequences = all_sequences(alphabet, length)
    p = [chain_probability(x, alphabet, start, transitions) for x in sequences]
    scores = [score(x, tables, alphabet) for x in sequences]
    poim, firm, probabilities = importance(sequences, p, scores, alphabet, order)
    background = {
        "uniform": "uniform",
        # the first row of a chain with the same conditionals everywhere
        "homogeneous": (start[:, np.newaxis] * transitions[0]).ravel(),
        "per position": joint_probabilities(sequences, p, alphabet, d + 1),
    }[kind]

    result = PositionalOligomerImportance(
        order, markov_order=d, background=background
    ).fit(OligomerWeights(tables, 0.5, alphabet=alphabet))

    np.testing.assert_allclose(
        result.poim_, poim, rtol=0, atol=1e-12 * np.abs(poim).max()
    )
    np.testing.assert_allclose(
        result.importances_, firm, rtol=0, atol=1e-12 * np.abs(firm).max()
    )
    np.testing.assert_allclose(result.probabilities_, probabilities, atol=1e-14)
    assert result.expected_score_ == pytest.approx(0.5 + np.dot(p, scores), abs=1e-12)


KINDS = ["uniform", "homogeneous", "per position"]


@pytest.mark.parametrize(
    ("kind", "d", "orders", "order"),
    pairwise(
        KINDS, [0, 1, 2, 3], [(1, 2, 3, 4, 5, 6), (2,), (1, 4), (6,)], [1, 2, 3, 6]
    ),
    ids=str,
)
def test_two_letters_of_length_six(kind, d, orders, order):
    """Orders below and above those of the weights and of the chain's memory."""
    check_enumeration("AB", 6, d, kind, orders, order)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [0, 1])
@pytest.mark.parametrize(
    ("length", "orders", "order"),
    [(4, (1, 2, 3), 2), (4, (3, 4), 1), (4, (1, 2), 4), (5, (1, 2, 3), 3)],
)
def test_four_letters(kind, d, length, orders, order):
    """DNA."""
    check_enumeration(LETTERS, length, d, kind, orders, order)


def test_four_letters_of_length_six():
    """4 096 sequences, first-order Markov per position."""
    check_enumeration(LETTERS, 6, 1, "per position", (1, 3), 2)


@pytest.mark.parametrize("length", [1, 2, 3])
def test_shortest_sequences(length):
    """One window only, the longest memory, the longest oligomer."""
    for d in range(length):
        check_enumeration("AB", length, d, "per position", (length,), length)
        check_enumeration("AB", length, d, "per position", (1,), 1)


def test_three_letters_by_hand():
    """Uniform DNA, weight 1 on GAT in front.

    Q'(GAT, 0) = 1 - 1/64, Q = sd of the indicator = sqrt(63) / 64; GAT at 1 rules it
    out at 0, Q' = -1/64;
    Q'(GA, 0) = Q'(AT, 1) = 1/4 - 1/64; Q'(AA, 0) = -1/64;
    Q'(TC, 2) = 1/16 - 1/64, as T completes GAT where GA came before.
    """
    table = np.zeros((2, 64))
    table[0, all_sequences(LETTERS, 3).index("GAT")] = 1
    weights = OligomerWeights({3: table})

    whole = PositionalOligomerImportance(3).fit(weights)
    part = PositionalOligomerImportance(2).fit(weights)

    np.testing.assert_allclose(
        whole.score_of("GAT"), [63**0.5 / 64, -(63**-0.5) / 64], atol=1e-15
    )
    names = part.oligomers_.tolist()
    poim = {z: part.poim_[:, names.index(z)] for z in ("GA", "AT", "AA", "TC")}
    assert poim["GA"][0] == pytest.approx(15 / 64, abs=1e-15)
    assert poim["AT"][1] == pytest.approx(15 / 64, abs=1e-15)
    assert poim["AA"][0] == pytest.approx(-1 / 64, abs=1e-15)
    assert poim["TC"][2] == pytest.approx(3 / 64, abs=1e-15)
    assert part.expected_score_ == pytest.approx(1 / 64, abs=1e-15)


weights_strategy = st.integers(0, 10_000)


@settings(max_examples=25)
@given(seed=weights_strategy, d=st.integers(0, 2), order=st.integers(1, 5))
def test_theorems(seed, d, order):
    """Each holds for every score and every background."""
    rng = np.random.default_rng(seed)
    length, n_letters = 5, 3
    tables = random_tables(rng, length, n_letters, (1, 2, 4))
    start, transitions = random_chain(rng, n_letters, length, d, "per position")
    sequences = all_sequences("ABC", length)
    p = [chain_probability(x, "ABC", start, transitions) for x in sequences]
    joint = joint_probabilities(sequences, p, "ABC", d + 1)

    def fit(tables, intercept=0.0, order=order):
        weights = OligomerWeights(tables, intercept, alphabet="ABC")
        return PositionalOligomerImportance(
            order, markov_order=d, background=joint
        ).fit(weights)

    result = fit(tables)

    # Deviations from a mean have mean 0.
    means = (result.probabilities_ * result.poim_).sum(axis=1)
    np.testing.assert_allclose(means, 0, atol=1e-12)
    # The importance is linear in the score, and a constant does not move.
    twice = fit({k: -2 * t for k, t in tables.items()}, intercept=7)
    np.testing.assert_allclose(twice.importances_, -2 * result.importances_, atol=1e-12)
    # Q = Q' sqrt(p / (1 - p)).
    odds = result.probabilities_ / (1 - result.probabilities_)
    np.testing.assert_allclose(
        result.importances_, result.poim_ * np.sqrt(odds), atol=1e-13
    )
    # A shorter oligomer is the mean over its continuations.
    if order > 1:
        shorter = fit(tables, order=order - 1)
        weighted = (result.probabilities_ * result.poim_).reshape(
            len(result.poim_), -1, n_letters
        )
        np.testing.assert_allclose(
            (shorter.probabilities_ * shorter.poim_)[:-1],
            weighted.sum(axis=2),
            atol=1e-13,
        )


def test_independent_letters_are_chains_of_any_order():
    """A product distribution given as joint probabilities of 2 or 3 letters."""
    rng = np.random.default_rng(0)
    weights = OligomerWeights(random_tables(rng, 6, 4, (1, 2, 3, 5)))
    p = rng.dirichlet(np.ones(4), size=6)
    expected = PositionalOligomerImportance(2, background=p).fit(weights).importances_
    pairs = np.einsum("ia,ib->iab", p[:-1], p[1:]).reshape(5, -1)
    triples = np.einsum("ia,ib,ic->iabc", p[:-2], p[1:-1], p[2:]).reshape(4, -1)

    for d, joint in ((1, pairs), (2, triples)):
        result = PositionalOligomerImportance(2, markov_order=d, background=joint)
        np.testing.assert_allclose(
            result.fit(weights).importances_, expected, atol=1e-13
        )


def test_reading_backwards_mirrors_everything():
    """Reversed tables give reversed importances (uniform background)."""
    rng = np.random.default_rng(1)
    tables = random_tables(rng, 6, 2, (1, 2, 4))

    def mirror(table, k):
        letters = tuple(range(k, 0, -1))
        return (
            table[::-1]
            .reshape(-1, *[2] * k)
            .transpose(0, *letters)
            .reshape(table.shape)
        )

    forward = PositionalOligomerImportance(3).fit(
        OligomerWeights(tables, alphabet="AB")
    )
    backward = PositionalOligomerImportance(3).fit(
        OligomerWeights({k: mirror(t, k) for k, t in tables.items()}, alphabet="AB")
    )

    np.testing.assert_allclose(
        backward.importances_, mirror(forward.importances_, 3), atol=1e-13
    )


def test_weights_of_high_order_stay_sparse():
    """4 ** 20 oligomers of order 20, two of them with a weight; by hand.

    Weight 1 on a 20-mer that starts with GATTACA at 3: Q' of GATTACA there is
    4^-13 - 4^-20, and of its last letter 4^-19 - 4^-20.
    """
    oligomer = "GATTACA" + "C" * 13
    code = int("".join(str(LETTERS.index(a)) for a in oligomer), 4)
    table = sparse.coo_array(([1.0, 0.0], ([3, 5], [code, 7])), shape=(11, 4**20))
    weights = OligomerWeights({20: table})

    for d in (0, 1, 2):
        result = PositionalOligomerImportance(7, markov_order=d).fit(weights)
        column = result.oligomers_.tolist().index("GATTACA")
        assert result.poim_[3, column] == pytest.approx(4.0**-13 - 4.0**-20, rel=1e-9)
        last = PositionalOligomerImportance(1, markov_order=d).fit(weights)
        assert last.poim_[22, 1] == pytest.approx(4.0**-19 - 4.0**-20, rel=1e-9)
        assert last.poim_[23, 1] == pytest.approx(0, abs=1e-25)


def test_fitted_state_does_not_read_parameters():
    """`set_params(order=2)` after `fit` relabels nothing; only a new fit does."""
    weights = OligomerWeights({2: [[0, 1, 0, 0], [2, 0, 0, 1]]}, alphabet="AB")
    fitted = PositionalOligomerImportance(order=1).fit(weights)
    before, frame = fitted.max_by_order(2), fitted.to_frame()
    fitted.set_params(order=2)
    assert fitted.oligomers_.tolist() == ["A", "B"]
    assert fitted.score_of("A").tolist() == fitted.importances_[:, 0].tolist()
    assert fitted.to_frame().equals(frame)
    np.testing.assert_array_equal(fitted.max_by_order(2), before)
    with pytest.raises(
        ValueError, match=says("`oligomer` … 1 letters … got 'AB' … order=2")
    ):
        fitted.score_of("AB")
