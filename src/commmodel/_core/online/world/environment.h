// The beginning and the end of MPI in a rank.
#pragma once

void prepare_library(void);         // before any other call
void end_without_world(void);       // after the last session, where MPI_Init has not been called
void refuse_other_libraries(void);  // whose handles are others (abi.c)
