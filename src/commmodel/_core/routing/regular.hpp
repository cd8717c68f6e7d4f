// What zones have in common whose links are numbered by a rule: links in sequence, limiters and loopbacks.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "routing/zone.hpp"

namespace commmodel::routing {

inline int64_t pairs(int64_t count) { return count * (count - 1) / 2; }

// Number of a pair among all pairs of `count`, the lower first.
inline int64_t pair_number(int64_t low, int64_t high, int64_t count) {
    if (low > high) std::swap(low, high);
    return low * (2 * count - low - 1) / 2 + high - low - 1;
}

class RegularZone : public Zone {
  public:
    // The gateway is every host's neighbour; a host reaches itself by its loopback, where there is one.
    void route(int64_t source, int64_t destination, std::vector<int32_t> &links) const final {
        if (source < 0 || destination < 0) return;
        if (source == destination && !loopback_.empty()) return links.push_back(loopback_[source]);
        follow(source, destination, links);
    }

  protected:
    // The product of `sizes` is the number of hosts; name: for messages.
    RegularZone(const Description &description, const char *name)
        : Zone(description), name_(name), sizes_(description.counts("sizes")),
          first_link_(description.number("first_link")), directions_(description.number("directions") == 2 ? 2 : 1) {
        int64_t product = 1;
        for (const int64_t size : sizes_) product = times(product, size);
        if (product != hosts || points != hosts)
            refuse(name_ + " of " + std::to_string(product) + " hosts: " + std::to_string(hosts) + " were given");
    }

    // Check that its links exist: `count`, each of one or two directions. nodes: hosts and switches, for limiters.
    void take_links(const Description &description, int64_t nodes, int64_t count) {
        const int64_t total = times(count, directions_);
        if (nodes > LARGEST_INDEX || first_link_ < 0 || first_link_ > description.links - total)
            refuse(name_ + ": " + std::to_string(total) + " links from number " + std::to_string(first_link_) +
                   " are not there");
        limiter_ = description.link_numbers("limiter");
        loopback_ = description.link_numbers("loopback");
        if ((!limiter_.empty() && limiter_.size() != static_cast<size_t>(nodes)) ||
            (!loopback_.empty() && loopback_.size() != static_cast<size_t>(hosts)))
            refuse(name_ + ": one limiter for each node and one loopback for each host, or none");
    }

    // Append the links between two hosts.
    virtual void follow(int64_t source, int64_t destination, std::vector<int32_t> &links) const = 0;

    void push_link(int64_t link, bool down, std::vector<int32_t> &links) const {
        links.push_back(static_cast<int32_t>(first_link_ + link * directions_ + (down ? directions_ - 1 : 0)));
    }
    void push_limiter(int64_t node, std::vector<int32_t> &links) const {
        if (!limiter_.empty()) links.push_back(limiter_[node]);
    }

    const std::string name_;
    const std::vector<int64_t> sizes_;

  private:
    const int64_t first_link_;
    const int64_t directions_;       // 2: each direction of a link is one of its own, up before down
    std::vector<int32_t> loopback_;  // of each host; empty: none
    std::vector<int32_t> limiter_;   // of each host, then of each switch; empty: none
};

}  // namespace commmodel::routing
