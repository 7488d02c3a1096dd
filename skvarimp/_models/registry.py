"""The one registry of models that are read, and `read`, which makes their forms.

To add a model family, write a reader, function(model, table) -> Form, in `readers/`
and enter its types here.
"""

import importlib
from dataclasses import dataclass

from skvarimp._models.column_sources import is_exactly, rule_of
from skvarimp._models.forms import NotReadable, Read
from skvarimp._models.model import Model
from skvarimp._running.guards import warn
from skvarimp.exceptions import ResponseWarning


@dataclass(frozen=True)
class Entry:
    """Where the reader of one estimator type is found.

    Attributes
    ----------
    package : str
        Public module that exports the type.
    name : str
        Its public name.
    module : str
        Module of `skvarimp` with the reader.
    function : str
        function(model, table) -> Form.
    """

    package: str
    name: str
    module: str
    function: str

    @property
    def type(self):
        """The estimator type; imports its package."""
        return getattr(importlib.import_module(self.package), self.name)


# The only list of models that are read: for each reader in `readers`, the types it
# reads, by package.
READERS = {
    "wrappers.read_pipeline": {"sklearn.pipeline": "Pipeline"},
    "wrappers.read_inside": {
        "sklearn.model_selection": "GridSearchCV RandomizedSearchCV "
        "HalvingGridSearchCV HalvingRandomSearchCV",
        "sklearn.frozen": "FrozenEstimator",
        "sklearn.linear_model": "RANSACRegressor",
        "sklearn.semi_supervised": "SelfTrainingClassifier",
    },
    "wrappers.read_threshold": {
        "sklearn.model_selection": "FixedThresholdClassifier "
        "TunedThresholdClassifierCV",
    },
    "wrappers.read_vote": {"sklearn.ensemble": "VotingRegressor VotingClassifier"},
    "wrappers.read_bagging": {"sklearn.ensemble": "BaggingRegressor BaggingClassifier"},
    "wrappers.read_weighted_median": {"sklearn.ensemble": "AdaBoostRegressor"},
    "training_rows.read_neighbours": {
        "sklearn.neighbors": "KNeighborsRegressor KNeighborsClassifier",
    },
    "training_rows.read_within_radius": {
        "sklearn.neighbors": "RadiusNeighborsRegressor RadiusNeighborsClassifier",
    },
    "meta.read_stacking": {"sklearn.ensemble": "StackingRegressor StackingClassifier"},
    "meta.read_calibrated": {"sklearn.calibration": "CalibratedClassifierCV"},
    "meta.read_one_versus_rest": {"sklearn.multiclass": "OneVsRestClassifier"},
    "meta.read_one_versus_one": {"sklearn.multiclass": "OneVsOneClassifier"},
    "meta.read_output_code": {"sklearn.multiclass": "OutputCodeClassifier"},
    "meta.read_multi_output": {
        "sklearn.multioutput": "MultiOutputRegressor MultiOutputClassifier",
    },
    "meta.read_chain": {"sklearn.multioutput": "RegressorChain ClassifierChain"},
    "wrappers.read_transformed_target": {
        "sklearn.compose": "TransformedTargetRegressor",
    },
    "sklearn_trees.read": {
        "sklearn.tree": "DecisionTreeRegressor DecisionTreeClassifier "
        "ExtraTreeRegressor ExtraTreeClassifier",
        "sklearn.ensemble": "RandomForestRegressor RandomForestClassifier "
        "ExtraTreesRegressor ExtraTreesClassifier GradientBoostingRegressor "
        "GradientBoostingClassifier HistGradientBoostingRegressor "
        "HistGradientBoostingClassifier AdaBoostClassifier IsolationForest",
    },
    "xgboost.read": {
        "xgboost": "XGBRegressor XGBClassifier XGBRanker XGBRFRegressor "
        "XGBRFClassifier Booster",
    },
    "lightgbm.read": {"lightgbm": "LGBMRegressor LGBMClassifier LGBMRanker Booster"},
    "catboost.read": {
        "catboost": "CatBoostRegressor CatBoostClassifier CatBoostRanker CatBoost",
    },
    "linear.read_linear": {
        "sklearn.linear_model": "LinearRegression Ridge RidgeCV Lasso LassoCV "
        "ElasticNet ElasticNetCV MultiTaskLasso MultiTaskLassoCV MultiTaskElasticNet "
        "MultiTaskElasticNetCV Lars LarsCV LassoLars LassoLarsCV LassoLarsIC "
        "OrthogonalMatchingPursuit OrthogonalMatchingPursuitCV BayesianRidge "
        "ARDRegression HuberRegressor QuantileRegressor TheilSenRegressor SGDRegressor "
        "PassiveAggressiveRegressor PoissonRegressor GammaRegressor TweedieRegressor "
        "LogisticRegression LogisticRegressionCV RidgeClassifier RidgeClassifierCV "
        "SGDClassifier Perceptron PassiveAggressiveClassifier SGDOneClassSVM",
        "sklearn.svm": "LinearSVR LinearSVC",
        "sklearn.discriminant_analysis": "LinearDiscriminantAnalysis",
        "sklearn.cross_decomposition": "PLSRegression PLSCanonical CCA",
    },
    "naive_bayes.read_linear_naive_bayes": {
        "sklearn.naive_bayes": "MultinomialNB ComplementNB",
    },
    "naive_bayes.read_gaussian_naive_bayes": {"sklearn.naive_bayes": "GaussianNB"},
    "naive_bayes.read_bernoulli_naive_bayes": {"sklearn.naive_bayes": "BernoulliNB"},
    "naive_bayes.read_categorical_naive_bayes": {
        "sklearn.naive_bayes": "CategoricalNB",
    },
    "naive_bayes.read_nearest_centroid": {"sklearn.neighbors": "NearestCentroid"},
    "naive_bayes.read_constant": {"sklearn.dummy": "DummyRegressor DummyClassifier"},
    "low_degree.read_quadratic_discriminant": {
        "sklearn.discriminant_analysis": "QuadraticDiscriminantAnalysis",
    },
    "low_degree.read_elliptic_envelope": {"sklearn.covariance": "EllipticEnvelope"},
    "low_degree.read_spline": {"pymars": "Earth EarthRegressor"},
    "low_degree.read_spline_classifier": {"pymars": "EarthClassifier"},
    "low_degree.read_generalised_spline": {"pymars": "GLMEarth"},
    "training_rows.read_support_vectors": {
        "sklearn.svm": "SVR NuSVR SVC NuSVC OneClassSVM"
    },
    "training_rows.read_kernel_ridge": {"sklearn.kernel_ridge": "KernelRidge"},
    "training_rows.read_label_propagation": {
        "sklearn.semi_supervised": "LabelPropagation LabelSpreading",
    },
    "training_rows.read_gaussian_process": {
        "sklearn.gaussian_process": "GaussianProcessRegressor",
    },
    "linear.read_perceptron": {"sklearn.neural_network": "MLPRegressor MLPClassifier"},
}


