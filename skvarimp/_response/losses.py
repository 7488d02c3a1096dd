"""Losses of single rows, moved and unmoved; and shares of the variance.

A loss is called with y of shape (n_rows, 1, ...) and outputs of shape (n_outputs,
n_rows, n_cells), and gives (n_rows, n_cells). `make_loss` finds the one that fits a
model's response and refuses targets that do not.

Shares of the variance of the response are Sobol' indices. Index letters as in
`reductions`. With F[k] the mean over the rows of ICE[i, k]:

============ =========================================================
OwnShare     Var_k F[k] / Var f
TotalShare   sum_i w[i] Var_k ICE[i, k] / Var f
============ =========================================================

where Var_k weighs the cells by p[k]. The variance of f over the rows comes as the
scale. It is estimated from the same rows, so that a row moves a share s = U / Var f by

    psi[i] = (psi_U[i] - s ((f[i] - mean f)^2 - Var f)) / Var f.
"""

from dataclasses import dataclass, replace
from inspect import signature

import numpy as np
from scipy.special import xlogy

from skvarimp._data.statistics import centred, variance
from skvarimp._models.labels import indicators, positions, watched
from skvarimp._response.mean_curves import PartialDependence
from skvarimp._response.reductions import RowMean, State
from skvarimp._running.guards import users_code

SMALLEST_PROBABILITY = np.finfo(np.float64).eps  # as in scikit-learn's log_loss


def values_of(y):
    """Targets of outputs that are numbers: (n_outputs, n_rows) of y (n_rows, ...)."""
    return np.atleast_2d(np.asarray(y, dtype=np.float64).T)


def indicators_of(y, class_lists):
    """Targets of probabilities and labels: indicators of y's classes."""
    return indicators(y, class_lists).T


@dataclass(frozen=True)
class Loss(RowMean):
    """Mean loss with the feature moved to every donor's value, and unmoved.

    Parameters
    ----------
    loss : callable
        loss(y, outputs) -> (n_rows, n_cells) of y (n_rows, 1, ...) and outputs
        (n_outputs, n_rows, n_cells).
    relative : bool
        Ratio of the two means instead of their difference.
    smooth : bool
        Whether the loss is an analytic function of the outputs.
    """

    loss: object = None
    relative: bool = False
    smooth: bool = False

    merges_rows = False
    donor_factor = 1

    @property
    def needs(self):
        return "moments" if self.smooth else "values"

    @property
    def offset(self):
        """Draws are of the difference, also where a ratio is wanted."""
        return 1.0 if self.relative else 0.0

    def through_scale(self, importances, rows, scale):
        """A row also moves the mean loss that a ratio is divided by."""
        if not self.relative:
            return 0.0
        return -importances[..., np.newaxis] * (self._unmoved(rows) - scale)

    def reduce(self, shape):
        """The two "outputs" are loss gained and unmoved loss.

        Means of differences: exactly 0 for a feature that changes nothing.
        """
        rows, cells = (per_output.mean(axis=1) for per_output in self.gained(shape))
        base = np.broadcast_to(self._unmoved(shape.rows), rows.shape)
        return State(np.stack([rows, base], axis=1), cells[:, np.newaxis])

    def gained(self, shape):
        """Mean loss gained, over the cells and over the rows, as `Shape.means`."""
        size = np.abs(self._unmoved(shape.rows)).max() if self.smooth else None
        return shape.means(self._gains, size)

    def _gains(self, chunk):
        y = chunk.rows.y[:, np.newaxis]
        gains = np.stack([self.loss(y, curves) for curves in chunk.ice])
        gains -= self._unmoved(chunk.rows)[:, np.newaxis]
        return gains[:, np.newaxis]

    def _unmoved(self, rows):
        """Loss of the unmoved rows, (n_rows,)."""
        return loss_of_rows(self.loss, rows.y, rows.base)

    def finish(self, state, sample):
        gains = state.rows[:, :1]
        theta, psi = self.projected(gains, state.cells, sample)
        if self.relative:
            base = state.rows[:, 1:]
            reference = np.matmul(base, sample.weights[..., np.newaxis])
            # influence of a ratio: (psi_moved - ratio psi_base) / base
            psi -= theta / reference * (base - reference)
            psi /= reference
            theta, gains = 1.0 + theta / reference, 1.0 + gains / reference
        joined = replace(sample, scale=np.ones(1))
        return joined.finished(theta[..., 0], psi, gains)


class SquaredError(Loss):
    """`Loss` with the mean over the outputs of (target - output)^2.

    The loss has a function target(y) -> (n_outputs, n_rows) of y (n_rows, ...).
    """

    needs = "moments"

    def gained(self, shape):
        return shape.squares(self._errors(shape.rows))

    def _errors(self, rows):
        """Unmoved errors, (1, n_outputs, n_rows)."""
        return (self.loss.target(rows.y) - rows.base)[np.newaxis]


class AbsoluteError(SquaredError):
    """`Loss` with the mean over the outputs of |target - output|."""

    needs = "order"

    def gained(self, shape):
        return shape.distances(self._errors(shape.rows))


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


