// Type signatures, as runs of equal basic types. Equal ones are kept once, for all ranks.
#include "online/datatypes/signatures.h"

#include "online/datatypes/reductions.h"
#include "online/runtime/allocation.h"
#include "online/runtime/findings.h"
#include "online/runtime/turns.h"

struct type_run {
    int32_t class, size;  // class: as of `class_of`; size: bytes of an element
    int64_t count;
};

struct signature {
    uint64_t next;
    int64_t run_count, bytes;
    int64_t is_untyped;  // has bytes
    struct type_run runs[];
};

enum { MOST_RUNS = 256, MOST_COMPARED = 1 << 16 };

static const struct signature *at(uint64_t offset) { return online_at(world, offset); }

// Unsigned characters are bytes, too: a bytearray of Python is sent and received as such.
static bool is_untyped(const struct type_run *run) {
    return run->class == MPI_BYTE || run->class == MPI_PACKED || run->class == class_of(MPI_UNSIGNED_CHAR);
}

// The offset of the signature with these runs.
static uint64_t keep_signature(const struct type_run *runs, int64_t run_count) {
    const size_t size = sizeof *runs * (size_t)run_count;
    for (uint64_t offset = world->signatures; offset != 0; offset = at(offset)->next)
        if (at(offset)->run_count == run_count && memcmp(at(offset)->runs, runs, size) == 0) return offset;
    const uint64_t offset = allocate_shared(sizeof(struct signature) + size, "a type signature");
    struct signature *signature = online_at(world, offset);
    *signature = (struct signature){world->signatures, run_count, 0, 0};
    memcpy(signature->runs, runs, size);
    for (int64_t i = 0; i < run_count; i++) {
        signature->bytes += runs[i].size * runs[i].count;
        signature->is_untyped |= is_untyped(&runs[i]);
    }
    return world->signatures = offset;
}

static MPI_Datatype part_type(MPI_Datatype basic) {
    switch (basic) {
        case MPI_2INT:
        case MPI_2INTEGER: return MPI_INT;
        case MPI_2REAL: return MPI_FLOAT;
        case MPI_2DOUBLE_PRECISION: return MPI_DOUBLE;
        default: return basic;
    }
}

static int parts_of(MPI_Datatype basic) { return part_type(basic) == basic ? 1 : 2; }

// Of a basic type: its runs; returns how many.
static int basic_runs(const struct datatype *type, struct type_run runs[2]) {
    const int size = (int)type->size;
    if (size == 0) return 0;
    if (type->run_count == 2) {  // a value and its place
        const int value = type->runs[0].unit;
        runs[0] = (struct type_run){class_of_value(type), value, 1};
        runs[1] = (struct type_run){class_of(MPI_INT), sizeof(int), 1};
        return 2;
    }
    const int parts = parts_of(type->basic);
    runs[0] = (struct type_run){class_of(parts > 1 ? part_type(type->basic) : type->basic), size / parts, parts};
    return 1;
}

static void set_signature(struct datatype *type, const struct type_run *runs, int64_t run_count, MPI_Count repeats) {
    struct type_run single;
    if (run_count == 1 && runs[0].count > 1) {
        single = runs[0];
        repeats *= single.count;
        single.count = 1;
        runs = &single;
    }
    type->signature = keep_signature(runs, run_count);
    type->signature_repeats = repeats;
}

static struct content content_of_one(const struct datatype *type) {
    if (!type->is_basic || type->signature != 0) return (struct content){type->signature, type->signature_repeats};
    struct type_run runs[2];
    const int run_count = basic_runs(type, runs);
    if (run_count == 0) return (struct content){0, 0};
    set_signature((struct datatype *)type, runs, run_count, 1);
    return content_of_one(type);
}

struct content content_of(MPI_Count count, const struct datatype *type) {
    if (!is_checked() || type == NULL) return (struct content){0, 0};
    const struct content content = content_of_one(type);
    return (struct content){content.signature, content.repeats * count};
}

static int64_t append(struct type_run *runs, int64_t run_count, struct content content) {
    for (MPI_Count i = 0; i < content.repeats; i++) {
        for (int64_t j = 0; j < at(content.signature)->run_count; j++) {
            struct type_run run = at(content.signature)->runs[j];
            if (at(content.signature)->run_count == 1) run.count *= content.repeats;
            if (run_count > 0 && runs[run_count - 1].class == run.class && runs[run_count - 1].size == run.size)
                runs[run_count - 1].count += run.count;
            else if (run_count == MOST_RUNS)
                return NONE;
            else
                runs[run_count++] = run;
        }
        if (at(content.signature)->run_count == 1) break;
    }
    return run_count;
}

