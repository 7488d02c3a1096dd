"""FIRM from scores at rows: against plain loops, weights, containers, bad input."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skvarimp import FIRMImportance
from skvarimp._firm_conditional import auto_bins, distinct_counts, quantile_codes
from skvarimp.exceptions import ImportanceWarning
from skvarimp.feature_functions import (
    Conjunction,
    Level,
    Linear,
    Not,
    Product,
    Step,
)

rng = np.random.default_rng(0)
N = 90
X = np.column_stack(
    [
        rng.normal(size=N),
        rng.integers(5, size=N),
        rng.normal(size=N) > 0.4,
        rng.exponential(size=N),
        np.full(N, 0.1),
    ]
).astype(float)


def score(X):
    """Two outputs, not linear in X."""
    X = np.asarray(X, dtype=float)
    first = np.sin(X[:, 0]) + X[:, 1] ** 2 / 8 + X[:, 2] * X[:, 3]
    return np.column_stack([first, X[:, 2] - X[:, 0] * X[:, 3]])


# --- the numbers, by plain loops ---


def literal_conditional_mean(codes, s):
    """Between-group variance minus sum_b p_b (1 - p_b) s_b^2 / n_b, at least 0."""
    n, mean = len(s), np.mean(s)
    between = correction = 0.0
    groups = [[s[i] for i in range(n) if codes[i] == c] for c in sorted(set(codes))]
    pooled = sum(np.sum((g - np.mean(g)) ** 2) for g in groups) / (n - len(groups))
    for g in groups:
        p = len(g) / n
        s2 = np.var(g, ddof=1) if len(g) > 1 else pooled
        between += p * (np.mean(g) - mean) ** 2
        correction += p * (1 - p) * s2 / len(g)
    return np.sqrt(max(0.0, between - correction))


def literal_bins(x, n_bins):
    """Bin of each row: where the middle of its value's ranks falls."""
    codes = []
    for v in x:
        below, tied = sum(x < v), sum(x == v)
        codes.append(min(int((below + tied / 2) / len(x) * n_bins + 1e-12), n_bins - 1))
    return codes


@pytest.mark.parametrize("n_bins", [2, 7, "auto"])
def test_conditional_means_by_loops(n_bins):
    """Exact means for few values, quantile bins for many; two outputs."""
    imp = FIRMImportance(method="conditional_mean", n_bins=n_bins).fit(score, X)
    S = score(X)
    k = 9 if n_bins == "auto" else n_bins  # 90 rows: 10 a bin
    for j, column in enumerate(X.T):
        few = len(set(column)) <= k
        codes = column.tolist() if few else literal_bins(column, k)
        expected = [literal_conditional_mean(codes, s) for s in S.T]
        np.testing.assert_allclose(
            imp.importances_per_output_[j], expected, rtol=1e-10, atol=1e-15
        )
        t, q = imp.conditional_scores_[f"x{j}"]
        for g, c in enumerate(sorted(set(codes))):
            rows = np.array(codes) == c
            np.testing.assert_allclose(q[g], S[rows].mean(axis=0), rtol=1e-12)
            assert t[g] == pytest.approx(column[rows].mean(), rel=1e-12)
    assert np.isnan(imp.signed_importances_).all()


def test_a_value_of_one_row_takes_the_pooled_variance():
    """Its own variance is unknown."""
    x = np.array([0, 0, 0, 1, 1, 1, 2], dtype=float)
    s = np.array([1.0, 2.0, 4.0, 0.0, 1.0, 1.0, 9.0])
    imp = FIRMImportance(method="conditional_mean", n_bins=3).fit(None, x[:, None], s)
    expected = literal_conditional_mean(x.tolist(), s)
    assert imp.importances_[0] == pytest.approx(expected, rel=1e-12)
    with pytest.raises(ValueError, match="7 different values in 7 rows"):
        FIRMImportance(method="conditional_mean").fit(
            None, np.array([list("abcdefg")], dtype=object).T, s
        )


