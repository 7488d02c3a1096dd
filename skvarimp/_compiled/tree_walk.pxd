from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

cdef enum:
    FEATURE = 0  # columns of `nodes`
    CUT = 1
    RIGHT = 2
    LEFT = 3
    NODE = 4


cdef class TreeWalk:
    cdef const int32_t[:, ::1] nodes
    cdef const uint8_t[::1] missing_left, opens
    cdef const int32_t[::1] missing_code
    cdef const uint8_t[:, ::1] sets
    cdef int32_t[:, ::1] codes, todo, visits
    cdef int64_t[::1] items
    cdef int32_t[::1] own

    cdef void take(
        self, const int32_t[:, ::1] codes, Py_ssize_t first, Py_ssize_t n_rows
    ) noexcept nogil
    cdef Py_ssize_t go_down(self, int32_t root, Py_ssize_t n_rows) noexcept nogil
    cdef void more_visits(self, Py_ssize_t n, Py_ssize_t more) noexcept nogil


ctypedef fused Code:  # small ones are read faster
    uint8_t
    uint16_t
    int32_t
