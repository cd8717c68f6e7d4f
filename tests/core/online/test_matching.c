// Messages and receives in shared memory: links messages/messages.c.
#include "check.h"
#include "common/codes.h"
#include "online/messages/messages.h"
#include "online/messages/requests.h"
#include "online/objects/handles.h"

const struct request_kind receives = {.is_receive = true};
static int names;
int next_name(void) { return ++names; }
void *next_object(enum kind kind, int *index) {
    (void)kind, (void)index;
    return NULL;
}
MPI_Count pack(const void *buffer, MPI_Count count, const struct datatype *type, void *packed) {
    memcpy(packed, buffer, (size_t)volume(count, type));
    return volume(count, type);
}

static struct communicator communicator;
static const struct datatype byte = {.size = 1};

static void play(int rank) {
    my_rank = rank;
    this_rank = &world->rank[rank];
}

static void send(int tag, const char *text) {
    play(0);
    post_message(&communicator, 1, tag, text, (MPI_Count)strlen(text) + 1, &byte, 0);
}

static struct request *receive(int source, int tag) {
    play(1);
    struct request *request = calloc(1, sizeof *request);
    *request = (struct request){.kind = &receives, .communicator = &communicator, .peer = source, .tag = tag};
    post_receive(request, source == MPI_ANY_SOURCE ? NONE : source, wide_tag(&communicator, tag));
    return request;
}

static const char *text_of(struct request *request) {
    play(1);
    return has_message(request) ? ((struct online_message *)online_at(world, request->message))->data : "";
}

int main(void) {
    world = new_world(2);
    struct group *group = malloc(sizeof *group + 2 * sizeof(int));
    group->size = 2, group->ranks[0] = 0, group->ranks[1] = 1;
    communicator = (struct communicator){.group = group, .context = 5};
    // A message before its receive, and a receive before its message.
    send(1, "early");
    struct request *first = receive(0, 1);
    CHECK(strcmp(text_of(first), "early") == 0);
    struct request *second = receive(0, 1);
    CHECK(strcmp(text_of(second), "") == 0);
    send(1, "late");
    CHECK(strcmp(text_of(second), "late") == 0);
    // In the order of sends, by tag.
    send(1, "a"), send(2, "b"), send(1, "c");
    struct request *other = receive(0, 2), *third = receive(0, 1), *fourth = receive(0, 1);
    CHECK(strcmp(text_of(other), "b") == 0);
    CHECK(strcmp(text_of(third), "a") == 0 && strcmp(text_of(fourth), "c") == 0);
    // Communicators do not mix.
    communicator.context = 6;
    send(1, "elsewhere");
    communicator.context = 5;
    struct request *fifth = receive(0, 1);
    CHECK(strcmp(text_of(fifth), "") == 0);
    send(1, "here");
    CHECK(strcmp(text_of(fifth), "here") == 0);
    // Where any source may be meant, the simulator says it: so it does of later receives of the communicator.
    struct request *any = receive(MPI_ANY_SOURCE, 3), *later = receive(0, 3);
    CHECK((any->name & FIRST_REPORTED) && (later->name & FIRST_REPORTED));
    send(3, "one"), send(3, "two");
    CHECK(strcmp(text_of(any), "") == 0);
    struct online_report reports[] = {{any->name, 0, wide_tag(&communicator, 3)},
                                      {later->name, 0, wide_tag(&communicator, 3)}};
    play(1);
    this_rank->reports = online_allocate(world, sizeof reports);
    memcpy(online_at(world, this_rank->reports), reports, sizeof reports);
    this_rank->report_count = 2;
    take_reports();
    CHECK(strcmp(text_of(any), "one") == 0 && strcmp(text_of(later), "two") == 0);
    // A receive of any tag that is alone takes the first message of its source.
    send(9, "older"), send(8, "newer");
    play(1);
    struct request blocking = {
        .kind = &receives, .communicator = &communicator, .is_blocking = true, .tag = MPI_ANY_TAG};
    post_receive(&blocking, 0, wide_tag(&communicator, MPI_ANY_TAG));
    CHECK(strcmp(text_of(&blocking), "older") == 0);
    // The number that says that a synchronous send is received.
    const uint64_t receipt = online_allocate(world, sizeof(uint64_t));
    *(uint64_t *)online_at(world, receipt) = 0;
    play(0);
    post_message(&communicator, 1, 4, "", 1, &byte, receipt);
    CHECK(*(uint64_t *)online_at(world, receipt) == 0);
    receive(0, 4);
    CHECK(*(uint64_t *)online_at(world, receipt) == 1);
    return 0;
}
