// Memory of this rank, and of what ranks share.
#define _GNU_SOURCE
#include "online/runtime/allocation.h"

#include <stdarg.h>
#include <sys/resource.h>

#include "online/runtime/turns.h"

static void *check(void *block, size_t size) {
    if (block == NULL) abort_all(2, "rank %d has no memory left for %zu bytes", my_rank, size);
    return block;
}

void *allocate(size_t size) { return check(malloc(size), size); }

void *allocate_zeroed(size_t count, size_t size) { return check(calloc(count, size), count * size); }

void *reallocate(void *block, size_t size) { return check(realloc(block, size), size); }

char *copy_text(const char *text) { return check(strdup(text), strlen(text)); }

char *format_text(const char *format, ...) {
    char *text;
    va_list list;
    va_start(list, format);
    if (vasprintf(&text, format, list) < 0) text = NULL;
    va_end(list);
    return check(text, strlen(format));
}

uint64_t allocate_shared(uint64_t size, const char *purpose) {
    const uint64_t offset = online_allocate(world, size);
    if (offset != 0) return offset;
    struct rlimit limit;
    const bool is_limited = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    abort_all(2, "the memory that ranks share is full, %llu MiB: no room for %s of %llu bytes%s",
              (unsigned long long)world->size >> 20, purpose, (unsigned long long)size,
              is_limited ? ": raise the limit of addresses (ulimit -v)" : "");
}
