"""Errors of importances by scorers, from weighted samples of the rows."""

import numpy as np
import pandas as pd
import pytest
from literal_permutation import FOREST, LOGISTIC, THREE, TREES, TWO, WEIGHTS, X, Y
from messages import says
from roundoff import roundoff
from sklearn import metrics
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import make_scorer, roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skvarimp import (
    PermutationImportance,
    importance_by_cohort,
    importance_difference,
    rank_intervals,
)
from skvarimp._data.statistics import Units
from skvarimp._measures.scorers.resamples import N_PAIRS, opposite_samples
from skvarimp.exceptions import ImportanceWarning

LABELS = TWO == "yes"
CLASSIFIER = clone(LOGISTIC).fit(X, LABELS)
TREE = DecisionTreeClassifier(max_depth=3, random_state=0)


def asked_for_each(scores_lost):
    """The method that asks a scorer for repeat by repeat, not for all together."""

    def of_each(self, known, donors, counts):
        repeats = [{m: of[[r]] for m, of in known.items()} for r in range(len(donors))]
        asked = (scores_lost(self, *of, counts) for of in zip(repeats, donors[:, None]))
        return np.concatenate(list(asked))

    return of_each


def literal_error(score, predict, X, y, imp, j):
    """Standard error of the importance of column j, sample by sample.

    Draws as the measure does, and scores rows that are written out as often as the
    samples count them and their donors.
    """
    n = len(y)
    if n <= 2 * N_PAIRS:  # a row less in each
        samples = [np.full(n, 3)] + [3 - 2 * (np.arange(n) == i) for i in range(n)]
    else:
        samples = np.hstack([*opposite_samples(Units.of(np.full(n, 1 / n)))]).T
    (seed,) = np.random.RandomState(imp.random_state).randint(
        2**32, size=1, dtype=np.uint32
    )
    n_strata = imp.n_draws // 2
    points = np.random.default_rng(int(seed)).random((n, imp.n_draws))
    turns = np.tile(np.arange(n_strata), (n, 1))
    turns = np.random.default_rng([seed, 3]).permuted(turns, axis=1)
    ascending = np.argsort(X[:, j], kind="stable")
    before = predict(X)
    halves = []
    for first_or_second in (0, 1):
        mean = np.zeros(len(samples))
        for turn in range(n_strata):
            stratum = turns[:, turn]
            u = points[np.arange(n), 2 * stratum + first_or_second]
            donors = ascending[((stratum + u) / n_strata * n).astype(int)]
            moved = X.copy()
            moved[:, j] = X[donors, j]
            after = predict(moved)
            for s, times in enumerate(samples):
                times = times.astype(int)
                rows = np.repeat(np.arange(n), (times + times[donors]) // 2)
                lost = score(y[rows], before[rows]) - score(y[rows], after[rows])
                mean[s] += lost / n_strata
        halves.append(mean)
    if n <= 2 * N_PAIRS:
        # two thirds of a row less, half of which as donor
        less = 2 / 3
        parts = [2 / less * (n - less) * (of[1:] - of[0]) for of in halves]
        hidden = np.var(np.mean(parts, axis=0), ddof=1) / 4
        return np.sqrt(max(np.cov(*parts)[0, 1], hidden) / n)
    parts = [2 * (half[::2] - half[1::2]) for half in halves]
    of_rows, hidden = np.cov(*parts)[0, 1], np.var(np.mean(parts, axis=0), ddof=1) / 4
    of_pairs = np.cov(*[8 * (half[::2] + half[1::2]) for half in halves])[0, 1]
    return np.sqrt(max(of_rows - of_pairs, of_rows / 2, hidden))


def plain_area(y, scores):
    """Share of the pairs of a positive and another row in the right order."""
    right = scores[y][:, np.newaxis] - scores[~y]
    return np.mean((right > 0) + 0.5 * (right == 0))


def plain_r2(y, predicted):
    """Share of the variance of y that the prediction explains."""
    return 1 - np.mean((y - predicted) ** 2) / np.mean((y - y.mean()) ** 2)


MANY = np.concatenate([X + 0.3 * shift for shift in range(-2, 4)])


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize(
    ("scoring", "model", "y", "score", "method"),
    [
        ("roc_auc", CLASSIFIER, LABELS, plain_area, "decision_function"),
        ("r2", FOREST, Y, plain_r2, "predict"),
    ],
)
def test_errors_are_those_of_rows_written_out(scoring, model, y, score, method, many):
    """All samples at once against sample by sample."""
    rows, y = (MANY, np.tile(y, 6)) if many else (X, y)
    assert (len(rows) > 2 * N_PAIRS) == many
    imp = PermutationImportance(
        scoring=scoring, n_draws=4, features=[0], random_state=3
    ).fit(model, rows, y)
    expected = literal_error(score, getattr(model, method), rows, y, imp, 0)
    assert expected > 0
    # both are roots of means of squared deviations, which rounding changes by
    (found,), rounding = imp.standard_errors_, roundoff(len(rows) ** 2, 1.0, y)
    assert abs(found**2 - expected**2) < rounding * max(1.0, found)


def test_errors_of_drawing_are_those_of_pairs_of_data_sets():
    """Two donors of each stratum: half of their difference, as a mean over strata."""
    imp = PermutationImportance(
        scoring="r2", n_draws=6, features=[0], random_state=3
    ).fit(FOREST, X, Y)
    n, lost = len(Y), np.empty((2, 3))
    (seed,) = np.random.RandomState(3).randint(2**32, size=1, dtype=np.uint32)
    points = np.random.default_rng(int(seed)).random((n, 6))
    turns = np.tile(np.arange(3), (n, 1))
    turns = np.random.default_rng([seed, 3]).permuted(turns, axis=1)
    ascending = np.argsort(X[:, 0], kind="stable")
    for half, turn in np.ndindex(2, 3):
        stratum = turns[:, turn]
        u = points[np.arange(n), 2 * stratum + half]
        moved = X.copy()
        moved[:, 0] = X[ascending[((stratum + u) / 3 * n).astype(int)], 0]
        lost[half, turn] = plain_r2(Y, FOREST.predict(X))
        lost[half, turn] -= plain_r2(Y, FOREST.predict(moved))
    assert imp.importances_[0] == pytest.approx(lost.mean(), rel=1e-10)
    variances = (lost[0] - lost[1]) ** 2 / 4  # of the mean of two
    expected = np.sqrt(variances.sum()) / 3
    assert imp.monte_carlo_errors_[0] == pytest.approx(expected, rel=1e-10)


SEVERAL = np.column_stack([LABELS, np.median(Y) < Y]).astype(int)
LABELLED = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, SEVERAL)
COLUMNS = np.column_stack([Y, X[:, 0] * X[:, 1]])

