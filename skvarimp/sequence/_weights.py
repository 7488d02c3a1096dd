"""Weights of positional oligomers, whose sum is a model's score."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from skvarimp._running.guards import no_overflow
from skvarimp._running.memory import slices
from skvarimp._types import AnyEstimator, Axes, Floats
from skvarimp.sequence._motif import MotifProfile, motif_profile
from skvarimp.sequence._plots import MotifDisplay
from skvarimp.sequence._sequences import (
    check_alphabet,
    check_codes_fit,
    check_order,
    check_unknown,
    encode,
    iterate_codes,
    oligomer_code,
)
from skvarimp.sequence._unfold import unfold


class OligomerWeights:
    """Weights of the oligomers whose sum is a model's score of a sequence.

    s(x) = intercept + sum of w[z, i] over the oligomers z that x reads at positions
    i, eq. (4) of [1]_. Weights say how the score is computed.
    `PositionalOligomerImportance` says what matters to it.

    Parameters
    ----------
    tables : dict of int -> {ndarray, sparse array} of shape (L - k + 1, A ** k)
        Weights by number of letters k: row i is a position, columns run through the
        oligomers as `itertools.product(alphabet, repeat=k)` does. Orders that are
        left out have no weights.
    intercept : float, default=0.0
        Constant of the score.
    alphabet : str, default="ACGT"
        The letters. Upper and lower case are one letter unless the alphabet holds
        both cases of a letter.
    unknown : {"error", "ignore"}, default="error"
        Letters outside the alphabet are an error in `decision_function`, or the
        windows that hold one add nothing.

    Attributes
    ----------
    tables : dict of int -> scipy.sparse.csr_array
        Copies of the tables as sparse arrays with sorted indices.
    intercept : float
        Constant of the score.
    alphabet : str
        The letters.
    unknown : str
        The rule for letters outside the alphabet.
    sequence_length : int
        Number of positions L.
    max_order : int
        Largest k with a table.

    See Also
    --------
    PositionalOligomerImportance : What an oligomer does to the expected score.

    Notes
    -----
    Memory is proportional to the number of weights that are not 0, at any order.

    References
    ----------
    .. [1] A. Zien, N. Kraemer, S. Sonnenburg, G. Raetsch, "The Feature Importance
       Ranking Measure", ECML PKDD 2009, section 1.2.

    Examples
    --------
    A at position 0 has the weight 2, and AB at position 0 the weight 1:

    >>> from skvarimp.sequence import OligomerWeights
    >>> weights = OligomerWeights(
    ...     {1: [[2, 0], [0, 0]], 2: [[0, 1, 0, 0]]}, intercept=-1, alphabet="AB"
    ... )
    >>> weights.decision_function(["AA", "AB", "BB"])
    array([ 1.,  2., -1.])
    """

    def __init__(
        self,
        tables: Mapping[int, Any],
        intercept: float = 0.0,
        *,
        alphabet: str | list[str] | tuple[str, ...] = "ACGT",
        unknown: Literal["error", "ignore"] = "error",
    ) -> None:
        self.alphabet = check_alphabet(alphabet)
        check_unknown(unknown)
        self.unknown = unknown
        largest = sys.float_info.max
        if not isinstance(intercept, Real) or not -largest <= intercept <= largest:
            raise ValueError(
                f"`intercept` must be a finite number, got {intercept!r:.60}."
            )
        if not isinstance(tables, Mapping) or not tables:
            raise ValueError(
                "`tables` must be a dict from orders to tables of weights, with at "
                f"least one table, got {tables!r:.60}."
            )
        self.intercept = float(intercept)
        self.tables = {}
        self.sequence_length = None
        for order in sorted(check_order("order", order) for order in tables):
            self.tables[order] = self._checked(order, tables[order])
        self.max_order = max(self.tables)

    def _checked(self, order, table):
        table = _as_sparse(order, table)
        n_oligomers = len(self.alphabet) ** order
        if self.sequence_length is None:
            self.sequence_length = table.shape[0] + order - 1
        expected = (self.sequence_length - order + 1, n_oligomers)
        if table.shape != expected:
            raise ValueError(
                f"The table of order {order} must have shape {expected}, one row per "
                f"position and one column per oligomer, got {table.shape}."
            )
        if not np.all(np.isfinite(table.data)):
            raise ValueError(f"The table of order {order} holds NaN or infinity.")
        check_codes_fit("order", order, len(self.alphabet), expected[0])
        table.sum_duplicates()
        return table

    @classmethod
    @no_overflow()
    def from_estimator(
        cls,
        estimator: AnyEstimator,
        X: ArrayLike | None = None,
        *,
        degree: int | None = None,
        shift: int = 0,
        normalize: bool = True,
        alphabet: str | list[str] | tuple[str, ...] = "ACGT",
        unknown: Literal["error", "ignore"] = "error",
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Unfold a fitted model into weights, in the units of `decision_function`.

        Two kinds of models are a sum of weights. One is a pipeline of
        `OligomerVectorizer` and a linear model; selectors of columns, `MaxAbsScaler` or
        `StandardScaler(with_mean=False)` may stand between them. The other is a support
        vector machine with `weighted_degree_kernel`. Weights of regressors are in the
        units of `predict`. A search is replaced by its best estimator.

        Parameters
        ----------
        estimator : object
            Fitted `Pipeline`, or fitted `SVC`, `NuSVC`, `OneClassSVM`, `SVR` or
            `NuSVR` with `kernel="precomputed"` or a callable. Two classes at most.
        X : sequence of str of shape (n_samples,), default=None
            Support vector machines: the training sequences in their order. Not used
            for pipelines.
        degree : int, default=None
            The kernel's degree. Together with the next four parameters it is read
            from `functools.partial(weighted_degree_kernel, ...)` if that is the
            estimator's kernel.
        shift : int, default=0
            The kernel's shift.
        normalize : bool, default=True
            Whether the kernel was normalised.
        alphabet : str, default="ACGT"
            The kernel's alphabet. Pipelines: the vectorizer's is used.
        unknown : {"error", "ignore"}, default="error"
            The kernel's rule for unknown letters. Pipelines: the vectorizer's.
        sample_weight : array-like of shape (n_samples,), default=None
            The positive weights that a classifier was fitted with, to find the free
            support vectors. Fit without rows of weight 0: with a precomputed kernel
            scikit-learn 1.9 leaves them out when it numbers the support vectors, so its
            own scores are wrong.

        Returns
        -------
        OligomerWeights
            The weights and the intercept.

        Raises
        ------
        ValueError
            If the estimator's own output, or the margin of its free support vectors,
            shows that it was not fitted with this kernel on these sequences.

        Warns
        -----
        ImportanceWarning
            If a precomputed kernel cannot be checked: no free support vectors, a
            regressor, or a solver that stopped early.

        Notes
        -----
        A normalised kernel divides by sqrt(K(x, x)). Without shift and unknown
        letters this is a constant, and the weights are exact. With shift > 0, or with
        windows left out for unknown letters, it depends on x, and the score is not a
        sum of weights. Then 1 / sqrt(K(x, x)) is replaced by its mean over X. Fit with
        `normalize=False` for exact weights.

        A precomputed kernel is checked on at most 200 free support vectors, whose
        coefficients lie strictly between 0 and their bound. Their decision value is -1
        or +1 (one-class: 0) up to the solver's tolerance.

        Cost: O(n_support length degree shift).
        """
        settings = {
            "degree": degree,
            "shift": shift,
            "normalize": normalize,
            "alphabet": alphabet,
            "unknown": unknown,
        }
        return cls(**unfold(estimator, X, settings, sample_weight))

    @no_overflow()
    def decision_function(self, X: ArrayLike) -> Floats:
        """Scores of sequences: the intercept and the weights of their oligomers.

        Parameters
        ----------
        X : sequence of str of shape (n_samples,)
            Sequences of length `sequence_length`.

        Returns
        -------
        ndarray of shape (n_samples,)
            In the units of the model's `decision_function` (regressors: `predict`).
        """
        letters = encode(
            X, self.alphabet, unknown=self.unknown, length=self.sequence_length
        )
        scores = np.full(len(letters), self.intercept)
        keys = {k: _sorted_keys(table) for k, table in self.tables.items()}
        for rows in slices(len(letters), self.sequence_length):
            windows = iterate_codes(letters[rows], len(self.alphabet), self.max_order)
            for order, codes in windows:
                if order in self.tables:
                    scores[rows] += _look_up(
                        keys[order], self.tables[order], codes
                    ).sum(axis=1)
        return scores

    def weights_of(self, oligomer: str) -> Floats:
        """Weights of one oligomer at every position where it fits.

        Parameters
        ----------
        oligomer : str
            At most `sequence_length` letters of the alphabet.

        Returns
        -------
        ndarray of shape (sequence_length - len(oligomer) + 1,)
            0 where the score has no weight.
        """
        code = oligomer_code(oligomer, self.alphabet)
        check_order("len(oligomer)", len(oligomer), self.sequence_length)
        if len(oligomer) not in self.tables:
            return np.zeros(self.sequence_length - len(oligomer) + 1)
        return self.tables[len(oligomer)][:, [code]].toarray()[:, 0]

    @no_overflow()
    def motif_profile(self, motif: str) -> MotifProfile:
        """Weights of a motif and of its neighbours by position.

        Parameters
        ----------
        motif : str
            Letters of the alphabet.

        Returns
        -------
        MotifProfile
            What figure 3, left, of the paper shows.
        """
        code = oligomer_code(motif, self.alphabet, "motif")
        order = check_order("len(motif)", len(motif), self.sequence_length)
        table = self.tables.get(order)
        if table is None:
            shape = (self.sequence_length - order + 1, len(self.alphabet) ** order)
            table = sparse.csr_array(shape)
        return motif_profile(table.toarray(), motif, code, len(self.alphabet), "weight")

    def plot_motif(
        self, motif: str, ax: Axes | None = None, **kwargs: Any
    ) -> MotifDisplay:
        """Draw the weights of a motif by position: figure 3, left, of the paper.

        Parameters
        ----------
        motif : str
            Letters of the alphabet.
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        **kwargs : dict
            Passed to `MotifDisplay.plot`.

        Returns
        -------
        display : MotifDisplay
            Holds `ax_` and `figure_`.
        """
        return MotifDisplay(self.motif_profile(motif)).plot(ax=ax, **kwargs)

    def __repr__(self):
        n_weights = {k: table.nnz for k, table in self.tables.items()}
        return (
            f"OligomerWeights(sequence_length={self.sequence_length}, "
            f"alphabet={self.alphabet!r}, weights by order: {n_weights})"
        )


def _as_sparse(order, table):
    try:
        if np.iscomplexobj(table):
            raise TypeError
        if not sparse.issparse(table):
            table = np.asarray(table, dtype=np.float64)
        if table.ndim != 2:
            raise ValueError
        return sparse.csr_array(table, dtype=np.float64, copy=True)
    except (TypeError, ValueError):
        raise ValueError(
            f"The table of order {order} must be a matrix of numbers, one row per "
            "position and one column per oligomer."
        ) from None


def _sorted_keys(table):
    """(position, code) of each stored weight as one ascending number."""
    rows = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
    return rows * table.shape[1] + table.indices


def _look_up(keys, table, codes):
    """Weight of each window, shape of codes; 0 where there is none."""
    if len(keys) == 0:
        return np.zeros(codes.shape)
    wanted = np.arange(codes.shape[1]) * table.shape[1] + codes
    found = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    known = (keys[found] == wanted) & (codes >= 0)
    return np.where(known, table.data[found], 0.0)
