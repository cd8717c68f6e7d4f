// What the engine does where messages between two ranks go in the order of their connection.
#pragma once

#include <cstdint>

#include "flows/engine.hpp"

namespace commmodel {

template <bool DERIVES> inline bool Engine<DERIVES>::goes_in_order(const Message &message) const {
    return protocol_.answers_in_order && message.stage < STORED &&
           hosts_[message.source] != hosts_[message.destination];
}

// The latency of a request or an answer.
template <bool DERIVES> inline double Engine<DERIVES>::trip(const Message &message) {
    if (protocol_.answer_latency > 0.0) return protocol_.answer_latency;
    return costs_(0.0).latency_factor * routes_.length(hosts_[message.source], hosts_[message.destination]).latency;
}

// How long a request or an answer waits behind what a host's sockets hold.
template <bool DERIVES> inline double Engine<DERIVES>::queued(int32_t from, const Message &message) {
    if (!protocol_.one_queue || sending_[hosts_[from]] == 0) return 0.0;
    const Route &route = routes_.length(hosts_[message.source], hosts_[message.destination]);
    return sending_[hosts_[from]] * protocol_.send_buffer / route.bound;
}

// A request or an answer goes out.
template <bool DERIVES> inline void Engine<DERIVES>::go(int32_t index, Part part) {
    const Message &message = messages_[index];
    const bool back = part == Part::ANSWER;
    const int32_t from = back ? message.destination : message.source, to = back ? message.source : message.destination;
    connections_.add(from, to, index, part);
    const double there = now_ + trip(message) + queued(from, message);
    if (is_noting()) {
        int32_t last = note_trip(message, tape_.cause(), 1.0);
        if (queued(from, message) > 0.0) {
            const double bytes = sending_[hosts_[from]] * protocol_.send_buffer;
            last = tape_.add(last, Tape::QUEUE, tape_route(message), bytes);
        }
        tape_.send(index, last, tape_route(message));
    }
    there > now_ ? events_.set(there, ~index) : come(index);
}

// A message that awaits its receive has it.
template <bool DERIVES> inline void Engine<DERIVES>::permit(int32_t index) {
    const Message &message = messages_[index];
    if (message.sender == BLOCKING) spend(message.sends, IN_WAIT, message.destination, message.tag, message.size);
    if (!goes_in_order(messages_[index])) return leave(index);
    if (connections_.has_asked(index)) go(index, Part::ANSWER);
}

// What can go on does, up to data that are to move, or to what the receiver does not read as it is not in MPI.
template <bool DERIVES> inline void Engine<DERIVES>::go_on(int32_t connection) {
    for (;;) {
        if (connections_.must_be_read(connection) && !is_in_progress(connections_.receiver(connection))) {
            connections_.put_off(connection);
            return;
        }
        const Connections::Entry entry = connections_.next(connection);
        if (entry.message == NONE) return;
        switch (entry.part) {
            case Part::REQUEST:
                connections_.has_asked(entry.message) = true;
                if (messages_[entry.message].stage == MATCHED) go(entry.message, Part::ANSWER);
                break;
            case Part::ANSWER: leave(entry.message); break;
            case Part::DATA: flow(entry.message); break;
            case Part::END: arrive(entry.message); break;
        }
    }
}

// Whether a rank is in a call that waits, and reads what comes.
template <bool DERIVES> inline bool Engine<DERIVES>::is_in_progress(int32_t rank) const {
    switch (ranks_[rank].doing) {
        case SENDING:
        case RECEIVING:
        case WAITING:
        case GOING_ON:
        case AWAITING:
        case ENDED: return true;
        default: return false;
    }
}

// A rank that is in such a call reads what has come.
template <bool DERIVES> inline void Engine<DERIVES>::progress(int32_t rank) {
    if (!protocol_.answers_in_order) return;
    for (int32_t connection; (connection = connections_.take_unread(rank)) != NONE;) go_on(connection);
}

// A rank reads what has come, and goes on.
template <bool DERIVES> inline void Engine<DERIVES>::poll(int32_t rank) {
    ranks_[rank].doing = GOING_ON;
    progress(rank);
    ranks_[rank].doing = NEXT;
}

// The last data of a synchronous message are written: its end goes behind what waits already.
template <bool DERIVES> inline void Engine<DERIVES>::write_end(int32_t index) {
    const Message &message = messages_[index];
    if (!message.awaits_receive || !goes_in_order(message)) return;
    connections_.add(message.source, message.destination, index, Part::END);
    connections_.has_end(index) = true;
}

// All data of a message have moved.
template <bool DERIVES> inline void Engine<DERIVES>::end_data(int32_t index) {
    Message &message = messages_[index];
    if (!goes_in_order(message)) return arrive(index);
    const int32_t connection = connections_.connection(index);
    if (message.sender != NONE) release_sender(message);
    if (!connections_.has_end(index)) write_end(index);
    connections_.drop(connection);
    if (!message.awaits_receive) arrive(index);
    go_on(connection);
}

// A factor about 1, another one each time.
template <bool DERIVES> inline double Engine<DERIVES>::varied(double share) {
    const double chance = static_cast<double>(mixed(static_cast<uint64_t>(++varied_)) >> 11) * 0x1p-53;
    return 1.0 + share * (2.0 * chance - 1.0);
}

}  // namespace commmodel
