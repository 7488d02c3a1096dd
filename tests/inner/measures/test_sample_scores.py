"""Formulas of scores of many samples, one sample at a time by scikit-learn."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn import metrics

from skvarimp._data.statistics import Units
from skvarimp._measures.scorers.resamples import Weighting, opposite_samples
from skvarimp._measures.scorers.sample_scores import (
    N_TRIED,
    OF_CLASSES,
    OF_PREDICTIONS,
    ByScorer,
    _balanced_accuracy,
    _concordance,
    _mean_of_classes,
    _ratio,
)
from skvarimp._measures.scorers.score_drop import _add_error

RANDOM = np.random.RandomState(0)
WEIGHTS = RANDOM.uniform(0.2, 2.0, (30, 4))  # of 30 rows in 4 samples
SAMPLES = SimpleNamespace(
    mean=lambda values: np.atleast_2d(values) @ WEIGHTS / WEIGHTS.sum(axis=0)
)
SCORES = {
    "f1": metrics.f1_score,
    "precision": metrics.precision_score,
    "recall": metrics.recall_score,
}


def each_sample(score, y, called, **options):
    """The score of each sample by scikit-learn."""
    return [score(y, called, sample_weight=w, **options) for w in WEIGHTS.T]


@pytest.mark.parametrize("average", ["binary", "micro", "macro", "weighted"])
@pytest.mark.parametrize("kind", list(SCORES))
def test_ratios_of_classes(kind, average):
    """Label 3 is never called; label 4 occurs neither in y nor in what is called."""
    binary = average == "binary"
    y = RANDOM.randint(0, 2 if binary else 4, 30)
    called = np.where(RANDOM.rand(30) < 0.5, np.minimum(y, 2), RANDOM.randint(0, 2, 30))
    if not binary:
        y, called = np.where(y == 3, 5, y), np.where(called == 3, 5, called)
    found = _ratio(kind, average)(y, called[np.newaxis], SAMPLES)
    expected = each_sample(SCORES[kind], y, called, average=average, zero_division=0)
    np.testing.assert_allclose(np.ravel(found), expected, rtol=1e-13)


@pytest.mark.parametrize("average", ["micro", "macro", "weighted"])
@pytest.mark.parametrize("kind", list(SCORES))
def test_ratios_of_several_labels_for_a_row(kind, average):
    """The third label is in no row and called for none, but counts in a mean."""
    y, called = RANDOM.randint(0, 2, (2, 30, 3))
    y[:, 2] = called[:, 2] = 0
    found = _ratio(kind, average)(y, called[np.newaxis], SAMPLES)
    expected = each_sample(SCORES[kind], y, called, average=average, zero_division=0)
    np.testing.assert_allclose(np.ravel(found), expected, rtol=1e-13)


@pytest.mark.parametrize("n_columns", [1, 3])
@pytest.mark.parametrize("name", OF_PREDICTIONS)
def test_scores_of_predictions(name, n_columns):
    """By the scorer of that name, for several outputs of one y; columns come last."""
    scorer, shape = metrics.get_scorer(name), (30, n_columns)[: min(n_columns, 2)]
    y, *outputs = RANDOM.randint(0, 3, (3, *shape))
    if name != "accuracy":
        outputs = outputs + RANDOM.rand(2, *shape)
    elif n_columns > 1:
        y, outputs = 1 * (y > 0), 1 * (np.array(outputs) > 0)
    found = OF_PREDICTIONS[name](y, np.array(outputs), SAMPLES.mean)
    metric = partial(scorer._score_func, **scorer._kwargs)
    expected = [scorer._sign * np.array(each_sample(metric, y, f)) for f in outputs]
    np.testing.assert_allclose(found, expected, rtol=1e-11)


def test_balanced_accuracy():
    """The mean of the recalls of three classes."""
    y, called = RANDOM.randint(0, 3, (2, 30))
    found = _balanced_accuracy(y, called[np.newaxis], SAMPLES)
    expected = each_sample(metrics.balanced_accuracy_score, y, called)
    np.testing.assert_allclose(np.ravel(found), expected, rtol=1e-13)


def test_the_mean_of_classes_is_over_those_of_y():
    """Each class counts alike, however many rows it has."""
    y, f = np.array([0, 2, 2, 2]), np.array([[1.0, 5.0]])
    score = _mean_of_classes(lambda codes, f, weighting, c: (c + 1) * f)
    np.testing.assert_array_equal(score(y, f, None), [[2.0, 10.0]])


PROBABILITIES = {
    "average_precision": metrics.average_precision_score,
    "roc_auc": metrics.roc_auc_score,
    "neg_brier_score": lambda y, p, **kw: -metrics.brier_score_loss(y, p, **kw),
    "neg_log_loss": lambda y, p, **kw: -metrics.log_loss(y, p, **kw),
}


@pytest.mark.parametrize("name", PROBABILITIES)
def test_scores_of_probabilities(name):
    """Of two classes the second is taken; equal ones are among them."""
    y, weights = RANDOM.randint(0, 2, 30), WEIGHTS[:, 0]
    second = np.round(RANDOM.uniform(0.1, 0.9, (2, 3, 30)), 1)
    all_rows = np.ones((30, 1), dtype=np.uint8), np.tile(np.arange(30), (3, 1))
    weighting = Weighting(*all_rows, weights * (30 / weights.sum()))
    found = OF_CLASSES[name](y, np.stack([1 - second, second], -1), weighting)
    for at in np.ndindex(2, 3):
        expected = PROBABILITIES[name](y, second[at], sample_weight=weights)
        assert np.ravel(found[at]) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("sign", [1, -1])
def test_concordance_pair_by_pair(sign):
    """Of a row with an event and those of later times, or censored at its own."""
    y = np.zeros(30, dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = RANDOM.rand(30) < 0.6, np.round(6 * RANDOM.rand(30))
    f, counts = np.round(3 * RANDOM.randn(1, 30)), RANDOM.randint(0, 3, (30, 2))
    weighting = Weighting(counts.astype(np.uint8), np.arange(30)[None], np.ones(30))
    found = np.ravel(_concordance(y, f[0], weighting, sign))
    for sample, rows in enumerate(np.repeat(np.arange(30), c) for c in counts.T):
        right = pairs = 0.0
        for i in rows[y["event"][rows]]:
            for j in rows:
                later = y["time"][j] > y["time"][i]
                if later or (y["time"][j] == y["time"][i] and not y["event"][j]):
                    gap = sign * (f[0, i] - f[0, j])
                    right += 0.5 if gap == 0 else gap > 0
                    pairs += 1
        assert found[sample] == pytest.approx(right / pairs, rel=1e-12)


@pytest.mark.parametrize(("higher", "right"), [(4e-9, 0.5), (6e-9, 1.0)])
def test_risks_that_differ_in_the_ninth_decimal_are_equal(higher, right):
    """A pair of equal risks is half right."""
    y = np.array([(True, 1.0), (True, 2.0)], dtype=[("event", bool), ("time", float)])
    weighting = Weighting(np.ones((2, 1), np.uint8), np.arange(2)[None], np.ones(2))
    found = _concordance(y, np.array([higher, 0.0]), weighting, 1)
    assert np.ravel(found).tolist() == [right]


def test_deviations_of_samples_are_as_large_as_the_standard_error():
    """By hand: V1 + 2 V2 and V2 of eleven units in two groups of data sets."""
    deviations = np.random.RandomState(1).randn(2, 2, 11) * [[[3.0]], [[1.0]]]
    found = SimpleNamespace()
    _add_error(found, deviations)
    mean = deviations.mean(axis=1)
    between = deviations.var(axis=2, ddof=1).sum(axis=1) / 4
    rows, pairs = 2 * (mean.var(axis=1, ddof=1) - between)
    hidden = mean[0].var(ddof=1) / 4
    expected = np.sqrt(max(rows - pairs, rows / 2, hidden))
    assert found.standard_errors == pytest.approx(expected, rel=1e-12)
    (influences,) = found.influences
    assert influences.std(ddof=1) == pytest.approx(np.sqrt(11) * expected, rel=1e-12)
    assert np.corrcoef(influences, mean[0])[0, 1] == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("share", [0.1, 0.2, 0.8, 0.9])
@pytest.mark.parametrize("order", ["L", "Q"])
def test_a_score_that_jumps_as_rows_count_more_or_less(order, share):
    """Half as far from equal weights, L of a smooth score is a half and Q a quarter.

    Here L is that share of what it was, or L is a half, as it should be, and Q an
    eighth of it plus that share less a half of L / 4.
    """
    n = 20
    units = Units.of(np.full(n, 1 / n))
    counts = next(opposite_samples(units))[:, : 2 * N_TRIED].T
    signs = {tuple(of): (-1) ** s for s, of in enumerate(counts)}
    of_L, of_Q = (share, 0.25) if order == "L" else (0.5, 0.25 + (share - 0.5) / 2)

    def score(_outputs, _rows, times):
        if len(set(times)) == 1:
            return 7.0
        near = times.max() == 5
        sign = signs[tuple(times - 2 * near)]
        L, Q = (of_L, of_Q) if near else (1.0, 1.0)
        return 7.0 + sign * L / 4 + Q / 16

    scorer = SimpleNamespace(problem=SimpleNamespace(units=units))
    scored = SimpleNamespace(scorer=scorer, score=score)
    # the square of 1 - 2 of_L, or of 1 - 4 of_Q, is above a half
    assert ByScorer._jumps(scored, [None, None]) == (share in (0.1, 0.9))
