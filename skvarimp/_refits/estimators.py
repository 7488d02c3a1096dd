"""What refits an estimator and measures it, and answers like the model refitted."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Self

from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, is_classifier
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import (
    check_array,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from skvarimp._data.table import as_table, check_in_memory, checked_frame
from skvarimp._data.validation import (
    CONSTRAINTS,
    check_class_labels,
    check_target,
    is_structured,
    validate_params,
)
from skvarimp._display.html import DOCUMENTATION
from skvarimp._measures.sensitivity import SensitivityImportance
from skvarimp._refits.measures import check_one_a_column, measure_constraint
from skvarimp._refits.metadata import routed, router_of
from skvarimp._refits.refits import Refits, check_refittable
from skvarimp._running.guards import whole_fit
from skvarimp._running.private_sklearn import CallbackSupportMixin
from skvarimp._types import Matrix


class RefitsEstimator(MetaEstimatorMixin, BaseEstimator):
    """Something that refits its `estimator` and measures importances.

    It takes the X that its estimator takes: frames unchanged, arrays checked. A
    subclass implements `_fit(refits)`.
    """

    _doc_link_module = "skvarimp"
    _doc_link_template = DOCUMENTATION

    @whole_fit
    def fit(self, X: Matrix, y: ArrayLike, **params: Any) -> Self:
        """Fit to a training set.

        Parameters
        ----------
        X : {array-like, frame, sparse} of shape (n_samples, n_features)
            Training rows, in a container that the estimator takes.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Target.
        **params : dict
            Without metadata routing: `sample_weight` for the estimator, the
            measure and the scorer, and `groups` for the splitter, as far as the
            instance has them. With routing, what those request. What the estimator's
            `fit` takes that is not per row, such as `categorical_feature`, reaches it;
            columns in it are renumbered where columns are dropped.

        Returns
        -------
        self : object
            The fitted instance.
        """
        validate_params(self)
        check_refittable(self.estimator)
        table, y = self._checked(X, y)
        given = self.measure
        measure = self._default_measure() if given is None else given
        measure = check_one_a_column(measure)
        passed = routed(self, self.estimator, params, table.n_samples)
        self._fit(Refits(self.estimator, measure, table, y, passed))
        return self

    def get_metadata_routing(self) -> MetadataRouter:
        """Where metadata given to `fit` goes.

        Returns
        -------
        router : MetadataRouter
            To the estimator's and the measure's fit.
        """
        return router_of(self, self.estimator, self.measure)

    def _validated(self, X, reset):
        """X checked as scikit-learn does it; frames unchanged."""
        if checked_frame(X):
            validate_data(self, X, skip_check_array=True, reset=reset)
            return X
        check_in_memory(X, "X")
        return validate_data(
            self,
            X,
            dtype=None,
            accept_sparse=["csr", "csc"],
            ensure_all_finite=not get_tags(self.estimator).input_tags.allow_nan
            or "allow-nan",
            reset=reset,
        )

    def _checked(self, X, y):
        """X as a table and y as an array, checked as scikit-learn does."""
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but "
                "the target y is None."
            )
        check_in_memory(y, "y")
        table = as_table(self._validated(X, reset=True))
        if not is_structured(y):
            y = check_array(y, ensure_2d=False, dtype=None, input_name="y")
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        check_target(y, table.n_samples, structured=True)
        if is_classifier(self.estimator):
            check_class_labels(y)
        return table, y

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.target_tags = deepcopy(inner.target_tags)
        tags.target_tags.required = True
        tags.input_tags.sparse = inner.input_tags.sparse
        frame = hasattr(self, "feature_names_in_")  # goes to the estimator unchecked
        tags.input_tags.allow_nan = inner.input_tags.allow_nan or frame
        return tags

    def _default_measure(self):
        """What serves where `measure` is None."""
        return SensitivityImportance(contrast="observed", scale=None)


class RefittingSelector(SelectorMixin, CallbackSupportMixin, RefitsEstimator):
    """A selector whose `_fit` sets `support_`."""

    _shared_constraints = CONSTRAINTS | {
        "measure": [*measure_constraint, callable, None],
    }

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.support_


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