ALIKE = [
    ("accuracy", TREES, THREE),
    ("average_precision", CLASSIFIER, LABELS),
    ("balanced_accuracy", CLASSIFIER, LABELS),
    ("explained_variance", FOREST, Y),
    ("f1", CLASSIFIER, LABELS),
    ("f1_macro", TREES, THREE),
    ("neg_brier_score", CLASSIFIER, LABELS),
    ("neg_log_loss", TREES, THREE),
    ("neg_mean_absolute_error", FOREST, Y),
    ("neg_mean_squared_error", FOREST, Y),
    ("neg_root_mean_squared_error", FOREST, Y),
    ("precision", CLASSIFIER, LABELS),
    ("recall", CLASSIFIER, LABELS),
    ("roc_auc_ovr", TREES, THREE),
    ("f1_weighted", TREES, THREE),
    ("precision_macro", TREES, THREE),
    ("recall_micro", TREES, THREE),
    ("accuracy", LABELLED, SEVERAL),
    ("f1_macro", LABELLED, SEVERAL),
    ("precision_micro", LABELLED, SEVERAL),
    ("recall_weighted", LABELLED, SEVERAL),
    ("r2", clone(FOREST).fit(X, COLUMNS), COLUMNS),
    ("neg_root_mean_squared_error", clone(FOREST).fit(X, COLUMNS), COLUMNS),
]


