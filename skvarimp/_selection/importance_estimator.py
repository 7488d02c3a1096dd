"""`ImportanceEstimator`: any importance for scikit-learn's own selectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils.metadata_routing import MetadataRouter

from skvarimp._data.table import as_table
from skvarimp._data.validation import StrOptions
from skvarimp._measures.base import BaseImportance
from skvarimp._models.delegation import Delegating
from skvarimp._running.guards import whole_fit
from skvarimp._running.private_sklearn import validate_params
from skvarimp._selection.named import MEASURES
from skvarimp._selection.steps import (
    check_one_a_column,
    check_refittable,
    check_takes_weights,
    routed,
    router_of,
)
from skvarimp._types import AnyEstimator, Matrix


@dataclass(eq=False, repr=False)
class ImportanceEstimator(Delegating, BaseEstimator):
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
        "estimator": [object],
        "importance": [BaseImportance, StrOptions(set(MEASURES))],
    }

    estimator: AnyEstimator
    importance: BaseImportance | str

    @whole_fit
    def fit(self, X: Matrix, y: ArrayLike, **params: Any) -> Self:
        """Fit the estimator and the importance.

        Parameters
        ----------
        X : {array-like, frame, sparse} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Target.
        **params : dict
            Without metadata routing `sample_weight` for both; with routing, what
            they request.

        Returns
        -------
        self : object
            The fitted instance.
        """
        validate_params(self)
        check_refittable(self.estimator)
        importance = check_one_a_column(self.importance)
        X = self._validated(X, reset=True)
        passed = routed(self, self.estimator, params, as_table(X).n_samples)
        check_takes_weights(self.estimator, passed)
        self.estimator_ = clone(self.estimator).fit(X, y, **passed.fit)
        self.importance_ = importance.fit(self.estimator_, X, y, **passed.importance)
        self.feature_importances_ = np.array(self.importance_.importances_)
        return self

    def _selected(self, X):
        return X

    def get_metadata_routing(self) -> MetadataRouter:
        """Where metadata given to `fit` goes.

        Returns
        -------
        router : MetadataRouter
            To the estimator's and the importance's fit.
        """
        return router_of(self, self.estimator, self.importance)
