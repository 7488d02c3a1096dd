"""Filters: LOWESS against a literal loop, AUC and F against scikit-learn."""

from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats
from sklearn import config_context
from sklearn.base import clone
from sklearn.feature_selection import SelectKBest, f_classif, r_regression
from sklearn.linear_model import LinearRegression
from sklearn.metrics import roc_auc_score

from skvarimp import FilterImportance
from skvarimp._lowess import lowess_fit
from skvarimp.filters import auc, group_statistic, lowess_r2

FILTERS = [lowess_r2, auc, group_statistic]


def literal_lowess(x, y, frac, n_iter):
    """Cleveland (1979), one local least squares problem after the other."""
    n = len(x)
    n_neighbours = min(max(int(frac * n + 0.5), 1), n)

    def local(i, robustness):
        distance = np.abs(x - x[i])
        width = np.sort(distance)[n_neighbours - 1]
        if width == 0:
            weight = (distance == 0).astype(float)
        else:
            weight = np.where(distance < width, (1 - (distance / width) ** 3) ** 3, 0)
        if np.any(weight * robustness > 0):
            weight = weight * robustness
        used = weight > 0
        if len(np.unique(x[used])) == 1:
            return np.average(y[used], weights=weight[used])
        root = np.sqrt(weight[used])
        line = np.column_stack([np.ones(used.sum()), x[used] - x[i]])
        return np.linalg.lstsq(line * root[:, None], y[used] * root, rcond=None)[0][0]

    fitted = np.array([local(i, np.ones(n)) for i in range(n)])
    for _ in range(n_iter):
        residual = np.abs(y - fitted)
        scale = 6 * np.median(residual)
        if scale <= 1e-7 * np.mean(np.abs(y - y.mean())):
            break
        robustness = np.where(residual < scale, (1 - (residual / scale) ** 2) ** 2, 0)
        fitted = np.array([local(i, robustness) for i in range(n)])
    return fitted


def r_squared(fitted, y):
    """Plain 1 - SSE / SST."""
    return 1 - np.sum((y - fitted) ** 2) / np.sum((y - y.mean()) ** 2)


