"""`leave_out_importances`: refits without a column, their losses and inference."""

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from callback_recorder import Recorder
from combinations import each
from literal import standard_error
from messages import says
from refit_cases import LABELS, LINEAR, X, Y
from scipy import sparse, stats
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVR, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skvarimp import LeaveOutImportances, leave_out_importances
from skvarimp.exceptions import ImportanceWarning

WEIGHTS = np.linspace(0.5, 2.0, 60)


class RefittedRidge(Ridge):
    """Ridge of a type without a closed form: it is refitted."""


class RefittedLinear(LinearRegression):
    """Least squares of a type without a closed form."""


def literal(estimator, X, y, columns, splits, loss):
    """Mean difference and its standard error, by the plain loop."""
    differences = np.empty(len(y))
    rest = np.setdiff1d(np.arange(X.shape[1]), columns)
    for train, held_out in splits:
        whole = clone(estimator).fit(X[train], y[train])
        less = clone(estimator).fit(X[train][:, rest], y[train])
        for i in held_out:
            without = loss(y[i], less, X[i : i + 1, rest])
            differences[i] = without - loss(y[i], whole, X[i : i + 1])
    return differences.mean(), differences.std(ddof=1) / np.sqrt(len(y))


def squared(y, model, row):
    """Squared error of one row."""
    return (y - model.predict(row)[0]) ** 2


def log_loss(y, model, row):
    """Log loss of one row."""
    return -np.log(model.predict_proba(row)[0, list(model.classes_).index(y)])


def zero_one(y, model, row):
    """Whether the label of one row is wrong."""
    return float(model.predict(row)[0] != y)


@pytest.mark.parametrize(
    ("case", "removal"),
    each(
        [
            (KNeighborsRegressor(5), Y, squared),
            (SVR(gamma=0.1), Y, squared),
            (LinearRegression(), Y, squared),
            (Ridge(alpha=0.3), Y, squared),
            (LogisticRegression(), LABELS, log_loss),
            (LinearSVC(), LABELS == 1, zero_one),
        ],
        ["constant", "drop"],
    ),
)
def test_definition(case, removal):
    """The plain loop over folds, rows and features, groups among them."""
    estimator, y, loss = case
    features = [0, 3, [1, 2]]
    classifier = loss is not squared
    splitter = (StratifiedKFold if classifier else KFold)(4)
    splits = list(splitter.split(X, y))
    found = leave_out_importances(
        estimator, X, y, features=features, cv=4, removal=removal
    )
    expected = [
        literal(estimator, X, y, np.atleast_1d(feature), splits, loss)
        for feature in features
    ]
    means, errors = np.array(expected).T
    # solvers of linear classifiers stop at a tolerance
    rounding = 1e-9 if loss is squared else 1e-2
    np.testing.assert_allclose(found.importances, means, rounding, rounding)
    np.testing.assert_allclose(found.standard_errors, errors, rounding, rounding)
    assert found.features == ["x0", "x3", "x1+x2"]


@pytest.mark.parametrize(
    ("pair", "weights", "removal"),
    each(
        [
            (Ridge(2.0), RefittedRidge(2.0)),
            (Ridge(1e-4, solver="svd"), RefittedRidge(1e-4, solver="svd")),
            (Ridge(1.0, fit_intercept=False), RefittedRidge(1.0, fit_intercept=False)),
            (LinearRegression(), RefittedLinear()),
        ],
        [None, WEIGHTS],
        ["constant", "drop"],
    ),
    ids=lambda value: "" if isinstance(value, np.ndarray) else str(value),
)
def test_closed_form_equals_refits(pair, weights, removal):
    """To 1e-10, with weights, groups of columns and several outputs."""
    targets = np.column_stack([Y, X[:, 0] - Y])
    for y in (Y, targets):
        fast, slow = (
            leave_out_importances(
                model,
                X,
                y,
                features=[0, 1, [2, 4, 5], [3]],
                removal=removal,
                sample_weight=weights,
            )
            for model in pair
        )
        scale = slow.baseline
        np.testing.assert_allclose(
            fast.differences, slow.differences, rtol=1e-10, atol=1e-10 * scale
        )
        assert fast.baseline == pytest.approx(slow.baseline, rel=1e-10)


