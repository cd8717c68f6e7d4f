// Derivatives of a run's end by bandwidths, latencies and computation: a walk back over what it comes of (tape.hpp).
//
// Each step passes on how much the end moves with it. A flow ends when its rates, times the spans in which it has them,
// have moved its bytes: so its end moves with its begin, with each time at which its rate changes, and with its rates.
// A rate moves with the capacity of the link that is its bottleneck, and with the rates of flows on that link that have
// another bottleneck: their shares are no greater, so links pass on in falling order of shares. A link does so only when
// what its share depends on changes, at once for all of the span before. `docs/theory/sensitivity.md` has the formulas.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "flows/protocol.hpp"
#include "flows/storage.hpp"
#include "flows/tape.hpp"
#include "routing/routing.hpp"
#include "sharing/links.hpp"

namespace commmodel {

class BackwardWalk {
  public:
    BackwardWalk(const Tape &tape, const Routing &routing, const Protocol &protocol, RouteTable &routes,
                 StorageLinks &storage)
        : tape_(tape), routing_(routing), protocol_(protocol), routes_(routes), storage_(storage),
          unit_(unit_of_weights(protocol)), count_(routing.capacity().size()),
          fatpipe_(storage.fatpipes(routing.fatpipe())), by_capacity_(fatpipe_.size()), by_latency_(count_),
          by_computation_(static_cast<size_t>(routing.hosts())), of_routes_(tape.routes.size()),
          slot_of_(tape.flows.size(), NONE), links_(fatpipe_.size()), marks_(fatpipe_.size()) {
        for (size_t link = 0; link < tape.shares.size(); ++link) links_[link].share = tape.shares[link];
    }

    // From the step that is the end. Sets derivatives by the capacity of each link, the latency of each link, factors of
    // computation on each host, and factors of overheads, gaps, and what is fixed.
    void walk(int32_t last, std::vector<double> &slopes) {
        moves_.assign(tape_.steps.size(), 0.0);
        moves_[static_cast<size_t>(last)] = 1.0;
        size_t steps = tape_.steps.size();
        for (size_t i = tape_.instants.size(); i-- > 0;) {
            pass_on(tape_.instants[i].steps, steps);
            begin_loads();
            undo(i);
            steps = tape_.instants[i].steps;
        }
        pass_on(0, steps);
        for (size_t i = 0; i < tape_.routes.size(); ++i) expand(tape_.routes[i], of_routes_[i]);
        slopes.assign(by_capacity_.begin(), by_capacity_.begin() + static_cast<std::ptrdiff_t>(count_));
        slopes.insert(slopes.end(), by_latency_.begin(), by_latency_.end());
        slopes.insert(slopes.end(), by_computation_.begin(), by_computation_.end());
        slopes.insert(slopes.end(), {by_kind_[Tape::OVERHEAD], by_kind_[Tape::GAP], by_kind_[Tape::FIXED]});
    }

  private:
    static constexpr double SAME = 1e-12;  // of fair shares
    static constexpr size_t CHUNK = 1 << 16;

    struct OfRoute {  // derivatives by what a route amounts to
        double latency = 0.0, penalty = 0.0, bound = 0.0;
        Uses uses{nullptr, NONE};
    };
    // Flows of one bottleneck on a link; sum: of how much the end moves with the link's share, for one unit of demand.
    struct Edge {
        int32_t link, group;
        int32_t at_link, at_group;  // places in the lists of both
        int32_t count;
        sharing::Sum demand;
        double sum;
    };
    struct Joint {  // of a flow with an edge; sum: of the edge when it joined
        int32_t edge;
        float weight;
        double sum;
    };
    struct Slot {  // a flow that moves
        int32_t flow = NONE, group = NONE;
        double demand = 0.0, bound = 0.0;
        double load = 0.0;  // how much the end moves with a byte of it
        double sum = 0.0;   // of the bottleneck when it joined; of its own bound: the time
        std::vector<Joint> joints;
    };
    // A link, as bottleneck of flows.
    struct Link {
        double share = 0.0, since = 0.0;
        double load = 0.0;   // of its flows, how much the end moves with a second of the share
        double moves = 0.0;  // how much the end moves with the share, by what others have passed on
        double sum = 0.0;    // of share times time
        int32_t flows = 0, loaded = 0;
        int32_t own = NONE;          // edge of its flows on itself
        int64_t mark = 0;            // of the last change that it has part in
        std::vector<int32_t> edges;  // on it
        std::vector<int32_t> above;  // of its flows on other links that are bottlenecks
    };
    struct Mark {  // of a link with a flow that begins or ends
        int64_t change = 0;
        int32_t step = NONE;
    };

