"""Stacking, calibration, classes and outputs by parts: equal to the black box."""

import numpy as np
import pytest
from combinations import one_per
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    StackingRegressor,
)
from sklearn.linear_model import (
    Lasso,
    LogisticRegression,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.svm import SVC, SVR, LinearSVC

from skvarimp import (
    DerivativeImportance,
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
)

X, THREE = make_classification(
    40, 4, n_informative=3, n_redundant=0, n_classes=3, random_state=0
)
X[:, 3] = np.round(X[:, 3])
TWO = (THREE > 0).astype(int)
LABELS = np.column_stack([TWO, X[:, 0] > 0]).astype(int)
VALUE = X @ [1.0, 2.0, 0.0, 1.0] + X[:, 0] ** 2
VALUES = np.column_stack([VALUE, X[:, 1] ** 2])
WEIGHTS = np.random.default_rng(0).integers(0, 3, len(X))

FOREST = RandomForestClassifier(4, max_depth=4, random_state=0)
TREES = RandomForestRegressor(4, max_depth=4, random_state=0)
LOGISTIC = LogisticRegression()
REGRESSORS = [("ridge", Ridge()), ("trees", TREES)]
CLASSIFIERS = [("logistic", LOGISTIC), ("trees", FOREST)]

MODELS = {
    "stack": (StackingRegressor(REGRESSORS, Ridge()), VALUE),
    "stack passes X": (StackingRegressor(REGRESSORS, Ridge(), passthrough=True), VALUE),
    "stack of lines": (StackingRegressor([("a", Ridge()), ("b", Lasso())]), VALUE),
    "stack of classes": (StackingClassifier(CLASSIFIERS, LOGISTIC), THREE),
    "stack of two": (StackingClassifier(CLASSIFIERS, LOGISTIC, passthrough=True), TWO),
    "calibrated trees": (CalibratedClassifierCV(FOREST, cv=3), TWO),
    "calibrated trees, 3": (CalibratedClassifierCV(FOREST, cv=3), THREE),
    "isotonic": (CalibratedClassifierCV(LinearSVC(), cv=3, method="isotonic"), THREE),
    "isotonic, 2": (CalibratedClassifierCV(LinearSVC(), cv=3, method="isotonic"), TWO),
    "isotonic of trees": (
        CalibratedClassifierCV(FOREST, cv=3, method="isotonic"),
        THREE,
    ),
    "one calibrator": (CalibratedClassifierCV(SVC(), cv=3, ensemble=False), TWO),
    "rest": (OneVsRestClassifier(LOGISTIC), THREE),
    "rest, 2": (OneVsRestClassifier(LOGISTIC), TWO),
    "rest of trees": (OneVsRestClassifier(FOREST), THREE),
    "rest, labels": (OneVsRestClassifier(LOGISTIC), LABELS),
    "rest of ridges": (OneVsRestClassifier(RidgeClassifier()), THREE),
    "rest of regressors": (OneVsRestClassifier(Ridge()), THREE),
    "outputs": (MultiOutputRegressor(TREES), VALUES),
    "outputs of lines": (MultiOutputRegressor(Ridge()), VALUES),
    "outputs of classes": (MultiOutputClassifier(LOGISTIC), LABELS),
    "outputs of trees": (MultiOutputClassifier(FOREST), LABELS),
    "median": (AdaBoostRegressor(n_estimators=7, random_state=0), VALUE),
}
METHODS = ("predict_proba", "decision_function", "predict")


def fitted(name):
    """The model, and one of a type that is not known, so that it is asked itself."""
    model, y = MODELS[name]
    model = clone(model).fit(X, y)
    unknown = clone(model)
    unknown.__class__ = type("Unknown", (type(model),), {})
    unknown.__dict__.update(vars(model))
    return model, unknown, y


def measures(method, y):
    """One of each kind of reduction."""
    exact = {"response_method": method, "estimation": "exact"}
    yield SensitivityImportance(features=[0, 1, 2, 3, [0, 3]], scale=None, **exact)
    yield SensitivityImportance(contrast="range", scale=None, response_method=method)
    yield PartialDependenceImportance(response_method=method, statistic="std")
    if y.ndim == 1 and method != "decision_function":
        loss = "squared_error" if y.dtype.kind == "f" else "zero_one"
        yield PermutationImportance(loss=loss, **exact)


RESPONSES = [
    (name, METHODS[(i + k) % 3])
    for k in range(3)
    for i, name in enumerate(MODELS)
    if is_classifier(MODELS[name][0]) or METHODS[(i + k) % 3] == "predict"
]


@pytest.mark.parametrize(
    ("name", "method"),
    one_per(lambda name, method: type(MODELS[name][0]), RESPONSES),
)
def test_equals_the_black_box(name, method):
    """Every response and reduction, with weights, ties and a group."""
    model, unknown, y = fitted(name)
    method = next(m for m in (method, *METHODS) if hasattr(model, m))
    for measure in measures(method, y):
        slow = clone(measure).fit(unknown, X, y, sample_weight=WEIGHTS)
        fast = measure.fit(model, X, y, sample_weight=WEIGHTS)

        assert "black box" in slow.response_path_
        assert "black box" not in fast.response_path_
        size = max(np.abs(slow.importances_).max(), 1e-300)
        for attribute in ("importances_per_output_", "standard_errors_"):
            gap = getattr(fast, attribute) - getattr(slow, attribute)
            assert np.abs(gap).max() <= 1e-9 * size


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("stack of lines", "predict"),
        ("rest", "predict_proba"),
        ("outputs of classes", "predict_proba"),
    ],
)
def test_slopes_equal_differences(name, method):
    """By the chain rule through every link."""
    model, unknown, _ = fitted(name)
    fast = DerivativeImportance(response_method=method).fit(model, X)
    slow = DerivativeImportance(response_method=method).fit(unknown, X)

    assert fast.method_ == "analytic"
    assert "differences" in slow.method_
    np.testing.assert_allclose(fast.importances_, slow.importances_, rtol=1e-6)


