"""CatBoost's trees, as its own JSON writes them.

Values are compared in single precision and leaves are summed in double precision.
Splits on one category are read. CatBoost compares hashes of texts, so it is asked which
of a column's values a split means. Splits on statistics of the target by category
(CTR), on texts and on embeddings are not splits on a column and are not read.
"""

import json
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from skvarimp._data.base_table import is_missing, spread_over
from skvarimp._data.table import Table
from skvarimp._models.forms import NotReadable
from skvarimp._models.trees import Tree, Trees, encoding_of, linked

# Type of a split -> names of the list of its features, and of their numbers in splits.
KINDS = {
    "FloatFeature": ("float_features", "float_feature_index"),
    "OneHotFeature": ("categorical_features", "cat_feature_index"),
}
LINKED_ROWS = 20  # at which the link is looked for
LOSSES = {
    **dict.fromkeys(("RMSE", "MultiRMSE"), "squared error"),
    "MAE": "absolute error",
    "Quantile": "quantile",
    "MultiQuantile": "quantile at several levels",
    "Expectile": "expectile",
    "Huber": "huber",
    "LogCosh": "log-cosh",
    "MAPE": "relative error",
    "Poisson": "poisson",
    "Tweedie": "tweedie",
    **dict.fromkeys(("Logloss", "MultiClassOneVsAll", "MultiLogloss"), "log loss"),
    **dict.fromkeys(("CrossEntropy", "MultiCrossEntropy"), "log loss of shares"),
    "MultiClass": "softmax",
}
PARAMETERS = ("alpha", "delta", "variance_power")  # of losses


def read(model, table):
    """The form of a CatBoost model."""
    with tempfile.TemporaryDirectory() as folder:
        content = _written(model.estimator, Path(folder) / "model.json")
        columns = _columns(content, _order(model.estimator, table))
        scale, bias = content["scale_and_bias"]
        splits = {}  # categorical column -> hash of a category -> a split on it
        trees = [_tree(tree, columns, splits, scale) for tree in _nested(content)]
        if not trees:
            raise NotReadable("the model has no trees")
        encoders = {}
        for j, by_hash in splits.items():
            stub = _stub(content, by_hash.values(), Path(folder) / "stub.json")
            hashes = Hashes(stub, list(by_hash), table.take([0]), j)
            _, donors = table.factorize([j])
            hashes.learn(_keys(table.column(j)[donors]), table.take(donors).native)
            encoders[j] = [hashes]
        encoding = encoding_of(trees, True, True, lambda j, _: encoders.get(j, ()))
    stages, loss = np.arange(len(trees)), _loss(content)
    offset = np.array(bias, dtype=np.float64, ndmin=1)
    form = Trees(trees, encoding, offset=offset, stages=stages, loss=loss)
    chance = 0.5
    if model.classifier and form.n_raw == 1:
        chance = model.estimator.get_probability_threshold()
    threshold = np.log(chance) - np.log1p(-chance)
    rows = table.take(spread_over(table.n_samples, LINKED_ROWS)).native
    return linked(form, model, rows, form.scores(rows), threshold=threshold)


def _loss(content):
    """Arguments of `TreeLoss`."""
    parameters = content["model_info"].get("params", {})
    if isinstance(parameters, str):
        parameters = json.loads(parameters)
    function = parameters.get("loss_function", {})
    name, options = function.get("type", "unknown"), function.get("params", {})
    default = 0.5 if name == "Quantile" else 1.0
    parameter = next((options[key] for key in PARAMETERS if key in options), default)
    several = name == "MultiQuantile"  # whose parameter is a list
    return LOSSES.get(name, name), 1.0 if several else float(parameter)


def _written(estimator, path):
    from catboost import CatBoostError  # whoever has a model has the library

    try:
        # fails without weights of leaves (of a model read from ONNX), where writing
        # JSON would end the process
        estimator.get_feature_importance(type="PredictionValuesChange")
        estimator.save_model(str(path), format="json")
    except CatBoostError as refused:
        reason = str(refused).strip().splitlines()[-1]
        raise NotReadable(f"CatBoost writes no JSON of it: {reason}") from None
    return json.loads(path.read_text())


def _order(estimator, table):
    """The column of the table that CatBoost takes for each of the model's columns.

    It matches a frame's columns by their names, in any order and among others.
    """
    names = list(estimator.feature_names_)
    if table.names is not None and set(names) <= set(table.names):
        return [table.names.index(name) for name in names]
    return range(len(names))


# Trees


