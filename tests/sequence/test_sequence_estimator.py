"""PositionalOligomerImportance as an estimator, and motif profiles."""

import functools
import pickle

import numpy as np
import pandas as pd
import pytest
from literal_sequence import all_sequences, random_sequences, random_tables
from messages import says
from sequence_chains import LETTERS
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from skvarimp.sequence import (
    OligomerVectorizer,
    OligomerWeights,
    PositionalOligomerImportance,
    weighted_degree_kernel,
)


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
    with pytest.raises(ValueError, match=says("`max_order` … at most 6 … got 7")):
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
    with pytest.raises(ValueError, match=says("`order` … at most 6 … got 7")):
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
    with pytest.raises(TypeError, match=says("`oligomer` … string, got 3")):
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
