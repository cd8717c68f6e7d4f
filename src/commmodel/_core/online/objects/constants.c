// Data that programs and MPICH's Fortran bindings take from the library.
#include "online/online.h"

EXPORT_DATA MPI_Fint *MPI_F_STATUS_IGNORE, *MPI_F_STATUSES_IGNORE;
// Data of MPICH's library that its Fortran bindings use.
EXPORT_DATA MPI_F08_status MPIR_F08_MPI_STATUS_IGNORE_OBJ, MPIR_F08_MPI_STATUSES_IGNORE_OBJ[1];
EXPORT_DATA MPI_F08_status *MPI_F08_STATUS_IGNORE = &MPIR_F08_MPI_STATUS_IGNORE_OBJ;
EXPORT_DATA MPI_F08_status *MPI_F08_STATUSES_IGNORE = MPIR_F08_MPI_STATUSES_IGNORE_OBJ;
EXPORT_DATA int MPIR_fortran_true = 1, MPIR_fortran_false = 0;
static int unweighted, weights_empty;
EXPORT_DATA int *const MPI_UNWEIGHTED = &unweighted;
EXPORT_DATA int *const MPI_WEIGHTS_EMPTY = &weights_empty;
EXPORT_DATA int *MPIR_C_MPI_UNWEIGHTED = &unweighted;  // up to version 4.0
EXPORT_DATA int *MPIR_C_MPI_WEIGHTS_EMPTY = &weights_empty;
EXPORT_DATA struct MPIR_T_pvar_handle_s *const MPI_T_PVAR_ALL_HANDLES = NULL;
