"""LightGBM's trees, as its own text format writes them.

Values are compared and leaves are summed in double precision. In most containers a
number near 0 counts as 0. The missing type of a split tells where missing values go:
with 0 (none), or in the direction that the split says (NaN). A category goes left if
the split names it. Missing categories go right.
"""

from functools import partial

import numpy as np

from skvarimp._data.base_table import spread_over
from skvarimp._data.frames import FrameTable
from skvarimp._data.table import SparseTable
from skvarimp._models.forms import NotReadable
from skvarimp._models.trees import (
    Tree,
    Trees,
    encoding_of,
    linked,
    recoded,
)

ZERO = float(np.float32(1e-35))  # what is no farther from 0 counts as 0
NOMINAL, DEFAULT_LEFT = 1, 2  # bits of a split's decision type
MISSING_NONE, MISSING_ZERO = 0, 1  # its bits above
LINKED_ROWS = 20  # at which the link is looked for
# Objective -> name of the loss, name of its parameter.
LOSSES = {
    "regression": ("squared error", None),
    "regression_l1": ("absolute error", None),
    "huber": ("huber", "alpha"),
    "fair": ("fair", "fair_c"),
    "quantile": ("quantile", "alpha"),
    "mape": ("relative error", None),
    "poisson": ("poisson", None),
    "gamma": ("gamma", None),
    "tweedie": ("tweedie", "tweedie_variance_power"),
    **dict.fromkeys(("binary", "multiclassova", "cross_entropy"), ("log loss", None)),
    "multiclass": ("softmax", None),
}


def read(model, table):
    """The form of a LightGBM model, wrapper for scikit-learn or `Booster`."""
    estimator = model.estimator
    native = type(estimator).__name__ == "Booster"
    booster = estimator if native else estimator.booster_
    given = {} if native else estimator.get_params()
    if given.get("pred_early_stop") or given.get("prediction_early_stop"):
        raise NotReadable("pred_early_stop leaves trees out of a sum")
    _refuse_rounded_integers(table)
    header, *blocks = _blocks(booster)
    averaged = "average_output" in header
    # `decision_function` leaves the mean over a random forest to the caller
    divided = averaged and model.method != "decision_function"
    if not blocks:
        raise NotReadable("the model has no trees")
    n_raw = int(header["num_tree_per_iteration"])
    share = n_raw / len(blocks) if divided else 1.0
    trees = [_tree(block, t % n_raw, n_raw, share) for t, block in enumerate(blocks)]
    objective, _, options = header.get("objective", "custom").partition(" ")
    sigmoid = float(options.partition("sigmoid:")[2] or 1.0)
    stages = loss = None
    if not averaged:
        stages = np.arange(len(trees)) // n_raw
        loss = _loss(booster, objective, sigmoid)
    encoding = _encoding(booster, trees, table)
    form = Trees(trees, encoding, stages=stages, loss=loss)
    rows = table.take(spread_over(table.n_samples, LINKED_ROWS)).native
    return linked(form, model, rows, form.scores(rows), sigmoid)


def _loss(booster, objective, sigmoid):
    """Arguments of `TreeLoss`."""
    name, key = LOSSES.get(objective, (f"{objective} of LightGBM", None))
    if key is None:
        return name, sigmoid
    text = booster.model_to_string(num_iteration=1)
    return name, float(text.partition(f"[{key}: ")[2].partition("]")[0])


def _refuse_rounded_integers(table):
    """Integers in arrays become single precision, unless they move among numbers."""
    if isinstance(table, FrameTable) or table.native.dtype.kind == "f":
        return
    sparse = isinstance(table, SparseTable)
    stored = table.native.tocoo().data if sparse else table.native
    whole = stored.dtype.kind in "iu" and stored.size
    if whole and max(int(stored.max()), -int(stored.min())) > 2**24:
        raise NotReadable("LightGBM rounds integers above 2**24 in this X")


# Text


