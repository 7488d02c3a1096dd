"""X as a SciPy sparse matrix or array, and its dense blocks."""

from functools import cached_property

import numpy as np
from scipy import sparse

from skvarimp._data.base_table import Table, dense, stored_as
from skvarimp._running.memory import slices


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
        return self.native.copy()

    def take(self, rows):
        return SparseTable(self._like(self._sliced()[rows]))

    def select(self, columns):
        return SparseTable(self._like(self._sliced()[:, columns]))

    def column(self, j):
        csc = self.csc
        start, stop = csc.indptr[j], csc.indptr[j + 1]
        column = np.zeros(self.n_samples, dtype=csc.dtype)
        column[csc.indices[start:stop]] = csc.data[start:stop]
        return column

    def moved(self, rows, columns, donors=None, values=None):
        columns = np.asarray(columns)
        if donors is not None:
            each = np.broadcast_to(donors.T, (len(columns), len(rows)))
            found = np.stack([self.column(j)[d] for j, d in zip(columns, each)], axis=1)
            values = found if values is None else np.where(donors < 0, values, found)
        X = self._csr[rows]
        keep = ~np.isin(X.indices, columns)
        kept = np.concatenate([[0], np.cumsum(keep)])[X.indptr]
        if self.native.dtype.kind in "fbiu":
            values = stored_as(np.asarray(values), self.native.dtype)
        m, member = np.nonzero(values)
        new = type(X)((values[m, member], (m, columns[member])), shape=X.shape)
        X = type(X)((X.data[keep], X.indices[keep], kept), shape=X.shape)
        return self._like(X + new)

    def moved_together(self, moves):
        return self._like(sparse.vstack([self.moved(*move) for move in moves]))

    def beside_copies(self, orders):
        copies = self.csc[:, [j for j, _ in orders]]
        place = np.empty(self.n_samples, dtype=np.intp)
        for (_, order), start, end in zip(orders, copies.indptr, copies.indptr[1:]):
            place[order] = np.arange(len(order))
            copies.indices[start:end] = place[copies.indices[start:end]]
        copies.has_sorted_indices = False
        copies.sort_indices()
        return SparseTable(self._like(sparse.hstack([self.csc, copies], format="csc")))

    def held(self, donors, source):
        others = np.setdiff1d(np.arange(self.n_columns), list(donors))
        ones = np.ones(len(others), dtype=self.native.dtype)
        square = self.n_columns, self.n_columns
        row = np.zeros((1, self.n_columns), dtype=source.native.dtype)
        for j, donor in donors.items():
            row[0, j] = source.column(j)[donor]
        constants = sparse.csr_array(row)[np.zeros(self.n_samples, dtype=np.intp)]
        keep = sparse.csr_array((ones, (others, others)), shape=square)
        kept = sparse.csr_array(self._csr) @ keep
        return SparseTable(self._like(type(self._csr)(kept + constants)))

    def _like(self, X):
        """Give a matrix the format of X, index type included (some models insist).

        Diagonals (DIA) become CSR: rows taken here and there have as many diagonals
        as features, each as long as a row.
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
        return self.csc.astype(np.float64, copy=False)

    def stored(self):
        X = self.csc
        if np.any(X.data == 0):
            X = X.copy()
            X.eliminate_zeros()
        counts, rows = np.diff(X.indptr).astype(np.int64), X.indices.astype(np.int64)
        yield counts, rows, X.data.astype(np.float64)


def column_blocks(X):
    """Pairs of a slice of columns and X[:, columns] as a dense array."""
    n_samples, n_features = X.shape
    for columns in slices(n_features, n_samples):
        yield columns, dense(X[:, columns])


def row_blocks(X, elements_per_row=None):
    """Pairs of a slice of rows and X[rows] as a dense array.

    Parameters
    ----------
    X : {ndarray, CSR} of shape (n_samples, n_features)
    elements_per_row : int, default=None
        What each row costs in the caller's own arrays. None: n_features.
    """
    n_samples, n_features = X.shape
    for rows in slices(n_samples, elements_per_row or n_features):
        yield rows, dense(X[rows])
