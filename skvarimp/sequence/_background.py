"""The distribution of letters that importances of oligomers refer to.

A background is an inhomogeneous Markov chain of order d over the positions, held as
the joint probabilities of the (d + 1)-mers at every position where one fits, which
agree where neighbouring windows overlap. d = 0 makes the letters independent.
"""

from __future__ import annotations

from numbers import Real
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from skvarimp._types import Floats
from skvarimp.sequence._sequences import (
    check_alphabet,
    check_order,
    check_unknown,
    encode,
    iterate_codes,
)

LARGEST_COUNT = 1e100  # of pseudocounts that can be added up
_TOLERANCE = 1e-8  # on given probabilities: sums and agreement of neighbours


def oligomer_frequencies(
    X: ArrayLike,
    order: int,
    *,
    per_position: bool = False,
    pseudocount: float = 0.0,
    alphabet: str | list[str] | tuple[str, ...] = "ACGT",
    unknown: Literal["error", "ignore"] = "error",
) -> Floats:
    """Relative frequencies of the oligomers of one order in sequences.

    `PositionalOligomerImportance` takes them as `background` of Markov order
    `order` - 1.

    Parameters
    ----------
    X : sequence of str of shape (n_samples,)
        Sequences of one length.
    order : int
        Number of letters.
    per_position : bool, default=False
        Frequencies at each position, instead of pooled over the positions.
    pseudocount : float, default=0.0
        Added to the count of every oligomer (at every position, if per position). If it
        is positive, every oligomer can occur.
    alphabet : str, default="ACGT"
        The letters.
    unknown : {"error", "ignore"}, default="error"
        Letters outside the alphabet are an error, or windows with such a letter are not
        counted.

    Returns
    -------
    ndarray of shape (A ** order,) or (length - order + 1, A ** order)
        Frequencies in the order of `itertools.product`; each row sums to 1.

    Notes
    -----
    Pooled frequencies are a Markov chain that starts from the pooled frequencies of
    the first `order` - 1 letters. Frequencies per position of sequences without
    unknown letters agree exactly where windows overlap, with or without pseudocount.
    Cost: O(n_samples length order + length A ** order).

    Examples
    --------
    >>> from skvarimp.sequence import oligomer_frequencies
    >>> oligomer_frequencies(["AAB", "ABB"], 2, alphabet="AB")
    array([0.25, 0.5 , 0.  , 0.25])
    >>> oligomer_frequencies(["AAB", "ABB"], 1, alphabet="AB", per_position=True)
    array([[1. , 0. ],
           [0.5, 0.5],
           [0. , 1. ]])
    """
    alphabet = check_alphabet(alphabet)
    check_unknown(unknown)
    if not isinstance(pseudocount, Real) or not 0 <= pseudocount <= LARGEST_COUNT:
        raise ValueError(
            f"`pseudocount` must be non-negative and at most {LARGEST_COUNT:g}, got "
            f"{pseudocount!r}."
        )
    letters = encode(X, alphabet, unknown=unknown)
    check_order("order", order, letters.shape[1])
    return frequencies_of_letters(
        letters, len(alphabet), order, per_position, pseudocount
    )


def frequencies_of_letters(
    letters, n_letters, order, per_position=False, pseudocount=0.0
):
    """Frequencies of oligomers in encoded sequences; see `oligomer_frequencies`."""
    *_, (_, codes) = iterate_codes(letters, n_letters, order)
    n_positions, n_oligomers = codes.shape[1], n_letters**order
    if per_position:
        keys = (codes + n_oligomers * np.arange(n_positions))[codes >= 0]
        counts = np.bincount(keys, minlength=n_positions * n_oligomers)
        counts = counts.reshape(n_positions, n_oligomers) + float(pseudocount)
    else:
        counts = np.bincount(codes[codes >= 0], minlength=n_oligomers)
        counts = counts + float(pseudocount)
    totals = counts.sum(axis=-1, keepdims=True)
    if not np.all(totals > 0):
        raise ValueError(
            f"X has no window of {order} known letters"
            f"{' at some position' if per_position else ''}. Use a positive "
            "`pseudocount`, or a lower order."
        )
    return counts / totals


def markov_chain(background, markov_order, n_letters, length, letters=None):
    """Build the chain of a background as `PositionalOligomerImportance` takes it.

    Parameters
    ----------
    background : {"uniform", "empirical"} or array-like
        Joint probabilities of (d + 1)-mers, (A ** (d + 1),) or per position.
    markov_order : int
        The order d.
    n_letters : int
        Size A of the alphabet.
    length : int
        Number of positions.
    letters : ndarray of shape (n_samples, length), default=None
        Encoded sequences; needed for "empirical".

    Returns
    -------
    MarkovChain
        With consistent probabilities at every position.
    """
    check_order("markov_order", markov_order, smallest=0)
    if markov_order >= length:
        raise ValueError(
            f"`markov_order` must be less than {length}, the length of the sequences, "
            f"got {markov_order}."
        )
    window = markov_order + 1
    if not isinstance(background, str):
        given = _check_probabilities(background, window, n_letters, length)
    elif background == "uniform":
        given = np.full((1, n_letters**window), float(n_letters) ** -window)
    elif background == "empirical":
        if letters is None:
            raise ValueError(
                "background='empirical' needs X, the sequences to count letters in. "
                "Pass X to fit, or use background='uniform'."
            )
        given = frequencies_of_letters(letters, n_letters, window)[np.newaxis]
    else:
        raise ValueError(
            "`background` must be 'uniform', 'empirical' or an array of "
            f"probabilities, got {background!r}."
        )
    joint = _propagate(given, n_letters, markov_order, length)
    return MarkovChain(joint, n_letters, markov_order)


