"""`SobolImportance`: analytic functions, a plain double loop, theorems, edges."""

from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import polars as pl
import pytest
from combinations import each, half
from messages import says
from roundoff import roundoff
from scipy import sparse
from sklearn import config_context
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestRegressor,
    VotingRegressor,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer
from sklearn.svm import SVC, SVR

from skvarimp import SensitivityImportance, SobolImportance, compare_importances

RNG = np.random.default_rng(0)
N = 50
X = RNG.normal(size=(N, 5))
X[:, 1] = np.round(X[:, 1])  # ties
X[:, 2] = RNG.integers(0, 3, N)
X[:, 4] = 1.5  # constant
Y = X[:, 0] * X[:, 1] + X[:, 2] ** 2 + 0.1 * X[:, 3]
CLASSES = np.digitize(Y, [0.0, 2.0])
WEIGHTS = RNG.uniform(0.2, 2.0, N)
WEIGHTS[7] = 0.0
FEATURES = {"a": 0, "b": 1, "c": 2, "d": 3, "constant": 4, "both": [0, 2]}


def two_outputs(X):
    """A callable whose second output does not use columns 0 and 3."""
    return np.column_stack([X[:, 0] * X[:, 1] + X[:, 3], np.exp(X[:, 2] - X[:, 1])])


ENCODED = make_column_transformer(
    (OneHotEncoder(), [2]), (SplineTransformer(3), [0, 3]), remainder="passthrough"
)
BOOSTING = GradientBoostingRegressor(n_estimators=10, random_state=0)
MODELS = {
    "callable": two_outputs,
    "ridge": Ridge().fit(X, np.column_stack([Y, Y**2])),
    "poisson": PoissonRegressor().fit(X, np.exp(Y / 10)),
    "logistic": LogisticRegression().fit(X, CLASSES > 0),
    "softmax": LogisticRegression().fit(X, CLASSES),
    "bayes": GaussianNB(var_smoothing=1e-3).fit(X, CLASSES),
    "svr": SVR().fit(X, Y),
    "svc": SVC(decision_function_shape="ovr").fit(X, CLASSES),
    "process": GaussianProcessRegressor(alpha=0.1).fit(X, Y),
    "network": MLPRegressor(hidden_layer_sizes=(4,), activation="tanh", solver="lbfgs"),
    "rectified": MLPRegressor(hidden_layer_sizes=(4,), solver="lbfgs"),
    "neighbours": KNeighborsRegressor(4).fit(X, Y),
    "forest": RandomForestRegressor(8, random_state=0).fit(X, Y),
    "histograms": HistGradientBoostingClassifier(max_iter=3).fit(X, CLASSES),
    "spline": make_pipeline(ENCODED, Ridge()).fit(X, Y),
    "vote": VotingRegressor([("a", Ridge()), ("b", BOOSTING)]).fit(X, Y),
    "calibrated": CalibratedClassifierCV(SVC(), cv=2, ensemble=False).fit(X, CLASSES),
}


def outputs(model):
    """X -> (n, n_outputs) as the measure watches the model; two classes: the second."""
    if callable(model):
        return model
    if hasattr(model, "predict_proba"):
        two = len(model.classes_) == 2
        return lambda X: (
            model.predict_proba(X)[:, 1:] if two else model.predict_proba(X)
        )
    ask = getattr(model, "decision_function", model.predict)
    return lambda X: ask(X).reshape(len(X), -1)


def literal(f, X, columns, weights):
    """Total and first-order index of each output by a loop over all pairs of rows."""
    w = weights / weights.sum()
    moved = np.repeat(X, len(X), axis=0)
    moved[:, columns] = np.tile(X[:, columns], (len(X), 1))
    curves = f(moved).reshape(len(X), len(X), -1)
    total = 0.0
    for i, curve in enumerate(curves):
        total = total + w[i] * (w @ (curve - w @ curve) ** 2)
    average = np.tensordot(w, curves, 1)
    own = w @ (average - w @ average) ** 2
    base = f(X)
    variance = w @ (base - w @ base) ** 2
    return total / variance, own / variance


