// Messages that a socket takes whole leave their host one after the other, each as a piece of its link's queue.
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

  private:
    struct Queue {
        double free = 0.0;           // from when on the link is
        double held = 0.0;           // bytes of the last messages to one host
        int32_t destination = NONE;  // that host
    };
    double socket_;
    std::vector<Queue> queues_;
};

}  // namespace commmodel
