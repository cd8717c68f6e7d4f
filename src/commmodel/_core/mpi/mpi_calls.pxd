# What every MPI module of the core shares: how it gets at a communicator, checks a call and makes sure that
# it talks to the MPI library that mpi4py has started.
#
# mpi4py's limited C API is used throughout: `cimport mpi4py.MPI` would fix the class layouts of one MPI ABI.

from mpi4py cimport libmpi as mpi

cdef extern from *:
    """
    #define MPI4PY_LIMITED_API 1
    #include <mpi4py/mpi4py.h>

    #if defined(OPEN_MPI)
    #define COMMMODEL_MPI_ABI "openmpi"
    #elif defined(MPI_ABI_VERSION)
    #define COMMMODEL_MPI_ABI "mpiabi"
    #else
    #define COMMMODEL_MPI_ABI "mpich"
    #endif
    """
    int import_mpi4py() except -1
    mpi.MPI_Comm *PyMPIComm_Get(object) except NULL
    mpi.MPI_Win *PyMPIWin_Get(object) except NULL
    const char *COMMMODEL_MPI_ABI


cdef inline int raise_exception(int code) except -1 with gil:
    from mpi4py import MPI
    raise MPI.Exception(code)


cdef inline int CHKERR(int code) except -1 nogil:
    """Raise mpi4py's exception for a return code that is not MPI_SUCCESS.

    It has no Python object of its own: with one, Cython would take and release the GIL on success too, which is
    50 ns a call inside the timed loops (make bench shows it).
    """
    if code == mpi.MPI_SUCCESS:
        return 0
    return raise_exception(code)


cdef inline int check_same_library() except -1:
    """Refuse to work with another copy of MPI than the one mpi4py has started: it would crash later."""
    from mpi4py import MPI
    cdef int started = 0
    CHKERR(mpi.MPI_Initialized(&started))
    if bool(started) != MPI.Is_initialized():
        raise ImportError(
            "mpi4py and commmodel have loaded two different MPI libraries (mpi4py: "
            f"{MPI.Get_library_version().splitlines()[0]!r}); build commmodel with that library's mpicc: "
            "MPICC=... pip install --no-cache-dir --force-reinstall commmodel"
        )
    return 0
