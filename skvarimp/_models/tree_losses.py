"""Losses of boosting, each by the residuals of its rows.

A residual is minus the derivative of the loss by a raw output, before any link. Its
scale is the loss's own: half the squared error, the log loss in nats, and so on.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, softmax

from skvarimp._models.forms import NotReadable


@dataclass(frozen=True)
class TreeLoss:
    """A loss by name.

    Attributes
    ----------
    name : str
        A key of `RESIDUALS`.
    parameter : float
        Its one number, such as the quantile; 1 where it has none.
    """

    name: str
    parameter: float = 1.0

    def __post_init__(self):
        if self.name not in RESIDUALS:
            raise NotReadable(f"the residuals of the loss {self.name} are not known")

    @property
    def of_single_rows(self):
        """Whether a row's residual does not depend on the other rows given."""
        return self.name != "huber at quantile"

    @property
    def is_squared(self):
        """Whether a residual is a target minus the raw output."""
        return self.name in ("squared error", "squared error of roots")

    @property
    def is_logistic(self):
        """Whether it is a target minus a logistic function of the raw output."""
        return self.name in ("log loss", "log loss of shares")

    @property
    def of_shares(self):
        """Whether a classifier's target is not labels but shares between 0 and 1."""
        return self.name == "log loss of shares"

    def settled(self, y, raw):
        """The loss with a parameter that no longer depends on the rows."""
        if self.of_single_rows:
            return self
        # the corner is a quantile of the sizes of the errors, stage by stage
        return TreeLoss("huber", float(np.quantile(np.abs(y - raw), self.parameter)))

    def residuals(self, y, raw):
        """Minus the derivatives by the raw outputs.

        Parameters
        ----------
        y : ndarray of shape (n_raw, n_rows)
            Numbers, or indicators of the classes.
        raw : ndarray of shape (n_raw, n_rows)

        Returns
        -------
        ndarray of shape (n_raw, n_rows)
        """
        return RESIDUALS[self.name](y, raw, self.parameter)


def _tweedie(y, raw, p):
    return y * np.exp((1.0 - p) * raw) - np.exp((2.0 - p) * raw)


def _exponential(y, raw, scale):
    """exp(-scale sum_k c_k raw_k), c = 1 for the class and -1 / (K - 1) for others."""
    n_raw = len(raw)
    codes = 2.0 * y - 1.0 if n_raw == 1 else np.where(y > 0, 1.0, -1.0 / (n_raw - 1))
    return scale * codes * np.exp(-scale * np.sum(codes * raw, axis=0))


def _squared_log(y, raw, _):
    raw = np.maximum(raw, -1.0 + 1e-6)
    return (np.log1p(y) - np.log1p(raw)) / (raw + 1.0)


def _rate(y, raw, _):
    """-y log(1 - exp(-r)) + (1 - y) r with the rate r = log(1 + exp(raw))."""
    odds = 1.0 + np.exp(raw)  # exp of the rate
    return expit(raw) * (y * odds / np.expm1(np.logaddexp(0.0, raw)) - 1.0)


RESIDUALS = {
    "squared error": lambda y, raw, _: y - raw,
    "squared error of roots": lambda y, raw, _: np.sign(y) * np.abs(y) ** 0.5 - raw,
    "absolute error": lambda y, raw, _: np.sign(y - raw),
    "relative error": lambda y, raw, _: np.sign(y - raw) / np.maximum(1.0, np.abs(y)),
    "huber": lambda y, raw, delta: np.clip(y - raw, -delta, delta),
    "huber at quantile": None,  # see `settled`
    "pseudo-huber": lambda y, raw, d: (y - raw) / np.sqrt(1.0 + ((y - raw) / d) ** 2),
    "fair": lambda y, raw, c: c * (y - raw) / (np.abs(y - raw) + c),
    "quantile": lambda y, raw, q: np.where(y >= raw, q, q - 1.0),
    "expectile": lambda y, raw, q: np.where(y >= raw, q, 1.0 - q) * (y - raw),
    "log-cosh": lambda y, raw, _: np.tanh(y - raw),
    "squared log error": _squared_log,
    "poisson": lambda y, raw, _: y - np.exp(raw),
    "gamma": lambda y, raw, _: y * np.exp(-raw) - 1.0,
    "tweedie": _tweedie,
    "hinge": lambda y, raw, _: np.where((2 * y - 1) * raw < 1.0, 2 * y - 1, 0.0),
    # expit(s raw) is the probability, of each class or label on its own
    "log loss": lambda y, raw, s: s * (y - expit(s * raw)),
    "log loss of shares": lambda y, raw, s: s * (y - expit(s * raw)),
    "log loss of rates": _rate,
    "softmax": lambda y, raw, _: y - softmax(raw, axis=0),
    "exponential": _exponential,
}
