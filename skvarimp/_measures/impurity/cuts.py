"""Surrogate splits: the search for the best cuts over all nodes of a level at once.

At a node, a surrogate on column k is the cut x_k <= v, or its mirror image, that sends
most weight where the primary split sends it. With C the running sum, in the order of
x_k, of +w for a row that the primary sends left and -w for one it sends right, the
weight that agrees with a cut is W_right + C, and W_left - C for the mirrored cut. With
E = 2 C - (W_left - W_right) both are W/2 ± E/2, so one running sum and the largest |E|
serve all cuts and both directions. The predictive measure of association

    lambda = (min(P_L, P_R) - (1 - P_LL - P_RR)) / min(P_L, P_R)

is then (min - max + |E|) / (2 min), min and max of W_left and W_right. Where no cut
exists (between tied values, behind the last one) |E| is set to 0: never above 0.
"""

import numpy as np

from skvarimp._measures.impurity.tree_batch import MISSING, levels
from skvarimp._running.memory import CACHE, slices

TOLERANCE = 1e-10  # associations this close are tied; not above it is no association


def best_cuts(trees, columns, rules):
    """The best cut on each column at each node, by array operations.

    Some 20 of them on n_features times the slots of each level.

    Parameters
    ----------
    trees : TreeBatch
    columns : SortedColumns
    rules : Rules

    Yields
    ------
    node, feature : ndarray of shape (n_found,), int32
    number : ndarray of shape (n_found, 5)
        The association, the values below and above the cut, E, and the decrease by the
        surrogate's own split. Values and decrease of nominal columns are NaN.
    """
    yield *np.empty((2, 0), dtype=np.int32), np.empty((0, 5))
    for part in slices(len(columns), trees.n_slots, CACHE):
        block = np.arange(part.start, part.stop)
        search = _Search(trees, columns, block, rules)
        for level in levels(trees, *columns.in_bag(trees, block)):
            yield from search.on_level(level)