def test_no_closed_form_of_more_columns_than_rows():
    """They are refitted, as are columns that depend on each other."""
    random = np.random.default_rng(0)
    wide = random.standard_normal((30, 60))
    y = wide[:, 0] + random.standard_normal(30)
    pairs = [
        (Ridge(5.0), RefittedRidge(5.0)),
        (LinearRegression(), RefittedLinear()),
        (Ridge(1e-13), RefittedRidge(1e-13)),
    ]
    for fast, slow in pairs:
        one = leave_out_importances(fast, wide, y, features=[0, [1, 2]])
        other = leave_out_importances(slow, wide, y, features=[0, [1, 2]])
        np.testing.assert_allclose(one.importances, other.importances, rtol=1e-9)


def test_closed_form_is_used():
    """One task per fold; of other types one per fold and refit."""
    fits = []

    class Counted(Ridge):
        def fit(self, X, y):
            fits.append(X.shape)
            return super().fit(X, y)

    leave_out_importances(Counted(), X, Y)
    assert len(fits) == 5 * 7
    recorder = Recorder(step="refit")
    leave_out_importances(Ridge(), X, Y, callbacks=recorder)
    assert recorder.steps == 5
    recorder = Recorder(step="refit")
    leave_out_importances(RefittedRidge(), X, Y, callbacks=recorder)
    assert recorder.steps == 5 * 7


def linear_gaussian(seed, n=200):
    """Correlated normal columns, coefficients, and the increase of the variance."""
    random = np.random.default_rng(seed)
    coefficients = np.array([1.0, 0.5, 0.25, 0.0, 0.0])
    covariance = np.full((5, 5), 0.3) + 0.7 * np.eye(5)
    Z = random.standard_normal((n, 5)) @ np.linalg.cholesky(covariance).T
    y = Z @ coefficients + random.standard_normal(n)
    return Z, y, coefficients**2 / np.diag(np.linalg.inv(covariance))


def test_known_truth():
    """Leaving out x_j adds b_j^2 Var(x_j given the others) to the residual variance."""
    Z, y, truth = linear_gaussian(0, 5000)
    found = leave_out_importances(LINEAR, Z, y)
    assert np.all(np.abs(found.importances - truth) < 3 * found.standard_errors + 1e-3)
    assert found.baseline == pytest.approx(1.0, abs=0.1)


@pytest.mark.thorough
def test_intervals_and_p_values():
    """150 samples; benchmarks/coverage.py leave_out takes 500 and more."""
    inside, rejected = [], []
    for seed in range(150):
        Z, y, truth = linear_gaussian(seed)
        found = leave_out_importances(LINEAR, Z, y)
        table = found.interval().sort_values("feature")
        inside.append(
            (table["lower"].to_numpy() <= truth) & (truth <= table["upper"].to_numpy())
        )
        rejected.append(found.pvalues() <= 0.05)
    coverage = np.mean(inside, axis=0)
    assert np.all(coverage[:3] > 0.90)
    assert np.all(coverage[3:] > 0.97)
    rejections = np.mean(rejected, axis=0)
    assert np.all(rejections[3:] < 0.07)
    assert np.all(rejections[:2] > 0.9)


def test_interval_is_that_of_a_squared_effect():
    """By hand: an effect of 10 with variance 1 has m = 100 - 2 and s = 2 * 10."""
    found = estimates([98.0], [20.0])
    lower, upper = found.ends(0.95)
    z = stats.norm.isf(0.025)
    assert lower[0] == pytest.approx((10 - z) ** 2 - 2)
    assert upper[0] == pytest.approx((10 + z) ** 2)
    # what the test does not reject holds 0, and the estimate itself, and loses nothing
    for importance in (0.3, 0.0, -0.3):
        lower, upper = estimates([importance], [0.2]).ends(0.95)
        assert lower[0] < min(0.0, importance)
        assert upper[0] > max(0.0, importance + z * 0.2)
    wide, narrow = found.interval(0.99), found.interval(0.5)
    assert wide["lower"][0] < narrow["lower"][0] < narrow["upper"][0] < wide["upper"][0]
    with pytest.raises(ValueError, match="must be < 1"):
        found.interval(95)


