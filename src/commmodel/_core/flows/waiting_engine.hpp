// What the engine does where ranks wait for requests.
#pragma once

#include <cstdint>
#include <utility>

#include "flows/engine.hpp"

namespace commmodel {

template <bool DERIVES> inline bool Engine<DERIVES>::begin_wait(int32_t rank) {
    Rank &process = ranks_[rank];
    const Operation &operation = *process.at;
    if (operation.code == TEST) poll(rank);
    const int32_t index = requests_.find(rank, operation.request);
    if (index == NONE || (operation.code == TEST && !requests_[index].done)) {
        ++process.at;
        return true;
    }
    collect(rank, index);
    if (operation.code == TEST) {
        if (stay(rank, std::exchange(process.owed, 0.0), TESTED)) return false;
        ++process.at;
        return true;
    }
    return wait(rank, IN_WAIT);
}

template <bool DERIVES> inline bool Engine<DERIVES>::begin_waitall(int32_t rank) {
    Rank &process = ranks_[rank];
    if (process.at->request == UNNAMED) {
        process.awaited = process.open_unnamed;
        process.owed = std::exchange(process.owed_unnamed, 0.0);
    } else {
        for (int32_t index = process.first_request; index != NONE;) {
            const int32_t next = requests_[index].after;
            collect(rank, index);
            index = next;
        }
    }
    return wait(rank, IN_WAIT);
}

// Wait for a named request, or take it if it is done.
template <bool DERIVES> inline void Engine<DERIVES>::collect(int32_t rank, int32_t index) {
    Rank &process = ranks_[rank];
    Request &request = requests_[index];
    if (request.done) {
        process.owed += request.overhead;
        requests_.close(rank, index, process.first_request);
    } else {
        request.awaited = true;
        ++process.awaited;
    }
}

// After a part of a wait spent in `state`: the overheads that are owed, then what has not come yet.
template <bool DERIVES> inline bool Engine<DERIVES>::wait(int32_t rank, State state) {
    Rank &process = ranks_[rank];
    if (process.owed > 0.0 || process.awaited == 0 || state == IN_RECEIVE)
        spend(rank, state == IN_WAIT ? waiting(process) : state);
    if (process.owed > 0.0 && stay(rank, std::exchange(process.owed, 0.0), AFTER_WAITING)) return false;
    process.owed = 0.0;
    if (process.awaited > 0) {
        process.doing = WAITING;
        progress(rank);
        return false;
    }
    ++process.at;
    return true;
}

}  // namespace commmodel
