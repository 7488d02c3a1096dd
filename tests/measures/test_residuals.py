"""`conditional="residuals"`: predictions plus residuals, against loops and theorems."""

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from drawn import common, drawn_points, near_by_cells, pairs, points_in_pairs
from roundoff import roundoff
from scipy import sparse
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import LinearSVC

from skvarimp import PermutationImportance, SensitivityImportance
from skvarimp._measures.problem import NEAR
from skvarimp._measures.residuals import CODES, as_numbers, default_models
from skvarimp._response.rounds import feature_seeds
from skvarimp._response.rows import RowOrder

rng = np.random.default_rng(0)
N, DRAWS = 80, 8
X = rng.normal(size=(N, 4))
X[:, 1] = X[:, 0] + 0.4 * X[:, 1]
Y = X[:, 0] * X[:, 2] + X[:, 1] + rng.normal(size=N)
ROWS = rng.normal(size=(120, 4))
ROWS[:, 1] = ROWS[:, 0] + 0.4 * ROWS[:, 1]
WEIGHTS = rng.integers(1, 4, N).astype(float)
FEATURES = [0, 1, 3, [0, 2]]


def f(X):
    """A model that uses the first three columns."""
    X = np.asarray(X)
    return np.sin(X[:, 0]) * X[:, 2] + X[:, 1]


def drawn_by_loops(contribution, weights):
    """Importances by loops over features, rows and draws; of ridges fitted on ROWS.

    `contribution` takes (row, its unmoved output, its outputs at the donors,
    widths of the strata, c of neighbours), and gives the row's mean and each draw's h.
    """
    found, w, seeds = [], weights / weights.sum(), feature_seeds(0, len(FEATURES))
    far = np.abs(f(X) - w @ f(X))
    times = np.maximum(far / np.sqrt(w @ far**2), NEAR)
    rows = RowOrder.drawn(w, int(seeds[0]), N, times).rows
    for seed, feature in zip(seeds, FEATURES):
        columns = np.atleast_1d(feature)
        others = np.setdiff1d(np.arange(X.shape[1]), columns)
        centres = np.column_stack(
            [
                Ridge().fit(ROWS[:, others], ROWS[:, j]).predict(X[:, others])
                for j in columns
            ]
        )
        residuals = X[:, columns] - centres
        order = np.lexsort(residuals.T[::-1])
        ends = np.cumsum(w[order])
        # values without an order have two draws in each stratum, for means over pairs
        apart = contribution is between and len(columns) > 1
        draw = points_in_pairs if apart else drawn_points
        at, widths, near = draw(int(seed), N, DRAWS)
        h, means = np.empty((N, DRAWS)), np.empty(N)
        for place, i in enumerate(rows):
            outputs = []
            cells = np.minimum(np.searchsorted(ends, at[place]), N - 1)
            if not apart:
                of_cells = ends[cells] - w[order[cells]], ends[cells]
                near[place] = near_by_cells(at[place], widths[place], *of_cells)
            for cell in cells:
                moved = X[i].copy()
                moved[columns] = centres[i] + residuals[order[cell]]
                outputs.append(f(moved[np.newaxis])[0])
            of_row = i, f(X[[i]])[0], np.array(outputs), widths[place]
            means[place], h[place] = contribution(*of_row, near[place])
        means -= (widths * common(at, widths, h)).sum(axis=1)
        found.append(w[rows] @ means)
    return found


def gained(i, own, moved, widths, near):
    """Squared error gained, on average and by each draw."""
    h = (Y[i] - moved) ** 2 - (Y[i] - own) ** 2
    return widths @ h, h


def away(i, own, moved, widths, near):
    """Distance from the unmoved output."""
    h = abs(moved - own)
    return widths @ h, h


def between(i, own, moved, widths, near):
    """Distance of pairs."""
    return pairs(near, widths, lambda r, s: abs(moved[r] - moved[s]))[:2]


CONTRASTS = {
    "observed": away,
    "pairs": between,
}
RIDGE = {"conditional": Ridge(), "conditional_fit_rows": ROWS, "n_draws": DRAWS}
TOLERANCE = roundoff(N, (np.abs(Y).max() + 2 * np.abs(X).max() ** 2) ** 2)


