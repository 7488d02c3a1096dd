"""Gradients of kernel machines: score(x) = sum_i alpha_i k(x, z_i) + b (eq. 2).

Every kernel here has a gradient that is a sum of terms of two forms,

    A[x, i] * factor * z_i      and      A[x, i] * factor * (z_i - x),

with A one number for each pair of a row and a center and `factor` one for each
column, so that the gradient of the score is a matrix product and never needs an array
(n_rows, n_centers, n_features).
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances

from skvarimp._models.gradients.formulas import Formula, NoFormula


@dataclass
class Term:
    """One term of a kernel's gradient by x.

    Attributes
    ----------
    pairs : ndarray of shape (n_rows, n_centers)
    factor : float or ndarray of shape (n_features,)
    shifted : bool
        Whether the term points to z - x, not to z.
    """

    pairs: np.ndarray
    factor: object
    shifted: bool


class KernelExpansion(Formula):
    """sum_i weights_i kernel(x, centers_i) + intercept.

    Parameters
    ----------
    kernel : callable
        kernel(X, centers) -> ((n_rows, n_centers), list of Term).
    centers : {ndarray, sparse} of shape (n_centers, n_features)
    weights : ndarray of shape (n_centers, n_outputs)
    intercept : float or ndarray of shape (n_outputs,)
    linear : bool
        Whether the kernel is linear in x.
    """

    def __init__(self, kernel, centers, weights, intercept, linear=False):
        self.single_precision = centers.dtype == np.float32
        if sparse.issparse(centers):
            self.centers = centers.tocsr().astype(np.float64)
        else:
            self.centers = np.asarray(centers, dtype=np.float64)
        self.kernel, self.linear = kernel, linear
        self.weights = np.asarray(weights, dtype=np.float64)
        self.intercept = intercept
        n_centers, n_features = centers.shape
        self.elements_per_row = 6 * n_centers + 3 * n_features * self.weights.shape[1]

    def score_and_gradient(self, X):
        """See `Formula.score_and_gradient`."""
        K, terms = self.kernel(X, self.centers)
        score = K @ self.weights + self.intercept
        self.magnitude = (np.abs(K) @ np.abs(self.weights)).max()
        slopes = np.zeros((*X.shape, self.weights.shape[1]))
        for term in terms:
            for o, alpha in enumerate(self.weights.T):
                A = term.pairs * alpha
                direction = A @ self.centers
                if term.shifted:
                    direction = direction - A.sum(axis=1)[:, np.newaxis] * X
                slopes[:, :, o] += direction * term.factor
        return score, slopes

    def linear_coefficients(self):
        """See `Formula.linear_coefficients`."""
        if not self.linear:
            return None
        origin = np.zeros((1, self.centers.shape[1]))
        score, slopes = self.score_and_gradient(origin)
        return slopes[0].T, score[0]


class OneAgainstOneVotes(Formula):
    """SVC's scores of more than two classes, from its pairwise decisions.

    Class k scores its votes plus c / (3 (|c| + 1)) with c the sum of its decisions;
    the votes are piecewise constant.

    Parameters
    ----------
    pairwise : KernelExpansion
        One output for each pair of classes k < l, positive for k.
    n_classes : int
    """

    def __init__(self, pairwise, n_classes):
        self.pairwise = pairwise
        self.single_precision = pairwise.single_precision
        self.elements_per_row = 2 * pairwise.elements_per_row
        self.first, self.second = np.triu_indices(n_classes, 1)
        self.sides = np.zeros((len(self.first), n_classes))
        pairs = np.arange(len(self.first))
        self.sides[pairs, self.first] = 1.0
        self.sides[pairs, self.second] = -1.0
        self.magnitude = float(n_classes)

    def score_and_gradient(self, X):
        """See `Formula.score_and_gradient`."""
        decisions, slopes = self.pairwise.score_and_gradient(X)
        confidence = decisions @ self.sides
        wins = np.where(decisions >= 0, 1.0, -1.0)
        votes = (wins @ self.sides + np.abs(self.sides).sum(axis=0)) / 2.0
        shrunk = 3.0 * (np.abs(confidence) + 1.0)
        # d c / (3 (|c| + 1)) = 1 / (3 (|c| + 1)^2)
        factor = 3.0 / shrunk**2
        score = votes + confidence / shrunk
        return score, (slopes @ self.sides) * factor[:, np.newaxis]


def linear_kernel(X, Z):
    """x'z."""
    K = _products(X, Z)
    return K, [Term(np.ones_like(K), 1.0, shifted=False)]


def polynomial_kernel(gamma, coef0, degree):
    """(gamma x'z + coef0)^degree."""

    def kernel(X, Z):
        base = gamma * _products(X, Z) + coef0
        return base**degree, [
            Term(degree * gamma * base ** (degree - 1), 1.0, shifted=False)
        ]

    return kernel


def sigmoid_kernel(gamma, coef0):
    """tanh(gamma x'z + coef0)."""

    def kernel(X, Z):
        K = np.tanh(gamma * _products(X, Z) + coef0)
        return K, [Term(gamma * (1.0 - K * K), 1.0, shifted=False)]

    return kernel


def rbf_kernel(gamma):
    """exp(-gamma |x - z|^2); gradient 2 gamma k (z - x) (paper, section 2.2)."""

    def kernel(X, Z):
        K = np.exp(-gamma * euclidean_distances(X, Z, squared=True))
        return K, [Term(2.0 * gamma * K, 1.0, shifted=True)]

    return kernel


def _products(X, Z):
    return np.asarray(X @ Z.T)


