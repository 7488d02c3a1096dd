"""Positional oligomer indicators of equal-length sequences."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from skvarimp._data.validation import Interval, StrOptions, validate_params
from skvarimp.sequence._sequences import (
    check_alphabet,
    check_order,
    encode,
    iterate_codes,
    oligomer_names,
    sparse_rows,
)

_MAX_COLUMNS = 2**31 - 1  # liblinear and libsvm take 32-bit column indices only


class OligomerVectorizer(TransformerMixin, BaseEstimator):
    """Sparse indicators of every oligomer at every position of a sequence.

    Before normalisation, column "3:GATT" is 1 for sequences with GATT at position 3,
    counted from 0. There is a column for every oligomer of up to `max_order` letters at
    every position where it fits. So the columns depend only on the alphabet and the
    length, not on the sequences. A linear model on these columns is the scoring system
    of [1]_, eq. (4).

    Parameters
    ----------
    max_order : int
        Number of letters of the longest oligomers.
    alphabet : str, default="ACGT"
        The letters, in the order of the columns. Upper and lower case are one letter
        unless the alphabet holds both cases of a letter.
    normalize : bool, default=True
        Divide by the square root of the number of windows, sum over k of
        (length - k + 1). A sequence without unknown letters then has Euclidean norm 1.
        The divisor is the same for all sequences.
    unknown : {"error", "ignore"}, default="error"
        Letters outside the alphabet (such as N) are an error, or the indicators of
        every window with such a letter are 0.

    Attributes
    ----------
    sequence_length_ : int
        Number of letters of the sequences seen at fit.
    n_features_out_ : int
        Number of columns, sum over k of (length - k + 1) A ** k.

    See Also
    --------
    weighted_degree_kernel : The same oligomers, weighted by order, without columns.
    OligomerWeights : Weights of the oligomers of a linear model on these columns.

    Notes
    -----
    Columns are sorted by order, then position, then oligomer (as in
    `itertools.product`). Cost: O(n_samples length max_order) time and memory.
    More than 2**31 - 1 columns raise an error; the kernel has no such limit.

    References
    ----------
    .. [1] A. Zien, N. Kraemer, S. Sonnenburg, G. Raetsch, "The Feature Importance
       Ranking Measure", ECML PKDD 2009, section 1.2.

    Examples
    --------
    >>> from skvarimp.sequence import OligomerVectorizer
    >>> vectorizer = OligomerVectorizer(max_order=2, alphabet="AB", normalize=False)
    >>> vectorizer.fit_transform(["AB", "BB"]).toarray()
    array([[1., 0., 0., 1., 0., 1., 0., 0.],
           [0., 1., 0., 1., 0., 0., 0., 1.]])
    >>> print(*vectorizer.get_feature_names_out())
    0:A 0:B 1:A 1:B 0:AA 0:AB 0:BA 0:BB
    """

    _parameter_constraints: dict = {  # noqa: RUF012 scikit-learn's form
        "max_order": [Interval(Integral, 1, None, closed="left")],
        "alphabet": [str, list, tuple],
        "normalize": ["boolean"],
        "unknown": [StrOptions({"error", "ignore"})],
    }

    def __init__(
        self,
        max_order: int,
        alphabet: str | list[str] | tuple[str, ...] = "ACGT",
        normalize: bool = True,
        unknown: Literal["error", "ignore"] = "error",
    ) -> None:
        self.max_order = max_order
        self.alphabet = alphabet
        self.normalize = normalize
        self.unknown = unknown

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Learn the length of the sequences.

        Parameters
        ----------
        X : sequence of str of shape (n_samples,)
            Sequences of one length.
        y : object, default=None
            Not used.

        Returns
        -------
        self : object
            The fitted instance.
        """
        validate_params(self)
        alphabet = check_alphabet(self.alphabet)
        length = encode(X, alphabet, unknown=self.unknown).shape[1]
        check_order("max_order", self.max_order, length)
        n_columns = sum(
            (length - k + 1) * len(alphabet) ** k for k in range(1, self.max_order + 1)
        )
        if n_columns > _MAX_COLUMNS:
            raise ValueError(
                f"`max_order` must leave at most {_MAX_COLUMNS} columns, got "
                f"{self.max_order}, which makes {n_columns}. Use a lower order, or "
                "weighted_degree_kernel, which has no such limit."
            )
        self.sequence_length_ = length
        self.n_features_out_ = n_columns
        return self

    def transform(self, X: ArrayLike) -> sparse.csr_array:
        """Indicators of the oligomers of each sequence.

        Parameters
        ----------
        X : sequence of str of shape (n_samples,)
            Sequences of the length seen at fit.

        Returns
        -------
        scipy.sparse.csr_array of shape (n_samples, n_oligomers)
            Sorted indices, one common value.
        """
        check_is_fitted(self)
        alphabet = check_alphabet(self.alphabet)
        letters = encode(
            X, alphabet, unknown=self.unknown, length=self.sequence_length_
        )
        n_windows = self._n_windows()
        columns = np.empty((len(letters), n_windows), dtype=np.int32)
        offset = done = 0
        for order, codes in iterate_codes(letters, len(alphabet), self.max_order):
            n_oligomers = len(alphabet) ** order
            n_positions = codes.shape[1]
            shifted = codes + (offset + n_oligomers * np.arange(n_positions))
            shifted[codes < 0] = -1
            columns[:, done : done + n_positions] = shifted
            offset += n_positions * n_oligomers
            done += n_positions
        value = self._n_windows() ** -0.5 if self.normalize else 1.0
        return sparse_rows(columns, value, self.n_features_out_)

    def _n_windows(self):
        return sum(self.sequence_length_ - k for k in range(self.max_order))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns, "position:oligomer".

        Parameters
        ----------
        input_features : object, default=None
            Not used; present for scikit-learn's sake.

        Returns
        -------
        ndarray of str objects of shape (n_oligomers,)
            Such as "3:GATT": the sequence reads GATT from position 3 on.
        """
        check_is_fitted(self)
        alphabet = check_alphabet(self.alphabet)
        names = []
        for order in range(1, self.max_order + 1):
            oligomers = oligomer_names(alphabet, order).tolist()
            for position in range(self.sequence_length_ - order + 1):
                names.extend(f"{position}:{oligomer}" for oligomer in oligomers)
        return np.array(names, dtype=object)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags
