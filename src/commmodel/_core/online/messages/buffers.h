// Buffers of buffered sends.
#pragma once

#include "online/objects/communicators.h"

int take_room(struct communicator *communicator, MPI_Count bytes,
              int name);  // for a send; an error where there is none
void flush_buffers(void);