    double rate(const Slot &slot) const {
        return slot.group == BOUND ? slot.bound : links_[slot.group].share * slot.demand;
    }

    // Steps hand on to those before them how much the end moves with them.
    void pass_on(size_t first, size_t last) {
        for (size_t i = last; i-- > first;) {
            const double moves = moves_[i];
            const Tape::Step &step = tape_.steps[i];
            if (moves == 0.0 || step.kind() == Tape::TRANSFER) continue;
            if (step.before != NONE) moves_[static_cast<size_t>(step.before)] += moves;
            switch (step.kind()) {
                case Tape::COMPUTATION: by_computation_[step.number()] += moves * step.amount; break;
                case Tape::LATENCY: of_routes_[step.number()].latency += moves * step.amount; break;
                case Tape::QUEUE: {
                    const auto &[source, destination] = tape_.routes[step.number()];
                    const double bound = routes_.length(source, destination).bound;
                    of_routes_[step.number()].bound -= moves * step.amount / (bound * bound);
                    break;
                }
                default: by_kind_[step.kind()] += moves * step.amount;
            }
        }
    }

    // Of flows that have ended at the last change, it is known by now how much the end moves with theirs.
    void begin_loads() {
        for (const int32_t flow : fresh_) {
            const double moves = moves_[static_cast<size_t>(tape_.flows[flow].end)];
            if (moves == 0.0) continue;
            Slot &slot = slots_[slot_of_[flow]];
            slot.load = moves / rate(slot);
            if (slot.group == BOUND) continue;
            links_[slot.group].load += slot.load * slot.demand;
            ++links_[slot.group].loaded;
        }
        fresh_.clear();
    }

    // ---- changes of the set of flows

    // What is noted of a change, from its first entries to those of the next one.
    struct Range {
        size_t first, last;
    };

    // Undo what happened at one time: flows that began leave, those that ended come back, shares are those before.
    void undo(size_t i) {
        const Tape::Instant &at = tape_.instants[i];
        const Tape::Instant before = i > 0 ? tape_.instants[i - 1] : Tape::Instant{};
        const Range events{before.events, at.events}, moves{before.moves, at.moves},
            changes{before.changes, at.changes};
        ++change_;
        several_ = events.last - events.first > 1;
        first_step_ = step_of(tape_.events[events.first]);
        list_parts(events, moves, changes);
        flush(at.time);
        for (size_t e = events.first; e < events.last; ++e)
            if (tape_.events[e] >= 0) begin_flow(tape_.events[e], at.time);
        rates_.clear();
        for (size_t m = moves.first; m < moves.last; ++m) {
            Slot &slot = slots_[slot_of_[tape_.moves[m].flow]];
            rates_.push_back(rate(slot));
            leave(slot, at.time);
        }
        for (size_t c = changes.first; c < changes.last; ++c) {
            Link &link = links_[tape_.changes[c].link];
            if (link.load != 0.0)
                moves_[cause(tape_.changes[c].link)] += link.load * (link.share - tape_.changes[c].before);
            link.share = tape_.changes[c].before;
        }
        for (size_t m = moves.first; m < moves.last; ++m) {
            Slot &slot = slots_[slot_of_[tape_.moves[m].flow]];
            const double after = rates_[m - moves.first];
            const size_t step = cause_of(slot);
            join(slot, tape_.moves[m].before, at.time);
            if (slot.load != 0.0) moves_[step] += slot.load * (after - rate(slot));
        }
        for (size_t e = events.first; e < events.last; ++e)
            if (tape_.events[e] < 0) end_flow(~tape_.events[e], at.time);
    }

    int32_t step_of(int32_t event) const { return event < 0 ? tape_.flows[~event].end : tape_.flows[event].begin; }

