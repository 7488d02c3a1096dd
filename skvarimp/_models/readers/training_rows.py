"""Kernel machines: link(sum_m dual[q, m] k(x, s_m) + b_q)."""

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import reduce

import numpy as np
from sklearn import gaussian_process as gp

from skvarimp._data.base_table import dense
from skvarimp._models import kernels
from skvarimp._models.array_forms import Additive, Layers, is_single
from skvarimp._models.forms import NotReadable
from skvarimp._models.kernels import Gaussian, Polynomial, Radial, Sigmoid, TermProduct
from skvarimp._models.label_links import (
    AboveThreshold,
    LargestScore,
    PairwiseVotes,
    Sign,
)
from skvarimp._models.links import IDENTITY, Then
from skvarimp._models.training_rows import KernelSum
from skvarimp._running.private_sklearn import private


def read_support_vectors(model, table):
    """The form of a support vector machine."""
    estimator = model.estimator
    support = estimator.support_vectors_
    n_classes = len(getattr(estimator, "classes_", ()))
    link = _support_link(model, estimator, n_classes)
    # what gamma="scale" became depends on the training data
    terms = _named_terms(estimator, private(estimator, "_gamma"), support)
    dual = dense(estimator.dual_coef_)
    if n_classes > 2:
        dual = _pairwise_weights(dual, estimator.n_support_).T
    return _machine(terms, support, dual, dense(estimator.intercept_), link)


def _pairwise_weights(dual, n_support):
    """Weights (n_support, n_pairs) of the decisions between classes k < l.

    Row l - 1 of `dual_coef_` holds, for the support vectors of class k, their weight
    against class l; row k, for those of class l, their weight against class k.
    """
    stops = np.cumsum(n_support)
    of_class = [slice(stop - n, stop) for stop, n in zip(stops, n_support)]
    pairs = list(zip(*np.triu_indices(len(n_support), 1)))
    weights = np.zeros((dual.shape[1], len(pairs)))
    for column, (k, l) in enumerate(pairs):
        weights[of_class[k], column] = dual[l - 1, of_class[k]]
        weights[of_class[l], column] = dual[k, of_class[l]]
    return weights


def _support_link(model, estimator, n_classes):
    if model.method == "predict_proba":
        raise NotReadable("LIBSVM couples the probabilities of pairs of classes")
    if n_classes == 0:  # regressors and the one-class machine
        outlier = model.method == "predict" and hasattr(estimator, "offset_")
        return Sign() if outlier else IDENTITY
    if n_classes == 2:
        return IDENTITY if model.method == "decision_function" else AboveThreshold()
    by_class = estimator.decision_function_shape == "ovr"
    if model.method == "decision_function" and not by_class:
        return IDENTITY
    if len(estimator.n_support_) < n_classes:
        raise NotReadable("all training rows of one of its classes have weight 0")
    if model.method == "decision_function":
        return PairwiseVotes(n_classes)
    if estimator.break_ties and by_class:
        return Then(PairwiseVotes(n_classes), LargestScore())
    return Then(PairwiseVotes(n_classes, confident=False), LargestScore(exact=True))


def read_kernel_ridge(model, table):
    """The form of KernelRidge."""
    estimator = model.estimator
    support = estimator.X_fit_
    dual = dense(estimator.dual_coef_)
    dual = dual.reshape(len(dual), -1).T
    terms = _named_terms(estimator, estimator.gamma, support)
    # the model takes squared distances by products
    return _machine(terms, support, dual, np.zeros(len(dual)), by_products=True)


def read_gaussian_process(model, table):
    """The form of a Gaussian process regressor's mean."""
    estimator = model.estimator
    if not hasattr(estimator, "X_train_"):
        raise NotReadable("the Gaussian process predicts from its prior")
    support = np.asarray(estimator.X_train_)
    alpha = dense(estimator.alpha_)
    pieces = _pieces(estimator.kernel_, support.shape[1])
    constant = sum(piece.factor for piece in pieces if piece.is_constant)
    origin = support.mean(axis=0)
    terms = [piece.term(origin) for piece in pieces if not piece.is_constant]
    # What normalize_y took from y is kept in no public attribute.
    dual = (alpha.reshape(len(alpha), -1) * private(estimator, "_y_train_std")).T
    intercept = private(estimator, "_y_train_mean") + constant * dual.sum(axis=1)
    return _machine(terms, support, dual, intercept)


def cosines(step, form):
    """The network of cosines that a linear form of random features (RBFSampler) is."""
    scale = np.sqrt(2.0 / step.n_components)
    return Layers(
        weights=[dense(step.random_weights_), scale * form.weights],
        biases=[dense(step.random_offset_), form.intercept],
        activation="cosine",
        link=form.link,
        single=True,  # single precision stays single
    )


