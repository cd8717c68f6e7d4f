// Variables of the program that are buffers of MPI.
#pragma once

#include "online/datatypes/datatypes.h"

void note_variable(const char *verb, const struct block *block);  // `verb`: what the call does with it
