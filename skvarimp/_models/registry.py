"""The one registry of models that are read, and `read`, which makes their forms.

To add a model family, write a reader, function(model, table) -> Form, in `readers/`
and enter its types here.
"""

import importlib
from dataclasses import dataclass

from skvarimp._models.column_sources import is_exactly
from skvarimp._models.forms import NotReadable
from skvarimp._running.warn import warn
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


def _family(module, function, **names_by_package):
    return [
        Entry(package.replace("__", "."), name, module, function)
        for package, names in names_by_package.items()
        for name in names.split()
    ]


# The only list of models that are read.
REGISTRY: list[Entry] = [
    *_family(
        "_models.readers.pipelines", "read_pipeline", sklearn__pipeline="Pipeline"
    ),
    *_family(
        "_models.readers.wrappers",
        "read_best_estimator",
        sklearn__model_selection="GridSearchCV RandomizedSearchCV "
        "HalvingGridSearchCV HalvingRandomSearchCV",
    ),
    *_family(
        "_models.readers.wrappers", "read_frozen", sklearn__frozen="FrozenEstimator"
    ),
    *_family(
        "_models.readers.wrappers",
        "read_threshold",
        sklearn__model_selection="FixedThresholdClassifier TunedThresholdClassifierCV",
    ),
    *_family(
        "_models.readers.wrappers",
        "read_only_member",
        sklearn__linear_model="RANSACRegressor",
        sklearn__semi_supervised="SelfTrainingClassifier",
    ),
    *_family(
        "_models.readers.wrappers",
        "read_vote",
        sklearn__ensemble="VotingRegressor VotingClassifier",
    ),
    *_family(
        "_models.readers.wrappers",
        "read_bagging",
        sklearn__ensemble="BaggingRegressor BaggingClassifier",
    ),
    *_family(
        "_models.readers.wrappers",
        "read_weighted_median",
        sklearn__ensemble="AdaBoostRegressor",
    ),
    *_family(
        "_models.readers.neighbours",
        "read_neighbours",
        sklearn__neighbors="KNeighborsRegressor KNeighborsClassifier",
    ),
    *_family(
        "_models.readers.neighbours",
        "read_within_radius",
        sklearn__neighbors="RadiusNeighborsRegressor RadiusNeighborsClassifier",
    ),
    *_family(
        "_models.readers.meta",
        "read_stacking",
        sklearn__ensemble="StackingRegressor StackingClassifier",
    ),
    *_family(
        "_models.readers.meta",
        "read_calibrated",
        sklearn__calibration="CalibratedClassifierCV",
    ),
    *_family(
        "_models.readers.meta",
        "read_one_versus_rest",
        sklearn__multiclass="OneVsRestClassifier",
    ),
    *_family(
        "_models.readers.meta",
        "read_one_versus_one",
        sklearn__multiclass="OneVsOneClassifier",
    ),
    *_family(
        "_models.readers.meta",
        "read_output_code",
        sklearn__multiclass="OutputCodeClassifier",
    ),
    *_family(
        "_models.readers.meta",
        "read_multi_output",
        sklearn__multioutput="MultiOutputRegressor MultiOutputClassifier",
    ),
    *_family(
        "_models.readers.meta",
        "read_chain",
        sklearn__multioutput="RegressorChain ClassifierChain",
    ),
    *_family(
        "_models.readers.wrappers",
        "read_transformed_target",
        sklearn__compose="TransformedTargetRegressor",
    ),
    *_family(
        "_models.readers.sklearn_trees",
        "read",
        sklearn__tree="DecisionTreeRegressor DecisionTreeClassifier "
        "ExtraTreeRegressor ExtraTreeClassifier",
        sklearn__ensemble="RandomForestRegressor RandomForestClassifier "
        "ExtraTreesRegressor ExtraTreesClassifier GradientBoostingRegressor "
        "GradientBoostingClassifier HistGradientBoostingRegressor "
        "HistGradientBoostingClassifier "
        "AdaBoostClassifier IsolationForest",
    ),
    *_family(
        "_models.readers.xgboost",
        "read",
        xgboost="XGBRegressor XGBClassifier XGBRanker XGBRFRegressor XGBRFClassifier "
        "Booster",
    ),
    *_family(
        "_models.readers.lightgbm",
        "read",
        lightgbm="LGBMRegressor LGBMClassifier LGBMRanker Booster",
    ),
    *_family(
        "_models.readers.catboost",
        "read",
        catboost="CatBoostRegressor CatBoostClassifier CatBoostRanker CatBoost",
    ),
    *_family(
        "_models.readers.linear",
        "read_linear",
        sklearn__linear_model="LinearRegression Ridge RidgeCV Lasso LassoCV ElasticNet "
        "ElasticNetCV MultiTaskLasso MultiTaskLassoCV MultiTaskElasticNet "
        "MultiTaskElasticNetCV Lars LarsCV LassoLars LassoLarsCV LassoLarsIC "
        "OrthogonalMatchingPursuit OrthogonalMatchingPursuitCV BayesianRidge "
        "ARDRegression HuberRegressor QuantileRegressor TheilSenRegressor "
        "SGDRegressor PassiveAggressiveRegressor PoissonRegressor GammaRegressor "
        "TweedieRegressor LogisticRegression LogisticRegressionCV RidgeClassifier "
        "RidgeClassifierCV SGDClassifier Perceptron PassiveAggressiveClassifier "
        "SGDOneClassSVM",
        sklearn__svm="LinearSVR LinearSVC",
        sklearn__discriminant_analysis="LinearDiscriminantAnalysis",
        sklearn__cross_decomposition="PLSRegression PLSCanonical CCA",
    ),
    *_family(
        "_models.readers.naive_bayes",
        "read_linear_naive_bayes",
        sklearn__naive_bayes="MultinomialNB ComplementNB",
    ),
    *_family(
        "_models.readers.naive_bayes",
        "read_gaussian_naive_bayes",
        sklearn__naive_bayes="GaussianNB",
    ),
    *_family(
        "_models.readers.naive_bayes",
        "read_bernoulli_naive_bayes",
        sklearn__naive_bayes="BernoulliNB",
    ),
    *_family(
        "_models.readers.naive_bayes",
        "read_categorical_naive_bayes",
        sklearn__naive_bayes="CategoricalNB",
    ),
    *_family(
        "_models.readers.naive_bayes",
        "read_nearest_centroid",
        sklearn__neighbors="NearestCentroid",
    ),
    *_family(
        "_models.readers.naive_bayes",
        "read_constant",
        sklearn__dummy="DummyRegressor DummyClassifier",
    ),
    *_family(
        "_models.readers.low_degree.quadratics",
        "read_quadratic_discriminant",
        sklearn__discriminant_analysis="QuadraticDiscriminantAnalysis",
    ),
    *_family(
        "_models.readers.low_degree.quadratics",
        "read_elliptic_envelope",
        sklearn__covariance="EllipticEnvelope",
    ),
    *_family(
        "_models.readers.low_degree.splines",
        "read_spline",
        pymars="Earth EarthRegressor",
    ),
    *_family(
        "_models.readers.low_degree.splines",
        "read_spline_classifier",
        pymars="EarthClassifier",
    ),
    *_family(
        "_models.readers.low_degree.splines",
        "read_generalised_spline",
        pymars="GLMEarth",
    ),
    *_family(
        "_models.readers.kernels",
        "read_support_vectors",
        sklearn__svm="SVR NuSVR SVC NuSVC OneClassSVM",
    ),
    *_family(
        "_models.readers.kernels",
        "read_kernel_ridge",
        sklearn__kernel_ridge="KernelRidge",
    ),
    *_family(
        "_models.readers.kernels",
        "read_label_propagation",
        sklearn__semi_supervised="LabelPropagation LabelSpreading",
    ),
    *_family(
        "_models.readers.kernels",
        "read_gaussian_process",
        sklearn__gaussian_process="GaussianProcessRegressor",
    ),
    *_family(
        "_models.readers.networks",
        "read_perceptron",
        sklearn__neural_network="MLPRegressor MLPClassifier",
    ),
]


