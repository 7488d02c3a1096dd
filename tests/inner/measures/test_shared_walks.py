"""Measures that share one walk over the rows."""

import numpy as np
import pytest
from callback_recorder import Recorder
from messages import says
from sklearn.linear_model import Ridge

from skvarimp import (
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
)
from skvarimp._measures.problem import Problem
from skvarimp._measures.response_importance import fit_together
from skvarimp._response import grid as _grid
from skvarimp._response import probe as _probe
from skvarimp.exceptions import ImportanceWarning

X = np.random.RandomState(0).randn(60, 6)


def model(X):
    """Every input acts, through an interaction."""
    return X @ np.arange(1.0, 7.0) * np.exp(X[:, 0] / 4)


def test_measures_that_share_a_walk():
    """Each one's callbacks see the steps of the shared walk; either may stop it."""
    first, second = Recorder(), Recorder(stop_after=3)
    measures = [
        SensitivityImportance(scale=None, estimation="exact").set_callbacks(first),
        PartialDependenceImportance().set_callbacks(second),
    ]
    with pytest.warns(ImportanceWarning, match="no importance"):
        fit_together(measures, model, X)
    assert first.events[-1] == second.events[-1] == "teardown"
    assert first.events[0] == second.events[0] == "setup"
    assert first.steps == second.steps == 3
    for measure in measures:
        assert np.isnan(measure.importances_).sum() == 3


@pytest.mark.parametrize("measure", [SensitivityImportance, PermutationImportance])
def test_a_model_is_read_and_probed_once_before_its_cost_is_asked(measure, monkeypatch):
    """Bad input raises before that."""
    seen, y = [], X[:, 0]
    ridge = Ridge().fit(X, y)

    def note(owner, name):
        function = getattr(owner, name)
        monkeypatch.setattr(
            owner, name, lambda *a: (seen.append(name), function(*a))[1]
        )

    note(_probe, "read")
    note(_probe, "probe")
    note(Problem, "exact_is_cheap")
    measure(estimation="auto").fit(ridge, X, y)
    assert seen == ["read", "probe", "exact_is_cheap"]
    seen.clear()
    with pytest.raises(ValueError, match=says("`conditional` … got shape (3,)")):
        measure(conditional=np.zeros(3)).fit(ridge, X, y)
    assert seen == []


def test_values_that_say_what_is_cheap_are_sorted_no_longer_than_needed(monkeypatch):
    """The first column's 420 values per row are above three times 6 draws of all six.

    So beside the six columns that are drawn from, one is sorted.
    """
    rows, sorted_columns, make_move = np.tile(X, (7, 1)), [], _grid.make_move
    rows += np.random.default_rng(0).normal(size=rows.shape)

    def note(table, weights, feature, *given):
        sorted_columns.append(feature.name)
        return make_move(table, weights, feature, *given)

    monkeypatch.setattr(_grid, "make_move", note)
    measure = SensitivityImportance(scale=None, random_state=0).fit(model, rows)
    assert "6 draws of each of 420 rows" in measure.response_path_
    assert sorted(sorted_columns) == sorted([*measure.features_, "x0"])
