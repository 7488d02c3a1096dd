"""Every ensemble of trees as one flat table of nodes.

Thresholds become positions among the ensemble's own cuts of a column: with
u_1 < u_2 < ... the distinct thresholds on a column, the *code* of a value x is the
number of thresholds below it, so that

    x <= u_c  if and only if  code(x) < c,

and all values of one code are one to every tree. A missing value has the code after
the last; a categorical column's codes are its categories, then missing.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skvarimp._data.table import is_missing
from skvarimp._response.lowering import NotLowerable


@dataclass
class RawTree:
    """One tree as its library stores it.

    Attributes
    ----------
    column : ndarray of shape (n_nodes,)
        Column of the table split on; -1 at a leaf.
    threshold : ndarray of shape (n_nodes,)
        Values up to it go left.
    left, right : ndarray of shape (n_nodes,)
        Children.
    missing_left : ndarray of shape (n_nodes,)
        Whether missing values go left.
    values : ndarray of shape (n_nodes, n_raw)
        What a leaf adds to the raw outputs.
    left_set : ndarray of shape (n_nodes,) or None
        Row of `sets` at a categorical split, else -1.
    sets : ndarray of shape (n_sets, n_categories) or None
        Categories that go left.
    """

    column: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    missing_left: np.ndarray
    values: np.ndarray
    left_set: np.ndarray | None = None
    sets: np.ndarray | None = None


class TreeTable:
    """All trees of an ensemble, node after node.

    An *edge* is named by the node it leads to, and stands for what all splits up to
    there on its feature (that of the parent) say of that feature together.

    Parameters
    ----------
    trees : list of RawTree
    single : bool
        Whether values are compared in single precision.
    categories : dict
        Column -> its categories, whose positions are the codes.
    encoders : dict or None
        Column -> functions that turn its values, one after the other, into those
        that the splits compare.

    Attributes
    ----------
    columns : ndarray of shape (n_features,)
        Columns of the table that any tree splits on, ascending; a *feature* is a
        position here.
    roots : ndarray of shape (n_trees,)
    tree : ndarray of shape (n_nodes,)
        The tree of each node.
    small : dtype
        Holds any feature.
    feature : ndarray of shape (n_nodes,)
        -1 at a leaf.
    cut : ndarray of shape (n_nodes,)
        Codes below it go left.
    children : ndarray of shape (2 * n_nodes,)
        Right child of a node at 2 node, left child at 2 node + 1.
    missing_left : ndarray of shape (n_nodes,)
    left_set : ndarray of shape (n_nodes,) or None
        Row of `sets` at a categorical split, else -1; None without any.
    sets : ndarray of shape (n_sets, n_codes)
        Codes that go left.
    values : ndarray of shape (n_raw, n_nodes)
        What a leaf adds to the raw outputs.
    cuts : list of ndarray
        Distinct thresholds of each feature, ascending.
    missing_code : ndarray of shape (n_features,)
    parent : ndarray of shape (n_nodes,)
        -1 at a root.
    depth : ndarray of shape (n_nodes,)
        0 at a root.
    edge_feature : ndarray of shape (n_nodes,)
        -1 at a root.
    edge_rank : ndarray of shape (n_nodes,)
        Number of an edge among those on its feature.
    low, high : ndarray of shape (n_nodes,)
        An edge admits the codes from low on and below high.
    admits_missing : ndarray of shape (n_nodes,)
    edge_set : ndarray of shape (n_nodes,) or None
        Row of `edge_sets` for an edge on a categorical feature, else -1.
    edge_sets : ndarray of shape (n_edge_sets, n_codes)
    """

    def __init__(self, trees, single, categories, encoders=None):
        self.single, self.encoders = single, encoders or {}
        sizes = np.array([len(tree.column) for tree in trees])
        self.roots = (np.cumsum(sizes) - sizes).astype(np.int32)
        self.tree = np.repeat(np.arange(len(trees), dtype=np.int32), sizes)
        self.values = np.concatenate([tree.values for tree in trees]).T.copy()
        self.missing_left = _joined(trees, "missing_left", bool)
        self._read_splits(trees, categories)
        self._read_children(trees, sizes)
        self._read_edges()

    @property
    def n_raw(self):
        """Number of raw outputs."""
        return len(self.values)

    @cached_property
    def max_depth(self):
        """Depth of the deepest leaf."""
        return int(self.depth.max())

    @cached_property
    def max_leaves(self):
        """Leaves of the largest tree."""
        return int(np.bincount(self.tree[self.feature < 0]).max())

    @cached_property
    def flat(self):
        """As the compiled kernels read it."""
        from skvarimp._response.responses.trees.compiled_trees import flat_trees

        return flat_trees(self)

    def __getstate__(self):
        return {k: v for k, v in self.__dict__.items() if k != "flat"}

    def _read_splits(self, trees, categories):
        column = _joined(trees, "column", np.intp)
        inner = column >= 0
        self.columns = np.unique(column[inner])
        self.feature = np.full(len(column), -1, dtype=np.int32)
        self.feature[inner] = np.searchsorted(self.columns, column[inner])
        self._read_sets(trees)
        self.categories = {
            u: {c: k for k, c in enumerate(categories[j]) if not is_missing(c)}
            for u, j in enumerate(self.columns.tolist())
            if j in categories
        }
        threshold = _joined(trees, "threshold", np.float64)
        self.cut = np.zeros(len(column), dtype=np.int32)
        self.cuts, missing_code = [], []
        order = np.argsort(self.feature, kind="stable")
        ends = np.searchsorted(self.feature[order], np.arange(len(self.columns) + 1))
        for u, nodes in enumerate(np.split(order, ends)[1:-1]):
            if u in self.categories:
                self.cuts.append(np.empty(0))
                missing_code.append(len(self.categories[u]))
                continue
            cuts, at = np.unique(threshold[nodes], return_inverse=True)
            self.cut[nodes] = at + 1
            self.cuts.append(cuts)
            missing_code.append(len(cuts) + 1)
        self.missing_code = np.array(missing_code, dtype=np.int32)
        # NumPy sorts 16-bit numbers by radix
        self.small = np.int16 if len(self.columns) < 2**15 else np.int32
        if self.left_set is not None:
            self._close_sets()

    def _read_sets(self, trees):
        self.left_set, self.sets = None, None
        if all(tree.left_set is None for tree in trees):
            return
        n_sets = np.cumsum([0] + [len(tree.sets) for tree in trees])
        self.left_set = np.concatenate(
            [
                np.where(tree.left_set < 0, -1, tree.left_set + first)
                for tree, first in zip(trees, n_sets)
            ]
        ).astype(np.int32)
        self.sets = np.concatenate([tree.sets for tree in trees])

    def _close_sets(self):
        """Put the direction of missing values behind each set's categories."""
        nodes = np.flatnonzero(self.left_set >= 0)
        codes = self.missing_code[self.feature[nodes]]
        width = int(codes.max(initial=0)) + 1
        sets = np.zeros((len(nodes), width), dtype=bool)
        for s, (node, code) in enumerate(zip(nodes, codes)):
            sets[s, :code] = self.sets[self.left_set[node], :code]
            sets[s, code] = self.missing_left[node]
        self.left_set[nodes] = np.arange(len(nodes))
        self.sets = sets

    def _read_children(self, trees, sizes):
        n_nodes = len(self.feature)
        first = np.repeat(self.roots, sizes)
        self.children = np.full(2 * n_nodes, -1, dtype=np.int32)
        self.parent = np.full(n_nodes, -1, dtype=np.int32)
        inner = np.flatnonzero(self.feature >= 0)
        for side, name in enumerate(("right", "left")):
            of_side = _joined(trees, name, np.int32)[inner] + first[inner]
            self.children[2 * inner + side] = of_side
            self.parent[of_side] = inner

    def _read_edges(self):
        n_nodes = len(self.feature)
        self.edge_feature = np.where(
            self.parent >= 0, self.feature[self.parent], -1
        ).astype(np.int32)
        self.low = np.zeros(n_nodes, dtype=np.int32)
        self.high = np.zeros(n_nodes, dtype=np.int32)
        self.admits_missing = np.zeros(n_nodes, dtype=bool)
        self._number_edges()
        self.edge_set, self.edge_sets = None, None
        if self.left_set is not None:
            split = np.append(self.left_set, -1)[self.parent] >= 0
            self.edge_set = np.where(split, np.cumsum(split) - 1, -1).astype(np.int32)
            self.edge_sets = np.zeros((split.sum(), self.sets.shape[1]), dtype=bool)
        self.depth = np.zeros(n_nodes, dtype=np.int32)
        level = self.roots
        while len(level := level[self.feature[level] >= 0]):
            left, right = self.children[2 * level + 1], self.children[2 * level]
            above = self.last_edge(level, self.feature[level])
            self._narrow(left, level, above, True)
            self._narrow(right, level, above, False)
            self.depth[left] = self.depth[right] = self.depth[level] + 1
            level = np.concatenate([left, right])

    def _number_edges(self):
        order = np.argsort(self.edge_feature, kind="stable").astype(np.int32)
        bounds = np.arange(len(self.columns) + 1)
        ends = np.searchsorted(self.edge_feature[order], bounds)
        self._by_feature = np.split(order, ends)[1:-1]
        self.edge_rank = np.zeros(len(order), dtype=np.int32)
        for edges in self._by_feature:
            self.edge_rank[edges] = np.arange(len(edges))

    def _narrow(self, edges, parents, above, left):
        """What edges from parents say, given what the edges above them say."""
        free = above < 0
        codes = self.missing_code[self.feature[parents]]
        low = np.where(free, 0, self.low[above])
        high = np.where(free, codes, self.high[above])
        cut = self.cut[parents]
        self.low[edges] = low if left else np.maximum(low, cut)
        self.high[edges] = np.minimum(high, cut) if left else high
        goes = self.missing_left[parents] == left
        self.admits_missing[edges] = (free | self.admits_missing[above]) & goes
        if self.edge_set is None:
            return
        nominal = np.flatnonzero(self.left_set[parents] >= 0)
        for m in nominal:
            goes = self.sets[self.left_set[parents[m]]] == left
            if not free[m]:
                goes = goes & self.edge_sets[self.edge_set[above[m]]]
            self.edge_sets[self.edge_set[edges[m]]] = goes

    def edges_on(self, feature):
        """All edges on a feature."""
        return self._by_feature[feature]

    def trees_with(self, features):
        """The trees that split on any of some features, (n_features,) bool."""
        inner = np.flatnonzero(self.feature >= 0)
        return np.unique(self.tree[inner[features[self.feature[inner]]]])

    def last_edge(self, nodes, feature):
        """The edge nearest above (or at) each node that is on a feature; -1: none."""
        at = np.array(nodes, dtype=np.intp)
        feature = np.broadcast_to(feature, at.shape)
        climbing = np.arange(len(at))
        while len(climbing):
            here = at[climbing]
            found = self.edge_feature[here] == feature[climbing]
            climbing, here = climbing[~found], self.parent[here[~found]]
            at[climbing] = here
            climbing = climbing[here >= 0]
        return at

    def codes(self, feature, values):
        """Codes of a column's values, (n,) int32."""
        for encode in self.encoders.get(int(self.columns[feature]), ()):
            values = encode(values)
        if feature in self.categories:
            return self._category_codes(feature, values)
        with np.errstate(over="ignore"):
            try:
                if self.single:
                    values = np.asarray(values).astype(np.float32)
                values = np.asarray(values, dtype=np.float64)
            except (TypeError, ValueError):  # dates, which the model made numbers of
                raise NotLowerable(
                    "a column that trees split on holds no numbers"
                ) from None
        codes = np.searchsorted(self.cuts[feature], values).astype(np.int32)
        codes[np.isnan(values)] = self.missing_code[feature]
        return codes

    def _category_codes(self, feature, values):
        """A category never seen is as good as missing."""
        known, missing = self.categories[feature], int(self.missing_code[feature])
        if values.dtype.kind in "fiub":
            distinct, inverse = np.unique(values, return_inverse=True)
            codes = [known.get(v, missing) for v in distinct.tolist()]
            return np.array(codes, dtype=np.int32)[inverse]
        codes = [missing if is_missing(v) else known.get(v, missing) for v in values]
        return np.array(codes, dtype=np.int32)

    def goes_left(self, node, feature, code, any_missing):
        """Whether rows of the given codes go left at nodes, (n,) bool."""
        left = code < self.cut.take(node)
        if any_missing:
            missing = code == self.missing_code.take(feature)
            left |= missing & self.missing_left.take(node)
        if self.left_set is not None:
            which = self.left_set.take(node)
            nominal = np.flatnonzero(which >= 0)
            left[nominal] = self.sets[which[nominal], code[nominal]]
        return left

    def admits(self, edges, feature, codes):
        """Whether edges on a feature admit codes, (n_edges, n_codes) bool.

        Edge -1 admits every code.
        """
        edges = np.asarray(edges)[:, np.newaxis]
        if feature in self.categories:
            inside = self.edge_sets[self.edge_set[edges], codes]
        else:
            inside = (self.low[edges] <= codes) & (codes < self.high[edges])
            missing = codes == self.missing_code[feature]
            if missing.any():
                inside = np.where(missing, self.admits_missing[edges], inside)
        return inside | (edges < 0)

    def critical_values(self, feature):
        """Thresholds and the numbers next to them, ascending."""
        cuts = self.cuts[feature]
        cuts = cuts[np.abs(cuts) < np.finfo(np.float32).max]
        near = [cuts, np.nextafter(cuts, -np.inf), np.nextafter(cuts, np.inf)]
        if self.single:
            rounded = cuts.astype(np.float32)
            for toward in (-np.inf, np.inf):
                step = np.nextafter(rounded, np.float32(toward))
                near.append(step.astype(np.float64))
        return np.unique(np.concatenate(near))


def _joined(trees, name, dtype):
    return np.concatenate([getattr(tree, name) for tree in trees]).astype(dtype)
