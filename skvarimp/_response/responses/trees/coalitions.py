"""Mean responses of coalitions of a tree ensemble, by two descents each.

With L the leaves of all trees, v(L) their values, and S the features that rows keep,

    sum_i a_i f(x_iS, x_k,-S) = sum_L v(L) 1[x_k meets L's conditions off S]
                                sum_i a_i 1[x_i meets L's conditions on S].

Entries interact only if they are split on on the way to one leaf. So each tree has
components of few sets.
"""

import numpy as np

from skvarimp._response.coalitions import Coalitions, Family
from skvarimp._response.responses.trees.masses import CodedRows, FreePaths, Paths
from skvarimp._response.responses.trees.means import lists_of


class TreeCoalitions(Coalitions):
    """Of a sum of trees without a link.

    Parameters
    ----------
    response : TreeResponse
    table, weights, base, entries : see `Coalitions`
    """

    draws_donors = False

    def __init__(self, response, table, weights, base, entries):
        super().__init__(response, table, weights, base, entries)
        self.trees = response.trees
        codes = np.ascontiguousarray(response.codes.rows(table).T)
        self.rows = CodedRows(self.trees, codes)
        self.owner = np.full(len(self.trees.columns), -1)  # the entry of each feature
        for e in self.varying:
            self.owner[response.codes.features(entries[e])] = e

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
        result = np.zeros((len(family.sets), *self.base.shape))
        weights = self.weights[np.newaxis]
        for root, part in zip(self.trees.roots, family.parts):
            means = [self._passed(s, weights, np.array([root])) for s in part.sets]
            found = part.components(np.stack(means) - means[0])
            for members, of_set in zip(part.sets, found):
                result[place[members]] += of_set
        return result

    def means(self, known):
        """F_S of the known entries, (n_entries,) bool, for each row; as `base`."""
        offset, donors = self.response.offset[:, np.newaxis], self.weights[np.newaxis]
        return offset + self._passed(np.flatnonzero(known), donors)

    def donated(self, known, amounts):
        """Sums over the rows, each of which keeps its known entries.

            result[o, k] = sum_i amounts[o, i] f_o(x_i,known, x_k,-known)

        Numbers that are the same for all coalitions and amounts of one sum are left
        out.

        Parameters
        ----------
        known : ndarray of shape (n_entries,), bool
        amounts : ndarray of shape (n_outputs, n_samples)
        """
        # features in no entry have the number -1
        return self._passed([-1, *np.flatnonzero(~known)], amounts)

    def _passed(self, members, amounts, roots=None):
        """What rows find at the leaves that other rows bring something to.

        Parameters
        ----------
        members : sequence of int
            Entries whose conditions the rows need not meet that bring something; those
            that find it need not meet the others.
        amounts : ndarray of shape (n_raw, n_rows) or (1, n_rows)
            What each row brings.
        roots : ndarray of shape (n_trees,), default=None
            Of the trees that rows go down; None: of all.

        Returns
        -------
        ndarray of shape (n_raw, n_rows)
        """
        lists, trees = lists_of(self.response), self.trees
        free = np.isin(self.owner, members)
        brought, found = FreePaths(trees, free), FreePaths(trees, ~free)
        masses = np.zeros((len(amounts), len(trees.feature)))
        for of_leaves, of_rows in zip(masses, np.ascontiguousarray(amounts)):
            lists.count_masses(brought, self.rows, of_rows, [of_leaves], roots)
        held = (masses * trees.values)[np.newaxis]
        result = np.zeros(self.base.shape)
        lists.add_found(found, self.rows, held, result[np.newaxis], roots)
        return result
