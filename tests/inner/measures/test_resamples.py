"""Samples of rows, and means and areas of shuffled tables in all of them at once."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from skvarimp._data.statistics import Units
from skvarimp._measures.scorers.resamples import (
    N_PAIRS,
    AllRows,
    UnitsLess,
    Weighting,
    opposite_samples,
    orders,
)
from skvarimp._measures.scorers.sample_scores import OF_TIMES

N, N_REPEATS, N_SAMPLES = 40, 3, 5
RANDOM = np.random.RandomState(0)
WEIGHTS = RANDOM.uniform(0.3, 2.0, N)
WEIGHTS *= N / WEIGHTS.sum()
COUNTS = RANDOM.choice([1, 3], (N, N_SAMPLES)).astype(np.uint8)
DONORS = RANDOM.randint(0, N, (N_REPEATS, N))
WEIGHTING = Weighting(COUNTS, DONORS, WEIGHTS)


def weights_of(repeat, sample):
    """A row counts as often as the sample counts it and its donor."""
    counts = 1.0 * COUNTS[:, sample]
    return WEIGHTS * (counts + counts[DONORS[repeat]])


def of_each(score):
    """A score of each repeat and sample, (n_repeats, n_samples)."""
    samples = range(N_SAMPLES)
    return [[score(r, weights_of(r, s)) for s in samples] for r in range(N_REPEATS)]


def test_means_of_shuffled_tables():
    """Of values of rows, and of values of each repeat."""
    values = RANDOM.randn(2, N_REPEATS, N)
    found = WEIGHTING.mean(values)
    assert found.shape == (2, N_REPEATS, N_SAMPLES)
    for of_found, of_values in zip(found, values):
        expected = of_each(lambda r, w, of=of_values: np.average(of[r], weights=w))
        np.testing.assert_allclose(of_found, expected, rtol=1e-12, atol=1e-14)
    found = WEIGHTING.mean(values[0, 0])
    expected = of_each(lambda r, w: np.average(values[0, 0], weights=w))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    alone = AllRows(WEIGHTS).mean(values)
    np.testing.assert_allclose(alone, values @ WEIGHTS / N, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("some", [None, slice(5, 31)])
@pytest.mark.parametrize("score", [roc_auc_score, average_precision_score])
def test_areas_of_shuffled_tables(compiled, score, some):
    """By scikit-learn; a fourth of the scores are tied."""
    precision = score is average_precision_score
    scores = np.round(RANDOM.randn(2, N_REPEATS, N), 1)
    positive = scores.mean(axis=(0, 1)) + 0.5 * RANDOM.randn(N) > 0
    rows = np.arange(N) if some is None else RANDOM.permutation(N)[some]
    found = WEIGHTING.areas(positive, scores, precision, None if some is None else rows)
    assert found.shape == (3, 2, N_REPEATS, N_SAMPLES)
    for e in range(2):
        sums, P, N_of = found[:, e]
        of_positive = of_each(lambda r, w: w[rows][positive[rows]].sum())
        np.testing.assert_allclose(P, of_positive, rtol=1e-12)
        of_others = of_each(lambda r, w: w[rows][~positive[rows]].sum())
        np.testing.assert_allclose(N_of, of_others, rtol=1e-12)

        def plain(r, w, scores=scores[e]):
            return score(positive[rows], scores[r, rows], sample_weight=w[rows])

        area = sums / P if precision else sums / (P * N_of)
        np.testing.assert_allclose(area, of_each(plain), rtol=1e-11)


@pytest.mark.parametrize("labels", [None, np.arange(41) // 3])
def test_opposite_samples_count_halves_three_times(labels):
    """Of 41 rows 20, or of 14 groups 7; the opposite counts the others."""
    counts = np.hstack(list(opposite_samples(Units.of(np.full(41, 1 / 41), labels))))
    assert counts.shape == (41, 2 * N_PAIRS)
    groups, n_half = (np.arange(41), 20) if labels is None else (labels, 7)
    assert set(np.unique(counts)) == {1, 3}
    np.testing.assert_array_equal(counts[:, ::2] + counts[:, 1::2], 4)
    _, first = np.unique(groups, return_index=True)
    np.testing.assert_array_equal(counts, counts[first][groups])
    assert np.all((counts[first, ::2] == 3).sum(axis=0) == n_half)
    # each unit is in about half of the random halves: six standard errors
    share = (counts[first, ::2] == 3).mean(axis=1)
    assert np.all(np.abs(share - n_half / len(first)) < 6 * 0.5 / np.sqrt(N_PAIRS))


def test_orders_are_the_linear_and_the_quadratic_part():
    """Of c + L / 4 + Q / 16, where the opposite sample has -L and Q."""
    signs = RANDOM.choice([-1.0, 1.0], (6, 10))
    a, A = RANDOM.randn(6), RANDOM.randn(6, 6)
    L, Q = a @ signs, np.einsum("is,ij,js->s", signs, A, signs)
    lost = np.empty((2, 20))
    lost[:, ::2] = 5.0 + L / 4 + Q / 16
    lost[:, 1::2] = 5.0 - L / 4 + Q / 16
    linear, quadratic = orders(lost)
    np.testing.assert_allclose(linear, [L, L], rtol=1e-12, atol=1e-13)
    # the constant c stays in Q, 16 times
    np.testing.assert_allclose(quadratic, [Q + 80.0] * 2, rtol=1e-12)


@pytest.mark.parametrize("labels", [None, RANDOM.randint(0, 9, N)])
def test_a_unit_less_shows_its_influence_on_a_mean(labels):
    """Rows that are their own donors move a mean as row and as donor: twice."""
    units = Units.of(WEIGHTS / N, labels)
    samples, values = UnitsLess(units), RANDOM.randn(N)
    counts = np.hstack(samples.counts).astype(float)
    groups = (
        np.arange(N) if labels is None else np.unique(labels, return_inverse=True)[1]
    )
    n = groups.max() + 1
    assert counts.shape == (N, n + 1)
    np.testing.assert_array_equal(counts[:, 0], 3)
    np.testing.assert_array_equal(
        counts[:, 1:], 3 - 2 * np.equal.outer(groups, np.arange(n))
    )
    lost = np.average(
        np.tile(values, (n + 1, 1)), weights=(WEIGHTS[:, np.newaxis] * counts).T, axis=1
    )
    of_units, of_pairs = samples.deviations(lost[np.newaxis])
    influence = WEIGHTS / N * (values - np.average(values, weights=WEIGHTS))
    expected = 2 * np.sqrt(n) * np.bincount(groups, influence)
    np.testing.assert_allclose(of_units[0], expected, rtol=1e-10, atol=1e-13)
    assert not of_pairs.any()


@pytest.mark.parametrize("sign", [1, -1])
def test_concordance_is_a_share_of_pairs(sign):
    """By a double loop: events before others, and before those censored at their time.

    Scores 1e-9 apart are equal, and count half.
    """
    event, time = RANDOM.rand(N) < 0.6, RANDOM.randint(0, 12, N).astype(float)
    y = np.rec.fromarrays([event, time], names="died,days").view(np.ndarray)
    f = np.round(RANDOM.randn(2, N_REPEATS, N), 1) + 1e-9 * RANDOM.rand(N)
    found = OF_TIMES["concordance of risks" if sign == 1 else "concordance of times"](
        y, f, WEIGHTING
    )
    assert found.shape == (2, N_REPEATS, N_SAMPLES)
    later = time[np.newaxis] > time[:, np.newaxis]
    at_once = (time[np.newaxis] == time[:, np.newaxis]) & ~event
    pairs = event[:, np.newaxis] & (later | at_once)
    for of_found, scores in zip(found, np.round(f, 1)):

        def plain(r, w, scores=scores):
            gap = sign * (scores[r][:, np.newaxis] - scores[r])
            right = np.where(gap > 0, 1.0, np.where(gap == 0, 0.5, 0.0))
            of_pairs = pairs * np.outer(w, w)
            return np.sum(of_pairs * right) / np.sum(of_pairs)

        np.testing.assert_allclose(of_found, of_each(plain), rtol=1e-11)
