"""Histogram gradient boosting, and what it shares with the other gradient boosting.

`HistGradientBoosting*` publish neither their trees nor the encoding in front of them;
`read_hist_boosting` is the one place that looks at their private attributes.
"""

import numpy as np

from skvarimp._models.label_links import class_link
from skvarimp._models.links import EXPONENTIAL
from skvarimp._models.readers.tree_columns import Recoded
from skvarimp._models.trees import Encoding, Tree, Trees
from skvarimp._running.private_sklearn import private


def read_hist_boosting(estimator, method, table):
    """The trees of histogram gradient boosting and the link of one of its methods."""
    # No public attribute holds the trees, the column order in front of them, the
    # categories or the baseline; they are read here and nowhere else.
    stages = private(estimator, "_predictors")
    encoding = private(estimator, "_preprocessor")
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
        link = class_link(method, n_raw)
    else:
        link = EXPONENTIAL if estimator.loss in ("poisson", "gamma") else None
    return Trees(
        trees,
        Encoding(
            False,
            {j: len(known) for j, known in categories.items()},
            {j: (Recoded(known),) for j, known in categories.items()},
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
    of_node = zip(np.flatnonzero(nominal).tolist(), nodes["bitset_idx"][nominal])
    count = nodes["count"].astype(np.intp)
    return Tree(
        np.where(leaf, -1, columns[np.where(leaf, 0, nodes["feature_idx"])]),
        nodes["num_threshold"],
        np.where(leaf, -1, nodes["left"].astype(np.intp)),
        np.where(leaf, -1, nodes["right"].astype(np.intp)),
        nodes["missing_go_to_left"].astype(bool),
        in_column(nodes["value"], k, n_raw),
        {node: sets[s].astype(bool) for node, s in of_node},
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


def in_column(values, k, n_raw):
    """Values of one raw output, (n, n_raw); the others are 0."""
    result = np.zeros((len(values), n_raw))
    result[:, k] = values
    return result
