// What has happened before what: a vector clock of each rank, of checked runs with windows.
//
// A rank's clock counts, for each rank, the events of it that it knows of. It hands its clock on where it synchronises
// with others. Where MPI orders less than is handed on, a conflict is not seen, but none is found that is not there.
#pragma once

#include "online/online.h"

bool has_history(void);                     // else nothing here does anything
uint32_t event(void);                       // number of this rank's present event
uint32_t known_of(int rank);                // events of a rank that this one knows of
uint32_t known_of_by(int rank, int other);  // that `other` knows of
uint64_t hand_on(void);                     // a copy of the clock, in shared memory; later events are others
void hand_to(uint64_t *clock);              // into a clock in shared memory, made where it is 0
void learn(uint64_t clock);                 // 0: nothing
void learn_all_of(int rank);                // what a rank knows now