def estimates(importances, errors):
    """A result by hand."""
    names = [f"x{j}" for j in range(len(importances))]
    rows = np.zeros((3, len(importances)))
    return LeaveOutImportances(
        names,
        np.array(importances),
        standard_errors=np.array(errors),
        differences=rows,
        baseline=1.0,
    )


def test_adjusted_p_values():
    """As statsmodels adjusts them."""
    oracle = pytest.importorskip("statsmodels.stats.multitest")
    random = np.random.default_rng(0)
    for n in (1, 2, 7, 40):
        found = estimates(random.standard_normal(n) + 1, np.full(n, 0.5))
        for method, own in (
            ("holm", found.pvalues("holm")),
            ("fdr_bh", found.pvalues("fdr")),
        ):
            expected = oracle.multipletests(found.pvalues(), method=method)[1]
            np.testing.assert_allclose(own, expected, rtol=1e-12)
    tied = estimates([1.0, 1.0, 0.0, np.nan], [0.5, 0.5, 0.0, np.nan])
    expected = oracle.multipletests(tied.pvalues()[:3], method="holm")[1]
    np.testing.assert_allclose(tied.pvalues("holm")[:3], expected)
    assert np.isnan(tied.pvalues("holm")[3])
    assert np.isnan(tied.pvalues("fdr")[3])


def test_columns_without_effect():
    """A constant column and one the model does not use: exactly 0, p = 1."""
    Z = np.column_stack([X, np.full(60, 3.0)])
    tree = DecisionTreeRegressor(max_depth=2, random_state=0)
    found = leave_out_importances(tree, Z, Y)
    assert found.importances[-1] == 0.0
    assert found.standard_errors[-1] == 0.0
    assert found.pvalues()[-1] == 1.0
    table = found.to_frame(0.95).set_index("feature")
    assert table.loc["x6", ["lower", "upper"]].tolist() == [0.0, 0.0]


def test_p_values_without_error():
    """A column that costs every row the same is needed for sure: p-value 0."""
    labels = np.arange(60) % 2
    rows = np.column_stack([labels, np.zeros(60)])
    found = leave_out_importances(DecisionTreeClassifier(), rows, labels, cv=5)
    assert found.importances[0] > 0.6
    assert found.standard_errors[1] == 0
    assert found.pvalues().tolist() == [0.0, 1.0]
    known = estimates([0.3, 0.0, -0.2, np.nan], [0.0, 0.0, 0.0, np.nan])
    np.testing.assert_array_equal(known.pvalues(), [0.0, 1.0, 1.0, np.nan])


def losses_of(rows, columns=3, seed=0):
    """Held-out losses by hand, (n_samples, 1 + n_features)."""
    return np.random.default_rng(seed).random((rows, 1 + columns))


def test_integer_weights_are_repeated_rows():
    """In the importances; rows of weight 0 do not count, whatever their losses."""
    losses, times = losses_of(6), np.array([1, 2, 0, 1, 3, 1])
    names = ["a", "b", "c"]
    one = LeaveOutImportances._of(names, losses, times.astype(float), None)
    rows = np.repeat(np.arange(6), times)
    other = LeaveOutImportances._of(names, losses[rows], np.ones(8), None)
    np.testing.assert_allclose(one.importances, other.importances)
    psi = losses[:, 1:] - losses[:, :1] - one.importances
    expected = standard_error(psi, times)
    np.testing.assert_allclose(one.standard_errors, expected, rtol=1e-12)
    assert one.degrees_of_freedom == 4  # five rows
    assert one.baseline == pytest.approx(other.baseline)


def test_rows_of_a_group_count_together():
    """Copies of rows add no certainty: the error is that of one row per group."""
    losses, names = losses_of(8), ["a", "b", "c"]
    one = LeaveOutImportances._of(names, losses, np.ones(8), np.arange(8))
    copies = LeaveOutImportances._of(
        names, np.tile(losses, (5, 1)), np.ones(40), np.tile(np.arange(8), 5)
    )
    np.testing.assert_allclose(one.standard_errors, copies.standard_errors)
    differences = losses[:, 1:] - losses[:, :1]
    np.testing.assert_allclose(
        one.standard_errors, differences.std(axis=0, ddof=1) / np.sqrt(8)
    )
    expected = stats.ttest_1samp(differences, 0.0, alternative="greater").pvalue
    np.testing.assert_allclose(one.pvalues(), expected)
    alone = LeaveOutImportances._of(names, losses, np.ones(8), np.zeros(8))
    assert np.isnan(alone.standard_errors).all()
    assert np.isnan(alone.pvalues()).all()


