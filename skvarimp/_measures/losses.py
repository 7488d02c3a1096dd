"""The loss that fits a model's response, by name or function."""

from functools import partial
from numbers import Real

import numpy as np
from sklearn.base import is_classifier, is_regressor

from skvarimp._data.table import has_tags
from skvarimp._data.validation import is_structured
from skvarimp._models.labels import as_columns, positions, watched
from skvarimp._models.model import _last_step, is_exactly
from skvarimp._response.losses import (
    IN_GROUPS,
    AbsoluteErrorLoss,
    CallableLoss,
    DevianceLoss,
    LogLoss,
    SquaredErrorLoss,
    WrongClassLoss,
    ZeroOneLoss,
    asks_for_groups,
    indicators_of,
    values_of,
)

# Powers of the mean in the variance; None: that of the model.
DEVIANCES = {"poisson_deviance": 1.0, "gamma_deviance": 2.0, "tweedie_deviance": None}
LOSSES = ("squared_error", "absolute_error", *DEVIANCES, "log_loss", "zero_one")

# Of Tweedie's deviance where the model names no power: between Poisson's and gamma's,
# as the boosting libraries have it.
TWEEDIE_POWER = 1.5

IN_WORDS = {  # and the unit
    "squared_error": ("squared error", "squared units of y"),
    "absolute_error": ("absolute error", "units of y"),
    "log_loss": ("log loss", "nats"),
    "zero_one": ("zero-one loss", "shares of rows"),
}

EQUAL_PROBABILITIES = 1e-10


def loss_in_words(name):
    """The name of a loss in a sentence, and its unit.

    Parameters
    ----------
    name : str
        As losses have it; of a function the name of that.

    Returns
    -------
    text, unit : str
    """
    text = "loss" if name == "<lambda>" else name.replace("_", " ").strip()
    return IN_WORDS.get(name, (text, f"units of the {text}"))


def make_loss(loss, model, y, n_outputs):
    """The loss of a name or function for a model's response.

    Parameters
    ----------
    loss : {"auto", "squared_error", "absolute_error", "poisson_deviance", \
"gamma_deviance", "tweedie_deviance", "log_loss", "zero_one"} or callable
        "auto": log loss for probabilities, zero-one loss for other outputs of
        classifiers, squared error otherwise.
    model : Model
    y : ndarray of shape (n_samples, ...)
    n_outputs : int

    Returns
    -------
    callable
    """
    if callable(loss):
        if asks_for_groups(loss) and y.dtype.names != IN_GROUPS:
            raise ValueError(
                "`loss` has a parameter `groups`: it asks for the label of each row's "
                "group, such as its query. Use PermutationImportance (rows='all') and "
                "fit(..., groups=...)."
            )
        return CallableLoss(loss)
    if is_structured(y):
        raise ValueError(
            f"loss={loss!r} needs a number or a label per row, but y has the fields "
            f"{list(y.dtype.names)}. Use a callable loss, or in PermutationImportance "
            "a scorer: scoring='score' is the model's own."
        )
    reason = refused_loss(loss, model.estimator, model.method)
    if reason:
        raise ValueError(reason)
    if model.kind == "value" or model.class_lists is None:
        return _loss_of_values(loss, model, y, n_outputs)
    return _loss_of_classes(loss, model, y, n_outputs)


def refused_loss(loss, estimator, method):
    """Why a loss cannot fit a response, as far as known without its values; or None.

    Parameters
    ----------
    loss : str or callable
    estimator : object
        Perhaps unfitted.
    method : str
        Response method; "auto" where it is not known yet.
    """
    if loss == "auto" and is_ranker(estimator):
        return (
            "loss='auto' compares predictions with y, but a ranker's scores only "
            "order the rows of one query and are not on the scale of y. Use a scorer "
            "(`scoring`, of PermutationImportance) that knows the queries, or a "
            "callable loss."
        )
    regressor = has_tags(estimator) and is_regressor(estimator)
    if regressor and method == "auto":
        method = "predict"
    if loss == "log_loss" and method in {"predict", "decision_function"}:
        classifier = has_tags(estimator) and is_classifier(estimator)
        instead = "zero_one" if classifier else "squared_error"
        return (
            "loss='log_loss' needs the probabilities of a classifier, but the "
            f"response watched is `{method}`. Use loss='{instead}'."
        )
    if loss == "zero_one" and regressor:
        return (
            "loss='zero_one' counts wrong labels, but "
            f"{type(estimator).__name__} is a regressor. Use "
            "loss='squared_error' or loss='absolute_error'."
        )
    return None