def test_slopes_by_loops():
    """Slope of the regression times the column's sd; a constant column has none."""
    imp = FIRMImportance(method="linear").fit(score, X)
    S = score(X)
    for j in range(4):
        for o in range(2):
            slope = np.polyfit(X[:, j], S[:, o], 1)[0]
            found = imp.signed_importances_[j, o]
            assert found == pytest.approx(slope * X[:, j].std(), rel=1e-10)
        t, q = imp.conditional_scores_[f"x{j}"]
        line = np.poly1d(np.polyfit(X[:, j], S[:, 0], 1))
        np.testing.assert_allclose(q[:, 0], line(t), rtol=1e-9)
    assert imp.importances_[4] == 0.0
    assert imp.importances_per_output_.shape == (5, 2)
    np.testing.assert_allclose(
        imp.importances_, np.abs(imp.signed_importances_).mean(axis=1)
    )


# --- which method ---


def test_auto_chooses_by_values_and_score():
    """Two values; few values; many with a linear score, or without."""
    linear = LinearRegression().fit(X, score(X))
    functions = [Product(0, 3), Linear([1, 0, 0, 1, 0]), Step(0, 0)]
    imp = FIRMImportance(features=[0, 1, 2, 3, 4], feature_functions=functions)
    assert imp.fit(linear, X).method_ == [
        *("linear", "conditional_mean", "binary", "linear", "binary"),
        *("conditional_mean", "linear", "binary"),
    ]
    forest = RandomForestRegressor(2, random_state=0).fit(X, score(X))
    assert imp.fit(forest, X).method_ == [
        *("conditional_mean", "conditional_mean", "binary", "conditional_mean"),
        *("binary", "conditional_mean", "conditional_mean", "binary"),
    ]
    labels = FIRMImportance().fit(None, X, score(X))
    assert labels.method_[0] == "conditional_mean"  # labels are no function of X
    assert FIRMImportance(n_bins=4).fit(linear, X).method_[1] == "linear"


def test_conditional_scores_are_a_mapping():
    """Names in order; binary ends are the two means."""
    imp = FIRMImportance().fit(lambda Z: score(Z)[:, 0], X)
    assert list(imp.conditional_scores_) == imp.entry_names_
    assert len(imp.conditional_scores_) == 5
    t, q = imp.conditional_scores_["x2"]
    assert t.tolist() == [0.0, 1.0]
    s = score(X)[:, 0]
    np.testing.assert_allclose(q, [s[X[:, 2] == v].mean() for v in t], rtol=1e-12)
    assert "5 entries" in repr(imp.conditional_scores_)
    with pytest.raises(KeyError):
        imp.conditional_scores_["other"]


@given(
    values=st.lists(st.integers(-3, 3), min_size=2, max_size=40),
    n_bins=st.integers(2, 6),
)
def test_bins_keep_equal_values_together(values, n_bins):
    """Ascending, none empty, at most n_bins, and a function of the value."""
    x = np.array(values, dtype=float)
    codes = quantile_codes(x, np.full(len(x), 1 / len(x)), n_bins)
    assert set(codes) == set(range(codes.max() + 1))
    assert codes.max() < n_bins
    order = np.argsort(x)
    assert np.all(np.diff(codes[order]) >= 0)
    for v in set(values):
        assert len(set(codes[x == v])) == 1


def test_bins_of_distinct_values_are_of_equal_size():
    """1000 rows in 8 bins: 125 each."""
    x = rng.permutation(1000).astype(float)
    codes = quantile_codes(x, np.full(1000, 1e-3), 8)
    assert np.bincount(codes).tolist() == [125] * 8
    assert [auto_bins(n) for n in (4, 50, 100, 1000, 2000, 10**6)] == [
        *(2, 5, 10, 10, 12, 100)
    ]


@given(seed=st.integers(0, 10**6), limit=st.integers(2, 6))
@settings(max_examples=30)
def test_distinct_values_are_counted(seed, limit):
    """Exactly up to the limit, one more above it; NaN is one value."""
    random = np.random.default_rng(seed)
    F = random.integers(0, random.integers(1, 10, size=8), size=(50, 8)).astype(float)
    F[random.random(F.shape) < 0.02] = np.nan
    expected = [min(len(np.unique(column)), limit + 1) for column in F.T]
    assert distinct_counts(F, limit).tolist() == expected


