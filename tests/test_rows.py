"""Intervals, rank intervals and differences from the influences of rows."""

import matplotlib.colors
import numpy as np
import pandas as pd
import polars as pl
import pytest
from roundoff import roundoff
from scipy import stats
from sklearn.base import clone

from skvarimp import (
    ALEImportance,
    RowsDisplay,
    SensitivityImportance,
    importance_by_cohort,
    importance_difference,
    rank_intervals,
)

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
    p, n = len(theta), len(psi)
    z = stats.norm.ppf(1 - (1 - confidence) / (p * (p - 1)))
    lowest, highest = np.ones(p), np.full(p, p)
    for j in range(p):
        for k in range(p):
            error = np.sqrt(np.mean((psi[:, j] - psi[:, k]) ** 2) / n)
            if j != k and theta[j] - theta[k] > z * error:
                lowest[k] += 1
                highest[j] -= 1
    return lowest, highest


def by_entry(frame, name):
    """One column of a frame in the order of the entries' names."""
    return np.asarray(frame.sort_values("entry")[name])


def test_intervals_are_skewness_corrected():
    """Hall's transformation of the bounds is Student's quantile."""
    imp = fitted(1.0, 0.5, 0.0, 2.0)
    frame = imp.interval(confidence=0.9)

    t = stats.t.ppf(0.95, N - 1)
    theta, psi = imp.importances_, imp.influences_
    error = np.sqrt(np.mean(psi**2, axis=0) / N)
    used = error > 0
    g = np.mean(psi**3, axis=0)[used] / (N**2 * error[used] ** 3)
    for name, sign in (("lower", 1.0), ("upper", -1.0)):
        studentised = (theta - by_entry(frame, name))[used] / error[used]
        hall = studentised + g * studentised**2 / 3 + g**2 * studentised**3 / 27 + g / 6
        np.testing.assert_allclose(hall, sign * t, rtol=1e-9)
    assert by_entry(frame, "lower")[2] == by_entry(frame, "upper")[2] == 0


def test_ranks_of_near_ties_are_shared():
    """Clear differences are decided, equal importances never."""
    frame = rank_intervals(fitted(1.0, 1.0, 0.0, 3.0))

    assert by_entry(frame, "lowest_rank").tolist() == [2, 2, 4, 1]
    assert by_entry(frame, "highest_rank").tolist() == [3, 3, 4, 1]
    assert frame["entry"].tolist()[0] == "x3"
    assert np.all(frame["lower"] <= frame["importance"])
    assert np.all(frame["upper"] >= frame["importance"])


def test_rank_intervals_are_no_wider_than_bonferronis_and_sometimes_narrower():
    """The largest of correlated differences has a smaller quantile."""
    narrower = 0
    for seed in range(12):
        some = np.random.default_rng(seed).normal(size=(150, 10))
        imp = fitted(*np.linspace(1, 1.6, 10), X=some)
        frame = rank_intervals(imp)
        lowest, highest = literal_rank_intervals(imp)
        names = np.argsort(imp.entry_names_)
        width = by_entry(frame, "highest_rank") - by_entry(frame, "lowest_rank")
        width_bonferroni = (highest - lowest)[names]
        assert width.sum() <= width_bonferroni.sum() + 1
        narrower += width.sum() < width_bonferroni.sum()

    assert narrower >= 6


def test_many_entries_are_compared_by_holm():
    """The same ranks where differences are clear, in a table that fits."""
    slopes = np.r_[np.full(5, 4.0), np.full(300, 1.0)]
    wide = np.random.default_rng(1).normal(size=(400, 305))
    frame = rank_intervals(fitted(*slopes, X=wide))

    top = frame.head(5)
    assert set(top["entry"]) == {"x0", "x1", "x2", "x3", "x4"}
    assert top["highest_rank"].max() == 5
    assert frame["lowest_rank"].iloc[5:].min() == 6


def test_paired_differences_use_the_covariance():
    """Two models on the same rows: what they share cancels."""
    first, second = fitted(1.0, 0.5, 0.2), fitted(1.1, 0.5, 0.0)
    frame = importance_difference(first, second)

    psi = first.influences_ - second.influences_
    error = np.sqrt(np.mean(psi**2, axis=0) / N)
    np.testing.assert_allclose(by_entry(frame, "standard_error"), error, atol=1e-15)
    difference = first.importances_ - second.importances_
    np.testing.assert_allclose(by_entry(frame, "difference"), difference, atol=1e-15)
    p = by_entry(frame, "p_value")
    assert p[1] == p[3] == 1.0  # equal without error
    assert p[0] < 1e-6
    adjusted = by_entry(frame, "adjusted_p_value")
    assert adjusted[0] == pytest.approx(min(1.0, p[0] * (4 if p[0] < p[2] else 3)))


