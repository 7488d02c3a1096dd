"""Permutation importance: exact against a double loop, sampled against exact."""

import warnings

import joblib
import numpy as np
import pytest
from combinations import each, half, pairwise
from literal import standard_error
from literal_permutation import (
    FOREST,
    LOGISTIC,
    RIDGE,
    THREE,
    TREES,
    TWO,
    WEIGHTS,
    X,
    Y,
    double_loop,
)
from messages import says
from roundoff import roundoff
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, RidgeClassifier
from sklearn.metrics import mean_squared_error, r2_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from skvarimp import PermutationImportance, compare_importances


def pinball(y, f):
    """A loss that is none of the four."""
    return np.maximum(0.8 * (y - f), -0.2 * (y - f))


def log_losses(model):
    """Of a classifier's own probabilities."""

    def losses(X, y):
        p = model.predict_proba(X)[
            np.arange(len(X)), np.searchsorted(model.classes_, y)
        ]
        return -np.log(np.maximum(p, np.finfo(float).eps))

    return losses


def votes(model):
    """Wrong classes, the first of those that are equally probable but for rounding."""

    def losses(X, y):
        chosen = np.round(model.predict_proba(X), 9).argmax(axis=1)
        return model.classes_[chosen] != y

    return losses


NEIGHBOURS = KNeighborsClassifier(5).fit(X, THREE)
KERNEL = KernelRidge(kernel="rbf", gamma=0.5).fit(X, Y)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # stops early
    NETWORK = MLPRegressor(
        hidden_layer_sizes=(4,), solver="lbfgs", max_iter=30, random_state=0
    ).fit(X, Y)
CASES = {
    "squared, forest": (FOREST, Y, "auto", lambda X, y: (y - FOREST.predict(X)) ** 2),
    "squared, linear": (
        RIDGE,
        Y,
        "squared_error",
        lambda X, y: (y - RIDGE.predict(X)) ** 2,
    ),
    "squared, kernel": (KERNEL, Y, "auto", lambda X, y: (y - KERNEL.predict(X)) ** 2),
    "squared, network": (
        NETWORK,
        Y,
        "auto",
        lambda X, y: (y - NETWORK.predict(X)) ** 2,
    ),
    "absolute, forest": (
        FOREST,
        Y,
        "absolute_error",
        lambda X, y: np.abs(y - FOREST.predict(X)),
    ),
    "absolute, linear": (
        RIDGE,
        Y,
        "absolute_error",
        lambda X, y: np.abs(y - RIDGE.predict(X)),
    ),
    "callable, forest": (
        FOREST,
        Y,
        pinball,
        lambda X, y: pinball(y, FOREST.predict(X)),
    ),
    "callable, linear": (RIDGE, Y, pinball, lambda X, y: pinball(y, RIDGE.predict(X))),
    "log, two classes": (LOGISTIC, TWO, "auto", log_losses(LOGISTIC)),
    "log, three classes": (NEIGHBOURS, THREE, "auto", log_losses(NEIGHBOURS)),
    "log, trees": (TREES, THREE, "log_loss", log_losses(TREES)),
    "zero-one, trees": (TREES, THREE, "zero_one", votes(TREES)),
    "zero-one, two classes": (
        LOGISTIC,
        TWO,
        "zero_one",
        lambda X, y: LOGISTIC.predict(X) != y,
    ),
    "squared, three classes": (
        TREES,
        THREE,
        "squared_error",
        lambda X, y: np.mean(
            ((y[:, None] == TREES.classes_) - TREES.predict_proba(X)) ** 2, axis=1
        ),
    ),
}


@pytest.mark.parametrize(
    ("case", "weighted", "relative"),
    half(pairwise(CASES, [False, True], [False, True])),
)
def test_exact_equals_a_double_loop(case, weighted, relative):
    """Four losses and callables, ties, weights, a group, ratios; every family."""
    model, y, loss, losses = CASES[case]
    weights = WEIGHTS if weighted else None
    features = {"a": 0, "ties": 3, "both": [1, 3]}
    imp = PermutationImportance(
        loss=loss, estimation="exact", relative=relative, features=features
    ).fit(model, X, y, sample_weight=weights)
    expected = [
        double_loop(losses, X, y, columns, weights, relative)
        for columns in ([0], [3], [1, 3])
    ]
    np.testing.assert_allclose(imp.importances_, expected, rtol=1e-9, atol=1e-12)
    w = np.ones(len(X)) if weights is None else weights
    np.testing.assert_allclose(imp.baseline_, np.average(losses(X, y), weights=w))
    assert imp.importances_per_output_.shape == (3, 1)
    assert imp.estimation_ == "exact"


