"""Rows in partitions of a Dask collection give the numbers of the rows in memory."""

import importlib
import os
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from messages import says
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.datasets import make_friedman1
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from skvarimp import (
    ALEImportance,
    FIRMImportance,
    ImpurityImportance,
    InteractionImportance,
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
    ShapleyImportance,
    SobolImportance,
    compare_importances,
)
from skvarimp._partitions import partitions

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402
import interrupted_partitions  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

CUTS = [0, 100, 101, 101, 240, 400]  # unequal, one of a single row, one empty


def in_parts(values, cuts=CUTS):
    """A Dask collection of unequal partitions."""
    if values is None:
        return None
    parts = [values[a:b] for a, b in pairwise(cuts)]
    if isinstance(values, np.ndarray):
        return da.concatenate([da.from_array(p, chunks=p.shape) for p in parts])
    return dd.from_delayed([dask.delayed(p) for p in parts], meta=values.iloc[:0])


def assert_alike(measure, model, X, y, weight=None, rtol=1e-12, cuts=CUTS):
    """The importances, standard errors and curves of partitions and of memory."""
    expected = clone(measure).fit(model, X, y, sample_weight=weight)
    rows, target, weights = (in_parts(values, cuts) for values in (X, y, weight))
    found = clone(measure).fit(model, rows, target, sample_weight=weights)
    size = max(np.abs(expected.importances_).max(), 1e-4)
    np.testing.assert_allclose(
        found.importances_, expected.importances_, rtol=0, atol=rtol * size
    )
    if expected.standard_errors_ is not None:
        np.testing.assert_allclose(
            found.standard_errors_, expected.standard_errors_, rtol=0, atol=rtol * size
        )
    drawn = getattr(expected, "monte_carlo_errors_", None)
    if drawn is not None:
        np.testing.assert_allclose(found.monte_carlo_errors_, drawn, rtol=1e-9)
    directions = getattr(expected, "directions_per_output_", None)
    if directions is not None:
        found_ones = found.directions_per_output_
        np.testing.assert_allclose(found_ones, directions, rtol=0, atol=1e-9)
    for name in ("response_path_", "method_", "estimation_"):
        assert getattr(found, name, None) == getattr(expected, name, None)
    for name, (values, curve) in getattr(expected, "curves_", {}).items():
        assert list(found.curves_[name][0]) == pytest.approx(list(values), nan_ok=True)
        np.testing.assert_allclose(found.curves_[name][1], curve, rtol=1e-9)
    return found


@pytest.fixture(scope="module")
def frame():
    """Numbers, some of them missing, integers, truths, categories and texts."""
    X, y = make_friedman1(400, n_features=5, random_state=0)
    rng = np.random.default_rng(0)
    X = pd.DataFrame(X, columns=list("abcde"))
    X.loc[::9, "b"] = np.nan
    X["count"] = rng.integers(0, 5, len(X))
    X["kind"] = pd.Categorical(rng.choice(list("uvw"), len(X)), categories=list("wuv"))
    X["flag"] = rng.random(len(X)) < 0.3
    y = pd.Series(y + 5 * (X["kind"] == "u") * X["flag"], name="y")
    weight = pd.Series(rng.integers(0, 4, len(X)).astype(float))
    return X, y, weight


@pytest.fixture(scope="module")
def numbers(frame):
    """Columns of numbers without gaps, as an array."""
    X, y, weight = frame
    columns = ["a", "c", "d", "e", "count"]
    return X[columns].to_numpy(), y.to_numpy(), weight.to_numpy()


@pytest.fixture(scope="module")
def half_boosted(frame):
    """Boosted trees of the first half of the rows."""
    X, y, _ = frame
    boosting = HistGradientBoostingRegressor(
        max_iter=5, categorical_features="from_dtype"
    )
    return boosting.fit(X[:200], y[:200])


MEASURES = [
    SensitivityImportance(estimation="exact"),
    SensitivityImportance(contrast="observed", estimation="exact"),
    SensitivityImportance(contrast="range", estimation="exact"),
    SensitivityImportance(estimation="exact", grid=7),
    PartialDependenceImportance(statistic="std", grid="all"),
    PartialDependenceImportance(statistic="range", kind="individual", grid="deciles"),
    PermutationImportance(estimation="exact"),
    PermutationImportance(estimation="exact", loss="absolute_error", relative=True),
    SobolImportance(),
    SobolImportance(order="first", grid=9),
    FIRMImportance(),
    FIRMImportance(method="conditional_mean", standardize=True, n_bins=6),
    SensitivityImportance(estimation="sampled", n_draws=4, random_state=0),
    SensitivityImportance(
        contrast="observed", estimation="sampled", n_draws=4, random_state=0, grid=7
    ),
    PermutationImportance(estimation="sampled", n_draws=4, random_state=0),
    PermutationImportance(
        estimation="sampled",
        loss="absolute_error",
        relative=True,
        n_draws=4,
        random_state=0,
    ),
]


@pytest.mark.thorough
@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_a_frame_with_gaps_and_categories(measure, frame, half_boosted):
    """Boosted trees, with and without weights, some of them 0."""
    X, y, weight = (values[:200] for values in frame)
    cuts = [0, 60, 61, 61, 140, 200]
    assert_alike(measure, half_boosted, X, y, cuts=cuts)
    assert_alike(measure, half_boosted, X, y, weight, cuts=cuts)


MODELS = [
    (RandomForestRegressor(5, max_depth=5, random_state=0), "two"),
    (HistGradientBoostingClassifier(max_iter=4), "classes"),
    (LogisticRegression(max_iter=1000), "classes"),
    (Ridge(), "one"),
    (SVR(), "one"),
]


def test_measures_of_the_donors_alone(numbers):
    """Curves along bins, and shares of coalitions: of all rows here."""
    X, y, weight = numbers
    model = HistGradientBoostingRegressor(max_iter=5, max_depth=2).fit(X, y)
    for measure in (
        ALEImportance(n_bins=6),
        ShapleyImportance(random_state=0),
        SensitivityImportance(contrast="range", estimation="rows", random_state=0),
        SensitivityImportance(conditional="subgroups", random_state=0),
        PermutationImportance(
            scoring="r2", estimation="sampled", n_draws=4, random_state=0
        ),
        SensitivityImportance(estimation="exact", keep_rows=True),
    ):
        found = assert_alike(measure, model, X, y, weight)
        if getattr(measure, "keep_rows", False):
            expected = clone(measure).fit(model, X, y, sample_weight=weight)
            np.testing.assert_allclose(found.influences_, expected.influences_)


