"""What the model inside a transformed target has seen."""

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.linear_model import LinearRegression

from skvarimp._measures.behind_transformers import before_transformed_target


def test_the_target_inside_has_the_shape_it_was_fitted_with():
    """Transformers take columns; the model is given one column as a vector."""
    X = np.arange(8.0).reshape(-1, 2)
    for y in (np.exp(X[:, 0]), np.exp(X)):
        model = TransformedTargetRegressor(
            LinearRegression(), func=np.log, inverse_func=np.exp
        )
        inside, seen = before_transformed_target(model.fit(X, y), y)
        assert inside is model.regressor_
        np.testing.assert_array_equal(seen, np.log(y))
    assert before_transformed_target(model, None) == (model.regressor_, None)
