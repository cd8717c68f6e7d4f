/* For programs that run simulated (commmodel simulate WHERE run): blocks that are timed a few times and charged then,
 * and memory that all ranks share. In any other run the blocks run as they are, and each rank has memory of its own.
 *
 *     #include <commmodel.h>            cc -I$(commmodel list include) ... -ldl, where dlsym is not in libc
 *
 *     COMMMODEL_SAMPLED(3) { work(a); }           timed in 3 runs of each rank, then charged their mean and skipped
 *     COMMMODEL_SAMPLED_BY_ALL(3) { work(a); }    in 3 runs of all ranks together
 *     COMMMODEL_TIMED(3) { work(a); }             charged as COMMMODEL_SAMPLED, but it always runs
 *     double *a = commmodel_shared_malloc(bytes); one buffer for all ranks, zeros in the beginning
 *     commmodel_shared_free(a);
 *
 * A block computes only: it calls nothing of MPI, and leaves neither by return, goto nor break.
 */
#ifndef COMMMODEL_H
#define COMMMODEL_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline void *commmodel_function_(const char *name) { return dlsym((void *)0 /* RTLD_DEFAULT */, name); }

static inline int commmodel_begin_(const char *site, int runs, int of_all, int skips) {
    int (*begin)(const char *, int, int, int);
    *(void **)&begin = commmodel_function_("commmodel_sample_begin");
    return begin == NULL || begin(site, runs, of_all, skips);
}

static inline int commmodel_end_(void) {
    void (*end)(void);
    *(void **)&end = commmodel_function_("commmodel_sample_end");
    if (end != NULL) end();
    return 0;
}

static inline void *commmodel_shared_malloc_(const char *site, size_t size) {
    void *(*allocate)(const char *, size_t), *memory = NULL;
    *(void **)&allocate = commmodel_function_("commmodel_shared_memory");
    if (allocate != NULL) memory = allocate(site, size);
    return memory != NULL ? memory : calloc(size ? size : 1, 1);
}

static inline void commmodel_shared_free(void *memory) {
    int (*is_shared)(const void *);
    *(void **)&is_shared = commmodel_function_("commmodel_is_shared");
    if (is_shared == NULL || !is_shared(memory)) free(memory);
}

#ifdef __cplusplus
}
#endif

#define COMMMODEL_TEXT_(line) #line
#define COMMMODEL_LINE_(line) COMMMODEL_TEXT_(line)
#define COMMMODEL_SITE_ __FILE__ ":" COMMMODEL_LINE_(__LINE__)
#define COMMMODEL_BLOCK_(runs, of_all, skips)                                                           \
    for (int commmodel_runs_ = commmodel_begin_(COMMMODEL_SITE_, runs, of_all, skips); commmodel_runs_; \
         commmodel_runs_ = commmodel_end_())

#define COMMMODEL_SAMPLED(runs) COMMMODEL_BLOCK_(runs, 0, 1)
#define COMMMODEL_SAMPLED_BY_ALL(runs) COMMMODEL_BLOCK_(runs, 1, 1)
#define COMMMODEL_TIMED(runs) COMMMODEL_BLOCK_(runs, 0, 0)
#define commmodel_shared_malloc(size) commmodel_shared_malloc_(COMMMODEL_SITE_, size)

#endif
