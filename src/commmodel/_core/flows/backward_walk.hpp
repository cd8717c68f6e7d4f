// Derivatives of a run's end by bandwidths, latencies and computation: a walk back over what it comes of (tape.hpp).
//
// Each step passes on how much the end moves with it. A flow ends when its rates, times the spans in which it has them,
// have moved its bytes: so its end moves with its begin, with each time at which its rate changes, and with its rates.
// These are shared anew for each span, backwards; a rate moves with the capacity of the link that is its bottleneck, and
// with the rates of flows on that link which are bound elsewhere. `docs/theory/sensitivity.md` has the formulas.
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
#include "sharing/flow_table.hpp"
#include "sharing/progressive_filling.hpp"

namespace commmodel {

class BackwardWalk {
  public:
    BackwardWalk(const Tape &tape, const Routing &routing, const Protocol &protocol, RouteTable &routes,
                 StorageLinks &storage)
        : tape_(tape), routing_(routing), protocol_(protocol), routes_(routes), storage_(storage),
          unit_(unit_of_weights(protocol)), count_(routing.capacity().size()),
          table_(storage.capacities(capacities(routing, protocol)), storage.fatpipes(routing.fatpipe())),
          filling_(table_), by_capacity_(table_.capacity.size()), by_latency_(count_),
          by_computation_(static_cast<size_t>(routing.hosts())), of_routes_(tape.routes.size()),
          number_of_(tape.flows.size(), NONE), links_(table_.capacity.size()), marks_(table_.capacity.size()) {}

    // From the step that is the end. Appends derivatives by the capacity of each link, the latency of each link, factors
    // of computation on each host, and factors of overheads, gaps, and what is fixed.
    void walk(int32_t last, std::vector<double> &slopes) {
        moves_.assign(tape_.steps.size(), 0.0);
        moves_[last] = 1.0;
        size_t steps = tape_.steps.size(), events = tape_.events.size();
        double after = 0.0;
        for (size_t i = tape_.instants.size(); i-- > 0;) {
            const Tape::Instant &instant = tape_.instants[i];
            change(instant.events, events);
            pass_on(instant.steps, steps);
            begin_loads();
            if (loads_ > 0 && after > instant.time) spread(after - instant.time);
            steps = instant.steps;
            events = instant.events;
            after = instant.time;
        }
        change(0, events);
        pass_on(0, steps);
        for (size_t i = 0; i < tape_.routes.size(); ++i) expand(tape_.routes[i], of_routes_[i]);
        slopes.assign(by_capacity_.begin(), by_capacity_.begin() + static_cast<std::ptrdiff_t>(count_));
        slopes.insert(slopes.end(), by_latency_.begin(), by_latency_.end());
        slopes.insert(slopes.end(), by_computation_.begin(), by_computation_.end());
        slopes.insert(slopes.end(), {by_kind_[Tape::OVERHEAD], by_kind_[Tape::GAP], by_kind_[Tape::FIXED]});
    }

  private:
    static constexpr double SAME = 1e-12;  // of fair shares

    struct OfRoute {  // derivatives by what a route amounts to
        double latency = 0.0, penalty = 0.0, bound = 0.0;
    };
    struct OfFlow {  // by its number in the table
        int32_t flow = NONE, place = 0;
        double load = 0.0;  // how much the end moves with a byte of it
        double rate = 0.0;  // after the change that is looked at
        int32_t group = NONE;
    };
    struct OfLink {
        int64_t mark = 0;  // of the span in which it is a bottleneck
        double share = 0.0, demand = 0.0, sum = 0.0;
        double by_capacity() const { return demand > 0.0 ? sum / demand : 0.0; }
    };
    struct Mark {  // of a link
        int64_t change = 0;
        int32_t step = NONE;
    };

    double rate(int32_t number) const { return table_.flows[number].share * table_.flows[number].demand; }
    bool is_link(int32_t group) const { return group < static_cast<int32_t>(table_.capacity.size()); }

    // Steps hand on to those before them how much the end moves with them.
    void pass_on(size_t first, size_t last) {
        for (size_t i = last; i-- > first;) {
            const double moves = moves_[i];
            const Tape::Step &step = tape_.steps[i];
            if (moves == 0.0 || step.kind() == Tape::TRANSFER) continue;
            if (step.before != NONE) moves_[static_cast<size_t>(step.before)] += moves;
            switch (step.kind()) {
                case Tape::COMPUTATION:
                    by_computation_[static_cast<size_t>(step.number())] += moves * step.amount;
                    break;
                case Tape::LATENCY:
                    of_routes_[static_cast<size_t>(step.number())].latency += moves * step.amount;
                    break;
                case Tape::QUEUE: {
                    const auto &[source, destination] = tape_.routes[static_cast<size_t>(step.number())];
                    const double bound = routes_.length(source, destination).bound;
                    of_routes_[static_cast<size_t>(step.number())].bound -= moves * step.amount / (bound * bound);
                    break;
                }
                default: by_kind_[step.kind()] += moves * step.amount;
            }
        }
    }

