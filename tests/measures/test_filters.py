"""Filters: AUC and F against scikit-learn, SciPy and fractions; bad input."""

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from messages import says
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.metrics import roc_auc_score

from skvarimp.filters import auc, group_statistic, lowess_r2

FILTERS = [lowess_r2, auc, group_statistic]


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

    with pytest.raises(ValueError, match=r"NaN or infinity in \['x1'\].*impute"):
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
        (lambda X, y: lowess_r2(X, y, frac=0), "'frac' parameter of lowess_r2 must be"),
        (
            lambda X, y: lowess_r2(X, y, frac="0.5"),
            "'frac' parameter of lowess_r2 must be",
        ),
        (lambda X, y: lowess_r2(X, y, n_iter=-1), "'n_iter' parameter .* Got -1"),
        (lambda X, y: lowess_r2(X, y, n_fits=1), "'n_fits' parameter .* Got 1"),
        (lambda X, y: lowess_r2(X, np.ones(6)), "y is constant"),
        (
            lambda X, y: lowess_r2(X, list("ababab")),
            says("y … numbers, got labels … group_statistic"),
        ),
        (lambda X, y: auc(X, np.ones(6)), says("y … two classes, got [")),
        (lambda X, y: auc(X, y + 0.5 * y), "Unknown label type: continuous"),
        (lambda X, y: auc(X, None), "y is needed"),
        (lambda X, y: auc(X, y[:4]), "y has 4 rows"),
        (lambda X, y: auc(X, np.c_[y, y]), "y must be 1-dimensional"),
        (lambda X, y: auc(X[:1], y[:1]), says("y … two classes, got [")),
        (lambda X, y: auc(X * np.inf, y), "infinity"),
        (lambda X, y: auc(np.array([["a"]] * 6), y), r"columns \['x0'\] do not"),
        (
            lambda X, y: group_statistic(X, y, groups="z"),
            "'groups' parameter .* Got 'z'",
        ),
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
