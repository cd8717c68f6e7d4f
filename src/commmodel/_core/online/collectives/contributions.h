// The data of collectives: each rank's part, in shared memory.
#pragma once

#include "online/collectives/collectives.h"

bool is_root(const struct collective *collective);
bool takes_part(const struct collective *collective);  // not one of a group whose root is another of it
uint64_t pack_contribution(const struct collective *collective);
// Read what this rank needs of the others, or (`copies` false) only look; return whether all of it is there.
bool read_parts(struct collective *collective, bool copies);
// In a checked run: is a reduction that of the rank that came first?
void compare_reduction(const struct collective *collective);
