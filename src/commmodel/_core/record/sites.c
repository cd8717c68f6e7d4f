// Places in a program that call MPI: the line of Python, or the address in C.
//
// The frame of Python that is running is read from the thread's state without the interpreter's lock (GIL): its code
// and instruction are the key of a table. File, line and function are queried from Python once, with the lock. The
// layout of a frame depends on the version of Python; an unknown version gives no places.

#include "sites.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void *object;

static struct {
    object (*PyGILState_GetThisThreadState)(void);
    int (*PyGILState_Ensure)(void);
    void (*PyGILState_Release)(int);
    int (*Py_IsInitialized)(void);
    int (*is_finalizing)(void);
    object (*PyThreadState_GetFrame)(object);
    object (*PyFrame_GetBack)(object);
    object (*PyFrame_GetCode)(object);
    int (*PyFrame_GetLineNumber)(object);
    object (*PyObject_GetAttrString)(object, const char *);
    const char *(*PyUnicode_AsUTF8)(object);
    void (*Py_IncRef)(object);
    void (*Py_DecRef)(object);
    void (*PyErr_Clear)(void);
    void (*PyErr_Fetch)(object *, object *, object *);
    void (*PyErr_Restore)(object, object, object);
} python;
static int has_python;

// Where in a thread's state the frame is found, and in a frame what is needed.
static struct {
    size_t c_frame;  // 0: the state itself holds the frame
    size_t frame, code, instruction, previous, owner;
} at;
enum { OF_C = 3 };  // from this owner on, a frame stands for C between frames of Python

// From 3.13 on Python says it itself, for debuggers, in a table whose parts lie where its version has them. Without GIL
// a frame may be another thread's, so that none is read.
static int read_frame_offsets(unsigned long version, size_t of_thread_state, size_t of_frame) {
    enum { SIZE = 0, CURRENT_FRAME = 4, PREVIOUS = 1, EXECUTABLE = 2, INSTRUCTION = 3, OWNER = 5, LARGEST = 1 << 16 };
    const unsigned char *runtime = dlsym(RTLD_DEFAULT, "_PyRuntime");
    if (runtime == NULL || memcmp(runtime, "xdebugpy", 8) != 0) return 0;
    const uint64_t *head = (const uint64_t *)runtime, *state = head + of_thread_state / 8, *frame = head + of_frame / 8;
    if (head[1] != version || head[2] != 0 || state[SIZE] > LARGEST || frame[SIZE] > LARGEST ||
        state[CURRENT_FRAME] >= state[SIZE]) {
        return 0;
    }
    for (int i = PREVIOUS; i <= OWNER; i++)
        if (frame[i] >= frame[SIZE]) return 0;
    at.frame = state[CURRENT_FRAME];
    at.previous = frame[PREVIOUS];
    at.code = frame[EXECUTABLE];
    at.instruction = frame[INSTRUCTION];
    at.owner = frame[OWNER];
    return 1;
}

static int know_frames(void) {
    const unsigned long *version = dlsym(RTLD_DEFAULT, "Py_Version");
    if (version == NULL || sizeof(void *) != 8) return 0;
    switch (*version >> 16) {
        case 0x030b:
            at.c_frame = 56, at.frame = 8, at.code = 32, at.instruction = 56, at.previous = 48, at.owner = 69;
            return 1;
        case 0x030c:
            at.c_frame = 56, at.frame = 0, at.code = 0, at.instruction = 56, at.previous = 8, at.owner = 70;
            return 1;
        case 0x030d: return read_frame_offsets(*version, 152, 224);
        case 0x030e: return read_frame_offsets(*version, 176, 248);
        default: return 0;
    }
}

void sites_prepare(void) {
    int all = 1;
#define LOOK_UP(name) all &= (*(void **)&python.name = dlsym(RTLD_DEFAULT, #name)) != NULL
    LOOK_UP(PyGILState_GetThisThreadState);
    LOOK_UP(PyGILState_Ensure);
    LOOK_UP(PyGILState_Release);
    LOOK_UP(Py_IsInitialized);
    LOOK_UP(PyThreadState_GetFrame);
    LOOK_UP(PyFrame_GetBack);
    LOOK_UP(PyFrame_GetCode);
    LOOK_UP(PyFrame_GetLineNumber);
    LOOK_UP(PyObject_GetAttrString);
    LOOK_UP(PyUnicode_AsUTF8);
    LOOK_UP(Py_IncRef);
    LOOK_UP(Py_DecRef);
    LOOK_UP(PyErr_Clear);
    LOOK_UP(PyErr_Fetch);
    LOOK_UP(PyErr_Restore);
#undef LOOK_UP
    *(void **)&python.is_finalizing = dlsym(RTLD_DEFAULT, "Py_IsFinalizing");
    if (python.is_finalizing == NULL) *(void **)&python.is_finalizing = dlsym(RTLD_DEFAULT, "_Py_IsFinalizing");
    has_python = all && python.is_finalizing != NULL && know_frames();
    if (all && !has_python) no_sites("this version of Python is not known to the recorder");
}

// The table: open addressing, never smaller.

