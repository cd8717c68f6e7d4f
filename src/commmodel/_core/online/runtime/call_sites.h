// Where in the program a call of MPI stands.
#pragma once

#include "online/online.h"

void prepare_call_sites(void);
uint64_t call_site(const char *call);  // text in shared memory