@dataclass(frozen=True, eq=False)
class DevianceLoss(RowLoss):
    """Mean over the outputs of the unit deviance of Tweedie's distributions.

    Parameters
    ----------
    target : callable
        As of `ErrorLoss`.
    power : float
        Of the mean in the variance, at least 1: 1 is Poisson's, 2 the gamma deviance.
    name : str
    """

    target: object
    power: float
    name: str

    def __call__(self, y, outputs):
        y = self.target(y[:, 0])[:, :, np.newaxis]
        if not np.all(outputs > 0):
            raise ValueError(
                f"loss={self.name!r} needs predictions above 0, got "
                f"{np.min(outputs):.6g}, perhaps for a row with another row's value. "
                "Use loss='squared_error', or a model whose predictions are positive."
            )
        return np.mean(2.0 * self._halves(y, outputs), axis=0)

    def _halves(self, y, means):
        """Half the unit deviances (Jorgensen 1997; as in scikit-learn's metrics)."""
        if self.power == 1:
            return xlogy(y, y / means) - y + means
        if self.power == 2:
            return np.log(means / y) + y / means - 1.0
        one, two = 1.0 - self.power, 2.0 - self.power
        powers = y**two / (one * two) - y * means**one / one
        return powers + means**two / two


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
    """The user's own: function(y, (n,) or (n, n_outputs)) -> (n,).

    y as `with_groups` gives it is split: the function gets `groups`, too.
    """

    function: object

    @property
    def name(self):
        return getattr(self.function, "__name__", type(self.function).__name__)

    def __call__(self, y, outputs):
        n_outputs, n_rows, n_cells = outputs.shape
        flat = outputs.reshape(n_outputs, -1)
        predicted = flat[0] if n_outputs == 1 else flat.T
        targets, groups = y[:, 0].repeat(n_cells, axis=0), {}
        if targets.dtype.names == IN_GROUPS:
            targets, labels = (targets[name] for name in IN_GROUPS)
            groups = {"groups": labels}
        try:
            with users_code():
                losses = self.function(targets, predicted, **groups)
        except Exception as error:
            error.add_note(
                f"`loss` was called as {self.name}(y, predictions) of {len(targets)} "
                "rows. It is called several times, with rows of X and with moved rows, "
                "in which y is repeated. Let it take all it needs from y, such as "
                "columns of a structured y."
            )
            raise
        losses = np.asarray(losses)
        if losses.shape != targets.shape[:1]:
            instead = ""
            if losses.ndim == 0:
                instead = (
                    " A metric that is one number for all rows is a scorer: use "
                    f"PermutationImportance(scoring=make_scorer({self.name}, "
                    "greater_is_better=False))."
                )
            raise ValueError(
                f"`loss` must return one loss per row, shape ({len(targets)},), got "
                f"{losses.shape} from {self.name}.{instead}"
            )
        losses = losses.astype(np.float64)
        if not np.isfinite(losses.sum()) and not np.all(np.isfinite(losses)):
            raise ValueError(
                f"`loss` must return finite numbers, got NaN or infinity from "
                f"{self.name}."
            )
        return losses.reshape(n_rows, n_cells)


IN_GROUPS = ("y of skvarimp", "groups of skvarimp")  # names of no user's columns


def with_groups(y, labels):
    """Targets (n_rows, ...) and the label of each row's group, as one array."""
    kinds = (y.dtype, y.shape[1:]), (labels.dtype,)
    both = np.empty(len(y), [(name, *kind) for name, kind in zip(IN_GROUPS, kinds)])
    for name, values in zip(IN_GROUPS, (y, labels)):
        both[name] = values
    return both


def asks_for_groups(loss):
    """Whether a loss is a function with a parameter `groups`."""
    try:
        return callable(loss) and "groups" in signature(loss).parameters
    except (TypeError, ValueError):  # some functions that are not Python's
        return False


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


@dataclass(frozen=True)
class OwnShare(PartialDependence):
    """Sobol's first-order index: the variance of the mean curve."""

    statistic: str = "variance"

    merges_rows = False
    counts_values = False
    uses_squares = True

    def spread(self, cells, sample):
        return variance(cells, sample.cells.probabilities)

    def slope(self, cells, sample):
        chances = sample.cells.probabilities
        return 2.0 * chances[:, np.newaxis] * centred(cells, chances)

    def own_influences(self, cells, importances, sample):
        """A row is also donor of its value."""
        through_scale = self.through_scale(importances, sample.rows, sample.scale)
        if sample.cells.codes is None:
            return through_scale
        squares = sample.donated(centred(cells, sample.cells.probabilities) ** 2)
        return through_scale + squares - self.spread(cells, sample)[..., np.newaxis]


class TotalShare(RowMean):
    """Sobol's total index: mean over the rows of the variance of the row's curve.

    The mean of (ICE[i, k] - ICE[i, l])^2 / 2 over l is half of the cell's squared
    deviation plus half of the row's variance: each donor brings one deviation.
    """

    primitive = "variances"
    needs = "moments"
    merges_rows = False
    uses_squares = True
    donor_factor = 1
