"""Selectors refuse bad input before the first fit."""

import numpy as np
import pytest
from selection_data import X, Y
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import make_scorer, mean_squared_error

from skvarimp import (
    BackwardEliminationSelector,
    ConnectionWeightImportance,
    FIRMImportance,
    ForwardSelector,
    ImpurityImportance,
    InteractionImportance,
    PermutationImportance,
    SensitivityImportance,
)
from skvarimp.feature_functions import Product

BAD = [
    (dict(performance_threshold=1.1), ValueError, "performance_threshold"),
    (dict(performance_threshold=-0.1), ValueError, "performance_threshold"),
    (dict(importance_threshold=1.0), ValueError, "importance_threshold"),
    (dict(importance_threshold=-1e-9), ValueError, "importance_threshold"),
    (dict(step=0), ValueError, "step"),
    (dict(step=1.0), ValueError, "step"),
    (dict(step=0.0), ValueError, "step"),
    (dict(min_features_to_select=0), ValueError, "min_features_to_select"),
    (dict(min_features_to_select=11), ValueError, "only 10 columns"),
    (dict(measure="pairs"), ValueError, "measure"),
    (dict(measure=SensitivityImportance), TypeError, r"Use SensitivityImportance()"),
    (dict(step=np.nan), ValueError, "step"),
    (dict(step=-1), ValueError, "step"),
    (dict(cv=[]), ValueError, "no split"),
    (dict(measure=lambda e, X, y: None), ValueError, r"shape \(\)"),
    (dict(measure=lambda e, X, y: np.ones(3)), ValueError, r"shape \(3,\)"),
    (dict(measure=lambda e, X, y: X[0] * np.nan), ValueError, "'x0' is NaN"),
    (
        dict(measure=SensitivityImportance(features=[0, 1])),
        ValueError,
        "features=None",
    ),
    (
        dict(measure=FIRMImportance(feature_functions=[Product(0, 1)])),
        TypeError,
        "feature_functions=None",
    ),
    (
        dict(scoring=make_scorer(lambda y, p: np.nan * mean_squared_error(y, p))),
        ValueError,
        "scorer returned nan",
    ),
]


@pytest.mark.parametrize(("parameters", "error", "message"), BAD)
def test_bad_parameters(parameters, error, message):
    """With the way out."""
    with pytest.raises(error, match=message):
        BackwardEliminationSelector(LinearRegression(), **parameters).fit(X, Y)


@pytest.mark.parametrize(
    "importance",
    [
        ImpurityImportance(),
        InteractionImportance(),
        ConnectionWeightImportance(),
        PermutationImportance(rows="oob"),
        PermutationImportance(loss="log_loss"),
        PermutationImportance(loss="zero_one"),
        SensitivityImportance(response_method="predict_proba"),
    ],
    ids=repr,
)
def test_importances_that_cannot_serve_raise_at_the_first_fit(importance):
    """The measure's own error, with the way out."""
    for kind in (BackwardEliminationSelector, ForwardSelector):
        with pytest.raises((TypeError, ValueError, AttributeError), match=r"Use |use "):
            kind(LinearRegression(), importance).fit(X, Y)


@pytest.mark.parametrize("kind", [BackwardEliminationSelector, ForwardSelector])
def test_an_unknown_keyword_names_the_selector(kind):
    """Not the class above it."""
    with pytest.raises(TypeError, match=rf"^{kind.__name__}\.__init__\(\) got an un"):
        kind(Ridge(), steps=2)