def _check_probabilities(background, window, n_letters, length):
    """Return given probabilities as (1 or n_positions, A ** window), rows sum to 1."""
    try:
        given = np.asarray(background, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"`background` must be an array of probabilities, got {background!r:.60}."
        ) from None
    n_oligomers, n_positions = n_letters**window, length - window + 1
    if given.shape not in {(n_oligomers,), (n_positions, n_oligomers)}:
        raise ValueError(
            f"`background` must have shape ({n_oligomers},) or ({n_positions}, "
            f"{n_oligomers}), the joint probabilities of {window} letters at all or "
            f"at each of the positions, got {given.shape}."
        )
    given = np.atleast_2d(given)
    if not np.all(given >= 0):  # catches NaN too
        raise ValueError("`background` must hold non-negative probabilities.")
    totals = given.sum(axis=1, keepdims=True)
    wrong = np.flatnonzero(np.abs(totals[:, 0] - 1) > _TOLERANCE)
    if len(wrong):
        raise ValueError(
            "`background` must hold probabilities that sum to 1, got a sum of "
            f"{totals[wrong[0], 0]:.10g} in row {wrong[0]}. Divide by the sum."
        )
    return given / totals


def _propagate(given, n_letters, d, length):
    """Joint probabilities at every position of the chain that `given` describes.

    The first d letters come from the first row's marginal, every further letter from
    the conditional probabilities of its row. One row serves all positions; rows per
    position must agree with their neighbours.
    """
    n_positions = length - d
    rows = given.reshape(len(given), n_letters**d, n_letters)
    context = rows.sum(axis=2)  # marginal of the first d letters
    transition = _divide(rows, context[:, :, np.newaxis])
    state = context[0]
    noise = 0.0 if len(given) == 1 else _TOLERANCE
    joint = np.empty((n_positions, n_letters ** (d + 1)))
    for position in range(n_positions):
        row = min(position, len(given) - 1)
        if np.any((state > noise) & (context[row] == 0)):
            raise ValueError(
                f"`background` gives no next letter after {d} letters that occur at "
                f"position {position}. Use oligomer_frequencies with a positive "
                "`pseudocount`."
            )
        joint[position] = (state[:, np.newaxis] * transition[row]).ravel()
        state = joint[position].reshape(n_letters, -1).sum(axis=0)
    if len(given) > 1 and np.abs(joint - given).max() > _TOLERANCE:
        position = int(np.argmax(np.abs(joint - given).max(axis=1) > _TOLERANCE))
        raise ValueError(
            f"`background` contradicts itself: rows {position - 1} and {position} give "
            f"the {d} letters they share different probabilities."
        )
    return joint


def _divide(numerator, denominator):
    """Quotient, 0 where the denominator is 0 (conditions that never hold)."""
    shape = np.broadcast_shapes(numerator.shape, denominator.shape)
    return np.divide(
        numerator, denominator, out=np.zeros(shape), where=denominator != 0
    )


class MarkovChain:
    """Letters at consecutive positions, each depending on the d before it.

    Attributes
    ----------
    order : int
        The order d.
    joint : ndarray of shape (length - d, A ** (d + 1))
        joint[i, u] = Pr(X[i : i + d + 1] = u).
    backward : ndarray of shape (length - d, A, A ** d)
        backward[i, a, u] = Pr(X[i] = a | X[i + 1 : i + d + 1] = u).
    forward : ndarray of shape (length - d, A ** d, A)
        forward[i, u, b] = Pr(X[i + d] = b | X[i : i + d] = u).
    """

    def __init__(self, joint, n_letters, order):
        self.joint, self.n_letters, self.order = joint, n_letters, order
        last_given = joint.reshape(len(joint), -1, n_letters)
        first_given = joint.reshape(len(joint), n_letters, -1)
        self.forward = _divide(last_given, last_given.sum(axis=2, keepdims=True))
        self.backward = _divide(first_given, first_given.sum(axis=1, keepdims=True))

    def probabilities(self, order):
        """Pr(X[i : i + order] = z), shape (length - order + 1, A ** order)."""
        table, d = self.joint, self.order
        for k in range(d + 1, order):  # longer windows: the next letter each time
            context = np.arange(self.n_letters**k) % self.n_letters**d
            following = self.forward[k - d :, context]  # (n_positions, A ** k, A)
            table = (table[:-1, :, np.newaxis] * following).reshape(len(table) - 1, -1)
        for _ in range(order, d + 1):  # shorter windows: sum one letter out
            table = self.shorten(table)
        return table

    def shorten(self, table):
        """Sum a table of joint quantities over the last letter of each window.

        The last position of the shorter windows has no longer window that starts
        there: it comes from the one before, summed over its first letter.
        """
        by_last = table.reshape(len(table), -1, self.n_letters).sum(axis=2)
        by_first = table[-1].reshape(self.n_letters, -1).sum(axis=0)
        return np.vstack([by_last, by_first])
