// Several threads of a rank that call MPI.
#pragma once

#include "online/online.h"

void allow_threads(bool are_allowed);  // support MPI_THREAD_MULTIPLE
void note_thread(void);
bool has_threads(void);  // that may call MPI at once
void note_change(void);  // in the rank's operations, for which a thread may wait
void take_turn(void);    // of the threads of a rank
void leave_turn(void);
bool hold_turn(void);  // in a call that takes no time; whether the thread did not have it
void release_turn(bool is_held);
bool has_only_ranks_threads(void);  // no thread that this library cannot know about
void pass_time(double seconds);     // simulated
void await_change(double seconds);  // until something has happened for which this rank may wait; then ask again
void await_named(int count, const int *names);  // requests of the simulator, while other threads go on
