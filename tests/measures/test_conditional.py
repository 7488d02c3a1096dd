"""`conditional=`: donors from the row's own part, against loops and theorems."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from combinations import each, half
from literal import standard_error
from messages import says
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import (
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingRegressor,
)
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.naive_bayes import BernoulliNB
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVR
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeRegressor,
)

from skvarimp import PermutationImportance, SensitivityImportance, compare_importances
from skvarimp._compiled import built

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

rng = np.random.default_rng(0)
N = 90
X = rng.normal(size=(N, 4))
X[:, 1] = X[:, 0] + 0.3 * X[:, 1]
X[:, 3] = np.round(X[:, 3])  # ties
Y = 2 * X[:, 0] * X[:, 2] + X[:, 1] + rng.normal(size=N)
CLASSES = np.digitize(Y, [-1.0, 1.0])
LABELS = np.repeat([3, 0, 5, 1, 9], [40, 25, 16, 8, 1])[rng.permutation(N)]
WEIGHTS = rng.integers(1, 4, N).astype(float)
FEATURES = [0, 1, 3, [0, 2]]

REGRESSORS = {
    "trees": RandomForestRegressor(12, random_state=0),
    "linear": LinearRegression(),
    "kernel": SVR(C=5.0),
    "separable kernel": KernelRidge(kernel="poly", degree=2),
    "smooth network": MLPRegressor(
        hidden_layer_sizes=(6,),
        activation="tanh",
        max_iter=40,
        solver="lbfgs",
        random_state=0,
    ),
    "kinked network": MLPRegressor(
        hidden_layer_sizes=(6,), max_iter=40, solver="lbfgs", random_state=0
    ),
    "steps in front": make_pipeline(StandardScaler(), DecisionTreeRegressor()),
    "steps up and down": make_pipeline(FunctionTransformer(np.sin), SVR(C=5.0)),
    "steps down": make_pipeline(
        FunctionTransformer(np.negative),
        MLPRegressor(
            hidden_layer_sizes=(4,), max_iter=40, solver="lbfgs", random_state=0
        ),
    ),
    "combined": VotingRegressor(
        [("ridge", Ridge()), ("tree", DecisionTreeRegressor())]
    ),
}
CLASSIFIERS = {
    "trees": RandomForestClassifier(12, random_state=0),
    "linked trees": GradientBoostingClassifier(n_estimators=5, random_state=0),
    "two classes": LogisticRegression(),
    "softmax": LogisticRegression(),
    "additive": BernoulliNB(binarize=0.5),
}


def curves_in_parts(f, X, columns, labels):
    """Yield (rows of a part, ICE (n_outputs, n_rows, n_donors))."""
    for label in np.unique(labels):
        at = np.flatnonzero(labels == label)
        moved = np.repeat(X[at], len(at), axis=0)
        moved[:, columns] = np.tile(X[at][:, columns], (len(at), 1))
        outputs = np.asarray(f(moved), dtype=float).reshape(len(moved), -1)
        yield at, outputs.T.reshape(-1, len(at), len(at))


def contrasted(kind, ice, base, p):
    """Mean over the donors of one contrast, for each output and row."""
    if kind == "pairs":
        return np.einsum("oikl,k,l->oi", np.abs(ice[..., None] - ice[:, :, None]), p, p)
    if kind == "range":
        return np.ptp(ice, axis=2)
    return np.abs(ice - base[..., None]) @ p


def literal(f, X, columns, labels, weights, of_part):
    """Mean over the rows of of_part(rows, ICE, unmoved, donor probabilities)."""
    w = weights / weights.sum()
    base = np.asarray(f(X), dtype=float).reshape(len(X), -1).T
    result = np.zeros(len(X))
    for at, ice in curves_in_parts(f, X, columns, labels):
        p = w[at] / w[at].sum()
        result[at] = of_part(at, ice, base[:, at], p)
    return w @ result


def literal_sensitivity(f, kind, labels=LABELS, weights=WEIGHTS, features=FEATURES):
    """By loops over the rows of each part, for each of the features."""

    def of_part(at, ice, base, p):
        return contrasted(kind, ice, base, p).mean(axis=0)

    lists = [np.atleast_1d(columns) for columns in features]
    return [literal(f, X, columns, labels, weights, of_part) for columns in lists]


def literal_loss(f, loss, y, features=FEATURES):
    """By loops, for loss(y, outputs of shape (n_outputs, n)) of shape (n,)."""

    def of_part(at, ice, base, p):
        moved = np.stack([loss(y[at], donor) for donor in np.moveaxis(ice, 2, 0)])
        return p @ moved - loss(y[at], base)

    lists = [np.atleast_1d(columns) for columns in features]
    return [literal(f, X, columns, LABELS, WEIGHTS, of_part) for columns in lists]


@pytest.mark.parametrize(
    ("name", "contrast"), half(each(REGRESSORS, ["pairs", "observed", "range"]))
)
def test_sensitivity_is_the_loop_within_parts(name, contrast):
    """Of every family, with weights and groups; and as the black box says."""
    model = clone(REGRESSORS[name]).fit(X, Y)
    measure = SensitivityImportance(
        contrast=contrast,
        estimation="exact",
        grid="all",
        scale=None,
        features=FEATURES,
        conditional=LABELS,
    )
    measure.fit(model, X, sample_weight=WEIGHTS)
    assert not measure.response_path_.startswith("black box")
    expected = literal_sensitivity(model.predict, contrast)
    np.testing.assert_allclose(measure.importances_, expected, rtol=1e-9, atol=1e-12)
    errors = measure.standard_errors_
    measure.fit(model.predict, X, sample_weight=WEIGHTS)
    assert measure.response_path_.startswith("black box")
    np.testing.assert_allclose(measure.importances_, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(measure.standard_errors_, errors, rtol=1e-8, atol=1e-12)


LOSSES = {
    "squared_error": lambda y, f: (y - f[0]) ** 2,
    "absolute_error": lambda y, f: np.abs(y - f[0]),
}


@pytest.mark.parametrize(("name", "loss"), half(each(REGRESSORS, LOSSES)))
def test_loss_is_the_loop_within_parts(name, loss):
    """Of every family, with weights and groups."""
    model = clone(REGRESSORS[name]).fit(X, Y)
    measure = PermutationImportance(
        loss=loss, estimation="exact", features=FEATURES, conditional=LABELS
    )
    measure.fit(model, X, Y, sample_weight=WEIGHTS)
    assert not measure.response_path_.startswith("black box")
    expected = literal_loss(model.predict, LOSSES[loss], Y)
    np.testing.assert_allclose(measure.importances_, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(
    ("name", "loss"), each(CLASSIFIERS, ["log_loss", "zero_one", "squared_error"])
)
def test_losses_of_probabilities_are_the_loop_within_parts(name, loss):
    """Links, smooth and with jumps, of one and of several outputs."""
    y = CLASSES > 0 if name == "two classes" else CLASSES
    model = clone(CLASSIFIERS[name]).fit(X, y)
    k = np.searchsorted(model.classes_, y)
    indicators = (k == np.arange(len(model.classes_))[:, None]).astype(float)

    def of_rows(at, f):
        if loss == "log_loss":
            return -np.log(np.maximum(f[k[at], np.arange(len(at))], 2.0**-52))
        if loss == "zero_one":
            return (f >= f.max(axis=0) - 1e-10).argmax(axis=0) != k[at]
        return np.mean((indicators[:, at] - f) ** 2, axis=0)

    measure = PermutationImportance(
        loss=loss, estimation="exact", features=FEATURES, conditional=LABELS
    )
    measure.fit(model, X, y, sample_weight=WEIGHTS)
    assert not measure.response_path_.startswith("black box")
    expected = literal_loss(model.predict_proba, of_rows, np.arange(N))
    np.testing.assert_allclose(measure.importances_, expected, rtol=1e-9, atol=1e-11)


def test_relative_loss_is_a_ratio_of_means_within_parts():
    """1 + the loss gained over the unmoved loss; errors by the same influences."""
    model = RandomForestRegressor(12, random_state=0).fit(X[::2], Y[::2])
    plain = PermutationImportance(
        estimation="exact", conditional=LABELS, keep_rows=True
    )
    plain.fit(model, X, Y)
    ratio = clone(plain).set_params(relative=True).fit(model, X, Y)
    expected = 1 + plain.importances_ / plain.baseline_
    np.testing.assert_allclose(ratio.importances_, expected, rtol=1e-12)
    mean = ratio.row_importances_.mean(axis=0)
    np.testing.assert_allclose(mean, expected, rtol=1e-12)


@pytest.mark.skipif(not built(), reason="kernels are not built")
@pytest.mark.parametrize("model", [REGRESSORS["trees"], CLASSIFIERS["linked trees"]])
def test_numpy_and_compiled_trees_agree_within_parts(model, monkeypatch):
    """Pieces cut down to the parts by the kernel, and steps in NumPy."""
    y = Y if hasattr(model, "bootstrap") else CLASSES
    model = clone(model).fit(X, y)
    measure = SensitivityImportance(
        estimation="exact", conditional=LABELS, keep_rows=True
    )
    fast = clone(measure).fit(model, X, y)
    monkeypatch.setenv("SKVARIMP_COMPILED", "0")
    plain = clone(measure).fit(model, X, y)
    assert fast.response_path_ != plain.response_path_
    for name in ("importances_", "standard_errors_", "influences_"):
        a, b = getattr(fast, name), getattr(plain, name)
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


MEASURES = {
    **{
        contrast: SensitivityImportance(contrast=contrast, estimation="exact")
        for contrast in ("pairs", "observed", "range")
    },
    "deciles": SensitivityImportance(grid="deciles", estimation="exact"),
    "bins": SensitivityImportance(grid=5, estimation="exact"),
    "squared": PermutationImportance(estimation="exact"),
    "absolute": PermutationImportance(loss="absolute_error", estimation="exact"),
    "sampled": PermutationImportance(estimation="sampled", random_state=0),
    "drawn": SensitivityImportance(estimation="sampled", random_state=0),
    "until": SensitivityImportance(estimation="sampled", tol=0.1, random_state=0),
    "rows": SensitivityImportance(estimation="rows", random_state=0),
    "score": PermutationImportance(scoring="r2", random_state=0),
}


@pytest.mark.parametrize(
    ("name", "model"),
    half(each(MEASURES, [REGRESSORS["trees"], LinearRegression(), SVR()])),
)
def test_one_part_is_the_marginal_measure(name, model):
    """To 1e-12, of exact and drawn numbers and their errors: the same donors."""
    model = clone(model).fit(X, Y)
    measure = clone(MEASURES[name]).set_params(features=FEATURES)
    marginal = clone(measure).fit(model, X, Y, sample_weight=WEIGHTS)
    one = measure.set_params(conditional=np.zeros(N))
    one.fit(model, X, Y, sample_weight=WEIGHTS)
    size = np.abs(marginal.importances_).max()
    for attribute in ("importances_", "standard_errors_", "monte_carlo_errors_"):
        a, b = getattr(one, attribute), getattr(marginal, attribute)
        if b is not None:
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * size)
    np.testing.assert_allclose(one.explained_, 0, atol=1e-12)


@pytest.mark.parametrize(
    ("family", "name"),
    half(each(REGRESSORS, ["pairs", "observed", "range", "squared", "absolute"])),
)
def test_parts_by_the_column_itself_leave_nothing(family, name):
    """Each part holds one value of the column: exactly 0."""
    labels = {"x0": X[:, 0], "x3": X[:, 3]}
    measure = clone(MEASURES[name]).set_params(features=["x0", "x3"])
    frame = pd.DataFrame(X, columns=["x0", "x1", "x2", "x3"])
    model = clone(REGRESSORS[family]).fit(frame, Y)
    measure.set_params(conditional=labels).fit(model, frame, Y)
    assert measure.importances_.tolist() == [0.0, 0.0]
    assert measure.standard_errors_.tolist() == [0.0, 0.0]
    np.testing.assert_allclose(measure.explained_, 1.0)


def test_errors_are_derivatives_by_the_rows_weights():
    """Infinitesimal jackknife: numerical derivatives with the parts held fixed."""
    model = RandomForestRegressor(3, random_state=0).fit(X[::2], Y[::2])
    for measure in (
        SensitivityImportance(estimation="exact", scale=None),
        SensitivityImportance(contrast="observed", estimation="exact", scale=None),
        PermutationImportance(estimation="exact"),
    ):
        measure.set_params(conditional=LABELS, keep_rows=True)
        measure.fit(model, X, Y, sample_weight=WEIGHTS)
        psi, step = measure.influences_, 1e-4
        w = WEIGHTS / WEIGHTS.sum()
        errors = standard_error(psi, WEIGHTS)
        np.testing.assert_allclose(measure.standard_errors_, errors, rtol=1e-9)
        np.testing.assert_allclose(w @ psi, 0, atol=1e-12)
        np.testing.assert_allclose(
            w @ measure.row_importances_, measure.importances_, rtol=1e-9
        )
        for i in range(0, N, 30):
            ends = []
            for sign in (1, -1):
                moved = w.copy()
                moved[i] += sign * step  # and all are divided by their sum
                again = clone(measure).fit(model, X, Y, sample_weight=moved)
                ends.append(again.importances_)
            slope = (ends[0] - ends[1]) / (2 * step)
            np.testing.assert_allclose(psi[i], slope, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", ["drawn", "until", "rows", "sampled", "score"])
def test_draws_estimate_the_numbers_within_parts(name):
    """Importances within four errors of drawing, standard errors within a third."""
    model = DecisionTreeRegressor(random_state=0).fit(X[::2], Y[::2])
    drawn = clone(MEASURES[name])
    # the scorer is asked about each shuffle
    drawn.set_params(n_draws=80 if name == "score" else 400, conditional=LABELS)
    if name == "until":
        drawn.set_params(tol=0.01)
    is_sensitivity = isinstance(drawn, SensitivityImportance)
    exact = type(drawn)(
        **({"scale": None} if is_sensitivity else {}),
        estimation="exact",
        conditional=LABELS,
    ).fit(model, X, Y)
    if is_sensitivity:
        drawn.set_params(scale=None)
    drawn.fit(model, X, Y)
    expected = exact.importances_
    if name == "score":  # a shuffle of n donors, n (n - 1) of them others
        expected = expected / np.var(Y)
    gap = np.abs(drawn.importances_ - expected)
    assert np.all(gap <= 4 * drawn.monte_carlo_errors_)
    if name != "score":
        errors = exact.standard_errors_
        np.testing.assert_allclose(drawn.standard_errors_, errors, rtol=0.33)


def test_independent_columns_need_no_condition():
    """Conditional and marginal importances agree within two standard errors."""
    random = np.random.default_rng(3)
    X = random.normal(size=(600, 4))
    y = X[:, 0] + X[:, 1] * X[:, 2] + random.normal(size=600)
    model = RandomForestRegressor(30, random_state=0).fit(X[:300], y[:300])
    for measure in (SensitivityImportance(), PermutationImportance()):
        marginal = clone(measure).fit(model, X[300:], y[300:])
        measure.set_params(conditional="subgroups").fit(model, X[300:], y[300:])
        gap = np.abs(measure.importances_ - marginal.importances_)
        assert np.all(gap <= 2 * marginal.standard_errors_)


def test_a_copy_counts_only_where_the_model_uses_it():
    """Not used: 0 in both. Used by an overfitted forest: at most a quarter is left."""
    random = np.random.default_rng(0)
    a = random.normal(size=800)
    X = np.column_stack([a, 0.95 * a + 0.0975**0.5 * random.normal(size=800)])
    y = a + 0.3 * random.normal(size=800)
    conditional = PermutationImportance(conditional="subgroups", estimation="exact")
    for measure in (PermutationImportance(estimation="exact"), conditional):
        linear = LinearRegression().fit(X * [1, 0], y)
        assert measure.fit(linear, X, y).importances_[1] == 0.0
    forest = RandomForestRegressor(30, max_features=1, random_state=0)
    forest.fit(X[:400], y[:400])
    marginal = PermutationImportance(estimation="exact").fit(forest, X[400:], y[400:])
    conditional.fit(forest, X[400:], y[400:])
    assert marginal.importances_[1] > 5 * marginal.standard_errors_[1]
    assert conditional.importances_[1] <= marginal.importances_[1] / 4
    assert np.all(conditional.explained_ > 0.8)


@pytest.mark.thorough
def test_level_on_a_few_draws():
    """As `coverage.py conditional`: the copy's interval seldom lies above 0."""
    above = {None: 0, "subgroups": 0}
    for draw in range(20):
        random = np.random.default_rng(draw)
        a = random.normal(size=600)
        X = np.column_stack([a, 0.9 * a + 0.19**0.5 * random.normal(size=600)])
        y = a + 0.5 * random.normal(size=600)
        forest = RandomForestRegressor(10, max_features=1, random_state=0)
        forest.fit(X[:300], y[:300])
        for conditional in above:
            measure = PermutationImportance(
                features=[1], keep_rows=True, conditional=conditional
            )
            interval = measure.fit(forest, X[300:], y[300:]).interval()
            above[conditional] += interval["lower"][0] > 0
    assert above["subgroups"] <= 2
    assert above[None] > 10


