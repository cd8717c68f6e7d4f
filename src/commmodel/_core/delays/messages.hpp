// Messages of the delay models: on their way in the heaps of their receivers, or unmatched.
#pragma once

#include <cstdint>

#include "program/message_pool.hpp"

namespace commmodel::delays {

template <class Time> struct Message {  // 64 bytes without derivatives
    Time arrival;
    double born;  // when its send began
    double size;
    int32_t source, tag;
    uint32_t order;          // of its sender's messages
    int32_t child, sibling;  // in a heap; afterwards the one before and the next unmatched one
    int32_t link;            // next in a queue, or of unused ones
    int32_t owner;           // the operation or request that it serves
    int32_t answers;         // the sender's request, of a message in a rendezvous
    uint16_t cpu_nic;        // CPU and NIC
    uint8_t kind;
    uint8_t turns;  // of `Flights`
};

template <class Time> using Messages = MessagePool<Message<Time>, &Message<Time>::child, &Message<Time>::sibling>;

// For heaps: the order of arrival; at one time that of the senders' ranks, and then as they were sent.
template <class Time> struct ByArrival {
    Messages<Time> &messages;
    bool tied = false;  // whether a sender's rank has decided

    bool sooner(int32_t first, int32_t second) {
        const Message<Time> &a = messages[first], &b = messages[second];
        if (a.arrival != b.arrival) return a.arrival < b.arrival;
        if (a.source != b.source) {
            tied = true;
            return a.source < b.source;
        }
        return static_cast<int32_t>(a.order - b.order) < 0;
    }
    int32_t &child(int32_t index) { return messages[index].child; }
    int32_t &sibling(int32_t index) { return messages[index].sibling; }
};

}  // namespace commmodel::delays
