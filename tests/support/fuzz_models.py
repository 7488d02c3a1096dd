"""Models for fuzzed calls: fitted ones of every family, and callables gone wrong."""

import functools
import warnings

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingRegressor,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    SGDClassifier,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

MODELS = {
    "linear": LinearRegression(),
    "ridge": Ridge(),
    "logistic": LogisticRegression(),
    "sgd": SGDClassifier(random_state=0),
    "poisson": PoissonRegressor(),
    "discriminant": LinearDiscriminantAnalysis(),
    "tree": DecisionTreeRegressor(max_depth=3, random_state=0),
    "tree_classifier": DecisionTreeClassifier(max_depth=3, random_state=0),
    "forest": RandomForestRegressor(n_estimators=5, max_depth=3, random_state=0),
    "forest_classifier": RandomForestClassifier(
        n_estimators=5, max_depth=3, random_state=0
    ),
    "extra_trees": ExtraTreesClassifier(
        n_estimators=4, max_depth=3, bootstrap=True, random_state=0
    ),
    "boosting": GradientBoostingRegressor(n_estimators=4, random_state=0),
    "boosting_classifier": GradientBoostingClassifier(n_estimators=3, random_state=0),
    "histogram": HistGradientBoostingRegressor(
        max_iter=4, min_samples_leaf=3, random_state=0
    ),
    "histogram_classifier": HistGradientBoostingClassifier(
        max_iter=3, min_samples_leaf=3, random_state=0
    ),
    "adaboost": AdaBoostRegressor(n_estimators=4, random_state=0),
    "bagging": BaggingClassifier(n_estimators=3, random_state=0),
    "svr": SVR(max_iter=1000),
    "svc": SVC(max_iter=1000),
    "svc_linear": SVC(kernel="linear", max_iter=1000),
    "kernel_ridge": KernelRidge(kernel="poly", degree=2),
    "gaussian_process": GaussianProcessRegressor(alpha=0.1, optimizer=None),
    "network": MLPRegressor(
        hidden_layer_sizes=(3,), solver="lbfgs", max_iter=20, random_state=0
    ),
    "network_classifier": MLPClassifier(
        hidden_layer_sizes=(3,), solver="lbfgs", max_iter=20, random_state=0
    ),
    "neighbours": KNeighborsRegressor(n_neighbors=2),
    "neighbours_classifier": KNeighborsClassifier(n_neighbors=2),
    "bayes": GaussianNB(),
    "pipeline": make_pipeline(StandardScaler(), Ridge()),
    "pipeline_classifier": make_pipeline(StandardScaler(), LogisticRegression()),
    "stacking": StackingRegressor([("a", Ridge()), ("b", LinearRegression())], cv=2),
}


@functools.cache
def pooled(name, n_features, n_classes):
    """A model fitted on 30 rows of plain numbers."""
    rng = np.random.default_rng(n_features + 10 * n_classes)
    X = rng.standard_normal((30, n_features))
    y = X.sum(axis=1) + 0.1 * rng.standard_normal(30)
    if is_classifier(MODELS[name]):
        y = np.arange(30) % n_classes
    elif name == "poisson":
        y = np.abs(y)
    elif n_classes == 3 and name in {"linear", "ridge", "tree", "forest"}:
        y = np.column_stack([y, y**2])
    return _fitted(name, X, y)


def fitted_on(name, X, y, sample_weight=None):
    """A model fitted on the fuzzed data itself, or None where it refuses them."""
    try:
        return _fitted(name, X, y)
    except Exception:
        return None


def _fitted(name, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(MODELS[name]).fit(X, y)


def unfitted(name):
    """A model without a fit."""
    return clone(MODELS[name])


def _numbers(X):
    """Each row as finite numbers, whatever the container and types."""
    values = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=object)
    if values.dtype.kind in "fiu":
        return np.nan_to_num(values.astype(np.float64), posinf=9.0, neginf=-9.0)
    result = np.zeros(values.shape)
    for index in np.ndindex(values.shape):
        try:
            number = float(values[index])
        except (TypeError, ValueError, OverflowError):
            number = float(len(str(values[index])))
        result[index] = number if np.isfinite(number) else 0.5
    return result


def bounded(X):
    """A smooth function of all columns between -1 and 1."""
    values = np.tanh(_numbers(X))
    return values @ np.linspace(1.0, 0.5, values.shape[1]) / max(values.shape[1], 1)


def first_column(X):
    """As large as the first column is."""
    return _numbers(X)[:, 0]


def enormous(X):
    """Finite, near the largest float."""
    return 1e308 * bounded(X)


def minute(X):
    """Near the smallest float."""
    return 1e-308 * bounded(X)


def offset(X):
    """Small differences on a large level."""
    return 1e12 + bounded(X)


def constant(X):
    """The same everywhere."""
    return np.zeros(X.shape[0])


def two_outputs(X):
    """Two columns."""
    return np.column_stack([bounded(X), bounded(X) ** 2])


def single_precision(X):
    """A float32 response."""
    return bounded(X).astype(np.float32)


def integers(X):
    """Large integers."""
    return np.floor(2.0**62 * bounded(X)).astype(np.int64)


def as_list(X):
    """A list of floats."""
    return bounded(X).tolist()


def truths(X):
    """Booleans."""
    return bounded(X) > 0


def not_a_number(X):
    """NaN in one row."""
    response = bounded(X)
    response[-1:] = np.nan
    return response


def infinite(X):
    """Infinity where the first column is above its first row."""
    first = _numbers(X)[:, 0]
    return np.where(first > first[:1], np.inf, 0.0)


def too_short(X):
    """One row less."""
    return bounded(X)[1:]


def scalar(X):
    """A single number."""
    return 1.0


def nothing(X):
    """No response at all."""
    return


def strings(X):
    """Words."""
    return np.array(["low", "high"])[(bounded(X) > 0).astype(int)]


def complex_numbers(X):
    """Complex numbers."""
    return bounded(X) + 1j


def three_dimensional(X):
    """One axis too many."""
    return bounded(X)[:, None, None]


def without_columns(X):
    """A response of no outputs."""
    return np.empty((X.shape[0], 0))


BUFFER = np.empty(2**16)


def reused_buffer(X):
    """Written into the array that the last call returned, as native code may do."""
    response = bounded(X)
    reused = BUFFER[: len(response)]
    reused[:] = response
    return reused


def objects(X):
    """Numbers in an object array, one missing."""
    response = bounded(X).astype(object)
    response[:1] = None
    return response


def failing(X):
    """The model's own error."""
    raise RuntimeError("sensor offline")


class Duck:
    """A classifier by `classes_`, without scikit-learn's protocol."""

    classes_ = np.array(["no", "yes"])

    def predict_proba(self, X):
        """Two probabilities per row."""
        p = 0.5 + 0.4 * bounded(X)
        return np.column_stack([1 - p, p])


CALLABLES = [
    bounded,
    first_column,
    enormous,
    minute,
    offset,
    constant,
    two_outputs,
    single_precision,
    integers,
    as_list,
    truths,
    not_a_number,
    infinite,
    too_short,
    scalar,
    nothing,
    strings,
    complex_numbers,
    three_dimensional,
    without_columns,
    reused_buffer,
    objects,
    failing,
    Duck(),
]
NO_MODELS = [None, 3, "ridge", Ridge, object(), [Ridge()], np.zeros(3)]