# --- sample weights, standard errors ---

CASES = [
    {"method": "binary", "feature_functions": [Step(0, 0.1), Conjunction(2, Not(0))]},
    {"method": "linear"},
    {"method": "linear", "features": [[0, 3], [1, 2, 4]]},
    {"method": "conditional_mean"},
    {"method": "conditional_mean", "features": [[1, 2], [0, 3]], "n_bins": 16},
    {"method": "auto", "features": [[1, 2], 0, 2]},
]


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("parameters", CASES, ids=repr)
def test_integer_weights_are_repeated_rows(parameters, standardize):
    """Importances, standard errors and conditional scores; weight 0 is no row."""
    weights = rng.integers(0, 4, size=N)
    rows = np.repeat(np.arange(N), weights)
    imp = FIRMImportance(standardize=standardize, **parameters)
    imp.fit(score, X, sample_weight=weights)
    again = FIRMImportance(standardize=standardize, **parameters).fit(score, X[rows])
    np.testing.assert_allclose(imp.importances_, again.importances_, rtol=1e-9)
    np.testing.assert_allclose(
        imp.standard_errors_, again.standard_errors_, rtol=1e-9, atol=1e-12
    )
    for name, (t, q) in imp.conditional_scores_.items():
        if t.ndim == 1:
            np.testing.assert_allclose(t, again.conditional_scores_[name][0])
            np.testing.assert_allclose(q, again.conditional_scores_[name][1])


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("parameters", CASES[:-1], ids=repr)
def test_standard_errors_are_derivatives(parameters, standardize):
    """Infinitesimal jackknife: sum over rows of (dQ / d weight)^2, by differences.

    Without the correction, which is of a smaller order: so for many rows of few values.
    """
    Z = X.copy()
    Z[:, [0, 3]] = np.round(Z[:, [0, 3]])
    Z, repeats = np.repeat(Z[:40], 25, axis=0), 25
    imp = FIRMImportance(standardize=standardize, **parameters)
    base = imp.fit(score, Z)
    errors, changes = base.standard_errors_, []
    for row in range(0, len(Z), repeats):
        ends = []
        for h in (1e-3, -1e-3):
            weights = np.full(len(Z), 1.0 - h)
            weights[row] += h * len(Z)
            ends.append(imp.fit(score, Z, sample_weight=weights).importances_)
        changes.append((ends[0] - ends[1]) / 2e-3)
    expected = np.sqrt(repeats * np.sum(np.square(changes), axis=0)) / len(Z)
    np.testing.assert_allclose(errors, expected, rtol=0.03, atol=1e-12)


def draw(n, seed):
    """Correlated normal columns."""
    Z = np.random.default_rng(seed).normal(size=(n, 3))
    Z[:, 1] = 0.7 * Z[:, 0] + np.sqrt(0.51) * Z[:, 1]
    return Z


def curved(Z):
    """A fixed score that is linear in no column."""
    return np.sin(Z[:, 0]) + 0.5 * Z[:, 1] * Z[:, 2] + 0.3 * Z[:, 1]


def straight():
    """A fitted linear model with round coefficients."""
    model = LinearRegression().fit(draw(10, 0), np.zeros(10))
    model.coef_, model.intercept_ = np.array([1.0, 0.5, -0.3]), 0.0
    return model


