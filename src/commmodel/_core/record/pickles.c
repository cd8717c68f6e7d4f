// Messages that are pickled objects of Python.
//
// mpi4py's lower-case methods send MPI_BYTE, which no other line of a program needs: so it is asked whether the bytes
// are a pickle. A pickle begins with the opcode PROTO and a protocol, and ends with STOP; what stands behind its first
// opcodes says what the object is. Of each place in machine code that calls MPI it is asked as long as all of its
// messages were pickles: mpi4py's `send` has another place than its `Send`. The kernel is asked before whether the
// memory can be read: a GPU's cannot.

#include "recorder.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "table.h"

enum { DATA_SHAPES };
enum { HEAD = 96, SHORTEST = 4, PROTO = 0x80, FRAME = 0x95, MEMOIZE = 0x94, SHORT_TEXT = 0x8c, STOP = '.' };

// The kernel reads a set of signals before it sees that the request is none: it refuses what it cannot read.
static int is_readable(uintptr_t address) {
    const int before = errno;
    const long code = syscall(SYS_rt_sigprocmask, ~0L, address & ~(uintptr_t)7, NULL, (size_t)8);
    const int is_refused = code == -1 && errno == EFAULT;
    errno = before;
    return !is_refused;
}

static int read_ends(const void *buffer, uint64_t bytes, unsigned char *head, unsigned char *last) {
    enum { LEAST_PAGE = 4096 };
    const uintptr_t begin = (uintptr_t)buffer, length = bytes < HEAD ? (uintptr_t)bytes : HEAD;
    const uintptr_t ends[] = {begin, begin + length - 1, begin + bytes - 1};
    for (int i = 0; i < 3; i++)
        if ((i == 0 || ends[i] / LEAST_PAGE != ends[i - 1] / LEAST_PAGE) && !is_readable(ends[i])) return 0;
    memcpy(head, buffer, length);
    *last = ((const unsigned char *)buffer)[bytes - 1];
    return 1;
}

static int is_number(unsigned char opcode) { return strchr("GJKM", opcode) != NULL && opcode != 0; }

// The opcode of a container's first item: MEMOIZE, MARK and, in a dictionary, a short text come before.
static unsigned char first_item(const unsigned char *p, const unsigned char *end, int has_key) {
    if (*p == MEMOIZE) p++;
    if (*p++ != '(') return 0;
    if (!has_key) return *p;
    if (*p != SHORT_TEXT) return 0;
    p += 2 + p[1];
    if (p < end && *p == MEMOIZE) p++;
    return p < end ? *p : 0;
}

// An array of numbers in one piece, which protocol 5 makes again by this function of numpy.
static int is_array(const unsigned char *module) {
    static const char NAME[] = "\x94\x8c\x0b_frombuffer";
    return module[1] < 32 && memcmp(module + 2, "numpy", 5) == 0 &&
           memcmp(module + 2 + module[1], NAME, sizeof NAME - 1) == 0;
}

// What a pickle holds, by its head, which is filled up with zeros. Lists and dictionaries are those of numbers.
static unsigned shape_of(const unsigned char *head, uint64_t bytes) {
    const unsigned char *p = head + 2;
    if (*p == FRAME) p += 9;
    switch (*p) {
        case 'C':
        case 'B':
        case 0x8e:                        // BINBYTES8
        case 0x96: return PICKLED_BYTES;  // BYTEARRAY8
        case 'X':
        case 0x8d: return PICKLED_STR;                                     // BINUNICODE8
        case '(': return is_number(p[1]) ? PICKLED_LIST : PICKLED_OBJECT;  // a tuple
        case ']': return is_number(first_item(p + 1, head + HEAD, 0)) ? PICKLED_LIST : PICKLED_OBJECT;
        case '}': return is_number(first_item(p + 1, head + HEAD, 1)) ? PICKLED_DICT : PICKLED_OBJECT;
        case SHORT_TEXT:
            if (is_array(p)) return PICKLED_ARRAY;
            return (uint64_t)(p - head) + 2 + p[1] + 2 == bytes ? PICKLED_STR : PICKLED_OBJECT;
        default: return PICKLED_OBJECT;
    }
}

static struct table plain;  // places in machine code

uint64_t pickle_of(const void *buffer, uint64_t bytes, const void *caller) {
    if (bytes < SHORTEST || !called_by_program() || look_up(&plain, (uintptr_t)caller) != NULL) return 0;
    unsigned char head[HEAD] = {0}, last = 0;
    if (read_ends(buffer, bytes, head, &last) && head[0] == PROTO && head[1] >= 2 && head[1] <= 5 && last == STOP)
        return object_layout(shape_of(head, bytes));
    put(&plain, (uintptr_t)caller, 1, 0);
    return 0;
}
