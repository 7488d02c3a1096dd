"""Means over the rows of a tree ensemble, and each row's share in them, from masses.

With the masses m(L, V) of `masses`, as the features S move to v,

    sum_i w_i (f(x_i with x_iS := v) - f(x_i))
        = sum_L value(L) (1[v meets L's conditions on S] sum_{V in S} m(L, V)
                          - m(L, {})).

The difference of two orders of moves is what S does together: summed over all subsets,
the terms

    I_S(v) = sum_L value(L) sum_{U in S} (-1)^|S - U| 1[v meets L's conditions on U]
                            sum_{V in U} m(L, V)

of the leaves L below splits on all of S give the mean above, and I_S = 0 where no tree
splits on all of S. No row's curve is formed: what remains is a sum over leaves.

Once the mean curves of partial dependence are known, so is how much their flatness
depends on each of their values, and a row's influence is the product of that slope and
the row's own curve. As feature j moves, the slopes s_j of the values v that meet leaf
L's conditions on j add up to s_j(L), and the product is

    sum_v s_j(v) (f(x_i with x_ij := v) - f(x_i))
        = sum of value(L) (s_j(L) - s_j(all)), L the leaves that row i reaches unmoved,
        + sum of value(L) s_j(L), L those that it reaches by violating j alone,

so that no row's curve is formed. The lists of rows that count the masses add it up.
"""

from itertools import combinations, product

import numpy as np

from skvarimp._data.base_table import numbered
from skvarimp._response.reductions import Sample
from skvarimp._response.responses.trees.masses import (
    ORDER,
    Paths,
    add_found,
    count_masses,
    pass_on,
    set_number,
)
from skvarimp._response.responses.trees.pieces import TreeMove, distinct, first_of_each
from skvarimp._running.memory import HELD, numbers_at_once

ROWS_OF_LEAF = 50  # from so many on masses gain in plain NumPy


