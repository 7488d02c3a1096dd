"""XGBoost's trees, as its own JSON writes them.

A value, rounded to single precision, goes left if it is *below* the threshold. A
category goes left unless the split names it. The split says where missing values go.
XGBoost sums leaves in single precision; here they are summed in double precision.
"""

import json
from collections import ChainMap
from functools import partial
from itertools import pairwise, repeat

import numpy as np

from skvarimp._data.base_table import is_missing, spread_over
from skvarimp._data.frames import FrameTable
from skvarimp._data.table import SparseTable
from skvarimp._models.forms import NotReadable
from skvarimp._models.model import missing_marker, rows_for
from skvarimp._models.tree_table import NodeTable
from skvarimp._models.trees import (
    Tree,
    Trees,
    encoding_of,
    in_column,
    linked,
    recoded,
    single,
    without_marker,
)

# Objective -> name of the loss, name of its parameter.
LOSSES = {
    **dict.fromkeys(("reg:squarederror", "reg:linear"), ("squared error", None)),
    "reg:squaredlogerror": ("squared log error", None),
    "reg:absoluteerror": ("absolute error", None),
    "reg:pseudohubererror": ("pseudo-huber", "huber_slope"),
    "reg:quantileerror": ("quantile", "quantile_alpha"),
    "reg:expectileerror": ("expectile", "expectile_alpha"),
    "reg:tweedie": ("tweedie", "tweedie_variance_power"),
    "count:poisson": ("poisson", None),
    "reg:gamma": ("gamma", None),
    **dict.fromkeys(("binary:logistic", "reg:logistic"), ("log loss", None)),
    "binary:logitraw": ("log loss", None),
    **dict.fromkeys(("multi:softprob", "multi:softmax"), ("softmax", None)),
}
UNIT = float(np.finfo(np.float32).eps) / 2  # rounding of one sum
WALK = 4.0  # rounding of n sums: this times that of one sum, times the root of n
CHECKED_ROWS = 256
COARSE = 1e-3  # the most that it may be, relative to the predictions' spread


def read(model, table):
    """The form of an XGBoost model, wrapper for scikit-learn or `Booster`."""
    estimator = model.estimator
    native = type(estimator).__name__ == "Booster"
    booster = estimator if native else estimator.get_booster()
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    # unknown without early stopping
    best = None if native else getattr(estimator, "best_iteration", None)
    trees, stages = _trees(learner, best)
    marker = missing_marker(booster) if native else estimator.missing
    encoding = _encoding(learner, trees, table, marker)
    objective = learner["objective"]["name"]
    if model.kind == "label" and objective == "binary:logitraw":
        raise NotReadable(f"labels of the objective {objective} are not read")
    loss = _loss(learner["objective"])
    form = Trees(trees, encoding, stages=stages, loss=loss)
    table = table.take(spread_over(table.n_samples, CHECKED_ROWS))
    asked = partial(_asked, estimator, native, table.native)
    sums, rounding = _check(learner, form, table, asked)
    form = linked(form, model, table.native, (sums + form.offset).T)
    # a label decided by less is asked from the model; links take steps of their own
    form.doubt = rounding + 8 * UNIT
    form.rounding = form.doubt if form.link else WALK * np.sqrt(len(trees)) * UNIT
    return form


# Trees


def _trees(learner, best):
    gradient_booster = learner["gradient_booster"]
    if gradient_booster["name"] == "gblinear":
        raise NotReadable("the booster gblinear has no trees")
    # dart weighs its trees
    model = gradient_booster.get("gbtree", gradient_booster)["model"]
    weights = gradient_booster.get("weight_drop", repeat(1.0))
    rounds = model["iteration_indptr"]
    n_trees = rounds[-1 if best is None else best + 1]
    parameters = learner["learner_model_param"]
    n_raw = max(int(parameters["num_class"]), int(parameters.get("num_target", 1)), 1)
    dumped = zip(model["trees"][:n_trees], model["tree_info"], weights)
    trees = [_tree(tree, group, n_raw, weight) for tree, group, weight in dumped]
    if not trees:
        raise NotReadable("the model has no trees")
    return trees, np.searchsorted(rounds, np.arange(n_trees), side="right") - 1


def _tree(tree, group, n_raw, weight):
    left = np.array(tree["left_children"])
    right = np.array(tree["right_children"])
    leaf = left < 0
    threshold = np.array(tree["split_conditions"], dtype=np.float32)
    with np.errstate(under="ignore"):  # below t is up to the number before t
        before = np.nextafter(threshold, np.float32(-np.inf))
    return Tree(
        np.where(leaf, -1, tree["split_indices"]),
        before.astype(np.float64),
        left,
        np.where(leaf, -1, right),
        np.array(tree["default_left"], dtype=bool),
        weight * _leaf_values(tree, leaf, threshold, group, n_raw),
        _sets(tree),
        np.array(tree["sum_hessian"], dtype=np.float32).astype(np.float64),
    )


def _leaf_values(tree, leaf, threshold, group, n_raw):
    if int(tree["tree_param"]["size_leaf_vector"]) > 1:
        raise NotReadable("the leaves of its trees are vectors (multi_output_tree)")
    return in_column(np.where(leaf, threshold, 0.0), group, n_raw)


