"""Trees and ensembles of trees of scikit-learn and scikit-survival."""

from dataclasses import replace
from functools import partial

import numpy as np

from skvarimp._models.forms import NotReadable
from skvarimp._models.labels import EachOutput, LargestScore, Sign, class_link
from skvarimp._models.links import (
    EXPONENTIAL,
    IDENTITY,
    Mixed,
    Then,
    WeightedMedian,
    scaled,
)
from skvarimp._models.model import RESPONSE_METHODS
from skvarimp._models.trees import Encoding, Tree, Trees, in_column, recoded
from skvarimp._running.memory import CACHE, slices
from skvarimp._running.private_sklearn import private

VOTES = "votes"  # probabilities of all classes, where scikit-learn shows only some
TRIED_ROWS, TRIED_NODES = 8, 64  # of each tree, as it is read
MEAN = "mean"  # of trees whose prediction is their median


def read(model, table):
    """The trees and the link that give a model's response, a `Trees` form."""
    return read_trees(model.estimator, model.method)


def read_trees(estimator, method):
    """The trees and the link that give one of an estimator's methods.

    Parameters
    ----------
    estimator : estimator
    method : str
        A response method, or `VOTES`, or `MEAN`.

    Returns
    -------
    Trees

    Raises
    ------
    NotReadable
        With the reason.
    """
    form = _read(estimator, method)
    check_thresholds(estimator)
    return form


def _read(estimator, method):
    """As `read_trees`, without the check that thresholds lead to the leaves."""
    reader = READERS.get(type(estimator).__name__)
    public = getattr(type(estimator), "__module__", "").startswith("sklearn.")
    if reader is None or not public:
        raise NotReadable(
            f"{type(estimator).__name__} is not a tree that this library reads"
        )
    for method_replaced in set(RESPONSE_METHODS) & set(vars(estimator)):
        raise NotReadable(f"{method_replaced} of this instance was replaced")
    return reader(estimator, method)


def n_training_rows(forest):
    """How many rows a forest or bagging was fitted on; None where it does not say.

    The public `estimators_samples_` holds the rows drawn, not how many there were.
    """
    try:
        return private(forest, "_n_samples")
    except AttributeError:
        return None


def _tree(tree, values, columns=None):
    """A `Tree` of a `tree_` that was grown on some columns, or on all."""
    left, right = tree.children_left, tree.children_right
    column = tree.feature
    if columns is not None:
        column = columns[np.maximum(column, 0)]
    return Tree(
        np.where(left >= 0, column, -1),
        tree.threshold,
        left,
        right,
        tree.missing_go_to_left.astype(bool),
        values,
        weight=tree.weighted_n_node_samples,
        count=tree.n_node_samples,
        columns=None if columns is None else np.unique(columns),
    )


def check_thresholds(estimator):
    """Raise NotReadable unless thresholds lead to the leaves that `tree_`s find.

    The rows that are tried stand on thresholds and next to them, and the last of each
    tree misses values. A split that compares no numbers, as of categories, sends some
    elsewhere.

    Parameters
    ----------
    estimator : estimator
        A single tree, or an ensemble; members without a `tree_` are passed over.
    """
    trees = [tree for tree in _inner_trees(estimator) if tree.node_count > 1]
    most = max((tree.n_features for tree in trees), default=0)
    for part in slices(len(trees), TRIED_ROWS * max(most, TRIED_NODES), CACHE):
        if not _thresholds_lead(trees[part], most):
            raise NotReadable(
                "its rows do not fall into the leaves that its thresholds say, as with "
                "splits of a kind that this version does not know"
            )


def _inner_trees(estimator):
    """Yield the `tree_` of each single tree."""
    if hasattr(estimator, "tree_"):
        yield estimator.tree_
        return
    members = getattr(estimator, "estimators_", ())
    for member in getattr(members, "flat", members):
        yield from _inner_trees(member)


