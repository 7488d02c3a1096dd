"""Rows and columns unlike those that a model was fitted on, against the black box."""

import numpy as np
import pandas as pd
import pytest
from combinations import half
from response_oracle import check_equal
from sklearn.compose import make_column_transformer
from sklearn.cross_decomposition import PLSRegression
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import VotingRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler
from sklearn.svm import SVC, SVR

from skvarimp import SensitivityImportance

RANDOM = np.random.RandomState(0)

X = RANDOM.randn(40, 4)

Y = X[:, 0] * X[:, 1] + np.sin(X[:, 2])

LABELS = np.digitize(Y, np.quantile(Y, [0.3, 0.6]))

NETWORK = MLPRegressor(
    hidden_layer_sizes=(5, 4), solver="lbfgs", max_iter=50, tol=1.0, random_state=0
)

FAMILIES = {
    "partial least squares": (PLSRegression(2), Y, "predict"),
    "discriminant": (LinearDiscriminantAnalysis(), LABELS, "predict_proba"),
    "logistic": (LogisticRegression(), Y > 0, "predict_proba"),
    "support vectors": (SVC(), LABELS, "decision_function"),
    "kernel ridge": (KernelRidge(kernel="poly", degree=2), Y, "predict"),
    "network": (NETWORK, Y, "predict"),
    "pipeline": (
        make_pipeline(QuantileTransformer(n_quantiles=20), Ridge()),
        Y,
        "predict",
    ),
    "vote": (
        VotingRegressor([("a", LinearRegression()), ("b", make_pipeline(SVR()))]),
        Y,
        "predict",
    ),
}


@pytest.mark.parametrize("name", half(FAMILIES))
def test_rows_unlike_the_training_data(name):
    """Importances are over the rows given, wherever the model was fitted."""
    RANDOM = np.random.RandomState(0)
    model, y, method = FAMILIES[name]
    other = RANDOM.standard_t(3, size=(25, 4)) * 2 + 3
    weights = RANDOM.uniform(0.5, 2, 25)
    check_equal(model.fit(X, y), other, weights, method, [0, 2, [1, 3]])


def test_columns_of_a_frame_in_another_order():
    """A ColumnTransformer finds its columns by name, and so does what moves them."""
    frame = pd.DataFrame(X, columns=list("abcd"))
    steps = make_column_transformer(
        (StandardScaler(), ["b", "d"]), (QuantileTransformer(n_quantiles=9), ["a"])
    )
    model = make_pipeline(steps, SVR()).fit(frame, Y)
    turned = frame[list("dcab")]
    check_equal(model, turned, None, "predict", ["a", "c", ["b", "d"]])
    names = {"features": list("abcd"), "scale": None}
    one, other = (
        SensitivityImportance(**names).fit(model, rows) for rows in (frame, turned)
    )
    assert other.response_path_ == "column-wise steps, kernel"
    np.testing.assert_allclose(other.importances_, one.importances_)
