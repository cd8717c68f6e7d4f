// Which message a receive takes, by source and tag, in MPI's order, for the engine of the delay models.
//
// One table for all ranks: (receiver, source, tag) -> receives that wait for such a message, or messages that wait for
// such a receive; there are never both. So a match takes one look-up however much waits: lists, which others search,
// make an alltoall quadratic. Receives from any source or with any tag stand under keys of their own, and are looked
// for only at ranks that have some; such a receive looks through what came unexpectedly, in the order of arrival.
#pragma once

#include <cstdint>
#include <vector>

#include "delays/queues.hpp"
#include "program/matching_table.hpp"
#include "program/program.hpp"

namespace commmodel::delays {

// First and last of a queue, linked by their owners.
struct Queue {
    int32_t first = NOTHING, last = NOTHING;
    bool of_messages = false;
};

using Key = MatchingKey;
using Table = MatchingTable<Queue, 64>;

// What a rank must keep for matching.
struct Unmatched {
    int32_t first = NOTHING, last = NOTHING;  // messages that came unexpectedly
    int32_t wildcards = 0;  // receives from any source or with any tag that wait
};

// `Receives` gives of a receive `link`, to be written to, `source`, `tag`, and `posted`, its number in order.
template <class Receives> class Matching {
public:
    Matching(Messages &messages, Receives &receives) : messages_(messages), receives_(receives) {}

    // Return the receive that takes a message that comes, or NOTHING: then the message waits.
    int32_t arrive(int32_t rank, Unmatched &unmatched, int32_t message) {
        Message &one = messages_[message];
        Key key{rank, one.source, one.tag};
        if (unmatched.wildcards) {
            int32_t found = first_posted(rank, one, key);
            if (found != NOTHING) {
                bool wild = key.source == ANY || key.tag == ANY;
                unmatched.wildcards -= wild;
                return take_posted(table_.find(key));
            }
            key = {rank, one.source, one.tag};
        }
        const size_t slot = table_.find(key);
        Queue &queue = table_[slot];
        if (queue.first != NOTHING && !queue.of_messages) return take_posted(slot);
        one.link = NOTHING;
        waiting_ += 1;
        if (queue.first == NOTHING) {
            table_.fill(slot, key, {message, message, true});
        } else {
            messages_[queue.last].link = message;
            queue.last = message;
        }
        one.child = unmatched.last;
        one.sibling = NOTHING;
        (unmatched.last == NOTHING ? unmatched.first : messages_[unmatched.last].sibling) = message;
        unmatched.last = message;
        return NOTHING;
    }

    // Return the message that a receive takes, or NOTHING: then the receive waits.
    int32_t post(int32_t rank, Unmatched &unmatched, int32_t receive) {
        Key key{rank, receives_.source(receive), receives_.tag(receive)};
        bool wild = key.source == ANY || key.tag == ANY;
        if (wild) {
            for (int32_t one = unmatched.first; one != NOTHING; one = messages_[one].sibling) {
                const Message &message = messages_[one];
                bool fits = (key.source == ANY || key.source == message.source) &&
                            (key.tag == ANY ? message.tag >= 0 : key.tag == message.tag);
                if (fits) {
                    return take_message(table_.find({rank, message.source, message.tag}), unmatched);
                }
            }
        }
        const size_t slot = table_.find(key);
        Queue &queue = table_[slot];
        if (queue.first != NOTHING && queue.of_messages) return take_message(slot, unmatched);
        unmatched.wildcards += wild;
        receives_.link(receive) = NOTHING;
        if (queue.first == NOTHING) {
            table_.fill(slot, key, {receive, receive, false});
        } else {
            receives_.link(queue.last) = receive;
            queue.last = receive;
        }
        return NOTHING;
    }

    // Return how many messages wait for a receive.
    int64_t waiting() const { return waiting_; }

private:
    // Return the receive that was posted first of those that a message fits, and set its key.
    int32_t first_posted(int32_t rank, const Message &message, Key &key) {
        const Key keys[] = {
            {rank, message.source, message.tag}, {rank, ANY, message.tag}, {rank, message.source, ANY}, {rank, ANY, ANY},
        };
        int32_t found = NOTHING;
        for (int which = 0; which < (message.tag >= 0 ? 4 : 2); which++) {
            const Queue &queue = table_[table_.find(keys[which])];
            if (queue.first == NOTHING || queue.of_messages) continue;
            if (found == NOTHING || static_cast<int32_t>(receives_.posted(queue.first) - receives_.posted(found)) < 0) {
                found = queue.first;
                key = keys[which];
            }
        }
        return found;
    }
    // Take the first of a slot's queue out, and return it.
    int32_t take_posted(size_t slot) {
        const int32_t found = table_[slot].first;
        take_first(slot, receives_.link(found));
        return found;
    }
    int32_t take_message(size_t slot, Unmatched &unmatched) {
        const int32_t found = table_[slot].first;
        Message &one = messages_[found];
        waiting_ -= 1;
        (one.child == NOTHING ? unmatched.first : messages_[one.child].sibling) = one.sibling;
        (one.sibling == NOTHING ? unmatched.last : messages_[one.sibling].child) = one.child;
        take_first(slot, one.link);
        return found;
    }
    void take_first(size_t slot, int32_t next) {
        if (next == NOTHING) return table_.empty(slot);
        table_[slot].first = next;
    }

    Messages &messages_;
    Receives &receives_;
    Table table_;
    int64_t waiting_ = 0;
};

}  // namespace commmodel::delays
