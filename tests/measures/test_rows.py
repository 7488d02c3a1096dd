"""Intervals, rank intervals and differences from the influences of rows."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from combinations import each
from literal import skewness, standard_error
from messages import says
from roundoff import roundoff
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression

from skvarimp import (
    ALEImportance,
    DerivativeImportance,
    FIRMImportance,
    ImpurityImportance,
    PartialDependenceImportance,
    PermutationImportance,
    RowsDisplay,
    SensitivityImportance,
    ShapleyImportance,
    SobolImportance,
    importance_by_cohort,
    importance_difference,
    rank_intervals,
)
from skvarimp.exceptions import ImportanceWarning

rng = np.random.default_rng(0)
N = 400
X = rng.normal(size=(N, 4))


def linear(*slopes):
    """A model that adds up slopes times columns."""
    return lambda X: np.asarray(X)[:, : len(slopes)] @ np.array(slopes)


def fitted(*slopes, X=X, **parameters):
    """ALE importances of a linear model, rows kept."""
    return ALEImportance(keep_rows=True).fit(linear(*slopes), X, **parameters)


def literal_rank_intervals(importance, confidence=0.95):
    """Bonferroni over all pairs, without a correction for skewness."""
    theta, psi = importance.importances_, importance.influences_
    p = len(theta)
    z = stats.norm.ppf(1 - (1 - confidence) / (p * (p - 1)))
    lowest, highest = np.ones(p), np.full(p, p)
    for j in range(p):
        for k in range(p):
            error = standard_error(psi[:, j] - psi[:, k])
            if j != k and theta[j] - theta[k] > z * error:
                lowest[k] += 1
                highest[j] -= 1
    return lowest, highest


def by_feature(frame, name):
    """One column of a frame in the order of the features' names."""
    return np.asarray(frame.sort_values("feature")[name])


def test_intervals_are_skewness_corrected():
    """Hall's transformation of the bounds is Student's quantile."""
    imp = fitted(1.0, 0.5, 0.0, 2.0)
    frame = imp.interval(confidence=0.9)

    t = stats.t.ppf(0.95, N - 1)
    theta, psi = imp.importances_, imp.influences_
    error = standard_error(psi)
    used = error > 0
    g = skewness(psi[:, used], error[used])
    for name, sign in (("lower", 1.0), ("upper", -1.0)):
        studentised = (theta - by_feature(frame, name))[used] / error[used]
        hall = studentised + g * studentised**2 / 3 + g**2 * studentised**3 / 27 + g / 6
        np.testing.assert_allclose(hall, sign * t, rtol=1e-9)
    assert by_feature(frame, "lower")[2] == by_feature(frame, "upper")[2] == 0


def test_ranks_of_near_ties_are_shared():
    """Clear differences are decided, equal importances never."""
    frame = rank_intervals(fitted(1.0, 1.0, 0.0, 3.0)).to_frame()

    assert by_feature(frame, "lowest_rank").tolist() == [2, 2, 4, 1]
    assert by_feature(frame, "highest_rank").tolist() == [3, 3, 4, 1]
    assert frame["feature"].tolist()[0] == "x3"
    assert np.all(frame["lower"] <= frame["importance"])
    assert np.all(frame["upper"] >= frame["importance"])


def test_rank_intervals_are_no_wider_than_bonferronis_and_sometimes_narrower():
    """The largest of correlated differences has a smaller quantile."""
    narrower = 0
    for seed in range(8):
        some = np.random.default_rng(seed).normal(size=(150, 10))
        imp = fitted(*np.linspace(1, 1.6, 10), X=some)
        frame = rank_intervals(imp).to_frame()
        lowest, highest = literal_rank_intervals(imp)
        names = np.argsort(imp.features_)
        width = by_feature(frame, "highest_rank") - by_feature(frame, "lowest_rank")
        width_bonferroni = (highest - lowest)[names]
        assert width.sum() <= width_bonferroni.sum() + 1
        narrower += width.sum() < width_bonferroni.sum()

    assert narrower >= 4


def test_many_features_are_compared_by_holm():
    """The same ranks where differences are clear, in a table that fits."""
    slopes = np.r_[np.full(5, 4.0), np.full(300, 1.0)]
    wide = np.random.default_rng(1).normal(size=(400, 305))
    frame = rank_intervals(fitted(*slopes, X=wide)).to_frame()

    top = frame.head(5)
    assert set(top["feature"]) == {"x0", "x1", "x2", "x3", "x4"}
    assert top["highest_rank"].max() == 5
    assert frame["lowest_rank"].iloc[5:].min() == 6


