# Partitioned messages and persistent collectives of MPI 4.0, where the library has them.

from mpi4py cimport libmpi as mpi

cdef extern from *:
    """
    #if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
    #define COMMMODEL_PARTITIONED 1
    #define commmodel_psend_init MPI_Psend_init
    #define commmodel_precv_init MPI_Precv_init
    #define commmodel_pready MPI_Pready
    #define commmodel_parrived MPI_Parrived
    #define commmodel_allreduce_init MPI_Allreduce_init
    #define commmodel_reduce_init MPI_Reduce_init
    #define commmodel_bcast_init MPI_Bcast_init
    #define commmodel_alltoall_init MPI_Alltoall_init
    #define commmodel_allgather_init MPI_Allgather_init
    #else
    #define COMMMODEL_PARTITIONED 0
    #define commmodel_psend_init(...) MPI_ERR_OTHER
    #define commmodel_precv_init(...) MPI_ERR_OTHER
    #define commmodel_pready(...) MPI_ERR_OTHER
    #define commmodel_parrived(...) MPI_ERR_OTHER
    #define commmodel_allreduce_init(...) MPI_ERR_OTHER
    #define commmodel_reduce_init(...) MPI_ERR_OTHER
    #define commmodel_bcast_init(...) MPI_ERR_OTHER
    #define commmodel_alltoall_init(...) MPI_ERR_OTHER
    #define commmodel_allgather_init(...) MPI_ERR_OTHER
    #endif
    """
    int COMMMODEL_PARTITIONED
    int commmodel_psend_init(void*, int, mpi.MPI_Count, mpi.MPI_Datatype, int, int, mpi.MPI_Comm, mpi.MPI_Info,
                             mpi.MPI_Request*) nogil
    int commmodel_precv_init(void*, int, mpi.MPI_Count, mpi.MPI_Datatype, int, int, mpi.MPI_Comm, mpi.MPI_Info,
                             mpi.MPI_Request*) nogil
    int commmodel_pready(int, mpi.MPI_Request) nogil
    int commmodel_parrived(mpi.MPI_Request, int, int*) nogil
    int commmodel_allreduce_init(void*, void*, int, mpi.MPI_Datatype, mpi.MPI_Op, mpi.MPI_Comm, mpi.MPI_Info,
                                 mpi.MPI_Request*) nogil
    int commmodel_reduce_init(void*, void*, int, mpi.MPI_Datatype, mpi.MPI_Op, int, mpi.MPI_Comm, mpi.MPI_Info,
                              mpi.MPI_Request*) nogil
    int commmodel_bcast_init(void*, int, mpi.MPI_Datatype, int, mpi.MPI_Comm, mpi.MPI_Info, mpi.MPI_Request*) nogil
    int commmodel_alltoall_init(void*, int, mpi.MPI_Datatype, void*, int, mpi.MPI_Datatype, mpi.MPI_Comm, mpi.MPI_Info,
                                mpi.MPI_Request*) nogil
    int commmodel_allgather_init(void*, int, mpi.MPI_Datatype, void*, int, mpi.MPI_Datatype, mpi.MPI_Comm,
                                 mpi.MPI_Info, mpi.MPI_Request*) nogil