def noisy_columns(n, seed):
    """Columns with ties, few values and heavy tails; y with outliers."""
    rng = np.random.default_rng(seed)
    smooth = rng.normal(size=n)
    X = np.column_stack(
        [
            smooth,
            np.round(smooth, 1),  # ties
            rng.integers(0, 3, n),  # few values
            np.exp(2 * smooth),  # heavy tail
            rng.integers(0, 2, n),
        ]
    ).astype(float)
    y = np.sin(2 * smooth) + 0.3 * rng.normal(size=n)
    y[:: max(n // 7, 1)] += 8  # outliers
    return X, y


# ---------------------------------------------------------------- lowess_r2


@pytest.mark.parametrize("frac", [0.2, 2 / 3, 1.0])
@pytest.mark.parametrize("n_iter", [0, 1, 3])
def test_lowess_equals_literal_loop(frac, n_iter):
    """Ties, outliers in y, few values and heavy tails included."""
    X, y = noisy_columns(61, seed=0)
    expected = np.column_stack([literal_lowess(x, y, frac, n_iter) for x in X.T])

    fitted = lowess_fit(X, y, frac, n_iter, None)

    assert_allclose(fitted, expected, rtol=0, atol=1e-9)
    scores = lowess_r2(X, y, frac=frac, n_iter=n_iter)
    assert_allclose(scores, [r_squared(f, y) for f in expected.T], atol=1e-9)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    values=st.lists(
        st.tuples(st.integers(-4, 4), st.integers(-20, 20)), min_size=4, max_size=25
    ),
    frac=st.sampled_from([0.3, 0.5, 2 / 3, 1.0]),
)
def test_lowess_equals_literal_loop_on_integers(values, frac):
    """Heavily tied small samples reach every special case of the local fits."""
    x, y = np.array(values, dtype=float).T
    expected = literal_lowess(x, y, frac, 2)

    fitted = lowess_fit(x[:, None], y, frac, 2, None)[:, 0]

    # A local problem near singularity, or a residual at the edge of its bisquare,
    # may fall on either side; those are rare enough to compare all others.
    assert_allclose(fitted, expected, atol=1e-6 * (1 + np.abs(y).max()))


def test_few_distinct_values_are_fitted_exactly_in_long_columns():
    """Few points suffice where few values occur, so nothing is interpolated."""
    X, y = noisy_columns(700, seed=1)
    few = np.round(X[:, [0]])  # fewer than 200 distinct values among 700 rows

    assert_array_equal(lowess_r2(few, y), lowess_r2(few, y, n_fits=None))


def test_interpolation_is_near_the_exact_fit_and_exact_at_its_points():
    """The error shrinks with the number of points, and is small at the default."""
    X, y = noisy_columns(1500, seed=2)
    exact = lowess_fit(X, y, 2 / 3, 3, None)
    fast = lowess_fit(X, y, 2 / 3, 3, 200)

    assert_allclose(lowess_r2(X, y), lowess_r2(X, y, n_fits=None), atol=1e-4)
    assert np.abs(fast - exact).max() < 0.02
    # Without robustness iterations the lines at the points are the exact ones.
    plain, plain_fast = (lowess_fit(X, y, 2 / 3, 0, n)[:, 0] for n in (None, 200))
    assert np.sum(np.abs(plain_fast - plain) < 1e-12) >= 100
    coarse, fine = (
        np.abs(lowess_fit(X[:, :1], y, 2 / 3, 3, n) - exact[:, :1]).max()
        for n in (10, 100)
    )
    assert fine < coarse


@pytest.mark.parametrize("n_samples", [40, 900])
def test_lowess_reproduces_a_line(n_samples):
    """Local lines leave a line alone, interpolated or not, whatever the x."""
    x = np.random.default_rng(0).lognormal(sigma=3, size=n_samples)

    assert_allclose(lowess_r2(x[:, None], 5 - 3 * x), 1.0, rtol=0, atol=1e-12)


def test_lowess_does_not_depend_on_units():
    """Neighbourhoods, weights and R² are the same in any unit of x and y."""
    X, y = noisy_columns(80, seed=3)

    moved = lowess_r2(-1e9 * X + 3e9, 1e-5 * y + 1)

    assert_allclose(moved, lowess_r2(X, y), atol=1e-6)


def test_one_wild_row_moves_the_robust_curve_hardly():
    """That is what the iterations are for."""
    rng = np.random.default_rng(4)
    x = np.sort(rng.uniform(size=60))
    y = x**2 + 0.01 * rng.normal(size=60)
    wild = y.copy()
    wild[30] = 50.0
    by_iterations = [
        np.abs(
            lowess_fit(x[:, None], wild, 0.5, n, None)
            - lowess_fit(x[:, None], y, 0.5, n, None)
        ).max()
        for n in (0, 3)
    ]

    assert by_iterations[0] > 1.0
    assert by_iterations[1] < 0.01
    # Its own error still counts: the score of one wild row is low.
    assert lowess_r2(x[:, None], wild)[0] < 0.1


def test_median_residual_of_zero_ends_the_iterations():
    """Six of ten rows are met exactly: no scale is left to call others large."""
    x = np.array([0.0] * 6 + [1.0] * 4)
    y = np.array([2.0] * 6 + [0.0, 1.0, 5.0, 10.0])

    fitted = lowess_fit(x[:, None], y, 2 / 3, 3, None)[:, 0]

    assert_allclose(fitted, [2.0] * 6 + [4.0] * 4)


def test_neighbourhood_let_go_as_a_whole_keeps_its_first_fit():
    """All rows with x = 1 are outliers by the scale of the rows with x = 0."""
    noise = np.array([0.1, -0.1, 0.12, -0.12, 0.11, -0.11, 0.09, -0.09])
    x = np.array([0.0] * 8 + [1.0] * 4)
    y = np.concatenate([noise, [-30.0, -20.0, 20.0, 50.0]])

    fitted = lowess_fit(x[:, None], y, 2 / 3, 3, None)[:, 0]

    assert_allclose(fitted[8:], 5.0)
    assert_allclose(fitted, literal_lowess(x, y, 2 / 3, 3), atol=1e-12)


def test_constant_column_scores_exactly_zero():
    """A column without variance explains none."""
    X, y = noisy_columns(50, seed=5)
    X[:, 1] = 0.1

    assert lowess_r2(X, y)[1] == 0.0


def test_lowess_in_little_memory():
    """Tables that are not kept are made anew: the same numbers to the last bit."""
    X, y = noisy_columns(1200, seed=6)
    expected = lowess_r2(X, y)
    with config_context(working_memory=1):
        assert_array_equal(lowess_r2(X, y), expected)


def test_lowess_of_many_short_columns_equals_each_alone():
    """Columns in one block do not know of each other."""
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(30, 400)), rng.normal(size=30)
    some = [0, 145, 146, 399]

    assert_allclose(lowess_r2(X, y)[some], [lowess_r2(X[:, [j]], y)[0] for j in some])