@pytest.mark.thorough
@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize(("scoring", "model", "y"), ALIKE)
def test_formulas_give_the_errors_of_the_scorer(
    scoring, model, y, weights, monkeypatch
):
    """The scorer is asked for each repeat by itself, as the formulas are."""
    from skvarimp._measures.scorers.sample_scores import ByFormula, ByScorer

    parameters = {"n_draws": 4, "features": [1], "random_state": 0}
    imp = PermutationImportance(scoring=scoring, **parameters)
    with monkeypatch.context() as by_formula_only:
        by_formula_only.delattr(ByScorer, "_lost")
        fast = clone(imp).fit(model, X, y, sample_weight=weights)
    monkeypatch.setattr(ByFormula, "serves", lambda self: False)
    monkeypatch.setattr(ByScorer, "_lost", asked_for_each(ByScorer._lost))
    slow = clone(imp).fit(model, X, y, sample_weight=weights)
    np.testing.assert_allclose(fast.standard_errors_, slow.standard_errors_, rtol=1e-6)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["CoxPHSurvivalAnalysis", "IPCRidge"])
def test_concordance_of_all_samples_at_once(kind, monkeypatch):
    """Of predicted risks and times, with equal risks, equal times, censored rows."""
    from skvarimp._measures.scorers.sample_scores import ByFormula, ByScorer

    models = pytest.importorskip("sksurv.linear_model")
    rows, seen = np.round(2 * X[:, :3]), np.arange(len(X)) % 3 > 0
    y = np.array(
        list(zip(seen, np.round(Y / 3) + 1)), dtype=[("seen", bool), ("time", float)]
    )
    model = getattr(models, kind)().fit(rows, y)
    for repeated in (model.predict(rows), y["time"][seen], y["time"][~seen]):
        assert len(np.unique(repeated)) < len(repeated)
    imp = PermutationImportance(scoring="score", n_draws=4, random_state=0)
    with monkeypatch.context() as by_formula_only:
        by_formula_only.delattr(ByScorer, "_lost")
        fast = clone(imp).fit(model, rows, y)
    monkeypatch.setattr(ByFormula, "serves", lambda self: False)
    monkeypatch.setattr(ByScorer, "_lost", asked_for_each(ByScorer._lost))
    slow = clone(imp).fit(model, rows, y)
    assert fast.standard_errors_.max() > 0.05
    np.testing.assert_allclose(fast.standard_errors_, slow.standard_errors_, rtol=1e-6)


class Perfect(BaseEstimator):
    """Predicts y itself, a function of the first two columns."""

    n_features_in_ = X.shape[1]

    def __init__(self, of_class=False):
        self.of_class = of_class

    def fit(self, X, y):
        self.fitted_, self.classes_ = True, np.unique(y)
        return self

    def predict(self, X):
        found = 3.0 + np.exp(X[:, 0]) + X[:, 1] ** 2
        return np.where(found > 5, 1, 0) if self.of_class else found

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier" if self.of_class else "regressor"
        return tags


PERFECT = [
    ("matthews_corrcoef", True, metrics.matthews_corrcoef),
    (
        "neg_mean_absolute_percentage_error",
        False,
        metrics.mean_absolute_percentage_error,
    ),
    ("accuracy", True, metrics.accuracy_score),
]


@pytest.mark.thorough
@pytest.mark.parametrize("passed", ["name", "callable", "own"])
@pytest.mark.parametrize(("name", "of_class", "function"), PERFECT)
def test_errors_where_predictions_are_perfect(
    name, of_class, function, passed, monkeypatch
):
    """A scorer is known by what it is: many give 0 or 1 to what is perfect.

    Nor by what a callable is called.
    """
    from skvarimp._measures.scorers.sample_scores import ByScorer

    monkeypatch.setattr(ByScorer, "_lost", asked_for_each(ByScorer._lost))
    sign = -1 if name.startswith("neg") else 1
    y = Perfect(of_class).predict(X)
    model = Perfect(of_class).fit(X, y)

    def own(model, X, y):
        return sign * function(y, model.predict(X))

    own.__name__ = "r2" if of_class else "neg_mean_squared_error"
    made = make_scorer(function, greater_is_better=sign > 0)
    scoring = {"name": name, "callable": made, "own": own}[passed]
    imp = PermutationImportance(
        scoring=scoring, n_draws=4, features=[0], random_state=4
    ).fit(model, X, y)
    expected = literal_error(function, model.predict, X, y, imp, 0)
    assert expected > 0
    np.testing.assert_allclose(imp.standard_errors_, expected, rtol=1e-6)


