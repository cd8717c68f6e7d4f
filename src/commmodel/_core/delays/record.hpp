// What an engine of the delay models says of a run: the records of program.hpp, one after the other, and who hangs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "program/program.hpp"

namespace commmodel::delays {

struct Blocked {
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
    std::vector<Interval> intervals;
    std::vector<Transfer> transfers;
    std::vector<Mark> marks;
    std::vector<Blocked> blocked;
    int64_t messages = 0, events = 0, unreceived = 0;
    std::string failure;

    void spend(int32_t rank, State state, int32_t peer, int32_t tag, double size, double start, double end) {
        spent[static_cast<size_t>(rank) * STATES + state] += end - start;
        if (wanted && end > start) intervals.push_back({rank, state, peer, tag, size, start, end});
    }
};

}  // namespace commmodel::delays