def test_any_splitter():
    """Groups, time, repeats: rows count once, those never held out not at all."""
    groups = np.arange(60) // 6
    by_group = leave_out_importances(
        Ridge(), X, Y, cv=GroupKFold(5), groups=groups, features=[0, 1]
    )
    assert by_group.degrees_of_freedom == 9
    in_time = leave_out_importances(Ridge(), X, Y, cv=TimeSeriesSplit(4))
    assert np.isnan(in_time.differences[:12]).all()
    assert not np.isnan(in_time.differences[12:]).any()
    assert in_time.importances == pytest.approx(in_time.differences[12:].mean(axis=0))
    once = KFold(5, shuffle=True, random_state=0)
    single = leave_out_importances(Ridge(), X, Y, cv=once)
    twice = list(once.split(X)) * 2
    every = range(60)  # each row by itself: the same as None
    repeated = leave_out_importances(Ridge(), X, Y, cv=twice, groups=every)
    np.testing.assert_allclose(repeated.differences, single.differences)
    np.testing.assert_allclose(repeated.standard_errors, single.standard_errors)
    np.testing.assert_allclose(repeated.pvalues(), single.pvalues())
    repeats = RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)
    assert np.all(leave_out_importances(Ridge(), X, Y, cv=repeats).standard_errors > 0)


def test_folds_without_the_groups_they_keep_together():
    """An iterator does not name its groups: a warning; a splitter was given them."""
    groups = np.repeat(np.arange(12), 5)
    named = leave_out_importances(Ridge(), X, Y, cv=GroupKFold(4), groups=groups)
    folds = GroupKFold(4).split(X, Y, groups)
    with pytest.warns(ImportanceWarning, match=says("Folds … pass `groups`")):
        alone = leave_out_importances(Ridge(), X, Y, cv=folds)
    assert alone.degrees_of_freedom == 59

    folds = list(GroupKFold(4).split(X, Y, groups))
    again = leave_out_importances(Ridge(), X, Y, cv=folds, groups=groups)
    np.testing.assert_array_equal(again.standard_errors, named.standard_errors)

    with config_context(enable_metadata_routing=True):
        splitter = GroupKFold(4).set_split_request(groups="patient")
        routed = leave_out_importances(
            Ridge(), X, Y, cv=splitter, params={"patient": groups}
        )
    np.testing.assert_array_equal(routed.standard_errors, named.standard_errors)
    assert routed.degrees_of_freedom == 11


def mixed(library):
    """A frame with numbers, strings and categories; y follows the strings."""
    random = np.random.default_rng(0)
    city = np.array(["Oslo", "Rome", "Oslo", "Lima"])[random.integers(4, size=80)]
    frame = {"age": random.standard_normal(80), "city": city, "size": city[::-1]}
    y = 3.0 * (city == "Rome") + frame["age"] + 0.1 * random.standard_normal(80)
    if library is pl:
        return pl.DataFrame(frame).with_columns(pl.col("size").cast(pl.Categorical)), y
    return pd.DataFrame(frame).astype({"size": "category"}), y


@pytest.mark.parametrize("library", [pd, pl])
def test_pipelines_that_ask_for_columns_by_name(library):
    """They find the column, which holds its most frequent value or its median."""
    frame, y = mixed(library)
    seen = []

    class Ages(StandardScaler):
        def fit(self, X, y=None):
            seen.append(np.unique(np.asarray(X)))
            return super().fit(X, y)

    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["city", "size"]), (Ages(), ["age"])
    )
    model = make_pipeline(encode, RefittedRidge())
    found = leave_out_importances(model, frame, y, cv=3)
    assert found.features == ["age", "city", "size"]
    assert isinstance(found.to_frame(), library.DataFrame)
    assert found.importances[1] > 0.5
    assert abs(found.importances[2]) < 0.1
    constant = [values for values in seen if len(values) == 1]
    assert constant == [np.sort(np.asarray(frame["age"]))[[39]]] * 3
    seen.clear()
    leave_out_importances(model, frame, y, features=["age"], cv=3, removal="drop")
    assert len(seen) == 3  # with all columns; without its column the part goes