def test_differences_of_other_rows_are_independent():
    """Variances add up."""
    first, second = fitted(1.0, 0.5), fitted(1.0, 0.5, X=X[::-1] + 1e-9)
    frame = importance_difference(first, second)

    expected = np.hypot(first.standard_errors_, second.standard_errors_)
    np.testing.assert_allclose(by_entry(frame, "standard_error"), expected)
    assert np.all(by_entry(frame, "p_value") > 0.9)


def test_names_match_entries_in_any_order():
    """A dict of features may list them differently."""
    one = ALEImportance(features={"a": 0, "b": 1}, keep_rows=True)
    other = ALEImportance(features={"b": 1, "a": 0}, keep_rows=True)
    model = linear(1.0, 2.0)

    frame = importance_difference(one.fit(model, X), other.fit(model, X))

    assert frame["difference"].tolist() == [0.0, 0.0]


def test_frames_come_back_in_the_users_library():
    """Polars in, polars out."""
    frame = pl.DataFrame(X, schema=list("abcd"))
    imp = ALEImportance(keep_rows=True).fit(
        lambda X: X["a"].to_numpy() + 0.1 * X["b"].to_numpy(), frame
    )

    assert isinstance(imp.interval(), pl.DataFrame)
    assert isinstance(rank_intervals(imp), pl.DataFrame)
    assert isinstance(importance_difference(imp, imp), pl.DataFrame)


def test_weights_are_repeated_rows():
    """Also in the intervals; rows with zero weight have no influence."""
    weights = rng.integers(0, 3, N)
    weighted = fitted(1.0, 0.3, sample_weight=weights)
    repeated = fitted(1.0, 0.3, X=np.repeat(X, weights, axis=0))

    assert np.isnan(weighted.influences_[weights == 0]).all()
    for ours, theirs in (
        (weighted.interval(), repeated.interval()),
        (rank_intervals(weighted), rank_intervals(repeated)),
    ):
        for name in ours.columns[1:]:
            np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-9)


def test_bad_input_is_named():
    """No kept rows, other entries, other weights, an impossible confidence."""
    without = ALEImportance().fit(linear(1.0), X)
    kept = fitted(1.0)
    with pytest.raises(ValueError, match=r"keep_rows=True"):
        rank_intervals(without)
    with pytest.raises(ValueError, match=r"keep_rows=True"):
        without.interval()
    with pytest.raises(ValueError, match="confidence == "):
        kept.interval(confidence=95)
    with pytest.raises(ValueError, match="confidence == nan"):
        rank_intervals(kept, confidence=np.nan)
    fewer = ALEImportance(features=[0], keep_rows=True).fit(linear(1.0), X)
    with pytest.raises(ValueError, match=r"only one has \['x1', 'x2', 'x3'\]"):
        importance_difference(kept, fewer)
    other_weights = fitted(1.0, sample_weight=np.arange(N) + 1.0)
    with pytest.raises(ValueError, match="different weights"):
        importance_difference(kept, other_weights)


def test_a_refit_without_rows_forgets_them():
    """Influences of another fit would be wrong numbers."""
    imp = fitted(1.0)
    imp.set_params(keep_rows=False).fit(linear(1.0), X)

    assert not hasattr(imp, "influences_")
    with pytest.raises(ValueError, match="kept no rows"):
        imp.interval()


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
    table = importance_by_cohort(sensitivity, cohorts)

    table["part"] = table["importance"] * table["n_samples"] / N
    total = table.groupby("entry")["part"].sum()
    np.testing.assert_allclose(total, sensitivity.importances_, rtol=1e-12)
    assert table["cohort"].unique().tolist() == ["high", "low", "middle"]

    one = importance_by_cohort(sensitivity, ["all"] * N).sort_values("entry")
    np.testing.assert_allclose(one["importance"], sensitivity.importances_, rtol=1e-12)
    np.testing.assert_allclose(
        one["standard_error"],
        sensitivity.standard_errors_,
        rtol=1e-12,
        atol=roundoff(N, sensitivity.influences_),
    )
    assert one["difference"].isna().all()


def test_a_cohort_that_differs_is_found(sensitivity):
    """Three times the response, and no difference where there is none."""
    table = importance_by_cohort(sensitivity, X[:, 1] > 0)
    high = table[table["cohort"]].set_index("entry")
    low = table[~table["cohort"]].set_index("entry")

    assert high["importance"]["x0"] == pytest.approx(3 * low["importance"]["x0"])
    assert high["difference"]["x0"] == pytest.approx(-low["difference"]["x0"])
    assert high["p_value"]["x0"] < 1e-6
    assert high["p_value"]["x2"] > 0.5
    assert high["p_value"]["x3"] == 1.0


