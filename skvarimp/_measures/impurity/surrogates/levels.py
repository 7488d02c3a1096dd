"""A walk down many trees at once, level by level, with the rows of every node sorted.

Each column is sorted once for all trees. Descending one level is a stable partition:
the rows of all left children in turn, then those of all right children, so that every
node stays one run and every run stays sorted.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from skvarimp._measures.impurity.tables import LEAF

MISSING = np.iinfo(np.int32).max  # rank of NaN


class SortedColumns:
    """X by columns, sorted once for all trees.

    Parameters
    ----------
    X : ndarray or CSC matrix of shape (n_samples, n_features)
    nominal : ndarray of shape (n_features,), default=None
        Columns of unordered categories, coded 0, 1, ...

    Attributes
    ----------
    values : ndarray of shape (n_features, n_samples)
    order : ndarray of shape (n_features, n_samples)
        Rows in ascending order of each column, NaN last.
    rank : ndarray of shape (n_features, n_samples)
        Number of the distinct value at each place of `order`; `MISSING` for NaN.
    missing : bool
        Whether any value is NaN.
    nominal : ndarray of shape (n_features,)
    """

    def __init__(self, X, nominal=None):
        n_samples, n_features = X.shape
        X = X.toarray() if hasattr(X, "toarray") else X
        self.values = np.ascontiguousarray(X.T, dtype=np.float64)
        self.order = np.empty((n_features, n_samples), dtype=np.int32)
        self.rank = np.zeros((n_features, n_samples), dtype=np.int32)
        for j, column in enumerate(self.values):
            self.order[j] = np.argsort(column, kind="stable")
            ascending = column[self.order[j]]
            self.rank[j, 1:] = np.cumsum(ascending[1:] != ascending[:-1])
            self.rank[j, np.isnan(ascending)] = MISSING
        self.missing = bool(np.any(self.rank == MISSING))
        self.nominal = np.zeros(n_features, bool) if nominal is None else nominal

    def __len__(self):
        return len(self.values)

    def in_bag(self, grove, columns):
        """The slots of a grove sorted by tree, then by each of some columns.

        Parameters
        ----------
        grove : Grove
        columns : ndarray of shape (n_columns,)

        Returns
        -------
        order : ndarray of shape (1 + n_columns, n_slots)
            Slots; the first row holds them in their own order.
        rank : ndarray of shape (1 + n_columns, n_slots)
        """
        order = np.empty((1 + len(columns), grove.n_slots), dtype=np.intp)
        rank = np.zeros(order.shape, dtype=np.int32)
        order[0] = np.arange(grove.n_slots)
        bounds = np.searchsorted(grove.tree, np.arange(len(grove.roots) + 1))
        slot = np.full(self.values.shape[1], -1, dtype=np.intp)
        for start, stop in pairwise(bounds):
            slot[grove.row[start:stop]] = np.arange(start, stop)
            for j, column in enumerate(columns, start=1):
                slots = slot.take(self.order[column])
                used = np.flatnonzero(slots >= 0)
                order[j, start:stop] = slots.take(used)
                rank[j, start:stop] = self.rank[column].take(used)
            slot[grove.row[start:stop]] = -1
        return order, rank


@dataclass(frozen=True)
class Level:
    """The branch nodes of one depth, each a run of positions.

    Attributes
    ----------
    nodes : ndarray of shape (n_nodes,)
    starts, lengths : ndarray of shape (n_nodes,)
        Run of each node, the same in every row of `order`.
    order, rank : ndarray of shape (1 + n_columns, n_positions)
        As in `SortedColumns.in_bag`, by node first.
    segment : ndarray of shape (n_positions,)
        Index into `nodes`.
    left : ndarray of shape (n_positions,)
        Whether the slot at `order[0]` goes to the left child.
    """

    nodes: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray
    order: np.ndarray
    rank: np.ndarray
    segment: np.ndarray
    left: np.ndarray

    def restricted(self, kept):
        """The level without some slots, and without the nodes this empties.

        Parameters
        ----------
        kept : ndarray of shape (n_positions,)
            Mask along `order[0]`.
        """
        slots = self.order[0]
        destination = np.zeros(slots.max(initial=0) + 1, dtype=np.int8)
        destination[slots] = kept
        order, rank = _runs(self.order, self.rank, destination, (1,))
        lengths = np.bincount(self.segment[kept], minlength=len(self.nodes))
        alive = lengths > 0
        return _level(self.nodes[alive], lengths[alive], order, rank, self.left[kept])


def _level(nodes, lengths, order, rank, left):
    starts = np.cumsum(lengths) - lengths
    segment = np.repeat(np.arange(len(nodes)), lengths)
    return Level(nodes, starts, lengths, order, rank, segment, left)


def levels(grove, order, rank):
    """Walk down all trees of a grove, one depth at a time.

    Parameters
    ----------
    grove : Grove
    order, rank : ndarray of shape (1 + n_columns, n_slots)
        From `SortedColumns.in_bag`.

    Yields
    ------
    Level
    """
    branches = grove.left != LEAF
    grown = branches[grove.roots]
    destination = grown[grove.tree].astype(np.int8)
    if not destination.all():
        order, rank = _runs(order, rank, destination, (1,))
    nodes = grove.roots[grown]
    lengths = np.bincount(grove.tree, minlength=len(grove.roots))[grown]
    while len(nodes := nodes[lengths > 0]):
        lengths = lengths[lengths > 0]
        slots = order[0]
        left = grove.goes_left(slots, np.repeat(nodes, lengths))
        level = _level(nodes, lengths, order, rank, left)
        yield level

        children = grove.left[nodes], grove.right[nodes]
        kept = [branches[c] for c in children]
        n_left = np.add.reduceat(left, level.starts, dtype=np.intp)
        left_run, right_run = (k[level.segment] for k in kept)
        destination[slots] = np.where(left, left_run, 2 * right_run)
        order, rank = _runs(order, rank, destination, (1, 2))
        nodes = np.concatenate([c[k] for c, k in zip(children, kept)])
        lengths = np.concatenate([n_left[kept[0]], (lengths - n_left)[kept[1]]])


def _runs(order, rank, destination, which):
    """Slots of each destination in turn, otherwise in the order they had."""
    where = destination.take(order)
    runs = [np.flatnonzero(where == k).reshape(len(order), -1) for k in which]
    picked = np.concatenate(runs, axis=1)
    return order.ravel().take(picked), rank.ravel().take(picked)