@pytest.mark.parametrize(
    ("parameters", "fixed", "population"),
    [
        ({"method": "binary", "feature_functions": [Step(0, 0.3)]}, curved, None),
        ({"method": "linear", "features": [0]}, curved, None),
        ({"method": "linear", "features": [[0, 2]]}, curved, None),
        (
            {
                "method": "conditional_mean",
                "feature_functions": [lambda Z: np.clip(np.round(Z[:, 0]), -2, 2)],
            },
            curved,
            None,
        ),
        # (0.7 * 1 + 1 * 0.5) / 1
        ({"method": "gaussian", "features": [1]}, straight(), 1.2),
        (
            {"method": "linear", "features": [1], "standardize": True},
            straight(),
            # var s = 1 + 0.25 + 0.09 + 2 * 0.5 * 0.7
            1.2 / np.sqrt(2.04),
        ),
    ],
)
def test_intervals_cover(parameters, fixed, population):
    """Nominal 95% at n = 200 in 600 samples: 92 to 97%."""
    imp = FIRMImportance(**parameters)
    if population is None:
        population = imp.fit(fixed, draw(400_000, 10**6)).importances_[0]
    inside = []
    for seed in range(600):
        imp.fit(fixed, draw(200, seed))
        gap = np.abs(imp.importances_[0] - population)
        inside.append(gap <= 1.96 * imp.standard_errors_[0])
    assert 0.92 <= np.mean(inside) <= 0.97


# --- containers, categories, missing values ---


def frame(library):
    """Numbers, booleans, strings and categories."""
    columns = {
        "age": X[:, 0].tolist(),
        "member": [bool(v) for v in X[:, 2]],
        "colour": [["red", "green", "blue"][int(v) % 3] for v in X[:, 1]],
        "shop": [["north", "south"][int(v > 1)] for v in X[:, 1]],
    }
    data = library(columns)
    if library is pd.DataFrame:
        data["shop"] = data["shop"].astype("category")
    else:
        data = data.with_columns(pl.col("shop").cast(pl.Categorical))
    return data


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_frames_with_categories(library):
    """Strings get conditional means; two of them are binary, in alphabetical order."""
    data = frame(library)

    def colours(data):
        return np.array([len(c) for c in data["colour"]], dtype=float) + X[:, 0]

    imp = FIRMImportance().fit(colours, data)
    assert imp.method_ == ["conditional_mean", "binary", "conditional_mean", "binary"]
    assert type(imp.to_frame()) is library
    s = colours(data)
    t, q = imp.conditional_scores_["colour"]
    assert t.tolist() == ["blue", "green", "red"]
    groups = np.array(list(data["colour"]))
    np.testing.assert_allclose(q, [s[groups == c].mean() for c in t])
    assert imp.importances_[2] == pytest.approx(
        literal_conditional_mean(groups.tolist(), s), rel=1e-10
    )
    t, q = imp.conditional_scores_["shop"]
    assert t.tolist() == ["north", "south"]
    shops = np.array([str(v) for v in data["shop"]])
    np.testing.assert_allclose(q, [s[shops == c].mean() for c in t])
    assert np.sign(imp.signed_importances_[3, 0]) == np.sign(q[1] - q[0])
    both = FIRMImportance(features=[["colour", "shop"], ["member", "age"]])
    both.fit(colours, data)
    joint = [f"{a} {b}" for a, b in zip(groups, shops)]
    assert both.importances_[0] == pytest.approx(
        literal_conditional_mean(joint, s), rel=1e-10
    )
    assert both.entry_names_ == ["colour+shop", "member+age"]
    level = FIRMImportance(feature_functions=[Level("colour", "red")])
    assert level.fit(colours, data).entry_names_ == ["colour == 'red'"]
    with pytest.raises(ValueError, match="'colour' has other values"):
        FIRMImportance(method="linear").fit(colours, data)
    with pytest.raises(ValueError, match="'colour' has 3 values"):
        FIRMImportance(method="binary", features=["colour"]).fit(colours, data)


def test_models_of_frames():
    """A pipeline that encodes strings is called with the frame."""
    data = frame(pd.DataFrame)
    model = make_pipeline(OneHotEncoder(), Ridge()).fit(
        data[["colour", "shop"]], X[:, 0]
    )
    imp = FIRMImportance().fit(model, data[["colour", "shop"]])
    assert imp.feature_names_in_.tolist() == ["colour", "shop"]
    assert imp.method_ == ["conditional_mean", "binary"]


