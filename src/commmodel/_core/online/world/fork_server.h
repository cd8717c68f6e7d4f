// A program whose ranks are forks of it, made where it initialises MPI.
#pragma once

void become_rank(void);  // of a run, in a process that serves forks; returns in each rank, at once where none is served