def test_totals_and_largest_errors_have_no_standard_error():
    """A sum grows with the rows; a largest error does not see how often rows count.

    Both are 0 where predictions are perfect, whatever the rows count.
    """
    y = Perfect().predict(X)
    imp = PermutationImportance(scoring="neg_max_error", random_state=0)
    with pytest.warns(
        UserWarning,
        match=says("scoring='neg_max_error' … standard errors … largest error"),
    ):
        imp.fit(Perfect().fit(X, y), X, y)
    assert imp.importances_[0] > 1
    assert imp.standard_errors_ is None
    assert np.isnan(imp.to_frame()["standard_error"]).all()
    with pytest.raises(ValueError, match=says("how often rows count … use `loss`")):
        imp.interval()
    imp.set_params(scoring=lambda m, X, y: -np.abs(m.predict(X) - y).sum())
    assert imp.fit(Perfect().fit(X, y), X, y).standard_errors_ is None


def test_own_scores_have_the_formula_of_the_class_that_they_are_of():
    """Inherited from scikit-learn's mixins, also by a pipeline's last step."""
    from skvarimp._measures.scorers.proxies import own_score
    from skvarimp._measures.scorers.sample_scores import formula_of

    class Own(LogisticRegression):
        def score(self, X, y, sample_weight=None):
            return 0.0

    assert formula_of(own_score, make_pipeline(StandardScaler(), FOREST)) == "r2"
    assert formula_of(own_score, LogisticRegression()) == "accuracy"
    assert formula_of(own_score, Own()) is None
    assert formula_of(metrics.get_scorer("r2"), FOREST) == "r2"
    assert formula_of(make_scorer(metrics.r2_score), FOREST) == "r2"
    uneven = make_scorer(metrics.r2_score, multioutput="variance_weighted")
    assert formula_of(uneven, FOREST) is None


def test_kernel_and_numpy_agree(monkeypatch):
    """Ties, weights, both curves."""
    y, coarse = LABELS, np.round(X, 1)
    model = clone(CLASSIFIER).fit(coarse, y)
    for scoring in ("roc_auc", "average_precision"):
        imp = PermutationImportance(scoring=scoring, n_draws=4, random_state=0)
        errors = []
        for compiled in ("1", "0"):
            monkeypatch.setenv("SKVARIMP_COMPILED", compiled)
            imp.fit(model, coarse, y, sample_weight=WEIGHTS)
            errors.append(imp.standard_errors_)
        bound = roundoff(len(X) * N_PAIRS, 1.0)
        np.testing.assert_allclose(*np.square(errors), rtol=0, atol=bound)


@pytest.mark.thorough
def test_other_scorers_are_asked_themselves(monkeypatch):
    """By copies, by weights, through a pipeline; the model is asked no more often."""
    from skvarimp._measures.scorers.sample_scores import ByScorer

    columns = {"features": [0], "n_draws": 4, "random_state": 0}
    asked = []

    class Counting(LogisticRegression):
        def predict_proba(self, X):
            asked.append(len(X))
            return super().predict_proba(X)

    model = Counting().fit(X, LABELS)

    def area_cubed(estimator, X, y):
        return roc_auc_score(y, estimator.predict_proba(X)[:, 1]) ** 3

    def weighted(estimator, X, y, sample_weight=None):
        chances = estimator.predict_proba(X)[:, 1]
        return roc_auc_score(y, chances, sample_weight=sample_weight) ** 3

    errors = []
    for scoring in (area_cubed, weighted):
        asked.clear()
        imp = PermutationImportance(scoring=scoring, **columns).fit(model, X, LABELS)
        # the response watched, the baseline and four draws
        assert sum(asked) == (1 + 1 + 4) * len(X)
        errors.append(imp.standard_errors_)
    np.testing.assert_allclose(*errors, rtol=1e-9)
    assert errors[0][0] > 0
    monkeypatch.setattr(ByScorer, "_lost", asked_for_each(ByScorer._lost))
    in_steps = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, LABELS)
    own = PermutationImportance(scoring="score", **columns).fit(in_steps, X, LABELS)
    named = PermutationImportance(scoring="accuracy", **columns)
    named.fit(in_steps, X, LABELS)
    np.testing.assert_allclose(own.standard_errors_, named.standard_errors_)
    made = make_scorer(roc_auc_score, response_method="predict_proba")
    made = PermutationImportance(scoring=made, **columns).fit(CLASSIFIER, X, LABELS)
    named = PermutationImportance(scoring="roc_auc", **columns)
    named.fit(CLASSIFIER, X, LABELS)
    np.testing.assert_allclose(made.standard_errors_, named.standard_errors_)


