// Counts the memory that a process holds: a library to preload (LD_PRELOAD) before the allocator's own.
//
// Each function of the allocator, and mmap and munmap, is called as before, and the bytes that it gave or took are
// added up. A block counts with the bytes that can be used of it (malloc_usable_size), which is what is known again
// when it is freed. Not counted: private mappings of files (programs and libraries), address space without access
// (PROT_NONE), brk and mremap, which no caller but the allocator needs. Needs neither Python nor MPI. For glibc and
// musl.

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#undef _FILE_OFFSET_BITS  // with it, mmap would be a name for mmap64, and both are needed
#include "allocations.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define VISIBLE __attribute__((visibility("default")))

static struct {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void (*free)(void *);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    void *(*memalign)(size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
    void *(*mmap)(void *, size_t, int, int, int, off_t);
    int (*munmap)(void *, size_t);
} next;
static int ready;

// Of the thread, in memory that exists already: the usual thread-local memory is allocated at its first use.
#define OF_THREAD static __thread __attribute__((tls_model("initial-exec")))
OF_THREAD int looking_up;  // within dlsym, which may allocate itself
OF_THREAD int depth;       // of our functions in each other: an allocator may call its own by name

static int64_t allocated, blocks, mapped[COMMMODEL_SHARED + 1], unlisted;

static void add(int64_t *counter, int64_t change) { __atomic_fetch_add(counter, change, __ATOMIC_RELAXED); }

// Memory for dlsym while it looks up the allocator; never given back, never counted.
static union {
    max_align_t aligned;
    unsigned char bytes[16384];
} early;
static size_t early_used;

static int is_early(const void *address) {
    uintptr_t first = (uintptr_t)early.bytes;
    return (uintptr_t)address - first < sizeof early;
}

static void *give_early(size_t size) {
    if (size > sizeof early) return NULL;
    size_t rounded = (size + _Alignof(max_align_t) - 1) & ~(_Alignof(max_align_t) - 1);
    size_t at = __atomic_fetch_add(&early_used, rounded, __ATOMIC_RELAXED);
    return at + size <= sizeof early ? early.bytes + at : NULL;
}

static void look_up(void) {
    looking_up = 1;
#define LOOK_UP(name) *(void **)&next.name = dlsym(RTLD_NEXT, #name)
    LOOK_UP(calloc);
    LOOK_UP(malloc);
    LOOK_UP(realloc);
    LOOK_UP(free);
    LOOK_UP(posix_memalign);
    LOOK_UP(aligned_alloc);
    LOOK_UP(memalign);
    LOOK_UP(valloc);
    LOOK_UP(pvalloc);
    LOOK_UP(mmap);
    LOOK_UP(munmap);
#undef LOOK_UP
    looking_up = 0;
    __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
}

// Two threads may look up at once, and find the same.
static void make_ready(void) {
    if (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE) && !looking_up) look_up();
}

static void *count_allocation(void *block) {
    if (block != NULL && depth == 0) {
        add(&allocated, (int64_t)malloc_usable_size(block));
        add(&blocks, 1);
    }
    return block;
}

VISIBLE void *malloc(size_t size) {
    make_ready();
    if (looking_up) return give_early(size);
    depth++;
    void *block = next.malloc(size);
    depth--;
    return count_allocation(block);
}

VISIBLE void *calloc(size_t count, size_t size) {
    make_ready();
    if (looking_up)
        return size != 0 && count > sizeof early / size ? NULL : give_early(count * size);  // zeros: never used before
    depth++;
    void *block = next.calloc(count, size);
    depth--;
    return count_allocation(block);
}

VISIBLE void free(void *block) {
    if (block == NULL || is_early(block)) return;
    make_ready();
    if (depth == 0) {
        add(&allocated, -(int64_t)malloc_usable_size(block));
        add(&blocks, -1);
    }
    depth++;
    next.free(block);
    depth--;
}

VISIBLE void *realloc(void *block, size_t size) {
    if (block == NULL) return malloc(size);
    if (is_early(block)) {
        size_t rest = (size_t)(early.bytes + sizeof early - (unsigned char *)block);
        void *moved = malloc(size);
        return moved == NULL ? NULL : memcpy(moved, block, size < rest ? size : rest);
    }
    make_ready();
    int64_t before = (int64_t)malloc_usable_size(block);
    depth++;
    void *moved = next.realloc(block, size);
    depth--;
    if (depth == 0 && (moved != NULL || size == 0)) {  // for a size of 0, glibc frees
        add(&allocated, (moved == NULL ? 0 : (int64_t)malloc_usable_size(moved)) - before);
        add(&blocks, moved == NULL ? -1 : 0);
    }
    return moved;
}

VISIBLE int posix_memalign(void **block, size_t alignment, size_t size) {
    make_ready();
    depth++;
    int code = next.posix_memalign(block, alignment, size);
    depth--;
    if (code == 0) count_allocation(*block);
    return code;
}

