"""Surrogate splits and impurity importance as plain loops over their definition.

The oracle of the tests: every threshold, both directions, node by node.
"""

from itertools import pairwise

import numpy as np

from skvarimp._models.trees import Tree


def literal_cuts(x, left, weight, labels=None, min_rows=1):
    """Every cut of one column: (association, threshold, direction), by definition."""
    if not (left.any() and not left.all()):
        return  # all observed rows on one side: nothing to imitate
    total = weight.sum()  # proportions times this, so that the sums are exact
    smaller = min(weight[left].sum(), weight[~left].sum())
    values = np.unique(x)
    for below, above in pairwise(values):
        threshold = (below + above) / 2
        if labels is not None:
            classes = [set(labels[x == v]) for v in (below, above)]
            if len(classes[0]) == 1 and classes[0] == classes[1]:
                continue
        low = x <= threshold
        if min(low.sum(), (~low).sum()) < min_rows:
            continue
        for direction, side in ((1, low), (-1, ~low)):
            w_ll = weight[left & side].sum()
            w_rr = weight[~left & ~side].sum()
            yield (smaller - (total - w_ll - w_rr)) / smaller, threshold, direction


def literal_surrogates(tree, X, weight, labels=None, min_rows=1):
    """The best surrogate on each column at each branch node of a scikit-learn tree.

    Returns {(node, feature): (association, threshold, direction)}.
    """
    t = tree.tree_
    path = tree.decision_path(X.astype(np.float32)).toarray().astype(bool)
    found = {}
    for node in range(t.node_count):
        if t.children_left[node] == -1:
            continue
        j = t.feature[node]
        for k in set(range(X.shape[1])) - {j}:
            rows = path[:, node] & (weight > 0) & ~np.isnan(X[:, [j, k]]).any(axis=1)
            cuts = list(
                literal_cuts(
                    X[rows, k],
                    path[rows][:, t.children_left[node]],
                    weight[rows],
                    None if labels is None else labels[rows],
                    min_rows,
                )
            )
            largest = max((cut[0] for cut in cuts), default=0.0)
            if largest > 1e-10:
                found[node, k] = next(c for c in cuts if c[0] >= largest - 1e-10)
    return found


def impurity(criterion, target, weight):
    """Impurity of one group of rows, averaged over outputs."""
    of_outputs = []
    for y in target.T:
        if criterion in ("gini", "deviance", "error"):
            p = np.array([weight[y == k].sum() for k in np.unique(y)]) / weight.sum()
            of_outputs.append(
                {
                    "gini": np.sum(p * (1 - p)),
                    "deviance": -np.sum(p[p > 0] * np.log2(p[p > 0])),
                    "error": 1 - p.max(),
                }[criterion]
            )
            continue
        mean = np.average(y, weights=weight)
        if criterion == "mse":
            of_outputs.append(np.average((y - mean) ** 2, weights=weight))
        elif criterion == "poisson":
            ratio = np.where(y > 0, y / mean, 1.0) if mean > 0 else np.ones(len(y))
            of_outputs.append(np.average(y * np.log(ratio), weights=weight))
        else:  # absolute error: the best of all candidates for the median
            of_outputs.append(min(np.average(np.abs(y - c), weights=weight) for c in y))
    return np.mean(of_outputs)


def decrease(criterion, target, weight, left):
    """Weight times impurity of a group, minus the same of its two parts."""
    parts = (np.ones(len(left), dtype=bool), left, ~left)
    risks = [
        weight[part].sum() * impurity(criterion, target[part], weight[part])
        for part in parts
    ]
    return risks[0] - risks[1] - risks[2]


def literal_importances(tree, X, target, weight, criterion, convention, surrogates):
    """Importances of one tree, (n_features,), by the convention's own sentence."""
    t = tree.tree_
    path = tree.decision_path(X.astype(np.float32)).toarray().astype(bool)
    min_rows = 2 if convention == "rpart" else 1
    found = literal_surrogates(tree, X, weight, min_rows=min_rows)
    total = np.zeros(X.shape[1])
    branches = np.flatnonzero(t.children_left != -1)
    for node in branches:
        rows = path[:, node] & (weight > 0)
        left = path[:, t.children_left[node]]
        primary = decrease(criterion, target[rows], weight[rows], left[rows])
        total[t.feature[node]] += primary
        for k in range(X.shape[1]) if surrogates else ():
            if (node, k) not in found:
                continue
            association, threshold, _ = found[node, k]
            if convention == "rpart":
                total[k] += association * primary
                continue
            both = rows & ~np.isnan(X[:, [t.feature[node], k]]).any(axis=1)
            low = X[both, k] <= threshold
            total[k] += decrease(criterion, target[both], weight[both], low)
    if convention == "rpart":
        return total
    total /= weight.sum()
    if convention == "matlab":
        return total / max(len(branches), 1)
    return total / total.sum() if total.sum() > 0 else total


def bare_tree(left, right, column):
    """A tree without anything but its shape."""
    nothing = np.zeros(len(left))
    return Tree(
        column,
        nothing,
        left,
        right,
        nothing > 0,
        nothing[:, np.newaxis],
        weight=nothing,
        count=nothing,
        decrease=nothing,
    )
