"""Data, models and measures for the tests of refits."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression

from skvarimp import (
    NullImportances,
    SensitivityImportance,
    importance_across_folds,
    null_importances,
)

X, Y = make_friedman1(60, n_features=6, noise=1.0, random_state=0)
LABELS = np.digitize(Y, np.quantile(Y, [1 / 3, 2 / 3]))
LINEAR = LinearRegression()
OBSERVED = SensitivityImportance(contrast="observed", scale=None)
FOREST = RandomForestRegressor(3, max_depth=3)
BOTH = pytest.mark.parametrize("function", [importance_across_folds, null_importances])


class Slopes(RegressorMixin, BaseEstimator):
    """Least squares through the origin, and as little else as possible."""

    def fit(self, X, y):
        """Solve."""
        self.coef_ = np.linalg.lstsq(X, y)[0]
        return self

    def predict(self, X):
        """Evaluate."""
        return X @ self.coef_


def slopes(estimator, X, y):
    """Absolute coefficients: a cheap measure."""
    return np.abs(estimator.coef_)


def few(function, **more):
    """Keyword arguments that keep a call short."""
    nulls = {"n_permutations": 3, "cv": "all_rows"}
    return (nulls if function is null_importances else {}) | more


def values(result):
    """The numbers of either result, as one array."""
    if isinstance(result, NullImportances):
        return np.vstack([result.importances, result.null])
    return getattr(result, "by_fold", result.importances)
