// Pages that the program must not touch for a while. A handler of SIGSEGV opens what is touched and notes the access; any
// other fault goes to the handler that was there before.
#define _GNU_SOURCE
#include "online/runtime/protection.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "online/runtime/allocation.h"

enum { MOST = 256, STACK = 1 << 16 };

static struct pages {
    uintptr_t begin, end;  // both 0: unused
    struct touch touch;
} all[MOST];
static int room = MOST;  // of unused ones
static struct sigaction before;
static _Thread_local sigjmp_buf *trial;  // what this thread reads may not be there

static bool writes(const void *context) {
#if defined(__x86_64__)
    return ((const ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] & 2;
#else
    (void)context;
    return false;
#endif
}

static const void *code_of(const void *context) {
#if defined(__x86_64__)
    return (const void *)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (const void *)((const ucontext_t *)context)->uc_mcontext.pc;
#else
    (void)context;
    return NULL;
#endif
}

static bool open_touched(uintptr_t at, const void *context) {
    bool is_ours = false;
    for (int i = 0; i < MOST; i++) {
        if (at < all[i].begin || at >= all[i].end) continue;
        is_ours = true;
        if (mprotect((void *)all[i].begin, all[i].end - all[i].begin, PROT_READ | PROT_WRITE) != 0) return false;
        if (!all[i].touch.is_there) all[i].touch = (struct touch){true, writes(context), code_of(context)};
    }
    return is_ours;
}

static void handle(int number, siginfo_t *info, void *context) {
    if (open_touched((uintptr_t)info->si_addr, context)) return;
    if (trial != NULL) siglongjmp(*trial, 1);
    if (before.sa_flags & SA_SIGINFO) return before.sa_sigaction(number, info, context);
    if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(number);
    sigaction(SIGSEGV, &before, NULL);  // the access is repeated
}

// Whether faults come start: a program that has set a handler of its own keeps it.
static bool is_ready(void) {
    static bool is_prepared;
    struct sigaction current;
    sigaction(SIGSEGV, NULL, &current);
    if (current.sa_flags & SA_SIGINFO && current.sa_sigaction == handle) return true;
    if (is_prepared) return false;
    is_prepared = true;
    stack_t stack;
    if (sigaltstack(NULL, &stack) == 0 && stack.ss_flags & SS_DISABLE) {
        stack = (stack_t){.ss_sp = allocate(STACK), .ss_size = STACK};
        sigaltstack(&stack, NULL);
    }
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    return sigaction(SIGSEGV, &action, &before) == 0;
}

int protect(uintptr_t *begin, uintptr_t *end) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t first = (*begin + page - 1) / page * page, last = *end / page * page;
    if (first >= last || room == 0 || !is_ready()) return NONE;
    int i = 0;
    while (all[i].end != 0) i++;
    all[i] = (struct pages){first, last, {false}};
    if (mprotect((void *)first, last - first, PROT_NONE) != 0) {
        mprotect((void *)first, last - first, PROT_READ | PROT_WRITE);
        all[i] = (struct pages){0};
        return NONE;
    }
    room--;
    *begin = first;
    *end = last;
    return i;
}

const void *first_closed(const void *begin, const void *end) {
    uintptr_t first = (uintptr_t)end;
    for (int i = 0; i < MOST && room < MOST; i++)
        if (all[i].end > (uintptr_t)begin && all[i].begin < first)
            first = all[i].begin > (uintptr_t)begin ? all[i].begin : (uintptr_t)begin;
    return (const void *)first;
}

struct touch touch_of(int pages) { return all[pages].touch; }

struct touch open_pages(int pages) {
    const struct pages closed = all[pages];
    mprotect((void *)closed.begin, closed.end - closed.begin, PROT_READ | PROT_WRITE);
    all[pages] = (struct pages){0};
    room++;
    return closed.touch;
}

bool try_reading(void (*read)(void *state), void *state) {
    if (!is_ready()) {
        read(state);
        return true;
    }
    sigjmp_buf start;
    const bool is_there = sigsetjmp(start, 0) == 0;
    if (is_there) {
        trial = &start;
        read(state);
    }
    trial = NULL;
    return is_there;
}
