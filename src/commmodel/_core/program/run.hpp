// A run of an engine: its callbacks, its record, and why it stopped before its end.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "program/live.hpp"
#include "program/program.hpp"

namespace commmodel {

// Functions of the caller; each returns false where it raised.
struct Callbacks {
    void *context = nullptr;
    bool (*refill)(void *context, int32_t rank, const Operation **begin, int64_t *count) = nullptr;
    // The next operations of all ranks at once, rank by rank, where all have had what there was; nullptr where that is
    // not so. `users`: of each block given so far, how many ranks still need it.
    bool (*refill_all)(void *context, const std::vector<int32_t> &users, const Operation **operations,
                       const int64_t **offsets) = nullptr;
    bool (*may_go_on)(void *context, double now, int64_t events) = nullptr;
};

struct Run {
    Callbacks callbacks;
    Live *live = nullptr;              // instead of `refill`
    const Answers *answers = nullptr;  // set by an engine that can run live programs
    bool records = false;              // intervals and transfers
    int64_t most_steps = 0;            // to walk back over, for derivatives on shared links; 0: none are wanted
    std::vector<double> ends;
    std::vector<double> slopes;  // derivatives of each rank's end, where they are carried
    std::vector<double> spent;   // STATES for each rank
    std::vector<double> link_bytes;
    std::vector<double> link_work;  // the bytes that the link could have carried meanwhile at its full capacity
    std::vector<Interval> intervals;
    std::vector<Transfer> transfers;
    std::vector<Mark> marks;
    std::vector<Hanging> hanging;
    int64_t messages = 0, events = 0, solver_calls = 0, unmatched_messages = 0;
    Stop stop;

    bool stopped() const { return stop.fault != NO_FAULT; }

    void spend(int32_t rank, State state, int32_t peer, int32_t tag, double size, double start, double end) {
        spent[static_cast<size_t>(rank) * STATES + state] += end - start;
        if (records && end > start) intervals.push_back({rank, state, peer, tag, size, start, end});
    }

    // Ask the caller from time to time; false where the run has to stop.
    bool may_go_on(double now) {
        if (++calls_ % CALLS != 0 && events + messages - asked_ <= PATIENCE) return true;
        const auto time = Clock::now();
        if (events + messages - asked_ <= PATIENCE && time < next_) return true;
        asked_ = events + messages;
        next_ = time + std::chrono::milliseconds(100);
        if (callbacks.may_go_on(callbacks.context, now, events)) return true;
        stop.fault = INTERRUPTED;
        return false;
    }

  private:
    using Clock = std::chrono::steady_clock;
    static constexpr int64_t PATIENCE = 100000;  // events and messages between two questions
    static constexpr uint32_t CALLS = 16;        // between two looks at the clock
    int64_t asked_ = 0;
    uint32_t calls_ = 0;
    Clock::time_point next_ = Clock::now() + std::chrono::milliseconds(100);
};

}  // namespace commmodel
