// Pages that the program must not touch for a while: it learns nothing of it when it does, as the first access opens them.
#pragma once

#include "online/online.h"

struct touch {
    bool is_there, writes;
    const void *code;  // the instruction
};

// The whole pages within a range, whose numbers `begin` and `end` get; NONE where there is none, or no way.
int protect(uintptr_t *begin, uintptr_t *end);
// The first address of a range that is in closed pages; its end where there is none.
const void *first_closed(const void *begin, const void *end);
struct touch touch_of(int pages);
struct touch open_pages(int pages);  // for good
// Whether `read` can be carried out: the memory that it reads is there.
bool try_reading(void (*read)(void *state), void *state);
