"""Impurity criteria: how much a split decreases weight times impurity.

Each criterion is a function of the rows on the two sides of a split. The two sides
may be any sets of rows, not only the ones the tree chose, so that a surrogate's own
split can be judged.
"""

from itertools import pairwise

import numpy as np
from scipy.special import xlogy


class _SumCriterion:
    """A criterion that needs only sums of row statistics over each side."""

    def decrease(self, target, weight, slots, starts, cuts, ends):
        """Decrease of weight times impurity by splits of runs of rows.

        decrease[m] = W E - W_left E_left - W_right E_right, where the left side is
        `slots[starts[m]:cuts[m]]` and the right side `slots[cuts[m]:ends[m]]`,
        averaged over the outputs.

        Parameters
        ----------
        target : ndarray of shape (n_slots, n_outputs)
        weight : ndarray of shape (n_slots,)
        slots : ndarray of shape (n_positions,)
        starts, cuts, ends : ndarray of shape (n_splits,)
            Positions; runs are in ascending order and do not overlap.

        Returns
        -------
        ndarray of shape (n_splits,)
        """
        bounds = np.stack([starts, cuts, ends], axis=1).ravel()
        sides = [
            np.add.reduceat(np.append(statistic.take(slots), 0.0), bounds)
            for statistic in self._statistics(target, weight)
        ]
        left = np.array([s[0::3] for s in sides])  # (n_statistics, n_splits)
        right = np.array([s[1::3] for s in sides])
        return self._decrease(left, right)


class _ClassCriterion(_SumCriterion):
    """Statistics are the weights of the classes, output after output."""

    def __init__(self, n_classes):
        self.n_classes = n_classes

    def _statistics(self, target, weight):
        for output, n_classes in enumerate(self.n_classes):
            for k in range(n_classes):
                yield np.where(target[:, output] == k, weight, 0.0)

    def _decrease(self, left, right):
        bounds = np.cumsum([0, *self.n_classes])
        outputs = [self._one_output(left[a:b], right[a:b]) for a, b in pairwise(bounds)]
        return np.mean(outputs, axis=0)


class Gini(_ClassCriterion):
    """Gini impurity, the sum over classes of p (1 - p)."""

    @staticmethod
    def _one_output(left, right):
        # The Gini impurity is the variance of the class indicators.
        w_left, w_right = left.sum(axis=0), right.sum(axis=0)
        gap = left / w_left - right / w_right
        return w_left * w_right / (w_left + w_right) * np.sum(gap**2, axis=0)


class Deviance(_ClassCriterion):
    """Entropy in bits, minus the sum over classes of p log2(p)."""

    @staticmethod
    def _one_output(left, right):
        total = left + right
        p = total / total.sum(axis=0)
        bits = np.zeros(left.shape[1])
        for side in (left, right):
            ratio = np.divide(side / side.sum(axis=0), p, where=p > 0, out=p * 0)
            bits += np.sum(xlogy(side, ratio), axis=0)
        return bits / np.log(2)


class NodeError(_ClassCriterion):
    """Fraction of rows outside the node's largest class."""

    @staticmethod
    def _one_output(left, right):
        return left.max(axis=0) + right.max(axis=0) - (left + right).max(axis=0)


class _MeanCriterion(_SumCriterion):
    """Statistics are the weight and the weighted sum of each output."""

    def _statistics(self, target, weight):
        yield weight
        for output in range(target.shape[1]):
            yield weight * target[:, output]


class MeanSquaredError(_MeanCriterion):
    """Variance of the target."""

    @staticmethod
    def _decrease(left, right):
        w_left, w_right = left[0], right[0]
        gap = left[1:] / w_left - right[1:] / w_right
        return w_left * w_right / (w_left + w_right) * np.mean(gap**2, axis=0)


class Poisson(_MeanCriterion):
    """Half the Poisson deviance, mean of y log(y / mean)."""

    @staticmethod
    def _decrease(left, right):
        total = left + right
        mean = total[1:] / total[0]
        gain = np.zeros_like(mean)
        for side in (left, right):
            ratio = np.divide(
                side[1:] / side[0], mean, where=mean > 0, out=np.zeros_like(mean)
            )
            gain += xlogy(side[1:], ratio)
        return np.mean(gain, axis=0)


class MeanAbsoluteError:
    """Mean distance to the median."""

    def decrease(self, target, weight, slots, starts, cuts, ends):
        """See `_SumCriterion.decrease`; sorts the rows, n log n."""
        n_splits = len(starts)
        lengths = ends - starts
        split = np.repeat(np.arange(n_splits), lengths)
        first = np.repeat(np.cumsum(lengths) - lengths, lengths)
        position = np.arange(len(split)) - first + starts[split]
        rows = slots[position]
        side = 2 * split + (position >= cuts[split])
        decrease = np.zeros(n_splits)
        for output in range(target.shape[1]):
            y, w = target[rows, output], weight[rows]
            whole = _absolute_deviation(y, w, split, n_splits)
            halves = _absolute_deviation(y, w, side, 2 * n_splits)
            decrease += whole - halves[0::2] - halves[1::2]
        return decrease / target.shape[1]


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


CLASS_CRITERIA = {"gini": Gini, "deviance": Deviance, "error": NodeError}
MEAN_CRITERIA = {
    "mse": MeanSquaredError,
    "poisson": Poisson,
    "absolute_error": MeanAbsoluteError,
}


def make_criterion(name, n_classes):
    """The criterion of that name.

    Parameters
    ----------
    name : str
        A key of `CLASS_CRITERIA` or `MEAN_CRITERIA`.
    n_classes : tuple of int or None
        Classes of each output; None for regression trees.
    """
    if name in CLASS_CRITERIA:
        return CLASS_CRITERIA[name](n_classes)
    return MEAN_CRITERIA[name]()
