"""From the sums over an ensemble's trees to what its response method returns."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, softmax


@dataclass(frozen=True)
class Exponential:
    """exp(raw): counts and other positive targets."""

    discrete = False

    def __call__(self, raw):
        """(n_outputs, n) of (n_raw, n)."""
        return np.exp(raw)


@dataclass(frozen=True)
class Logistic:
    """Probability of the second class, 1 / (1 + exp(-factor raw))."""

    factor: float = 1.0
    discrete = False

    def __call__(self, raw):
        """See `Exponential.__call__`."""
        return expit(self.factor * raw)


@dataclass(frozen=True)
class Softmax:
    """Probabilities of all classes, exp(factor raw) divided by their sum."""

    factor: float = 1.0
    discrete = False

    def __call__(self, raw):
        """See `Exponential.__call__`."""
        return softmax(self.factor * raw, axis=0)


@dataclass(frozen=True)
class Softplus:
    """log(1 + exp(raw)): rates."""

    discrete = False

    def __call__(self, raw):
        """See `Exponential.__call__`."""
        return np.logaddexp(0.0, raw)


@dataclass(frozen=True)
class SignedSquare:
    """sign(raw) raw²: targets modelled by their roots."""

    discrete = False

    def __call__(self, raw):
        """See `Exponential.__call__`."""
        return np.sign(raw) * raw**2


@dataclass(frozen=True, eq=False)
class Median:
    """The weighted median of all raw outputs: the first that half the weight reaches.

    Parameters
    ----------
    weights : ndarray of shape (n_raw,)
    """

    weights: np.ndarray
    discrete = False

    def __call__(self, raw):
        """See `Exponential.__call__`."""
        return np.take_along_axis(raw, self.which(raw), axis=0)

    def which(self, raw):
        """Which of the raw outputs it is, (1, ...) of (n_raw, ...)."""
        order = np.argsort(raw, axis=0)
        mass = np.cumsum(self.weights[order], axis=0)
        rank = (mass >= 0.5 * mass[-1]).argmax(axis=0)[np.newaxis]
        return np.take_along_axis(order, rank, axis=0)


@dataclass(frozen=True)
class Second:
    """The second output of a link of two.

    Parameters
    ----------
    link : callable
    """

    link: object
    discrete = False

    def __call__(self, raw):
        """See `Exponential.__call__`."""
        return self.link(raw)[1:]


@dataclass(frozen=True)
class Labels:
    """Indicators of the class with the largest raw output, of the first of equals.

    Parameters
    ----------
    blocks : tuple of int
        Number of classes of each label column; raw outputs side by side.
    """

    blocks: tuple
    discrete = True

    def __call__(self, raw):
        """See `Exponential.__call__`; of two classes only the second is shown."""
        return np.concatenate([shown(_largest(part)) for part in self._parts(raw)])

    def _parts(self, raw):
        return np.split(raw, np.cumsum(self.blocks)[:-1])

    def lead(self, raw):
        """By how much the closest decision is made, (n,)."""
        leads = [
            np.subtract(*np.sort(part, axis=0)[[-1, -2]])
            for part in self._parts(raw)
            if len(part) > 1
        ]
        return np.min(leads, axis=0) if leads else np.full(raw.shape[1], np.inf)


@dataclass(frozen=True)
class LargestNumber(Labels):
    """Number of the class with the largest raw output, of the first of equals.

    Parameters
    ----------
    blocks : tuple of int
        The number of classes.
    """

    def __call__(self, raw):
        """See `Exponential.__call__`."""
        return raw.argmax(axis=0)[np.newaxis].astype(np.float64)


def _largest(raw):
    return raw.argmax(axis=0) == np.arange(len(raw))[:, np.newaxis]


def shown(of_classes):
    """Rows of the classes that are outputs: the second of two, else all."""
    of_classes = np.asarray(of_classes, dtype=np.float64)
    return of_classes[1:] if len(of_classes) == 2 else of_classes


@dataclass(frozen=True)
class Sign:
    """Indicator of the second class: raw above 0, perhaps 0 itself."""

    zero_is_second: bool
    discrete = True

    def __call__(self, raw):
        """See `Exponential.__call__`."""
        return ((raw >= 0) if self.zero_is_second else (raw > 0)).astype(np.float64)

    def lead(self, raw):
        """See `Labels.lead`."""
        return np.abs(raw).min(axis=0)


@dataclass(frozen=True)
class PathLength:
    """How normal a row is, -2^(-raw / scale) - threshold; raw: mean path length.

    Parameters
    ----------
    scale, threshold : float
    """

    scale: float
    threshold: float
    discrete = False

    def __call__(self, raw):
        """See `Exponential.__call__`."""
        return -np.exp2(-raw / self.scale) - self.threshold


@dataclass(frozen=True)
class Outlier:
    """-1 for a path shorter than a bound, else 1.

    Parameters
    ----------
    bound : float
    """

    bound: float
    discrete = True

    def __call__(self, raw):
        """See `Exponential.__call__`."""
        return np.where(raw < self.bound, -1.0, 1.0)

    def lead(self, raw):
        """See `Labels.lead`."""
        return np.abs(raw - self.bound).min(axis=0)