    // Undo what happened to the set of flows at one time: those that began leave it, those that ended enter it.
    void change(size_t first, size_t last) {
        for (size_t i = first; i < last; ++i)
            if (tape_.events[i] >= 0) take(tape_.events[i]);
        for (const int32_t number : table_.living) {
            OfFlow &of = of_flows_[number];
            if (of.load == 0.0) continue;
            of.rate = rate(number);
            of.group = table_.flows[number].group;
        }
        const size_t others = table_.living.size();
        for (size_t i = first; i < last; ++i)
            if (tape_.events[i] < 0) put(~tape_.events[i]);
        is_shared_ = false;
        if (loads_ == 0) return;
        share();
        ++changes_;
        if (last - first > 1) mark_links(first, last);
        for (size_t i = 0; i < others; ++i) {
            const int32_t number = table_.living[i];
            const OfFlow &of = of_flows_[number];
            if (of.load == 0.0) continue;
            const double change = of.rate - rate(number);
            if (change != 0.0) moves_[static_cast<size_t>(cause(first, last, number))] += of.load * change;
        }
    }

    int32_t step_of(int32_t event) const { return event < 0 ? tape_.flows[~event].end : tape_.flows[event].begin; }

    // Note on which links there is a change.
    void mark_links(size_t first, size_t last) {
        for (size_t i = first; i < last; ++i) {
            const int32_t event = tape_.events[i];
            const Uses uses = uses_of(event < 0 ? ~event : event);
            for (const Use *use = uses.first; use != uses.first + uses.count; ++use)
                marks_[static_cast<size_t>(use->link)] = {changes_, step_of(event)};
        }
    }

    // The step whose time a change of a flow's rate has: of several, one on its bottleneck, or on another of its links.
    int32_t cause(size_t first, size_t last, int32_t number) const {
        if (last - first > 1) {
            const sharing::Flow &flow = table_.flows[number];
            for (const int32_t group : {of_flows_[number].group, flow.group})
                if (is_link(group) && marks_[group].change == changes_) return marks_[group].step;
            for (const Use *use = table_.begin(flow); use != table_.end(flow); ++use)
                if (marks_[use->link].change == changes_) return marks_[use->link].step;
        }
        return step_of(tape_.events[first]);
    }

    Uses uses_of(int32_t flow) {
        const auto &[source, destination] = tape_.routes[static_cast<size_t>(tape_.flows[flow].route)];
        if (destination == NONE) return storage_.uses(source);
        const Route &route = routes_(source, destination);
        return {route.uses, route.count};
    }

    void put(int32_t number) {
        const Tape::Flow &flow = tape_.flows[number];
        const auto &[source, destination] = tape_.routes[static_cast<size_t>(flow.route)];
        const Uses uses = uses_of(number);
        double penalty = 1.0, bound = INFINITE;
        if (destination != NONE) {
            const Route &route = routes_.length(source, destination);
            penalty = route.penalty * flow.unevenness;
            bound = route.bound;
        }
        const int32_t place = table_.add(uses.first, uses.count, penalty, bound, flow.work);
        if (static_cast<size_t>(place) >= of_flows_.size()) of_flows_.resize(static_cast<size_t>(place) + 1);
        of_flows_[place] = {number, static_cast<int32_t>(table_.living.size()) - 1, 0.0, 0.0, NONE};
        number_of_[number] = place;
        fresh_.push_back(number);
    }

    void take(int32_t flow) {
        const int32_t number = number_of_[flow];
        const OfFlow &of = of_flows_[number];
        if (of.load != 0.0) {
            moves_[static_cast<size_t>(tape_.flows[flow].begin)] += of.load * rate(number);
            --loads_;
        }
        const int32_t moved = table_.living.back();
        table_.living[of.place] = moved;
        of_flows_[moved].place = of.place;
        table_.living.pop_back();
        table_.free_numbers.push_back(number);
    }

    // Of flows that have ended at the change, it is known by now how much the end moves with theirs.
    void begin_loads() {
        for (const int32_t flow : fresh_) {
            const double moves = moves_[static_cast<size_t>(tape_.flows[flow].end)];
            if (moves == 0.0) continue;
            share();
            of_flows_[number_of_[flow]].load = moves / rate(number_of_[flow]);
            ++loads_;
        }
        fresh_.clear();
        if (loads_ > 0) share();
    }

