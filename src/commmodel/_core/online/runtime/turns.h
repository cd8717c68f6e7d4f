// This process as a rank of the simulated program, and whose turn it is.
#pragma once

#include "online/online.h"
#include "online/runtime/shared.h"

extern struct online_world *world;
extern struct online_rank *this_rank;
extern int my_rank;
extern int world_descriptor;  // of the memory that ranks share

// Functions of higher rooms, set before `attach`.
struct turn_hooks {
    void (*take_reports)(void);  // at each turn: receives that the simulator has matched
    void (*serve)(void);         // between turns: copy memory of this rank for another one
    // At each call of a checked run; not set before they are needed.
    void (*check_call)(void);
    void (*check_windows)(void);
};
extern struct turn_hooks turn_hooks;

void attach(void);
bool is_attached(void);
bool is_copy(void);                      // of the rank, forked
bool is_inside(void);                    // a thread of the rank is in a call
void note_early_call(const char *call);  // before MPI_Init
void come_inside(void);                  // into a call; waits where the simulator has taken the rank's turn meanwhile
void go_outside(void);
void check_process(const char *call);  // ends the simulation in a forked copy of the rank
_Noreturn void abort_all(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
void yield(void);  // until the simulator has executed all operations so far, or awaited data have arrived
void pass_turn(void);
void make_ready(int rank);  // the data that a rank waits for have arrived
bool is_ahead(void);        // of the simulator, which has yet to carry out operations
double last_turn(void);     // its simulated time
