"""Derivatives of any response by central differences, block by block."""

import numpy as np

from skvarimp._running.memory import call_rows, even_slices

STEP = 1e-5  # of a central difference, in standard deviations of the column
SINGLE_STEP = 5e-3  # in single precision


def central_steps(model, table, columns):
    """Steps of the central differences: 1e-5 standard deviations of each column.

    5e-3 where the column or the response is in single precision: the cube root of
    its rounding, as 1e-5 is of double precision's.
    """
    steps = np.zeros(table.n_columns)
    some = table.take(np.arange(min(2, table.n_samples))).native
    raw = model.raw(some)
    output = np.asarray(raw[0] if isinstance(raw, list) else raw).dtype
    for j in columns:
        values = table.column(j)
        _refuse_non_numbers(table, j, values)
        single = np.float32 in (output, values.dtype)
        numbers = values.astype(np.float64)
        largest = np.abs(numbers).max()
        spread = numbers.std() if numbers.min() < numbers.max() else 0.0
        step = (SINGLE_STEP if single else STEP) * (spread or largest or 1.0)
        # values far from 0 with little spread: a step that does not round away
        stored = np.float32 if values.dtype == np.float32 else np.float64
        steps[j] = max(step, 8 * np.spacing(stored(largest)))
    return steps


def _refuse_non_numbers(table, j, values):
    if values.dtype.kind not in "fbiu" or not np.all(np.isfinite(values)):
        raise ValueError(
            f"Feature {table.column_names()[j]!r} has values that are not finite "
            "numbers, so the response has no derivative by it."
        )


def central_blocks(model, table, columns, steps=None):
    """(f(x + h e_j) - f(x - h e_j)) / 2h, one call of the model a block and column.

    Parameters
    ----------
    model : Model
    table : Table
    columns : sequence of int
    steps : ndarray of shape (n_features,), default=None
        None: `central_steps`.

    Yields
    ------
    rows : slice
    block : ndarray of shape (n_rows, n_columns, n_outputs)
    """
    if steps is None:
        steps = central_steps(model, table, columns)
    step = max(1, call_rows(table.n_columns, len(columns)) // 2)
    for rows in even_slices(table.n_samples, step):
        yield rows, _central(model, table, rows, columns, np.asarray(steps))


def _central(model, table, rows, columns, steps):
    n_rows = rows.stop - rows.start
    positions = np.tile(np.arange(rows.start, rows.stop), 2)
    result = None
    for m, j in enumerate(columns):
        values = table.column(j)[rows]
        _refuse_non_numbers(table, j, values)
        up, down = _stored(values, steps[j]), _stored(values, -steps[j])
        moved = table.moved(
            positions, (int(j),), values=np.concatenate([up, down])[:, np.newaxis]
        )
        f = model(moved, where=f"next to a row, as column {j} moves by {steps[j]:.3g}")
        if result is None:
            result = np.empty((n_rows, len(columns), f.shape[1]))
        # Divided by the step that rounding left, not by the step asked for.
        result[:, m] = (f[:n_rows] - f[n_rows:]) / (up - down)[:, np.newaxis]
    return result


def _stored(values, step):
    """Moved values as float64, rounded as a column of single precision stores them."""
    moved = values.astype(np.float64) + step
    if values.dtype == np.float32:
        moved = moved.astype(np.float32).astype(np.float64)
    return moved