def _thresholds_lead(trees, n_features):
    """Whether thresholds of some trees with splits lead to their leaves."""
    sizes = np.array([tree.node_count for tree in trees])
    first = np.cumsum(sizes) - sizes
    names = "children_left", "children_right", "feature", "threshold"
    left, right, feature, threshold, missing_left = (
        np.concatenate([getattr(tree, name) for tree in trees])
        for name in (*names, "missing_go_to_left")
    )
    inner = np.flatnonzero(left >= 0)
    begins = np.searchsorted(inner, first)
    n_inner = np.diff(begins, append=len(inner))
    random = np.random.default_rng(len(inner))
    shape = len(trees), TRIED_ROWS, min(int(n_inner.max()), TRIED_NODES)
    turn = (random.random(shape) * n_inner[:, np.newaxis, np.newaxis]).astype(np.intp)
    tried = inner[begins[:, np.newaxis, np.newaxis] + turn]
    values = threshold[tried].astype(np.float32)
    values[:, 1::2] = np.nextafter(values[:, 1::2], np.float32(np.inf))
    values[:, -1, ::-2] = np.nan
    rows = np.zeros((*shape[:2], n_features), dtype=np.float32)
    np.put_along_axis(rows, feature[tried], values, axis=2)  # the last ones stay
    found = [tree.apply(x[:, : tree.n_features]) for tree, x in zip(trees, rows)]
    rows, root = rows.reshape(-1, n_features), np.repeat(first, TRIED_ROWS)
    moving, node = np.arange(len(rows)), root.copy()
    while len(moving := moving[left[node[moving]] >= 0]):
        at = node[moving]
        values = rows[moving, feature[at]]
        goes_left = values <= threshold[at]
        goes_left |= np.isnan(values) & (missing_left[at] != 0)
        node[moving] = root[moving] + np.where(goes_left, left[at], right[at])
    return np.array_equal(node - root, np.concatenate(found))


def grown_tree(member, columns):
    """A tree as it was grown, with what it holds of its own training rows.

    Parameters
    ----------
    member : estimator
        A single tree.
    columns : ndarray or None
        Columns that it was grown on; None for all.

    Returns
    -------
    Tree
        Values are shares of all classes of each output, or means.
    """
    tree = _tree(member.tree_, _grown(member), columns)
    risk, decrease = tree.weight * member.tree_.impurity, np.zeros(len(tree.weight))
    inner = ~tree.is_leaf
    decrease[inner] = risk[inner] - risk[tree.left[inner]] - risk[tree.right[inner]]
    return replace(tree, decrease=decrease)


def _grown(member):
    """Means, or shares of all classes, outputs side by side."""
    value = member.tree_.value
    counts = _n_classes(member) or [1] * value.shape[1]
    return np.hstack([value[:, o, :count] for o, count in enumerate(counts)])


def _n_classes(estimator):
    """Of each output; none of a regressor."""
    if not hasattr(estimator, "classes_"):
        return ()
    return tuple(np.atleast_1d(estimator.n_classes_).tolist())


def _read_tree(estimator, method):
    values, n_classes = _grown(estimator), _n_classes(estimator)
    if n_classes and method != VOTES:  # at "predict" each leaf has its label
        label = LargestScore() if method == "predict" else IDENTITY
        values = EachOutput(n_classes, label)(values.T)[0].T
    return Trees([_tree(estimator.tree_, values)])


def _read_forest(estimator, method):
    link, n_classes = None, _n_classes(estimator)
    if n_classes and method == "predict":
        # sums, not means: whole numbers where leaves are pure, whose ties are exact
        link, asked, n = EachOutput(n_classes, LargestScore()), VOTES, 1
    else:
        asked, n = method, len(estimator.estimators_)
    trees = [_read(e, asked).trees[0] for e in estimator.estimators_]
    for tree in trees:
        tree.values = tree.values / n
    return Trees(trees, link=link)


def _read_boosting(estimator, method):
    init = estimator.init_  # any estimator; only a constant is no response
    dummy = type(init).__module__ == "sklearn.dummy"
    random = dummy and init.strategy in ("stratified", "uniform")
    if random or not (dummy or isinstance(init, str)):
        raise NotReadable(f"its init estimator {type(init).__name__} is no constant")
    members = estimator.estimators_
    rate, n_raw = estimator.learning_rate, members.shape[1]
    trees = [
        _tree(m.tree_, in_column(rate * m.tree_.value[:, 0, 0], k, n_raw))
        for stage in members
        for k, m in enumerate(stage)
    ]
    link = None
    if hasattr(estimator, "classes_"):
        # the exponential loss models half of the log-odds
        factor = 2.0 if estimator.loss == "exponential" else 1.0
        above = -np.finfo(np.float64).tiny  # 0 stands for the second class
        link = class_link(method, n_raw, factor=factor, threshold=above)
    stages = np.repeat(np.arange(len(members)), n_raw)
    any_row = np.zeros((1, estimator.n_features_in_), dtype=np.float32)
    (offset,) = private(estimator, "_raw_predict_init")(any_row)
    loss = loss_arguments(estimator, n_raw)
    return Trees(trees, link=link, offset=offset, stages=stages, loss=loss)


def _boosted_tree(member):
    """A member of AdaBoost, with labels or values in its leaves."""
    if type(member).__name__ not in SINGLE_TREES:
        raise NotReadable(f"AdaBoost of {type(member).__name__}, which is not a tree")
    return _read(member, "predict").trees[0]


