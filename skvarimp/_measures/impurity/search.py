"""The work of `ImpurityImportance` that needs the training data, tree by tree."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from skvarimp._measures.impurity.surrogates.find import find_surrogates
from skvarimp._measures.impurity.surrogates.splits import Rules, Surrogates
from skvarimp._measures.impurity.tables import Grove, check_training
from skvarimp._running.memory import CACHE, numbers_at_once


@dataclass(frozen=True)
class Plan:
    """What to compute from the training data.

    Attributes
    ----------
    criterion : object or None
        Where splits have to be judged anew.
    own : bool
        Whether that is the trees' own criterion, so that their recorded decreases
        serve to check the target.
    rules : Rules or None
        Which surrogates to find.
    compiled : bool
        Whether compiled kernels find them.
    """

    criterion: object
    own: bool
    rules: Rules | None
    compiled: bool = False

    @property
    def with_target(self):
        """Whether the trees' targets are needed."""
        boundary = self.rules is not None and self.rules.class_boundary
        return self.criterion is not None or boundary


@dataclass
class Findings:
    """One tree's result.

    Attributes
    ----------
    decrease : ndarray of shape (n_nodes,)
        Of weight times impurity, by the primary splits.
    surrogates : Surrogates or None
        Nodes as numbered in the tree.
    credit : ndarray of shape (n_surrogates,) or None
        What each surrogate earns.
    """

    decrease: np.ndarray
    surrogates: Surrogates | None = None
    credit: np.ndarray | None = None


def batches(tables, trainings, n_features):
    """Trees put together until a batch is worth an array operation.

    Yields
    ------
    tuple of (int, list of Tree, list of Training)
        With the number of the first tree.
    """
    first, held, size = 0, [], 0
    for t, (table, training) in enumerate(zip(tables, trainings)):
        n_pairs = np.count_nonzero(training.weight) * n_features
        if held and size + n_pairs > numbers_at_once(CACHE):
            yield first, *map(list, zip(*held))
            first, held, size = t, [], 0
        held.append((table, training))
        size += n_pairs
    yield first, *map(list, zip(*held))


def search_batch(batch, columns, plan):
    """Findings of the trees of one batch.

    Parameters
    ----------
    batch : tuple
        From `batches`.
    columns : SortedColumns
    plan : Plan

    Returns
    -------
    list of Findings
    """
    first, tables, trainings = batch
    for t, (table, training) in enumerate(zip(tables, trainings), start=first):
        check_training(table, training, t)
    grove = Grove(tables, trainings)
    decrease = grove.decrease
    if plan.criterion is not None:
        # Anew also where recorded: trees take differences of large numbers, and equal
        # partitions are to earn alike.
        decrease = plan.criterion.primary_decreases(grove)
        if plan.own:
            _check_target(grove, plan.criterion, decrease)
    bounds = [*grove.root, len(grove.left)]
    nodes = [slice(a, b) for a, b in pairwise(bounds)]
    if plan.rules is None:
        return [Findings(decrease[own]) for own in nodes]

    found = find_surrogates(grove, columns, plan.rules, plan.compiled)
    if plan.rules.criterion is None:  # the rpart convention
        credit = found.association * decrease[found.node]
    else:
        credit = found.decrease
    places = np.searchsorted(found.node, bounds)
    found.node = found.node - grove.root[grove.tree_of_node[found.node]]
    runs = [slice(a, b) for a, b in pairwise(places)]
    return [
        Findings(decrease[own], found.take(run), credit[run])
        for own, run in zip(nodes, runs)
    ]


def _check_target(grove, criterion, decrease):
    """Raise ValueError where the trees' own criterion gives other decreases."""
    # Trees take differences of larger numbers, rounded at the scale of those.
    scale = criterion.scale(grove.target)
    scale = np.bincount(grove.tree, grove.weight * scale, len(grove.root))
    recorded = grove.decrease
    allowed = 1e-6 * np.abs(recorded) + 1e-11 * scale[grove.tree_of_node]
    wrong = np.abs(decrease - recorded) > allowed
    if wrong.any():
        node = int(np.argmax(wrong))
        raise ValueError(
            "y is not the training target: a split of a tree took away "
            f"{recorded[node]:.6g} of impurity times weight, but with this y it takes "
            f"away {decrease[node]:.6g}. Pass the X and y the estimator was fitted "
            "with, rows in the same order."
        )
