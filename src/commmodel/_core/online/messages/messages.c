// Messages in shared memory, and receives that wait for one.
//
// A message between two ranks goes to the receive that MPI says, whatever the time, unless receives from any source or
// of any tag are open: then the simulator says who has got which message, and later receives of that communicator wait
// for its word too. A call that receives any tag of one source, and waits, has the first message of that source where
// it is the rank's only open receive. A channel holds messages or receives of one source and tag of a rank, never both.
#include "online/messages/messages.h"

#include "online/datatypes/signatures.h"
#include "online/messages/requests.h"
#include "online/objects/handles.h"
#include "online/runtime/allocation.h"
#include "online/runtime/calls.h"
#include "online/runtime/decisions.h"
#include "online/runtime/history.h"
#include "online/runtime/operations.h"
#include "online/runtime/turns.h"

struct receive {
    uint64_t next, message;
    bool is_expected;  // its rank waits for the message
};

enum { NEVER = 1 << 20 };  // more messages than can be missing

static int waiting_of_context[ONLINE_CONTEXTS];
static struct request *first_waiter;  // for a report
static uint64_t send_count;           // messages

int wide_tag(const struct communicator *communicator, int tag) {
    if (tag < MPI_ANY_TAG) return tag;  // of a collective of neighbours: the simulator's already
    if (tag == MPI_ANY_TAG) return communicator->context == 0 ? ANY : ANY_OF_COMMUNICATOR - communicator->context;
    return (communicator->context << TAG_BITS) | tag;
}

// The place of the link to a channel, or to the end of its bucket's list.
static uint64_t *find(struct online_rank *rank, int source, int tag) {
    uint64_t *link = &rank->buckets[((unsigned)source * 31u + (unsigned)tag * 7u) % ONLINE_BUCKETS];
    while (*link != 0) {
        struct online_channel *channel = online_at(world, *link);
        if (channel->source == source && channel->tag == tag) break;
        link = &channel->next;
    }
    return link;
}

static void append(uint64_t *link, int source, int tag, uint64_t item, bool is_receive) {
    *(uint64_t *)online_at(world, item) = 0;
    if (*link == 0) {
        const uint64_t offset = allocate_shared(sizeof(struct online_channel), "a message");
        *(struct online_channel *)online_at(world, offset) =
            (struct online_channel){0, item, item, source, tag, is_receive};
        *link = offset;
        return;
    }
    struct online_channel *channel = online_at(world, *link);
    *(uint64_t *)online_at(world, channel->last) = item;
    channel->last = item;
}

static uint64_t take_first(uint64_t *link) {
    const uint64_t offset = *link;
    struct online_channel *channel = online_at(world, offset);
    const uint64_t item = channel->first;
    channel->first = *(uint64_t *)online_at(world, item);
    if (channel->first == 0) {
        *link = channel->next;
        online_free(world, offset);
    }
    return item;
}

// The link to the channel whose first message is the first of a source in a communicator, whatever its tag; or NULL.
static uint64_t *find_any_tag(int source, int context) {
    uint64_t *first = NULL, least = 0;
    for (int bucket = 0; bucket < ONLINE_BUCKETS; bucket++) {
        struct online_channel *channel;
        for (uint64_t *link = &this_rank->buckets[bucket]; *link != 0; link = &channel->next) {
            channel = online_at(world, *link);
            if (channel->source != source || channel->of_receives || channel->tag < 0) continue;
            if (channel->tag >> TAG_BITS != context) continue;
            const struct online_message *message = online_at(world, channel->first);
            if (first != NULL && message->number > least) continue;
            first = link;
            least = message->number;
        }
    }
    return first;
}

static bool holds_receives(const uint64_t *link) {
    return *link != 0 && ((const struct online_channel *)online_at(world, *link))->of_receives;
}

// A synchronous send may end.
static void note_receipt(uint64_t offset) {
    const struct online_message *message = online_at(world, offset);
    if (message->receipt != 0) *(uint64_t *)online_at(world, message->receipt) = 1;
}

