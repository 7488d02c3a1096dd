"""Impurity criteria: how much a split decreases weight times impurity.

Each criterion is a function of the rows on the two sides of a split. The two sides
may be any sets of rows, not only the ones the tree chose, so that a surrogate's own
split can be judged.

The losses of boosting are each known by the residuals of their rows: minus the
derivative by a raw output, before any link. Their scale is the loss's own: half the
squared error, the log loss in nats, and so on.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.special import expit, softmax, xlogy

from skvarimp._data.base_table import numbered
from skvarimp._measures.impurity.tree_batch import LEAF
from skvarimp._models.forms import NotReadable


@dataclass(frozen=True)
class SumCriterion:
    """A criterion that needs only sums of row statistics over each side.

    Attributes
    ----------
    gain : callable
        gain(left, right, w_left, w_right) -> (n, n_splits), the decrease by each of n
        numbers, from their sums over both sides, (n, n_splits), and the weights of
        these, (n_splits,).
    """

    gain: Callable

    def decrease(self, trees, slots, starts, cuts, ends):
        """Decrease of weight times impurity by splits of runs of rows.

        decrease[m] = W E - W_left E_left - W_right E_right, where the left side is
        `slots.ravel()[starts[m]:cuts[m]]` and the right side
        `slots.ravel()[cuts[m]:ends[m]]`, averaged over the outputs.

        Parameters
        ----------
        trees : TreeBatch
        slots : ndarray of shape (n_columns, n_positions)
            Every row holds the same slots, in another order.
        starts, cuts, ends : ndarray of shape (n_splits,)
            Positions; runs are in ascending order and do not overlap.

        Returns
        -------
        ndarray of shape (n_splits,)
        """
        bounds = np.stack([starts, cuts, ends], axis=1).ravel()
        ordered = np.zeros(slots.size + 1)  # the last bound may lie behind the last row
        sides = []
        for statistic in self.statistics(trees):
            statistic.take(slots.ravel(), out=ordered[:-1], mode="clip")
            sides.append(np.add.reduceat(ordered, bounds))
        left = np.array([s[0::3] for s in sides])  # (n_statistics, n_splits)
        right = np.array([s[1::3] for s in sides])
        return self.decrease_of_sums(left, right)

    def primary_decreases(self, trees):
        """Decrease of weight times impurity by every split of some trees.

        Parameters
        ----------
        trees : TreeBatch

        Returns
        -------
        ndarray of shape (n_nodes,)
            0 at leaves.
        """
        sums = np.array([trees.node_sums(s) for s in self.statistics(trees)])
        branch = np.flatnonzero(trees.left != LEAF)
        left, right = sums[:, trees.left[branch]], sums[:, trees.right[branch]]
        decrease = np.zeros(len(trees.left))
        decrease[branch] = self.decrease_of_sums(left, right)
        return decrease


@dataclass(frozen=True)
class ClassCriterion(SumCriterion):
    """Statistics are the weights of the classes, output after output.

    Attributes
    ----------
    n_classes : tuple of int
        Of each output.
    """

    n_classes: tuple

    def statistics(self, trees):
        """Yield the row statistics whose sums over each side count, (n_slots,) each."""
        for code, n_classes in zip(trees.target.T, self.n_classes):
            for k in range(n_classes):
                yield np.where(code == k, trees.weight, 0.0)

    def decrease_of_sums(self, left, right):
        """Decrease from the statistics of both sides, (n_statistics, n_splits) each."""
        outputs = []
        for a, b in pairwise(np.cumsum([0, *self.n_classes])):
            to_left, to_right = left[a:b], right[a:b]
            weights = to_left.sum(axis=0), to_right.sum(axis=0)
            gains = self.gain(to_left, to_right, weights[0], weights[1])
            outputs.append(gains.sum(axis=0))
        return np.mean(outputs, axis=0)


class MeanCriterion(SumCriterion):
    """Statistics are the weight and the weighted sum of each output."""

    def statistics(self, trees):
        yield trees.weight
        for column in trees.target.T:
            yield trees.weight * column

    def decrease_of_sums(self, left, right):
        return self.gain(left[1:], right[1:], left[0], right[0]).mean(axis=0)


def variance(left, right, w_left, w_right):
    """Variance; that of class indicators adds up to the Gini impurity."""
    gap = left / w_left - right / w_right
    return w_left * w_right / (w_left + w_right) * gap**2


def entropy(left, right, w_left, w_right):
    """Mean of y log(y / mean): entropy in nats, or half the Poisson deviance."""
    mean = (left + right) / (w_left + w_right)
    gain = np.zeros_like(mean)
    for side, weight in ((left, w_left), (right, w_right)):
        ratio = np.divide(side / weight, mean, where=mean > 0, out=mean * 0)
        gain += xlogy(side, ratio)
    return gain


def bits(*sides):
    """Entropy in bits, minus the sum over classes of p log2(p)."""
    return entropy(*sides) / np.log(2)


def largest(left, right, w_left, w_right):
    """Fraction of rows outside the node's largest class."""
    gain = left.max(axis=0) + right.max(axis=0) - (left + right).max(axis=0)
    return gain[np.newaxis]


