"""Importances read from weights: their base, and `ConnectionWeightImportance`."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.svm import SVC, NuSVC

from skvarimp._data.statistics import divided
from skvarimp._measures.base import BaseImportance
from skvarimp._measures.behind_transformers import (
    fit_behind_transformers,
    has_transformers,
    set_columns,
)
from skvarimp._models.forms import NotReadable
from skvarimp._models.labels import class_lists
from skvarimp._models.model import names_in, target_names
from skvarimp._models.model import output_names as indicator_names
from skvarimp._models.readers.perceptrons import layer_weights
from skvarimp._models.registry import unwrapped
from skvarimp._types import AnyEstimator, Matrix


class WeightImportance(BaseImportance):
    """An importance of each column that reads the estimator, and perhaps X.

    A subclass implements `_read(estimator, X, y, sample_weight)`, which sets the
    attributes of a fit on a model without steps before it.
    """

    def fit(
        self,
        estimator: AnyEstimator,
        X: Matrix | None = None,
        y: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        groups: None = None,
        feature_names: ArrayLike | None = None,
    ) -> Self:
        """Compute the importances of a fitted model.

        Parameters
        ----------
        estimator : object
            Fitted model; it is not modified.
        X : {array-like, frame, sparse} of shape (n_samples, n_features), default=None
            Training data; where only the weights are read, None will do, and X gives
            the columns their names.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Training target, where it is needed.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights the estimator was fitted with, where they are needed.
        groups : None
            For measures with standard errors, which this one has not.
        feature_names : array-like of shape (n_features,), default=None
            Names for the columns of an array or a sparse matrix, such as a pipeline's
            ``pipeline[:-1].get_feature_names_out()``; a frame has its own.

        Returns
        -------
        self : object
            The fitted instance.
        """
        return super().fit(
            estimator,
            X,
            y,
            sample_weight=sample_weight,
            groups=groups,
            feature_names=feature_names,
        )

    def _fit(self, estimator, X, y, sample_weight):
        if has_transformers(estimator):
            fit_behind_transformers(
                self, estimator, X, y, sample_weight, join=self._join
            )
        else:
            self._read(estimator, X, y, sample_weight)

    # Of the last step of a pipeline: the columns that come from each input.
    _inputs = None

    def _join(self, inner, labels, importances):
        """The importances of a pipeline's inputs: those of their columns, added up."""
        return importances


def output_names(estimator, n_outputs, y=None):
    """Names of the outputs that weights belong to."""
    classes = getattr(estimator, "classes_", None)
    if isinstance(classes, list):  # one for each output
        names = indicator_names(class_lists(classes), names_in(y))
        if len(names) == n_outputs:
            return names
    elif classes is not None and np.ndim(classes) == 1:
        if n_outputs == 1 and len(classes) == 2:
            return [str(classes[1])]
        if isinstance(estimator, SVC | NuSVC):  # one against one, in this order
            return [f"{a} or {b}" for a, b in itertools.combinations(classes, 2)]
        if n_outputs == len(classes):
            return [str(c) for c in classes]
    return target_names(n_outputs, names_in(y))


