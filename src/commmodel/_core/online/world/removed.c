// Functions that MPI-3 removed and programs still call: those that took their place.
#include "online/online.h"

EXPORT int MPI_Address(void *location, MPI_Aint *address) { return MPI_Get_address(location, address); }

EXPORT int MPI_Errhandler_create(MPI_Comm_errhandler_function *function, MPI_Errhandler *errhandler) {
    return MPI_Comm_create_errhandler(function, errhandler);
}
EXPORT int MPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler *errhandler) {
    return MPI_Comm_get_errhandler(comm, errhandler);
}
EXPORT int MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler errhandler) {
    return MPI_Comm_set_errhandler(comm, errhandler);
}

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
EXPORT int MPI_Type_hvector(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype, MPI_Datatype *newtype) {
    return MPI_Type_create_hvector(count, blocklength, stride, oldtype, newtype);
}
EXPORT int MPI_Type_hindexed(int count, int blocklengths[], MPI_Aint displacements[], MPI_Datatype oldtype,
                             MPI_Datatype *newtype) {
    return MPI_Type_create_hindexed(count, blocklengths, displacements, oldtype, newtype);
}
EXPORT int MPI_Type_struct(int count, int blocklengths[], MPI_Aint displacements[], MPI_Datatype types[],
                           MPI_Datatype *newtype) {
    return MPI_Type_create_struct(count, blocklengths, displacements, types, newtype);
}
