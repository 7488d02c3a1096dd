"""What scikit-learn keeps private and skvarimp cannot do without, in one place.

A name that a new scikit-learn renames disables only what needs it: parameters are no
longer checked, callbacks are not driven, or a model is not read, never the import.
"""

import sklearn

try:  # The vocabulary of parameter constraints has no public name.
    from sklearn.utils._param_validation import (
        HasMethods,
        Interval,
        StrOptions,
        validate_parameter_constraints,
    )
except ImportError:

    class Interval:
        """A constraint that is not checked."""

        def __init__(self, *args, **options):
            pass

        def is_satisfied_by(self, value):
            """See scikit-learn's constraints."""
            return True

    HasMethods = StrOptions = Interval

    def validate_parameter_constraints(constraints, params, caller_name):
        """Check nothing: bad parameters fail where they are used."""


try:  # since scikit-learn 1.9
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:
        """Stands for scikit-learn's class: no callbacks."""

    def with_callbacks(fit):
        """Drive no callbacks."""
        return fit


def check_arguments(function, params):
    """Raise as a function of scikit-learn would for parameters out of range."""
    if not sklearn.get_config()["skip_parameter_validation"]:
        constraints = getattr(function, "_skl_parameter_constraints", {})
        validate_parameter_constraints(constraints, params, function.__name__)


# Attributes of fitted models that hold what no public attribute does.
ATTRIBUTES = {
    "_baseline_prediction": "where histogram gradient boosting starts",
    "_gamma": "the number that gamma='scale' became",
    "_n_samples": "how many rows a forest was grown on",
    "_predictors": "the trees of histogram gradient boosting",
    "_preprocessor": "the categories of histogram gradient boosting",
    "_raw_predict_init": "what gradient boosting adds to its trees",
    "_transformer_to_input_indices": "the columns of each part of a ColumnTransformer",
    "_x_mean": "the mean of X that partial least squares subtracts",
}


def private(estimator, name):
    """A private attribute of a fitted model, or an AttributeError that says what for.

    Parameters
    ----------
    estimator : object
    name : str
        One of `ATTRIBUTES`.
    """
    try:
        return getattr(estimator, name)
    except AttributeError:
        raise AttributeError(
            f"{type(estimator).__name__} of scikit-learn {sklearn.__version__} has no "
            f"`{name}`: {ATTRIBUTES[name]}"
        ) from None
