// How data lie in memory: the pieces of which an MPI datatype consists, told once for each datatype.
//
// A datatype is taken apart as it was made. What repeats is looked at twice and multiplied, so that a vector of a
// million pieces costs as much as one of two; lists of places are as long as the program's own.

#include "recorder.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

enum { DATA_SHAPES };
enum { DEEPEST = 32, MOST_LAYOUTS = 1 << 16 };

// Pieces in the order in which they are sent; those that follow each other at once are one.
struct pieces {
    uint64_t count, first, last;      // bytes of the first one, and of the last
    int64_t first_begin, last_begin;  // from where the datatype begins
    int64_t distance;                 // from begin to begin; 0 of one piece
    int is_uneven;                    // their lengths differ
    unsigned shape;
};

static void add_distance(struct pieces *all, int64_t distance) {
    if (all->distance == 0) all->distance = distance;
    if (all->distance != distance && all->shape < SUBARRAY) all->shape = SUBARRAY;
}

static void add_piece(struct pieces *all, int64_t begin, uint64_t bytes) {
    if (all->count > 0 && begin == all->last_begin + (int64_t)all->last) {
        all->last += bytes;
        if (all->count == 1) all->first = all->last;
        return;
    }
    if (all->count == 0) {
        all->first_begin = begin;
        all->first = bytes;
    } else {
        all->is_uneven |= all->last != all->first;
        add_distance(all, begin - all->last_begin);
    }
    all->count++;
    all->last_begin = begin;
    all->last = bytes;
}

static void append(struct pieces *all, const struct pieces *more, int64_t offset) {
    if (more->count == 0) return;
    if (all->shape < more->shape) all->shape = more->shape;
    add_piece(all, more->first_begin + offset, more->first);
    if (more->count == 1) return;
    all->is_uneven |= more->is_uneven || all->last != all->first || more->first != all->first;
    add_distance(all, more->distance);
    all->count += more->count - 1;
    all->last_begin = more->last_begin + offset;
    all->last = more->last;
}

// The same pieces several times. What the second adds to the first, each further one does.
static struct pieces repeated(const struct pieces *element, int64_t times, int64_t distance) {
    struct pieces all = {0};
    if (times < 1 || element->count == 0) return all;
    append(&all, element, 0);
    if (times == 1) return all;
    const uint64_t before = all.count;
    append(&all, element, distance);
    if (all.count == 1) {
        all.first = all.last = element->first * (uint64_t)times;
        return all;
    }
    all.count += (all.count - before) * (uint64_t)(times - 2);
    all.last_begin += distance * (times - 2);
    return all;
}

// What MPI says of how a datatype was made.
struct recipe {
    int combiner;
    int64_t *numbers;  // counts, lengths and places in the order of the function's arguments
    MPI_Datatype *parts;
    MPI_Count part_count;
    int is_large;  // made by a function with large counts
};

static __typeof__(&MPI_Type_free) free_type;  // of the MPI library: ours has that name, too

static int free_datatype(MPI_Datatype *datatype) {
    if (free_type == NULL) *(void **)&free_type = dlsym(RTLD_NEXT, "PMPI_Type_free");
    return free_type(datatype);
}

// Functions of MPI 4, which older libraries lack: a datatype that was made with large counts is only known to these.
typedef int envelope_function(MPI_Datatype, MPI_Count *, MPI_Count *, MPI_Count *, MPI_Count *, int *);
typedef int contents_function(MPI_Datatype, MPI_Count, MPI_Count, MPI_Count, MPI_Count, int *, MPI_Aint *, MPI_Count *,
                              MPI_Datatype *);

static envelope_function *large_envelope;
static contents_function *large_contents;

struct envelope {
    MPI_Count integers, addresses, counts, parts;
    int combiner;
};

