from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint64_t

cdef extern from *:
    """
    #if defined(_MSC_VER)
    #include <intrin.h>
    static inline int lowest_bit(unsigned long long bits) {
        unsigned long at;
        _BitScanForward64(&at, bits);
        return (int)at;
    }
    #else
    #define lowest_bit(bits) __builtin_ctzll(bits)
    #endif
    """
    int lowest_bit(uint64_t bits) nogil

cdef enum:
    FEATURE = 0  # columns of `nodes`
    CUT = 1
    RIGHT = 2
    LEFT = 3
    NODE = 4
    WORD = 64  # rows whose bits share a number


cdef struct Moved:  # rows of which one feature is moved, a bit each
    uint64_t rows
    int32_t feature
    int32_t edge  # the last one on that feature

cdef struct Visit:  # rows with one feature moved, in a leaf
    uint64_t rows
    int32_t edge
    int32_t leaf

cdef struct Frame:  # rows on their way to a node: by their own values, or moved
    uint64_t own
    int32_t node
    int32_t start  # in the list of those moved
    int32_t stop


cdef class TreeWalk:
    cdef const int32_t[:, ::1] nodes
    cdef const uint8_t[::1] missing_left, opens
    cdef const int32_t[::1] missing_code
    cdef const uint8_t[:, ::1] sets
    cdef int32_t[:, :, ::1] codes
    cdef uint64_t[:, ::1] missing
    cdef int32_t[::1] own
    cdef uint8_t[::1] room_for_moved, room_for_frames, room_for_visits
    cdef Visit *visits
    cdef Py_ssize_t most_visits

    cdef void take(
        self, const int32_t[:, ::1] codes, Py_ssize_t first, Py_ssize_t n_rows
    ) noexcept nogil
    cdef uint64_t goes_left(
        self, Py_ssize_t word, int32_t node
    ) noexcept nogil
    cdef Py_ssize_t go_down(
        self, int32_t root, Py_ssize_t word, Py_ssize_t n_rows
    ) noexcept nogil
    cdef void more_visits(self, Py_ssize_t n, Py_ssize_t more) noexcept nogil


ctypedef fused Code:  # small ones are read faster
    uint8_t
    uint16_t
    int32_t
