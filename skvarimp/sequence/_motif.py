"""A motif against its neighbours: what figure 3 of the FIRM paper shows."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class MotifProfile:
    """Importances (or weights) by position of a motif and of classes of oligomers.

    Neighbours are counted in replaced letters (Hamming distance), the mutations of
    [1]_, section 3.3.

    Attributes
    ----------
    motif : str
        The motif.
    quantity : str
        "importance" or "weight": what the numbers are.
    positions : ndarray of shape (n_positions,)
        First letter of the window, from 0.
    exact : ndarray of shape (n_positions,)
        The motif itself.
    one_replaced : ndarray of shape (n_positions,)
        Mean over the oligomers with exactly one other letter.
    two_replaced : ndarray of shape (n_positions,)
        Mean over the oligomers with exactly two other letters; NaN for a motif of
        one letter.
    irrelevant_mean : ndarray of shape (n_positions,)
        Mean over the oligomers that differ from the motif in every letter.
    irrelevant_std : ndarray of shape (n_positions,)
        Their standard deviation (divisor: their number).

    References
    ----------
    .. [1] A. Zien, N. Kraemer, S. Sonnenburg, G. Raetsch, "The Feature Importance
       Ranking Measure", ECML PKDD 2009, section 3.3, figure 3.
    """

    motif: str
    quantity: str
    positions: np.ndarray
    exact: np.ndarray
    one_replaced: np.ndarray
    two_replaced: np.ndarray
    irrelevant_mean: np.ndarray
    irrelevant_std: np.ndarray


def motif_profile(table, motif, code, n_letters, quantity):
    """Profile of a motif in a table of shape (n_positions, A ** len(motif)).

    Parameters
    ----------
    table : ndarray of shape (n_positions, A ** len(motif))
        Importances or weights.
    motif : str
        Its name.
    code : int
        Its column.
    n_letters : int
        Size A of the alphabet.
    quantity : str
        What the table holds.

    Returns
    -------
    MotifProfile
        By position.
    """
    replaced = replaced_letters(code, len(motif), n_letters)
    irrelevant = table[:, replaced == len(motif)]
    missing = np.full(len(table), np.nan)
    return MotifProfile(
        motif=motif,
        quantity=quantity,
        positions=np.arange(len(table)),
        exact=table[:, code].copy(),
        one_replaced=table[:, replaced == 1].mean(axis=1),
        two_replaced=(
            table[:, replaced == 2].mean(axis=1) if len(motif) > 1 else missing
        ),
        irrelevant_mean=irrelevant.mean(axis=1),
        irrelevant_std=irrelevant.std(axis=1),
    )


def replaced_letters(code, order, n_letters):
    """Hamming distance of every oligomer from one of them, shape (A ** order,)."""
    distances = np.zeros(1, dtype=np.int64)
    for place in range(order):
        letter = code // n_letters ** (order - 1 - place) % n_letters
        distances = np.add.outer(distances, np.arange(n_letters) != letter).ravel()
    return distances
