"""The weighted degree kernel with shifts, through sparse products.

With Phi_k the indicators of the k-mers of a sequence, row (position, k-mer), and
D_k the symmetric Toeplitz matrix of the shift weights between positions,

    K(x, y) = sum_k beta_k Phi_k(x)' (D_k kron I) Phi_k(y),

one (sparse) product of Phi_k(X) and Psi_k(Y) = (D_k kron I) Phi_k(Y) for each order.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from skvarimp._running.memory import at_once, even_slices
from skvarimp._types import Floats
from skvarimp.sequence._sequences import (
    append_letter,
    check_alphabet,
    check_order,
    check_unknown,
    encode,
    sparse_rows,
)

_MAX_COLUMNS = 2**22  # columns numbered directly; above, only those that occur


def weighted_degree_kernel(
    X: ArrayLike,
    Y: ArrayLike | None = None,
    *,
    degree: int,
    shift: int = 0,
    normalize: bool = True,
    alphabet: str | list[str] | tuple[str, ...] = "ACGT",
    unknown: Literal["error", "ignore"] = "error",
) -> Floats:
    """Weighted degree kernel between sequences, with or without shifts.

    K(x, y) counts the windows of k = 1, ..., `degree` letters that read the same in x
    and in y, at the same position or up to `shift` letters apart:
    sum_k beta_k sum_s delta_s #{i : x[i + s : i + s + k] = y[i : i + k], or the same
    with x and y exchanged}, with beta_k = 2 (d - k + 1) / (d (d + 1)), d the degree,
    and delta_s = 1 / (2 (s + 1)). With shift 0 both directions are the same windows
    and count 1 together. Windows that would leave a sequence are left out.

    Parameters
    ----------
    X : sequence of str of shape (n_samples_X,)
        Sequences of one length.
    Y : sequence of str of shape (n_samples_Y,), default=None
        Sequences of the same length; None means X.
    degree : int
        Number of letters of the longest window.
    shift : int, default=0
        Largest number of positions between two windows that are compared.
    normalize : bool, default=True
        Divide by sqrt(K(x, x) K(y, y)).
    alphabet : str, default="ACGT"
        The letters. Upper and lower case are one letter unless the alphabet holds
        both cases of a letter.
    unknown : {"error", "ignore"}, default="error"
        Letters outside the alphabet (such as N) are an error, or match nothing, not
        even themselves.

    Returns
    -------
    ndarray of shape (n_samples_X, n_samples_Y)
        The kernel matrix; symmetric to the last bit where Y is None or X itself. Rows
        and columns of sequences without a known letter are 0.

    See Also
    --------
    OligomerWeights : The weights of the oligomers in an SVM with this kernel.

    Notes
    -----
    Exact. Time is about n_samples_X n_samples_Y length (n_orders dense + matches of
    the others), half of it when Y is None; memory is the result, one block of
    columns and O(length) numbers per sequence.
    `functools.partial(weighted_degree_kernel, degree=7, shift=6)` is a `kernel` for
    `SVC`, which then takes lists of strings.

    References
    ----------
    .. [1] G. Raetsch, S. Sonnenburg, B. Schoelkopf, "RASE: Recognition of
       alternatively spliced exons in C. elegans", Bioinformatics 21, 2005.

    Examples
    --------
    By hand: beta is 2/3 and 1/3. GAT and GAC share the letters G and A and the window
    GA, so K = 2 * 2/3 + 1/3. GAT has three letters and two windows of two with itself.

    >>> from skvarimp.sequence import weighted_degree_kernel
    >>> weighted_degree_kernel(["GAT"], ["GAC"], degree=2, normalize=False).round(4)
    array([[1.6667]])
    >>> weighted_degree_kernel(["GAT"], ["GAC"], degree=2).round(4)
    array([[0.625]])
    >>> weighted_degree_kernel(["GAT"], ["CGA"], degree=2, shift=1).round(4)
    array([[0.1562]])
    """
    alphabet = check_alphabet(alphabet)
    check_unknown(unknown)
    letters_x = encode(X, alphabet, unknown=unknown)
    letters_y = None
    if Y is not None and Y is not X:
        length = letters_x.shape[1]
        letters_y = encode(Y, alphabet, unknown=unknown, name="Y", length=length)
    check_kernel_parameters(degree, shift, normalize, letters_x.shape[1])
    return kernel_of_letters(
        letters_x, letters_y, len(alphabet), degree, shift, normalize
    )


def check_kernel_parameters(degree, shift, normalize, length):
    """Raise on a degree, shift or normalisation that means nothing."""
    check_order("degree", degree, length)
    check_order("shift", shift, smallest=0)
    if not isinstance(normalize, bool | np.bool_):
        raise TypeError(f"`normalize` must be True or False, got {normalize!r}.")


def order_weights(degree):
    """beta_k for k = 1, ..., degree; they sum to 1."""
    k = np.arange(1, degree + 1)
    return 2 * (degree - k + 1) / (degree * (degree + 1))


def shift_weights(shift, n_positions):
    """D_k as diagonals: pairs (offset, weight) for the offsets that exist.

    Each direction of shift s weighs 1 / (2 (s + 1)); at s = 0 they coincide.
    """
    largest = min(shift, n_positions - 1)
    offsets = range(-largest, largest + 1)
    return [(s, 0.5 / (abs(s) + 1) if s else 1.0) for s in offsets]


def self_kernel(letters, degree, shift):
    """K(x, x) before normalisation, shape (n_samples,).

    A window of k letters repeats s letters further where k consecutive letters do.
    """
    beta = order_weights(degree)
    total = np.zeros(len(letters))
    for s in range(min(shift, letters.shape[1] - 1) + 1):
        early = letters[:, : letters.shape[1] - s]
        repeats = (early == letters[:, s:]) & (early >= 0)
        windows = repeats
        for k in range(1, min(degree, repeats.shape[1]) + 1):
            if k > 1:
                windows = windows[:, :-1] & repeats[:, k - 1 :]
            # both directions of s > 0: 2 / (2 (s + 1))
            total += beta[k - 1] / (s + 1) * np.count_nonzero(windows, axis=1)
    return total


def inverse_norms(self_kernels):
    """1 / sqrt(K(x, x)), 0 for sequences without any known letter."""
    norms = np.sqrt(self_kernels)
    return np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)


def kernel_of_letters(letters_x, letters_y, n_letters, degree, shift, normalize):
    """Kernel matrix of encoded sequences; `letters_y=None` means x with itself."""
    symmetric = letters_y is None
    n_x = len(letters_x)
    n_y = n_x if symmetric else len(letters_y)
    kernel = np.zeros((n_x, n_y))
    beta = order_weights(degree)
    letters = letters_x if symmetric else np.vstack([letters_x, letters_y])
    blocks = even_slices(n_y, max(at_once(n_x), 16))
    for order, codes, n_codes in _iterate_matchable(letters, n_letters, degree):
        codes_x, codes_y = (codes, codes) if symmetric else (codes[:n_x], codes[n_x:])
        _add_order(kernel, codes_x, codes_y, n_codes, beta[order - 1], shift, blocks)
    self_x = self_kernel(letters_x, degree, shift)
    if symmetric:
        _mirror(kernel, blocks)
        np.fill_diagonal(kernel, self_x)
    if normalize:
        scale_x = inverse_norms(self_x)
        scale_y = scale_x
        if not symmetric:
            scale_y = inverse_norms(self_kernel(letters_y, degree, shift))
        for block in blocks:  # one product of scales: symmetric to the last bit
            kernel[:, block] *= np.outer(scale_x, scale_y[block])
        if symmetric:
            np.fill_diagonal(kernel, np.where(self_x > 0, 1.0, 0.0))
    return kernel


def _iterate_matchable(letters, n_letters, degree):
    """Yield (order, codes, n_codes) with codes of windows that may match another.

    Codes stay small at any degree: beyond `_MAX_COLUMNS` columns only oligomers that
    occur twice keep a number, the others become -1 (only the diagonal misses them).
    """
    codes = letters.astype(np.int64)
    n_codes = n_letters
    for order in range(1, degree + 1):
        if order > 1:
            codes = append_letter(codes[:, :-1], letters[:, order - 1 :], n_letters)
            n_codes *= n_letters
        if n_codes * codes.shape[1] > _MAX_COLUMNS:
            codes, n_codes = _keep_repeated(codes)
        if n_codes == 0:
            return
        yield order, codes, n_codes


def _keep_repeated(codes):
    """Renumber the codes that occur at least twice from 0; -1 for the others."""
    known = codes >= 0
    _, inverse, counts = np.unique(
        codes[known], return_inverse=True, return_counts=True
    )
    repeated = counts > 1
    numbers = np.where(repeated, np.cumsum(repeated) - 1, -1)
    renumbered = np.full_like(codes, -1)
    renumbered[known] = numbers[inverse]
    return renumbered, int(repeated.sum())


def _add_order(kernel, codes_x, codes_y, n_codes, weight, shift, blocks):
    """Add weight * Phi(X) Psi(Y)' to the kernel, block of columns by block.

    In a symmetric kernel (codes_y is codes_x) only rows from the block downwards.
    """
    n_positions = codes_x.shape[1]
    columns_x = _columns(codes_x, n_codes, np.arange(n_positions))
    vocabulary = None
    if n_codes * n_positions > _MAX_COLUMNS:
        vocabulary = np.unique(columns_x[columns_x >= 0])
        columns_x = _look_up(columns_x, vocabulary)
    n_columns = n_codes * n_positions if vocabulary is None else len(vocabulary)
    if n_columns == 0:
        return
    phi = sparse_rows(columns_x, np.ones(n_positions), n_columns)
    shifts = shift_weights(shift, n_positions)
    # Expected matches a position: where they are many, a dense factor is faster.
    dense = vocabulary is None and 4 * len(shifts) > n_codes
    for block in blocks:
        psi = _shifted(codes_y[block], n_codes, shifts, weight, vocabulary, n_columns)
        rows = slice(block.start, None) if codes_y is codes_x else slice(None)
        other = np.ascontiguousarray(psi.toarray().T) if dense else psi.T.tocsr()
        product = phi[rows] @ other
        kernel[rows, block] += product if dense else product.toarray()


def _shifted(codes, n_codes, shifts, weight, vocabulary, n_columns):
    """Psi: the indicators of each window, spread over the positions it may match."""
    n_positions = codes.shape[1]
    columns, values = [], []
    for s, shift_weight in shifts:
        position = np.arange(max(0, -s), min(n_positions, n_positions - s))
        columns.append(_columns(codes[:, position + s], n_codes, position))
        values.append(np.full(len(position), weight * shift_weight))
    columns = np.hstack(columns)
    if vocabulary is not None:
        columns = _look_up(columns, vocabulary)
    return sparse_rows(columns, np.concatenate(values), n_columns)


def _columns(codes, n_codes, positions):
    """Number of each (position, code), -1 where the code is -1."""
    return np.where(codes < 0, -1, codes + n_codes * positions)


def _look_up(columns, vocabulary):
    """Index of each column in the sorted vocabulary, -1 where it is not there."""
    if len(vocabulary) == 0:
        return np.full_like(columns, -1)
    found = np.minimum(np.searchsorted(vocabulary, columns), len(vocabulary) - 1)
    return np.where(vocabulary[found] == columns, found, -1)


def _mirror(kernel, blocks):
    """Copy the lower block triangle to the upper one."""
    for block in blocks:
        below = slice(block.stop, None)
        kernel[block, below] = kernel[below, block].T
        square = kernel[block, block]
        kernel[block, block] = (square + square.T) / 2  # summed in another order