MIXED = pd.DataFrame(
    {
        "a": X[:, 0],
        "near a": np.where(np.arange(N) % 9 == 0, np.nan, X[:, 1]),
        "level": np.array(["low", "middle", "high"])[np.digitize(X[:, 0], [-0.5, 0.5])],
        "flag": X[:, 2] > 0,
        "day": np.datetime64("2024-01-01") + np.arange(N).astype("timedelta64[D]"),
    }
)
OF_MIXED = ["a", "near a", "level", "flag", "day", ["a", "flag"]]


def of_mixed(frame):
    """A model on columns of all types, with missing values."""
    near, a = (np.asarray(frame[name], dtype=float) for name in ("near a", "a"))
    low = np.asarray(frame["level"]) == "low"
    return a + np.where(np.isnan(near), 0.5, near) * (1 + low)


def test_columns_of_all_types_have_parts():
    """Categories, missing values, dates and groups; the same in every container."""
    measure = SensitivityImportance(
        features=OF_MIXED, conditional="subgroups", estimation="exact"
    )
    measure.fit(of_mixed, MIXED, Y)
    explained = dict(zip(measure.features_, measure.explained_))
    assert explained["level"] > 0.5
    assert explained["near a"] > 0.3
    assert explained["day"] < 0.5
    table = measure.to_frame()
    assert list(table.columns[-3:]) == ["rank", "explained", "direction"]
    frame = pl.from_pandas(MIXED)
    other = clone(measure).fit(of_mixed, frame, Y)
    assert isinstance(other.to_frame(), pl.DataFrame)
    np.testing.assert_array_equal(other.importances_, measure.importances_)
    again = clone(measure).set_params(conditional=measure.subgroups_, n_jobs=2)
    again.fit(of_mixed, MIXED, Y)
    np.testing.assert_array_equal(again.importances_, measure.importances_)
    np.testing.assert_array_equal(again.explained_, measure.explained_)