def test_what_falls_together_is_one_form():
    """A stack of lines and the outputs of ridges are lines."""
    for name in ("stack of lines", "outputs of lines"):
        model, _, y = fitted(name)
        imp = SensitivityImportance(scale=None).fit(model, X, y)
        assert imp.response_path_ == "linear"


@pytest.mark.parametrize(
    ("model", "y", "reason"),
    [
        (
            StackingClassifier(CLASSIFIERS, LOGISTIC, stack_method="predict"),
            THREE,
            "a member of the stack gives labels",
        ),
        (
            StackingRegressor(REGRESSORS, SVR()),
            VALUE,
            "the final estimator is not linear in the members' outputs",
        ),
        (
            CalibratedClassifierCV(LOGISTIC, cv=3, method="temperature"),
            TWO,
            "calibration by a temperature",
        ),
        (
            AdaBoostRegressor(Ridge(), n_estimators=4, random_state=0),
            VALUE,
            "AdaBoost of Ridge, which is not a tree",
        ),
        (
            BaggingClassifier(
                LinearDiscriminantAnalysis(), 3, max_samples=12, random_state=0
            ),
            np.where(np.arange(len(X)) == 0, 2, TWO),
            "a member of BaggingClassifier has not seen all classes",
        ),
        (
            StackingClassifier(CLASSIFIERS[1:], FOREST),
            LABELS,
            "a stack for several labels at once",
        ),
        (
            SGDClassifier(loss="modified_huber", random_state=0),
            TWO,
            "probabilities of the modified Huber loss are not read",
        ),
        (
            DummyClassifier(strategy="stratified", random_state=0),
            TWO,
            "its predictions are random",
        ),
    ],
    ids=[
        "labels",
        "curved stack",
        "temperature",
        "boosted lines",
        "rare class",
        "stack of labels",
        "huber",
        "dummy",
    ],
)
def test_what_is_left_to_the_model(model, y, reason):
    """The reason is published."""
    imp = SensitivityImportance(scale=None, estimation="exact")
    imp.fit(clone(model).fit(X, y), X)

    assert imp.response_path_ == f"black box ({reason})"