// A signature that is too long to be kept is not known.
void add_signature(struct datatype *type, MPI_Count count, const struct datatype *element) {
    if (!is_checked()) return;
    const struct content content = content_of(count, element);
    if (content.repeats == 0 && content.signature != 0) return;
    if (type->elements == 0) {
        type->signature = content.signature;
        type->signature_repeats = content.repeats;
    } else if (type->signature == content.signature) {
        type->signature_repeats += content.repeats;
    } else if (type->signature != 0) {
        static struct type_run runs[MOST_RUNS];
        int64_t run_count = content.signature == 0 ? NONE : append(runs, 0, content_of(1, type));
        if (run_count != NONE) run_count = append(runs, run_count, content);
        type->signature = 0;
        if (run_count != NONE) set_signature(type, runs, run_count, 1);
    }
}

static int64_t bytes_of(struct content content) { return at(content.signature)->bytes * content.repeats; }

struct cursor {  // in a content
    const struct signature *signature;
    MPI_Count repeat;
    int64_t run, position;
};

static int64_t left_of(const struct cursor *cursor) {
    return cursor->signature->run_count == 1 ? INT64_MAX
                                             : cursor->signature->runs[cursor->run].count - cursor->position;
}

static void advance(struct cursor *cursor, int64_t count) {
    cursor->position += count;
    if (cursor->signature->run_count == 1 || cursor->position < cursor->signature->runs[cursor->run].count) return;
    cursor->position = 0;
    cursor->run = (cursor->run + 1) % cursor->signature->run_count;
}

bool is_alike(struct content sent, struct content received, bool may_be_less) {
    if (sent.signature == 0 || received.signature == 0) return true;
    const int64_t bytes = bytes_of(sent), room = bytes_of(received);
    if (bytes == 0 && may_be_less) return true;
    if (may_be_less ? bytes > room : bytes != room) return false;
    if (sent.signature == received.signature || at(sent.signature)->is_untyped || at(received.signature)->is_untyped)
        return true;
    struct cursor from = {at(sent.signature), 0, 0, 0}, to = {at(received.signature), 0, 0, 0};
    int64_t compared = 0;
    for (int steps = 0; compared < bytes && steps < MOST_COMPARED; steps++) {
        const struct type_run *left = &from.signature->runs[from.run], *right = &to.signature->runs[to.run];
        if (left->class != right->class || left->size != right->size) return false;
        int64_t count = left_of(&from) < left_of(&to) ? left_of(&from) : left_of(&to);
        if (count == INT64_MAX) return true;
        compared += count * left->size;
        advance(&from, count);
        advance(&to, count);
    }
    return true;
}

bool describe_elements(const struct datatype *type, char *words, size_t size) {
    const struct content content = content_of_one(type);
    if (content.signature == 0) return false;
    struct cursor cursor = {at(content.signature), 0, 0, 0};
    size_t length = 0;
    for (MPI_Count i = 0; i < type->run_count; i++) {
        for (MPI_Count j = 0; j < type->runs[i].repeats; j++) {
            for (MPI_Count k = 0; k < type->runs[i].length;) {
                const struct type_run *element = &cursor.signature->runs[cursor.run];
                const long long offset = type->runs[i].offset + j * type->runs[i].stride + k;
                if (size - length < 48) return true;
                length += (size_t)snprintf(words + length, size - length, "%lld:%s:%d;", offset,
                                           class_name(element->class), element->size);
                k += element->size;
                advance(&cursor, 1);
            }
        }
    }
    return true;
}

void describe_content(struct content content, char *words, size_t size) {
    const struct signature *signature = at(content.signature);
    size_t length = 0;
    words[0] = 0;
    for (int64_t i = 0; i < signature->run_count && i < 3 && length < size; i++) {
        const int64_t count = signature->run_count == 1 ? content.repeats : signature->runs[i].count;
        length += (size_t)snprintf(words + length, size - length, "%s%lld %s", i > 0 ? ", " : "", (long long)count,
                                   class_name(signature->runs[i].class));
    }
    if (length >= size) return;
    if (signature->run_count > 3) length += (size_t)snprintf(words + length, size - length, ", ...");
    if (length < size && signature->run_count > 1 && content.repeats > 1)
        snprintf(words + length, size - length, ", %lld times", (long long)content.repeats);
}