class MeanAbsoluteError:
    """Mean distance to the median."""

    def decrease(self, trees, slots, starts, cuts, ends):
        """Sorts the rows, n log n."""
        n_splits = len(starts)
        lengths = ends - starts
        split, turn = numbered(lengths)
        position = starts[split] + turn
        rows = slots.ravel()[position]
        side = 2 * split + (position >= cuts[split])
        decrease = np.zeros(n_splits)
        w, n_outputs = trees.weight[rows], trees.target.shape[1]
        for y in trees.target[rows].T:
            whole = _absolute_deviation(y, w, split, n_splits)
            halves = _absolute_deviation(y, w, side, 2 * n_splits)
            decrease += whole - halves[0::2] - halves[1::2]
        return decrease / n_outputs

    def primary_decreases(self, trees):
        """Sorts the rows of every level."""
        decrease = np.zeros(len(trees.left))
        slots = np.arange(trees.n_slots)[np.newaxis]
        for nodes, right, _ in trees.upwards.levels:
            decrease[nodes] = self.decrease(
                trees, slots, trees.start[nodes], trees.start[right], trees.stop[nodes]
            )
        return decrease


def _absolute_deviation(y, weight, group, n_groups):
    """Weighted sum of distances to the weighted median, a group at a time."""
    order = np.lexsort((y, group))
    y, weight, group = y[order], weight[order], group[order]
    total = np.bincount(group, weight, minlength=n_groups)
    running = np.cumsum(weight / total[group])  # from g to g + 1 within group g
    first = np.searchsorted(group, np.arange(n_groups))
    last = np.append(first[1:], len(group)) - 1
    # Any point where half of the weight lies on each side minimises the sum.
    half = np.searchsorted(running, np.arange(n_groups) + 0.5)
    median = y[np.clip(half, first, last)]
    return np.bincount(group, weight * np.abs(y - median[group]), minlength=n_groups)


CLASS_CRITERIA = {"gini": variance, "deviance": bits, "error": largest}
MEAN_CRITERIA = {"mse": variance, "poisson": entropy}


def make_criterion(name, n_classes):
    """The criterion of that name.

    Parameters
    ----------
    name : str
        A key of `CLASS_CRITERIA` or `MEAN_CRITERIA`, or "absolute_error".
    n_classes : tuple of int or None
        Classes of each output; None for regression trees.
    """
    if name in CLASS_CRITERIA:
        return ClassCriterion(CLASS_CRITERIA[name], n_classes)
    if name in MEAN_CRITERIA:
        return MeanCriterion(MEAN_CRITERIA[name])
    return MeanAbsoluteError()


