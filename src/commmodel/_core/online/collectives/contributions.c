// What each rank gives to a collective, and what it takes of the others' parts.
#include "online/collectives/contributions.h"

#include <math.h>

#include "online/collectives/exchange.h"
#include "online/datatypes/reductions.h"
#include "online/datatypes/signatures.h"
#include "online/runtime/allocation.h"
#include "online/runtime/calls.h"
#include "online/runtime/decisions.h"
#include "online/runtime/findings.h"
#include "online/runtime/turns.h"

struct part {  // what a rank gives: one segment, or one for each other rank
    MPI_Count segments;
    uint64_t call_site;
    MPI_Op op;
    bool has_contents;
    MPI_Count ends[];  // bytes; the contents follow in a checked run, and the data
};

static struct content *contents_of(const struct part *part) {
    return part->has_contents ? (struct content *)(part->ends + part->segments) : NULL;
}

static const char *data_of(const struct part *part, MPI_Count segment, MPI_Count *bytes) {
    const MPI_Count begin = segment > 0 ? part->ends[segment - 1] : 0;
    *bytes = part->ends[segment] - begin;
    const char *data = (const char *)(part->ends + part->segments);
    return data + (part->has_contents ? sizeof(struct content) * (size_t)part->segments : 0) + begin;
}

bool is_root(const struct collective *collective) {
    return collective->communicator->remote ? collective->arguments.root == MPI_ROOT
                                            : collective->arguments.root == collective->communicator->rank;
}
bool takes_part(const struct collective *collective) {
    return !collective->communicator->remote || collective->arguments.root != MPI_PROC_NULL;
}

// ---- this rank's contribution

static uint64_t part_with(int segments, const struct block *blocks) {
    MPI_Count bytes = 0;
    for (int i = 0; i < segments; i++) bytes += volume(blocks[i].count, blocks[i].type);
    const bool is_with_contents = is_checked();
    const uint64_t width = sizeof(MPI_Count) + (is_with_contents ? sizeof(struct content) : 0);
    const uint64_t offset =
        allocate_shared(sizeof(struct part) + width * (uint64_t)segments + (uint64_t)bytes, "the data of a collective");
    struct part *part = online_at_filled(world, offset, (uint64_t)bytes);
    *part = (struct part){segments, current_site(), MPI_OP_NULL, is_with_contents};
    char *to = (char *)part->ends + width * (uint64_t)segments;
    MPI_Count end = 0;
    for (int i = 0; i < segments; i++) {
        if (is_with_contents) contents_of(part)[i] = content_of(blocks[i].count, blocks[i].type);
        end += pack(blocks[i].at, blocks[i].count, blocks[i].type, to + end);
        part->ends[i] = end;
    }
    return offset;
}

uint64_t pack_contribution(const struct collective *collective) {
    const struct arguments *arguments = &collective->arguments;
    const int peer_count = peers(collective->communicator)->size, rank = collective->communicator->rank;
    const bool in_place = arguments->sendbuf == MPI_IN_PLACE;
    struct block block_of_rank;
    int segments = 1;
    switch (arguments->verb) {
        case BARRIER: segments = 0; break;
        case BCAST:
            block_of_rank = whole_received(arguments);
            segments = is_root(collective);
            break;
        case GATHER:
        case GATHERV:
            segments =
                takes_part(collective) && !(collective->communicator->remote && is_root(collective)) && !in_place;
            block_of_rank = whole_sent(arguments);
            break;
        case ALLGATHER:
        case ALLGATHERV: block_of_rank = in_place ? received_block(arguments, rank) : whole_sent(arguments); break;
        case SCATTER:
        case SCATTERV: segments = is_root(collective) ? peer_count : 0; break;
        case ALLTOALL:
        case ALLTOALLV:
        case ALLTOALLW: segments = peer_count; break;
        case REDUCE:
            segments =
                takes_part(collective) && !(collective->communicator->remote && is_root(collective));  // fall through
        default: {
            MPI_Count count = arguments->recvcount;
            for (int i = 0; arguments->verb == REDUCE_SCATTER && i < size_of(collective->communicator); i++)
                count = i ? count + arguments->recvcounts[i] : arguments->recvcounts[i];
            if (arguments->verb == REDUCE_SCATTER_BLOCK) count *= size_of(collective->communicator);
            block_of_rank = (struct block){in_place ? arguments->recvbuf : (char *)arguments->sendbuf, count,
                                           datatype_of(arguments->recvtype)};
        }
    }
    if (segments <= 1 && arguments->verb != SCATTER && arguments->verb != SCATTERV &&
        (arguments->verb < ALLTOALL || arguments->verb > ALLTOALLW)) {
        return part_with(segments, &block_of_rank);
    }
    struct block *blocks = allocate(sizeof *blocks * (size_t)(segments + 1));
    for (int i = 0; i < segments; i++)
        blocks[i] = in_place && arguments->verb >= ALLTOALL ? received_block(arguments, i) : sent_block(arguments, i);
    const uint64_t offset = part_with(segments, blocks);
    free(blocks);
    return offset;
}

