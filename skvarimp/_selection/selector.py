"""Estimators that refit an estimator: what selectors are, and `ImportanceEstimator`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.validation import check_is_fitted

from skvarimp._data.table import as_table
from skvarimp._display.html import DOCUMENTATION
from skvarimp._measures.base import BaseImportance
from skvarimp._measures.sensitivity import SensitivityImportance
from skvarimp._models.delegation import Delegating, TakesAnyContainer
from skvarimp._running.guards import whole_fit
from skvarimp._running.private_sklearn import (
    CallbackSupportMixin,
    validate_params,
    with_callbacks,
)
from skvarimp._selection.checks import (
    check_one_a_column,
    check_refittable,
    importance_constraint,
    routed,
    router_of,
)
from skvarimp._selection.refits import Refits
from skvarimp._types import AnyEstimator, Matrix


class RefitsEstimator(TakesAnyContainer, BaseEstimator):
    """Something that refits its `estimator` and measures importances.

    A subclass implements `_fit(refits)`.
    """

    _doc_link_module = "skvarimp"
    _doc_link_template = DOCUMENTATION

    @whole_fit
    @with_callbacks
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
            importance and the scorer, and `groups` for the splitter, as far as the
            instance has them. With routing, what those request.

        Returns
        -------
        self : object
            The fitted instance.
        """
        validate_params(self)
        check_refittable(self.estimator)
        table, y = self._checked(X, y)
        given = self.importance
        importance = self._default_importance() if given is None else given
        importance = check_one_a_column(importance)
        passed = routed(self, self.estimator, params, table.n_samples)
        self._fit(Refits(self.estimator, importance, table, y, passed))
        return self

    def get_metadata_routing(self) -> MetadataRouter:
        """Where metadata given to `fit` goes.

        Returns
        -------
        router : MetadataRouter
            To the estimator's and the importance's fit.
        """
        return router_of(self, self.estimator, self.importance)

    def _default_importance(self):
        """What serves where `importance` is None."""
        return SensitivityImportance(contrast="observed", scale=None)


class RefittingSelector(SelectorMixin, CallbackSupportMixin, RefitsEstimator):
    """A selector whose `_fit` sets `support_`."""

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.support_


@dataclass(eq=False, repr=False)
class ImportanceEstimator(Delegating, RefitsEstimator):
    """An estimator that exposes an importance as `feature_importances_`.

    Fits the estimator, then the importance on the same rows, so that
    `SelectFromModel`, `RFE` and `RFECV` take any measure with any model.

    Parameters
    ----------
    estimator : estimator
        Any estimator; cloned.
    importance : importance or str
        Any importance class of skvarimp with one entry per column, cloned; or its
        name, such as "sensitivity", for default parameters.

    Attributes
    ----------
    estimator_ : estimator
        The fitted estimator; `predict`, `score` and so on ask it.
    importance_ : importance
        The fitted importance.
    feature_importances_ : ndarray of shape (n_features,)
        Its `importances_`.
    n_features_in_ : int
        Number of columns seen.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where X had names.

    See Also
    --------
    BackwardEliminationSelector : Selection on held-out importances.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from sklearn.feature_selection import SelectFromModel
    >>> from sklearn.svm import SVR
    >>> from skvarimp import ImportanceEstimator, SensitivityImportance
    >>> X, y = make_friedman1(200, random_state=0)
    >>> importance = SensitivityImportance(contrast="observed")
    >>> machine = ImportanceEstimator(SVR(C=10.0), importance)
    >>> SelectFromModel(machine, max_features=3).fit(X, y).get_support(indices=True)
    array([0, 1, 3])
    """

    _parameter_constraints = {  # noqa: RUF012 scikit-learn's form
        "importance": importance_constraint,
    }

    estimator: AnyEstimator
    importance: BaseImportance | str

    def _checked(self, X, y):
        return as_table(self._validated(X, reset=True)), y

    def _fit(self, refits):
        X, y, passed = refits.table.native, refits.y, refits.passed
        self.estimator_ = clone(self.estimator).fit(X, y, **passed.fit)
        fit = refits.importance.fit
        self.importance_ = fit(self.estimator_, X, y, **passed.importance)
        self.feature_importances_ = np.array(self.importance_.importances_)

    def _selected(self, X):
        return X
