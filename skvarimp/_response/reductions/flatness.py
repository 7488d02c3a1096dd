"""How much curves vary over a grid, and how that depends on each of their values."""

import numpy as np

# Mean responses closer than this, relative to the response's size, count as equal:
# rounding must not decide which rows make up a standard error.
_TIED = 1e-12


def flatness(curves, multiplicity, statistic):
    """How much curves vary over the distinct grid values, each counted once.

    Parameters
    ----------
    curves : ndarray of shape (n_entries, ..., n_cells)
    multiplicity : ndarray of shape (n_entries, n_cells) or (n_entries, n_rows, n_cells)
        Number of distinct values that a cell stands for, perhaps different by row.
    statistic : {"std", "range"}
        Standard deviation with ddof=1 (Greenwell et al., eq. 5), or maximum minus
        minimum (eq. 6). One value: 0.

    Returns
    -------
    ndarray of shape (n_entries, ...)
    """
    if statistic == "range":
        return curves.max(axis=-1) - curves.min(axis=-1)
    centred, count = _centred(curves, multiplicity)
    total = np.sum(_beside(curves, multiplicity) * centred**2, axis=-1)
    return np.sqrt(total / np.maximum(count - 1, 1))


def _beside(curves, multiplicity):
    """Multiplicity in a shape that broadcasts with curves."""
    n_entries, *rows, n_cells = multiplicity.shape
    ones = [1] * (curves.ndim - 2 - len(rows))
    return multiplicity.reshape(n_entries, *ones, *rows, n_cells)


def _centred(curves, multiplicity):
    """Curves minus their mean over the distinct values, and how many there are."""
    m = _beside(curves, multiplicity)
    count = m.sum(axis=-1)
    # from the first value on: a constant curve is centred to exactly 0
    shifted = curves - curves[..., :1]
    mean = np.sum(m * shifted, axis=-1) / count
    return shifted - mean[..., np.newaxis], count


def flatness_slope(curves, multiplicity, statistic, size):
    """d flatness / d curve[k], which sums to 0 over k; 0 for constant curves.

    Tied extremes share the slope evenly, so that no order of values decides. `size` is
    the size of the responses, (n_outputs,).
    """
    slope = np.zeros_like(curves)
    top, bottom = (e(axis=-1, keepdims=True) for e in (curves.max, curves.min))
    tied = _TIED * (size[:, np.newaxis] + np.maximum(top, -bottom))
    moves = top - bottom > tied
    if statistic == "range":
        count = multiplicity[:, np.newaxis]
        for sign, extreme in (
            (1.0, curves >= top - tied),
            (-1.0, curves <= bottom + tied),
        ):
            share = extreme * count
            slope += sign * share / share.sum(axis=-1, keepdims=True)
        return slope * moves
    centred, count = _centred(curves, multiplicity)
    divisor = flatness(curves, multiplicity, "std") * np.maximum(count - 1, 1)
    np.divide(
        multiplicity[:, np.newaxis] * centred,
        divisor[..., np.newaxis],
        out=slope,
        where=moves & (divisor[..., np.newaxis] > 0),
    )
    return slope
