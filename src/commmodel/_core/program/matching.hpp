// Which message goes to which receive, as MPI says it: between two ranks, messages of a tag in the order of sending, and
// receives in the order of posting, with any source and any tag.
//
// (Receiver, source, tag) -> receives that wait for such a message, or messages that wait for such a receive; there are
// never both. A rank has places for a few of these beside its other data, which suffice most of the time; one table for
// all ranks has the others. So a match takes one look-up however much waits: lists, which others search,
// make an alltoall quadratic. Receives from any source or with any tag stand under keys of their own, and are looked
// for only at ranks that have some; such a receive looks through the unmatched messages, in the order in which they came.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/hash_table.hpp"
#include "program/live.hpp"
#include "program/program.hpp"

namespace commmodel {

struct MatchingKey {
    int32_t rank, source, tag;
    bool operator==(const MatchingKey &other) const {
        return rank == other.rank && source == other.source && tag == other.tag;
    }
    uint64_t hash() const { return mixed(pair_of(rank, source) + static_cast<uint32_t>(tag) * 0xD6E8FEB86659FD93u); }
};

// Messages, or receives, of a source and a tag.
struct MatchingQueue {
    int32_t first = NONE, last = NONE;  // of messages, the last is ~index
    bool of_messages() const { return last < 0; }
};

// What a rank keeps for matching.
struct Unmatched {
    struct Near {
        int32_t source, tag;
        MatchingQueue queue;
    };
    int32_t first = NONE, last = NONE;  // messages
    int32_t wildcards = 0;              // receives from any source or with any tag
    int32_t far = 0;                    // keys in the table
    Near near[2];
};

// `Messages` gives of a message `source`, `tag`, and to be written to, while it is unmatched, `link`, `before` and
// `after`; `Receives` of a receive `source`, `tag`, `link`, and `posted_before(one, other)`.
template <class Messages, class Receives> class Matching {
  public:
    Matching(Messages &messages, Receives &receives, const Live *live = nullptr)
        : messages_(messages), receives_(receives) {
        if (live != nullptr) tag_bits_ = live->tag_bits, any_below_ = ANY_OF_COMMUNICATOR;
    }

    // Whether a message of this tag is one that a receive takes.
    bool takes(int32_t tag, int32_t of_message) const {
        return is_any(tag) ? of_message >= 0 && tag == any_like(of_message) : tag == of_message;
    }

    // The message that a probe finds, NONE where there is none: of each source only the first that fits, and that only
    // where it `is_ready`.
    template <class IsReady>
    int32_t find_message(const Unmatched &unmatched, int32_t source, int32_t tag, IsReady is_ready) const {
        std::vector<int32_t> behind;  // sources whose first message is not ready
        for (int32_t message = unmatched.first; message != NONE; message = messages_.after(message)) {
            const int32_t from = messages_.source(message);
            if ((source != ANY && source != from) || !takes(tag, messages_.tag(message))) continue;
            if (std::find(behind.begin(), behind.end(), from) != behind.end()) continue;
            if (is_ready(message)) return message;
            behind.push_back(from);
        }
        return NONE;
    }

    int64_t unmatched_messages() const { return waiting_; }

    // Take the receive that a message meets, posted before any other that matches it; NONE where there is none.
    int32_t take_receive(int32_t rank, Unmatched &unmatched, int32_t source, int32_t tag) {
        MatchingKey key{rank, source, tag};
        if (unmatched.wildcards) {
            key = first_posted(unmatched, key);
            unmatched.wildcards -= is_wild(key);
        }
        const MatchingQueue *const queue = find(unmatched, key);
        if (queue == nullptr || queue->of_messages()) return NONE;
        const int32_t receive = queue->first;
        take_first(unmatched, receives_.link(receive));
        return receive;
    }

    // Keep a message for which `take_receive` has just found nothing.
    void keep_message(int32_t rank, Unmatched &unmatched, int32_t message) {
        ++waiting_;
        keep(messages_, unmatched, {rank, messages_.source(message), messages_.tag(message)}, message, true);
        messages_.before(message) = unmatched.last;
        messages_.after(message) = NONE;
        (unmatched.last == NONE ? unmatched.first : messages_.after(unmatched.last)) = message;
        unmatched.last = message;
    }

    // Take the message that a receive meets, sent before any other that matches it; NONE where there is none.
    int32_t take_message(int32_t rank, Unmatched &unmatched, int32_t source, int32_t tag) {
        MatchingKey key{rank, source, tag};
        if (is_wild(key)) {
            for (int32_t message = unmatched.first; message != NONE; message = messages_.after(message)) {
                const int32_t from = messages_.source(message), with = messages_.tag(message);
                if ((source == ANY || source == from) && takes(tag, with)) {
                    key = {rank, from, with};
                    break;
                }
            }
        }
        const MatchingQueue *const queue = find(unmatched, key);
        if (queue == nullptr || !queue->of_messages()) return NONE;
        const int32_t message = queue->first;
        --waiting_;
        const int32_t before = messages_.before(message), after = messages_.after(message);
        (before == NONE ? unmatched.first : messages_.after(before)) = after;
        (after == NONE ? unmatched.last : messages_.before(after)) = before;
        take_first(unmatched, messages_.link(message));
        return message;
    }

    // Keep a receive for which `take_message` has just found nothing.
    void keep_receive(int32_t rank, Unmatched &unmatched, int32_t receive) {
        const MatchingKey key{rank, receives_.source(receive), receives_.tag(receive)};
        unmatched.wildcards += is_wild(key);
        keep(receives_, unmatched, key, receive, false);
    }

    // Take out the first receive that `fits` of those that wait for a message of source and tag; NONE where there is none.
    template <class Fits> int32_t withdraw(int32_t rank, Unmatched &unmatched, int32_t source, int32_t tag, Fits fits) {
        const MatchingKey key{rank, source, tag};
        MatchingQueue *const queue = find(unmatched, key);
        if (queue == nullptr || queue->of_messages()) return NONE;
        int32_t before = NONE, receive = queue->first;
        while (receive != NONE && !fits(receive)) {
            before = receive;
            receive = receives_.link(receive);
        }
        if (receive == NONE) return NONE;
        unmatched.wildcards -= is_wild(key);
        if (before == NONE) {
            take_first(unmatched, receives_.link(receive));
        } else {
            receives_.link(before) = receives_.link(receive);
            if (queue->last == receive) queue->last = before;
        }
        return receive;
    }

  private:
    bool is_any(int32_t tag) const { return tag == ANY || tag < any_below_; }

    bool is_wild(const MatchingKey &key) const { return key.source == ANY || is_any(key.tag); }

    // What a receive of any tag has that takes a message of this one.
    int32_t any_like(int32_t tag) const {
        const int32_t communicator = tag >> tag_bits_;
        return communicator > 0 ? ANY_OF_COMMUNICATOR - communicator : ANY;
    }

    // The queue of a key, nullptr where there is none. Note where it is, or can be.
    MatchingQueue *find(Unmatched &unmatched, const MatchingKey &key) {
        near_ = nullptr;
        for (Unmatched::Near &near : unmatched.near) {
            if (near.queue.first == NONE) {
                near_ = &near;
            } else if (near.source == key.source && near.tag == key.tag) {
                near_ = &near;
                return &near.queue;
            }
        }
        if (unmatched.far == 0 && near_ != nullptr) return nullptr;
        slot_ = table_.find(key);
        if (table_[slot_].first == NONE) return nullptr;
        near_ = nullptr;
        return &table_[slot_];
    }

    // The key of the receive that was posted first of those that a message of a key fits; that key where there is none.
    MatchingKey first_posted(Unmatched &unmatched, const MatchingKey &key) {
        const int32_t any = any_like(key.tag);
        const MatchingKey keys[] = {key, {key.rank, ANY, key.tag}, {key.rank, key.source, any}, {key.rank, ANY, any}};
        int32_t first = NONE, best = 0;
        for (int32_t number = 0; number < (key.tag >= 0 ? 4 : 2); ++number) {
            const MatchingQueue *const queue = find(unmatched, keys[number]);
            if (queue == nullptr || queue->of_messages()) continue;
            if (first == NONE || receives_.posted_before(queue->first, first)) {
                first = queue->first;
                best = number;
            }
        }
        return keys[best];
    }

    // Behind the others of the key for which `find` was last called.
    template <class Items>
    void keep(Items &items, Unmatched &unmatched, const MatchingKey &key, int32_t item, bool of_messages) {
        items.link(item) = NONE;
        const int32_t last = of_messages ? ~item : item;
        MatchingQueue &queue = near_ != nullptr ? near_->queue : table_[slot_];
        if (queue.first != NONE) {
            items.link(of_messages ? ~queue.last : queue.last) = item;
            queue.last = last;
        } else if (near_ != nullptr) {
            *near_ = {key.source, key.tag, {item, last}};
        } else {
            ++unmatched.far;
            table_.fill(slot_, key, {item, last});
        }
    }

    void take_first(Unmatched &unmatched, int32_t next) {
        if (next != NONE) {
            (near_ != nullptr ? near_->queue : table_[slot_]).first = next;
        } else if (near_ != nullptr) {
            near_->queue = MatchingQueue();
        } else {
            --unmatched.far;
            table_.empty(slot_);
        }
    }

    Messages &messages_;
    Receives &receives_;
    HashTable<MatchingKey, MatchingQueue, 256> table_;
    Unmatched::Near *near_ = nullptr;  // of the last look-up; nullptr: it is in the table
    size_t slot_ = 0;
    int32_t tag_bits_ = 31, any_below_ = INT32_MIN;
    int64_t waiting_ = 0;
};

}  // namespace commmodel
