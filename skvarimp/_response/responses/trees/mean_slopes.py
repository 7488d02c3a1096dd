"""Partial dependence of all features of a tree ensemble, and each row's share in it.

The mean curves come from the masses of `masses`. Once they are known, so is how much
their flatness depends on each of their values, and a row's influence is the product of
that slope and the row's own curve. As feature j moves, the slopes s_j of the values v
that meet leaf L's conditions on j add up to s_j(L), and the product is

    sum_v s_j(v) (f(x_i with x_ij := v) - f(x_i))
        = sum of value(L) (s_j(L) - s_j(all)), L the leaves that row i reaches unmoved,
        + sum of value(L) s_j(L), L those that it reaches by violating j alone,

so that no row's curve is formed. The lists of rows that count the masses add it up.
"""

from dataclasses import replace

import numpy as np

from skvarimp._response.reductions.reductions import PartialDependence
from skvarimp._response.responses.trees import answers
from skvarimp._response.responses.trees.curves import first_of_each
from skvarimp._response.responses.trees.masses import Averaged, Paths

ROWS_OF_LEAF = 5  # from so many on, counting masses takes less time than summing curves


def serves(response, walk, member, n_rows):
    """Whether the mean curve over `n_rows` rows is all that is wanted of a member."""
    if response.link is not None or member.feature < 0 or member.parts is not None:
        return False
    n_leaves = np.count_nonzero(response.trees.feature < 0)
    if n_rows * len(response.trees.roots) < ROWS_OF_LEAF * n_leaves:
        return False
    wanted = walk.reductions_of(member.position)
    return [type(reduction) for reduction in wanted] == [PartialDependence]


def mean_curves(response, walk, members):
    """Weighted sums over the rows of a walk, moved minus unmoved.

    Parameters
    ----------
    response : TreeResponse
    walk : Walk
    members : list of Member

    Returns
    -------
    list of ndarray of shape (n_outputs, n_cells)
        One per member.
    """
    features = [member.feature for member in members]
    averaged = Averaged(response, walk.table, walk.rows, walk.weights, features, 1)
    return [
        averaged(walk.moves[m.position])[:, first_of_each(m.cell_of_value)]
        for m in members
    ]


def with_slopes(walk, members, means, size):
    """Position of each member -> its mean curve over all rows, and the slope of that.

    Parameters
    ----------
    walk : Walk
        Over any rows.
    members : list of Member
    means : list of ndarray of shape (n_outputs, n_cells)
    size : ndarray of shape (n_outputs,)
        Of the largest response of all rows.

    Returns
    -------
    dict
        int -> (mean, slope), ndarrays of shape (n_outputs, n_cells).
    """
    found = {}
    for member, mean in zip(members, means):
        move, cells = walk.moves[member.position], member.cell_of_value
        sample = walk.sample([move], np.ones(len(mean)), cells)
        sample = replace(sample, base=size[:, np.newaxis])
        (reduction,) = walk.reductions_of(member.position)
        found[member.position] = mean, reduction.slope(mean[np.newaxis], sample)[0]
    return found


def products(response, codes, members, slopes):
    """Products of rows' curves, moved minus unmoved, with numbers of the cells.

    Parameters
    ----------
    response : TreeResponse
    codes : ndarray of shape (n_rows, n_features)
    members : list of Member
        Each with a feature of its own.
    slopes : list of ndarray of shape (n_raw, n_cells)

    Returns
    -------
    ndarray of shape (n_members, n_raw, n_rows)
    """
    table, moves = response.trees, [member.feature for member in members]
    moving, total = np.zeros((2, table.n_raw, len(table.columns)))
    moving[:, moves] = 1.0
    of_edges = np.zeros((table.n_raw, len(table.feature)))
    for member, slope in zip(members, slopes):
        of_edges[:, table.edges_on(member.feature)] = _over_edges(member, slope)
        total[:, member.feature] = slope.sum(axis=1)
    paths = Paths(table, moving[0] > 0)
    value = paths.values[:, paths.sets(1)[0]]
    met = of_edges[:, paths.edges]
    amounts = np.empty((2, *value.shape))
    amounts[:] = value * (met - total[:, paths.features]), value * met
    sums = np.zeros((len(table.columns), table.n_raw, len(codes)))
    for roots, kind, codes_of in answers.alike(table, np.ascontiguousarray(codes.T)):
        if kind is None:
            response.add_found(paths, roots, codes_of, amounts, sums)
            continue
        of_kinds = np.zeros((*sums.shape[:2], answers.KINDS))
        response.add_found(paths, roots, codes_of, amounts, of_kinds)
        for of_feature, found in zip(sums, of_kinds):
            if found.any():
                of_feature += found[:, kind]
    return sums[moves]


def _over_edges(member, slope):
    """Sums of a slope over the cells that each edge admits, (n_raw, n_edges)."""
    start, count, steps = member.edges
    behind = np.cumsum(slope[:, ::-1], axis=1)[:, ::-1]
    turn = np.arange(len(steps)) - start.repeat(count)
    signed = behind[:, steps] * (1 - 2 * (turn % 2))
    edge = np.arange(len(count)).repeat(count)
    return np.stack([np.bincount(edge, s, len(count)) for s in signed])
