"""Means over the rows of a tree ensemble, from how rows are spread over the leaves.

For a leaf L and a set V of features let m(L, V) be the weight of the rows that violate
the conditions on exactly the features V on the way to L. As the features S move to v,

    sum_i w_i (f(x_i with x_iS := v) - f(x_i))
        = sum_L value(L) (1[v meets L's conditions on S] sum_{V in S} m(L, V)
                          - m(L, {})).

The difference of two orders of moves is what S does together: summed over all subsets,
the terms

    I_S(v) = sum_L value(L) sum_{U in S} (-1)^|S - U| 1[v meets L's conditions on U]
                            sum_{V in U} m(L, V)

of the leaves L below splits on all of S give the mean above, and I_S = 0 where no tree
splits on all of S. No row's curve is formed: one descent with lists of rows counts the
masses of every S at once, and what remains is a sum over leaves.
"""

from functools import cached_property
from itertools import combinations, product
from math import comb

import numpy as np

from skvarimp._response.responses.trees import answers
from skvarimp._response.responses.trees.curves import Member
from skvarimp._running.memory import HELD, numbers_at_once

ORDER = 3  # features that move at once, at most


class Paths:
    """Which moving features stand on the way to each leaf.

    The *rank* of a feature at a node tells how many others were split on before it.

    Parameters
    ----------
    table : TreeTable
    moving : ndarray of shape (n_features,)
        Which features move.

    Attributes
    ----------
    rank : ndarray of shape (n_nodes,)
        Of the feature that a node splits on; -1 where it does not move.
    n_ranks : ndarray of shape (n_nodes,)
        Number of features on the way to a node.
    """

    def __init__(self, table, moving):
        self.table = table
        self.rank = np.full(len(table.feature), -1, dtype=np.int32)
        self.n_ranks = np.zeros(len(table.feature), dtype=np.int32)
        self._first, level = {}, table.roots
        while len(level := level[table.feature[level] >= 0]):
            above = table.last_edge(level, table.feature[level])
            moves, new = moving[table.feature[level]], above < 0
            rank = np.where(new, self.n_ranks[level], self.rank[table.parent[above]])
            self.rank[level] = np.where(moves, rank, -1)
            children = np.stack([table.children[2 * level + side] for side in (0, 1)])
            self.n_ranks[children] = self.n_ranks[level] + (new & moves)
            level = children.ravel()

    def first(self, order):
        """Where the sets of `order` features of each leaf begin, (n_nodes + 1,)."""
        if order not in self._first:
            n_sets = np.array(
                [comb(n, order) for n in range(self.n_ranks.max() + 1)], dtype=np.int64
            )
            n_sets = np.where(self.table.feature < 0, n_sets[self.n_ranks], 0)
            self._first[order] = np.concatenate([[0], np.cumsum(n_sets)])
        return self._first[order]

    def n_sets(self, order):
        """How many sets of `order` features all leaves have."""
        number = np.bincount(self.n_ranks[self.table.feature < 0])
        return sum(int(m) * comb(n, order) for n, m in enumerate(number))

    @cached_property
    def edges(self):
        """The last edge on each feature on the way to each leaf, ranks in turn."""
        table, first = self.table, self.first(1)
        edges = np.full(first[-1], -1, dtype=np.int32)
        leaf = at = np.flatnonzero(table.feature < 0)
        while len(at):
            parent = table.parent[at]
            below = parent >= 0
            leaf, at, parent = leaf[below], at[below], parent[below]
            moves = self.rank[parent] >= 0
            place = first[leaf[moves]] + self.rank[parent[moves]]
            edges[place] = np.where(edges[place] < 0, at[moves], edges[place])
            at = parent
        return edges

    @cached_property
    def features(self):
        """The features of the sets of one, (n_sets,)."""
        return self.table.edge_feature[self.edges].astype(np.int32)

    @cached_property
    def values(self):
        """The leaves' values from each tree's first on: constant trees move by 0."""
        table = self.table
        leaves = np.flatnonzero(table.feature < 0)
        first = leaves[np.searchsorted(leaves, table.roots)]
        return table.values - table.values[:, first[table.tree]]

    def sets(self, order):
        """All sets of `order` features of all leaves, in the order of the masses.

        Returns
        -------
        leaf : ndarray of shape (n_sets,)
        ranks : ndarray of shape (order, n_sets)
            Ascending.
        """
        first = self.first(order)
        leaf = np.repeat(np.arange(len(self.n_ranks)), np.diff(first))
        most = int(self.n_ranks.max())
        every = sorted(combinations(range(most), order), key=lambda ranks: ranks[::-1])
        every = np.array(every, dtype=np.int32).reshape(-1, order)
        return leaf, every[np.arange(len(leaf)) - first[leaf]].T


