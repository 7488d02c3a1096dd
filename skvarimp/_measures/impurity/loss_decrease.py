"""What splits earn on rows that the trees were not grown on.

A split earns, from all rows that come to it, the weighted covariance of their residuals
(minus the derivative of the loss at the prediction so far) with the value of the child
taken:

    sum_i w_i (g_i - mean of g) (v_child(i) - mean of v)

with both means over the same rows. A column whose values say nothing about the target
and the other columns is dealt out to the rows of a split at random, so that it earns 0
on average, whatever the tree. The values of inner nodes are the means of their leaves
by training weight.

The prediction so far is the tree's value at its root plus, in boosting, what the
earlier stages predict before they ask for the split's own column: of each of their
trees, the value at the first split on it. Otherwise a column of noise would be charged
for the noise that earlier stages fitted to it, the more the more values it has: later
stages repeat their mistakes.

For one regression tree this is Li et al. 2019, equation (5), with the target centred at
each node.
"""

from dataclasses import dataclass

import numpy as np

from skvarimp._compiled import use_compiled
from skvarimp._data.statistics import divided
from skvarimp._models.tree_table import NodeTable
from skvarimp._models.trees import Upwards
from skvarimp._running.memory import CACHE, Memo, slices, working_bytes

LARGEST = 300.0  # raw outputs whose exponentials may be multiplied


