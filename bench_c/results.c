/* results.jsonl, format commmodel-results version 1 (see commmodel.results, which reads it): a header, then
 * one line for each message size. A line is on disk before the next size is measured, so that a killed run
 * loses at most one.
 */
#define _GNU_SOURCE /* fsync, gmtime_r */

#include "results.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

/* Bytes of the UTF-8 sequence at `text`; 0 where there is none. File names need not be UTF-8, JSON must be. */
static int sequence_length(const unsigned char *text) {
    static const struct {
        unsigned char first, last, low, high;
        int length;
    } kinds[] = {
        {0x20, 0x7f, 0x80, 0xbf, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (text[0] < kinds[i].first || text[0] > kinds[i].last) continue;
        if (kinds[i].length > 1 && (text[1] < kinds[i].low || text[1] > kinds[i].high)) return 0;
        for (int j = 2; j < kinds[i].length; j++)
            if (text[j] < 0x80 || text[j] > 0xbf) return 0;
        return kinds[i].length;
    }
    return 0;
}

static void write_text(FILE *file, const char *string) {
    const unsigned char *text = (const unsigned char *)string;
    fputc('"', file);
    while (*text) {
        int length = sequence_length(text);
        if (*text == '"' || *text == '\\') {
            fprintf(file, "\\%c", *text++);
        } else if (length) {
            fwrite(text, 1, (size_t)length, file);
            text += length;
        } else {
            fprintf(file, *text < 0x20 ? "\\u%04x" : "\\ufffd", *text);
            text++;
        }
    }
    fputc('"', file);
}

static void write_member(FILE *file, const char *name, const char *text) {
    fprintf(file, "\"%s\":", name);
    write_text(file, text);
}

static int end_line(FILE *file) {
    fputc('\n', file);
    return fflush(file) || ferror(file) || fsync(fileno(file)) ? -1 : 0;
}

/* The rank that stands for the host of `rank`: the lowest one there. */
static int lowest_rank_there(const struct launch *launch, int rank) {
    int lowest = 0;
    while (strcmp(launch->places[lowest].host, launch->places[rank].host) != 0) lowest++;
    return lowest;
}

static void write_hosts(FILE *file, const struct launch *launch) {
    const struct clock *clock = &launch->clock;
    fputs(",\"hosts\":[", file);
    for (int rank = 0; rank < launch->ranks; rank++) {
        if (lowest_rank_there(launch, rank) != rank) continue;
        fputs(rank ? ",{" : "{", file);
        write_member(file, "name", launch->places[rank].host);
        if (rank == 0) {
            fputs(",\"clock\":{", file);
            write_member(file, "kind", clock->kind);
            fprintf(file, ",\"frequency\":%.12g,", clock->frequency);
            write_member(file, "frequency_source", clock->source);
            fprintf(file, ",\"resolution\":%.4g,\"cost\":%.4g}", clock->resolution, clock->cost);
        }
        fputc('}', file);
    }
    fputc(']', file);
}

static int host_index(const struct launch *launch, int rank) {
    int index = 0;
    for (int lower = 0; lower < lowest_rank_there(launch, rank); lower++)
        index += lowest_rank_there(launch, lower) == lower;
    return index;
}

static void write_ranks(FILE *file, const struct launch *launch) {
    fputs(",\"ranks\":[", file);
    for (int rank = 0; rank < launch->ranks; rank++)
        fprintf(file, "%s{\"rank\":%d,\"host\":%d,\"cpu\":%d}", rank ? "," : "", rank, host_index(launch, rank),
                launch->places[rank].cpu);
    fputc(']', file);
}

int results_header(FILE *file, const struct launch *launch) {
    char created[32];
    time_t now = time(NULL);
    struct tm utc;
    strftime(created, sizeof created, "%Y-%m-%dT%H:%M:%S+00:00", gmtime_r(&now, &utc));
    fputs("{\"type\":\"header\",\"format\":\"commmodel-results\",\"version\":1,", file);
    fprintf(file, "\"created\":\"%s\",\"command\":[", created);
    for (char *const *argument = launch->command; *argument; argument++) {
        if (argument != launch->command) fputc(',', file);
        write_text(file, *argument);
    }
    fputs("],\"mpi\":{", file);
    write_member(file, "version", launch->library);
    fputs(",\"abi\":\"" ABI_NAME "\",", file);
    write_member(file, "standard", launch->standard);
    fputc(',', file);
    write_member(file, "thread_level", launch->thread_level);
    fputc(',', file);
    write_member(file, "thread_level_asked", launch->thread_level_asked);
    fputc('}', file);
    write_hosts(file, launch);
    write_ranks(file, launch);
    fputs(",\"versions\":{", file);
    write_member(file, "C compiler", __VERSION__);
    fprintf(file, "},\"buffers\":{\"alignment\":%zu,", launch->alignment);
    write_member(file, "huge_pages", launch->huge_pages);
    fputs("}}", file);
    return end_line(file);
}

static void write_configuration(FILE *file, const struct record *record) {
    if (strcmp(record->loop, "allreduce") == 0)
        fprintf(file, "{\"kernel\":\"collective\",\"operation\":\"allreduce\",\"message_size\":%d,\"processes\":2}",
                record->size);
    else if (strcmp(record->loop, "start-up") == 0)
        fprintf(file, "{\"kernel\":\"start-up\",\"stage\":\"%s\",\"processes\":%d}", record->stage, record->ranks);
    else if (strcmp(record->loop, "stream") == 0)
        fprintf(file,
                "{\"kernel\":\"stream\",\"message_size\":%d,\"pairs\":1,\"path\":\"%s\",\"window\":%d,"
                "\"buffers\":\"%s\"}",
                record->size, record->path, record->window, record->buffers);
    else
        fprintf(file, "{\"kernel\":\"pingpong\",\"message_size\":%d,\"path\":\"%s\",\"batch\":%ld}", record->size,
                record->path, record->batch);
}

int results_record(FILE *file, const struct record *record) {
    fputs("{\"type\":\"record\",\"configuration\":", file);
    write_configuration(file, record);
    fprintf(file,
            ",\"unit\":\"s\",\"stop\":\"repetitions\",\"batch\":%ld,\"warmup\":%ld,"
            "\"started\":%.6f,\"duration\":%.6f,\"samples\":[",
            record->batch, record->warmup, record->started, record->duration);
    for (long i = 0; i < record->repetitions; i++) fprintf(file, "%s%.9g", i ? "," : "", record->seconds[i]);
    fputs("]}", file);
    return end_line(file);
}
