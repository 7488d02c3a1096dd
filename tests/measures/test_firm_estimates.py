"""FIRM from scores at rows: against plain loops, and which method is chosen."""

import warnings

import numpy as np
import pytest
from combinations import half
from firm_rows import X, literal_conditional_mean, score
from literal import standard_error
from roundoff import roundoff
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression

from skvarimp import FIRMImportance
from skvarimp.exceptions import ImportanceWarning
from skvarimp.feature_functions import Linear, Product, Step


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
    k = 9 if n_bins == "auto" else n_bins  # 90 rows: 10 per bin
    for j, column in enumerate(X.T):
        few = len(set(column)) <= k
        codes = column.tolist() if few else literal_bins(column, k)
        expected = [literal_conditional_mean(codes, s) for s in S.T]
        np.testing.assert_allclose(
            imp.importances_per_output_[j],
            expected,
            rtol=1e-10,
            atol=roundoff(len(S), S),
        )
        t, q = imp.conditional_scores_[f"x{j}"]
        for g, c in enumerate(sorted(set(codes))):
            rows = np.array(codes) == c
            np.testing.assert_allclose(q[g], S[rows].mean(axis=0), rtol=1e-12)
            assert t[g] == pytest.approx(column[rows].mean(), rel=1e-12)
    assert np.isnan(imp.signed_importances_).all()


def test_whole_numbers_that_floats_cannot_tell_apart():
    """The curve has the values of the column, which move nothing else."""
    small = np.array([0, 0, 0, 1, 1, 4, 4, 4, 9, 9])
    s = np.array([1.0, 2.0, 4.0, 0.0, 1.0, 9.0, 8.0, 5.0, 2.0, 1.0])
    near = FIRMImportance().fit(None, small[:, None], s)
    far = FIRMImportance().fit(None, 2**60 + small[:, None], s)
    np.testing.assert_array_equal(far.importances_, near.importances_)
    (t, q), (_, expected) = (
        far.conditional_scores_["x0"],
        near.conditional_scores_["x0"],
    )
    np.testing.assert_array_equal(q, expected)
    np.testing.assert_allclose(t, 2.0**60, rtol=1e-15)


def test_a_value_of_one_row_takes_the_pooled_variance():
    """Its own variance is unknown."""
    x = np.array([0, 0, 0, 1, 1, 1, 2], dtype=float)
    s = np.array([1.0, 2.0, 4.0, 0.0, 1.0, 1.0, 9.0])
    imp = FIRMImportance(method="conditional_mean", n_bins=3).fit(None, x[:, None], s)
    expected = literal_conditional_mean(x.tolist(), s)
    assert imp.importances_[0] == pytest.approx(expected, rel=1e-12)


def test_what_repeats_too_little_is_not_estimated():
    """NaN and a warning for that feature; the other features keep their numbers."""
    random = np.random.default_rng(0)
    groups, s = random.choice(["a", "b", "c"], 300), random.standard_normal(300)
    for k in (290, 300):
        names = np.concatenate([np.arange(k), random.integers(0, k, 300 - k)])
        rows = np.column_stack([names.astype(str), groups]).astype(object)
        with pytest.warns(ImportanceWarning, match=f"'x0' cannot be.* {k} different"):
            imp = FIRMImportance().fit(None, rows, s)
        alone = FIRMImportance().fit(None, rows[:, 1:], s)
        assert np.isnan(imp.importances_[0])
        assert np.isnan(imp.standard_errors_[0])
        assert imp.importances_[1] == pytest.approx(alone.importances_[0], rel=1e-12)
        assert imp.ranking_.tolist() == [2, 1]
        assert len(imp.conditional_scores_["x0"][0]) == k


@pytest.mark.parametrize("n_pairs", [55, 56])
def test_unknown_are_12_percent_of_the_variance_of_a_score(n_pairs):
    """Of 300 rows of which some share a name with one other: A / n (2 / f)^(1/2)."""
    names = np.append(np.repeat(np.arange(n_pairs), 2), np.arange(300)[2 * n_pairs :])
    names = names.astype(str).astype(object)[:, np.newaxis]
    assert len(names) == 300
    unknown = (300 - 2 * n_pairs) / 300 * np.sqrt(2 / n_pairs) > 0.12
    assert unknown == (n_pairs == 55)
    s = np.random.default_rng(0).standard_normal(300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImportanceWarning)
        imp = FIRMImportance().fit(None, names, s)
    assert np.isnan(imp.importances_[0]) == unknown