def target_of(kind, X, y):
    """One number, two numbers, or three classes."""
    if kind == "two":
        return np.column_stack([y, X[:, 0]])
    return np.digitize(y, np.quantile(y, [0.3, 0.6])) if kind == "classes" else y


@pytest.mark.thorough
@pytest.mark.parametrize(("model", "kind"), MODELS, ids=str)
def test_models_of_all_kinds(model, kind, numbers):
    """Trees, several outputs, lines, kernels: arrays with weights."""
    X, y, weight = numbers
    y = target_of(kind, X, y)
    fitted = clone(model).fit(X, y)
    loss = PermutationImportance(estimation="exact", loss="squared_error")
    for measure in (*MEASURES[:5], *MEASURES[8:15], loss):
        assert_alike(measure, fitted, X, y, weight, rtol=1e-11)


def test_errors_of_small_shares(numbers):
    """The error of an index near 0 keeps its digits beside those of large ones."""
    X, y, weight = numbers
    model, kind = MODELS[0]
    fitted = clone(model).fit(X, target_of(kind, X, y))
    expected = SobolImportance().fit(fitted, X, sample_weight=weight)
    rows, weights = in_parts(X), in_parts(weight)
    found = SobolImportance().fit(fitted, rows, sample_weight=weights)
    errors = found.standard_errors_, expected.standard_errors_
    assert errors[1].min() < 0.05 * errors[1].max()
    np.testing.assert_allclose(*errors, rtol=1e-12)


def black_box(X):
    """Two outputs."""
    X = np.asarray(X, dtype=float)
    return np.column_stack([X[:, 0] * X[:, 1], np.sin(X[:, 2])])


@pytest.mark.parametrize("measure", MEASURES[:5], ids=str)
def test_a_black_box(measure, numbers):
    """A function of its own, with outputs that are no y."""
    X, _, weight = numbers
    measure = clone(measure).set_params(features=[0, 1, 4])
    if "scale" in measure.get_params():
        measure.set_params(scale=None)
    assert_alike(measure, black_box, X, None, weight)


def test_groups(frame):
    """Columns that move together: of numbers, and with categories among them."""
    X, y, weight = frame
    model = HistGradientBoostingRegressor(
        max_iter=5, categorical_features="from_dtype"
    ).fit(X, y)
    features = {"ab": ["a", "b"], "kinds": ["kind", "flag"], "d": ["d"]}
    assert_alike(
        SensitivityImportance(estimation="exact", features=features),
        model,
        X,
        y,
        weight,
    )


def test_pairs(frame, numbers):
    """Of trees by masses, with categories by the model, of lines and kernels."""
    X, y, weight = frame
    model = HistGradientBoostingRegressor(
        max_iter=5, categorical_features="from_dtype"
    ).fit(X, y)
    pairs = [("a", "b"), ("a", "kind"), ("kind", "flag"), ("count", "d")]
    assert_alike(InteractionImportance(pairs=pairs), model, X, y, weight)
    X, y, weight = numbers
    for model in (SVR(), LogisticRegression(max_iter=1000)):
        kind = "classes" if isinstance(model, LogisticRegression) else "one"
        fitted = model.fit(X, target_of(kind, X, y))
        measure = InteractionImportance(features=[0, 1, 4], grid=4)
        assert_alike(measure, fitted, X, y, weight, rtol=1e-11)


FRIEDMAN = [
    InteractionImportance(statistic="h", features=[0, 1, 4]),
    InteractionImportance(statistic="h", triples=[(0, 1, 2), (1, 2, 4)]),
    InteractionImportance(statistic="h_total"),
    InteractionImportance(statistic="h_overall"),
    InteractionImportance(statistic="h", pairs=2),
]


@pytest.mark.thorough
@pytest.mark.parametrize("measure", FRIEDMAN, ids=str)
def test_friedman_h(measure, frame, numbers):
    """At the rows of all partitions: trees, categories, several outputs, a function."""
    X, y, weight = frame
    model = HistGradientBoostingRegressor(
        max_iter=5, categorical_features="from_dtype"
    ).fit(X, y)
    of_frame = clone(measure)
    if measure.triples is not None:
        of_frame.set_params(triples=[("a", "b", "d"), ("a", "kind", "flag")])
    assert_alike(of_frame, model, X, y, weight, rtol=1e-11)
    X, y, weight = numbers
    for model, kind in (MODELS[0], MODELS[1], MODELS[-1]):
        fitted = clone(model).fit(X, target_of(kind, X, y))
        assert_alike(measure, fitted, X, None, weight, rtol=1e-10)
    assert_alike(measure, black_box, X[:150], None, weight[:150], rtol=1e-10)


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (RandomForestRegressor(5, max_depth=4, random_state=0), "two"),
        (HistGradientBoostingClassifier(max_iter=4), "classes"),
        (GradientBoostingRegressor(loss="absolute_error", n_estimators=5), "one"),
    ],
    ids=str,
)
def test_impurity_on_unseen_rows(model, kind, numbers):
    """What splits earn, in averages and in boosting."""
    X, y, weight = numbers
    y = target_of(kind, X, y)
    measure = ImpurityImportance(rows="unseen")
    fitted = clone(model).fit(X[:150], y[:150])
    expected = clone(measure).fit(fitted, X, y, sample_weight=weight)
    found = clone(measure).fit(
        fitted, in_parts(X), in_parts(y), sample_weight=in_parts(weight)
    )
    np.testing.assert_allclose(found.importances_, expected.importances_, atol=1e-12)
    np.testing.assert_allclose(
        found.standard_errors_, expected.standard_errors_, rtol=1e-10
    )