def set_number(ranks):
    """Number of a set of ascending ranks among those of its size."""
    number = 0
    for k, rank in enumerate(ranks):  # rank over k + 1
        number += (rank, rank * (rank - 1) // 2, rank * (rank - 1) * (rank - 2) // 6)[k]
    return number


def count_masses(paths, roots, codes, weights, masses):
    """Add the masses m(L, V) of every leaf and set of moving features.

    Parameters
    ----------
    paths : Paths
    roots : ndarray of shape (n_trees,)
        Of the trees that the rows go down.
    codes : ndarray of shape (n_features, n_rows)
    weights : ndarray of shape (n_rows,), or None
        None: all 1.
    masses : list of ndarray of shape (n_sets,)
        Of the sets of 0, 1, ... features, as `Paths.sets` has them; added to.
    """
    for leaf, violated, rows in lists_of_rows(paths, roots, codes, len(masses) - 1):
        number = paths.first(len(violated))[leaf] + set_number(violated)
        mass = len(rows) if weights is None else weights.take(rows).sum()
        masses[len(violated)][number] += mass


def add_found(paths, roots, codes, amounts, sums):
    """Add up what rows find at the leaves that they reach as one feature moves.

    Parameters
    ----------
    paths, roots, codes : see `count_masses`
    amounts : ndarray of shape (2, n_raw, n_sets)
        For each set of one feature what a row finds that violates none on the way to
        the leaf, and what one finds that violates this one.
    sums : ndarray of shape (n_features, n_raw, n_rows)
        Added to.
    """
    for leaf, violated, rows in lists_of_rows(paths, roots, codes, 1):
        first, last = paths.first(1)[leaf : leaf + 2]
        found = amounts[len(violated)]
        for s in [first + violated[0]] if violated else range(first, last):
            sums[paths.features[s]][:, rows] += found[:, [s]]


def lists_of_rows(paths, roots, codes, order):
    """Yield leaves, the ranks of features violated on the way, and the rows that did.

    Parameters
    ----------
    paths, roots, codes : see `count_masses`
    order : int
        Of how many features the conditions may be violated.
    """
    table = paths.table
    features, children = table.feature.tolist(), table.children.tolist()
    ranks, missing = paths.rank.tolist(), answers.some_missing(table, codes)
    stack = [(root, (), np.arange(codes.shape[1])) for root in roots.tolist()]
    while stack:
        node, violated, rows = stack.pop()
        feature, rank = features[node], ranks[node]
        if feature < 0:
            yield node, violated, rows
            continue
        right, left = children[2 * node], children[2 * node + 1]
        if rank in violated:
            stack += [(left, violated, rows), (right, violated, rows)]
            continue
        code = codes[feature].take(rows)
        goes = answers.goes_left(table, node, code, missing[feature])
        to_left, to_right = rows[goes], rows[~goes]
        frames = [(left, violated, to_left), (right, violated, to_right)]
        if rank >= 0 and len(violated) < order:
            more = tuple(sorted((*violated, rank)))
            frames += [(left, more, to_right), (right, more, to_left)]
        stack += [frame for frame in frames if len(frame[2])]


class Means:
    """Mean curves of rows as up to three features move.

    Parameters
    ----------
    paths : Paths
    codes : ndarray of shape (n_rows, n_features)
    weights : ndarray of shape (n_rows,)
    order : int
        How many features move at once, at most.
    count : callable, default=count_masses
        What counts the masses.
    """

    def __init__(self, paths, codes, weights, order, count=count_masses):
        self.table, self.paths = paths.table, paths
        self.masses = [np.zeros(paths.first(size)[-1]) for size in range(order + 1)]
        codes, unit = np.ascontiguousarray(codes.T), 1.0
        weights = np.ascontiguousarray(weights, float)
        if np.all(weights == weights[0]):  # numbers of rows are exact
            weights, unit = None, weights[0]
        for roots, kind, codes_of in answers.alike(self.table, codes):
            of_rows = weights
            if kind is not None:
                of_rows = np.bincount(kind, weights, answers.KINDS).astype(float)
            count(paths, roots, codes_of, of_rows, self.masses)
        self.masses = [unit * of_order for of_order in self.masses]
        self.values = paths.values
        self._sets, self._alone = {}, {}

    def below(self, features):
        """The leaves below splits on some features, and the ranks of these there.

        Returns
        -------
        leaf : ndarray of shape (n_leaves,)
        ranks : ndarray of shape (len(features), n_leaves)
        """
        order, n_features = len(features), len(self.table.columns)
        if order not in self._sets:
            leaf, ranks = self.paths.sets(order)
            on = self.table.edge_feature[self._edges(leaf, ranks)]
            turn = np.argsort(on, axis=0)
            on, ranks = (np.take_along_axis(a, turn, axis=0) for a in (on, ranks))
            key = np.ravel_multi_index(tuple(on), [n_features] * order)
            by_key = np.argsort(key, kind="stable")
            self._sets[order] = key[by_key], leaf[by_key], ranks[:, by_key]
        keys, leaf, ranks = self._sets[order]
        key = np.ravel_multi_index(tuple(np.sort(features)), [n_features] * order)
        mine = slice(*np.searchsorted(keys, [key, key + 1]))
        return leaf[mine], ranks[np.argsort(np.argsort(features)), mine]

    def _edges(self, leaf, ranks):
        return self.paths.edges[self.paths.first(1)[leaf] + ranks]

    def mean(self, members):
        """Mean moved minus unmoved as some features move, one member each.

        Parameters
        ----------
        members : list of Member

        Returns
        -------
        ndarray of shape (n_raw, n_cells of the first member, ...)
        """
        positions = range(len(members))
        result = np.zeros((self.table.n_raw, *(m.n_cells for m in members)))
        for size in range(1, len(members) + 1):
            for some in combinations(positions, size):
                others = tuple(p + 1 for p in positions if p not in some)
                joint = self.joint([members[p] for p in some])
                result += np.expand_dims(joint, others)
        return result

    def joint(self, members):
        """I_S of the module's formula, of shape as `mean`; that of one is kept."""
        if len(members) > 1:
            return self._joint(members)
        (member,) = members
        if member not in self._alone:
            self._alone[member] = self._joint(members)
        return self._alone[member]

    def _joint(self, members):
        """Sums over steps: each factor is 1[v meets] for features in U, else -1."""
        leaf, ranks = self.below([member.feature for member in members])
        amounts = self._masses(leaf, ranks) * self.values[:, np.newaxis, leaf]
        edges = self.table.edge_rank[self._edges(leaf, ranks)]
        which, sign = np.arange(len(leaf)), np.ones(len(leaf))
        place, inside = np.zeros((2, len(leaf)), dtype=np.intp)
        for member, edge in zip(members, edges):
            start, count, steps = member.factors
            first, count = start[edge[which]], count[edge[which]]
            each = np.arange(len(which)).repeat(count)
            turn = np.arange(len(each)) - (np.cumsum(count) - count)[each]
            which, sign = which[each], sign[each] * (2 * (turn % 2) - 1)
            place = place[each] * member.n_cells + steps[first[each] + turn]
            inside = 2 * inside[each] + (turn > 0)
        shape = [member.n_cells for member in members]
        sums = [
            np.bincount(place, sign * of_raw[inside, which], np.prod(shape))
            for of_raw in amounts
        ]
        sums = np.reshape(sums, (len(amounts), *shape))
        for axis in range(1, sums.ndim):
            np.cumsum(sums, axis=axis, out=sums)
        return sums

    def _masses(self, leaf, ranks):
        """The mass of the rows that violate features in U alone, (2^n, n_leaves)."""
        masses = np.empty((2,) * len(ranks) + leaf.shape)
        for violated in product((0, 1), repeat=len(ranks)):
            some = np.sort(ranks[np.flatnonzero(violated)], axis=0)
            at = self.paths.first(len(some))[leaf] + set_number(some)
            masses[violated] = self.masses[len(some)][at]
        for axis in range(len(ranks)):
            np.cumsum(masses, axis=axis, out=masses)
        return masses.reshape(2 ** len(ranks), len(leaf))


class Averaged:
    """Mean curves of many moves of the same rows; see `Response.averaged`.

    Parameters
    ----------
    response : TreeResponse
    table : Table
    rows : ndarray of shape (n_rows,)
    weights : ndarray of shape (n_rows,)
    features : sequence of int
        Which may move.
    order : int
        How many of them at once, at most.
    """

    def __init__(self, response, table, rows, weights, features, order):
        self.response, self.table = response, table
        self.rows, self.weights, self.order = rows, weights, order
        self.means, self._members = self._means(features, order), {}

    def _means(self, features, order):
        """`Means` of some features; None where masses of too many sets were kept."""
        response = self.response
        moving = np.zeros(len(response.trees.columns), dtype=bool)
        moving[features] = True
        paths = Paths(response.trees, moving)
        if paths.n_sets(order) > numbers_at_once(HELD):
            return None
        codes = response.codes(self.table)[self.rows]
        return Means(paths, codes, self.weights, order, response.mass_counter)

    def __call__(self, move):
        """The mean curve of a move, (n_outputs, n_values)."""
        response, trees = self.response, self.response.trees
        features, codes = response.grid_codes(self.table, move)
        if not features:
            return np.zeros((response.n_outputs, move.n_cells))
        members = []
        for feature, of_feature in zip(features, codes.T[:, :, np.newaxis]):
            key = feature, of_feature.tobytes()
            if key not in self._members:
                self._members[key] = Member(trees, 0, move, [feature], of_feature)
            members.append(self._members[key])
        n_cells = np.prod([member.n_cells for member in members], dtype=float)
        means = self.means
        if means is None or len(features) > self.order:
            few = len(features) <= ORDER
            means = self._means(features, len(features)) if few else None
        if means is None or n_cells > numbers_at_once(HELD):
            return response.mean_of_group(
                self.table, self.rows, self.weights, features, codes
            )
        mean = means.mean(members)
        return mean[(slice(None), *(member.cell_of_value for member in members))]
