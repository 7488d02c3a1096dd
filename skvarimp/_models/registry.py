"""The one registry of models that are read, and `read`, which makes their forms.

To add a model family, write a reader, function(model, table) -> Form, in `readers/`
and enter its types here.
"""

import importlib

import numpy as np

from skvarimp._data.table import as_table
from skvarimp._models.forms import NotReadable, Read
from skvarimp._models.model import Model, rule_of
from skvarimp._running.guards import warn
from skvarimp.exceptions import ResponseWarning

# The only list of models that are read: for each package the functions in `readers`
# that read its types, and the types' public names.
READERS = {
    "sklearn.pipeline": {"pipelines.read_pipeline": "Pipeline"},
    "sklearn.model_selection": {
        "wrappers.read_inside": "GridSearchCV RandomizedSearchCV "
        "HalvingGridSearchCV HalvingRandomSearchCV",
        "wrappers.read_threshold": "FixedThresholdClassifier "
        "TunedThresholdClassifierCV",
    },
    "sklearn.frozen": {"wrappers.read_inside": "FrozenEstimator"},
    "sklearn.compose": {
        "wrappers.read_transformed_target": "TransformedTargetRegressor",
    },
    "sklearn.calibration": {"wrappers.read_calibrated": "CalibratedClassifierCV"},
    "sklearn.multiclass": {
        "wrappers.read_one_versus_rest": "OneVsRestClassifier",
    },
    "sklearn.multioutput": {
        "wrappers.read_multi_output": "MultiOutputRegressor MultiOutputClassifier",
    },
    "sklearn.ensemble": {
        "wrappers.read_vote": "VotingRegressor VotingClassifier",
        "wrappers.read_bagging": "BaggingRegressor BaggingClassifier",
        "wrappers.read_stacking": "StackingRegressor StackingClassifier",
        "sklearn_trees.read": "RandomForestRegressor RandomForestClassifier "
        "ExtraTreesRegressor ExtraTreesClassifier GradientBoostingRegressor "
        "GradientBoostingClassifier HistGradientBoostingRegressor "
        "HistGradientBoostingClassifier AdaBoostRegressor AdaBoostClassifier "
        "IsolationForest",
    },
    "sklearn.tree": {
        "sklearn_trees.read": "DecisionTreeRegressor DecisionTreeClassifier "
        "ExtraTreeRegressor ExtraTreeClassifier",
    },
    "xgboost": {
        "xgboost.read": "XGBRegressor XGBClassifier XGBRanker XGBRFRegressor "
        "XGBRFClassifier Booster",
    },
    "lightgbm": {"lightgbm.read": "LGBMRegressor LGBMClassifier LGBMRanker Booster"},
    "catboost": {
        "catboost.read": "CatBoostRegressor CatBoostClassifier CatBoostRanker CatBoost",
    },
    "sksurv.tree": {
        "sklearn_trees.read_survival_trees": "SurvivalTree ExtraSurvivalTree"
    },
    "sksurv.ensemble": {
        "sklearn_trees.read_survival_trees": "RandomSurvivalForest ExtraSurvivalTrees",
        "sklearn_trees.read_boosted_survival_trees": "GradientBoostingSurvivalAnalysis",
        "survival.read_componentwise": "ComponentwiseGradientBoostingSurvivalAnalysis",
    },
    "sksurv.linear_model": {
        "linear.read_linear": "CoxPHSurvivalAnalysis IPCRidge",
        "survival.read_coxnet": "CoxnetSurvivalAnalysis",
    },
    "sklearn.linear_model": {
        "linear.read_linear": "LinearRegression Ridge RidgeCV Lasso LassoCV "
        "ElasticNet ElasticNetCV MultiTaskLasso MultiTaskLassoCV MultiTaskElasticNet "
        "MultiTaskElasticNetCV Lars LarsCV LassoLars LassoLarsCV LassoLarsIC "
        "OrthogonalMatchingPursuit OrthogonalMatchingPursuitCV BayesianRidge "
        "ARDRegression HuberRegressor QuantileRegressor TheilSenRegressor SGDRegressor "
        "PassiveAggressiveRegressor PoissonRegressor GammaRegressor TweedieRegressor "
        "LogisticRegression LogisticRegressionCV RidgeClassifier RidgeClassifierCV "
        "SGDClassifier Perceptron PassiveAggressiveClassifier SGDOneClassSVM",
        "wrappers.read_inside": "RANSACRegressor",
    },
    "sklearn.svm": {
        "linear.read_linear": "LinearSVR LinearSVC",
        "kernel_machines.read_support_vectors": "SVR NuSVR SVC NuSVC OneClassSVM",
    },
    "sklearn.discriminant_analysis": {
        "linear.read_linear": "LinearDiscriminantAnalysis",
    },
    "sklearn.cross_decomposition": {
        "linear.read_linear": "PLSRegression PLSCanonical CCA",
    },
    "sklearn.neural_network": {
        "perceptrons.read_perceptron": "MLPRegressor MLPClassifier"
    },
    "sklearn.naive_bayes": {
        "naive_bayes.read_linear_naive_bayes": "MultinomialNB ComplementNB",
        "naive_bayes.read_bernoulli_naive_bayes": "BernoulliNB",
        "naive_bayes.read_categorical_naive_bayes": "CategoricalNB",
    },
    "sklearn.dummy": {"linear.read_constant": "DummyRegressor DummyClassifier"},
    "sklearn.kernel_ridge": {"kernel_machines.read_kernel_ridge": "KernelRidge"},
    "sklearn.semi_supervised": {
        "wrappers.read_inside": "SelfTrainingClassifier",
    },
}
# The same by type: package -> name -> the reader, as "module.function".
REGISTRY = {
    package: {name: reader for reader in own for name in own[reader].split()}
    for package, own in READERS.items()
}
OWN_READERS = {}  # type -> function(model, table), of families that a user adds


