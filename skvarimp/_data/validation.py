"""Every user-facing error about X, y, weights, features and response methods."""

import numbers

import numpy as np
from sklearn.utils import check_array, check_scalar
from sklearn.utils.multiclass import check_classification_targets

from skvarimp._data.values import is_missing
from skvarimp._running.private_sklearn import Interval, StrOptions

RESPONSE_METHODS = ("predict_proba", "decision_function", "predict")
SMALLEST_SPREAD = 1e-150  # its square is a normal float64


class NumberOfBins(Interval):
    """A whole number from 1 on; True is none, though Python counts it as 1."""

    def __init__(self):
        super().__init__(numbers.Integral, 1, None, closed="left")

    def is_satisfied_by(self, value):
        """See scikit-learn's constraints."""
        return not isinstance(value, bool) and super().is_satisfied_by(value)


def grid_constraint(*names):
    """Of a parameter that takes named grids, a number of bins, or values."""
    return [StrOptions(set(names)), NumberOfBins(), "array-like", dict]


# Of parameters that mean the same wherever they occur.
CONSTRAINTS = {
    "categorical_features": ["array-like", str, None],
    "features": ["array-like", dict, None],
    "grid": grid_constraint("all", "equidistant", "deciles"),
    "keep_rows": ["boolean"],
    "n_jobs": [
        Interval(numbers.Integral, 1, 2**16, closed="both"),
        Interval(numbers.Integral, None, -1, closed="right"),
        None,
    ],
    "n_repeats": [Interval(numbers.Integral, 1, 2**31, closed="both")],
    "random_state": ["random_state", np.random.Generator],
    "response_method": [StrOptions({"auto", *RESPONSE_METHODS})],
}


def has_tags(estimator):
    """Whether an object takes part in scikit-learn's estimator protocol."""
    return hasattr(estimator, "__sklearn_tags__") and not isinstance(estimator, type)


def check_no_data(estimator, order="fit(estimator, X, y)"):
    """Raise TypeError where X stands in the estimator's place: `fit(X, y)`."""
    if hasattr(estimator, "shape") and not callable(estimator):
        raise TypeError(
            f"`estimator` must be a fitted model, got a {type(estimator).__name__} of "
            f"shape {estimator.shape}. The order is {order}."
        )


def check_feature_names(feature_names, table):
    """Return names for the columns of a table that has none, as a list."""
    if table.names is not None:
        raise ValueError(
            "`feature_names` names the columns of an array or a sparse matrix, but X "
            "has column names of its own. Leave `feature_names` out."
        )
    try:
        names = [] if isinstance(feature_names, str) else list(feature_names)
    except TypeError:
        names = []
    if len(names) != table.n_columns or not all(isinstance(n, str) for n in names):
        raise ValueError(
            f"`feature_names` must hold one string for each of the {table.n_columns} "
            f"columns of X, got {feature_names!r:.60}."
        )
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"`feature_names` has the name {twice!r} more than once.")
    return names


def is_dask(values):
    """Whether values are a Dask collection: in partitions, maybe not in memory."""
    return hasattr(values, "__dask_graph__")


def check_in_memory(values, name):
    """Raise TypeError for a Dask collection, which NumPy would load without a word."""
    if is_dask(values):
        raise TypeError(
            f"{name} must be in memory, got a Dask {type(values).__name__}. Pass "
            f"{name.strip('`')}.compute()."
        )


def check_sample_weight(sample_weight, n_samples):
    """Return weights as float array of shape (n_samples,), not normalised.

    At least two rows must have positive weight: one row cannot be perturbed.
    """
    weight = check_weights(sample_weight, n_samples)
    check_two_rows(n_samples, np.count_nonzero(weight), sample_weight is not None)
    return weight


def check_two_rows(n_samples, n_positive, weighted):
    """Raise where fewer than two rows have positive weight."""
    if n_positive == 0:
        raise ValueError(
            "X has no rows." if n_samples == 0 else "`sample_weight` is 0 everywhere."
        )
    if n_positive == 1:
        where = "has positive `sample_weight`" if weighted else "in X"
        raise ValueError(
            f"Only one row {where}; at least two are needed to see the response change."
        )