    void share() {
        if (is_shared_) return;
        filling_.solve(0.0);
        is_shared_ = true;
    }

    // Whether a link is a bottleneck at a share that is no greater than the flow's, which rises with the link's own flows.
    bool rises(const sharing::Flow &flow, const OfLink &link) const {
        return link.mark == spans_ && flow.share >= link.share * (1 - SAME);
    }
    bool is_frozen(const sharing::Flow &flow, const OfLink &link) const {
        return link.mark == spans_ && flow.share < link.share * (1 - SAME);
    }
    OfRoute &route_of(int32_t number) {
        return of_routes_[static_cast<size_t>(tape_.flows[of_flows_[number].flow].route)];
    }

    // Hand on how much the end moves with the rates of a span: to capacities, bounds and penalties.
    void spread(double seconds) {
        list_bottlenecks();
        for (const int32_t number : order_) {  // each after those with greater shares, which take what it leaves
            const sharing::Flow &flow = table_.flows[number];
            double by_rate = -of_flows_[number].load * seconds;
            for (const Use *use = table_.begin(flow); use != table_.end(flow); ++use)
                if (is_frozen(flow, links_[use->link])) by_rate -= links_[use->link].by_capacity() * use->weight;
            if (is_link(flow.group)) {
                links_[flow.group].sum += by_rate * flow.demand;
            } else {
                route_of(number).bound += by_rate;
            }
        }
        for (const int32_t link : bottlenecks_) by_capacity_[link] += links_[link].by_capacity() * unit_;
        for (const int32_t number : order_) {
            const sharing::Flow &flow = table_.flows[number];
            if (!is_link(flow.group)) continue;
            double by_rate = -of_flows_[number].load * seconds;
            for (const Use *use = table_.begin(flow); use != table_.end(flow); ++use)
                if (links_[use->link].mark == spans_) by_rate -= links_[use->link].by_capacity() * use->weight;
            const double unevenness = tape_.flows[of_flows_[number].flow].unevenness;
            route_of(number).penalty -= by_rate * flow.share * flow.demand * flow.demand * unevenness;
        }
    }

    // List the links that are bottlenecks, with what rises on each, and flows by their shares, the greatest first.
    void list_bottlenecks() {
        ++spans_;
        bottlenecks_.clear();
        double least = INFINITE, most = 0.0;
        for (const int32_t number : table_.living) {
            const sharing::Flow &flow = table_.flows[number];
            least = std::min(least, flow.share);
            most = std::max(most, flow.share);
            if (!is_link(flow.group) || links_[flow.group].mark == spans_) continue;
            links_[flow.group] = {spans_, flow.share, 0.0, 0.0};
            bottlenecks_.push_back(flow.group);
        }
        for (const int32_t number : table_.living) {
            const sharing::Flow &flow = table_.flows[number];
            for (const Use *use = table_.begin(flow); use != table_.end(flow); ++use)
                if (rises(flow, links_[use->link])) links_[use->link].demand += use->weight * flow.demand;
        }
        order_.assign(table_.living.begin(), table_.living.end());
        if (least < most * (1 - SAME))
            std::sort(order_.begin(), order_.end(),
                      [this](int32_t a, int32_t b) { return table_.flows[a].share > table_.flows[b].share; });
    }

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
        const Uses uses = {routes_(hosts.first, hosts.second).uses, route.count};
        for (const Use *use = uses.first; use != uses.first + uses.count; ++use) {
            const double most = routing_.capacity()[use->link] * unit_ / use->weight;
            if (routing_.fatpipe()[use->link] && most < smallest) smallest = most, narrow = use->link;
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
    sharing::FlowTable table_;
    sharing::ProgressiveFilling filling_;
    std::vector<double> by_capacity_, by_latency_, by_computation_;
    double by_kind_[Tape::KINDS] = {};
    std::vector<OfRoute> of_routes_;
    std::vector<double> moves_;       // of each step: how much the end moves with it
    std::vector<int32_t> number_of_;  // in the table, of each flow
    std::vector<OfFlow> of_flows_;
    std::vector<OfLink> links_;
    std::vector<Mark> marks_;
    std::vector<int32_t> fresh_;  // flows that ended at the last change
    std::vector<int32_t> order_, bottlenecks_, on_route_;
    int64_t changes_ = 0, spans_ = 0;
    int32_t loads_ = 0;  // flows that have one
    bool is_shared_ = false;
};

}  // namespace commmodel
