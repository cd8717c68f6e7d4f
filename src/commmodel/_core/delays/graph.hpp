// Carries out schedules whose operations depend on one another (GOAL), under LogGOPS: each rank has processors and
// NICs, which do one thing at a time.
//
// Two sets of rules. Classic (Hoefler, Schneider and Lumsdaine 2010): a send takes the processor o + (m − 1) O and the
// NIC g + (m − 1) G; the head of the message arrives at t + o + L; there it takes the processor
// o + max((m − 1) O, (m − 1) G) and the NIC g + (m − 1) G, whether or not its receive is there; for m > S the send is
// done, and goes on, when both have met. Newer: a message arrives as a whole, at t + o + (m − 1) O + L + (m − 1) G, and
// waits in memory; when its receive is there too, it takes the NIC g, and then the receive's processor o + (m − 1) O.
// An empty message counts as one byte.
// message_rule.hpp cannot serve: a port is busy for the gap of the message before, not of the one that comes; and sums go
// term by term, as LogGOPSim's do: (0.1 + 0.2) + 0.3 is one bit more than 0.1 + (0.2 + 0.3).
//
// A rank does what can begin first; of what can begin at one time, what became possible first; then sends before
// receives, calculations and messages; then in the order of the file, and messages in that of arrival, of the senders'
// ranks and of sending. An operation takes 29 bytes here beside its own 24, a dependency 4
// beside its own 12, a rank 234, and a message on its way 64.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "delays/flights.hpp"
#include "delays/goal_parser.hpp"
#include "delays/message_rule.hpp"
#include "delays/messages.hpp"
#include "delays/slopes.hpp"
#include "program/deadlock.hpp"
#include "program/matching.hpp"
#include "program/pairing_heap.hpp"
#include "program/program.hpp"
#include "program/rank_queue.hpp"
#include "program/run.hpp"
#include "program/symmetry.hpp"

