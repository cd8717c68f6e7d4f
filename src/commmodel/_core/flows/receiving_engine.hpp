// What the engine does where ranks receive messages.
#pragma once

#include <cstdint>
#include <utility>

#include "flows/engine.hpp"

namespace commmodel {

template <bool DERIVES> inline bool Engine<DERIVES>::receive(int32_t rank) {
    Rank &process = ranks_[rank];
    const Operation &operation = *process.at;
    const bool blocking = operation.code == RECV;
    const int32_t receiver = strands_.rank(rank);
    Unmatched &unmatched = ranks_[receiver].unmatched;
    int32_t index = matching_.take_message(receiver, unmatched, operation.peer, operation.tag);
    const bool matched = index != NONE;
    if (!matched) index = messages_.make();
    Message &message = messages_[index];
    if (matched && !reader_.fits(message.size, operation.value, message.source, receiver, message.tag, process))
        return false;
    message.receives = rank;
    message.receiver = blocking ? BLOCKING : open(rank, operation.request, false);
    if (blocking) {
        process.doing = RECEIVING;
        process.is_early = process.in_flight == 0;
    }
    if (!matched) {
        message.set(operation.value, operation.peer, receiver, operation.tag);
        message.stage = POSTED;
        message.order = order_++;
        matching_.keep_receive(receiver, unmatched, index);
    } else {
        if (run_.live != nullptr) report(message);
        if (message.arrived) {
            give(index);
        } else {
            message.stage = MATCHED;
            if (message.awaits_receive) permit(index);
        }
    }
    if (blocking) {
        progress(rank);
        return false;
    }
    ++process.at;
    return true;
}

// An MPI_Recv has its message.
template <bool DERIVES> inline bool Engine<DERIVES>::received(int32_t rank) {
    Rank &process = ranks_[rank];
    const double overhead = std::exchange(process.owed, 0.0);
    if (stay(rank, overhead, AFTER_RECEIVING)) return false;
    end_receive(rank);
    return true;
}

template <bool DERIVES> inline void Engine<DERIVES>::end_receive(int32_t rank) {
    Rank &process = ranks_[rank];
    spend(rank, IN_RECEIVE, process.peer, process.tag, process.size);
    ++process.at;
}

}  // namespace commmodel