def _blocks(booster):
    """Key -> text of the header and of each tree that predictions use."""
    best = booster.best_iteration
    text = booster.model_to_string(num_iteration=best if best > 0 else None)
    text = text.split("\nend of trees")[0]
    blocks = []
    for block in text.split("\nTree="):
        lines = (line.partition("=") for line in block.splitlines())
        blocks.append({key: value if equal else True for key, equal, value in lines})
    return blocks


def _numbers(block, key, dtype=np.float64):
    return np.array(block.get(key, "").split(), dtype=dtype)


def _tree(block, group, n_raw, share):
    """Inner nodes first, then leaves; a child below 0 is the leaf of number ~child."""
    if int(block.get("is_linear", 0)):
        raise NotReadable("a tree with linear models in its leaves (linear_tree)")
    leaves = _numbers(block, "leaf_value")
    column = _numbers(block, "split_feature", np.intp)
    n_inner, n_leaves = len(column), len(leaves)
    decision = _numbers(block, "decision_type", np.intp)
    threshold = _numbers(block, "threshold")
    nominal = (decision & NOMINAL) > 0
    default_left = (decision & DEFAULT_LEFT) > 0
    if np.any((decision >> 2 == MISSING_ZERO) & ~nominal):
        raise NotReadable("its splits take 0 for a missing value (zero_as_missing)")
    as_zero = decision >> 2 == MISSING_NONE
    missing_left = np.where(as_zero, threshold >= 0, default_left) & ~nominal
    none = np.full(n_leaves, -1)
    weight = _numbers(block, "leaf_weight")  # written in full for leaves only
    values = np.zeros((n_inner + n_leaves, n_raw))
    values[n_inner:, group] = share * leaves
    return Tree(
        np.concatenate([column, none]),
        np.concatenate([threshold, np.zeros(n_leaves)]),
        np.concatenate([_children(block, "left_child", n_inner), none]),
        np.concatenate([_children(block, "right_child", n_inner), none]),
        np.concatenate([missing_left, none >= 0]),
        values,
        _sets(block, nominal, threshold),
        np.concatenate([np.zeros(n_inner), weight]) if len(weight) else None,
    )


def _children(block, key, n_inner):
    child = _numbers(block, key, np.intp)
    return np.where(child < 0, n_inner + ~child, child)


def _sets(block, nominal, threshold):
    """Node -> the numbers of the categories that it names, from words of 32 bits."""
    words = _numbers(block, "cat_threshold", np.uint32)
    bounds = _numbers(block, "cat_boundaries", np.intp)
    bits = (words[:, np.newaxis] >> np.arange(32, dtype=np.uint32)) & 1
    sets = {}
    for node in np.flatnonzero(nominal).tolist():
        start, stop = bounds[int(threshold[node]) :][:2]
        sets[node] = np.flatnonzero(bits[start:stop]).tolist()
    return sets


# Columns


def _encoding(booster, trees, table):
    """The encoding of the columns that trees split on."""
    labels = _pandas_labels(booster, table)

    def encoders_of(j, nominal):
        if j in labels:
            yield partial(recoded, labels[j])
        if not nominal and _drops_near_zero(table):
            yield without_near_zero

    return encoding_of(trees, False, False, encoders_of)


def without_near_zero(values):
    """Numbers; 0 for those next to it."""
    values = np.asarray(values, dtype=np.float64)
    return np.where(np.abs(values) <= ZERO, 0.0, values)


def _drops_near_zero(table):
    """Rows of a sparse X are handed over as stored, and so are frames but pandas'."""
    if isinstance(table, SparseTable):
        return table.native.format == "csc"
    library = type(table.native).__module__.split(".")[0]
    return library == "pandas" or not isinstance(table, FrameTable)


def _pandas_labels(booster, table):
    """Column -> its categories in training, for the category columns of a frame."""
    if not isinstance(table, FrameTable):
        return {}
    columns = [j for j in range(table.n_columns) if table.is_categorical(j)]
    columns = [j for j in columns if table.column(j).dtype.kind != "b"]
    known = booster.pandas_categorical or []
    if len(known) != len(columns):
        raise NotReadable("X has other category columns than the model's training data")
    return dict(zip(columns, known))