def test_values_and_names_of_the_user(numbers):
    """Values to move through, and names for the columns of an array."""
    X, y, _ = numbers
    model = Ridge().fit(X, y)
    measure = SensitivityImportance(
        grid={"first": [0.1, 0.5, 0.5]}, features=["first"], scale=None
    )
    names = ["first", *"bcde"]
    expected = clone(measure).fit(model, X, feature_names=names)
    found = clone(measure).fit(model, in_parts(X), feature_names=names)
    np.testing.assert_allclose(found.importances_, expected.importances_, rtol=1e-12)
    assert found.feature_names_in_.tolist() == names


# More rows than donors

N_DONORS = 150


@pytest.fixture
def few_donors(monkeypatch):
    """As if there were too many rows to be held."""
    monkeypatch.setattr(partitions, "MOST_DONORS", N_DONORS)


def one_output(X):
    """A function of three columns."""
    return np.sin(3 * X[:, 0]) * X[:, 1] + 0.1 * X[:, 4]


def drawn_donors(X, weight, with_ends=True):
    """Rows, and weights: ends and few values of columns are certain, others random."""
    if not with_ends:
        rows = np.random.default_rng(0).choice(len(X), N_DONORS, replace=False)
        return np.sort(rows), None
    values = [np.unique(x, return_index=True)[1] for x in X.T]
    values = [rows if len(rows) <= 100 else rows[[0, -1]] for rows in values]
    certain = np.unique(np.concatenate(values))
    assert len(certain) <= N_DONORS // 10
    n_drawn = N_DONORS - len(certain)
    # without replacement, some certain ones among them
    drawn = np.random.default_rng(0).choice(len(X), n_drawn, replace=False)
    rows = np.union1d(certain, drawn)
    likelihood = np.where(np.isin(rows, certain), n_drawn / len(X), 1.0)
    return rows, likelihood * weight[rows]


def literal_means(X, y, weight):
    """Mean distances of pairs and from the unmoved, squared error gained; by column.

    Of all rows, each moved to the values of each donor.
    """
    n, p = X.shape
    donors, chance = drawn_donors(X, weight)
    share, chance = weight / weight.sum(), chance / chance.sum()
    pairs, observed, gained = np.zeros((3, p))
    for j in range(p):
        for i in range(n):
            moved = np.repeat(X[i : i + 1], len(donors), axis=0)
            moved[:, j] = X[donors, j]
            unmoved, curve = one_output(X[i : i + 1]), one_output(moved)
            gaps = np.abs(curve - curve[:, np.newaxis])
            pairs[j] += share[i] * (chance @ gaps @ chance)
            observed[j] += share[i] * (chance @ np.abs(curve - unmoved))
            losses = (curve - y[i]) ** 2 - (unmoved - y[i]) ** 2
            gained[j] += share[i] * (chance @ losses)
    return pairs, observed, gained


def test_all_rows_move_to_the_values_of_donors(few_donors, numbers):
    """The same ones, however the rows are cut."""
    X, y, weight = numbers
    X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
    options = {"estimation": "exact"}
    measures = (
        SensitivityImportance(scale=None, **options),
        SensitivityImportance(contrast="observed", **options),
        PermutationImportance(**options),
    )
    literal, n_donors = literal_means(X, y, weight), len(drawn_donors(X, weight)[0])
    for cuts in ([0, 100, 101, 101, 240, len(X)], [0, 17, len(X)]):
        rows, target, weights = (in_parts(v, cuts) for v in (X, y, weight))
        for measure, expected in zip(measures, literal):
            found = measure.fit(one_output, rows, target, sample_weight=weights)
            size = np.abs(expected).max()
            np.testing.assert_allclose(
                found.importances_, expected, rtol=0, atol=1e-11 * size
            )
            assert f"{n_donors} of {len(X)} rows" in found.response_path_
            assert f"on {len(X)} weighted rows" in found.result_.summary()


class BlackBox:
    """A regressor of which only the predictions are known."""

    def __init__(self, model):
        self.model = model

    def predict(self, X):
        """Those of the model."""
        return self.model.predict(X)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "model",
    [
        Ridge(),
        SVR(),
        make_pipeline(StandardScaler(), Ridge()),
        make_pipeline(StandardScaler(), HistGradientBoostingRegressor(max_iter=5)),
        RandomForestRegressor(5, max_depth=5, random_state=0),
        PoissonRegressor(),
    ],
    ids=str,
)
def test_known_models_as_black_boxes(model, few_donors, numbers):
    """What is known of a model does not change what its rows move to."""
    X, y, weight = numbers
    model = clone(model).fit(X[:60], y[:60])
    rows, target, weights = map(in_parts, (X, y, weight))
    for measure in (MEASURES[0], MEASURES[6], SobolImportance(estimation="exact")):
        fits = [
            clone(measure)
            .set_params(features=[0, 4])
            .fit(watched, rows, target, sample_weight=weights)
            for watched in (model, BlackBox(model))
        ]
        size = np.abs(fits[1].importances_).max()
        for name, rtol in (("importances_", 1e-9), ("standard_errors_", 1e-6)):
            known, asked = (getattr(fit, name) for fit in fits)
            np.testing.assert_allclose(known, asked, rtol=rtol, atol=rtol * size)


def test_the_scale_is_that_of_all_rows(few_donors, numbers):
    """Targets next to a donor's are joined: 150 times their share^2 times their range.

    One that no donor has, below or above all of theirs or between, is kept apart.
    """
    X, y, weight = numbers
    model = HistGradientBoostingRegressor(max_iter=5).fit(X, y)
    positive = np.flatnonzero(weight)
    donors, _ = drawn_donors(X[positive], weight[positive])
    lone = np.arange(len(X)) == np.delete(positive, donors)[0]
    joined = N_DONORS * (1 / N_DONORS) ** 2 * (np.ptp(y) / N_DONORS) / y.std()
    cases = np.rint(y / 5), lone, ~lone, np.where(lone, 0.9, y > np.median(y))
    for given, rtol in [(y, joined), *((one, 1e-12) for one in cases)]:
        expected = clone(MEASURES[0]).fit(model, X, given, sample_weight=weight)
        rows, target, weights = map(in_parts, (X, given, weight))
        found = clone(MEASURES[0]).fit(model, rows, target, sample_weight=weights)
        assert found.scale_ == pytest.approx(expected.scale_, rel=rtol)
        if given.dtype != bool:
            fit = found.goodness_of_fit_, expected.goodness_of_fit_
            assert 1 - fit[0] == pytest.approx(1 - fit[1], rel=rtol)
    rows, target, weights = map(in_parts, (X, y, weight))
    ends = clone(MEASURES[2]).fit(model, rows, target, sample_weight=weights)
    assert ends.scale_ == pytest.approx(np.ptp(y[weight > 0]), rel=1e-14)
    loss = clone(MEASURES[6]).fit(model, rows, target, sample_weight=weights)
    expected = clone(MEASURES[6]).fit(model, X, y, sample_weight=weight)
    assert loss.baseline_ == pytest.approx(expected.baseline_, rel=1e-12)