def test_missing_values_are_no_constant():
    """The median is that of the numbers; a column of nothing else stays as it is."""
    Z = X[:, :3].copy()
    Z[:40, 1], Z[:, 2] = np.nan, np.nan
    seen = []

    class Recording(DecisionTreeRegressor):
        def fit(self, X, y):
            seen.append(X.copy())
            return super().fit(X, y)

    found = leave_out_importances(Recording(max_depth=2), Z, Y, cv=2)
    assert found.importances[2] == 0.0
    assert set(seen[2][:, 1]) == {np.sort(Z[40:, 1])[9]}


def test_containers_give_the_same_numbers():
    """Arrays, frames and sparse matrices; X is not written to."""
    names = [f"c{j}" for j in range(6)]
    expected = leave_out_importances(Ridge(), X, Y)
    before = X.copy()
    frame = pd.DataFrame(X, columns=names, index=np.arange(100, 160))
    for container in (frame, pl.from_pandas(frame), X.tolist(), np.asfortranarray(X)):
        found = leave_out_importances(Ridge(), container, pd.Series(Y, index=Y))
        np.testing.assert_allclose(found.importances, expected.importances)
    found = leave_out_importances(Ridge(), sparse.csr_array(X), Y)
    np.testing.assert_allclose(found.importances, expected.importances, rtol=1e-2)
    assert np.array_equal(X, before)


def test_random_state():
    """Same seed, same numbers, whatever n_jobs; other seeds differ."""
    forest = RandomForestRegressor(3, max_depth=3)

    def run(random_state, n_jobs=None):
        with joblib.parallel_config(backend="threading"):
            found = leave_out_importances(
                forest,
                X,
                Y,
                features=[0, 1],
                cv=ShuffleSplit(2),
                n_jobs=n_jobs,
                random_state=random_state,
            )
        return found.importances

    assert np.array_equal(run(0), run(0, n_jobs=2))
    assert not np.array_equal(run(0), run(1))
    consumed = np.random.default_rng(0)
    assert not np.array_equal(run(consumed), run(consumed))
    assert forest.random_state is None


def test_metadata():
    """Weights reach the fit and the mean; groups reach the splitter; routing works."""
    splitter = KFold(5)
    found = leave_out_importances(
        RefittedRidge(), X, Y, sample_weight=WEIGHTS, cv=splitter
    )
    losses = np.empty((60, 2))
    for train, held_out in splitter.split(X):
        for k, columns in enumerate((slice(None), slice(1, None))):
            Z = X[:, columns]
            model = Ridge().fit(Z[train], Y[train], sample_weight=WEIGHTS[train])
            losses[held_out, k] = (Y[held_out] - model.predict(Z[held_out])) ** 2
    expected = np.average(losses[:, 1] - losses[:, 0], weights=WEIGHTS)
    assert found.importances[0] == pytest.approx(expected)
    with pytest.raises(ValueError, match="takes no sample_weight"):
        leave_out_importances(KNeighborsRegressor(), X, Y, sample_weight=WEIGHTS)
    groups = np.arange(60) // 6
    with config_context(enable_metadata_routing=True):
        model = RefittedRidge().set_fit_request(sample_weight=True)
        routed = leave_out_importances(
            make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model),
            X,
            Y,
            sample_weight=WEIGHTS,
            groups=groups,
            cv=GroupKFold(5),
        )
        precision = RefittedRidge().set_fit_request(sample_weight="precision")
        named = leave_out_importances(
            precision, X, Y, params={"precision": WEIGHTS}, cv=splitter
        )
    assert routed.degrees_of_freedom == 9
    assert named.importances[0] == pytest.approx((losses[:, 1] - losses[:, 0]).mean())


def test_losses():
    """By name and as functions; classifiers' labels may be strings."""
    named = leave_out_importances(Ridge(), X, Y, loss="absolute_error")
    own = leave_out_importances(
        Ridge(), X, Y, loss=lambda y, predicted: np.abs(y - predicted)
    )
    np.testing.assert_allclose(own.importances, named.importances)
    words = np.array(["low", "middle", "high"])[LABELS]
    model = KNeighborsClassifier(15, weights="distance")
    labels = leave_out_importances(model, X, words, loss="zero_one")
    numbers = leave_out_importances(model, X, LABELS, loss="zero_one")
    np.testing.assert_allclose(labels.importances, numbers.importances)


