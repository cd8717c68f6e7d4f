// Where in the program a call of MPI stands.
#pragma once

#include "online/online.h"

void prepare_call_sites(void);
uint64_t call_site(const char *call);  // text in shared memory
// The same of an instruction of a program of C; 0 where it is not known.
uint64_t access_site(const char *access, const void *code);
