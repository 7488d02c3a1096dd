"""Partial dependence of all features of a tree ensemble, and each row's share in it.

The mean curves come from the masses of `masses`. Once they are known, so is how much
their flatness depends on each of their values, and a row's influence is the product of
that slope and the row's own curve: a sum over the steps of the curve, so that no row's
curve is kept.
"""

import numpy as np

from skvarimp._response.reductions.reductions import PartialDependence
from skvarimp._response.responses.trees.masses import Averaged

ROWS_OF_LEAF = 5  # from so many on, counting masses takes less time than summing curves


def serves(response, walk, members):
    """Whether mean curves of different features are all that is wanted of members."""
    members = [member for member in members if member.feature >= 0]
    if response.link is not None or not walk.final or not members:
        return False
    trees = response.trees
    n_leaves = np.count_nonzero(trees.feature < 0)
    if len(walk.rows) * len(trees.roots) < ROWS_OF_LEAF * n_leaves:
        return False
    if len({member.feature for member in members}) < len(members):
        return False
    return all(
        member.parts is None
        and [type(r) for r in walk.reductions_of(member.position)]
        == [PartialDependence]
        for member in members
    )


def mean_curves(response, walk, members):
    """Mean moved minus unmoved of each member, and the slope of its flatness.

    Parameters
    ----------
    response : TreeResponse
    walk : Walk
    members : list of Member

    Returns
    -------
    dict
        Position of each member with a feature -> (mean, slope), ndarrays of shape
        (n_outputs, n_cells).
    """
    members = [member for member in members if member.feature >= 0]
    features = [member.feature for member in members]
    averaged = Averaged(response, walk.table, walk.rows, walk.weights, features, 1)
    found = {}
    for member in members:
        move = walk.moves[member.position]
        _, first = np.unique(member.cell_of_value, return_index=True)
        mean = averaged(move)[:, first]
        scale = np.ones(len(mean))
        sample = walk.sample([move], scale, member.cell_of_value)
        (reduction,) = walk.reductions_of(member.position)
        found[member.position] = mean, reduction.slope(mean[np.newaxis], sample)[0]
    return found
