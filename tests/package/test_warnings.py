"""Warnings name the line of the user's that called us."""

import warnings

import numpy as np
import pytest
from messages import says
from sklearn.base import clone
from sklearn.svm import SVR

import skvarimp
from skvarimp.exceptions import ResponseWarning

X = np.random.default_rng(0).standard_normal((40, 4))
Y = X @ [1.0, 2.0, 0.0, 1.0] + X[:, 0] * X[:, 1]


def stale():
    """A machine whose coefficients are not those that it predicts with."""
    machine = SVR(gamma=0.5).fit(X, Y)
    machine.dual_coef_ = 2 * machine.dual_coef_
    return machine


def test_a_response_that_fails_its_probe_is_not_used_and_warns_once():
    """The importances are those of the model itself; the line is the user's."""
    machine = stale()
    measure = skvarimp.SensitivityImportance(contrast="observed", estimation="exact")
    with pytest.warns(ResponseWarning, match=says("SVR … slower black box")) as caught:
        found = clone(measure).fit(machine, X, Y)
    assert [warning.filename for warning in caught] == [__file__]
    assert "failed its probe" in found.response_path_
    expected = clone(measure).fit(machine.predict, X, Y)
    np.testing.assert_array_equal(found.importances_, expected.importances_)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        skvarimp.compare_importances(
            machine, X, Y, measures={"a": clone(measure), "b": clone(measure)}
        )
    assert len(caught) == 1
