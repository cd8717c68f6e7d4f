// Carries out programs of ranks on flows that share the links of a platform: discrete events in exact order of time.
//
// What happens at one time happens in this order: flows that end, in the order in which they began; then timers, in the
// order in which they were set; then the ranks that can go on, in the order in which they became able to. Bandwidth is
// shared anew once, when all of it is done. So nothing depends on how equal times are found.
// Source of the model: Bedaride et al. 2013, Section IV. `docs/theory/simulation.md` says what each call does.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "program/event_queue.hpp"
#include "program/blocks.hpp"
#include "program/matching.hpp"
#include "program/program.hpp"
#include "flows/protocol.hpp"
#include "program/ranks.hpp"
#include "program/requests.hpp"
#include "routing/routing.hpp"
#include "sharing/sharing.hpp"
#include "flows/injection_queue.hpp"

namespace commmodel {

class Engine {
  public:
    std::vector<double> ends, spent, link_bytes;
    std::vector<Mark> marks;
    std::vector<Interval> intervals;
    std::vector<Transfer> transfers;
    std::vector<Hanging> hanging;
    int64_t messages = 0, events = 0, unreceived = 0;
    Stop stop;

    Engine(const Routing &routing, const Protocol &protocol, const int32_t *hosts, int32_t ranks,
           const Operation *operations, const int64_t *offsets, bool record, Callbacks callbacks)
        : link_bytes(routing.capacity().size(), 0.0), protocol_(protocol), costs_(protocol_), routes_(routing, protocol_),
          sharing_(capacities(routing, protocol), routing.fatpipe()), matching_(ranks), agenda_(Links{this}),
          ranks_(static_cast<size_t>(ranks)), blocks_(callbacks, ranks),
          turns_(protocol.send_buffer, routing.hosts()), hosts_(hosts), callbacks_(callbacks),
          record_(record) {
        for (int32_t rank = 0; rank < ranks; ++rank) {
            Rank &me = ranks_[rank];
            me.begin = me.at = operations + offsets[rank];
            me.end = operations + offsets[rank + 1];
            make_ready(rank);
        }
    }

    void run() {
        std::vector<int32_t> finished;
        run_ready();
        while (stop.fault == NO_FAULT) {
            const double flows = sharing_.next(now_), timers = agenda_.first();
            const double time = std::min(flows, timers);
            if (!(time < INFINITE)) break;
            now_ = time;
            if (++events + messages - asked_ > PATIENCE) {
                asked_ = events + messages;
                if (!callbacks_.may_go_on(callbacks_.context, now_, events)) {
                    stop.fault = INTERRUPTED;
                    return;
                }
            }
            if (flows <= time) {
                finished.clear();
                sharing_.take_finished(now_, finished);
                if (finished.empty()) {
                    stop.fault = STUCK;
                    return;
                }
                flows_ -= static_cast<int64_t>(finished.size());
                for (int32_t &flow : finished) flow = message_of_flow_[flow];  // before flows of these numbers are added
                for (const int32_t message : finished) end_flow(message);
            }
            if (timers <= time) {
                for (int32_t item = agenda_.take(); item != Agenda<Links>::END;) {
                    const int32_t next = link(item);
                    item < 0 ? flow(~item) : make_ready(item);
                    item = next;
                }
            }
            run_ready();
        }
        if (stop.fault == NO_FAULT && (flows_ > 0 || !agenda_.empty())) stop.fault = TOO_LATE;  // than all numbers
        if (stop.fault == NO_FAULT) finish();
    }

    int64_t solutions() const { return sharing_.solutions(); }

  private:
    static constexpr double INFINITE = std::numeric_limits<double>::infinity();
    static constexpr int64_t PATIENCE = 100000;  // steps and messages between two looks at what the user wants
    static constexpr int32_t MOST_OF_A_RANK = 4;
    static constexpr size_t MOST_HANGING = 10000;

    struct Links {
        Engine *engine;
        int32_t &operator()(int32_t item) const { return engine->link(item); }
    };

    int32_t &link(int32_t item) { return item < 0 ? matching_.at(~item).timer : ranks_[item].next; }

    void make_ready(int32_t rank) {
        ranks_[rank].next = NONE;
        (last_ready_ == NONE ? first_ready_ : ranks_[last_ready_].next) = rank;
        last_ready_ = rank;
        // Operations of thousands of ranks come from memory in turns, which no processor foresees.
        __builtin_prefetch(ranks_[rank].at + 1);
        __builtin_prefetch(ranks_[rank].at + 3);
    }

