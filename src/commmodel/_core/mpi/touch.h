/* What programs do with their messages: a rank writes what it sends before it sends it, and reads what it has received.
 *
 * One byte of each cache line is written or read: which caches hold a message afterwards, and which copies of it are
 * invalid, depends on lines, not on bytes. Also for bench_c.
 */
#pragma once

#include <stddef.h>

enum { COMMMODEL_LINE = 64 };

static inline void write_lines(void *address, ptrdiff_t size) {
    volatile unsigned char *bytes = (volatile unsigned char *)address;
    for (ptrdiff_t i = 0; i < size; i += COMMMODEL_LINE) bytes[i]++;
}

static inline void read_lines(const void *address, ptrdiff_t size) {
    const volatile unsigned char *bytes = (const volatile unsigned char *)address;
    for (ptrdiff_t i = 0; i < size; i += COMMMODEL_LINE) (void)bytes[i];
}