static int read_envelope(MPI_Datatype datatype, struct envelope *envelope) {
    static int looked_up;
    if (!looked_up) {
        *(void **)&large_envelope = dlsym(RTLD_NEXT, "PMPI_Type_get_envelope_c");
        *(void **)&large_contents = dlsym(RTLD_NEXT, "PMPI_Type_get_contents_c");
        looked_up = 1;
    }
    memset(envelope, 0, sizeof *envelope);
    if (large_envelope != NULL && large_contents != NULL)
        return large_envelope(datatype, &envelope->integers, &envelope->addresses, &envelope->counts, &envelope->parts,
                              &envelope->combiner) == MPI_SUCCESS;
    int integers = 0, addresses = 0, parts = 0;
    const int code = PMPI_Type_get_envelope(datatype, &integers, &addresses, &parts, &envelope->combiner);
    envelope->integers = integers, envelope->addresses = addresses, envelope->parts = parts;
    return code == MPI_SUCCESS;
}

static int read_recipe(MPI_Datatype datatype, struct recipe *recipe) {
    struct envelope e;
    memset(recipe, 0, sizeof *recipe);
    if (!read_envelope(datatype, &e)) return 0;
    recipe->combiner = e.combiner;
    if (e.combiner == MPI_COMBINER_NAMED) return 1;
    int *const integers = malloc((size_t)(e.integers + 1) * sizeof *integers);
    MPI_Aint *const addresses = malloc((size_t)(e.addresses + 1) * sizeof *addresses);
    MPI_Count *const counts = malloc((size_t)(e.counts + 1) * sizeof *counts);
    recipe->numbers = malloc((size_t)(e.integers + e.addresses + e.counts + 1) * sizeof *recipe->numbers);
    recipe->parts = malloc((size_t)(e.parts + 1) * sizeof *recipe->parts);
    int is_read =
        integers != NULL && addresses != NULL && counts != NULL && recipe->numbers != NULL && recipe->parts != NULL;
    if (is_read && large_envelope != NULL && large_contents != NULL) {
        is_read = large_contents(datatype, e.integers, e.addresses, e.counts, e.parts, integers, addresses, counts,
                                 recipe->parts) == MPI_SUCCESS;
    } else if (is_read) {
        is_read = PMPI_Type_get_contents(datatype, (int)e.integers, (int)e.addresses, (int)e.parts, integers, addresses,
                                         recipe->parts) == MPI_SUCCESS;
    }
    if (is_read) {
        int64_t *number = recipe->numbers;
        for (MPI_Count i = 0; i < e.integers; i++) *number++ = integers[i];
        for (MPI_Count i = 0; i < e.addresses; i++) *number++ = addresses[i];
        for (MPI_Count i = 0; i < e.counts; i++) *number++ = counts[i];
        recipe->part_count = e.parts;
        recipe->is_large = e.counts > 0;
    }
    free(integers);
    free(addresses);
    free(counts);
    return is_read;
}

static int is_predefined(MPI_Datatype datatype) {
    struct envelope envelope;
    return read_envelope(datatype, &envelope) && envelope.combiner == MPI_COMBINER_NAMED;
}

static void forget_recipe(struct recipe *recipe) {
    for (MPI_Count i = 0; i < recipe->part_count; i++)  // MPI has made new handles, but of predefined ones
        if (!is_predefined(recipe->parts[i])) free_datatype(&recipe->parts[i]);
    free(recipe->numbers);
    free(recipe->parts);
}

static int64_t extent_of(MPI_Datatype datatype) {
    MPI_Count begin = 0, extent = 0;
    return PMPI_Type_get_extent_x(datatype, &begin, &extent) == MPI_SUCCESS ? (int64_t)extent : 0;
}

static int describe(MPI_Datatype datatype, int depth, struct pieces *result);

// Blocks of a datatype at places that are listed. `lengths` has one for each, or one for all.
static int describe_list(MPI_Datatype part, int depth, int64_t count, const int64_t *lengths, int has_one_length,
                         const int64_t *offsets, int64_t unit, struct pieces *result) {
    struct pieces element;
    if (!describe(part, depth, &element)) return 0;
    const int64_t extent = extent_of(part);
    for (int64_t i = 0; i < count; i++) {
        const struct pieces block = repeated(&element, lengths[has_one_length ? 0 : i], extent);
        append(result, &block, offsets[i] * unit);
    }
    if (result->count > 1) result->shape = INDEXED;
    return 1;
}

