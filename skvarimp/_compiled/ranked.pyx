# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Areas under curves of ranked rows, for many weightings of the rows at once.

Weighting b gives row m the weight w[m] (c[rows[m], b] + c[donors[m], b]). The rows are
passed in the order of their scores, those with equal scores together. P and N are the
weights of the positive and of the other rows passed so far.
"""

from libc.stdint cimport int64_t, uint8_t

import numpy as np

cdef extern from *:
    """
    #include <stdint.h>
    #if defined(__x86_64__) && defined(__gnu_linux__) && defined(__has_attribute)
    #include <features.h>
    #if defined(__GLIBC__) && __has_attribute(target_clones)
    #define CLONED __attribute__((target_clones("avx2", "default")))
    #endif
    #endif
    #ifndef CLONED
    #define CLONED
    #endif
    /* Add the weights of a row to the sums. */
    CLONED static void add(
        const uint8_t *one, const uint8_t *other, double weight, int k,
        double *restrict sums
    ) {
        for (int b = 0; b < k; b++) sums[b] += weight * (double)(one[b] + other[b]);
    }
    /* Add the weights of a row times N, or P / (P + N), to the sums. */
    CLONED static void gain(
        const uint8_t *one, const uint8_t *other, double weight, int k,
        int precision, const double *P, const double *N, double *restrict sums
    ) {
        if (precision)
            for (int b = 0; b < k; b++)
                sums[b] += weight * (one[b] + other[b]) * (P[b] / (P[b] + N[b]));
        else
            for (int b = 0; b < k; b++)
                sums[b] += weight * (one[b] + other[b]) * N[b];
    }
    """
    void add(
        const uint8_t *one, const uint8_t *other, double weight, int k, double *sums
    ) noexcept nogil
    void gain(
        const uint8_t *one, const uint8_t *other, double weight, int k,
        int precision, const double *P, const double *N, double *sums
    ) noexcept nogil


def areas(
    const uint8_t[:, ::1] counts,
    const int64_t[::1] rows,
    const int64_t[::1] donors,
    const double[::1] weights,
    const uint8_t[::1] positive,
    const uint8_t[::1] last,
    bint precision,
):
    """Sums over the groups of equal scores, and the weights of both classes.

    Parameters
    ----------
    counts : ndarray of shape (n_rows, n_weightings)
    rows, donors, weights : ndarray of shape (n_ranked,)
    positive, last : ndarray of shape (n_ranked,)
        Whether a row is positive, and the last of its group.
    precision : bool
        Whether a group adds its positive weight times P / (P + N); else it adds its
        positive weight times the mean of N before and after the group.

    Returns
    -------
    ndarray of shape (3, n_weightings)
        The sums, and P and N of all rows.
    """
    cdef int k = counts.shape[1]
    cdef Py_ssize_t m, j, start = 0, n_positive = 0
    cdef double share
    found = np.zeros((3, k))
    cdef double[:, ::1] out = found
    cdef double *P = &out[1, 0]
    cdef double *N = &out[2, 0]
    with nogil:
        for m in range(rows.shape[0]):
            n_positive += positive[m]
            if not last[m]:
                continue
            # positive rows see half of the others of their group
            share = 1.0 if precision or n_positive == 0 else 0.5
            for j in range(start, m + 1):
                add(
                    &counts[rows[j], 0],
                    &counts[donors[j], 0],
                    weights[j] if positive[j] else share * weights[j],
                    k,
                    P if positive[j] else N,
                )
            for j in range(start, m + 1):
                if positive[j]:
                    gain(
                        &counts[rows[j], 0],
                        &counts[donors[j], 0],
                        weights[j],
                        k,
                        precision,
                        P,
                        N,
                        &out[0, 0],
                    )
            for j in range(start, m + 1):
                if share < 1.0 and not positive[j]:
                    add(
                        &counts[rows[j], 0],
                        &counts[donors[j], 0],
                        share * weights[j],
                        k,
                        N,
                    )
            start, n_positive = m + 1, 0
    return found
