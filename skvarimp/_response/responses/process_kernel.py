"""Gaussian process kernels as sums of Gaussian and polynomial terms."""

from dataclasses import dataclass, replace

import numpy as np
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Exponentiation,
    Product,
    Sum,
    WhiteKernel,
)

from skvarimp._response.lowering import NotLowerable
from skvarimp._response.responses.kernel_terms import Gaussian, Polynomial


@dataclass(frozen=True, eq=False)
class _Piece:
    """factor exp(-sum_j gammas[j] (x_j - s_j)^2), or factor (x's + offset)^degree."""

    factor: float
    gammas: np.ndarray | None = None
    offset: float = 0.0
    degree: int = 0

    def times(self, other):
        if self.degree and other.degree and self.offset != other.offset:
            raise NotLowerable("its kernel multiplies different DotProduct kernels")
        gammas = [g for g in (self.gammas, other.gammas) if g is not None]
        degree = self.degree + other.degree
        if gammas and degree:
            raise NotLowerable("its kernel multiplies RBF and DotProduct")
        return _Piece(
            self.factor * other.factor,
            sum(gammas) if gammas else None,
            self.offset or other.offset,
            degree,
        )


def process_terms(kernel, support):
    """Terms of a fitted kernel between rows and the training rows.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
    support : ndarray of shape (n_support, n_columns)

    Returns
    -------
    terms : list
        See `_kernel_terms.py`.
    constant : float
        To be added to the kernel.
    """
    terms, constant = [], 0.0
    for piece in _pieces(kernel, support.shape[1]):
        if piece.gammas is not None:
            terms.append(Gaussian(piece.factor, piece.gammas, support.mean(axis=0)))
        elif piece.degree:
            terms.append(Polynomial(piece.factor, 1.0, piece.offset, piece.degree))
        else:
            constant += piece.factor
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
    if kind is RBF:
        scale = np.broadcast_to(np.asarray(kernel.length_scale, float), n_columns)
        return [_Piece(1.0, 0.5 / scale**2)]
    if kind is DotProduct:
        return [_Piece(1.0, None, float(kernel.sigma_0) ** 2, 1)]
    raise NotLowerable(f"the kernel {kind.__name__} has no fast form")


def _power(pieces, exponent):
    if exponent == int(exponent) and exponent >= 1:
        result = pieces
        for _ in range(int(exponent) - 1):
            result = [one.times(other) for one in result for other in pieces]
        return result
    if len(pieces) != 1 or pieces[0].degree:
        raise NotLowerable("its kernel raises a sum or DotProduct to a broken power")
    (piece,) = pieces
    gammas = None if piece.gammas is None else piece.gammas * exponent
    return [replace(piece, factor=piece.factor**exponent, gammas=gammas)]
