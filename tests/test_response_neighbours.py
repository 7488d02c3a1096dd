"""Nearest neighbours: equal to the black box, ties and duplicates included."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skvarimp import (
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 4))
Y = X[:, 0] + np.sin(2 * X[:, 1])
CLASSES = np.digitize(Y, [-0.5, 0.5])
WEIGHTS = rng.integers(0, 3, 120)

MODELS = {
    "values": (KNeighborsRegressor(5), Y),
    "by distance": (KNeighborsRegressor(4, weights="distance"), Y),
    "two outputs": (KNeighborsRegressor(3), np.column_stack([Y, Y**2])),
    "nearest alone": (KNeighborsRegressor(1), Y),
    "all rows": (KNeighborsRegressor(120), Y),
    "classes": (KNeighborsClassifier(4), CLASSES),
    "classes by distance": (KNeighborsClassifier(4, weights="distance"), CLASSES),
    "two classes": (KNeighborsClassifier(4), CLASSES > 0),
    "brute": (KNeighborsClassifier(4, algorithm="brute"), CLASSES),
    "labels": (KNeighborsClassifier(3), np.column_stack([CLASSES, CLASSES > 0])),
}
DATA = {
    "numbers": X,
    "ties": np.round(X),
    "duplicates": np.repeat(X[:60], 2, axis=0),
    "one column": X[:, :1],
    "far away": X + 1e4,
}


def unknown(model):
    """The same model of a type that is not known, so that it is asked itself."""
    other = clone(model)
    other.__class__ = type("Unknown", (type(model),), {})
    other.__dict__.update(vars(model))
    return other


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("name", MODELS)
def test_equals_the_black_box(name, data):
    """Every response, with weights and a group."""
    model, y = MODELS[name]
    rows = DATA[data]
    model = clone(model).fit(rows, y)
    for method in ("predict_proba", "predict"):
        if not hasattr(model, method):
            continue
        exact = {"response_method": method, "estimation": "exact", "scale": None}
        groups = [0, [0, 1]] if rows.shape[1] > 1 else None
        for measure in (
            SensitivityImportance(**exact),
            SensitivityImportance(features=groups, contrast="observed", **exact),
            PartialDependenceImportance(response_method=method, grid=7),
        ):
            slow = clone(measure).fit(unknown(model), rows, sample_weight=WEIGHTS)
            fast = measure.fit(model, rows, sample_weight=WEIGHTS)

            assert fast.response_path_ == "nearest neighbours"
            size = max(np.abs(slow.importances_).max(), 1e-3)
            for attribute in ("importances_per_output_", "standard_errors_"):
                gap = getattr(fast, attribute) - getattr(slow, attribute)
                assert np.abs(gap).max() <= 1e-9 * size


def test_rows_that_were_not_trained_on_and_steps_in_front():
    """Donors beyond the training rows, behind a scaler, with a loss."""
    model = make_pipeline(StandardScaler(), KNeighborsRegressor(3))
    model.fit(X[:50], Y[:50])
    other = make_pipeline(StandardScaler(), unknown(KNeighborsRegressor(3)))
    other.fit(X[:50], Y[:50])

    fast = PermutationImportance(estimation="exact").fit(model, X, Y)
    slow = PermutationImportance(estimation="exact").fit(other, X, Y)

    assert fast.response_path_ == "column-wise steps, nearest neighbours"
    np.testing.assert_allclose(fast.importances_, slow.importances_, rtol=1e-9)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (KNeighborsRegressor(metric="manhattan"), "metric 'manhattan'"),
        (KNeighborsRegressor(weights=lambda d: 1 / (1 + d)), "weights of a function"),
    ],
)
def test_other_neighbours_are_left_to_the_model(model, reason):
    """The reason is published."""
    imp = SensitivityImportance(scale=None).fit(model.fit(X, Y), X)

    assert reason in imp.response_path_