// ---- contributions of other ranks

static const struct part *part_from(const struct collective *collective, int peer, bool remote) {
    const uint64_t offset = part_of(collective->call, position_of(collective->communicator, peer, remote));
    if (offset != 0 && notes_decisions())
        note_part(collective->call, position_of(collective->communicator, peer, remote));
    return offset == 0 ? NULL : online_at(world, offset);
}

// Unpack a segment of a peer's part into a block, or only check that the part is there (`copies` false). Segments that
// are too long set `error`.
struct reader {
    struct collective *collective;
    bool copies, is_there;
    int error;
};

static void accuse_contents(const struct part *part, uint64_t site, struct content left, struct content right,
                            const char *words) {
    char first[128], second[128];
    describe_content(left, first, sizeof first);
    describe_content(right, second, sizeof second);
    accuse_at("type signature", part->call_site, site, words, first, second);
}

static void compare_segment(const struct part *part, MPI_Count segment, struct block block) {
    const struct content received = content_of(block.count, block.type);
    if (part->segments == 0 || !part->has_contents || is_alike(contents_of(part)[segment], received, false)) return;
    accuse_contents(part, current_site(), contents_of(part)[segment], received, "%s sent, %s received");
}

static void read_segment(struct reader *reader, int peer, MPI_Count segment, struct block block) {
    if (volume(block.count, block.type) == 0) return;
    const struct part *part = part_from(reader->collective, peer, reader->collective->communicator->remote != NULL);
    if (part == NULL) {
        reader->is_there = false;
        return;
    }
    if (!reader->copies || part->segments == 0) return;
    MPI_Count bytes;
    compare_segment(part, part->segments == 1 ? 0 : segment, block);
    const char *data = data_of(part, part->segments == 1 ? 0 : segment, &bytes);
    const MPI_Count room = volume(block.count, block.type);
    if (bytes > room) {
        reader->error = MPI_ERR_TRUNCATE;
        explain_error(": %lld bytes from rank %d, room for %lld", (long long)bytes, peer, (long long)room);
    } else if (!has_whole_elements(block.type, bytes)) {
        reader->error = MPI_ERR_TYPE;
    }
    unpack(block.at, block.count, block.type, data, bytes < room ? bytes : room);
}

