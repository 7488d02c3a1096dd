"""`RefittingSelector`: what selectors that refit an estimator have in common."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from skvarimp._display.html import DOCUMENTATION
from skvarimp._models.delegation import TakesAnyContainer
from skvarimp._running.private_sklearn import CallbackSupportMixin, validate_params
from skvarimp._running.whole_fit import whole_fit
from skvarimp._selection.steps import check_refittable
from skvarimp._types import Matrix


class RefittingSelector(
    TakesAnyContainer, SelectorMixin, CallbackSupportMixin, BaseEstimator
):
    """A selector that refits its `estimator` and measures importances.

    A subclass implements `_fit(X, y, params)`, which sets `support_`.
    """

    _doc_link_module = "skvarimp"
    _doc_link_template = DOCUMENTATION

    @whole_fit
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
        return self._fit(X, y, params)

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.support_
