/* The program: mpiexec -n 2 pingpong [-o results.jsonl] [--sizes 1,1024] [--repetitions N] [--batch N]
 * [--huge-pages never|always|system].
 *
 * Ranks 0 and 1 run the loop of pingpong.c once for each size, rank 0 writes its samples to a file for
 * commmodel.results; further ranks only wait. Exit codes as commmodel's: 2 wrong usage, 3 too few ranks.
 */
#define _GNU_SOURCE /* getopt_long, madvise, sched_getcpu */

#include "clock.h"
#include "pingpong.h"
#include "results.h"
#include "ticks.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define USAGE                                                                                             \
    "mpiexec -n 2 pingpong [-o results.jsonl] [--sizes 1,1024,65536] [--repetitions 1000] [--batch 1] "   \
    "[--huge-pages never|always|system]"

enum { EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_TOO_FEW_RANKS = 3 };
enum { MOST_SIZES = 256, MOST_REPETITIONS = 100000000, HUGE_PAGE = 2 << 20 };
enum { WARMUP_DIVISOR = 10 }; /* a tenth of the repetitions, on top of them */

struct options {
    const char *output, *huge_pages;
    int sizes[MOST_SIZES];
    int size_count;
    long repetitions, batch;
    int help;
    char error[512]; /* empty if all is well */
};

#define CHECK(call) check((call), #call)

static void check(int code, const char *call)
{
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING] = "unknown error";
    int length;
    MPI_Error_string(code, text, &length);
    fprintf(stderr, "pingpong: %s: %s\n", call, text);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILED);
    exit(EXIT_FAILED);
}

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "pingpong: %s: %s\n", what, why);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILED);
    exit(EXIT_FAILED);
}

/* A whole number from `least` to `most` at the start of the text, and where it ends; -1 if there is none. */
static long parse_number(const char *text, long least, long most, const char **end)
{
    char *stop = NULL;
    errno = 0;
    long value = isdigit((unsigned char)*text) ? strtol(text, &stop, 10) : -1;
    if (!stop || errno || value < least || value > most) return -1;
    *end = stop;
    return value;
}

static void parse_count(struct options *options, const char *name, const char *text, long *count)
{
    const char *end = "";
    *count = parse_number(text, 1, MOST_REPETITIONS, &end);
    if (*count < 0 || *end)
        snprintf(options->error, sizeof options->error, "--%s %.100s: must be a whole number from 1 to %d",
                 name, text, MOST_REPETITIONS);
}

static void parse_sizes(struct options *options, const char *text)
{
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
             "--sizes %.100s: must be at most %d whole numbers of bytes up to %d, with commas, like 1,1024",
             text, MOST_SIZES, INT_MAX);
}

static void parse(struct options *options, int argc, char **argv)
{
    static const struct option names[] = {
        {"output", required_argument, NULL, 'o'}, {"sizes", required_argument, NULL, 's'},
        {"repetitions", required_argument, NULL, 'r'}, {"batch", required_argument, NULL, 'b'},
        {"huge-pages", required_argument, NULL, 'p'}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0},
    };
    *options = (struct options){
        .output = "results.jsonl", .huge_pages = "never", .repetitions = 1000, .batch = 1,
    };
    for (int size = 1; size <= 4 << 20; size *= 2) options->sizes[options->size_count++] = size;
    opterr = 0; /* one line from rank 0 instead of one from each rank */
    for (int option; !*options->error && (option = getopt_long(argc, argv, "o:h", names, NULL)) != -1;) {
        switch (option) {
        case 'o': options->output = optarg; break;
        case 's': parse_sizes(options, optarg); break;
        case 'r': parse_count(options, "repetitions", optarg, &options->repetitions); break;
        case 'b': parse_count(options, "batch", optarg, &options->batch); break;
        case 'p': options->huge_pages = optarg; break;
        case 'h': options->help = 1; break;
        default:
            snprintf(options->error, sizeof options->error,
                     "%.100s: no such option, or its value is missing: %s", argv[optind - 1], USAGE);
        }
    }
    if (*options->error) return;
    if (optind < argc)
        snprintf(options->error, sizeof options->error, "%.100s: takes options only: %s", argv[optind], USAGE);
    else if (strcmp(options->huge_pages, "never") && strcmp(options->huge_pages, "always") &&
             strcmp(options->huge_pages, "system"))
        snprintf(options->error, sizeof options->error, "--huge-pages %.100s: must be never, always or system",
                 options->huge_pages);
}

