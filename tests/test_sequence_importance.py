"""Importances of oligomers equal enumeration of every sequence; then theorems."""

import functools
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from literal_sequence import (
    all_sequences,
    chain_probability,
    importance,
    joint_probabilities,
    random_sequences,
    random_tables,
    score,
)
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from skvarimp.sequence import (
    OligomerVectorizer,
    OligomerWeights,
    PositionalOligomerImportance,
    oligomer_frequencies,
    weighted_degree_kernel,
)

LETTERS = "ACGT"


def random_chain(rng, n_letters, length, d, kind):
    """Start and transitions of a chain of order d."""
    contexts = n_letters**d
    if kind == "uniform":
        return np.full(contexts, 1 / contexts), np.full(
            (length - d, contexts, n_letters), 1 / n_letters
        )
    start = rng.dirichlet(np.ones(contexts))
    if kind == "per position":
        return start, rng.dirichlet(np.ones(n_letters), size=(length - d, contexts))
    same = rng.dirichlet(np.ones(n_letters), size=contexts)
    return start, np.broadcast_to(same, (length - d, contexts, n_letters))


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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [0, 1, 2, 3])
@pytest.mark.parametrize("orders", [(1, 2, 3, 4, 5, 6), (2,), (1, 4), (6,)], ids=str)
@pytest.mark.parametrize("order", [1, 2, 3, 6])
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


# Properties


weights_strategy = st.integers(0, 10_000)


@settings(max_examples=25, deadline=None)
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


# Oligomers that always or never occur


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


# Backgrounds


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
    with pytest.raises(ValueError, match="`order` must be at most 3"):
        oligomer_frequencies(["AAB"], 4, alphabet="AB")


@pytest.mark.parametrize(
    ("d", "background", "message"),
    [
        (0, [0.5, 0.6], "sum to 1, got a sum of 1.1 in row 0"),
        (0, [1.5, -0.5], "non-negative"),
        (0, [np.nan, 1.0], "non-negative"),
        (0, [0.2, 0.3, 0.5], r"shape \(2,\) or \(4, 2\).*got \(3,\)"),
        (0, np.full((3, 2), 0.5), r"got \(3, 2\)"),
        (1, [0.5, 0.5], r"shape \(4,\) or \(3, 4\)"),
        (1, [[0.25] * 4, [0.4, 0.4, 0.1, 0.1], [0.25] * 4], "rows 0 and 1"),
        (1, [0.0, 1.0, 0.0, 0.0], "no next letter after 1 letters.*position 1"),
        (0, "random", "'uniform', 'empirical' or an array"),
        (0, "empirical", "needs X"),
        (4, "uniform", "`markov_order` must be less than 4"),
    ],
)
def test_bad_backgrounds(d, background, message):
    """Probabilities must be some, and agree with each other."""
    weights = OligomerWeights({1: np.ones((4, 2))}, alphabet="AB")
    with pytest.raises(ValueError, match=message):
        PositionalOligomerImportance(1, markov_order=d, background=background).fit(
            weights
        )


# The estimator


def fitted(order=2, **parameters):
    """Importances of random weights of orders 1 to 3 on six letters of DNA."""
    weights = OligomerWeights(random_tables(np.random.default_rng(7), 6, 4, (1, 2, 3)))
    return PositionalOligomerImportance(order, **parameters).fit(weights)


def test_columns_are_in_product_order_and_scores_are_columns():
    """Names, one column, the frame."""
    result = fitted()

    assert result.oligomers_.tolist() == all_sequences(LETTERS, 2)
    assert result.importances_.shape == result.poim_.shape == (5, 16)
    np.testing.assert_array_equal(result.score_of("GA"), result.importances_[:, 8])
    np.testing.assert_array_equal(result.score_of("ga"), result.importances_[:, 8])
    frame = result.to_frame()
    assert list(frame.columns) == ["position", "oligomer", "importance"]
    assert len(frame) == 80
    assert frame["importance"].abs().is_monotonic_decreasing
    for row in frame.itertuples():
        column = result.oligomers_.tolist().index(row.oligomer)
        assert row.importance == result.importances_[row.position, column]


@pytest.mark.parametrize("d", [0, 1])
def test_max_by_order(d):
    """Each row is the maximum over a fit of that order."""
    result = fitted(markov_order=d)

    largest = result.max_by_order(4)

    assert largest.shape == (4, 6)
    for order in range(1, 5):
        importances = fitted(order, markov_order=d).importances_
        np.testing.assert_allclose(
            largest[order - 1, : 7 - order], np.abs(importances).max(axis=1)
        )
        assert np.isnan(largest[order - 1, 7 - order :]).all()
    with pytest.raises(ValueError, match="`max_order` must be at most 6"):
        result.max_by_order(7)


def test_fits_models_directly():
    """A pipeline, and an SVM whose kernel names its parameters."""
    rng = np.random.default_rng(8)
    X = random_sequences(rng, 60, 8)
    y = [x[2:4] == "GA" or x[3] == "A" for x in X]
    pipeline = make_pipeline(OligomerVectorizer(2), LinearSVC()).fit(X, y)
    named = functools.partial(weighted_degree_kernel, degree=2, shift=1)
    machine = SVC(kernel=named).fit(X, y)

    for model, training in ((pipeline, None), (machine, X)):
        direct = PositionalOligomerImportance(2).fit(model, training)
        weights = OligomerWeights.from_estimator(model, training)
        again = PositionalOligomerImportance(2).fit(weights)
        np.testing.assert_array_equal(direct.importances_, again.importances_)
        assert direct.score_of("GA").argmax() == 2
    precomputed = SVC(kernel="precomputed").fit(named(X), y)
    with pytest.raises(ValueError, match=r"OligomerWeights\.from_estimator"):
        PositionalOligomerImportance(2).fit(precomputed, X)