def _read_adaboost(estimator, method):
    """Each member's label weighs w for its class and -w / (K - 1) for the others."""
    n_classes = len(estimator.classes_)
    if n_classes < 2:
        raise NotReadable("AdaBoostClassifier has seen one class")
    weights = np.asarray(estimator.estimator_weights_, dtype=np.float64)
    shares = weights / weights.sum()
    trees = []
    for member, share in zip(estimator.estimators_, shares):
        tree = _boosted_tree(member)
        if not np.array_equal(member.classes_, estimator.classes_):
            raise NotReadable("the members of AdaBoostClassifier know other classes")
        if n_classes == 2:  # decision_function: second minus first
            tree.values = share * (4.0 * tree.values - 2.0)
        else:
            others = -share / (n_classes - 1)
            tree.values = np.where(tree.values > 0, share, others)
        trees.append(tree)
    n_raw = 1 if n_classes == 2 else n_classes
    link = class_link(method, n_raw, factor=1.0 / (n_classes - 1))
    # Zhu et al. 2009: the additive model has weights (K - 1)^2 / K alpha, and the loss
    # divides its product with the codes by K
    scale = float(weights.sum()) * (n_classes - 1) ** 2 / n_classes**2
    stages, loss = np.arange(len(trees)), ("exponential", scale)
    return Trees(trees, link=link, stages=stages, loss=loss)


def _read_adaboost_regressor(estimator, method):
    """The weighted median, each tree a raw output of its own; or the `MEAN`."""
    members = estimator.estimators_
    weights = np.asarray(estimator.estimator_weights_, dtype=np.float64)[: len(members)]
    shares, trees = weights / weights.sum(), []
    for k, member in enumerate(members):
        tree = _boosted_tree(member)
        if method == MEAN:
            tree.values = shares[k] * tree.values
        else:
            tree.values = in_column(tree.values[:, 0], k, len(members))
        trees.append(tree)
    link = None if method == MEAN else WeightedMedian(weights)
    return Trees(trees, shares=shares, link=link)


def _read_bagging(estimator, method):
    """The mean of a classifier's members' `VOTES`, each on its own columns."""
    forms = []
    for member, columns in zip(estimator.estimators_, estimator.estimators_features_):
        columns = np.asarray(columns)
        form = _read(member, VOTES)
        form = form.on(columns, estimator.n_features_in_)
        for tree in form.trees:
            votes = np.zeros((len(tree.values), estimator.n_classes_))
            votes[:, np.asarray(member.classes_, dtype=np.intp)] = tree.values
            tree.values = votes
        forms.append(form)
    return Trees.mixed(forms, Mixed(np.full((1, len(forms)), 1.0 / len(forms))))


def _read_isolation_forest(estimator, method):
    """The mean length of a row's paths, as a power of 2 (Liu et al. 2008, eq. 2)."""
    trees = []
    n_trees = len(estimator.estimators_)
    for member, columns in zip(estimator.estimators_, estimator.estimators_features_):
        tree = _tree(member.tree_, None, np.asarray(columns))
        depth = member.tree_.compute_node_depths() - 1.0  # the root's is 0
        length = depth + _average_path_length(tree.count)
        tree.values = length[:, np.newaxis] / n_trees
        trees.append(tree)
    scale = float(_average_path_length(np.array([estimator.max_samples_]))[0])
    threshold = float(estimator.offset_)
    if method == "predict":
        link = Sign(-scale * np.log2(-threshold))
    else:
        power = scaled(-np.log(2.0) / scale, EXPONENTIAL)
        link = Then(power, Mixed(np.array([[-1.0]]), -threshold))
    return Trees(trees, link=link)


def _average_path_length(n):
    """Mean depth of a search in a random binary tree of n rows (eq. 1)."""
    many = np.maximum(n, 3).astype(np.float64)
    length = 2.0 * (np.log(many - 1.0) + np.euler_gamma) - 2.0 * (many - 1.0) / many
    return np.select([n <= 1, n == 2], [0.0, 1.0], length)


