"""Whether ranks do what their representatives do: the Python side of symmetry.hpp. Main entry: `holds`."""

from cython.operator cimport dereference
from libc.stdint cimport int32_t, int64_t
from libcpp cimport bool as cpp_bool
from libcpp.vector cimport vector

from commmodel._core.program.run cimport Operation, bytes_of, checked_offsets, first_of

cdef extern from "program/symmetry.hpp" namespace "commmodel" nogil:
    cdef cppclass Symmetry:
        Symmetry(int32_t, vector[int32_t])

    cpp_bool has_symmetry "commmodel::holds" (const Symmetry &, const Operation *, const int64_t *)


def holds(operations, offsets, int32_t representatives, bases):
    """Return whether all ranks do what their representatives do, with partners that are as far away.

    Parameters
    ----------
    operations, offsets
        Of `commmodel.simulate.operations.Program`, for all ranks.
    representatives : int
        Ranks 0 to representatives - 1 stand for all.
    bases : sequence of int
        Of the digits of a rank's number above the lowest, which has `representatives` values.
    """
    cdef const int64_t[::1] bounds = checked_offsets(operations, offsets)
    cdef const unsigned char[::1] rows = bytes_of(operations)
    cdef vector[int32_t] digits
    cdef int64_t ranks = representatives
    for base in bases:
        digits.push_back(base)
        ranks *= base
    if ranks != bounds.shape[0] - 1:
        raise ValueError(f"{representatives} ranks and bases {tuple(bases)} are not {bounds.shape[0] - 1} ranks")
    cdef Symmetry *symmetry = new Symmetry(representatives, digits)
    cdef const Operation *first = <const Operation *>first_of(rows)
    cdef cpp_bool answer
    try:
        with nogil:
            answer = has_symmetry(dereference(symmetry), first, &bounds[0])
    finally:
        del symmetry
    return bool(answer)
