"""What scikit-learn's trees and ensembles of trees hold, as raw trees and a link.

`HistGradientBoosting*` publish neither their trees nor the encoding in front of them;
`_read_hist_boosting` is the one place that looks at their private attributes.
"""

from dataclasses import dataclass, field

import numpy as np

from skvarimp._models.model import RESPONSE_METHODS
from skvarimp._models.tree_links import (
    Exponential,
    Labels,
    Logistic,
    Sign,
    Softmax,
    shown,
)
from skvarimp._models.tree_table import RawTree
from skvarimp._response.lowering import NotLowerable

VOTES = "votes"  # probabilities of all classes, where scikit-learn shows only some


@dataclass
class Ensemble:
    """An ensemble as read.

    Attributes
    ----------
    trees : list of RawTree
    link : callable or None
        From raw outputs to the response; None: they are the response.
    offset : ndarray of shape (n_raw,) or None
        Added to the trees' sum; None where it is to be taken from
        `decision_function`, the raw outputs themselves.
    single : bool
        Whether values are compared in single precision.
    categories : dict
        Column -> categories, encoded by their positions.
    encoders : dict
        Column -> functions that turn its values, one after the other, into those
        that the splits compare.
    """

    trees: list
    link: object = None
    offset: np.ndarray | float | None = 0.0
    single: bool = True
    categories: dict = field(default_factory=dict)
    encoders: dict = field(default_factory=dict)


def read(estimator, method):
    """The ensemble whose trees and link give an estimator's response method.

    Raises
    ------
    NotLowerable
        With the reason.
    """
    reader = READERS.get(type(estimator).__name__)
    public = getattr(type(estimator), "__module__", "").startswith("sklearn.")
    if reader is None or not public:
        raise NotLowerable(f"{type(estimator).__name__} is no tree this library reads")
    _refuse_replaced(estimator)
    return reader(estimator, method)


def _refuse_replaced(estimator):
    replaced = [name for name in RESPONSE_METHODS if name in vars(estimator)]
    if replaced:
        raise NotLowerable(f"{replaced[0]} of this instance was replaced")


def _raw_tree(tree, values):
    leaf = tree.children_left < 0
    return RawTree(
        np.where(leaf, -1, tree.feature),
        tree.threshold,
        tree.children_left,
        tree.children_right,
        tree.missing_go_to_left.astype(bool),
        values,
    )


def _n_classes(estimator):
    return tuple(np.atleast_1d(estimator.n_classes_).tolist())


def _votes(tree, n_classes):
    """Class probabilities at the nodes, label columns side by side."""
    return [tree.value[:, o, :k] for o, k in enumerate(n_classes)]


def _shown(blocks):
    return np.hstack([shown(block.T).T for block in blocks])


def _read_tree(estimator, method):
    tree = estimator.tree_
    if not hasattr(estimator, "classes_"):
        return Ensemble([_raw_tree(tree, tree.value[:, :, 0])])
    blocks = _votes(tree, _n_classes(estimator))
    if method == "predict":  # each leaf has its label
        blocks = [np.eye(b.shape[1])[b.argmax(axis=1)] for b in blocks]
    values = np.hstack(blocks) if method == VOTES else _shown(blocks)
    return Ensemble([_raw_tree(tree, values)])


def _read_forest(estimator, method):
    members = estimator.estimators_
    for member in members:
        _refuse_replaced(member)
    trees = [member.tree_ for member in members]
    n = len(trees)
    if not hasattr(estimator, "classes_"):
        return Ensemble([_raw_tree(tree, tree.value[:, :, 0] / n) for tree in trees])
    n_classes = _n_classes(estimator)
    votes = [_votes(tree, n_classes) for tree in trees]
    if method == "predict":
        # sums, not means: whole numbers where leaves are pure, whose ties are exact
        values = [np.hstack(blocks) for blocks in votes]
        link = Labels(n_classes)
    else:
        join = np.hstack if method == VOTES else _shown
        values, link = [join(blocks) / n for blocks in votes], None
    return Ensemble([_raw_tree(t, v) for t, v in zip(trees, values)], link)


def _in_column(values, k, n_raw):
    result = np.zeros((len(values), n_raw))
    result[:, k] = values
    return result


def _read_boosting(estimator, method):
    _check_constant(estimator.init_)
    members = estimator.estimators_
    rate, n_raw = estimator.learning_rate, members.shape[1]
    trees = [
        _raw_tree(m.tree_, _in_column(rate * m.tree_.value[:, 0, 0], k, n_raw))
        for stage in members
        for k, m in enumerate(stage)
    ]
    if not hasattr(estimator, "classes_"):
        return Ensemble(trees)
    # the exponential loss models half of the log-odds
    factor = 2.0 if estimator.loss == "exponential" else 1.0
    link = _boosting_link(method, n_raw, factor, zero_is_second=True)
    return Ensemble(trees, link, None)


def _boosting_link(method, n_raw, factor, zero_is_second):
    if method == "decision_function":
        return None
    if method == "predict":
        return Sign(zero_is_second) if n_raw == 1 else Labels((n_raw,))
    return Logistic(factor) if n_raw == 1 else Softmax(factor)


def _check_constant(init):
    """Boosting may start from any estimator; only a constant is no response."""
    name = type(init).__name__
    constant = isinstance(init, str) or (
        type(init).__module__ == "sklearn.dummy"
        and (
            name == "DummyRegressor"
            or init.strategy in ("prior", "most_frequent", "constant")
        )
    )
    if not constant:
        raise NotLowerable(f"its init estimator {name} is no constant")