// The link to the channel that a message goes to, with a receive for it or without.
static uint64_t *channel_for(struct online_rank *receiver, const struct communicator *communicator, int tag) {
    if (receiver->takes_any_tag && tag >= 0) {
        uint64_t *const link = find(receiver, my_rank, wide_tag(communicator, MPI_ANY_TAG));
        if (*link != 0) {
            receiver->takes_any_tag = false;
            return link;
        }
    }
    return find(receiver, my_rank, wide_tag(communicator, tag));
}

void post_message(struct communicator *communicator, int dest, int tag, const void *buffer, MPI_Count count,
                  const struct datatype *type, uint64_t receipt) {
    const MPI_Count bytes = volume(count, type);
    const uint64_t offset = allocate_shared(sizeof(struct online_message) + (uint64_t)bytes, "a message");
    struct online_message *message = online_at_filled(world, offset, (uint64_t)bytes);
    const struct content content = content_of(count, type);
    *message = (struct online_message){.bytes = bytes,
                                       .source = my_rank,
                                       .tag = wide_tag(communicator, tag),
                                       .receipt = receipt,
                                       .number = send_count++,
                                       .call_site = current_site(),
                                       .history = hand_on(),
                                       .signature = content.signature,
                                       .repeats = content.repeats,
                                       .clock = notes_decisions() ? current_clock() : 0};
    pack(buffer, count, type, message->data);
    struct online_rank *receiver = &world->rank[world_rank(communicator, dest)];
    uint64_t *const link = channel_for(receiver, communicator, tag);
    if (holds_receives(link)) {
        struct receive *receive = online_at(world, take_first(link));
        receiver->open_receives--;
        receive->message = offset;
        note_receipt(offset);
        if (receive->is_expected && --receiver->missing == 0) make_ready((int)(receiver - world->rank));
    } else {
        append(link, my_rank, message->tag, offset, false);
    }
}

uint64_t first_message(int source, int tag) {
    const struct online_channel *channel = online_at(world, *find(this_rank, source, tag));
    return (const void *)channel == world || channel->of_receives ? 0 : channel->first;
}

static uint64_t take_from(uint64_t *link) {
    if (link == NULL || *link == 0 || holds_receives(link)) return 0;
    const uint64_t offset = take_first(link);
    note_receipt(offset);
    return offset;
}

uint64_t take_message(int source, int tag) { return take_from(find(this_rank, source, tag)); }

// Source and tag are the simulator's.
void post_receive(struct request *request, int source, int tag) {
    int *const open = &waiting_of_context[request->communicator->context];
    const bool is_any = tag == ANY || tag <= ANY_OF_COMMUNICATOR;
    const bool is_alone = request->is_blocking && first_waiter == NULL && this_rank->open_receives == 0;
    if (source == NONE || (is_any && !is_alone) || (*open > 0 && tag >= 0)) {
        request->name = next_name() | FIRST_REPORTED;
        request->next = first_waiter;
        first_waiter = request;
        ++*open;
        return;
    }
    request->name = next_name();
    request->message =
        is_any ? take_from(find_any_tag(source, request->communicator->context)) : take_message(source, tag);
    if (request->message != 0) return;
    if (is_any) this_rank->takes_any_tag = true;
    this_rank->open_receives++;
    request->receive = allocate_shared(sizeof(struct receive), "a receive");
    *(struct receive *)online_at(world, request->receive) = (struct receive){0, 0, false};
    append(find(this_rank, source, tag), source, tag, request->receive, true);
}

bool has_message(struct request *request) {
    if (request->message == 0 && request->receive != 0) {
        struct receive *receive = online_at(world, request->receive);
        if (receive->message != 0) {
            request->message = receive->message;
            online_free(world, request->receive);
            request->receive = 0;
        }
    }
    return request->message != 0;
}

