"""Columns that move together, and coalitions of columns, in a tree ensemble.

The mean response of a coalition takes two descents.

With L the leaves of all trees, v(L) their values, and S the features that rows keep,

    sum_i a_i f(x_iS, x_k,-S) = sum_L v(L) 1[x_k meets L's conditions off S]
                                sum_i a_i 1[x_i meets L's conditions on S].

Features interact only if they are split on on the way to one leaf. So each tree has
components of few sets.
"""

import numpy as np
from scipy import sparse

from skvarimp._response.coalitions import Coalitions, Family
from skvarimp._response.responses.trees.curves import descents, rows_at_once
from skvarimp._response.responses.trees.masses import Paths, pass_on
from skvarimp._running.memory import HELD, even_slices, numbers_at_once


def moved_together(table, features, cells, codes):
    """Raw outputs moved minus unmoved as columns move together.

    A leaf's conditions split into those on the moved columns and all others. With

        A[i, l] = row i meets leaf l's conditions on the columns that stay,
        B[l, k] = the values of cell k meet those on the columns that move,

    exactly one leaf of each tree has A[i, l] B[l, k] = 1, so that with v the leaves'
    values and own(i, l) the leaf of l's tree that row i is in unmoved

        moved[i, k] = sum_l A[i, l] (v[l] - v[own(i, l)]) B[l, k].

    Parameters
    ----------
    table : TreeTable
    features : list of int
    cells : ndarray of shape (n_cells, len(features))
        Distinct joint codes.
    codes : ndarray of shape (n_rows, n_features)

    Returns
    -------
    ndarray of shape (n_raw, n_rows, n_cells)
    """
    moving = np.zeros(len(table.columns), dtype=bool)
    moving[features] = True
    cell_codes = np.zeros((len(cells), len(moving)), dtype=codes.dtype)
    cell_codes[:, features] = cells
    if rows_reach_fewer(table, moving):
        return _over_leaves(table, moving, codes, cell_codes, moving)
    moved = _over_leaves(table, ~moving, cell_codes, codes, moving).transpose(0, 2, 1)
    moved -= table.raw(codes, table.trees_with(moving))[:, :, np.newaxis]
    # a row moved to its own values is exactly where it was
    own = _key(codes[:, features])[:, np.newaxis] == _key(cells)
    moved[:, own] = 0.0
    return moved


def rows_reach_fewer(table, moving):
    """Whether rows will meet the conditions of fewer leaves than cells do."""
    splits = table.feature[table.feature >= 0]
    return 2 * np.count_nonzero(moving[splits]) <= len(splits)


