// The file of a recording: windows of it are mapped, so that what was written is there however the process ends.

#include "recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { WINDOW_BYTES = 1 << 20, PAGE = 1 << 16, LEAVE_BYTES = 64 };  // PAGE: a multiple of every system's

int recording, several_threads, ticks_counter;
OF_THREAD int depth;
uint64_t first_tick;

static struct {
    int file;
    unsigned char *window, *cursor, *end;  // end: less the room that the last record of all needs
    uint64_t offset;                       // of the window in the file
    size_t mapped;
    int memory;  // files cannot be mapped here: the window is memory, written when it is full
    uint64_t last_end;
    unsigned thread, threads;  // the last that wrote, and how many have
    int full;
} log;

static OF_THREAD unsigned thread;  // from 1

unsigned char *put_text(unsigned char *p, const char *text) {
    size_t length = strnlen(text, MOST_TEXT);
    p = put_unsigned(p, length);
    memcpy(p, text, length);
    return p + length;
}

unsigned char *put_double(unsigned char *p, double value) {
    memcpy(p, &value, sizeof value);
    return p + sizeof value;
}

static int busy;

void lock_log(void) {
    if (several_threads) {
        for (int spins = 0; __atomic_test_and_set(&busy, __ATOMIC_ACQUIRE); spins++)
            if (spins > 100) sched_yield();
    }
}

void unlock_log(void) {
    if (several_threads) __atomic_clear(&busy, __ATOMIC_RELEASE);
}

static void write_memory(void) {
    size_t used = (size_t)(log.cursor - log.window);
    for (size_t done = 0; log.memory && done < used;) {
        ssize_t advance = pwrite(log.file, log.window + done, used - done, (off_t)(log.offset + done));
        if (advance < 0 && errno != EINTR) return;
        done += advance > 0 ? (size_t)advance : 0;
    }
}

// 0, or errno. A limit of the file's size would end the process by a signal: it is looked at before.
static int open_window(uint64_t position, size_t bytes) {
    uint64_t offset = position / PAGE * PAGE;
    size_t length =
        (bytes + LEAVE_BYTES + (size_t)(position - offset) + WINDOW_BYTES - 1) / WINDOW_BYTES * WINDOW_BYTES;
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && offset + length > limit.rlim_cur)
        return EFBIG;
    int code = posix_fallocate(log.file, (off_t)offset, (off_t)length);
    if (code != 0) return code;
    void *window = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, log.file, (off_t)offset);
    if (window == MAP_FAILED) {
        window = malloc(length);
        if (window == NULL) return ENOMEM;
        log.memory = 1;
        memset(window, 0, length);
        write_memory();
        if (log.window != NULL) memcpy(window, log.window + (offset - log.offset), (size_t)(position - offset));
    }
    if (log.window != NULL && log.mapped != 0)
        munmap(log.window, log.mapped);
    else
        free(log.window);
    log.mapped = log.memory ? 0 : length;
    log.window = window;
    log.offset = offset;
    log.cursor = log.window + (position - offset);
    log.end = log.window + length - LEAVE_BYTES;
    return 0;
}

static uint64_t position(void) { return log.offset + (uint64_t)(log.cursor - log.window); }

// The longer the run, the better the rate is known.
static uint64_t first_nanoseconds;

static void write_rate(void) {
    uint64_t now = ticks_of(CLOCK_MONOTONIC), tick = ticks();
    double seconds = 1e-9 * (double)(now - first_nanoseconds);
    double rate = (double)(tick - first_tick) / seconds;
    if (ticks_counter && seconds > 0.1) {
        ssize_t ignored = pwrite(log.file, &rate, sizeof rate, offsetof(struct log_header, ticks_per_second));
        (void)ignored;
    }
}

int log_create(const char *path, const struct log_header *header) {
    log.file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (log.file < 0) return errno;
    int code = open_window(0, sizeof *header);
    if (code != 0) {
        close(log.file);
        return code;
    }
    memcpy(log.cursor, header, sizeof *header);
    log.cursor += sizeof *header;
    log.last_end = first_tick;
    first_nanoseconds =
        ticks_of(CLOCK_MONOTONIC) - (uint64_t)(1e9 * (double)(ticks() - first_tick) / header->ticks_per_second);
    return 0;
}

