"""What splits earn on rows that the trees were not grown on, row by row.

A split earns, for a row that passes it, the step that the loss asks of the prediction
so far times the change of the value from the node to the child taken. The values of
inner nodes are the means of their leaves by training weight, so that a split that
tells nothing changes nothing on average.

The prediction so far is the tree's value at its root plus, in boosting, what the
earlier stages predict; but not what they predict by the split's own column. Otherwise
a column of noise would be charged for the noise that earlier stages fitted to it, the
more the more values it has: later stages repeat their mistakes.

For one regression tree this is Li et al. 2019, equation (5), with the target centred at
the root, on whatever rows are given.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import expit

from skvarimp._compiled import use_compiled
from skvarimp._models.trees.losses import TreeLoss
from skvarimp._models.trees.sums import Upwards
from skvarimp._models.trees.table import NodeTable
from skvarimp._running.memory import CACHE, slices


@dataclass
class Credit:
    """What each column earned, and from which row.

    Attributes
    ----------
    columns : ndarray of shape (n_features,)
        Columns that any tree splits on; all others earn nothing.
    totals : ndarray of shape (n_features, n_outputs)
        Weighted means over the rows.
    rows : ndarray of shape (n_rows, n_features)
        What each row earned, mean over the outputs.
    influences : ndarray of shape (n_rows, n_features)
        How much each row moves the mean over the outputs; the trees are held fixed.
    """

    columns: np.ndarray
    totals: np.ndarray
    rows: np.ndarray
    influences: np.ndarray


@dataclass
class Step:
    """The step that the loss asks of each raw output, for a row and a feature.

    sizes + scale * added, where `added` is what earlier stages added by the feature; or
    scale * (y - expit(scale * (raw - added))).

    Attributes
    ----------
    sizes : ndarray of shape (n_slots, n_raw, n_rows)
    slot : ndarray of shape (n_features,)
        Which of `sizes` is for each feature.
    scale : float
    logistic : bool
        Whether the second formula holds.
    y, raw : ndarray of shape (n_raw, n_rows)
    """

    sizes: np.ndarray
    slot: np.ndarray
    scale: float = 0.0
    logistic: bool = False
    y: np.ndarray | None = None
    raw: np.ndarray | None = None

    def __post_init__(self):
        self.sizes = np.ascontiguousarray(self.sizes)
        if self.y is None:
            self.y = self.raw = np.zeros((0, 0))

    def at(self, rows, feature, added):
        """(n_raw, n) at some rows, each with its feature and what that added."""
        if self.logistic:
            raw = self.raw[:, rows] - added
            return self.scale * (self.y[:, rows] - expit(self.scale * raw))
        return self.sizes[self.slot[feature], :, rows].T + self.scale * added


def row_credit(form, table, y, outputs, weights, outside=None):
    """What every column earns on rows that trees were not grown on.

    Parameters
    ----------
    form : Trees
    table : Table
    y : ndarray of shape (n_raw, n_rows)
        The target as the loss takes it.
    outputs : list of ndarray
        Raw outputs that belong to each output.
    weights : ndarray of shape (n_rows,)
        Sum to 1.
    outside : list of ndarray, default=None
        Rows of the table that each tree was not grown on; trees without any are left
        out. None: all rows, for every tree.

    Returns
    -------
    Credit
    """
    return _Descent(form, table, y, outputs, weights).credit(outside)


class _Descent:
    """Rows, and trees for them to go down; holds what was earned so far."""

    def __init__(self, form, table, y, outputs, weights):
        self.form, self.y, self.outputs, self.weights = form, y, outputs, weights
        self.nodes = NodeTable(form.trees, form.encoding)
        self.codes = self.nodes.codes_of(table)
        weight = np.concatenate([tree.weight for tree in form.trees])
        self.upwards = Upwards(self.nodes)
        self.values = self.upwards.means(weight)
        parent, roots = self.nodes.parent, self.nodes.roots
        self.changes = np.where(parent >= 0, self.values - self.values[:, parent], 0.0)
        self.at_root = self.values[:, roots]  # (n_raw, n_trees)
        self.changing = np.logical_or.reduceat(self.changes != 0.0, roots, axis=1)
        self.earned = np.zeros(self.codes.shape)
        self.one_slot = np.zeros(self.codes.shape[1], dtype=np.int32)
        self.go_down = _kernel()

    def credit(self, outside):
        """See `row_credit`."""
        if self.form.stages is not None:
            totals = np.array([self._boosted(output) for output in self.outputs])
            means = totals.mean(axis=0)
        else:
            totals, means = self._averaged(outside)
        return Credit(self.nodes.columns, totals.T, self.earned, self.earned - means)

    def _boosted(self, output):
        """One output, stage after stage; its mean over the rows."""
        loss = TreeLoss(*self.form.loss)
        first = np.flatnonzero(np.diff(self.form.stages, prepend=-1))
        stages = np.split(np.arange(len(self.form.stages)), first[1:])
        offset = np.broadcast_to(self.form.offset, len(self.values))[output]
        n_rows, n_features = self.codes.shape
        parts = slices(n_rows, n_features * len(output), CACHE)
        earned = np.zeros(self.earned.shape)
        for part in parts if loss.of_single_rows else [slice(0, n_rows)]:
            rows = np.arange(n_rows)[part]
            y = np.ascontiguousarray(self.y[output, part])
            raw = np.repeat(offset[:, np.newaxis], len(rows), axis=1).astype(float)
            added = np.zeros((len(output), len(rows), n_features))
            for trees in stages:
                before, alone = raw.copy(), len(trees) == 1
                for t in trees:
                    at_root = before + self.at_root[output, t, np.newaxis]
                    step = self._step(loss, t, y, at_root, added)
                    leaves = self._down(t, output, rows, step, added, alone, earned)
                    raw += self.values[output].take(leaves, axis=1)
                for t in () if alone else trees:
                    self._down(t, output, rows, None, added, True, earned)
        self.earned += earned / len(self.outputs)
        return self.weights @ earned

    def _step(self, loss, t, y, raw, added):
        """What the loss asks for in tree t of the rows of a block."""
        loss = loss.settled(y, raw)
        if loss.is_logistic:
            none = np.zeros((0, 0, 0))
            return Step(none, self.one_slot, loss.parameter, True, y, raw)
        if loss.is_squared:
            return Step(loss.steps(y, raw)[np.newaxis], self.one_slot, 1.0)
        feature = self.nodes.feature[self._own(t)]
        used = np.unique(feature[feature >= 0])
        slot = np.zeros_like(self.one_slot)
        slot[used] = np.arange(len(used))
        sizes = np.array([loss.steps(y, raw - added[:, :, u]) for u in used])
        return Step(sizes, slot)

    def _averaged(self, outside):
        """Tree by tree, each of which predicts alone.

        Returns
        -------
        totals : ndarray of shape (n_outputs, n_features)
        means : ndarray of shape (n_rows, n_features) or (n_features,)
            Each tree's mean, added up for the rows that it is a mean of.
        """
        n_rows, trees = len(self.codes), np.arange(len(self.form.trees))
        rows, everything = np.arange(n_rows), np.arange(len(self.values))
        shares = np.broadcast_to(self.form.shares, len(trees))
        used = trees if outside is None else [t for t in trees if len(outside[t])]
        reached, nothing = np.zeros(self.values.shape), np.zeros((0, 0, 0))
        for t in used:
            rows = rows if outside is None else outside[t]
            steps = self.y[:, rows] - self.at_root[:, [t]] / shares[t]
            steps /= self.weights[rows].sum() * shares[used].sum()
            step = Step(steps[np.newaxis] / len(self.outputs), self.one_slot)
            leaves = self._down(t, everything, rows, step, nothing, False, self.earned)
            own, steps = self._own(t), steps * self.weights[rows]
            for at_leaves, of_raw in zip(reached, steps):
                length = own.stop - own.start
                at_leaves[own] = np.bincount(leaves - own.start, of_raw, length)
        inner = np.flatnonzero(self.nodes.parent >= 0)
        earned = np.zeros((len(self.outputs), len(inner)))
        for output, of_output in zip(self.outputs, earned):
            for o in output:
                of_output += (self.upwards.sums(reached[o]) * self.changes[o])[inner]
        feature = self.nodes.feature[self.nodes.parent[inner]]
        width = self.codes.shape[1]
        totals = np.array([np.bincount(feature, one, width) for one in earned])
        if outside is None:
            return totals, totals.mean(axis=0)
        place = self.nodes.tree[inner] * np.intp(width) + feature
        of_trees = np.bincount(place, earned.mean(axis=0), len(trees) * width)
        of_trees = of_trees.reshape(len(trees), width)
        return totals, self._shared_out(outside, of_trees)

    def _shared_out(self, outside, of_trees):
        """Each tree's total as the mean of its rows, added up over the trees."""
        shares = [1.0 / self.weights[rows].sum() for rows in outside if len(rows)]
        sizes = np.array([len(rows) for rows in outside])
        at = np.concatenate(outside), np.cumsum([0, *sizes])
        shape = len(outside), len(self.codes)
        belongs = sparse.csr_array((np.repeat(shares, sizes[sizes > 0]), *at), shape)
        return belongs.T @ of_trees

    def _own(self, t):
        root = int(self.nodes.roots[t])
        return slice(root, root + len(self.form.trees[t].column))

    def _down(self, t, output, rows, step, added, adds, earned):
        """The leaves of some rows, which earn and add on the way."""
        root = self.nodes.roots[t]
        leaves = np.full(len(rows), root, dtype=np.int32)
        changes = np.ascontiguousarray(self.changes[output])
        self.go_down(
            self.codes,
            rows,
            self.nodes,
            root,
            changes,
            step,
            added,
            adds,
            earned,
            leaves,
        )
        return leaves