def test_scorers_without_errors_say_why():
    """A scorer that does not look at predictions of the rows."""
    imp = PermutationImportance(
        scoring=lambda model, X, y: float(X[:, 0] @ y), random_state=0
    )
    imp.fit(FOREST, X, Y)
    assert imp.standard_errors_ is None
    for ask in (imp.interval, lambda: rank_intervals(imp).to_frame()):
        with pytest.raises(
            ValueError,
            match=says(
                "PermutationImportance … scorer … predictions only … use `loss`"
            ),
        ):
            ask()


def median_of_callable(model, X, y):
    """The same number as scikit-learn's scorer, by NumPy."""
    return -float(np.median(np.abs(y - model.predict(X))))


def mean_of_callable(model, X, y):
    """A kink for each row, none of which moves the mean much."""
    return -float(np.mean(np.abs(y - model.predict(X))))


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("scoring", ["neg_median_absolute_error", median_of_callable])
def test_medians_have_no_standard_error(scoring, seed):
    """They hang on one or two rows: half samples say 0.7 to 1.9 of the true error."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(50 * (1 + seed), 2))
    y = rows[:, 0] + random.normal(size=len(rows))
    model = LinearRegression().fit(rows, y)
    imp = PermutationImportance(scoring=scoring, n_draws=4, random_state=0)
    with pytest.warns(ImportanceWarning, match="(as a median does|how often single)"):
        imp.fit(model, rows, y)
    assert imp.standard_errors_ is None
    assert imp.importances_[0] > 0
    with pytest.raises(
        ValueError, match=says("standard errors … A scorer … use `loss`")
    ):
        imp.interval()


@pytest.mark.parametrize("seed", range(10))
def test_means_of_kinks_have_a_standard_error(seed):
    """It is the one of the formula."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(15 * (1 + seed), 2))
    y = rows[:, 0] + random.normal(size=len(rows))
    model = LinearRegression().fit(rows, y)
    found = [
        PermutationImportance(scoring=scoring, n_draws=4, random_state=0)
        .fit(model, rows, y)
        .standard_errors_
        for scoring in (mean_of_callable, "neg_mean_absolute_error")
    ]
    np.testing.assert_allclose(found[0], found[1], rtol=0.2)


def test_unused_inputs_have_no_error():
    """Nothing moves, in no sample: error 0, whatever the noise of the others."""
    model = clone(CLASSIFIER).fit(X, LABELS)
    model.coef_ = np.where(np.arange(X.shape[1]) == 2, 0.0, model.coef_)
    imp = PermutationImportance(scoring="roc_auc", random_state=0)
    imp.fit(model, X, LABELS)
    assert imp.importances_[2] == imp.standard_errors_[2] == 0
    assert np.all(imp.standard_errors_[:2] > 0)


def test_ranks_and_differences_from_the_samples():
    """Two models on the same rows are compared sample by sample."""
    y = LABELS
    imp = PermutationImportance(scoring="roc_auc", random_state=0)
    first = clone(imp).fit(CLASSIFIER, X, y)
    ranks = rank_intervals(first).to_frame()
    assert np.all(ranks["lowest_rank"] <= ranks["rank"])
    assert np.all(ranks["rank"] <= ranks["highest_rank"])
    interval = first.interval().set_index("feature")
    assert np.all(interval["lower"] < interval["upper"])
    frame = first.to_frame(confidence=0.9)
    assert np.all(frame["standard_error"] > 0)
    again = importance_difference(first, first).to_frame()
    assert np.all(again["difference"] == 0)
    assert np.all(again["p_value"] == 1)
    other = clone(CLASSIFIER).fit(X[:, :], np.roll(y, 1))
    second = clone(imp).fit(other, X, y)
    table = importance_difference(first, second).to_frame().set_index("feature")
    a, b = (one.result_.rows.influences for one in (first, second))
    n = len(a)
    expected = np.sqrt(((a - b) ** 2).sum(axis=0) / n / (n - 1))
    drawn = np.hypot(first.monte_carlo_errors_, second.monte_carlo_errors_)
    found = table.loc[first.features_, ["standard_error", "monte_carlo_error"]]
    np.testing.assert_allclose(found, np.column_stack([expected, drawn]))
    by_loss = PermutationImportance(keep_rows=True, random_state=0)
    by_loss.fit(CLASSIFIER, X, y)
    with pytest.raises(ValueError, match=says("loss … scorer … bootstrap … `scoring`")):
        importance_difference(first, by_loss).to_frame()
    with pytest.raises(
        ValueError,
        match=says("PermutationImportance … cohorts … importance_difference"),
    ):
        importance_by_cohort(first, np.arange(len(X)) % 2).to_frame()


