"""From the sums over an ensemble's trees to what its response method returns."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import expit, softmax


class TreeLink:
    """Base of links.

    Attributes
    ----------
    discrete : bool
        Whether the outputs are labels. Those links have `lead(raw)`, too: by how much
        the closest decision of each row is made, (n,).
    """

    discrete = False

    def __call__(self, raw):
        """Outputs (n_outputs, n) of raw outputs (n_raw, n)."""
        raise NotImplementedError


@dataclass(frozen=True)
class Each(TreeLink):
    """One smooth function of each raw output."""

    function: object

    def __call__(self, raw):
        """See `TreeLink.__call__`."""
        return self.function(raw)


def _signed_square(raw):
    return np.sign(raw) * raw**2


def _normality(raw, scale, threshold):
    return -np.exp2(-raw / scale) - threshold


EXPONENTIAL = Each(np.exp)  # counts and other positive targets
SOFTPLUS = Each(partial(np.logaddexp, 0.0))  # log(1 + exp(raw)): rates
SIGNED_SQUARE = Each(_signed_square)  # targets modelled by their roots


def path_length(scale, threshold):
    """How normal a row is, -2^(-raw / scale) - threshold; raw: mean path length."""
    return Each(partial(_normality, scale=scale, threshold=threshold))


@dataclass(frozen=True)
class Logistic(TreeLink):
    """Probability of the second class, 1 / (1 + exp(-factor raw))."""

    factor: float = 1.0

    def __call__(self, raw):
        """See `TreeLink.__call__`."""
        return expit(self.factor * raw)


@dataclass(frozen=True)
class Softmax(TreeLink):
    """Probabilities of all classes, exp(factor raw) divided by their sum."""

    factor: float = 1.0

    def __call__(self, raw):
        """See `TreeLink.__call__`."""
        return softmax(self.factor * raw, axis=0)


@dataclass(frozen=True, eq=False)
class Median(TreeLink):
    """The weighted median of all raw outputs: the first that half the weight reaches.

    Parameters
    ----------
    weights : ndarray of shape (n_raw,)
    """

    weights: np.ndarray

    def __call__(self, raw):
        """See `TreeLink.__call__`."""
        return np.take_along_axis(raw, self.which(raw), axis=0)

    def which(self, raw):
        """Which of the raw outputs it is, (1, ...) of (n_raw, ...)."""
        order = np.argsort(raw, axis=0)
        mass = np.cumsum(self.weights[order], axis=0)
        rank = (mass >= 0.5 * mass[-1]).argmax(axis=0)[np.newaxis]
        return np.take_along_axis(order, rank, axis=0)


@dataclass(frozen=True)
class Second(TreeLink):
    """The second output of a link of two.

    Parameters
    ----------
    link : callable
    """

    link: object

    def __call__(self, raw):
        """See `TreeLink.__call__`."""
        return self.link(raw)[1:]


@dataclass(frozen=True)
class Labels(TreeLink):
    """Indicators of the class with the largest raw output, of the first of equals.

    Parameters
    ----------
    blocks : tuple of int
        Number of classes of each label column; raw outputs side by side.
    """

    blocks: tuple
    discrete = True

    def __call__(self, raw):
        """See `TreeLink.__call__`; of two classes only the second is shown."""
        return np.concatenate([shown(_largest(part)) for part in self._parts(raw)])

    def _parts(self, raw):
        return np.split(raw, np.cumsum(self.blocks)[:-1])

    def lead(self, raw):
        """See `TreeLink`."""
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
        """See `TreeLink.__call__`."""
        return raw.argmax(axis=0)[np.newaxis].astype(np.float64)


def _largest(raw):
    return raw.argmax(axis=0) == np.arange(len(raw))[:, np.newaxis]


def shown(of_classes):
    """Rows of the classes that are outputs: the second of two, else all."""
    of_classes = np.asarray(of_classes, dtype=np.float64)
    return of_classes[1:] if len(of_classes) == 2 else of_classes


@dataclass(frozen=True)
class Sign(TreeLink):
    """Indicator of the second class: raw above 0, perhaps 0 itself."""

    zero_is_second: bool
    discrete = True

    def __call__(self, raw):
        """See `TreeLink.__call__`."""
        return ((raw >= 0) if self.zero_is_second else (raw > 0)).astype(np.float64)

    def lead(self, raw):
        """See `TreeLink`."""
        return np.abs(raw).min(axis=0)


@dataclass(frozen=True)
class Outlier(TreeLink):
    """-1 for a path shorter than a bound, else 1.

    Parameters
    ----------
    bound : float
    """

    bound: float
    discrete = True

    def __call__(self, raw):
        """See `TreeLink.__call__`."""
        return np.where(raw < self.bound, -1.0, 1.0)

    def lead(self, raw):
        """See `TreeLink`."""
        return np.abs(raw - self.bound).min(axis=0)


def classifier_link(method, n_raw, link, zero_is_second=False):
    """From a boosted classifier's raw outputs to what one of its methods returns.

    Parameters
    ----------
    method : str
    n_raw : int
        1: of the second of two classes.
    link : TreeLink
        To the probabilities of all classes, or of the second one where n_raw is 1.
    zero_is_second : bool, default=False
        See `Sign`.
    """
    if method == "decision_function":
        return None
    if method == "predict":
        return Sign(zero_is_second) if n_raw == 1 else Labels((n_raw,))
    return Second(link) if n_raw == 2 else link
