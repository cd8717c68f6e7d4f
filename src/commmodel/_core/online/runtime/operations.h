// What a rank tells the simulator to do: operations in its ring, and batches beside them.
#pragma once

#include "common/codes.h"
#include "online/online.h"

enum code { OPERATION_CODES };

extern uint64_t action_count;  // calls of `act` and its like

void act(int code, int peer, int tag, int request, double value);
void add_time(int code, double seconds);  // COMPUTE or SLEEP: no action
void act_collective(int tag, uint64_t call);
void define_communicator(uint64_t call);
int next_name(void);       // of a request
void begin_batch(void);    // following operations belong to one non-blocking collective
uint64_t end_batch(void);  // its operations, 0 where there are none
bool is_batch_over(uint64_t batch);
void wait_for_batch(uint64_t batch);
void progress(void);
void note_choice(
    bool
        is_chosen);  // whether what is waited for next was chosen among several, by time     // start pending batches beside the own operations
bool is_polling(void);   // nothing has been done since a poll that has found nothing
void before_poll(void);  // before a poll (MPI_Test, MPI_Iprobe)
void after_poll(bool is_found);
void note_clock(void);                                   // the rank asks for the time: what it does may end with that
void ask_done(int count, const int *names, bool *done);  // which requests are complete now
