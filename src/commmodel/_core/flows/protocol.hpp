// What a message costs beside its share of the links: mode, overheads, factors (`commmodel.simulate.network.Network`),
// and what its route through the platform amounts to.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/hash_table.hpp"
#include "flows/link_classes.hpp"
#include "flows/messages.hpp"
#include "routing/routing.hpp"
#include "sharing/sharing.hpp"

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
    Pieces send, isend, receive, latency_factor, bandwidth_factor, message_gap;
    bool leaves_after_overhead = true, leaves_unexpected = false, answers_in_order = false, one_queue = false;
    double window = 0.0, capacity_weight = 0.0, penalty_without_latency = 0.0, cross_traffic = 0.0, send_buffer = 0.0;
    double answer_latency = 0.0, variation = 0.0, unevenness = 0.0;

    Mode mode(double size) const {
        return size <= eager_limit ? ASYNCHRONOUS : size <= detached_limit ? DETACHED : SYNCHRONOUS;
    }

    // Whether a message leaves when its receive is posted, not before.
    bool awaits_receive(Mode mode) const { return mode != ASYNCHRONOUS && !leaves_unexpected; }
};

// Weights of flows are held in single precision. In this unit, those of a flow on its route and on the route back, and their
// sums, are exact; capacities have the same unit.
inline double unit_of_weights(const Protocol &protocol) {
    return protocol.cross_traffic > 0.0 ? static_cast<double>(static_cast<float>(1.0 / protocol.cross_traffic)) : 1.0;
}

inline std::vector<double> capacities(const Routing &routing, const Protocol &protocol) {
    std::vector<double> scaled(routing.capacity());
    for (double &one : scaled) one *= unit_of_weights(protocol);
    return scaled;
}

// What a message of some size costs wherever it goes. Programs have few sizes: a small table keeps what they cost.
struct Costs {
    double size = -1.0;
    double wire = 0.0, latency_factor = 1.0, work = 0.0;
    double buffered = 0.0;                          // of the work, what is left when the sender may go on
    double send = 0.0, isend = 0.0, receive = 0.0;  // overheads
    double gap = 0.0;                               // for which no other message leaves its host
    Mode mode = ASYNCHRONOUS;
    bool queued = false;  // it leaves after the other such messages of its host
};

class CostTable {
  public:
    explicit CostTable(const Protocol &protocol) : protocol_(protocol), table_(SIZE) {}

    // Valid until the next call. size: not negative.
    const Costs &operator()(double size) {
        Costs &costs = table_[mixed(bits_of(size)) & (SIZE - 1)];
        if (costs.size != size) make(size, costs);
        return costs;
    }

  private:
    static constexpr size_t SIZE = 64;

    void make(double size, Costs &costs) const {
        costs.size = size;
        costs.mode = protocol_.mode(size);
        costs.wire = size + protocol_.header;
        costs.latency_factor = protocol_.latency_factor(costs.wire, 1.0);
        costs.work = costs.wire / protocol_.bandwidth_factor(costs.wire, 1.0);
        const double left = protocol_.send_buffer;
        costs.buffered = costs.wire > left ? costs.work * (left / costs.wire) : costs.work;
        costs.queued = costs.mode == ASYNCHRONOUS && left > 0.0 && costs.wire <= left;
        costs.gap = protocol_.message_gap(size, 0.0);
        costs.isend = protocol_.isend(size, 0.0);
        costs.send = costs.mode == SYNCHRONOUS ? 0.0 : protocol_.send(size, 0.0);
        costs.receive = costs.mode == SYNCHRONOUS ? 0.0 : protocol_.receive(size, 0.0);
    }

    const Protocol &protocol_;
    std::vector<Costs> table_;
};

// A route between two hosts, as a flow uses it.
struct Route {
    double latency = 0.0, penalty = 1.0, bound = 0.0;
    int32_t links = 0;  // of the route itself; they come first, then those of the route back alone
    int32_t count = 0;
    const Use *uses = nullptr;
};

// Routes, computed anew unless a small table still holds them. Between hosts of the same two kinds, only their own
// links differ: the table holds one route for all of these, which names such a link by its role.
class RouteTable {
  public:
    // classes: where ranks stand for others.
    RouteTable(const Routing &routing, const Protocol &protocol, LinkClasses *classes = nullptr)
        : routing_(routing), protocol_(protocol), unit_(unit_of_weights(protocol)), kinds_(routing.kinds()),
          classes_(classes) {
        const size_t links = routing.capacity().size();
        links_.reserve(links);
        for (size_t link = 0; link < links; ++link) {
            const double capacity = routing.capacity()[link], latency = routing.latency()[link];
            const double penalty = latency + protocol.capacity_weight / capacity;
            links_.push_back({capacity, latency, penalty, NONE, routing.fatpipe()[link]});
        }
        side_ = static_cast<size_t>(kinds_.count);
        if (side_ > MOST / side_) {
            side_ = 0;
            while (hashed_ < MOST && hashed_ < 4 * static_cast<size_t>(kinds_.count)) hashed_ *= 2;
        }
        table_.resize(side_ * side_ + hashed_);
    }