def test_linear_model_in_closed_form():
    """2 w^2 Var(x) + 2 w Cov(e, x), variances with divisor n."""
    model = LinearRegression().fit(X, Y)
    held_out = np.random.RandomState(1).permutation(len(X))
    y = Y[held_out] * 0.7  # residuals that do correlate with x
    imp = PermutationImportance().fit(model, X, y)
    e = y - model.predict(X)
    covariance = (e - e.mean()) @ (X - X.mean(axis=0)) / len(X)
    expected = 2 * model.coef_**2 * X.var(axis=0) + 2 * model.coef_ * covariance
    np.testing.assert_allclose(imp.importances_, expected, rtol=1e-10)
    assert np.any(expected < 0)


def test_unused_and_constant_inputs():
    """Exactly 0; a ratio of exactly 1."""
    data = np.column_stack([X[:, :3], np.full(len(X), 2.0)])

    def f(X):
        return np.exp(X[:, 0]) * X[:, 3] / 3 + X[:, 1]

    for estimation in ("exact", "sampled"):
        for relative in (False, True):
            imp = PermutationImportance(estimation=estimation, relative=relative)
            imp.fit(f, data, Y)
            assert imp.importances_[2:].tolist() == [relative, relative]
            assert imp.standard_errors_[2:].tolist() == [0, 0]
    for loss in ("absolute_error", "zero_one", pinball):
        imp = PermutationImportance(loss=loss).fit(f, data, Y)
        assert imp.importances_[2:].tolist() == [0, 0]
    sensible = PermutationImportance(scoring="r2", random_state=0)
    data[:, 3] = 0.0
    model = KNeighborsRegressor().fit(data[:, :3], Y)
    piped = make_pipeline(
        make_column_transformer(("passthrough", [0, 1, 2])), clone(model)
    ).fit(data, Y)
    assert sensible.fit(piped, data, Y).importances_[3] == 0


@pytest.mark.parametrize(
    ("case", "relative"),
    each([(FOREST, Y, "auto"), (LOGISTIC, TWO, "log_loss")], [False, True]),
)
def test_sampled_converges_to_exact(case, relative):
    """Within the Monte Carlo errors, which shrink; standard errors agree."""
    model, y, loss = case
    exact = PermutationImportance(loss=loss, relative=relative, estimation="exact")
    exact.fit(model, X, y, sample_weight=WEIGHTS)
    drawn = clone(exact).set_params(estimation="sampled", random_state=0)
    few = clone(drawn).fit(model, X, y, sample_weight=WEIGHTS)
    many = drawn.set_params(n_draws=30).fit(model, X, y, sample_weight=WEIGHTS)
    n = np.count_nonzero(WEIGHTS)
    gap = np.abs(many.importances_ - exact.importances_)
    some = many.monte_carlo_errors_ > 0  # a column of few values is exact
    rounding = roundoff(n, 100.0)
    assert np.all(gap <= 4 * many.monte_carlo_errors_ + rounding * ~some)
    ratio = few.monte_carlo_errors_[some] / many.monte_carlo_errors_[some]
    # finer strata take off more than as many independent draws
    assert np.all(ratio >= np.sqrt(30 / 6))
    np.testing.assert_allclose(many.standard_errors_, exact.standard_errors_, rtol=0.1)
    assert exact.monte_carlo_errors_ is None
    assert many.response_path_ == f"black box (30 draws of each of {n} rows)"


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
def test_errors_of_drawn_ratios_are_those_of_exact_ones(loss):
    """Rows move the mean loss that drawn ratios are divided by, too."""
    noisy = Y + 2.0 * np.random.default_rng(0).standard_t(3, len(Y))
    exact = PermutationImportance(loss=loss, relative=True, estimation="exact")
    exact.fit(RIDGE, X, noisy)
    drawn = clone(exact).set_params(
        estimation="sampled", n_draws=30, tol=None, random_state=0
    )
    drawn.fit(RIDGE, X, noisy)
    matters = exact.importances_ > 1.05
    assert matters.any()
    np.testing.assert_allclose(
        drawn.standard_errors_[matters], exact.standard_errors_[matters], rtol=0.1
    )


@pytest.mark.parametrize(
    ("loss", "relative"), each(["squared_error", "absolute_error"], [True, False])
)
def test_standard_errors_are_the_derivative_by_the_rows(loss, relative):
    """The influences are derivatives by the weights: rows and donors, delta method."""
    imp = PermutationImportance(loss=loss, relative=relative, estimation="exact")
    n, rows, y = 20, X[:20], Y[:20]
    errors = imp.fit(RIDGE, rows, y).standard_errors_
    slopes, step = np.empty((n, 5)), 1e-4
    for i in range(n):
        up, down = np.ones(n), np.ones(n)
        up[i] += step
        down[i] -= step
        higher = imp.fit(RIDGE, rows, y, sample_weight=up).importances_
        lower = imp.fit(RIDGE, rows, y, sample_weight=down).importances_
        slopes[i] = (higher - lower) / (2 * step)
    np.testing.assert_allclose(errors, standard_error(n * slopes), rtol=1e-5)


