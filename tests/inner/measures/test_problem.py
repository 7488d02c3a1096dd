"""What measures share about a model on rows: outputs left out, rows kept, reasons."""

from types import SimpleNamespace

import numpy as np
import pytest

from skvarimp._data.table import Feature
from skvarimp._measures import problem as of_problem
from skvarimp._measures.problem import Request, make_problem, without_outputs
from skvarimp._response.contract import TIMES_DRAWN
from skvarimp._response.grid import N_JOINT
from skvarimp._response.rounds import curve_rows

RANDOM = np.random.RandomState(0)
X = RANDOM.randn(40, 3)


def two_outputs(X):
    """A function of all columns, and one of the first."""
    return np.column_stack([X.sum(axis=1), X[:, 0]])


def test_only_the_first_reason_is_given_for_drawing():
    """What was done, and why no response serves, where one says so."""
    problem = make_problem(two_outputs, X, None, None, "auto")
    assert problem.drawing("three rows drawn").reason == "three rows drawn"
    reasons = [SimpleNamespace(reason=text) for text in ("no links", "no trees", "")]
    problem._responses = dict(enumerate(reasons))
    assert problem.drawing().reason == "drawn rows; no links"
    problem._responses = dict(enumerate(reasons[::-1]))
    assert problem.drawing().reason == "drawn rows"


def test_outputs_of_infinite_scale_are_unknown():
    """Numbers of the others are those of outputs by themselves, not parts of a mean."""
    scale = np.array([3.0, np.inf, 6.0, np.inf])
    importances, errors = RANDOM.rand(2, 3, 4)
    outcome = SimpleNamespace(importances=importances, errors_per_output=errors)
    divisors = without_outputs(outcome, scale)
    np.testing.assert_allclose(divisors, [6.0, np.nan, 12.0, np.nan], rtol=1e-15)
    for found, given in (
        (outcome.importances, importances),
        (outcome.errors_per_output, errors),
    ):
        np.testing.assert_allclose(found[:, [0, 2]], given[:, [0, 2]] / 2, rtol=1e-15)
        assert np.isnan(found[:, [1, 3]]).all()
    unchanged = SimpleNamespace(importances=importances, errors_per_output=None)
    assert without_outputs(unchanged, scale[::2]) is not None
    assert unchanged.importances is importances
    without_outputs(unchanged, scale)
    assert unchanged.errors_per_output is None


@pytest.mark.parametrize(
    ("kept", "most", "n_rows"),
    [(10**9, np.inf, 40), (10**9, 7, 7), (N_JOINT * 2 * 9 + 5, np.inf, 9), (1, 30, 2)],
)
def test_how_many_rows_curves_are_means_over(kept, most, n_rows, monkeypatch):
    """As many as memory holds of all outputs and cells, but two."""
    monkeypatch.setattr(of_problem, "MOST_KEPT", kept)
    problem = make_problem(two_outputs, X, None, None, "auto")
    assert curve_rows(40) == 40
    features = [Feature("x0", (0,))]
    few = Request(np.arange(5.0), [], [])
    rows = problem.rows_of_curves(features, few, most)
    assert len(rows) == len(set(rows.tolist())) == n_rows
    np.testing.assert_array_equal(np.sort(rows), rows)
    # a grid of more values than columns have together leaves fewer
    many = Request(np.arange(2.0 * N_JOINT), [], [])
    fewer = problem.rows_of_curves(features, many, most)
    assert len(fewer) == max(2, min(most, 40, kept // (2 * N_JOINT * 2)))


def test_requests_over_the_same_values():
    """Of one name or one object, and of the same categories."""
    values = np.arange(3.0)
    assert Request("all", [], []).over == Request("all", [1], [2]).over
    assert Request(10, [], []).over != Request("all", [], []).over
    assert Request(values, [], []).over == Request(values, [1], [2]).over
    assert Request(values, [], []).over != Request(values.copy(), [], []).over
    categories = Request("all", [], [], frozenset([1]))
    assert categories.over != Request("all", [], []).over
    joined = Request.joined(
        [Request(values, [1, 2], [3, 4]), Request(values, [5], [6])]
    )
    assert joined.grid is values
    assert (joined.reductions, joined.scales) == ([1, 2, 5], [3, 4, 6])


@pytest.mark.parametrize(
    ("n_rows", "drawn"), [(50, 50), (5000, 4000), (9000, 4500), (10**6, 10_000)]
)
def test_rows_of_curves_of_a_model_that_is_asked(n_rows, drawn):
    """Half of them, but at least 4000 and at most 10 000."""
    assert curve_rows(n_rows) == drawn


class Costs(SimpleNamespace):
    """A response that is read: each value of a row costs as much as asked."""

    asks_model = False

    def call_cost(self):
        """Of a prediction by the model."""
        return 1.0

    def cost(self, n_rows, n_values, reduction, grouped):
        """Of all values of a feature."""
        return float(n_rows * n_values * self.of_value)


@pytest.mark.parametrize(("of_value", "cheap"), [(0.5, True), (5.0, False)])
def test_few_values_of_many_rows_may_be_cheap(of_value, cheap, monkeypatch):
    """Where all values would be dear if each row had another one."""
    monkeypatch.setattr(of_problem, "QUICK", 0.0)
    rows = np.arange(300)[:, np.newaxis] % [3, 2]
    problem = make_problem(lambda X: X[:, 0] * 1.0, rows, None, None, "auto")
    response = Costs(of_value=of_value / 3 * TIMES_DRAWN)
    monkeypatch.setattr(problem, "response", lambda features: response)
    features = [Feature("x0", (0,)), Feature("x1", (1,))]
    request = Request("all", [None], [])
    assert problem.curves_are_cheap(features, request) == cheap
    # 302 values against 64 + 2 quantiles
    many = np.column_stack([np.arange(300), np.arange(300) % 2])
    problem = make_problem(lambda X: X[:, 0] * 1.0, many, None, None, "auto")
    monkeypatch.setattr(problem, "response", lambda features: response)
    assert problem.curves_are_cheap(features, request) == cheap
    monkeypatch.setattr(response, "of_value", 65 / 303 * TIMES_DRAWN)
    assert problem.curves_are_cheap(features, request)
    monkeypatch.setattr(response, "of_value", 67 / 301 * TIMES_DRAWN)
    assert not problem.curves_are_cheap(features, request)
    monkeypatch.setattr(of_problem, "QUICK", 1e9)
    assert problem.curves_are_cheap(features, request)


@pytest.mark.parametrize(("n_rows", "cheap"), [(64, True), (65, False)])
def test_curves_of_a_black_box_are_cheap_up_to_64_values(n_rows, cheap):
    """As many as there would be quantiles."""
    rows = np.arange(float(n_rows))[:, np.newaxis]
    problem = make_problem(lambda X: X[:, 0], rows, None, None, "auto")
    request = Request("all", [None], [])
    assert problem.curves_are_cheap([Feature("x0", (0,))], request) == cheap
