"""Losses of single rows against scikit-learn's metrics and by hand."""

import warnings

import numpy as np
import pytest
from combinations import each
from messages import says
from response_oracle import beside_black_box
from roundoff import roundoff
from sklearn.datasets import make_multilabel_classification
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import (
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    TweedieRegressor,
)
from sklearn.metrics import (
    accuracy_score,
    brier_score_loss,
    log_loss,
    mean_absolute_error,
    mean_gamma_deviance,
    mean_poisson_deviance,
    mean_squared_error,
    mean_tweedie_deviance,
)
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC, LinearSVC

from skvarimp import PermutationImportance
from skvarimp._data.table import Feature
from skvarimp._measures.losses import make_loss
from skvarimp._measures.problem import Request, make_problem
from skvarimp._response.losses import (
    CallableLoss,
    Loss,
    SquaredErrorLoss,
    loss_of_rows,
)
from skvarimp._response.rows import Rows
from skvarimp._response.shape import Cells, Chunk

RANDOM = np.random.RandomState(0)
X = RANDOM.randn(40, 3)
TWO = np.where(X[:, 0] + 0.8 * RANDOM.randn(40) > 0, "yes", "no")
THREE = np.digitize(X[:, 0] + 0.5 * RANDOM.randn(40), [-0.5, 0.5]) * 2 - 2
OUTPUTS = X @ RANDOM.randn(3, 2) + RANDOM.randn(40, 2)

BINARY = LogisticRegression().fit(X, TWO)
FOREST = RandomForestClassifier(9, random_state=0).fit(X, THREE)
LINEAR = LinearRegression().fit(X, OUTPUTS)


def mean_loss(loss, model, y, response_method="auto"):
    """Mean unmoved loss."""
    problem = make_problem(model, X, y, None, response_method)
    made = make_loss(loss, problem.model, problem.y, len(problem.base))
    losses = loss_of_rows(made, problem.y, problem.base)
    assert losses.shape == (len(X),)
    assert losses.dtype == np.float64
    return losses.mean(), made.name


@pytest.mark.parametrize(
    ("loss", "model", "y", "method", "expected"),
    [
        (
            "squared_error",
            LINEAR,
            OUTPUTS,
            "auto",
            mean_squared_error(OUTPUTS, LINEAR.predict(X)),
        ),
        (
            "absolute_error",
            LINEAR,
            OUTPUTS,
            "auto",
            mean_absolute_error(OUTPUTS, LINEAR.predict(X)),
        ),
        ("log_loss", BINARY, TWO, "auto", log_loss(TWO, BINARY.predict_proba(X))),
        ("log_loss", FOREST, THREE, "auto", log_loss(THREE, FOREST.predict_proba(X))),
        (
            "squared_error",
            BINARY,
            TWO,
            "auto",
            brier_score_loss(TWO, BINARY.predict_proba(X)[:, 1], pos_label="yes"),
        ),
        (
            "squared_error",
            FOREST,
            THREE,
            "auto",
            brier_score_loss(THREE, FOREST.predict_proba(X), scale_by_half=False) / 3,
        ),
        ("zero_one", BINARY, TWO, "auto", 1 - BINARY.score(X, TWO)),
        ("zero_one", BINARY, TWO, "predict", 1 - BINARY.score(X, TWO)),
        ("zero_one", BINARY, TWO, "decision_function", 1 - BINARY.score(X, TWO)),
        ("zero_one", FOREST, THREE, "auto", 1 - FOREST.score(X, THREE)),
        ("zero_one", FOREST, THREE, "predict", 1 - FOREST.score(X, THREE)),
        ("absolute_error", FOREST, THREE, "predict", None),
    ],
)
def test_equals_scikit_learns_metric(loss, model, y, method, expected):
    """On the unmoved rows."""
    mean, name = mean_loss(loss, model, y, method)
    assert name == loss
    if expected is None:  # two of three indicators differ in a wrong row
        expected = 2 / 3 * (1 - accuracy_score(y, model.predict(X)))
    np.testing.assert_allclose(
        mean, expected, rtol=1e-12, atol=roundoff(len(y), expected)
    )


def test_auto_fits_the_response():
    """Probabilities, scores and labels, values."""
    shallow = RandomForestClassifier(9, max_depth=1, random_state=0).fit(X, THREE)
    assert mean_loss("auto", shallow, THREE)[1] == "log_loss"
    assert mean_loss("auto", shallow, THREE, "predict")[1] == "zero_one"
    assert mean_loss("auto", LinearSVC().fit(X, TWO), TWO)[1] == "zero_one"
    assert mean_loss("auto", LINEAR, OUTPUTS)[1] == "squared_error"
    assert mean_loss("auto", lambda X: X[:, 0], X[:, 1])[1] == "squared_error"


