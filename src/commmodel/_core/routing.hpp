// Ways through a platform, computed when asked for: a table of all pairs would not fit for many hosts.
//
// Every direction of a link that shares bandwidth for itself is one link here. A platform is a number of zones; a zone
// gives the way between two of its hosts and between a host and its gateway; a table gives the links between gateways.
#pragma once

#include <cstdint>
#include <vector>

namespace commmodel {

class Routing {
  public:
    int64_t hosts() const;
    const std::vector<double> &capacity() const;   // bytes per second, of each link
    const std::vector<double> &latency() const;    // seconds
    const std::vector<uint8_t> &fatpipe() const;   // 1: bounds each flow alone
    // Append the links from one host to another, in order. The same host: its loopback, or nothing.
    void route(int64_t source, int64_t destination, std::vector<int32_t> &links) const;
};

}  // namespace commmodel