def landmarks(step, form):
    """The sum of kernels that a linear form of features of landmarks (Nystroem) is."""
    if step.kernel_params:
        raise NotReadable("the kernel of Nystroem has parameters of its own")
    return _machine(
        _named_terms(step, step.gamma, step.components_),
        step.components_,
        (dense(step.normalization_).T @ form.weights).T,
        form.intercept,
        form.link,
        by_products=True,
        single=True,
    )


def _named_terms(estimator, gamma, support):
    # None: the defaults of scikit-learn's kernels
    kernel, gamma = estimator.kernel, 1.0 / support.shape[1] if gamma is None else gamma
    coef0 = 1.0 if estimator.coef0 is None else estimator.coef0
    degree = 3 if estimator.degree is None else estimator.degree
    if not isinstance(kernel, str):
        raise NotReadable("its kernel is a function")
    if kernel == "linear":
        return [Polynomial(1.0, 1.0, 0.0, 1)]
    if kernel == "rbf":
        return [_gaussian(gamma, support)]
    if kernel == "sigmoid":
        return [Sigmoid(gamma, coef0)]
    if kernel in ("poly", "polynomial"):
        if degree != int(degree):
            raise NotReadable("the degree of its polynomial kernel is not whole")
        return [Polynomial(1.0, gamma, coef0, int(degree))]
    raise NotReadable(f"the kernel {kernel!r} has no fast response")


def _gaussian(gamma, support):
    origin = np.asarray(support.mean(axis=0)).reshape(-1)
    return Gaussian(1.0, np.full(len(origin), float(gamma)), origin)


def _machine(
    terms, support, dual, intercept, link=IDENTITY, by_products=False, single=None
):
    """A kernel sum, or the linear form where the kernel is linear."""
    common = {"link": link, "single": is_single(support) if single is None else single}
    if all(isinstance(term, Polynomial) and term.degree == 1 for term in terms):
        gamma = sum(term.factor * term.gamma for term in terms)
        offset = sum(term.factor * term.offset for term in terms)
        weights = gamma * (dense(support.T @ dual.T))
        intercept = intercept + offset * dual.sum(axis=1)
        return Additive(weights=weights, intercept=intercept, **common)
    arrays = {"support": support, "dual": dual, "intercept": intercept}
    return KernelSum(terms=terms, by_products=by_products, **arrays, **common)


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
        """The piece, which is no constant, as a term."""
        if self.radial:
            return replace(self.radial, factor=self.factor)
        terms = [
            Polynomial(1.0, 1.0, offset, degree)
            for offset, degree in self.degrees.items()
        ]
        if np.any(self.gammas):
            terms.append(Gaussian(1.0, self.gammas, origin))
        terms[0] = replace(terms[0], factor=self.factor)
        return reduce(TermProduct, terms)


def _pieces(kernel, n_columns):
    kind = type(kernel)  # the exact type: a subclass may compute otherwise
    if kind is gp.kernels.Sum:
        return _pieces(kernel.k1, n_columns) + _pieces(kernel.k2, n_columns)
    if kind is gp.kernels.Product:
        return _times(_pieces(kernel.k1, n_columns), _pieces(kernel.k2, n_columns))
    if kind is gp.kernels.Exponentiation:
        return _power(_pieces(kernel.kernel, n_columns), kernel.exponent)
    if kind is gp.kernels.ConstantKernel:
        return [_Piece(float(kernel.constant_value))]
    if kind is gp.kernels.WhiteKernel:  # noise of the training rows: none at other rows
        return []
    matern = kind is gp.kernels.Matern
    if kind is gp.kernels.RBF or (matern and kernel.nu == np.inf):
        return [_Piece(1.0, 0.5 * _inverse_squares(kernel, n_columns))]
    profile = None
    if matern and kernel.nu in (0.5, 1.5, 2.5):
        profile = kernels.Matern(float(kernel.nu))
    if kind is gp.kernels.RationalQuadratic:
        profile = kernels.RationalQuadratic(float(kernel.alpha))
    if profile is not None:
        gammas = _inverse_squares(kernel, n_columns)
        return [_Piece(1.0, radial=Radial(1.0, gammas, profile))]
    if kind is gp.kernels.DotProduct:
        return [_Piece(1.0, degrees=Counter({float(kernel.sigma_0) ** 2: 1}))]
    raise NotReadable(f"the kernel {kind.__name__} has no fast response")


def _inverse_squares(kernel, n_columns):
    """One over the square of each column's length scale."""
    return np.broadcast_to(np.asarray(kernel.length_scale, float), n_columns) ** -2.0


def _times(first, second):
    return [one.times(other) for one in first for other in second]


def _power(pieces, exponent):
    if exponent == int(exponent) and exponent >= 1:
        return reduce(_times, [pieces] * int(exponent))
    if len(pieces) != 1 or pieces[0].degrees or pieces[0].radial:
        raise NotReadable("its kernel raises a sum or DotProduct to a fractional power")
    (piece,) = pieces
    factor, gammas = piece.factor**exponent, piece.gammas * exponent
    return [replace(piece, factor=factor, gammas=gammas)]