static int describe_struct(const struct recipe *recipe, int depth, struct pieces *result) {
    const int64_t count = recipe->numbers[0], *lengths = recipe->numbers + 1, *offsets = lengths + count;
    for (int64_t i = 0; i < count; i++) {
        struct pieces element;
        if (!describe(recipe->parts[i], depth, &element)) return 0;
        const struct pieces block = repeated(&element, lengths[i], extent_of(recipe->parts[i]));
        append(result, &block, offsets[i]);
    }
    if (count > 1 && result->count > 1) result->shape = STRUCT;
    return 1;
}

static int describe_subarray(const struct recipe *recipe, int depth, struct pieces *result) {
    const int64_t axes = recipe->numbers[0];
    const int64_t *sizes = recipe->numbers + (recipe->is_large ? 2 : 1), *lengths = sizes + axes,
                  *starts = lengths + axes;
    const int64_t order = recipe->is_large ? recipe->numbers[1] : starts[axes];
    struct pieces inner;
    if (!describe(recipe->parts[0], depth, &inner)) return 0;
    int64_t distance = extent_of(recipe->parts[0]), begin = 0;
    for (int64_t i = 0; i < axes; i++) {  // the innermost first
        const int64_t axis = order == MPI_ORDER_C ? axes - 1 - i : i;
        inner = repeated(&inner, lengths[axis], distance);
        begin += starts[axis] * distance;
        distance *= sizes[axis];
    }
    append(result, &inner, begin);
    return 1;
}

static int describe_recipe(const struct recipe *recipe, int depth, struct pieces *result) {
    const int64_t *n = recipe->numbers;
    const MPI_Datatype part = recipe->part_count > 0 ? recipe->parts[0] : MPI_DATATYPE_NULL;
    struct pieces element;
    switch (recipe->combiner) {
        case MPI_COMBINER_DUP:
        case MPI_COMBINER_RESIZED: return describe(part, depth, result);
        case MPI_COMBINER_CONTIGUOUS:
            if (!describe(part, depth, &element)) return 0;
            *result = repeated(&element, n[0], extent_of(part));
            return 1;
        case MPI_COMBINER_VECTOR:
        case MPI_COMBINER_HVECTOR:
            if (!describe(part, depth, &element)) return 0;
            element = repeated(&element, n[1], extent_of(part));
            *result = repeated(&element, n[0], n[2] * (recipe->combiner == MPI_COMBINER_VECTOR ? extent_of(part) : 1));
            return 1;
        case MPI_COMBINER_INDEXED:
            return describe_list(part, depth, n[0], n + 1, 0, n + 1 + n[0], extent_of(part), result);
        case MPI_COMBINER_HINDEXED: return describe_list(part, depth, n[0], n + 1, 0, n + 1 + n[0], 1, result);
        case MPI_COMBINER_INDEXED_BLOCK:
            return describe_list(part, depth, n[0], n + 1, 1, n + 2, extent_of(part), result);
        case MPI_COMBINER_HINDEXED_BLOCK: return describe_list(part, depth, n[0], n + 1, 1, n + 2, 1, result);
        case MPI_COMBINER_STRUCT: return describe_struct(recipe, depth, result);
        case MPI_COMBINER_SUBARRAY: return describe_subarray(recipe, depth, result);
        default: return 0;  // MPI_Type_create_darray
    }
}

// Whether it is known how a datatype lies.
static int describe(MPI_Datatype datatype, int depth, struct pieces *result) {
    memset(result, 0, sizeof *result);
    struct recipe recipe;
    if (depth > DEEPEST || datatype == MPI_DATATYPE_NULL || !read_recipe(datatype, &recipe)) return 0;
    int is_known = 1;
    if (recipe.part_count == 0) {
        const uint64_t bytes = size_of(datatype);
        if (bytes > 0) add_piece(result, 0, bytes);
    } else {
        is_known = describe_recipe(&recipe, depth + 1, result);
    }
    forget_recipe(&recipe);
    return is_known;
}

// Layouts, numbered from 1. Datatypes that are made anew for each message have the same again.