def test_samples_hold_whole_groups():
    """Half of the groups count three times; the opposite sample counts the others."""
    groups = np.repeat(["a", "b", "c", "d"], [1, 2, 3, 4])
    (counts,) = opposite_samples(Units.of(np.full(10, 0.1), groups))
    assert counts.shape == (10, 2 * N_PAIRS)
    of_groups = counts[[0, 1, 3, 6]].astype(int)
    assert np.all(counts == np.repeat(of_groups, [1, 2, 3, 4], axis=0))
    assert np.all(np.sort(of_groups, axis=0) == [[1], [1], [3], [3]])
    assert np.all(of_groups[:, ::2] + of_groups[:, 1::2] == 4)
    assert len(np.unique(of_groups, axis=1).T) == 6  # all halves of four


def test_groups_are_drawn_together():
    """Rows that occur five times in a group have the error of rows that occur once."""
    rows, y = np.repeat(X, 5, axis=0), np.repeat(LABELS, 5)
    groups = np.repeat(np.arange(len(X)), 5)
    imp = PermutationImportance(scoring="roc_auc", n_draws=10, random_state=0)
    once = clone(imp).fit(CLASSIFIER, X, LABELS)
    joined = clone(imp).fit(CLASSIFIER, rows, y, groups=groups)
    alone = clone(imp).fit(CLASSIFIER, rows, y)
    assert joined.n_groups_ == len(X)
    strong = once.importances_ > 0.05
    # errors from 200 samples vary by a tenth, and by the shuffles
    ratio = joined.standard_errors_ / once.standard_errors_
    assert np.all((ratio > 0.6) & (ratio < 1.6) | ~strong)
    assert np.all(
        joined.standard_errors_[strong] > 1.5 * alone.standard_errors_[strong]
    )
    with pytest.raises(ValueError, match="groups"):
        importance_difference(joined, alone).to_frame()


def test_samples_do_not_depend_on_memory(monkeypatch):
    """Samples and repeats are the same in blocks."""
    imp = PermutationImportance(scoring="roc_auc", n_draws=4, random_state=0)
    whole = clone(imp).fit(CLASSIFIER, X, LABELS).standard_errors_
    few = 7 * len(X)
    monkeypatch.setattr("skvarimp._measures.scorers.resamples.HELD", few)
    parts = clone(imp).fit(CLASSIFIER, X, LABELS).standard_errors_
    np.testing.assert_allclose(parts, whole, rtol=1e-9)
    monkeypatch.setattr("skvarimp._measures.scorers.score_drop.HELD", few)
    parts = clone(imp).fit(CLASSIFIER, X, LABELS).standard_errors_
    np.testing.assert_allclose(parts, whole, rtol=1e-9)


def test_samples_miss_no_class():
    """Each sample counts the two rows of a rare class, and thus has an area.

    The error is not 0 either where few draws hide it.
    """
    y = np.zeros(len(X), dtype=bool)
    y[np.argsort(X[:, 0])[-2:]] = True
    model = LogisticRegression().fit(X, y)
    for scoring in ("roc_auc", "average_precision"):
        imp = PermutationImportance(scoring=scoring, n_draws=4, random_state=0)
        imp.fit(model, X, y)
        assert imp.standard_errors_[0] > 0.01