/* Pages of our own, aligned to a huge page and each written once, as commmodel.bench.buffers makes them. */
static void *allocate(size_t size, const char *huge_pages)
{
    size_t length = size + 2 * (size_t)HUGE_PAGE;
    void *region = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (region == MAP_FAILED) fail("no memory for a message buffer", strerror(errno));
    if (strcmp(huge_pages, "system") != 0) /* an error means a kernel without huge pages: we get none */
        (void)madvise(region, length, strcmp(huge_pages, "always") == 0 ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    char *aligned = (char *)(((uintptr_t)region + HUGE_PAGE - 1) & ~((uintptr_t)HUGE_PAGE - 1));
    memset(aligned, 1, size ? size : 1);
    return aligned;
}

static void say_on_rank_0(int rank, const char *format, ...)
{
    if (rank != 0) return;
    va_list arguments;
    va_start(arguments, format);
    fputs("pingpong: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

/* Open the file on rank 0. All ranks learn whether that went well; the others get no file. */
static int open_output(const char *path, int rank, FILE **file)
{
    int problem = 0;
    *file = NULL;
    if (rank == 0 && !(*file = fopen(path, "wx"))) problem = errno;
    CHECK(MPI_Bcast(&problem, 1, MPI_INT, 0, MPI_COMM_WORLD));
    if (problem == EEXIST) say_on_rank_0(rank, "%s exists: name another file with -o", path);
    else if (problem) say_on_rank_0(rank, "%s: cannot be written: %s", path, strerror(problem));
    return problem == 0;
}

static void gather_places(struct place *places)
{
    struct place here = {.cpu = sched_getcpu()};
    int length;
    CHECK(MPI_Get_processor_name(here.host, &length));
    CHECK(MPI_Allgather(&here, sizeof here, MPI_BYTE, places, sizeof here, MPI_BYTE, MPI_COMM_WORLD));
}

static void write_header(FILE *file, const struct options *options, char **argv, const struct place *places,
                         int ranks, struct clock clock)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "", standard[32];
    int length, version, subversion;
    CHECK(MPI_Get_library_version(library, &length));
    while (length > 0 && isspace((unsigned char)library[length - 1])) library[--length] = '\0';
    CHECK(MPI_Get_version(&version, &subversion));
    snprintf(standard, sizeof standard, "%d.%d", version, subversion);
    const struct launch launch = {
        .command = argv, .library = library, .standard = standard, .places = places, .ranks = ranks,
        .clock = clock, .alignment = HUGE_PAGE, .huge_pages = options->huge_pages,
    };
    if (results_header(file, &launch)) fail(options->output, strerror(errno));
}

static void measure(FILE *file, const struct options *options, int rank, const char *path, struct clock clock)
{
    int largest = 0;
    for (int i = 0; i < options->size_count; i++)
        if (options->sizes[i] > largest) largest = options->sizes[i];
    void *outgoing = allocate((size_t)largest, options->huge_pages);
    void *incoming = allocate((size_t)largest, options->huge_pages);
    uint64_t *ticks = calloc((size_t)options->repetitions, sizeof *ticks);
    if (!ticks) fail("no memory for the samples", strerror(errno));
    memset(ticks, 1, (size_t)options->repetitions * sizeof *ticks); /* touched here, not first in the loop */

    MPI_Comm world = MPI_COMM_WORLD;
    long warmup = 1 + (options->repetitions - 1) / WARMUP_DIVISOR;
    uint64_t launched = ticks_of(CLOCK_MONOTONIC);
    for (int i = 0; i < options->size_count; i++) {
        uint64_t begun = ticks_of(CLOCK_MONOTONIC);
        int size = options->sizes[i];
        CHECK(pingpong(&world, !rank, rank == 0, outgoing, incoming, size, warmup, options->batch, clock.number,
                       ticks));
        CHECK(pingpong(&world, !rank, rank == 0, outgoing, incoming, size, options->repetitions, options->batch,
                       clock.number, ticks));
        const struct record record = {
            .size = size, .path = path, .batch = options->batch, .warmup = warmup * options->batch,
            .repetitions = options->repetitions, .ticks = ticks, .frequency = clock.frequency,
            .started = (double)(begun - launched) * 1e-9,
            .duration = (double)(ticks_of(CLOCK_MONOTONIC) - begun) * 1e-9,
        };
        if (file && results_record(file, &record)) fail(options->output, strerror(errno));
    }
    free(ticks);
}

static int run(int argc, char **argv)
{
    struct options options;
    int rank, ranks;
    FILE *file;
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    parse(&options, argc, argv);
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
    if (rank < 2) {
        int together = strcmp(places[0].host, places[1].host) == 0;
        measure(file, &options, rank, together ? "same-node" : "between-nodes", clock);
    }
    if (file && fclose(file)) fail(options.output, strerror(errno));
    free(places);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    CHECK(MPI_Init(&argc, &argv));
    int code = run(argc, argv);
    /* A launcher may stop every rank when one exits with an error: none does so before rank 0 has spoken. */
    CHECK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(MPI_Finalize());
    return code;
}