def _read_histograms(estimator, method):
    """The trees of histogram gradient boosting and the link of one of its methods."""
    # No public attribute holds the trees, the column order in front of them, the
    # categories or the baseline; they are read here and nowhere else.
    stages = private(estimator, "_predictors")
    encoding = private(estimator, "_preprocessor")
    columns, categories = np.arange(estimator.n_features_in_), {}
    if encoding is not None:  # categorical columns first
        columns = np.argsort(~estimator.is_categorical_, kind="stable")
        encoder = encoding.named_transformers_["encoder"]
        categories = dict(zip(columns.tolist(), encoder.categories_))
    n_raw = len(stages[0])
    trees = [
        _hist_tree(predictor, columns, k, n_raw)
        for stage in stages
        for k, predictor in enumerate(stage)
    ]
    if hasattr(estimator, "classes_"):
        link = class_link(method, n_raw)
    else:
        link = EXPONENTIAL if estimator.loss in ("poisson", "gamma") else None
    return Trees(
        trees,
        Encoding(
            False,
            {j: len(known) for j, known in categories.items()},
            {j: (partial(recoded, known),) for j, known in categories.items()},
        ),
        link,
        np.ravel(private(estimator, "_baseline_prediction")).astype(np.float64),
        np.repeat(np.arange(len(stages)), n_raw),
        loss=loss_arguments(estimator, n_raw),
    )


def _hist_tree(predictor, columns, k, n_raw):
    """A `Tree` that adds to the k-th of the raw outputs."""
    nodes = predictor.nodes
    leaf = nodes["is_leaf"].astype(bool)
    nominal = nodes["is_categorical"].astype(bool) & ~leaf
    words = np.ascontiguousarray(predictor.raw_left_cat_bitsets, dtype="<u4")
    sets = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")
    node_sets = zip(np.flatnonzero(nominal).tolist(), nodes["bitset_idx"][nominal])
    count = nodes["count"].astype(np.intp)
    return Tree(
        np.where(leaf, -1, columns[np.where(leaf, 0, nodes["feature_idx"])]),
        nodes["num_threshold"],
        np.where(leaf, -1, nodes["left"].astype(np.intp)),
        np.where(leaf, -1, nodes["right"].astype(np.intp)),
        nodes["missing_go_to_left"].astype(bool),
        in_column(nodes["value"], k, n_raw),
        {node: sets[s].astype(bool) for node, s in node_sets},
        weight=count.astype(np.float64),
        count=count,
        # G_L^2 / H_L + G_R^2 / H_R - G^2 / H takes the place of the decrease: for a
        # loss of constant hessian it is the decrease of the sum of squares
        decrease=np.where(leaf, 0.0, nodes["gain"]),
    )


def loss_arguments(estimator, n_raw):
    """Arguments of `TreeLoss`."""
    name = estimator.loss
    if name == "log_loss":
        return ("softmax" if n_raw > 1 else "log loss"), 1.0
    if name == "quantile":  # `quantile` of histograms, `alpha` of the others
        return name, getattr(estimator, "quantile", getattr(estimator, "alpha", None))
    if name == "huber":
        return "huber at quantile", estimator.alpha
    return f"{name}".replace("_", " "), 1.0


def _both(reader, *names):
    """Regressor and classifier of each name -> their reader."""
    kinds = ("Regressor", "Classifier")
    return {f"{name}{kind}": reader for name in names for kind in kinds}


SINGLE_TREES = _both(_read_tree, "DecisionTree", "ExtraTree")
READERS = {
    **SINGLE_TREES,
    **_both(_read_forest, "RandomForest", "ExtraTrees"),
    **_both(_read_boosting, "GradientBoosting"),
    **_both(_read_histograms, "HistGradientBoosting"),
    "AdaBoostClassifier": _read_adaboost,
    "AdaBoostRegressor": _read_adaboost_regressor,
    "IsolationForest": _read_isolation_forest,
    "BaggingClassifier": _read_bagging,
}


def read_survival_trees(model, table):
    """The form of scikit-survival's trees, or of a forest of them: a mean of risks."""
    estimator = model.estimator
    members = getattr(estimator, "estimators_", [estimator])
    check_thresholds(estimator)
    return Trees([_tree(m.tree_, _risks(m) / len(members)) for m in members])


def _risks(member):
    """The cumulative hazard of each node, summed over the event times, (n_nodes, 1)."""
    hazards = member.tree_.value[:, :, 0]  # (n_nodes, n_times)
    if member.low_memory:  # the tree keeps the sums alone
        return hazards
    return np.einsum("kt,t->k", hazards, member.is_event_time_)[:, np.newaxis]


def read_boosted_survival_trees(model, table):
    """The form of scikit-survival's boosting: log hazards, or logarithms of times."""
    estimator = model.estimator
    members = estimator.estimators_[:, 0]
    check_thresholds(estimator)
    # no public attribute holds the weights that dropping trees out gave the trees
    weights = getattr(estimator, "_scale", np.ones(len(members)))
    rates = estimator.learning_rate * weights
    trees = [_tree(m.tree_, r * m.tree_.value[:, 0]) for m, r in zip(members, rates)]
    link = IDENTITY if estimator.loss == "coxph" else EXPONENTIAL
    return Trees(trees, link=link, stages=np.arange(len(trees)))
