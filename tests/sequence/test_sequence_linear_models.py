"""Weights of oligomers from linear models behind a vectorizer."""

import numpy as np
import pytest
from sequence_machines import data, fresh
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.linear_model import (
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, Normalizer, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC

from skvarimp.sequence import OligomerVectorizer, OligomerWeights


@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(),
        LogisticRegression(class_weight="balanced"),
        RidgeClassifier(),
        SGDClassifier(random_state=0),
        SVC(kernel="linear"),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("normalize", [True, False])
def test_linear_classifiers(model, normalize):
    """The sum of weights is decision_function, in its sign and units."""
    X, y = data()
    pipeline = make_pipeline(OligomerVectorizer(3, normalize=normalize), model)
    pipeline.fit(X, y)

    weights = OligomerWeights.from_estimator(pipeline)

    np.testing.assert_allclose(
        weights.decision_function(fresh()), pipeline.decision_function(fresh()),
        rtol=1e-10, atol=1e-12,
    )  # fmt: skip


@pytest.mark.parametrize("model", [Ridge(), SVR(kernel="linear")])
def test_linear_regressors(model):
    """Regressors: the units of predict."""
    X, y = data()
    pipeline = make_pipeline(OligomerVectorizer(2), model).fit(X, y == "b")

    weights = OligomerWeights.from_estimator(pipeline)

    np.testing.assert_allclose(
        weights.decision_function(fresh()), pipeline.predict(fresh()), atol=1e-12
    )


@pytest.mark.parametrize(
    "steps",
    [
        ["passthrough"],
        [SelectKBest(chi2, k=25)],
        [MaxAbsScaler(), SelectKBest(chi2, k=25)],
        [StandardScaler(with_mean=False)],
        [StandardScaler(with_mean=False, with_std=False)],
    ],
)
def test_steps_between(steps):
    """Selectors and scalers are undone exactly; sparsified coefficients too."""
    X, y = data()
    pipeline = make_pipeline(OligomerVectorizer(3), *steps, LogisticRegression())
    pipeline.fit(X, y)
    pipeline[-1].sparsify()

    weights = OligomerWeights.from_estimator(pipeline)

    np.testing.assert_allclose(
        weights.decision_function(fresh()), pipeline.decision_function(fresh()),
        rtol=1e-10, atol=1e-12,
    )  # fmt: skip


def test_the_vectorizer_brings_its_alphabet_and_rule():
    """Unknown letters score as in the pipeline."""
    X, y = data()
    vectorizer = OligomerVectorizer(2, alphabet="TCGA", unknown="ignore")
    pipeline = make_pipeline(vectorizer, LinearSVC()).fit(X, y)
    holes = ["NN" + x[2:] for x in fresh()]

    weights = OligomerWeights.from_estimator(pipeline)

    assert weights.alphabet == "TCGA"
    np.testing.assert_allclose(
        weights.decision_function(holes), pipeline.decision_function(holes), atol=1e-12
    )


def test_searches_are_replaced_by_their_best_estimator():
    """A grid search over the order."""
    X, y = data()
    pipeline = make_pipeline(OligomerVectorizer(1), LinearSVC())
    search = GridSearchCV(pipeline, {"oligomervectorizer__max_order": [1, 3]}, cv=3)

    weights = OligomerWeights.from_estimator(search.fit(X, y))

    np.testing.assert_allclose(
        weights.decision_function(fresh()),
        search.decision_function(fresh()),
        atol=1e-12,
    )


def test_affine_steps_between_stay_sums_of_weights():
    """A projection of the columns multiplies into the coefficients."""
    X, y = data()
    steps = OligomerVectorizer(2), TruncatedSVD(3, random_state=0), LinearSVC()
    pipeline = make_pipeline(*steps).fit(X, y)
    weights = OligomerWeights.from_estimator(pipeline)
    np.testing.assert_allclose(
        weights.decision_function(fresh()),
        pipeline.decision_function(fresh()),
        atol=1e-12,
    )


def test_models_that_are_no_sum_of_weights():
    """Each says why and what to use."""
    X, y = data()

    def pipeline(*steps, target=y):
        return make_pipeline(OligomerVectorizer(2), *steps).fit(X, target)

    three = np.array(["a", "b", "c"])[np.arange(len(X)) % 3]
    cases = [
        (pipeline(PoissonRegressor(), target=y == "b"), ValueError, "identity link"),
        (
            pipeline(RandomForestClassifier(2)),
            TypeError,
            "must end with a linear model, got RandomF",
        ),
        (pipeline(Normalizer(), LinearSVC()), TypeError, "Normalizer has no formula"),
        (pipeline(LinearSVC(), target=three), ValueError, "3 outputs"),
        (make_pipeline(OligomerVectorizer(2)).fit(X), TypeError, "got Oligomer"),
        (make_pipeline(MaxAbsScaler(), LinearSVC()), NotFittedError, "fit"),
        (LinearSVC(), NotFittedError, "not fitted"),
        (RandomForestClassifier(2).fit([[0], [1]], [0, 1]), TypeError, "needs a Pipel"),
        (SVC, TypeError, "got the class SVC"),
    ]
    for estimator, error, message in cases:
        with pytest.raises(error, match=message):
            OligomerWeights.from_estimator(estimator)
    numbers = make_pipeline(MaxAbsScaler(), LinearSVC()).fit(np.eye(4), [0, 1, 0, 1])
    with pytest.raises(TypeError, match="must start with OligomerVectorizer"):
        OligomerWeights.from_estimator(numbers)
    mixed = make_pipeline(OligomerVectorizer(1).fit(X), pipeline(LinearSVC())[-1])
    with pytest.raises(ValueError, match="Fit them together"):
        OligomerWeights.from_estimator(mixed)
