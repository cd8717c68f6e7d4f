/* The program: what a C program with its own MPI_Init gets. mpiexec -n 2 yardstick [pingpong|stream|allreduce|start-up ...]
 * [-o results.jsonl] [--sizes 1,1024] [--repetitions N] [--batch N] [--huge-pages never|always|system]
 * [--stream-buffers each|one] [--thread-level single|funneled|serialized|multiple] [--as-osu].
 *
 * Ranks 0 and 1 run each loop once for each size, rank 0 writes the samples to a file for commmodel.results; further
 * ranks only wait. Exit codes as commmodel's: 2 wrong usage, 3 too few ranks.
 */
#define _GNU_SOURCE /* getopt_long, madvise, sched_getcpu */

#include "allreduce.h"
#include "clock.h"
#include "osu.h"
#include "pingpong.h"
#include "results.h"
#include "streams.h"
#include "clock/ticks.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define USAGE                                                                                              \
    "mpiexec -n 2 yardstick [pingpong|stream|allreduce|start-up ...] [-o results.jsonl] [--sizes 1,1024] " \
    "[--repetitions 1000] [--batch 1] [--huge-pages never|always|system] [--stream-buffers each|one] "     \
    "[--thread-level single|funneled|serialized|multiple] [--as-osu]"

enum { EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_TOO_FEW_RANKS = 3 };
enum { MOST_SIZES = 256, MOST_REPETITIONS = 100000000, HUGE_PAGE = 2 << 20 };
enum { WARMUP_DIVISOR = 10 };                             /* a tenth of the repetitions, on top of them */
enum { WINDOW = 64, WINDOW_BYTES = 16 << 20, LINE = 64 }; /* as commmodel.bench.kernels.kernel has them */
enum { PINGPONG, STREAM, ALLREDUCE, START_UP, LOOPS };
static const char *const loop_names[] = {"pingpong", "stream", "allreduce", "start-up", NULL};
enum { INIT, FIRST_BARRIER, STAGES };
static const char *const stage_names[] = {"init", "first-barrier"};
static const char *const huge_page_names[] = {"never", "always", "system", NULL};
static const char *const buffer_names[] = {"each", "one", NULL};
static const char *const level_names[] = {"single", "funneled", "serialized", "multiple", NULL};
static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};

struct options {
    const char *output, *huge_pages, *buffers;
    int wanted[LOOPS];
    int level; /* index into `levels` */
    int as_osu;
    int sizes[MOST_SIZES];
    int size_count;
    long repetitions, batch;
    int help;
    char error[512]; /* empty if all is well */
};

#define CHECK(call) check((call), #call)

static void check(int code, const char *call) {
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING] = "unknown error";
    int length;
    MPI_Error_string(code, text, &length);
    fprintf(stderr, "yardstick: %s: %s\n", call, text);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILED);
    exit(EXIT_FAILED);
}

static void fail(const char *what, const char *why) {
    fprintf(stderr, "yardstick: %s: %s\n", what, why);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILED);
    exit(EXIT_FAILED);
}

/* A whole number from `least` to `most` at the start of the text, and where it ends; -1 if there is none. */
static long parse_number(const char *text, long least, long most, const char **end) {
    char *stop = NULL;
    errno = 0;
    long value = isdigit((unsigned char)*text) ? strtol(text, &stop, 10) : -1;
    if (!stop || errno || value < least || value > most) return -1;
    *end = stop;
    return value;
}

static void parse_count(struct options *options, const char *name, const char *text, long *count) {
    const char *end = "";
    *count = parse_number(text, 1, MOST_REPETITIONS, &end);
    if (*count < 0 || *end)
        snprintf(options->error, sizeof options->error, "--%s %.100s: must be a whole number from 1 to %d", name, text,
                 MOST_REPETITIONS);
}

