"""Multivariate adaptive regression splines of the package `mars-earth`."""

from dataclasses import replace

import numpy as np

from skvarimp._data.table import as_table
from skvarimp._models.array_forms import Additive
from skvarimp._models.forms import NotReadable
from skvarimp._models.low_degree import LowDegree
from skvarimp._models.model import Model
from skvarimp._models.readers.arrays import dense
from skvarimp._models.registry import read


def read_spline(model, table):
    """A sum of products of hinges, fitted by least squares."""
    estimator = model.estimator
    coef = dense(estimator.coef_)[:, np.newaxis]
    return _products(getattr(estimator, "earth_", estimator), coef, table)


def read_spline_classifier(model, table):
    """A classifier of the products of hinges."""
    estimator = model.estimator
    return _behind(Model(estimator.classifier_, model.method), estimator, table)


def read_generalised_spline(model, table):
    """A logistic or Poisson regression on the products of hinges."""
    estimator = model.estimator
    classes = getattr(estimator.glm_, "classes_", [0, 1])
    if not np.array_equal(classes, [0, 1]):
        raise NotReadable("its classes are not 0 and 1")
    return _behind(Model(estimator.glm_, "predict"), estimator, table)


def _behind(model, estimator, table):
    """The form of a linear model of the products."""
    row = as_table(np.zeros((1, len(estimator.basis_))))
    linear = read(model, row)
    if not isinstance(linear, Additive) or linear.parts:
        raise NotReadable("its products of hinges are not summed")
    products = _products(estimator.earth_, linear.weights, table)
    return replace(products, intercept=linear.intercept, link=linear.link)


def _products(earth, coef, table):
    """The form of a spline's basis functions with any coefficients.

    The first factor of each product is the one that was added last.
    """
    if earth.categorical_imputer_ is not None:
        raise NotReadable("splines with categorical features")
    units = {}
    terms = [
        [units.setdefault(part, len(units)) for part in _factors(function)]
        for function in earth.basis_
    ]
    n_units, degree = len(units), max(1, *map(len, terms))
    matrix, shift = np.zeros((table.n_columns, n_units)), np.zeros(n_units)
    for (column, knot, sign), unit in units.items():
        matrix[column, unit] = sign
        shift[unit] = 0.0 if knot is None else -sign * knot
    return LowDegree(
        intercept=np.zeros(coef.shape[1]),
        coef=coef,
        factors=np.array([[*t, *[n_units] * (degree - len(t))] for t in terms]),
        matrix=matrix,
        shift=shift,
        hinges=np.array([knot is not None for _, knot, _ in units], dtype=bool),
    )


def _factors(function):
    """(column, knot or None, sign) of each factor of a basis function."""
    if function is None:
        return []
    kind = type(function).__name__
    rest = _factors(function.parent1)
    if kind == "ConstantBasisFunction":
        return rest
    if kind == "LinearBasisFunction":
        return [(function.variable_idx, None, 1.0), *rest]
    if kind == "HingeBasisFunction":
        sign = 1.0 if function.is_right_hinge else -1.0
        return [(function.variable_idx, float(function.knot_val), sign), *rest]
    if kind == "InteractionBasisFunction":
        return [*rest, *_factors(function.parent2)]
    raise NotReadable(f"the basis function {kind}")
