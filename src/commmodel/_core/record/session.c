// From the start of the process to its end: what the launcher has asked for, MPI_Init, clocks, MPI_Finalize, exit,
// fork.

#include "recorder.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock/processor.h"
#include "next.h"

#if defined(OPEN_MPI)
enum { ABI = 2 };
#elif defined(MPICH_VERSION)
enum { ABI = 1 };
#else
enum { ABI = 3 };
#endif

static char folder[MOST_TEXT];
static const char FOLDER[] = "COMMMODEL_RECORD", PRELOAD[] = "LD_PRELOAD", OURS[] = "COMMMODEL_RECORD_PRELOAD",
                  SIMULATED[] = "COMMMODEL_SIMULATED";

static const char REFUSAL[] = "COMMMODEL_RECORD_REFUSAL";  // exit code where rank 0 cannot make the folder, else empty
static const char ALONE[] = "COMMMODEL_RECORD_ALONE";      // what is wrong if this is the only rank, else empty
static int refusal;
static pid_t refused;  // the process that ends with it
static char alone[MOST_TEXT];

// Programs that the program starts are not recorded: what the launcher has added to the environment goes.
static void clean_environment(void) {
    const char *preload = getenv(PRELOAD), *recorder = getenv(OURS);
    if (preload != NULL && recorder != NULL && strncmp(preload, recorder, strlen(recorder)) == 0) {
        const char *rest = preload + strlen(recorder);
        rest += *rest == ' ' || *rest == ':';
        if (*rest != '\0')
            setenv(PRELOAD, strdup(rest), 1);
        else
            unsetenv(PRELOAD);
    }
    unsetenv(OURS);
    unsetenv(REFUSAL);
    unsetenv(ALONE);
    unsetenv(FOLDER);
}

// Python, or what is linked with MPI; else (a shell, env, taskset) what it starts may be the program.
static int is_the_program(void) {
    if (dlsym(RTLD_DEFAULT, "Py_IsInitialized") != NULL) return 1;
    const struct link_map *map = NULL;
    void *program = dlopen(NULL, RTLD_LAZY);
    if (program == NULL || dlinfo(program, RTLD_DI_LINKMAP, &map) != 0 || map == NULL) return 0;
    const char *texts = NULL;
    for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++)
        texts = entry->d_tag == DT_STRTAB ? (const char *)entry->d_un.d_ptr : texts;
    for (const ElfW(Dyn) *entry = map->l_ld; texts != NULL && entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_NEEDED && strncmp(texts + entry->d_un.d_val, "libmpi", 6) == 0) return 1;
    return 0;
}

static int has_steady_counter(void) {
#if defined(__x86_64__)
    unsigned registers[4] = {0};
    if (cpuid_highest(0x80000000u) >= 0x80000007u) cpuid_read(0x80000007u, registers);
    return registers[3] >> 8 & 1;  // the same rate at any frequency and in any sleep
#else
    return counter_frequency_register() != 0;
#endif
}

static uint64_t start_tick, start_nanoseconds;
static int is_simulated;  // all ranks of a simulation have one clock, and a message of ours would be simulated, too

__attribute__((constructor)) static void start(void) {
    next_prepare();
    is_simulated = getenv(SIMULATED) != NULL;
    // Of a simulated rank, times are simulated: its library answers clock_gettime.
    ticks_counter = !is_simulated && has_steady_counter();
    start_tick = ticks();
    start_nanoseconds = ticks_of(CLOCK_MONOTONIC);
    const char *setting = getenv(FOLDER);
    if (setting != NULL && strlen(setting) < sizeof folder) {
        strcpy(folder, setting);
        const char *code = getenv(REFUSAL), *problem = getenv(ALONE);
        refusal = code != NULL ? atoi(code) : 0;
        refused = getpid();
        if (problem != NULL && strlen(problem) < sizeof alone) strcpy(alone, problem);
        if (is_the_program()) clean_environment();
    }
}

static _Noreturn void end_quietly(int code) {
    fflush(NULL);
    _exit(code);
}

// A program without MPI where nothing can be recorded: the launcher has said why.
__attribute__((destructor)) static void end_refused(void) {
    if (refusal != 0 && refused == getpid()) end_quietly(refusal);
}

// End all ranks alike where rank 0 cannot make the folder, and this one where it is alone but should not be. A launcher
// may leave ranks that wait in MPI_Init where another one ends before, so each comes here.
static void end_where_nothing_can_be_recorded(int size) {
    if (size == 1 && alone[0] != '\0') {
        if (alone[0] != ' ') {  // it has made the folder
            char about[MOST_TEXT + 32];
            snprintf(about, sizeof about, "%s/recording.json", folder);
            if (unlink(about) == 0) rmdir(folder);
            fprintf(stderr, "commmodel: record: %s\n", alone);
        }
        next.Finalize();
        end_quietly(3);
    }
    int code = refusal;
    if (next.Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD) != MPI_SUCCESS || code == 0) return;
    next.Finalize();
    end_quietly(code);
}

