// Where calls of MPI enter and leave.
#pragma once

#include "online/online.h"

extern const char *call_name;                   // current or last MPI function that takes simulated time
extern _Thread_local const char *program_call;  // last one that the program has called

void enter(const char *name);  // at the beginning of each call that takes simulated time
void leave(void);
static inline int leave_with(int error) {
    leave();
    return error;
}
// The frame of both, also of what is no call of MPI: the rank is inside, and computation is charged.
bool is_in_call(void);  // this thread
void begin_call(void);
bool try_call(void);  // the same, where the thread may have the turn at once
void end_call(void);
_Noreturn void missing(const char *name);  // a function that is not simulated

struct thread_call {  // that a thread is in
    const char *name;
    uint64_t site;
};
struct thread_call current_call(void);
void set_call(struct thread_call call);
uint64_t current_site(void);
