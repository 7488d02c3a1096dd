"""Models whose gradient has no formula, or which have no gradient."""

import numpy as np
import pandas as pd
import pytest
from gradient_rows import SCORE_FIRST, TWO, X, central, y
from messages import says
from sklearn.decomposition import PCA
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingRegressor,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingRegressor,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import BernoulliNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skvarimp._models.gradients import (
    differentiable,
    gradient,
    gradient_blocks,
    linear_coefficients,
    piecewise_constant,
)
from skvarimp._models.links import NoGradient
from skvarimp._models.model import Model
from skvarimp.exceptions import ResponseWarning


class Squared(Ridge):
    """A subclass that predicts otherwise than its base."""

    def predict(self, X):
        """Not linear in X."""
        return super().predict(X) ** 2


def test_a_subclass_never_takes_its_bases_formula():
    """The exact type decides, so an overridden predict is seen."""
    model = Model(Squared().fit(X, y))
    with pytest.raises(NoGradient, match="Squared has no fast response"):
        differentiable(model, X)
    assert linear_coefficients(model, X) is None
    np.testing.assert_allclose(gradient(model, X), central(model, X), atol=1e-6)


class _Tree(RandomForestRegressor):
    pass


def test_a_replaced_method_is_not_the_formula():
    """An instance with its own predict is not of its type's formula."""
    model = Ridge().fit(X, y)
    model.predict = lambda Z: np.asarray(Z)[:, 0] ** 2
    np.testing.assert_allclose(
        gradient(Model(model), X)[:, 0, 0], 2 * X[:, 0], atol=1e-8
    )


def test_a_wrong_formula_is_detected_and_said():
    """The comparison with the model itself catches a stale formula."""
    svm = SVR(gamma=0.5).fit(X, y)
    svm.dual_coef_ = 2 * svm.dual_coef_  # the machine keeps using its own
    model = Model(svm)
    with pytest.warns(ResponseWarning, match=says("SVR differs … central differences")):
        result = gradient(model, X)
    np.testing.assert_allclose(result, central(model, X), atol=1e-6)


@pytest.mark.parametrize(
    ("estimator", "reason"),
    [
        (SVR(kernel="precomputed"), "kernel 'precomputed'"),
        (SVC(kernel=lambda A, B: A @ B.T), "the kernel <function"),
        (KernelRidge(kernel="laplacian"), "kernel 'laplacian'"),
        (GaussianProcessRegressor(optimizer=None), "GaussianProcessRegressor has no"),
        (make_pipeline(PolynomialFeatures(), SVR()), "PolynomialFeatures mult"),
        (make_pipeline(MinMaxScaler(clip=True), Ridge()), "MinMaxScaler clips"),
        (RandomForestRegressor(3), "RandomForestRegressor is piecewise constant"),
    ],
)
def test_declining_gives_the_reason(estimator, reason):
    """A model without a formula says why."""
    target = TWO if hasattr(estimator, "decision_function") else y
    target = TWO if isinstance(estimator, SVC) else target
    data = X @ X.T if getattr(estimator, "kernel", None) == "precomputed" else X
    estimator.fit(data, target)

    with pytest.raises(NoGradient, match=reason):
        differentiable(Model(estimator, prefer=SCORE_FIRST), data)


def test_labels_have_no_formula():
    """Labels jump, whatever the model."""
    model = Model(LogisticRegression().fit(X, TWO), "predict")
    assert linear_coefficients(model, X) is None
    assert piecewise_constant(model, X) == "predict of LogisticRegression gives labels"


def test_values_without_a_derivative_are_refused():
    """Only finite numbers can move by a small step."""
    frame = pd.DataFrame({"a": X[:, 0], "b": ["u", "v"] * 30})
    model = Model(lambda Z: np.asarray(Z["a"], dtype=float))
    with pytest.raises(ValueError, match=says("'b' … not finite … no derivative")):
        gradient(model, frame)
    _, slopes = next(gradient_blocks(model, frame, columns=[0]))
    np.testing.assert_allclose(slopes, 1.0, rtol=1e-9)


@pytest.mark.parametrize(
    "estimator",
    [
        DecisionTreeClassifier(max_depth=2),
        RandomForestClassifier(3, random_state=0),
        GradientBoostingClassifier(n_estimators=3),
        BaggingRegressor(n_estimators=3, random_state=0),
        AdaBoostRegressor(n_estimators=3, random_state=0),
        VotingRegressor([("f", RandomForestRegressor(2)), ("d", DummyRegressor())]),
        make_pipeline(StandardScaler(), DecisionTreeRegressor(max_depth=2)),
        make_pipeline(PCA(2), DecisionTreeRegressor(max_depth=2)),
        BernoulliNB(binarize=0.1),
        GridSearchCV(RandomForestRegressor(2), {"max_depth": [1]}, cv=2),
    ],
    ids=lambda e: f"{e!r:.40}",
)
def test_piecewise_constant_models_say_so(estimator):
    """Trees, also inside other models, have derivative 0."""
    model = Model(estimator.fit(X, TWO))
    assert "is piecewise constant" in piecewise_constant(model, X)
    # the reason: nearly every small move changes nothing
    moves = gradient(model, X[::6])
    assert np.mean(moves == 0) > 0.9


@pytest.mark.parametrize(
    "estimator",
    [
        KNeighborsRegressor(3),
        BaggingRegressor(Ridge(), n_estimators=3, random_state=0),
        VotingRegressor([("f", RandomForestRegressor(2)), ("l", Ridge())]),
        _Tree(2),
        Ridge(),
    ],
    ids=lambda e: f"{e!r:.40}",
)
def test_other_models_do_not(estimator):
    """A reason is given only where it is known."""
    assert piecewise_constant(Model(estimator.fit(X, y)), X) is None
