"""E[s(X) | X[j : j + K] = z] for all z and all j at once, in a Markov chain.

A score that adds up weights of windows is split, for every interval [j, f), by where
its windows start and end:

    inside   start >= j, end <= f     weights of the sub-windows of z
    left     start <  j, end <= f     depends on the first letters of z only
    right    start >= j, end >  f     depends on the last letters of z only
    both     start <  j, end >  f

Each kind obeys a recursion that takes one letter at a time out of, or into, a window;
its tables have one row per start position and one column per oligomer. Taking out a
letter averages over it given the d letters next to it (d: order of the chain), which
are in the window as long as that has at least d letters. So `left` has two parts:
windows that end exactly at e, one table for each length e - j > d, and all those that
end at or before j + d, one table on d letters (for d = 0 a constant of the position:
the windows that do not touch the interval and need not be followed at all).

Above the order asked for the tables stay sparse: only oligomers with a weight count.
"""

import numpy as np
from scipy import sparse


def conditional_scores(tables, chain, order):
    """Expected score given each oligomer at each position, without the intercept.

    Parameters
    ----------
    tables : dict of int -> csr_array of shape (length - k + 1, A ** k)
        Weights by order k.
    chain : MarkovChain
        Distribution of the letters.
    order : int
        Number of letters K of the oligomers.

    Returns
    -------
    ndarray of shape (length - K + 1, A ** K)
        0 where an oligomer has probability 0.

    Notes
    -----
    Time and memory O(length (A ** max(K, d + 1) + weights of higher order)).
    """
    wanted, order = order, max(order, chain.order)
    unfolding = _Unfolding(tables, chain, max(order, chain.order + 1))
    scores = unfolding.inside_and_left(order)
    for part in (unfolding.right(order), unfolding.both(order)):
        if part is not None:
            scores += part
    for k in range(order, wanted, -1):
        # fewer letters than the chain remembers: average over the letters left out
        joint = chain.probabilities(k)
        shorter = chain.shorten(joint)
        scores = chain.shorten(joint * scores)
        np.divide(scores, shorter, out=scores, where=shorter > 0)
    return scores