@pytest.mark.parametrize("k", half([30, 100, 150, 200, 299]))
def test_noise_identifiers_are_not_significant(k):
    """Levels of few rows: at most 7% of samples of noise lie three errors above 0."""
    random, found = np.random.default_rng(k), []
    for _ in range(120):
        codes = np.concatenate([np.arange(k), random.integers(0, k, 300 - k)])
        rows = codes.astype(str).astype(object)[:, np.newaxis]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ImportanceWarning)
            imp = FIRMImportance().fit(None, rows, random.standard_normal(300))
        found.append(imp.importances_[0] > 3 * imp.standard_errors_[0])
    assert np.mean(found) <= 0.07


@pytest.mark.parametrize("n_alone", [0, 1, 3])
@pytest.mark.parametrize("standardize", [False, True])
def test_the_error_of_conditional_means_by_leaving_rows_out(standardize, n_alone):
    """Against literal estimates without each row."""
    random = np.random.default_rng(1)
    x = random.integers(0, 12, 40)
    x[:n_alone] = [20, 21, 22][:n_alone]  # groups of one row
    x[-2:] = 30  # a group of two
    s = random.standard_normal(40) + 0.5 * x
    imp = FIRMImportance(method="conditional_mean", n_bins=50, standardize=standardize)
    imp.fit(None, x[:, np.newaxis], s)
    n = len(x)
    spread = s.std() if standardize else 1.0
    xs, ss = x, (s - s.mean()) / spread
    rows = np.arange(n)
    q2 = literal_conditional_mean(xs.tolist(), ss) ** 2
    without = [
        literal_conditional_mean(xs[rows != i].tolist(), ss[rows != i]) ** 2
        for i in rows
    ]
    psi = (n - 1) * (q2 - np.array(without))
    if standardize:
        psi -= q2 * (ss**2 - 1)
    error = standard_error(psi) / (2 * np.sqrt(q2))
    assert imp.importances_[0] == pytest.approx(np.sqrt(q2), rel=1e-10)
    assert imp.standard_errors_[0] == pytest.approx(error, rel=1e-8)


@pytest.mark.parametrize(
    ("n_columns", "n_bins", "each"),
    [(2, 5, 2), (2, 8, 2), (2, 9, 3), (3, 7, 2), (3, 27, 3), (3, 63, 3), (3, 64, 4)],
)
def test_joint_bins_of_a_group_are_about_as_many_as_asked(n_columns, n_bins, each):
    """Of each column the whole part of the root of their number, at least 2."""
    random = np.random.default_rng(3)
    rows, s = random.normal(size=(240, n_columns)), random.normal(size=240)
    group = list(range(n_columns))
    imp = FIRMImportance(method="conditional_mean", features=[group], n_bins=n_bins)
    imp.fit(None, rows, s)
    ranks = np.argsort(np.argsort(rows, axis=0), axis=0)
    bins = [tuple(row) for row in (ranks * each // 240).tolist()]
    means = {b: np.mean([v for v, own in zip(s, bins) if own == b]) for b in bins}
    ((t, q),) = imp.conditional_scores_.values()
    assert len(t) == len(means) <= each**n_columns
    place = {tuple(row): i for i, row in enumerate(rows.tolist())}
    expected = [means[bins[place[tuple(row)]]] for row in t.tolist()]
    np.testing.assert_allclose(q, expected, rtol=0, atol=1e-13)


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


def test_units_of_a_group_decide_nothing():
    """Its regression is on columns of equal spread, and a constant adds nothing."""
    s, units = score(X)[:, 0], np.array([1e-20, 1.0, 1.0, 1e20, 1.0])
    columns = X[:, [0, 3, 4]]  # the last is constant: the intercept
    fitted = columns @ np.linalg.lstsq(columns, s)[0]
    imp = FIRMImportance(method="linear", features=[[0, 3, 4]])
    assert imp.fit(None, X * units, s).importances_[0] == pytest.approx(np.std(fitted))


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
    n_values = len(np.unique(X[:, 1]))
    for n_bins, method in ((n_values - 1, "linear"), (n_values, "conditional_mean")):
        assert FIRMImportance(n_bins=n_bins).fit(linear, X).method_[1] == method


def test_conditional_scores_are_a_mapping():
    """Names in order; binary ends are the two means."""
    imp = FIRMImportance().fit(lambda Z: score(Z)[:, 0], X)
    assert list(imp.conditional_scores_) == imp.features_
    assert len(imp.conditional_scores_) == 5
    t, q = imp.conditional_scores_["x2"]
    assert t.tolist() == [0.0, 1.0]
    s = score(X)[:, 0]
    np.testing.assert_allclose(q, [s[X[:, 2] == v].mean() for v in t], rtol=1e-12)
    with pytest.raises(KeyError):
        imp.conditional_scores_["other"]
