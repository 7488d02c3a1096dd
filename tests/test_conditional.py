"""`conditional=`: donors from the row's own part, against loops and theorems."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import (
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingRegressor,
)
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

from skvarimp import PermutationImportance, SensitivityImportance
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
    "neighbours": KNeighborsRegressor(4),
    "steps in front": make_pipeline(StandardScaler(), DecisionTreeRegressor()),
    "combined": VotingRegressor(
        [("ridge", Ridge()), ("tree", DecisionTreeRegressor())]
    ),
}
CLASSIFIERS = {
    "trees": RandomForestClassifier(12, random_state=0),
    "linked trees": GradientBoostingClassifier(n_estimators=5, random_state=0),
    "two classes": LogisticRegression(),
    "softmax": LogisticRegression(),
    "additive": GaussianNB(),
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


@pytest.mark.parametrize("contrast", ["pairs", "observed", "range"])
@pytest.mark.parametrize("name", REGRESSORS)
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


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", REGRESSORS)
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


@pytest.mark.parametrize("loss", ["log_loss", "zero_one", "squared_error"])
@pytest.mark.parametrize("name", CLASSIFIERS)
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


@pytest.mark.parametrize("model", [REGRESSORS["trees"], LinearRegression(), SVR()])
@pytest.mark.parametrize("name", MEASURES)
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


@pytest.mark.parametrize("name", ["pairs", "observed", "range", "squared", "absolute"])
@pytest.mark.parametrize("family", REGRESSORS)
def test_parts_by_the_column_itself_leave_nothing(family, name):
    """Each part holds one value of the column: exactly 0."""
    model = clone(REGRESSORS[family]).fit(X, Y)
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
    model = RandomForestRegressor(12, random_state=0).fit(X[::2], Y[::2])
    for measure in (
        SensitivityImportance(estimation="exact", scale=None),
        SensitivityImportance(contrast="observed", estimation="exact", scale=None),
        PermutationImportance(estimation="exact"),
    ):
        measure.set_params(conditional=LABELS, keep_rows=True)
        measure.fit(model, X, Y, sample_weight=WEIGHTS)
        psi, step = measure.influences_, 1e-4
        w = WEIGHTS / WEIGHTS.sum()
        errors = np.sqrt(w @ psi**2 / WEIGHTS.sum())
        np.testing.assert_allclose(measure.standard_errors_, errors, rtol=1e-9)
        np.testing.assert_allclose(w @ psi, 0, atol=1e-12)
        np.testing.assert_allclose(
            w @ measure.row_importances_, measure.importances_, rtol=1e-9
        )
        for i in range(0, N, 17):
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
    model = RandomForestRegressor(12, random_state=0).fit(X[::2], Y[::2])
    drawn = clone(MEASURES[name])
    drawn.set_params(n_repeats=400, conditional=LABELS)
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


def test_level_on_a_few_draws():
    """As benchmarks/conditional_level.py: the copy's interval seldom lies above 0."""
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