# Classifiers and regressors of scikit-learn without a reader, by package and name, with
# the reason, for `response_path_` and the page of supported models.
UNREAD = {
    ("sklearn.gaussian_process", "GaussianProcessClassifier"): (
        "its probabilities also depend on the variance of the score, which no form "
        "holds"
    ),
    ("sklearn.isotonic", "IsotonicRegression"): "it takes a single column",
}


# Readers of nothing but trees: to say that a model has no gradient and no coefficients
# it need not be read.
TREE_READERS = {
    "_models.readers.sklearn_trees",
    "_models.readers.xgboost",
    "_models.readers.lightgbm",
    "_models.readers.catboost",
}


def entry_of(estimator):
    """The registered entry of an estimator's exact type, or None.

    The exact type and never a base class: a subclass may predict otherwise.
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
        With the reason; after a ResponseWarning where reading failed in a way that no
        reader foresees, as with an attribute that a new version of a library renamed.
    """
    estimator = model.estimator
    name = type(estimator).__name__
    entry = entry_of(estimator)
    if entry is None:
        raise NotReadable(f"{name} has no fast response{_reason(estimator)}")
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


def _reason(estimator):
    for (package, name), reason in UNREAD.items():
        if is_exactly(estimator, package, name):
            return f": {reason}"
    return ""


def unwrapped(estimator):
    """The model inside searches, frozen estimators and pipelines without other steps.

    What these answer is what the model inside answers; a search that was not refitted
    is returned as it is.
    """
    while (inner := _inside(estimator)) is not None:
        estimator = inner
    return estimator


def _inside(estimator):
    entry = entry_of(estimator)
    if entry is None:
        return None
    if entry.function == "read_best_estimator":
        return getattr(estimator, "best_estimator_", None)
    if entry.function == "read_frozen":
        return estimator.estimator
    if entry.function == "read_only_member":
        return getattr(estimator, "estimator_", None)
    if entry.function == "read_pipeline":
        *steps, (_, last) = estimator.steps
        return None if any(step != "passthrough" for _, step in steps) else last
    members = getattr(estimator, "estimators_", ())
    if entry.function == "read_vote" and len(members) == 1:
        return members[0]
    return None