def test_parts_are_as_large_as_documented_and_do_not_look_at_y():
    """At least 15 rows; the same for another y, and for the same seed."""
    measure = SensitivityImportance(conditional="subgroups", scale=None)
    first = clone(measure).fit(of_mixed, MIXED, Y).subgroups_
    second = clone(measure).fit(of_mixed, MIXED, -(Y**2)).subgroups_
    for name, parts in first.items():
        assert np.bincount(parts).min() >= 15
        np.testing.assert_array_equal(second[name], parts)
    assert max(first["a"]) > 0
    seeded = [
        clone(measure).set_params(random_state=random).fit(of_mixed, MIXED).subgroups_
        for random in (5, 5, np.random.default_rng(5), np.random.RandomState(5))
    ]
    for name, parts in seeded[0].items():
        np.testing.assert_array_equal(seeded[1][name], parts)


def test_integer_weights_are_repeated_rows():
    """In importances and parts; rows with zero weight are in no part."""
    weights = np.arange(N) % 3
    model = LinearRegression().fit(X, Y)
    measure = PermutationImportance(conditional="subgroups", estimation="exact")
    weighted = clone(measure).fit(model, X, Y, sample_weight=weights)
    rows = np.repeat(np.arange(N), weights)
    repeated = clone(measure).fit(model, X[rows], Y[rows])
    for name in ("importances_", "explained_"):
        a, b = getattr(weighted, name), getattr(repeated, name)
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    for name, parts in weighted.subgroups_.items():
        assert np.all((parts < 0) == (weights == 0))
        np.testing.assert_array_equal(parts[rows], repeated.subgroups_[name])


