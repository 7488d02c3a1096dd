"""What a search for surrogate splits is asked for, and what it finds."""

from dataclasses import dataclass, fields

import numpy as np

TOLERANCE = 1e-10  # associations this close are tied; not above it is no association


@dataclass(frozen=True)
class Rules:
    """Which surrogate splits count, and what is wanted of them.

    Attributes
    ----------
    n_kept : int or None
        The largest number per node; None for all of positive association.
    min_rows : int
        Rows that a surrogate must leave on each side.
    class_boundary : bool
        No cut between two values that hold only one and the same class.
    criterion : object or None
        Where given, the decrease that each surrogate's own split makes.
    """

    n_kept: int | None = None
    min_rows: int = 1
    class_boundary: bool = False
    criterion: object = None


@dataclass
class Surrogates:
    """Surrogate splits found in a grove, by node and rank.

    Attributes
    ----------
    node, feature : ndarray of shape (n_surrogates,)
        Nodes as numbered in the grove.
    association, threshold : ndarray of shape (n_surrogates,)
        The threshold on a nominal column, which has none, is NaN.
    direction : ndarray of shape (n_surrogates,)
        +1: x <= threshold goes where the primary's left goes; -1: the other way.
    decrease : ndarray of shape (n_surrogates,)
        Decrease of weight times impurity by the surrogate's own split; NaN where it
        was not asked for.
    rank : ndarray of shape (n_surrogates,)
        1 for the best of its node.
    """

    node: np.ndarray
    feature: np.ndarray
    association: np.ndarray
    threshold: np.ndarray
    direction: np.ndarray
    decrease: np.ndarray
    rank: np.ndarray

    def take(self, which):
        """The surrogates picked by a slice, an index or a mask."""
        return Surrogates(*(a[which] for a in _columns(self)))

    def keep(self, which):
        """The same in place, one field after the other."""
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name)[which])

    @classmethod
    def joined(cls, parts):
        """Several in one, in turn; `parts` is emptied, as a deep tree has many."""
        whole, real = np.zeros(0, dtype=np.int32), np.zeros(0)
        nothing = cls(whole, whole, real, real, whole.astype(np.int8), real, whole)
        columns = zip(*map(_columns, [nothing, *parts]))
        found = cls(*map(np.concatenate, columns))
        parts.clear()
        return found


def _columns(found):
    return [getattr(found, field.name) for field in fields(found)]


def sort_by_rank(found):
    """Sort by node, then association; ties go to the lowest column. In place.

    Parameters
    ----------
    found : Surrogates
    """
    if not len(found.node):
        return
    order = np.lexsort((found.feature, -found.association, found.node))
    node, association = found.node[order], found.association[order]
    new_node = np.append(True, node[1:] != node[:-1])
    drop = np.append(True, association[:-1] - association[1:] > TOLERANCE)
    group = np.cumsum(new_node | drop)
    found.keep(order[np.lexsort((found.feature[order], group))])
    start = np.flatnonzero(new_node)
    lengths = np.diff(np.append(start, len(node)))
    rank = np.arange(1, len(node) + 1) - np.repeat(start, lengths)
    found.rank = rank.astype(np.int32)


def sums_exactly(grove):
    """Whether sums of a grove's weights are exact: distinct ones are not tied then.

    Parameters
    ----------
    grove : Grove

    Returns
    -------
    bool
        True for whole weights; eight times a tree's sum must fit in 32 bits.
    """
    largest = np.bincount(grove.tree, grove.weight).max(initial=0.0)
    return bool(largest < 2**28 and np.all(grove.weight == np.rint(grove.weight)))


def class_codes(grove):
    """One code for the classes of all outputs together, (n_slots,)."""
    _, codes = np.unique(grove.target, axis=0, return_inverse=True)
    return codes.ravel()


def midpoint(below, above):
    """Midway between two values, such that below <= threshold < above."""
    with np.errstate(invalid="ignore"):  # -inf and inf have no middle
        middle = below / 2 + above / 2
    return np.where((below <= middle) & (middle < above), middle, below)
