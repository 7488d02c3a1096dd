"""Any importance drives a selector, and scikit-learn's own."""

import pickle

import numpy as np
import pytest
from combinations import half
from selection_data import X, Y, assert_rule
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.feature_selection import RFE, SelectFromModel, f_classif
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeRegressor

from skvarimp import (
    BackwardEliminationSelector,
    CoefficientImportance,
    ConnectionWeightImportance,
    DerivativeImportance,
    FilterImportance,
    FIRMImportance,
    ImportanceEstimator,
    ImpurityImportance,
    InteractionImportance,
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
    ShapleyImportance,
    SobolImportance,
)

DRIVERS = [
    PermutationImportance(rows="oob"),
    PermutationImportance(),
    PartialDependenceImportance(),
    ShapleyImportance(random_state=0),
    SobolImportance(),
    FIRMImportance(),
    ImpurityImportance(convention="sklearn"),
    SensitivityImportance(),
    FilterImportance(score_func=f_classif),
]


@pytest.mark.parametrize("importance", half(DRIVERS))
def test_measures_that_drive_a_forest(importance):
    """Out-of-bag measures get the training rows, the others held-out ones."""
    Z, labels = make_classification(
        80, 5, n_informative=2, n_redundant=0, shuffle=False, random_state=3
    )
    forest = RandomForestClassifier(6, random_state=0)
    selector = BackwardEliminationSelector(
        forest, importance, min_features_to_select=2, step=2, random_state=0
    )
    selector.fit(Z, labels)
    assert_rule(selector)
    assert selector.path_["n_features"][0] == 5


NETWORK = MLPRegressor(
    hidden_layer_sizes=(4,), solver="lbfgs", alpha=1.0, max_iter=2000, random_state=0
)


@pytest.mark.parametrize(
    ("importance", "model"),
    half(
        [
            (DerivativeImportance(), Ridge()),
            (CoefficientImportance(statistic="absolute"), Ridge()),
            (PermutationImportance(scoring="r2", random_state=0), SVR(C=10.0)),
            (CoefficientImportance(), LinearRegression()),
            (FIRMImportance(method="gaussian"), Ridge()),
            (DerivativeImportance(), SVR(C=10.0)),
            (ImpurityImportance(surrogates=True), DecisionTreeRegressor(max_depth=4)),
            (ConnectionWeightImportance(), NETWORK),
            (
                InteractionImportance(statistic="h_overall"),
                HistGradientBoostingRegressor(max_iter=5),
            ),
        ]
    ),
    ids=lambda value: type(value).__name__,
)
def test_measures_that_drive_a_regressor(importance, model):
    """Those that read the fit or need y too; weights of 0 are taken as well."""
    weights = np.arange(len(Y)) % 3.0
    for given in ({}, {"sample_weight": weights}):
        selector = BackwardEliminationSelector(
            model, importance, step=4, min_features_to_select=3, random_state=0
        )
        assert_rule(selector.fit(X, Y, **given))
        assert 3 in selector.get_support(indices=True)


@pytest.mark.thorough
def test_searches_and_nested_parameters():
    """The measure's parameters are tunable; cloning and pickling keep all."""
    selector = BackwardEliminationSelector(
        Ridge(), SensitivityImportance(contrast="observed", scale=None), cv=3
    )
    grid = {"measure__contrast": ["pairs", "observed"], "estimator__alpha": [0.1, 1]}
    search = GridSearchCV(selector, grid, cv=2).fit(X, Y)
    assert search.best_params_["measure__contrast"] in {"pairs", "observed"}
    fitted = search.best_estimator_
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict(X), fitted.predict(X))
    params = fitted.get_params(deep=False)
    assert repr(clone(fitted).get_params(deep=False)) == repr(params)
    assert not hasattr(selector.measure, "importances_")


def test_importance_estimator_serves_scikit_learns_selectors():
    """Machines that RFE and SelectFromModel refuse by themselves."""
    Z, labels = make_classification(
        120,
        6,
        n_informative=2,
        n_redundant=0,
        n_clusters_per_class=1,
        class_sep=2.0,
        shuffle=False,
        random_state=0,
    )
    machine = ImportanceEstimator(
        make_pipeline(StandardScaler(), SVC()), SensitivityImportance()
    )
    with pytest.raises(ValueError, match="importance"):
        RFE(SVC(), n_features_to_select=2).fit(Z, labels)
    kept = RFE(machine, n_features_to_select=2).fit(Z, labels).get_support(indices=True)
    assert kept.tolist() == [0, 1]
    kept = SelectFromModel(machine, max_features=2, threshold=-np.inf).fit(Z, labels)
    assert kept.get_support(indices=True).tolist() == [0, 1]
    fitted = machine.fit(Z, labels)
    assert fitted.score(Z, labels) > 0.7
    assert not hasattr(fitted, "coef_")


def test_importance_estimators_have_no_coefficients():
    """So that selectors read the measure, and not the model's own numbers."""
    X = np.random.default_rng(0).normal(size=(40, 4))
    both = ImportanceEstimator(Ridge(), SensitivityImportance(scale=None)).fit(
        X, X[:, 0]
    )
    assert hasattr(both.estimator_, "coef_")
    assert not hasattr(both, "coef_")
    np.testing.assert_array_equal(both.feature_importances_, both.measure_.importances_)
