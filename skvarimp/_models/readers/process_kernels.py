"""Gaussian process kernels as sums of products of Gaussian and polynomial terms."""

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import reduce

import numpy as np
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Exponentiation,
    Matern,
    Product,
    RationalQuadratic,
    Sum,
    WhiteKernel,
)

from skvarimp._models.kernels import radial
from skvarimp._models.kernels.radial import Radial
from skvarimp._models.kernels.terms import Gaussian, Polynomial, TermProduct
from skvarimp._models.registry import NotReadable


@dataclass(frozen=True, eq=False)
class _Piece:
    """factor exp(-sum_j gammas[j] (x_j - s_j)^2) prod_c (x's + c)^degrees[c].

    Or factor times a term of the distance alone, `radial`.
    """

    factor: float
    gammas: float | np.ndarray = 0.0
    degrees: Counter = field(default_factory=Counter)
    radial: Radial | None = None

    def times(self, other):
        radial = self.radial or other.radial
        if radial and not (self.is_constant or other.is_constant):
            raise NotReadable("a product with a Matern or rational quadratic kernel")
        factor, gammas = self.factor * other.factor, self.gammas + other.gammas
        return _Piece(factor, gammas, self.degrees + other.degrees, radial)

    @property
    def is_constant(self):
        return not (np.any(self.gammas) or self.degrees or self.radial)

    def term(self, origin):
        """The piece as a term; None for a constant."""
        if self.radial:
            return replace(self.radial, factor=self.factor)
        terms = [
            Polynomial(1.0, 1.0, offset, degree)
            for offset, degree in self.degrees.items()
        ]
        if np.any(self.gammas):
            terms.append(Gaussian(1.0, self.gammas, origin))
        if not terms:
            return None
        terms[0] = replace(terms[0], factor=self.factor)
        return reduce(TermProduct, terms)


def process_terms(kernel, support):
    """Terms of a fitted kernel between rows and the training rows.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
    support : ndarray of shape (n_support, n_columns)

    Returns
    -------
    terms : list
        See `kernels/terms.py`.
    constant : float
        To be added to the kernel.
    """
    terms, constant = [], 0.0
    for piece in _pieces(kernel, support.shape[1]):
        term = piece.term(support.mean(axis=0))
        if term is None:
            constant += piece.factor
        else:
            terms.append(term)
    return terms, constant


def _pieces(kernel, n_columns):
    kind = type(kernel)  # the exact type: a subclass may compute otherwise
    if kind is Sum:
        return _pieces(kernel.k1, n_columns) + _pieces(kernel.k2, n_columns)
    if kind is Product:
        first, second = _pieces(kernel.k1, n_columns), _pieces(kernel.k2, n_columns)
        return [one.times(other) for one in first for other in second]
    if kind is Exponentiation:
        return _power(_pieces(kernel.kernel, n_columns), kernel.exponent)
    if kind is ConstantKernel:
        return [_Piece(float(kernel.constant_value))]
    if kind is WhiteKernel:  # noise of the training rows: none of it at other rows
        return []
    if kind is RBF or (kind is Matern and kernel.nu == np.inf):
        return [_Piece(1.0, 0.5 * _inverse_squares(kernel, n_columns))]
    profile = None
    if kind is Matern and kernel.nu in (0.5, 1.5, 2.5):
        profile = radial.Matern(float(kernel.nu))
    if kind is RationalQuadratic:
        profile = radial.RationalQuadratic(float(kernel.alpha))
    if profile is not None:
        gammas = _inverse_squares(kernel, n_columns)
        return [_Piece(1.0, radial=Radial(1.0, gammas, profile))]
    if kind is DotProduct:
        return [_Piece(1.0, degrees=Counter({float(kernel.sigma_0) ** 2: 1}))]
    raise NotReadable(f"the kernel {kind.__name__} has no fast response")


def _inverse_squares(kernel, n_columns):
    """One over the square of each column's length scale."""
    return np.broadcast_to(np.asarray(kernel.length_scale, float), n_columns) ** -2.0


def _power(pieces, exponent):
    if exponent == int(exponent) and exponent >= 1:
        result = pieces
        for _ in range(int(exponent) - 1):
            result = [one.times(other) for one in result for other in pieces]
        return result
    if len(pieces) != 1 or pieces[0].degrees or pieces[0].radial:
        raise NotReadable("its kernel raises a sum or DotProduct to a fractional power")
    (piece,) = pieces
    factor, gammas = piece.factor**exponent, piece.gammas * exponent
    return [replace(piece, factor=factor, gammas=gammas)]
