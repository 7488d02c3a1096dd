"""Importances for shuffled targets: the plain loop, p-values, strata, weights."""

import re
import warnings
from inspect import signature

import numpy as np
import pytest
from callback_recorder import Recorder
from messages import says
from refit_cases import FOREST, LABELS, LINEAR, OBSERVED, Slopes, X, Y, slopes, values
from scipy import stats
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import StratifiedKFold
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skvarimp
from skvarimp import (
    NullImportances,
    PermutationImportance,
    SensitivityImportance,
    importance_across_folds,
    null_importances,
)
from skvarimp.exceptions import ImportanceWarning


def test_null_is_the_plain_loop():
    """Each null importance is the measure on a model refitted to a shuffled y."""
    targets = []

    def record(estimator, X_seen, y):
        assert np.array_equal(X_seen, X)
        targets.append(y.copy())
        return np.abs(estimator.coef_)

    found = null_importances(
        LINEAR, X, Y, record, n_permutations=20, random_state=0, cv="all_rows"
    )
    assert np.array_equal(targets[0], Y)
    assert len(targets) == 21 == len({tuple(y) for y in targets})
    for y, importances in zip(targets, values(found)):
        assert np.array_equal(np.sort(y), np.sort(Y))
        expected = np.abs(LinearRegression().fit(X, y).coef_)
        np.testing.assert_allclose(importances, expected)
    # every row moves, to everywhere: mean of 20 random targets of each row
    assert np.abs(np.mean(targets[1:], axis=0) - Y.mean()).max() < 3 * Y.std()


def test_p_values_are_the_plain_loop():
    """Ties count; a feature that is always 0 has p = 1."""
    random = np.random.default_rng(0)
    null = np.round(random.exponential(size=(30, 4)), 1) * [1.0, 5.0, 0.0, 1.0]
    own = np.array([1.0, 40.0, 0.0, null[:, 3].max()])
    found = NullImportances(list("abcd"), own, null=null)
    both = np.vstack([own, null])
    sd = both.std(axis=0)
    standard = (both - both.mean(axis=0)) / np.where(sd > 0, sd, 1.0)
    for j in range(4):
        n = sum(null[b, j] >= own[j] for b in range(30))
        assert found.pvalues()[j] == (1 + n) / 31
        n = sum(max(standard[b + 1]) >= standard[0, j] for b in range(30))
        assert found.familywise_pvalues[j] == (1 + n) / 31
    assert found.pvalues()[1] == 1 / 31
    assert found.pvalues()[2] == found.familywise_pvalues[2] == 1.0
    assert found.pvalues()[3] >= 2 / 31
    assert np.all(found.familywise_pvalues >= found.pvalues() - 1e-12)


def test_ties_up_to_rounding():
    """The same sum in another order is the same importance."""
    own, same = np.array([0.1 + 0.2 + 0.3]), np.array([[0.3 + 0.2 + 0.1]])
    assert own[0] > same[0, 0]
    assert NullImportances(["a"], own, null=same).pvalues()[0] == 1.0
    assert NullImportances(["a"], -same[0], null=-own[:, None]).pvalues()[0] == 1.0


def noise_p_values(measure, n_data_sets, n_permutations, draw, **more):
    """Results of null_importances on columns and targets of pure noise."""
    results = []
    for seed in range(n_data_sets):
        random = np.random.default_rng([n_permutations, seed])
        Z, y = random.standard_normal((15, 2)), draw(random)
        given = dict(n_permutations=n_permutations, random_state=seed)
        given |= {"cv": "all_rows"} | more
        with warnings.catch_warnings():  # by chance some lie below their nulls
            warnings.simplefilter("ignore", ImportanceWarning)
            results.append(null_importances(Slopes(), Z, y, measure, **given))
    return results