def check_weights(sample_weight, n_samples):
    """Return weights as float array of shape (n_samples,); all may be 0."""
    if sample_weight is None:
        return np.ones(n_samples)
    check_in_memory(sample_weight, "`sample_weight`")
    how = {"ensure_2d": False, "ensure_min_samples": 0}
    how["input_name"] = "`sample_weight`"
    try:
        weight = check_array(sample_weight, dtype=np.float64, **how)
    except (TypeError, ValueError) as error:
        raise ValueError(f"`sample_weight` must be finite numbers: {error}") from None
    if weight.shape != (n_samples,):
        raise ValueError(
            f"`sample_weight` must have shape ({n_samples},), one weight per row of X, "
            f"got {weight.shape}."
        )
    if np.any(weight < 0):
        raise ValueError(
            f"`sample_weight` must be non-negative, got {weight.min():g}. Use "
            "weight 0 to leave a row out."
        )
    if weight.max(initial=0.0) > np.finfo(np.float64).max / max(n_samples, 1):
        raise ValueError(
            f"`sample_weight` is too large to be summed, got {weight.max():g}. "
            "Divide the weights by their maximum."
        )
    # A weight that is lost in the division by the sum is 0.
    return np.where(weight < 1e-290 * weight.max(initial=0.0), 0.0, weight)


def as_array(values, name):
    """Values as an array of real numbers or objects, or an error that names them."""
    check_in_memory(values, name)
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(
            f"{name} is a masked array, whose masked values would be read as if they "
            f"were known. Pass {name}.filled(np.nan)."
        )
    try:
        values = np.asarray(values)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} must be an array with rows of one length, got {values!r:.60}."
        ) from None
    if values.dtype.kind in "cV":
        raise ValueError(
            f"{name} must hold real numbers or labels, got dtype {values.dtype}."
        )
    return values


def check_confidence(confidence):
    """Raise unless a confidence lies strictly between 0 and 1."""
    limits = {"min_val": 0, "max_val": 1, "include_boundaries": "neither"}
    check_scalar(confidence, "confidence", numbers.Real, **limits)
    if np.isnan(confidence):  # which no comparison with the limits refuses
        raise ValueError("confidence == nan, must be between 0 and 1.")


def check_class_labels(y):
    """Raise ValueError unless y can be the classes of a classifier."""
    try:
        with np.errstate(invalid="ignore"):  # of numbers beyond the integers
            check_classification_targets(y)
    except TypeError:
        raise ValueError(
            "y must hold class labels of one type, got a mixture that has no order."
        ) from None


def is_structured(y):
    """Whether y is an array of records, as of survival models."""
    return isinstance(y, np.ndarray) and y.dtype.names is not None


def check_length(y, n_samples):
    """Raise ValueError if y has a length, and another one than X.

    This is the only check of a y that only a scorer uses.
    """
    check_in_memory(y, "y")
    listed = isinstance(y, list | tuple)  # maybe with rows of different lengths
    shape = (len(y),) if listed else getattr(y, "shape", ())
    if len(shape) > 0 and shape[0] != n_samples:
        raise ValueError(
            f"y has {shape[0]} entries, but X has {n_samples} rows. Pass the y that "
            "belongs to X."
        )


def check_target(y, n_samples, structured=False):
    """Return y as an array with one entry (or row of outputs) per row of X, or None.

    Parameters
    ----------
    y : array-like or None
    n_samples : int
    structured : bool, default=False
        Whether y may be a structured array, as of survival models: where only the
        estimator and a scorer look at it.
    """
    if y is None:
        return None
    y = y if structured and is_structured(y) else as_array(y, "y")
    if y.ndim == 0 or y.ndim > 2:
        raise ValueError(f"y must be 1- or 2-dimensional, got {y.ndim} dimensions.")
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    check_length(y, n_samples)
    if y.dtype.kind in "mM":
        raise ValueError(
            f"y must hold numbers or labels, got dates or times of dtype {y.dtype}. "
            "Make them numbers, such as days since the first one."
        )
    if y.dtype.kind in "fc" and not np.all(np.isfinite(y)):
        raise ValueError("y contains NaN or infinity. Leave those rows out.")
    if y.dtype.kind == "O" and any(map(is_missing, y.flat)):
        raise ValueError("y has missing labels or numbers. Leave those rows out.")
    return y


def check_finite_response(response, where):
    """Raise ValueError where a model's output is not finite; `where` says at what."""
    if not np.all(np.isfinite(response)):
        raise ValueError(
            f"The model's output is NaN or infinite {where}. Importances are means of "
            "its output: check the model at this input."
        )


def check_not_tiny(outputs):
    """Raise ValueError if the outputs vary, but too little to be squared.

    Squares below the smallest float64 are 0, and so would every importance be.

    Parameters
    ----------
    outputs : ndarray of shape (n_samples, n_outputs)
    """
    spread = np.ptp(outputs, axis=0).max(initial=0.0)
    if 0 < spread < SMALLEST_SPREAD:
        raise ValueError(
            f"The response varies by {spread:.3g} only over the rows of X, and squares "
            "of such numbers are 0 in float64 arithmetic. Rescale it."
        )
