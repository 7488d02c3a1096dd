"""Selectors answer like the model that they fitted on the selected columns."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from numpy.typing import ArrayLike, NDArray
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skvarimp._types import Matrix


def estimator_has(method):
    """Whether the fitted estimator, or else the one given, has a method."""

    def check(self):
        getattr(getattr(self, "estimator_", self.estimator), method)
        return True

    return check


class Delegating:
    """Answers like the estimator refitted on the selected columns, `estimator_`."""

    def _ask(self, method, X, *args, **params):
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        return getattr(self.estimator_, method)(self._selected(X), *args, **params)

    @available_if(estimator_has("predict"))
    def predict(self, X: Matrix) -> NDArray[Any]:
        """Predict with the estimator on the selected columns.

        Parameters
        ----------
        X : {array-like, frame, sparse} of shape (n_samples, n_features)
            Rows with all columns.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predictions.
        """
        return self._ask("predict", X)

    @available_if(estimator_has("predict_proba"))
    def predict_proba(self, X: Matrix) -> Any:
        """Class probabilities of the estimator on the selected columns.

        Parameters
        ----------
        X : {array-like, frame, sparse} of shape (n_samples, n_features)
            Rows with all columns.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            Probabilities.
        """
        return self._ask("predict_proba", X)

    @available_if(estimator_has("predict_log_proba"))
    def predict_log_proba(self, X: Matrix) -> Any:
        """Log-probabilities of the estimator on the selected columns.

        Parameters
        ----------
        X : {array-like, frame, sparse} of shape (n_samples, n_features)
            Rows with all columns.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            Log-probabilities.
        """
        return self._ask("predict_log_proba", X)

    @available_if(estimator_has("decision_function"))
    def decision_function(self, X: Matrix) -> NDArray[Any]:
        """Scores of the estimator on the selected columns.

        Parameters
        ----------
        X : {array-like, frame, sparse} of shape (n_samples, n_features)
            Rows with all columns.

        Returns
        -------
        score : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Decision function.
        """
        return self._ask("decision_function", X)

    @available_if(estimator_has("score"))
    def score(self, X: Matrix, y: ArrayLike, **score_params: Any) -> float:
        """Score of the estimator on the selected columns.

        Parameters
        ----------
        X : {array-like, frame, sparse} of shape (n_samples, n_features)
            Rows with all columns.
        y : array-like of shape (n_samples,)
            True target.
        **score_params : dict
            Passed to the estimator's `score`, such as sample_weight.

        Returns
        -------
        score : float
            Mean accuracy or coefficient of determination.
        """
        return self._ask("score", X, y, **score_params)

    @property
    def classes_(self) -> Any:
        """Classes of the estimator."""
        return self.estimator_.classes_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = deepcopy(inner.classifier_tags)
        tags.regressor_tags = deepcopy(inner.regressor_tags)
        for of_kind in (tags.classifier_tags, tags.regressor_tags):
            if of_kind is not None:
                of_kind.poor_score = True
        return tags
