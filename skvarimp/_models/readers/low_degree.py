"""Quadratic discriminants, polynomials, and the splines of the package `mars-earth`."""

import numpy as np

from skvarimp._data.base_table import dense
from skvarimp._models.array_forms import LowDegree, is_single
from skvarimp._models.forms import NotReadable
from skvarimp._models.label_links import Sign
from skvarimp._models.links import IDENTITY
from skvarimp._models.readers.naive_bayes import contrast_and_link


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
