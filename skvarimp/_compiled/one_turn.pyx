# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Pairs of cells on both sides of the turning point of a curve."""

from libc.stdint cimport int64_t

import numpy as np

cdef extern from *:
    """
    #if defined(__x86_64__) && defined(__gnu_linux__) && defined(__has_attribute)
    #include <features.h>
    #if defined(__GLIBC__) && __has_attribute(target_clones)
    __attribute__((target_clones("avx512f", "avx2", "default")))
    #endif
    #endif
    /* 16 sums at a time: sums[c] = sum_m basis[m, c] values[m]. */
    static void sixteen(
        const double *basis, const double *values, int n, double *restrict sums
    ) {
        double s[16] = {0.0};
        for (int m = 0; m < n; m += 4) {
            const double *b = basis + 16 * m, *v = values + m;
            for (int c = 0; c < 16; c++)
                s[c] += (b[c] * v[0] + b[c + 16] * v[1])
                    + (b[c + 32] * v[2] + b[c + 48] * v[3]);
        }
        for (int c = 0; c < 16; c++) sums[c] = s[c];
    }
    """
    void sixteen(
        const double *basis, const double *values, int n, double *sums
    ) noexcept nogil


def across(
    const double[:, ::1] values,
    const double[::1] weights,
    const double[:, :, ::1] basis,
    const double[::1] below,
    const double[::1] chances,
    const int64_t[::1] left,
    const double[::1] constants,
    double[::1] rows,
    double[::1] cells,
    int64_t[::1] passed,
):
    """Add the distances between the left branch of valleys and their right branch.

    Both branches are merged from the turning point outwards, as far as the left one
    goes. For its cell l, with k the first cell of the right one that is not below l, the
    mean distance from the right branch is

        g[l] (2 P[k] - P[left] - 1) - 2 sum_(left <= j < k) p[j] g[j] + constants.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_nodes)
        n_nodes is a multiple of 4.
    weights : ndarray of shape (n_rows,)
    basis : ndarray of shape (n_cells / 16, n_nodes, 16)
        Of 16 cells at a time, the last ones filled up.
    below : ndarray of shape (n_cells + 1,)
        P.
    chances : ndarray of shape (n_cells,)
        p.
    left : ndarray of shape (n_rows,), int64
        Cells of the left branch.
    constants : ndarray of shape (n_rows,)
    rows : ndarray of shape (n_rows,)
        Takes twice each row's mean over its left cells.
    cells : ndarray of shape (n_cells,)
        Takes the weighted sum over the rows of the distances of left cells, and twice
        those of cells of the right branch from left ones below them, less those above.
    passed : ndarray of shape (n_rows,), int64
        Set to the first cell above all of the left branch.
    """
    cdef Py_ssize_t n_cells = chances.shape[0], i, l, k, block, known
    cdef int n = <int>values.shape[1]
    cdef double[::1] curve = np.empty(16 * basis.shape[0])
    cdef double y, w, distance, right_sum, left_sum, left_mass
    with nogil:
        for i in range(values.shape[0]):
            passed[i] = k = left[i]
            if k == 0:
                continue
            w, known = weights[i], (k + 15) // 16
            for block in range(known):
                sixteen(&basis[block, 0, 0], &values[i, 0], n, &curve[16 * block])
            right_sum = left_sum = left_mass = 0.0
            for l in range(k - 1, -1, -1):
                y = curve[l]
                while k < n_cells:
                    if k == 16 * known:
                        sixteen(
                            &basis[known, 0, 0], &values[i, 0], n, &curve[16 * known]
                        )
                        known += 1
                    if curve[k] >= y:
                        break
                    cells[k] += 2.0 * w * (left_mass * curve[k] - left_sum)
                    right_sum += chances[k] * curve[k]
                    k += 1
                distance = y * (2.0 * below[k] - below[left[i]] - 1.0)
                distance += constants[i] - 2.0 * right_sum
                rows[i] += 2.0 * chances[l] * distance
                cells[l] += w * distance
                left_mass += chances[l]
                left_sum += chances[l] * y
            passed[i] = k
