/* A program that looks to the recorder like CPython 3.14: its table for debuggers, and the calls that are asked of it.
 * The running frame stands for C (owner 4); the one before it is the program's, whose code has a bit set. */
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef VERSION
#define VERSION 0x030e00f0
#endif
#ifndef FREE_THREADED
#define FREE_THREADED 0
#endif
#ifndef OWNER
#define OWNER offsetof(struct frame, owner)
#endif

struct frame {
    uint64_t code;
    struct frame *previous;
    uint64_t globals[5];
    const void *instruction;
    char more[10], owner;
};
struct thread {
    uint64_t links[6];
    struct frame *running;
};

static const char code[16] __attribute__((aligned(16))) = "code";
static struct frame program = {.code = (uint64_t)0, .instruction = code + 8, .owner = 0};
static struct frame of_c = {.previous = &program, .owner = 4};
static struct thread state = {.running = &of_c};

const unsigned long Py_Version = VERSION;
uint64_t _PyRuntime[64] = {
    [1] = VERSION, [2] = FREE_THREADED,
    [22] = sizeof(struct thread), [26] = offsetof(struct thread, running),
    [31] = sizeof(struct frame), [32] = offsetof(struct frame, previous), [33] = offsetof(struct frame, code),
    [34] = offsetof(struct frame, instruction), [35] = 0, [36] = OWNER,
};

void *PyGILState_GetThisThreadState(void) { return &state; }
int PyGILState_Ensure(void) { return 0; }
void PyGILState_Release(int held) { (void)held; }
int Py_IsInitialized(void) { return 1; }
int Py_IsFinalizing(void) { return 0; }
void *PyThreadState_GetFrame(void *thread) { return thread == &state ? &program : NULL; }
void *PyFrame_GetBack(void *frame) { return ((struct frame *)frame)->previous; }
void *PyFrame_GetCode(void *frame) { return (void *)(((struct frame *)frame)->code & ~(uint64_t)3); }
int PyFrame_GetLineNumber(void *frame) { return frame == &program ? 42 : 0; }
void *PyObject_GetAttrString(void *object, const char *name) {
    return object != code ? NULL : strcmp(name, "co_filename") == 0 ? "/home/ada/solver.py" : "step";
}
const char *PyUnicode_AsUTF8(void *text) { return text; }
void Py_IncRef(void *object) { (void)object; }
void Py_DecRef(void *object) { (void)object; }
void PyErr_Clear(void) {}
void PyErr_Fetch(void **type, void **value, void **traceback) { *type = *value = *traceback = NULL; }
void PyErr_Restore(void *type, void *value, void *traceback) { (void)type, (void)value, (void)traceback; }

int main(int count, char **words) {
    memcpy(_PyRuntime, "xdebugpy", 8);
    program.code = (uint64_t)(uintptr_t)code | 1;
    MPI_Init(&count, &words);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
