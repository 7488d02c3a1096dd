"""Nearest neighbours: equal to the black box, ties and duplicates included."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    RadiusNeighborsClassifier,
    RadiusNeighborsRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skvarimp import (
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
)
from skvarimp._compiled import built
from skvarimp._response.responses import neighbours

rng = np.random.default_rng(0)
X = rng.normal(size=(70, 4))
Y = X[:, 0] + np.sin(2 * X[:, 1])
CLASSES = np.digitize(Y, [-0.5, 0.5])
WEIGHTS = rng.integers(0, 3, 70)

MODELS = {
    "values": (KNeighborsRegressor(5), Y),
    "by distance": (KNeighborsRegressor(4, weights="distance"), Y),
    "two outputs": (KNeighborsRegressor(3), np.column_stack([Y, Y**2])),
    "nearest alone": (KNeighborsRegressor(1), Y),
    "all rows": (KNeighborsRegressor(40), Y),
    "classes": (KNeighborsClassifier(4), CLASSES),
    "classes by distance": (KNeighborsClassifier(4, weights="distance"), CLASSES),
    "two classes": (KNeighborsClassifier(4), CLASSES > 0),
    "brute": (KNeighborsClassifier(4, algorithm="brute"), CLASSES),
    "labels": (KNeighborsClassifier(3), np.column_stack([CLASSES, CLASSES > 0])),
}
LABELS = np.column_stack([CLASSES, CLASSES > 0])
WITHIN = {
    "values": (RadiusNeighborsRegressor(20.0), Y),
    "two outputs": (RadiusNeighborsRegressor(20.0), np.column_stack([Y, Y**2])),
    "by distance": (RadiusNeighborsRegressor(20.0, weights="distance"), Y),
    "brute": (
        RadiusNeighborsRegressor(20.0, weights="distance", algorithm="brute"),
        Y,
    ),
    "classes": (RadiusNeighborsClassifier(1.0, outlier_label=1), CLASSES),
    "classes by distance": (
        RadiusNeighborsClassifier(1.0, outlier_label=0, weights="distance"),
        CLASSES,
    ),
    "most frequent": (
        RadiusNeighborsClassifier(1.5, outlier_label="most_frequent"),
        CLASSES > 0,
    ),
    "two labels": (RadiusNeighborsClassifier(1.5, outlier_label=[2, 1]), LABELS),
    "brute classes": (
        RadiusNeighborsClassifier(1.0, outlier_label=2, algorithm="brute"),
        CLASSES,
    ),
}
DATA = {
    "numbers": X,
    "ties": np.round(X),
    "duplicates": np.repeat(X[:35], 2, axis=0),
    "one column": X[:, :1],
    "far away": X + 1e4,
}


def unknown(model):
    """The same model of a type that is not known, so that it is asked itself."""
    other = clone(model)
    other.__class__ = type("Unknown", (type(model),), {})
    other.__dict__.update(vars(model))
    return other


CASES = [
    pytest.param("nearest neighbours", *case, data, id=f"{name}-{data}")
    for name, case in MODELS.items()
    for data in DATA
]
CASES += [
    pytest.param(
        "nearest neighbours within a radius", *case, data, id=f"radius {name}-{data}"
    )
    for name, case in WITHIN.items()
    for data in ("numbers", "ties")
]


@pytest.mark.parametrize(("path", "model", "y", "data"), CASES)
def test_equals_the_black_box(path, model, y, data):
    """Every response, with weights and a group."""
    rows, y, weights = DATA[data][:40], y[:40], WEIGHTS[:40]
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
            slow = clone(measure).fit(unknown(model), rows, sample_weight=weights)
            fast = measure.fit(model, rows, sample_weight=weights)

            assert fast.response_path_ == path
            size = max(np.abs(slow.importances_).max(), 1e-3)
            for attribute in ("importances_per_output_", "standard_errors_"):
                gap = getattr(fast, attribute) - getattr(slow, attribute)
                assert np.abs(gap).max() <= 1e-9 * size


@pytest.mark.skipif(not built(), reason="kernels are not built")
@pytest.mark.parametrize("candidates", [8, 64, 100])
@pytest.mark.parametrize("k", [1, 2, 20, 70])
@pytest.mark.parametrize("data", DATA)
def test_kernel_finds_the_rows_that_numpy_finds(data, k, candidates, monkeypatch):
    """At every cell where no tie decides, however few rows are looked at first."""
    monkeypatch.setattr(neighbours, "CANDIDATES", candidates)
    rows, t = DATA[data], DATA[data][:, 0]
    D, values = cdist(rows[:, 1:], rows[:, 1:], "sqeuclidean"), np.unique(t)
    nearest, tied = [], []
    for engine in "01":
        monkeypatch.setenv("SKVARIMP_COMPILED", engine)
        race = neighbours._Race(D, t, values, k, np.ones(70))
        row, cell, states, ties = race.run()
        every = np.arange(70 * len(values))
        at = np.searchsorted(row * len(values) + cell, every, side="right") - 1
        nearest.append(states[at])
        tied.append(ties[at])
    np.testing.assert_array_equal(*tied)
    np.testing.assert_array_equal(nearest[0][~tied[0]], nearest[1][~tied[0]])


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


@pytest.mark.filterwarnings("ignore:One or more samples have no neighbors")
@pytest.mark.filterwarnings("ignore:Outlier label 7 is not in training classes")
def test_rows_without_neighbours():
    """The model's own error where it has no answer, and a label of no class."""
    model = RadiusNeighborsRegressor(1.5).fit(X, Y)
    fast, slow = (SensitivityImportance(estimation="exact", scale=None) for _ in "ab")
    with pytest.raises(ValueError, match="NaN or infinite with 'x0' set to"):
        fast.fit(model, X)

    model = RadiusNeighborsClassifier(1.5, outlier_label=7).fit(X, CLASSES)
    fast.fit(model, X)
    slow.fit(unknown(model), X)

    assert fast.response_path_ == "nearest neighbours within a radius"
    np.testing.assert_allclose(fast.importances_, slow.importances_, rtol=1e-9)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (KNeighborsRegressor(metric="manhattan"), "metric 'manhattan'"),
        (KNeighborsRegressor(weights=lambda d: 1 / (1 + d)), "weighted by a function"),
    ],
)
def test_other_neighbours_are_left_to_the_model(model, reason):
    """The reason is published."""
    imp = SensitivityImportance(scale=None).fit(model.fit(X, Y), X)

    assert reason in imp.response_path_