@pytest.mark.parametrize("measure", MEASURES[0:9:2], ids=str)
def test_few_rows_of_many_have_weight(measure, few_donors, numbers):
    """All of these are donors, each for certain: no sample adds to the errors."""
    X, y, _ = numbers
    model = HistGradientBoostingRegressor(max_iter=3).fit(X, y)
    weight = np.where(np.arange(len(X)) % 40, 0.0, 2.0)
    expected = clone(measure).fit(model, X, y, sample_weight=weight)
    rows, target, weights = map(in_parts, (X, y, weight))
    found = clone(measure).fit(model, rows, target, sample_weight=weights)
    for name in ("importances_", "standard_errors_"):
        one, other = getattr(found, name), getattr(expected, name)
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


def test_curves_are_means_over_all_rows(few_donors, numbers):
    """At the values of the donors; the statistic follows from them."""
    X, y, weight = numbers
    model = HistGradientBoostingRegressor(max_iter=5).fit(X, y)
    measure = PartialDependenceImportance(grid=6, statistic="std", features=[0, 2])
    found = measure.fit(model, in_parts(X), sample_weight=in_parts(weight))
    for column, name in ((0, "x0"), (2, "x2")):
        values, curve = found.curves_[name]
        for value, height in zip(values, curve):
            moved = X.copy()
            moved[:, column] = value
            mean = np.average(model.predict(moved), weights=weight)
            assert height == pytest.approx(mean, rel=1e-12)
        spread = found.importances_[[0, 2].index(column)]
        assert spread == pytest.approx(np.std(curve, ddof=1), rel=1e-10)


@pytest.mark.parametrize(
    "measure",
    [
        SensitivityImportance(contrast="range", scale=None),
        PartialDependenceImportance(grid="equidistant"),
    ],
    ids=str,
)
def test_ends_and_rare_values_are_those_of_all_rows(measure, few_donors, frame):
    """Least and greatest numbers, and a category of one row, are surely donors'."""
    X, _, weight = frame
    kinds = X["kind"].cat.add_categories("rare").mask(X.index == 299, "rare")
    X, weight = pd.DataFrame({"a": X["a"], "kind": kinds}), weight + (X.index == 299)

    def model(X):
        return np.exp(X["a"]) * (1 + 9 * (X["kind"] == "rare") - (X["kind"] == "u"))

    expected = clone(measure).fit(model, X, sample_weight=weight)
    found = clone(measure).fit(model, in_parts(X), sample_weight=in_parts(weight))
    np.testing.assert_allclose(found.importances_, expected.importances_, rtol=1e-12)
    for name, (values, _) in getattr(expected, "curves_", {}).items():
        assert list(found.curves_[name][0]) == list(values)


def assert_same_bins(found, expected):
    """Bins of effects end at the same values."""
    assert list(found.curves_) == list(expected.curves_)
    for name, (edges, _) in expected.curves_.items():
        assert list(found.curves_[name][0]) == list(edges)
        assert type(found.curves_[name][0][0]) is type(edges[0])


def test_bins_of_effects_are_those_of_all_rows(few_donors, numbers):
    """They end at values that no donor has; so errors are those of a sample."""
    X, y, weight = numbers
    model = HistGradientBoostingRegressor(max_iter=3).fit(X, y)
    for rows in (X, X.astype("f4")):
        for weights in (None, weight):
            expected = ALEImportance(n_bins=5).fit(model, rows, sample_weight=weights)
            found = ALEImportance(n_bins=5).fit(
                model, in_parts(rows), sample_weight=in_parts(weights)
            )
            assert_same_bins(found, expected)
    positive = X[weight > 0]
    donors, _ = drawn_donors(positive, weight[weight > 0])
    edges = found.curves_["x0"][0]
    assert not set(edges) <= set(positive[donors, 0].astype("f4"))


def test_bins_of_dates_and_levels_are_those_of_all_rows(few_donors):
    """Also where values are missing, or integers of a type that can miss some."""
    random, n = np.random.default_rng(0), CUTS[-1]
    day = pd.Timestamp("2026-01-01", tz="Europe/Zurich")
    levels = [f"level {k}" for k in random.permutation(300)]
    X = pd.DataFrame(
        {
            "number": np.where(np.arange(n) % 9, random.normal(size=n), np.nan),
            "count": pd.array(random.integers(0, 2**60, n), dtype="Int64"),
            "date": day + pd.to_timedelta(random.integers(0, 10**6, n), unit="s"),
            "level": pd.Categorical.from_codes(
                random.integers(0, 300, n), levels, ordered=True
            ),
        }
    )
    X.loc[::7, ["count", "date", "level"]] = None
    seen = []

    def model(rows):
        seen.append(rows.dtypes)
        later = (rows["date"] > day + pd.Timedelta(days=5)).to_numpy()
        height = rows["number"].fillna(0.0).to_numpy() + later
        return height + rows["level"].cat.codes.to_numpy() / 300

    weight = pd.Series(random.integers(0, 3, n).astype(float))
    measure = ALEImportance(n_bins=4)
    expected = clone(measure).fit(model, X, sample_weight=weight)
    found = clone(measure).fit(model, in_parts(X), sample_weight=in_parts(weight))
    assert_same_bins(found, expected)
    assert all((types == X.dtypes).all() for types in seen)