    // The step whose time a change of a link's share has: of several, one on the link.
    size_t cause(int32_t link) const {
        if (several_ && marks_[link].change == change_) return static_cast<size_t>(marks_[link].step);
        return static_cast<size_t>(first_step_);
    }
    // That of a change of a flow's bottleneck: one on its bottleneck, or on another of its links.
    size_t cause_of(const Slot &slot) {
        if (slot.group != BOUND && marks_[slot.group].change == change_) return cause(slot.group);
        const Uses uses = uses_of(tape_.flows[slot.flow].route);
        for (const Use *use = uses.first; use != uses.first + uses.count; ++use)
            if (marks_[use->link].change == change_) return cause(use->link);
        return static_cast<size_t>(first_step_);
    }

    // List the links that have part in a change, as bottlenecks: of flows that change, and on their routes; and those
    // whose share depends on such links.
    void list_parts(const Range &events, const Range &moves, const Range &changes) {
        parts_.clear();
        for (size_t e = events.first; e < events.last; ++e) {
            const int32_t event = tape_.events[e], flow = event < 0 ? ~event : event;
            const int32_t group = event < 0 ? tape_.flows[flow].group : slots_[slot_of_[flow]].group;
            if (group != BOUND) take_part(group);
            const Uses uses = uses_of(tape_.flows[flow].route);
            for (const Use *use = uses.first; use != uses.first + uses.count; ++use) {
                marks_[use->link] = {change_, step_of(event)};
                take_part(use->link);
            }
        }
        for (size_t m = moves.first; m < moves.last; ++m) {
            const Tape::Move &move = tape_.moves[m];
            if (move.before != BOUND) take_part(move.before);
            for (const Joint &joint : slots_[slot_of_[move.flow]].joints) take_part(edges_[joint.edge].link);
        }
        for (size_t c = changes.first; c < changes.last; ++c) take_part(tape_.changes[c].link);
        for (size_t i = 0; i < parts_.size(); ++i)
            for (const int32_t edge : links_[parts_[i]].above) take_part(edges_[edge].link);
    }
    void take_part(int32_t link) {
        if (links_[link].mark == change_) return;
        links_[link].mark = change_;
        parts_.push_back(link);
    }

    // Let links that have part in a change pass on how much the end moves with their shares, of the span after it.
    void flush(double now) {
        std::sort(parts_.begin(), parts_.end(),
                  [this](int32_t a, int32_t b) { return links_[a].share > links_[b].share; });
        for (const int32_t number : parts_) {
            Link &link = links_[number];
            const double span = link.since - now;
            if (link.flows > 0) {
                link.sum += link.share * span;
                const double moves = link.moves - link.load * span;
                if (moves != 0.0) pass_down(number, moves);
            }
            link.moves = 0.0;
            link.since = now;
        }
    }

    // A link's share grows with its capacity less what flows with lower shares take, by what is left.
    void pass_down(int32_t number, double moves) {
        const Link &link = links_[number];
        double demand = 0.0;
        for (const int32_t at : link.edges)
            if (rises(edges_[at], link)) demand += edges_[at].demand.value();
        const double by_capacity = moves / demand;
        by_capacity_[number] += by_capacity * unit_;
        for (const int32_t at : link.edges) {
            Edge &edge = edges_[at];
            if (edge.group == BOUND) {
                edge.sum += by_capacity;
                continue;
            }
            Link &other = links_[edge.group];
            edge.sum += by_capacity * other.share;
            if (!rises(edge, link)) other.moves -= by_capacity * edge.demand.value();
        }
    }
    // Whether flows rise with those of a link: they are its own, or those of another with the same share.
    bool rises(const Edge &edge, const Link &link) const {
        return edge.group != BOUND && links_[edge.group].share >= link.share * (1 - SAME);
    }

    // ---- flows

    // Links of flows on a route that are ever bottlenecks of several flows.
    Uses uses_of(int32_t route) {
        Uses &uses = of_routes_[route].uses;
        if (uses.count == NONE) {
            const auto &[source, destination] = tape_.routes[route];
            Uses all;
            if (destination == NONE) {
                all = storage_.uses(source);
            } else {
                const Route &of = routes_(source, destination);
                all = {of.uses, of.count};
            }
            if (chunks_.empty() || chunks_.back().size() + all.count > chunks_.back().capacity()) {
                chunks_.emplace_back();
                chunks_.back().reserve(std::max(CHUNK, static_cast<size_t>(all.count)));
            }
            uses = {chunks_.back().data() + chunks_.back().size(), 0};
            for (const Use *use = all.first; use != all.first + all.count; ++use) {
                if (fatpipe_[use->link] || links_[use->link].share == 0.0) continue;
                chunks_.back().push_back(*use);
                ++uses.count;
            }
        }
        return uses;
    }

