"""An ensemble of trees as one flat table of nodes.

Thresholds become positions among the ensemble's own cuts of a column: with
u_1 < u_2 < ... the distinct thresholds on a column, the *code* of a value x is the
number of thresholds below it, so that

    x <= u_c  if and only if  code(x) < c,

and no tree tells values of the same code apart. A missing value has the code after the
last. The codes of a categorical column are its categories' positions, then missing.
"""

from functools import cached_property

import numpy as np

from skvarimp._compiled import kernel, use_compiled
from skvarimp._running.memory import CACHE, slices

CREDIT = kernel("tree_credit")


class NodeTable:
    """All trees of an ensemble, node after node.

    Parameters
    ----------
    trees : list of Tree
    encoding : Encoding

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
    categorical : ndarray of shape (n_features,)
    cuts : list of ndarray
        Distinct thresholds of each feature, ascending.
    missing_code : ndarray of shape (n_features,)
    parent : ndarray of shape (n_nodes,)
        -1 at a root.
    """

    def __init__(self, trees, encoding):
        self.encoding = encoding
        sizes = np.array([len(tree.column) for tree in trees])
        self.roots = (np.cumsum(sizes) - sizes).astype(np.int32)
        self.tree = np.repeat(np.arange(len(trees), dtype=np.int32), sizes)
        self.values = np.concatenate([tree.values for tree in trees]).T.copy()
        self.missing_left = _joined(trees, "missing_left", bool)
        self._read_splits(trees, encoding.n_categories)
        self._read_children(trees, sizes)

    @property
    def n_raw(self):
        """Number of raw outputs."""
        return len(self.values)

    @cached_property
    def packed(self):
        """Feature, cut, right, left and the missing code that goes left, (n_nodes, 5).

        A leaf is its own child, on feature 0.
        """
        leaf, itself = self.feature < 0, np.arange(len(self.feature))[:, np.newaxis]
        feature = np.maximum(self.feature, 0)
        children = np.where(leaf[:, np.newaxis], itself, self.children.reshape(-1, 2))
        missing = np.where(self.missing_left, self.missing_code[feature], -1)
        return np.stack([feature, self.cut, *children.T, missing], 1).astype(np.int32)

    def _read_splits(self, trees, n_categories):
        column = _joined(trees, "column", np.intp)
        inner = column >= 0
        self.columns = np.unique(column[inner])
        self.feature = np.full(len(column), -1, dtype=np.int32)
        self.feature[inner] = np.searchsorted(self.columns, column[inner])
        self.categorical = np.isin(self.columns, list(n_categories))
        threshold = _joined(trees, "threshold", np.float64)
        self.cut = np.zeros(len(column), dtype=np.int32)
        self.cuts, missing_code = [], []
        # NumPy sorts 16-bit numbers by radix
        self.small = np.int16 if len(self.columns) < 2**15 else np.int32
        for u, nodes in enumerate(self._grouped(self.feature)):
            if self.categorical[u]:
                self.cuts.append(np.empty(0))
                missing_code.append(n_categories[int(self.columns[u])])
                continue
            cuts, at = np.unique(threshold[nodes], return_inverse=True)
            self.cut[nodes] = at + 1
            self.cuts.append(cuts)
            missing_code.append(len(cuts) + 1)
        self.missing_code = np.array(missing_code, dtype=np.int32)
        self._read_sets(trees)

    def _grouped(self, feature):
        """The nodes of each feature, ascending."""
        order = np.argsort(feature.astype(self.small), kind="stable").astype(np.int32)
        ends = np.searchsorted(feature[order], np.arange(len(self.columns) + 1))
        return np.split(order, ends)[1:-1]

    def _read_sets(self, trees):
        """Close each set with the direction of missing values."""
        places = zip(self.roots.tolist(), trees)
        sets = {r + m: own for r, tree in places for m, own in tree.sets.items()}
        self.left_set, self.sets = None, None
        if not sets:
            return
        nodes = np.array(list(sets))
        codes = self.missing_code[self.feature[nodes]]
        self.left_set = np.full(len(self.feature), -1, dtype=np.int32)
        self.left_set[nodes] = np.arange(len(nodes))
        self.sets = np.zeros((len(nodes), int(codes.max()) + 1), dtype=bool)
        for closed, own, node, code in zip(self.sets, sets.values(), nodes, codes):
            closed[:code] = own[:code]
            closed[code] = self.missing_left[node]

    def _read_children(self, trees, sizes):
        n_nodes = len(self.feature)
        first = np.repeat(self.roots, sizes)
        self.children = np.full(2 * n_nodes, -1, dtype=np.int32)
        self.parent = np.full(n_nodes, -1, dtype=np.int32)
        inner = np.flatnonzero(self.feature >= 0)
        for side, name in enumerate(("right", "left")):
            children = _joined(trees, name, np.int32)[inner] + first[inner]
            self.children[2 * inner + side] = children
            self.parent[children] = inner

    def codes(self, feature, values, dtype=np.int32):
        """Codes of a column's values, (n,)."""
        numbers = self.encoding.numbers(int(self.columns[feature]), values)
        missing = np.isnan(numbers)
        if self.categorical[feature]:
            codes = np.where(missing, 0, numbers).astype(dtype)
        else:
            codes = np.empty(len(numbers), dtype=dtype)
            if use_compiled():
                numbers = np.ascontiguousarray(numbers)
                CREDIT.count_below(self.cuts[feature], numbers, codes)
            else:
                codes[:] = np.searchsorted(self.cuts[feature], numbers)
        codes[missing] = self.missing_code[feature]
        return codes

    def codes_of(self, table, share=map):
        """Codes of a table's rows, (n_samples, n_features); `share` as `map` does."""
        most = int(self.missing_code.max(initial=0))
        dtype = np.uint8 if most < 2**8 else np.uint16 if most < 2**16 else np.int32
        codes = np.empty((len(self.columns), table.n_samples), dtype=dtype)

        def read(u):
            codes[u] = self.codes(u, table.column(self.columns[u]), dtype)

        list(share(read, range(len(codes))))
        return codes.T

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

    def leaves(self, codes, trees=None):
        """The leaf that each row is in, (n_trees, n_rows).

        Parameters
        ----------
        codes : ndarray of shape (n_rows, n_features)
        trees : ndarray of shape (n_trees,), default=None
            None: all of them.
        """
        roots = self.roots if trees is None else self.roots[trees]
        leaves = np.empty((len(roots), len(codes)), dtype=np.int32)
        if use_compiled() and self.columns.size:
            CREDIT.go_down(np.ascontiguousarray(codes), self, roots, leaves)
            return leaves
        for rows in slices(len(codes), len(roots), CACHE):
            leaves[:, rows] = self._at_end(np.ascontiguousarray(codes[rows]), roots)
        return leaves

    def _at_end(self, codes, roots):
        any_missing = bool(np.any(codes == self.missing_code))
        n_rows, n_features = codes.shape
        node = np.repeat(roots, n_rows)
        first = np.tile(np.arange(n_rows) * n_features, len(roots))
        moving = np.flatnonzero(self.feature.take(node) >= 0)
        while len(moving):
            at = node.take(moving)
            feature = self.feature.take(at)
            code = codes.ravel().take(first.take(moving) + feature)
            left = self.goes_left(at, feature, code, any_missing)
            node[moving] = at = self.children.take(2 * at + left)
            moving = moving[self.feature.take(at) >= 0]
        return node.reshape(len(roots), n_rows)

    def raw(self, codes, trees=None):
        """Sums of the leaves that rows are in, (n_raw, n_rows); of some trees."""
        trees = np.arange(len(self.roots)) if trees is None else trees
        sums = np.zeros((self.n_raw, len(codes)))
        for some in slices(len(trees), max(1, sums.size), CACHE):
            leaves = self.leaves(codes, trees[some])
            sums += self.values.take(leaves, axis=1).sum(axis=1)
        return sums