def test_bins_of_effects_hold_donors(few_donors):
    """Bins whose effect no donor shows are joined with the next."""
    X = np.random.default_rng(0).normal(size=(CUTS[-1], 2))
    found = ALEImportance(n_bins=200).fit(one_column, in_parts(X))
    edges, effects = found.curves_["x0"]
    assert 100 < len(edges) <= N_DONORS
    assert edges[[0, -1]].tolist() == [X[:, 0].min(), X[:, 0].max()]
    np.testing.assert_allclose(np.diff(effects), np.diff(edges), rtol=1e-9)
    assert found.importances_[0] == pytest.approx(X[:, 0].std(), rel=0.1)


def one_column(X):
    """The first, unchanged."""
    return X[:, 0]


@pytest.mark.thorough
def test_effects_in_other_processes(few_donors, numbers):
    """Get the model, too."""
    X, _, _ = numbers
    one, two = (
        ALEImportance(n_jobs=n_jobs).fit(one_output, in_parts(X)).importances_
        for n_jobs in (None, 2)
    )
    np.testing.assert_array_equal(one, two)


def test_conditional_means_have_the_bins_of_all_rows(few_donors):
    """As many as in memory, where their number follows that of the rows."""
    X = np.random.default_rng(0).normal(size=(3400, 1))
    for rows in (X, in_parts(X, [0, 2000, 3400])):
        found = FIRMImportance().fit(lambda X: X[:, 0] ** 2, rows)
        assert len(found.conditional_scores_["x0"][0]) == 15  # cube root


def test_impurity_of_all_rows(monkeypatch, numbers):
    """Sums are those of all rows, errors are near."""
    monkeypatch.setattr(partitions, "MOST_DONORS", 250)
    X, y, weight = numbers
    model = RandomForestRegressor(5, max_depth=4, random_state=0).fit(X[:150], y[:150])
    measure = ImpurityImportance(rows="unseen")
    expected = clone(measure).fit(model, X, y, sample_weight=weight)
    parts = map(in_parts, (X, y, weight))
    rows, target, weights = parts
    found = clone(measure).fit(model, rows, target, sample_weight=weights)
    np.testing.assert_allclose(found.importances_, expected.importances_, atol=1e-12)
    errors = found.standard_errors_, expected.standard_errors_
    np.testing.assert_allclose(*errors, rtol=0.25)


def test_impurity_of_a_model_for_each_output(few_donors, numbers):
    """As of all rows in memory."""
    X, y, _ = numbers
    Y = np.column_stack([y, X[:, 0]])
    forest = RandomForestRegressor(3, max_depth=4, random_state=0)
    model = MultiOutputRegressor(forest).fit(X[:150], Y[:150])
    measure = ImpurityImportance(rows="unseen")
    expected = clone(measure).fit(model, X, Y).importances_per_output_
    found = clone(measure).fit(model, in_parts(X), in_parts(Y))
    np.testing.assert_allclose(found.importances_per_output_, expected, atol=1e-12)


DEVIATING = [
    SensitivityImportance(scale=None, estimation="exact"),
    SensitivityImportance(scale=None, estimation="exact", grid=12),
    SobolImportance(),
    SobolImportance(order="first"),
    PartialDependenceImportance(),
    PartialDependenceImportance(grid=12),
    FIRMImportance(n_bins=6),
]


@pytest.mark.thorough
@pytest.mark.parametrize("measure", DEVIATING, ids=str)
def test_what_a_sample_of_donors_adds_to_the_errors(measure, monkeypatch):
    """Deviations from the fit of all rows are as large as the errors say."""
    monkeypatch.setattr(partitions, "MOST_DONORS", 400)
    X, y = make_friedman1(4000, n_features=5, random_state=0)
    model = HistGradientBoostingRegressor(max_iter=15, max_leaf_nodes=8).fit(X, y)
    gaps, added = [], []
    for seed in range(15):
        X, _ = make_friedman1(1200, n_features=5, random_state=seed)
        whole = clone(measure).fit(model, X)
        parts = clone(measure).fit(model, in_parts(X, [0, 500, 501, 1200]))
        gaps.append(parts.importances_ - whole.importances_)
        added.append(parts.standard_errors_**2 - whole.standard_errors_**2)
    # both errors are estimates, of which single differences may be small
    ratios = np.mean(np.square(gaps), axis=0) / np.mean(added, axis=0)
    assert 0.6 < np.sqrt(ratios.mean()) < 1.1


@pytest.mark.parametrize(
    "measure",
    [
        SensitivityImportance(conditional="subgroups", random_state=0),
        SensitivityImportance(estimation="rows", n_draws=4, random_state=0),
        PermutationImportance(scoring="r2", random_state=0),
        pytest.param(  # takes no weights
            PermutationImportance(scoring="neg_max_error", random_state=0),
            marks=pytest.mark.filterwarnings("ignore:.*gives no standard errors"),
        ),
        ShapleyImportance(random_state=0),
        FIRMImportance(),
        InteractionImportance(features=[0, 1, 2], grid=3),
    ],
    ids=str,
)
def test_measures_of_a_sample(measure, few_donors, numbers):
    """The donors alone: as of the same rows in memory."""
    X, y, _ = numbers
    model = HistGradientBoostingRegressor(max_iter=3, max_depth=2).fit(X, y)
    measure, asked = clone(measure), measure.get_params()
    own = [asked.get(name) for name in ("scoring", "conditional")]
    rows, weights = drawn_donors(X, np.ones(len(X)), own in ([], [None, None]))
    if "scale" in measure.get_params():  # that of all rows
        measure.set_params(scale=None)
    expected = clone(measure).fit(model, X[rows], y[rows], sample_weight=weights)
    found = clone(measure).fit(model, in_parts(X), in_parts(y))
    for name in ("importances_", "standard_errors_"):
        one, other = getattr(found, name), getattr(expected, name)
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_what_needs_all_rows_says_so(few_donors, numbers):
    """Numbers of single rows, counted predictions, out-of-bag rows."""
    X, y, _ = numbers
    model = RandomForestRegressor(3, max_depth=3).fit(X, y)
    for measure in (
        PermutationImportance(rows="oob"),
        PermutationImportance(loss=lambda y, predicted, groups: abs(y - predicted)),
        SensitivityImportance(estimation="exact", keep_rows=True),
        SensitivityImportance(estimation="sampled", max_evaluations=10_000),
        ImpurityImportance(rows="unseen", keep_rows=True),
        FIRMImportance(keep_rows=True),
    ):
        with pytest.raises(ValueError, match=says("one place … a sample of at most")):
            measure.fit(model, in_parts(X), in_parts(y))


