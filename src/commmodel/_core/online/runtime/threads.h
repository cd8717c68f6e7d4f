// Several threads of a rank that call MPI.
#pragma once

#include "online/online.h"

void allow_threads(int level);  // of MPI_Init_thread, whose thread calls
bool is_main_thread(void);      // the one that has initialised MPI
void check_level(void);         // of a checked run: whether the program may make this call
void note_thread(void);
bool is_any_waiting(void);     // another thread of the rank, in MPI
bool may_have_threads(void);   // at MPI_THREAD_MULTIPLE
bool has_other_threads(void);  // besides its first
bool has_threads(void);        // that may call MPI at once
void note_change(void);        // in the rank's operations, for which a thread may wait
void take_turn(void);          // of the threads of a rank
bool try_turn(void);           // the same, without waiting for another thread
void leave_turn(void);
bool hold_turn(void);  // in a call that takes no time; whether the thread did not have it
void release_turn(bool is_held);
bool may_sleep_in_turn(void);       // whether no other thread may call MPI without a turn
bool is_beside_others(void);        // threads that do not call MPI, which run in the time of this machine
void pass_time(double seconds);     // simulated
void await_change(double seconds);  // until something has happened for which this rank may wait; then ask again
void await_named(int count, const int *names);  // requests of the simulator, while other threads go on