def distance_from_uniform(p, n_permutations):
    """Kolmogorov's distance to the uniform law on multiples of 1 / (1 + B)."""
    steps = np.arange(n_permutations + 2) / (n_permutations + 1)
    at = np.union1d(p, steps)
    share = np.searchsorted(np.sort(p), at + 1e-9, side="right") / len(p)
    uniform = np.floor(at * (n_permutations + 1) + 1e-9) / (n_permutations + 1)
    return np.abs(share - uniform).max()


def normal(random):
    """A target that has nothing to do with anything."""
    return random.standard_normal(15)


def critical(n):
    """Kolmogorov's distance that one in a thousand uniform samples exceeds."""
    return stats.kstwobign.isf(1e-3) / np.sqrt(n)


@pytest.mark.thorough
@pytest.mark.parametrize("n_permutations", [4, 19])
def test_p_values_on_noise_are_uniform(n_permutations):
    """Of each feature, and of the smallest family-wise one; others are found out."""
    n = 400 if n_permutations == 4 else 150
    results = noise_p_values(slopes, n, n_permutations, normal)
    single = np.array([found.pvalues()[0] for found in results])
    assert distance_from_uniform(single, n_permutations) < critical(n)
    family = np.array([found.familywise_pvalues.min() for found in results])
    assert distance_from_uniform(family, n_permutations) < critical(n)
    # The smallest of several features is not uniform: this test has power,
    smallest = np.array([found.pvalues().min() for found in results])
    assert distance_from_uniform(smallest, n_permutations) > critical(n)
    if n_permutations == 4:  # and sees a p-value without the one for y itself.
        without = np.array(
            [np.mean(found.null[:, 0] >= found.importances[0]) for found in results]
        )
        assert distance_from_uniform(without, n_permutations) > critical(n)


def test_p_values_of_discrete_importances_are_never_too_small():
    """Ties: P(p <= a) <= a. Comparing with > instead would break it."""

    def coarse(estimator, X, y):
        return np.round(np.abs(estimator.coef_), 0)

    results = noise_p_values(coarse, 300, 4, normal)
    single = np.array([found.pvalues()[0] for found in results])
    strict = np.array(
        [(1 + np.sum(r.null[:, 0] > r.importances[0])) / 5 for r in results]
    )
    for level in (0.2, 0.4, 0.6, 0.8):
        error = 3 * np.sqrt(level * (1 - level) / 300)
        assert np.mean(single <= level + 1e-9) <= level + error
    assert np.mean(strict <= 0.2 + 1e-9) > 0.2 + 3 * np.sqrt(0.16 / 300)


@pytest.mark.thorough
def test_p_values_with_folds_strata_and_weights_are_uniform():
    """Splits are made anew, y is shuffled within centres, weights go along."""
    centre = np.arange(15) % 2

    def centred(random):
        return random.standard_normal(15) + 5.0 * centre

    results = noise_p_values(slopes, 250, 4, centred, strata=centre)
    single = np.array([found.pvalues()[0] for found in results])
    assert distance_from_uniform(single, 4) < critical(250)

    def error(estimator, X, y):
        without = estimator.predict(X)[:, np.newaxis] - X * estimator.coef_
        return ((without - y[:, np.newaxis]) ** 2).mean(axis=0)

    results = noise_p_values(error, 150, 4, normal, cv=3)
    single = np.array([found.pvalues()[1] for found in results])
    assert distance_from_uniform(single, 4) < critical(150)


@pytest.mark.parametrize("cv", [None, pytest.param(3, marks=pytest.mark.thorough)])
def test_signal_gets_the_smallest_possible_p_value(cv):
    """And noise beside it does not."""
    random = np.random.default_rng(0)
    Z = random.standard_normal((80, 5))
    y = Z @ [2.0, 0.0, -2.0, 0.0, 0.0] + random.standard_normal(80)
    found = null_importances(
        LINEAR, Z, y, PermutationImportance(), n_permutations=19, cv=cv, random_state=0
    )
    for p in (found.pvalues(), found.familywise_pvalues):
        assert np.all(p[[0, 2]] == 1 / 20)
        assert np.all(p[[1, 3, 4]] > 0.05)
    _, _, others = found.summary().partition("stand out")
    assert set(re.findall("x[0-9]", others)) == {"x1", "x3", "x4"}
    frame = found.to_frame()
    assert set(frame["feature"][:2]) == {"x0", "x2"}
    first = frame.set_index("feature").loc["x0"]
    np.testing.assert_allclose(first["null_mean"], found.null[:, 0].mean())
    np.testing.assert_allclose(first["null_sd"], found.null[:, 0].std())


