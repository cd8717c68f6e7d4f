# Checks of columns of integers that more than one module needs: whether they ascend, and whether they are ranks.

from libc.stdint cimport int64_t


cdef inline int64_t first_unsorted(const int64_t[::1] numbers, int64_t highest) noexcept nogil:
    """Return the index of the first number that is negative, less than the one before it or above `highest`, or -1."""
    cdef int64_t i, before = 0
    for i in range(numbers.shape[0]):
        if numbers[i] < before or numbers[i] > highest:
            return i
        before = numbers[i]
    return -1


cdef inline int64_t first_outside(const int64_t[::1] ranks, int64_t processes) noexcept nogil:
    """Return the index of the first number that is no rank, or -1."""
    cdef int64_t i
    for i in range(ranks.shape[0]):
        if not 0 <= ranks[i] < processes:
            return i
    return -1
