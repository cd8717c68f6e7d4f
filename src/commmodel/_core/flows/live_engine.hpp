// What the engine does for programs that run while they are simulated.
#pragma once

#include <cstdint>

#include "flows/engine.hpp"

namespace commmodel {

// Memory of another rank is written or read: a message that needs no receive.
template <bool DERIVES> inline bool Engine<DERIVES>::reach(int32_t rank) {
    Rank &process = ranks_[rank];
    const Operation &operation = *process.at;
    const bool fetches = operation.code == GET;
    const int32_t index = messages_.make();
    Message &message = messages_[index];
    message.set(operation.value, fetches ? operation.peer : rank, fetches ? rank : operation.peer, operation.tag);
    message.awaits_receive = false;
    message.arrived = false;
    message.stage = fetches ? FETCHED : STORED;
    message.sender = NONE;
    message.sends = message.receives = rank;
    message.receiver = open(rank, operation.request, false);
    ++run_.messages;
    if (run_.records) sends_.post(index, process.since);
    leave(index);
    return end_send(rank);
}

// Something has happened for which a rank may be in AWAIT.
template <bool DERIVES> inline void Engine<DERIVES>::awake(int32_t rank) {
    alarms_.drop(rank);
    ranks_[rank].doing = AWOKEN;
    make_ready(rank);
}

// Operations that ranks carry out beside their own begin.
template <bool DERIVES> inline void Engine<DERIVES>::begin_strands() {
    while (run_.live->strands > 0) make_ready(strands_.begin(*run_.live, ranks_, requests_));
}

template <bool DERIVES> inline void Engine<DERIVES>::end_strand(int32_t number) {
    if (run_.stopped()) return;
    complete(strands_.rank(number), strands_.request(number), 0.0);
    strands_.end(number, ranks_);
}

// No event is left: let ranks begin their pending collectives; whether any did.
template <bool DERIVES> inline bool Engine<DERIVES>::begin_pending() {
    if (run_.live == nullptr) return false;
    run_.live->stall();
    const bool begins = run_.live->strands > 0;
    begin_strands();
    run_ready();
    return begins;
}

// Bytes go to or from a file: after the latency they are a flow.
template <bool DERIVES> inline bool Engine<DERIVES>::access_file(int32_t rank) {
    Rank &process = ranks_[rank];
    const Operation &operation = *process.at;
    const int32_t index = messages_.make();
    Message &message = messages_[index];
    message.set(operation.value, strands_.rank(rank), strands_.rank(rank), ANY);
    message.awaits_receive = message.arrived = false;
    message.stage = FILED;
    message.sender = NONE;
    message.sends = message.receives = rank;
    const bool waits = operation.request == UNNAMED;
    message.receiver = waits ? BLOCKING : open(rank, operation.request, false);
    const double there = now_ + operation.peer * storage_.latency();
    if (waits) process.doing = FILING;
    if (!waits) take_off(rank), ++process.at;
    if (is_noting()) tape_.send(index, tape_.add(tape_.cause(), Tape::FIXED, 0, there - now_), tape_route(message));
    there > now_ ? events_.set(there, ~index) : come(index);
    return !waits;
}

template <bool DERIVES> inline void Engine<DERIVES>::flow_to_storage(int32_t index) {
    const Message &message = messages_[index];
    if (!(message.size > 0.0)) return end_file(index);
    const Uses uses = storage_.uses(hosts_[message.source]);
    const int32_t flow = sharing_.add(uses.first, uses.count, 1.0, INFINITE, message.size);
    note_flow(flow, index);
    if (is_noting()) tape_.begin_flow(index, flow, 1.0);
}

template <bool DERIVES> inline void Engine<DERIVES>::end_file(int32_t index) {
    if (messages_[index].receiver != BLOCKING) land(messages_[index].receives);
    complete(messages_[index].receives, messages_[index].receiver, 0.0);
    messages_[index].stage = UNUSED;
    messages_.drop(index);
}

// A receive that has got no message yet is given up.
template <bool DERIVES> inline void Engine<DERIVES>::withdraw(int32_t rank) {
    Rank &process = ranks_[rank];
    const int32_t request = requests_.find(rank, process.at->request);
    if (request == NONE) return;
    const int32_t index = matching_.withdraw(rank, process.unmatched, process.at->peer, process.at->tag,
                                             [&](int32_t receive) { return messages_[receive].receiver == request; });
    if (index == NONE) return;
    messages_[index].stage = UNUSED;
    messages_.drop(index);
    requests_.close(rank, request, process.first_request);
}

// A receive and its message have met.
template <bool DERIVES> inline void Engine<DERIVES>::report(const Message &message) {
    const int32_t request = message.receiver == BLOCKING ? ranks_[message.receives].at->request
                            : message.receiver >= 0      ? requests_[message.receiver].name
                                                         : UNNAMED;
    if (request >= FIRST_REPORTED) run_.live->matched(message.destination, request, message.source, message.tag);
}

template <bool DERIVES> inline bool Engine<DERIVES>::is_done(int32_t rank, int32_t request) const {
    const int32_t index = requests_.find(rank, request);
    return index == NONE || requests_[index].done;
}

template <bool DERIVES> inline bool Engine<DERIVES>::find_message(int32_t rank, int32_t &source, int32_t &tag) const {
    const int32_t index = matching_.find_message(ranks_[rank].unmatched, source, tag, [this](int32_t message) {
        return messages_[message].arrived || messages_[message].awaits_receive;
    });
    if (index == NONE) return false;
    source = messages_[index].source;
    tag = messages_[index].tag;
    return true;
}

}  // namespace commmodel