struct layout {
    uint64_t shape, bytes, pieces, distance;  // of an element; distance 0: not one, or unequal lengths
};
static struct table numbers;
static struct {
    struct layout layout;
    int is_defined;  // in the log
} *layouts;
static uint64_t layout_count;

static uint64_t number_of(struct layout layout) {
    uint64_t hash = layout.shape;
    hash = (hash ^ layout.bytes) * 0x9e3779b97f4a7c15u;
    hash = (hash ^ layout.pieces ^ hash >> 29) * 0x9e3779b97f4a7c15u;
    hash = (hash ^ layout.distance ^ hash >> 29) * 0x9e3779b97f4a7c15u;
    const struct node *node = look_up(&numbers, (uintptr_t)hash);
    if (node != NULL && memcmp(&layouts[node->number - 1].layout, &layout, sizeof layout) == 0) return node->number;
    if (layout_count == MOST_LAYOUTS) return 0;
    if ((layout_count & (layout_count - 1)) == 0) {
        void *larger = realloc(layouts, (layout_count == 0 ? 1 : 2 * layout_count) * sizeof *layouts);
        if (larger == NULL) return 0;
        layouts = larger;
    }
    layouts[layout_count].layout = layout;
    layouts[layout_count++].is_defined = 0;
    put(&numbers, (uintptr_t)hash, layout_count, 0);
    return layout_count;
}

void define_layout(uint64_t number) {
    if (number == 0 || layouts[number - 1].is_defined) return;
    unsigned char *record = log_reserve(64);
    if (record == NULL) return;
    const struct layout *layout = &layouts[number - 1].layout;
    unsigned char *p = put_unsigned(put_unsigned(record + 1, number), layout->shape);
    p = put_unsigned(put_unsigned(put_unsigned(p, layout->bytes), layout->pieces), layout->distance);
    log_commit(record, p, LOG_LAYOUT);
    layouts[number - 1].is_defined = 1;
}

uint64_t object_layout(unsigned shape) { return number_of((struct layout){shape, 0, 0, 0}); }

// The layout of elements of which each has so many pieces more than the one before.
static uint64_t layout_of_pieces(const struct pieces *all, uint64_t bytes, uint64_t pieces) {
    if (all->count < 2) return 0;
    const uint64_t distance = (uint64_t)(all->distance < 0 ? -all->distance : all->distance);
    const int is_regular = !all->is_uneven && all->last == all->first && all->shape <= SUBARRAY;
    return number_of((struct layout){all->shape, bytes, pieces, is_regular ? distance : 0});
}

static struct table types;  // number: the layout of one element; flags: that of several
static MPI_Datatype last_type = MPI_DATATYPE_NULL;
static struct node last_node;

uint64_t layout_of(MPI_Datatype datatype, int is_one) {
    if (datatype == MPI_DATATYPE_NULL) return 0;
    if (datatype != last_type) {
        const struct node *node = look_up(&types, (uintptr_t)datatype);
        if (node == NULL) {
            struct pieces element, several;
            uint64_t of_one = 0, of_several = 0;
            if (describe(datatype, 0, &element) && element.count > 0) {
                several = repeated(&element, 2, extent_of(datatype));
                of_one = layout_of_pieces(&element, size_of(datatype), element.count);
                of_several = layout_of_pieces(&several, size_of(datatype), several.count - element.count);
            }
            put(&types, (uintptr_t)datatype, of_one, (unsigned)of_several);
            node = look_up(&types, (uintptr_t)datatype);
            if (node == NULL) return 0;  // no memory
        }
        last_type = datatype;
        last_node = *node;
    }
    return is_one ? last_node.number : last_node.flags;
}

// Another datatype may get the handle. It is forgotten before: another thread may get it at once.
VISIBLE int MPI_Type_free(MPI_Datatype *datatype) {
    if (depth == 0 && recording) {
        lock_log();
        take(&types, (uintptr_t)*datatype);
        if (*datatype == last_type) last_type = MPI_DATATYPE_NULL;
        unlock_log();
    }
    return free_datatype(datatype);
}
ALSO_PMPI(Type_free)
