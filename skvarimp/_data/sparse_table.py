"""`SparseTable`: SciPy's sparse matrices and arrays."""

from functools import cached_property

import numpy as np
from scipy import sparse

from skvarimp._data.base_table import Table


class SparseTable(Table):
    """A SciPy sparse matrix or array; rows are handed out in the format given."""

    @cached_property
    def _csr(self):
        """X by rows; X itself if it is CSR."""
        return self.native.tocsr()

    def _sliced(self):
        """X in a format that can be sliced, without a copy if there is one."""
        return self.native if self.native.format == "csc" else self._csr

    @cached_property
    def csc(self):
        """X by columns; X itself if it is CSC without duplicates."""
        if self.native.format == "csc" and self.native.has_canonical_format:
            return self.native
        csc = self._csr.tocsc()
        csc.sum_duplicates()
        return csc

    def copy(self):
        """See `Table.copy`."""
        return self.native.copy()

    def take(self, rows):
        """See `Table.take`."""
        return SparseTable(self._like(self._sliced()[rows]))

    def select(self, columns):
        """See `Table.select`."""
        return SparseTable(self._like(self._sliced()[:, columns]))

    def column(self, j):
        """See `Table.column`."""
        csc = self.csc
        start, stop = csc.indptr[j], csc.indptr[j + 1]
        column = np.zeros(self.n_samples, dtype=csc.dtype)
        column[csc.indices[start:stop]] = csc.data[start:stop]
        return column

    def moved(self, rows, columns, donors=None, values=None):
        """See `Table.moved`."""
        columns = np.asarray(columns)
        if donors is not None:
            values = np.column_stack([self.column(j)[donors] for j in columns])
        X = self._csr[rows]
        keep = ~np.isin(X.indices, columns)
        kept = np.concatenate([[0], np.cumsum(keep)])[X.indptr]
        m, member = np.nonzero(values)
        new = type(X)((values[m, member], (m, columns[member])), shape=X.shape)
        X = type(X)((X.data[keep], X.indices[keep], kept), shape=X.shape)
        return self._like(X + new)

    def moved_together(self, moves):
        """See `Table.moved_together`."""
        return self._like(sparse.vstack([self.moved(*move) for move in moves]))

    def _like(self, X):
        """In the format of X as given, index type included (some models insist).

        Diagonals (DIA) become CSR: rows taken here and there have as many diagonals
        as entries, each as long as a row.
        """
        form = self.native.format
        X = X.asformat("csr" if form == "dia" else form)
        index_type = self._sliced().indices.dtype
        if X.format == "coo":
            X.coords = tuple(c.astype(index_type, copy=False) for c in X.coords)
        for part in ("indices", "indptr"):
            if hasattr(X, part):
                setattr(X, part, getattr(X, part).astype(index_type, copy=False))
        return X

    def numeric(self):
        """See `Table.numeric`."""
        return self.csc.astype(np.float64, copy=False)