class _Search:
    """The best cut on each of some columns, at every node of a level."""

    def __init__(self, trees, columns, block, rules):
        self.trees, self.columns, self.block, self.rules = trees, columns, block, rules
        self.exact = trees.sums_exactly()
        self.allowed = trees.grown_on(len(columns))[:, block]
        self.classes = trees.class_codes() if rules.class_boundary else None

    def on_level(self, level):
        """The surrogates of one level, in parts."""
        level = self._with_observed_primary(level)
        if not len(level.nodes):
            return
        nominal = self.columns.nominal[self.block]
        if not nominal.all():
            yield self._cuts(level, nominal)
        for j in np.flatnonzero(nominal):
            yield self._category_sets(level, j)

    def _with_observed_primary(self, level):
        """Rows with a missing value in the primary leave the proportions."""
        if not self.columns.missing:
            return level
        rows = self.trees.row[level.order[0]]
        feature = self.trees.feature[level.nodes][level.segment]
        observed = ~np.isnan(self.columns.values[feature, rows])
        return level if observed.all() else level.restricted(observed)

    def _eligible(self, level):
        """Columns other than the primary's, that the tree was grown on.

        Shape (n_columns, n_nodes).
        """
        own = self.trees.feature[level.nodes] == self.block[:, np.newaxis]
        return self.allowed[self.trees.tree_of_node[level.nodes]].T & ~own

    def _cuts(self, level, nominal):
        runs = _Runs(level, *self._signed_weights(level))
        if self.columns.missing:
            runs.leave_out_missing()
        agreement = runs.agreement()
        runs.forbid_small_sides(agreement, self.rules.min_rows)
        if self.classes is not None:
            runs.forbid_within_class(agreement, self.classes)
        association, best = runs.best(agreement)
        chosen = self._eligible(level) & (association > TOLERANCE)
        chosen &= ~nominal[:, np.newaxis]
        column, segment = np.nonzero(chosen)
        place = runs.first_within_tolerance(agreement, best, chosen)
        slots, feature = level.order[1:], self.block[column]
        rows = self.trees.row[slots.ravel()[np.stack([place, place + 1])]]
        below, above = self.columns.values[feature, rows]
        decrease = np.nan
        if self.rules.criterion is not None:
            decrease = self.rules.criterion.decrease(
                self.trees, slots, runs.first[chosen], place + 1, runs.last[chosen] + 1
            )
        return _found(
            level.nodes[segment],
            feature,
            association[chosen],
            below,
            above,
            runs.running[place],
            decrease,
        )

    def _signed_weights(self, level):
        """Twice the weight of each slot, negative where it goes right.

        Weights that are not whole are in units of the lighter child, so that every
        node's sums are rounded at the node's own scale.
        """
        slots, left = level.order[0], level.left
        weight = self.trees.weight[slots]
        if not self.exact:
            sides = [np.where(left, weight, 0.0), np.where(left, 0.0, weight)]
            sides = [np.add.reduceat(side, level.starts) for side in sides]
            lighter = np.minimum(sides[0], sides[1])
            weight = weight / np.where(lighter > 0, lighter, 1.0)[level.segment]
        signed = np.zeros(self.trees.n_slots, np.int32 if self.exact else np.float64)
        signed[slots] = np.where(left, 2 * weight, -2 * weight)
        return signed.take(level.order[1:], mode="clip"), self.exact

    def _category_sets(self, level, j):
        """The surrogate that sends each category where most of its weight goes."""
        slots = level.order[0]
        code = self.columns.values[self.block[j], self.trees.row[slots]]
        known = ~np.isnan(code)
        shape = len(level.nodes), int(np.max(code, initial=-1, where=known)) + 1
        key = level.segment[known] * shape[1] + code[known].astype(np.intp)
        left, weight = level.left[known], self.trees.weight[slots[known]]
        to_left, to_right, rows = (
            np.bincount(key, numbers, shape[0] * shape[1]).reshape(shape)
            for numbers in (weight * left, weight * ~left, np.ones(len(key)))
        )
        goes_left = to_left >= to_right
        fewest = np.minimum((rows * goes_left).sum(1), (rows * ~goes_left).sum(1))
        lighter = np.minimum(to_left.sum(axis=1), to_right.sum(axis=1))
        disagree = np.minimum(to_left, to_right).sum(axis=1)
        association = 1.0 - disagree / np.where(lighter > 0, lighter, np.inf)
        chosen = self._eligible(level)[j] & (lighter > 0) & (association > TOLERANCE)
        chosen &= fewest >= self.rules.min_rows
        return _found(
            level.nodes[chosen],
            self.block[j],
            association[chosen],
            np.nan,
            np.nan,
            1.0,
            np.nan,
        )


def _found(nodes, features, *numbers):
    """What `best_cuts` yields; features and numbers are one for each node, or one."""
    nodes, features, *numbers = np.broadcast_arrays(nodes, features, *numbers)
    return nodes.astype(np.int32), features.astype(np.int32), np.stack(numbers, axis=1)


def _halves(signed, first):
    """W_left and W_right of the runs that begin at `first`."""
    halves = np.maximum(signed, 0), np.maximum(-signed, 0)
    sums = (np.add.reduceat(half, first.ravel()) / 2 for half in halves)
    return (total.reshape(first.shape) for total in sums)