static const uint64_t SKIP = UINT64_MAX;  // a frame of mpi4py or of an import: its caller's is the place
struct site {
    uintptr_t code, instruction;
    uint64_t id;  // 0: unused
};
static struct {
    struct site *slots;
    size_t mask, used;
    uint64_t ids;
} sites;

static struct site *slot_of(uintptr_t code, uintptr_t instruction) {
    uint64_t hash = (code ^ instruction * 0x9e3779b97f4a7c15u) * 0x9e3779b97f4a7c15u;
    size_t i = (size_t)(hash >> 32) & sites.mask;
    while (sites.slots[i].id != 0 && (sites.slots[i].code != code || sites.slots[i].instruction != instruction))
        i = (i + 1) & sites.mask;
    return &sites.slots[i];
}

static uint64_t find(uintptr_t code, uintptr_t instruction) {
    return sites.slots == NULL ? 0 : slot_of(code, instruction)->id;
}

static void insert(uintptr_t code, uintptr_t instruction, uint64_t id) {
    if (sites.slots == NULL || 2 * sites.used > sites.mask) {
        size_t size = sites.slots == NULL ? 1024 : 2 * (sites.mask + 1);
        struct site *old = sites.slots, *slots = calloc(size, sizeof *slots);
        if (slots == NULL) return;
        size_t before = old == NULL ? 0 : sites.mask + 1;
        sites.slots = slots;
        sites.mask = size - 1;
        for (size_t i = 0; i < before; i++)
            if (old[i].id != 0) *slot_of(old[i].code, old[i].instruction) = old[i];
        free(old);
    }
    struct site *slot = slot_of(code, instruction);
    slot->code = code;
    slot->instruction = instruction;
    slot->id = id;
    sites.used++;
}

// Lines of Python that call, or call what calls; one in a library is named with the line of the program that calls it.
static struct line {
    char *file, *function;
    uint64_t number, site;  // site: 0 until a call of MPI stands there
    int in_library;
} *lines;
static size_t line_count, line_room;
enum { LINES = 1 };  // the id of the first one

static int in_library(const char *file) {
    return strstr(file, "/site-packages/") != NULL || strstr(file, "/dist-packages/") != NULL ||
           strstr(file, "/lib/python3") != NULL || strstr(file, "/commmodel/simulate/online/") != NULL;
}

static char *copied(const char *text) {
    char *copy = malloc(strlen(text) + 1);
    return copy == NULL ? NULL : strcpy(copy, text);
}

// Number a line, from 0 on; SIZE_MAX where there is no room.
static size_t new_line(const char *file, uint64_t number, const char *function) {
    if (line_count == line_room) {
        const size_t room = line_room == 0 ? 256 : 2 * line_room;
        struct line *wider = realloc(lines, room * sizeof *wider);
        if (wider == NULL) return SIZE_MAX;
        lines = wider;
        line_room = room;
    }
    char *const path = copied(file), *const name = copied(function);
    if (path == NULL || name == NULL) return SIZE_MAX;
    lines[line_count] = (struct line){path, name, number, 0, in_library(file)};
    return line_count++;
}

// Number a site, with the lock held; another thread may have been faster.
static uint64_t define(uintptr_t code, uintptr_t instruction, const char *file, uint64_t line, const char *function,
                       unsigned language) {
    uint64_t id = find(code, instruction);
    if (id != 0) return id;
    if (!keep_site(sites.ids + 1, file, line, function, language)) return 0;
    insert(code, instruction, ++sites.ids);
    return sites.ids;
}

// The file of an address. That of the program is named as it was typed: then the kernel says where it is.
static const char *file_of(const Dl_info *info, char *path, size_t size) {
    ssize_t length = info->dli_fname[0] == '/' ? -1 : readlink("/proc/self/exe", path, size - 1);
    if (length <= 0) return info->dli_fname;
    path[length] = 0;
    return path;
}

static uint64_t address_site(const void *caller) {
    uintptr_t address = (uintptr_t)caller - 1;  // of the call, not of what follows it
    uint64_t id = find(address, 0);
    if (id != 0) return id;
    Dl_info info;
    char function[MOST_TEXT];
    if (dladdr((const void *)address, &info) == 0 || info.dli_fname == NULL) return 0;
    const unsigned char *elf = info.dli_fbase;  // an executable that is not moved has absolute addresses
    uintptr_t base = elf != NULL && elf[16] == 2 /* ET_EXEC */ ? 0 : (uintptr_t)info.dli_fbase;
    snprintf(function, sizeof function, "%s@0x%lx", info.dli_sname == NULL ? "" : info.dli_sname,
             (unsigned long)(address - base));
    char path[PATH_MAX];
    return define(address, 0, file_of(&info, path, sizeof path), 0, function, 2);
}

#define FIELD(structure, offset) (*(void *const *)((const char *)(structure) + (offset)))

// The code of a frame; from 3.14 on the lowest bits say who owns the reference.
static object code_of(const char *frame) { return (object)((uintptr_t)FIELD(frame, at.code) & ~(uintptr_t)3); }