def _loss_of_values(loss, model, y, n_outputs):
    if loss == "log_loss":
        raise ValueError(
            "loss='log_loss' needs the probabilities of a classifier, but the "
            f"response watched is `{model.method}`. Use loss='squared_error'."
        )
    if y.dtype.kind not in "fbiu":
        try:
            y = y.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"loss={loss!r} needs a numeric y, got dtype {y.dtype}. Use a callable "
                "loss, or a classifier."
            ) from None
    if len(values_of(y[:1])) != n_outputs:
        instead = "Use a callable loss, which gets y and all outputs."
        if model.method == "__call__":  # maybe a classifier's
            instead = (
                "Pass the classifier itself in place of its `predict_proba`, or use a "
                "callable loss."
            )
        raise ValueError(
            f"loss={loss!r} needs one column of y per output, got y of shape {y.shape} "
            f"for {n_outputs} outputs. {instead}"
        )
    if loss in DEVIANCES:
        return _deviance(loss, model, y)
    kinds = {"absolute_error": AbsoluteErrorLoss, "zero_one": ZeroOneLoss}
    return kinds.get(loss, SquaredErrorLoss)(values_of)


def _deviance(loss, model, y):
    """A deviance, of a y that it is defined for."""
    power = DEVIANCES[loss]
    if power is None:
        power = _tweedie_power(model.estimator)
    least = "above 0" if power >= 2 else "of at least 0"
    if np.any(y <= 0 if power >= 2 else y < 0):
        raise ValueError(
            f"loss={loss!r} needs values of y {least}, got {np.min(y):.6g}. Use "
            "loss='squared_error'."
        )
    return DevianceLoss(values_of, power, loss)


def _tweedie_power(estimator):
    """The power of the mean in the variance that a model was fitted with."""
    model = _last_step(estimator)
    for name in ("power", "tweedie_variance_power"):
        power = getattr(model, name, None)
        if isinstance(power, Real) and power >= 1:
            return float(power)
    return TWEEDIE_POWER


def _loss_of_classes(loss, model, y, n_outputs):
    kind, lists = model.kind, model.class_lists
    if loss == "auto":
        loss = "log_loss" if kind == "probability" else "zero_one"
    if loss in DEVIANCES:
        raise ValueError(
            f"loss={loss!r} compares means with counts or amounts, but the model is a "
            "classifier. Use loss='log_loss' or loss='zero_one'."
        )
    if loss in {"squared_error", "absolute_error"} and kind == "score":
        raise ValueError(
            f"loss={loss!r} cannot compare scores of `{model.method}` with classes. "
            "Use loss='zero_one', or a callable loss."
        )
    columns = as_columns(y)
    expected = sum(len(watched(classes)) for classes in lists)
    if columns.shape[1] != len(lists) or n_outputs != expected:
        raise ValueError(
            f"loss={loss!r} needs one column of y for each target that the model has "
            f"classes of ({len(lists)}) and {expected} outputs, got y of shape "
            f"{y.shape} and {n_outputs} outputs of `{model.method}`. Use "
            "response_method='predict' or a callable loss."
        )
    positions(columns, lists)  # refuses unknown labels
    if loss == "log_loss":
        return LogLoss(lists)
    if loss == "zero_one":
        if kind == "score":
            return WrongClassLoss(lists, 0.0, 0.0)
        return WrongClassLoss(lists, 0.5, EQUAL_PROBABILITIES)
    kinds = {"absolute_error": AbsoluteErrorLoss, "squared_error": SquaredErrorLoss}
    return kinds[loss](partial(indicators_of, class_lists=lists))


# Models whose `predict` returns scores that order the rows of one query.
RANKERS = {
    "xgboost": "XGBRanker",
    "lightgbm": "LGBMRanker",
    "catboost": "CatBoostRanker",
}


def is_ranker(estimator):
    """Whether a model, perhaps behind steps, is a library's ranker."""
    model = _last_step(estimator)
    return any(is_exactly(model, *ranker) for ranker in RANKERS.items())