def test_paired_differences_use_the_covariance():
    """Two models on the same rows: what they share cancels."""
    first, second = fitted(1.0, 0.5, 0.2), fitted(1.1, 0.5, 0.0)
    frame = importance_difference(first, second).to_frame()

    psi = first.influences_ - second.influences_
    error = standard_error(psi)
    np.testing.assert_allclose(by_feature(frame, "standard_error"), error, atol=1e-15)
    difference = first.importances_ - second.importances_
    np.testing.assert_allclose(by_feature(frame, "difference"), difference, atol=1e-15)
    p = by_feature(frame, "p_value")
    assert p[1] == p[3] == 1.0  # equal without error
    assert p[0] < 1e-6
    adjusted = by_feature(frame, "adjusted_p_value")
    assert adjusted[0] == pytest.approx(min(1.0, p[0] * (4 if p[0] < p[2] else 3)))


def test_differences_of_other_rows_are_independent():
    """Variances add up."""
    first, second = fitted(1.0, 0.5), fitted(1.0, 0.5, X=X[::-1] + 1e-9)
    frame = importance_difference(first, second).to_frame()

    expected = np.hypot(first.standard_errors_, second.standard_errors_)
    np.testing.assert_allclose(by_feature(frame, "standard_error"), expected)
    assert np.all(by_feature(frame, "p_value") > 0.9)


def test_names_match_features_in_any_order():
    """A dict of features may list them differently."""
    one = ALEImportance(features={"a": 0, "b": 1}, keep_rows=True)
    other = ALEImportance(features={"b": 1, "a": 0}, keep_rows=True)
    model = linear(1.0, 2.0)

    frame = importance_difference(one.fit(model, X), other.fit(model, X)).to_frame()

    assert frame["difference"].tolist() == [0.0, 0.0]


def test_frames_come_back_in_the_users_library():
    """Polars in, polars out."""
    frame = pl.DataFrame(X, schema=list("abcd"))
    imp = ALEImportance(keep_rows=True).fit(
        lambda X: X["a"].to_numpy() + 0.1 * X["b"].to_numpy(), frame
    )

    assert isinstance(imp.interval(), pl.DataFrame)
    assert isinstance(rank_intervals(imp).to_frame(), pl.DataFrame)
    assert isinstance(importance_difference(imp, imp).to_frame(), pl.DataFrame)


def test_weights_count_whatever_their_scale():
    """In all that follows from influences; rows with zero weight have none."""
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 3, N)

    def tables(scale):
        first, second = (
            SensitivityImportance(scale=None, estimation="exact", keep_rows=True).fit(
                linear(*slopes), X, sample_weight=scale * weights
            )
            for slopes in ((1.0, 0.3), (0.5, 0.4))
        )
        assert np.isnan(first.influences_[weights == 0]).all()
        other = clone(first)
        other.fit(linear(0.5, 0.4), X[:50], sample_weight=scale * weights[:50])
        return [
            first.interval(),
            rank_intervals(first).to_frame(),
            importance_difference(first, second).to_frame(),
            importance_difference(first, other).to_frame(),
            importance_by_cohort(first, X[:, 1] > 0).to_frame(),
        ]

    for ours, theirs in zip(tables(1.0), tables(16.0)):
        pd.testing.assert_frame_equal(ours, theirs, rtol=1e-12)


