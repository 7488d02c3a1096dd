"""Sequences as integer letters, oligomers as integer codes.

The code of an oligomer is the number its letters spell in base A (the size of the
alphabet), so that codes run through `itertools.product(alphabet, repeat=order)`.
A letter outside the alphabet is -1, and so is every window that holds one.
"""

import itertools
import numbers

import numpy as np
from scipy import sparse

_LARGEST_CODE = 2**62


def check_alphabet(alphabet):
    """Return the alphabet as one string of at least two different letters."""
    if not isinstance(alphabet, str):
        alphabet = list(alphabet) if np.iterable(alphabet) else [alphabet]
        if not all(isinstance(a, str) and len(a) == 1 for a in alphabet):
            raise ValueError(
                "`alphabet` must be a string or a sequence of single letters, got "
                f"{alphabet!r}. Use 'ACGT' for DNA."
            )
        alphabet = "".join(alphabet)
    if len(alphabet) < 2 or len(set(alphabet)) < len(alphabet):
        raise ValueError(
            "`alphabet` must have at least two letters, each of them once, got "
            f"{alphabet!r}. Use 'ACGT' for DNA."
        )
    return alphabet


def check_unknown(unknown):
    """Raise ValueError unless `unknown` names one of the two rules."""
    if not isinstance(unknown, str) or unknown not in ("error", "ignore"):
        raise ValueError(f"`unknown` must be 'error' or 'ignore', got {unknown!r}.")


def check_order(name, order, length=None, smallest=1):
    """Return `order` as an int of at least `smallest` that fits the sequences."""
    if not isinstance(order, numbers.Integral) or isinstance(order, bool):
        raise TypeError(
            f"`{name}` must be an integer, got {order!r} of type "
            f"{type(order).__name__}."
        )
    if order < smallest:
        raise ValueError(f"`{name}` must be at least {smallest}, got {order}.")
    if length is not None and order > length:
        raise ValueError(
            f"`{name}` must be at most {length}, the length of the sequences, got "
            f"{order}. No window of {order} letters fits."
        )
    return int(order)


def check_codes_fit(name, order, n_letters, n_positions):
    """Raise ValueError where 64-bit integers cannot number oligomers by position."""
    if n_letters**order * n_positions > _LARGEST_CODE:
        raise ValueError(
            f"`{name}` must be small enough to number {n_letters} ** {name} oligomers "
            f"at {n_positions} positions by 64-bit integers, got {order}."
        )


def encode(X, alphabet, *, unknown="error", name="X", length=None):
    """Letters of equal-length sequences as integers.

    Upper and lower case are one letter unless the alphabet itself holds both cases
    of a letter.

    Parameters
    ----------
    X : sequence of str of shape (n_samples,)
        List, array, or a pandas or polars series.
    alphabet : str
        Checked alphabet.
    unknown : {"error", "ignore"}
        What to do about letters outside the alphabet; "ignore" codes them as -1.
    name : str
        What errors call X.
    length : int, default=None
        Required length; None takes any common one.

    Returns
    -------
    ndarray of shape (n_samples, length)
        Position of each letter in the alphabet, -1 for unknown ones.
    """
    sequences = _as_strings(X, name)
    _check_lengths(sequences, name, length)
    text = "".join(sequences).encode("utf-32-le", "surrogatepass")
    points = np.frombuffer(text, dtype=np.uint32)
    letters = _letter_table(alphabet, points.max())[points]
    letters = letters.reshape(len(sequences), -1)
    if unknown == "error" and letters.min() < 0:
        row, position = np.argwhere(letters < 0)[0]
        raise ValueError(
            f"Sequence {row} of {name} has {sequences[row][position]!r} at position "
            f"{position}, which is not in the alphabet {alphabet!r}. Use "
            "unknown='ignore' to leave out the windows that hold unknown letters."
        )
    return letters


