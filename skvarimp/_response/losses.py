"""Losses of single rows, which permutation importance compares moved and unmoved.

A loss is called with y of shape (n_rows, 1, ...) and outputs of shape (n_outputs,
n_rows, n_cells), and gives (n_rows, n_cells). `make_loss` finds the one that fits a
model's response and refuses targets that do not."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.base import is_classifier, is_regressor

from skvarimp._data.table import has_tags
from skvarimp._data.validation import is_structured
from skvarimp._models.labels import as_columns, indicators, positions, watched
from skvarimp._models.model import _last_step, is_exactly
from skvarimp._response.reductions import AbsoluteError, Draw, Loss, SquaredError
from skvarimp._running.guards import users_code

LOSSES = ("squared_error", "absolute_error", "log_loss", "zero_one")
EQUAL_PROBABILITIES = 1e-10
SMALLEST_PROBABILITY = np.finfo(np.float64).eps  # as in scikit-learn's log_loss


def values_of(y):
    """Targets of outputs that are numbers: (n_outputs, n_rows) of y (n_rows, ...)."""
    return np.atleast_2d(np.asarray(y, dtype=np.float64).T)


def indicators_of(y, class_lists):
    """Targets of probabilities and labels: indicators of y's classes."""
    return indicators(y, class_lists).T


class RowLoss:
    """A loss of single rows and the class of its reduction."""

    smooth, reduced = False, Loss

    def reduction(self, relative):
        """The reduction of the engine."""
        return self.reduced(self, relative, self.smooth)


@dataclass(frozen=True, eq=False)
class ErrorLoss(RowLoss):
    """Mean over the outputs of a size of target - output."""

    target: object

    def __call__(self, y, outputs):
        gaps = self.target(y[:, 0])[:, :, np.newaxis] - outputs
        return np.mean(self.size(gaps, out=gaps), axis=0)


class SquaredErrorLoss(ErrorLoss):
    """Mean over the outputs of (target - output)^2."""

    name, size, reduced = "squared_error", np.square, SquaredError


class AbsoluteErrorLoss(ErrorLoss):
    """Mean over the outputs of |target - output|."""

    name, size, reduced = "absolute_error", np.abs, AbsoluteError