@pytest.mark.parametrize(
    ("scoring", "model"),
    [
        ("roc_auc", TREE),
        ("recall_macro", TREE),
        ("average_precision", LogisticRegression()),
    ],
)
@pytest.mark.parametrize("groups", [None, np.arange(len(X)) // 3])
def test_a_class_of_one_unit_tells_no_error(scoring, model, groups):
    """Another sample would have another one; a mean over rows does not mind."""
    y = np.arange(len(X)) < (1 if groups is None else 3)
    model = clone(model).fit(X, y)
    imp = PermutationImportance(scoring=scoring, n_draws=4, random_state=0)
    unit = "row" if groups is None else "group of rows"
    with pytest.warns(ImportanceWarning, match=f"one {unit} alone has the label True"):
        imp.fit(model, X, y, groups=groups)
    assert imp.standard_errors_ is None
    imp.set_params(scoring="neg_log_loss").fit(model, X, y, groups=groups)
    assert np.all(np.isfinite(imp.standard_errors_))


def test_frames_and_jobs_change_nothing():
    """Frames, two threads, integer labels of any value."""
    import joblib

    imp = PermutationImportance(scoring="roc_auc", n_draws=4, random_state=0)
    expected = clone(imp).fit(CLASSIFIER, X, LABELS).standard_errors_
    frame = pd.DataFrame(X, columns=list("abcdefghij")[: X.shape[1]])
    labels = pd.Series(np.where(LABELS, 7, -3))
    model = LogisticRegression().set_params(**CLASSIFIER.get_params())
    model.fit(frame, labels)
    with joblib.parallel_config(backend="threading"):
        found = clone(imp).set_params(n_jobs=2).fit(model, frame, labels)
    np.testing.assert_allclose(found.standard_errors_, expected, rtol=1e-6)


def sample(n, random):
    """Two classes, a strong, a mixed and a weak input, and one that is noise."""
    rows = random.normal(size=(n, 4))
    rows[:, 1] = 0.5 * rows[:, 0] + 0.87 * rows[:, 1]
    score = 1.2 * rows[:, 0] + 0.6 * rows[:, 1] * (rows[:, 2] > 0) + 0.2 * rows[:, 2]
    return rows, score + random.logistic(size=n) > 0


@pytest.mark.thorough
def test_errors_and_intervals_in_fresh_samples():
    """300 samples of 300 rows; the model stays the same, shuffles are drawn anew."""
    random = np.random.default_rng(0)
    model = HistGradientBoostingClassifier(max_iter=30, max_depth=3, random_state=0)
    model.fit(*sample(2000, random))
    imp = PermutationImportance(scoring="roc_auc", n_draws=4, random_state=random)
    truth = imp.fit(model, *sample(100_000, random)).importances_
    imp.set_params(n_draws=10)
    estimates, errors, covered = [], [], 0
    for _ in range(300):
        imp.fit(model, *sample(300, random))
        estimates.append(imp.importances_)
        errors.append(np.hypot(imp.standard_errors_, imp.monte_carlo_errors_))
        ends = imp.interval().set_index("feature").loc[imp.features_]
        covered = covered + ends["lower"].le(truth) * ends["upper"].ge(truth)
    ratio = np.sqrt(np.mean(np.square(errors), axis=0)) / np.std(estimates, axis=0)
    np.testing.assert_allclose(ratio, 1, rtol=0, atol=0.15)
    assert np.all((covered >= 0.91 * 300) & (covered <= 0.97 * 300)), covered


def test_weights_are_shares():
    """Errors do not depend on the scale of the weights."""
    Z, y = make_classification(60, 4, random_state=0)
    model = LogisticRegression().fit(Z, y)
    weights = np.random.default_rng(0).integers(1, 4, size=60).astype(float)
    imp = PermutationImportance(scoring="roc_auc", n_draws=4, random_state=0)
    one = clone(imp).fit(model, Z, y, sample_weight=weights).standard_errors_
    ten = clone(imp).fit(model, Z, y, sample_weight=10 * weights).standard_errors_
    np.testing.assert_allclose(one, ten, rtol=1e-9)


def test_few_rows_ask_a_scorer_seldom():
    """About a thousand times for 60 rows and 3 features, not hundreds of thousands."""
    X, y = make_multilabel_classification(60, 3, n_classes=3, random_state=0)
    model, calls = KNeighborsClassifier(5).fit(X, y), []

    def share(y, labels, sample_weight=None):
        calls.append(len(y))
        return np.average((y == labels).mean(axis=1), weights=sample_weight)

    imp = PermutationImportance(scoring=make_scorer(share), random_state=0)
    assert np.all(imp.fit(model, X, y).standard_errors_ > 0)
    assert 0 < len(calls) < 1200