namespace commmodel::delays {

struct GraphParameters {
    double L, o, g, G, O_s, O_r, S;
    bool newer;
    bool by_factors;                     // derivatives are by factors of the parameters, not by what is added to them
    const Symmetry *symmetry = nullptr;  // of ranks that stand for others
};

template <class Time> class Graph {
  public:
    Graph(int32_t ranks, const int64_t *offsets, const GoalOperation *operations, int64_t count,
          const GoalDependency *dependencies, int64_t edges, const GraphParameters &parameters, Run &run)
        : ranks_(ranks), offsets_(offsets), operations_(operations), count_(count), p_(parameters), run_(run),
          matching_(messages_, *this), by_arrival_{messages_}, flights_(run), L_(term(p_.L, LATENCY)),
          o_(term(p_.o, OVERHEAD)), g_(term(p_.g, GAP)), G_(term(p_.G, BYTE)), O_s_(term(p_.O_s, OVERHEAD_SENT)),
          O_r_(term(p_.O_r, OVERHEAD_RECEIVED)) {
        read_dependencies(dependencies, edges);
        for (int64_t i = 0; i < count; i++) {
            cpus_ = std::max(cpus_, operations[i].cpu + 1);
            nics_ = std::max(nics_, operations[i].nic + 1);
            strict_ |= operations[i].kind == GOAL_SEND && operations[i].value > p_.S;
        }
        cpu_nics_ = cpus_ * nics_;
    }

    void run() {
        processor_.assign(static_cast<size_t>(ranks_) * cpus_, Time());
        sending_.assign(static_cast<size_t>(ranks_) * nics_, Time());
        receiving_.assign(static_cast<size_t>(ranks_) * nics_, Time());
        heads_.assign(static_cast<size_t>(ranks_) * cpu_nics_ * KINDS, NONE);
        unmatched_.assign(ranks_, Unmatched());
        ends_.assign(ranks_, Time());
        busy_until_.assign(ranks_, 0.0);
        kept_.resize(ranks_);
        run_.spent.assign(static_cast<size_t>(ranks_) * STATES, 0.0);
        queue_ = std::make_unique<RankQueue>(ranks_, strict_ ? 0.0 : p_.o + p_.L);
        for (int32_t rank = 0; rank < ranks_; rank++) {
            for (int64_t i = offsets_[rank]; i < offsets_[rank + 1]; i++)
                if (status_[i] == HELD && !nodes_[i].child) release(rank, static_cast<int32_t>(i), 0.0);
            queue_->set(rank, first(rank).time);
        }
        while (queue_->least() < INFINITE) {
            const double horizon = queue_->horizon();
            while (queue_->least() <= horizon) {
                act(queue_->next(horizon), horizon);
                if (!run_.may_go_on(horizon)) return;
            }
        }
        for (const int32_t head : heads_)
            if (head != NONE) run_.stop.fault = TOO_LATE;
        for (const Time &end : ends_)
            if (value_of(end) > LATEST) run_.stop.fault = TOO_LATE;
        // A rendezvous reaches its sender at once, and of ranks that act at one time the lower one acts first.
        if (p_.symmetry != nullptr && (strict_ || by_arrival_.tied)) run_.stop.fault = ASYMMETRIC;
        if (!run_.stopped()) finish();
    }

    // For `Matching`: a receive waits outside of the heaps, where its links are free.
    int32_t &link(int32_t receive) { return nodes_[receive].child; }
    int32_t source(int32_t receive) const { return operations_[receive].peer; }
    int32_t tag(int32_t receive) const { return operations_[receive].tag; }
    bool posted_before(int32_t first, int32_t second) const { return nodes_[first].sibling < nodes_[second].sibling; }

  private:
    using Note = Message<Time>;

    enum Kind { SENDS, POSTS, CALCULATIONS, ARRIVALS, RECEPTIONS, KINDS };
    enum Status : uint8_t { HELD, FREED, STARTED, DONE };

    struct Node {
        Time time = 0.0;     // from when on it can begin; of a send that has begun, its end
        double freed = 0.0;  // when the last that it depends on let it go
        int32_t child = 0;   // until it is freed: how many it still depends on
        int32_t sibling = NONE;
    };
    struct Nodes {  // for the heaps of operations
        std::vector<Node> &nodes;
        bool sooner(int32_t one, int32_t other) {
            const Node &a = nodes[one], &b = nodes[other];
            if (a.time != b.time) return a.time < b.time;
            return a.freed != b.freed ? a.freed < b.freed : one < other;
        }
        int32_t &child(int32_t one) { return nodes[one].child; }
        int32_t &sibling(int32_t one) { return nodes[one].sibling; }
    };
    struct Candidate {
        double time = INFINITE, since = INFINITE;
        int32_t kind = KINDS, cpu_nic = 0;
    };

    // Who stands for a rank: that rank, where all are simulated.
    int32_t rank_of(int32_t rank) const { return p_.symmetry == nullptr ? rank : p_.symmetry->representative(rank); }

    Time term(double value, Parameter number) const {
        Time time;
        set_parameter(time, value, number, p_.by_factors ? value : 1.0);
        return time;
    }

    void read_dependencies(const GoalDependency *dependencies, int64_t edges) {
        nodes_.resize(count_);
        status_.assign(count_, HELD);
        starts_.assign(count_ + 2, 0);
        after_.resize(edges);
        for (int64_t i = 0; i < edges; i++) {
            nodes_[dependencies[i].dependent].child += 1;
            starts_[dependencies[i].on + 2] += 1;
        }
        for (int64_t i = 2; i < count_ + 2; i++) starts_[i] += starts_[i - 1];
        for (int64_t i = 0; i < edges; i++) {
            int32_t after = dependencies[i].dependent;
            after_[starts_[dependencies[i].on + 1]++] = dependencies[i].start ? ~after : after;
        }
    }

    size_t at_processor(int32_t rank, int32_t cpu_nic) const {
        return static_cast<size_t>(rank) * cpus_ + cpu_nic / nics_;
    }
    size_t at_nic(int32_t rank, int32_t cpu_nic) const { return static_cast<size_t>(rank) * nics_ + cpu_nic % nics_; }
    int32_t cpu_nic_of(int32_t operation) const {
        return operations_[operation].cpu * nics_ + operations_[operation].nic;
    }
    int32_t &head(int32_t rank, int32_t cpu_nic, int32_t kind) {
        return heads_[(static_cast<size_t>(rank) * cpu_nics_ + cpu_nic) * KINDS + kind];
    }

    // Return what a rank does first.
    Candidate first(int32_t rank) {
        Candidate best;
        for (int32_t cpu_nic = 0; cpu_nic < cpu_nics_; cpu_nic++) {
            const int32_t *heads = &head(rank, cpu_nic, 0);
            for (int32_t kind = 0; kind < KINDS; kind++) {
                if (heads[kind] == NONE) continue;
                const double since = kind >= ARRIVALS ? messages_[heads[kind]].born : nodes_[heads[kind]].freed;
                const double time = ready<double>(rank, cpu_nic, kind, heads[kind]);
                if (time < best.time || (time == best.time && since < best.since)) best = {time, since, kind, cpu_nic};
            }
        }
        return best;
    }

    // When the first of a heap can begin, with its derivatives or without.
    template <class Number> Number ready(int32_t rank, int32_t cpu_nic, int32_t kind, int32_t head) {
        const Time &processor = processor_[at_processor(rank, cpu_nic)];
        const size_t nic = at_nic(rank, cpu_nic);
        const auto after = [](const Number &time, const Time &other) { return later(time, as<Number>(other)); };
        if (kind >= ARRIVALS) {
            const Number arrival = as<Number>(messages_[head].arrival);
            if (kind != RECEPTIONS && p_.newer) return arrival;
            return after(after(arrival, processor), receiving_[nic]);
        }
        const Number time = as<Number>(nodes_[head].time);
        if (kind == POSTS) return time;
        return kind == SENDS ? after(after(time, processor), sending_[nic]) : after(time, processor);
    }

    void act(int32_t rank, double horizon) {
        Candidate next = first(rank);
        do {
            run_.events += 1;
            int32_t &heap = head(rank, next.cpu_nic, next.kind);
            const Time now = ready<Time>(rank, next.cpu_nic, next.kind, heap);
            if (next.kind >= ARRIVALS) {
                int32_t message = heap;
                heap = drop_first(by_arrival_, message);
                if (next.kind == RECEPTIONS)
                    receive(rank, message, now);
                else if (p_.newer)
                    arrive(rank, message, now);
                else
                    take(rank, message, now);
            } else {
                Nodes nodes{nodes_};
                int32_t operation = heap;
                heap = drop_first(nodes, operation);
                if (next.kind == SENDS)
                    send(rank, operation, now);
                else if (next.kind == POSTS)
                    post(rank, operation, now);
                else
                    calculate(rank, operation, now);
            }
            next = first(rank);
        } while (next.time <= horizon);
        queue_->set(rank, next.time);
    }

    // An operation depends on nothing any more.
    void release(int32_t rank, int32_t operation, double now) {
        Node &node = nodes_[operation];
        const GoalOperation &one = operations_[operation];
        status_[operation] = FREED;
        node.freed = now;
        if (!p_.newer || one.kind != GOAL_RECEIVE)
            node.time = later(node.time, processor_[static_cast<size_t>(rank) * cpus_ + one.cpu]);
        int32_t kind = one.kind == GOAL_SEND ? SENDS : one.kind == GOAL_RECEIVE ? POSTS : CALCULATIONS;
        if (kind == SENDS) node.time = later(node.time, sending_[static_cast<size_t>(rank) * nics_ + one.nic]);
        Nodes nodes{nodes_};
        int32_t &heap = head(rank, cpu_nic_of(operation), kind);
        heap = add_to_heap(nodes, heap, operation);
    }

    // Let go what waits for an operation to start, or to be done at `time`.
    void let_go(int32_t rank, int32_t operation, bool start, const Time &time, double now) {
        status_[operation] = start ? STARTED : DONE;
        for (int32_t i = starts_[operation]; i < starts_[operation + 1]; i++) {
            if ((after_[i] < 0) != start) continue;
            int32_t after = start ? ~after_[i] : after_[i];
            nodes_[after].time = later(nodes_[after].time, time);
            if (!--nodes_[after].child) release(rank, after, now);
        }
        if (!start) ends_[rank] = later(ends_[rank], time);
    }

    void calculate(int32_t rank, int32_t operation, const Time &now) {
        const GoalOperation &one = operations_[operation];
        const Time end = computed(now, one.value);
        processor_[static_cast<size_t>(rank) * cpus_ + one.cpu] = end;
        spend(rank, IN_COMPUTE, NONE, NONE, 0.0, now, end);
        let_go(rank, operation, true, now, value_of(now));
        let_go(rank, operation, false, end, value_of(now));
    }

    void send(int32_t rank, int32_t operation, const Time &now) {
        const GoalOperation &one = operations_[operation];
        double rest = bytes_after_first(one.value);
        const Time end = now + o_ + rest * O_s_;
        processor_[static_cast<size_t>(rank) * cpus_ + one.cpu] = end;
        sending_[static_cast<size_t>(rank) * nics_ + one.nic] = now + g_ + rest * G_;
        spend(rank, IN_SEND, one.peer, one.tag, one.value, now, end);
        Note message{};
        const int32_t receiver = rank_of(one.peer);
        message.turns = Flights::leave(kept_[rank], kept_[receiver]);
        message.arrival = p_.newer ? end + L_ + rest * G_ : now + o_ + L_;
        message.born = value_of(now);
        message.size = one.value;
        message.source = p_.symmetry == nullptr ? rank : p_.symmetry->relative(rank, one.peer);
        message.tag = one.tag;
        message.order = static_cast<uint32_t>(run_.messages++);
        message.owner = operation;
        message.cpu_nic = static_cast<uint16_t>(cpu_nic_of(operation));
        int32_t &heap = head(receiver, message.cpu_nic, ARRIVALS);
        int32_t place = messages_.add(message);
        heap = add_to_heap(by_arrival_, heap, place);
        if (receiver != rank && heap == place) {
            double time = value_of(message.arrival);
            if (!p_.newer)
                time = std::max(time, value_of(later(processor_[at_processor(receiver, message.cpu_nic)],
                                                     receiving_[at_nic(receiver, message.cpu_nic)])));
            if (time < queue_->time(receiver)) queue_->set(receiver, time);
        }
        let_go(rank, operation, true, now, value_of(now));
        if (one.value <= p_.S) let_go(rank, operation, false, end, value_of(now));
        nodes_[operation].time = end;
    }

    // A receive is there.
    void post(int32_t rank, int32_t operation, const Time &now) {
        let_go(rank, operation, true, now, value_of(now));
        nodes_[operation].sibling = posts_++;
        const GoalOperation &receive = operations_[operation];
        const int32_t message = matching_.take_message(rank, unmatched_[rank], receive.peer, receive.tag);
        if (message == NONE) return matching_.keep_receive(rank, unmatched_[rank], operation);
        if (p_.newer) return begin_reception(rank, operation, message, now);
        free_sender(rank, message, now, now);
        messages_.drop(message);
        let_go(rank, operation, false, now, value_of(now));
    }

    // The receive that takes a message that comes, or NONE: then it waits.
    int32_t match(int32_t rank, int32_t message) {
        const Note &come = messages_[message];
        const int32_t receive = matching_.take_receive(rank, unmatched_[rank], come.source, come.tag);
        if (receive == NONE) matching_.keep_message(rank, unmatched_[rank], message);
        return receive;
    }

    // Classic: a message takes the processor and the NIC, receive or not.
    void take(int32_t rank, int32_t message, const Time &now) {
        const Note one = messages_[message];
        double rest = bytes_after_first(one.size);
        const Time body = later(rest * O_r_, rest * G_), end = now + o_ + body;
        processor_[at_processor(rank, one.cpu_nic)] = end;
        receiving_[at_nic(rank, one.cpu_nic)] = now + g_ + rest * G_;
        spend(rank, IN_RECEIVE, one.source, one.tag, one.size, now, end);
        ends_[rank] = later(ends_[rank], end);
        note(rank, one, value_of(now + body));
        const int32_t receive = match(rank, message);
        if (receive == NONE) return;
        free_sender(rank, message, now, now);
        messages_.drop(message);
        let_go(rank, receive, false, end, value_of(now));
    }

    // Newer: a message is in memory.
    void arrive(int32_t rank, int32_t message, const Time &now) {
        note(rank, messages_[message], value_of(now));
        const int32_t receive = match(rank, message);
        if (receive != NONE) begin_reception(rank, receive, message, now);
    }

    void begin_reception(int32_t rank, int32_t receive, int32_t message, const Time &now) {
        Note &one = messages_[message];
        one.arrival = now;
        one.answers = receive;
        one.cpu_nic = static_cast<uint16_t>(operations_[receive].cpu * nics_ + one.cpu_nic % nics_);
        int32_t &heap = head(rank, one.cpu_nic, RECEPTIONS);
        heap = add_to_heap(by_arrival_, heap, message);
    }

    void receive(int32_t rank, int32_t message, const Time &now) {
        const Note one = messages_[message];
        const Time end = now + g_ + o_ + bytes_after_first(one.size) * O_r_;
        receiving_[at_nic(rank, one.cpu_nic)] = now + g_;
        processor_[at_processor(rank, one.cpu_nic)] = end;
        spend(rank, IN_RECEIVE, one.source, one.tag, one.size, now, end);
        free_sender(rank, message, end, now);
        messages_.drop(message);
        let_go(rank, one.answers, false, end, value_of(now));
    }

    // A send in a rendezvous is done, and until then its CPU and its NIC did nothing else.
    void free_sender(int32_t rank, int32_t message, Time time, const Time &now) {
        const Note one = messages_[message];
        if (one.size <= p_.S) return;
        const int32_t cpu_nic = cpu_nic_of(one.owner), source = rank_of(one.source);
        time = later(time, nodes_[one.owner].time);  // or it would end before its overhead
        Time &processor = processor_[at_processor(source, cpu_nic)], &nic = sending_[at_nic(source, cpu_nic)];
        processor = later(processor, time);
        nic = later(nic, p_.newer ? now + g_ : now);
        let_go(source, one.owner, false, time, value_of(now));
        if (source != rank) queue_->set(source, first(source).time);
    }

    // Note what a rank did, and before it, that it did nothing.
    void spend(int32_t rank, State state, int32_t peer, int32_t tag, double size, const Time &begin, const Time &done) {
        const double start = value_of(begin), end = value_of(done);
        wait(rank, start);
        busy_until_[rank] = std::max(busy_until_[rank], end);
        run_.spend(rank, state, peer, tag, size, start, end);
    }
    void wait(int32_t rank, double end) {
        const double start = busy_until_[rank];
        if (end > start) flights_.wait(kept_[rank], {rank, IN_WAIT, NONE, NONE, 0.0, start, end}, queue_->least());
    }

    void note(int32_t rank, const Note &one, double arrived) {
        double left = one.born + p_.o + (p_.newer ? bytes_after_first(one.size) * p_.O_s : 0.0);
        Flights::arrive(kept_[rank_of(one.source)], kept_[rank], one.turns, left, arrived);
        if (!run_.records) return;
        run_.transfers.push_back({one.source, rank, one.tag, one.size, one.born, left, arrived});
    }

    void finish() {
        run_.unmatched_messages = matching_.unmatched_messages();
        Deadlock deadlock;
        for (int32_t rank = 0; rank < ranks_; rank++) {
            run_.ends.push_back(value_of(ends_[rank]));
            append_slopes(run_.slopes, ends_[rank]);
            wait(rank, run_.ends[rank]);
            for (int64_t i = offsets_[rank]; i < offsets_[rank + 1]; i++) {
                if (status_[i] != STARTED) continue;
                const GoalOperation &one = operations_[i];
                const bool sends = one.kind == GOAL_SEND;
                const int32_t line = static_cast<int32_t>(one.line);
                deadlock.add(i, {rank, sends ? SEND : RECV, sends, one.peer, one.tag, line, one.value});
            }
        }
        for (Kept &rank : kept_) flights_.settle(rank, INFINITE);
        run_.hanging = deadlock.report();
    }

    int32_t ranks_;
    const int64_t *offsets_;
    const GoalOperation *operations_;
    int64_t count_;
    GraphParameters p_;
    Run &run_;
    int32_t cpus_ = 1, nics_ = 1, cpu_nics_ = 1;
    bool strict_ = false;  // a rendezvous reaches its sender at once
    int32_t posts_ = 0;
    std::vector<Node> nodes_;
    std::vector<uint8_t> status_;
    std::vector<int32_t> starts_, after_;
    std::vector<Time> processor_, sending_, receiving_;  // free from then on
    std::vector<Time> ends_;
    std::vector<int32_t> heads_;
    std::vector<Unmatched> unmatched_;
    Messages<Time> messages_;
    Matching<Messages<Time>, Graph> matching_;
    ByArrival<Time> by_arrival_;
    std::unique_ptr<RankQueue> queue_;
    Flights flights_;
    std::vector<Kept> kept_;
    std::vector<double> busy_until_;  // of each rank
    Time L_, o_, g_, G_, O_s_, O_r_;
};

// Carry a schedule out, with the derivatives of the ranks' ends if wanted.
inline void run_goal(int32_t ranks, const int64_t *offsets, const GoalOperation *operations, int64_t count,
                     const GoalDependency *dependencies, int64_t edges, const GraphParameters &parameters, bool slopes,
                     Run &run) {
    if (slopes && (parameters.O_s > 0.0 || parameters.O_r > 0.0))
        Graph<Slopes<PARAMETERS>>(ranks, offsets, operations, count, dependencies, edges, parameters, run).run();
    else if (slopes)
        Graph<Slopes<FEW_PARAMETERS>>(ranks, offsets, operations, count, dependencies, edges, parameters, run).run();
    else
        Graph<double>(ranks, offsets, operations, count, dependencies, edges, parameters, run).run();
}

}  // namespace commmodel::delays