def _named_kernel(name, gamma, coef0, degree):
    if name == "linear":
        return linear_kernel
    if name in ("poly", "polynomial"):
        return polynomial_kernel(gamma, coef0, degree)
    if name == "sigmoid":
        return sigmoid_kernel(gamma, coef0)
    if name == "rbf":
        return rbf_kernel(gamma)
    raise NoFormula(f"the kernel {name!r} has no formula")


def support_vectors(estimator, method):
    """The formula of a support vector machine."""
    name = type(estimator).__name__
    expected = "predict" if name in ("SVR", "NuSVR") else "decision_function"
    if method != expected:
        raise NoFormula(f"{method} of {name} has no formula")
    kernel = _named_kernel(
        estimator.kernel,
        fitted_gamma(estimator),
        estimator.coef0,
        estimator.degree,
    )
    centers, dual = estimator.support_vectors_, estimator.dual_coef_
    dual = dual.toarray() if sparse.issparse(dual) else np.asarray(dual)
    linear = estimator.kernel == "linear"
    n_classes = len(getattr(estimator, "classes_", ()))
    if n_classes <= 2:
        return KernelExpansion(kernel, centers, dual.T, estimator.intercept_, linear)
    weights = pairwise_weights(dual, estimator.n_support_)
    pairwise = KernelExpansion(kernel, centers, weights, estimator.intercept_, linear)
    if estimator.decision_function_shape == "ovo":
        return pairwise
    return OneAgainstOneVotes(pairwise, n_classes)


def fitted_gamma(estimator):
    """The number that gamma="scale" or "auto" of a support vector machine became.

    "scale" depends on the variance of the training data, which the fitted model keeps
    in no public attribute; the only use of the private one is here.
    """
    gamma = estimator.gamma
    return estimator._gamma if isinstance(gamma, str) else gamma


def pairwise_weights(dual, n_support):
    """Weights (n_centers, n_pairs) of the decisions between classes k < l.

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


def kernel_ridge(estimator, method):
    """The formula of KernelRidge."""
    gamma = estimator.gamma
    if gamma is None:
        gamma = 1.0 / estimator.X_fit_.shape[1]
    kernel = _named_kernel(estimator.kernel, gamma, estimator.coef0, estimator.degree)
    dual = np.asarray(estimator.dual_coef_)
    return KernelExpansion(
        kernel,
        estimator.X_fit_,
        dual.reshape(len(dual), -1),
        0.0,
        linear=estimator.kernel == "linear",
    )


def gaussian_process(estimator, method):
    """The formula of a Gaussian process regressor's mean.

    With normalize_y the mean is rescaled by numbers that the fitted model keeps
    private; they follow from its own predictions at the training rows.
    """
    if not hasattr(estimator, "X_train_"):
        raise NoFormula("GaussianProcessRegressor predicts from its prior")
    Z = np.asarray(estimator.X_train_, dtype=np.float64)
    alpha = np.asarray(estimator.alpha_)
    alpha = alpha.reshape(len(alpha), -1)
    kernel = _process_kernel(estimator.kernel_)
    if not estimator.normalize_y:
        return KernelExpansion(kernel, Z, alpha, 0.0)
    own = np.asarray(estimator.predict(Z)).reshape(len(Z), -1)
    raw = kernel(Z, Z)[0] @ alpha
    centred = raw - raw.mean(axis=0)
    spread = (centred**2).sum(axis=0)
    factor = np.where(spread > 0, (centred * own).sum(axis=0), 1.0)
    factor = factor / np.where(spread > 0, spread, 1.0)
    return KernelExpansion(
        kernel, Z, alpha * factor, own.mean(axis=0) - factor * raw.mean(axis=0)
    )


def _process_kernel(kernel):
    """A Gaussian process kernel, sums and products of them included."""
    name = type(kernel).__name__
    if type(kernel).__module__ != "sklearn.gaussian_process.kernels":
        raise NoFormula(f"the kernel {name} has no formula")
    if name in ("Sum", "Product"):
        first, second = _process_kernel(kernel.k1), _process_kernel(kernel.k2)
        return _sum(first, second) if name == "Sum" else _product(first, second)
    if name == "Exponentiation":
        return _power(_process_kernel(kernel.kernel), kernel.exponent)
    if name == "ConstantKernel":
        return lambda X, Z: (np.full((len(X), len(Z)), kernel.constant_value), [])
    if name == "WhiteKernel":  # noise of the training rows: none of it at other rows
        return lambda X, Z: (np.zeros((len(X), len(Z))), [])
    if name == "DotProduct":
        return polynomial_kernel(1.0, kernel.sigma_0**2, 1)
    if name == "RBF":
        return _process_rbf(np.asarray(kernel.length_scale, dtype=np.float64))
    raise NoFormula(f"the kernel {name} has no formula")


def _process_rbf(length_scale):
    """exp(-|(x - z) / length_scale|^2 / 2)."""

    def kernel(X, Z):
        d2 = euclidean_distances(X / length_scale, Z / length_scale, squared=True)
        K = np.exp(-0.5 * d2)
        return K, [Term(K, length_scale**-2.0, shifted=True)]

    return kernel


def _sum(first, second):
    def kernel(X, Z):
        (K, terms), (L, more) = first(X, Z), second(X, Z)
        return K + L, terms + more

    return kernel


def _product(first, second):
    def kernel(X, Z):
        (K, terms), (L, more) = first(X, Z), second(X, Z)
        return K * L, _times(terms, L) + _times(more, K)

    return kernel


def _power(base, exponent):
    def kernel(X, Z):
        K, terms = base(X, Z)
        return K**exponent, _times(terms, exponent * K ** (exponent - 1))

    return kernel


def _times(terms, pairs):
    return [Term(term.pairs * pairs, term.factor, term.shifted) for term in terms]
