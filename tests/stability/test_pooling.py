"""Pooled inference of `importance_across_folds`, against a plain loop over folds."""

import numpy as np
import polars as pl
import pytest
from combinations import pairwise
from roundoff import roundoff
from scipy.stats import false_discovery_control, t
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    RepeatedKFold,
    ShuffleSplit,
    TimeSeriesSplit,
)

from skvarimp import (
    ImportanceDisplay,
    ImpurityImportance,
    PermutationImportance,
    SensitivityImportance,
    importance_across_folds,
    leave_out_importances,
)

rng = np.random.default_rng(0)
N = 90
X = rng.normal(size=(N, 4))
X[:, 1] = X[:, 0] + 0.5 * X[:, 1]
Y = X[:, 0] + 0.4 * X[:, 2] + rng.normal(size=N)
WEIGHTS = rng.integers(1, 4, N).astype(float)
GROUPS = rng.integers(0, 25, N)
SPLITTER = KFold(4, shuffle=True, random_state=1)
MEASURES = {
    "exact": PermutationImportance(estimation="exact"),
    "residuals": PermutationImportance(conditional=Ridge(), random_state=2),
    "sensitivity": SensitivityImportance(scale=None),
}
TOLERANCE = roundoff(N, 50.0)


class InTime(TimeSeriesSplit):
    """Of rows in groups, which scikit-learn's warns that it ignores."""

    def split(self, X, y=None, groups=None):
        return super().split(X)


def by_loop(measure, weights, groups, splitter):
    """Pooled importances, standard errors and errors of drawing."""
    held = np.unique([i for _, r in splitter.split(X, groups=groups) for i in r])
    w = weights / weights[held].sum()
    psi, theta, drawn = np.zeros((N, 4)), 0.0, 0.0
    for train, rows in splitter.split(X, groups=groups):
        model = LinearRegression().fit(X[train], Y[train], weights[train])
        imp = clone(measure).set_params(keep_rows=True)
        imp.fit(model, X[rows], Y[rows], sample_weight=weights[rows])
        share = w[rows].sum()
        theta = theta + share * imp.importances_
        psi[rows] = imp.influences_ + imp.importances_
        if imp.monte_carlo_errors_ is not None:
            drawn = drawn + (share * imp.monte_carlo_errors_) ** 2
    units, w, psi = (
        (np.arange(N) if groups is None else groups)[held],
        w[held],
        psi[held],
    )
    total = np.zeros(4)
    for unit in np.unique(units):
        total += (w[units == unit] @ (psi[units == unit] - theta)) ** 2
    n = len(np.unique(units))
    return theta, np.sqrt(n / (n - 1) * total), np.sqrt(drawn)


@pytest.mark.parametrize(
    ("name", "groups", "weights"), pairwise(MEASURES, [None, GROUPS], [None, WEIGHTS])
)
def test_pooled_numbers_are_the_loops(name, groups, weights):
    """With weights, and with rows that depend on each other."""
    splitter = SPLITTER if groups is None else GroupKFold(4)
    folds = importance_across_folds(
        LinearRegression(),
        X,
        Y,
        MEASURES[name],
        splitter,
        sample_weight=weights,
        groups=groups,
    )
    given = np.ones(N) if weights is None else weights
    theta, errors, drawn = by_loop(MEASURES[name], given, groups, splitter)
    np.testing.assert_allclose(folds.importances, theta, atol=TOLERANCE)
    np.testing.assert_allclose(folds.standard_errors, errors, atol=TOLERANCE)
    if name == "sensitivity":
        with pytest.raises(ValueError, match="no p-value"):
            folds.pvalues()
        return
    labels = np.arange(N) if groups is None else groups
    means = np.array([given[labels == label].mean() for label in np.unique(labels)])
    freedom = np.sum(means**2) ** 2 / np.sum(means**4) - 1  # Satterthwaite
    expected = t.sf(theta / np.hypot(errors, drawn), freedom)
    np.testing.assert_allclose(folds.pvalues(), expected, atol=1e-9)
    np.testing.assert_array_equal(
        folds.pvalues("fdr"), false_discovery_control(folds.pvalues())
    )
    ordered = np.argsort(folds.pvalues())
    steps = np.maximum.accumulate(folds.pvalues()[ordered] * (4 - np.arange(4)))
    np.testing.assert_allclose(folds.pvalues("holm")[ordered], np.minimum(steps, 1.0))


@pytest.mark.parametrize(
    ("groups", "weights"), pairwise([None, GROUPS], [None, WEIGHTS])
)
def test_rows_never_held_out_are_left_out(groups, weights):
    """The first of a time series only train: no number knows them."""
    splitter, measure = InTime(4), MEASURES["exact"]
    given = np.ones(N) if weights is None else weights
    folds = importance_across_folds(
        LinearRegression(),
        X,
        Y,
        measure,
        splitter,
        sample_weight=weights,
        groups=groups,
    )
    theta, errors, _ = by_loop(measure, given, groups, splitter)
    np.testing.assert_allclose(folds.importances, theta, atol=TOLERANCE)
    np.testing.assert_allclose(folds.standard_errors, errors, atol=TOLERANCE)
    first = splitter.split(X).__next__()[1][0]
    assert folds.circumstances.n_samples == N - first
    labels = (np.arange(N) if groups is None else groups)[first:]
    means = [given[first:][labels == label].mean() for label in np.unique(labels)]
    freedom = np.sum(np.square(means)) ** 2 / np.sum(np.power(means, 4.0)) - 1
    expected = t.sf(theta / errors, freedom)
    np.testing.assert_allclose(folds.pvalues(), expected, atol=1e-9)