    // Its latency and number of links; the uses are not set.
    const Route &length(int32_t source, int32_t destination) { return find(source, destination).route; }

    // Valid until the next call.
    const Route &operator()(int32_t source, int32_t destination) {
        Entry &entry = find(source, destination);
        if (!entry.roles && classes_ == nullptr) return entry.route;
        entry.route.uses = scratch_.data();
        const routing::Port *const ports[2] = {&kinds_.port[source], &kinds_.port[destination]};
        for (int32_t place = 0; place < entry.route.count; ++place) {
            const Use use = entry.uses[place];
            scratch_[place] = {use.link >= 0 ? use.link : ports[~use.link / 3]->*ROLES[~use.link % 3], use.weight};
        }
        if (classes_ != nullptr) classes_->replace(source, destination, scratch_.data(), entry.route.count);
        return entry.route;
    }

  private:
    static constexpr size_t MOST = 1 << 13;
    struct Link {
        double capacity, latency, penalty;
        int32_t place;  // among the uses of the route that is being made
        uint8_t fatpipe;
    };
    static constexpr int32_t routing::Port::*ROLES[3] = {&routing::Port::limiter, &routing::Port::up,
                                                         &routing::Port::down};
    struct Entry {
        int32_t source = NONE, destination = NONE;  // kinds
        bool roles = false;                         // some links are ~role: of 3 each at the source and the destination
        Route route;
        std::vector<Use> uses;
    };

    Entry &find(int32_t source, int32_t destination) {
        int32_t from = kinds_.kind[source], to = kinds_.kind[destination];
        if (source == destination) {  // like no other route
            from = source;
            to = NONE;
        }
        size_t place = side_ * from + to;
        if (side_ == 0 || to == NONE) {
            place = side_ * side_ + (mixed(pair_of(from, to)) & (hashed_ - 1));
        }
        Entry &entry = table_[place];
        if (entry.source != from || entry.destination != to) {
            make(source, destination, entry);
            entry.source = from;
            entry.destination = to;
        }
        return entry;
    }

    void add(int32_t number, double weight, std::vector<Use> &uses) {
        Link &link = links_[number];
        if (link.place == NONE) {
            link.place = static_cast<int32_t>(uses.size());
            uses.push_back({number, static_cast<float>(weight)});
        } else if (!link.fatpipe) {  // of a fatpipe, nothing adds up
            uses[link.place].weight += static_cast<float>(weight);
        }
    }

    void make(int32_t source, int32_t destination, Entry &entry) {
        Route &route = entry.route;
        std::vector<Use> &uses = entry.uses;
        route.latency = 0.0;
        links_on_route_.clear();
        uses.clear();
        routing_.route(source, destination, links_on_route_);
        double smallest = INFINITE, penalty = 0.0;
        for (const int32_t number : links_on_route_) {
            const Link &link = links_[number];
            route.latency += link.latency;
            penalty += link.penalty;
            smallest = std::min(smallest, link.capacity);
            add(number, unit_, uses);
        }
        route.links = static_cast<int32_t>(uses.size());
        if (protocol_.cross_traffic > 0.0 && route.links > 0) {
            links_on_route_.clear();
            routing_.route(destination, source, links_on_route_);
            for (const int32_t number : links_on_route_) add(number, 1.0, uses);
        }
        for (const Use &use : uses) links_[use.link].place = NONE;
        if (route.latency == 0.0 && protocol_.penalty_without_latency > 0.0) {
            penalty = protocol_.penalty_without_latency;
        }
        route.penalty = penalty > 0.0 ? penalty : 1.0;
        route.bound = smallest;
        if (protocol_.window > 0.0 && route.latency > 0.0) {
            route.bound = std::min(smallest, protocol_.window / (2.0 * route.latency));
        }
        route.count = static_cast<int32_t>(uses.size());
        if (classes_ != nullptr) classes_->check(source, destination);
        name_roles(source, destination, entry);
        if (scratch_.size() < uses.size()) scratch_.resize(uses.size());
        route.uses = entry.roles ? nullptr : uses.data();
    }

    // Name the links that are the hosts' own by their roles.
    void name_roles(int32_t source, int32_t destination, Entry &entry) const {
        entry.roles = false;
        if (source == destination) return;
        for (Use &use : entry.uses) {
            for (int32_t role = 0; role < 6; ++role) {
                if (kinds_.port[role < 3 ? source : destination].*ROLES[role % 3] != use.link) continue;
                use.link = ~role;
                entry.roles = true;
                break;
            }
        }
    }

    const Routing &routing_;
    const Protocol &protocol_;
    const double unit_;
    const Routing::Kinds kinds_;
    LinkClasses *const classes_;
    std::vector<Link> links_;
    size_t side_ = 0, hashed_ = 64;
    std::vector<Entry>
        table_;  // side * side: a place for each two kinds, where these are few; then a hash of the others
    std::vector<int32_t> links_on_route_;
    std::vector<Use> scratch_;
};

}  // namespace commmodel