@pytest.mark.parametrize(
    "conditional",
    half(
        [
            "subgroups",
            DecisionTreeRegressor(max_depth=3),
            DecisionTreeRegressor(max_features=2, max_depth=4),
            DecisionTreeRegressor(criterion="absolute_error", max_depth=3),
            DecisionTreeClassifier(max_depth=4),
            ExtraTreeRegressor(max_depth=4),
        ]
    ),
    ids=str,
)
def test_tied_splits_do_not_hang_on_rounding(conditional):
    """Few values, columns that mirror and add up others: many splits are as good.

    Sums over repeated rows and over weighted ones differ in rounding only.
    """
    classifier = isinstance(conditional, DecisionTreeClassifier)
    measure = SensitivityImportance(
        scale=None,
        estimation="exact",
        conditional=conditional,
        features=None if classifier else [0, 1, 2, [3, 4]],
        categorical_features=range(5) if classifier else None,
    )

    def product(X):
        return X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] + X[:, 4]

    for seed in range(4):
        drawn = np.random.default_rng(seed)
        counts = drawn.integers(0, 4, (120, 5)).astype(float)
        counts[:, 1] = np.where(drawn.random(120) < 0.8, 3 - counts[:, 0], 1)
        counts[:, 2] = counts[:, 0] + counts[:, 3]
        weights = drawn.integers(1, 4, 120)
        rows = np.repeat(np.arange(120), weights)
        weighted = clone(measure).fit(product, counts, sample_weight=weights)
        repeated = clone(measure).fit(product, counts[rows])
        for name, parts in weighted.subgroups_.items():
            np.testing.assert_array_equal(parts[rows], repeated.subgroups_[name])
        np.testing.assert_allclose(
            weighted.importances_, repeated.importances_, rtol=1e-12
        )