@pytest.mark.parametrize(
    ("measure", "n_passes"),
    [
        (SensitivityImportance(scale=None), 3),
        (PartialDependenceImportance(grid=5), 3),
        (PermutationImportance(), 4),
        (PermutationImportance(estimation="sampled"), 3),
        (SobolImportance(), 4),
        (InteractionImportance(grid=3), 2),
        (FIRMImportance(), 2),
        (ALEImportance(), 4),
        (ImpurityImportance(rows="unseen"), 3),
    ],
    ids=str,
)
def test_passes_over_the_partitions(
    measure, n_passes, few_donors, numbers, monkeypatch
):
    """As many as the user's guide says: each reads all rows anew."""
    X, y, _ = numbers
    model = HistGradientBoostingRegressor(max_iter=3).fit(X, y)
    passed_over, passes = partitions.passed_over, []

    def counted(parts, *arguments):
        passes.append(len(parts))
        return passed_over(parts, *arguments)

    monkeypatch.setattr(partitions, "passed_over", counted)
    needs_y = isinstance(measure, PermutationImportance | ImpurityImportance)
    clone(measure).fit(model, in_parts(X), in_parts(y) if needs_y else None)
    assert len(passes) == n_passes


def test_compared_in_one_walk(numbers):
    """Several measures of several models."""
    X, y, _ = numbers
    models = {
        "few": HistGradientBoostingRegressor(max_iter=3).fit(X, y),
        "more": HistGradientBoostingRegressor(max_iter=6).fit(X, y),
    }
    bins = PartialDependenceImportance(grid=5)
    measures = {"s": MEASURES[0], "p": MEASURES[6], "d": MEASURES[4], "b": bins}
    expected = compare_importances(models, X, y, measures)
    found = compare_importances(models, in_parts(X), in_parts(y), measures)
    for labels, one in found.results.items():
        numbers = expected.results[labels].importances
        np.testing.assert_allclose(one.importances, numbers, rtol=1e-12)
    # on a grid of its own, exact beside others though a sketch has fewer groups
    compared = found.results["few", "b"].standard_errors
    errors = clone(bins).fit(models["few"], X).standard_errors_
    np.testing.assert_allclose(compared, errors, rtol=1e-10)


class Unhurried:
    """Two outputs, after a while that differs from call to call."""

    random = np.random.default_rng(0)

    def predict(self, X):
        """Of numbers and a category."""
        time.sleep(0.002 * self.random.random())
        a, b = X["a"].to_numpy(), np.nan_to_num(X["b"].to_numpy(), nan=0.3)
        is_u = (X["kind"] == "u").to_numpy()
        return np.column_stack([a * b, np.sin(3 * b) + a * is_u])


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
def test_any_partitions_in_any_order(seed, frame):
    """How many they are, how large, which has weight, and which is done first."""
    random = np.random.default_rng(seed)
    X, y, weight = frame
    rows = random.permutation(len(X))[: random.integers(40, 120)]
    X, y, weight = (values.iloc[rows].reset_index(drop=True) for values in frame)
    n_cuts = random.integers(0, 12)
    cuts = [0, *np.sort(random.integers(0, len(X), n_cuts)), len(X)]
    weight = [None, weight, weight * random.random(len(X))][seed % 3]
    trees = HistGradientBoostingRegressor(max_iter=4, categorical_features="from_dtype")
    for model, names, rtol in (
        (trees.fit(X, y), list(X.columns), 1e-12),
        (Unhurried(), ["a", "b", "kind"], 1e-10),
    ):
        chosen = random.choice(len(MEASURES), 3, replace=False)
        for measure in (clone(MEASURES[m]) for m in chosen):
            scaled = "scale" in measure.get_params()
            if model is not trees and scaled:
                measure.set_params(scale=None)
            if model is not trees and "loss" in measure.get_params():
                measure.set_params(loss=first_output)
            measure.set_params(features=names)
            assert_alike(measure, model, X, y, weight, rtol, cuts)


def first_output(y, outputs):
    """Its distance from y."""
    return np.abs(y - outputs[:, 0])


# Failures


def of_parts(*parts):
    """A Dask DataFrame whose partitions need not be alike."""
    delayed = [dask.delayed(part) for part in parts]
    return dd.from_delayed(delayed, meta=parts[0].iloc[:0], verify_meta=False)


def test_unlike_partitions_are_named(frame):
    """Other columns, types and levels."""
    X, y, _ = frame
    model = HistGradientBoostingRegressor(
        max_iter=3, categorical_features="from_dtype"
    ).fit(X, y)
    first, last = X[:200], X[200:]
    measure = SensitivityImportance(scale=None)
    levels = last.assign(kind=last["kind"].cat.remove_categories(["w"]))
    for odd, message in (
        (last.drop(columns="c"), "column 'd' of type float64, where .* column 'c' of"),
        (last.drop(columns="flag"), "no column, where .* column 'flag' of type bool"),
        (last.rename(columns={"c": "z"}), "column 'z' of type float64, where .* 'c' "),
        (last.astype({"a": "float32"}), "column 'a' of type float32, where .* float64"),
        (levels, "column 'kind' of type category with the levels .*'u', 'v'.*, where"),
    ):
        with pytest.raises(ValueError, match=f"Partition 1 of X: it has {message}"):
            measure.fit(model, of_parts(first, odd))


