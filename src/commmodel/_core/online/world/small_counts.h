// What generated functions with small counts need to call those with large ones.
#pragma once

#include "online/online.h"

int peers_of(MPI_Comm comm);
int size_of_communicator(MPI_Comm comm);
int peers_at_root(MPI_Comm comm, int root);
int in_degree_of(MPI_Comm comm);
int out_degree_of(MPI_Comm comm);
MPI_Count *widened_counts(const int *narrow, int length);
MPI_Aint *widened_displacements(const int *narrow, int length);
int narrowed(MPI_Count wide);
