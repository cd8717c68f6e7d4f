// What an engine of the delay models says of a run: rows as in commmodel.simulate.outcome, one after the other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace commmodel::delays {

enum State { COMPUTE = 0, SEND = 1, RECEIVE = 2, WAIT = 3, SLEEP = 4, STATES = 5 };

#pragma pack(push, 1)
struct IntervalRow {
    int32_t rank, state, peer, tag;
    double size, start, end;
};
struct MessageRow {
    int32_t sender, receiver, tag;
    double size, posted, left, arrived;
};
struct MarkRow {
    int32_t rank, number;
    double time;
};
#pragma pack(pop)

struct BlockedRow {
    int32_t rank;
    std::string call;
    bool sends;  // waits for a receive, else for a message
    int32_t peer, tag;
    double size;
};

struct Record {
    bool wanted = false;
    std::vector<double> ends;
    std::vector<double> spent;  // STATES for each rank
    std::vector<IntervalRow> intervals;
    std::vector<MessageRow> transfers;
    std::vector<MarkRow> marks;
    std::vector<BlockedRow> blocked;
    int64_t messages = 0, events = 0, unreceived = 0;
    std::string failure;

    void spend(int32_t rank, State state, int32_t peer, int32_t tag, double size, double start, double end) {
        spent[static_cast<size_t>(rank) * STATES + state] += end - start;
        if (wanted && end > start) intervals.push_back({rank, state, peer, tag, size, start, end});
    }
};

}  // namespace commmodel::delays