def test_integer_weights_equal_repeated_rows():
    """Importance and ratio; rows of weight 0 are ignored."""
    counts = np.arange(len(X)) % 3
    repeated = np.repeat(X, counts, axis=0), np.repeat(Y, counts)
    for relative in (False, True):
        imp = PermutationImportance(relative=relative)
        weighted = imp.fit(FOREST, X, Y, sample_weight=counts).importances_
        imp.fit(FOREST, *repeated)
        np.testing.assert_allclose(imp.importances_, weighted, rtol=1e-9, atol=1e-12)


def test_several_outputs():
    """The mean of the outputs' squared errors; callables see them side by side."""
    y = np.column_stack([Y, X[:, 0] * 10])
    model = RandomForestRegressor(4, random_state=0).fit(X, y)

    def losses(X, y):
        return np.mean((y - model.predict(X)) ** 2, axis=1)

    imp = PermutationImportance().fit(model, X, y)
    expected = [double_loop(losses, X, y, [j]) for j in range(5)]
    np.testing.assert_allclose(imp.importances_, expected, rtol=1e-9, atol=1e-12)
    assert imp.output_names_ == ["squared_error"]

    def largest(y, f):
        return np.abs(y - f).max(axis=1)

    imp = PermutationImportance(loss=largest, features=[0]).fit(model, X, y)
    expected = double_loop(lambda X, y: largest(y, model.predict(X)), X, y, [0])
    np.testing.assert_allclose(imp.importances_, expected, rtol=1e-9)
    assert imp.output_names_ == ["largest"]


def test_estimation_auto():
    """Exact where trees or little data make it cheap, drawn where it is not."""
    n = 1500
    data = np.random.RandomState(0).randn(n, 2)
    target = data[:, 0]
    slow = KNeighborsRegressor(2).fit(data, target)
    assert PermutationImportance().fit(FOREST, X, Y).estimation_ == "exact"
    imp = PermutationImportance(n_draws=4, random_state=0).fit(slow, data, target)
    assert imp.estimation_ == "sampled"
    few = np.random.RandomState(0).randint(0, 3, (n, 2)).astype(float)
    assert PermutationImportance().fit(slow, few, target).estimation_ == "exact"


def test_same_seed_same_numbers():
    """An int repeats itself, whatever n_jobs; other seeds differ."""
    for parameters in (
        {"estimation": "sampled"},
        {"scoring": "r2"},
        {"rows": "oob", "estimation": "sampled"},
    ):
        imp = PermutationImportance(random_state=3, n_draws=4, **parameters)
        first = imp.fit(FOREST, X, Y).importances_
        with joblib.parallel_config(backend="threading", n_jobs=2):
            again = clone(imp).fit(FOREST, X, Y).importances_
        np.testing.assert_allclose(again, first, rtol=1e-12)  # trees add up in threads
        assert np.array_equal(imp.fit(FOREST, X, Y).importances_, first)
        imp.set_params(random_state=4).fit(FOREST, X, Y)
        assert not np.array_equal(first, imp.importances_)


def test_bad_input():
    """Before the model is asked to move anything."""
    calls = []

    def f(X):
        calls.append(len(X))
        return X[:, 0]

    for parameters, error, match in [
        ({"scoring": "r2", "loss": "squared_error"}, ValueError, "`loss` cannot be"),
        ({"scoring": "r2", "loss": pinball}, ValueError, "`loss` cannot be"),
        ({"scoring": "r2", "relative": True}, ValueError, "`relative` cannot be"),
        ({"scoring": "r2", "rows": "oob"}, ValueError, "`rows` cannot be"),
        ({"scoring": "r2", "estimation": "exact"}, ValueError, "needs a loss"),
        ({"scoring": "r2"}, TypeError, "bare callable"),
        ({"scoring": "r3"}, ValueError, "not a valid"),
        (
            {"scoring": mean_squared_error},
            ValueError,
            r"make_scorer\(mean_squared_error, greater_is_better=False\)",
        ),
        ({"scoring": r2_score}, ValueError, r"make_scorer\(r2_score\)"),
        ({"loss": "squared"}, ValueError, "loss"),
        ({"loss": "log_loss"}, ValueError, "needs the probabilities"),
        ({"n_draws": 5}, ValueError, "n_draws"),
        ({"rows": "train"}, ValueError, "rows"),
        ({"relative": "yes"}, ValueError, "relative"),
    ]:
        with pytest.raises(error, match=match):
            PermutationImportance(**parameters).fit(f, X, Y)
    with pytest.raises(ValueError, match="y is required"):
        PermutationImportance().fit(f, X)
    with pytest.raises(ValueError, match="y has 39 rows"):
        PermutationImportance().fit(f, X, Y[1:])
    with pytest.raises(ValueError, match=says("relative=True … 0 … relative=False")):
        PermutationImportance(relative=True).fit(f, X, X[:, 0])
    with pytest.raises(ValueError, match="cannot compare scores"):
        PermutationImportance(loss="squared_error").fit(LinearSVC().fit(X, TWO), X, TWO)
    with pytest.raises(ValueError, match="RandomForestRegressor is a regressor"):
        PermutationImportance(loss="zero_one").fit(FOREST, X, Y)
    with pytest.raises(ValueError, match="one finite number"):
        PermutationImportance(scoring=lambda m, X, y: np.nan).fit(FOREST, X, Y)
    with pytest.raises(ValueError, match=says("`loss` … got () … scoring=make_scorer")):
        PermutationImportance(loss=lambda y, f: 0.0).fit(f, X, Y)
    assert all(n == len(X) for n in calls)


