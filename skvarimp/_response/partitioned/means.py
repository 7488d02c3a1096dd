"""Mean curves of trees over all partitions, for the slopes that a walk needs."""

from dataclasses import replace

import numpy as np

from skvarimp._data.partitions import Largest
from skvarimp._response.responses.trees.means import (
    mean_curves,
    serves,
    with_slopes,
)
from skvarimp._response.responses.trees.response import TreeResponse
from skvarimp._response.responses.trees.walks import member_of


def after_means(walk, partitions):
    """A `PartitionedWalk` with the means that it needs, by a pass of their own."""
    own = walk.of(partitions.head)
    members = _members(own, walk.n_rows)
    if not members:
        return walk
    means, size = partitions.passed(_sums, (walk,))
    return replace(walk, means=with_slopes(own, members, means, size.values))


def _members(walk, n_rows):
    """Moves in trees of which the means over so many rows are all that is wanted."""
    response = walk.response
    if not isinstance(response, TreeResponse):
        return []
    members = [
        member_of(response, walk, position)
        for position in range(len(walk.moves))
        if not response.is_group(walk.entry_of(position))
    ]
    return [m for m in members if serves(response, walk, m, n_rows)]


def _sums(part, walk):
    """Mean curves, the part of one partition, and the size of its responses."""
    own = walk.of(part)
    members = _members(own, walk.n_rows)
    means = mean_curves(own.response, own, members)
    return list(means), Largest(np.abs(own.base).max(axis=1))
