// An MPI library whose calls are simulated: one process per rank, which links this library in place of libmpi.
//
// Data really move, through memory that all ranks share; time is simulated. To find the way around:
//
// Where a call enters. Each MPI function is an `EXPORT` function named after it; those not written by hand are generated
// (symbols.py), most of them as the form with large counts, MPI_Send -> MPI_Send_c. A function that takes simulated time
// begins with `enter(name)` and ends with `leave()` (runtime/calls.c).
//
// Who holds the turn. One process runs at a time: a rank or the simulator. A rank keeps the turn until it needs to know
// something that only the simulator knows, or data of another rank: then it calls `yield` (runtime/turns.c). The turn
// goes to the next rank whose data have come, and to the simulator (pump.hpp) if there is none.
//
// Where time is charged. `enter` measures the processor time since the last `leave` and adds a COMPUTE operation
// (runtime/charges.c). The call adds its own operations with `act` (runtime/operations.c): SEND, IRECV, WAIT, or a whole
// collective. They wait in the rank's ring until the simulator gets the turn, and the engine times them.
//
// Rooms, from the lowest to the highest; a room includes and calls only itself and lower ones, which a test enforces:
//
//   runtime      turns, operations and their time; the shared memory and its heap
//   objects      handles, groups, communicators, error handlers, attributes, info objects
//   datatypes    types, packing, reduction operations
//   messages     point-to-point messages and requests
//   collectives  collective calls, topologies, and new communicators
//   one_sided    windows, their epochs, and memory of other ranks
//   files        files, views of them, reading and writing
//   world        the beginning and the end of MPI, sessions; what connects the rooms
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "online/mpi.h"

#define EXPORT __attribute__((visibility("protected")))      // functions: our own calls of them stay within
#define WEAK __attribute__((weak, visibility("protected")))  // another definition replaces it
#define EXPORT_DATA __attribute__((visibility("default")))   // its address is that of a program's copy
#define NONE (-1)
