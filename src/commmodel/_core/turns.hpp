// Small messages leave a host one after the other: what a socket takes whole stands on the link in one piece.
#pragma once

#include <cstdint>
#include <vector>

#include "matching.hpp"

namespace commmodel {

class Turns {
  public:
    Turns(int64_t hosts, Matching &matching) : lines_(static_cast<size_t>(hosts)), matching_(matching) {}

    // Whether a message can leave its host now; else it stands in line.
    bool take(int32_t host, int32_t message) {
        Line &line = lines_[host];
        matching_.at(message).timer = NONE;  // no agenda has it now
        const bool free = line.first == NONE;
        (free ? line.first : matching_.at(line.last).timer) = message;
        line.last = message;
        return free;
    }

    // The first of the line has left. Returns the one that can leave now, or NONE.
    int32_t pass(int32_t host) { return lines_[host].first = matching_.at(lines_[host].first).timer; }

  private:
    struct Line {
        int32_t first = NONE, last = NONE;  // the first is on its way
    };
    std::vector<Line> lines_;
    Matching &matching_;
};

}  // namespace commmodel
