// The storage that files are on, as links beside those of the network: one that all hosts share, and one of each host
// where a client is slower than all of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "program/live.hpp"
#include "routing/routing.hpp"
#include "sharing/sharing.hpp"

namespace commmodel {

struct Uses {
    const Use *first;
    int32_t count;
};

class StorageLinks {
  public:
    StorageLinks(const Storage &storage, const Routing &routing)
        : storage_(storage), first_(static_cast<int32_t>(routing.capacity().size())),
          links_(storage.bandwidth > 0.0 ? 1 + (storage.client > 0.0 ? routing.hosts() : 0) : 0) {}

    double latency() const { return storage_.latency; }

    // Capacities of the network's links and of these.
    std::vector<double> capacities(std::vector<double> capacity) const {
        capacity.resize(capacity.size() + static_cast<size_t>(links_), storage_.client);
        if (links_ > 0) capacity[static_cast<size_t>(first_)] = storage_.bandwidth;
        return capacity;
    }

    std::vector<uint8_t> fatpipes(std::vector<uint8_t> fatpipe) const {
        fatpipe.resize(fatpipe.size() + static_cast<size_t>(links_));
        return fatpipe;
    }

    // Links of a flow between a host and the storage; valid until the next call.
    Uses uses(int32_t host) {
        uses_[0] = {first_, 1.0f};
        uses_[1] = {first_ + 1 + host, 1.0f};
        return {uses_, links_ > 1 ? 2 : 1};
    }

  private:
    Storage storage_;
    int32_t first_;
    int64_t links_;
    Use uses_[2] = {};
};

}  // namespace commmodel