class TreeTable(NodeTable):
    """A table of nodes that also knows what each path says about every feature.

    An *edge* has the number of the node that it leads to. Its feature is that of the
    parent. The edge holds what all splits on this feature, from the root down to it,
    say together.

    Attributes
    ----------
    depth : ndarray of shape (n_nodes,)
        0 at a root.
    edge_feature : ndarray of shape (n_nodes,)
        -1 at a root.
    edge_rank : ndarray of shape (n_nodes,)
        Number of an edge among those on its feature.
    low, high : ndarray of shape (n_nodes,)
        An edge admits the codes from low on and below high.
    admits_missing : ndarray of shape (n_nodes,)
    edges_on : list of ndarray
        All edges on each feature.
    edge_set : ndarray of shape (n_nodes,) or None
        Row of `edge_sets` for an edge on a categorical feature, else -1.
    edge_sets : ndarray of shape (n_edge_sets, n_codes)
    """

    def __init__(self, trees, encoding):
        super().__init__(trees, encoding)
        self._read_edges()

    @cached_property
    def max_depth(self):
        """Depth of the deepest leaf."""
        return int(self.depth.max())

    @cached_property
    def flat(self):
        """As the compiled kernels read it: nodes, missing_left, ..., values."""
        cut = self.cut.copy()
        sets = np.zeros((1, 1), dtype=bool)
        if self.left_set is not None:
            nominal = self.left_set >= 0
            cut[nominal] = -1 - self.left_set[nominal]
            sets = self.sets
        right, left = self.children.reshape(-1, 2).T
        nodes = np.stack([self.feature, cut, right, left], axis=1)
        return (
            np.ascontiguousarray(nodes, dtype=np.int32),
            self.missing_left.view(np.uint8),
            self.missing_code,
            np.ascontiguousarray(sets).view(np.uint8),
            np.ascontiguousarray(self.values.T),
        )

    def __getstate__(self):
        return {k: v for k, v in vars(self).items() if k != "flat"}

    def _read_edges(self):
        n_nodes = len(self.feature)
        self.edge_feature = np.append(self.feature, np.int32(-1))[self.parent]
        self.low, self.high, self.depth = np.zeros((3, n_nodes), dtype=np.int32)
        self.admits_missing = np.zeros(n_nodes, dtype=bool)
        self.edge_rank = np.zeros(n_nodes, dtype=np.int32)
        self.edges_on = self._grouped(self.edge_feature)
        for edges in self.edges_on:
            self.edge_rank[edges] = np.arange(len(edges))
        level, children = self.roots, self.children.reshape(-1, 2)
        while len(level := level[self.feature[level] >= 0]):
            below = children[level]
            self.depth[below] = self.depth[level, np.newaxis] + 1
            level = below.ravel()
        # what the split above each edge says alone
        inner = np.flatnonzero(self.feature >= 0)
        cut, missing_left = self.cut[inner], self.missing_left[inner]
        right, left = children[inner].T
        self.low[right], self.high[left] = cut, cut
        self.high[right] = self.missing_code[self.feature[inner]]
        self.admits_missing[right], self.admits_missing[left] = (
            ~missing_left,
            missing_left,
        )
        self.edge_set, self.edge_sets = None, None
        if self.left_set is not None:
            split = np.append(self.left_set, -1)[self.parent]
            edges = np.flatnonzero(split >= 0)
            self.edge_set = np.full(n_nodes, -1, dtype=np.int32)
            self.edge_set[edges] = np.arange(len(edges))
            goes_left = children[self.parent[edges], 1] == edges
            self.edge_sets = self.sets[split[edges]] == goes_left[:, np.newaxis]
        # the last edge on its own feature above each edge
        above = np.full(n_nodes, -1)
        above[left] = above[right] = self.last_edge(inner, self.feature[inner])
        self._narrow(above)

    def _narrow(self, above):
        """Let edges say what those above them on the same feature say, too.

        All edges say what the next 1, 2, 4, ... above them say.

        Parameters
        ----------
        above : ndarray of shape (n_nodes,)
            The next edge on the same feature above each; -1: none. Overwritten.
        """
        edges = np.flatnonzero(above >= 0)
        while len(edges):
            up = above[edges]
            self.low[edges] = np.maximum(self.low[edges], self.low[up])
            self.high[edges] = np.minimum(self.high[edges], self.high[up])
            self.admits_missing[edges] &= self.admits_missing[up]
            if self.edge_set is not None:
                nominal, up_set = self.edge_set[edges], self.edge_set[up]
                some = nominal >= 0
                self.edge_sets[nominal[some]] &= self.edge_sets[up_set[some]]
            above[edges] = above[up]
            edges = edges[above[edges] >= 0]

    def trees_with(self, features):
        """The trees that split on any of some features, (n_features,) bool."""
        asks = np.zeros(len(self.roots), dtype=bool)
        for feature in np.flatnonzero(features):
            asks[self.tree[self.edges_on[feature]]] = True
        return np.flatnonzero(asks)

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

    def admits(self, edges, feature, codes):
        """Whether edges on a feature admit codes, (n_edges, n_codes) bool.

        Edge -1 admits every code.
        """
        edges = np.asarray(edges)[:, np.newaxis]
        if self.categorical[feature]:
            inside = self.edge_sets[self.edge_set[edges], codes]
        else:
            inside = (self.low[edges] <= codes) & (codes < self.high[edges])
            missing = codes == self.missing_code[feature]
            if missing.any():
                inside = np.where(missing, self.admits_missing[edges], inside)
        return inside | (edges < 0)

    def critical_values(self, feature):
        """Thresholds, and the numbers next to each."""
        cuts = self.cuts[feature]
        cuts = cuts[np.abs(cuts) < np.finfo(np.float32).max]
        forms = [cuts, cuts.astype(np.float32)] if self.encoding.single else [cuts]
        near = [np.nextafter(u, toward) for u in forms for toward in (-np.inf, np.inf)]
        return np.stack([cuts, *near], axis=1).ravel()


def _joined(trees, name, dtype):
    return np.concatenate([getattr(tree, name) for tree in trees]).astype(dtype)