def test_missing_values_are_a_value():
    """NaN is a group of its own, beside means per value or bins."""
    Z = X.copy()
    Z[::7, 0], Z[::5, 1], Z[::4, 2] = np.nan, np.nan, np.nan
    s = np.nan_to_num(score(X)[:, 0]) + np.isnan(Z[:, 1])
    imp = FIRMImportance().fit(None, Z, s)
    assert imp.method_[:3] == ["conditional_mean"] * 3
    groups = ["none" if np.isnan(v) else v for v in Z[:, 1]]
    by_text = [str(g) for g in groups]
    assert imp.importances_[1] == pytest.approx(
        literal_conditional_mean(by_text, s), rel=1e-10
    )
    for name in ("x0", "x1", "x2"):
        t, _ = imp.conditional_scores_[name]
        assert np.isnan(t[-1])
        assert np.isfinite(t[:-1]).all()
    with pytest.raises(ValueError, match="'x0' has other values"):
        FIRMImportance(method="linear").fit(None, Z, s)
    with pytest.raises(ValueError, match="'x2' has missing or infinite values"):
        FIRMImportance(method="binary", features=[2]).fit(None, Z, s)


def sparse_rows():
    """Columns: 0/1, 0/3, -2/0, several values, empty, full of two values, full."""
    random = np.random.default_rng(2)
    bits = (random.random((80, 7)) < 0.3).astype(float)
    dense = bits * [1.0, 3.0, -2.0, 1.0, 0.0, 1.0, 1.0]
    dense[:, 3] *= random.integers(1, 4, size=80)
    dense[:, 5] = np.where(bits[:, 5], 5.0, 2.0)
    dense[:, 6] = random.normal(size=80)
    return dense


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csc_array])
@pytest.mark.parametrize("method", ["auto", "linear", "conditional_mean"])
@pytest.mark.parametrize("standardize", [False, True])
def test_sparse_equals_dense(container, method, standardize):
    """Every kind of column, two outputs, weights and a selection of columns."""
    dense = sparse_rows()
    s = np.column_stack([dense @ np.arange(7.0), np.sin(dense).sum(axis=1)])
    weights = np.random.default_rng(0).integers(0, 3, size=80)
    for features in (None, [6, 2, 0, 4, [1, 3]]):
        imp = FIRMImportance(method=method, standardize=standardize, features=features)
        imp.fit(None, dense, s, sample_weight=weights)
        again = FIRMImportance(**imp.get_params())
        again.fit(None, container(dense), s, sample_weight=weights)
        assert again.method_ == imp.method_
        for name in ("importances_", "standard_errors_", "signed_importances_"):
            np.testing.assert_allclose(
                getattr(again, name), getattr(imp, name), rtol=1e-9, atol=1e-12
            )
        for name, (t, q) in imp.conditional_scores_.items():
            np.testing.assert_allclose(again.conditional_scores_[name][0], t)
            np.testing.assert_allclose(again.conditional_scores_[name][1], q)
    if method == "auto":
        assert imp.method_ == [
            *("conditional_mean", "binary", "binary", "binary", "conditional_mean")
        ]


def test_sparse_functions_and_explicit_zeros():
    """Stored zeros are zeros; functions read the columns they name."""
    dense = sparse_rows()
    stored = sparse.csr_array(dense)
    stored.data[::3] = 0.0
    dense = stored.toarray()
    s = dense[:, 0] - dense[:, 1]
    functions = [Conjunction(0, 1), Product(1, 3), lambda Z: Z[:, [0]].toarray()[:, 0]]
    imp = FIRMImportance(features=[0, 1, 2], feature_functions=functions)
    imp.fit(None, stored, s)
    functions[2] = lambda Z: Z[:, 0]
    same = FIRMImportance(features=[0, 1, 2], feature_functions=functions)
    np.testing.assert_allclose(
        imp.importances_, same.fit(None, dense, s).importances_, rtol=1e-10
    )


