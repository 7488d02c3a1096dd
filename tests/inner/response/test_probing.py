"""What a probe sees, bins and closed forms."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from messages import says
from sklearn.covariance import LedoitWolf as TheirLedoitWolf
from sklearn.linear_model import (
    Ridge,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

from skvarimp import InteractionImportance, SensitivityImportance
from skvarimp._data.table import Feature, as_table
from skvarimp._measures.firm.covariance import ledoit_wolf
from skvarimp._models.model import Model
from skvarimp._models.readers import sklearn_trees as _tree_readers
from skvarimp._response import probe as _probe
from skvarimp._response.grid import make_move
from skvarimp._response.probe import fast_response
from skvarimp._response.responses.kernels import KernelResponse
from skvarimp._response.responses.linear import LinearResponse
from skvarimp._response.responses.networks import kinked_curves
from skvarimp._response.rows import Rows
from skvarimp.exceptions import ResponseWarning

RANDOM = np.random.RandomState(0)
X = RANDOM.randn(40, 3)
Y = X[:, 0] * X[:, 1] + X[:, 2]


def test_shrinkage_is_at_most_complete():
    """Where chance alone explains the spread, the intensity is 1 and not above it."""
    found = set()
    for seed in range(40):
        rows = np.random.RandomState(seed).randn(5, 3)
        theirs = TheirLedoitWolf().fit(rows).shrinkage_
        assert ledoit_wolf(rows).kept == pytest.approx(1 - theirs, abs=1e-12)
        found.add(theirs == 1.0)
    assert found == {True, False}


@pytest.mark.parametrize(("n", "n_bins"), [(3, 2), (5, 2), (7, 2), (9, 6)])
def test_a_value_in_the_middle_goes_to_the_lower_bin(n, n_bins):
    """A value that lies half in each of two bins."""
    column = np.arange(float(n))[:, np.newaxis]
    move = make_move(as_table(column), np.full(n, 1 / n), Feature("x0", (0,)), n_bins)
    middle = (np.arange(n) + 0.5) * n_bins / n
    bins = np.ceil(middle - 1e-9).astype(int) - 1
    counts = np.bincount(bins)
    np.testing.assert_allclose(move.probabilities, counts[counts > 0] / n)


def test_kinks_at_the_ends_of_the_values():
    """A unit may start or end at the smallest or the largest value itself."""
    values, slopes = np.array([0.0, 1.0, 2.0]), np.array([1.0, -1.0, 1.0, -2.0])
    others = np.array([[0.0, 0.0, -2.0, 4.0], [0.0, 2.0, -1.0, 0.0]])
    output, bias = np.array([[1.0], [2.0], [4.0], [8.0]]), np.array([0.5])
    units = others[:, np.newaxis] + slopes * values[:, np.newaxis]
    expected = np.maximum(units, 0.0) @ output + bias
    found = kinked_curves(others, slopes, values, output, bias)
    np.testing.assert_allclose(found[0], expected[..., 0], atol=1e-14)


def test_a_probe_looks_at_thresholds(monkeypatch):
    """Where no value of X lies: values that a grid may hold all the same."""
    one_tree = _tree_readers._tree

    def misread(*arguments):
        tree = one_tree(*arguments)
        tree.threshold = tree.threshold - 1e-6  # values of X go where they went
        return tree

    rows = 3.0 ** np.round(X)  # never midway between two others
    tree = DecisionTreeRegressor(random_state=0).fit(rows, Y)
    behind = make_pipeline(MaxAbsScaler(), DecisionTreeRegressor(random_state=0))
    behind.fit(rows, Y)
    measure = SensitivityImportance(scale=None)
    right = measure.fit(tree, rows).importances_
    monkeypatch.setattr(_tree_readers, "_tree", misread)
    with pytest.warns(ResponseWarning, match=says("differs … 'x0' … black box")):
        measure.fit(tree, rows)
    np.testing.assert_allclose(measure.importances_, right, rtol=1e-12)
    with pytest.warns(ResponseWarning, match=says("differs … 'x0' … black box")):
        measure.fit(behind, rows)


def test_a_probe_moves_columns_alone_as_well_as_together(monkeypatch):
    """Friedman's H compares joint curves with those of each column alone."""
    model, scores_at = SVR().fit(X, Y), KernelResponse.scores_at
    measure = InteractionImportance(statistic="h")
    right = measure.fit(model, X).importances_

    def misreckoned(self, rows, columns, values):
        scores = scores_at(self, rows, columns, values)
        return scores * 1.001 if len(columns) == 1 else scores

    monkeypatch.setattr(KernelResponse, "scores_at", misreckoned)
    with pytest.warns(ResponseWarning, match=says("differs … 'x0' … black box")):
        measure.fit(model, X)
    np.testing.assert_allclose(measure.importances_, right, rtol=1e-9)


@pytest.mark.parametrize("unit", [2.0**-30, 1.0, 2.0**30])
def test_rounding_and_another_number_are_said_apart(unit, monkeypatch):
    """A model in single precision is no misread one, whatever its unit."""
    model = Ridge().fit(X, unit * Y)
    curves = LinearResponse.curves
    measure = SensitivityImportance(scale=None, estimation="exact")
    for change, said, reason in (
        (np.float32, "agrees … up to rounding", "rounding of the fast response"),
        (lambda f: f * (1 + 1e-5), "differs", "the fast response failed its probe"),
    ):
        with monkeypatch.context() as changed:
            changed.setattr(
                LinearResponse,
                "curves",
                lambda *a, f=change: f(curves(*a)).astype(float),
            )
            with pytest.warns(ResponseWarning, match=says(f"{said} … black box")):
                measure.fit(model, X)
        assert measure.response_path_ == f"black box ({reason})"


def test_what_a_response_remembers_is_not_sent():
    """To a worker goes what it was made of, and no table of n rows by support."""
    model = SVR().fit(X, Y > 0)
    many = as_table(np.random.RandomState(1).randn(3000, 3))
    response = fast_response(Model(model), many)
    before = len(pickle.dumps(response))
    rows = Rows(many, np.arange(3000), np.full(3000, 1 / 3000), np.zeros((1, 3000)))
    response.curves(rows, make_move(many, rows.weights, Feature("x0", (0,)), 50))
    assert len(pickle.dumps(response)) < before + 1000


def test_a_model_is_read_once_for_all_features(monkeypatch):
    """Columns alone and pairs of them are probed apart."""
    model, original, read = DecisionTreeRegressor().fit(X, Y), _probe.read, []
    monkeypatch.setattr(_probe, "read", lambda *of: read.append(of) or original(*of))
    InteractionImportance().fit(model, X)
    assert len(read) == 1


def test_curves_of_another_shape_differ():
    """Whatever is in them: a response of too many outputs is not used."""
    move = SimpleNamespace(feature=Feature("x", (0,)))
    one, other = np.zeros((1, 2, 3)), np.zeros((2, 2, 3))
    with pytest.raises(_probe.Difference, match=r"\(1, 2, 3\) against \(2, 2, 3\)"):
        _probe._compare_curves(None, [move], [one], [other], np.zeros((1, 2)))