def _read_hist_boosting(estimator, method):
    # No public attribute holds the trees, the column order in front of them, the
    # categories or the baseline; they are read here and nowhere else.
    stages = estimator._predictors
    encoding = estimator._preprocessor
    baseline = np.ravel(estimator._baseline_prediction).astype(np.float64)
    columns, categories = np.arange(estimator.n_features_in_), {}
    if encoding is not None:  # categorical columns first
        nominal = np.asarray(estimator.is_categorical_)
        columns = np.concatenate([np.flatnonzero(nominal), np.flatnonzero(~nominal)])
        encoder = encoding.named_transformers_["encoder"]
        categories = dict(zip(columns.tolist(), encoder.categories_))
    n_raw = len(stages[0])
    trees = [
        _hist_tree(predictor, columns, k, n_raw)
        for stage in stages
        for k, predictor in enumerate(stage)
    ]
    if hasattr(estimator, "classes_"):
        link = _boosting_link(method, n_raw, 1.0, zero_is_second=False)
    else:
        link = Exponential() if estimator.loss in ("poisson", "gamma") else None
    return Ensemble(trees, link, baseline, False, categories)


def _hist_tree(predictor, columns, k, n_raw):
    nodes = predictor.nodes
    leaf = nodes["is_leaf"].astype(bool)
    nominal = nodes["is_categorical"].astype(bool) & ~leaf
    words = np.ascontiguousarray(predictor.raw_left_cat_bitsets, dtype="<u4")
    sets = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")
    return RawTree(
        np.where(leaf, -1, columns[np.where(leaf, 0, nodes["feature_idx"])]),
        nodes["num_threshold"],
        nodes["left"],
        nodes["right"],
        nodes["missing_go_to_left"].astype(bool),
        _in_column(nodes["value"], k, n_raw),
        np.where(nominal, nodes["bitset_idx"].astype(np.int64), -1),
        sets.astype(bool),
    )


def _read_adaboost(estimator, method):
    """Each member's label weighs w for its class and -w / (K - 1) for the others."""
    n_classes = len(estimator.classes_)
    if n_classes < 2:
        raise NotLowerable("AdaBoostClassifier has seen one class")
    weights = np.asarray(estimator.estimator_weights_, dtype=np.float64)
    shares = weights / weights.sum()
    trees = []
    for member, share in zip(estimator.estimators_, shares):
        labels = read(member, "predict")  # only single trees have labels in leaves
        if labels.link is not None or type(member).__name__ not in SINGLE_TREES:
            raise NotLowerable(f"AdaBoost of {type(member).__name__} has no labels")
        if not np.array_equal(member.classes_, estimator.classes_):
            raise NotLowerable("the members of AdaBoostClassifier know other classes")
        tree = labels.trees[0]
        if n_classes == 2:  # decision_function: second minus first
            tree.values = share * (4.0 * tree.values - 2.0)
        else:
            others = -share / (n_classes - 1)
            tree.values = np.where(tree.values > 0, share, others)
        trees.append(tree)
    if method == "decision_function":
        link = None
    elif method == "predict":
        link = Sign(False) if n_classes == 2 else Labels((n_classes,))
    else:
        link = Logistic() if n_classes == 2 else Softmax(1.0 / (n_classes - 1))
    return Ensemble(trees, link)


def _read_adaboost_regressor(estimator, method):
    raise NotLowerable("AdaBoostRegressor is a weighted median of its trees, no sum")


def _read_bagging(estimator, method):
    """Mean over the members, each on its own columns."""
    classifier = hasattr(estimator, "classes_")
    of_member = VOTES if classifier and method != "decision_function" else method
    ensembles = []
    for member, columns in zip(estimator.estimators_, estimator.estimators_features_):
        ensemble = read(member, of_member)
        if ensemble.link is not None or ensemble.categories:
            raise NotLowerable(f"a mean of {type(member).__name__} is no sum of trees")
        if (
            classifier
            and of_member != VOTES
            and len(member.classes_) < len(estimator.classes_)
        ):
            raise NotLowerable("a member of BaggingClassifier has not seen all classes")
        for tree in ensemble.trees:
            inner = tree.column >= 0
            tree.column = np.where(inner, np.asarray(columns)[tree.column], -1)
            if of_member == VOTES:
                votes = np.zeros((len(tree.values), estimator.n_classes_))
                votes[:, np.asarray(member.classes_, dtype=np.intp)] = tree.values
                tree.values = votes
        ensembles.append(ensemble)
    trees = [tree for ensemble in ensembles for tree in ensemble.trees]
    link = None
    if of_member == VOTES and method == "predict":
        link = Labels((int(estimator.n_classes_),))
    else:
        for tree in trees:
            tree.values = tree.values / len(ensembles)
            if method == "predict_proba":
                tree.values = _shown([tree.values])
    return Ensemble(trees, link, single=ensembles[0].single)


SINGLE_TREES = (
    "DecisionTreeRegressor",
    "DecisionTreeClassifier",
    "ExtraTreeRegressor",
    "ExtraTreeClassifier",
)
READERS = {
    **dict.fromkeys(SINGLE_TREES, _read_tree),
    "RandomForestRegressor": _read_forest,
    "RandomForestClassifier": _read_forest,
    "ExtraTreesRegressor": _read_forest,
    "ExtraTreesClassifier": _read_forest,
    "GradientBoostingRegressor": _read_boosting,
    "GradientBoostingClassifier": _read_boosting,
    "HistGradientBoostingRegressor": _read_hist_boosting,
    "HistGradientBoostingClassifier": _read_hist_boosting,
    "AdaBoostClassifier": _read_adaboost,
    "AdaBoostRegressor": _read_adaboost_regressor,
    "BaggingRegressor": _read_bagging,
    "BaggingClassifier": _read_bagging,
}