@dataclass(kw_only=True, eq=False, repr=False)
class ConnectionWeightImportance(WeightImportance):
    """Importance of each column from the weights of a multilayer perceptron.

    The measure reads only the connection weights, not the activations, the biases or
    the data. Both methods depend on the unit of each column: fit the network on
    standardised columns. Neither tells how the network's output changes when a column
    moves; for that, use `SensitivityImportance`.

    For a pipeline whose steps work column by column, the importances of all columns
    that come from one input are added.

    Parameters
    ----------
    method : {"olden", "garson"}, default="olden"
        "olden": sum over all paths from the column to the output of the product of
        their weights, any number of hidden layers. "garson": the column's share of the
        absolute weights into each hidden unit, added over units and normalised to sum
        1; one hidden layer.

    Attributes
    ----------
    importances_ : ndarray of shape (n_features,)
        Mean over outputs of the absolute value.
    importances_per_output_ : ndarray of shape (n_features, n_outputs)
        One column per output: a class, or the second of two.
    signed_importances_ : ndarray of shape (n_features, n_outputs) or None
        With "olden": the sums with their signs.
    standard_errors_ : None
        Connection weights have no standard errors.
    ranking_ : ndarray of shape (n_features,)
        1 = most important.
    features_ : list of str
        Names of the columns.
    output_names_ : list of str
        Classes (of two, the second), or the columns of a frame y, or "y", or "y0",
        "y1", ...
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, when there are any.

    Notes
    -----
    With w_jh the weight from column j to hidden unit h, and v_h from h to the output,
    Olden is W_1 W_2 ... W_L, sum_h w_jh v_h for one hidden layer. Garson in Goh's form
    is ``sum_h |w_jh v_h| / sum_r |w_rh v_h|``, divided by its sum over j: v_h cancels,
    so that the outputs differ only where a v_h is 0 (the unit then counts nothing), and
    a hidden unit that hardly reaches the output counts as much as any other. Where no
    hidden unit reaches an output, its importances are 0.

    A network whose hidden units cancel each other at work, or saturate, has weights
    that say little about its output: see the paper's figure 5, where both methods call
    irrelevant inputs important.

    Cost: one product of matrices a layer.

    References
    ----------
    Greenwell, McCarthy & Boehmke (2017), A general model-based variable importance
    metric for supervised learning, section 2.1; Garson (1991), AI Expert 6(4), 46-51;
    Goh (1995), Artificial Intelligence in Engineering 9(3), 143-151; Olden, Joy & Death
    (2004), Ecological Modelling 178(3), 389-397.

    Examples
    --------
    Two inputs, two hidden units: the paths of the first input nearly cancel.

    >>> import numpy as np
    >>> from sklearn.neural_network import MLPRegressor
    >>> from skvarimp import ConnectionWeightImportance
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> net = MLPRegressor(hidden_layer_sizes=(2,), solver="lbfgs", random_state=0)
    >>> net = net.fit(X, X @ [1, 2])
    >>> net.coefs_ = [np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([[1.0], [-1.5]])]
    >>> ConnectionWeightImportance().fit(net, X).signed_importances_.ravel()
    array([ 0.5, -3.5])
    >>> ConnectionWeightImportance(method="garson").fit(net, X).importances_.round(3)
    array([0.458, 0.542])
    """

    method: Literal["olden", "garson"] = "olden"

    def _read(self, estimator, X, y, sample_weight):
        names, _ = set_columns(self, estimator, X)
        layers = _read_layers(estimator, len(names))
        olden = self.method == "olden"
        values = functools.reduce(np.matmul, layers) if olden else _garson(layers)
        self.signed_importances_ = values if olden else None
        outputs = output_names(estimator, values.shape[1], y)
        self._store(np.abs(values), names, outputs)

    def _quantity(self):
        return {
            "olden": "absolute sum of products of weights",
            "garson": "share of the absolute weights",
        }[self.method]

    def _in_words(self):
        if self.method == "garson":
            text = "the absolute weights of a network that belong to a feature"
            return self._says(text + " (Garson)", share_of="all absolute weights")
        text = "the absolute sum over all paths of a network of products of weights"
        return self._says(text + " (Olden)", unit="units of the output per unit of X")


def _read_layers(estimator, n_features):
    """Weight matrices (units in, units out) from the columns to the outputs."""
    name = type(estimator).__name__
    try:
        layers = layer_weights(unwrapped(estimator))
    except NotReadable as declined:
        raise TypeError(
            "ConnectionWeightImportance needs a multilayer perceptron, MLPRegressor or "
            f"MLPClassifier, got {name}: {declined}. Use SensitivityImportance for "
            "other models."
        ) from None
    widths = [n_features, *(layer.shape[-1] for layer in layers)]
    if [layer.shape for layer in layers] != list(itertools.pairwise(widths)):
        raise ValueError(
            f"`coefs_` of {name} do not lead from {n_features} columns to the outputs: "
            f"shapes {[layer.shape for layer in layers]}."
        )
    if not all(np.isfinite(layer).all() for layer in layers):
        raise ValueError(f"`coefs_` of {name} contain NaN or infinity.")
    return layers


def _garson(layers):
    """Shares of the columns, (n_features, n_outputs), each summing to 1 (or 0)."""
    if len(layers) != 2:
        raise ValueError(
            "method='garson' is defined for one hidden layer, got "
            f"{len(layers) - 1}. Use method='olden'."
        )
    first, second = np.abs(layers[0]), np.abs(layers[1])
    reach = first.sum(axis=0)[:, np.newaxis] * second  # sum_r |w_rh v_ho|, (h, o)
    shares = first @ divided(second, reach)
    return divided(shares, shares.sum(axis=0))
