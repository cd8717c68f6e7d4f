// What the engine does where ranks send messages.
#pragma once

#include <cstdint>

#include "flows/engine.hpp"

namespace commmodel {

template <bool DERIVES> inline bool Engine<DERIVES>::begin_send(int32_t rank) {
    const Operation &operation = *ranks_[rank].at;
    if (protocol_.leaves_after_overhead && stay(rank, send_overhead(operation), BEFORE_SENDING)) return false;
    return send(rank);
}

// The message goes out, or waits for its receive.
template <bool DERIVES> inline bool Engine<DERIVES>::send(int32_t rank) {
    Rank &process = ranks_[rank];
    const Operation &operation = *process.at;
    if (operation.code == PUT || operation.code == GET) return reach(rank);
    const bool waits = operation.code == SSEND || operation.code == ISSEND;
    const Mode mode = waits ? SYNCHRONOUS : costs_(operation.value).mode;
    const int32_t destination = rank_of(operation.peer);
    Rank &peer = ranks_[destination];
    const int32_t source = symmetry_ == nullptr ? strands_.rank(rank) : symmetry_->relative(rank, operation.peer);
    ++run_.messages;
    int32_t index = matching_.take_receive(destination, peer.unmatched, source, operation.tag);
    const bool matched = index != NONE;
    if (!matched) index = messages_.make();
    Message &message = messages_[index];
    if (matched && !reader_.fits(operation.value, message.size, source, destination, operation.tag, peer)) {
        return false;
    }
    message.set(operation.value, source, destination, operation.tag);
    message.sends = rank;
    message.awaits_receive = waits || protocol_.awaits_receive(mode);
    message.arrived = false;
    message.sender = NONE;
    if (!is_blocking(operation)) {
        message.sender = open(rank, operation.request, mode != SYNCHRONOUS);
    } else if (mode == SYNCHRONOUS) {
        message.sender = BLOCKING;
        process.doing = SENDING;
    }
    if (run_.records) sends_.post(index, process.since);
    if (matched) {
        message.stage = MATCHED;
        if (run_.live != nullptr) report(message);
    } else {
        message.receiver = NONE;
        message.stage = SENT;
        message.order = order_++;
        matching_.keep_message(destination, peer.unmatched, index);
        changes_ += message.awaits_receive;
        if (message.awaits_receive && peer.doing == AWAITING) awake(destination);
    }
    if (message.awaits_receive && goes_in_order(message)) {
        go(index, Part::REQUEST);
    } else if (matched || !message.awaits_receive) {
        leave(index);
    }
    if (process.doing != NEXT) {
        progress(rank);
        return false;
    }
    return end_send(rank);
}

template <bool DERIVES> inline bool Engine<DERIVES>::end_send(int32_t rank) {
    Rank &process = ranks_[rank];
    const Operation &operation = *process.at;
    if (!protocol_.leaves_after_overhead && stay(rank, send_overhead(operation), BUSY)) return false;
    spend(rank, IN_SEND, operation.peer, operation.tag, operation.value);
    ++process.at;
    return true;
}

}  // namespace commmodel
