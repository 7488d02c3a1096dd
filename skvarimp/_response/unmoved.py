"""The response of unmoved rows."""

import numpy as np

from skvarimp._running.memory import call_rows, even_slices


def unmoved_response(model, table):
    """The response at every row, (n_outputs, n_samples).

    The model gets copies, which it may change. A large X goes block by block: it may be
    a memory map larger than the memory.
    """
    parts = even_slices(table.n_samples, call_rows(table.n_columns))
    if len(parts) <= 1:
        return np.ascontiguousarray(model.unmoved(table.copy()).T)
    rows = [np.arange(part.start, part.stop) for part in parts]
    first = model.unmoved(table.take(rows[0]).native).T
    others = [model(table.take(part).native).T for part in rows[1:]]
    return np.hstack([first, *others])