def test_finds_a_mutated_motif_that_its_own_weight_misses():
    """Section 3.3 in small: GATTACA around position 15, one letter redrawn."""
    rng = np.random.default_rng(0)
    X = random_sequences(rng, 800, 37)
    for i, start in enumerate(np.rint(rng.normal(15, 3, size=400)).astype(int)):
        motif = list("GATTACA")
        motif[rng.integers(7)] = LETTERS[rng.integers(4)]
        X[i] = X[i][:start] + "".join(motif) + X[i][start + 7 :]
    y = np.repeat([1, -1], 400)
    parameters = {"degree": 7, "shift": 3}
    gram = weighted_degree_kernel(X, **parameters)
    machine = SVC(kernel="precomputed", C=100).fit(gram, y)

    weights = OligomerWeights.from_estimator(machine, X, **parameters)
    result = PositionalOligomerImportance(7).fit(weights)

    def ranks(table, exact):
        return 1 + (table[12:19] > exact[12:19, np.newaxis]).sum(axis=1)

    by_importance = ranks(result.importances_, result.score_of("GATTACA"))
    by_weight = ranks(weights.tables[7].toarray(), weights.weights_of("GATTACA"))
    assert np.median(by_importance) <= 5
    assert by_importance.max() < 20 < by_weight.max()
    profile = result.motif_profile("GATTACA")
    band = profile.irrelevant_mean + profile.irrelevant_std
    assert np.all(profile.one_replaced[12:19] > band[12:19])


def test_bad_orders_and_oligomers():
    """Orders that do not fit, oligomers of another length or alphabet."""
    with pytest.raises(ValueError, match="`order` must be at most 6"):
        fitted(7)
    with pytest.raises(ValueError, match="'order' parameter"):
        fitted(0)
    with pytest.raises(ValueError, match="'markov_order' parameter"):
        fitted(markov_order=-1)
    result = fitted()
    with pytest.raises(ValueError, match=r"must have 2 letters.*order=3"):
        result.score_of("GAT")
    with pytest.raises(ValueError, match="'U' at position 1"):
        result.score_of("GU")
    with pytest.raises(TypeError, match="`oligomer` must be a string"):
        result.score_of(3)
    with pytest.raises(TypeError, match="needs a Pipeline"):
        PositionalOligomerImportance(2).fit(lambda X: X)
    weights = result.weights_
    with pytest.raises(ValueError, match="7 letters, but 6 are expected"):
        PositionalOligomerImportance(1).fit(weights, ["ACGTACG"])
    for call in ("to_frame", "plot", "oligomers_"):
        with pytest.raises(NotFittedError):
            getattr(PositionalOligomerImportance(2), call)()


def test_clone_pickle_repr_and_refit():
    """An estimator like any other."""
    result = fitted(background=np.full(4, 0.25))

    restored = pickle.loads(pickle.dumps(result))
    again = clone(result).fit(result.weights_)

    np.testing.assert_array_equal(restored.importances_, result.importances_)
    np.testing.assert_array_equal(restored.max_by_order(2), result.max_by_order(2))
    np.testing.assert_array_equal(again.importances_, result.importances_)
    assert repr(result).startswith("PositionalOligomerImportance(")
    assert result.set_params(order=1).fit(result.weights_).importances_.shape == (6, 4)


def test_motif_profile_is_means_over_hamming_classes():
    """By counting replaced letters of every oligomer."""
    result = fitted(3)
    names = result.oligomers_.tolist()
    replaced = np.array([sum(a != b for a, b in zip(z, "GAT")) for z in names])

    profile = result.motif_profile("GAT")

    values = result.importances_
    assert profile.quantity == "importance"
    np.testing.assert_array_equal(profile.exact, values[:, names.index("GAT")])
    np.testing.assert_allclose(
        profile.one_replaced, values[:, replaced == 1].mean(axis=1)
    )
    np.testing.assert_allclose(
        profile.two_replaced, values[:, replaced == 2].mean(axis=1)
    )
    far = values[:, replaced == 3]
    np.testing.assert_allclose(profile.irrelevant_mean, far.mean(axis=1))
    np.testing.assert_allclose(profile.irrelevant_std, far.std(axis=1))
    weights = result.weights_.motif_profile("GAT")
    assert weights.quantity == "weight"
    np.testing.assert_array_equal(weights.exact, result.weights_.weights_of("GAT"))
    np.testing.assert_array_equal(result.weights_.motif_profile("GATT").exact, 0)


def test_inputs_are_not_modified():
    """Background, sequences and weights."""
    background = np.full(4, 0.25)
    X = pd.Series(random_sequences(np.random.default_rng(9), 5, 6))
    weights = fitted().weights_
    before, sequences = pickle.dumps(weights), X.copy()

    PositionalOligomerImportance(2, background=background).fit(weights, X)

    assert pickle.dumps(weights) == before
    pd.testing.assert_series_equal(X, sequences)
    np.testing.assert_array_equal(background, 0.25)
