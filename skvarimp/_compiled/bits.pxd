from libc.stdint cimport uint64_t

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
