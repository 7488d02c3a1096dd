"""Data for the tests of what trees were trained on."""

import numpy as np
from sklearn.datasets import make_classification, make_regression

N = 150
XC, YC = make_classification(
    N, 5, n_informative=3, n_redundant=1, n_classes=3, flip_y=0.1, random_state=0
)
XR, YR = make_regression(N, 5, n_informative=3, noise=20.0, random_state=0)
WEIGHT = np.random.default_rng(0).gamma(1.0, 1.0, N)
WEIGHT[::9] = 0.0
LABELS = np.array(["low", "middle", "top"])[YC]
FEW = {"n_estimators": 4, "random_state": 0}


def short(value):
    """A readable parameter name."""
    value = value[0] if isinstance(value, tuple) else value
    return type(value).__name__ if hasattr(value, "fit") else ""