def _as_strings(X, name):
    """Return X as a list of str; raise where it is something else."""
    if isinstance(X, str | bytes):
        raise TypeError(
            f"{name} must be a list or array of strings, got one string. Use [x] for "
            "a single sequence."
        )
    if hasattr(X, "columns") or getattr(X, "ndim", 1) != 1:
        raise ValueError(
            f"{name} must be one-dimensional, one string per sequence, got "
            f"{type(X).__name__} of shape {getattr(X, 'shape', None)}. Pass a single "
            "column."
        )
    if not np.iterable(X):
        raise TypeError(f"{name} must be a list or array of strings, got {X!r:.60}.")
    sequences = list(X)
    if not sequences:
        raise ValueError(f"{name} has no sequences; at least one is needed.")
    for row, sequence in enumerate(sequences):
        if not isinstance(sequence, str):
            raise TypeError(
                f"{name} must hold strings, got {sequence!r} of type "
                f"{type(sequence).__name__} at index {row}."
            )
    return sequences


def _check_lengths(sequences, name, length):
    lengths = np.fromiter(map(len, sequences), dtype=np.intp, count=len(sequences))
    different = np.flatnonzero(lengths != lengths[0])
    if len(different):
        row = different[0]
        raise ValueError(
            f"{name} must hold sequences of one length, got {lengths[0]} letters at "
            f"index 0 and {lengths[row]} at index {row}. Cut them to a common window."
        )
    if lengths[0] == 0:
        raise ValueError(
            f"{name} holds empty sequences; at least one letter is needed."
        )
    if length is not None and lengths[0] != length:
        raise ValueError(
            f"{name} has sequences of {lengths[0]} letters, but {length} are expected."
        )


def _letter_table(alphabet, largest_point):
    """Code point -> position in the alphabet, -1 elsewhere."""
    variants = {letter: {letter, letter.lower(), letter.upper()} for letter in alphabet}
    if len(set().union(*variants.values())) < sum(map(len, variants.values())):
        variants = {letter: {letter} for letter in alphabet}  # both cases are letters
    points = {
        ord(variant): number
        for number, letter in enumerate(alphabet)
        for variant in variants[letter]
        if len(variant) == 1
    }
    dtype = np.int8 if len(alphabet) < 128 else np.int32
    table = np.full(max(largest_point, *points) + 1, -1, dtype=dtype)
    table[list(points)] = list(points.values())
    return table


def append_letter(codes, letters, n_letters):
    """Codes of the windows that are one letter longer; -1 where either is -1."""
    longer = codes * n_letters + letters
    longer[(codes < 0) | (letters < 0)] = -1
    return longer


def iterate_codes(letters, n_letters, max_order):
    """Yield (order, codes) with codes of shape (n_samples, length - order + 1)."""
    codes = letters.astype(np.int64)
    yield 1, codes
    for order in range(2, max_order + 1):
        codes = append_letter(codes[:, :-1], letters[:, order - 1 :], n_letters)
        yield order, codes


def sparse_rows(columns, values, n_columns):
    """CSR array with values[m] at (row, columns[row, m]); column -1 is left out.

    Indices are 32-bit wherever they fit: liblinear and libsvm take no others.
    """
    present = columns >= 0
    starts = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
    largest = max(starts[-1], n_columns)
    index = np.int32 if largest < 2**31 else np.int64
    return sparse.csr_array(
        (
            np.broadcast_to(values, columns.shape)[present],
            columns[present].astype(index),
            starts.astype(index),
        ),
        shape=(len(columns), n_columns),
    )


def oligomer_code(oligomer, alphabet, name="oligomer"):
    """Code of one oligomer given as a string."""
    if not isinstance(oligomer, str):
        raise TypeError(f"`{name}` must be a string, got {oligomer!r}.")
    letters = encode([oligomer], alphabet, unknown="ignore", name=f"`{name}`")[0]
    if letters.min() < 0:
        at = int(np.argmin(letters))
        raise ValueError(
            f"`{name}` has {oligomer[at]!r} at position {at}, which is not in the "
            f"alphabet {alphabet!r}. Use the letters of the alphabet."
        )
    code = 0
    for letter in letters.tolist():  # Python integers cannot overflow
        code = code * len(alphabet) + letter
    return code


def oligomer_names(alphabet, order):
    """All oligomers of one order as an array of str, in the order of their codes."""
    return np.array(["".join(o) for o in itertools.product(alphabet, repeat=order)])
