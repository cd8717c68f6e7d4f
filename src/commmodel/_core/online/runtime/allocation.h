// Memory of this rank, and of what ranks share. Where there is none left, the simulation ends with a sentence.
#pragma once

#include "online/online.h"
#include "online/runtime/shared_heap.h"

void *allocate(size_t size);
void *allocate_zeroed(size_t count, size_t size);
void *reallocate(void *block, size_t size);
char *copy_text(const char *text);
char *format_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
uint64_t allocate_shared(uint64_t size, const char *purpose);  // an offset
