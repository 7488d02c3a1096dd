"""Columns of a table beside copies of them whose rows are in another order."""

import numpy as np

from skvarimp._data.table import ArrayTable, SparseTable, as_table


def beside_copies(table, orders):
    """The table with copies of its columns on the right, each in an order of its own.

    Parameters
    ----------
    table : Table
    orders : list of (int, ndarray of shape (n_samples,))
        For each copy the column and the rows its values come from.

    Returns
    -------
    Table of n_columns + len(orders) columns
    """
    if isinstance(table, ArrayTable):
        copies = [table.native[order, j] for j, order in orders]
        return ArrayTable(np.column_stack([table.native, *copies]))
    if isinstance(table, SparseTable):
        return as_table(_sparse_beside(table, orders))
    return as_table(_frame_beside(table, orders))


def _sparse_beside(table, orders):
    csc = table.csc
    data, indices, indptr = [csc.data], [csc.indices], [csc.indptr]
    end = csc.indptr[-1]
    for j, order in orders:
        stored = slice(csc.indptr[j], csc.indptr[j + 1])
        to = np.empty(len(order), dtype=csc.indices.dtype)
        to[order] = np.arange(len(order))
        data.append(csc.data[stored])
        indices.append(to[csc.indices[stored]])
        end = end + stored.stop - stored.start
        indptr.append(np.array([end], dtype=csc.indptr.dtype))
    shape = (table.n_samples, table.n_columns + len(orders))
    parts = tuple(np.concatenate(part) for part in (data, indices, indptr))
    wide = type(csc)(parts, shape=shape)
    wide.sort_indices()
    form = table.native.format
    return wide.asformat("csr" if form == "dia" else form)


def _frame_beside(table, orders):
    """Names of copies start with "shuffled"; numbered columns get further numbers."""
    import narwhals.stable.v2 as nw

    frame = nw.maybe_reset_index(table.frame)
    labels, taken, copies = frame.columns, set(frame.columns), []
    for j, order in orders:
        name = f"shuffled {labels[j]}"
        while name in taken:
            name += "'"
        taken.add(name)
        source = frame.select(labels[j])[order]
        copies.append(nw.maybe_reset_index(source)[labels[j]].alias(name))
    wide = frame.with_columns(*copies).to_native()
    if table.names is None:  # labels that are no strings stay of one type
        wide = wide.set_axis(range(wide.shape[1]), axis=1)
    return wide
