"""Linear models behind Nystroem and RBFSampler: equal to the black box."""

import numpy as np
import pytest
from response_oracle import check_equal
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skvarimp import DerivativeImportance, SensitivityImportance

rng = np.random.default_rng(0)
X = np.round(rng.normal(size=(60, 4)), 1)
Y = np.column_stack([np.sin(X[:, 0]) + X[:, 1], X[:, 2] * X[:, 3]])
CLASSES = np.digitize(Y[:, 0], [-0.5, 0.5])
WEIGHTS = rng.uniform(0.2, 2.0, 60)
FEW = {"n_components": 15, "random_state": 0}

MODELS = {
    "landmarks": (make_pipeline(Nystroem(gamma=0.2, **FEW), Ridge()), Y),
    "default gamma": (make_pipeline(Nystroem(**FEW), Ridge()), Y),
    "scaled": (make_pipeline(StandardScaler(), Nystroem(**FEW), Ridge()), Y[:, 0]),
    "polynomial": (make_pipeline(Nystroem(kernel="poly", **FEW), Ridge()), Y[:, 0]),
    "polynomial of components": (
        make_pipeline(
            PCA(2),
            Nystroem(kernel="poly", degree=2, n_components=5, random_state=0),
            Ridge(),
        ),
        Y[:, 0],
    ),
    "classes": (make_pipeline(Nystroem(**FEW), LogisticRegression()), CLASSES),
    "cosines": (make_pipeline(RBFSampler(gamma=0.2, **FEW), Ridge()), Y),
    "cosines of components": (
        make_pipeline(PCA(3), RBFSampler(gamma=0.2, **FEW), Ridge()),
        Y[:, 0],
    ),
    "cosines, classes": (
        make_pipeline(RBFSampler(gamma=0.3, **FEW), LogisticRegression()),
        CLASSES > 0,
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_equals_the_black_box(name):
    """Every reduction and grid, with and without weights, and a group."""
    model, y = MODELS[name]
    model.fit(X, y)
    check_equal(model, X, features=[0, [1, 2]])
    check_equal(model, X, WEIGHTS, features=[3])


def test_slopes():
    """Landmarks have a formula; cosines go by differences."""
    for name, method in (("landmarks", "analytic"), ("cosines", "differences")):
        model, y = MODELS[name]
        imp = DerivativeImportance().fit(model.fit(X, y), X)
        assert method in imp.method_


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (make_pipeline(Nystroem(**FEW), RandomForestRegressor(2)), "is not linear"),
        (make_pipeline(Nystroem(kernel="laplacian", **FEW), Ridge()), "'laplacian'"),
    ],
)
def test_others_are_left_to_the_model(model, reason):
    """The reason is published."""
    imp = SensitivityImportance(estimation="exact", scale=None)
    assert reason in imp.fit(model.fit(X, Y), X).response_path_
