"""Random rows and draws: they converge to exact, and stop when they are precise."""

import joblib
import numpy as np
import pytest
from combinations import each
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble import (
    HistGradientBoostingRegressor,
    RandomForestRegressor,
    VotingRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from skvarimp import PermutationImportance, SensitivityImportance
from skvarimp._response.reductions import Outcome
from skvarimp._response.rounds import RunningMeans, rows_per_repeat
from skvarimp.exceptions import ImportanceWarning

N = 400


def rows(n=N, seed=0):
    """Continuous, three-valued and unused inputs, with weights."""
    random = np.random.RandomState(seed)
    X = np.column_stack([random.randn(n), random.randint(0, 3, n), random.randn(n, 2)])
    return X, random.uniform(0.2, 2.0, n)


def response(X):
    """Two outputs with interactions; column 3 is unused."""
    return np.column_stack([X[:, 0] * (1 + X[:, 1]), X[:, 2] * np.abs(X[:, 0])])


X, WEIGHTS = rows()
FEATURES = [0, 1, 2, 3, [0, 2]]


def importance(contrast, **parameters):
    """Unscaled, of five features, one of them a group."""
    imp = SensitivityImportance(
        contrast=contrast, scale=None, features=FEATURES, **parameters
    )
    return imp.fit(response, X, sample_weight=WEIGHTS)


@pytest.mark.parametrize("contrast", ["pairs", "observed", "range"])
def test_rows_converge_to_exact(contrast):
    """Within four errors of drawing, and those below 3% after 10 000 rows."""
    exact = importance(contrast, estimation="exact", grid=30)
    drawn = importance(
        contrast, estimation="rows", grid=30, n_repeats=100, random_state=0
    )
    assert drawn.estimation_ == "rows"
    assert np.all(drawn.n_draws_ == 10_000)
    gap = np.abs(drawn.importances_ - exact.importances_)
    assert np.all(gap <= 4 * drawn.monte_carlo_errors_ + 1e-14)
    assert np.all(drawn.monte_carlo_errors_ <= 0.03 * exact.importances_)
    assert drawn.importances_[3] == 0
    np.testing.assert_allclose(
        drawn.importances_per_output_, exact.importances_per_output_, rtol=0.1
    )


@pytest.mark.parametrize("contrast", ["pairs", "observed", "range"])
def test_standard_errors_of_rows(contrast):
    """The exact walk's, over the drawn rows: the donors' part is a mean over them."""
    grid = "all"
    exact = importance(contrast, estimation="exact", grid=grid).standard_errors_
    drawn = [
        importance(contrast, estimation="rows", grid=grid, n_repeats=2, random_state=s)
        for s in range(8)
    ]
    squares = np.mean([imp.standard_errors_**2 for imp in drawn], axis=0)
    np.testing.assert_allclose(np.sqrt(squares), exact, rtol=0.12)


@pytest.mark.parametrize("contrast", ["pairs", "observed"])
def test_standard_errors_of_draws_until_precise(contrast):
    """The error of drawing, which inflates the influences, is taken off."""
    exact = importance(contrast, estimation="exact").standard_errors_
    drawn = importance(
        contrast, estimation="sampled", tol=3e-3, n_repeats=300, random_state=0
    )
    np.testing.assert_allclose(drawn.standard_errors_, exact, rtol=0.1)


def test_rows_use_fewer_evaluations_and_each_row_once():
    """A repeat is n_samples / n_cells rows, at least 100; rows drawn again are free."""
    assert rows_per_repeat(10_000, np.array([5, 15])) == 1000
    assert rows_per_repeat(10_000, np.array([10_000])) == 100
    asked = []

    def counting(X):
        asked.append(len(X))
        return X[:, 0]

    Z = np.random.RandomState(0).randn(300, 1)
    imp = SensitivityImportance(
        contrast="range",
        scale=None,
        estimation="rows",
        grid=[0.0, 1.0],
        n_repeats=3,
        random_state=0,
    ).fit(counting, Z)
    assert imp.n_draws_.tolist() == [3 * 150]
    drawn = (sum(asked) - 300) / 2
    assert 200 < drawn < 300  # of 450 draws out of 300 rows, 78% are distinct
    assert imp.importances_[0] == pytest.approx(1.0)


def test_auto_draws_rows_for_the_range():
    """Exact where it costs at most three times as much."""

    def model(X):
        return X[:, 0]

    small = np.random.RandomState(0).randn(300, 1)
    assert fitted("range", "all", small, model).estimation_ == "exact"
    large = np.random.RandomState(0).randn(3000, 1)
    assert fitted("range", "auto", large, model).estimation_ == "rows"
    twice = fitted("range", "auto", large, model, n_repeats=2)  # 1200 of 3000 rows
    assert twice.estimation_ == "exact"
    imp = fitted("range", "all", large, model)
    assert imp.estimation_ == "rows"
    assert imp.n_draws_.tolist() == [100]
    assert imp.importances_[0] == pytest.approx(np.ptp(large))


def fitted(contrast, grid, X, model, n_repeats=1):
    """Unscaled."""
    imp = SensitivityImportance(
        contrast=contrast, grid=grid, scale=None, n_repeats=n_repeats, random_state=0
    )
    return imp.fit(model, X)


def test_auto_knows_what_groups_and_votes_cost():
    """Groups of continuous columns have as many joint values as rows; votes no form."""
    random = np.random.RandomState(0)
    X = random.randn(3000, 3)
    y = X[:, 0] * X[:, 1]
    boosting = HistGradientBoostingRegressor(max_iter=10, random_state=0).fit(X, y)
    imp = SensitivityImportance(scale=None, n_repeats=1, random_state=0)
    assert imp.fit(boosting, X).estimation_ == "exact"
    grouped = clone(imp).set_params(features=[[0, 1]])
    assert grouped.fit(boosting, X).estimation_ == "sampled"
    lost = PermutationImportance(features=[[0, 1]], n_repeats=1, random_state=0)
    assert lost.fit(boosting, X, y).estimation_ == "sampled"
    # every member's curves are formed: the square of the rows, some numbers each
    vote = VotingRegressor([("line", Ridge()), ("trees", boosting)]).fit(X, y)
    more = np.vstack([X, X + 0.001, X + 0.002])
    assert imp.fit(vote, more).estimation_ == "sampled"
    assert imp.fit(boosting, more).estimation_ == "exact"


# --- stopping ------------------------------------------------------------------


def graded(X):
    """Features of importance 1, .1 and .01, each interacting with another input."""
    return (X[:, 0] + 0.1 * X[:, 1] + 0.01 * X[:, 2]) * np.exp(X[:, 3] / 2)


GRADED = np.random.RandomState(0).randn(500, 4)


@pytest.mark.parametrize(
    ("estimation", "contrast"),
    [
        ("sampled", "pairs"),
        ("sampled", "observed"),
        ("rows", "pairs"),
        ("rows", "observed"),
        ("rows", "range"),
    ],
)
def test_tolerance_is_reached_after_different_numbers_of_draws(estimation, contrast):
    """The important feature is drawn longest; every error ends below the tolerance.

    The least important one is drawn until a change as large as any would show.
    """
    parameters = {"contrast": contrast, "scale": None, "grid": 50}
    exact = SensitivityImportance(estimation="exact", **parameters).fit(graded, GRADED)
    imp = SensitivityImportance(
        estimation=estimation, tol=0.01, n_repeats=200, random_state=0, **parameters
    ).fit(graded, GRADED)
    first, second, third, _ = imp.n_draws_
    assert first > 2 * third
    assert first > second >= third >= 100
    goal = 0.01 * imp.importances_.max()
    assert np.all(imp.monte_carlo_errors_ < goal)
    assert np.all(np.abs(imp.importances_ - exact.importances_) < 4 * goal)
    assert np.all(imp.n_draws_ < 200 * len(GRADED))  # the cap was not what stopped it


def few_count(n=400):
    """An input that is 1 in four rows, and there moves the response by 20."""
    random = np.random.RandomState(0)
    X = np.column_stack([np.arange(n) < 4, random.randn(n)]).astype(np.float64)
    return X[random.permutation(n)]


def test_equal_draws_are_no_proof():
    """Rows that all contribute the same do not show that the other rows do."""
    X = few_count()
    parameters = {"contrast": "observed", "scale": None}

    def model(X):
        return 20 * X[:, 0] + X[:, 1]

    exact = SensitivityImportance(estimation="exact", **parameters).fit(model, X)
    assert exact.importances_[0] == pytest.approx(20 * 2 * 0.01 * 0.99)
    gaps = []
    for seed in range(30):
        imp = SensitivityImportance(
            estimation="rows", tol=0.03, n_repeats=100, random_state=seed, **parameters
        ).fit(model, X)
        gaps.append(np.abs(imp.importances_ - exact.importances_))
        assert np.all(imp.monte_carlo_errors_ > 0)
    goal = 1.96 * 0.03 * exact.importances_.max()
    assert np.mean(np.array(gaps) <= goal) >= 0.9


def test_skewed_draws_keep_the_tolerance():
    """Heavy tails: stopping at once would favour draws that miss the large ones."""
    X = np.random.default_rng(0).standard_t(2, (1000, 2))
    parameters = {"contrast": "observed", "scale": None, "grid": 50}
    exact = SensitivityImportance(estimation="exact", **parameters)
    exact = exact.fit(lambda X: X[:, 0] * (1 + X[:, 1]), X).importances_
    kept = []
    for seed in range(60):
        imp = SensitivityImportance(
            estimation="sampled",
            tol=0.1,
            n_repeats=100,
            random_state=seed,
            **parameters,
        ).fit(lambda X: X[:, 0] * (1 + X[:, 1]), X)
        kept.append(np.abs(imp.importances_ - exact) <= 1.96 * 0.1 * exact.max())
    assert np.all(np.mean(kept, axis=0) >= 0.9)


@pytest.mark.thorough
@pytest.mark.parametrize("estimation", ["sampled", "rows"])
def test_stopped_estimates_cover_the_exact_value(estimation):
    """Nominal 95% intervals cover in 88 to 99%, wherever the data stop the draws."""
    parameters = {"scale": None, "grid": 20, "features": [0, 1, 3]}
    exact = SensitivityImportance(estimation="exact", **parameters).fit(graded, GRADED)
    inside = []
    for seed in range(60):
        imp = SensitivityImportance(
            estimation=estimation,
            tol=0.03,
            n_repeats=50,
            random_state=seed,
            **parameters,
        ).fit(graded, GRADED)
        gap = np.abs(imp.importances_ - exact.importances_)
        inside.append(gap < 1.96 * imp.monte_carlo_errors_)
    assert 0.88 <= np.mean(inside) <= 0.99


def rare(n=1000):
    """An input that acts on 0.5% of the rows only."""
    random = np.random.RandomState(0)
    X = np.column_stack([random.randn(n, 2), np.arange(n) < n // 200])
    return X[random.permutation(n)]


def acts_rarely(X):
    """Column 1 acts where column 2 is 1."""
    return X[:, 0] + (X[:, 2] == 1) * X[:, 1]


@pytest.mark.parametrize(
    ("how", "tol"), each([("sampled", "pairs"), ("rows", "range")], [0.5, 0.02])
)
def test_rare_effects_are_not_declared_zero(how, tol):
    """All draws 0 is no proof of 0: found in at least 29 of 30 seeds."""
    estimation, contrast = how
    Z = rare()
    imp = SensitivityImportance(
        contrast=contrast, estimation=estimation, tol=tol, scale=None, grid=20
    )
    found = 0
    for seed in range(30):
        imp.set_params(random_state=seed, n_repeats=30).fit(acts_rarely, Z)
        found += bool(imp.importances_[1] > 0 and imp.importances_[2] > 0)
    assert found >= 29


def test_zero_draws_have_an_error_and_a_minimum():
    """An unused input is 0 after 2000 draws, within 3 / n of the largest change."""
    imp = SensitivityImportance(
        estimation="sampled", tol=0.05, n_repeats=100, scale=None, random_state=0
    ).fit(graded, GRADED)
    assert imp.importances_.argmin() != 3
    Z = np.column_stack([GRADED, GRADED[:, 0]])
    imp.fit(graded, Z)
    assert imp.importances_[4] == 0
    assert 2000 <= imp.n_draws_[4] < 4000
    largest = np.ptp(graded(Z))
    assert imp.monte_carlo_errors_[4] >= 3 * largest / imp.n_draws_[4] * (1 - 1e-12)
    assert imp.monte_carlo_errors_[4] < 0.05 * imp.importances_.max()


def test_cap_and_warning():
    """n_repeats caps the draws; what is not precise then is said."""
    imp = SensitivityImportance(
        estimation="sampled", tol=1e-6, n_repeats=1, scale=None, random_state=0
    )
    with pytest.warns(ImportanceWarning, match=r"tol=1e-06 was not reached for 4 of 4"):
        imp.fit(graded, GRADED)
    assert np.all(imp.n_draws_ == len(GRADED))
    assert np.all(np.isnan(imp.monte_carlo_errors_))  # one repeat says nothing
    with pytest.warns(ImportanceWarning, match="not reached for 4"):
        # no size to compare with
        imp.set_params(n_repeats=2).fit(lambda X: np.zeros(len(X)), GRADED)
    assert np.all(imp.importances_ == 0)
    assert np.all(imp.monte_carlo_errors_ == 0)


def test_draws_do_not_depend_on_n_jobs():
    """The seeds belong to the features, the drawn rows to all."""
    model = KNeighborsRegressor(5).fit(GRADED, graded(GRADED))
    for estimation in ("sampled", "rows"):
        parameters = dict(estimation=estimation, tol=0.05, scale=None, n_repeats=20)

        def run(**more):
            imp = SensitivityImportance(grid=10, **parameters, **more)  # noqa: B023
            imp.fit(model, GRADED)
            return np.concatenate([imp.importances_, imp.n_draws_])

        one = run(random_state=0)
        with joblib.parallel_config(backend="threading"):
            assert np.array_equal(one, run(random_state=0, n_jobs=2))
        assert not np.array_equal(one, run(random_state=1))
        generator = np.random.default_rng(0)
        assert not np.array_equal(
            run(random_state=generator), run(random_state=generator)
        )


NUMBERS = "importances_", "standard_errors_", "monte_carlo_errors_", "influences_"


@pytest.mark.parametrize(
    ("estimation", "contrast"),
    [("sampled", "pairs"), ("sampled", "observed"), ("rows", "pairs")],
)
def test_tol_means_further_repeats_of_the_same_draws(estimation, contrast):
    """At the cap every number is that of as many repeats at once."""
    parameters = dict(estimation=estimation, n_repeats=7, random_state=0)
    at_once = importance(contrast, keep_rows=True, **parameters)
    with pytest.warns(ImportanceWarning, match="was not reached for 5 of 5"):
        in_rounds = importance(contrast, keep_rows=True, tol=1e-9, **parameters)
    assert np.array_equal(in_rounds.n_draws_, at_once.n_draws_)
    for name in NUMBERS:
        a, b = (getattr(imp, name) for imp in (in_rounds, at_once))
        if name == "monte_carlo_errors_":  # draws that are all 0 have a bound instead
            assert a[3] > b[3] == 0
            a, b = (np.delete(errors, 3) for errors in (a, b))
        # sums of draws in another order, and differences of them that are nearly 0
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("tol", [None, 0.03])
def test_draws_do_not_depend_on_memory(tol):
    """Blocks of rows and repeats draw the numbers that all at once would."""
    parameters = dict(estimation="sampled", tol=tol, n_repeats=30, random_state=0)
    expected = importance("pairs", keep_rows=True, **parameters)
    with config_context(working_memory=0.2):  # 800 numbers: a block is one repeat
        found = importance("pairs", keep_rows=True, **parameters)
    for name in NUMBERS:
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=1e-9, atol=1e-12
        )


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("estimation", "tol"),
    [("sampled", None), ("sampled", 0.03), ("rows", None), ("rows", 0.05)],
)
def test_errors_of_drawing_are_the_spread_over_seeds(estimation, tol):
    """Within 15%: spread of 3 features over 100 fits is known to 100 ** -0.5 / 2."""
    Z = GRADED[:100]
    imp = SensitivityImportance(
        estimation=estimation, tol=tol, n_repeats=3 if tol is None else 40, scale=None
    )
    found, claimed = [], []
    for seed in range(100):
        imp.set_params(random_state=seed).fit(graded, Z)
        found.append(imp.importances_)
        claimed.append(imp.monte_carlo_errors_)
    spread = np.sqrt(np.mean(np.var(found, axis=0, ddof=1)))
    assert np.sqrt(np.mean(np.square(claimed))) == pytest.approx(spread, rel=0.15)


def test_exact_ignores_repeats_and_tol():
    """Nothing is drawn, so nothing is said of draws."""
    imp = SensitivityImportance(estimation="exact", tol=0.1, scale=None)
    imp.fit(graded, GRADED[:50])
    assert imp.n_draws_ is None
    assert imp.monte_carlo_errors_ is None


# --- the running mean and the rule that stops it ----------------------------------


def kalman(measurements, variance):
    """The textbook recursion with a diffuse start, one measurement at a time."""
    x, P = 0.0, np.inf
    for z in measurements:
        gain = 1.0 if np.isinf(P) else P / (P + variance)
        x = x + gain * (z - x)
        P = variance if np.isinf(P) else (1 - gain) * P
    return x, P


def test_drawn_rows_are_the_measurements_of_a_kalman_filter():
    """Its state and variance, from the rows as they are drawn, one after the other."""
    Z = np.random.RandomState(0).gamma(2.0, size=(150, 2))
    imp = SensitivityImportance(
        contrast="range",
        estimation="rows",
        grid=[0.0, 2.0],
        features=[0],
        n_repeats=3,
        scale=None,
        random_state=0,
    ).fit(lambda X: X[:, 0] * X[:, 1], Z)
    seed = np.random.RandomState(0).randint(2**32, size=1, dtype=np.uint32)
    drawn = np.random.default_rng(int(seed[0])).choice(
        150, 300, p=np.full(150, 1 / 150)
    )
    values = 2.0 * Z[drawn, 1]
    x, P = kalman(values, values.var(ddof=1))
    assert imp.importances_[0] == pytest.approx(x, rel=1e-12)
    assert imp.monte_carlo_errors_[0] == pytest.approx(np.sqrt(P), rel=1e-12)


def found(mean, error, n_draws, largest):
    """Numbers of one feature with one output, as draws give them."""
    return Outcome(np.array([mean]), np.nan, error, n_draws, largest_draw=largest)


def test_a_resting_feature_is_drawn_again_when_the_largest_falls():
    """The tolerance is relative to the largest importance as known last."""
    means = RunningMeans(2, 1, tol=0.05, n_repeats=100, draws_each=100)
    assert means.wanted().tolist() == [2, 2]
    means.add([0], found(10.0, 0.1, 200, largest=12.0))
    means.add([1], found(1.0, 0.1, 200, largest=3.0))
    assert means.wanted().tolist() == [0, 0]
    means.add([0], found(1.9, 0.01, 1000, largest=12.0))
    # the error of 0.1, with the largest change as one more draw of 200, is to fall to
    # 0.05 * 1.9; 5% more than that needs, less the two repeats that were made
    needed = 1.05 * 2 * (0.1**2 + (12 / 200) ** 2) / 0.095**2
    assert means.wanted().tolist() == [0, np.ceil(needed - 2)]


# --- rows through fast responses -------------------------------------------------

FAST = {
    "trees": RandomForestRegressor(4, max_depth=5, random_state=0),
    "boosting": HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=5),
    "linear": Ridge(),
    "logistic": LogisticRegression(),
    "kernel": SVR(C=10.0, gamma=0.3),
    "network": MLPRegressor(
        hidden_layer_sizes=(5,), solver="lbfgs", max_iter=30, random_state=0
    ),
    "pipeline": make_pipeline(StandardScaler(), Ridge()),
}


@pytest.mark.filterwarnings("ignore:lbfgs failed")
@pytest.mark.parametrize(
    ("name", "contrast"), each(FAST, ["pairs", "observed", "range"])
)
def test_rows_through_fast_responses(name, contrast):
    """The same seed draws the same rows, so the numbers are the black box's."""
    y = response(X)[:, 0]
    model = clone(FAST[name]).fit(X, y > 0 if name == "logistic" else y)

    def plain(X):
        return model.predict_proba(X)[:, 1] if name == "logistic" else model.predict(X)

    parameters = dict(
        estimation="rows", grid="all", random_state=0, n_repeats=1, features=[0, 1, 2]
    )
    fast = SensitivityImportance(contrast=contrast, scale=None, **parameters)
    slow = SensitivityImportance(contrast=contrast, scale=None, **parameters)
    fast.fit(model, X, sample_weight=WEIGHTS)
    slow.fit(plain, X, sample_weight=WEIGHTS)
    assert np.array_equal(fast.n_draws_, slow.n_draws_)
    for attribute in ("importances_", "monte_carlo_errors_", "standard_errors_"):
        np.testing.assert_allclose(
            getattr(fast, attribute), getattr(slow, attribute), rtol=1e-7, atol=1e-9
        )
