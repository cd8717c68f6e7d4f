// The end of a part of a program that is judged by itself, such as a test: what it left, and what was found since the
// last end. Each rank says when it has left the part; one of them asks for the rest when all have.
#include <stdio.h>

#include "online/messages/watches.h"
#include "online/online.h"
#include "online/runtime/findings.h"
#include "online/runtime/turns.h"

// Messages of a channel that its rank has got, but does not know of yet.
static int32_t reported_messages(const struct online_rank *rank, const struct online_channel *channel) {
    const struct online_report *reports = online_at(world, rank->reports);
    int32_t count = 0;
    for (int32_t i = 0; i < rank->report_count; i++)
        count += reports[i].source == channel->source && reports[i].tag == channel->tag;
    return count;
}

static void accuse_messages_of(int receiver, const struct online_channel *channel) {
    int32_t reported = reported_messages(&world->rank[receiver], channel);
    struct online_message *message;
    for (uint64_t item = channel->first; item != 0; item = message->next) {
        message = online_at(world, item);
        if (reported-- > 0 || message->is_accused) continue;
        message->is_accused = 1;
        accuse_on(message->source, "message never received", message->call_site, 0,
                  "%lld bytes with tag %d from rank %d to rank %d", (long long)message->bytes,
                  message->tag & LARGEST_TAG, message->source, receiver);
    }
}

// Buffers of requests that nobody has any more may be anything in the next part.
EXPORT void commmodel_leave_part(void) { forget_watches(); }

EXPORT void commmodel_end_part(void) {
    if (!is_checked()) return;
    for (int rank = 0; rank < world->ranks; rank++) {
        const struct online_channel *channel;
        for (int bucket = 0; bucket < ONLINE_BUCKETS; bucket++)
            for (uint64_t at = world->rank[rank].buckets[bucket]; at != 0; at = channel->next) {
                channel = online_at(world, at);
                if (!channel->of_receives && channel->tag >= 0) accuse_messages_of(rank, channel);
            }
    }
}