static const char *top_frame(object state) {
    const char *holder = at.c_frame == 0 ? (const char *)state : FIELD(state, at.c_frame);
    return holder == NULL ? NULL : FIELD(holder, at.frame);
}

static const char *without_c(const char *frame) {
    while (frame != NULL && frame[at.owner] >= OF_C) frame = FIELD(frame, at.previous);
    return frame;
}

// Ask Python what frame, `above` the running one, stands where; the lock is not held meanwhile.
static uint64_t ask_python(object state, const char *frame, int above) {
    object code = code_of(frame), type, value, traceback;
    uintptr_t instruction = (uintptr_t)FIELD(frame, at.instruction);
    char file[MOST_TEXT] = "", function[MOST_TEXT] = "";
    int line = 0, understood = 0;
    unlock_sites();
    int lock = python.PyGILState_Ensure();
    python.PyErr_Fetch(&type, &value, &traceback);
    object public_frame = python.PyThreadState_GetFrame(state);
    for (int i = 0; public_frame != NULL && i < above; i++) {
        object back = python.PyFrame_GetBack(public_frame);
        python.Py_DecRef(public_frame);
        public_frame = back;
    }
    object public_code = public_frame == NULL ? NULL : python.PyFrame_GetCode(public_frame);
    if (public_code != NULL && public_code == code) {
        object name = python.PyObject_GetAttrString(code, "co_filename");
        object qualified = python.PyObject_GetAttrString(code, "co_qualname");
        const char *text = name == NULL ? NULL : python.PyUnicode_AsUTF8(name);
        snprintf(file, sizeof file, "%s", text == NULL ? "" : text);
        text = qualified == NULL ? NULL : python.PyUnicode_AsUTF8(qualified);
        snprintf(function, sizeof function, "%s", text == NULL ? "" : text);
        line = python.PyFrame_GetLineNumber(public_frame);
        python.Py_IncRef(code);  // for ever: another must not come to its address
        python.Py_DecRef(name);
        python.Py_DecRef(qualified);
        understood = 1;
    }
    python.Py_DecRef(public_code);
    python.Py_DecRef(public_frame);
    python.PyErr_Clear();
    python.PyErr_Restore(type, value, traceback);
    python.PyGILState_Release(lock);
    lock_sites();
    if (!understood) {
        has_python = 0;  // unexpected layout of frames: stop reading them
        return 0;
    }
    if (strstr(file, "/mpi4py/util/") != NULL || strstr(file, "/mpi4py/futures/") != NULL ||
        strncmp(file, "<frozen ", 8) == 0) {
        insert((uintptr_t)code, instruction, SKIP);
        return SKIP;
    }
    uint64_t id = find((uintptr_t)code, instruction);
    if (id != 0) return id;  // another thread was faster
    const size_t number = new_line(file, line > 0 ? (uint64_t)line : 0, function);
    if (number == SIZE_MAX) return 0;
    insert((uintptr_t)code, instruction, number + LINES);
    return number + LINES;
}

// The site of a line; of a library's with the line of the program that calls it, where there is one.
static uint64_t site_of_line(uint64_t id, uint64_t caller) {
    struct line *const line = &lines[id - LINES];
    if (caller == 0) {
        if (line->site == 0 && keep_site(sites.ids + 1, line->file, line->number, line->function, 1))
            line->site = ++sites.ids;
        return line->site;
    }
    const uint64_t site = find((uintptr_t)id, (uintptr_t)caller);  // no address is as small as these
    if (site != 0) return site;
    const struct line *const outer = &lines[caller - LINES];
    const char *const slash = strrchr(outer->file, '/');
    char function[MOST_TEXT];
    snprintf(function, sizeof function, "%.2000s, called at %.1000s:%lu", line->function,
             slash == NULL ? outer->file : slash + 1, (unsigned long)outer->number);
    return define((uintptr_t)id, (uintptr_t)caller, line->file, line->number, function, 1);
}

static int is_direct;  // the last site is of Python, and no frame was skipped on the way to it

static uint64_t python_site(void) {
    object state = python.Py_IsInitialized() ? python.PyGILState_GetThisThreadState() : NULL;
    if (state == NULL) return 0;
    int above = 0;
    uint64_t library = 0;  // line of the innermost frame, where that is in one
    for (const char *frame = without_c(top_frame(state)); frame != NULL && has_python;
         frame = without_c(FIELD(frame, at.previous)), above++) {
        uint64_t id = find((uintptr_t)code_of(frame), (uintptr_t)FIELD(frame, at.instruction));
        if (id == 0) id = python.is_finalizing() ? 0 : ask_python(state, frame, above);
        if (id == 0) break;
        if (id == SKIP) {
            is_direct = 0;
            continue;
        }
        if (!lines[id - LINES].in_library) return library == 0 ? site_of_line(id, 0) : site_of_line(library, id);
        if (library == 0) library = id;
    }
    return library == 0 ? 0 : site_of_line(library, 0);
}

uint64_t site_of(const void *caller) {
    is_direct = has_python;
    uint64_t id = has_python ? python_site() : 0;
    is_direct = is_direct && id != 0;
    return id != 0 ? id : address_site(caller);
}

int called_by_program(void) { return is_direct; }