class Means:
    """Mean curves of rows as up to three features move.

    Parameters
    ----------
    paths : Paths
    codes : ndarray of shape (n_features, n_rows)
    weights : ndarray of shape (n_rows,)
    order : int
        How many features move at once, at most.
    """

    def __init__(self, paths, codes, weights, order):
        self.table, self.paths = paths.table, paths
        self.masses = [np.zeros(paths.first(size)[-1]) for size in range(order + 1)]
        unit, weights = 1.0, np.ascontiguousarray(weights, float)
        if np.all(weights == weights[0]):  # numbers of rows are exact
            weights, unit = None, weights[0]
        count_masses(paths, codes, weights, self.masses)
        self.masses = [unit * mass for mass in self.masses]
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
        members : list of TreeMove

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
            each, turn = numbered(count)
            which, sign = which[each], sign[each] * (2 * (turn % 2) - 1)
            place = place[each] * member.n_cells + steps[first[each] + turn]
            inside = 2 * inside[each] + (turn > 0)
        shape = [member.n_cells for member in members]
        sums = [
            np.bincount(place, sign * amount[inside, which], np.prod(shape))
            for amount in amounts
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


def counts_masses(response, n_rows, n_features):
    """Whether means come from masses: plain NumPy takes time for every list."""
    if response.link is not None or not 0 < n_features <= ORDER:
        return False
    n_leaves = np.count_nonzero(response.trees.feature < 0)
    visits_of_leaf = n_rows * len(response.trees.roots) / n_leaves
    return response.compiled or visits_of_leaf >= ROWS_OF_LEAF


class Averaged:
    """Mean curves of many moves of the same rows; see `Response.averaged`.

    Parameters
    ----------
    response : TreeResponse
    rows : Rows
    features : sequence of int
        Which may move.
    order : int
        How many of them at once; moves of more features take no masses.
    """

    def __init__(self, response, rows, features, order):
        self.response, self.rows, self.order = response, rows, order
        self.means, self._members = self._means(features, order), {}

    def _means(self, features, order):
        """`Means` of some features; None where masses of too many sets were kept."""
        response = self.response
        moving = np.zeros(len(response.trees.columns), dtype=bool)
        moving[features] = True
        paths = Paths(response.trees, moving)
        if paths.first(order)[-1] > numbers_at_once(HELD):
            return None
        codes = response.codes.by_feature(self.rows)
        return Means(paths, codes, self.rows.weights, order)

    def means_of(self, features):
        """`Means` of a few features; None where they have too many sets."""
        return self.means or self._means(features, len(features))

    def __call__(self, move):
        """The mean curve of a move, (n_outputs, n_values)."""
        response, trees = self.response, self.response.trees
        features, codes = response.codes.grid(self.rows.table, move)
        if not features:
            return np.zeros((response.n_outputs, move.n_cells))
        given = self.rows, features, codes
        if len(features) > self.order:
            return mean_of_group(response, *given)
        members = []
        for feature, own_codes in zip(features, codes.T[:, :, np.newaxis]):
            key = feature, own_codes.tobytes()
            if key not in self._members:
                self._members[key] = TreeMove(trees, None, move, [feature], own_codes)
            members.append(self._members[key])
        n_cells = np.prod([member.n_cells for member in members], dtype=float)
        means = self.means_of(features)
        if means is None or n_cells > numbers_at_once(HELD):
            return mean_of_group(response, *given)
        mean = means.mean(members)
        return mean[(slice(None), *(member.cell_of_value for member in members))]


def mean_of_group(response, rows, features, codes):
    """Mean curves over the joint codes of any number of features.

    Rows bring their weights to the leaves whose conditions on all other features they
    meet, and cells find them there.
    """
    trees, (cells, cell_of_value) = response.trees, distinct(codes)
    free = np.zeros(len(trees.columns), dtype=bool)
    free[features] = True
    asking = trees.trees_with(free)
    mean = np.zeros((trees.n_raw, len(cells)))
    own, weights = response.codes.by_feature(rows), rows.weights
    cell_codes = np.zeros((len(free), len(cells)), dtype=own.dtype)
    cell_codes[features] = cells.T
    brought, found = (own, weights[np.newaxis]), (cell_codes, mean)
    pass_on(trees, free, brought, found, trees.roots[asking])
    mean -= (trees.raw(own.T, asking) @ weights)[:, np.newaxis]
    return mean[:, cell_of_value]


def averaged_alone(response, walk):
    """`Averaged` of a walk's features that have one feature, which moves alone."""
    codes = [response.codes.features(feature) for feature in walk.moves.features]
    moving = sorted({some[0] for some in codes if len(some) == 1})
    return Averaged(response, walk.rows, moving, 1)


def mean_curves(averaged, walk, members):
    """Weighted sums over the rows of a walk, moved minus unmoved.

    Parameters
    ----------
    averaged : Averaged
    walk : Walk
    members : list of TreeMove

    Returns
    -------
    list of ndarray of shape (n_outputs, n_cells)
        One per member.
    """
    curves = []
    for member in members:
        if member.feature < 0:
            curves.append(np.zeros((averaged.response.n_outputs, member.n_cells)))
            continue
        means = averaged.means_of([member.feature])
        if means is not None:
            curves.append(means.mean([member]))
        else:
            first = first_of_each(member.cell_of_value)
            curves.append(averaged(walk.moves[member.position])[:, first])
    return curves


def with_slopes(walk, members, means):
    """Position of each member -> its mean curve over all rows, and the slope of that.

    Parameters
    ----------
    walk : Walk
        Over any rows.
    members : list of TreeMove
    means : list of ndarray of shape (n_outputs, n_cells)

    Returns
    -------
    dict
        int -> (mean, slope), ndarrays of shape (n_outputs, n_cells).
    """
    found = {}
    for member, mean in zip(members, means):
        sample = Sample(walk.rows, member.cells, np.ones(len(mean)))
        (reduction,) = walk.reductions_of(member.position)
        found[member.position] = mean, reduction.slope(mean[np.newaxis], sample)[0]
    return found


def products(response, codes, members, slopes):
    """Products of rows' curves, moved minus unmoved, with numbers of the cells.

    Parameters
    ----------
    response : TreeResponse
    codes : ndarray of shape (n_features, n_rows)
    members : list of TreeMove
        Each with a feature of its own, or with none.
    slopes : list of ndarray of shape (n_raw, n_cells)

    Returns
    -------
    list of ndarray of shape (n_raw, n_rows)
        One per member.
    """
    table, n_rows = response.trees, codes.shape[1]
    moving = np.zeros(len(table.columns), dtype=bool)
    total = np.zeros((table.n_raw, len(table.columns)))
    edge_slopes = np.zeros((table.n_raw, len(table.feature)))
    for member, slope in zip(members, slopes):
        if member.feature >= 0:
            edge_slopes[:, table.edges_on[member.feature]] = _over_edges(member, slope)
            total[:, member.feature], moving[member.feature] = slope.sum(axis=1), True
    paths = Paths(table, moving)
    value = paths.values[:, paths.sets(1)[0]]
    met = edge_slopes[:, paths.edges]
    amounts = np.empty((2, *value.shape))
    amounts[:] = value * (met - total[:, paths.features]), value * met
    # the last: what does not move
    sums = np.zeros((len(table.columns) + 1, table.n_raw, n_rows))
    add_found(paths, codes, amounts, sums[:-1])
    return [sums[member.feature] for member in members]


def _over_edges(member, slope):
    """Sums of a slope over the cells that each edge admits, (n_raw, n_edges)."""
    _, count, steps = member.edges
    behind = np.cumsum(slope[:, ::-1], axis=1)[:, ::-1]
    edge, turn = numbered(count)
    signed = behind[:, steps] * (1 - 2 * (turn % 2))
    return np.stack([np.bincount(edge, s, len(count)) for s in signed])