// The turn comes back with the message, or from the simulator where that alone knows which one it is.
void expect_message(const struct request *request) {
    if (request->receive != 0) ((struct receive *)online_at(world, request->receive))->is_expected = true;
    this_rank->missing += request->receive != 0 ? 1 : NEVER;
}

static struct request *unlink_request(int name) {
    for (struct request **link = &first_waiter; *link != NULL; link = &(*link)->next) {
        struct request *request = *link;
        if (request->name != name) continue;
        *link = request->next;
        --waiting_of_context[request->communicator->context];
        return request;
    }
    return NULL;
}

void take_reports(void) {
    const struct online_report *reports = online_at(world, this_rank->reports);
    for (int i = 0; i < this_rank->report_count; i++) {
        struct request *request = unlink_request(reports[i].receive);
        const uint64_t message = take_message(reports[i].source, reports[i].tag);
        if (request != NULL) request->message = message;
    }
    this_rank->report_count = 0;
}

int unreceived_messages(const struct communicator *communicator) {
    int count = 0;
    for (int bucket = 0; waiting_of_context[communicator->context] == 0 && bucket < ONLINE_BUCKETS; bucket++) {
        const struct online_channel *channel;
        for (uint64_t at = this_rank->buckets[bucket]; at != 0; at = channel->next) {
            channel = online_at(world, at);
            if (channel->of_receives || channel->tag < 0 || channel->tag >> TAG_BITS != communicator->context) continue;
            for (uint64_t item = channel->first; item != 0; item = *(const uint64_t *)online_at(world, item)) count++;
        }
    }
    return count;
}

static uint64_t *channel_of(const struct request *request) {
    return find(
        this_rank,
        request->peer == MPI_ANY_SOURCE ? request->chosen_source : world_rank(request->communicator, request->peer),
        wide_tag(request->communicator, request->tag));
}

static void unlink_receive(struct request *request) {
    uint64_t *link = channel_of(request), before = 0;
    struct online_channel *channel = online_at(world, *link);
    for (uint64_t item = channel->first; item != request->receive; item = *(uint64_t *)online_at(world, item))
        before = item;
    if (before == 0) {
        take_first(link);
    } else {
        *(uint64_t *)online_at(world, before) = *(uint64_t *)online_at(world, request->receive);
        if (channel->last == request->receive) channel->last = before;
    }
    online_free(world, request->receive);
    request->receive = 0;
    this_rank->open_receives--;
}

// The first receive after a request that takes messages of the same channel.
static struct request *next_like(const struct request *request) {
    struct request *first = NULL, *candidate;
    for (int index = 0; (candidate = next_object(REQUEST, &index)) != NULL;)
        if (candidate->kind->is_receive && candidate->is_active && candidate->communicator == request->communicator &&
            candidate->peer == request->peer && candidate->tag == request->tag && candidate->name > request->name &&
            !(candidate->name & FIRST_REPORTED) && (first == NULL || candidate->name < first->name))
            first = candidate;
    return first;
}

// A receive is cancelled. Its message goes to the next one like it, whose own goes to the one after that.
void forget_receive(struct request *request) {
    if (request->name & FIRST_REPORTED) {
        unlink_request(request->name);
    } else if (!has_message(request)) {
        unlink_receive(request);
    } else {
        uint64_t message = request->message;
        request->message = 0;
        for (struct request *next = next_like(request); next != NULL && message != 0; next = next_like(next)) {
            const uint64_t next_message = has_message(next) ? next->message : 0;
            if (next_message == 0) unlink_receive(next);
            next->message = message;
            message = next_message;
        }
        if (message == 0) return;
        uint64_t *link = channel_of(request);
        struct online_channel *channel = online_at(world, *link);
        const struct online_message *content = online_at(world, message);
        if (*link == 0) return append(link, content->source, content->tag, message, false);
        *(uint64_t *)online_at(world, message) = channel->first;
        channel->first = message;
    }
}
