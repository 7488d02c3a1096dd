"""LightGBM's trees, as its own text format writes them.

Values are compared and leaves are summed in double precision. In most containers a
number near 0 counts as 0. The missing type of a split tells where missing values go:
with 0 (none), in the direction that the split says (NaN), or there together with 0
(zero). A category goes left if the split names it. Missing categories go right.
"""

import numpy as np

from skvarimp._data.frames import FrameTable
from skvarimp._data.table import SparseTable
from skvarimp._models.forms import NotReadable
from skvarimp._models.labels import class_link
from skvarimp._models.links import EXPONENTIAL, LOGISTIC, Each, Softmax, scaled
from skvarimp._models.trees import Band, Recoded, Tree, Trees, encoding_of

ZERO = float(np.float32(1e-35))  # what is no farther from 0 counts as 0
NOMINAL, DEFAULT_LEFT = 1, 2  # bits of a split's decision type
MISSING_NONE, MISSING_ZERO = 0, 1  # its bits above


def signed_square(roots):
    """The inverse of the roots that `reg_sqrt` takes, with their signs."""
    return np.sign(roots) * roots**2


def rate(raw):
    """log(1 + exp(raw))."""
    return np.logaddexp(0.0, raw)


# Objective -> link of the raw outputs, name of the loss, name of its parameter.
OBJECTIVES = {
    "regression": (None, "squared error", None),
    "regression_l1": (None, "absolute error", None),
    "huber": (None, "huber", "alpha"),
    "fair": (None, "fair", "fair_c"),
    "quantile": (None, "quantile", "alpha"),
    "mape": (None, "relative error", None),
    **{name: (None, name, None) for name in ("lambdarank", "rank_xendcg", "custom")},
    "poisson": (EXPONENTIAL, "poisson", None),
    "gamma": (EXPONENTIAL, "gamma", None),
    "tweedie": (EXPONENTIAL, "tweedie", "tweedie_variance_power"),
    "binary": (LOGISTIC, "log loss", "sigmoid"),
    "multiclassova": (LOGISTIC, "log loss", "sigmoid"),
    "multiclass": (Softmax(), "softmax", None),
    "cross_entropy": (LOGISTIC, "log loss", None),
    "cross_entropy_lambda": (Each(rate), "log loss of rates", None),
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
    encoding = _encoding(booster, trees, blocks, table)
    link = _link(header, model, native, n_raw)
    if averaged:
        return Trees(trees, encoding, link)
    stages = np.arange(len(trees)) // n_raw
    return Trees(trees, encoding, link, stages=stages, loss=_loss(header, booster))


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


def _encoding(booster, trees, blocks, table):
    """The encoding of the columns that trees split on."""
    labels = _pandas_labels(booster, table)
    missing_zero = _where_zero_is_missing(blocks)

    def encoders_of(j, nominal):
        if j in labels:
            yield Recoded(labels[j])
        if j in missing_zero:
            yield Band(ZERO, np.nan)
        elif not nominal and _drops_near_zero(table):
            yield Band(ZERO, 0.0)

    return encoding_of(trees, False, False, encoders_of)


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


def _where_zero_is_missing(blocks):
    """Columns whose splits send 0 with missing values: all splits, or none."""
    missing, others = set(), set()
    for block in blocks:
        decision = _numbers(block, "decision_type", np.intp)
        numeric = (decision & NOMINAL) == 0
        column = _numbers(block, "split_feature", np.intp)
        as_missing = decision >> 2 == MISSING_ZERO
        missing.update(column[numeric & as_missing].tolist())
        others.update(column[numeric & ~as_missing].tolist())
    if missing & others:
        raise NotReadable("0 is missing to some splits on a column and not to others")
    return missing


# Links


def _link(header, model, native, n_raw):
    objective, *options = header.get("objective", "custom").split()
    if model.method == "decision_function":
        return None
    if objective not in OBJECTIVES:
        raise NotReadable(f"the objective {objective} of LightGBM is not known")
    link, _, _ = OBJECTIVES[objective]
    for option, _, number in (option.partition(":") for option in options):
        if option == "sigmoid":
            link = scaled(float(number), link)
        if option == "sqrt":
            link = Each(signed_square)
    if native or not model.classifier:
        return link
    if objective == "custom":
        raise NotReadable("a classifier with an objective of its own has no classes")
    return class_link(model.method, n_raw, link)


def _loss(header, booster):
    """Arguments of `TreeLoss`."""
    objective, *options = header.get("objective", "custom").split()
    _, name, key = OBJECTIVES.get(objective, (None, objective, None))
    if "sqrt" in options:
        return f"{name} of roots", 1.0
    if key is None:
        return name, 1.0
    text = booster.model_to_string(num_iteration=1)
    return name, float(text.partition(f"[{key}: ")[2].partition("]")[0])