static void read_all(struct reader *reader) {
    struct collective *collective = reader->collective;
    const struct arguments *arguments = &collective->arguments;
    const int peer_count = peers(collective->communicator)->size, rank = collective->communicator->rank;
    const bool is_inter = collective->communicator->remote != NULL;
    switch (arguments->verb) {
        case BARRIER:  // ranks really wait for each other: they may share files
            for (int i = 0; i < peer_count; i++)
                if (part_from(collective, i, is_inter) == NULL) reader->is_there = false;
            break;
        case BCAST:
            if (takes_part(collective) && !is_root(collective))
                read_segment(reader, arguments->root, 0, whole_received(arguments));
            break;
        case GATHER:
        case GATHERV:
            for (int i = 0; is_root(collective) && i < peer_count; i++)
                if (arguments->sendbuf != MPI_IN_PLACE || i != rank)
                    read_segment(reader, i, 0, received_block(arguments, i));
            break;
        case SCATTER:
        case SCATTERV:
            if (takes_part(collective) && !(is_inter && is_root(collective)) && arguments->recvbuf != MPI_IN_PLACE)
                read_segment(reader, arguments->root, rank, whole_received(arguments));
            break;
        case ALLGATHER:
        case ALLGATHERV:
            for (int i = 0; i < peer_count; i++) read_segment(reader, i, 0, received_block(arguments, i));
            break;
        case ALLTOALL:
        case ALLTOALLV:
        case ALLTOALLW:
            for (int i = 0; i < peer_count; i++) read_segment(reader, i, rank, received_block(arguments, i));
            break;
        default: break;
    }
}

static bool have_equal_parts(struct reader *reader, int last, bool is_inter) {
    MPI_Count first, bytes;
    data_of(part_from(reader->collective, 0, is_inter), 0, &first);
    for (int i = 1; i <= last; i++) {
        data_of(part_from(reader->collective, i, is_inter), 0, &bytes);
        if (bytes == first) continue;
        reader->error = MPI_ERR_TRUNCATE;
        explain_error(": %lld bytes from rank %d, %lld from rank 0", (long long)bytes, i, (long long)first);
        return false;
    }
    return true;
}

enum { MOST_COMPARED = 4096 };  // elements that are combined in other orders

// Note where ranks combined from the first one on, or in a tree, would give another result than from the last one on.
static void compare_orders(const struct reader *reader, int last, MPI_Count first, MPI_Count count, const char *sum) {
    struct collective *collective = reader->collective;
    const struct arguments *arguments = &collective->arguments;
    struct datatype *type = datatype_of(arguments->recvtype);
    if (!is_checked() || !notes_decisions() || last < 2 || (arguments->op != MPI_SUM && arguments->op != MPI_PROD))
        return;
    if (count > MOST_COMPARED) count = MOST_COMPARED;
    const size_t bytes = (size_t)volume(count, type);
    char *const numbers = allocate((size_t)(last + 2) * bytes), *const in_turn = numbers + (size_t)(last + 1) * bytes;
    struct operation *operation = operation_of(arguments->op);
    for (int i = 0; i <= last; i++) {
        MPI_Count ignored_bytes;
        const struct part *part = part_from(collective, i, collective->communicator->remote != NULL);
        memcpy(numbers + (size_t)i * bytes, data_of(part, 0, &ignored_bytes) + volume(first, type), bytes);
        i == 0 ? (void)memcpy(in_turn, numbers, bytes)
               : (void)reduce(operation, numbers + (size_t)i * bytes, in_turn, count, type);
    }
    for (int width = 1; width <= last; width *= 2)
        for (int i = 0; i + width <= last; i += 2 * width)
            reduce(operation, numbers + (size_t)(i + width) * bytes, numbers + (size_t)i * bytes, count, type);
    const double difference = fmax(difference_of(sum, in_turn, count, type), difference_of(sum, numbers, count, type));
    free(numbers);
    if (difference > 0)
        accuse("order of a reduction",
               "with the order in which ranks are combined, results differ by %.1e of their size", difference);
}