@pytest.mark.filterwarnings("ignore:lbfgs failed to converge")
@pytest.mark.parametrize(("name", "weighted"), half(each(MODELS, [False, True])))
def test_equals_the_double_loop(name, weighted):
    """Every kind of response, with weights, ties, a constant column and a group."""
    model = MODELS[name]
    if name in {"network", "rectified"}:
        model.set_params(random_state=0).fit(X, Y)
    weights = WEIGHTS if weighted else np.ones(N)
    kept = weights > 0
    f = outputs(model)
    given = weights if weighted else None
    imp = SobolImportance(features=FEATURES).fit(model, X, sample_weight=given)
    first = SobolImportance(features=FEATURES, order="first")
    first.fit(model, X, sample_weight=given)
    for e, columns in enumerate([[0], [1], [2], [3], [4], [0, 2]]):
        total, own = literal(f, X[kept], columns, weights[kept])
        close = {"rtol": 1e-9, "atol": 1e-12}
        np.testing.assert_allclose(imp.importances_per_output_[e], total, **close)
        np.testing.assert_allclose(first.importances_per_output_[e], own, **close)
        np.testing.assert_allclose(imp.first_order_[e], own.mean(), **close)
        np.testing.assert_allclose(first.total_[e], total.mean(), **close)
    assert imp.total_[4] == imp.first_order_[4] == 0.0


@pytest.mark.parametrize(
    ("name", "order"),
    each(["callable", "ridge", "softmax", "svr", "forest"], ["total", "first"]),
)
def test_influences_are_derivatives_by_the_weights(order, name):
    """Of a row that gets a little more weight, whose value is in the grid as well."""
    kept = {"features": FEATURES, "order": order, "keep_rows": True}
    imp = SobolImportance(**kept).fit(MODELS[name], X, sample_weight=WEIGHTS)
    w, step = WEIGHTS / WEIGHTS.sum(), 1e-6
    for i in (0, 1, 30):
        ends = []
        for sign in (-1, 1):
            moved = w * (1 - sign * step)
            moved[i] += sign * step
            again = SobolImportance(features=FEATURES, order=order)
            ends.append(again.fit(MODELS[name], X, sample_weight=moved).importances_)
        slope = (ends[1] - ends[0]) / (2 * step)
        np.testing.assert_allclose(imp.influences_[i], slope, rtol=1e-5, atol=1e-7)


def ishigami(X):
    """sin x0 + 7 sin^2 x1 + 0.1 x2^4 sin x0."""
    return np.sin(X[:, 0]) * (1 + 0.1 * X[:, 2] ** 4) + 7 * np.sin(X[:, 1]) ** 2


A = np.array([0.0, 1.0, 4.5, 9.0])
SLOPES = np.array([3.0, -1.0, 0.5])


def analytic(name):
    """A function, a sampler, first-order and total indices."""
    if name == "Ishigami":  # Ishigami and Homma 1990, a = 7 and b = 0.1
        one = 0.5 * (1 + 0.1 * np.pi**4 / 5) ** 2
        two = 49 / 8
        both = 0.01 * np.pi**8 * (1 / 18 - 1 / 50)
        first, total = np.array([one, two, 0.0]), np.array([one + both, two, both])
        whole = one + two + both
        return (
            ishigami,
            lambda rng, n: rng.uniform(-np.pi, np.pi, (n, 3)),
            first / whole,
            total / whole,
        )
    if name == "g":  # Sobol' 1993
        part = 1 / (3 * (1 + A) ** 2)
        whole = np.prod(1 + part)
        return (
            lambda X: np.prod((np.abs(4 * X - 2) + A) / (1 + A), axis=1),
            lambda rng, n: rng.random((n, len(A))),
            part / (whole - 1),
            part / (1 + part) * whole / (whole - 1),
        )
    shares = SLOPES**2 / (SLOPES**2).sum()
    return lambda X: X @ SLOPES, lambda rng, n: rng.normal(size=(n, 3)), shares, shares


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["Ishigami", "g", "linear"])
def test_analytic_indices(name):
    """Within three standard errors of the true values at 2000 rows."""
    f, draw, first, total = analytic(name)
    imp = SobolImportance().fit(f, draw(np.random.default_rng(1), 2000))
    own, error = imp.first_order_, imp.first_order_standard_errors_
    assert np.all(np.abs(own - first) <= 3 * error)
    assert np.all(np.abs(imp.total_ - total) <= 3 * imp.total_standard_errors_)
    assert np.all(imp.total_standard_errors_ < 0.03)
    assert np.all(error < 0.03)
    assert imp.standard_errors_ is imp.total_standard_errors_


