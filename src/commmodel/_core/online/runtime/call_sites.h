// Where in the program a call of MPI stands.
#pragma once

#include "online/online.h"

void prepare_call_sites(void);
uint64_t call_site(const char *call);       // text in shared memory
struct caller {                             // a function of the program, in its call of the library
    const void *code;                       // where it goes on
    void *const *stack, *const *stack_end;  // from its end at the call on
    const void *frame;                      // what it has as the frame pointer
};
// Without code where the stack is none of the thread's.
struct caller last_caller(void);
// Whether memory is that of a variable of a function that has returned.
bool is_left_stack(const void *at);
// The same of an instruction of a program of C; 0 where it is not known.
uint64_t access_site(const char *access, const void *code);