unsigned char *log_reserve(size_t bytes) {
    if (UNLIKELY(bytes > (size_t)(log.end - log.cursor))) {
        if (log.full) return NULL;
        int code = open_window(position(), bytes);
        if (code != 0) {
            log_end(DISK_FULL, code);
            return NULL;
        }
        write_rate();
    }
    return log.cursor;
}

void log_commit(unsigned char *record, unsigned char *end, int kind) {
    log.cursor = end;
    __atomic_store_n(record, (unsigned char)kind, __ATOMIC_RELEASE);  // last: half a record is never read
}

// There is always room for this record.
void log_end(int reason, int64_t code) {
    if (log.full || log.window == NULL) return;
    log.full = 1;
    recording = 0;
    unsigned char *p = log.cursor;
    log_commit(p, put_unsigned(put_signed(put_unsigned(p + 1, (uint64_t)reason), code), ticks() - first_tick),
               LOG_LEAVE);
    write_rate();
    write_memory();
    int ignored = ftruncate(log.file, (off_t)position());
    (void)ignored;
    if (!log.memory) munmap(log.window, log.mapped);
    log.window = log.cursor = log.end = NULL;
    close(log.file);
}

void log_text(const char *key, const char *value) {
    unsigned char *p = log_reserve(2 * MOST_TEXT + 32);
    if (p != NULL) log_commit(p, put_text(put_text(p + 1, key), value), LOG_TEXT);
}

void lock_sites(void) { lock_log(); }
void unlock_sites(void) { unlock_log(); }
void no_sites(const char *reason) { log_text("no call sites", reason); }

int keep_site(uint64_t id, const char *file, uint64_t line, const char *function, unsigned language) {
    unsigned char *record = log_reserve(2 * MOST_TEXT + 64);
    if (record == NULL) return 0;
    unsigned char *p = put_text(put_unsigned(record + 1, id), file);
    p = put_text(put_unsigned(p, line), function);
    log_commit(record, put_unsigned(p, language), LOG_SITE);
    return 1;
}

uint64_t enter_log(const void *caller) {
    lock_log();
    return site_of(caller);
}

void log_clock(uint64_t tick, double seconds, double uncertainty) {
    unsigned char *p = log_reserve(64);
    if (p != NULL)
        log_commit(p, put_double(put_double(put_unsigned(p + 1, tick - first_tick), seconds), uncertainty), LOG_CLOCK);
}

void log_data(uint64_t element, unsigned flags) {
    static uint64_t last_element;
    static unsigned last_flags;
    if (element == last_element && flags == last_flags) return;
    unsigned char *p = log_reserve(32);
    if (p != NULL) {
        log_commit(p, put_unsigned(put_unsigned(p + 1, element), flags), LOG_DATA);
        last_element = element;
        last_flags = flags;
    }
}

void log_content(uint64_t layout) {
    static uint64_t last;
    if (layout == last) return;
    define_layout(layout);
    unsigned char *p = log_reserve(32);
    if (p != NULL) {
        log_commit(p, put_unsigned(p + 1, layout), LOG_CONTENT);
        last = layout;
    }
}

static void write_thread(void) {
    if (thread == 0) thread = ++log.threads;
    unsigned char *p = log_reserve(32);
    if (p != NULL && log.thread != thread) {
        log.thread = thread;
        log_commit(p, put_unsigned(p + 1, thread - 1), LOG_THREAD);
    }
}

static unsigned char *record;

unsigned char *open_call(unsigned code, uint64_t begin, uint64_t end, uint64_t site, size_t room) {
    if (UNLIKELY(log.thread != thread || thread == 0)) write_thread();
    unsigned char *p = record = log_reserve(64 + room);
    if (UNLIKELY(p == NULL)) return NULL;
    p = put_unsigned(p + 1, code);
    p = put_signed(p, (int64_t)(begin - log.last_end));
    p = put_unsigned(p, end > begin ? end - begin : 0);
    log.last_end = end;
    return put_unsigned(p, site);
}

void close_call(unsigned char *end) {
    if (end != NULL) log_commit(record, end, LOG_CALL);
    unlock_log();
    depth = 0;
}

void log_forget(void) {
    recording = 0;
    log.full = 1;
}