def test_three_class_scores_choose_the_largest():
    """One-vs-rest decision functions; one-vs-one ones cannot be read."""
    machine = SVC(decision_function_shape="ovr").fit(X, THREE)
    expected = 1 - machine.score(X, THREE)
    assert abs(mean_loss("zero_one", machine, THREE)[0] - expected) < 1e-12
    # four classes have six one-vs-one scores
    four = np.digitize(X[:, 0], [-0.5, 0.0, 0.5])
    pairs = SVC(decision_function_shape="ovo").fit(X, four)
    with pytest.raises(ValueError, match="6 outputs of `decision_function`"):
        mean_loss("zero_one", pairs, four)
    assert mean_loss("zero_one", pairs, four, "predict")[0] == 1 - pairs.score(X, four)


def test_several_label_columns():
    """The mean over the columns of y, of classes two and three."""
    y = np.column_stack([THREE, TWO == "yes"]).astype(int)
    model = RandomForestClassifier(9, max_depth=2, random_state=0).fit(X, y)
    three, two = model.predict_proba(X)
    expected = (log_loss(y[:, 0], three) + log_loss(y[:, 1], two)) / 2
    np.testing.assert_allclose(mean_loss("log_loss", model, y)[0], expected)
    wrong = np.mean(model.predict(X) != y)
    np.testing.assert_allclose(mean_loss("zero_one", model, y)[0], wrong)
    np.testing.assert_allclose(mean_loss("zero_one", model, y, "predict")[0], wrong)


def test_sure_and_wrong_costs_at_most_minus_log_eps():
    """Probability 0 of the true class is taken as eps, as in scikit-learn."""

    class Sure:
        classes_ = np.array([0, 1])

        def predict_proba(self, X):
            return np.column_stack([np.ones(len(X)), np.zeros(len(X))])

    y = np.ones(len(X), dtype=int)
    assert mean_loss("log_loss", Sure(), y)[0] == -np.log(np.finfo(float).eps)
    np.testing.assert_allclose(mean_loss("log_loss", Sure(), 0 * y)[0], 0, atol=1e-15)


def test_callables_see_rows():
    """y and outputs of one length; (n,) for one output, (n, n_outputs) for more."""
    RANDOM = np.random.RandomState(0)
    seen = []

    def pinball(y, predicted):
        seen.append((y.shape, predicted.shape))
        gap = y - predicted
        return np.maximum(0.9 * gap, -0.1 * gap)

    outputs = RANDOM.randn(1, 4, 5)
    y = RANDOM.randn(4)
    loss = CallableLoss(pinball)
    values = loss(y[:, np.newaxis], outputs)
    for i in range(4):
        for k in range(5):
            gap = y[i] - outputs[0, i, k]
            assert values[i, k] == max(0.9 * gap, -0.1 * gap)
    assert seen == [((20,), (20,))]
    assert loss.name == "pinball"
    two = CallableLoss(lambda y, f: np.abs(y - f).sum(axis=1))
    outputs, y = RANDOM.randn(2, 4, 5), RANDOM.randn(4, 2)
    values = two(y[:, np.newaxis], outputs)
    np.testing.assert_allclose(values[3, 1], np.abs(y[3] - outputs[:, 3, 1]).sum())
    label = CallableLoss(lambda y, f: (y == "yes") * f)
    assert label(TWO[:4, np.newaxis], outputs[:1]).shape == (4, 5)


@pytest.mark.parametrize(
    ("function", "match"),
    [
        (
            lambda y, f: np.mean((y - f) ** 2),
            says("`loss` … (40,), got () … scoring=make_scorer"),
        ),
        (lambda y, f: np.full(len(y), np.nan), "NaN or infinity from <lambda>"),
    ],
)
def test_callables_that_give_no_loss_a_row(function, match):
    """A mean is no loss of rows; NaN is none at all."""
    with pytest.raises(ValueError, match=match):
        mean_loss(function, lambda X: X[:, 0], X[:, 1])


MULTILABEL_X, MULTILABEL_Y = make_multilabel_classification(40, 3, random_state=0)