CUBE = np.array(list(product([-1.0, 0.5, 2.0], repeat=4)))


def test_on_a_full_factorial():
    """Independent columns: first order <= total; additive: both sum to 1."""

    def additive(X):
        return np.exp(X[:, 0]) - X[:, 1] ** 2 + 3 * X[:, 2]

    imp = SobolImportance(estimation="exact").fit(additive, CUBE)
    np.testing.assert_allclose(imp.first_order_.sum(), 1.0, rtol=1e-14)
    np.testing.assert_allclose(imp.total_, imp.first_order_, rtol=1e-12)
    assert imp.total_[3] == imp.first_order_[3] == 0.0

    def mixed(X):
        return additive(X) + X[:, 0] * X[:, 1] * X[:, 3]

    imp = SobolImportance(estimation="exact").fit(mixed, CUBE)
    assert np.all(imp.first_order_ <= imp.total_ * (1 + 1e-12))
    assert imp.first_order_.sum() < 1.0 < imp.total_.sum()
    # the closed index of all that interact, and the rest
    groups = SobolImportance(features=[[0, 1, 3], [2]], estimation="exact").fit(
        mixed, CUBE
    )
    np.testing.assert_allclose(groups.first_order_.sum(), 1.0, rtol=1e-12)
    np.testing.assert_allclose(groups.total_, groups.first_order_, rtol=1e-12)


@pytest.mark.parametrize("name", ["forest", "svr", "ridge", "callable"])
def test_rescaling_the_response_changes_nothing(name):
    """f -> a f + b, for either sign of a."""
    f = outputs(MODELS[name])
    for order in ("total", "first"):
        imp = SobolImportance(order=order)
        before = imp.fit(f, X).importances_
        after = imp.fit(lambda X: 5 - 3 * f(X), X)
        np.testing.assert_allclose(after.importances_, before, rtol=1e-10)
        errors = after.standard_errors_
        expected = imp.fit(f, X).standard_errors_
        np.testing.assert_allclose(
            errors, expected, rtol=1e-9, atol=roundoff(N, f(X) / f(X).std())
        )


def test_integer_weights_are_repeated_rows():
    """In the importances; rows of weight 0 are ignored."""
    counts = np.arange(N) % 4
    for order, kind in product(("total", "first"), ("forest", "logistic", "callable")):
        imp = SobolImportance(order=order, estimation="exact", keep_rows=True)
        weighted = imp.fit(MODELS[kind], X, sample_weight=counts)
        values = weighted.importances_
        imp.fit(MODELS[kind], np.repeat(X, counts, axis=0))
        np.testing.assert_allclose(imp.importances_, values, rtol=1e-10)


def test_errors_of_summed_rows():
    """More rows than sums are kept: the same error to about 5%."""
    f, draw, *_ = analytic("g")
    rows = draw(np.random.default_rng(0), 900)
    plain = SobolImportance(order="first", estimation="exact").fit(f, rows)
    kept = SobolImportance(order="first", estimation="exact", keep_rows=True)
    kept.fit(f, rows)
    np.testing.assert_allclose(plain.importances_, kept.importances_, rtol=1e-12)
    ratio = plain.standard_errors_ / kept.standard_errors_
    assert np.all(np.abs(ratio - 1) < 0.2)


@pytest.mark.parametrize("name", half(["callable", "forest"]))
def test_little_memory(name):
    """Influences whose curves are formed a second time."""
    rows = np.random.default_rng(0).normal(size=(80, 5))
    imp = SobolImportance(order="first", keep_rows=True).fit(MODELS[name], rows)
    with config_context(working_memory=0.025):
        few = SobolImportance(order="first", keep_rows=True).fit(MODELS[name], rows)
    np.testing.assert_allclose(few.importances_, imp.importances_, rtol=1e-9)
    np.testing.assert_allclose(few.influences_, imp.influences_, atol=1e-9)
    np.testing.assert_allclose(few.standard_errors_, imp.standard_errors_, rtol=1e-9)


