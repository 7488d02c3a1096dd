"""`RefittingSelector`: what selectors that refit an estimator have in common."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.validation import check_is_fitted

from skvarimp._display.html import DOCUMENTATION
from skvarimp._models.delegation import TakesAnyContainer
from skvarimp._running.guards import whole_fit
from skvarimp._running.private_sklearn import (
    CallbackSupportMixin,
    validate_params,
    with_callbacks,
)
from skvarimp._selection.steps import (
    check_one_a_column,
    check_refittable,
    check_takes_weights,
    routed,
    router_of,
)
from skvarimp._types import Matrix


class RefittingSelector(
    TakesAnyContainer, SelectorMixin, CallbackSupportMixin, BaseEstimator
):
    """A selector that refits its `estimator` and measures importances.

    A subclass implements `_fit(table, y, importance, passed)`, which sets `support_`,
    and `_default_importance()`, which serves where `importance` is None.
    """

    _doc_link_module = "skvarimp"
    _doc_link_template = DOCUMENTATION

    @whole_fit
    @with_callbacks
    def fit(self, X: Matrix, y: ArrayLike, **params: Any) -> Self:
        """Find the columns to keep.

        Parameters
        ----------
        X : {array-like, frame, sparse} of shape (n_samples, n_features)
            Training rows, in a container that the estimator takes.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Target.
        **params : dict
            Without metadata routing: `sample_weight` for the estimator, the
            importance and the scorer, and `groups` for the splitter, as far as the
            selector has them. With routing, what those request.

        Returns
        -------
        self : object
            Fitted selector.
        """
        validate_params(self)
        check_refittable(self.estimator)
        table, y = self._checked(X, y)
        given = self.importance
        importance = self._default_importance() if given is None else given
        importance = check_one_a_column(importance)
        passed = routed(self, self.estimator, params, table.n_samples)
        check_takes_weights(self.estimator, passed)
        self._fit(table, y, importance, passed)
        return self

    def get_metadata_routing(self) -> MetadataRouter:
        """Where metadata given to `fit` goes.

        Returns
        -------
        router : MetadataRouter
            To the estimator's and the importance's fit.
        """
        return router_of(self, self.estimator, self.importance)

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.support_
