"""scikit-survival's models: the trees and the linear scores that predict a risk."""

import numpy as np

from skvarimp._data.base_table import dense, is_single
from skvarimp._models.array_forms import Additive
from skvarimp._models.links import EXPONENTIAL, IDENTITY
from skvarimp._models.trees import Tree, Trees


def read_trees(model, table):
    """The form of a survival tree, or of a forest of them: a mean of risks."""
    estimator = model.estimator
    members = getattr(estimator, "estimators_", [estimator])
    trees = [_tree(m.tree_, _risks(m) / len(members)) for m in members]
    return Trees(trees)


def _risks(member):
    """The cumulative hazard of each node, summed over the event times, (n_nodes, 1)."""
    hazards = member.tree_.value[:, :, 0]  # (n_nodes, n_times)
    if member.low_memory:  # the tree keeps the sums alone
        return hazards
    return np.einsum("kt,t->k", hazards, member.is_event_time_)[:, np.newaxis]


def _tree(tree, values):
    """A `Tree` without impurities, which these trees do not keep."""
    left = tree.children_left
    return Tree(
        np.where(left >= 0, tree.feature, -1),
        tree.threshold,
        left,
        tree.children_right,
        tree.missing_go_to_left.astype(bool),
        values,
        weight=tree.weighted_n_node_samples,
    )


def read_boosted_trees(model, table):
    """The form of gradient boosting, which starts from 0: see `_boosting_link`."""
    estimator = model.estimator
    members = estimator.estimators_[:, 0]
    # no public attribute holds the weights that dropping trees out gave the trees
    weights = getattr(estimator, "_scale", np.ones(len(members)))
    rates = estimator.learning_rate * weights
    trees = [_tree(m.tree_, r * m.tree_.value[:, 0]) for m, r in zip(members, rates)]
    stages = np.arange(len(trees))
    return Trees(trees, link=_boosting_link(estimator), stages=stages)


def _boosting_link(estimator):
    """Of log hazards, which are the response, or of the logarithms of times."""
    return IDENTITY if estimator.loss == "coxph" else EXPONENTIAL


def read_componentwise(model, table):
    """The form of boosting by single columns, whose steps add up to coefficients."""
    coef = model.estimator.coef_  # of the intercept first
    link = _boosting_link(model.estimator)
    return Additive(weights=coef[1:, np.newaxis], intercept=coef[:1], link=link)


def read_coxnet(model, table):
    """The form of the last model on the path of penalties, which `predict` uses."""
    estimator = model.estimator
    return Additive(
        weights=dense(estimator.coef_)[:, -1:],
        intercept=-dense(estimator.offset_)[-1:],
        single=is_single(estimator.coef_),
    )