def test_blocks_change_nothing(monkeypatch):
    """One column at a time gives the same numbers."""
    whole = FIRMImportance().fit(score, X)
    monkeypatch.setattr("skvarimp._firm_estimate.BLOCK_ELEMENTS", 1)
    single = FIRMImportance().fit(score, X)
    np.testing.assert_allclose(single.importances_, whole.importances_, rtol=1e-12)
    np.testing.assert_allclose(
        single.standard_errors_, whole.standard_errors_, rtol=1e-12
    )


# --- labels as the score ---


def test_labels_as_scores():
    """Numbers as they are; of two classes the second; of three all."""
    names = np.array(["no", "yes"])[X[:, 2].astype(int)]
    by_name = FIRMImportance().fit(None, X, names)
    by_number = FIRMImportance().fit(None, X, X[:, 2])
    np.testing.assert_allclose(by_name.importances_, by_number.importances_)
    assert by_name.output_names_ == ["yes"]
    assert by_number.output_names_ == ["y"]
    iris = load_iris(as_frame=True)
    species = iris.target_names[iris.target]
    three = FIRMImportance().fit(None, iris.data, species)
    assert three.output_names_ == ["setosa", "versicolor", "virginica"]
    for o, name in enumerate(three.output_names_):
        one = FIRMImportance().fit(None, iris.data, (species == name).astype(int))
        np.testing.assert_allclose(
            three.importances_per_output_[:, o], one.importances_, rtol=1e-12
        )
    numbers = FIRMImportance().fit(None, X, score(X))
    assert numbers.output_names_ == ["y0", "y1"]
    objects = FIRMImportance().fit(None, X, X[:, 2].astype(int).astype(object))
    np.testing.assert_allclose(objects.importances_, by_number.importances_)
    pairs = np.column_stack([names, names[::-1]])
    assert FIRMImportance().fit(None, X, pairs).output_names_ == ["y0: yes", "y1: yes"]
    with pytest.raises(ValueError, match="y was not given"):
        FIRMImportance().fit(None, X)
    labels = np.array([*names[:-1], None], dtype=object)
    with pytest.raises(ValueError, match="y has missing labels"):
        FIRMImportance().fit(None, X, labels)


# --- edges and bad input ---


def test_constants_are_0():
    """A constant column, function or score has no importance, and no NaN."""
    for standardize in (False, True):
        imp = FIRMImportance(
            features=[4],
            feature_functions=[lambda Z: np.ones(len(Z)), Level(1, 99)],
            standardize=standardize,
        )
        imp.feature_functions[0].__name__ = "one"
        imp.fit(score, X)
        assert imp.importances_.tolist() == [0.0] * 3
        assert imp.standard_errors_.tolist() == [0.0] * 3
        for method in ("auto", "binary", "linear", "conditional_mean"):
            features = [2, 4] if method == "binary" else None
            imp = FIRMImportance(
                method=method, standardize=standardize, features=features
            ).fit(lambda Z: np.full(len(Z), 0.3), X)
            assert np.all(imp.importances_ == 0.0)
            assert np.all(imp.standard_errors_ == 0.0)
    dense = np.zeros((6, 3))
    empty = FIRMImportance().fit(None, sparse.csr_array(dense), np.arange(6.0))
    assert empty.importances_.tolist() == [0.0] * 3


def test_one_constant_output_among_others():
    """Standardising leaves it 0 and does not disturb the rest."""
    s = np.column_stack([score(X)[:, 0], np.ones(N)])
    imp = FIRMImportance(standardize=True).fit(None, X, s)
    alone = FIRMImportance(standardize=True).fit(None, X, s[:, 0])
    np.testing.assert_allclose(imp.importances_per_output_[:, 0], alone.importances_)
    assert np.all(imp.importances_per_output_[:, 1] == 0)
    np.testing.assert_allclose(imp.standard_errors_, alone.standard_errors_ / 2)


