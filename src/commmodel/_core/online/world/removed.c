// Functions that MPI-3 removed and programs still call; symbols.py has those whose successors have the same arguments.
#include "online/online.h"

EXPORT int MPI_Type_extent(MPI_Datatype datatype, MPI_Aint *extent) {
    MPI_Aint lower_bound;
    return MPI_Type_get_extent(datatype, &lower_bound, extent);
}
EXPORT int MPI_Type_lb(MPI_Datatype datatype, MPI_Aint *displacement) {
    MPI_Aint extent;
    return MPI_Type_get_extent(datatype, displacement, &extent);
}
EXPORT int MPI_Type_ub(MPI_Datatype datatype, MPI_Aint *displacement) {
    MPI_Aint lower_bound = 0, extent = 0;
    const int error = MPI_Type_get_extent(datatype, &lower_bound, &extent);
    *displacement = lower_bound + extent;
    return error;
}