// What rank 0 has made is not there for ranks of nodes with file systems of their own.
static void note_folders_apart(MPI_Comm comm, int rank, int size) {
    char about[MOST_TEXT + 32];
    snprintf(about, sizeof about, "%s/recording.json", folder);
    int absent = access(about, F_OK) != 0, ranks = 0;
    if (next.Reduce(&absent, &ranks, 1, MPI_INT, MPI_SUM, 0, comm) != MPI_SUCCESS || rank != 0 || ranks == 0) return;
    fprintf(
        stderr,
        "commmodel: record: %s is a folder of its own on the nodes of %d of %d ranks: name one that all nodes share, "
        "or copy their rank-*.log into one\n",
        folder, ranks, size);
}

static double ticks_per_second(void) {
    if (!ticks_counter) return 1e9;
    uint64_t elapsed = ticks_of(CLOCK_MONOTONIC) - start_nanoseconds;
    return (double)(ticks() - start_tick) / (1e-9 * (double)elapsed);
}

// The clocks of all ranks are made rank 0's: each rank asks its parent in a binomial tree several times, and believes
// the answer that came fastest. A parent answers in rank 0's time, as it has asked before.

enum { QUESTIONS = 12, TAG = 1 };
static MPI_Comm private_comm = MPI_COMM_NULL;
static int world_rank, world_size;
static double rate;

struct clock {
    uint64_t tick;
    double seconds, uncertainty;  // of rank 0 at that tick
};

static double rank_0_seconds(const struct clock *clock) {
    return clock->seconds + ((double)(int64_t)(ticks() - clock->tick)) / rate;
}

static int ask_parent(int parent, struct clock *clock) {
    double answer[2], shortest = 1e300;
    int code = MPI_SUCCESS;
    for (int i = 0; i < QUESTIONS && code == MPI_SUCCESS; i++) {
        uint64_t before = ticks();
        code = next.Send(NULL, 0, MPI_BYTE, parent, TAG, private_comm);
        code =
            code == MPI_SUCCESS ? next.Recv(answer, 2, MPI_DOUBLE, parent, TAG, private_comm, MPI_STATUS_IGNORE) : code;
        double round_trip = (double)(ticks() - before) / rate;
        if (code == MPI_SUCCESS && round_trip < shortest) {
            shortest = round_trip;
            clock->tick = before + (uint64_t)(round_trip * rate / 2);
            clock->seconds = answer[0];
            clock->uncertainty = answer[1] + round_trip / 2;
        }
    }
    return code;
}

static int answer_child(int child, const struct clock *clock) {
    int code = MPI_SUCCESS;
    for (int i = 0; i < QUESTIONS && code == MPI_SUCCESS; i++) {
        code = next.Recv(NULL, 0, MPI_BYTE, child, TAG, private_comm, MPI_STATUS_IGNORE);
        double answer[2] = {rank_0_seconds(clock), clock->uncertainty};
        code = code == MPI_SUCCESS ? next.Send(answer, 2, MPI_DOUBLE, child, TAG, private_comm) : code;
    }
    return code;
}

static int synchronise(struct clock *clock) {
    int lowest = world_rank == 0 ? 1 << 30 : world_rank & -world_rank, code = MPI_SUCCESS;
    clock->tick = ticks();
    clock->seconds = (double)(clock->tick - first_tick) / rate;  // rank 0's own
    clock->uncertainty = 0;
    if (world_rank != 0) code = ask_parent(world_rank - lowest, clock);
    int distance = 1;
    while (distance < lowest && distance < world_size) distance <<= 1;
    for (distance >>= 1; distance > 0 && code == MPI_SUCCESS; distance >>= 1)  // the largest branch first
        if (world_rank + distance < world_size) code = answer_child(world_rank + distance, clock);
    return code;
}

static void at_exit(int code, void *ignored) {
    (void)ignored;
    lock_log();
    log_end(EXITED, code);
    unlock_log();
}

// The processors that this process may run on, as Linux lists them: 0-3,8.
static void log_processors(void) {
    static char list[8 * CPU_SETSIZE];
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return;
    size_t used = 0;
    for (int first = 0; first < CPU_SETSIZE; first++) {
        if (!CPU_ISSET(first, &set)) continue;
        int last = first;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set)) last++;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%d", used > 0 ? "," : "", first);
        if (last > first) used += (size_t)snprintf(list + used, sizeof list - used, "-%d", last);
        first = last;
    }
    log_text("processors", list);
}