def _kernel():
    """The compiled kernel, or what does the same."""
    if not use_compiled():
        return go_down
    from skvarimp._compiled.tree_credit import go_down as compiled

    return compiled


def go_down(codes, rows, nodes, root, changes, step, added, adds, earned, leaves):
    """Let rows go down one tree.

    Parameters
    ----------
    codes : ndarray of shape (n_samples, n_features)
    rows : ndarray of shape (n,)
        Distinct rows of `codes` and `earned`.
    nodes : NodeTable
    root : int
    changes : ndarray of shape (n_raw, n_nodes)
        What each node adds to the values of its parent.
    step : Step or None
        None: nothing is earned.
    added : ndarray of shape (n_raw, n, n_features)
        What earlier stages added by each feature.
    adds : bool
        Whether this tree adds to it, once its rows are at their leaves.
    earned : ndarray of shape (n_samples, n_features)
        Changed in place.
    leaves : ndarray of shape (n,)
        Filled.
    """
    any_missing = bool(np.any(codes == nodes.missing_code))
    moving, node, passed = np.arange(len(rows)), np.full(len(rows), root), []
    while True:
        feature = nodes.feature.take(node)
        inner = feature >= 0
        leaves[moving[~inner]] = node[~inner]
        moving, node, feature = moving[inner], node[inner], feature[inner]
        if not len(moving):
            break
        code = codes[rows[moving], feature].astype(np.int32)
        left = nodes.goes_left(node, feature, code, any_missing)
        node = nodes.children.take(2 * node + left)
        change = changes[:, node]
        if step is not None:
            before = added[:, moving, feature] if added.size else 0.0
            size = step.at(moving, feature, before)
            earned[rows[moving], feature] += np.sum(size * change, axis=0)
        passed.append((moving, feature, change))
    for moving, feature, change in passed if adds else ():
        added[:, moving, feature] += change