def test_family_wise_p_values_do_not_depend_on_units():
    """A feature whose importance varies far more drowns no other."""
    random = np.random.default_rng(0)
    null = random.exponential(size=(99, 3))
    own = np.array([30.0, 1.0, 1.0])
    one = NullImportances(list("abc"), own, null=null).familywise_pvalues
    units = np.array([1.0, 2.0**60, 2.0**-60])
    other = NullImportances(
        list("abc"), own * units, null=null * units
    ).familywise_pvalues
    np.testing.assert_allclose(one, other)
    assert one[0] == 0.01


def test_weights_go_along_with_y_and_rows_without_weight_stay():
    """The pairs of target and weight are the same ones, on other rows."""
    weights = np.tile([0.0, 1.0, 2.0], 20)
    fits = []

    class Recorder(LinearRegression):
        def fit(self, X, y, sample_weight=None):
            fits.append((X[:, 0], y, sample_weight))
            return super().fit(X, y, sample_weight)

    null_importances(
        Recorder(), X, Y, slopes, n_permutations=5, sample_weight=weights, cv="all_rows"
    )
    for x, y, given in fits:
        assert np.array_equal(x, X[:, 0])
        assert sorted(zip(y, given)) == sorted(zip(Y, weights))
        assert np.array_equal(y[weights == 0], Y[weights == 0])
        assert np.all(given[weights == 0] == 0)
    assert not np.array_equal(fits[1][2], weights)
    # rows without weight do not exist: the same numbers as with another y there
    other = np.where(weights == 0, 1e3, Y)
    one, two = (
        null_importances(
            Ridge(),
            X,
            y,
            OBSERVED,
            n_permutations=3,
            sample_weight=weights,
            cv="all_rows",
            random_state=0,
        )
        for y in (Y, other)
    )
    np.testing.assert_allclose(values(one), values(two), rtol=1e-6)


def test_strata_of_two_rows_are_enough():
    """Each pair keeps its targets, exchanged in about half of all cases."""
    pairs, seen = np.arange(60) // 2, []

    def record(estimator, X, y):
        seen.append(y)
        return X[0]

    given = dict(n_permutations=4, strata=pairs, cv="all_rows", random_state=0)
    null_importances(LINEAR, X, Y, record, **given)
    exchanged = np.array(seen[1:]).reshape(4, 30, 2)
    kept = Y.reshape(30, 2)
    same = np.all(exchanged == kept, axis=2)
    assert np.all(same | np.all(exchanged == kept[:, ::-1], axis=2))
    assert 20 < same.sum() < 100  # of 120: seven standard deviations from 60


def test_strata_and_splits_of_shuffled_targets():
    """Targets stay in their stratum; each shuffled y is stratified anew."""
    centre = np.repeat(["a", "b", "c"], 20)
    seen = []

    def record(estimator, X, y):
        seen.append(y)
        return X[0]

    null_importances(
        LINEAR, X, Y, record, n_permutations=6, strata=centre, cv="all_rows"
    )
    for y in seen:
        for label in "abc":
            inside = centre == label
            assert np.array_equal(np.sort(y[inside]), np.sort(Y[inside]))
    seen.clear()
    null_importances(
        LogisticRegression(), X, LABELS, record, n_permutations=6, cv=StratifiedKFold(4)
    )
    assert len(seen) == 7 * 4
    assert all(np.bincount(y).tolist() == [5, 5, 5] for y in seen)


