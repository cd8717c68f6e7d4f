// Messages of the flow engine, and receives that wait for one: entries of one pool. When the two meet, one entry remains.
#pragma once

#include <cstdint>
#include <vector>

#include "program/message_pool.hpp"

namespace commmodel {

// STORED, FETCHED: of one-sided operations; FILED: of files, from and to the rank itself
enum Stage : uint8_t { UNUSED, POSTED, SENT, MATCHED, STORED, FETCHED, FILED };
enum Mode : uint8_t { ASYNCHRONOUS, DETACHED, SYNCHRONOUS };

// Who waits for an end of a message: the index of a named request, NONE, or a value of these.
constexpr int32_t BLOCKING = -2;         // MPI_Send or MPI_Recv
constexpr int32_t UNNAMED_REQUEST = -3;  // counted with the rank

struct Message {
    double size;    // of a posted receive: the most that it takes
    int64_t order;  // of posting
    int32_t source, destination, tag;
    int32_t sends, receives;   // whose operations do: ranks, or strands of them
    int32_t sender, receiver;  // who waits
    int32_t link;              // in a queue, or of unused ones
    int32_t timer;             // the next one in the event queue
    int32_t before, after;     // among the unmatched messages of the destination
    Stage stage;
    bool arrived, awaits_receive;

    void set(double bytes, int32_t from, int32_t to, int32_t its_tag) {
        size = bytes;
        source = from;
        destination = to;
        tag = its_tag;
    }
};
static_assert(sizeof(Message) <= 64, "it fits into a cache line");

// When messages were posted and left, by their place in the pool.
class SendTimes {
  public:
    void post(int32_t message, double time) {
        if (static_cast<size_t>(message) >= times_.size()) times_.resize(static_cast<size_t>(message) + 1);
        times_[message].posted = time;
    }
    void leave(int32_t message, double time) { times_[message].left = time; }
    double posted(int32_t message) const { return times_[message].posted; }
    double left(int32_t message) const { return times_[message].left; }

  private:
    struct Times {
        double posted, left;
    };
    std::vector<Times> times_;
};

class Messages : public MessagePool<Message, &Message::before, &Message::after> {
  public:
    bool posted_before(int32_t first, int32_t second) const { return (*this)[first].order < (*this)[second].order; }
};

}  // namespace commmodel
