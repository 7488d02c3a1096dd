"""Partial dependence of all features of a tree ensemble, and its signed sums by group.

The masses of `masses`, of sets of at most one feature, group of rows by group: with S
the steps of the leaves' conditions on a feature over its cells, the sums of a group are

    sum_L value(L) ((m(L, {}) + m(L, {feature})) S[L] - m(L, {})).
"""

import numpy as np
from scipy import sparse

from skvarimp._response.reductions.reductions import PartialDependence
from skvarimp._response.reductions.states import State
from skvarimp._response.responses.trees.masses import Paths
from skvarimp._running.memory import BLOCK, slices

ROWS_OF_GROUP = 50  # from so many on, masses take less time than rows' own steps


def least_rows(reductions, members, n_outputs):
    """From how many rows on group means gain; None where more than means is wanted.

    Parameters
    ----------
    reductions : list of list of Reduction
        Those of each member.
    members : list of Member
    n_outputs : int
    """
    if not all(
        len(of_member) == 1 and type(of_member[0]) is PartialDependence
        for of_member in reductions
    ):
        return None
    largest = n_outputs * max(member.n_cells for member in members)
    reduction = reductions[0][0]
    n_groups = {of_member[0].n_groups for of_member in reductions}
    if reduction.groups_that_fit(largest) != reduction.n_groups or len(n_groups) > 1:
        return None
    return ROWS_OF_GROUP * reduction.n_groups


def group_means(response, members, codes, reduction, weights, rows):
    """The states of `PartialDependence` of some members, (n_members,).

    Parameters
    ----------
    response : TreeResponse
    members : list of Member
    codes : ndarray of shape (n_rows, n_features)
    reduction : PartialDependence
    weights : ndarray of shape (n_rows,)
    rows : slice
        Which of the evaluated rows these are.

    Returns
    -------
    list of list of State
    """
    table, groups = response.trees, reduction.groups[rows]
    order = np.argsort(groups, kind="stable")
    bounds = np.searchsorted(groups[order], np.arange(reduction.n_groups + 1))
    signs = reduction.signs[rows] * np.sqrt(weights)
    both = np.stack([weights, signs], axis=1)[order]
    codes = np.ascontiguousarray(codes[order].T)
    moving = np.zeros(len(table.columns), dtype=bool)
    moving[[member.feature for member in members]] = True
    paths = Paths(table, moving)
    sums = [_Sums(paths, member, reduction.n_groups) for member in members]
    sizes = [int(paths.first(size)[-1]) for size in (0, 1)]
    for some in slices(reduction.n_groups, 2 * sum(sizes), BLOCK):
        n_some = some.stop - some.start
        masses = [np.zeros((n_some, size, 2)) for size in sizes]
        for g in range(n_some):
            first, last = bounds[some.start + g], bounds[some.start + g + 1]
            if first == last:
                continue
            response.mass_counter(
                paths,
                codes[:, first:last],
                both[first:last],
                [of_size[g] for of_size in masses],
            )
        for of_member in sums:
            of_member.add(masses, some)
    return [[of_member.state()] for of_member in sums]


class _Sums:
    """The sums of one member, of all rows and of each group."""

    def __init__(self, paths, member, n_groups):
        table, first = paths.table, paths.first(1)
        self.sets = np.flatnonzero(table.edge_feature[paths.edges] == member.feature)
        leaf = np.searchsorted(first, self.sets, side="right") - 1
        self.own, self.values = paths.first(0)[leaf], paths.values[:, leaf]
        rank = table.edge_rank[paths.edges[self.sets]]
        count = member.count[rank].astype(np.intp)
        turn = np.arange(count.sum()) - (np.cumsum(count) - count).repeat(count)
        cell = member.steps[member.start[rank].repeat(count) + turn]
        which = np.arange(len(rank)).repeat(count)
        shape = (len(rank), member.n_cells)
        self.steps = sparse.csr_array((1.0 - 2.0 * (turn % 2), (which, cell)), shape)
        n_raw = len(self.values)
        self.cells = np.zeros((n_raw, member.n_cells))
        self.sketch = np.zeros((n_raw, n_groups, member.n_cells))

    def add(self, masses, some):
        """Add the masses of some groups, (n_some, n_sets, 2)."""
        own = masses[0][:, self.own]
        inside = own + masses[1][:, self.sets]
        for o, values in enumerate(self.values):
            self.cells[o] += (inside[..., 0].sum(axis=0) * values) @ self.steps
            self.cells[o, 0] -= own[..., 0].sum(axis=0) @ values
            self.sketch[o, some] = (inside[..., 1] * values) @ self.steps
            self.sketch[o, some, 0] -= own[..., 1] @ values

    def state(self):
        """The `State` of all rows."""
        cells = np.cumsum(self.cells, axis=1)[np.newaxis]
        sketch = np.cumsum(self.sketch, axis=2, out=self.sketch)[np.newaxis]
        return State(cells=cells, sketch=sketch)
