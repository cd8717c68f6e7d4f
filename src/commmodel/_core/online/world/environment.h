// The beginning and the end of MPI in a rank.
#pragma once

void prepare_library(void);    // before any other call
void end_without_world(void);  // after the last session, where MPI_Init has not been called
