"""Links of linear models, against the black box."""

import numpy as np
import pytest
from response_oracle import check_equal
from sklearn.linear_model import TweedieRegressor

from skvarimp._models.readers.wrappers import Interpolated

RANDOM = np.random.RandomState(0)

X = RANDOM.randn(40, 3)

Y = X[:, 0] * X[:, 1] + X[:, 2]


@pytest.mark.parametrize("link", ["identity", "log", "auto"])
@pytest.mark.parametrize("power", [0.0, 1.5])
def test_links_of_tweedie(link, power):
    """Named, or by the power where it is left to that."""
    y = np.exp(0.2 * Y) + 3
    model = TweedieRegressor(power=power, link=link, alpha=0.1).fit(X, y)
    check_equal(model, X, None, "predict", [0, [1, 2]])


def test_isotonic_calibration():
    """Slopes by hand; where the line is steeper than scores are exact, it is close."""
    link = Interpolated(x=np.array([0.0, 1.0, 3.0]), y=np.array([0.0, 0.5, 0.6]))
    scores = np.array([[-1.0, 0.5, 2.0, 4.0]])
    outputs, close = link(scores)
    np.testing.assert_allclose(outputs, [[0.0, 0.25, 0.55, 0.6]], rtol=1e-15)
    assert close is None
    slopes = link.chain(scores, np.full((1, 4, 2), 10.0))
    expected = np.array([0.0, 5.0, 0.5, 0.0])
    np.testing.assert_allclose(slopes[0].T, [expected, expected], rtol=1e-14)
    steep = Interpolated(x=np.array([0.0, 1e-14, 1.0]), y=np.array([0.0, 0.5, 0.5]))
    assert steep(np.array([[0.0, 0.5, 2.0]]))[1].tolist() == [True, False, False]