// musl has no pvalloc.
#define ALIGNED(name, parameters, arguments) \
    VISIBLE void *name parameters {          \
        make_ready();                        \
        if (next.name == NULL) {             \
            errno = ENOSYS;                  \
            return NULL;                     \
        }                                    \
        depth++;                             \
        void *block = next.name arguments;   \
        depth--;                             \
        return count_allocation(block);      \
    }

ALIGNED(aligned_alloc, (size_t alignment, size_t size), (alignment, size))
ALIGNED(memalign, (size_t alignment, size_t size), (alignment, size))
ALIGNED(valloc, (size_t size), (size))
ALIGNED(pvalloc, (size_t size), (size))

// Mappings are remembered, as munmap does not say what it takes away, and may take a part.
enum { MOST_MAPPINGS = 4096 };
static struct {
    uintptr_t first, end;
    int kind;
} mappings[MOST_MAPPINGS];
static size_t mapping_count;
static int busy;

static void lock(void) {
    while (__atomic_test_and_set(&busy, __ATOMIC_ACQUIRE)) {
    }
}

static void unlock(void) { __atomic_clear(&busy, __ATOMIC_RELEASE); }

// The thread that held the lock is not there after a fork.
__attribute__((constructor)) static void unlock_in_children(void) { pthread_atfork(NULL, NULL, unlock); }

static void remember(uintptr_t first, uintptr_t end, int kind) {
    if (first == end) return;
    if (mapping_count == MOST_MAPPINGS) {
        add(&unlisted, 1);
        return;
    }
    mappings[mapping_count].first = first;
    mappings[mapping_count].end = end;
    mappings[mapping_count].kind = kind;
    mapping_count++;
    add(&mapped[kind], (int64_t)(end - first));
}

static void forget(uintptr_t first, uintptr_t end) {
    for (size_t i = mapping_count; i-- > 0;) {
        uintptr_t one_first = mappings[i].first, one_end = mappings[i].end;
        int kind = mappings[i].kind;
        if (one_first >= end || one_end <= first) continue;
        add(&mapped[kind], -(int64_t)(one_end - one_first));
        mappings[i] = mappings[--mapping_count];
        remember(one_first, one_first < first ? first : one_first, kind);  // what stays before, and after
        remember(one_end > end ? end : one_end, one_end, kind);
    }
}

static uintptr_t end_of(const void *address, size_t length) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    return ((uintptr_t)address + length + page - 1) & ~(page - 1);
}

static void *map(void *address, size_t length, int access, int flags, int file, off_t offset) {
    make_ready();
    depth++;
    void *got = next.mmap(address, length, access, flags, file, offset);
    depth--;
    if (got != MAP_FAILED && depth == 0) {
        int saved = errno;
        int shared = (flags & MAP_PRIVATE) == 0 || (flags & MAP_SHARED) != 0;
        uintptr_t first = (uintptr_t)got, end = end_of(got, length);
        lock();
        forget(first, end);  // MAP_FIXED puts it in the place of what was there
        if (access != PROT_NONE && (shared || (flags & MAP_ANONYMOUS) != 0))
            remember(first, end, shared ? COMMMODEL_SHARED : COMMMODEL_ANONYMOUS);
        unlock();
        errno = saved;
    }
    return got;
}

VISIBLE void *mmap(void *address, size_t length, int access, int flags, int file, off_t offset) {
    return map(address, length, access, flags, file, offset);
}

#if defined(__GLIBC__) && defined(__LP64__)  // what programs call that were compiled for large files
VISIBLE void *mmap64(void *address, size_t length, int access, int flags, int file, off64_t offset) {
    return map(address, length, access, flags, file, offset);
}
#endif

VISIBLE int munmap(void *address, size_t length) {
    make_ready();
    if (depth > 0) return next.munmap(address, length);
    depth++;
    lock();  // before: another thread may be given the same place at once
    int code = next.munmap(address, length);
    if (code == 0) forget((uintptr_t)address, end_of(address, length));
    unlock();
    depth--;
    return code;
}

VISIBLE void commmodel_read_allocations(struct commmodel_allocations *counts) {
    counts->allocated = __atomic_load_n(&allocated, __ATOMIC_RELAXED);
    counts->blocks = __atomic_load_n(&blocks, __ATOMIC_RELAXED);
    counts->anonymous = __atomic_load_n(&mapped[COMMMODEL_ANONYMOUS], __ATOMIC_RELAXED);
    counts->shared = __atomic_load_n(&mapped[COMMMODEL_SHARED], __ATOMIC_RELAXED);
    counts->unlisted = __atomic_load_n(&unlisted, __ATOMIC_RELAXED);
}

// Which of the counters an address belongs to.
VISIBLE int commmodel_mapping_of(const void *address) {
    int kind = COMMMODEL_NOT_MAPPED;
    lock();
    for (size_t i = 0; i < mapping_count && kind == COMMMODEL_NOT_MAPPED; i++)
        if (mappings[i].first <= (uintptr_t)address && (uintptr_t)address < mappings[i].end) kind = mappings[i].kind;
    unlock();
    return kind;
}