def test_huge_and_tiny_values():
    """No overflow or underflow near the ends of the range of floats."""
    x = np.linspace(-1, 1, 40)
    y = np.abs(x)
    expected = lowess_r2(x[:, None], y)

    assert_allclose(lowess_r2(np.column_stack([1e308 * x, 1e-300 * x]), y)[0], expected)
    assert_allclose(lowess_r2(1e-300 * x[:, None], y), expected)


# ---------------------------------------------------------------- auc


def test_auc_equals_roc_auc_score_with_ties():
    """In the better of the two directions."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 90)
    X = np.round(rng.normal(size=(90, 6)) + 0.4 * y[:, None], 1)
    area = np.array([roc_auc_score(y, x) for x in X.T])

    assert_allclose(auc(X, y), np.maximum(area, 1 - area), rtol=1e-14)


def test_auc_of_many_classes_is_the_best_against_the_rest():
    """Maximum over classes and directions."""
    rng = np.random.default_rng(1)
    y = rng.choice(["a", "b", "c", "d"], 120)
    X = rng.integers(0, 9, (120, 5)).astype(float)
    X[:, 0] += y == "c"
    areas = np.array([[roc_auc_score(y == k, x) for k in "abcd"] for x in X.T])

    assert_allclose(auc(X, y), np.maximum(areas, 1 - areas).max(axis=1), rtol=1e-14)


def test_auc_sees_order_only():
    """Increasing transformations change nothing, nor does turning a column round."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)

    assert_array_equal(auc(np.exp(X), y), auc(X, y))
    assert_allclose(auc(-X, y), auc(X, y), rtol=1e-14)
    assert_array_equal(auc(np.ones((60, 1)), y), [0.5])
    assert_array_equal(auc(y[:, None], y), [1.0])


# ---------------------------------------------------------------- group_statistic


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_group_statistic_equals_f_classif(n_classes):
    """F and its p-value, where no column is constant."""
    rng = np.random.default_rng(n_classes)
    y = rng.integers(0, n_classes, 80)
    X = rng.normal(size=(80, 7)) + 0.3 * y[:, None]

    f, p = group_statistic(X, y)

    expected = f_classif(X, y)
    assert_allclose(f, expected[0], rtol=1e-10)
    assert_allclose(p, expected[1], rtol=1e-9)