def _over_leaves(table, free, codes, others, moving):
    """Sums over the leaves in all trees that split on features that move.

    The codes go down the trees, both ways at every split that they leave open. The
    leaves that they meet are kept sparse; whether the others meet these is dense, some
    leaves at a time.

    Parameters
    ----------
    table : TreeTable
    free : ndarray of shape (n_features,), bool
        Features that the codes leave open, and that the others are asked about.
    codes, others : ndarray of shape (n, n_features)
    moving : ndarray of shape (n_features,), bool
        If these are free, the codes are the rows: their own leaves count as 0.

    Returns
    -------
    ndarray of shape (n_raw, len(codes), len(others))
    """
    trees, asked = table.trees_with(moving), np.flatnonzero(free)
    result = np.zeros((table.n_raw, len(codes), len(others)))
    step = max(1, numbers_at_once(HELD) // len(others))
    at_once = rows_at_once(table, len(trees))
    for part, descent, path, leaf, _ in descents(
        table, codes, trees, free, at_once, together=True
    ):
        values = table.values.take(leaf, axis=1)
        if free is moving:
            values = descent.changes(path, leaf)
        leaves, column = np.unique(leaf, return_inverse=True)
        where, shape = (descent.row(path), column), (descent.n_rows, len(leaves))
        reached = [sparse.csc_array((value, where), shape) for value in values]
        edges = [table.last_edge(leaves, feature) for feature in asked]
        for some in even_slices(len(leaves), step):
            meets = np.ones((some.stop - some.start, len(others)), dtype=bool)
            for feature, edge in zip(asked, edges):
                if np.any(edge[some] >= 0):
                    meets &= table.admits(edge[some], feature, others[:, feature])
            meets = meets.astype(np.float64)
            for sums, leaf_values in zip(result, reached):
                sums[part] += leaf_values[:, some] @ meets
    return result


def _key(codes):
    """One value per row of codes, equal for equal rows."""
    codes = np.ascontiguousarray(codes, dtype=np.int32)
    return codes.view([("", np.int32)] * codes.shape[1]).ravel()


class TreeCoalitions(Coalitions):
    """Of a sum of trees without a link.

    Parameters
    ----------
    response : TreeResponse
    rows, features : see `Coalitions`
    """

    draws_donors = False

    def __init__(self, response, rows, features):
        super().__init__(response, rows, features)
        self.trees = response.trees
        self.codes = np.ascontiguousarray(response.codes.rows(rows.table).T)
        self.owner = np.full(len(self.trees.columns), -1)  # the feature of each feature
        for e in self.varying:
            self.owner[response.codes.features(features[e])] = e

    def family(self, order=np.inf):
        """The union of the families of the trees, which are its `parts`."""
        paths = Paths(self.trees, np.ones(len(self.owner), dtype=bool))
        first, owner = paths.first(1).tolist(), self.owner[paths.features].tolist()
        on_paths = [set() for _ in self.trees.roots]
        for leaf in np.flatnonzero(self.trees.feature < 0).tolist():
            members = frozenset(owner[first[leaf] : first[leaf + 1]]) - {-1}
            on_paths[self.trees.tree[leaf]].add(members)
        parts = [Family.below(s, order, self.most_sets) for s in on_paths]
        if None in parts:
            return None
        every = {members for part in parts for members in part.sets}
        return Family.below(every, order, self.most_sets, parts)

    def cost(self, family):
        """Sets of each tree, and sums over sets; see `game.row_shares`."""
        n_descents = sum(2 * len(part.sets) for part in family.parts)
        n_sums = 0.4 * family.sizes.max() * family.sizes.sum()
        return (n_descents + n_sums) / (4 * len(self.trees.roots))

    def components(self, family):
        place = {members: s for s, members in enumerate(family.sets)}
        result = np.zeros((len(family.sets), *self.rows.base.shape))
        weights = self.rows.weights[np.newaxis]
        for root, part in zip(self.trees.roots, family.parts):
            means = [self._passed(s, weights, np.array([root])) for s in part.sets]
            found = part.components(np.stack(means) - means[0])
            for members, mean in zip(part.sets, found):
                result[place[members]] += mean
        return result

    def means(self, known):
        """F_S of the known features, (n_features,) bool, for each row; as `base`."""
        offset, donors = (
            self.response.offset[:, np.newaxis],
            self.rows.weights[np.newaxis],
        )
        return offset + self._passed(np.flatnonzero(known), donors)

    def donated(self, known, amounts):
        """Sums over the rows, each of which keeps its known features.

            result[o, k] = sum_i amounts[o, i] f_o(x_i,known, x_k,-known)

        Numbers that are the same for all coalitions and amounts of one sum are left
        out.

        Parameters
        ----------
        known : ndarray of shape (n_features,), bool
        amounts : ndarray of shape (n_outputs, n_samples)
        """
        # features in no feature have the number -1
        return self._passed([-1, *np.flatnonzero(~known)], amounts)

    def _passed(self, members, amounts, roots=None):
        """What rows find at the leaves that other rows bring something to.

        Parameters
        ----------
        members : sequence of int
            Features whose conditions the rows need not meet that bring something; those
            that find it need not meet the others.
        amounts : ndarray of shape (n_raw, n_rows) or (1, n_rows)
            What each row brings.
        roots : ndarray of shape (n_trees,), default=None
            Of the trees that rows go down; None: of all.

        Returns
        -------
        ndarray of shape (n_raw, n_rows)
        """
        result = np.zeros(self.rows.base.shape)
        brought, found = (self.codes, amounts), (self.codes, result)
        pass_on(self.trees, np.isin(self.owner, members), brought, found, roots)
        return result