def _entries():
    for reader, types in READERS.items():
        module, _, function = f"_models.readers.{reader}".rpartition(".")
        for package, names in types.items():
            for name in names.split():
                yield Entry(package, name, module, function)


REGISTRY: list[Entry] = list(_entries())


# Classifiers and regressors of scikit-learn without a reader: package -> name ->
# the reason, for `response_path_` and the page of supported models.
UNREAD = {
    "sklearn.gaussian_process": {
        "GaussianProcessClassifier": "its probabilities also depend on the variance of "
        "the score, which no form holds",
    },
    "sklearn.isotonic": {"IsotonicRegression": "it takes a single column"},
}


def entry_of(estimator):
    """The registered entry of an estimator's exact type, or None.

    Base classes do not count: a subclass may predict something else.
    """
    name = type(estimator).__name__
    for entry in REGISTRY:
        if entry.name == name and is_exactly(estimator, entry.package, name):
            return entry
    return None


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
    entry = entry_of(estimator)
    if entry is None:
        reason = rule_of(estimator, UNREAD)
        because = "" if reason is None else f": {reason}"
        raise NotReadable(f"{name} has no fast response{because}")
    if model.method in vars(estimator):
        raise NotReadable(f"{model.method} of this instance was replaced")
    try:
        module = importlib.import_module(f"skvarimp.{entry.module}")
        return getattr(module, entry.function)(model, table)
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
    entry = entry_of(estimator)
    if entry is None:
        return None
    if entry.function == "read_inside":
        return answering(estimator)
    if entry.function == "read_pipeline":
        *steps, (_, last) = estimator.steps
        return None if any(step != "passthrough" for _, step in steps) else last
    members = getattr(estimator, "estimators_", ())
    if entry.function == "read_vote" and len(members) == 1:
        return members[0]
    return None


# Readers of trees alone. These models have no gradient and no coefficients, which is
# known without reading them.
TREE_READERS = ("sklearn_trees", "xgboost", "lightgbm", "catboost")


def reads_trees(estimator):
    """Whether the model inside an estimator has a reader of trees."""
    entry = entry_of(unwrapped(estimator))
    return entry is not None and entry.module.endswith(TREE_READERS)