def test_constant_responses():
    """All shares are 0; undefined where the response is constant at the rows only."""
    imp = SobolImportance().fit(lambda X: np.full(len(X), 0.1), X)
    assert np.all(imp.total_ == 0)
    assert np.all(imp.first_order_ == 0)
    equal = np.column_stack([X[:, 0], X[:, 0]])
    with pytest.raises(ValueError, match=says("'y' … 'x0' … SensitivityImportance")):
        SobolImportance().fit(lambda X: X[:, 0] - X[:, 1], equal)
    one = SobolImportance().fit(lambda X: np.column_stack([X[:, 0], 0 * X[:, 0]]), X)
    np.testing.assert_allclose(one.importances_per_output_[:, 1], 0.0)


@pytest.mark.parametrize("size", [1.0, 8.0])
@pytest.mark.parametrize("estimation", ["exact", "sampled"])
def test_responses_that_are_constant_up_to_rounding(estimation, size):
    """Standard deviations below 1e-13 of the response's size are rounding.

    Where X has none, a feature may add ten times as much: it moves the response by
    `move` at half of the donors, which is a standard deviation of half of it.
    """
    rows = np.array([[0.0, 0.0], [1.0, 1.0]])
    imp = SobolImportance(estimation=estimation, random_state=0)
    for times, share in [(0.95, 0.0), (1.05, 1.0)]:
        move = size * 2e-13 * times
        imp.fit(lambda X, move=move: size + move * X[:, 0], rows)
        np.testing.assert_allclose(imp.total_, [share, 0.0], rtol=0.01)
    move = size * 2e-12 * 0.95
    imp.fit(lambda X: size + move * (X[:, 0] != X[:, 1]), rows)
    assert np.all(imp.total_ == 0)
    move = size * 2e-12 * 1.05
    with pytest.raises(ValueError, match=says("'y' … 'x0' … SensitivityImportance")):
        imp.fit(lambda X: size + move * (X[:, 0] != X[:, 1]), rows)


