# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""The search for surrogate splits: column by column, from the root of each tree down.

A column's slots are sorted once per tree. Every branch node, parents first, is a
stretch of them: one pass finds its best cut, and a stable partition leaves the sorted
stretches of both children in its place. A key holds a slot in its lowest 32 bits and
the rank of its value above them.
"""

cimport cython
from libc.math cimport NAN, fabs, fmin, isnan
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy

import numpy as np

cdef enum:
    MISSING = 0x7FFFFFFF  # rank of NaN


cdef inline Py_ssize_t slot_of(int64_t key) noexcept nogil:
    return <uint32_t>key


cdef inline double signed(
    const double *weight, int64_t key, int64_t middle
) noexcept nogil:
    """Twice the weight of a slot, negative if it goes right."""
    cdef Py_ssize_t slot = slot_of(key)
    return 2 * weight[slot] if slot < middle else -2 * weight[slot]


@cython.final
cdef class Search:
    """All surrogate splits of a few trees, in the order they are found.

    Parameters
    ----------
    columns : tuple
        values, order, rank (n_columns, n_rows), nominal, missing (n_columns,), and
        whether each tree was grown on each column, own (n_trees, n_columns).
    slots : tuple
        bounds (n_trees + 1,), row, weight (n_slots,), label (n_slots,) or empty,
        statistics (n_statistics, n_slots).
    branches : tuple
        bounds (n_trees + 1,); of each branch node in preorder node, feature, start,
        middle, stop, left, right.
    exact : bool
        Whether sums of weights are exact.
    min_rows : int
    tolerance : float
        Associations this close are tied.
    """

    cdef const double[:, ::1] values
    cdef const int32_t[:, ::1] order, rank
    cdef const uint8_t[::1] nominal, missing
    cdef const uint8_t[:, ::1] own
    cdef const int64_t[::1] slot_bounds, row
    cdef const double[::1] weight
    cdef const int64_t[::1] label
    cdef const double[:, ::1] statistics
    cdef const int64_t[::1] bounds, node, feature, start, middle, stop
    cdef const double[::1] left, right
    cdef bint exact
    cdef Py_ssize_t min_rows
    cdef double tolerance
    cdef int64_t[::1] keys, spare
    cdef int32_t[::1] slot_of_row, found_node, found_feature
    cdef double[:, ::1] found_number
    cdef double[:, :, ::1] found_sums

    def __init__(self, columns, slots, branches, exact, min_rows, tolerance):
        self.values, self.order, self.rank = columns[:3]
        self.nominal, self.missing, self.own = columns[3:]
        self.slot_bounds, self.row, self.weight, self.label, self.statistics = slots
        self.bounds, self.node, self.feature = branches[:3]
        self.start, self.middle, self.stop, self.left, self.right = branches[3:]
        self.exact, self.min_rows, self.tolerance = exact, min_rows, tolerance
        largest = int(np.max(np.diff(slots[0])))
        self.keys = np.empty(largest + 1, dtype=np.int64)
        self.spare = np.empty(largest, dtype=np.int64)
        self.slot_of_row = np.full(self.values.shape[1], -1, dtype=np.int32)

    def on_columns(self, Py_ssize_t first, Py_ssize_t last):
        """Find the surrogates on some columns of all trees.

        Parameters
        ----------
        first, last : int
            The columns from first on and before last.

        Returns
        -------
        node, feature : ndarray of shape (n_found,), int32
        number : ndarray of shape (n_found, 5)
            The association, the values below and above the cut, E, and NaN.
        sums : ndarray of shape (2, n_statistics, n_found)
            The statistics of both sides.
        """
        cdef Py_ssize_t n_found = 0, tree, slot, j
        room = (last - first) * self.node.shape[0]
        node, feature = np.empty((2, room), dtype=np.int32)
        number, sums = np.empty((room, 5)), np.empty((2, len(self.statistics), room))
        self.found_node, self.found_feature = node, feature
        self.found_number, self.found_sums = number, sums
        with nogil:
            for tree in range(self.slot_bounds.shape[0] - 1):
                for slot in range(self.slot_bounds[tree], self.slot_bounds[tree + 1]):
                    self.slot_of_row[self.row[slot]] = <int32_t>slot
                for j in range(first, last):
                    if self.own[tree, j]:
                        n_found = self.column(tree, j, n_found)
                for slot in range(self.slot_bounds[tree], self.slot_bounds[tree + 1]):
                    self.slot_of_row[self.row[slot]] = -1
        found = node[:n_found], feature[:n_found], number[:n_found]
        # copies: the room is not held for what is found
        return *(part.copy() for part in found), sums[:, :, :n_found]

    cdef Py_ssize_t column(
        self, Py_ssize_t tree, Py_ssize_t j, Py_ssize_t n_found
    ) noexcept nogil:
        """The surrogates on one column of a tree; returns their new number."""
        cdef Py_ssize_t b, first, last, middle, place, n_run, offset
        cdef int64_t[::1] seen
        cdef double left, right, lighter, running, association, excess
        cdef int64_t primary
        cdef double *number
        offset = self.slot_bounds[tree]
        self.sort_slots(j)
        for b in range(self.bounds[tree], self.bounds[tree + 1]):
            first, last = self.start[b] - offset, self.stop[b] - offset
            middle, primary = self.middle[b], self.feature[b]
            if primary != j and self.varies(first, last):
                seen = self.keys[first:last]
                left, right = self.left[b], self.right[b]
                if self.missing[j] or self.missing[primary]:
                    n_run = self.observe(first, last, primary)
                    seen = self.spare[:n_run]
                    self.weigh(seen, 0, n_run, middle, &left, &right)
                lighter = fmin(left, right)
                place, running, association = -1, 1.0, 0.0
                if not lighter > 0:
                    pass
                elif self.nominal[j]:
                    association = self.category_sets(seen, middle, lighter)
                else:
                    if self.label.shape[0]:
                        self.merge_class_insides(seen)
                        seen = self.spare[:seen.shape[0]]
                    place = self.best_cut(seen, middle, left, right, &running)
                    if place >= 0:
                        excess = fabs(running) - fabs(left - right)
                        association = fmin(excess / (2 * lighter), 1.0)
                if association > self.tolerance:
                    self.found_node[n_found] = <int32_t>self.node[b]
                    self.found_feature[n_found] = <int32_t>j
                    number = &self.found_number[n_found, 0]
                    number[0], number[1], number[2] = association, NAN, NAN
                    number[3], number[4] = running, NAN
                    if place >= 0:
                        number[1] = self.value_at(j, seen[place])
                        number[2] = self.value_at(j, seen[place + 1])
                        self.add_up(seen, 0, place + 1, 0, n_found)
                        self.add_up(seen, place + 1, seen.shape[0], 1, n_found)
                    n_found += 1
            # the next branch is below this one if there is one below
            if b + 1 < self.bounds[tree + 1] and self.start[b + 1] < self.stop[b]:
                self.partition(first, last, middle)
        return n_found

    cdef inline double value_at(self, Py_ssize_t j, int64_t key) noexcept nogil:
        return self.values[j, self.row[slot_of(key)]]

    cdef void sort_slots(self, Py_ssize_t j) noexcept nogil:
        """Fill `keys` with a tree's slots in the order of a column, and their ranks."""
        cdef Py_ssize_t p, n = 0, n_rows = self.order.shape[1]
        cdef int64_t *keys = &self.keys[0]
        cdef int32_t *slot_of_row = &self.slot_of_row[0]
        cdef int32_t slot
        for p in range(n_rows):
            slot = slot_of_row[self.order[j, p]]
            keys[n] = (<int64_t>self.rank[j, p] << 32) | slot
            n += slot >= 0  # kept if in the bag

    cdef inline void partition(
        self, Py_ssize_t first, Py_ssize_t last, int64_t middle
    ) noexcept nogil:
        """Slots below `middle` first, the others as the second run."""
        cdef Py_ssize_t n_left = first, n_right = 0, p
        cdef int64_t *keys = &self.keys[0]
        cdef int64_t *spare = &self.spare[0]
        cdef int64_t key
        cdef bint goes_left
        for p in range(first, last):
            key = keys[p]
            goes_left = slot_of(key) < middle
            keys[n_left] = key
            spare[n_right] = key
            n_left += goes_left
            n_right += 1 - goes_left
        memcpy(&keys[n_left], spare, n_right * sizeof(int64_t))

    cdef inline bint varies(self, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
        """Whether a sorted run holds two values."""
        return last - first > 1 and self.keys[first] >> 32 != self.keys[last - 1] >> 32

    cdef Py_ssize_t observe(
        self, Py_ssize_t first, Py_ssize_t last, Py_ssize_t primary
    ) noexcept nogil:
        """Copy the keys with a value in both columns into `spare`; how many."""
        cdef Py_ssize_t n = 0, p
        cdef int64_t key
        for p in range(first, last):
            key = self.keys[p]
            if key >> 32 != MISSING and not isnan(self.value_at(primary, key)):
                self.spare[n] = key
                n += 1
        return n

    cdef inline void weigh(
        self,
        int64_t[::1] run,
        Py_ssize_t first,
        Py_ssize_t last,
        int64_t middle,
        double *left,
        double *right,
    ) noexcept nogil:
        """Weight of a run's slots that go left, and of the others."""
        cdef Py_ssize_t p
        cdef int64_t slot
        left[0] = right[0] = 0.0
        for p in range(first, last):
            slot = slot_of(run[p])
            if slot < middle:
                left[0] += self.weight[slot]
            else:
                right[0] += self.weight[slot]

    cdef Py_ssize_t best_cut(
        self,
        int64_t[::1] run,
        int64_t middle,
        double left,
        double right,
        double *best_running,
    ) noexcept nogil:
        """Last place below the lowest of the tied best cuts, and its E; -1 if none."""
        cdef Py_ssize_t begin = self.min_rows - 1, place = -1, p, n = run.shape[0]
        cdef double running = right - left, before, best, bound
        cdef const double *weight = &self.weight[0]
        for p in range(min(begin, n)):
            running += signed(weight, run[p], middle)
        before, best = running, fabs(left - right)
        best_running[0] = 0.0
        for p in range(begin, n - self.min_rows):
            running += signed(weight, run[p], middle)
            if fabs(running) > best and run[p] >> 32 != run[p + 1] >> 32:
                best, place, best_running[0] = fabs(running), p, running
        if self.exact:
            return place
        running, bound = before, best - 2 * self.tolerance * fmin(left, right)
        for p in range(begin, place):
            running += signed(weight, run[p], middle)
            if fabs(running) >= bound and run[p] >> 32 != run[p + 1] >> 32:
                best_running[0] = running
                return p
        return place

    cdef void merge_class_insides(self, int64_t[::1] run) noexcept nogil:
        """Give adjacent values of only one and the same class one rank; in `spare`."""
        cdef int64_t before = -1, rank = 0, own, code  # a class; -1 where mixed
        cdef Py_ssize_t p = 0, q, k, n = run.shape[0]
        while p < n:
            own, code = run[p] >> 32, self.label[slot_of(run[p])]
            q = p + 1
            while q < n and run[q] >> 32 == own:
                if self.label[slot_of(run[q])] != code:
                    code = -1
                q += 1
            if code < 0 or code != before:
                rank = own
            for k in range(p, q):
                self.spare[k] = (rank << 32) | slot_of(run[k])
            before, p = code, q

    cdef double category_sets(
        self, int64_t[::1] run, int64_t middle, double lighter
    ) noexcept nogil:
        """Association where each category goes where most of its weight goes."""
        cdef double disagree = 0.0, to_left = 0.0, to_right = 0.0
        cdef Py_ssize_t n_left = 0, n_right = 0, p = 0, q, n = run.shape[0]
        while p < n:
            q = p + 1
            while q < n and run[q] >> 32 == run[p] >> 32:
                q += 1
            self.weigh(run, p, q, middle, &to_left, &to_right)
            if to_left >= to_right:
                n_left += q - p
            else:
                n_right += q - p
            disagree += fmin(to_left, to_right)
            p = q
        if min(n_left, n_right) < self.min_rows:
            return 0.0
        return 1.0 - disagree / lighter

    cdef inline void add_up(
        self,
        int64_t[::1] run,
        Py_ssize_t first,
        Py_ssize_t last,
        Py_ssize_t side,
        Py_ssize_t n_found,
    ) noexcept nogil:
        """Sums of the statistics of the rows on one side of a place."""
        cdef Py_ssize_t n_statistics = self.statistics.shape[0], k, m, p
        cdef double one, other
        cdef int64_t slot
        for k in range(0, n_statistics, 2):  # two at a time, an odd one twice
            m = min(k + 1, n_statistics - 1)
            one = other = 0.0
            for p in range(first, last):
                slot = slot_of(run[p])
                one += self.statistics[k, slot]
                other += self.statistics[m, slot]
            self.found_sums[side, k, n_found] = one
            self.found_sums[side, m, n_found] = other
