// Statuses of received messages.
#pragma once

#include "online/online.h"

void empty_status(MPI_Status *status);
void set_status(MPI_Status *status, int source, int tag, MPI_Count bytes);
