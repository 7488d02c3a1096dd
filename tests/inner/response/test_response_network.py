"""Multilayer perceptrons equal the black box."""

import pickle

import numpy as np
import pytest
from combinations import each, half
from mixed_columns import curved_target, fitted_quietly, mixed_columns
from response_oracle import check_equal, problem_of
from scipy import sparse
from sklearn.base import clone
from sklearn.neural_network import MLPClassifier, MLPRegressor

from skvarimp import PartialDependenceImportance, SensitivityImportance
from skvarimp._data.table import resolve_features
from skvarimp._models.forms import NotReadable
from skvarimp._response.responses.networks import kinked_curves

N = 40


X, NOISE, WEIGHTS = mixed_columns(N, 3, 5)
Y = curved_target(X, NOISE)
TWO = np.where(np.median(Y) < Y, "yes", "no")
THREE = np.digitize(Y, np.quantile(Y, [0.3, 0.7]))
LABELS = np.column_stack([Y > 0, THREE == 1, THREE == 2]).astype(int)
FEATURES = [0, 1, 2, 3, 4, [0, 1], [3, 4, 5]]
SHORT = {"max_iter": 20, "random_state": 0}


SHAPES = [
    *[(activation, (7,)) for activation in ("relu", "tanh", "logistic", "identity")],
    *[(activation, (6, 4)) for activation in ("relu", "tanh", "logistic")],
    ("identity", (4, 3, 3)),
    ("tanh", (4, 3, 3)),
    ("relu", ()),
]


OUTPUTS = {
    "one": (MLPRegressor(), Y, "predict"),
    "two": (MLPRegressor(), np.column_stack([Y, Y**2]), "predict"),
    "rates": (MLPRegressor(loss="poisson"), np.exp(Y / 3), "predict"),
    "2 classes": (MLPClassifier(), TWO, "predict_proba"),
    "2 classes, labels": (MLPClassifier(), TWO, "predict"),
    "3 classes": (MLPClassifier(), THREE, "predict_proba"),
    "3 classes, labels": (MLPClassifier(), THREE, "predict"),
    "label columns": (MLPClassifier(), LABELS, "predict_proba"),
    "label columns, labels": (MLPClassifier(), LABELS, "predict"),
}


@pytest.mark.parametrize(
    ("shape", "outputs", "weighted"),
    half(each(SHAPES, OUTPUTS, [False, True])),
    ids=str,
)
def test_equals_black_box(shape, outputs, weighted):
    """All activations, depths, outputs and response methods; every reduction."""
    activation, layers = shape
    model, y, method = OUTPUTS[outputs]
    model.set_params(hidden_layer_sizes=layers, activation=activation, **SHORT)
    weights = WEIGHTS if weighted else None
    response = check_equal(fitted_quietly(model, X, y), X, weights, method, FEATURES)
    linear = activation == "identity" or layers == ()
    assert response.path == ("linear" if linear else "network")


SPARSE = np.zeros((N, 8))
RANDOM = np.random.RandomState(3)
SPARSE[:, 0] = RANDOM.rand(N) < 0.2
SPARSE[:, 1] = RANDOM.randint(-1, 3, N) * (RANDOM.rand(N) < 0.5)
SPARSE[:, 3] = 2.0
SPARSE[:, 4] = RANDOM.randint(1, 3, N)
SPARSE[:, 5] = RANDOM.randn(N) * (RANDOM.rand(N) < 0.5)
SPARSE[:, 6] = -(RANDOM.rand(N) < 0.3).astype(float)
SPARSE[:, 7] = RANDOM.randn(N)


@pytest.mark.parametrize(
    ("case", "kind", "how"),
    each(
        [
            (MLPClassifier((5,), activation="tanh", **SHORT), TWO),
            (MLPClassifier((5, 3), **SHORT), THREE),
            (MLPRegressor(hidden_layer_sizes=(5,), **SHORT), np.column_stack([Y, -Y])),
        ],
        [sparse.csr_matrix, sparse.csc_array],
        [("predict", None), ("auto", None), ("auto", WEIGHTS)],
    ),
)
def test_sparse(case, kind, how):
    """Columns that are binary, negative, without zeros, or empty."""
    model, y = case
    S = kind(SPARSE)
    S.data[::13] = 0.0  # explicit zeros
    features = [*range(8), [0, 1], [3, 4, 5]]
    method, weights = how
    check_equal(fitted_quietly(model, S, y), S, weights, method, features)


