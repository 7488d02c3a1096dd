"""A limit on the rows that a model is asked to predict."""

import re

import numpy as np
import pytest
from callback_recorder import Recorder
from combinations import each
from messages import says
from roundoff import roundoff
from scipy.stats import spearmanr
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.ensemble import (
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from skvarimp import (
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
    ShapleyImportance,
    SobolImportance,
    compare_importances,
)
from skvarimp._data.table import Feature
from skvarimp._running.memory import CALL_ROWS
from skvarimp.exceptions import ImportanceWarning

X, Y = make_friedman1(100, n_features=6, noise=1.0, random_state=0)
FOREST = RandomForestRegressor(5, random_state=0).fit(X, Y)


class Counted:
    """A black box that counts the rows it predicts and the calls."""

    def __init__(self, model=FOREST):
        self.model, self.rows, self.calls = model, 0, 0

    def predict(self, Z):
        """As the model does."""
        self.rows += Z.shape[0]
        self.calls += 1
        return self.model.predict(Z)


DRAWN = [
    SensitivityImportance(scale=None, n_draws=50),
    SensitivityImportance(scale=None, n_draws=50, contrast="observed"),
    SensitivityImportance(scale=None, tol=1e-4, n_draws=10),
    PermutationImportance(n_draws=50),
    PermutationImportance(scoring="r2", n_draws=50),
]


@pytest.mark.parametrize("importance", DRAWN, ids=str)
@pytest.mark.filterwarnings("ignore:tol=")
@pytest.mark.parametrize("most", [2000, 5001, 20_000])
def test_the_limit_is_kept_and_used(importance, most):
    """As many rows or draws as it allows, and no more predictions than it says."""
    model = Counted()
    if getattr(importance, "scoring", None):
        model = clone(FOREST).fit(X, Y)
        counted = Counted(FOREST)
        model.predict = counted.predict  # a scorer asks for a regressor
    imp = clone(importance).set_params(
        random_state=0, max_evaluations=most, estimation="sampled"
    )
    counter = model if isinstance(model, Counted) else counted
    imp.fit(model, X, Y)
    assert counter.rows <= most
    each = X.size  # predictions of a draw of every row of every feature
    first = 100 if counter is model else 200  # the response, and the scorer's
    n_draws = (most - first) // each
    if counter is not model:
        assert np.all(imp.n_draws_ == 100 * 2 * (n_draws // 2))
    elif imp.tol == "auto" and n_draws < 50:
        # four draws of as many rows as that leaves
        n_rows = min(100, (most - 100) // (4 * 6))
        assert np.all(imp.n_draws_ == 4 * n_rows)
    else:
        assert imp.n_draws_.min() >= 100 * n_draws / 2
    assert imp.estimation_ == "sampled"


def test_draws_of_some_rows_are_those_of_a_smaller_limit_and_more():
    """The limit only says where to end: rows keep their draws."""
    imp = PermutationImportance(estimation="sampled", n_draws=4, random_state=0)
    imp.set_params(keep_rows=True)
    fewer = clone(imp).set_params(max_evaluations=1000).fit(Counted(), X, Y)
    more = clone(imp).set_params(max_evaluations=2000).fit(Counted(), X, Y)
    assert np.all(fewer.n_draws_ == 4 * ((1000 - 100) // 24))
    drawn = ~np.isnan(fewer.row_effects_)
    assert 37 * 6 == drawn.sum() < np.sum(~np.isnan(more.row_effects_))
    np.testing.assert_array_equal(fewer.row_effects_[drawn], more.row_effects_[drawn])


def test_calls_are_few():
    """Draws of several features share a call, in any number of workers."""
    imp = SensitivityImportance(
        estimation="sampled", scale=None, n_draws=4, random_state=0
    )
    model = Counted()
    one = clone(imp).fit(model, X)
    assert model.calls == 2  # the rows of X, and all draws
    two = clone(imp).set_params(n_jobs=2)
    import joblib

    with joblib.parallel_config(backend="threading"):
        two.fit(model, X)
    np.testing.assert_array_equal(two.importances_, one.importances_)


def test_rows_with_all_their_values():
    """The range: rows are drawn, and all grid values of each count."""
    imp = SensitivityImportance(
        contrast="range", scale=None, n_draws=40, random_state=0
    )
    for most in (4000, 9000, 30_000):
        for tol in (None, 1e-5):
            model = Counted()
            limited = clone(imp).set_params(
                tol=tol, max_evaluations=most, estimation="rows"
            )
            limited.fit(model, X)
            assert model.rows <= most
            assert np.all(limited.n_draws_ == limited.n_draws_[0])
            # 5 values of 6 columns in each row
            assert limited.n_draws_[0] == min(100, (most - 100) // 30)


def test_rows_are_drawn_until_they_are_precise():
    """80 for four draws, and then twice as many, up to all: those are exact."""
    rows = np.random.RandomState(0).normal(size=(270, 2))
    imp = SensitivityImportance(scale=None, n_draws=4, random_state=0)

    def model(Z):
        return Z[:, 0] * Z[:, 1] + np.sin(3 * Z[:, 0])

    exact = clone(imp).set_params(estimation="exact").fit(model, rows)
    for tol, n_rows in ((1e3, 80), (1e-9, 270)):
        found = clone(imp).set_params(tol=tol, estimation="rows").fit(model, rows)
        assert found.n_draws_.tolist() == [n_rows] * 2
    np.testing.assert_allclose(found.importances_, exact.importances_, rtol=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        FOREST,
        make_pipeline(StandardScaler(), FOREST.__class__(3, random_state=0)),
        MLPRegressor(
            hidden_layer_sizes=(3,), solver="lbfgs", max_iter=2000, random_state=0
        ),
    ],
    ids=lambda model: type(model).__name__,
)
def test_what_reads_a_model_counts(model, monkeypatch):
    """Probes are calls of the model, too; without room for them, none."""
    model = clone(model).fit(X, Y)
    asked, predict = [], type(model).predict

    def counting(self, Z, **options):
        asked.append(Z.shape[0])
        return predict(self, Z, **options)

    monkeypatch.setattr(type(model), "predict", counting)
    for most in (1400, 4000, 10**6):
        asked.clear()
        imp = SensitivityImportance(scale=None, max_evaluations=most, random_state=0)
        imp.fit(model, X)
        assert sum(asked) <= most
        if most == 1400:
            assert imp.estimation_ == "sampled"
            assert "max_evaluations leaves too few rows" in imp.response_path_
        elif most == 10**6:
            assert imp.estimation_ == "exact"


ADVISED = [
    SensitivityImportance(),
    SensitivityImportance(estimation="rows"),
    SensitivityImportance(contrast="range", grid="all", estimation="rows"),
    PermutationImportance(),
    PermutationImportance(scoring="r2"),
    PermutationImportance(conditional="residuals"),
    ShapleyImportance(),
    ShapleyImportance(loss="squared_error", n_repeats=30),
]


@pytest.mark.parametrize("importance", ADVISED, ids=str)
@pytest.mark.parametrize("most", [50, 150, 300])
def test_the_limit_that_an_error_advises_is_enough(importance, most):
    """At once, and for standard errors, too."""
    model = KNeighborsRegressor().fit(X, Y)
    imp = clone(importance).set_params(random_state=0, max_evaluations=most)
    with pytest.raises(ValueError, match="max_evaluations=") as raised:
        imp.fit(model, X, Y)
    advised = int(re.findall(r"max_evaluations=(\d+)", str(raised.value))[-1])
    assert advised > most
    imp.set_params(max_evaluations=advised).fit(model, X, Y)
    assert np.all(np.isfinite(imp.standard_errors_))
    assert np.all(imp.monte_carlo_errors_ > 0)


@pytest.mark.parametrize(
    ("importance", "advised"),
    [
        # X, and four draws of 20 rows for each of six columns
        (SensitivityImportance(), 100 + 6 * 4 * 20),
        # 20 rows with all their values
        (SensitivityImportance(estimation="rows"), 100 + 6 * 20 * 100),
        # X once more for each scorer, and two draws of all rows
        (PermutationImportance(scoring="r2"), 100 + 1300),
        (PermutationImportance(scoring=["r2", "max_error"]), 100 + 2 * 1300),
        # two repeats of two orders with two donors each
        (ShapleyImportance(), 100 + 6 * 2 * 2 * 2 * 100),
        # 20 rows with 64 values and a missing one; four draws of 20 rows
        (PartialDependenceImportance(), 100 + 6 * 65 * 20),
        (SobolImportance(), 100 + 6 * 65 * 20 + 6 * 4 * 20),
    ],
    ids=repr,
)
def test_what_is_advised_before_the_first_row(importance, advised):
    """The fewest rows that tell something of every feature."""
    imp = clone(importance).set_params(max_evaluations=99)
    with pytest.raises(ValueError, match=f"use max_evaluations={advised}[.]"):
        imp.fit(Counted(KNeighborsRegressor().fit(X, Y)), X, Y)


def test_one_repeat_has_no_errors():
    """A warning says so, and what would give them."""
    model = KNeighborsRegressor().fit(X, Y)
    imp = ShapleyImportance(random_state=0, max_evaluations=3000)
    for n_repeats in (2, 10):
        imp.set_params(n_repeats=n_repeats)
        with pytest.warns(ImportanceWarning, match="After one repeat.*=4100, or more"):
            imp.fit(model, X)
        assert imp.standard_errors_ is None
    assert imp.set_params(max_evaluations=4100).fit(model, X).standard_errors_.min() > 0
    imp.set_params(max_evaluations=None, n_repeats=1)
    with pytest.warns(ImportanceWarning, match="After one repeat.*n_repeats=2, or"):
        imp.fit(model, X)


def test_errors_say_how_many_rows_it_takes():
    """Before the model is asked for a moved row."""
    model = Counted()
    for most, message in [
        (99, "asked for 0 rows and needs 100 more.*use max_evaluations=580."),
        (500, "all features together take 480 or more.*max_evaluations=580"),
    ]:
        imp = SensitivityImportance(scale=None, max_evaluations=most)
        with pytest.raises(ValueError, match=message):
            imp.fit(model, X)
    assert model.rows <= 100
    imp = SensitivityImportance(scale=None, estimation="exact", max_evaluations=10_000)
    with pytest.raises(
        ValueError, match=says("estimation='exact' … 59400 … estimation='sampled'")
    ):
        imp.fit(model, X)
    imp.set_params(max_evaluations=59_500).fit(model, X)
    for wrong in (0, 2.5, "many"):
        with pytest.raises(ValueError, match="max_evaluations"):
            imp.set_params(max_evaluations=wrong).fit(model, X)
    imp = PermutationImportance(rows="oob", max_evaluations=1000)
    with pytest.raises(ValueError, match="asks single trees"):
        imp.fit(RandomForestRegressor(6, random_state=0).fit(X, Y), X, Y)


def test_each_measure_has_its_own_limit():
    """Measures that share a model and its response at X."""
    measures = [
        SensitivityImportance(
            scale=None, n_draws=4, max_evaluations=3000, random_state=0
        ),
        PermutationImportance(n_draws=4, max_evaluations=1500, random_state=0),
    ]
    model = Counted()
    compare_importances(model, X, Y, measures)
    assert 100 < model.rows <= 100 + 2900 + 1400


@pytest.mark.parametrize("importance", DRAWN[:4], ids=str)
def test_expected_evaluations_of_draws(importance):
    """What the fit asks for, but for moves to a row's own value and equal draws."""
    imp = clone(importance).set_params(
        n_draws=4, estimation="sampled", random_state=0, tol=None
    )
    model = Counted()
    expected = imp.expected_evaluations(model, X)
    assert model.rows == 0
    assert expected == 100 + 4 * X.size
    imp.fit(model, X, Y)
    assert 0.9 * expected < model.rows <= expected
    assert imp.set_params(max_evaluations=1500).expected_evaluations(model, X) <= 1500


def test_expected_evaluations_of_exact_numbers():
    """All values of all columns but the rows' own; a grid; none for a forest."""
    imp, model = SensitivityImportance(scale=None), Counted()
    few = np.round(X[:, :2] * 2)
    small = RandomForestRegressor(3, random_state=0).fit(few, Y)
    model = Counted(small)
    expected = imp.expected_evaluations(model, few)
    imp.fit(model, few)
    assert imp.estimation_ == "exact"
    assert model.rows == expected == 100 + 100 * 2 * 2
    assert imp.expected_evaluations(small, few) == 100
    curves = PartialDependenceImportance(grid="all")
    n_values = sum(len(np.unique(column)) for column in few.T)
    assert curves.expected_evaluations(model, few) == 100 + 100 * n_values
    ranges = SensitivityImportance(scale=None, contrast="range", estimation="exact")
    model = Counted(FOREST)
    expected = ranges.expected_evaluations(model, X)
    ranges.fit(model, X)
    assert expected == 100 + 100 * 5 * 6
    assert 0.9 * expected < model.rows <= expected


@pytest.mark.parametrize(
    "measure",
    [
        SensitivityImportance,
        PermutationImportance,
        PartialDependenceImportance,
        SobolImportance,
    ],
)
def test_models_that_are_read_are_asked_for_x_alone(measure):
    """Whatever a measure would ask a callable for."""
    assert measure().expected_evaluations(FOREST, X) == len(X)


@pytest.mark.parametrize("keep_rows", [False, True])
@pytest.mark.parametrize(
    ("importance", "times"),
    [
        (SobolImportance(order="first", estimation="exact"), 2),
        (SobolImportance(order="total", estimation="exact"), 1),
        (PartialDependenceImportance(grid="all"), 2),
    ],
    ids=["first", "total", "mean"],
)
def test_expected_evaluations_of_curves_that_memory_does_not_hold(
    importance, times, keep_rows
):
    """Influences of rows on a mean curve need each row's curve once more."""
    rows = np.random.default_rng(0).normal(size=(200, 2))
    model = Counted(DecisionTreeRegressor(max_depth=3).fit(rows, rows[:, 0]))
    imp = clone(importance).set_params(keep_rows=keep_rows)
    with config_context(working_memory=1):  # too little for all curves at once
        expected = imp.expected_evaluations(model, rows)
        imp.fit(model, rows)
    curves = 2 * 200 * 199 * (times if keep_rows else 1)
    assert curves < model.rows <= expected < 1.01 * curves


LABELS = np.random.RandomState(1).randint(0, 4, 100)
GRADES = np.column_stack([np.round(X[:, :2] * 7), X[:, 2:4]])
EXPECTED = {
    "labels": SensitivityImportance(scale=None, conditional=LABELS),
    "labels, permuted": PermutationImportance(conditional=LABELS),
    "subgroups": SensitivityImportance(scale=None, conditional="subgroups"),
    "rounds of rows": SensitivityImportance(
        scale=None, contrast="range", estimation="rows", tol=1e-3
    ),
    "scorer": PermutationImportance(scoring="r2"),
    "scorer of labels": PermutationImportance(scoring="r2", conditional=LABELS),
    "scorer of classes": PermutationImportance(scoring="accuracy"),
    "own score": PermutationImportance(scoring="score"),
    "own scorer": PermutationImportance(scoring=lambda m, Z, y: m.predict(Z).mean()),
}


@pytest.mark.parametrize("importance", EXPECTED.values(), ids=EXPECTED)
def test_expected_evaluations_are_the_most(importance):
    """Subgroups, rounds that begin anew, and what a scorer asks for besides."""
    scoring = importance.get_params().get("scoring")
    classes = scoring == "accuracy"
    y = np.digitize(Y, [Y.mean()]) if classes else Y
    kind = RandomForestClassifier if classes else RandomForestRegressor
    model, count = kind(3, random_state=0).fit(GRADES, y), []
    for method in ("predict_proba", "predict") if classes else ("predict",):
        own = getattr(model, method)

        def counted(Z, own=own):
            count.append(len(Z))
            before, found = len(count), own(Z)
            del count[before:]  # what it asked of itself
            return found

        setattr(model, method, counted)
    if scoring is None:
        black_box = Counted(model)
        expected = importance.expected_evaluations(black_box, GRADES)
        importance.fit(black_box, GRADES, y)
        assert 0.5 * expected < black_box.rows <= expected
        return
    expected = importance.expected_evaluations(model, GRADES)
    assert expected == 100 * (1 + 2 + 6 * 4)
    importance.fit(model, GRADES, y)
    assert sum(count) <= expected


CURVES = {
    "curves": PartialDependenceImportance(),
    "curves, rows kept": PartialDependenceImportance(keep_rows=True),
    "rows' curves": PartialDependenceImportance(kind="individual", grid="deciles"),
    "bands": PartialDependenceImportance(grid=5, curve_errors=True),
    "surfaces": PartialDependenceImportance(grid="deciles", pairs=[(0, 2)]),
    "group": PartialDependenceImportance(features=[[0, 2], 3]),
    "variance": SobolImportance(random_state=0),
    "own variance": SobolImportance(order="first", grid="deciles", random_state=0),
    "own, rows kept": SobolImportance(order="first", keep_rows=True, random_state=0),
}


@pytest.mark.parametrize("most", [None, 9000])
@pytest.mark.parametrize("importance", CURVES.values(), ids=CURVES)
def test_curves_keep_to_their_limit(importance, most):
    """The largest number is foretold and kept, and most of it is used."""
    gaps = X.copy()
    gaps[::9, 2] = np.nan
    imp, model = clone(importance).set_params(max_evaluations=most), Counted()
    expected = imp.expected_evaluations(model, gaps)
    assert model.rows == 0
    imp.fit(model, gaps)
    assert 0.85 * expected < model.rows <= expected <= (most or np.inf)


@pytest.mark.parametrize("kind", [PartialDependenceImportance, SobolImportance])
def test_limited_curves_are_near_the_exact_ones(kind):
    """Errors of drawing tell how near; read models draw nothing."""
    wide, y = make_friedman1(3000, n_features=5, random_state=0)
    forest = RandomForestRegressor(5, max_leaf_nodes=30, random_state=0).fit(wide, y)
    how = {"random_state": 0} if kind is SobolImportance else {}
    exact = kind(**how, max_evaluations=40_000).fit(forest, wide)
    assert exact.estimation_ == "exact"
    drawn = kind(**how, grid="deciles", max_evaluations=10_000)
    drawn.fit(Counted(forest), wide)
    assert re.search(r"\d+ of (each of \d+ of )?3000 rows", drawn.response_path_)
    decile = kind(**how, grid="deciles").fit(forest, wide)
    gap = np.abs(drawn.importances_ - decile.importances_)
    assert np.all(gap < 4 * drawn.monte_carlo_errors_ + 1e-12)


def test_curves_of_drawn_rows_have_the_level_of_all_rows():
    """That of an unused column is the mean prediction of all rows."""

    def model(X):
        return X[:, 0] ** 2 + np.exp(X[:, 1])

    imp = PartialDependenceImportance(grid="deciles", max_evaluations=3000)
    assert imp.fit(model, X).estimation_ == "rows"
    level = np.full(11, model(X).mean())
    np.testing.assert_allclose(imp.curves_["x2"][1], level, rtol=roundoff(100, 1.0))


def test_curves_of_drawn_rows_of_a_sum_have_the_shape_of_all_rows():
    """Only their level depends on the rows, so their flatness is exact."""

    def model(X):
        return X[:, 0] ** 2 + np.exp(X[:, 1])

    for statistic in ("std", "range"):
        exact = PartialDependenceImportance(statistic=statistic, grid="deciles")
        exact.fit(model, X)
        drawn = clone(exact).set_params(max_evaluations=3000).fit(model, X)
        assert drawn.estimation_ == "rows"
        np.testing.assert_allclose(
            drawn.importances_,
            exact.importances_,
            rtol=0,
            atol=roundoff(100, model(X)),
        )


@pytest.mark.parametrize("most", [99, 300])
@pytest.mark.parametrize("importance", CURVES.values(), ids=CURVES)
def test_limits_that_curves_cannot_keep(importance, most):
    """The model is asked for the rows of X at most, and the limit advised is enough."""
    model, imp = Counted(), clone(importance).set_params(max_evaluations=most)
    with pytest.raises(ValueError, match=r"max_evaluations=\d+") as caught:
        imp.fit(model, X)
    assert model.rows <= 100
    enough = int(re.findall(r"max_evaluations=(\d+)", str(caught.value))[-1])
    imp.set_params(max_evaluations=enough).fit(model, X)
    assert np.all(np.isfinite(imp.importances_))


@pytest.mark.parametrize("seed", [5, 19])
def test_draws_that_are_all_values_are_exact(seed):
    """In a later round of draws, too; the number of values may be odd."""
    random = np.random.RandomState(seed)
    table = random.normal(size=(20, 4))
    table[random.rand(20, 4) < 0.3] = np.nan
    y = np.nan_to_num(table[:, 0]) + random.normal(size=20)

    def model(Z):
        return np.nan_to_num(Z[:, 0] * Z[:, 1] + np.sin(Z[:, 2]) + Z[:, 3])

    drawn = PermutationImportance(
        n_draws=4, tol=0.05, random_state=0, estimation="sampled"
    ).fit(model, table, y)
    exact = PermutationImportance(estimation="exact").fit(model, table, y)
    all_values = drawn.n_draws_ == 20 * np.array(
        [len(np.unique(column)) for column in table.T]
    )
    assert all_values.any()
    np.testing.assert_allclose(
        drawn.importances_[all_values], exact.importances_[all_values], rtol=1e-12
    )


def test_tables_of_stopped_fits_say_so():
    """Which features have their final numbers; nothing is said after a whole fit."""
    for parameters in ({"n_draws": 4}, {"tol": 0.003}):
        imp = SensitivityImportance(
            scale=None, estimation="sampled", random_state=0, **parameters
        ).set_callbacks(Recorder(stop_after=2))
        with pytest.warns(ImportanceWarning):
            imp.fit(Counted(), X)
        frame = imp.to_frame().set_index("feature")
        assert 2 <= frame["complete"].sum() < 6
        if imp.tol != 0.003:
            known = frame["importance"].notna()
            assert frame["complete"].tolist() == known.tolist()
        imp.set_callbacks()
        assert "complete" not in imp.fit(Counted(), X).to_frame()


SHARES = {
    "all columns": (None, 5),
    "some columns": ([0, 1, 3], 3),
    "groups": ({"a": [0, 1], "b": [2, 3, 4, 5]}, 1),
}


@pytest.mark.filterwarnings("ignore:After one repeat")
@pytest.mark.parametrize("name", SHARES)
@pytest.mark.parametrize("most", [2500, 5001, 20_000])
def test_shares_keep_to_the_limit(name, most):
    """As many repeats as it allows, with the numbers of as many repeats."""
    features, n_asked = SHARES[name]
    imp = ShapleyImportance(
        features=features,
        estimation="sampled",
        n_repeats=50,
        tol=None,
        random_state=0,
    )
    each = 4 * n_asked * 100
    n_repeats = min(50, (most - 100) // each)
    model = Counted()
    limited = clone(imp).set_params(max_evaluations=most).fit(model, X)
    assert model.rows == 100 + n_repeats * each <= most
    other = Counted()
    fewer = clone(imp).set_params(n_repeats=n_repeats).fit(other, X)
    np.testing.assert_array_equal(limited.importances_, fewer.importances_)
    np.testing.assert_array_equal(limited.standard_errors_, fewer.standard_errors_)
    assert other.rows == fewer.expected_evaluations(other, X) == model.rows
    assert limited.expected_evaluations(model, X) == min(most, 100 + 50 * each)
    assert model.rows <= most  # the model was not asked


def test_shares_with_a_tolerance_and_a_limit():
    """What is reached first ends the repeats; a limit that does is named."""
    imp = ShapleyImportance(estimation="sampled", n_repeats=500, random_state=0)
    model = Counted()
    imp.set_params(tol=0.5, max_evaluations=200_000).fit(model, X)
    assert imp.monte_carlo_errors_.max() <= 0.5 * imp.importances_.max()
    assert model.rows < 100_000
    model = Counted()
    with pytest.warns(
        ImportanceWarning, match=r"6 repeats.*max_evaluations than 13000"
    ):
        imp.set_params(tol=1e-9, max_evaluations=13_000).fit(model, X)
    assert model.rows == 100 + 6 * 2000


def test_exact_shares_within_a_limit():
    """The effects of all sets and the repeats of the donors, or neither."""
    few = np.round(X[:, :2])
    model = Counted(RandomForestRegressor(3, random_state=0).fit(few, Y))
    imp = ShapleyImportance(random_state=0)
    expected = imp.expected_evaluations(model, few)
    assert model.rows == 0
    exact = imp.fit(model, few)
    assert exact.estimation_ == "exact"
    assert 0.9 * expected < model.rows <= expected
    for most in (expected, expected - 1):
        model.rows = 0
        imp.set_params(max_evaluations=most).fit(model, few)
        assert imp.estimation_ == ("exact" if most == expected else "sampled")
        assert model.rows <= most
    imp.set_params(estimation="exact")
    model.rows = 0
    with pytest.raises(
        ValueError, match=says("estimation='exact' … estimation='sampled'")
    ):
        imp.fit(model, few)
    assert model.rows == 100
    imp.set_params(estimation="sampled", max_evaluations=400)
    with pytest.raises(ValueError, match=r"take 400.*max_evaluations=900"):
        imp.fit(model, few)


def short(value):
    """A readable parameter name."""
    last = value[-1] if hasattr(value, "steps") else value
    return last if isinstance(last, str) else type(last).__name__


@pytest.mark.parametrize(
    ("model", "estimation"),
    each(
        [
            FOREST,
            make_pipeline(StandardScaler(), FOREST.__class__(3, random_state=0)),
            make_pipeline(PolynomialFeatures(2), Ridge()),
            GaussianProcessRegressor(RBF(2.0), alpha=1.0, optimizer=None),
        ],
        ["auto", "sampled"],
    ),
    ids=short,
)
@pytest.mark.filterwarnings("ignore:After one repeat")
def test_what_shares_read_of_a_model_counts(model, estimation, monkeypatch):
    """Probes, within any limit."""
    model = clone(model).fit(X, Y)
    asked, predict = [], type(model).predict

    def counting(self, Z, **options):
        asked.append(Z.shape[0])
        return predict(self, Z, **options)

    monkeypatch.setattr(type(model), "predict", counting)
    for most in (2200, 6000, 20_000, 10**6):
        asked.clear()
        imp = ShapleyImportance(
            estimation=estimation, n_repeats=20, max_evaluations=most, random_state=0
        )
        imp.fit(model, X)
        assert 100 <= sum(asked) <= most


@pytest.mark.thorough
@pytest.mark.parametrize(
    "importance", [SensitivityImportance(), PermutationImportance()], ids=str
)
def test_the_ranking_of_a_budget_is_nearly_the_exact_one(importance):
    """Friedman's function with 65 columns of noise, 200 000 rows of predictions."""
    rows, y = make_friedman1(1000, n_features=70, noise=1.0, random_state=0)
    boosting = HistGradientBoostingRegressor(random_state=0).fit(rows, y)
    exact = clone(importance).fit(boosting, rows, y).importances_
    top = np.argsort(-exact)[:10]
    for seed in range(5):
        model = Counted(boosting)
        imp = clone(importance).set_params(max_evaluations=200_000, random_state=seed)
        imp.fit(model, rows, y)
        assert model.rows <= 200_000
        assert model.calls < 200_000 / CALL_ROWS + 5
        assert spearmanr(exact[top], imp.importances_[top]).statistic > 0.9


@pytest.mark.parametrize(
    ("options", "each", "more"),
    [
        ({}, 65 + 65 + 257, 0),
        ({"pairs": [(0, 1), (0, 2)]}, 65 + 65 + 257 + 2 * 26**2, 0),
        ({"curve_errors": True}, 65 + 65 + 257 + 3 * 51, 0),
        ({"kind": "individual"}, 65 + 65 + 257, 100 * 3 * 51),
    ],
)
def test_the_fewest_evaluations_of_curves(options, each, more):
    """Of 20 rows at quantiles, of pairs at 25 values each, and of rows in a picture.

    64 quantiles, 256 joint ones of a group, and a missing value on top.
    """
    measure = PartialDependenceImportance(**options)
    features = [Feature("x0", (0,)), Feature("x1", (1,)), Feature("both", (2, 3))]
    found = measure._least_evaluations(1000, features)
    assert found == 1000 + 20 * each + more
    few = 5 + 5 * each + min(more, 5 * 3 * 51)
    assert measure._least_evaluations(5, features) == few


def test_the_limit_of_a_scorer_that_asks_the_model_itself():
    """The model predicts the rows twice before, and 100 rows per shuffle of a feature.

    Of which it takes two or more: 2 x 100 + 2 x 3 x 100 rows.
    """

    class Curve(Counted):
        """Has a method that no stand-in knows."""

        curve = Counted.predict

    def scoring(model, X, y):
        return -np.mean((model.curve(X) - y) ** 2)

    imp = PermutationImportance(features=[0, 1, 2], scoring=scoring)
    with pytest.raises(ValueError, match="max_evaluations=800"):
        clone(imp).set_params(max_evaluations=799).fit(Curve(), X, Y)
    for most, n_shuffles in ((800, 2), (1399, 2), (1400, 4)):
        imp.set_params(max_evaluations=most).fit(model := Curve(), X, Y)
        assert model.rows == 200 + 3 * n_shuffles * 100
        assert imp.n_draws_.tolist() == [100 * n_shuffles] * 3
