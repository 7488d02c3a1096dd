"""Reader of scikit-learn's nearest neighbours with the Euclidean distance."""

import numpy as np
from scipy import sparse

from skvarimp._models.forms import NotReadable
from skvarimp._models.label_links import LargestScore, MostVotes
from skvarimp._models.links import IDENTITY
from skvarimp._models.meta_links import EachOutput
from skvarimp._models.neighbours import Neighbours
from skvarimp._models.readers.arrays import is_single
from skvarimp._running.private_sklearn import private


def read_neighbours(model, table):
    """K nearest neighbours, uniform or weighted by distance."""
    estimator = model.estimator
    if estimator.effective_metric_ not in ("euclidean", "l2"):
        raise NotReadable(f"neighbours by the metric {estimator.effective_metric_!r}")
    if estimator.weights not in ("uniform", "distance"):
        raise NotReadable("neighbours with weights of a function")
    rows = private(estimator, "_fit_X")
    if sparse.issparse(rows):
        raise NotReadable("neighbours among sparse rows")
    single = is_single(rows)
    rows = np.asarray(rows, dtype=np.float64)
    targets, link = np.asarray(private(estimator, "_y")), IDENTITY
    targets = targets.reshape(len(rows), -1)
    if model.classifier:
        targets, link = _indicators(model, targets)
    return Neighbours(
        rows=rows,
        targets=np.asarray(targets, dtype=np.float64),
        n_neighbours=min(estimator.n_neighbors, len(rows)),
        by_distance=estimator.weights == "distance",
        link=link,
        single=single,
    )


def _indicators(model, codes):
    """Indicators of all classes of each output, and what the response makes of them."""
    lists = model.class_lists
    counts = [len(classes) for classes in lists]
    columns = [
        codes[:, [o]] == np.arange(count)[np.newaxis] for o, count in enumerate(counts)
    ]
    label = None
    if model.method == "predict":
        uniform = model.estimator.weights == "uniform"
        label = MostVotes() if uniform else LargestScore()
    return np.hstack(columns), EachOutput(tuple(counts), label)