def test_bad_feature_functions_are_refused():
    """Another length, non-finite values, no numbers, no function."""

    def fit(function, **parameters):
        return FIRMImportance(feature_functions=[function], **parameters).fit(score, X)

    def short(Z):
        return Z[:-1, 0]

    def infinite(Z):
        return np.log(
            np.zeros(len(Z)) + (Z[:, 2] > 0) * 1.0,
            where=Z[:, 2] > 0,
            out=np.full(len(Z), np.nan),
        )

    def words(Z):
        return np.array(["a"] * len(Z))

    with pytest.raises(ValueError, match=r"'short' returned shape \(89,\) for 90 rows"):
        fit(short)
    with pytest.raises(ValueError, match="'infinite' returned NaN or infinity"):
        fit(infinite)
    with pytest.raises(TypeError, match="'words' returned values that are not numbers"):
        fit(words)
    with pytest.raises(TypeError, match=r"got 0\. Columns go into `features`"):
        fit(0)
    with pytest.raises(TypeError, match=r"Use feature_functions=\[\.\.\.\] for one"):
        FIRMImportance(feature_functions=Product(0, 1)).fit(score, X)
    with pytest.raises(ValueError, match="`feature_functions` is empty"):
        FIRMImportance(feature_functions=[]).fit(score, X)
    with pytest.raises(ValueError, match="Two entries are called '<lambda>'"):
        FIRMImportance(feature_functions=[lambda Z: Z[:, 0], lambda Z: Z[:, 1]]).fit(
            score, X
        )
    named = {"a": lambda Z: Z[:, 0], "b": lambda Z: Z[:, [1]]}
    imp = FIRMImportance(feature_functions=named).fit(score, X)
    assert imp.entry_names_ == ["a", "b"]
    with pytest.raises(ValueError, match="Two entries are called 'x0'"):
        FIRMImportance(features=[0], feature_functions={"x0": Product(0)}).fit(score, X)


def test_bad_parameters_and_data_are_refused():
    """Before any work, with a way out."""
    with pytest.raises(ValueError, match="two values, but 'x1' has 5 values"):
        FIRMImportance(method="binary", features=[2, 1]).fit(score, X)
    with pytest.raises(
        ValueError, match=r"two values, but 'x1\+x2' has 10. Use method"
    ):
        FIRMImportance(method="binary", features=[[1, 2]]).fit(score, X)
    with pytest.raises(ValueError, match="'method' parameter"):
        FIRMImportance(method="slope").fit(score, X)
    with pytest.raises(ValueError, match="'n_bins' parameter"):
        FIRMImportance(n_bins=1).fit(score, X)
    with pytest.raises(ValueError, match="X has 3 columns"):
        FIRMImportance().fit(LinearRegression().fit(X, X[:, 0]), X[:, :3])
    with pytest.raises(NotFittedError, match="not fitted yet"):
        FIRMImportance().fit(LinearRegression(), X)
    with pytest.raises(ValueError, match="y has 3 entries"):
        FIRMImportance().fit(None, X, [1, 2, 3])
    with pytest.raises(ValueError, match="`sample_weight` must be non-negative"):
        FIRMImportance().fit(score, X, sample_weight=-np.ones(N))
    with pytest.raises(ValueError, match="X has no columns"):
        FIRMImportance().fit(None, X[:, :0], X[:, 0])
    with pytest.raises(ValueError, match="NaN or infinite"):
        FIRMImportance().fit(lambda Z: Z[:, 0] * np.nan, X)
    with pytest.raises(ValueError, match="has no `decision_function`"):
        FIRMImportance(response_method="decision_function").fit(
            LinearRegression().fit(X, X[:, 0]), X
        )


def test_nothing_is_modified_and_fits_repeat():
    """X, y, weights and the model stay; a second fit is the first one."""
    model = LogisticRegression().fit(X, X[:, 2])
    weights, before = np.ones(N), X.copy()
    coef = model.coef_.copy()
    imp = FIRMImportance(feature_functions=[Product(0, 3)], features=[0, 1, [0, 3]])
    first = imp.fit(model, X, sample_weight=weights).importances_
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(model.coef_, coef)
    np.testing.assert_array_equal(weights, 1.0)
    np.testing.assert_array_equal(imp.fit(model, X).importances_, first)
    again = pickle.loads(pickle.dumps(imp))
    np.testing.assert_array_equal(again.importances_, first)
    _, q = again.conditional_scores_["x0 * x3"]
    np.testing.assert_array_equal(q, imp.conditional_scores_["x0 * x3"][1])
    assert FIRMImportance().fit(estimator=model, X=X).n_features_in_ == 5