# Classifiers and regressors of scikit-learn without a reader: package -> name ->
# the reason, for `response_path_` and the page of supported models.
UNREAD = {
    "sklearn.isotonic": {"IsotonicRegression": "it takes a single column"},
    "sklearn.neighbors": {
        **dict.fromkeys(
            (
                "KNeighborsRegressor",
                "KNeighborsClassifier",
                "RadiusNeighborsRegressor",
                "RadiusNeighborsClassifier",
            ),
            "it jumps wherever another training row comes near",
        ),
        "NearestCentroid": "its distances are not sums of functions of one column each",
    },
    "sklearn.gaussian_process": dict.fromkeys(
        ("GaussianProcessRegressor", "GaussianProcessClassifier"),
        "its kernel does not look at one column at a time",
    ),
    "sklearn.discriminant_analysis": {
        "QuadraticDiscriminantAnalysis": "its scores are products of columns",
    },
    "sklearn.naive_bayes": {"GaussianNB": "its scores are squares of columns"},
    "sklearn.semi_supervised": dict.fromkeys(
        ("LabelPropagation", "LabelSpreading"),
        "its shares of labels divide sums that vanish far from the training rows",
    ),
    "sklearn.multiclass": {
        "OneVsOneClassifier": "its members vote",
        "OutputCodeClassifier": "its members vote",
    },
    "sklearn.multioutput": dict.fromkeys(
        ("RegressorChain", "ClassifierChain"), "its members see each other's outputs"
    ),
}


def reader_of(estimator):
    """The reader of an estimator's exact type, its name or a user's own; or None.

    Base classes do not count: a subclass may predict something else.
    """
    return OWN_READERS.get(type(estimator)) or rule_of(estimator, REGISTRY)


def serves_threads(estimator):
    """Whether several threads may ask an estimator: a library's own, with none in it.

    What a user wrote may change as it predicts, and so may what holds it.
    """
    reader = reader_of(estimator)
    around_others = ("wrappers.", "pipelines.read_pipeline")
    return isinstance(reader, str) and not reader.startswith(around_others)


def read(model, table):
    """The form of a fitted model's response method.

    Parameters
    ----------
    model : Model
    table : Table
        Some rows in the container that the model is asked with.

    Returns
    -------
    Form

    Raises
    ------
    NotReadable
        With the reason. A ResponseWarning comes first where reading failed in a way
        that the reader does not foresee: a new version of a library may have renamed
        an attribute.
    """
    estimator = model.estimator
    name = type(estimator).__name__
    reader = reader_of(estimator)
    if reader is None:
        reason = rule_of(estimator, UNREAD)
        because = "" if reason is None else f": {reason}"
        raise NotReadable(f"{name} has no fast response{because}")
    if model.method in vars(estimator):
        raise NotReadable(f"{model.method} of this instance was replaced")
    try:
        if isinstance(reader, str):
            module, function = reader.split(".")
            module = importlib.import_module(f"skvarimp._models.readers.{module}")
            reader = getattr(module, function)
        return reader(model, table)
    except NotReadable:
        raise
    except FloatingPointError as error:
        raise NotReadable(f"fast response: {error}") from None
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        warn(
            f"{name} could not be read ({what}), perhaps because its library has "
            "changed. The slower black box is used.",
            ResponseWarning,
        )
        raise NotReadable(f"reading it failed: {what}") from error


def read_one(estimator, method, table):
    """`Read` of an estimator by one of its methods."""
    model = Model(estimator, method)
    return Read(read(model, table), model)


def read_all(estimators, method, table):
    """`Read` of each of some estimators, by one method."""
    return [read_one(estimator, method, table) for estimator in estimators]


SCORES_FIRST = ("decision_function", "predict_proba", "predict")


def score_form(estimator):
    """The form of an estimator's score, of which the weights are wanted alone."""
    n_columns = getattr(estimator, "n_features_in_", None)
    if n_columns is None:
        raise NotReadable("it has no `n_features_in_`")
    row = as_table(np.zeros((1, n_columns)))  # weights do not depend on the rows
    return read(Model(estimator, prefer=SCORES_FIRST), row)


def unwrapped(estimator):
    """The model inside searches, frozen estimators and pipelines without other steps.

    They answer what the model inside answers. A search that was not refitted is
    returned unchanged.
    """
    while (inner := _inside(estimator)) is not None:
        estimator = inner
    return estimator


def answering(estimator):
    """The fitted model that answers for a search, a frozen estimator and the like."""
    if type(estimator).__name__ == "FrozenEstimator":
        return estimator.estimator
    return getattr(estimator, "best_estimator_", getattr(estimator, "estimator_", None))


def _inside(estimator):
    reader = reader_of(estimator)
    if reader == "wrappers.read_inside":
        return answering(estimator)
    if reader == "pipelines.read_pipeline":
        *steps, (_, last) = estimator.steps
        return None if any(step != "passthrough" for _, step in steps) else last
    if reader == "wrappers.read_vote":
        members = getattr(estimator, "estimators_", ())
        return members[0] if len(members) == 1 else None
    return None