def test_the_mean_of_equal_folds_is_pooled():
    """And one fold that holds out all rows is the measure itself."""
    folds = importance_across_folds(LinearRegression(), X[:88], Y[:88], cv=SPLITTER)
    np.testing.assert_allclose(
        folds.importances, folds.by_fold.mean(axis=0), atol=TOLERANCE
    )
    every = np.arange(N)
    whole = importance_across_folds(LinearRegression(), X, Y, cv=[(every, every)])
    imp = SensitivityImportance(keep_rows=True).fit(LinearRegression().fit(X, Y), X, Y)
    np.testing.assert_allclose(whole.standard_errors, imp.standard_errors_)
    ends = ["importance", "lower", "upper"]
    np.testing.assert_allclose(whole.interval(0.9)[ends], imp.interval(0.9)[ends])


def test_an_unused_column_has_p_value_one():
    """Its importance is 0 with error 0."""
    y = 2 * X[:, 0]
    first = LinearRegression().fit(X, y)
    first.coef_[1:] = 0.0

    class Fixed(LinearRegression):
        def fit(self, X, y):
            self.coef_, self.intercept_ = first.coef_, 0.0
            return self

    noisy = y + rng.normal(size=N)
    found = importance_across_folds(Fixed(), X, noisy, PermutationImportance())
    np.testing.assert_array_equal(found.pvalues()[1:], 1.0)
    assert found.pvalues()[0] < 1e-6


NOT_POOLED = {
    "repeats": ({"cv": RepeatedKFold(n_splits=3, n_repeats=2)}, "more than once"),
    "some rows": ({"cv": ShuffleSplit(9, random_state=0)}, "more than once"),
    "training rows": ({"rows": "training"}, "training rows"),
    "scores": (
        {"measure": PermutationImportance(scoring="r2")},
        "not a mean over rows",
    ),
    "a function": (
        {"measure": lambda m, X, y: m.coef_},
        "only measures of skvarimp",
    ),
}


@pytest.mark.parametrize("case", NOT_POOLED)
def test_what_cannot_be_pooled_says_why(case):
    """The table and the boxes are as ever."""
    given, reason = NOT_POOLED[case]
    given = {"measure": PermutationImportance()} | given
    folds = importance_across_folds(LinearRegression(), X, Y, **given)
    assert "p_value" not in folds.to_frame()
    np.testing.assert_allclose(folds.importances, folds.by_fold.mean(axis=0))
    assert folds.standard_errors is None
    with pytest.raises(ValueError, match=f"needs standard errors.*{reason}"):
        folds.interval()
    if folds.quantity.zero:
        with pytest.raises(ValueError, match=f"needs standard errors.*{reason}"):
            folds.pvalues("fdr")


def test_tree_impurity_is_not_pooled():
    """It has no influences of single rows."""
    from sklearn.tree import DecisionTreeRegressor

    tree = DecisionTreeRegressor(max_depth=2, random_state=0)
    folds = importance_across_folds(tree, X, Y, ImpurityImportance())
    with pytest.raises(ValueError, match="training rows"):
        folds.interval()


def test_table_and_picture_show_the_intervals():
    """In X's own library; a ratio has no p-value."""
    rows = pl.DataFrame(X, schema=list("abcd"))
    measure = PermutationImportance()
    folds = importance_across_folds(LinearRegression(), rows, Y, measure)
    table = folds.to_frame(0.95)
    assert isinstance(table, pl.DataFrame)
    shown = ["importance", "standard_error", "lower", "upper", "p_value"]
    assert set(shown) | {"holm_p_value", "fdr_p_value"} < set(table.columns)
    display = ImportanceDisplay.from_importance(folds)
    ends = folds.interval().sort("importance")
    drawn = np.asarray(display.intervals)[np.argsort(folds.importances)]
    np.testing.assert_allclose(drawn, ends[["lower", "upper"]].to_numpy())
    ratio = PermutationImportance(relative=True)
    folds = importance_across_folds(LinearRegression(), rows, Y, ratio)
    assert "p_value" not in folds.to_frame().columns


@pytest.mark.thorough
def test_level_and_power_of_the_conditional_test():
    """A column that others explain is found as often as chance says, not a needed one.

    200 samples: two of its standard errors above the level, 3 percentage points.
    """
    found = np.zeros(3)
    for seed in range(200):
        random = np.random.default_rng(seed)
        rows = random.normal(size=(150, 3))
        rows[:, 1] = rows[:, 0] + 0.5 * rows[:, 1]
        y = rows[:, 0] + 0.3 * rows[:, 2] + random.normal(size=150)
        measure = PermutationImportance(
            conditional=Ridge(), conditional_fit_rows=rows, random_state=seed
        )
        folds = importance_across_folds(LinearRegression(), rows, y, measure)
        found += folds.pvalues() < 0.05
    assert found[1] / 200 <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 200)
    assert found[0] / 200 > 0.9


def test_leave_out_uses_the_same_p_values():
    """One function for both."""
    found = leave_out_importances(LinearRegression(), X, Y, random_state=0)
    ratio = found.importances / found.standard_errors
    expected = t.sf(ratio, found.degrees_of_freedom)
    np.testing.assert_array_equal(found.pvalues(), expected)
