"""Scores with a formula: the contract, linear models, links and scaled inputs."""

import numpy as np
from scipy import sparse
from scipy.special import expit, softmax


class NoFormula(Exception):
    """A model whose gradient is not known as a formula; the message is the reason."""


class Formula:
    """A score with its gradient.

    Attributes
    ----------
    elements_per_row : int
        Elements of all arrays that one row takes.
    single_precision : bool
        Whether the model's own parameters are in single precision.
    magnitude : float
        Size of the terms that the score is a sum of: rounding errors are relative to
        it where they cancel.
    """

    elements_per_row = 1
    single_precision = False
    magnitude = 1e-300

    def score_and_gradient(self, X):
        """Scores (n_rows, n_outputs), gradients (n_rows, n_features, n_outputs)."""
        raise NotImplementedError

    def linear_coefficients(self):
        """(coef (n_outputs, n_features), intercept (n_outputs,)), or None."""


class Linear(Formula):
    """link(coef @ x + intercept).

    Parameters
    ----------
    coef : ndarray of shape (n_outputs, n_features)
    intercept : ndarray of shape (n_outputs,)
    link : callable, default=None
        One of the links below; None: identity.
    """

    def __init__(self, coef, intercept, link=None):
        self.single_precision = coef.dtype == np.float32
        self.coef = coef.astype(np.float64)
        self.intercept = np.broadcast_to(intercept, len(coef)).astype(np.float64)
        self.link = link
        self.elements_per_row = coef.size * (1 if link is None else 4)

    def score_and_gradient(self, X):
        """See `Formula.score_and_gradient`."""
        terms = np.abs(X).max(axis=0) @ np.abs(self.coef.T)
        self.magnitude = (terms + np.abs(self.intercept)).max()
        eta = X @ self.coef.T + self.intercept
        shape = (len(X), *self.coef.T.shape)
        slopes = np.broadcast_to(self.coef.T, shape)
        return (eta, slopes) if self.link is None else self.link(eta, slopes)

    def linear_coefficients(self):
        """See `Formula.linear_coefficients`."""
        return (self.coef, self.intercept) if self.link is None else None


class Scaled(Formula):
    """A formula of x * scale + shift.

    Parameters
    ----------
    inner : Formula
    scale, shift : float or ndarray of shape (n_features,)
    """

    def __init__(self, inner, scale, shift):
        self.inner, self.scale, self.shift = inner, scale, shift
        self.elements_per_row = 2 * inner.elements_per_row
        self.single_precision = inner.single_precision or any(
            getattr(part, "dtype", None) == np.float32 for part in (scale, shift)
        )

    @property
    def magnitude(self):
        """See `Formula`."""
        return self.inner.magnitude

    def score_and_gradient(self, X):
        """See `Formula.score_and_gradient`; the chain rule."""
        score, slopes = self.inner.score_and_gradient(X * self.scale + self.shift)
        factor = np.broadcast_to(self.scale, X.shape[1:])
        return score, slopes * factor[:, np.newaxis]

    def linear_coefficients(self):
        """See `Formula.linear_coefficients`."""
        inner = self.inner.linear_coefficients()
        if inner is None:
            return None
        coef, intercept = inner
        shift = np.broadcast_to(self.shift, coef.shape[1:])
        return coef * self.scale, intercept + coef @ shift


def logistic(eta, slopes):
    """1 / (1 + exp(-eta)) of each output, and its chain rule."""
    p = expit(eta)
    return p, slopes * (p * (1.0 - p))[:, np.newaxis]


def exponential(eta, slopes):
    """The inverse of the log link, exp(eta)."""
    mean = np.exp(eta)
    return mean, slopes * mean[:, np.newaxis]


def multinomial(eta, slopes):
    """Softmax over the outputs: dp_k = p_k (d eta_k - sum_m p_m d eta_m)."""
    p = softmax(eta, axis=1)
    mean = np.einsum("im,ijm->ij", p, slopes)
    return p, p[:, np.newaxis] * (slopes - mean[:, :, np.newaxis])


def one_against_rest(eta, slopes):
    """Logistic outputs normalised to sum 1: p_k = s_k / sum_m s_m."""
    s, ds = logistic(eta, slopes)
    total = s.sum(axis=1)[:, np.newaxis]
    p = s / total
    change = ds.sum(axis=2)[:, :, np.newaxis]
    return p, (ds - p[:, np.newaxis] * change) / total[:, np.newaxis]


def linear_model(estimator, method):
    """The formula of a model with `coef_` and at most a link."""
    coef = estimator.coef_
    coef = coef.toarray() if sparse.issparse(coef) else np.asarray(coef)
    coef = np.atleast_2d(coef)
    return Linear(coef, estimator.intercept_, _link(estimator, method, len(coef)))


def _link(estimator, method, n_outputs):
    name = type(estimator).__name__
    if method == "decision_function":
        return None
    if method == "predict_proba":
        return _probability_link(estimator, name, n_outputs)
    if hasattr(estimator, "classes_"):
        raise NoFormula(f"predict of {name} gives labels")
    if name in ("PoissonRegressor", "GammaRegressor"):
        return exponential
    if name == "TweedieRegressor":
        # link="auto": the identity for power <= 0, else the logarithm
        auto = "log" if estimator.power > 0 else "identity"
        link = auto if estimator.link == "auto" else estimator.link
        return exponential if link == "log" else None
    return None


def _probability_link(estimator, name, n_outputs):
    if name == "SGDClassifier":
        if estimator.loss != "log_loss":
            raise NoFormula(f"probabilities of SGDClassifier with {estimator.loss}")
        return logistic if n_outputs == 1 else one_against_rest
    if name in (
        "LogisticRegression",
        "LogisticRegressionCV",
        "LinearDiscriminantAnalysis",
    ):
        return logistic if n_outputs == 1 else multinomial
    raise NoFormula(f"predict_proba of {name} has no formula")