    void run_ready() {
        while (first_ready_ != NONE && stop.fault == NO_FAULT) {
            const int32_t rank = first_ready_;
            first_ready_ = ranks_[rank].next;
            if (first_ready_ == NONE) last_ready_ = NONE;
            proceed(rank);
        }
    }

    // ---- ranks

    // Note what a rank did since `since`.
    void spend(int32_t rank, State state, int32_t peer = NONE, int32_t tag = NONE, double size = 0.0) {
        Rank &me = ranks_[rank];
        const double seconds = now_ - me.since;
        if (seconds > 0.0) {
            me.spent[state] += seconds;
            if (record_) intervals.push_back({rank, state, peer, tag, size, me.since, now_});
        }
        me.since = now_;
    }

    // Let a rank be in what it does for so long; false where that is no time.
    bool stay(int32_t rank, double seconds, Doing doing) {
        const double end = now_ + seconds;
        if (!(end > now_)) return false;
        ranks_[rank].doing = doing;
        agenda_.set(end, rank);
        return true;
    }

    // Stop at a rank's operation; false, for its callers to return.
    bool fail(int32_t rank, Fault fault, int64_t number = 0, double size = 0.0) {
        if (stop.fault != NO_FAULT) return false;
        const Rank &me = ranks_[rank];
        stop.fault = fault;
        stop.rank = rank;
        stop.operation = me.before + (me.at - me.begin);
        stop.number = number;
        stop.size = size;
        return false;
    }

    // Carry a rank's operations out until it has to wait.
    void proceed(int32_t rank) {
        Rank &me = ranks_[rank];
        const Doing doing = me.doing;
        me.doing = NEXT;
        bool goes_on = true;
        switch (doing) {
            case NEXT: goes_on = begin(rank); break;
            case BUSY: end_busy(rank); break;
            case BEFORE_SENDING: goes_on = send(rank); break;
            case SENDING: spend(rank, IN_SEND, me.at->peer, me.at->tag, me.at->value), ++me.at; break;
            case RECEIVING: goes_on = received(rank); break;
            case AFTER_RECEIVING: end_receive(rank); break;
            case WAITING:
            case GOING_ON: goes_on = wait(rank, IN_WAIT); break;
            case AFTER_WAITING: goes_on = wait(rank, IN_RECEIVE); break;
            case TESTED: spend(rank, IN_RECEIVE), ++me.at; break;
            case ENDED: return;
        }
        while (goes_on && stop.fault == NO_FAULT) goes_on = begin(rank);
    }

    void end_busy(int32_t rank) {
        Rank &me = ranks_[rank];
        const Operation &operation = *me.at++;
        if (operation.code == COMPUTE || operation.code == SLEEP) {
            spend(rank, operation.code == COMPUTE ? IN_COMPUTE : IN_SLEEP);
        } else {
            spend(rank, IN_SEND, operation.peer, operation.tag, operation.value);
        }
    }

    // Begin the next operation; true if it is done at once.
    bool begin(int32_t rank) {
        Rank &me = ranks_[rank];
        me.since = now_;
        if (me.at == me.end && !more(rank)) {
            me.doing = ENDED;
            return false;
        }
        const Operation &operation = *me.at;
        switch (operation.code) {
            case COMPUTE:
            case SLEEP:
                if (!(operation.value >= 0.0 && operation.value < INFINITE)) {
                    return fail(rank, BAD_VALUE, 0, operation.value);
                }
                if (stay(rank, operation.value, BUSY)) return false;
                break;
            case SEND:
            case ISEND: return begin_send(rank);
            case RECV:
            case IRECV: return receive(rank);
            case WAIT:
            case TEST: return begin_wait(rank);
            case WAITALL: return begin_waitall(rank);
            case MARK:
                if (!(std::abs(operation.value) < 2147483648.0)) return fail(rank, BAD_VALUE, 0, operation.value);
                marks.push_back({rank, static_cast<int32_t>(operation.value), now_});
                break;
            default: return fail(rank, UNKNOWN_CODE, operation.code);
        }
        ++me.at;
        return true;
    }

    bool more(int32_t rank) {
        Rank &me = ranks_[rank];
        if (callbacks_.refill == nullptr) return false;
        const Operation *begin = nullptr;
        int64_t count = 0;
        me.before += me.end - me.begin;
        me.begin = me.at = me.end = nullptr;
        if (!blocks_.next(rank, begin, count)) return fail(rank, INTERRUPTED);
        if (count == 0 && !callbacks_.refill(callbacks_.context, rank, &begin, &count)) {
            return fail(rank, INTERRUPTED);
        }
        me.begin = me.at = begin;
        me.end = begin + count;
        return count > 0;
    }

