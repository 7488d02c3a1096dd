"""Impurity importance on other rows as a plain loop over rows, trees and nodes.

Trees are nested dicts, made from what each library itself says: {"value", "weight"} at
a leaf, {"column", "left", "goes_left"} and {"right"} at a split.
"""

import json

import numpy as np
from scipy.special import expit, softmax


def leaves(node):
    """All leaves below a node."""
    if "value" in node:
        return [node]
    return leaves(node["left"]) + leaves(node["right"])


def value(node):
    """The mean of a node's leaves by their training weight."""
    if "mean" not in node:  # it is asked for by every row that passes
        below = leaves(node)
        weights = np.array([leaf["weight"] for leaf in below], dtype=float)
        if weights.sum() == 0:
            weights = np.ones(len(below))
        total = sum(w * leaf["value"] for w, leaf in zip(weights, below))
        node["mean"] = total / weights.sum()
    return node["mean"]


def path(node, x):
    """(split, child taken) of each split that a row passes."""
    result = []
    while "value" not in node:
        child = node["left"] if node["goes_left"](x) else node["right"]
        result.append((node, child))
        node = child
    return result


def centred(at_splits, shape):
    """Credit of each row and column, from what came to each split.

    Parameters
    ----------
    at_splits : dict
        Any key of a split -> list of (row, column, weight, step, value of the child).
    shape : tuple
    """
    credit = np.zeros(shape)
    for came in at_splits.values():
        total = sum(weight for _, _, weight, _, _ in came)
        mean_step = sum(weight * step for _, _, weight, step, _ in came) / total
        mean_value = (
            sum(weight * of_child for _, _, weight, _, of_child in came) / total
        )
        for i, column, _, step, of_child in came:
            credit[i, column] += (step - mean_step) @ (of_child - mean_value)
    return credit


def boosted(stages, X, y, offset, step):
    """Credit of each row and column.

    Parameters
    ----------
    stages : list of list of dict
        Trees of each stage; values of shape (n_raw,).
    X : sequence of rows
    y : ndarray of shape (n_rows, n_raw)
    offset : ndarray of shape (n_raw,)
    step : callable
        step(y, raw) of one row, minus the loss's derivative.
    """
    at_splits = {}
    for i, x in enumerate(X):
        # by all earlier stages, up to their first split on each column
        before = [np.array(offset, dtype=float) for _ in x]
        for trees in stages:
            for tree in trees:
                for split, child in path(tree, x):
                    j = split["column"]
                    size = step(y[i], before[j] + value(tree))
                    came = (i, j, 1.0, size, value(child))
                    at_splits.setdefault(id(split), []).append(came)
            for tree in trees:
                for j in range(len(x)):
                    before[j] = before[j] + value(where_first(tree, x, j))
    return centred(at_splits, (len(X), len(X[0])))


def where_first(tree, x, j):
    """The first split on a column that a row passes, or its leaf."""
    passed = path(tree, x)
    for split, _ in passed:
        if split["column"] == j:
            return split
    return passed[-1][1] if passed else tree


def averaged(trees, X, y, rows_of_trees, weights=None):
    """Importances: the mean over the trees, each over its own rows."""
    weights = np.ones(len(X)) if weights is None else weights
    used, total = 0, np.zeros(len(X[0]))
    for tree, rows in zip(trees, rows_of_trees):
        if not len(rows):
            continue
        at_splits = {}
        for i in rows:
            for split, child in path(tree, X[i]):
                came = (i, split["column"], weights[i], y[i], value(child))
                at_splits.setdefault(id(split), []).append(came)
        credit = centred(at_splits, (len(X), len(X[0])))
        total += weights[rows] @ credit[rows] / weights[rows].sum()
        used += 1
    return total / used


STEPS = {
    "squared": lambda y, raw: y - raw,
    "log loss": lambda y, raw: y - expit(raw),
    "softmax": lambda y, raw: y - softmax(raw),
    "poisson": lambda y, raw: y - np.exp(raw),
    "absolute": lambda y, raw: np.sign(y - raw),
}


def of_sklearn(tree, values, columns=None, node=0):
    """A `tree_` as nested dicts; `values` (n_nodes, n_raw) of its leaves."""
    if tree.children_left[node] < 0:
        return {"value": values[node], "weight": tree.weighted_n_node_samples[node]}
    j = tree.feature[node] if columns is None else columns[tree.feature[node]]
    threshold, missing = tree.threshold[node], tree.missing_go_to_left[node]
    return {
        "column": int(j),
        "goes_left": lambda x: (
            bool(missing) if np.isnan(x[j]) else np.float32(x[j]) <= threshold
        ),
        "left": of_sklearn(tree, values, columns, tree.children_left[node]),
        "right": of_sklearn(tree, values, columns, tree.children_right[node]),
    }