static void parse_sizes(struct options *options, const char *text) {
    const char *rest = text;
    options->size_count = 0;
    while (options->size_count < MOST_SIZES) {
        long size = parse_number(rest, 0, INT_MAX, &rest);
        if (size < 0) break;
        options->sizes[options->size_count++] = (int)size;
        if (!*rest) return;
        if (*rest++ != ',') break;
    }
    snprintf(options->error, sizeof options->error,
             "--sizes %.100s: must be at most %d whole numbers of bytes up to %d, with commas, like 1,1024", text,
             MOST_SIZES, INT_MAX);
}

/* The place of a word among names; -1, and an error, if it is none of them. */
static int parse_name(struct options *options, const char *what, const char *text, const char *const *names) {
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], text) == 0) return i;
    int used = snprintf(options->error, sizeof options->error, "%s%.100s: must be one of", what, text);
    for (int i = 0; names[i]; i++)
        used += snprintf(options->error + used, sizeof options->error - (size_t)used, " %s", names[i]);
    return -1;
}

static void parse_loops(struct options *options, int argc, char **argv) {
    if (optind == argc) options->wanted[PINGPONG] = 1;
    for (int i = optind; i < argc; i++) {
        int loop = parse_name(options, "", argv[i], loop_names);
        if (loop < 0) return;
        options->wanted[loop] = 1;
    }
}