def test_a_tree_of_the_user_is_cloned_for_each_feature():
    """Its leaves are the parts; classifiers predict categories."""
    tree = DecisionTreeRegressor(max_leaf_nodes=4)
    measure = SensitivityImportance(
        conditional=tree, features=OF_MIXED, estimation="exact"
    )
    measure.fit(of_mixed, MIXED, Y)
    assert not hasattr(tree, "tree_")
    assert all(parts.max() <= 3 for parts in measure.subgroups_.values())
    assert measure.subgroups_["a"].max() == 3
    again = clone(measure).fit(of_mixed, MIXED, Y)  # random_state=None is fixed
    np.testing.assert_array_equal(again.importances_, measure.importances_)
    classifier = DecisionTreeClassifier(max_depth=2)
    measure.set_params(conditional=classifier, features=["level", "flag"])
    assert measure.fit(of_mixed, MIXED, Y).explained_[0] > 0.5
    with pytest.raises(ValueError, match="'a' is not categorical"):
        measure.set_params(features=["a"]).fit(of_mixed, MIXED, Y)
    measure.set_params(conditional=tree, features=[0], scale=None)
    measure.fit(lambda X: X[:, 0] * X[:, 1], X[:, :2])
    expected = clone(tree).fit(X[:, 1:2], X[:, 0]).score(X[:, 1:2], X[:, 0])
    np.testing.assert_allclose(measure.explained_, [expected], rtol=1e-9)


