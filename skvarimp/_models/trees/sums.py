"""Sums over the leaves below each node, for all trees of an ensemble at once."""

import numpy as np


class Upwards:
    """The branch nodes of an ensemble by their depth, to add up leaves along them.

    Parameters
    ----------
    nodes : NodeTable
    """

    def __init__(self, nodes):
        self.nodes, self.levels, below = nodes, [], nodes.roots
        children = nodes.children.reshape(-1, 2)
        while len(below := below[nodes.feature[below] >= 0]):
            self.levels.append((below, *children[below].T))
            below = children[below].ravel()

    def sums(self, at_leaves):
        """Sums over the leaves below each node, of one number per node, (n_nodes,)."""
        sums = np.array(at_leaves, dtype=np.float64)
        for inner, right, left in reversed(self.levels):
            sums[inner] = sums[left] + sums[right]
        return sums

    def means(self, weight):
        """What each node would add as a leaf: the mean of its leaves by their weight.

        Leaves that no training row reached count only where a node has no others.

        Parameters
        ----------
        weight : ndarray of shape (n_nodes,)
            Of the training rows at each leaf.

        Returns
        -------
        ndarray of shape (n_raw, n_nodes)
        """
        leaf, values = self.nodes.feature < 0, self.nodes.values
        weight, number = self.sums(weight), self.sums(np.ones(len(leaf)))
        means = np.empty(values.shape)
        for of_raw, at_leaves in zip(means, values):
            of_raw[:] = self.sums(at_leaves) / number
            weighted = self.sums(weight * at_leaves)
            np.divide(weighted, weight, out=of_raw, where=weight > 0)
            of_raw[leaf] = at_leaves[leaf]
        return means