def _columns(content, order):
    """CatBoost's kind and number of a feature -> its column; do missing values go left?

    `order` has the column of the table for each of the model's columns.
    """
    columns = {}
    for kind, (features, _) in KINDS.items():
        for feature in content["features_info"].get(features, []):
            column = order[feature["flat_feature_index"]]
            missing_left = feature.get("nan_value_treatment") != "AsTrue"
            columns[kind, feature["feature_index"]] = column, missing_left
    return columns


def _nested(content):
    """Trees as nested {split, left, right} or {value, weight}."""
    yield from content.get("trees", [])
    for tree in content.get("oblivious_trees", []):
        splits = tree["splits"] or []
        values = np.reshape(tree["leaf_values"], (2 ** len(splits), -1))
        level = [
            {"value": value, "weight": weight}
            for value, weight in zip(values, tree["leaf_weights"])
        ]
        # bit k of a leaf's number is the answer to split k, the root's is split 0
        for split in reversed(splits):
            half = len(level) // 2
            level = [
                {"split": split, "left": left, "right": right}
                for left, right in zip(level[:half], level[half:])
            ]
        yield level[0]


def _tree(root, columns, splits, scale):
    """The tree below a nested node.

    Parameters
    ----------
    root : dict
    columns : dict
        See `_columns`.
    splits : dict
        Gets the splits on categories; see `read`.
    scale : float
    """
    nodes, left = [root], []
    for node in nodes:  # grows while it is walked
        left.append(len(nodes) if "split" in node else -1)
        nodes += [node["left"], node["right"]] if "split" in node else []
    left, n_nodes = np.array(left), len(nodes)
    n_raw = np.size(next(node["value"] for node in nodes if "value" in node))
    column, sets = np.full(n_nodes, -1), {}
    threshold, weight = np.zeros((2, n_nodes))
    values, missing_left = np.zeros((n_nodes, n_raw)), np.zeros(n_nodes, dtype=bool)
    for m, node in enumerate(nodes):
        if "value" in node:
            values[m] = scale * np.asarray(node["value"])
            weight[m] = node.get("weight", 0.0)
            continue
        split = node["split"]
        kind = split["split_type"]
        if kind not in KINDS:
            raise NotReadable(f"its splits of type {kind} are not on a column")
        column[m], missing_left[m] = columns[kind, split[KINDS[kind][1]]]
        if "border" in split:
            threshold[m] = np.float32(split["border"])
        else:
            sets[m] = [split["value"]]
            splits.setdefault(int(column[m]), {})[split["value"]] = split
    right = np.where(left < 0, -1, left + 1)
    return Tree(column, threshold, left, right, missing_left, values, sets, weight)


# Categories


def _stub(content, splits, path):
    """A model of one tree per category that splits name, whose leaf says yes or no."""
    stub = {key: content[key] for key in ("features_info", "model_info")}
    stub["scale_and_bias"] = [1, [0]]
    stub["oblivious_trees"] = [
        {"leaf_values": [0, 1], "leaf_weights": [1, 1], "splits": [split]}
        for split in splits
    ]
    path.write_text(json.dumps(stub))
    from catboost import CatBoost

    return CatBoost().load_model(str(path), format="json")


UNNAMED = 2.0**40  # no hash is as large


@dataclass
class Hashes:
    """CatBoost's hashes of a column's categories; `UNNAMED` of those without a split.

    Attributes
    ----------
    stub : CatBoost
        One tree for each category with a split.
    hashes : list of int
        Of these categories.
    row : Table
        One row, in which the values are put that CatBoost is asked for.
    column : int
    known : dict
        Value -> hash.
    """

    stub: object
    hashes: list
    row: Table
    column: int
    known: dict = field(default_factory=dict)

    def __call__(self, values):
        """(n,) float64 of values of any type."""
        keys = _keys(values)
        new = [k for k in dict.fromkeys(keys) if k not in self.known]
        if new:
            asked = np.empty((len(new), 1), dtype=values.dtype)
            asked[:, 0] = new  # of the type that CatBoost itself would be given
            rows = np.zeros(len(new), dtype=np.intp)
            self.learn(new, self.row.moved(rows, (self.column,), values=asked))
        return np.array([self.known[k] for k in keys], dtype=np.float64)

    def learn(self, keys, rows):
        """Remember the hashes of the values that rows hold."""
        yes = np.reshape(self.stub.calc_leaf_indexes(rows), (len(keys), -1)) > 0
        named = np.take(self.hashes, yes.argmax(axis=1))
        found = np.where(yes.any(axis=1), named, UNNAMED)
        self.known.update(zip(keys, found.tolist()))


def _keys(values):
    return [None if is_missing(v) else v for v in values.tolist()]
