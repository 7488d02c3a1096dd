"""Impurity criteria: how much a split decreases weight times impurity.

Each criterion is a function of the rows on the two sides of a split. The two sides
may be any sets of rows, not only the ones the tree chose, so that a surrogate's own
split can be judged.
"""

from itertools import pairwise

import numpy as np
from scipy.special import xlogy

from skvarimp._measures.impurity.surrogates.levels import levels
from skvarimp._measures.impurity.tables import LEAF


class _SumCriterion:
    """A criterion that needs only sums of row statistics over each side."""

    of_sums = True

    def decrease(self, target, weight, slots, starts, cuts, ends):
        """Decrease of weight times impurity by splits of runs of rows.

        decrease[m] = W E - W_left E_left - W_right E_right, where the left side is
        `slots.ravel()[starts[m]:cuts[m]]` and the right side
        `slots.ravel()[cuts[m]:ends[m]]`, averaged over the outputs.

        Parameters
        ----------
        target : ndarray of shape (n_slots, n_outputs)
        weight : ndarray of shape (n_slots,)
        slots : ndarray of shape (n_columns, n_positions)
            Every row holds the same slots, in another order.
        starts, cuts, ends : ndarray of shape (n_splits,)
            Positions; runs are in ascending order and do not overlap.

        Returns
        -------
        ndarray of shape (n_splits,)
        """
        bounds = np.stack([starts, cuts, ends], axis=1).ravel()
        of_slot = np.zeros(len(weight))
        ordered = np.zeros(slots.size + 1)  # the last bound may lie behind the last row
        sides = []
        for statistic in self.statistics(target[slots[0]], weight[slots[0]]):
            of_slot[slots[0]] = statistic
            of_slot.take(slots.ravel(), out=ordered[:-1], mode="clip")
            sides.append(np.add.reduceat(ordered, bounds))
        left = np.array([s[0::3] for s in sides])  # (n_statistics, n_splits)
        right = np.array([s[1::3] for s in sides])
        return self.decrease_of_sums(left, right)

    def primary_decreases(self, grove):
        """Decrease of weight times impurity by every split of some trees.

        Parameters
        ----------
        grove : Grove

        Returns
        -------
        ndarray of shape (n_nodes,)
            0 at leaves.
        """
        statistics = self.statistics(grove.target, grove.weight)
        sums = np.array([grove.node_sums(statistic) for statistic in statistics])
        branch = np.flatnonzero(grove.left != LEAF)
        left, right = sums[:, grove.left[branch]], sums[:, grove.right[branch]]
        decrease = np.zeros(len(grove.left))
        decrease[branch] = self.decrease_of_sums(left, right)
        return decrease


class _ClassCriterion(_SumCriterion):
    """Statistics are the weights of the classes, output after output."""

    def __init__(self, n_classes):
        self.n_classes = n_classes

    @staticmethod
    def scale(target):
        """Size of each row's impurity that rounding is relative to, (n_slots,)."""
        return np.ones(len(target))

    def statistics(self, target, weight):
        """Yield the row statistics whose sums over each side count, (n_slots,) each."""
        for code, n_classes in zip(target.T, self.n_classes):
            for k in range(n_classes):
                yield np.where(code == k, weight, 0.0)

    def decrease_of_sums(self, left, right):
        """Decrease from the statistics of both sides, (n_statistics, n_splits) each."""
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

    @staticmethod
    def scale(target):
        """See `_ClassCriterion.scale`."""
        return np.mean(np.square(target), axis=1)

    def statistics(self, target, weight):
        """See `_ClassCriterion.statistics`."""
        yield weight
        for column in target.T:
            yield weight * column


class MeanSquaredError(_MeanCriterion):
    """Variance of the target."""

    @staticmethod
    def decrease_of_sums(left, right):
        """See `_ClassCriterion.decrease_of_sums`."""
        w_left, w_right = left[0], right[0]
        gap = left[1:] / w_left - right[1:] / w_right
        return w_left * w_right / (w_left + w_right) * np.mean(gap**2, axis=0)


class Poisson(_MeanCriterion):
    """Half the Poisson deviance, mean of y log(y / mean)."""

    @staticmethod
    def decrease_of_sums(left, right):
        """See `_ClassCriterion.decrease_of_sums`."""
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

    of_sums = False

    @staticmethod
    def scale(target):
        """See `_ClassCriterion.scale`."""
        return np.mean(np.abs(target), axis=1)

    def decrease(self, target, weight, slots, starts, cuts, ends):
        """See `_SumCriterion.decrease`; sorts the rows, n log n."""
        n_splits = len(starts)
        lengths = ends - starts
        split = np.repeat(np.arange(n_splits), lengths)
        first = np.repeat(np.cumsum(lengths) - lengths, lengths)
        position = np.arange(len(split)) - first + starts[split]
        rows = slots.ravel()[position]
        side = 2 * split + (position >= cuts[split])
        decrease = np.zeros(n_splits)
        for output in range(target.shape[1]):
            y, w = target[rows, output], weight[rows]
            whole = _absolute_deviation(y, w, split, n_splits)
            halves = _absolute_deviation(y, w, side, 2 * n_splits)
            decrease += whole - halves[0::2] - halves[1::2]
        return decrease / target.shape[1]

    def primary_decreases(self, grove):
        """See `_SumCriterion.primary_decreases`; sorts the rows of every level."""
        decrease = np.zeros(len(grove.left))
        order = np.arange(grove.n_slots)[np.newaxis]
        for level in levels(grove, order, np.zeros(order.shape, dtype=np.int32)):
            left_first = level.order[:, np.lexsort((~level.left, level.segment))]
            n_left = np.add.reduceat(level.left, level.starts, dtype=np.intp)
            decrease[level.nodes] = self.decrease(
                grove.target,
                grove.weight,
                left_first,
                level.starts,
                level.starts + n_left,
                level.starts + level.lengths,
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
