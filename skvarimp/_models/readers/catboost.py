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

from skvarimp._data.base_table import is_missing
from skvarimp._data.table import Table
from skvarimp._models.forms import NotReadable
from skvarimp._models.labels import AboveThreshold, class_link
from skvarimp._models.links import EXPONENTIAL, LOGISTIC, SECOND, Softmax, Then
from skvarimp._models.trees import Tree, Trees, encoding_of

# Type of a split -> names of the list of its features, and of their numbers in splits.
KINDS = {
    "FloatFeature": ("float_features", "float_feature_index"),
    "OneHotFeature": ("categorical_features", "cat_feature_index"),
}
SOFTMAX = ("MultiClass",)
EACH_CLASS = ("MultiClassOneVsAll", "MultiLogloss", "MultiCrossEntropy")


def read(model, table):
    """The form of a CatBoost model."""
    with tempfile.TemporaryDirectory() as folder:
        content = _written(model.estimator, Path(folder) / "model.json")
        features = _Features(content, _order(model.estimator, table))
        scale, bias = content["scale_and_bias"]
        trees = [_tree(tree, features, scale) for tree in _expanded(content)]
        if not trees:
            raise NotReadable("the model has no trees")
        encoders = {}
        for j, splits in features.splits.items():
            stub = _stub(content, splits.values(), Path(folder) / "stub.json")
            encoder = OneOfNamed(stub, table.take([0]), j)
            _, donors = table.factorize([j])
            encoder.learn(_keys(table.column(j)[donors]), table.take(donors).native)
            encoders[j] = [encoder]
        encoding = encoding_of(trees, True, True, lambda j, _: encoders.get(j, ()))
        link, shift = _link(content, model, table, trees[0].values.shape[1])
    offset = np.atleast_1d(bias) - shift
    stages = np.arange(len(trees))
    return Trees(trees, encoding, link, offset, stages=stages, loss=_tree_loss(content))


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


class _Features:
    """Columns behind CatBoost's own numbers of features.

    Parameters
    ----------
    content : dict
    order : sequence of int
        The column of the table for each of the model's columns.

    Attributes
    ----------
    splits : dict
        Categorical column -> hash -> the split on it, in the order of their numbers.
    """

    def __init__(self, content, order):
        info = content["features_info"]
        self.splits, self.asked = {}, {}
        for kind, (features, _) in KINDS.items():
            for feature in info.get(features, []):
                column = order[feature["flat_feature_index"]]
                nan_left = feature.get("nan_value_treatment") != "AsTrue"
                self.asked[kind, feature["feature_index"]] = column, nan_left

    def of(self, split):
        """The column that a split is on, and whether missing values go left."""
        kind = split["split_type"]
        if kind not in KINDS:
            raise NotReadable(f"its splits of type {kind} are not on a column")
        return self.asked[kind, split[KINDS[kind][1]]]

    def number(self, split, column):
        """The number of the category that a split means."""
        of_column = self.splits.setdefault(column, {})
        of_column.setdefault(split["value"], split)
        return list(of_column).index(split["value"])


def _expanded(content):
    """Trees as nested {split, left, right} or {value, weight}, oblivious by level."""
    yield from content.get("trees", [])
    for tree in content.get("oblivious_trees", []):
        splits = tree["splits"] or []
        n_leaves = 2 ** len(splits)
        values = np.reshape(tree["leaf_values"], (n_leaves, -1))
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


def _tree(root, features, scale):
    nodes, left = [root], []
    for node in nodes:  # grows while it is walked
        left.append(len(nodes) if "split" in node else -1)
        nodes += [node["left"], node["right"]] if "split" in node else []
    left = np.array(left)
    n_nodes = len(nodes)
    n_raw = np.size(next(node["value"] for node in nodes if "value" in node))
    column, sets = np.full(n_nodes, -1), {}
    threshold, values = np.zeros(n_nodes), np.zeros((n_nodes, n_raw))
    weight = np.zeros(n_nodes)
    missing_left = np.zeros(n_nodes, dtype=bool)
    for m, node in enumerate(nodes):
        if "value" in node:
            values[m] = scale * np.asarray(node["value"])
            weight[m] = node.get("weight", 0.0)
            continue
        split = node["split"]
        column[m], missing_left[m] = features.of(split)
        if "border" in split:
            threshold[m] = np.float32(split["border"])
        else:
            sets[m] = [features.number(split, int(column[m]))]
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