    // ---- sends

    bool check_message(int32_t rank, const Operation &operation, int32_t lowest_peer) {
        const bool blocking = operation.code == SEND || operation.code == RECV;
        const bool sends = operation.code == SEND || operation.code == ISEND;
        Rank &me = ranks_[rank];
        if (operation.peer < lowest_peer || operation.peer >= static_cast<int32_t>(ranks_.size())) {
            fail(rank, BAD_PEER, operation.peer);
        } else if (sends && operation.tag == ANY) {
            fail(rank, BAD_TAG, operation.tag);
        } else if (sends ? !(operation.value >= 0.0 && operation.value < INFINITE) : std::isnan(operation.value)) {
            fail(rank, BAD_VALUE, 0, operation.value);
        } else if (!blocking && operation.request < UNNAMED) {
            fail(rank, BAD_REQUEST, operation.request);
        } else if (!blocking && operation.request != UNNAMED && requests_.find(rank, operation.request) != NONE) {
            fail(rank, REQUEST_IN_USE, operation.request);
        } else {
            if (!blocking) me.highest_name = std::max(me.highest_name, operation.request);
            return true;
        }
        return false;
    }

    double send_overhead(const Operation &operation) {
        const Costs &costs = costs_(operation.value);
        return operation.code == ISEND ? costs.isend : costs.send;
    }

    bool begin_send(int32_t rank) {
        const Operation &operation = *ranks_[rank].at;
        if (!check_message(rank, operation, 0)) return false;
        if (protocol_.leaves_after_overhead && stay(rank, send_overhead(operation), BEFORE_SENDING)) return false;
        return send(rank);
    }

    // The message goes out, or waits for its receive.
    bool send(int32_t rank) {
        Rank &me = ranks_[rank];
        const Operation &operation = *me.at;
        const Mode mode = costs_(operation.value).mode;
        ++messages;
        int32_t index = matching_.take_posted(operation.peer, rank, operation.tag);
        const bool matched = index != NONE;
        if (!matched) index = matching_.make();
        Message &message = matching_.at(index);
        if (matched && !fits(operation.value, message.size, rank, operation.peer, operation.tag)) return false;
        message.size = operation.value;
        message.source = rank;
        message.destination = operation.peer;
        message.tag = operation.tag;
        message.mode = mode;
        message.arrived = false;
        message.sender = NOBODY;
        if (operation.code == ISEND) {
            message.sender = open(rank, operation.request, mode != SYNCHRONOUS);
        } else if (mode == SYNCHRONOUS) {
            message.sender = BLOCKING;
            me.doing = SENDING;
        }
        if (record_) remember(index, me.since);
        if (matched) {
            message.stage = MATCHED;
        } else {
            message.receiver = NOBODY;
            matching_.wait(index);
        }
        if (matched || mode == ASYNCHRONOUS) leave(index);
        if (me.doing != NEXT) return false;
        if (!protocol_.leaves_after_overhead && stay(rank, send_overhead(operation), BUSY)) return false;
        spend(rank, IN_SEND, operation.peer, operation.tag, operation.value);
        ++me.at;
        return true;
    }

    bool fits(double size, double most, int32_t source, int32_t destination, int32_t tag) {
        if (most < 0.0 || size <= most) return true;
        fail(destination, TRUNCATED, source, size);
        stop.tag = tag;
        stop.limit = most;
        return false;
    }

    // Who waits for an end of a message that a non-blocking call began.
    int32_t open(int32_t rank, int32_t name, bool done) {
        Rank &me = ranks_[rank];
        if (name == UNNAMED) {
            if (done) return NOBODY;
            ++me.open_unnamed;
            return UNNAMED_ONE;
        }
        const int32_t request = requests_.open(rank, name, me.first_named);
        requests_.at(request).done = done;
        return done ? NOBODY : request;
    }

    // ---- receives