def test_two_groups_give_squared_t():
    """With Student's p-value."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 2, 40)

    t = stats.ttest_ind(X[y == 0], X[y == 1])

    f, p = group_statistic(X, y)
    assert_allclose(f, t.statistic**2, rtol=1e-11)
    assert_allclose(p, t.pvalue, rtol=1e-9)


def test_common_offset_costs_no_digits():
    """Exact F of integers by fractions; f_classif has no digit left here."""
    x = [10**9 + v for v in (1, 4, 2, 8, 5, 7)]
    y = [0, 0, 0, 1, 1, 1]
    groups = [[Fraction(v) for v, k in zip(x, y) if k == g] for g in (0, 1)]
    means = [sum(g) / 3 for g in groups]
    within = sum((v - m) ** 2 for g, m in zip(groups, means) for v in g)
    between = Fraction(3, 2) * (means[0] - means[1]) ** 2

    f, _ = group_statistic(np.array(x, dtype=float)[:, None], y)

    assert_allclose(f, float(between / (within / 4)), rtol=1e-12)


def test_constant_and_separating_columns():
    """No variance at all: F = 0; none within the groups: F infinite."""
    y = np.array([0, 0, 1, 1, 1])
    X = np.column_stack([np.full(5, 0.1), np.where(y, 0.3, 0.1), [1, 2, 3, 4, 5]])

    f, p = group_statistic(X, y)

    assert_array_equal(f[:2], [0, np.inf])
    assert_array_equal(p[:2], [1, 0])
    assert np.isfinite(f[2])


def test_columns_as_groups_equal_plain_analysis_of_variance():
    """Strings and numbers as levels; a constant column makes no groups."""
    rng = np.random.default_rng(3)
    colour = rng.choice(["red", "green", "blue"], 50)
    size = rng.integers(0, 4, 50)
    y = rng.normal(size=50) + size
    X = pd.DataFrame({"colour": colour, "size": size, "same": 1})

    f, p = group_statistic(X, y, groups="X")

    for j, levels in enumerate([colour, size]):
        expected = stats.f_oneway(*[y[levels == v] for v in np.unique(levels)])
        assert_allclose([f[j], p[j]], expected, rtol=1e-10)
    assert (f[2], p[2]) == (0, 1)


def test_two_levels_against_two_classes_is_symmetric():
    """F is a function of the correlation alone, whichever makes the groups."""
    rng = np.random.default_rng(4)
    X = rng.integers(0, 2, (60, 3))
    y = rng.integers(0, 2, 60)

    assert_allclose(
        group_statistic(X, y), group_statistic(X, y, groups="X"), rtol=1e-10
    )


# ---------------------------------------------------------------- all filters


@pytest.mark.parametrize("score_func", FILTERS)
def test_container_and_row_order_change_nothing(score_func):
    """Frames, sparse matrices, lists and permuted rows score alike."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 50)
    X = rng.integers(0, 6, (50, 4)) * (rng.uniform(size=(50, 4)) < 0.7) * 1.0
    expected = score_func(X, y)
    names = list("abcd")
    for container in (
        pd.DataFrame(X, columns=names),
        pl.DataFrame(X, schema=names),
        sparse.csr_array(X),
        sparse.csc_matrix(X),
        np.asfortranarray(X),
        X.tolist(),
    ):
        assert_allclose(score_func(container, y), expected, rtol=1e-12)
    order = rng.permutation(50)
    assert_allclose(score_func(X[order], y[order]), expected, rtol=1e-9)


@pytest.mark.parametrize("score_func", FILTERS)
def test_inputs_are_not_written_to(score_func):
    """Read-only input is enough."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), rng.integers(0, 2, 30)
    before = X.copy(), y.copy()
    X.setflags(write=False)
    y.setflags(write=False)

    score_func(X, y)

    assert_array_equal(X, before[0])
    assert_array_equal(y, before[1])


@pytest.mark.parametrize("score_func", FILTERS)
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_select_k_best(score_func, make):
    """Each filter is a score function of scikit-learn's selectors."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = rng.normal(size=(60, 5))
    X[:, 3] += 3 * y
    X[:, 1] = 0  # constant: never chosen before others

    selector = SelectKBest(score_func, k=1).fit(make(X), y)

    assert_array_equal(selector.get_support(indices=True), [3])
    assert selector.scores_.shape == (5,)
    assert np.isfinite(selector.scores_).all()
    assert np.argmin(selector.scores_) == 1 or score_func is lowess_r2
    assert (selector.pvalues_ is None) == (score_func is not group_statistic)


