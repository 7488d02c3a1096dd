"""Measures that share one walk over the rows."""

import numpy as np
import pytest
from callback_recorder import Recorder

from skvarimp import (
    PartialDependenceImportance,
    SensitivityImportance,
)
from skvarimp._measures.response_importance import fit_together
from skvarimp.exceptions import ImportanceWarning

X = np.random.RandomState(0).randn(60, 6)


def model(X):
    """Every input acts, through an interaction."""
    return X @ np.arange(1.0, 7.0) * np.exp(X[:, 0] / 4)


def test_measures_that_share_a_walk():
    """Each one's callbacks see the steps of the shared walk; either may stop it."""
    first, second = Recorder(), Recorder(stop_after=3)
    measures = [
        SensitivityImportance(scale=None).set_callbacks(first),
        PartialDependenceImportance().set_callbacks(second),
    ]
    with pytest.warns(ImportanceWarning, match="no importance"):
        fit_together(measures, model, X)
    assert first.events[-1] == second.events[-1] == "teardown"
    assert first.events[0] == second.events[0] == "setup"
    assert first.steps == second.steps == 3
    for measure in measures:
        assert np.isnan(measure.importances_).sum() == 3