    double bound_of(const std::pair<int32_t, int32_t> &hosts) const {
        const Route &route = routes_(hosts.first, hosts.second);
        double bound = route.bound;
        for (const Use *use = route.uses; use != route.uses + route.count; ++use)
            if (fatpipe_[use->link]) bound = std::min(bound, routing_.capacity()[use->link] * unit_ / use->weight);
        return bound;
    }

    void end_flow(int32_t number, double now) {
        const Tape::Flow &flow = tape_.flows[number];
        const std::pair<int32_t, int32_t> &hosts = tape_.routes[flow.route];
        if (unused_.empty()) {
            unused_.push_back(static_cast<int32_t>(slots_.size()));
            slots_.emplace_back();
        }
        const int32_t place = unused_.back();
        unused_.pop_back();
        slot_of_[number] = place;
        Slot &slot = slots_[place];
        slot.flow = number;
        slot.load = 0.0;
        slot.demand = 1.0;
        slot.bound = INFINITE;
        if (hosts.second != NONE) {
            slot.demand = 1.0 / (routes_.length(hosts.first, hosts.second).penalty * flow.unevenness);
            if (flow.group == BOUND) slot.bound = bound_of(hosts);
        }
        join(slot, flow.group, now);
        fresh_.push_back(number);
    }

    void begin_flow(int32_t number, double now) {
        Slot &slot = slots_[slot_of_[number]];
        if (slot.load != 0.0) moves_[static_cast<size_t>(tape_.flows[number].begin)] += slot.load * rate(slot);
        leave(slot, now);
        unused_.push_back(slot_of_[number]);
    }

    void join(Slot &slot, int32_t group, double now) {
        slot.group = group;
        if (group != BOUND) {
            Link &link = links_[group];
            slot.sum = link.sum;
            if (slot.load != 0.0) {
                link.load += slot.load * slot.demand;
                ++link.loaded;
            }
            if (++link.flows == 1)
                for (const int32_t edge : link.edges) put_above(edge);
        } else {
            slot.sum = now;
            if (slot.bound == INFINITE) slot.bound = bound_of(tape_.routes[tape_.flows[slot.flow].route]);
        }
        slot.joints.clear();
        const Uses uses = uses_of(tape_.flows[slot.flow].route);
        for (const Use *use = uses.first; use != uses.first + uses.count; ++use) {
            const int32_t edge = add_edge(use->link, group, use->weight * slot.demand);
            slot.joints.push_back({edge, use->weight, edges_[edge].sum});
        }
    }

    // What the end moves with a flow's penalty, or its bound, since it joined.
    void leave(Slot &slot, double now) {
        OfRoute &route = of_routes_[tape_.flows[slot.flow].route];
        double moves = slot.load * (slot.group == BOUND ? slot.sum - now : links_[slot.group].sum - slot.sum);
        for (const Joint &joint : slot.joints) {
            moves += joint.weight * (edges_[joint.edge].sum - joint.sum);
            drop_edge(joint.edge, joint.weight * slot.demand);
        }
        if (slot.group == BOUND) {
            route.bound -= moves;
            return;
        }
        route.penalty += moves * slot.demand * slot.demand * tape_.flows[slot.flow].unevenness;
        Link &link = links_[slot.group];
        if (slot.load != 0.0) link.load = --link.loaded > 0 ? link.load - slot.load * slot.demand : 0.0;
        if (--link.flows == 0)
            for (const int32_t edge : link.edges) take_above(edge);
    }

    // ---- edges

    int32_t add_edge(int32_t link, int32_t group, double demand) {
        const bool own = link == group;
        const sharing::EdgeKey key{link, group};
        const size_t slot = own ? 0 : edge_numbers_.find(key);
        int32_t number = own ? links_[link].own : edge_numbers_[slot].first;
        if (number == NONE) {
            if (unused_edges_.empty()) {
                unused_edges_.push_back(static_cast<int32_t>(edges_.size()));
                edges_.emplace_back();
            }
            number = unused_edges_.back();
            unused_edges_.pop_back();
            edges_[number] = {link, group, static_cast<int32_t>(links_[link].edges.size()), NONE, 0, {}, 0.0};
            links_[link].edges.push_back(number);
            if (own) {
                links_[link].own = number;
            } else {
                edge_numbers_.fill(slot, key, {number});
            }
            if (links_[link].flows > 0) put_above(number);
        }
        ++edges_[number].count;
        edges_[number].demand.add(demand);
        return number;
    }

