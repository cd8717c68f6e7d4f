// Groups of ranks.
#pragma once

#include "online/online.h"

struct group {
    int size, references;
    int ranks[];  // of the whole program
};

struct group *new_group(int size);
struct group *keep_group(struct group *group);
void drop_group(struct group *group);
int rank_in(const struct group *group, int rank);                           // NONE where it is no member
int compare_groups(const struct group *first, const struct group *second);  // as MPI_Group_compare
MPI_Group group_handle(struct group *group);
struct group *group_of(MPI_Group handle);