@pytest.mark.thorough
def test_repeats_are_means_for_all():
    """The same number of refits for y as for each shuffled y."""
    calls = []

    def noisy(estimator, X, y):
        calls.append(0)
        return np.full(6, -float(len(calls)))

    found = null_importances(
        LINEAR, X, Y, noisy, n_permutations=2, n_repeats=4, cv="all_rows"
    )
    assert len(calls) == 12
    np.testing.assert_allclose(values(found)[:, 0], [-2.5, -6.5, -10.5])
    averaged = null_importances(
        FOREST,
        X,
        Y,
        OBSERVED,
        n_permutations=4,
        n_repeats=8,
        random_state=0,
        cv="all_rows",
    )
    single = null_importances(
        FOREST, X, Y, OBSERVED, n_permutations=4, random_state=0, cv="all_rows"
    )
    assert not np.allclose(averaged.importances, single.importances)


def test_a_network_and_a_pipeline():
    """Any model of any family."""
    network = MLPRegressor(
        hidden_layer_sizes=(3,), solver="lbfgs", max_iter=30, tol=1.0
    )
    model = make_pipeline(StandardScaler(), network)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folds = importance_across_folds(model, X, Y, OBSERVED, 3, random_state=0)
        null = null_importances(model, X, Y, OBSERVED, n_permutations=2, random_state=0)
    assert np.all(folds.importances > 0)
    assert np.all(values(null) > 0)


def test_false_discovery_rate():
    """Benjamini and Hochberg's adjustment, as statsmodels computes it."""
    oracle = pytest.importorskip("statsmodels.stats.multitest")
    random = np.random.default_rng(0)
    own, null = random.standard_normal(12) + 1, random.standard_normal((99, 12))
    found = NullImportances([f"x{j}" for j in range(12)], own, null=null)
    expected = oracle.multipletests(found.pvalues(), method="fdr_bh")[1]
    np.testing.assert_allclose(found.pvalues("fdr"), expected, rtol=1e-12)
    table = found.to_frame().set_index("feature")
    assert table.loc["x3", "fdr_p_value"] == found.pvalues("fdr")[3]
    assert np.all(found.pvalues("fdr") >= found.pvalues())