class ZeroOneLoss(ErrorLoss):
    """Whether the output differs from y; of several outputs the share that does."""

    name = "zero_one"

    def __call__(self, y, outputs):
        wrong = self.target(y[:, 0])[:, :, np.newaxis] != outputs
        return np.mean(wrong, axis=0, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class WrongClassLoss(RowLoss):
    """Whether the class of the largest output is not y's, the first of equal ones.

    With several columns of y it is the share that is wrong. A single output stands for
    the second of two classes, which is chosen above the threshold. Outputs closer than
    `tie` count as equal, so that the rounding of a vote of trees decides nothing.
    """

    class_lists: list
    threshold: float
    tie: float
    name = "zero_one"

    def __call__(self, y, outputs):
        wrong = [
            self._chosen(scores, classes) != at[:, np.newaxis]
            for scores, at, classes in _columnwise(y, outputs, self.class_lists)
        ]
        return np.mean(wrong, axis=0, dtype=np.float64)

    def _chosen(self, scores, classes):
        if len(classes) == 2:
            return scores[0] > self.threshold + self.tie
        return (scores >= scores.max(axis=0) - self.tie).argmax(axis=0)


@dataclass(frozen=True, eq=False)
class LogLoss(RowLoss):
    """-log of the probability of y's class, at least eps; mean over columns of y."""

    class_lists: list
    name = "log_loss"
    smooth = True

    def __call__(self, y, outputs):
        losses = []
        for scores, at, classes in _columnwise(y, outputs, self.class_lists):
            if len(classes) == 2:
                chance = np.abs((1 - at)[:, np.newaxis] - scores[0])
            else:
                chance = scores[at, np.arange(len(at))]
            losses.append(-np.log(np.maximum(chance, SMALLEST_PROBABILITY)))
        return losses[0] if len(losses) == 1 else np.mean(losses, axis=0)


@dataclass(frozen=True, eq=False)
class CallableLoss(RowLoss):
    """The user's own: function(y, (n,) or (n, n_outputs)) -> (n,)."""

    function: object

    @property
    def name(self):
        return getattr(self.function, "__name__", type(self.function).__name__)

    def __call__(self, y, outputs):
        n_outputs, n_rows, n_cells = outputs.shape
        flat = outputs.reshape(n_outputs, -1)
        predicted = flat[0] if n_outputs == 1 else flat.T
        with users_code():
            of_rows = self.function(y[:, 0].repeat(n_cells, axis=0), predicted)
        of_rows = np.asarray(of_rows)
        if of_rows.shape != (n_rows * n_cells,):
            raise ValueError(
                f"`loss` must return one loss per row, shape ({n_rows * n_cells},), "
                f"got {of_rows.shape} from {self.name}."
            )
        of_rows = of_rows.astype(np.float64)
        if not np.isfinite(of_rows.sum()) and not np.all(np.isfinite(of_rows)):
            raise ValueError(
                f"`loss` must return finite numbers, got NaN or infinity from "
                f"{self.name}."
            )
        return of_rows.reshape(n_rows, n_cells)


@dataclass(frozen=True, eq=False)
class LossDraw(Draw):
    """One draw of permutation importance: loss(y, f(x; V)) - loss(y, f(x)).

    Parameters
    ----------
    loss : callable
    reference : float, default=None
        Mean loss of the unmoved rows, where draws are divided by it.
    """

    loss: object
    reference: float | None = None

    n_moves = 1
    donor_factor = 1

    def contribution(self, base, moved, y):
        both = np.stack([moved[0], base], axis=2)
        losses = self.loss(y[:, np.newaxis], both)
        return (losses[:, 0] - losses[:, 1])[np.newaxis]

    def unmoved(self, base, y):
        """The loss of each row, where draws are divided by it."""
        return 0.0 if self.reference is None else loss_of_rows(self.loss, y, base)

    def further_influence(self, theta, unmoved):
        """A row also moves the mean loss that a ratio is divided by."""
        if self.reference is None:
            return 0.0
        return -theta * (unmoved / self.reference - 1.0)


def loss_of_rows(loss, y, base):
    """Loss of each row from its responses `base`, (n_outputs, n_rows)."""
    return loss(y[:, np.newaxis], base[:, :, np.newaxis])[:, 0]


def _columnwise(y, outputs, class_lists):
    """(outputs, positions of the labels, classes) of each column of y."""
    codes, first = positions(y[:, 0], class_lists), 0
    for c, classes in enumerate(class_lists):
        stop = first + len(watched(classes))
        yield outputs[first:stop], codes[:, c], classes
        first = stop


def make_loss(loss, model, y, n_outputs):
    """The loss of a name or function for a model's response.

    Parameters
    ----------
    loss : {"auto", "squared_error", "absolute_error", "log_loss", "zero_one"} or \
callable
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
            "loss='auto' compares the response with y, but a ranker's scores only "
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
    kinds = {"absolute_error": AbsoluteErrorLoss, "zero_one": ZeroOneLoss}
    return kinds.get(loss, SquaredErrorLoss)(values_of)


def _loss_of_classes(loss, model, y, n_outputs):
    kind, lists = model.kind, model.class_lists
    if loss == "auto":
        loss = "log_loss" if kind == "probability" else "zero_one"
    if loss in {"squared_error", "absolute_error"} and kind == "score":
        raise ValueError(
            f"loss={loss!r} cannot compare scores of `{model.method}` with classes. "
            "Use loss='zero_one', or a callable loss."
        )
    columns = as_columns(y)
    expected = sum(len(watched(classes)) for classes in lists)
    if columns.shape[1] != len(lists) or n_outputs != expected:
        raise ValueError(
            f"loss={loss!r} needs one column of y for each of the {len(lists)} lists "
            f"of classes and {expected} outputs, got y of shape {y.shape} and "
            f"{n_outputs} outputs of `{model.method}`. Use response_method='predict' "
            "or a callable loss."
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
