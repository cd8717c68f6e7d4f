// Memory of other ranks. Shared memory is accessed directly; private memory is copied by its owner while that waits for
// its turn, so that no permission of the system is needed.
#include "online/one_sided/windows.h"
#include "online/runtime/allocation.h"
#include "online/runtime/turns.h"

struct piece {
    uint64_t address, bytes;
};

struct task {
    int32_t rank;  // that waits for its end
    bool writes;
    MPI_Count count;
    struct piece pieces[];  // the data follow
};

static uint64_t new_task(bool writes, uint64_t address, MPI_Count count, const struct datatype *type, char **data) {
    const bool dense = is_dense(type);
    MPI_Count pieces = 0;
    for (MPI_Count j = 0; j < type->run_count; j++) pieces += type->runs[j].repeats;
    pieces = dense ? 1 : count * pieces;
    const uint64_t bytes = (uint64_t)volume(count, type);
    const uint64_t offset =
        allocate_shared(sizeof(struct task) + sizeof(struct piece) * (uint64_t)pieces + bytes, "a one-sided operation");
    struct task *task = online_at(world, offset);
    *task = (struct task){my_rank, writes, pieces};
    if (dense) {
        task->pieces[0] = (struct piece){address + (uint64_t)type->runs[0].offset, bytes};
    } else {
        struct piece *piece = task->pieces;
        for (MPI_Count i = 0; i < count * type->run_count; i++) {
            const struct run *run = &type->runs[i % type->run_count];
            const MPI_Aint offset = i / type->run_count * type->extent + run->offset;
            for (MPI_Count k = 0; k < run->repeats; k++)
                *piece++ = (struct piece){address + (uint64_t)(offset + k * run->stride), (uint64_t)run->length};
        }
    }
    *data = (char *)(task->pieces + pieces);
    return offset;
}

void serve(void) {
    const struct task *task = online_at(world, this_rank->task);
    this_rank->task = 0;
    char *data = (char *)(task->pieces + task->count);
    for (MPI_Count i = 0; i < task->count; i++) {
        void *const at = (void *)task->pieces[i].address;
        const size_t bytes = task->pieces[i].bytes;
        task->writes ? memcpy(at, data, bytes) : memcpy(data, at, bytes);
        data += bytes;
    }
    online_wake(&world->rank[task->rank].turn);
}

static void ask(int rank, uint64_t task) {
    world->rank[rank].task = task;
    online_wake(&world->rank[rank].turn);
    while (!online_wait(&this_rank->turn, -1)) {
    }
}

// Translate an address of another rank; NULL if that memory is private.
static void *reachable(int rank, uint64_t mapping, uint64_t address) {
    if (rank == my_rank) return (void *)address;
    const bool is_shared = address >= mapping && address < mapping + world->size;
    return is_shared ? online_at(world, address - mapping) : NULL;
}

void read_memory(int rank, uint64_t mapping, uint64_t address, MPI_Count count, const struct datatype *type,
                 void *packed) {
    if (volume(count, type) == 0) return;
    const void *at = reachable(rank, mapping, address);
    if (at != NULL) {
        pack(at, count, type, packed);
        return;
    }
    char *data;
    const uint64_t task = new_task(false, address, count, type, &data);
    ask(rank, task);
    memcpy(packed, data, (size_t)volume(count, type));
    online_free(world, task);
}

void write_memory(int rank, uint64_t mapping, uint64_t address, MPI_Count count, const struct datatype *type,
                  const void *packed) {
    const MPI_Count bytes = volume(count, type);
    if (bytes == 0) return;
    void *at = reachable(rank, mapping, address);
    if (at != NULL) {
        unpack(at, count, type, packed, bytes);
        return;
    }
    char *data;
    const uint64_t task = new_task(true, address, count, type, &data);
    memcpy(data, packed, (size_t)bytes);
    ask(rank, task);
    online_free(world, task);
}

// ---- memory of the library's own: shared, so that windows of it are reached directly

EXPORT int MPI_Alloc_mem(MPI_Aint size, MPI_Info info, void *baseptr) {
    if (!is_attached()) check_process("MPI_Alloc_mem");
    (void)info;
    if (size < 0) return fail_world(MPI_ERR_ARG);
    const uint64_t offset = online_allocate(world, (uint64_t)size + 1);
    if (offset == 0) return fail_world(MPI_ERR_NO_MEM);
    *(void **)baseptr = online_at(world, offset);
    return MPI_SUCCESS;
}

EXPORT int MPI_Free_mem(void *base) {
    if (base != NULL) online_free(world, online_offset(world, base));
    return MPI_SUCCESS;
}