@dataclass
class LossDecrease:
    """How much the splits on each column lower the loss, and from which row it comes.

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


def over_outputs(decreases):
    """`LossDecrease` of models of one output each, as of one model of all outputs."""
    if len(decreases) == 1:
        return decreases[0]
    columns = np.unique(np.concatenate([decrease.columns for decrease in decreases]))
    totals = np.zeros((len(columns), len(decreases)))
    rows, influences = np.zeros((2, len(decreases[0].rows), len(columns)))
    for o, decrease in enumerate(decreases):
        place = np.searchsorted(columns, decrease.columns)
        totals[place, o] = decrease.totals.mean(axis=1)
        rows[:, place] += decrease.rows / len(decreases)
        influences[:, place] += decrease.influences / len(decreases)
    return LossDecrease(columns, totals, rows, influences)


class GivenResiduals:
    """Residuals that were computed before the rows go up the trees.

    Parameters
    ----------
    sizes : ndarray of shape (n_slots, n_raw, n)
        Of each raw output and row.
    slot : ndarray of shape (n_features,) of int32
        Which of the slots is for splits on a feature.
    """

    given = True

    def __init__(self, sizes, slot):
        self.sizes, self.slot = np.ascontiguousarray(sizes), slot

    def at(self, i, feature, root):
        """(n_raw, n) of rows, each with its feature, in the tree of a root."""
        return self.sizes[self.slot[feature], :, i].T


class AddedScores:
    """Raw outputs of boosting, which add up from stage to stage.

    The residual of the squared error is the target minus the raw output, here

        y + z,      z = state + down + without

    with `down` at a tree's root. For other losses only the raw output is taken from
    here.

    Attributes
    ----------
    up, down : ndarray of shape (n_raw, n_nodes)
        The value of each node, and minus that value.
    first : ndarray of shape (n_nodes,)
        No split above is on the same feature.
    state : ndarray of shape (n_raw, n)
        Minus the raw output so far.
    without : ndarray of shape (n_raw, n, n_features)
        What earlier stages added from their first split on the feature on.
    """

    given = logistic = False
    join = np.add  # how parts come together

    def __init__(self, values, offset, first):
        self.up, self.down, self.first = values, -values, first
        self._at_start = -offset

    def start(self, y, n_features):
        """Take other rows, (n_raw, n), before the first stage."""
        self.y = np.ascontiguousarray(y, dtype=np.float64)
        self.state = np.repeat(self._at_start[:, np.newaxis], y.shape[1], axis=1)
        self.without = np.full((*y.shape, n_features), float(self.join.identity))

    def at(self, i, feature, root):
        """(n_raw, n) of rows, each with its feature, in the tree of a root."""
        return self.y[:, i] + self._so_far(i, feature, root)

    def _so_far(self, i, feature, root):
        """z of rows."""
        z = self.join(self.state[:, i], self.down[:, [root]])
        return self.join(z, self.without[:, i, feature])

    def add(self, i, feature, leaf, node):
        """Let a stage count from its first split on a feature on."""
        change = self.join(self.up[:, leaf], self.down[:, node])
        before = self.without[:, i, feature]
        self.without[:, i, feature] = self.join(before, change)

    def predict(self, leaf):
        """Let a stage count for later ones."""
        self.state = self.join(self.state, self.down[:, leaf])


class MultipliedOdds(AddedScores):
    """Exponentials of `scale` times what `AddedScores` adds, for the logistic loss.

    They multiply, so that no row needs an exponential. The residual is

        scale (y - 1 / (1 + z)),      z = state * down * without.
    """

    logistic = True
    join = np.multiply

    def __init__(self, values, offset, first, scale):
        self.up, self.first, self.scale = np.exp(scale * values), first, scale
        self.down, self._at_start = 1.0 / self.up, np.exp(-scale * offset)

    def at(self, i, feature, root):
        z = self._so_far(i, feature, root)
        return self.scale * (self.y[:, i] - 1.0 / (1.0 + z))


class RowsInTrees:
    """Rows, and trees for them to go down.

    A *group* is the raw outputs that earn together: those of one output in boosting,
    all of them elsewhere.

    Parameters
    ----------
    form : Trees
    loss : TreeLoss or None
        What boosting minimises; None where trees are averaged.
    table : Table
    y : ndarray of shape (n_raw, n_rows)
        The target as the loss takes it.
    outputs : list of ndarray
        Raw outputs that belong to each output.
    weights : ndarray of shape (n_rows,)

    Attributes
    ----------
    outside : list of ndarray or None
        Rows of the table that each tree was not grown on; trees without any are left
        out. None: all rows, for every tree.
    """

    outside = None

    def __init__(self, form, loss, table, y, outputs, weights):
        self.form, self.y, self.outputs = form, y, outputs
        self.loss, self.weights = loss, weights
        self.groups = [np.arange(len(y))] if loss is None else outputs
        self.nodes = NodeTable(form.trees, form.encoding)
        self.codes = self.nodes.codes_of(table)
        self.upwards = Upwards(self.nodes)
        weight = np.concatenate([tree.weight for tree in form.trees])
        self.values = self.upwards.means(weight)
        self.below = np.flatnonzero(self.nodes.parent >= 0)
        self.above = self.nodes.parent[self.below]
        self.feature = self.nodes.feature[self.above]
        self.climb, self._kept = climb, Memo(np.inf, working_bytes())
        if use_compiled():
            from skvarimp._compiled import tree_credit

            self.climb = tree_credit.climb

    def sums(self):
        """What the rows that come to each node add up to.

        Returns
        -------
        weight : float
            Of all rows.
        reached : ndarray of shape (n_groups, n_nodes)
            Weights of the rows at each leaf.
        asked : ndarray of shape (n_raw, n_nodes)
            Weights times residuals of the rows that come from a split to its child.
        """
        reached = np.zeros((len(self.groups), self.values.shape[1]))
        asked = np.zeros(self.values.shape)
        for group, at_leaf in zip(self.groups, reached):
            group_asked = asked[group]
            self._climb_all(group, at_leaf, group_asked, None)
            asked[group] = group_asked
        return self.weights.sum(), reached, asked

    def decrease(self, sums):
        """`LossDecrease` on these rows.

        Parameters
        ----------
        sums : tuple
            Those of these rows, or of more.
        """
        total, reached, asked = sums
        n_outputs, width = len(self.outputs), self.codes.shape[1]
        change, centre = self._centred(total, reached, asked)
        earning = (asked * change)[:, self.below] / total
        earned = [earning[output].sum(axis=0) for output in self.outputs]
        totals = [np.bincount(self.feature, one, width) for one in earned]
        rows, means = np.zeros(self.codes.shape), np.mean(totals, axis=0)
        for group in self.groups:
            at_split = centre[group].sum(axis=0) / n_outputs
            self._climb_all(group, at_split, change[group] / n_outputs, rows)
        if self.outside is not None:
            means = self._shared_out(earning.sum(axis=0) / n_outputs)
        return LossDecrease(
            self.nodes.columns, np.transpose(totals), rows, rows - means
        )

    def _centred(self, total, reached, asked):
        """How far each node's value is off the mean over the rows at its parent.

        Returns
        -------
        change : ndarray of shape (n_raw, n_nodes)
            That, times how much the tree counts for a row that reaches it.
        centre : ndarray of shape (n_raw, n_nodes)
            The same times the mean residual of the rows at the parent.
        """
        nodes, below, above = self.nodes, self.below, self.above
        change, centre = np.zeros((2, *self.values.shape))
        for group, at_leaf in zip(self.groups, reached):
            weight, size = self.upwards.sums(at_leaf), len(at_leaf)
            share = weight[nodes.roots] / total
            if self.loss is None:
                share *= np.broadcast_to(self.form.shares, len(share))[share > 0].sum()
            often = divided(1.0, share)[nodes.tree[below]]
            for k in group:
                value = self.values[k, below]
                mean = divided(np.bincount(above, weight[below] * value, size), weight)
                residual = divided(np.bincount(above, asked[k, below], size), weight)
                change[k, below] = (value - mean[above]) * often
                centre[k, below] = change[k, below] * residual[above]
        return change, centre

    def _shared_out(self, earning):
        """Each tree's total as the mean of its rows, added up over the trees."""
        means, width = np.zeros(self.codes.shape), self.codes.shape[1]
        place = self.nodes.tree[self.below] * np.intp(width) + self.feature
        tree_sums = np.bincount(place, earning, len(self.outside) * width)
        tree_sums = tree_sums.reshape(len(self.outside), width) * self.weights.sum()
        for rows, total in zip(self.outside, tree_sums):
            means[rows] += total / self.weights[rows].sum() if len(rows) else 0.0
        return means

    def _climb_all(self, group, one, each, earned):
        """All rows on their way up all trees; see `climb`."""
        visits = self._averaged() if self.loss is None else self._boosted(group)
        nodes, weights = self.nodes, self.weights
        for trees, rows, *how in visits:
            leaves, roots = self._leaves(trees, rows), nodes.roots[trees]
            self.climb(leaves, roots, rows, nodes, *how, weights, one, each, earned)

    def _leaves(self, trees, rows):
        """Leaves, (n_trees, n), kept for the next pass as far as there is room."""

        def leaves():
            codes = self.codes if len(rows) == len(self.codes) else self.codes[rows]
            return self.nodes.leaves(codes, trees)

        return self._kept.get((trees.tobytes(), rows[0]), leaves)

    def _averaged(self):
        """Trees, rows, residuals, whether trees are used and added: tree by tree."""
        rows, slot = np.arange(len(self.codes)), self._slot(())
        for t in range(len(self.nodes.roots)):
            rows = rows if self.outside is None else self.outside[t]
            if len(rows):
                residuals = GivenResiduals(self.y[np.newaxis, :, rows], slot)
                yield np.array([t]), rows, residuals, True, False

    def _boosted(self, group):
        """The same for rows block by block, each through all stages."""
        loss, (n_rows, n_features) = self.loss, self.codes.shape
        has_value = np.any(self.values[group] != 0.0, axis=0)
        trees = np.flatnonzero(np.logical_or.reduceat(has_value, self.nodes.roots))
        stages = np.split(trees, np.flatnonzero(np.diff(self.form.stages[trees])) + 1)
        scores = self._scores(loss, group)
        known = loss.is_squared or scores.logistic
        in_turn = known and len(stages) == len(trees)
        size = CACHE // 8 if in_turn else CACHE
        parts = slices(n_rows, n_features * len(group), size)
        for part in parts if loss.takes_single_rows else [slice(0, n_rows)]:
            rows, y = np.arange(n_rows)[part], self.y[group, part]
            scores.start(loss.residuals(y, 0.0) if loss.is_squared else y, n_features)
            if in_turn:
                yield trees, rows, scores, True, True
                continue
            for stage in stages:
                if known:
                    yield stage, rows, scores, True, False
                else:
                    for t in stage:
                        asked = self._asked(loss, scores, t, y)
                        yield np.array([t]), rows, asked, True, False
                yield stage, rows, scores, False, True

    def _scores(self, loss, group):
        """Raw outputs of a group, before any row."""
        values, nodes = self.values[group], self.nodes
        offset = np.broadcast_to(self.form.offset, len(self.values))[group]
        first = first_on_path(nodes)
        largest = np.maximum.reduceat(np.abs(values).max(axis=0), nodes.roots)
        largest = loss.parameter * (largest.sum() + np.abs(offset).max())
        if loss.is_logistic and largest < LARGEST:
            return MultipliedOdds(values, offset, first, loss.parameter)
        return AddedScores(values, offset, first)

    def _asked(self, loss, scores, t, y):
        """The loss's own residuals in tree t, for each feature that splits it."""
        root = self.nodes.roots[t]
        raw = -scores.state - scores.down[:, [root]]
        feature = self.nodes.feature[self.nodes.tree == t]
        used = np.unique(feature[feature >= 0])
        loss = loss.settled(y, raw)
        sizes = [loss.residuals(y, raw - scores.without[:, :, u]) for u in used]
        return GivenResiduals(
            np.reshape(sizes, (len(used), *y.shape)), self._slot(used)
        )

    def _slot(self, used):
        slot = np.zeros(self.codes.shape[1], dtype=np.int32)
        slot[list(used)] = np.arange(len(used))
        return slot