def _sets(tree):
    """Node -> the numbers of the categories that it names."""
    keys = ("categories_nodes", "categories_segments", "categories_sizes")
    return {
        node: tree["categories"][start : start + size]
        for node, start, size in zip(*(tree.get(key, ()) for key in keys))
    }


# Columns


def _encoding(learner, trees, table, marker):
    """The encoding of the columns that trees split on."""
    absent = _absent_is_missing(table)

    def encoders_of(j, nominal):
        if absent:
            yield partial(without_marker, 0.0)
        labels = _labels_in_frame(learner, j, table)
        if labels:
            yield partial(recoded, labels)
        elif marker is not None and not np.isnan(marker):
            yield partial(without_marker, float(marker))

    return encoding_of(trees, True, True, encoders_of)


def _absent_is_missing(table):
    """Features that a sparse X does not store are missing; stored zeros are not."""
    if not isinstance(table, SparseTable):
        return False
    if np.any(single(table.native.tocoo().data) == 0):
        raise NotReadable("XGBoost tells zeros that a sparse X stores from absent ones")
    return True


def _labels_in_frame(learner, j, table):
    """The categories in training, where X holds categories themselves; else none."""
    if not isinstance(table, FrameTable) or not table.is_categorical(j):
        return []
    model = learner["gradient_booster"]
    model = model.get("gbtree", model)["model"]
    encoded = model.get("cats", {}).get("enc", [])
    labels = _labels(encoded[j]) if j < len(encoded) else []
    values = table.column(j)
    if not labels and values.dtype.kind == "b":
        return []
    met = {value for value in set(values.tolist()) if not is_missing(value)}
    if not labels or not met <= set(labels):
        raise NotReadable(f"the model does not know all categories of column {j}")
    return labels


def _labels(encoded):
    if "offsets" not in encoded:
        return encoded["values"]
    values = encoded["values"]
    if min(values, default=0) < 0:  # XGBoost counts letters of pandas' texts as bytes
        raise NotReadable("XGBoost may mix up categories that are not ASCII texts")
    text = bytes(values).decode()
    return [text[a:b] for a, b in pairwise(encoded["offsets"])]


# Loss, offset, and what XGBoost itself says


def _loss(objective):
    """Arguments of `TreeLoss`."""
    name, key = LOSSES.get(objective["name"], (objective["name"], None))
    options = ChainMap(*(o for o in objective.values() if isinstance(o, dict)))
    numbers = options.get(key, "1").strip("[]").split(",")
    if len(numbers) > 1:
        return f"{name} at several levels", 1.0
    return name, float(numbers[0])


def _asked(estimator, native, rows, leaves):
    """XGBoost's own numbers of rows, float64.

    Parameters
    ----------
    estimator : wrapper or Booster
    native : bool
    rows : {array, frame, sparse} of shape (n_samples, n_columns)
    leaves : bool
        Whether to give the number of the node in each tree, (n_samples, n_trees), or
        else the raw outputs, (n_samples, n_raw).
    """
    if native:
        asked = {"pred_leaf" if leaves else "output_margin": True}
        numbers = estimator.predict(rows_for(estimator, rows), **asked)
    elif leaves:
        numbers = estimator.apply(rows)
    else:
        numbers = estimator.predict(rows, output_margin=True)
    return np.asarray(numbers, dtype=np.float64).reshape(rows.shape[0], -1)


def _check(learner, form, table, asked):
    """Compare each leaf, and the sums of leaves; sets the offset.

    Rounding could hide small misreadings from the probe, but not from the leaves.

    Returns
    -------
    sums : ndarray of shape (n_samples, n_raw)
        Without the offset.
    rounding : float
        Of XGBoost's own sums.
    """
    nodes = NodeTable(form.trees, form.encoding)
    codes = nodes.codes_of(table)
    leaves, sums = nodes.leaves(codes).T - nodes.roots, nodes.raw(codes).T
    if not np.array_equal(leaves, asked(leaves=True)):
        raise NotReadable("XGBoost puts rows into other leaves than its JSON says")
    margins = asked(leaves=False)
    size = max(np.abs(sums).max(), np.abs(margins).max(), UNIT)
    rounding = WALK * np.sqrt(len(form.trees)) * UNIT * size
    if rounding > COARSE * np.ptp(sums, axis=0).max() > 0:
        raise NotReadable(
            "XGBoost's single precision is too coarse for the spread of its predictions"
        )
    form.offset = _offset(learner, sums, margins, rounding)
    return sums, rounding


def _offset(learner, sums, margins, rounding):
    """The base score as a raw output. The JSON has it behind some link."""
    base = learner["learner_model_param"]["base_score"].strip("[]").split(",")
    base = np.array(base, dtype=np.float32)
    with np.errstate(divide="ignore", invalid="ignore"):
        candidates = [base, -np.log(1 / base - 1), np.log(base)]
    for offset in candidates:
        offset = np.broadcast_to(offset.astype(np.float64), sums.shape[1])
        if np.all(np.abs(sums + offset - margins) <= rounding):
            return offset
    raise NotReadable("XGBoost's raw outputs are not its leaves and base score")