@pytest.mark.parametrize(
    ("loss", "model", "y", "method", "match"),
    [
        ("log_loss", LINEAR, OUTPUTS, "auto", "needs the probabilities"),
        ("log_loss", BINARY, TWO, "predict", "needs the probabilities"),
        ("squared_error", BINARY, TWO, "decision_function", "cannot compare scores"),
        ("squared_error", LINEAR, OUTPUTS[:, 0], "auto", "for 2 outputs"),
        ("auto", LINEAR, TWO, "auto", says("loss='auto' … got dtype … callable loss")),
        ("auto", FOREST, THREE + 1, "auto", says("y … label 3 … [-2, 0, 2]")),
        ("zero_one", BINARY, THREE, "auto", says("y … label 2 … ['no', 'yes']")),
        (
            "zero_one",
            BINARY,
            np.column_stack([TWO, TWO]),
            "auto",
            says("loss='zero_one' … got y of shape (40, 2) … response_method="),
        ),
    ],
)
def test_targets_that_do_not_fit(loss, model, y, method, match):
    """Named with the way out."""
    with pytest.raises(ValueError, match=match):
        mean_loss(loss, model, y, method)


def test_labels_of_a_network_are_one_column_of_y_each():
    """Its probabilities do not sum to 1: mean of the labels' log losses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network = MLPClassifier(hidden_layer_sizes=(2,), max_iter=3, random_state=0)
        network.fit(MULTILABEL_X, MULTILABEL_Y)
    problem = make_problem(network, MULTILABEL_X, MULTILABEL_Y, None, "auto")
    loss = make_loss("auto", problem.model, problem.y, len(problem.base))
    chances = network.predict_proba(MULTILABEL_X)
    expected = [log_loss(y, p) for y, p in zip(MULTILABEL_Y.T, chances.T)]
    np.testing.assert_allclose(
        loss_of_rows(loss, problem.y, problem.base).mean(), np.mean(expected)
    )
    loss = make_loss(
        lambda y, p: np.mean((y - p) ** 2, axis=1), problem.model, problem.y, 5
    )
    np.testing.assert_allclose(
        loss_of_rows(loss, problem.y, problem.base).mean(),
        np.mean((MULTILABEL_Y - chances) ** 2),
    )


def test_two_moments_equal_the_loss_itself():
    """The squared error from first and second moments, block for block."""
    random = np.random.RandomState(1)
    ice = random.randn(2, 3, 7, 5)
    w, p = random.rand(7), random.rand(2, 5)
    w, p = w / w.sum(), p / p.sum(axis=1, keepdims=True)
    y = random.randn(7, 3)
    for base in random.randn(2, 3, 7):
        rows = Rows(None, np.arange(7), w, base, None, y)
        chunk = Chunk(rows, Cells(p), ice)
        largest = (np.abs(y).max() + np.abs(ice).max() + np.abs(base).max()) ** 2

        def squared(y, outputs):
            return np.mean((np.moveaxis(y, -1, 0) - outputs) ** 2, axis=0)

        literal = Loss(squared).reduce(chunk)
        moments = SquaredErrorLoss(lambda y: y.T).reduction(False).reduce(chunk)
        np.testing.assert_allclose(
            moments.rows, literal.rows, atol=roundoff(35, largest)
        )
        np.testing.assert_allclose(
            moments.cells, literal.cells, atol=roundoff(35, largest)
        )


LINES = {
    "identity": (Ridge(), lambda y: y, ["squared_error", "absolute_error"]),
    "two lines": (
        LinearRegression(),
        lambda y: np.column_stack([y, y**2]),
        ["squared_error", "absolute_error"],
    ),
    "exponential": (
        PoissonRegressor(),
        lambda y: np.exp(y / 3),
        ["squared_error", "absolute_error"],
    ),
    "logistic": (
        LogisticRegression(),
        lambda y: np.where(y > 0, "b", "a"),
        ["squared_error", "log_loss", "absolute_error", "zero_one"],
    ),
    "clear logistic": (  # scores up to 17
        LogisticRegression(C=30.0),
        lambda y: y > 0.3,
        ["squared_error", "log_loss"],
    ),
    "steep logistic": (  # scores beyond the closed form of the log loss
        LogisticRegression(C=1e4),
        lambda y: y > 0.3,
        ["squared_error", "log_loss"],
    ),
}


@pytest.mark.parametrize(("name", "weighted"), each(LINES, [False, True]))
def test_losses_of_lines_equal_the_black_box(name, weighted):
    """Closed forms of more than 64 values; groups, ties, a constant column."""
    model, target, losses = LINES[name]
    random = np.random.RandomState(0)
    data = random.randn(120, 4)
    data[:, 2], data[:, 3] = np.round(data[:, 2]), 2.0
    noise = {"clear logistic": 0.4, "steep logistic": 0.1}.get(name, 1.0)
    y = target(data[:, 0] + data[:, 1] / 2 + noise * random.randn(120))
    model.fit(data, y)
    weights = random.uniform(0.2, 2, 120) if weighted else None
    problem = make_problem(model, data, y, weights, "auto")
    features = [*(Feature(f"x{j}", (j,)) for j in range(4)), Feature("g", (0, 2))]
    fast = problem.response(features)
    assert fast.path == "linear"
    for loss in losses:
        made = make_loss(loss, problem.model, problem.y, len(problem.base))
        for relative in (False, True):
            request = Request("all", [made.reduction(relative)], [np.ones(1)])
            ((got, own),) = beside_black_box(problem, fast, features, [request])
            close = {"rtol": 1e-9, "atol": 1e-12}
            np.testing.assert_allclose(got.importances, own.importances, **close)
            np.testing.assert_allclose(
                got.standard_errors, own.standard_errors, rtol=1e-8, atol=1e-9
            )
            assert got.importances[3] == relative


def test_costs_of_losses_without_a_closed_form():
    """Zero-one loss of a logistic model forms every value, its log loss none."""
    model = LogisticRegression().fit(X, TWO)
    problem = make_problem(model, X, TWO, None, "auto")
    response = problem.response([Feature("x0", (0,))])
    costs = [
        response.cost(
            10_000, 10_000, make_loss(loss, problem.model, TWO, 1).reduction(False)
        )
        for loss in ("log_loss", "squared_error", "zero_one")
    ]
    assert costs[0] == costs[1] < costs[2] / 10


AMOUNTS = np.exp(X @ [0.4, -0.3, 0.0]) * RANDOM.gamma(2.0, 0.5, 40)
COUNTS = RANDOM.poisson(AMOUNTS)


@pytest.mark.parametrize(
    ("loss", "model", "y", "metric"),
    [
        ("poisson_deviance", PoissonRegressor(), COUNTS, mean_poisson_deviance),
        ("gamma_deviance", GammaRegressor(), AMOUNTS, mean_gamma_deviance),
        (
            "tweedie_deviance",
            TweedieRegressor(power=1.7, link="log"),
            COUNTS,
            lambda y, f: mean_tweedie_deviance(y, f, power=1.7),
        ),
        (
            "tweedie_deviance",
            PoissonRegressor(),
            COUNTS,
            lambda y, f: mean_tweedie_deviance(y, f, power=1.5),
        ),
    ],
)
def test_deviances(loss, model, y, metric):
    """Unmoved, and gained over all pairs of a row and a donor."""
    model = model.fit(X, y)
    mean, name = mean_loss(loss, model, y)
    right = metric(y, model.predict(X))
    assert name == loss
    assert mean == pytest.approx(right, rel=1e-12)
    imp = PermutationImportance(loss=loss, estimation="exact").fit(model, X, y)
    assert imp.baseline_ == pytest.approx(right, rel=1e-12)
    for j in range(3):
        moved = []
        for donor in X:
            rows = X.copy()
            rows[:, j] = donor[j]
            moved.append(metric(y, model.predict(rows)))
        # of some 40 terms of a deviance, subtracted from one of the same size
        assert imp.importances_[j] == pytest.approx(
            np.mean(moved) - right, abs=1e-12 * np.max(moved)
        )
    assert loss.replace("_", " ") in imp.result_.caption()


@pytest.mark.parametrize(
    ("loss", "model", "y", "message"),
    [
        ("poisson_deviance", LinearRegression(), COUNTS - 1, "at least 0, got -1"),
        ("gamma_deviance", LinearRegression(), COUNTS, "above 0, got 0"),
        ("poisson_deviance", LinearRegression(), COUNTS, "predictions above 0, got -"),
        (
            "poisson_deviance",
            DummyRegressor(),
            0 * COUNTS,
            "predictions above 0, got 0,",
        ),
        ("tweedie_deviance", LogisticRegression(), TWO, "log_loss"),
    ],
)
def test_deviances_of_what_has_none(loss, model, y, message):
    """Each says what it needs, and names another loss."""
    measure = PermutationImportance(loss=loss)
    with pytest.raises(ValueError, match=message):
        measure.fit(model.fit(X, y), X, y)
