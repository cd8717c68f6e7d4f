// What of a host's messages leaves one after the other: those that a socket takes whole, each as a piece of its link's
// queue, and all of them where the host sends so many a second at most.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "program/program.hpp"

namespace commmodel {

class InjectionQueues {
  public:
    // socket: bytes that a socket takes at once; hosts: how many there are.
    InjectionQueues(double socket, int64_t hosts) : socket_(socket), queues_(socket > 0.0 ? hosts : 0) {}

    // When a message can leave that could at `time`, after those before it in its host's queue. Of several to one
    // host, those beyond what their socket takes are not in the queue yet: they share the link at once.
    double leave(int32_t host, int32_t destination, double time, double size, double seconds) {
        Queue &queue = queues_[host];
        const bool follows = queue.free > time && queue.destination == destination;
        if (follows && queue.held + size > socket_) return time;
        queue.held = follows ? queue.held + size : size;
        queue.destination = destination;
        const double begin = std::max(time, queue.free);
        queue.free = begin + seconds;
        return begin;
    }

    // When the link of a host is free.
    double free(int32_t host) const { return queues_[host].free; }

  private:
    struct Queue {
        double free = 0.0;           // from when on the link is
        double held = 0.0;           // bytes of the last messages to one host
        int32_t destination = NONE;  // that host
    };
    double socket_;
    std::vector<Queue> queues_;
};

// Messages of a host that has a message rate leave one after the other, however small they are.
class MessageGates {
  public:
    MessageGates(bool limits, int64_t hosts) : free_(limits ? hosts : 0) {}

    // When a message can leave that could at `time`; the next one can after `gap`.
    double leave(int32_t host, double time, double gap) {
        const double begin = std::max(time, free_[host]);
        free_[host] = begin + gap;
        return begin;
    }

  private:
    std::vector<double> free_;
};

}  // namespace commmodel
