"""The one registry of lowerings, and the probe that each must pass.

A lowering turns a fitted estimator of one exact type into a `Response`, or raises
`NotLowerable` with the reason; then the black box serves. To add a model family,
write one file in this package and enter its types in `REGISTRY`.
"""

import importlib
import sys
from dataclasses import dataclass

import numpy as np

from skvarimp._response.grid import Move, make_move, side_by_side
from skvarimp._response.responses.black_box import BlackBoxResponse
from skvarimp._running.warn import warn
from skvarimp.exceptions import ResponseWarning


class NotLowerable(Exception):
    """A model that no fast response serves; the message is the reason."""


@dataclass(frozen=True)
class Lowering:
    """Where the lowering of one estimator type is found.

    Attributes
    ----------
    package : str
        Public module that exports the type.
    name : str
        Its public name.
    module : str
        Module of `skvarimp` with the function.
    function : str
        function(model, table) -> Response.
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
        Lowering(package.replace("__", "."), name, module, function)
        for package, names in names_by_package.items()
        for name in names.split()
    ]


# The only list of models with a fast response.
REGISTRY: list[Lowering] = [
    *_family(
        "_response.responses.columnwise", "lower_pipeline", sklearn__pipeline="Pipeline"
    ),
    *_family(
        "_response.responses.composite",
        "lower_best_estimator",
        sklearn__model_selection="GridSearchCV RandomizedSearchCV "
        "HalvingGridSearchCV HalvingRandomSearchCV",
    ),
    *_family(
        "_response.responses.composite",
        "lower_frozen",
        sklearn__frozen="FrozenEstimator",
    ),
    *_family(
        "_response.responses.composite",
        "lower_threshold",
        sklearn__model_selection="FixedThresholdClassifier TunedThresholdClassifierCV",
    ),
    *_family(
        "_response.responses.composite",
        "lower_vote",
        sklearn__ensemble="VotingRegressor VotingClassifier",
    ),
    *_family(
        "_response.responses.composite",
        "lower_transformed_target",
        sklearn__compose="TransformedTargetRegressor",
    ),
    *_family(
        "_response.responses.trees.response",
        "lower_trees",
        sklearn__tree="DecisionTreeRegressor DecisionTreeClassifier "
        "ExtraTreeRegressor ExtraTreeClassifier",
        sklearn__ensemble="RandomForestRegressor RandomForestClassifier "
        "ExtraTreesRegressor ExtraTreesClassifier GradientBoostingRegressor "
        "GradientBoostingClassifier HistGradientBoostingRegressor "
        "HistGradientBoostingClassifier BaggingRegressor BaggingClassifier "
        "AdaBoostRegressor AdaBoostClassifier IsolationForest",
    ),
    *_family(
        "_response.responses.trees.response",
        "lower_trees",
        xgboost="XGBRegressor XGBClassifier XGBRanker XGBRFRegressor XGBRFClassifier "
        "Booster",
    ),
    *_family(
        "_response.responses.trees.response",
        "lower_trees",
        lightgbm="LGBMRegressor LGBMClassifier LGBMRanker Booster",
    ),
    *_family(
        "_response.responses.trees.response",
        "lower_trees",
        catboost="CatBoostRegressor CatBoostClassifier CatBoostRanker CatBoost",
    ),
    *_family(
        "_response.responses.linear",
        "lower_linear",
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
        "_response.responses.linear",
        "lower_ransac",
        sklearn__linear_model="RANSACRegressor",
    ),
    *_family(
        "_response.responses.linear",
        "lower_naive_bayes",
        sklearn__naive_bayes="MultinomialNB ComplementNB",
    ),
    *_family(
        "_response.responses.kernel",
        "lower_support_vectors",
        sklearn__svm="SVR NuSVR SVC NuSVC OneClassSVM",
    ),
    *_family(
        "_response.responses.kernel",
        "lower_kernel_ridge",
        sklearn__kernel_ridge="KernelRidge",
    ),
    *_family(
        "_response.responses.kernel",
        "lower_gaussian_process",
        sklearn__gaussian_process="GaussianProcessRegressor",
    ),
    *_family(
        "_response.responses.network",
        "lower_perceptron",
        sklearn__neural_network="MLPRegressor MLPClassifier",
    ),
]


def lowering_of(estimator):
    """The registered lowering of an estimator's exact type, or None.

    The exact type and never a base class: a subclass may predict otherwise.
    """
    kind = type(estimator)
    for lowering in REGISTRY:
        if lowering.name != kind.__name__:
            continue
        package = sys.modules.get(lowering.package)
        if package is not None and getattr(package, lowering.name, None) is kind:
            return lowering
    return None


def lowered(model, table):
    """The unprobed fast response of a model, or NotLowerable."""
    estimator = model.estimator
    lowering = lowering_of(estimator)
    if lowering is None:
        raise NotLowerable(f"{type(estimator).__name__} has no lowering")
    if model.method in vars(estimator):
        raise NotLowerable(f"{model.method} of this instance was replaced")
    module = importlib.import_module(f"skvarimp.{lowering.module}")
    return getattr(module, lowering.function)(model, table)


def respond(model, table, base, weights, entries):
    """The response that serves a model on a table: lowered and probed, or black box.

    Parameters
    ----------
    model : Model
    table : Table
    base : ndarray of shape (n_outputs, n_samples)
        The model's own response of the table's rows.
    weights : ndarray of shape (n_samples,)
    entries : list of Entry

    Returns
    -------
    Response
    """
    black_box = BlackBoxResponse(model, len(base))
    try:
        response = lowered(model, table)
        difference = probe(response, black_box, table, base, weights, entries)
    except NotLowerable as declined:
        return BlackBoxResponse(model, len(base), str(declined))
    except FloatingPointError as error:
        return BlackBoxResponse(model, len(base), f"fast response: {error}")
    if difference is None:
        return response
    warn(
        f"The {response.path} response of {type(model.estimator).__name__} differs "
        f"from its own {model.method} {difference}; the slower black box is used.",
        ResponseWarning,
    )
    return BlackBoxResponse(model, len(base), "the fast response failed its probe")


PROBE_ROWS, PROBE_ENTRIES, PROBE_CELLS, PROBE_SEEN = 12, 8, 12, 500


def probe(response, black_box, table, base, weights, entries, rtol=1e-9):
    """Compare a response with the model's own output; None, or where they differ.

    Some rows, some entries spread over all, some of their observed values and the
    critical values that the response names (thresholds and their neighbours). A
    model that computes in single precision may differ by its rounding.
    """
    rtol = max(rtol, response.rounding)
    rows = _spread(len(weights), PROBE_ROWS)
    scale = np.abs(base).max() + np.ptp(base)
    moves = [
        _probe_move(response, table, weights, entries[e])
        for e in _spread(len(entries), PROBE_ENTRIES)
    ]
    curves = black_box.curves_of(table, rows, moves, base[:, rows])
    for move, own in zip(moves, curves):
        fast = response.curves(table, rows, move, base[:, rows])
        if fast.shape != own.shape:
            return f"in shape: {fast.shape} against {own.shape}"
        gap = np.abs(fast - own).max()
        if not gap <= rtol * max(scale, np.abs(own).max()):
            return f"by {gap:.3g} as {move.entry.name!r} moves"
    return None


def _probe_move(response, table, weights, entry):
    """A few observed values, then critical ones next to where a response may jump."""
    donors, categorical = _probe_donors(table, weights, entry)
    k = len(donors)
    if len(entry.columns) > 1:
        columns = [table.column(j)[donors] for j in entry.columns]
        values = side_by_side(columns)
    else:
        values = table.column(entry.columns[0])[donors]
        critical = getattr(response, "critical_values", None)
        more = np.empty(0)
        if critical is not None and values.dtype.kind in "fiub":
            more = np.asarray(critical(entry.columns[0]), dtype=np.float64)
        if len(more):
            more = more[_spread(len(more), PROBE_CELLS)]
            values = np.unique(np.concatenate([values.astype(np.float64), more]))
            donors, k = None, len(values)
    return Move(entry, values, donors, np.full(k, 1 / k), None, categorical)


def _probe_donors(table, weights, entry):
    """Rows with a few different values of an entry, and whether it is categorical."""
    column = table.column(entry.columns[0])
    if len(entry.columns) > 1 or column.dtype.kind not in "fiu":
        full = make_move(table, weights, entry, "all")
        return full.donors[_spread(full.n_cells, PROBE_CELLS)], full.categorical
    # a missing value is both smallest and largest to NumPy
    ends = [column.argmin(), column.argmax()]
    some = np.concatenate([_spread(len(column), PROBE_SEEN), ends])
    _, first = np.unique(column[some], return_index=True)
    return some[first[_spread(len(first), PROBE_CELLS)]], False


def _spread(n, at_most):
    """Up to `at_most` positions spread over range(n)."""
    return np.unique(np.linspace(0, n - 1, min(n, at_most)).astype(int)) if n else []