@pytest.mark.parametrize("weights", [np.ones(N), WEIGHTS])
def test_permutation_is_the_loop(weights):
    """Of drawn donors, for a model of the feature that is given."""
    imp = PermutationImportance(**RIDGE, features=FEATURES, random_state=0)
    imp.fit(f, X, Y, sample_weight=weights)
    expected = drawn_by_loops(gained, weights)
    assert imp.estimation_ == "sampled"
    np.testing.assert_allclose(imp.importances_, expected, rtol=0, atol=TOLERANCE)
    assert TOLERANCE < 1e-10
    assert np.all(imp.standard_errors_[:2] > 0)


@pytest.mark.parametrize("contrast", CONTRASTS)
def test_sensitivity_is_the_loop(contrast):
    """The same of both contrasts."""
    how = {"contrast": contrast, "scale": None, "features": FEATURES}
    imp = SensitivityImportance(**RIDGE, **how, random_state=0).fit(f, X)
    expected = drawn_by_loops(CONTRASTS[contrast], np.ones(N))
    np.testing.assert_allclose(imp.importances_, expected, rtol=0, atol=TOLERANCE)


def test_a_constant_prediction_gives_the_marginal_measure():
    """m + (x_k - m) is the donor's own value: the same seed draws the same numbers."""
    of_mean = {"conditional": DummyRegressor(), "conditional_fit_rows": X}
    given = PermutationImportance(**of_mean, random_state=3).fit(f, X, Y)
    marginal = PermutationImportance(estimation="sampled", random_state=3)
    marginal.fit(f, X, Y)
    for name in ("importances_", "standard_errors_", "monte_carlo_errors_"):
        found, expected = getattr(given, name), getattr(marginal, name)
        np.testing.assert_allclose(found, expected, rtol=0, atol=roundoff(N, 100.0))
    np.testing.assert_allclose(given.explained_, 0.0, atol=roundoff(N, 1.0))


@pytest.mark.parametrize("n_levels", [0, 2])
def test_the_default_linear_model_tells_twenty_levels_apart(n_levels):
    """Of 25 levels, six share a coefficient, beside 19 and that of a number."""
    linear, _ = default_models(np.array([False, True]), 0, n_levels)
    codes = np.repeat(np.arange(25.0), 30 - np.arange(25))
    linear.fit(np.column_stack([np.sin(codes), codes]), codes > 5)
    assert linear[-1].n_features_in_ == 1 + 20


def test_the_default_ridge_chooses_among_powers_of_ten():
    """From one hundredth to ten thousand, on columns of variance 1."""
    linear, _ = default_models(np.zeros(1, dtype=bool), 0, 0)
    np.testing.assert_allclose(linear[-1].alphas, 10.0 ** np.arange(-2, 5))


def test_weights_reach_the_default_models():
    """Rows of no weight would halve the slope, and leave a quarter unexplained."""
    odd = np.arange(N) % 4 == 0
    rows = np.column_stack([X[:, 0], np.where(odd, -1.0, 1.0) * X[:, 0]])
    imp = SensitivityImportance(conditional="residuals", features=[1], scale=None)
    imp.fit(lambda X: X[:, 1], rows, sample_weight=np.where(odd, 1e-6, 1.0))
    assert imp.explained_[0] > 0.9


@pytest.mark.thorough
def test_independent_columns_have_the_marginal_importance():
    """Their predictions tell nothing; four errors of drawing, plus the models' own."""
    random = np.random.default_rng(1)
    independent = random.normal(size=(1500, 3))
    y = independent[:, 0] + independent[:, 1] ** 2 + random.normal(size=1500)
    model = LinearRegression().fit(independent, y)
    exact = PermutationImportance(estimation="exact").fit(model, independent, y)
    drawn = PermutationImportance(conditional="residuals", random_state=0, n_draws=40)
    drawn.fit(model, independent, y)
    gap = np.abs(drawn.importances_ - exact.importances_)
    error = np.hypot(drawn.monte_carlo_errors_, drawn.standard_errors_)
    assert np.all(gap <= 4 * error)
    assert np.all(drawn.explained_ < 0.02)


