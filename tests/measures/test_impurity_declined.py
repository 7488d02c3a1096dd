"""Ensembles whose training cannot be rebuilt, and models that are no trees."""

import numpy as np
import pytest
from impurity_models import FEW, XC, XR, YC, YR, short
from messages import says
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestRegressor,
    RandomTreesEmbedding,
    VotingClassifier,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from skvarimp import ImpurityImportance


@pytest.mark.parametrize(
    ("model", "X", "y", "reason"),
    [
        (
            AdaBoostRegressor(**FEW),
            XR,
            YR,
            says("AdaBoostRegressor … no record … surrogates=False"),
        ),
        (GradientBoostingRegressor(**FEW, subsample=0.5), XR, YR, "subsample < 1"),
        (
            GradientBoostingRegressor(n_estimators=3, n_iter_no_change=2),
            XR,
            YR,
            "only an integer `random_state`",
        ),
        (
            HistGradientBoostingRegressor(max_iter=3, early_stopping=True),
            XR,
            YR,
            "only an integer `random_state`",
        ),
    ],
    ids=short,
)
def test_what_cannot_be_rebuilt_is_declined(model, X, y, reason):
    """With the reason and what works; the fitted trees alone still do."""
    model.fit(X, y)
    with pytest.raises(ValueError, match=reason):
        ImpurityImportance(surrogates=True, convention="rpart").fit(model, X, y)
    assert np.all(ImpurityImportance().fit(model, X, y).importances_ >= 0)


def test_random_targets_are_declined_where_they_are_needed():
    """Totally random trees keep no target; associations do not need one."""
    model = RandomTreesEmbedding(**FEW).fit(XR)
    with pytest.raises(ValueError, match="random targets"):
        ImpurityImportance(surrogates=True).fit(model, XR, YR)
    imp = ImpurityImportance(surrogates=True, convention="rpart").fit(model, XR)
    assert len(imp.surrogate_splits_)


def test_draws_of_an_earlier_fit_are_declined():
    """A warm start of bagging keeps the draws of its last fit only."""
    bagging = BaggingRegressor(n_estimators=2, warm_start=True, random_state=0)
    bagging.fit(XR, YR).set_params(n_estimators=4).fit(XR, YR)
    with pytest.raises(
        ValueError, match=says("BaggingRegressor … warm_start … surrogates=False")
    ):
        ImpurityImportance(surrogates=True).fit(bagging, XR, YR)


class OwnForest(RandomForestRegressor):
    """A subclass whose trees may hear of other columns."""

    def apply(self, X):
        """Of other columns."""
        return super().apply(X[:, ::-1])


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (OwnForest(n_estimators=2), "OwnForest"),
        (IsolationForest(n_estimators=2), "IsolationForest"),
        (BaggingClassifier(KNeighborsClassifier()), "of KNeighborsClassifier"),
        (
            VotingClassifier([(a, DecisionTreeClassifier()) for a in "ab"]),
            "VotingClassifier",
        ),
    ],
    ids=short,
)
def test_other_ensembles_are_refused(model, name):
    """With what to use instead."""
    with pytest.raises(TypeError, match=name + r"\. Use SensitivityImportance"):
        ImpurityImportance().fit(model.fit(XC, YC))