def test_explained_is_the_share_of_the_variance_between_the_parts():
    """By hand, of a numeric column; an exact copy explains all."""
    model = LinearRegression().fit(X, Y)
    measure = SensitivityImportance(conditional=LABELS).fit(model, X, Y)
    column = pd.Series(X[:, 2])
    within = column.groupby(LABELS).transform("mean")
    expected = within.var() / column.var()
    np.testing.assert_allclose(measure.explained_[2], expected, rtol=1e-12)
    twice = np.column_stack([X[:, 0] > 0, X[:, 0] > 0, X[:, 2]])
    measure.set_params(conditional="subgroups")
    measure.fit(LinearRegression().fit(twice, Y), twice, Y)
    np.testing.assert_allclose(measure.explained_, [1, 1, 0], atol=1e-12)
    assert measure.importances_[0] == 0.0


def test_sparse_columns_have_parts():
    """As the same array; a linear model on few stored values."""
    random = np.random.default_rng(0)
    dense = random.normal(size=(200, 5)) * (random.random((200, 5)) < 0.3)
    dense[:, 1] = dense[:, 0]  # symmetric around 0: known by its values alone
    dense[:, 3] = 0.0
    model = LinearRegression().fit(dense, dense[:, 2])
    measure = SensitivityImportance(conditional="subgroups", scale=None)
    measure.fit(model, sparse.csr_array(dense))
    copy, constant = measure.explained_[[0, 3]]
    assert copy > 0.3
    assert constant == 0.0
    labels = measure.subgroups_
    same = clone(measure).set_params(conditional=labels).fit(model, dense)
    np.testing.assert_allclose(same.importances_, measure.importances_, rtol=1e-9)