@pytest.mark.parametrize(
    ("null", "n_below"),
    [
        ([[1, 1, 1, 0], [3, 3, 3, 0]], 3),  # 2, which is more than the root of 2
        ([[1, 1, 0, 0], [3, 3, 0, 0]], 0),  # only a half of them
        ([[0.1] * 4, [2.1] * 4], 0),  # 1.1, which is less than the root of 2
        ([[3, 3, 3, 3]], 0),  # how much one varies is not known
    ],
)
def test_importances_far_below_their_nulls(null, n_below):
    """By more than a standard deviation of the nulls, whose divisor is n - 1."""
    found = iter([[0.0] * 4, *null])
    given = dict(n_permutations=len(null), cv="all_rows", random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        null_importances(LINEAR, X[:, :4], Y, lambda *_: next(found), **given)
    counts = [str(warning.message).split(" importances lie")[0] for warning in caught]
    assert counts == ([f"{n_below} of 4"] if n_below else [])


@pytest.mark.thorough
def test_nulls_that_exceed_most_importances_are_warned_of():
    """A forest overfits shuffled targets; held-out permutation importance does not."""
    random = np.random.default_rng(0)
    Z = random.standard_normal((120, 8))
    y = 2 * Z[:, 0] + random.standard_normal(120)
    forest = RandomForestRegressor(10, random_state=0)
    given = dict(n_permutations=15, random_state=0)
    with pytest.warns(ImportanceWarning, match=r"of 8 importances lie well.*cv=5"):
        null_importances(forest, Z, y, OBSERVED, cv="all_rows", **given)
    null_importances(forest, Z, y, **given)  # no warning


@pytest.mark.thorough
def test_defaults_of_functions_that_refit_are_what_their_warnings_advise():
    """Held-out permutation for nulls, sensitivity over folds; five folds for both."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        null = null_importances(FOREST, X, Y, n_permutations=5, random_state=0)
        folds = importance_across_folds(FOREST, X, Y, random_state=0)
    given = dict(n_permutations=5, cv=5, random_state=0)
    same = null_importances(FOREST, X, Y, PermutationImportance(), **given)
    assert np.array_equal(values(null), values(same))
    same = importance_across_folds(
        FOREST, X, Y, SensitivityImportance(), 5, random_state=0
    )
    assert np.array_equal(folds.importances, same.importances)
    defaults = {
        name: signature(getattr(skvarimp, name)).parameters.get("cv")
        for name in skvarimp.__all__
        if not isinstance(getattr(skvarimp, name), type)
        if name != "importance_across_candidates"  # measures on X and y by default
    }
    assert {cv.default for cv in defaults.values() if cv is not None} == {5}


def family_wise(standard):
    """p-values of the first row of standardised importances against all rows."""
    largest = standard[1:].max(axis=1, keepdims=True)
    return (1 + (largest >= standard[0]).sum(axis=0)) / len(standard)


def test_all_targets_alike_standardise_an_feature():
    """y is one of its own permutations: its importance enters the spread too."""
    random = np.random.RandomState(0)
    differs = False
    for _ in range(50):
        both = random.exponential(size=(5, 2))
        centred = both - both.mean(axis=0)
        expected = family_wise(centred / both.std(axis=0))
        found = NullImportances(["a", "b"], both[0], null=both[1:])
        np.testing.assert_allclose(found.familywise_pvalues, expected)
        of_others = family_wise(centred / both[1:].std(axis=0))
        differs |= not np.array_equal(expected, of_others)
    assert differs


@pytest.mark.parametrize(
    ("n", "words"),
    [
        (0, "none stands out"),
        (1, "a stands out … while b, c and d do not"),
        (3, "a, b and c stand out … while d does not"),
        (4, "a, b, c and d stand out"),
    ],
)
def test_words_agree_in_number(n, words):
    """Features beyond all shuffled targets, and the others."""
    null = np.random.default_rng(0).exponential(size=(99, 4))
    own = np.where(np.arange(4) < n, 1e3, 0.0)
    said = NullImportances(list("abcd"), own, null=null).summary()
    assert re.search(says(words), said)


@pytest.mark.parametrize(
    ("n", "words"), [(18, "none stands out"), (19, "a stands out")]
)
def test_what_stands_out_is_above_nineteen_shuffled_targets(n, words):
    """Its p-value is 1 / (n + 1), at most 0.05."""
    null = np.random.default_rng(0).exponential(size=(n, 1))
    found = NullImportances(["a"], np.array([1e3]), null=null)
    assert re.search(words, found.summary())


@pytest.mark.filterwarnings("ignore:Interrupted after 2 of 4 steps")
@pytest.mark.parametrize(
    "end", [{"stop_after": 2}, {"fail_after": 2, "error": KeyboardInterrupt()}]
)
def test_how_many_permutations_were_done_before_a_stop(end):
    """The refit to y itself is none of them."""
    with pytest.warns(ImportanceWarning, match=r"stopped: 1 of 3 permutations"):
        found = null_importances(
            LINEAR,
            X,
            Y,
            OBSERVED,
            n_permutations=3,
            callbacks=Recorder(**end, step="refit"),
        )
    assert len(found.null) == 1


@pytest.mark.parametrize(
    ("cv", "said"),
    [
        ("all_rows", "LinearRegression refitted on 40 training rows."),
        (2, "LinearRegression refitted in 2 folds on 40 held-out rows."),
    ],
)
def test_the_summary_says_on_which_rows(cv, said):
    """Models refitted on all rows have no folds."""
    found = null_importances(
        LinearRegression(),
        np.random.RandomState(0).normal(size=(40, 2)),
        np.arange(40.0),
        PermutationImportance(),
        n_permutations=2,
        cv=cv,
        random_state=0,
    )
    assert said in found.summary()