def test_weighted_intervals_and_p_values():
    """Student's quantile has the degrees of freedom of the weights.

    A test takes those of a sum of squares (Satterthwaite). An interval takes the
    geometric mean of these and of the effective number of rows, and an error without
    the bias that the weights bring: of rows of equal variance it is on average right.
    """
    rng = np.random.default_rng(0)
    weights = (2.0 + rng.exponential(size=30)) * (np.arange(30) % 5 > 0)
    imp = fitted(1.0, X=X[:30], sample_weight=100 * weights)
    psi, used = imp.influences_[:, 0], weights > 0
    error = standard_error(psi[used], weights[used])
    g = skewness(psi[used], error, weights[used])
    squares = weights**2
    freedom = squares.sum() ** 2 / (squares**2).sum() - 1
    shares = weights[used] / weights.sum()
    n = len(shares)
    project = np.eye(n) - shares  # rows -> their influences
    bias = n / (n - 1) * shares**2 @ np.sum(project**2, axis=1) / (shares @ shares)
    effective = 1 / (shares @ shares)
    t = stats.t.ppf(0.975, np.sqrt((freedom + 1) * effective) - 1)
    z = by_feature(imp.interval(), "upper")[0] - imp.importances_[0]
    z *= np.sqrt(bias) / error
    corrected = -z + g * z**2 / 3 - g**2 * z**3 / 27 + g / 6
    assert corrected == pytest.approx(-t, rel=1e-9)
    z = imp.importances_[0] - by_feature(imp.interval(), "lower")[0]
    z *= np.sqrt(bias) / error
    corrected = z + g * z**2 / 3 + g**2 * z**3 / 27 + g / 6
    assert corrected == pytest.approx(t, rel=1e-9)

    twice = fitted(0.9, X=X[:30], sample_weight=100 * weights)
    table = importance_difference(imp, twice).to_frame()
    error = standard_error(0.1 * psi[used], weights[used])
    z = (imp.importances_[0] - twice.importances_[0]) / error
    corrected = z + g * z**2 / 3 + g**2 * z**3 / 27 + g / 6
    expected = 2 * stats.t.sf(corrected, freedom)
    assert by_feature(table, "p_value")[0] == pytest.approx(expected, rel=1e-9)


def test_bad_input_is_named():
    """No kept rows, other features, other weights, an impossible confidence."""
    without = ALEImportance().fit(linear(1.0), X)
    kept = fitted(1.0)
    with pytest.raises(ValueError, match=r"keep_rows=True"):
        rank_intervals(without).to_frame()
    with pytest.raises(ValueError, match="confidence == "):
        kept.interval(confidence=95)
    with pytest.raises(ValueError, match="confidence == nan"):
        rank_intervals(kept, confidence=np.nan).to_frame()
    fewer = ALEImportance(features=[0], keep_rows=True).fit(linear(1.0), X)
    with pytest.raises(ValueError, match=r"only one has \['x1', 'x2', 'x3'\]"):
        importance_difference(kept, fewer).to_frame()
    other_weights = fitted(1.0, sample_weight=np.arange(N) + 1.0)
    with pytest.raises(ValueError, match="different weights"):
        importance_difference(kept, other_weights).to_frame()


def test_a_refit_without_rows_forgets_them():
    """Influences of another fit would be wrong numbers."""
    imp = fitted(1.0)
    imp.set_params(keep_rows=False).fit(linear(1.0), X)

    assert not hasattr(imp, "influences_")
    with pytest.raises(ValueError, match="kept no rows"):
        rank_intervals(imp).to_frame()


def steps(X):
    """The response to the first column is three times as strong in some rows."""
    X = np.asarray(X)
    return X[:, 0] * (1 + 2 * (X[:, 1] > 0)) + 0.5 * X[:, 2]


@pytest.fixture
def sensitivity():
    """Pairs of all columns, rows kept."""
    measure = SensitivityImportance(estimation="exact", scale=None, keep_rows=True)
    return measure.fit(steps, X)


def test_cohorts_add_up_to_the_importance(sensitivity):
    """Weighted by their sizes; one cohort is the importance itself."""
    cohorts = np.where(X[:, 1] > 0, "high", np.where(X[:, 1] > -1, "middle", "low"))
    table = importance_by_cohort(sensitivity, cohorts).to_frame()

    table["part"] = table["importance"] * table["n_samples"] / N
    total = table.groupby("feature")["part"].sum()
    np.testing.assert_allclose(total, sensitivity.importances_, rtol=1e-12)
    assert table["cohort"].unique().tolist() == ["high", "low", "middle"]

    one = (
        importance_by_cohort(sensitivity, ["all"] * N).to_frame().sort_values("feature")
    )
    np.testing.assert_allclose(one["importance"], sensitivity.importances_, rtol=1e-12)
    np.testing.assert_allclose(
        one["standard_error"],
        sensitivity.standard_errors_,
        rtol=1e-12,
        atol=roundoff(N, sensitivity.influences_),
    )
    assert one["difference"].isna().all()


COHORT_COLUMNS = {
    "region": np.array(["south", "north", "east"])[np.arange(N) % 3],
    "level": np.where(X[:, 1] > 0, 10, 9),
}


