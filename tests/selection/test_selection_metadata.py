"""Weights, groups and other metadata reach what selectors call."""

import numpy as np
import pytest
from selection_data import BOTH, X, Y, assert_rule
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, KFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skvarimp import (
    BackwardEliminationSelector,
    ImportanceEstimator,
    SensitivityImportance,
)


class Needs(BaseEstimator, ClassifierMixin):
    """A classifier that refuses to be fitted without sample_weight."""

    def fit(self, X, y, sample_weight=None):
        """Fit, given weights."""
        assert sample_weight is not None
        assert len(sample_weight) == len(y)
        self.classes_ = np.unique(y)
        self.inner_ = LogisticRegression().fit(X, y, sample_weight)
        return self

    def predict_proba(self, X):
        """Of the inner model."""
        return self.inner_.predict_proba(X)

    def predict(self, X):
        """Of the inner model."""
        return self.inner_.predict(X)


def test_metadata_with_and_without_routing():
    """Weights reach estimator, importance and scorer; groups reach the splitter."""
    Z, labels = make_classification(90, 5, random_state=0)
    weights, groups = np.linspace(1, 2, 90), np.arange(90) // 10
    selector = BackwardEliminationSelector(Needs(), cv=GroupKFold(3))
    selector.fit(Z, labels, sample_weight=weights, groups=groups)
    assert_rule(selector)
    without = BackwardEliminationSelector(LogisticRegression(), cv=3)
    assert_rule(without.fit(Z, labels, sample_weight=weights))
    with pytest.raises(TypeError, match="sample_weight and groups"):
        without.fit(Z, labels, offset=weights)
    with pytest.raises(ValueError, match="90 values"):
        without.fit(Z, labels, sample_weight=weights[:3])
    with config_context(enable_metadata_routing=True):
        routed = BackwardEliminationSelector(
            Needs()
            .set_fit_request(sample_weight=True)
            .set_score_request(sample_weight=True),
            SensitivityImportance(contrast="observed").set_fit_request(
                sample_weight=True
            ),
            cv=GroupKFold(3),
        ).fit(Z, labels, sample_weight=weights, groups=groups)
    assert np.array_equal(routed.ranking_, selector.ranking_)
    assert routed.path_["score"] == pytest.approx(selector.path_["score"])


@pytest.mark.parametrize("to_measure", [True, False, None])
def test_weights_of_an_importance_estimator(to_measure):
    """They reach the estimator, and the measure if it asks; without routing, both."""
    Z, labels = make_classification(60, 4, random_state=0)
    weights = np.linspace(1, 2, 60)
    model, measure = LogisticRegression(), SensitivityImportance(contrast="observed")
    with config_context(enable_metadata_routing=to_measure is not None):
        if to_measure is not None:
            model.set_fit_request(sample_weight=True)
            measure.set_fit_request(sample_weight=to_measure)
        both = ImportanceEstimator(model, measure)
        both.fit(Z, labels, sample_weight=weights)
    model.fit(Z, labels, sample_weight=weights)
    asked = None if to_measure is False else weights
    measure.fit(model, Z, labels, sample_weight=asked)
    assert np.array_equal(both.feature_importances_, measure.importances_)


@pytest.mark.parametrize("routing", [True, False])
def test_groups_stay_together_without_cv(routing):
    """One split that holds whole groups out, with routing on and off."""
    Z, labels = make_classification(90, 4, random_state=0)
    groups = np.arange(90) // 10
    rows = np.column_stack([groups, Z])
    seen = []

    def importance(estimator, X, y):
        seen.append(set(X[:, 0]))
        return np.arange(X.shape[1])[::-1] + 1.0

    class Recorder(LogisticRegression):
        def fit(self, X, y):
            seen.append(set(X[:, 0]))
            return super().fit(X, y)

    with config_context(enable_metadata_routing=routing):
        selector = BackwardEliminationSelector(Recorder(), importance, random_state=0)
        selector.fit(rows, labels, groups=groups)
    train, held_out = seen[:2]
    assert train
    assert not train & held_out


def test_weights_without_a_taker_are_refused():
    """They would silently not reach the model; routing says what they are for."""
    model = make_pipeline(StandardScaler(), LogisticRegression())
    labels, weights = Y.mean() < Y, np.ones(len(Y))
    for estimator in (model, KNeighborsClassifier()):
        with pytest.raises(ValueError, match=r"takes no sample_weight.*routing=True"):
            BackwardEliminationSelector(estimator).fit(X, labels, sample_weight=weights)


@BOTH
def test_routing_without_metadata(kind):
    """Routing switched on changes nothing where nothing is passed."""
    few = X[:, :5]
    plain = kind(Ridge(), cv=3).fit(few, Y)
    with config_context(enable_metadata_routing=True):
        routed = kind(Ridge(), cv=3).fit(few, Y)
        folds = kind(Ridge(), cv=KFold(3).split(few)).fit(few, Y)
    assert np.array_equal(plain.ranking_, routed.ranking_)
    assert folds.path_["score"] == plain.path_["score"]


def test_routing_asks_measures_only():
    """A function that stands for a measure may have attributes of its own."""

    def order(estimator, X, y):
        return np.arange(X.shape[1])

    order.get_metadata_routing = None
    with config_context(enable_metadata_routing=True):
        selector = BackwardEliminationSelector(Ridge(), order)
        assert "estimator" in str(selector.get_metadata_routing())