def test_callbacks():
    """What was done before a stop is kept, fold by fold."""
    whole = leave_out_importances(RefittedRidge(), X, Y)
    with pytest.warns(ImportanceWarning, match="2 of 5 folds done"):
        some = leave_out_importances(
            RefittedRidge(), X, Y, callbacks=Recorder(17, step="refit")
        )
    assert np.isnan(some.differences[24:]).all()
    np.testing.assert_allclose(some.differences[:24], whole.differences[:24])
    with pytest.warns(ImportanceWarning, match="0 of 5 folds done"):
        none = leave_out_importances(
            RefittedRidge(), X, Y, callbacks=Recorder(1, step="refit")
        )
    assert np.isnan(none.importances).all()
    assert len(none.to_frame()) == 6
    assert np.isnan(none.pvalues()).all()
    assert "nan" in none._repr_html_()


def test_a_stop_in_the_first_fold_keeps_the_frame_library():
    """The table without numbers is of the library that X came in."""
    with pytest.warns(ImportanceWarning, match="0 of 5 folds done"):
        none = leave_out_importances(
            RefittedRidge(), pl.DataFrame(X), Y, callbacks=Recorder(1, step="refit")
        )
    assert isinstance(none.to_frame(), pl.DataFrame)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (dict(loss="hinge"), ValueError, "'loss'"),
        (
            dict(loss="zero_one"),
            ValueError,
            says("loss='zero_one' … Ridge … loss='squared_error'"),
        ),
        (dict(loss="log_loss"), ValueError, "needs the probabilities"),
        (dict(removal="shuffle"), ValueError, "'removal'"),
        (dict(y=None), ValueError, "y is required"),
        (dict(estimator=Ridge), TypeError, "`estimator`"),
        (dict(features=["age"]), ValueError, "'age' is not among"),
        (dict(cv=1), ValueError, "'cv'"),
        (dict(sample_weight=-WEIGHTS), ValueError, "non-negative"),
        (
            dict(X=X[:, :1], removal="drop"),
            ValueError,
            says("removal='drop' … 'x0' … 'constant'"),
        ),
        (dict(features=[list(range(6))], removal="drop"), ValueError, "no column"),
    ],
)
def test_bad_input(given, error, message):
    """Refused before any work, with what to do."""
    arguments = dict(estimator=Ridge(), X=X, y=Y) | given
    with pytest.raises(error, match=message):
        leave_out_importances(**arguments)


def test_one_column_and_every_column():
    """A constant in place of all columns leaves the mean of y."""
    found = leave_out_importances(Ridge(), X, Y, features=[list(range(6))], cv=3)
    total = 0.0
    for train, held_out in KFold(3).split(X):
        model = Ridge().fit(X[train], Y[train])
        mean = (Y[held_out] - Y[train].mean()) ** 2
        total += (mean - (Y[held_out] - model.predict(X[held_out])) ** 2).sum()
    assert found.importances[0] == pytest.approx(total / 60)


@pytest.mark.parametrize("n_features", [5, 20, 100])
def test_plot(n_features):
    """Bars with intervals that are not symmetric; a note on features left out."""
    random = np.random.default_rng(0)
    found = estimates(random.standard_normal(n_features), np.full(n_features, 0.3))
    display = found.plot()
    assert display.ax_.get_xlabel().startswith("increase of the held-out loss")
    assert len(display.bars_) == min(n_features, 30)
    ends = display.errors_[2][0].get_segments()[0][:, 0]
    table = found.interval()
    np.testing.assert_allclose(ends, table.loc[0, ["lower", "upper"]].astype(float))
    assert "100 features" in repr(found) or n_features != 100
    (right,) = display.ax_.child_axes
    order = np.argsort(found.ranking)[: len(display.bars_)]
    expected = [f"{p:.2g}" for p in found.pvalues("holm")[order]]
    assert [t.get_text() for t in right.get_yticklabels()] == expected
    assert not found.plot(pvalues=None).ax_.child_axes
