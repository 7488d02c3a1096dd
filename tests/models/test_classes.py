"""Classifiers with ties, with a missing class, and with wrong probabilities."""

import itertools

import numpy as np
import pytest
from response_oracle import check_equal
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
)
from sklearn.naive_bayes import MultinomialNB
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from skvarimp import SensitivityImportance

# Shares of two classes in three trees: their sums are equal but for rounding.
TIED = np.array([[0.35, 0.42, 0.23], [0.35, 0.35, 0.3], [0.42, 0.35, 0.23]])


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(3, max_depth=1, max_features=1, random_state=0),
        ExtraTreesClassifier(3, max_depth=1, max_features=1, random_state=0),
        BaggingClassifier(DecisionTreeClassifier(max_depth=1), 3, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_labels_that_rounding_decides_are_the_models_own(model):
    """Two classes with equal sums of shares: the model adds them in its own order."""
    rows = np.array(list(itertools.product([0.0, 1.0, 2.0], repeat=3)))
    model.fit(rows, np.arange(len(rows)) % 3)
    for tree, shares in zip(model.estimators_, TIED):
        tree.tree_.value[:, 0] = shares  # one class leads on the left, one on the right
        tree.tree_.value[-1, 0] = shares[[1, 0, 2]]
    first, second, _ = model.predict_proba(rows).T
    assert np.any((first != second) & np.isclose(first, second, rtol=1e-12))
    check_equal(model, rows, None, "predict", [0, 1, 2], ["all"])


X = np.random.RandomState(3).randn(40, 4)


@pytest.mark.parametrize("method", ["predict", "predict_proba"])
def test_naive_bayes_of_one_class(method):
    """Its one label never changes; no warning about a failed probe."""
    model = MultinomialNB().fit(np.abs(X), np.zeros(len(X)))
    measure = SensitivityImportance(scale=None, response_method=method)
    assert not measure.fit(model, np.abs(X)).importances_.any()


@pytest.mark.parametrize("kind", [SVC, LinearSVC])
def test_a_class_whose_training_rows_have_weight_0(kind):
    """The machine drops the class, but keeps it in `classes_`."""
    y = np.arange(len(X)) % 4
    model = kind(random_state=0).fit(X, y, sample_weight=y != 3)
    exact = {"scale": None, "estimation": "exact"}
    imp = SensitivityImportance(response_method="predict", **exact).fit(model, X)
    indicators = SensitivityImportance(**exact).fit(
        lambda X: np.equal.outer(model.predict(X), range(4)).astype(float), X
    )

    np.testing.assert_allclose(imp.importances_, indicators.importances_)
    assert imp.response_path_.startswith("black box (all training rows of one of")


class OfThreeClasses:
    """A classifier whose probabilities have a wrong shape."""

    classes_ = np.arange(3)

    def __init__(self, *shape):
        self.columns = shape

    def predict_proba(self, X):
        """Equal shares, whatever X holds."""
        return np.full((len(X), *self.columns), 1 / np.prod(self.columns))


@pytest.mark.parametrize("shape", [(), (1,), (2,), (4,)], ids=str)
def test_probabilities_of_other_classes(shape):
    """Of two columns the first would be dropped as if there were two classes."""
    with pytest.raises(ValueError, match="one column for each of its 3 classes, got"):
        SensitivityImportance(scale=None).fit(OfThreeClasses(*shape), X)
