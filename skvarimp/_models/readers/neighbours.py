"""Readers of scikit-learn's neighbours by the Euclidean distance."""

import warnings

import numpy as np
from scipy import sparse

from skvarimp._models.array_forms import is_single
from skvarimp._models.forms import NotReadable
from skvarimp._models.label_links import EachOutput, LargestScore
from skvarimp._models.links import IDENTITY
from skvarimp._models.training_rows import Neighbours, Outliers, WithinRadius
from skvarimp._running.private_sklearn import private


def read_neighbours(model, table):
    """K nearest neighbours, uniform or weighted by distance."""
    common = _common(model)
    n_neighbours = min(model.estimator.n_neighbors, len(common["rows"]))
    return Neighbours(n_neighbours=n_neighbours, **common)


def read_within_radius(model, table):
    """Neighbours within a radius, uniform or weighted by distance."""
    common = _common(model)
    rows, radius = common["rows"], float(model.estimator.radius)
    # what the model makes of a row without neighbours
    far = rows.max(axis=0) + 2.0 * (radius + np.abs(rows).max())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outputs = model(far[np.newaxis])[0]
    except ValueError:  # it refuses such a row
        outputs = np.full(common["link"].n_outputs(common["targets"].shape[1]), np.nan)
    common["link"] = Outliers(common["link"], outputs)
    return WithinRadius(radius=radius, **common)


def _common(model):
    """What both kinds of neighbours have, as a dict."""
    estimator = model.estimator
    if estimator.effective_metric_ not in ("euclidean", "l2"):
        raise NotReadable(f"neighbours by the metric {estimator.effective_metric_!r}")
    if estimator.weights not in ("uniform", "distance"):
        raise NotReadable("neighbours are weighted by a function")
    rows = private(estimator, "_fit_X")
    if sparse.issparse(rows):
        raise NotReadable("neighbours among sparse rows")
    single = is_single(rows)
    rows = np.asarray(rows, dtype=np.float64)
    targets, link = np.asarray(private(estimator, "_y")), IDENTITY
    targets = targets.reshape(len(rows), -1)
    if model.classifier:
        targets, link = _indicators(model, targets)
    return {
        "rows": rows,
        "targets": np.asarray(targets, dtype=np.float64),
        "by_distance": estimator.weights == "distance",
        "by_products": private(estimator, "_fit_method") == "brute",
        "link": link,
        "single": single,
    }


def _indicators(model, codes):
    """Indicators of all classes of each output, and what the response makes of them."""
    lists = model.class_lists
    counts = [len(classes) for classes in lists]
    columns = [
        codes[:, [o]] == np.arange(count)[np.newaxis] for o, count in enumerate(counts)
    ]
    label = IDENTITY
    if model.method == "predict":
        uniform = model.estimator.weights == "uniform"
        label = LargestScore(exact=uniform)  # votes, or weights of votes
    return np.hstack(columns), EachOutput(tuple(counts), label)