def test_explained_is_out_of_fold():
    """1 - squared errors of predictions of held-out rows / those of training means."""
    imp = PermutationImportance(conditional=Ridge(), features=[1, 3]).fit(f, X, Y)
    expected = []
    for j in (1, 3):
        others = np.setdiff1d(np.arange(4), j)
        lost = around = 0.0
        for train, rows in KFold(5, shuffle=True, random_state=0).split(X):
            model = Ridge().fit(X[train][:, others], X[train, j])
            lost += np.sum((X[rows, j] - model.predict(X[rows][:, others])) ** 2)
            around += np.sum((X[rows, j] - X[train, j].mean()) ** 2)
        expected.append(max(0.0, 1 - lost / around))
    np.testing.assert_allclose(imp.explained_, expected, atol=1e-12)
    assert "explained" in imp.to_frame().columns


@pytest.mark.thorough
def test_the_default_model_follows_lines_and_curves():
    """Cross-validation takes the boosting where a line explains nothing."""
    random = np.random.default_rng(2)
    a = random.normal(size=(500, 3))
    a[:, 1] = a[:, 0] ** 2 + 0.3 * a[:, 1]
    a[:, 2] = a[:, 0] + 0.3 * a[:, 2]
    imp = SensitivityImportance(conditional="residuals", scale=None, random_state=0)
    imp.fit(lambda X: X.sum(axis=1), a)
    assert np.all(imp.explained_ > 0.8)


def test_categories_are_drawn_by_predicted_probabilities():
    """The share of rows that change level is the mean of 1 - p(own level)."""
    random = np.random.default_rng(4)
    rows = random.normal(size=(400, 1))
    level = (rows[:, 0] + random.normal(size=400) > 0).astype(int)
    frame = pd.DataFrame({"x": rows[:, 0], "level": np.where(level, "b", "a")})
    model = LogisticRegression()
    imp = SensitivityImportance(
        conditional=model,
        conditional_fit_rows=frame,
        contrast="observed",
        features=["level"],
        n_draws=60,
        random_state=0,
    ).fit(lambda X: (X["level"] == "b").to_numpy() * 1.0, frame)
    own = model.fit(rows, level).predict_proba(rows)[np.arange(400), level]
    gap = abs(imp.importances_[0] - np.mean(1 - own))
    assert gap < 4 * imp.monte_carlo_errors_[0]
    assert 0 < imp.explained_[0] < 1
    # a donor of the same level has the same value: no influence as donor
    of_rows = (1 - own).std() / np.sqrt(400)
    assert abs(imp.standard_errors_[0] / of_rows - 1) < 0.1


