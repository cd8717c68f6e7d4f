// Errors and their handlers.
#pragma once

#include "online/online.h"

struct communicator;
int fail(struct communicator *communicator, int error);  // calls the error handler; returns the error
int fail_world(int error);
int refuse_null(const char *argument);  // a null pointer that the program has passed
int refuse_null_by(MPI_Errhandler handler, const char *argument);
// More of the next error, where that is fatal.
void explain_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
int handle_error(int object, MPI_Errhandler handler, int error);  // of a communicator, window or session
int call_file_errhandler(MPI_File *file, MPI_Errhandler handler, int error);
int last_used_code(void);
void free_errhandler(MPI_Errhandler handler);
void keep_errhandler(MPI_Errhandler handler);