def of_histogram(predictor, unit, node=0):
    """A tree of numeric columns of histogram gradient boosting."""
    at = predictor.nodes[node]
    if at["is_leaf"]:
        return {"value": at["value"] * unit, "weight": float(at["count"])}
    j, threshold = int(at["feature_idx"]), at["num_threshold"]
    missing = bool(at["missing_go_to_left"])
    return {
        "column": j,
        "goes_left": lambda x: missing if np.isnan(x[j]) else x[j] <= threshold,
        "left": of_histogram(predictor, unit, at["left"]),
        "right": of_histogram(predictor, unit, at["right"]),
    }


def of_xgboost(booster, n_raw):
    """Trees of `get_dump`, by stage; categories are numbers."""
    dumped = booster.get_dump(dump_format="json", with_stats=True)
    trees = [
        _of_xgboost(json.loads(text), np.eye(n_raw)[t % n_raw])
        for t, text in enumerate(dumped)
    ]
    return [trees[s : s + n_raw] for s in range(0, len(trees), n_raw)]


def _of_xgboost(node, unit):
    if "leaf" in node:
        leaf = float(np.float32(node["leaf"]))
        return {"value": leaf * unit, "weight": float(np.float32(node["cover"]))}
    children = {child["nodeid"]: child for child in node["children"]}
    j, condition = int(node["split"][1:]), node["split_condition"]

    def goes(x):  # the child that a row goes to
        if np.isnan(x[j]):
            return node["missing"]
        if isinstance(condition, list):  # of categories named there: yes
            return node["yes"] if int(x[j]) in condition else node["no"]
        below = np.float32(x[j]) < np.float32(condition)
        return node["yes"] if below else node["no"]

    return {
        "column": j,
        "goes_left": lambda x: goes(x) == node["yes"],
        "left": _of_xgboost(children[node["yes"]], unit),
        "right": _of_xgboost(children[node["no"]], unit),
    }


def of_lightgbm(booster, n_raw):
    """Trees of `dump_model`, by stage; categories are numbers."""
    trees = [
        _of_lightgbm(tree["tree_structure"], np.eye(n_raw)[t % n_raw])
        for t, tree in enumerate(booster.dump_model()["tree_info"])
    ]
    return [trees[s : s + n_raw] for s in range(0, len(trees), n_raw)]


def _of_lightgbm(node, unit):
    if "split_feature" not in node:
        return {"value": node["leaf_value"] * unit, "weight": node["leaf_weight"]}
    j, threshold = node["split_feature"], node["threshold"]

    def goes_left(x):
        if node["decision_type"] == "==":
            named = [int(k) for k in str(threshold).split("||")]
            return not np.isnan(x[j]) and int(x[j]) in named
        if np.isnan(x[j]) and node["missing_type"] == "NaN":
            return node["default_left"]
        return np.nan_to_num(x[j]) <= threshold

    return {
        "column": j,
        "goes_left": goes_left,
        "left": _of_lightgbm(node["left_child"], unit),
        "right": _of_lightgbm(node["right_child"], unit),
    }


def of_catboost(model, folder):
    """Oblivious trees of numeric columns of the JSON, and the bias."""
    file = folder / "model.json"
    model.save_model(str(file), format="json")
    content = json.loads(file.read_text())
    scale, bias = content["scale_and_bias"]
    stages = []
    for tree in content["oblivious_trees"]:
        n_leaves = 2 ** len(tree["splits"])
        values = scale * np.reshape(tree["leaf_values"], (n_leaves, -1))
        stages.append([_of_catboost(tree, values, 0, 0)])
    return stages, np.atleast_1d(bias)


def _of_catboost(tree, values, depth, number):
    if depth == len(tree["splits"]):
        return {"value": values[number], "weight": tree["leaf_weights"][number]}
    split = tree["splits"][depth]
    j, border = split["float_feature_index"], np.float32(split["border"])
    return {
        "column": j,  # a missing value is below all borders
        "goes_left": lambda x: not np.float32(x[j]) > border,
        "left": _of_catboost(tree, values, depth + 1, number),
        "right": _of_catboost(tree, values, depth + 1, number + 2**depth),
    }
