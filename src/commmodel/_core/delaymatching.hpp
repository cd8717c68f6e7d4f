// Which message a receive takes, by source and tag, in MPI's order, for the engine of the delay models.
//
// One table for all ranks: (receiver, source, tag) -> receives that wait for such a message, or messages that wait for
// such a receive; there are never both. So a match takes one look-up however much waits: lists, which others search,
// make an alltoall quadratic. Receives from any source or with any tag stand under keys of their own, and are looked
// for only at ranks that have some; such a receive looks through what came unexpectedly, in the order of arrival.
#pragma once

#include <cstdint>
#include <vector>

#include "delayqueue.hpp"
#include "program.hpp"

namespace commmodel::delays {

// First and last of a queue, linked by their owners.
struct Queue {
    int32_t first = NOTHING, last = NOTHING;
    bool of_messages = false;
};

// Open addressing; what empties is taken out, so that its size is that of what waits.
class Table {
public:
    struct Key {
        int32_t rank, source, tag;
        bool operator==(const Key &other) const {
            return rank == other.rank && source == other.source && tag == other.tag;
        }
    };

    Table() : slots_(64), mask_(63) {}

    // Return a key's queue, added if it is new; holds until the next call.
    Queue &at(const Key &key) {
        if (2 * (used_ + 1) > slots_.size()) grow();
        size_t place = place_of(key);
        if (slots_[place].queue.first == NOTHING) {
            slots_[place].key = key;
            slots_[place].queue = Queue();
        }
        return slots_[place].queue;
    }
    Queue *find(const Key &key) {
        Slot &slot = slots_[place_of(key)];
        return slot.queue.first == NOTHING ? nullptr : &slot.queue;
    }
    // To be told when a queue has got its first.
    void filled() { used_ += 1; }
    // Take out a queue that has only one left.
    void emptied(const Key &key) {
        size_t hole = place_of(key), place = hole;
        slots_[hole].queue.first = NOTHING;
        used_ -= 1;
        for (;;) {
            place = (place + 1) & mask_;
            if (slots_[place].queue.first == NOTHING) break;
            size_t home = hash(slots_[place].key) & mask_;
            if (((place - home) & mask_) >= ((place - hole) & mask_)) {
                slots_[hole] = slots_[place];
                slots_[place].queue.first = NOTHING;
                hole = place;
            }
        }
    }

private:
    struct Slot {
        Key key{0, 0, 0};
        Queue queue;
    };

    static size_t hash(const Key &key) {
        uint64_t mixed = (static_cast<uint64_t>(static_cast<uint32_t>(key.rank)) << 32) ^ static_cast<uint32_t>(key.source);
        mixed = (mixed ^ (static_cast<uint64_t>(static_cast<uint32_t>(key.tag)) << 16)) * 0x9E3779B97F4A7C15ull;
        mixed = (mixed ^ (mixed >> 29)) * 0xBF58476D1CE4E5B9ull;
        return static_cast<size_t>(mixed ^ (mixed >> 32));
    }
    size_t place_of(const Key &key) const {
        size_t place = hash(key) & mask_;
        while (slots_[place].queue.first != NOTHING && !(slots_[place].key == key)) place = (place + 1) & mask_;
        return place;
    }
    void grow() {
        std::vector<Slot> old(slots_.size() * 2);
        old.swap(slots_);
        mask_ = slots_.size() - 1;
        for (const Slot &slot : old)
            if (slot.queue.first != NOTHING) slots_[place_of(slot.key)] = slot;
    }

    std::vector<Slot> slots_;
    size_t mask_, used_ = 0;
};

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
        Table::Key key{rank, one.source, one.tag};
        if (unmatched.wildcards) {
            int32_t found = first_posted(rank, one, key);
            if (found != NOTHING) {
                bool wild = key.source == ANY || key.tag == ANY;
                unmatched.wildcards -= wild;
                take_posted(key);
                return found;
            }
            key = {rank, one.source, one.tag};
        }
        Queue &queue = table_.at(key);
        if (queue.first != NOTHING && !queue.of_messages) {
            int32_t found = queue.first;
            take_posted(key);
            return found;
        }
        one.link = NOTHING;
        waiting_ += 1;
        if (queue.first == NOTHING) {
            queue.first = message;
            queue.of_messages = true;
            table_.filled();
        } else {
            messages_[queue.last].link = message;
        }
        queue.last = message;
        one.child = unmatched.last;
        one.sibling = NOTHING;
        (unmatched.last == NOTHING ? unmatched.first : messages_[unmatched.last].sibling) = message;
        unmatched.last = message;
        return NOTHING;
    }

    // Return the message that a receive takes, or NOTHING: then the receive waits.
    int32_t post(int32_t rank, Unmatched &unmatched, int32_t receive) {
        Table::Key key{rank, receives_.source(receive), receives_.tag(receive)};
        bool wild = key.source == ANY || key.tag == ANY;
        if (wild) {
            for (int32_t one = unmatched.first; one != NOTHING; one = messages_[one].sibling) {
                const Message &message = messages_[one];
                bool fits = (key.source == ANY || key.source == message.source) &&
                            (key.tag == ANY ? message.tag >= 0 : key.tag == message.tag);
                if (fits) {
                    take_message({rank, message.source, message.tag}, unmatched, one);
                    return one;
                }
            }
        }
        Queue &queue = table_.at(key);
        if (queue.first != NOTHING && queue.of_messages) {
            int32_t found = queue.first;
            take_message(key, unmatched, found);
            return found;
        }
        unmatched.wildcards += wild;
        receives_.link(receive) = NOTHING;
        if (queue.first == NOTHING) {
            queue.first = receive;
            queue.of_messages = false;
            table_.filled();
        } else {
            receives_.link(queue.last) = receive;
        }
        queue.last = receive;
        return NOTHING;
    }

    // Return how many messages wait for a receive.
    int64_t waiting() const { return waiting_; }

private:
    // Return the receive that was posted first of those that a message fits, and set its key.
    int32_t first_posted(int32_t rank, const Message &message, Table::Key &key) {
        const Table::Key keys[] = {
            {rank, message.source, message.tag}, {rank, ANY, message.tag}, {rank, message.source, ANY}, {rank, ANY, ANY},
        };
        int32_t found = NOTHING;
        for (int which = 0; which < (message.tag >= 0 ? 4 : 2); which++) {
            Queue *queue = table_.find(keys[which]);
            if (!queue || queue->of_messages) continue;
            if (found == NOTHING || static_cast<int32_t>(receives_.posted(queue->first) - receives_.posted(found)) < 0) {
                found = queue->first;
                key = keys[which];
            }
        }
        return found;
    }
    void take_posted(const Table::Key &key) {
        Queue &queue = *table_.find(key);
        int32_t next = receives_.link(queue.first);
        if (next == NOTHING) return table_.emptied(key);
        queue.first = next;
    }
    void take_message(const Table::Key &key, Unmatched &unmatched, int32_t message) {
        Message &one = messages_[message];
        waiting_ -= 1;
        (one.child == NOTHING ? unmatched.first : messages_[one.child].sibling) = one.sibling;
        (one.sibling == NOTHING ? unmatched.last : messages_[one.sibling].child) = one.child;
        Queue &queue = *table_.find(key);
        if (one.link == NOTHING) return table_.emptied(key);
        queue.first = one.link;
    }

    Messages &messages_;
    Receives &receives_;
    Table table_;
    int64_t waiting_ = 0;
};

}  // namespace commmodel::delays