def test_permuting_columns_permutes_importances():
    """No column is special."""
    order = [3, 0, 4, 2, 1]
    inverse = np.argsort(order)
    one = FIRMImportance().fit(score, X)
    two = FIRMImportance().fit(lambda Z: score(Z[:, inverse]), X[:, order])
    np.testing.assert_allclose(two.importances_, one.importances_[order], rtol=1e-12)


def test_classes_are_outputs():
    """A forest's three probabilities: one importance each, and their mean."""
    iris = load_iris(as_frame=True)
    forest = RandomForestClassifier(5, random_state=0).fit(iris.data, iris.target)
    imp = FIRMImportance().fit(forest, iris.data)
    assert imp.output_names_ == ["0", "1", "2"]
    for o in range(3):
        column = lambda Z, o=o: forest.predict_proba(Z)[:, o]  # noqa: E731
        one = FIRMImportance().fit(column, iris.data)
        np.testing.assert_allclose(
            imp.importances_per_output_[:, o], one.importances_, rtol=1e-10
        )


# --- callbacks ---


class Recorder:
    """Counts steps; asks to stop once `stop_after` of them have ended."""

    def __init__(self, stop_after=None):
        self.stop_after, self.steps, self.events = stop_after, 0, []

    def setup(self, estimator, context):
        """See `FitCallback`."""
        self.events.append("setup")
        self.max_subtasks = context.max_subtasks

    def teardown(self, estimator, context):
        """See `FitCallback`."""
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        """See `FitCallback`."""

    def on_fit_task_end(self, estimator, context):
        """See `FitCallback`."""
        self.steps += context.task_name == "entry"
        return self.stop_after is not None and self.steps >= self.stop_after


def test_callbacks_see_entries_and_may_stop(monkeypatch):
    """A step an entry; what was not reached is NaN."""
    monkeypatch.setattr("skvarimp._firm_estimate.BLOCK_ELEMENTS", 1)
    complete = FIRMImportance(features=[0, 1, 2, 3, [0, 1]]).fit(score, X)
    recorder = Recorder()
    imp = FIRMImportance(features=[0, 1, 2, 3, [0, 1]]).set_callbacks(recorder)
    np.testing.assert_array_equal(imp.fit(score, X).importances_, complete.importances_)
    assert recorder.events == ["setup", "teardown"]
    assert recorder.steps == recorder.max_subtasks == 5
    imp.set_callbacks(Recorder(stop_after=2))
    with pytest.warns(ImportanceWarning, match="3 of 5 entries have no importance"):
        imp.fit(score, X)
    np.testing.assert_array_equal(imp.importances_[:2], complete.importances_[:2])
    assert np.isnan(imp.importances_[2:]).all()
    assert np.isnan(imp.standard_errors_[2:]).all()


def test_callbacks_of_the_closed_form(monkeypatch):
    """A step a block of rows; a stop leaves the importances without errors."""
    monkeypatch.setattr("skvarimp._firm_gaussian.BLOCK_ELEMENTS", 150)
    model = LinearRegression().fit(X, score(X))
    complete = FIRMImportance(method="gaussian").fit(model, X)
    imp = FIRMImportance(method="gaussian").set_callbacks(Recorder(stop_after=1))
    with pytest.warns(ImportanceWarning, match="after 30 of 90 rows"):
        imp.fit(model, X)
    np.testing.assert_array_equal(imp.importances_, complete.importances_)
    assert imp.standard_errors_ is None
    recorder = Recorder()
    imp.set_callbacks(recorder).fit(model, X)
    assert recorder.steps == recorder.max_subtasks == 3
    np.testing.assert_array_equal(imp.standard_errors_, complete.standard_errors_)