// Reduce the elements from `first` on over ranks 0 to `last`, in rank order.
static void combine(struct reader *reader, int last, MPI_Count first, MPI_Count count, void *result) {
    struct collective *collective = reader->collective;
    const struct arguments *arguments = &collective->arguments;
    struct datatype *type = datatype_of(arguments->recvtype);
    const MPI_Count bytes = volume(count, type);
    if (bytes == 0) return;
    const bool is_inter = collective->communicator->remote != NULL;
    for (int i = 0; reader->is_there && i <= last; i++) reader->is_there = part_from(collective, i, is_inter) != NULL;
    if (!reader->copies || !reader->is_there || !have_equal_parts(reader, last, is_inter)) return;
    struct operation *operation = operation_of(arguments->op);
    // The first rank reduces for all; with a user operation each rank does, as it has to call the function.
    uint64_t *const shared =
        arguments->verb == ALLREDUCE && !is_inter && is_built_in(arguments->op) ? result_of(collective->call) : NULL;
    if (shared != NULL && *shared != 0) {
        unpack(result, count, type, online_at(world, *shared), bytes);
        return;
    }
    if (shared != NULL) *shared = allocate_shared((uint64_t)bytes, "the result of a collective");
    const bool is_direct = shared == NULL && is_dense(type);
    char *const sum = shared != NULL ? online_at(world, *shared)
                      : is_direct    ? (char *)result + type->runs[0].offset
                                     : allocate((size_t)bytes);
    for (int i = last; i >= 0; i--) {
        MPI_Count ignored_bytes;
        const char *data = data_of(part_from(collective, i, is_inter), 0, &ignored_bytes) + volume(first, type);
        if (i == last) {
            memcpy(sum, data, (size_t)bytes);
        } else {
            const int error = reduce(operation, data, sum, count, type);
            if (error != MPI_SUCCESS) reader->error = error;
        }
    }
    if (reader->error == MPI_SUCCESS) compare_orders(reader, last, first, count, sum);
    if (is_direct) return;
    unpack(result, count, type, sum, bytes);
    if (shared == NULL) free(sum);
}

static void read_reduced(struct reader *reader) {
    struct collective *collective = reader->collective;
    const struct arguments *arguments = &collective->arguments;
    const int rank = collective->communicator->rank, peer_count = peers(collective->communicator)->size;
    MPI_Count first = 0;
    switch (arguments->verb) {
        case REDUCE:
            if (is_root(collective)) combine(reader, peer_count - 1, 0, arguments->recvcount, arguments->recvbuf);
            break;
        case ALLREDUCE: combine(reader, peer_count - 1, 0, arguments->recvcount, arguments->recvbuf); break;
        case SCAN: combine(reader, rank, 0, arguments->recvcount, arguments->recvbuf); break;
        case EXSCAN:
            if (rank > 0) combine(reader, rank - 1, 0, arguments->recvcount, arguments->recvbuf);
            break;
        case REDUCE_SCATTER:
            for (int i = 0; i < rank; i++) first += arguments->recvcounts[i];
            combine(reader, peer_count - 1, first, arguments->recvcounts[rank], arguments->recvbuf);
            break;
        default:
            combine(reader, peer_count - 1, rank * arguments->recvcount, arguments->recvcount, arguments->recvbuf);
            break;
    }
}

bool read_parts(struct collective *collective, bool copies) {
    if (!copies && has_all_parts(collective->call)) return true;
    struct reader reader = {collective, copies, true, MPI_SUCCESS};
    reduces(collective->arguments.verb) ? read_reduced(&reader) : read_all(&reader);
    if (copies && reader.is_there) collective->error = reader.error;
    return reader.is_there;
}

// Whether a reduction is that of the rank that came first.
void compare_reduction(const struct collective *collective) {
    const struct arguments *arguments = &collective->arguments;
    const int position = position_of(collective->communicator, collective->communicator->rank, false);
    struct part *part = online_at(world, part_of(collective->call, position));
    part->op = arguments->op;
    const struct part *first = online_at(world, first_part(collective->call));
    if (first == part || part->segments != 1 || first->segments != 1) return;
    if (is_built_in(arguments->op) ? first->op != part->op : is_built_in(first->op))
        accuse_at("operations of a reduction", first->call_site, current_site(), "%s here, %s there",
                  operation_name(first->op), operation_name(part->op));
    if (!is_alike(contents_of(first)[0], contents_of(part)[0], false))
        accuse_contents(first, current_site(), contents_of(first)[0], contents_of(part)[0],
                        "%s reduced here, %s there");
}
