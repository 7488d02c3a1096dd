"""A small fitted model of every type of scikit-learn in the registry."""

import importlib
import warnings
from functools import cache
from typing import NamedTuple

import numpy as np
from sklearn.base import is_classifier
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skvarimp._models.registry import REGISTRY

N = 60
RANDOM = np.random.RandomState(0)
X = np.round(RANDOM.uniform(0, 2, (N, 4)), 1)
X[:, 2] = RANDOM.randint(0, 3, N)
POSITIVE = np.exp(0.5 * X[:, 0] * X[:, 1]) + 0.1 * X[:, 2] + 0.2
WEIGHTS = RANDOM.uniform(0.2, 2, N)

# Parameters that keep the fits small, by public name.
SMALL = {
    "GradientBoosting": {"n_estimators": 5},
    "HistGradientBoosting": {"max_iter": 5, "min_samples_leaf": 5},
    "Forest": {"n_estimators": 4, "max_depth": 4},
    "ExtraTrees": {"n_estimators": 4, "max_depth": 4},
    "Bagging": {"n_estimators": 4},
    "AdaBoost": {"n_estimators": 4},
    "MLP": {"hidden_layer_sizes": (4,), "solver": "lbfgs", "max_iter": 20},
    "GaussianProcessRegressor": {"kernel": RBF() + WhiteKernel(), "optimizer": None},
    "TheilSenRegressor": {"max_subpopulation": 50},
    "SGD": {"max_iter": 20},
    "LassoCV": {"cv": 2},
    "ElasticNetCV": {"cv": 2},
    "LogisticRegressionCV": {"Cs": 2, "cv": 2},
    "PLSRegression": {"n_components": 2},
}


WRAPPERS = {
    "Pipeline",
    "GridSearchCV",
    "RandomizedSearchCV",
    "HalvingGridSearchCV",
    "HalvingRandomSearchCV",
    "FrozenEstimator",
    "FixedThresholdClassifier",
    "TunedThresholdClassifierCV",
    "VotingRegressor",
    "VotingClassifier",
    "TransformedTargetRegressor",
    "StackingRegressor",
    "StackingClassifier",
    "OneVsRestClassifier",
    "MultiOutputRegressor",
    "MultiOutputClassifier",
    "SelfTrainingClassifier",
}
SEVERAL_OUTPUTS = (
    "MultiTask",
    "PLSCanonical",
    "CCA",
    "MultiOutput",
)


def wrapper(name, X, y):
    """An estimator around others, or its parameters."""
    tree = DecisionTreeRegressor(max_depth=3)
    return {
        "Pipeline": make_pipeline(StandardScaler(), tree),
        "GridSearchCV": {"estimator": Ridge(), "param_grid": {"alpha": [0.1]}},
        "RandomizedSearchCV": {
            "estimator": Ridge(),
            "param_distributions": {"alpha": [0.1]},
            "n_iter": 1,
        },
        "HalvingGridSearchCV": {
            "estimator": Ridge(),
            "param_grid": {"alpha": [0.1, 1]},
        },
        "HalvingRandomSearchCV": {
            "estimator": Ridge(),
            "param_distributions": {"alpha": [0.1, 1.0]},
        },
        "FrozenEstimator": FrozenEstimator(LinearRegression().fit(X, y)),
        "FixedThresholdClassifier": FixedThresholdClassifier(
            LogisticRegression(), threshold=0.3
        ),
        "TunedThresholdClassifierCV": TunedThresholdClassifierCV(
            LogisticRegression(), cv=2, thresholds=10
        ),
        "VotingRegressor": VotingRegressor([("a", tree), ("b", LinearRegression())]),
        "VotingClassifier": VotingClassifier(
            [("a", DecisionTreeClassifier(max_depth=3)), ("b", LogisticRegression())],
            voting="soft",
        ),
        "TransformedTargetRegressor": TransformedTargetRegressor(
            tree, func=np.log, inverse_func=np.exp
        ),
        "StackingRegressor": StackingRegressor(
            [("a", tree), ("b", LinearRegression())], LinearRegression()
        ),
        "StackingClassifier": StackingClassifier(
            [("a", DecisionTreeClassifier(max_depth=3)), ("b", LogisticRegression())]
        ),
        "OneVsRestClassifier": OneVsRestClassifier(LogisticRegression()),
        "MultiOutputRegressor": MultiOutputRegressor(tree),
        "MultiOutputClassifier": MultiOutputClassifier(LogisticRegression()),
        "SelfTrainingClassifier": SelfTrainingClassifier(LogisticRegression()),
    }[name]


@cache
def fitted(family):
    """A small instance of a registered type, fitted once for all tests."""
    return fitted_to(family, X, POSITIVE)


def fitted_to(family, X, y):
    """A small instance of a registered type, fitted to some data."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # short fits; types on their way out
        model = unfitted(family, X, y)
        names = [name for name in model.get_params() if name.endswith("random_state")]
        model.set_params(**dict.fromkeys(names, 0))
        classes = [0.6] if "Threshold" in family.name else [0.4, 0.7]
        y = np.digitize(y, np.quantile(y, classes)) if is_classifier(model) else y
        if family.name.startswith(SEVERAL_OUTPUTS):
            second = X[:, 0] - X[:, -1]
            second = second > 0 if is_classifier(model) else second
            y = np.column_stack([y, second])
        return model.fit(X, y)


def unfitted(family, X, y):
    """A small instance of a registered type."""
    kind = family.type
    if family.name in WRAPPERS:
        made = wrapper(family.name, X, y)
        return made if not isinstance(made, dict) else kind(**made)
    parameters = {}
    for part, small in SMALL.items():
        histogram = part == "GradientBoosting" and family.name.startswith("Hist")
        if part in family.name and not histogram:
            parameters |= small
    if family.name == "IsolationForest":
        del parameters["max_depth"]  # its trees grow to a depth of their own
    return kind(**parameters)


class Lowering(NamedTuple):
    """A registered type."""

    package: str
    name: str

    @property
    def type(self):
        """The type itself."""
        return getattr(importlib.import_module(self.package), self.name)


OURS = [
    Lowering(package, name)
    for package, names in REGISTRY.items()
    for name in names
    if package.startswith("sklearn.")
]
