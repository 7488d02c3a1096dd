"""Olden and Garson against hand-worked networks and plain loops."""

import warnings

import numpy as np
import pytest
from literal_weights import regression_data
from messages import says
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LinearRegression
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skvarimp import ConnectionWeightImportance


def network(*layers, classes=None):
    """A fitted network whose weights are replaced by the given ones."""
    layers = [np.array(layer, dtype=float) for layer in layers]
    hidden = tuple(layer.shape[1] for layer in layers[:-1])
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, len(layers[0])))
    kind, y = MLPRegressor, rng.normal(size=(20, layers[-1].shape[1]))
    if classes is not None:
        kind, y = MLPClassifier, np.resize(classes, 20)
    elif y.shape[1] == 1:
        y = y[:, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one iteration does not converge
        net = kind(hidden_layer_sizes=hidden, max_iter=1, random_state=0).fit(X, y)
    assert [w.shape for w in net.coefs_] == [w.shape for w in layers]
    net.coefs_ = layers
    return net, X


def test_hand_worked_network():
    """2-2-1: weights 2, 1 and -1, 3 in, 4 and -2 out.

    Olden: 2*4 + 1*(-2) = 6 and -1*4 + 3*(-2) = -10. Garson: shares 2/3, 1/4 and
    1/3, 3/4, summing to 11/12 and 13/12.
    """
    net, X = network([[2, 1], [-1, 3]], [[4], [-2]])

    olden = ConnectionWeightImportance().fit(net, X)
    garson = ConnectionWeightImportance(method="garson").fit(net, X)

    assert_allclose(olden.signed_importances_, [[6], [-10]])
    assert_allclose(olden.importances_, [6, 10])
    assert_array_equal(olden.ranking_, [2, 1])
    assert_allclose(garson.importances_, [11 / 24, 13 / 24])
    assert garson.signed_importances_ is None
    assert olden.output_names_ == ["y"]


def test_olden_sums_over_all_paths():
    """Three hidden layers and two outputs, path by path."""
    rng = np.random.default_rng(1)
    layers = [rng.normal(size=s) for s in [(3, 4), (4, 2), (2, 3), (3, 2)]]
    net, X = network(*layers)
    expected = np.zeros((3, 2))
    for j, a, b, c, o in np.ndindex(3, 4, 2, 3, 2):
        expected[j, o] += (
            layers[0][j, a] * layers[1][a, b] * layers[2][b, c] * layers[3][c, o]
        )

    importance = ConnectionWeightImportance().fit(net, X)

    assert_allclose(importance.signed_importances_, expected)
    assert_allclose(importance.importances_, np.abs(expected).mean(axis=1))
    assert importance.output_names_ == ["y0", "y1"]


def literal_garson(first, second):
    """Goh's form, unit by unit."""
    result = np.zeros((first.shape[0], second.shape[1]))
    for o in range(second.shape[1]):
        for h in range(first.shape[1]):
            total = sum(abs(w * second[h, o]) for w in first[:, h])
            for j in range(first.shape[0]):
                if total > 0:
                    result[j, o] += abs(first[j, h] * second[h, o]) / total
        if result[:, o].sum() > 0:
            result[:, o] /= result[:, o].sum()
    return result


def test_garson_equals_its_definition_and_sums_to_one():
    """Several outputs, a unit without output and one without input."""
    rng = np.random.default_rng(2)
    first, second = rng.normal(size=(4, 5)), rng.normal(size=(5, 3))
    second[1, 0] = 0
    first[:, 2] = 0
    net, X = network(first, second)

    garson = ConnectionWeightImportance(method="garson").fit(net, X)

    assert_allclose(garson.importances_per_output_, literal_garson(first, second))
    assert_allclose(garson.importances_per_output_.sum(axis=0), 1)
    assert_allclose(garson.importances_.sum(), 1)


@pytest.mark.parametrize("method", ["olden", "garson"])
def test_hidden_units_may_be_permuted(method):
    """The network is the same function; so must its importances be."""
    rng = np.random.default_rng(3)
    first, second = rng.normal(size=(4, 6)), rng.normal(size=(6, 2))
    order = rng.permutation(6)

    def importances(first, second):
        net, X = network(first, second)
        return ConnectionWeightImportance(method=method).fit(net, X)

    assert_allclose(
        importances(first[:, order], second[order]).importances_per_output_,
        importances(first, second).importances_per_output_,
    )


@pytest.mark.parametrize("method", ["olden", "garson"])
def test_unconnected_column_and_dead_network(method):
    """No weight, no importance; 0 rather than NaN."""
    net, X = network([[0, 0], [1, 2]], [[3], [1]])
    dead, _ = network([[1, 2], [3, 4]], [[0], [0]])
    importance = ConnectionWeightImportance(method=method)

    assert importance.fit(net, X).importances_[0] == 0
    assert_array_equal(importance.fit(dead, X).importances_, [0, 0])


def test_garson_ignores_output_weights_unless_zero():
    """Its known weakness: |v| cancels, so a unit of next to no effect counts fully."""
    first = [[2, 1], [-1, 3]]
    garson = ConnectionWeightImportance(method="garson")
    strong, faint, none = (
        garson.fit(*network(first, [[4], [v]])).importances_ for v in (-2, 1e-9, 0)
    )

    assert_allclose(strong, faint)
    assert_allclose(none, [2 / 3, 1 / 3])


def test_networks_of_classifiers():
    """One output for two classes, named by the second; else one per class."""
    net, X = network([[2, 1], [-1, 3]], [[4], [-2]], classes=["no", "yes"])
    assert ConnectionWeightImportance().fit(net, X).output_names_ == ["yes"]
    net, X = network([[2, 1], [-1, 3]], np.ones((2, 3)), classes=["a", "b", "c"])
    importance = ConnectionWeightImportance().fit(net)
    assert importance.output_names_ == ["a", "b", "c"]
    assert importance.features_ == ["x0", "x1"]


def test_bad_networks():
    """No network, a pipeline, two hidden layers for Garson, other columns."""
    X, y = regression_data()
    olden = ConnectionWeightImportance()
    garson = ConnectionWeightImportance(method="garson")
    linear = LinearRegression().fit(X, y)
    with pytest.raises(TypeError, match="MLPRegressor or MLPClassifier, got L"):
        olden.fit(linear, X)
    with pytest.raises(TypeError, match="got LinearRegression"):
        olden.fit(make_pipeline(StandardScaler(), linear).fit(X, y), X)
    deep, X = network(np.ones((2, 2)), np.ones((2, 2)), np.ones((2, 1)))
    with pytest.raises(ValueError, match="one hidden layer, got 2"):
        garson.fit(deep, X)
    with pytest.raises(ValueError, match="X has 1 columns"):
        olden.fit(deep, X[:, :1])
    with pytest.raises(ValueError, match="'method' parameter"):
        ConnectionWeightImportance(method="goh").fit(deep, X)
    deep.coefs_[0] = deep.coefs_[0] * np.nan
    with pytest.raises(ValueError, match="NaN or infinity"):
        olden.fit(deep, X)
    deep.coefs_ = deep.coefs_[1:]
    deep.coefs_[0] = np.ones((3, 1))
    with pytest.raises(ValueError, match=says("`coefs_` … 2 columns … (3, 1), (2, 1)")):
        olden.fit(deep, X)
