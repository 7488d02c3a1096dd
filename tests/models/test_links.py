"""Links of linear models, against the black box."""

import numpy as np
import pytest
from response_oracle import check_equal
from sklearn.linear_model import TweedieRegressor

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