    bool receive(int32_t rank) {
        Rank &me = ranks_[rank];
        const Operation &operation = *me.at;
        if (!check_message(rank, operation, ANY)) return false;
        const bool blocking = operation.code == RECV;
        int32_t index = matching_.take_sent(rank, operation.peer, operation.tag);
        const bool matched = index != NONE;
        if (!matched) index = matching_.make();
        Message &message = matching_.at(index);
        if (matched && !fits(message.size, operation.value, message.source, rank, message.tag)) return false;
        message.receiver = blocking ? BLOCKING : open(rank, operation.request, false);
        if (blocking) me.doing = RECEIVING;
        if (!matched) {
            message.size = operation.value;
            message.source = operation.peer;
            message.destination = rank;
            message.tag = operation.tag;
            matching_.post(index);
        } else if (message.arrived) {
            give(index);
        } else {
            message.stage = MATCHED;
            if (message.mode != ASYNCHRONOUS) leave(index);
        }
        if (blocking) return false;
        ++me.at;
        return true;
    }

    // An MPI_Recv has its message.
    bool received(int32_t rank) {
        Rank &me = ranks_[rank];
        const double overhead = std::exchange(me.owed, 0.0);
        if (stay(rank, overhead, AFTER_RECEIVING)) return false;
        end_receive(rank);
        return true;
    }

    void end_receive(int32_t rank) {
        Rank &me = ranks_[rank];
        spend(rank, IN_RECEIVE, me.peer, me.tag, me.size);
        ++me.at;
    }

    // ---- messages on their way

    void leave(int32_t index) {
        Message &message = matching_.at(index);
        if (record_) left_[index] = now_;
        const Route &route = routes_.length(hosts_[message.source], hosts_[message.destination]);
        if (route.links == 0) {
            arrive(index);
            return;
        }
        const Costs &costs = costs_(message.size);
        double there = now_ + costs.latency_factor * route.latency;
        const int32_t from = hosts_[message.source], to = hosts_[message.destination];
        if (costs.in_turn && from != to) there = turns_.leave(from, to, there, costs.wire, costs.work / route.bound);
        there > now_ ? agenda_.set(there, ~index) : flow(index);
    }

    // The latency is over.
    void flow(int32_t index) {
        Message &message = matching_.at(index);
        const Costs &costs = costs_(message.size);
        if (!(costs.wire > 0.0)) {
            arrive(index);
            return;
        }
        const Route &route = routes_(hosts_[message.source], hosts_[message.destination]);
        for (int32_t use = 0; use < route.links; ++use) link_bytes[route.uses[use].link] += costs.wire;
        if (message.sender != NOBODY && costs.buffered > 0.0) {
            if (costs.buffered < costs.work) return add_flow(index, route, costs.work - costs.buffered);
            release_sender(message);
        }
        add_flow(index, route, costs.work);
    }

    void add_flow(int32_t index, const Route &route, double work) {
        const int32_t flow = sharing_.add(route.uses, route.count, route.penalty, route.bound, work);
        if (static_cast<size_t>(flow) >= message_of_flow_.size()) message_of_flow_.resize(flow + 1);
        message_of_flow_[flow] = index;
        ++flows_;
    }

    // All of a message has moved, or what its sender has to wait for: then the rest is a flow of its own.
    void end_flow(int32_t index) {
        Message &message = matching_.at(index);
        if (message.sender == NOBODY || !(costs_(message.size).buffered > 0.0)) return arrive(index);
        release_sender(message);
        const Route &route = routes_(hosts_[message.source], hosts_[message.destination]);
        add_flow(index, route, costs_(message.size).buffered);
    }

    void release_sender(Message &message) { complete(message.source, std::exchange(message.sender, NOBODY), 0.0); }

    void arrive(int32_t index) {
        Message &message = matching_.at(index);
        message.arrived = true;
        if (record_) {
            transfers.push_back({message.source, message.destination, message.tag, message.size, posted_[index],
                                 left_[index], now_});
        }
        if (message.sender != NOBODY) release_sender(message);
        if (message.receiver != NOBODY) give(index);
    }

    // A message that is there goes to its receive.
    void give(int32_t index) {
        const Message &message = matching_.at(index);
        Rank &receiver = ranks_[message.destination];
        const double overhead = costs_(message.size).receive;
        if (message.receiver == BLOCKING) {
            receiver.owed = overhead;
            receiver.peer = message.source;
            receiver.tag = message.tag;
            receiver.size = message.size;
        }
        complete(message.destination, message.receiver, overhead);
        matching_.drop(index);
    }