@pytest.mark.parametrize("n", [6, 7])
def test_six_cohorts_are_named(sensitivity, n):
    """Of more, captions say how many there are."""
    found = importance_by_cohort(sensitivity, np.arange(N) % n)
    assert (f"{n} cohorts of rows" in found.caption()) == (n > 6)
    summary = found.summary()
    assert " in 5 with " in summary
    assert " in 6 with " not in summary


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_cohorts_by_columns_are_those_of_their_labels(sensitivity, library):
    """Of one column, of several, by position; levels in the order of their values."""
    frame = library(COHORT_COLUMNS)
    region, level = COHORT_COLUMNS.values()
    for columns, labels in {
        "region": region,
        1: level,
        ("level",): level,
        ("level", "region"): [f"level={v}, region={r}" for v, r in zip(level, region)],
    }.items():
        columns = list(columns) if isinstance(columns, tuple) else columns
        found = importance_by_cohort(sensitivity, columns, X=frame)
        expected = importance_by_cohort(sensitivity, labels)
        assert set(found.by_cohort) == set(expected.by_cohort)
        for name, of_cohort in expected.by_cohort.items():
            same = found.by_cohort[name]
            np.testing.assert_array_equal(same.importances, of_cohort.importances)
            np.testing.assert_array_equal(
                same.standard_errors, of_cohort.standard_errors
            )
        order = [[*expected.by_cohort].index(name) for name in found.by_cohort]
        np.testing.assert_array_equal(found.p_values, expected.p_values[order])
    places = ("east", "north", "south")
    assert [*found.by_cohort] == [
        f"level={v}, region={r}" for v in (9, 10) for r in places
    ]
    inside = (level == 10) & (region == "east")
    np.testing.assert_allclose(
        found.by_cohort["level=10, region=east"].importances,
        sensitivity.row_importances_[inside].mean(axis=0),
        atol=roundoff(N, sensitivity.row_importances_),
    )


def test_bad_columns_of_cohorts_are_named(sensitivity):
    """Unknown ones, none, missing values, another length."""
    with pytest.raises(ValueError, match=r"cohorts='region' is a column\. Pass X="):
        importance_by_cohort(sensitivity, "region")
    frame = pd.DataFrame(COHORT_COLUMNS)
    with pytest.raises(ValueError, match=r"'where' is not among .* of X: \['region'"):
        importance_by_cohort(sensitivity, ["level", "where"], X=frame)
    with pytest.raises(ValueError, match=says("`cohorts` … one column … got none")):
        importance_by_cohort(sensitivity, [], X=frame)
    with pytest.raises(ValueError, match=r"`cohorts=region` must have .*\(400,\)"):
        importance_by_cohort(sensitivity, "region", X=frame.head(7))
    frame.loc[3, "region"] = None
    with pytest.raises(ValueError, match="`cohorts=region` holds missing values"):
        importance_by_cohort(sensitivity, "region", X=frame)