@dataclass(frozen=True)
class TreeLoss:
    """A loss by name.

    Attributes
    ----------
    name : str
        A key of `RESIDUALS`.
    parameter : float
        Its one number, such as the quantile; 1 where it has none.
    """

    name: str
    parameter: float

    def __post_init__(self):
        if self.name not in RESIDUALS:
            raise NotReadable(f"the residuals of the loss {self.name} are not known")

    @property
    def takes_single_rows(self):
        """Whether a row's residual does not depend on the other rows given."""
        return self.name != "huber at quantile"

    @property
    def is_squared(self):
        """Whether a residual is a target minus the raw output."""
        return self.name == "squared error"

    @property
    def is_logistic(self):
        """Whether it is a target minus a logistic function of the raw output."""
        return self.name in ("log loss", "log loss of shares")

    @property
    def gives_shares(self):
        """Whether a classifier's target is not labels but shares between 0 and 1."""
        return self.name == "log loss of shares"

    def settled(self, y, raw):
        """The loss with a parameter that no longer depends on the rows."""
        if self.takes_single_rows:
            return self
        # the corner is a quantile of the sizes of the errors, stage by stage
        return TreeLoss("huber", float(np.quantile(np.abs(y - raw), self.parameter)))

    def residuals(self, y, raw):
        """Minus the derivatives by the raw outputs.

        Parameters
        ----------
        y : ndarray of shape (n_raw, n_rows)
            Numbers, or indicators of the classes.
        raw : ndarray of shape (n_raw, n_rows)

        Returns
        -------
        ndarray of shape (n_raw, n_rows)
        """
        return RESIDUALS[self.name](y, raw, self.parameter)


def _tweedie(y, raw, p):
    return y * np.exp((1.0 - p) * raw) - np.exp((2.0 - p) * raw)


def _exponential(y, raw, scale):
    """exp(-scale sum_k c_k raw_k), c = 1 for the class and -1 / (K - 1) for others."""
    n_raw = len(raw)
    codes = 2.0 * y - 1.0 if n_raw == 1 else np.where(y > 0, 1.0, -1.0 / (n_raw - 1))
    return scale * codes * np.exp(-scale * np.sum(codes * raw, axis=0))


def _squared_log(y, raw, _):
    raw = np.maximum(raw, -1.0 + 1e-6)
    return (np.log1p(y) - np.log1p(raw)) / (raw + 1.0)


RESIDUALS = {
    "squared error": lambda y, raw, _: y - raw,
    "absolute error": lambda y, raw, _: np.sign(y - raw),
    "relative error": lambda y, raw, _: np.sign(y - raw) / np.maximum(1.0, np.abs(y)),
    "huber": lambda y, raw, delta: np.clip(y - raw, -delta, delta),
    "huber at quantile": None,  # see `settled`
    "pseudo-huber": lambda y, raw, d: (y - raw) / np.sqrt(1.0 + ((y - raw) / d) ** 2),
    "fair": lambda y, raw, c: c * (y - raw) / (np.abs(y - raw) + c),
    "quantile": lambda y, raw, q: np.where(y >= raw, q, q - 1.0),
    "expectile": lambda y, raw, q: np.where(y >= raw, q, 1.0 - q) * (y - raw),
    "log-cosh": lambda y, raw, _: np.tanh(y - raw),
    "squared log error": _squared_log,
    "poisson": lambda y, raw, _: y - np.exp(raw),
    "gamma": lambda y, raw, _: y * np.exp(-raw) - 1.0,
    "tweedie": _tweedie,
    # expit(s raw) is the probability, of each class or label on its own
    "log loss": lambda y, raw, s: s * (y - expit(s * raw)),
    "log loss of shares": lambda y, raw, s: s * (y - expit(s * raw)),
    "softmax": lambda y, raw, _: y - softmax(raw, axis=0),
    "exponential": _exponential,
}