def test_bad_rows_are_named(few_donors, numbers):
    """NaN that the model refuses, y of another length, bad weights."""
    X, y, weight = numbers
    model = SVR().fit(X, y)
    measure = SensitivityImportance(scale=None, grid=5, estimation="exact")
    donors, _ = drawn_donors(X, weight)
    others = np.setdiff1d(np.arange(len(X)), donors)
    for row, number in ((others[0], 0), (others[-1], 3)):
        bad = X.copy()
        bad[row, 2] = np.nan
        with pytest.raises(ValueError, match=rf"(?s)NaN.*partition {number} of X"):
            measure.fit(model, in_parts(bad))
    weight = np.where(np.arange(len(X)) == 100, -1.0, weight)
    with pytest.raises(ValueError, match=r"(?s)non-negative.*partition 1 of X"):
        measure.fit(model, in_parts(X), sample_weight=in_parts(weight))


def test_targets_must_be_partitioned_alike(numbers):
    """In Dask too, with as many partitions; arrays are cut as X is."""
    X, y, _ = numbers
    model = Ridge().fit(X, y)
    measure = SensitivityImportance(estimation="exact")
    with pytest.raises(
        TypeError,
        match=says("`y` … partitions of X, got ndarray … dask.array.from_array"),
    ):
        measure.fit(model, in_parts(X), y)
    with pytest.raises(ValueError, match="has 2 partitions, but X has 5"):
        measure.fit(model, in_parts(pd.DataFrame(X)), da.from_array(y, chunks=200))
    unlike = in_parts(pd.Series(y), [0, 50, 101, 102, 240, 400])
    with pytest.raises(ValueError, match=r"(?s)y has \d+ rows.*partition \d of X"):
        measure.fit(model, in_parts(pd.DataFrame(X)), unlike)
    recut = measure.fit(model, in_parts(X), da.from_array(y, chunks=150))
    expected = clone(measure).fit(model, X, y)
    np.testing.assert_allclose(recut.importances_, expected.importances_, rtol=1e-12)


@pytest.mark.parametrize("measure", [MEASURES[0], MEASURES[2], MEASURES[6]], ids=str)
def test_a_missing_y_is_no_fault_of_a_partition(measure, numbers):
    """The message is that of rows in one place."""
    X, y, _ = numbers
    model = Ridge().fit(X, y)
    messages = []
    for rows in (X, in_parts(X)):
        with pytest.raises(ValueError, match=r"\by\b") as caught:
            clone(measure).fit(model, rows)
        messages.append(str(caught.value))
        assert not hasattr(caught.value, "__notes__")
    assert messages[0] == messages[1]


def test_parquet_files_are_read_together(numbers, tmp_path):
    """Dask joins the partitions of a single column, were it read by itself."""
    X, y, _ = numbers
    frame = pd.DataFrame(X, columns=list("abcde")).assign(y=y)
    for number, (a, b) in enumerate(pairwise([0, 90, 200, 310, 400])):
        frame[a:b].to_parquet(tmp_path / f"{number}.parquet")
    model = HistGradientBoostingRegressor(max_iter=3).fit(frame[list("abcde")], y)
    read = dd.read_parquet(tmp_path, split_row_groups=False)
    found = clone(MEASURES[0]).fit(model, read[list("abcde")], read["y"])
    expected = clone(MEASURES[0]).fit(model, frame[list("abcde")], y)
    np.testing.assert_allclose(found.importances_, expected.importances_, rtol=1e-12)


def test_arrays_of_unknown_lengths(few_donors, numbers):
    """As made of frames, of whose partitions nobody has counted the rows."""
    X, y, _ = numbers
    model = HistGradientBoostingRegressor(max_iter=3).fit(X, y)
    parts = in_parts(pd.DataFrame(X)).values, in_parts(pd.Series(y)).values
    assert np.isnan(parts[0].shape[0])
    found = clone(MEASURES[6]).fit(model, *parts)
    expected = clone(MEASURES[6]).fit(model, in_parts(X), in_parts(y))
    np.testing.assert_allclose(found.importances_, expected.importances_, rtol=1e-12)
    assert f"on {len(X)} rows" in found.result_.summary()


@pytest.mark.parametrize("measure", [*MEASURES[:8:7], FIRMImportance()], ids=str)
def test_fewer_than_two_rows(measure, numbers):
    """They are refused in the words of rows in memory, whatever the measure."""
    X, y, weight = numbers
    model = Ridge().fit(X, y)
    one = np.arange(len(X)) == 240
    for rows, target, weights in (
        (X[:0], y[:0], None),
        (X[:1], y[:1], None),
        (X, y, 0.0 * weight),
        (X, y, 2.0 * one),
    ):
        with pytest.raises(ValueError) as expected:
            clone(measure).fit(model, rows, target, sample_weight=weights)
        cuts = np.minimum(CUTS, len(rows))
        given = (in_parts(values, cuts) for values in (rows, target, weights))
        rows, target, weights = given
        with pytest.raises(ValueError) as found:
            clone(measure).fit(model, rows, target, sample_weight=weights)
        assert str(found.value) == str(expected.value)


def test_partitions_without_weight_count_as_nothing(numbers):
    """Among others that have some, the first one too."""
    X, y, _ = numbers
    weight = np.repeat([0.0, 1.0, 2.0, 0.0], 100)
    model = HistGradientBoostingRegressor(max_iter=3).fit(X, y)
    assert_alike(MEASURES[0], model, X, y, weight)


def test_types_of_a_partition_without_rows():
    """They are not those of X: a reader that found no rows does not know them."""
    kinds = pd.Categorical(list("uvwuvw"), categories=list("wvu"))
    X = pd.DataFrame({"a": np.arange(6.0), "kind": kinds})
    parts = [X[:3], pd.DataFrame({"a": [], "kind": []}, dtype=object), X[3:]]
    parts = [dask.delayed(part) for part in parts]
    rows = dd.from_delayed(parts, meta=X[:0], verify_meta=False)

    def level_times_number(X):
        return X["kind"].cat.codes.to_numpy() * X["a"].to_numpy()

    measure = SensitivityImportance(scale=None, features=["kind"])
    found = measure.fit(level_times_number, rows)
    # the mean of a is 2.5, that of |code - code| over nine pairs 8 / 9
    assert found.importances_ == pytest.approx(2.5 * 8 / 9)