class _Unfolding:
    """The recursions over windows; tables of up to `dense_order` letters are dense."""

    def __init__(self, tables, chain, dense_order):
        self.chain = chain
        self.n_letters = chain.n_letters
        self.length = len(chain.joint) + chain.order
        self.dense_order = dense_order
        self.weights = {
            k: self._stored(table, k) for k, table in tables.items() if table.nnz
        }
        self.max_order = max(self.weights, default=0)
        self.left_ends = self._reach_over(self._drop_first)
        self.right_starts = self._reach_over(self._drop_last)

    def _stored(self, table, order):
        """Dense up to `dense_order` letters, else as it is."""
        if sparse.issparse(table) and order <= self.dense_order:
            return table.toarray()
        return table

    def _reach_over(self, drop):
        """Tables by length k > d of windows that reach over one end of an interval.

        The other end is the interval's own. Whatever reaches over it by one letter
        or by more reaches over the end of the interval one letter longer, or is it.
        """
        reaching = {}
        for k in range(self.max_order - 1, self.chain.order, -1):
            longer = _add(self.weights.get(k + 1), reaching.get(k + 1))
            if longer is not None:
                reaching[k] = self._stored(drop(longer, k + 1), k)
        return reaching

    def inside_and_left(self, order):
        """Windows that end within the interval, as a fresh dense array."""
        ending = scores = np.zeros((self.length + 1, 1))
        if self.chain.order == 0:
            scores = scores + self._left_of()
        for k in range(1, order + 1):
            ending = _put_first(ending, self.n_letters)
            ending = _add(ending, self.weights.get(k))
            scores = _put_last(scores, self.n_letters) + ending
            if k == self.chain.order:
                scores += self._left_of()
            if k in self.left_ends:
                scores += self.left_ends[k]
        return scores

    def right(self, order):
        """Windows that start within the interval and end behind it."""
        scores = self._right_of()
        for k in range(self.chain.order + 1, order + 1):
            scores = _put_first(scores, self.n_letters)
            if k in self.right_starts:
                scores += self.right_starts[k]
        return scores

    def both(self, order):
        """Windows that start before the interval and end behind it, or None."""
        scores = None
        for k in range(self.max_order - 2, order - 1, -1):
            longer = _add(self.right_starts.get(k + 1), scores)
            if longer is not None:
                scores = self._stored(self._drop_first(longer, k + 1), k)
        return scores

    def _left_of(self):
        """Windows that start before j and end by j + d, given the d letters at j.

        Shape (length - d + 1, A ** d). Those of j come from those of j - 1, the
        windows that start at j - 1, and those that end at j + d.
        """
        d, n_letters = self.chain.order, self.n_letters
        starting = np.zeros((self.length + 1, 1))
        for k in range(1, d + 2):
            starting = _put_last(starting, n_letters)
            starting = _add(starting, self.weights.get(k))
        joining = _add(starting, self.left_ends.get(d + 1))
        scores = np.zeros((self.length - d + 1, n_letters**d))
        for j in range(1, len(scores)):
            longer = scores[j - 1][:, np.newaxis] + joining[j - 1].reshape(
                -1, n_letters
            )
            longer = longer.reshape(n_letters, -1)
            scores[j] = (self.chain.backward[j - 1] * longer).sum(axis=0)
        return scores

    def _right_of(self):
        """Windows that end behind m + d and start at or behind m; as `_left_of`."""
        d, n_letters = self.chain.order, self.n_letters
        ending = np.zeros((self.length + 1, 1))
        for k in range(1, d + 2):
            ending = _put_first(ending, n_letters)
            ending = _add(ending, self.weights.get(k))
        joining = _add(ending, self.right_starts.get(d + 1))
        scores = np.zeros((self.length - d + 1, n_letters**d))
        for m in range(len(scores) - 2, -1, -1):
            longer = scores[m + 1] + joining[m].reshape(n_letters, -1)
            longer = longer.reshape(-1, n_letters)
            scores[m] = (self.chain.forward[m] * longer).sum(axis=1)
        return scores

    def _drop_first(self, table, order):
        """Average over the first letter of each window given those that remain.

        The window that is left starts one position further, hence a row of zeros:
        nothing starts before position 0.
        """
        remaining = self.n_letters ** (order - 1)
        context = self.n_letters**self.chain.order
        backward = self.chain.backward[: table.shape[0]]
        if sparse.issparse(table):
            row, column, weight = _features(table)
            letter, rest = np.divmod(column, remaining)
            weight = weight * backward[row, letter, rest // (remaining // context)]
            return _sparse(weight, row + 1, rest, (table.shape[0] + 1, remaining))
        shape = (len(table), self.n_letters, context, remaining // context)
        averaged = np.einsum("nac,nacr->ncr", backward, table.reshape(shape))
        averaged = averaged.reshape(len(table), remaining)
        return np.vstack([np.zeros((1, remaining)), averaged])

    def _drop_last(self, table, order):
        """Average over the last letter; nothing ends behind the last position."""
        remaining = self.n_letters ** (order - 1)
        context = self.n_letters**self.chain.order
        forward = self.chain.forward[order - 1 - self.chain.order :]
        if sparse.issparse(table):
            row, column, weight = _features(table)
            rest, letter = np.divmod(column, self.n_letters)
            weight = weight * forward[row, rest % context, letter]
            return _sparse(weight, row, rest, (table.shape[0] + 1, remaining))
        shape = (len(table), remaining // context, context, self.n_letters)
        averaged = np.einsum("ncb,nrcb->nrc", forward, table.reshape(shape))
        averaged = averaged.reshape(len(table), remaining)
        return np.vstack([averaged, np.zeros((1, remaining))])


def _put_first(table, n_letters):
    """Values of the last k - 1 letters, for all k letters one position earlier."""
    return np.tile(table[1:], n_letters)


def _put_last(table, n_letters):
    """Values of the first k - 1 letters, for all k letters at the same position."""
    return np.repeat(table[:-1], n_letters, axis=1)


def _add(first, second):
    """Sum of two tables, either of which may be None."""
    if first is None or second is None:
        return second if first is None else first
    return first + second


def _features(table):
    """Row, column (64-bit) and value of each weight."""
    features = table.tocoo()
    return features.row.astype(np.intp), features.col.astype(np.int64), features.data


def _sparse(values, rows, columns, shape):
    return sparse.coo_array((values, (rows, columns)), shape=shape).tocsr()
