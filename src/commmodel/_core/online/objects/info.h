// Info objects.
#pragma once

#include "online/online.h"

MPI_Info new_info(void);
MPI_Info copy_info(MPI_Info info);
MPI_Info copy_hints(MPI_Info info);
void free_info(MPI_Info *info);