class Thirds(ClusterMixin, BaseEstimator):
    """Clusters by one column; nothing but `predict` says which there are."""

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return np.digitize(np.asarray(X)[:, 0], [1 / 3, 2 / 3])


class Listed(Thirds):
    """The same with `labels_`."""

    def fit(self, X, y=None):
        self.labels_ = self.predict(X)
        return super().fit(X)


def test_clusters_that_the_model_does_not_list(monkeypatch):
    """They are those of the donors, though a partition may hold one of three."""
    random = np.random.default_rng(0)
    rows = random.uniform(size=(CUTS[-1], 2))
    rows = rows[np.argsort(rows[:, 0])]
    measure = SensitivityImportance(scale=None, estimation="exact")
    for n_donors in (len(rows), N_DONORS):
        monkeypatch.setattr(partitions, "MOST_DONORS", n_donors)
        known, unknown = (
            clone(measure).fit(model.fit(rows), in_parts(rows))
            for model in (Listed(), Thirds())
        )
        assert known.importances_per_output_.shape == (2, 3)
        np.testing.assert_allclose(
            unknown.importances_per_output_, known.importances_per_output_, rtol=1e-12
        )


# On a cluster


@pytest.fixture(scope="module")
def client():
    """Two worker processes."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.thorough
@pytest.mark.parametrize("n_donors", [100_000, N_DONORS])
def test_on_a_cluster(client, frame, n_donors, monkeypatch):
    """Frames and weights, on two processes."""
    monkeypatch.setattr(partitions, "MOST_DONORS", n_donors)
    X, y, weight = frame
    model = HistGradientBoostingRegressor(
        max_iter=5, categorical_features="from_dtype"
    ).fit(X, y)
    measures = {"s": MEASURES[0], "d": MEASURES[4], "p": MEASURES[6]}
    parts = [in_parts(values) for values in (X, y, weight)]

    def compared(X, y, weight):
        return compare_importances(model, X, y, measures, sample_weight=weight)

    with dask.config.set(scheduler="synchronous"):
        expected = compared(X, y, weight) if n_donors > len(X) else compared(*parts)
    for labels, one in compared(*parts).results.items():
        other = expected.results[labels]
        np.testing.assert_allclose(one.importances, other.importances, atol=1e-12)
        np.testing.assert_allclose(one.standard_errors, other.standard_errors)


class Counted(HistGradientBoostingRegressor):
    """A model that counts how often a process unpickles it."""

    times = 0

    def __setstate__(self, state):
        super().__setstate__(state)
        Counted.times += 1


def test_the_model_is_sent_once(client, few_donors, numbers):
    """To each worker, whatever the number of passes."""
    X, y, _ = numbers
    model = Counted(max_iter=3).fit(X, y)
    client.run(importlib.import_module, __name__)
    before = client.run(lambda: Counted.times)
    measures = [MEASURES[0], MEASURES[4], MEASURES[6]]
    client.amm.stop()  # which takes from a worker what it does not need at the moment
    try:
        compare_importances(model, in_parts(X), in_parts(y), measures)
    finally:
        client.amm.start()
    after = client.run(lambda: Counted.times)
    assert [after[worker] - before[worker] for worker in before] == [1, 1]


def test_bad_rows_on_a_worker_are_named(client, numbers):
    """What is said of the partition comes back with the error."""
    X, _, weight = numbers
    weight = np.where(np.arange(len(X)) == 100, -1.0, weight)
    measure = SensitivityImportance(scale=None)
    with pytest.raises(ValueError, match=r"(?s)non-negative.*partition 1 of X"):
        measure.fit(one_output, in_parts(X), sample_weight=in_parts(weight))


class Deadly:
    """A model that kills the worker it runs on, once."""

    def __init__(self, marker):
        self.marker, self.home = marker, os.getpid()

    def predict(self, X):
        """The product of two columns."""
        self.kill()
        return X[:, 0] * X[:, 1]

    def kill(self, values=None):
        """End another process than the first; the next time return the values."""
        if os.getpid() != self.home and not self.marker.exists():
            self.marker.touch()
            os._exit(1)
        return values


@pytest.mark.thorough
@pytest.mark.parametrize("n_donors", [100_000, N_DONORS])
def test_a_killed_worker_changes_nothing(
    client, numbers, tmp_path, n_donors, monkeypatch
):
    """Dask computes its partitions again: killed as it reads them, or as rows move."""
    monkeypatch.setattr(partitions, "MOST_DONORS", n_donors)
    X, _, _ = numbers
    measure = SensitivityImportance(scale=None, grid=3, features=[0, 1])
    model, rows = Deadly(tmp_path / "killed"), in_parts(X)
    if n_donors > len(X):
        rows = rows.map_blocks(model.kill, meta=X[:0])
    found = clone(measure).fit(model, rows)
    assert model.marker.exists()
    expected = clone(measure).fit(model, rows)
    np.testing.assert_array_equal(found.importances_, expected.importances_)
    np.testing.assert_array_equal(found.standard_errors_, expected.standard_errors_)
    if n_donors > len(X):
        exact = clone(measure).fit(model, X).importances_
        np.testing.assert_allclose(found.importances_, exact, rtol=1e-12)


@pytest.mark.thorough
@pytest.mark.skipif(os.name != "posix", reason="signals to a thread are POSIX")
def test_an_interrupted_fit_leaves_nothing_running():
    """Its tasks are forgotten by the scheduler."""
    script = Path(interrupted_partitions.__file__)
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=300
    )
    assert done.stdout.splitlines() == ["interrupted", "0 tasks left"], done.stderr


@pytest.mark.thorough
def test_first_fit_of_a_process_that_has_not_imported_distributed():
    """Our setting of Dask must not hide the defaults of `distributed`."""
    script = """
import dask.array as da
import numpy as np
from sklearn.linear_model import LinearRegression
from skvarimp import SensitivityImportance

X = np.arange(40.0).reshape(20, 2) % 7
model = LinearRegression().fit(X, X @ [1.0, 2.0])
rows = da.from_array(X, chunks=(10, -1))
apart = SensitivityImportance(scale=None).fit(model, rows).importances_
assert np.allclose(apart, SensitivityImportance(scale=None).fit(model, X).importances_)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
