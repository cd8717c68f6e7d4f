// What the library that counts allocations (allocations.c, preloaded) tells a program that asks it.
#pragma once

#include <stdint.h>

struct commmodel_allocations {
    int64_t allocated;  // bytes that can be used of all blocks that the allocator has given and not got back
    int64_t blocks;     // and their number
    int64_t anonymous;  // bytes of private memory mapped by mmap itself, in whole pages
    int64_t shared;     // bytes of memory mapped by mmap to be shared with other processes, in whole pages
    int64_t unlisted;   // mappings that there was no room to remember: from the first on, the two above are wrong
};

enum commmodel_mapping { COMMMODEL_NOT_MAPPED, COMMMODEL_ANONYMOUS, COMMMODEL_SHARED };

// Found by name at run time, as the library may not be there.
#define COMMMODEL_READ_ALLOCATIONS "commmodel_read_allocations"
#define COMMMODEL_MAPPING_OF "commmodel_mapping_of"
typedef void commmodel_read_allocations_function(struct commmodel_allocations *);
typedef int commmodel_mapping_of_function(const void *);