def test_many_sparse_columns():
    """Each of many binary columns has the importance that the model's own rows give."""
    random = np.random.RandomState(0)
    S = sparse.csr_array((random.rand(200, 400) < 0.03).astype(float))
    y = S[:, :20].sum(axis=1) + random.rand(200) > 1
    model = fitted_quietly(MLPClassifier((4,), activation="tanh", **SHORT), S, y)
    imp = SensitivityImportance(contrast="observed", scale=None).fit(model, S)
    assert imp.response_path_ == "network"
    assert imp.estimation_ == "exact"
    for j in (0, 13, 250, 399):
        own = model.predict_proba(S)[:, 1]
        moved = []
        for value in (0.0, 1.0):
            Z = S.toarray()
            Z[:, j] = value
            moved.append(model.predict_proba(Z)[:, 1])
        share = S.toarray()[:, j].mean()
        expected = (1 - share) * np.abs(own - moved[0]) + share * np.abs(own - moved[1])
        np.testing.assert_allclose(imp.importances_[j], expected.mean(), 1e-9)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize(
    "measure",
    [
        SensitivityImportance(contrast="pairs", scale=None, estimation="exact"),
        PartialDependenceImportance(statistic="std", grid="all"),
    ],
    ids=["pairs", "curves"],
)
def test_sparse_columns_of_few_values_as_a_callable(measure, tied):
    """Influences and directions too; ties between labels are left to the model.

    Without biases a row of zeros is on the boundary between two labels.
    """
    S = sparse.csr_array(SPARSE * (SPARSE % 1 == 0))
    model = MLPClassifier((3,), activation="tanh", **SHORT)
    model = fitted_quietly(model, S, TWO)
    method = "predict" if tied else "predict_proba"
    if tied:
        model.intercepts_ = [np.zeros(3), np.zeros(1)]
        model.coefs_[0][[3, 4]] = 0.0  # columns without zeros

    def asked(rows):
        if not tied:
            return model.predict_proba(rows)[:, 1]
        return np.equal(model.predict(rows), model.classes_[1]).astype(float)

    measure = clone(measure).set_params(categorical_features=[4], keep_rows=True)
    fast = clone(measure).set_params(response_method=method)
    fast.fit(model, S, sample_weight=WEIGHTS)
    plain = measure.fit(asked, S, sample_weight=WEIGHTS)
    assert fast.response_path_ == "network"
    for name in ("importances_", "standard_errors_", "directions_per_output_"):
        expected = getattr(plain, name)
        np.testing.assert_allclose(getattr(fast, name), expected, 1e-9, 1e-12)
    np.testing.assert_allclose(fast.influences_, plain.influences_, 1e-9, 1e-12)


def test_unused_and_constant_inputs_are_exactly_zero():
    """First-layer weights of 0, dense and sparse."""
    for Z in (X, sparse.csr_array(SPARSE[:, :6])):
        model = fitted_quietly(MLPClassifier((5,), **SHORT), Z, THREE)
        model.coefs_[0][[1, 5]] = 0.0
        for contrast in ("pairs", "observed", "range"):
            imp = SensitivityImportance(contrast=contrast, scale=None).fit(model, Z)
            zero = imp.importances_ == 0
            assert imp.response_path_ == "network"
            constant = [2] if Z is X else [2, 3]
            assert np.all(zero == np.isin(np.arange(6), [1, 5, *constant]))
            assert np.all(imp.standard_errors_[zero] == 0)


def test_kinks():
    """Piecewise linear curves unit by unit: rising, falling, flat; any order."""
    random = np.random.RandomState(0)
    others, slopes = random.randn(9, 12), random.randn(12)
    slopes[[3, 7]] = 0.0
    slopes[5], others[:, 5] = 5e-324, 0.0  # whose kink is 0 times infinity
    output, bias = random.randn(12, 2), random.randn(2)
    for values in (random.randn(25), np.sort(random.randn(25)) + 1e3, np.full(3, 0.7)):
        if values[0] > 100:
            others = others - 1e3 * slopes
        units = np.maximum(others[:, None] + values[:, None] * slopes, 0)
        expected = np.moveaxis(units @ output + bias, -1, 0)
        found = kinked_curves(others, slopes, values, output, bias)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-11)
    at_kink = -others[0, 0] / slopes[0]  # a value exactly at a kink
    found = kinked_curves(others, slopes, np.array([at_kink]), output, bias)
    units = np.maximum(others + at_kink * slopes, 0)
    np.testing.assert_allclose(found[:, :, 0], (units @ output + bias).T, atol=1e-11)


def test_two_labels_decline():
    """Their probabilities look like those of two classes."""
    model = fitted_quietly(MLPClassifier((3,), **SHORT), X, LABELS[:, :2])
    with pytest.raises(NotReadable, match="two labels"):
        problem_of(model, X, method="predict_proba")


def test_single_precision_declines():
    """Weights and X in single precision: the model computes in it."""
    Z = X.astype(np.float32)
    model = fitted_quietly(MLPRegressor(hidden_layer_sizes=(3,), **SHORT), Z, Y)
    with pytest.raises(NotReadable, match="single precision"):
        problem_of(model, Z)
    check_equal(model, X, features=[0, [1, 3]])  # X in double: so does the model


@pytest.mark.thorough
def test_does_not_depend_on_workers():
    """Responses travel to workers without what they remember."""
    model = fitted_quietly(MLPClassifier((4,), **SHORT), X, THREE)
    one = SensitivityImportance(scale=None).fit(model, X)
    two = SensitivityImportance(scale=None, n_jobs=2).fit(model, X)
    np.testing.assert_array_equal(one.importances_, two.importances_)
    problem, response = problem_of(model, X)
    walk = problem.walk(response, resolve_features(None, None, X.shape[1]), [])
    assert len(response.sums(walk.rows)) == N
    assert len(pickle.dumps(response)) < 100_000
