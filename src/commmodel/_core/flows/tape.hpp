// What each time of a run comes of, noted while it is simulated: a step is a time, that of the step before it and what
// is added to it. `backward_walk.hpp` makes derivatives of the run's end of it.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/hash_table.hpp"
#include "program/program.hpp"

namespace commmodel {

constexpr int32_t BOUND = -2;  // bottleneck of a flow: its own bound

class Tape {
  public:
    // What a step adds. QUEUE: bytes, at the bound of a route; TRANSFER: the time of a flow.
    enum Kind : uint32_t { FIXED, COMPUTATION, OVERHEAD, GAP, LATENCY, QUEUE, TRANSFER, KINDS };

    static constexpr double SAME = 1e-13;  // of shares

    struct Step {
        int32_t before;
        uint32_t what;  // kind, and the number of a host, route or flow
        double amount;  // seconds; of LATENCY, the factor of the route's latency; of QUEUE, bytes
        Kind kind() const { return static_cast<Kind>(what & 7); }
        int32_t number() const { return static_cast<int32_t>(what >> 3); }
    };
    struct Flow {
        int32_t route, begin, end;  // begin, end: steps
        int32_t group;              // its bottleneck when it ends
        double unevenness;          // factor of the route's penalty
    };
    struct Move {
        int32_t flow, before;  // its bottleneck until then
    };
    struct Change {
        int32_t link;
        double before;  // share of its flows until then
    };
    struct Instant {  // bandwidth is shared anew
        double time;
        size_t steps, events, moves, changes;  // until then
    };

    std::vector<Step> steps;
    std::vector<Flow> flows;
    std::vector<Instant> instants;
    std::vector<int32_t> events;  // flows that begin, and ~flows that end
    std::vector<Move> moves;
    std::vector<Change> changes;
    int64_t solutions = 0;  // of the sharing of bandwidth
    std::vector<std::pair<int32_t, int32_t>> routes;
    std::vector<int32_t> ends;   // steps at which ranks end
    std::vector<double> shares;  // of links as bottlenecks, at last

    // most: steps, beyond which the tape is given up.
    void open(int32_t ranks, int64_t hosts, int64_t most) {
        is_on_ = true;
        most_ = static_cast<size_t>(most);
        of_rank_.assign(static_cast<size_t>(ranks), 0);
        ends.assign(static_cast<size_t>(ranks), 0);
        of_gate_.assign(static_cast<size_t>(hosts), 0);
        of_queue_.assign(static_cast<size_t>(hosts), 0);
        steps.push_back({NONE, FIXED, 0.0});
    }
    bool is_on() const { return is_on_; }

    // What happens from now on does as this item of the event queue is due.
    void at(int32_t item) { cause_ = item < 0 ? of_message_[~item] : of_rank_[item]; }
    // A rank goes on, as of now.
    void wake(int32_t rank) {
        if (static_cast<size_t>(rank) >= of_rank_.size()) of_rank_.resize(static_cast<size_t>(rank) + 1);
        of_rank_[rank] = cause_;
    }
    // A rank goes on after some seconds.
    void stay(int32_t rank, Kind kind, int32_t number, double seconds) {
        of_rank_[rank] = add(cause_, kind, number, seconds);
    }
    void end_rank(int32_t rank) { ends[rank] = cause_; }

    // A message's steps until it comes: they begin at the cause, are added to `last`, and end with `send`.
    int32_t cause() const { return cause_; }
    int32_t add(int32_t before, Kind kind, int32_t number, double amount) {
        if (steps.size() + moves.size() + changes.size() >= most_) fill();
        steps.push_back({before, kind | static_cast<uint32_t>(number) << 3, amount});
        return static_cast<int32_t>(steps.size()) - 1;
    }
    // After what holds a host's messages back, its gate or its queue; held: that is what the message waited for.
    int32_t pass_gate(int32_t host, int32_t last, bool held, double gap) {
        if (held) last = of_gate_[host];
        of_gate_[host] = add(last, GAP, 0, gap);
        return last;
    }
    int32_t pass_queue(int32_t host, int32_t last, bool held, bool joins, int32_t route, double work) {
        if (held) last = of_queue_[host];
        if (joins) of_queue_[host] = add(last, QUEUE, route, work);
        return last;
    }
    void send(int32_t message, int32_t last, int32_t route) {
        if (static_cast<size_t>(message) >= of_message_.size()) {
            of_message_.resize(static_cast<size_t>(message) + 1);
            route_of_.resize(of_message_.size());
        }
        of_message_[message] = last;
        route_of_[message] = route;
    }
    int32_t route(int32_t source, int32_t destination) {
        const Pair key{pair_of(source, destination)};
        const size_t slot = numbers_.find(key);
        if (numbers_[slot].first != NONE) return numbers_[slot].first;
        const auto number = static_cast<int32_t>(routes.size());
        numbers_.fill(slot, key, {number});
        routes.push_back({source, destination});
        return number;
    }

    // place: its number among the flows that share.
    void begin_flow(int32_t message, int32_t place, double unevenness) {
        const auto number = static_cast<int32_t>(flows.size());
        flows.push_back({route_of_[message], cause_, NONE, NONE, unevenness});
        if (static_cast<size_t>(place) >= at_place_.size()) at_place_.resize(static_cast<size_t>(place) + 1);
        at_place_[place] = number;
        events.push_back(number);
        if (static_cast<size_t>(message) >= of_transfer_.size()) of_transfer_.resize(static_cast<size_t>(message) + 1);
        of_transfer_[message] = number;
    }
    void end_flow(int32_t message) {
        const int32_t number = of_transfer_[message];
        cause_ = flows[number].end = add(NONE, TRANSFER, number, 0.0);
        events.push_back(~number);
    }
    // A flow's bottleneck is a link, or BOUND; a link has a share as bottleneck.
    void note_bottleneck(int32_t place, int32_t group) {
        Flow &flow = flows[at_place_[place]];
        if (flow.group == group) return;
        if (flow.group != NONE) moves.push_back({at_place_[place], flow.group});
        flow.group = group;
    }
    void note_fair_share(int32_t link, double share) {
        if (static_cast<size_t>(link) >= shares.size()) shares.resize(static_cast<size_t>(link) + 1);
        if (std::abs(share - shares[link]) <= SAME * share) return;
        changes.push_back({link, shares[link]});
        shares[link] = share;
    }
    void end_instant() {
        if (instants.empty()) return;
        instants.back().moves = moves.size();
        instants.back().changes = changes.size();
    }

    // Bandwidth is shared anew if flows have begun or ended.
    void share(double now) {
        const size_t before = instants.empty() ? 0 : instants.back().events;
        if (events.size() > before)
            instants.push_back({now, steps.size(), events.size(), moves.size(), changes.size()});
    }

  private:
    struct Pair {
        uint64_t hosts = 0;
        bool operator==(const Pair &other) const { return hosts == other.hosts; }
        uint64_t hash() const { return mixed(hosts); }
    };

    // Give up: nothing more is noted.
    void fill() {
        is_on_ = false;
        std::vector<Step>(1).swap(steps);
    }

    size_t most_ = 0;
    int32_t cause_ = 0;
    std::vector<int32_t> of_rank_, of_message_;  // steps at which they are due
    std::vector<int32_t> route_of_;              // of each message
    std::vector<int32_t> of_gate_, of_queue_;    // steps from which on a host's are free
    std::vector<int32_t> of_transfer_;           // flow of each message
    std::vector<int32_t> at_place_;              // flow of each number among those that share
    HashTable<Pair, Number, 64> numbers_;
    bool is_on_ = false;
};

}  // namespace commmodel
