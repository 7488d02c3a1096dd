"""From scores to outputs: the last step of a form.

A link is called with scores of shape (n_scores, ...) and gives

- outputs of shape (n_outputs, ...), and
- a mask of shape (...), or None. It marks the places where the output jumps so close by
  that rounding decides. There the model itself must be asked.

`link.chain(scores, slopes)` is the chain rule: from the slopes of the scores, of shape
(n_scores, n_rows, n_columns), those of the outputs.
"""

from dataclasses import dataclass
from functools import reduce

import numpy as np

from skvarimp._running.guards import users_code


class NoGradient(Exception):
    """A model whose gradient is not known as a formula; the message is the reason."""


class PiecewiseConstant(NoGradient):
    """A model whose derivative is 0 wherever it has one; the message says why."""


CLOSE = 1e-9  # nearer to a jump, relative to the largest score, is close


def logistic(x):
    """1 / (1 + exp(-x))."""
    with np.errstate(over="ignore"):  # exp(-x) infinite: exactly 0
        below = np.exp(-x)
    below += 1.0
    return 1.0 / below


def tolerance(scores, threshold=0.0):
    """How near to a threshold rounding decides on which side scores are."""
    return CLOSE * max(np.abs(scores).max(initial=0.0), abs(threshold), 1e-300)


def any_close(*masks):
    """The places that any of some masks marks as in doubt; None: no places."""
    masks = [mask for mask in masks if mask is not None]
    return reduce(np.logical_or, masks) if masks else None


class Link:
    """Base of links: as many outputs as scores, and no gradient.

    Attributes
    ----------
    smooth : bool
        Whether the outputs are analytic functions of the scores.
    discrete : bool
        Whether the outputs are labels. Such links have `decided(scores)`, the outputs,
        and `lead(scores)`, by how much the closest decision at each place is made.
    convex : bool
        Whether the scores of each label are a convex region.
    no_slope : str
        Why there is no gradient.
    """

    smooth = False
    discrete = False
    convex = False
    no_slope = "labels have no derivative"

    def n_outputs(self, n_scores):
        """How many outputs a number of scores gives."""
        return n_scores

    def chain(self, scores, slopes):
        """Slopes of the outputs, from the scores and their slopes."""
        raise NoGradient(self.no_slope)


@dataclass(frozen=True)
class Elementwise(Link):
    """One smooth function of each score.

    Attributes
    ----------
    name : {"identity", "exponential", "logistic"}
        All are strictly increasing. Linear responses have closed forms for them.
    """

    name: str
    smooth = True

    def __reduce__(self):
        return self.name.upper()  # a constant below, so that `is` works in workers

    def __call__(self, scores):
        if self.name == "identity":
            return scores, None
        return np.exp(scores) if self.name == "exponential" else logistic(scores), None

    def inverse(self, outputs):
        """The scores of outputs; infinite for outputs that no score reaches."""
        with np.errstate(divide="ignore"):
            if self.name == "logistic":
                p = np.clip(outputs, 0.0, 1.0)
                return np.log(p) - np.log1p(-p)
            positive = np.maximum(outputs, 0.0)
            return np.log(positive) if self.name == "exponential" else outputs

    def chain(self, scores, slopes):
        if self.name == "identity":
            return slopes
        outputs, _ = self(scores)
        steepness = outputs * (1.0 - outputs) if self.name == "logistic" else outputs
        return slopes * steepness[:, :, np.newaxis]


IDENTITY = Elementwise("identity")
EXPONENTIAL = Elementwise("exponential")
LOGISTIC = Elementwise("logistic")


class Softmax(Link):
    """exp(s_q) / sum_r exp(s_r)."""

    smooth = True

    def __call__(self, scores):
        powers = np.exp(scores - scores.max(axis=0))
        powers /= powers.sum(axis=0)
        return powers, None

    def chain(self, scores, slopes):
        """Use dp_k = p_k (ds_k - sum_m p_m ds_m)."""
        p = self(scores)[0][:, :, np.newaxis]
        return p * (slopes - (p * slopes).sum(axis=0))


