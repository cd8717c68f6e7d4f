// Messages that a socket takes whole leave their host one after the other, each as one piece in its link's queue.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "program/program.hpp"

namespace commmodel {

class Turns {
  public:
    // socket: bytes that one takes at once; hosts: how many there are.
    Turns(double socket, int64_t hosts) : socket_(socket), lines_(socket > 0.0 ? hosts : 0) {}

    // When a message can leave that could at `time`, after those that leave its host in turn before it. Of several to one
    // host, those beyond what their socket takes are not in the queue yet: they share the link at once.
    double leave(int32_t host, int32_t destination, double time, double size, double seconds) {
        Line &line = lines_[host];
        const bool follows = line.free > time && line.destination == destination;
        if (follows && line.held + size > socket_) return time;
        line.held = follows ? line.held + size : size;
        line.destination = destination;
        const double begin = std::max(time, line.free);
        line.free = begin + seconds;
        return begin;
    }

  private:
    struct Line {
        double free = 0.0;           // from when on the link is
        double held = 0.0;           // bytes of the last messages to one host
        int32_t destination = NONE;  // that host
    };
    double socket_;
    std::vector<Line> lines_;
};

}  // namespace commmodel