    void drop_edge(int32_t number, double demand) {
        Edge &edge = edges_[number];
        if (--edge.count > 0) return edge.demand.add(-demand);
        take_above(number);
        remove(links_[edge.link].edges, edge.at_link, &Edge::at_link);
        if (edge.link == edge.group) {
            links_[edge.link].own = NONE;
        } else {
            edge_numbers_.empty(edge_numbers_.find({edge.link, edge.group}));
        }
        unused_edges_.push_back(number);
    }

    void put_above(int32_t number) {
        Edge &edge = edges_[number];
        if (edge.group == BOUND || edge.group == edge.link) return;
        edge.at_group = static_cast<int32_t>(links_[edge.group].above.size());
        links_[edge.group].above.push_back(number);
    }
    void take_above(int32_t number) {
        Edge &edge = edges_[number];
        if (edge.at_group == NONE) return;
        remove(links_[edge.group].above, edge.at_group, &Edge::at_group);
        edge.at_group = NONE;
    }
    void remove(std::vector<int32_t> &list, int32_t place, int32_t Edge::*at) {
        list[place] = list.back();
        edges_[list[place]].*at = place;
        list.pop_back();
    }

    // ---- routes

    // Hand on what a route has got, to its links.
    void expand(const std::pair<int32_t, int32_t> &hosts, const OfRoute &of) {
        if (hosts.second == NONE) return;  // to files
        on_route_.clear();
        routing_.route(hosts.first, hosts.second, on_route_);
        const Route &route = routes_.length(hosts.first, hosts.second);
        const bool has_penalty = route.latency > 0.0 || !(protocol_.penalty_without_latency > 0.0);
        double smallest = INFINITE;
        int32_t narrow = NONE;
        for (const int32_t link : on_route_) {
            const double capacity = routing_.capacity()[link];
            by_latency_[link] += of.latency;
            if (has_penalty) {
                by_latency_[link] += of.penalty;
                by_capacity_[link] -= of.penalty * protocol_.capacity_weight / (capacity * capacity);
            }
            if (capacity < smallest) smallest = capacity, narrow = link;
        }
        if (of.bound == 0.0) return;
        const Use *const first = routes_(hosts.first, hosts.second).uses;
        for (const Use *use = first; use != first + route.count; ++use) {
            const double most = routing_.capacity()[use->link] * unit_ / use->weight;
            if (fatpipe_[use->link] && most < smallest) smallest = most, narrow = use->link;
        }
        if (route.bound < smallest) {  // TCP's window
            for (const int32_t link : on_route_) by_latency_[link] -= of.bound * route.bound / route.latency;
        } else {
            by_capacity_[narrow] += of.bound * smallest / routing_.capacity()[narrow];
        }
    }

    const Tape &tape_;
    const Routing &routing_;
    const Protocol &protocol_;
    RouteTable &routes_;
    StorageLinks &storage_;
    const double unit_;
    const size_t count_;  // of the network's links
    const std::vector<uint8_t> fatpipe_;
    std::vector<double> by_capacity_, by_latency_, by_computation_;
    double by_kind_[Tape::KINDS] = {};
    std::vector<OfRoute> of_routes_;
    std::vector<double> moves_;     // of each step: how much the end moves with it
    std::vector<int32_t> slot_of_;  // of each flow
    std::vector<Slot> slots_;
    std::vector<Link> links_;
    std::vector<Mark> marks_;
    std::vector<Edge> edges_;
    HashTable<sharing::EdgeKey, Number, 64> edge_numbers_;
    std::vector<int32_t> unused_, unused_edges_;
    std::vector<int32_t> fresh_;  // flows that ended at the last change
    std::vector<int32_t> parts_;  // links that have part in a change
    std::vector<double> rates_;   // of flows that get another bottleneck, after a change
    std::vector<int32_t> on_route_;
    std::vector<std::vector<Use>> chunks_;  // uses of routes
    int64_t change_ = 0;
    int32_t first_step_ = NONE;
    bool several_ = false;
};

}  // namespace commmodel