class _Runs:
    """Running sums over the runs of all nodes, column after column.

    Everything is one-dimensional along (column, position); a run is one node's
    stretch of one column.

    Attributes
    ----------
    first, last : ndarray of shape (n_columns, n_nodes)
        First position of each run, last position with an observed value.
    left, right : ndarray of shape (n_columns or 1, n_nodes)
        W_left and W_right, over rows observed in both columns.
    running : ndarray of shape (n_columns * n_positions,)
        E at each position, once `agreement` was called.
    """

    def __init__(self, level, signed, exact):
        self.level, self.exact = level, exact
        self.rank = None if level.rank is None else level.rank[1:].ravel()
        n_columns, self.n_positions = signed.shape
        offset = np.arange(n_columns)[:, np.newaxis] * self.n_positions
        self.first = offset + level.starts
        self.last = self.first + level.lengths - 1
        self.signed = signed.ravel()
        whole = self.signed[: self.n_positions]
        self.left, self.right = _halves(whole, level.starts[np.newaxis])

    def leave_out_missing(self):
        """Rows with a missing value in the surrogate leave the proportions."""
        missing = self.rank == MISSING
        self.signed[missing] = 0
        self.left, self.right = _halves(self.signed, self.first)
        n_missing = np.add.reduceat(missing, self.first.ravel(), dtype=np.intp)
        self.last = self.last - n_missing.reshape(self.last.shape)

    def agreement(self):
        """|E| after each position; 0 where the next value is tied with this one."""
        gap = np.broadcast_to(self.left - self.right, self.first.shape).ravel()
        gap = gap.astype(self.signed.dtype)
        starts = self.first.ravel()
        # A run ends at E = gap and the next one starts from E = -gap of its own.
        self.signed[starts] -= gap
        begin = self.signed[starts]
        self.signed[starts[1:]] -= gap[:-1]
        running = np.cumsum(self.signed, dtype=self.signed.dtype, out=self.signed)
        if not self.exact:  # take away what rounding carried into each run
            carried = (running[starts] - begin).reshape(self.first.shape)
            running -= carried.take(self.level.segment, axis=1).ravel()
        self.running = running
        agreement = np.abs(running)
        if self.rank is not None:
            agreement[:-1] *= self.rank[1:] != self.rank[:-1]
        agreement[self.last] = 0  # no cut behind the last observed value
        agreement[self.first + self.level.lengths - 1] = 0
        return agreement

    def forbid_small_sides(self, agreement, min_rows):
        """No cut that leaves fewer than `min_rows` rows on a side."""
        for k in range(min_rows - 1):
            agreement[np.minimum(self.first + k, self.last)] = 0
            agreement[np.maximum(self.last - 1 - k, self.first)] = 0

    def forbid_within_class(self, agreement, classes):
        """No cut between two values that hold only one and the same class."""
        new = np.ones(len(self.signed), dtype=bool)
        if self.rank is not None:
            new[1:] = self.rank[1:] != self.rank[:-1]
        new[self.first] = True
        starts = np.flatnonzero(new)
        code = classes.take(self.level.order[1:].ravel())
        lowest = np.minimum.reduceat(code, starts)
        pure = lowest == np.maximum.reduceat(code, starts)
        same = pure[1:] & pure[:-1] & (lowest[1:] == lowest[:-1])
        agreement[starts[1:][same] - 1] = 0

    def best(self, agreement):
        """Association of each run's best cut, and its |E|.

        Shapes (n_columns, n_nodes).
        """
        best = np.maximum.reduceat(agreement, self.first.ravel())
        best = best.reshape(self.first.shape)
        lighter = np.minimum(self.left, self.right)
        excess = best - np.abs(self.left - self.right)
        divisor = np.where(lighter > 0, 2 * lighter, np.inf)
        return np.minimum(excess / divisor, 1.0), best

    def first_within_tolerance(self, agreement, best, chosen):
        """Position of the lowest of the tied best cuts, for the chosen runs."""
        if self.exact:  # whole numbers are not nearly tied
            bound = np.where(chosen, best, np.iinfo(best.dtype).max)
        else:
            slack = 2 * TOLERANCE * np.minimum(self.left, self.right)
            bound = np.where(chosen, best - slack, np.inf)
        bound = bound.take(self.level.segment, axis=1, mode="clip").ravel()
        reached = np.flatnonzero(agreement >= bound)
        return reached[np.searchsorted(reached, self.first[chosen])]
