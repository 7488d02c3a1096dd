"""Fitted transformers that are affine: z = x A + b. A is sparse where possible."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from skvarimp._models.column_sources import is_selector, replaced
from skvarimp._models.links import NoGradient
from skvarimp._models.model import rule_of


class NotAffine(NoGradient):
    """A transformer that is no affine map; the message is the reason."""


@dataclass(frozen=True, eq=False)
class Affine:
    """x A + b.

    Attributes
    ----------
    matrix : {ndarray, sparse array} of shape (n_columns, n_out)
    shift : ndarray of shape (n_out,)
    """

    matrix: object
    shift: np.ndarray

    def then(self, other):
        """This map followed by another."""
        return Affine(
            self.matrix @ other.matrix, self.shift @ other.matrix + other.shift
        )


def _scaling(factor, shift, n_columns):
    factor = np.broadcast_to(np.asarray(factor, dtype=np.float64), n_columns)
    shift = np.broadcast_to(np.asarray(shift, dtype=np.float64), n_columns)
    return Affine(sparse.diags_array(factor, format="csr"), shift)


def selection(columns, n_columns):
    """The map from a table to some of its columns."""
    identity = sparse.eye_array(n_columns, format="csc")
    return Affine(identity[:, columns].tocsr(), np.zeros(len(columns)))


def _scaler(step, n_columns):
    if getattr(step, "clip", False):
        raise NotAffine(f"{type(step).__name__} clips")
    if hasattr(step, "min_"):  # MinMaxScaler multiplies, the others divide
        return _scaling(step.scale_, step.min_, n_columns)
    factor = 1.0 if step.scale_ is None else 1.0 / step.scale_
    centre = getattr(step, "center_", None)
    if getattr(step, "with_mean", False):
        centre = step.mean_
    return _scaling(factor, 0.0 if centre is None else -centre * factor, n_columns)


def _components(step, n_columns):
    """Projections on the rows of `components_`, after `mean_`, if any, is taken off."""
    matrix = step.components_.T.astype(np.float64)
    shift = np.zeros(matrix.shape[1])
    if getattr(step, "mean_", None) is not None:
        shift = -np.asarray(step.mean_, dtype=np.float64) @ matrix
    return Affine(matrix, shift)


def _pca(step, n_columns):
    result = _components(step, n_columns)
    if not step.whiten:
        return result
    scale = np.sqrt(step.explained_variance_)
    # scikit-learn's own guard against components without variance
    scale = np.maximum(scale, np.finfo(scale.dtype).eps)
    return Affine(result.matrix / scale, result.shift / scale)


def _factor_analysis(step, n_columns):
    """Posterior mean of the factors (Barber, 21.2.33)."""
    weighted = step.components_ / step.noise_variance_
    covariance = np.linalg.inv(np.eye(len(weighted)) + weighted @ step.components_.T)
    matrix = weighted.T @ covariance
    return Affine(matrix, -step.mean_ @ matrix)


def _discriminants(step, n_columns):
    """LinearDiscriminantAnalysis as a transformer."""
    matrix = step.scalings_[:, : len(step.get_feature_names_out())]
    if step.solver == "svd":
        return Affine(matrix, -step.xbar_ @ matrix)
    return Affine(matrix, np.zeros(matrix.shape[1]))


def chained(steps, n_columns):
    """Fitted steps one after the other as one `Affine` map; raises NotAffine."""
    result = _scaling(1.0, 0.0, n_columns)
    for step in steps:
        result = result.then(affine(step, result.matrix.shape[1]))
    return result


def _pipeline(step, n_columns):
    return chained([member for _, member in step.steps], n_columns)


def _frozen(step, n_columns):
    return affine(step.estimator, n_columns)


AFFINE = {
    "sklearn.preprocessing": dict.fromkeys(
        ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler"), _scaler
    ),
    "sklearn.decomposition": {
        "PCA": _pca,
        "IncrementalPCA": _pca,
        "TruncatedSVD": _components,
        "FastICA": _components,
        "FactorAnalysis": _factor_analysis,
    },
    "sklearn.discriminant_analysis": {"LinearDiscriminantAnalysis": _discriminants},
    "sklearn.neighbors": {"NeighborhoodComponentsAnalysis": _components},
    "sklearn.random_projection": {
        "GaussianRandomProjection": _components,
        "SparseRandomProjection": _components,
    },
    "sklearn.pipeline": {"Pipeline": _pipeline},
    "sklearn.frozen": {"FrozenEstimator": _frozen},
}


def affine(step, n_columns):
    """A fitted step as an `Affine` map of n_columns columns; raises NotAffine."""
    if step is None or step == "passthrough":
        return _scaling(1.0, 0.0, n_columns)
    if method := replaced(step):
        raise NotAffine(f"{method} of this instance was replaced")
    rule = rule_of(step, AFFINE)
    if rule is not None:
        return rule(step, n_columns)
    if is_selector(step):
        return selection(step.get_support(indices=True), n_columns)
    raise NotAffine(f"the step {type(step).__name__} has no formula")
