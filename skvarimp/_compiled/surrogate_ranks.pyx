# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""The order of surrogate splits: by node, then association, ties by column."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

import numpy as np


def by_rank(
    const int32_t[::1] node,
    const int32_t[::1] feature,
    const double[::1] association,
    Py_ssize_t n_nodes,
    int64_t n_kept,
    double tolerance,
):
    """The best surrogates of each node, in their order.

    Parameters
    ----------
    node, feature : ndarray of shape (n_found,), int32
    association : ndarray of shape (n_found,)
    n_nodes : int
    n_kept : int
        The largest number per node.
    tolerance : float
        Associations in turn this close are tied.

    Returns
    -------
    order : ndarray of shape (n_surrogates,)
        Which of those found.
    rank : ndarray of shape (n_surrogates,), int32
        1 for the best of its node.
    """
    counts = np.bincount(node, minlength=n_nodes)
    kept = np.minimum(counts, n_kept)
    every, chosen = np.argsort(node, kind="stable"), np.empty(kept.sum(), np.int64)
    ranks, keys = np.empty(len(chosen), np.int32), np.empty(counts.max(initial=0))
    cdef const int64_t[::1] n_of_node = counts
    cdef int64_t[::1] order = every, result = chosen
    cdef int32_t[::1] rank = ranks
    cdef double[::1] key = keys
    cdef Py_ssize_t n, k, start = 0, m = 0
    with nogil:
        for n in range(n_nodes):
            sort_by_rank(
                order, start, n_of_node[n], key, association, feature, tolerance
            )
            for k in range(min(n_of_node[n], n_kept)):
                result[m], rank[m] = order[start + k], <int32_t>(k + 1)
                m += 1
            start += n_of_node[n]
    return chosen, ranks


cdef void sort_by_rank(
    int64_t[::1] order,
    Py_ssize_t start,
    Py_ssize_t n,
    double[::1] key,
    const double[::1] association,
    const int32_t[::1] feature,
    double tolerance,
) noexcept nogil:
    """Sort the surrogates of one node; associations in turn this close are tied."""
    cdef double group = 0.0, previous = -INFINITY
    cdef bint mixed = False, tied
    cdef Py_ssize_t k
    for k in range(n):
        key[k] = -association[order[start + k]]
    sort(order, start, n, key, feature)
    for k in range(n):
        tied = key[k] - previous <= tolerance
        mixed = mixed or (tied and key[k] != previous)
        group += not tied
        previous, key[k] = key[k], group
    if mixed:
        sort(order, start, n, key, feature)


cdef void sort(
    int64_t[::1] order,
    Py_ssize_t start,
    Py_ssize_t n,
    double[::1] key,
    const int32_t[::1] feature,
) noexcept nogil:
    """Shell's sort of a run and its keys by key, then feature; in place."""
    cdef Py_ssize_t gap = 1, k, q
    cdef int64_t i
    cdef double value
    while 3 * gap + 1 < n:
        gap = 3 * gap + 1
    while gap > 0:
        for k in range(gap, n):
            i, value, q = order[start + k], key[k], k
            while q >= gap and (
                key[q - gap] > value
                or (
                    key[q - gap] == value
                    and feature[order[start + q - gap]] > feature[i]
                )
            ):
                order[start + q], key[q] = order[start + q - gap], key[q - gap]
                q -= gap
            order[start + q], key[q] = i, value
        gap //= 3