def first_on_path(nodes):
    """Whether no split above a node is on the node's feature, (n_nodes,) bool."""
    at, first = nodes.parent.copy(), np.ones(len(nodes.parent), dtype=bool)
    while len(below := np.flatnonzero(at >= 0)):
        first[below] &= nodes.feature[at[below]] != nodes.feature[below]
        at[below] = nodes.parent[at[below]]
    return first


def climb(
    leaves, roots, rows, nodes, residuals, uses, adds, weights, one, each, earned
):
    """Let rows go up from their leaves, tree after tree.

    Parameters
    ----------
    leaves : ndarray of shape (n_trees, n)
    roots : ndarray of shape (n_trees,)
    rows : ndarray of shape (n,)
        Distinct rows of `weights` and `earned`.
    nodes : NodeTable
    residuals : GivenResiduals, AddedScores or MultipliedOdds
        Those that were given belong to no stage, and are only used.
    uses : bool
        Whether splits add up or earn.
    adds : bool
        Whether each tree counts for the next one.
    weights : ndarray of shape (n_samples,)
    one, each : ndarray of shape (n_nodes,) and (n_raw, n_nodes)
        What `RowsInTrees.sums` calls reached and asked, which grow; or where rows earn,
        what a row gets for coming to a node, `each` times its residual minus `one`.
    earned : ndarray of shape (n_samples, n_features) or None
        Changed in place.
    """
    for at_end, root in zip(leaves, roots):
        if uses and earned is None:
            one += np.bincount(at_end, weights[rows], len(one))
        i, at = np.arange(len(rows)), at_end
        while len(i := i[at != root]):
            at = at[at != root]
            above = nodes.parent[at]
            feature = nodes.feature[above]
            if uses:
                size = residuals.at(i, feature, root)
                if earned is None:
                    for sums, asked in zip(each, size * weights[rows[i]]):
                        sums += np.bincount(at, asked, len(one))
                else:
                    earned[rows[i], feature] += np.sum(size * each[:, at], 0) - one[at]
            if adds:
                top = residuals.first[above]
                residuals.add(i[top], feature[top], at_end[i[top]], above[top])
            at = above
        if adds:
            residuals.predict(at_end)