@dataclass(frozen=True)
class Shares(Link):
    """Each score divided by their sum.

    Parameters
    ----------
    uniform : bool
        Whether all shares are equal where the sum is 0. If not, the scores stay as
        they are there.
    """

    uniform: bool = False
    smooth = True
    SMALLEST = 1e-300  # sums below it have lost digits

    def __call__(self, scores):
        total = scores.sum(axis=0)
        none = total < self.SMALLEST
        shares = scores / np.where(none, 1.0, total)
        if self.uniform:
            shares = np.where(none, 1.0 / len(scores), shares)
        return shares, none

    def chain(self, scores, slopes):
        total = scores.sum(axis=0)
        total = np.where(total < self.SMALLEST, 1.0, total)[:, np.newaxis]
        shares = scores[:, :, np.newaxis] / total
        return (slopes - shares * slopes.sum(axis=0)) / total


@dataclass(frozen=True, eq=False)
class Then(Link):
    """One link after another."""

    first: object
    second: object

    @property
    def smooth(self):
        return self.first.smooth and self.second.smooth

    @property
    def convex(self):
        return isinstance(self.first, Mixed) and self.second.convex

    def n_outputs(self, n_scores):
        return self.second.n_outputs(self.first.n_outputs(n_scores))

    def __call__(self, scores):
        middle, close = self.first(scores)
        outputs, further = self.second(middle)
        return outputs, any_close(close, further)

    def chain(self, scores, slopes):
        middle, _ = self.first(scores)
        return self.second.chain(middle, self.first.chain(scores, slopes))


@dataclass(frozen=True, eq=False)
class Mixed(Link):
    """sum_m matrix[r, m] scores_m + shift, of scores that come in equal blocks.

    Parameters
    ----------
    matrix : ndarray of shape (n_mixes, n_blocks)
    shift : float or ndarray of shape (n_outputs,)
    """

    matrix: np.ndarray
    shift: float | np.ndarray = 0.0

    def n_outputs(self, n_scores):
        """Each mix has the outputs of one block."""
        n_mixes, n_blocks = self.matrix.shape
        return n_mixes * (n_scores // n_blocks)

    def __call__(self, scores):
        shift = np.reshape(self.shift, (-1, *[1] * (scores.ndim - 1)))
        return self.chain(None, scores) + shift, None

    def chain(self, scores, slopes):
        blocks = slopes.reshape(self.matrix.shape[1], -1, *slopes.shape[1:])
        return np.tensordot(self.matrix, blocks, 1).reshape(-1, *slopes.shape[1:])


SECOND = Mixed(np.array([[0.0, 1.0]]))  # of two scores


def scaled(factor, link):
    """The link of scores that are multiplied by a number first."""
    return link if factor == 1.0 else Then(Mixed(np.array([[factor]])), link)


@dataclass(frozen=True, eq=False)
class InverseTransform(Link):
    """A fitted transformer's inverse, which takes the scores one by one."""

    transformer: object
    no_slope = "the target's inverse transformation has no formula"

    def __call__(self, scores):
        targets = np.moveaxis(scores, 0, -1)
        rows = targets.reshape(-1, len(scores))
        with users_code():
            inverse = self.transformer.inverse_transform(rows)
        return np.moveaxis(np.asarray(inverse).reshape(targets.shape), -1, 0), None


@dataclass(frozen=True, eq=False)
class WeightedMedian(Link):
    """The weighted median of the scores.

    Parameters
    ----------
    weights : ndarray of shape (n_scores,)
    """

    weights: np.ndarray

    def n_outputs(self, n_scores):
        return 1

    def __call__(self, scores):
        """The score that half the weight reaches first."""
        order = np.argsort(scores, axis=0)
        mass = np.cumsum(self.weights[order], axis=0)
        rank = (mass >= 0.5 * mass[-1]).argmax(axis=0)[np.newaxis]
        which = np.take_along_axis(order, rank, axis=0)
        return np.take_along_axis(scores, which, axis=0), None
