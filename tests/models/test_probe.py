"""The probe compares the fast response with the model itself."""

import numpy as np
import pytest
from messages import says
from sklearn.svm import SVR

from skvarimp import SensitivityImportance
from skvarimp.exceptions import ResponseWarning

RANDOM = np.random.RandomState(0)

X = RANDOM.randn(40, 3)

Y = X[:, 0] * X[:, 1] + X[:, 2]


def stale(change):
    """A machine whose coefficients are not quite those that it predicts with."""
    machine = SVR(gamma=0.5).fit(X, Y)
    machine.dual_coef_ = machine.dual_coef_ * (1 + change)
    return machine


def test_a_probe_sees_a_millionth():
    """And lets rounding pass."""
    measure = SensitivityImportance(scale=None)
    with pytest.warns(ResponseWarning, match=says("SVR differs … 'x0' … black box")):
        assert "probe" in measure.fit(stale(1e-6), X).response_path_
    assert measure.fit(stale(1e-13), X).response_path_ == "kernel"