def test_shares_a_walk_with_other_measures():
    """`compare_importances` gives the numbers of separate fits."""
    measures = {
        "squared": PermutationImportance(),
        "ratio": PermutationImportance(loss="absolute_error", relative=True),
        "oob": PermutationImportance(rows="oob"),
    }
    table = compare_importances({"forest": FOREST}, X, Y, measures)
    for label, measure in measures.items():
        alone = clone(measure).fit(FOREST, X, Y)
        found = table.results["forest", label].importances
        np.testing.assert_allclose(found, alone.importances_, rtol=1e-12)


@pytest.mark.parametrize(("n_classes", "compiled"), half(each([3, 2], ["1", "0"])))
def test_probabilities_of_0_stay_0(n_classes, compiled, monkeypatch):
    """A sum of leaves that are all 0 is 0, on which 36 nats hang in the log loss."""
    monkeypatch.setenv("SKVARIMP_COMPILED", compiled)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=40), [-0.4, 0.4][: n_classes - 1])
    forest = RandomForestClassifier(300, max_features=1, random_state=0).fit(X, y)
    features = {"one": 0, "two": [0, 1]}
    exact = PermutationImportance(
        loss="log_loss", estimation="exact", features=features
    ).fit(forest, X, y)
    assert exact.response_path_.startswith("trees")
    for importance, columns in zip(exact.importances_, ([0], [0, 1])):
        moved = np.tile(X, (40, 1))  # by each donor
        moved[:, columns] = np.repeat(X[:, columns], 40, axis=0)
        chances = forest.predict_proba(moved)[np.arange(1600), np.tile(y, 40)]
        losses = -np.log(np.maximum(chances, np.finfo(float).eps))
        chances = forest.predict_proba(X)[np.arange(40), y]
        gained = losses.mean() + np.log(np.maximum(chances, np.finfo(float).eps)).mean()
        assert importance == pytest.approx(gained, rel=1e-9)


class Untagged:
    """A model that is not of scikit-learn's kind."""

    def predict(self, X):
        """The first column."""
        return X[:, 0]


def test_scorers_of_models_that_are_not_estimators():
    """Named scorers ask for tags; others, and losses, do not."""
    model, y = Untagged(), X[:, 0] + X[:, 1]
    with pytest.raises(TypeError, match="got Untagged"):
        PermutationImportance(scoring="r2").fit(model, X, y)

    def scorer(estimator, X, y):
        return -np.mean((y - estimator.predict(X)) ** 2)

    found = PermutationImportance(scoring=scorer, n_draws=4, random_state=0)
    by_loss = PermutationImportance(n_draws=4, random_state=0, estimation="sampled")
    found, by_loss = found.fit(model, X, y), by_loss.fit(model, X, y)
    assert found.baseline_ == pytest.approx(-by_loss.baseline_, rel=1e-12)
    assert found.importances_[0] > 0 == found.importances_[1]


def test_scores_of_several_labels():
    """The message says what does not fit, and `predict` does."""
    y = np.column_stack([X[:, 0] > 0, X[:, 1] > 0]).astype(int)
    model = RidgeClassifier().fit(X, y)
    with pytest.raises(ValueError, match="and 2 outputs"):
        PermutationImportance().fit(model, X, y)
    imp = PermutationImportance(response_method="predict").fit(model, X, y)
    assert imp.baseline_ == pytest.approx(np.mean(model.predict(X) != y), rel=1e-12)
