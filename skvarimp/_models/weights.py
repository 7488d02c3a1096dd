"""Coefficients and connection weights of fitted models: views of their forms.

Estimators without a reader, such as subclasses, give their public `coef_` and `coefs_`.
"""

import numpy as np

from skvarimp._data.table import as_table
from skvarimp._models.array_forms import Additive, Layers
from skvarimp._models.forms import NotReadable
from skvarimp._models.model import Model
from skvarimp._models.readers.linear import coefficients, intercept
from skvarimp._models.readers.networks import layers
from skvarimp._models.registry import entry_of, read, reads_trees

SCORES_FIRST = ("decision_function", "predict_proba", "predict")


def linear_form(estimator):
    """The `Additive` form of a linear score, or NotReadable."""
    if entry_of(estimator) is None:
        if not hasattr(estimator, "coef_"):
            raise NotReadable("it has no `coef_`")
        return Additive(
            weights=coefficients(estimator).T, intercept=intercept(estimator)
        )
    form = _form(estimator)
    if not isinstance(form, Additive) or form.parts:
        raise NotReadable("its score is not linear in the columns")
    return form


def layer_weights(estimator):
    """Weights of a network's layers, each (n_in, n_out), or NotReadable."""
    if entry_of(estimator) is None:
        if not hasattr(estimator, "coefs_"):
            raise NotReadable("it has no `coefs_`")
        return layers(estimator)
    form = _form(estimator)
    if not isinstance(form, Layers):
        raise NotReadable("it is no multilayer perceptron")
    return form.weights


def spline_form(estimator, table):
    """The `LowDegree` form of a spline fitted by least squares, or NotReadable."""
    entry = entry_of(estimator)
    if entry is None or entry.function != "read_spline":
        raise NotReadable("it is no such spline")
    return read(Model(estimator, "predict"), table)


def _form(estimator):
    """The form of an estimator's score; None for trees, which are not read for it."""
    if reads_trees(estimator):
        return None
    n_columns = getattr(estimator, "n_features_in_", None)
    if n_columns is None:
        raise NotReadable("it has no `n_features_in_`")
    row = as_table(np.zeros((1, n_columns)))  # weights do not depend on the rows
    return read(Model(estimator, prefer=SCORES_FIRST), row)
