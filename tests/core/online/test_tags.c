// Tags of collective calls: links collectives/exchange.c.
#include "check.h"
#include "common/codes.h"
#include "online/collectives/exchange.h"

const char *call_name = "MPI_Test";
void enter(const char *name) { (void)name; }
void leave(void) {}
void act(int code, int peer, int tag, int request, double value) {
    (void)code, (void)peer, (void)tag, (void)request, (void)value;
}
static int told_tag;
void act_collective(int tag, uint64_t call) { told_tag = tag, online_free(world, call); }
void define_communicator(uint64_t call) { online_free(world, call); }
void progress(void) {}
void begin_batch(void) {}
uint64_t end_batch(void) { return 0; }
bool is_batch_over(uint64_t batch) { return batch == 0; }
void wait_for_batch(uint64_t batch) { (void)batch; }
void await_change(double seconds) { (void)seconds; }

static struct group *pair(void) {
    struct group *group = malloc(sizeof *group + 2 * sizeof(int));
    group->size = 2;
    group->ranks[0] = 0, group->ranks[1] = 1;
    return group;
}

static uint64_t join(struct communicator *communicator, int rank, uint32_t sequence, uint32_t start) {
    communicator->rank = my_rank = rank;
    return join_call(communicator, sequence, start, 1, online_allocate(world, 1));
}

int main(void) {
    world = new_world(2);
    this_rank = &world->rank[0];
    struct communicator first = {.number = 1, .group = pair()}, second = {.number = 2, .group = pair()};
    // Both ranks of a call have its tag, and no other open call has it: 2^19 calls apart, too.
    enum { COUNT = 3000 };
    static uint64_t calls[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        struct communicator *communicator = i % 2 ? &first : &second;
        calls[i] = join(communicator, 0, i % 3 ? i : i + (1u << 19), i % 5);
        CHECK(join(communicator, 1, i % 3 ? i : i + (1u << 19), i % 5) == calls[i]);
        if (i > 0) CHECK(call_tag(calls[i]) == call_tag(calls[i - 1]) - 1);
        CHECK(call_tag(calls[i]) > ANY_OF_COMMUNICATOR && call_tag(calls[i]) <= FIRST_CALL_TAG);
    }
    const uint64_t described = new_call(3, 0, 0);
    act_on(&first, calls[7], described);
    CHECK(told_tag == call_tag(calls[7]));
    // At the end of all tags they begin again, without those of open calls.
    leave_call(calls[0]), leave_call(calls[0]);
    leave_call(calls[1]);
    world->next_call_tag = (uint32_t)(FIRST_CALL_TAG - ANY_OF_COMMUNICATOR) - 1;
    const uint64_t last = join(&first, 0, 1u << 25, 0);
    CHECK(call_tag(last) == ANY_OF_COMMUNICATOR + 1);
    const uint64_t next = join(&first, 0, (1u << 25) + 1, 0);
    CHECK(call_tag(next) == FIRST_CALL_TAG);  // of the first, which has ended
    const uint64_t after = join(&first, 0, (1u << 25) + 2, 0);
    CHECK(call_tag(after) == call_tag(calls[COUNT - 1]) - 1);
    return 0;
}