@dataclass
class OneOfNamed:
    """A column's categories by number; all others have the number after the last.

    Attributes
    ----------
    stub : CatBoost
        One tree for each category.
    row : Table
        One row, in which values met later are put.
    column : int
    number_of : dict
        Known so far.
    """

    stub: object
    row: Table
    column: int
    number_of: dict = field(default_factory=dict)

    def __call__(self, values):
        """(n,) float64 of values of any type."""
        keys = _keys(values)
        new = [k for k in dict.fromkeys(keys) if k not in self.number_of]
        if new:
            asked = np.empty((len(new), 1), dtype=values.dtype)
            asked[:, 0] = new  # of the type that CatBoost itself would be given
            rows = np.zeros(len(new), dtype=np.intp)
            moved = self.row.moved(rows, (self.column,), values=asked)
            self.learn(new, moved)
        return np.array([self.number_of[k] for k in keys], dtype=np.float64)

    def learn(self, keys, rows):
        """Remember the numbers of the values that rows hold."""
        yes = np.reshape(self.stub.calc_leaf_indexes(rows), (len(keys), -1)) > 0
        number = np.where(yes.any(axis=1), yes.argmax(axis=1), yes.shape[1])
        self.number_of.update(zip(keys, number.tolist()))


def _keys(values):
    return [None if is_missing(v) else v for v in values.tolist()]


# Links


def _link(content, model, table, n_raw):
    """(link, what is taken off the raw outputs for it)."""
    loss, _ = _loss_function(content)
    one = table.take([0]).native
    if model.method == "predict_proba":
        return _probability_link(loss, n_raw, model(one).shape[1]), 0.0
    if type(model.estimator).__name__ in ("CatBoost", "CatBoostRanker"):
        return None, 0.0
    own = np.ravel(model.estimator.predict(one))
    raw = np.ravel(model.estimator.predict(one, prediction_type="RawFormulaVal"))
    if not model.classifier:
        if np.array_equal(own, raw):
            return None, 0.0
        if own.shape == raw.shape and np.allclose(own, np.exp(raw), 1e-12, 0.0):
            return EXPONENTIAL, 0.0
        raise NotReadable(f"the predictions of the loss {loss} are not read")
    if n_raw > 1 and loss not in ("MultiLogloss", "MultiCrossEntropy"):
        return class_link("predict", n_raw), 0.0
    threshold = model.estimator.get_probability_threshold() if n_raw == 1 else 0.5
    return AboveThreshold(), np.log(threshold) - np.log1p(-threshold)


def _probability_link(loss, n_raw, n_outputs):
    if n_raw > 1 and loss not in (*SOFTMAX, *EACH_CLASS):
        raise NotReadable(f"probabilities of the loss {loss} are not read")
    link = Softmax() if n_raw > 1 and loss in SOFTMAX else LOGISTIC
    return Then(link, SECOND) if n_raw == 2 and n_outputs == 1 else link


def _loss_function(content):
    """Its name and its parameters."""
    parameters = content["model_info"].get("params", {})
    if isinstance(parameters, str):
        parameters = json.loads(parameters)
    function = parameters.get("loss_function", {})
    return function.get("type", "unknown"), function.get("params", {})


LOSSES = {
    "RMSE": "squared error",
    "MultiRMSE": "squared error",
    "MAE": "absolute error",
    "Quantile": "quantile",
    "MultiQuantile": "quantile at several levels",
    "Expectile": "expectile",
    "Huber": "huber",
    "LogCosh": "log-cosh",
    "MAPE": "relative error",
    "Poisson": "poisson",
    "Tweedie": "tweedie",
    "Logloss": "log loss",
    "CrossEntropy": "log loss of shares",
    "MultiClass": "softmax",
    **dict.fromkeys(EACH_CLASS, "log loss"),
    "MultiCrossEntropy": "log loss of shares",
}
LOSS_PARAMETERS = ("alpha", "delta", "variance_power")


def _tree_loss(content):
    """Arguments of `TreeLoss`."""
    loss, options = _loss_function(content)
    if loss == "Quantile":
        options = {"alpha": 0.5, **options}
    parameter = next((options[key] for key in LOSS_PARAMETERS if key in options), 1.0)
    several = loss == "MultiQuantile"  # whose parameter is a list
    return LOSSES.get(loss, loss), 1.0 if several else float(parameter)
