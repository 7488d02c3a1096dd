"""`DerivativeImportance` against its formula, analytic against central differences."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from callback_recorder import Recorder
from literal import standard_error
from messages import says
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestRegressor,
)
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier

from skvarimp import DerivativeImportance
from skvarimp.exceptions import ImportanceWarning

RANDOM = np.random.RandomState(0)
X = RANDOM.randn(80, 4) * [1.0, 3.0, 0.1, 1.0] + [0.0, 5.0, 0.0, -2.0]
Y = X[:, 0] * X[:, 1] + np.sin(10 * X[:, 2]) + X[:, 3]
THREE = np.digitize(Y, np.quantile(Y, [0.3, 0.7]))
WEIGHTS = RANDOM.uniform(0.2, 2.0, 80)


def weighted_sd(x, weights):
    """Divisor n: weights that sum to 1."""
    w = weights / weights.sum()
    return np.sqrt(w @ (x - w @ x) ** 2)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_linear_model_is_coefficient_times_standard_deviation(weights):
    """The slope is the coefficient at every row."""
    w = np.ones(80) if weights is None else weights
    sd = np.array([weighted_sd(x, w) for x in X.T])
    for model in (LinearRegression(), Ridge(), Lasso(0.1)):
        model.fit(X, Y)
        imp = DerivativeImportance().fit(model, X, sample_weight=weights)
        np.testing.assert_allclose(
            imp.importances_, np.abs(model.coef_) * sd, rtol=1e-12
        )
        assert imp.method_ == "analytic"
    scaled = make_pipeline(StandardScaler(), Ridge()).fit(X, Y)
    imp = DerivativeImportance().fit(scaled, X)
    np.testing.assert_allclose(imp.importances_, np.abs(scaled[-1].coef_), rtol=1e-10)


def two_outputs(Z):
    """Known derivatives; column 3 is unused."""
    Z = np.asarray(Z)
    return np.column_stack([Z[:, 0] ** 2 * Z[:, 1], np.sin(Z[:, 2]) + Z[:, 0]])


def test_formula_row_by_row():
    """Eq. 3 of the FIRM paper as a loop, each output by itself, then their mean."""
    w = WEIGHTS / WEIGHTS.sum()
    mean_square = np.zeros((4, 2))
    for i, (a, b, c, _) in enumerate(X):
        slopes = np.array([[2 * a * b, 1.0], [a**2, 0.0], [0.0, np.cos(c)], [0.0, 0.0]])
        mean_square += w[i] * slopes**2
    sd = [weighted_sd(x, WEIGHTS) for x in X.T]
    expected = np.sqrt(mean_square) * np.array(sd)[:, np.newaxis]
    imp = DerivativeImportance().fit(two_outputs, X, sample_weight=WEIGHTS)
    np.testing.assert_allclose(
        imp.importances_per_output_, expected, rtol=1e-7, atol=1e-9
    )
    np.testing.assert_allclose(imp.importances_, expected.mean(axis=1), rtol=1e-7)
    assert imp.importances_[3] == 0
    assert imp.standard_errors_[3] == 0
    assert imp.method_ == "central differences (function has no fast response)"


NETWORK = dict(hidden_layer_sizes=(6, 4), solver="lbfgs", max_iter=60, random_state=0)
Z = StandardScaler().fit_transform(X)
SMOOTH = {
    "logistic, 3 classes": LogisticRegression(),
    "svc": SVC(gamma=0.3),
    "svr, polynomial": SVR(kernel="poly", degree=2, C=0.1, gamma=0.2),
    "svr": SVR(gamma=0.2),
    "kernel ridge": KernelRidge(kernel="rbf", alpha=0.1, gamma=0.2),
    "network, tanh": MLPRegressor(activation="tanh", **NETWORK),
    "network, logistic": MLPClassifier(activation="logistic", **NETWORK),
    "network, relu": MLPRegressor(activation="relu", **NETWORK),
}


@pytest.mark.filterwarnings("ignore:lbfgs failed")
@pytest.mark.parametrize("name", SMOOTH)
def test_analytic_equals_central_differences(name):
    """To 1e-6 of the largest, standard errors too."""
    model = SMOOTH[name]
    y = Y > 0 if name == "svc" else THREE if hasattr(model, "predict_proba") else Y
    model.fit(Z, y)
    method = next(
        m
        for m in ("predict_proba", "decision_function", "predict")
        if hasattr(model, m) and (m == "predict" or hasattr(model, "classes_"))
    )
    analytic = DerivativeImportance(response_method=method).fit(model, Z)
    assert analytic.method_ == "analytic"
    central = DerivativeImportance().fit(lambda Z: getattr(model, method)(Z), Z)
    assert central.method_.startswith("central differences")
    with config_context(working_memory=0.3):  # several blocks
        blocks = clone(analytic).fit(model, Z)
    for attribute in ("importances_", "standard_errors_"):
        a, b = getattr(analytic, attribute), getattr(central, attribute)
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6 * b.max())
        np.testing.assert_allclose(getattr(blocks, attribute), a, rtol=1e-12)


def test_models_without_a_formula():
    """Any other model by central differences: an additive polynomial is known."""
    squares = FunctionTransformer(np.square)
    model = make_pipeline(squares, Ridge(1e-8)).fit(X, X[:, 0] ** 2)
    imp = DerivativeImportance().fit(model, X)
    expected = np.sqrt(np.mean(4 * X[:, 0] ** 2)) * X[:, 0].std()
    assert imp.importances_[0] == pytest.approx(expected, rel=1e-4)
    assert "FunctionTransformer has no formula" in imp.method_


# --- what has no derivative ------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(max_depth=2),
        RandomForestRegressor(3),
        GradientBoostingRegressor(n_estimators=3),
        HistGradientBoostingClassifier(max_iter=3),
        KNeighborsRegressor(),
        make_pipeline(StandardScaler(), RandomForestRegressor(3)),
    ],
    ids=str,
)
def test_piecewise_constant_models_raise(model):
    """Trees and neighbours have derivative 0 where they have one."""
    model.fit(X, THREE)
    with pytest.raises(ValueError, match=r"piecewise constant.*SensitivityImportance"):
        DerivativeImportance().fit(model, X)


def test_labels_raise():
    """`predict` of a classifier jumps between labels."""
    model = LogisticRegression().fit(X, THREE)
    with pytest.raises(ValueError, match=r"gives labels.*SensitivityImportance"):
        DerivativeImportance(response_method="predict").fit(model, X)


def test_small_steps_of_a_model_are_found_out():
    """However small the response is."""
    X = np.random.RandomState(0).randn(30, 2)
    with pytest.raises(ValueError, match="piecewise constant"):
        DerivativeImportance().fit(lambda X: 1e-6 * (X[:, 0] > 0), X)


def test_unknown_piecewise_constant_models_are_found_out():
    """Every difference is 0, but the response moves: no silent zeros."""
    forest = RandomForestRegressor(3, random_state=0).fit(X[:, :2], Y)
    with pytest.raises(ValueError, match=r"by 'x0' is 0.*piecewise constant"):
        DerivativeImportance().fit(lambda X: forest.predict(X[:, :2]), X)
    # columns that are unused have derivative 0, and rightly so
    imp = DerivativeImportance(features=[2, 3])
    imp.fit(lambda X: forest.predict(X[:, :2]), X)
    assert imp.importances_.tolist() == [0.0, 0.0]


def test_groups_and_categories_and_missing_values_raise():
    """They say what to use instead."""

    def model(X):
        return np.asarray(X.iloc[:, 0], dtype=float)

    frame = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": ["x", "y", "x"]})
    frame["c"] = [True, False, True]
    frame["d"] = [1.0, np.nan, 2.0]
    for name in "bc":
        with pytest.raises(TypeError, match=f"'{name}' can have no imp.*Sensitivity"):
            DerivativeImportance(features=[name]).fit(model, frame)
    with pytest.raises(TypeError, match=r"'a\+d' is a group.*Sensitivity"):
        DerivativeImportance(features=[["a", "d"]]).fit(model, frame)
    with pytest.raises(ValueError, match=says("'d' … not finite … no derivative")):
        DerivativeImportance(features=["d"]).fit(model, frame)
    assert DerivativeImportance(features=["a"]).fit(model, frame).importances_[0] > 0
    mixed = DerivativeImportance(features=["b", "a", "c"], keep_rows=True)
    with pytest.warns(ImportanceWarning, match=r"'b', 'c' have no importance \(NaN\)"):
        mixed.fit(model, frame)
    alone = DerivativeImportance(features=["a"], keep_rows=True).fit(model, frame)
    for name in ("importances_", "standard_errors_"):
        found = getattr(mixed, name)
        assert np.isnan(found[[0, 2]]).all()
        np.testing.assert_array_equal(found[1:2], getattr(alone, name))
    np.testing.assert_array_equal(mixed.influences_[:, [1]], alone.influences_)
    assert "complete" not in mixed.to_frame()
    assert "The importances of 2 features are not known." in mixed.summary()


def test_constant_columns_and_responses_are_exactly_zero():
    """Without a warning."""
    C = np.column_stack([X[:, 0], np.full(80, 0.1)])
    imp = DerivativeImportance().fit(lambda C: C[:, 0] * C[:, 1], C)
    assert imp.importances_[1] == imp.standard_errors_[1] == 0
    imp = DerivativeImportance().fit(lambda C: np.full(len(C), 0.1), C)
    assert imp.importances_.tolist() == imp.standard_errors_.tolist() == [0.0, 0.0]


# --- standard errors -------------------------------------------------------------


def literal_error(f_slopes, x, weights):
    """Infinitesimal jackknife: reweigh one row after the other, by a difference."""
    w = weights / weights.sum()

    def theta(w):
        w = w / w.sum()
        mean_square = np.einsum("i,io->o", w, f_slopes**2)
        return np.mean(np.sqrt(mean_square)) * np.sqrt(w @ (x - w @ x) ** 2)

    psi = []
    for i in range(len(w)):
        step = np.zeros(len(w))
        step[i] = 1e-6
        # d theta / d epsilon of w + epsilon (delta_i - w)
        psi.append((theta(w + step) - theta(w - step)) / 2e-6)
    return standard_error(psi, weights)


@pytest.mark.parametrize("weights", [np.ones(80), WEIGHTS], ids=["plain", "weighted"])
def test_standard_errors_are_the_infinitesimal_jackknife(weights):
    """By numerical reweighting, of the mean over two outputs."""
    slopes = np.column_stack([2 * X[:, 0] * X[:, 1], np.ones(80)])
    expected = literal_error(slopes, X[:, 0], weights)
    imp = DerivativeImportance().fit(two_outputs, X, sample_weight=weights)
    assert imp.standard_errors_[0] == pytest.approx(expected, rel=1e-5)


def test_integer_weights_equal_repeated_rows():
    """In the importances; rows of weight 0 are ignored."""
    counts = np.arange(80) % 3
    weighted = DerivativeImportance().fit(two_outputs, X, sample_weight=counts)
    repeated = DerivativeImportance().fit(two_outputs, np.repeat(X, counts, axis=0))
    np.testing.assert_allclose(weighted.importances_, repeated.importances_, rtol=1e-6)


@pytest.mark.thorough
def test_standard_errors_cover_the_population_value():
    """f = x + x^2 of a standard normal x: E (1 + 2x)^2 = 5, importance sqrt(5)."""
    inside = []
    for seed in range(400):
        x = np.random.RandomState(seed).randn(200, 1)
        imp = DerivativeImportance().fit(lambda X: X[:, 0] + X[:, 0] ** 2, x)
        gap = abs(imp.importances_[0] - np.sqrt(5.0))
        inside.append(gap < 1.96 * imp.standard_errors_[0])
    assert 0.92 <= np.mean(inside) <= 0.97


# --- containers, precision, callbacks --------------------------------------------


def test_containers():
    """Frames of integers, sparse rows: the numbers of an array."""
    counts = np.random.RandomState(0).poisson(0.7, (60, 3))

    def model(X):
        if sparse.issparse(X):
            X = X.toarray()
        X = np.asarray(X, dtype=float)
        return X[:, 0] * np.exp(X[:, 1] / 3) + X[:, 2]

    expected = DerivativeImportance().fit(model, counts.astype(float)).importances_
    names = ["a", "b", "c"]
    for other in (
        counts,
        pd.DataFrame(counts, columns=names),
        pl.DataFrame(counts, schema=names),
        sparse.csr_array(counts.astype(float)),
        sparse.csc_matrix(counts.astype(float)),
    ):
        imp = DerivativeImportance().fit(model, other)
        np.testing.assert_allclose(imp.importances_, expected, rtol=1e-9)


def test_single_precision():
    """Steps are wider where rounding is coarser: right to a few per mil."""
    exact = DerivativeImportance().fit(two_outputs, X)
    single = X.astype(np.float32)
    for data, model in (
        (single, two_outputs),
        (X, lambda X: two_outputs(X).astype(np.float32)),
    ):
        imp = DerivativeImportance().fit(model, data)
        np.testing.assert_allclose(imp.importances_, exact.importances_, rtol=5e-3)


def wave(Z):
    """Known derivatives cos(x0), 1/2 and 0; between -3 and 3 for normal inputs."""
    return np.sin(Z[:, 0]) + Z[:, 1] / 2


ROUNDED = {
    "computed in single precision": lambda Z: np.float64(
        np.float32(1e3) + wave(Z.astype(np.float32))
    ),
    "returned in single precision": lambda Z: wave(Z).astype(np.float32),
    "returned in half precision": lambda Z: wave(Z).astype(np.float16),
    "far from 0": lambda Z: 1e12 + wave(Z),
}


@pytest.mark.parametrize("name", ROUNDED)
def test_steps_are_as_wide_as_rounding_asks_for(name):
    """Whatever rounds, the steps are found from the response.

    The widest step, h = 0.1, is off by h^2 / 6 = 0.0017 by the third derivative. A unit
    q in the last place of f, here at most 2^-9, gives a slope an error of rms
    q / sqrt(24) / h = 0.004, of which the mean square counts. Over 300 rows these
    errors add up to 0.004 * 1.96 / sqrt(300) at most.
    """
    Z = np.random.RandomState(1).randn(300, 3)
    deviations = Z.std(axis=0)
    slopes = np.sqrt([np.mean(np.cos(Z[:, 0]) ** 2), 1 / 4, 0.0])
    imp = DerivativeImportance().fit(ROUNDED[name], Z)
    np.testing.assert_allclose(imp.importances_, slopes * deviations, rtol=5e-3)


def test_noise_is_said():
    """No step is good where the noise is as large as the effect."""
    Z = np.random.RandomState(1).randn(50, 2)

    def noisy(Z):
        noise = np.random.RandomState(0).randn(len(Z))
        return Z[:, 0] + 0.1 * Z[:, 1] + 0.05 * noise

    with pytest.warns(ImportanceWarning, match=r"'x1' is uncertain.*differ by \d+%"):
        DerivativeImportance(features=[1]).fit(noisy, Z)


def test_steps_stay_where_the_response_is():
    """Steps that lead to NaN are not insisted on: sqrt ends soon below the rows.

    It takes 0.01 standard deviations, where slopes over h and 2h differ by 3%.
    """
    Z = np.linspace(0.01, 1.0, 40)[:, np.newaxis]

    def root(Z):
        with np.errstate(invalid="ignore"):
            return np.sqrt(Z[:, 0]).astype(np.float16)

    imp = DerivativeImportance().fit(root, Z)
    expected = np.sqrt(np.mean(0.25 / Z)) * Z.std()
    assert imp.importances_[0] == pytest.approx(expected, rel=0.03)


def test_values_far_from_zero_with_little_spread():
    """The step does not round away: times in seconds within a millisecond."""
    x = 1.6e9 + np.random.RandomState(0).uniform(size=(50, 1)) * 1e-3
    imp = DerivativeImportance().fit(lambda X: 3.0 * (X[:, 0] - 1.6e9), x)
    assert imp.importances_[0] == pytest.approx(3 * x.std(), rel=1e-6)


def test_callbacks_may_stop():
    """What is done is kept, the rest is NaN."""
    stopper = Recorder(stop_after=2)
    imp = DerivativeImportance().set_callbacks(stopper)
    with pytest.warns(ImportanceWarning, match=says("DerivativeImportance … 2 of 4")):
        imp.fit(two_outputs, X)
    assert np.isnan(imp.importances_).tolist() == [False, False, True, True]
    assert np.isnan(imp.standard_errors_).tolist() == [False, False, True, True]
    assert stopper.events[-1] == "teardown"