static void begin_log(uint64_t begin, int level, unsigned code, const void *caller) {
    struct log_header header = {"CMRECORD", 3, sizeof header, 0, 0, 0, 0, 0, ABI, (uint32_t)level, TABLE_FINGERPRINT};
    struct timespec now;
    struct clock clock;
    char path[MOST_TEXT + 32], text[MOST_TEXT];
    int length, synchronised = 0;
    first_tick = begin;
    rate = ticks_per_second();
    clock_gettime(CLOCK_REALTIME, &now);
    PMPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &world_size);
    if (!is_simulated) end_where_nothing_can_be_recorded(world_size);
    header.rank = (uint32_t)world_rank;
    header.processes = (uint32_t)world_size;
    header.ticks_per_second = rate;
    header.first_tick = begin;
    uint64_t since = ticks() - begin;
    header.unix_nanoseconds = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec -
                              (ticks_counter ? (int64_t)(1e9 * (double)since / rate) : (int64_t)since);
    several_threads = level == MPI_THREAD_MULTIPLE;
    if (!is_simulated) {
        if (next.Comm_dup(MPI_COMM_WORLD, &private_comm) != MPI_SUCCESS)  // also: rank 0 has made the folder
            return;
        PMPI_Comm_set_errhandler(private_comm, MPI_ERRORS_RETURN);
        synchronised = synchronise(&clock) == MPI_SUCCESS;
        note_folders_apart(private_comm, world_rank, world_size);
    }
    mkdir(folder, 0777);
    snprintf(path, sizeof path, "%s/rank-%06d.log", folder, world_rank);
    int problem = log_create(path, &header);
    if (problem != 0) {
        const char *mend = problem == EEXIST ? ": a program before this one has been recorded there" : "";
        fprintf(stderr, "commmodel: record: %s: %s%s: not recorded\n", path, strerror(problem), mend);
        return;
    }
    handles_prepare(world_size);
    if (gethostname(text, sizeof text) == 0) log_text("host", text);
    log_processors();
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    if (PMPI_Get_library_version(library, &length) == MPI_SUCCESS) {
        library[strcspn(library, "\n")] = '\0';
        log_text("library", library);
    }
    ssize_t read = readlink("/proc/self/exe", text, sizeof text - 1);
    if (read > 0) {
        text[read] = '\0';
        log_text("executable", text);
    }
    if (synchronised) log_clock(clock.tick, clock.seconds, clock.uncertainty);
    sites_prepare();
    pthread_atfork(NULL, NULL, log_forget);
    on_exit(at_exit, NULL);
    depth = 1;
    uint64_t site = enter_log(caller);
    close_call(open_call(code, begin, ticks(), site, 0));  // else comparing clocks would be computation of the program
    recording = 1;
}

static int should_begin(int code) {
    int first = code == MPI_SUCCESS && folder[0] != '\0';
    if (first) clean_environment();
    return first;
}

VISIBLE int MPI_Init(int *argc, char ***argv) {
    uint64_t begin = ticks();
    int code = next.Init(argc, argv), level = MPI_THREAD_SINGLE;
    if (should_begin(code)) {
        PMPI_Query_thread(&level);
        begin_log(begin, level, CODE_Init, __builtin_return_address(0));
    }
    return code;
}
ALSO_PMPI(Init)

VISIBLE int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    uint64_t begin = ticks();
    int code = next.Init_thread(argc, argv, required, provided);
    if (should_begin(code)) begin_log(begin, *provided, CODE_Init_thread, __builtin_return_address(0));
    return code;
}
ALSO_PMPI(Init_thread)

VISIBLE int MPI_Finalize(void) {
    uint64_t begin = ticks();
    struct clock clock;
    int synchronised = 0;
    if (private_comm != MPI_COMM_NULL) {
        synchronised = synchronise(&clock) == MPI_SUCCESS;
        next.Comm_free(&private_comm);
    }
    if (!recording) return next.Finalize();
    depth = 1;
    lock_log();
    if (synchronised) log_clock(clock.tick, clock.seconds, clock.uncertainty);
    unlock_log();
    int code = next.Finalize();
    uint64_t end = ticks();
    uint64_t site = enter_log(__builtin_return_address(0));
    close_call(open_call(CODE_Finalize, begin, end, site, 0));
    lock_log();
    log_end(FINALISED, code);
    unlock_log();
    return code;
}
ALSO_PMPI(Finalize)

VISIBLE int MPI_Abort(MPI_Comm comm, int errorcode) {
    if (recording) {
        uint64_t now = ticks();
        depth = 1;
        uint64_t site = enter_log(__builtin_return_address(0));
        uint64_t communicator = communicator_of(comm)->id;
        unsigned char *p = open_call(CODE_Abort, now, now, site, 16);
        close_call(p == NULL ? NULL : put_unsigned(p, communicator));
        lock_log();
        log_end(ABORTED, errorcode);
        unlock_log();
    }
    return next.Abort(comm, errorcode);
}
ALSO_PMPI(Abort)

VISIBLE int MPI_Pcontrol(const int level, ...) {
    if (depth == 0 && recording) {
        uint64_t now = ticks();
        depth = 1;
        uint64_t site = enter_log(__builtin_return_address(0));
        unsigned char *p = open_call(CODE_Pcontrol, now, now, site, 16);
        close_call(p == NULL ? NULL : put_signed(p, level));
    }
    return MPI_SUCCESS;
}
ALSO_PMPI(Pcontrol)
