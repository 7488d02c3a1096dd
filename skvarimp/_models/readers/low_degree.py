"""Quadratic discriminants, polynomials, and the splines of the package `mars-earth`."""

from dataclasses import replace

import numpy as np

from skvarimp._data.base_table import dense
from skvarimp._data.table import as_table
from skvarimp._models.array_forms import Additive, LowDegree, is_single
from skvarimp._models.forms import NotReadable
from skvarimp._models.label_links import Sign
from skvarimp._models.links import IDENTITY
from skvarimp._models.model import Model
from skvarimp._models.readers.naive_bayes import contrast_and_link
from skvarimp._models.registry import read


def read_quadratic_discriminant(model, table):
    """A normal density with a covariance of its own in each class.

    log p(c) - (sum_u log s_u + |(x - m) R diag(s)^-1/2|^2) / 2
    """
    estimator = model.estimator
    scalings = [dense(of_class) for of_class in estimator.scalings_]
    whitening = [
        dense(rotation) / np.sqrt(scaling)
        for rotation, scaling in zip(estimator.rotations_, scalings)
    ]
    n_classes, n_units = len(scalings), [len(scaling) for scaling in scalings]
    logs = np.array([np.log(scaling).sum() for scaling in scalings])
    contrast, link = contrast_and_link(model, n_classes)
    squares = np.repeat(-0.5 * np.eye(n_classes), n_units, axis=0)
    return _quadratic(
        intercept=(np.log(dense(estimator.priors_)) - 0.5 * logs) @ contrast,
        coef=squares @ contrast,
        matrix=np.hstack(whitening),
        shift=-np.concatenate([m @ R for m, R in zip(estimator.means_, whitening)]),
        link=link,
        single=is_single(*estimator.rotations_),
    )


def read_elliptic_envelope(model, table):
    """Minus a squared distance from a robust centre, -(x - m)' P (x - m) - b."""
    estimator = model.estimator
    root = np.linalg.cholesky(dense(estimator.precision_))
    return _quadratic(
        intercept=np.array([-float(estimator.offset_)]),
        coef=np.full((len(root), 1), -1.0),
        matrix=root,
        shift=-dense(estimator.location_) @ root,
        link=Sign() if model.method == "predict" else IDENTITY,
    )


def _quadratic(shift, **arrays):
    """A sum of squares of lines."""
    units = np.arange(len(shift))
    return LowDegree(factors=np.column_stack([units, units]), shift=shift, **arrays)


def polynomial(step, behind):
    """The form of PolynomialFeatures and a linear form behind them.

    Parameters
    ----------
    step : PolynomialFeatures
    behind : Additive
        Of the polynomial features.

    Returns
    -------
    LowDegree
    """
    if "transform" in vars(step):
        raise NotReadable("transform of this instance was replaced")
    powers = step.powers_
    n_columns, degree = powers.shape[1], powers.sum(axis=1).max(initial=1)
    factors = np.full((len(powers), degree), n_columns)
    for of_term, own in zip(factors, powers):
        units = np.repeat(np.arange(n_columns), own)
        of_term[: len(units)] = units
    return LowDegree(
        intercept=behind.intercept,
        coef=behind.weights,
        factors=factors,
        matrix=np.eye(n_columns),
        shift=np.zeros(n_columns),
        link=behind.link,
        single=behind.single,
    )


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
