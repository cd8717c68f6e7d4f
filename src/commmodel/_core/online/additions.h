// Names of MPI 4.1 that the mpi.h of MPICH 4.0 lacks, with their values in MPICH 4.1 to 5.0. No program that was built
// with MPICH 4.0 passes them.
#pragma once

#include <mpi.h>

#ifndef MPI_BUFFER_AUTOMATIC
#define MPI_BUFFER_AUTOMATIC ((void *)-2)
#endif
#ifndef MPI_COMM_TYPE_RESOURCE_GUIDED
#define MPI_COMM_TYPE_RESOURCE_GUIDED (-4)  // 4 is an extension of MPICH 4.0
#endif
#ifndef MPI_REAL2
#define MPI_REAL2 ((MPI_Datatype)0x4c000226)
#define MPI_COMPLEX4 ((MPI_Datatype)0x4c00042e)
#endif
#ifndef MPI_LOGICAL1
#define MPI_LOGICAL1 ((MPI_Datatype)0x4c000147)
#define MPI_LOGICAL2 ((MPI_Datatype)0x4c000248)
#define MPI_LOGICAL4 ((MPI_Datatype)0x4c000449)
#define MPI_LOGICAL8 ((MPI_Datatype)0x4c00084a)
#define MPI_LOGICAL16 ((MPI_Datatype)0x4c00104b)
#endif

#if MPI_VERSION == 4 && MPI_SUBVERSION == 0
#define CONST_SINCE_4_1
#else
#define CONST_SINCE_4_1 const
#endif
