// What a message costs beside its share of the links: mode, overheads, factors (`commmodel.simulate.network.Network`),
// and what its way through the platform amounts to.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "matching.hpp"
#include "routing.hpp"
#include "sharing.hpp"

namespace commmodel {

// A function of a size in pieces: constant + per_byte * size, each piece up to its limit, included; the last goes on.
struct Pieces {
    std::vector<double> limit, constant, per_byte;

    size_t piece(double size) const {
        size_t index = 0;
        while (index + 1 < limit.size() && size > limit[index]) ++index;
        return index;
    }
    double operator()(double size, double without) const {
        if (limit.empty()) return without;
        const size_t index = piece(size);
        return constant[index] + per_byte[index] * size;
    }
};

struct Protocol {
    double header = 0.0, eager_limit = 0.0, detached_limit = 0.0;
    Pieces send, isend, receive, latency_factor, bandwidth_factor;
    bool leaves_after_overhead = true;
    double window = 0.0, capacity_weight = 0.0, cross_traffic = 0.0;

    Mode mode(double size) const {
        return size <= eager_limit ? ASYNCHRONOUS : size <= detached_limit ? DETACHED : SYNCHRONOUS;
    }
};

// Weights of flows are held in single precision. In this unit, those of a flow on its way and on the way back, and their
// sums, are exact; capacities have the same unit.
inline double unit_of_weights(const Protocol &protocol) {
    return protocol.cross_traffic > 0.0 ? static_cast<double>(static_cast<float>(1.0 / protocol.cross_traffic)) : 1.0;
}

inline std::vector<double> capacities(const Routing &routing, const Protocol &protocol) {
    std::vector<double> scaled(routing.capacity());
    for (double &one : scaled) one *= unit_of_weights(protocol);
    return scaled;
}

// A way between two hosts, as a flow uses it: two cache lines, where few links are used.
struct Path {
    static constexpr int32_t FEW = 8;
    int32_t source = NONE, destination = NONE;
    double latency = 0.0, penalty = 1.0, bound = 0.0;
    int32_t links = 0;  // of the way itself; they come first, then those of the way back alone
    int32_t count = 0;
    Use few[FEW];
    std::vector<Use> many;  // all of them, where there are more

    const Use *uses() const { return count > FEW ? many.data() : few; }
};

// Ways, found anew unless the place in a small table still holds them.
class Paths {
  public:
    Paths(const Routing &routing, const Protocol &protocol, int64_t ranks)
        : routing_(routing), protocol_(protocol), unit_(unit_of_weights(protocol)) {
        const size_t links = routing.capacity().size();
        links_.reserve(links);
        for (size_t link = 0; link < links; ++link) {
            const double capacity = routing.capacity()[link], latency = routing.latency()[link];
            const double penalty = latency + protocol.capacity_weight / capacity;
            links_.push_back({capacity, latency, penalty, NONE, routing.fatpipe()[link]});
        }
        size_t size = 64;
        while (size < MOST && size < 2 * static_cast<size_t>(ranks)) size *= 2;
        table_.resize(size);
    }

    // Valid until the next call.
    const Path &find(int32_t source, int32_t destination) {
        const uint64_t key =
            (static_cast<uint64_t>(static_cast<uint32_t>(source)) << 32) + static_cast<uint32_t>(destination);
        Path &path = table_[(key * 0x9E3779B97F4A7C15u >> 32) & (table_.size() - 1)];
        if (path.source != source || path.destination != destination) make(source, destination, path);
        return path;
    }

  private:
    static constexpr size_t MOST = 1 << 13;
    struct Link {
        double capacity, latency, penalty;
        int32_t place;  // among the uses of the way that is being made
        uint8_t fatpipe;
    };

    void add(int32_t number, double weight) {
        Link &link = links_[number];
        if (link.place == NONE) {
            link.place = static_cast<int32_t>(uses_.size());
            uses_.push_back({number, static_cast<float>(weight)});
        } else if (!link.fatpipe) {  // of a fatpipe, nothing adds up
            uses_[link.place].weight += static_cast<float>(weight);
        }
    }

    void make(int32_t source, int32_t destination, Path &path) {
        path.source = source;
        path.destination = destination;
        path.latency = 0.0;
        route_.clear();
        uses_.clear();
        routing_.route(source, destination, route_);
        double smallest = std::numeric_limits<double>::infinity(), penalty = 0.0;
        for (const int32_t number : route_) {
            const Link &link = links_[number];
            path.latency += link.latency;
            penalty += link.penalty;
            smallest = std::min(smallest, link.capacity);
            add(number, unit_);
        }
        path.links = static_cast<int32_t>(uses_.size());
        if (protocol_.cross_traffic > 0.0 && path.links > 0) {
            route_.clear();
            routing_.route(destination, source, route_);
            for (const int32_t number : route_) add(number, 1.0);
        }
        for (const Use &use : uses_) links_[use.link].place = NONE;
        path.penalty = penalty > 0.0 ? penalty : 1.0;
        path.bound = smallest;
        if (protocol_.window > 0.0 && path.latency > 0.0) {
            path.bound = std::min(smallest, protocol_.window / (2.0 * path.latency));
        }
        path.count = static_cast<int32_t>(uses_.size());
        if (path.count > Path::FEW) {
            path.many.assign(uses_.begin(), uses_.end());
        } else {
            std::copy(uses_.begin(), uses_.end(), path.few);
        }
    }

    const Routing &routing_;
    const Protocol &protocol_;
    const double unit_;
    std::vector<Link> links_;
    std::vector<Path> table_;
    std::vector<int32_t> route_;
    std::vector<Use> uses_;
};

}  // namespace commmodel