def test_features_without_labels_move_among_all_rows():
    """Of a dict; and one column alone has nothing to be conditioned on."""
    model = LinearRegression().fit(X, Y)
    marginal = SensitivityImportance(estimation="exact").fit(model, X, Y)
    measure = SensitivityImportance(estimation="exact", conditional={"x1": LABELS})
    measure.fit(model, X, Y)
    same = np.isclose(measure.importances_, marginal.importances_, rtol=1e-12)
    assert same.tolist() == [True, False, True, True]
    one = LinearRegression().fit(X[:, :1], Y)
    measure.set_params(conditional="subgroups").fit(one, X[:, :1], Y)
    assert measure.explained_.tolist() == [0.0]


def test_measures_with_and_without_condition_share_a_comparison():
    """`compare_importances` gives what each gives alone."""
    model = RandomForestRegressor(12, random_state=0).fit(X, Y)
    measures = {
        "marginal": PermutationImportance(),
        "within": PermutationImportance(conditional=LABELS),
        "moved": SensitivityImportance(conditional=LABELS),
    }
    table = compare_importances({"forest": model}, X, Y, measures)
    for name, measure in measures.items():
        alone = clone(measure).fit(model, X, Y)
        beside = table.results["forest", name].importances
        np.testing.assert_allclose(beside, alone.importances_, rtol=1e-12)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"conditional": np.zeros(3)}, says("`conditional` … (90,) … (3,)")),
        (
            {"conditional": {"b": LABELS}},
            says("`conditional` … 'b' … 4 features"),
        ),
        ({"conditional": {"x0": LABELS[:5]}}, says("`conditional` … 'x0' … (5,)")),
        ({"conditional": "groups"}, "'conditional' parameter of"),
        (
            {"conditional": LABELS, "rows": "oob"},
            says("`conditional` … rows='oob' … Leave one out"),
        ),
        (
            {"conditional": LABELS, "grid": [0.0, 1.0]},
            says("`conditional` … `grid` … grid='all'"),
        ),
    ],
)
def test_bad_conditions_are_refused(parameters, message):
    """Before any work; the message says what to do."""
    model = RandomForestRegressor(3, random_state=0).fit(X, Y)
    kind = SensitivityImportance if "grid" in parameters else PermutationImportance
    with pytest.raises(ValueError, match=message):
        kind(**parameters).fit(model, X, Y)


def test_without_a_condition_there_are_no_parts():
    """The attributes of an earlier fit do not stay."""
    model = LinearRegression().fit(X, Y)
    measure = PermutationImportance(conditional=LABELS).fit(model, X, Y)
    assert measure.explained_.shape == (4,)
    measure.set_params(conditional=None).fit(model, X, Y)
    assert measure.subgroups_ is None
    assert measure.explained_ is None
    assert "explained" not in measure.to_frame()


@pytest.mark.parametrize("conditional", [None, LABELS])
@pytest.mark.parametrize("estimation", ["rows", "sampled"])
def test_influences_of_draws_are_those_of_all_rows(estimation, conditional):
    """As evaluated rows and as donors; from many draws nearly the exact ones."""
    model = RandomForestRegressor(12, random_state=0).fit(X[::2], Y[::2])
    measure = SensitivityImportance(
        contrast="observed", scale=None, conditional=conditional, keep_rows=True
    )
    exact = clone(measure).set_params(estimation="exact").fit(model, X)
    drawn = {"estimation": estimation, "n_draws": 2000, "random_state": 0}
    if estimation == "sampled":
        drawn |= {"tol": 1e-3}
    measure.set_params(**drawn)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the tolerance is not reached
        measure.fit(model, X)
    for e in range(4):
        agree = np.corrcoef(exact.influences_[:, e], measure.influences_[:, e])[0, 1]
        assert agree > 0.97
