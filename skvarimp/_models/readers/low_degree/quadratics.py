"""Quadratic discriminants and distances, and polynomials of the columns."""

import numpy as np

from skvarimp._models.array_forms import Additive
from skvarimp._models.column_sources import is_exactly
from skvarimp._models.forms import NotReadable
from skvarimp._models.label_links import Sign
from skvarimp._models.links import IDENTITY
from skvarimp._models.low_degree import LowDegree
from skvarimp._models.readers.arrays import dense, is_single
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
    units = np.arange(sum(n_units))
    squares = np.repeat(-0.5 * np.eye(n_classes), n_units, axis=0)
    return LowDegree(
        intercept=(np.log(dense(estimator.priors_)) - 0.5 * logs) @ contrast,
        coef=squares @ contrast,
        factors=np.column_stack([units, units]),
        matrix=np.hstack(whitening),
        shift=-np.concatenate([m @ R for m, R in zip(estimator.means_, whitening)]),
        hinges=np.zeros(len(units), dtype=bool),
        link=link,
        single=is_single(*estimator.rotations_),
    )


def read_elliptic_envelope(model, table):
    """Minus a squared distance from a robust centre, -(x - m)' P (x - m) - b."""
    estimator = model.estimator
    root = np.linalg.cholesky(dense(estimator.precision_))
    units = np.arange(len(root))
    return LowDegree(
        intercept=np.array([-float(estimator.offset_)]),
        coef=np.full((len(units), 1), -1.0),
        factors=np.column_stack([units, units]),
        matrix=root,
        shift=-dense(estimator.location_) @ root,
        hinges=np.zeros(len(units), dtype=bool),
        link=Sign() if model.method == "predict" else IDENTITY,
    )


def is_polynomial(step):
    """Whether a step makes products of columns, and is of a type that is read."""
    return is_exactly(step, "sklearn.preprocessing", "PolynomialFeatures")


def polynomial(step, behind):
    """The form of PolynomialFeatures and a form behind them.

    Parameters
    ----------
    step : PolynomialFeatures
    behind : Form
        Of the polynomial features.

    Returns
    -------
    LowDegree
    """
    if "transform" in vars(step):
        raise NotReadable("transform of this instance was replaced")
    if not isinstance(behind, Additive) or behind.parts:
        raise NotReadable("PolynomialFeatures in front of a model that is not linear")
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
        hinges=np.zeros(n_columns, dtype=bool),
        link=behind.link,
        single=behind.single,
    )
