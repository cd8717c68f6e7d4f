// Which message goes to which receive, as MPI says it: between two ranks, messages of a tag in the order of sending, and
// receives in the order of posting, with any source and any tag.
//
// A receive that waits for its message and a message that waits for its receive are entries of one pool, 64 bytes each;
// when the two meet, one entry remains. Entries of the same (destination, source, tag) form a queue, and a hash finds its
// head: they are all receives or all messages, since otherwise two of them would have met. Receives with a wildcard form a
// list for each destination; so do all messages that wait, for these receives to search in the order of sending.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "program/matching_table.hpp"
#include "program/program.hpp"

namespace commmodel {

enum Stage : uint8_t { UNUSED, POSTED, SENT, MATCHED };
enum Mode : uint8_t { ASYNCHRONOUS, DETACHED, SYNCHRONOUS };

// Who waits for an end of a message: the index of a named request, or one of these.
constexpr int32_t NOBODY = -1;
constexpr int32_t BLOCKING = -2;     // MPI_Send or MPI_Recv
constexpr int32_t UNNAMED_ONE = -3;  // counted with the rank

struct Message {
    double size;    // of a posted receive: the most that it takes
    int64_t order;  // of posting
    int32_t source, destination, tag;
    int32_t sender, receiver;  // who waits
    int32_t next;              // in the queue of its key, in the list of wildcards, or of unused ones
    int32_t timer;             // the next one in the agenda
    int32_t tail;              // of the queue, at its head
    int32_t before, after;     // among the messages that wait for a receive at the destination
    Stage stage;
    Mode mode;
    bool arrived;
};
static_assert(sizeof(Message) <= 64, "it fits into a cache line");

class Matching {
  public:
    explicit Matching(int32_t ranks) : lists_(static_cast<size_t>(ranks)) {}

    Message &at(int32_t index) { return chunks_[static_cast<size_t>(index) >> BITS][index & (CHUNK - 1)]; }
    int32_t size() const { return made_; }  // all entries ever in use have lower indices

    int32_t make() {
        int32_t index = unused_;
        if (index != NONE) {
            unused_ = at(index).next;
        } else {
            index = made_++;
            if ((static_cast<size_t>(index) >> BITS) == chunks_.size()) chunks_.emplace_back(new Message[CHUNK]);
        }
        return index;
    }

    void drop(int32_t index) {
        at(index).stage = UNUSED;
        at(index).next = unused_;
        unused_ = index;
    }

    // Post a receive that no waiting message matches.
    void post(int32_t index) {
        Message &receive = at(index);
        receive.stage = POSTED;
        receive.order = order_++;
        receive.next = NONE;
        if (receive.source != ANY && receive.tag != ANY) {
            append(index, receive);
            return;
        }
        Lists &lists = lists_[receive.destination];
        (lists.wild_last == NONE ? lists.wild_first : at(lists.wild_last).next) = index;
        lists.wild_last = index;
    }

    // Let a message that no posted receive matches wait.
    void wait(int32_t index) {
        Message &message = at(index);
        message.stage = SENT;
        message.order = order_++;
        message.next = NONE;
        append(index, message);
        Lists &lists = lists_[message.destination];
        message.before = lists.sent_last;
        message.after = NONE;
        (lists.sent_last == NONE ? lists.sent_first : at(lists.sent_last).after) = index;
        lists.sent_last = index;
    }

    // Take the receive that a message meets, posted before any other that matches it; NONE where there is none.
    int32_t take_posted(int32_t destination, int32_t source, int32_t tag) {
        const size_t slot = table_.find({destination, source, tag});
        int32_t exact = table_[slot].first;
        if (exact != NONE && at(exact).stage == SENT) exact = NONE;  // its queue is of messages
        Lists &lists = lists_[destination];
        int32_t previous = NONE;
        for (int32_t wild = lists.wild_first; wild != NONE; previous = wild, wild = at(wild).next) {
            const Message &receive = at(wild);
            if (exact != NONE && at(exact).order < receive.order) break;
            if (receive.source != ANY && receive.source != source) continue;
            if (receive.tag == ANY ? tag < 0 : receive.tag != tag) continue;
            (previous == NONE ? lists.wild_first : at(previous).next) = receive.next;
            if (lists.wild_last == wild) lists.wild_last = previous;
            return wild;
        }
        if (exact != NONE) remove_head(slot);
        return exact;
    }

    // Take the message that a receive meets, sent before any other that matches it; NONE where there is none.
    int32_t take_sent(int32_t destination, int32_t source, int32_t tag) {
        if (lists_[destination].sent_first == NONE) return NONE;
        int32_t found = NONE;
        if (source != ANY && tag != ANY) {
            const size_t slot = table_.find({destination, source, tag});
            found = table_[slot].first;
            if (found == NONE || at(found).stage == POSTED) return NONE;
            remove_head(slot);
        } else {
            found = lists_[destination].sent_first;
            for (; found != NONE; found = at(found).after) {
                const Message &message = at(found);
                const bool from = source == ANY || message.source == source;
                if (from && (tag == ANY ? message.tag >= 0 : message.tag == tag)) break;
            }
            if (found == NONE) return NONE;
            remove_head(table_.find({destination, at(found).source, at(found).tag}));  // the oldest of its key: its head
        }
        const Message &message = at(found);
        Lists &lists = lists_[destination];
        (message.before == NONE ? lists.sent_first : at(message.before).after) = message.after;
        (message.after == NONE ? lists.sent_last : at(message.after).before) = message.before;
        return found;
    }

  private:
    static constexpr int BITS = 14;
    static constexpr int32_t CHUNK = 1 << BITS;
    struct Queue {
        int32_t first = NONE;  // the head
    };
    struct Lists {
        int32_t wild_first = NONE, wild_last = NONE, sent_first = NONE, sent_last = NONE;
    };

    void append(int32_t index, Message &entry) {
        const MatchingKey key{entry.destination, entry.source, entry.tag};
        const size_t slot = table_.find(key);
        const int32_t head = table_[slot].first;
        if (head != NONE) {
            at(at(head).tail).next = index;
            at(head).tail = index;
            return;
        }
        entry.tail = index;
        table_.fill(slot, key, {index});
    }

    void remove_head(size_t slot) {
        const Message &head = at(table_[slot].first);
        if (head.next == NONE) return table_.empty(slot);
        at(head.next).tail = head.tail;
        table_[slot].first = head.next;
    }

    std::vector<std::unique_ptr<Message[]>> chunks_;
    std::vector<Lists> lists_;
    MatchingTable<Queue, 1024> table_;
    int64_t order_ = 0;
    int32_t made_ = 0, unused_ = NONE;
};

}  // namespace commmodel