@pytest.mark.parametrize("sites", [None, np.arange(24) // 2])
def test_cohorts_know_how_many_units_they_have(sites):
    """One degree of freedom goes with the mean of rows, or of sites."""
    X = np.random.default_rng(0).normal(size=(24, 2))
    imp = SensitivityImportance(scale=None, keep_rows=True)
    imp.fit(lambda X: X[:, 0] + X[:, 1] ** 2, X, groups=sites)
    labels = np.repeat(["a", "b"], [8, 16])
    found = importance_by_cohort(imp, labels)
    units = [8, 16] if sites is None else [4, 8]
    freedom = [of.degrees_of_freedom for of in found.by_cohort.values()]
    assert freedom == [units[0] - 1, units[1] - 1]


def test_a_cohort_that_differs_is_found(sensitivity):
    """Three times the response, and no difference where there is none."""
    table = importance_by_cohort(sensitivity, X[:, 1] > 0).to_frame()
    high = table[table["cohort"]].set_index("feature")
    low = table[~table["cohort"]].set_index("feature")

    assert high["importance"]["x0"] == pytest.approx(3 * low["importance"]["x0"])
    assert high["difference"]["x0"] == pytest.approx(-low["difference"]["x0"])
    assert high["p_value"]["x0"] < 1e-6
    assert high["p_value"]["x2"] > 0.5
    assert high["p_value"]["x3"] == 1.0


def test_bad_cohorts_are_named(sensitivity):
    """Their length, missing labels, measures without rows."""
    with pytest.raises(ValueError, match=says("`cohorts` … (400,) … (3,)")):
        importance_by_cohort(sensitivity, ["a"] * 3).to_frame()
    with pytest.raises(ValueError, match="missing values"):
        importance_by_cohort(sensitivity, [None] + ["a"] * (N - 1)).to_frame()
    with pytest.raises(
        ValueError, match=says("ALEImportance … cohorts … importance_difference")
    ):
        importance_by_cohort(fitted(1.0), ["a", "b"] * (N // 2)).to_frame()


def test_a_cohort_of_one_row_is_unknown(sensitivity):
    """NaN and a warning that names it; the other cohorts keep their numbers."""
    cohorts = np.where(X[:, 1] > 0, "high", "low").astype(object)
    cohorts[7] = "alone"
    with pytest.warns(ImportanceWarning, match=r"one row .* \(NaN\): 'alone'"):
        table = importance_by_cohort(sensitivity, cohorts).to_frame()
    alone = table[table["cohort"] == "alone"]
    assert alone["feature"].tolist() == ["x0", "x1", "x2", "x3"]
    assert (alone["n_samples"] == 1).all()
    numbers = ["importance", "standard_error", "difference", "p_value"]
    assert alone[numbers].isna().all(axis=None)
    for name in ("high", "low"):
        of_one = table[table["cohort"] == name].sort_values("feature")
        means = sensitivity.row_importances_[cohorts == name].mean(axis=0)
        np.testing.assert_allclose(of_one["importance"], means, rtol=1e-12)
        assert of_one[numbers].notna().all(axis=None)

    cohorts[8] = "alone"  # with another row it is not alone
    table = importance_by_cohort(sensitivity, cohorts).to_frame()
    assert table[numbers].notna().all(axis=None)

    others = ["alone"] + ["a"] * (N - 1)  # one other row says nothing of a difference
    with pytest.warns(ImportanceWarning, match="'alone'"):
        table = importance_by_cohort(sensitivity, others).to_frame()
    known = table[table["cohort"] == "a"]
    assert known["standard_error"].notna().all()
    assert known[["difference", "p_value"]].isna().all(axis=None)


def test_the_same_first_rows_are_other_samples():
    """Sparse texts and frames that differ in some values only, in any container."""
    texts = []
    for seed in (0, 1):
        few = sparse.lil_array((300, 3000))
        few[:, [50, 150]] = np.random.default_rng(seed).normal(size=(300, 2))
        texts.append(few.tocsr())
    kept = SensitivityImportance(
        scale=None, estimation="exact", keep_rows=True, features=[150, 50]
    )
    model = lambda X: np.asarray(X.sum(axis=1)).ravel()  # noqa: E731
    first, second = (clone(kept).fit(model, X) for X in texts)
    table = importance_difference(first, second).to_frame()
    expected = np.hypot(first.standard_errors_, second.standard_errors_)
    np.testing.assert_allclose(by_feature(table, "standard_error"), expected)

    other = X.copy()
    other[134, 3] += 1.0
    apart = importance_difference(fitted(1.0), fitted(1.0, X=other)).to_frame()
    expected = np.sqrt(2) * fitted(1.0).standard_errors_[0]
    assert by_feature(apart, "standard_error")[0] == pytest.approx(expected)

    coarse = np.where(np.abs(X) > 0.5, np.round(X, 3), 0.0)
    kept.set_params(features=[0, 1])
    dense = clone(kept).fit(lambda X: X[:, 0], coarse)
    places = np.indices(coarse.shape).reshape(2, -1)
    stored = sparse.csr_array((coarse.ravel(), places))  # zeros as well
    by_sparse = clone(kept).fit(lambda X: X.toarray()[:, 0], stored)
    frame = pd.DataFrame(coarse, columns=["x0", "x1", "x2", "x3"])
    by_frame = clone(kept).fit(lambda X: X["x0"].to_numpy(), frame)
    for again in (by_sparse, by_frame):
        same = importance_difference(dense, again).to_frame()
        assert by_feature(same, "standard_error").max() < 1e-12


def test_points_are_drawn_at_the_rows_importances(sensitivity):
    """Coloured by value; groups in one colour; a note says what is left out."""
    given = {"what": "importance", "max_features": 2}
    display = RowsDisplay.from_importance(sensitivity, X, **given)

    drawn = display.points_[0].get_offsets()[:, 0]
    np.testing.assert_array_equal(drawn, sensitivity.row_importances_[:, 0])
    assert "2 of 4 features are not shown" in display.key_.get_text()
    assert len(np.unique(display.points_[0].get_facecolors(), axis=0)) > 100

    weighted = clone(sensitivity).fit(steps, X, sample_weight=np.arange(N) % 2)
    display = RowsDisplay.from_importance(weighted, X)
    assert len(display.points_[0].get_offsets()) == N // 2  # those of positive weight

    with pytest.raises(ValueError, match="must have the 400 rows"):
        RowsDisplay.from_importance(sensitivity, X[:10])
    with pytest.raises(ValueError, match="no `row_importances_`"):
        RowsDisplay.from_importance(fitted(1.0), X)


def test_missing_values_and_categories_are_told_apart():
    """Missing values are grey, categories have a colour each with its name."""
    frame = pd.DataFrame(
        {"a": [1.0, np.nan, 3.0, 4.0] * 10, "c": ["x", "y", "x", None] * 10}
    )
    imp = SensitivityImportance(scale=None, keep_rows=True)
    imp.fit(lambda X: X["a"].fillna(0) + (X["c"] == "y"), frame)

    display = RowsDisplay.from_importance(imp, frame)

    assert "grey: missing" in display.key_.get_text()
    of_a, of_c = (points.get_facecolors() for points in display.points_)
    grey = of_a[1]
    assert grey[0] == grey[1] == grey[2]
    assert np.all(of_a[1::4] == grey)
    assert np.all(of_c[3::4] == grey)
    assert len(np.unique(of_c, axis=0)) == 3
    assert {"x", "y"} <= {text.get_text() for text in display.ax_.texts}


def test_errors_of_draws_count():
    """Bounds and errors of drawn importances include the error of drawing."""
    drawn = SensitivityImportance(
        scale=None, estimation="sampled", n_draws=4, random_state=0, keep_rows=True
    )
    one, other = (clone(drawn).fit(linear(*s), X) for s in ((1, 2, 0), (2, 1, 1)))
    errors = np.hypot(one.standard_errors_, one.monte_carlo_errors_)
    assert np.all(errors[:2] > 1.001 * one.standard_errors_[:2])

    t = stats.t.ppf(0.975, N - 1)
    g = skewness(one.influences_[:, 0], errors[0])
    for bound, quantile in (("lower", t), ("upper", -t)):
        z = (one.importances_[0] - by_feature(one.interval(), bound)[0]) / errors[0]
        corrected = z + g * z**2 / 3 + g**2 * z**3 / 27 + g / 6
        np.testing.assert_allclose(corrected, quantile, rtol=1e-9)

    ranks = rank_intervals(one).to_frame()
    assert np.all(
        by_feature(ranks, "lower")[:2] < by_feature(one.interval(), "lower")[:2]
    )

    table = importance_difference(one, other).to_frame()
    of_rows = standard_error(one.influences_ - other.influences_)
    of_draws = np.hypot(one.monte_carlo_errors_, other.monte_carlo_errors_)
    found = by_feature(table, "standard_error")
    np.testing.assert_allclose(found, of_rows, rtol=1e-9)
    found = by_feature(table, "monte_carlo_error")
    np.testing.assert_allclose(found, of_draws, rtol=1e-9)


def test_simultaneous_intervals_are_wider_for_heavy_tails():
    """One quantile for all features; above that of normal influences."""

    rng = np.random.default_rng(0)

    def quantiles(X):
        imp = SensitivityImportance(scale=None, estimation="exact", keep_rows=True)
        imp.fit(linear(1, 2, 3), X)
        frame, error = rank_intervals(imp).to_frame(), imp.standard_errors_
        g = skewness(imp.influences_, error)
        z = (imp.importances_ - by_feature(frame, "lower")) / error
        return z + g * z**2 / 3 + g**2 * z**3 / 27 + g / 6

    flat = [quantiles(rng.uniform(size=(200, 3))) for _ in range(15)]
    heavy = [quantiles(np.exp(1.5 * rng.normal(size=(200, 3)))) for _ in range(15)]
    for found in (*flat, *heavy):
        np.testing.assert_allclose(found, found[0], rtol=1e-9)
    independent = stats.norm.ppf((1 + 0.95 ** (1 / 3)) / 2)
    assert abs(np.median(flat) - independent) < 0.15
    assert np.median(heavy) > 1.05 * independent


def test_cohorts_that_differ_by_rounding():
    """An additive column is worth the same everywhere: no difference, p-value 1."""
    X = np.random.default_rng(0).normal(size=(61, 3))
    imp = SensitivityImportance(keep_rows=True, contrast="range", scale=None)
    imp.fit(lambda X: 0.3 * X[:, 0] + X[:, 1] * X[:, 2], X)
    table = importance_by_cohort(imp, np.arange(61) % 3).to_frame()
    additive = table[table["feature"] == "x0"]
    assert (additive["difference"] == 0).all()
    assert (additive["p_value"] == 1).all()


SMALL, LARGE = 2.0**-332, 2.0**332  # about 1e-100 and 1e100
OF_ANY_SIZE = {
    "pairs": SensitivityImportance(scale=None, estimation="exact"),
    "drawn": SensitivityImportance(scale=None, estimation="sampled", random_state=0),
    "to a tolerance": SensitivityImportance(
        scale=None, estimation="sampled", tol=0.02, n_draws=100, random_state=0
    ),
    "curve": PartialDependenceImportance(),
    "effects": ALEImportance(),
    "slope": DerivativeImportance(),
    "shapley": ShapleyImportance(random_state=0),
    "shared loss": ShapleyImportance(loss="squared_error", scale=None, random_state=0),
    "share": SobolImportance(estimation="exact"),
    "first share": SobolImportance(order="first", estimation="exact"),
    "gaussian": FIRMImportance(method="gaussian"),
    "bins": FIRMImportance(method="conditional_mean"),
    "line": FIRMImportance(method="linear"),
    "group": FIRMImportance(method="linear", features=[[0, 1], [2]]),
    "standardized": FIRMImportance(standardize=True),
    "loss": PermutationImportance(estimation="exact"),
    "ratio": PermutationImportance(estimation="exact", relative=True),
    "drawn loss": PermutationImportance(estimation="sampled", random_state=0),
}


@pytest.mark.parametrize(("name", "factor"), each(OF_ANY_SIZE, [SMALL, LARGE]))
def test_errors_of_responses_of_any_size(name, factor):
    """A power of two changes no digit of importances, errors, intervals and ranks."""
    rng = np.random.default_rng(0)
    measure = clone(OF_ANY_SIZE[name]).set_params(keep_rows=True)
    some = X[:80, :3]
    y = some[:, 0] + some[:, 1] ** 2 + rng.normal(size=80)

    def tables(c):
        imp = clone(measure)
        imp.fit(lambda X: c * (X[:, 0] + X[:, 0] * X[:, 1]), some, c * y)
        return imp.to_frame(), imp.interval(), rank_intervals(imp).to_frame()

    if name in {"shapley", "share", "first share", "ratio", "standardized"}:
        of_numbers = 1.0
    else:
        of_numbers = factor**2 if "loss" in name else factor
    for ours, theirs in zip(tables(1.0), tables(factor)):
        for column in ours.columns:
            expected = ours[column]
            if column not in {"feature", "rank", "lowest_rank", "highest_rank"}:
                unit = 1.0 if column == "direction" else of_numbers
                found, size = theirs[column] / unit, np.abs(expected).max()
                np.testing.assert_allclose(found, expected, 1e-12, 1e-12 * size)
            else:
                assert theirs[column].tolist() == expected.tolist()


DRAWN = {
    "donors": {"estimation": "sampled", "n_draws": 200},
    "rows": {"estimation": "rows", "n_draws": 200},
    "to a tolerance": {"estimation": "sampled", "tol": 0.01, "n_draws": 1000},
}


@pytest.mark.parametrize("conditional", [None, np.arange(80) % 4])
@pytest.mark.parametrize("name", DRAWN)
def test_errors_of_draws_with_weights(name, conditional):
    """Estimates of the exact error, to a tenth, where few rows have most weight."""
    rng = np.random.default_rng(0)
    some, weights = X[:80], np.exp(rng.normal(size=80))
    how = {"conditional": conditional, "scale": None, "features": [0, 1]}
    exact = SensitivityImportance(estimation="exact", **how)
    drawn = SensitivityImportance(**DRAWN[name], random_state=0, **how)
    model = lambda X: X[:, 0] * (2 + X[:, 1])  # noqa: E731
    errors = [
        imp.fit(model, some, sample_weight=1000 * weights).standard_errors_
        for imp in (exact, drawn)
    ]
    np.testing.assert_allclose(*errors, rtol=0.1)


@pytest.mark.thorough
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", [SensitivityImportance, PermutationImportance])
def test_intervals_cover_the_population_value(kind, weighted):
    """95% intervals of a line at n = 400, in 500 samples.

    The logarithm of the weights has sd 1 and depends on the first column: the terms of
    few rows are most of the error, which is then uncertain itself.
    """
    slopes = np.array([2.0, 1.0, 0.5])
    model = LinearRegression().fit(np.vstack([np.zeros(3), np.eye(3)]), [0, *slopes])
    # E |x - x'| = 2 / sqrt(pi); loss gained 2 slope^2 var x
    squares = kind is PermutationImportance
    truth = 2 * slopes**2 if squares else 2 / np.sqrt(np.pi) * slopes
    imp = kind(estimation="exact", keep_rows=True)
    if not squares:
        imp.set_params(scale=None)
    inside = []
    for seed in range(500):
        random = np.random.default_rng(seed)
        some = random.normal(size=(400, 3))
        y = some @ slopes + random.normal(size=400)
        weights = np.exp(0.5 * some[:, 0] + 0.75**0.5 * random.normal(size=400))
        imp.fit(model, some, y, sample_weight=weights if weighted else None)
        lower, upper = (by_feature(imp.interval(), end) for end in ("lower", "upper"))
        inside.append((lower <= truth) & (truth <= upper))
    covered = np.mean(inside, axis=0)
    assert np.all((covered >= 0.92) & (covered <= 0.97))


CONSTANT = {
    "moved": ALEImportance(keep_rows=True),
    "pairs": SensitivityImportance(keep_rows=True),
    "scorer": PermutationImportance(scoring="r2"),
    "unseen": ImpurityImportance(rows="unseen", keep_rows=True),
    "conditional scores": FIRMImportance(keep_rows=True),
}


@pytest.mark.parametrize("name", CONSTANT)
@pytest.mark.parametrize("value", [2.0, np.nan])
def test_constant_columns_of_both_are_not_known(name, value):
    """A column of one value says nothing of how a model uses it; others keep theirs."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(200, 3))
    y = rows @ [1.0, 0.0, 1.0] + random.normal(size=200)
    forest = RandomForestRegressor(5, max_depth=3, random_state=0).fit(rows, y)
    rows[:100, 1] = value  # in one cohort, and then in both

    def fitted_to(part):
        return clone(CONSTANT[name]).fit(forest, rows[part], y[part])

    first, second = slice(0, 100), slice(100, 200)
    before = importance_difference(fitted_to(first), fitted_to(second)).to_frame()
    assert before.set_index("feature").notna().all(axis=None)
    rows[100:, 1] = value
    found = importance_difference(fitted_to(first), fitted_to(second)).to_frame()
    found = found.set_index("feature")
    assert found.loc["x1"].drop("monte_carlo_error", errors="ignore").isna().all()
    apart = found.drop(index="x1")
    assert apart.notna().all(axis=None)
    p_values = np.minimum(np.sort(apart["p_value"]) * [2, 1], 1)
    p_values = np.maximum.accumulate(p_values)
    np.testing.assert_allclose(np.sort(apart["adjusted_p_value"]), p_values)


def test_features_of_constant_columns():
    """A group is constant if all its columns are; objects and functions, too."""
    frame = pd.DataFrame(
        {"a": ["u"] * 40, "b": [None] * 40, "c": np.arange(40.0), "d": [1] * 40}
    )
    features = {"both": ["a", "b"], "some": ["c", "d"], "d": ["d"]}
    measure = SensitivityImportance(features=features, keep_rows=True, scale=None)
    first = measure.fit(lambda X: X["c"].to_numpy(), frame[:20])
    second = clone(measure).fit(lambda X: X["c"].to_numpy(), frame[20:])
    found = importance_difference(first, second).to_frame()
    found = found.set_index("feature")["p_value"]
    assert found.isna().to_dict() == {"both": True, "some": False, "d": True}


def test_tables_of_cohorts_of_one_row_that_was_drawn():
    """Its error of drawing is not known; that of the others is."""
    X, cohort = np.random.default_rng(0).normal(size=(24, 2)), np.arange(24) > 0
    imp = SensitivityImportance(
        estimation="sampled", n_draws=4, scale=None, keep_rows=True, random_state=0
    ).fit(lambda Z: Z[:, 0] + Z[:, 1], X)
    with pytest.warns(
        ImportanceWarning, match=says("one row … False … together with other rows")
    ):
        table = importance_by_cohort(imp, cohort).to_frame()
    known = table.groupby("cohort")["monte_carlo_error"].count()
    assert known.tolist() == [0, 2]