    void complete(int32_t rank, int32_t waiter, double overhead) {
        Rank &me = ranks_[rank];
        if (waiter == BLOCKING) {
            make_ready(rank);
            return;
        }
        if (waiter == UNNAMED_ONE) {
            --me.open_unnamed;
            if (!awaits_unnamed(me)) {
                me.owed_unnamed += overhead;
                return;
            }
        } else {
            Request &request = requests_.at(waiter);
            request.done = true;
            request.overhead = overhead;
            if (!request.awaited) return;
            requests_.close(waiter, me.first_named);
        }
        me.owed += overhead;
        --me.awaited;
        if (me.doing == WAITING && (me.awaited == 0 || overhead > 0.0)) {
            me.doing = GOING_ON;
            make_ready(rank);
        }
    }

    // ---- waits

    bool begin_wait(int32_t rank) {
        Rank &me = ranks_[rank];
        const Operation &operation = *me.at;
        if (operation.request < 0) return fail(rank, BAD_REQUEST, operation.request);
        if (operation.request > me.highest_name) return fail(rank, REQUEST_UNKNOWN, operation.request);
        const int32_t index = requests_.find(rank, operation.request);
        if (index == NONE || (operation.code == TEST && !requests_.at(index).done)) {
            ++me.at;
            return true;
        }
        collect(index, me);
        if (operation.code == TEST) {
            if (stay(rank, std::exchange(me.owed, 0.0), TESTED)) return false;
            ++me.at;
            return true;
        }
        return wait(rank, IN_WAIT);
    }

    bool begin_waitall(int32_t rank) {
        Rank &me = ranks_[rank];
        if (me.at->request == UNNAMED) {
            me.awaited = me.open_unnamed;
            me.owed = std::exchange(me.owed_unnamed, 0.0);
        } else if (me.at->request == EVERY_NAMED) {
            for (int32_t index = me.first_named; index != NONE;) {
                const int32_t next = requests_.at(index).after;
                collect(index, me);
                index = next;
            }
        } else {
            return fail(rank, BAD_REQUEST, me.at->request);
        }
        return wait(rank, IN_WAIT);
    }

    // Wait for a named request, or take it if it is done.
    void collect(int32_t index, Rank &me) {
        Request &request = requests_.at(index);
        if (request.done) {
            me.owed += request.overhead;
            requests_.close(index, me.first_named);
        } else {
            request.awaited = true;
            ++me.awaited;
        }
    }

    // After a part of a wait spent in `state`: the overheads that are owed, then what has not come yet.
    bool wait(int32_t rank, State state) {
        Rank &me = ranks_[rank];
        if (me.owed > 0.0 || me.awaited == 0 || state == IN_RECEIVE) spend(rank, state);
        if (me.owed > 0.0 && stay(rank, std::exchange(me.owed, 0.0), AFTER_WAITING)) return false;
        me.owed = 0.0;
        if (me.awaited > 0) {
            me.doing = WAITING;
            return false;
        }
        ++me.at;
        return true;
    }

    // ---- the end

    void remember(int32_t index, double posted) {
        if (static_cast<size_t>(index) >= posted_.size()) {
            posted_.resize(static_cast<size_t>(matching_.size()));
            left_.resize(posted_.size());
        }
        posted_[index] = posted;
    }

    void finish() {
        bool all = true;
        ends.resize(ranks_.size());
        spent.resize(ranks_.size() * STATES);
        for (size_t rank = 0; rank < ranks_.size(); ++rank) {
            ends[rank] = ranks_[rank].doing == ENDED ? ranks_[rank].since : now_;
            std::copy_n(ranks_[rank].spent, static_cast<size_t>(STATES), &spent[rank * STATES]);
            all = all && ranks_[rank].doing == ENDED;
        }
        for (int32_t index = 0; index < matching_.size(); ++index) unreceived += matching_.at(index).stage == SENT;
        if (!all) list_hanging();
    }

    bool hangs_on(int32_t rank, int32_t waiter);
    void list_hanging();  // hanging.hpp

    Protocol protocol_;
    CostTable costs_;
    RouteTable routes_;
    Sharing sharing_;
    Matching matching_;
    Requests requests_;
    Agenda<Links> agenda_;
    std::vector<Rank> ranks_;
    Blocks blocks_;
    std::vector<int32_t> message_of_flow_;
    std::vector<double> posted_, left_;  // by message, where they are recorded
    Turns turns_;
    const int32_t *hosts_;
    Callbacks callbacks_;
    double now_ = 0.0;
    int64_t asked_ = 0, flows_ = 0;
    int32_t first_ready_ = NONE, last_ready_ = NONE;
    bool record_;
};

}  // namespace commmodel

#include "program/deadlock.hpp"