@pytest.mark.parametrize("score_func", FILTERS)
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_missing_values_are_refused_as_by_select_k_best(score_func, make):
    """The error names the columns."""
    X = np.arange(20.0).reshape(10, 2)
    X[3, 1] = np.nan
    y = np.arange(10) % 2

    with pytest.raises(ValueError, match=r"X contains NaN in \['x1'\].*impute"):
        score_func(make(X), y)
    with pytest.raises(ValueError, match="NaN"):
        SelectKBest(score_func, k=1).fit(make(X), y)


def test_missing_level_is_refused():
    """Also where columns are the groups."""
    X = pd.DataFrame({"a": [1.0, np.nan, 1.0, 2.0]})
    with pytest.raises(ValueError, match=r"NaN in \['a'\]"):
        group_statistic(X, [1.0, 2.0, 3.0, 4.0], groups="X")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, y: lowess_r2(X, y, frac=0), r"`frac` must be in \(0, 1\]"),
        (lambda X, y: lowess_r2(X, y, frac="0.5"), "`frac` must be in"),
        (lambda X, y: lowess_r2(X, y, n_iter=-1), "`n_iter` must be an integer >= 0"),
        (lambda X, y: lowess_r2(X, y, n_fits=1), "`n_fits` must be an integer >= 2"),
        (lambda X, y: lowess_r2(X, np.ones(6)), "y is constant"),
        (lambda X, y: lowess_r2(X, list("ababab")), "y must hold numbers"),
        (lambda X, y: auc(X, np.ones(6)), "at least two classes"),
        (lambda X, y: auc(X, y + 0.5 * y), "class labels, got a continuous"),
        (lambda X, y: auc(X, None), "y is needed"),
        (lambda X, y: auc(X, y[:4]), "y has 4 entries"),
        (lambda X, y: auc(X, np.c_[y, y]), "y must be 1-dimensional"),
        (lambda X, y: auc(X[:1], y[:1]), "at least two rows"),
        (lambda X, y: auc(X * np.inf, y), "infinity"),
        (lambda X, y: auc(np.array([["a"]] * 6), y), r"columns \['x0'\] do not"),
        (lambda X, y: group_statistic(X, y, groups="z"), "`groups` must be 'y' or 'X'"),
        (lambda X, y: group_statistic(X, np.arange(6)), "makes 6 groups of 6 rows"),
        (
            lambda X, y: group_statistic(X, y, groups="X"),
            "column 'x0' makes 6 groups of 6 rows",
        ),
    ],
)
def test_bad_input(call, message):
    """Each error names the argument and what is wrong with it."""
    X = np.array([[1.0], [2.0], [4.0], [3.0], [7.0], [5.0]])
    y = np.array([0.0, 1.0, 0.0, 1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match=message):
        call(X, y)


# ---------------------------------------------------------------- FilterImportance


def test_filter_importance_has_the_common_attributes():
    """Scores, p-values, names, ranks and the table."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    X["b"] += y

    importance = FilterImportance(score_func=group_statistic).fit(None, X, y)

    f, p = group_statistic(X, y)
    assert_array_equal(importance.importances_, f)
    assert_array_equal(importance.importances_per_output_, f[:, None])
    assert_array_equal(importance.pvalues_, p)
    assert importance.ranking_[1] == 1
    assert importance.entry_names_ == ["a", "b", "c"]
    assert importance.output_names_ == ["y"]
    assert importance.standard_errors_ is None
    assert importance.n_features_in_ == 3
    assert_array_equal(importance.feature_names_in_, ["a", "b", "c"])
    assert importance.to_frame()["entry"].iloc[0] == "b"
    assert clone(importance).score_func is group_statistic


def test_filter_importance_does_not_look_at_the_estimator():
    """None, an unfitted model and anything else score alike."""
    X, y = [[1.0], [2.0], [3.0], [5.0]], [0, 1, 0, 1]
    scores = [
        FilterImportance(auc).fit(estimator, X, y).importances_
        for estimator in (None, LinearRegression(), "anything")
    ]

    assert_array_equal(scores, [[0.75]] * 3)


def test_undefined_scores_rank_last_as_in_select_k_best():
    """NaN of a constant column, here among negative scores."""
    X = np.column_stack([np.ones(5), [1.0, 2, 3, 5, 4], [5.0, 4, 3, 1, 2]])
    y = np.arange(5.0)

    def correlation(X, y):
        return r_regression(X, y, force_finite=False)

    with np.errstate(invalid="ignore"):
        importance = FilterImportance(correlation).fit(None, X, y)
        selector = SelectKBest(correlation, k=2).fit(X, y)

    assert np.isnan(importance.scores_[0])
    assert_allclose(importance.importances_, [-0.9, 0.9, -0.9])
    assert not selector.get_support()[0]
    assert_array_equal(np.argsort(importance.ranking_)[:1], [1])


@pytest.mark.parametrize("score_func", FILTERS)
def test_whole_weights_equal_repeated_rows(score_func):
    """For every score function, weight 0 included."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 40)
    X = rng.normal(size=(40, 3)) + 0.5 * y[:, None]
    weights = rng.integers(0, 4, 40)
    X_strange = X.copy()
    X_strange[weights == 0] = 1e6  # rows of weight 0 do not exist

    weighted = FilterImportance(score_func).fit(
        None, X_strange, y, sample_weight=weights
    )

    rows = np.repeat(np.arange(40), weights)
    repeated = FilterImportance(score_func).fit(None, X[rows], y[rows])
    assert_allclose(weighted.importances_, repeated.importances_, rtol=1e-12)


def test_weights_are_passed_to_functions_that_take_them():
    """Others refuse fractions."""

    def weighted_sum(X, y, sample_weight=None):
        return sample_weight @ X

    X, y = np.array([[1.0, 2.0], [3.0, 4.0], [9.0, 9.0]]), [0, 1, 1]

    importance = FilterImportance(weighted_sum).fit(
        None, X, y, sample_weight=[0.5, 0.25, 0]
    )

    assert_allclose(importance.importances_, [1.25, 2.0])
    with pytest.raises(ValueError, match=r"must be whole numbers, got 0\.5: auc takes"):
        FilterImportance(auc).fit(None, X, y, sample_weight=[0.5, 0.25, 0])


def test_options_of_a_filter_through_partial():
    """A partial function is a callable without name."""
    X, y = noisy_columns(60, seed=0)
    rough = FilterImportance(partial(lowess_r2, frac=0.3)).fit(None, X, y)

    assert_array_equal(rough.importances_, lowess_r2(X, y, frac=0.3))


def test_filter_importance_bad_input():
    """Not callable, no y, and not one score a column."""
    X, y = [[1.0, 2.0], [2.0, 1.0], [3.0, 3.0]], [0, 1, 1]
    with pytest.raises(
        ValueError, match=r"'score_func' parameter .* must be a callable"
    ):
        FilterImportance("auc").fit(None, X, y)
    with pytest.raises(ValueError, match="y is needed"):
        FilterImportance(auc).fit(None, X)
    with pytest.raises(ValueError, match=r"one score a column, shape \(2,\), got \(\)"):
        FilterImportance(lambda X, y: 1.0).fit(None, X, y)
