// What the engine notes on its tape of what times come of, where derivatives of its end are asked for.
#pragma once

#include <algorithm>
#include <cstdint>

#include "flows/engine.hpp"

namespace commmodel {

template <bool DERIVES> inline void Engine<DERIVES>::open_tape() {
    tape_.open(static_cast<int32_t>(ranks_.size()), routing_.hosts(), run_.most_steps);
    sharing_.keep_changes();
}

// Bandwidth may have been shared anew.
template <bool DERIVES> inline void Engine<DERIVES>::note_shares() {
    if (sharing_.solutions() == tape_.solutions) return;
    tape_.solutions = sharing_.solutions();
    const auto links = static_cast<int32_t>(sharing_.links());
    sharing_.take_changes(
        [&](int32_t flow, int32_t group) { tape_.note_bottleneck(flow, group < links ? group : BOUND); },
        [&](int32_t link, double share) { tape_.note_fair_share(link, share); });
    tape_.end_instant();
}

// The route of a message; to files, none has a second host.
template <bool DERIVES> inline int32_t Engine<DERIVES>::tape_route(const Message &message) {
    const int32_t from = hosts_[message.source];
    return tape_.route(from, message.stage == FILED ? NONE : hosts_[message.destination]);
}

template <bool DERIVES> inline void Engine<DERIVES>::note_stay(int32_t rank, double seconds) {
    const Rank &process = ranks_[rank];
    const int32_t code = process.doing == BUSY ? process.at->code : SEND;
    const auto kind = code == COMPUTE ? Tape::COMPUTATION : code == SLEEP ? Tape::FIXED : Tape::OVERHEAD;
    tape_.stay(rank, kind, hosts_[strands_.rank(rank)], seconds);
}

// A request or an answer, or several of them.
template <bool DERIVES> inline int32_t Engine<DERIVES>::note_trip(const Message &message, int32_t last, double count) {
    if (protocol_.answer_latency > 0.0) return tape_.add(last, Tape::FIXED, 0, count * protocol_.answer_latency);
    return tape_.add(last, Tape::LATENCY, tape_route(message), count * costs_(0.0).latency_factor);
}

// A message leaves; free: when the queue of its host was free before it.
template <bool DERIVES> inline void Engine<DERIVES>::note_leave(int32_t index, const Leave &leave, double free) {
    const Message &message = messages_[index];
    const int32_t from = hosts_[message.source], to = hosts_[message.destination];
    int32_t last = tape_.cause();
    if (message.stage == FETCHED) {
        last = tape_.add(last, Tape::LATENCY, tape_.route(to, from), costs_(0.0).latency_factor);
    }
    const int32_t route = tape_route(message);
    const Costs &costs = costs_(message.size);
    last = tape_.add(last, Tape::LATENCY, route, costs.latency_factor);
    if (costs.gap > 0.0 && from != to) last = tape_.pass_gate(from, last, leave.gate > leave.latency, costs.gap);
    if (costs.queued && from != to) {
        const bool joins = injection_.free(from) > free;
        last = tape_.pass_queue(from, last, leave.queue > leave.gate, joins, route, costs.work);
    }
    if (goes_in_order(message) && message.awaits_receive) last = note_trip(message, last, -2.0);
    tape_.send(index, leave.there > now_ ? last : tape_.cause(), route);
}

template <bool DERIVES> inline void Engine<DERIVES>::derive() {
    const double latest = *std::max_element(run_.ends.begin(), run_.ends.end());
    size_t last = 0;
    while (run_.ends[last] < latest) ++last;
    BackwardWalk(tape_, routing_, protocol_, routes_, storage_).walk(tape_.ends[last], run_.slopes);
}

}  // namespace commmodel
