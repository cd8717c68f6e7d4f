// Buffers of collectives, of a checked run.
#pragma once

#include "online/collectives/collectives.h"

void use_collective_buffers(const struct collective *collective);                     // of a blocking call
void watch_collective(struct request *request, const struct collective *collective);  // until the end of its request