def test_grids():
    """An integer and given values weigh the cells; the rows are then no donors."""

    def f(X):
        return X[:, 0] * (1 + X[:, 3])

    given = SobolImportance(grid={"x0": [0.0, 1.0]}, keep_rows=True).fit(f, X)
    base = f(X)
    slopes = 1 + X[:, 3]
    expected = np.mean(slopes**2) / 4 / base.var()
    np.testing.assert_allclose(given.total_[0], expected, rtol=1e-12)
    np.testing.assert_allclose(
        given.first_order_[0], slopes.mean() ** 2 / 4 / base.var(), rtol=1e-12
    )
    influence = slopes**2 / 4 - np.mean(slopes**2) / 4
    influence -= expected * ((base - base.mean()) ** 2 - base.var())
    np.testing.assert_allclose(
        given.influences_[:, 0], influence / base.var(), rtol=1e-9, atol=1e-12
    )
    all_values = SobolImportance().fit(MODELS["forest"], X)
    bins = SobolImportance(grid=N).fit(MODELS["forest"], X)
    np.testing.assert_allclose(bins.total_, all_values.total_, rtol=1e-10)
    for bad in ({"order": "second"}, {"grid": "none"}, {"grid": 0}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            SobolImportance(**bad).fit(f, X)


def test_sparse_rows():
    """The same numbers as of the dense rows."""
    counts = np.random.default_rng(0).poisson(0.4, (60, 6)).astype(float)
    counts = sparse.csr_array(counts)
    y = counts.toarray() @ np.arange(6.0)
    for model in (Ridge(), PoissonRegressor()):
        model.fit(counts, y)
        dense = SobolImportance(keep_rows=True).fit(model, counts.toarray())
        for order in ("total", "first"):
            imp = SobolImportance(order=order).fit(model, counts)
            np.testing.assert_allclose(imp.total_, dense.total_, rtol=1e-9)
            np.testing.assert_allclose(imp.first_order_, dense.first_order_, rtol=1e-9)
        np.testing.assert_allclose(
            imp.total_standard_errors_, dense.total_standard_errors_, rtol=1e-9
        )


def test_table_and_comparison():
    """Both orders in the table; one walk beside other measures."""
    frame = pl.DataFrame(X, schema=list("abcde"))
    forest = RandomForestRegressor(5, random_state=0).fit(frame.to_pandas(), Y)

    def f(frame):
        return forest.predict(frame.to_pandas())

    imp = SobolImportance(order="first").fit(f, frame)
    table = imp.to_frame()
    assert isinstance(table, pl.DataFrame)
    order = [table["feature"].to_list().index(name) for name in "abcde"]
    np.testing.assert_array_equal(table["total"].to_numpy()[order], imp.total_)
    assert table["importance"].to_list() == table["first_order"].to_list()
    together = compare_importances(
        MODELS["forest"],
        X,
        Y,
        {
            "total": SobolImportance(),
            "first": SobolImportance(order="first"),
            "pairs": SensitivityImportance(),
        },
    )
    alone = SobolImportance().fit(MODELS["forest"], X)
    (model,) = {model for model, _ in together.results}
    for name, expected in (("total", alone.total_), ("first", alone.first_order_)):
        found = together.results[model, name].importances
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_bars_of_two_parts():
    """The total, and the part that an input has by itself in front."""
    display = SobolImportance().fit(ishigami, X).plot()
    both = display.ax_.containers
    imp = SobolImportance().fit(ishigami, X)
    np.testing.assert_array_equal(display.intervals, imp.result_.ends().T)
    order = np.argsort(-imp.total_, kind="stable")
    np.testing.assert_allclose([bar.get_width() for bar in both[0]], imp.total_[order])
    np.testing.assert_allclose(
        [bar.get_width() for bar in both[1]], imp.first_order_[order]
    )
    legend = [text.get_text() for text in display.figure_.legends[0].get_texts()]
    assert legend == ["by itself", "with interactions"]
    outputs = SobolImportance().fit(two_outputs, X).plot(per_output=True)
    assert len(outputs.ax_.containers) >= 2
    plt.close("all")


def test_categorical_features_take_all_their_levels():
    """A named grid is for numbers alone, so codes of categories keep every value."""
    X = np.random.default_rng(0).integers(0, 12, (40, 2)).astype(float)

    def model(X):
        return (X[:, 0] % 3) * (1 + X[:, 1])

    exact = SobolImportance().fit(model, X)
    coarse = SobolImportance(grid="equidistant").fit(model, X)
    codes = SobolImportance(grid="equidistant", categorical_features=[0, 1])
    codes.fit(model, X)
    np.testing.assert_allclose(codes.total_, exact.total_, rtol=1e-12)
    assert not np.allclose(coarse.total_, exact.total_)


@pytest.mark.parametrize(
    ("model", "method"),
    [
        (SVR(), "predict"),
        (SVR(C=100.0, gamma=0.01), "predict"),
        (SVR(kernel="poly"), "predict"),
        (SVC(), "decision_function"),
        (KernelRidge(kernel="rbf", gamma=0.2), "predict"),
    ],
    ids=str,
)
def test_kernel_machines_have_the_indices_of_all_moved_rows(model, method):
    """Variances of the n² predictions, divided by that of the unmoved ones."""
    random = np.random.RandomState(0)
    table = random.normal(size=(60, 3))
    y = table[:, 0] * table[:, 1] + np.sin(table[:, 2])
    model.fit(table, y > 0 if method == "decision_function" else y)
    ask, n = getattr(model, method), len(table)
    found = SobolImportance(estimation="exact").fit(model, table)
    assert "black box" not in found.response_path_
    for j in range(3):
        moved = np.repeat(table, n, axis=0)
        moved[:, j] = np.tile(table[:, j], n)
        curves, whole = ask(moved).reshape(n, n), ask(table).var()
        # sums of dual coefficients times kernels that are at most about 1
        size = np.abs(model.dual_coef_).sum() + np.abs(curves).max()
        rounding = 100 * np.finfo(float).eps * size**2 / whole
        total, first = curves.var(axis=1).mean(), curves.mean(axis=0).var()
        assert found.total_[j] == pytest.approx(total / whole, abs=rounding)
        assert found.first_order_[j] == pytest.approx(first / whole, abs=rounding)
