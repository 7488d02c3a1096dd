"""What the parameters of measures and selectors are drawn from."""

import numpy as np
from fuzz_containers import chance, chosen
from fuzz_inputs import ODD
from fuzz_models import MODELS, bounded, constant
from hypothesis import strategies as st
from sklearn.covariance import LedoitWolf
from sklearn.feature_selection import (
    chi2,
    f_classif,
    f_regression,
    mutual_info_regression,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skvarimp import feature_functions, filters

GRIDS = ["all", "equidistant", "deciles", 3, 1, [0.0, 1.0], {"x0": [0.5]}, [np.nan]]
ROWS = {"keep_rows": [False, True, True]}
METHODS = ["auto", "auto", "predict", "predict", "predict_proba", "decision_function"]
COMMON = {"response_method": METHODS, "n_jobs": [None, 1]}
CATEGORICAL = [None, None, [0], [0], ["x0"], [True, False], "x0", [5]]
SEEDS = [0, None, np.random.default_rng(0)]
FUNCTIONS = [
    None,
    [feature_functions.Product(0, 1)],
    [feature_functions.Step(0, 0.5)],
    [feature_functions.Level(0, "red")],
    [feature_functions.Level(0, 1.0)],
    [feature_functions.Linear([1.0, 2.0])],
    [feature_functions.Conjunction(0, feature_functions.Not(1))],
    {"or": feature_functions.Disjunction(0, 1)},
    [feature_functions.ExclusiveOr("x0", "x1")],
    [bounded, constant],
    bounded,
    [lambda X: np.full(X.shape[0], np.nan)],
    [lambda X: "text"],
    [3],
]
BUDGETS = [None, None, 1000, 30, 1, 0]
OPTIONS = {
    "SensitivityImportance": {
        "contrast": ["pairs", "observed", "range"],
        "estimation": ["auto", "exact", "sampled", "rows"],
        "grid": ["auto", *GRIDS],
        "n_draws": [4, "auto"],
        "tol": ["auto", None, 0.5],
        "max_evaluations": BUDGETS,
        "scale": [None, "auto"],
        "categorical_features": CATEGORICAL,
        "random_state": SEEDS,
        **ROWS,
        **COMMON,
    },
    "ALEImportance": {"n_bins": [1, 5, 20, 0, 2.5, None], **ROWS, **COMMON},
    "DerivativeImportance": {"response_method": METHODS, **ROWS},
    "ShapleyImportance": {
        "loss": [None, "squared_error", "brier"],
        "estimation": ["auto", "exact", "sampled"],
        "n_repeats": [2, 1],
        "tol": ["auto", None, 0.5],
        "max_evaluations": BUDGETS,
        "scale": ["auto", None],
        "categorical_features": CATEGORICAL,
        "random_state": SEEDS,
        **ROWS,
        **COMMON,
    },
    "SobolImportance": {
        "order": ["total", "first"],
        "estimation": ["auto", "exact", "sampled"],
        "n_draws": [4, "auto"],
        "tol": ["auto", None, 0.5],
        "random_state": SEEDS,
        "grid": GRIDS,
        "categorical_features": CATEGORICAL,
        "max_evaluations": BUDGETS,
        **ROWS,
        **COMMON,
    },
    "PartialDependenceImportance": {
        "statistic": ["auto", "std", "range"],
        "kind": ["average", "individual"],
        "pairs": [None, [(0, 1)], [(0, 0)], [0]],
        "grid": ["auto", *GRIDS],
        "categorical_features": CATEGORICAL,
        "curve_errors": [False, True],
        "max_evaluations": BUDGETS,
        **ROWS,
        **COMMON,
    },
    "InteractionImportance": {
        "statistic": ["conditional_std", "h", "h_overall", "h_total"],
        "pairs": [None, 1, 0, [(0, 1)], [(0, 0)], [("x0", "x1")], [(0, 9)], [0], []],
        "triples": [None, None, [(0, 1, 2)], [(0, 1)], [(0, 0, 1)], [(0, 1, 9)], []],
        "grid": GRIDS,
        "categorical_features": CATEGORICAL,
        **COMMON,
    },
    "PermutationImportance": {
        "loss": [
            "auto",
            "squared_error",
            "log_loss",
            "zero_one",
            "absolute_error",
            lambda y, f: np.abs(np.asarray(f, dtype=float).reshape(len(y), -1)).sum(1),
            lambda y, f: 1.0,
        ],
        "scoring": [
            None,
            "r2",
            "accuracy",
            "neg_log_loss",
            lambda e, X, y, **weights: 0.5,
            ["r2", "neg_mean_absolute_error"],
        ],
        "estimation": ["auto", "exact", "sampled"],
        "n_draws": [4, "auto"],
        "tol": ["auto", None, 0.5],
        "relative": [False, True],
        "max_evaluations": BUDGETS,
        "rows": ["all", "oob"],
        "random_state": SEEDS,
        **ROWS,
        **COMMON,
    },
    "FIRMImportance": {
        "method": ["auto", "binary", "conditional_mean", "linear", "gaussian"],
        "feature_functions": FUNCTIONS,
        "covariance": ["empirical", "ledoit_wolf", "schaefer_strimmer", LedoitWolf()],
        "n_bins": ["auto", 2, 5],
        "standardize": [False, True],
        "response_method": METHODS,
        **ROWS,
    },
    "ImpurityImportance": {
        "criterion": ["auto", "gini", "deviance", "error", "mse"],
        "surrogates": [False, True, 1],
        "convention": ["matlab", "rpart", "sklearn"],
        "surrogate_cuts": ["all", "class_boundary"],
        "rows": ["training", "training", "oob", "unseen"],
        "n_jobs": [None, 1],
        **ROWS,
    },
    "CoefficientImportance": {"statistic": ["auto", "t", "standardized", "absolute"]},
    "ConnectionWeightImportance": {"method": ["olden", "garson"]},
    "FilterImportance": {
        "score_func": [
            filters.auc,
            filters.lowess_r2,
            filters.group_statistic,
            f_regression,
            f_classif,
            chi2,
            mutual_info_regression,
            lambda X, y: np.full(X.shape[1], np.nan),
            lambda X, y: None,
        ]
    },
}
NAMES = list(OPTIONS)
TREES = [name for name in MODELS if "tree" in name or "forest" in name]
TREES += ["boosting", "boosting_classifier", "adaboost"]
LINEAR = ["linear", "ridge", "logistic", "poisson", "pipeline", "pipeline_classifier"]
NETWORKS = ["network", "network_classifier"]
SUITED = {
    "ImpurityImportance": TREES,
    "CoefficientImportance": LINEAR,
    "ConnectionWeightImportance": NETWORKS,
    "DerivativeImportance": [*LINEAR, *NETWORKS, "svr", "svc", "kernel_ridge"],
}
WITH_FEATURES = {
    "SensitivityImportance",
    "ALEImportance",
    "DerivativeImportance",
    "ShapleyImportance",
    "SobolImportance",
    "PartialDependenceImportance",
    "InteractionImportance",
    "PermutationImportance",
    "FIRMImportance",
}
CONDITIONAL = {"SensitivityImportance", "PermutationImportance"}

SEARCH = {
    "performance_threshold": ["auto", 0.95, 0.0, 1.0, "one_standard_error"],
    "removal": ["auto", "drop", "constant"],
    "importance_threshold": [1e-6, 0.0, 0.5],
    "step": [1, 0.5, 3],
    "min_features_to_select": [1, 2, 9],
    "scoring": [
        None,
        "r2",
        "accuracy",
        "neg_log_loss",
        lambda e, X, y, **weights: 0.5,
        "nope",
    ],
    "cv": ["one_split", None, 2, 3, 50],
    "n_jobs": [None],
    "random_state": SEEDS,
}
SELECTOR_OPTIONS = {
    "BackwardEliminationSelector": SEARCH,
    "ForwardSelector": SEARCH,
    "AllRelevantSelector": {
        "max_iter": [3, 1],
        "n_iter_no_change": [1, 2],
        "alpha": [0.05, 1.0, 0.0],
        "removal": ["auto", "drop", "constant"],
        "n_jobs": [None],
        "random_state": SEEDS,
    },
}


@st.composite
def conditions(draw, data):
    """The `conditional` parameter: mostly labels that fit the rows."""
    n = data.n if data is not None else 12
    good = [
        "subgroups",
        "subgroups",
        np.arange(n) // 3,
        np.arange(n) % 2 == 0,
        np.arange(n),
        np.zeros(n),
        np.array(["low", "high"])[np.arange(n) % 2],
        {"x0": np.arange(n) % 3},
        DecisionTreeRegressor(max_depth=2),
        DecisionTreeClassifier(max_depth=2),
    ]
    if not chance(draw, 6):
        return chosen(draw, good)
    odd = [np.zeros(n + 1), np.zeros((n, 2)), {"none": np.zeros(n)}, {"x0": None}]
    return chosen(draw, [*ODD, *odd, [np.nan] * n, "x0", DecisionTreeRegressor])
