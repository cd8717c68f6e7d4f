// The law of a message under LogP, LogGP, pLogP and LogGPS: when its send begins, when it arrives, when it is received.
//
// A processor does one thing at a time. The two ports of a rank's NIC, for sends and for receives, let one message pass
// in its gap.
#pragma once

#include <algorithm>

#include "common/constants.hpp"
#include "delays/slopes.hpp"

namespace commmodel::delays {

// Of a message, the bytes after the first, which is in its gap; an empty message counts as one byte.
inline double bytes_after_first(double size) { return std::max(size - 1.0, 0.0); }

// What messages take up at a rank.
template <class Time> struct Endpoint {
    Time processor = 0.0;           // free from then on
    Time send_port = 0.0;           // free from then on
    Time last_arrival = -INFINITE;  // of the message that passed the receive port last
};

// When both processor and send port are free: a send begins then (LogP, LogGP, pLogP), or a message whose overhead is over
// leaves (LogGPS).
template <class Time> Time sender_free(const Endpoint<Time> &end) { return later(end.processor, end.send_port); }

// LogP, LogGP, pLogP: begin a send; gaps are from begin to begin. Returns when the message arrives.
template <class Time>
Time send(Endpoint<Time> &end, const Time &begin, const Time &overhead, const Time &gap, const Time &transit) {
    end.send_port = begin + gap;
    end.processor = begin + overhead;
    return end.processor + transit;
}

// LogGPS: send a message whose overhead is over: the NIC keeps it until the send port is free; gaps are from one that
// leaves to the next. Returns when the message arrives.
template <class Time> Time send_by_nic(Endpoint<Time> &end, const Time &gap, const Time &transit) {
    const Time leaves = sender_free(end);
    end.send_port = leaves + gap;
    return leaves + transit;
}

// When a message passes the receive port.
template <class Time> Time port_passage(const Endpoint<Time> &end, const Time &arrival, const Time &gap) {
    return later(arrival, end.last_arrival + gap);
}

// Keep the processor busy with a message that it sends or receives.
template <class Time> void spend_overhead(Endpoint<Time> &end, const Time &begin, const Time &overhead) {
    end.processor = begin + overhead;
}

}  // namespace commmodel::delays
