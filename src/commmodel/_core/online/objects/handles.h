// Handles: the integers by which programs name objects.
#pragma once

#include "online/online.h"

#define NOT_FREED "not freed before MPI_Finalize"

enum kind {
    COMMUNICATOR,
    GROUP,
    DATATYPE,
    OPERATION,
    ERRHANDLER,
    REQUEST,
    INFO,
    KEYVAL,
    MESSAGE,
    WINDOW,
    SESSION,
    FILES,
    KINDS
};

int new_handle(enum kind kind, void *object);
void *object_of(enum kind kind, int handle);  // NULL where there is none
void drop_handle(enum kind kind, int handle);
void set_handle(enum kind kind, int handle, void *object);  // of a predefined object
void accuse_leaks(void);                                    // at the end: objects that the program has not freed
void forgive_leak(enum kind kind, int handle);              // of an object that the program need not free
void *next_object(enum kind kind, int *index);              // from index 0 on; NULL behind the last one