def test_bad_cohorts_are_named(sensitivity):
    """Their length, missing labels, cohorts of one row, measures without rows."""
    with pytest.raises(ValueError, match=r"one label per row of X, shape \(400,\)"):
        importance_by_cohort(sensitivity, ["a"] * 3)
    with pytest.raises(ValueError, match="'alone' has one row"):
        importance_by_cohort(sensitivity, ["alone"] + ["a"] * (N - 1))
    with pytest.raises(ValueError, match="missing values"):
        importance_by_cohort(sensitivity, [None] + ["a"] * (N - 1))
    with pytest.raises(ValueError, match="no mean over rows"):
        importance_by_cohort(fitted(1.0), ["a", "b"] * (N // 2))


def test_points_are_drawn_at_the_rows_importances(sensitivity):
    """Coloured by value; groups in one colour; a note says what is left out."""
    display = RowsDisplay.from_importance(sensitivity, X, max_entries=2)

    drawn = display.points_[0].get_offsets()[:, 0]
    np.testing.assert_array_equal(drawn, sensitivity.row_importances_[:, 0])
    assert "2 of 4 entries are not shown" in display.ax_.get_xlabel()
    assert len(np.unique(display.points_[0].get_facecolors(), axis=0)) > 100

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

    grey = matplotlib.colors.to_rgba("0.6")
    of_a, of_c = (points.get_facecolors() for points in display.points_)
    assert np.all(of_a[1::4] == grey)
    assert np.all(of_c[3::4] == grey)
    assert len(np.unique(of_c, axis=0)) == 3
    assert {"x", "y"} <= {text.get_text() for text in display.ax_.texts}


def test_errors_of_draws_count():
    """Bounds and errors of drawn importances include the error of drawing."""
    drawn = SensitivityImportance(
        scale=None, estimation="sampled", n_repeats=2, random_state=0, keep_rows=True
    )
    one, other = (clone(drawn).fit(linear(*s), X) for s in ((1, 2, 0), (2, 1, 1)))
    errors = np.hypot(one.standard_errors_, one.monte_carlo_errors_)
    assert np.all(errors[:2] > 1.05 * one.standard_errors_[:2])

    t = stats.t.ppf(0.975, N - 1)
    g = np.mean(one.influences_[:, 0] ** 3) / N**2 / errors[0] ** 3
    for bound, quantile in (("lower", t), ("upper", -t)):
        z = (one.importances_[0] - by_entry(one.interval(), bound)[0]) / errors[0]
        corrected = z + g * z**2 / 3 + g**2 * z**3 / 27 + g / 6
        np.testing.assert_allclose(corrected, quantile, rtol=1e-9)

    ranks = rank_intervals(one)
    assert np.all(by_entry(ranks, "lower")[:2] < by_entry(one.interval(), "lower")[:2])

    table = importance_difference(one, other)
    of_rows = np.mean((one.influences_ - other.influences_) ** 2, axis=0) / N
    of_draws = one.monte_carlo_errors_**2 + other.monte_carlo_errors_**2
    found = by_entry(table, "standard_error")
    np.testing.assert_allclose(found, np.sqrt(of_rows + of_draws), rtol=1e-9)


def test_simultaneous_intervals_are_wider_for_heavy_tails():
    """One quantile for all entries; above that of normal influences, which is known."""

    def quantiles(X):
        imp = SensitivityImportance(scale=None, estimation="exact", keep_rows=True)
        imp.fit(linear(1, 2, 3), X)
        frame, n = rank_intervals(imp), len(X)
        error = imp.standard_errors_
        g = np.mean(imp.influences_**3, axis=0) / n**2 / error**3
        z = (imp.importances_ - by_entry(frame, "lower")) / error
        return z + g * z**2 / 3 + g**2 * z**3 / 27 + g / 6

    flat = quantiles(rng.uniform(size=(200, 3)))
    heavy = quantiles(np.exp(1.5 * rng.normal(size=(200, 3))))
    for found in (flat, heavy):
        np.testing.assert_allclose(found, found[0], rtol=1e-9)
    independent = stats.norm.ppf((1 + 0.95 ** (1 / 3)) / 2)
    assert abs(flat[0] - independent) < 0.15
    assert heavy[0] > 1.1 * independent


def test_cohorts_that_differ_by_rounding():
    """An additive column is worth the same everywhere: no difference, p-value 1."""
    X = np.random.default_rng(0).normal(size=(61, 3))
    imp = SensitivityImportance(keep_rows=True, contrast="range", scale=None)
    imp.fit(lambda X: 0.3 * X[:, 0] + X[:, 1] * X[:, 2], X)
    table = importance_by_cohort(imp, np.arange(61) % 3)
    additive = table[table["entry"] == "x0"]
    assert (additive["difference"] == 0).all()
    assert (additive["p_value"] == 1).all()