static void parse(struct options *options, int argc, char **argv) {
    enum { BUFFERS = 'B', LEVEL = 'L', AS_OSU = 'O' };
    static const struct option names[] = {
        {"stream-buffers", required_argument, NULL, BUFFERS},
        {"thread-level", required_argument, NULL, LEVEL},
        {"as-osu", no_argument, NULL, AS_OSU},
        {"output", required_argument, NULL, 'o'},
        {"sizes", required_argument, NULL, 's'},
        {"repetitions", required_argument, NULL, 'r'},
        {"batch", required_argument, NULL, 'b'},
        {"huge-pages", required_argument, NULL, 'p'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    *options = (struct options){
        .output = "results.jsonl",
        .huge_pages = "never",
        .buffers = "each",
        .repetitions = 1000,
        .batch = 1,
    };
    for (int size = 1; size <= 4 << 20; size *= 2) options->sizes[options->size_count++] = size;
    opterr = 0; /* one line from rank 0 instead of one from each rank */
    for (int option; !*options->error && (option = getopt_long(argc, argv, "o:h", names, NULL)) != -1;) {
        switch (option) {
            case 'o': options->output = optarg; break;
            case 's': parse_sizes(options, optarg); break;
            case 'r': parse_count(options, "repetitions", optarg, &options->repetitions); break;
            case 'b': parse_count(options, "batch", optarg, &options->batch); break;
            case 'p': parse_name(options, "--huge-pages ", options->huge_pages = optarg, huge_page_names); break;
            case BUFFERS: parse_name(options, "--stream-buffers ", options->buffers = optarg, buffer_names); break;
            case LEVEL: options->level = parse_name(options, "--thread-level ", optarg, level_names); break;
            case AS_OSU: options->as_osu = 1; break;
            case 'h': options->help = 1; break;
            default:
                snprintf(options->error, sizeof options->error, "%.100s: no such option, or its value is missing: %s",
                         argv[optind - 1], USAGE);
        }
    }
    if (*options->error) return;
    if (options->as_osu) options->buffers = "one";
    parse_loops(options, argc, argv);
}

/* Pages of our own, aligned to a huge page and each written once, as commmodel.bench.buffers makes them. */
static void *allocate(size_t size, const char *huge_pages) {
    size_t length = size + 2 * (size_t)HUGE_PAGE;
    void *region = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (region == MAP_FAILED) fail("no memory for a message buffer", strerror(errno));
    if (strcmp(huge_pages, "system") != 0) /* an error means a kernel without huge pages: we get none */
        (void)madvise(region, length, strcmp(huge_pages, "always") == 0 ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    char *aligned = (char *)(((uintptr_t)region + HUGE_PAGE - 1) & ~((uintptr_t)HUGE_PAGE - 1));
    memset(aligned, 1, size ? size : 1);
    return aligned;
}

static void say_on_rank_0(int rank, const char *format, ...) {
    if (rank != 0) return;
    va_list arguments;
    va_start(arguments, format);
    fputs("yardstick: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

/* Open the file on rank 0. All ranks learn whether that went well; the others get no file. */
static int open_output(const char *path, int rank, FILE **file) {
    int problem = 0;
    *file = NULL;
    if (rank == 0 && !(*file = fopen(path, "wx"))) problem = errno;
    CHECK(MPI_Bcast(&problem, 1, MPI_INT, 0, MPI_COMM_WORLD));
    if (problem == EEXIST)
        say_on_rank_0(rank, "%s exists: name another file with -o", path);
    else if (problem)
        say_on_rank_0(rank, "%s: cannot be written: %s", path, strerror(problem));
    return problem == 0;
}

static void gather_places(struct place *places) {
    struct place here = {.cpu = sched_getcpu()};
    int length;
    CHECK(MPI_Get_processor_name(here.host, &length));
    CHECK(MPI_Allgather(&here, sizeof here, MPI_BYTE, places, sizeof here, MPI_BYTE, MPI_COMM_WORLD));
}

static void write_header(FILE *file, const struct options *options, char **argv, const struct place *places, int ranks,
                         struct clock clock) {
    char library[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "", standard[32];
    int length, version, subversion;
    CHECK(MPI_Get_library_version(library, &length));
    while (length > 0 && isspace((unsigned char)library[length - 1])) library[--length] = '\0';
    CHECK(MPI_Get_version(&version, &subversion));
    snprintf(standard, sizeof standard, "%d.%d", version, subversion);
    int provided = 0;
    CHECK(MPI_Query_thread(&provided));
    int level = 0;
    while (level_names[level + 1] && levels[level] != provided) level++;
    const struct launch launch = {
        .thread_level = level_names[level],
        .thread_level_asked = level_names[options->level],
        .command = argv,
        .library = library,
        .standard = standard,
        .places = places,
        .ranks = ranks,
        .clock = clock,
        .alignment = HUGE_PAGE,
        .huge_pages = options->huge_pages,
    };
    if (results_header(file, &launch)) fail(options->output, strerror(errno));
}

/* What one loop is given at one size; `first` is rank 0, which sends first. */
struct task {
    const struct options *options;
    MPI_Comm pair;
    int rank, size, window;
    ptrdiff_t stride;
    char *outgoing, *incoming;
    struct clock clock;
    uint64_t *ticks;
};

static ptrdiff_t stride_of(int size) { return ((ptrdiff_t)size + LINE - 1) / LINE * LINE; }

static int window_of(const struct options *options, int size) {
    ptrdiff_t fitting = WINDOW_BYTES / (size ? stride_of(size) : 1);
    if (strcmp(options->buffers, "one") == 0 || fitting > WINDOW) return WINDOW;
    return fitting ? (int)fitting : 1;
}

static size_t room_for(const struct options *options, int size) {
    if (!options->wanted[STREAM] || strcmp(options->buffers, "one") == 0) return (size_t)size;
    return (size_t)(stride_of(size) * window_of(options, size));
}

static void make_as_osu(const struct task *task, int loop, ptrdiff_t repetitions, double *seconds) {
    int peer = !task->rank, first = task->rank == 0;
    char *buffer = first ? task->outgoing : task->incoming;
    if (loop == PINGPONG)
        CHECK(osu_pingpong(task->pair, peer, first, task->outgoing, task->incoming, task->size, repetitions, seconds));
    else if (loop == STREAM)
        CHECK(osu_stream(task->pair, peer, first, buffer, task->size, task->window, repetitions, seconds));
    else
        CHECK(osu_allreduce(task->pair, task->outgoing, task->incoming, task->size, repetitions, seconds));
}

/* Run a loop and write this rank's seconds of each of its repetitions. */
static void make(const struct task *task, int loop, ptrdiff_t repetitions, double *seconds) {
    int peer = !task->rank, first = task->rank == 0, clock = task->clock.number;
    char *buffer = first ? task->outgoing : task->incoming;
    if (task->options->as_osu) {
        make_as_osu(task, loop, repetitions, seconds);
        return;
    }
    if (loop == PINGPONG)
        CHECK(pingpong(&task->pair, peer, first, task->outgoing, task->incoming, task->size, repetitions,
                       task->options->batch, clock, task->ticks));
    else if (loop == STREAM)
        CHECK(stream(task->pair, peer, first, buffer, task->size, task->stride, task->window, repetitions, clock,
                     task->ticks));
    else
        CHECK(allreduce(task->pair, task->outgoing, task->incoming, task->size, repetitions, clock, task->ticks));
    for (ptrdiff_t i = 0; i < repetitions; i++) seconds[i] = (double)task->ticks[i] / task->clock.frequency;
}

/* Make of both ranks' seconds what a sample is: of one message, or of an operation on its slower rank (OSU's: the mean
 * of the ranks). */
static void as_samples(const struct task *task, int loop, long batch, double *seconds) {
    long repetitions = task->options->repetitions;
    double parts = loop == PINGPONG ? 2 * (double)batch : loop == STREAM ? task->window : 1;
    if (loop == ALLREDUCE) {
        double *mine = malloc((size_t)repetitions * sizeof *mine);
        if (!mine) fail("no memory for the samples", strerror(errno));
        memcpy(mine, seconds, (size_t)repetitions * sizeof *mine);
        CHECK(MPI_Reduce(mine, seconds, (int)repetitions, MPI_DOUBLE, task->options->as_osu ? MPI_SUM : MPI_MAX, 0,
                         task->pair));
        if (task->options->as_osu) parts = 2;
        free(mine);
    }
    for (long i = 0; i < repetitions; i++) seconds[i] /= parts;
}

static void measure_loop(FILE *file, struct task *task, int loop, const char *path, double *seconds,
                         uint64_t launched) {
    const struct options *options = task->options;
    long batch = loop == PINGPONG && !options->as_osu ? options->batch : 1;
    long warmup = 1 + (options->repetitions - 1) / WARMUP_DIVISOR;
    uint64_t begun = ticks_of(CLOCK_MONOTONIC);
    make(task, loop, warmup, seconds);
    make(task, loop, options->repetitions, seconds);
    as_samples(task, loop, batch, seconds);
    const struct record record = {
        .loop = loop_names[loop],
        .size = task->size,
        .path = path,
        .batch = batch,
        .warmup = warmup * batch,
        .window = task->window,
        .buffers = options->buffers,
        .repetitions = options->repetitions,
        .seconds = seconds,
        .started = (double)(begun - launched) * 1e-9,
        .duration = (double)(ticks_of(CLOCK_MONOTONIC) - begun) * 1e-9,
    };
    if (file && results_record(file, &record)) fail(options->output, strerror(errno));
}

static void measure(FILE *file, const struct options *options, MPI_Comm pair, int rank, const char *path,
                    struct clock clock) {
    int largest = 0;
    size_t room = 0, count = (size_t)options->repetitions;
    for (int i = 0; i < options->size_count; i++) {
        if (options->sizes[i] > largest) largest = options->sizes[i];
        if (room_for(options, options->sizes[i]) > room) room = room_for(options, options->sizes[i]);
    }
    struct task task = {
        .options = options,
        .pair = pair,
        .rank = rank,
        .clock = clock,
        .outgoing = allocate((size_t)largest, options->huge_pages),
        .incoming = allocate(room, options->huge_pages),
        .ticks = calloc(count, sizeof *task.ticks),
    };
    double *seconds = calloc(count, sizeof *seconds);
    if (!task.ticks || !seconds) fail("no memory for the samples", strerror(errno));
    memset(task.ticks, 1, count * sizeof *task.ticks); /* touched here, not first in the loop */
    memset(seconds, 1, count * sizeof *seconds);

    uint64_t launched = ticks_of(CLOCK_MONOTONIC);
    for (int loop = 0; loop < START_UP; loop++)
        for (int i = 0; i < options->size_count && options->wanted[loop]; i++) {
            task.size = options->sizes[i];
            task.window = window_of(options, task.size);
            task.stride = strcmp(options->buffers, "one") == 0 ? 0 : stride_of(task.size);
            measure_loop(file, &task, loop, path, seconds, launched);
        }
    free(task.ticks);
    free(seconds);
}

/* Write the time of each stage of the start on its slowest rank: one sample a launch. */
static void write_start(FILE *file, const struct options *options, int ranks, const double *stages) {
    double slowest[STAGES];
    CHECK(MPI_Reduce(stages, slowest, STAGES, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD));
    for (int stage = 0; file && stage < STAGES; stage++) {
        const struct record record = {
            .loop = loop_names[START_UP],
            .stage = stage_names[stage],
            .ranks = ranks,
            .batch = 1,
            .repetitions = 1,
            .seconds = &slowest[stage],
        };
        if (results_record(file, &record)) fail(options->output, strerror(errno));
    }
}

static int run(struct options options, char **argv, const double *stages) {
    int rank, ranks;
    FILE *file;
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    if (*options.error) {
        say_on_rank_0(rank, "%s", options.error);
        return EXIT_USAGE;
    }
    if (options.help) {
        if (rank == 0) puts(USAGE);
        return EXIT_SUCCESS;
    }
    if (ranks < 2) {
        say_on_rank_0(rank, "needs two ranks: mpiexec -n 2 %s", argv[0]);
        return EXIT_TOO_FEW_RANKS;
    }
    if (!open_output(options.output, rank, &file)) return EXIT_USAGE;

    struct place *places = calloc((size_t)ranks, sizeof *places);
    if (!places) fail("no memory", strerror(errno));
    gather_places(places);
    struct clock clock = clock_choose();
    if (file) write_header(file, &options, argv, places, ranks, clock);
    if (options.wanted[START_UP]) write_start(file, &options, ranks, stages);
    MPI_Comm pair;
    CHECK(MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 0 : MPI_UNDEFINED, rank, &pair));
    if (rank < 2) {
        int together = strcmp(places[0].host, places[1].host) == 0;
        measure(file, &options, pair, rank, together ? "same-node" : "between-nodes", clock);
        CHECK(MPI_Comm_free(&pair));
    }
    if (file && fclose(file)) fail(options.output, strerror(errno));
    free(places);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv) {
    struct options options;
    double stages[STAGES];
    parse(&options, argc, argv);
    uint64_t begun = ticks_of(CLOCK_MONOTONIC);
    if (options.level > 0) { /* else as nearly all programs begin */
        int provided;
        CHECK(MPI_Init_thread(&argc, &argv, levels[options.level], &provided));
    } else {
        CHECK(MPI_Init(&argc, &argv));
    }
    stages[INIT] = (double)(ticks_of(CLOCK_MONOTONIC) - begun) * 1e-9;
    if (options.wanted[START_UP]) CHECK(MPI_Barrier(MPI_COMM_WORLD));
    stages[FIRST_BARRIER] = (double)(ticks_of(CLOCK_MONOTONIC) - begun) * 1e-9;
    int code = run(options, argv, stages);
    /* A launcher may stop every rank when one exits with an error: none does so before rank 0 has spoken. */
    CHECK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(MPI_Finalize());
    return code;
}