def test_without_information_categories_are_drawn_by_frequency():
    """And the importance is the marginal one."""
    frame = pd.DataFrame({"x": X[:, 0], "c": np.repeat(["u", "v", "w", "v"], N // 4)})
    how = {"features": ["c"], "n_draws": 200, "random_state": 0, "scale": None}
    how |= {"contrast": "observed"}
    model = lambda X: (X["c"] == "v").to_numpy() * 1.0 + (X["c"] == "u") * 3.0  # noqa: E731
    given = SensitivityImportance(conditional=DummyClassifier(), **how)
    given.set_params(conditional_fit_rows=frame).fit(model, frame)
    exact = SensitivityImportance(estimation="exact", **how).fit(model, frame)
    gap = np.abs(given.importances_ - exact.importances_)
    # strata of categories whose shares are whole numbers of them hold one each
    assert gap <= 4 * given.monte_carlo_errors_ + roundoff(N, 3.0)


def test_groups_take_the_residuals_of_one_donor():
    """A column and its double move together: their difference never changes."""
    twice = np.column_stack([X[:, 0], 2 * X[:, 0], X[:, 1]])
    imp = SensitivityImportance(
        conditional=Ridge(), features=[[0, 1]], scale=None, random_state=0
    ).fit(lambda X: 2 * X[:, 0] - X[:, 1], twice)
    assert imp.importances_[0] < roundoff(200, np.abs(twice).max())


@pytest.mark.thorough
def test_missing_values_stay_a_value():
    """Rows draw whether the value is missing; numbers are predicted from others."""
    holes = X.copy()
    holes[:20, 0], holes[30:34, 2] = np.nan, np.nan
    imp = SensitivityImportance(
        conditional="residuals", contrast="observed", scale=None, random_state=0
    ).fit(lambda X: np.nan_to_num(X[:, 0], nan=9.0) + np.isnan(X[:, 2]), holes)
    assert np.all(np.isfinite(imp.importances_))
    assert np.all(imp.importances_[[0, 2]] > 0)
    np.testing.assert_array_equal(imp.importances_[[1, 3]], 0.0)


def test_containers_and_workers_change_nothing():
    """Frames of numbers, and n_jobs; X is left as it was."""
    how = {"conditional": Ridge(), "random_state": 0, "keep_rows": True}
    names = list("abcd")
    before = X.copy()
    expected = PermutationImportance(**how).fit(f, X, Y)
    np.testing.assert_array_equal(X, before)
    for rows in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        with joblib.parallel_config(backend="threading"):
            found = PermutationImportance(**how, n_jobs=2).fit(f, rows, Y)
        for name in ("importances_", "influences_"):
            given, known = getattr(found, name), getattr(expected, name)
            np.testing.assert_allclose(given, known, rtol=0, atol=TOLERANCE)


@pytest.mark.thorough
def test_strings_categories_and_numbers_in_one_frame():
    """Groups of mixed columns; levels that only one of the two tables has."""
    random = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "x": random.normal(size=120),
            "s": random.choice(["p", "q", "r"], 120),
            "k": pd.Categorical(random.choice(["one", "two"], 120)),
            "b": random.random(120) > 0.5,
            "constant": 1.0,
        }
    )
    other = frame.assign(s=np.where(frame["s"] == "r", "elsewhere", frame["s"]))
    features = ["x", "s", "k", "b", "constant", ["x", "s"], ["s", "k"], list(frame)]
    imp = SensitivityImportance(
        conditional="residuals",
        conditional_fit_rows=other,
        features=features,
        scale=None,
        random_state=0,
    ).fit(lambda X: X["x"] * (X["s"] == "p") + X["b"] + X["constant"], frame)
    assert np.all(np.isfinite(imp.importances_))
    assert imp.importances_[4] == 0
    assert imp.importances_[2] == 0


def test_rows_with_zero_weight_do_not_exist():
    """They are neither donors nor fitted on."""
    weights = np.ones(N)
    weights[:15] = 0.0
    how = {"conditional": Ridge(), "random_state": 0}
    found = PermutationImportance(**how).fit(f, X, Y, sample_weight=weights)
    alone = PermutationImportance(**how).fit(f, X[15:], Y[15:])
    np.testing.assert_array_equal(found.importances_, alone.importances_)


DATES = pd.DataFrame({"x": X[:, 0], "d": pd.date_range("2024-01-01", periods=N)})
SPARSE = sparse.csr_array(X)
BAD = {
    "sparse": ({}, SPARSE, "needs a dense X"),
    "exact": ({"estimation": "exact"}, X, "draws donors, got estimation='exact'"),
    "scorer": ({"scoring": "r2"}, X, "cannot be combined with `scoring`"),
    "oob": ({"rows": "oob"}, X, "cannot be combined with rows='oob'"),
    "columns": ({"conditional_fit_rows": X[:, :2]}, X, "must have the 4 columns of X"),
    "one row": ({"conditional_fit_rows": X[:1]}, X, "at least two rows, got 1"),
    "unused": ({"conditional": None, "conditional_fit_rows": X}, X, "Leave them out"),
    "dates": ({}, DATES, "column 'd' holds dates"),
    "infinity": ({}, np.where(X > 2, np.inf, X), "holds infinity"),
    "classifier": ({"conditional": LinearSVC()}, X, "with `predict_proba`"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_raises_before_work(case):
    """With the parameter, the rule and a way out."""
    given, rows, message = BAD[case]
    imp = PermutationImportance(**{"conditional": "residuals"} | given)
    with pytest.raises((ValueError, TypeError), match=message):
        imp.fit(nothing, rows, Y)


def nothing(X):
    """A model that uses no column."""
    return np.zeros(X.shape[0])


@pytest.mark.parametrize("n", [2, 3, 9])
def test_few_rows_move_to_each_other(n):
    """Nothing is learnt from fewer than ten rows: the mean predicts, as marginally."""
    given = PermutationImportance(conditional="residuals", random_state=0)
    marginal = PermutationImportance(estimation="sampled", random_state=0)
    expected = marginal.fit(f, X[:n], Y[:n]).importances_
    found = given.fit(f, X[:n], Y[:n])
    np.testing.assert_allclose(found.importances_, expected, atol=roundoff(n, 500.0))
    np.testing.assert_array_equal(found.explained_, 0.0)


@pytest.mark.thorough
def test_columns_without_any_value_say_nothing():
    """They neither move nor predict."""
    holes = X.copy()
    holes[:, 1], holes[3:, 3] = np.nan, np.nan
    imp = SensitivityImportance(conditional="residuals", scale=None, random_state=0)
    imp.fit(lambda X: np.nan_to_num(X).sum(axis=1), holes)
    assert imp.importances_[1] == 0
    assert np.all(imp.importances_[[0, 2]] > 0)


@pytest.mark.parametrize("n_known", [9, 10])
def test_numbers_of_fewer_than_ten_rows_are_told_from_missing_ones_alone(n_known):
    """Ten are taken as they are, beside missing ones."""
    column = np.append(np.arange(n_known) / 4, [np.nan, np.nan])
    expected = np.isnan(column).astype(float) if n_known < 10 else column
    np.testing.assert_array_equal(as_numbers(column, False), expected)


@pytest.mark.parametrize("n", [9, 10])
def test_ten_rows_are_enough_to_learn_from(n):
    """A feature that is a line in another one is then explained."""
    x = np.arange(float(n))
    imp = SensitivityImportance(conditional="residuals", features=[1], scale=None)
    imp.set_params(random_state=0).fit(lambda X: X[:, 1], np.column_stack([x, 2 * x]))
    assert (imp.explained_[0] > 0.5) == (n >= 10)


def test_dates_predict_other_columns():
    """By their order."""
    frame = DATES.assign(follows=np.arange(N) + X[:, 1], y=0.0)
    imp = SensitivityImportance(
        conditional="residuals", features=["follows"], scale=None, random_state=0
    ).fit(lambda X: X["follows"], frame)
    assert imp.explained_[0] > 0.95


def test_grids_and_ranges_are_refused():
    """Each row has values of its own."""
    given = {"conditional": "residuals", "scale": None}
    with pytest.raises(ValueError, match="Use grid='all'"):
        SensitivityImportance(grid="deciles", **given).fit(f, X)
    with pytest.raises(ValueError, match="cannot estimate contrast='range'"):
        SensitivityImportance(contrast="range", **given).fit(f, X)


def test_a_model_without_weights_is_refused_where_rows_have_some():
    """Equal weights are none."""
    imp = PermutationImportance(conditional=KNeighborsRegressor())
    imp.fit(f, X, Y, sample_weight=np.full(N, 2.0))
    with pytest.raises(ValueError, match="takes no `sample_weight`"):
        imp.fit(f, X, Y, sample_weight=WEIGHTS)


def test_codes_of_levels_go_by_how_many_rows_have_them():
    """The most frequent has 0, and the rarest of too many share the last code."""
    levels = np.arange(CODES + 3)
    column = np.repeat(levels, 2 + levels)
    expected = np.minimum(levels[-1] - column, CODES - 1)
    np.testing.assert_array_equal(as_numbers(column, True), expected)


def test_columns_of_many_levels_predict():
    """More levels than the boosting has codes for; the rarest share one."""
    level = np.random.default_rng(6).integers(0, 100, 200)
    frame = pd.DataFrame({"x": level + 0.0, "s": level.astype(str)})
    imp = SensitivityImportance(conditional="residuals", scale=None, features=["x"])
    assert np.isfinite(imp.fit(lambda X: X["x"], frame).explained_).all()
