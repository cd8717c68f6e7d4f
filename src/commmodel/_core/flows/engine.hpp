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
#include <utility>
#include <vector>

#include "flows/alarms.hpp"
#include "flows/backward_walk.hpp"
#include "flows/connections.hpp"
#include "flows/hanging.hpp"
#include "flows/injection_queue.hpp"
#include "flows/link_classes.hpp"
#include "flows/messages.hpp"
#include "flows/protocol.hpp"
#include "flows/ranks.hpp"
#include "flows/storage.hpp"
#include "flows/strands.hpp"
#include "flows/tape.hpp"
#include "program/event_queue.hpp"
#include "program/live.hpp"
#include "program/matching.hpp"
#include "program/program.hpp"
#include "program/reader.hpp"
#include "program/requests.hpp"
#include "program/run.hpp"
#include "routing/routing.hpp"
#include "sharing/sharing.hpp"

namespace commmodel {

// DERIVES: it can note what times come of, for derivatives of the end.
template <bool DERIVES> class Engine final : public Answers {
  public:
    Engine(const Routing &routing, const Protocol &protocol, const int32_t *hosts, int32_t ranks,
           const Operation *operations, const int64_t *offsets, Run &run, LinkClasses *classes = nullptr)
        : run_(run), routing_(routing), protocol_(protocol), costs_(protocol_), classes_(classes),
          symmetry_(classes != nullptr ? &classes->symmetry() : nullptr), routes_(routing, protocol_, classes),
          storage_(run.live != nullptr ? run.live->storage : Storage(), routing),
          sharing_(storage_.capacities(capacities(routing, protocol)), storage_.fatpipes(routing.fatpipe())),
          matching_(messages_, messages_, run.live), events_(Links{this}), ranks_(static_cast<size_t>(ranks)),
          strands_(ranks), alarms_(run.live != nullptr ? ranks : 0),
          reader_(ranks, operations, offsets, run, classes != nullptr ? symmetry_->ranks() : ranks),
          injection_(protocol.send_buffer, routing.hosts()),
          gates_(!protocol.message_gap.limit.empty(), routing.hosts()),
          sending_(protocol.one_queue ? routing.hosts() : 0), hosts_(hosts) {
        run_.link_bytes.assign(routing.capacity().size(), 0.0);
        run_.link_work.assign(routing.capacity().size(), 0.0);
        run_.spent.assign(ranks_.size() * STATES, 0.0);
        run_.answers = this;
        if (run_.most_steps > 0) open_tape();
        for (int32_t rank = 0; rank < ranks; ++rank) {
            reader_.open(rank, ranks_[rank]);
            if (run.live == nullptr || run.live->is_born(rank)) make_ready(rank);
        }
    }

    void run() {
        std::vector<int32_t> finished;
        run_ready();
        while (!run_.stopped()) {
            if (is_noting()) tape_.share(now_);
            const double flows = sharing_.next(now_), timers = events_.first();
            if (is_noting()) note_shares();
            const double time = std::min({flows, timers, alarms_.first()});
            if (!(time < INFINITE)) {
                if (!begin_pending()) break;
                continue;
            }
            now_ = time;
            ++run_.events;
            if (!run_.may_go_on(now_)) return;
            if (flows <= time) {
                finished.clear();
                sharing_.take_finished(now_, finished);
                if (finished.empty()) {
                    run_.stop.fault = STUCK;
                    return;
                }
                flows_ -= static_cast<int64_t>(finished.size());
                for (int32_t &flow : finished)
                    flow = message_of_flow_[flow];  // before flows of these numbers are added
                for (const int32_t message : finished) end_flow(message);
            }
            if (timers <= time) {
                for (int32_t item = events_.take(); item != EventQueue<Links>::END;) {
                    const int32_t next = link(item);
                    if (is_noting()) tape_.at(item);
                    item < 0 ? come(~item) : make_ready(item);
                    item = next;
                }
            }
            while (alarms_.first() <= time) {
                if (is_noting()) tape_.at(alarms_.rank());
                awake(alarms_.rank());
            }
            run_ready();
        }
        if (!run_.stopped() && (flows_ > 0 || !events_.empty())) run_.stop.fault = TOO_LATE;  // than all numbers
        if (!run_.stopped()) finish();
    }

  private:
    struct Links {
        Engine *engine;
        int32_t &operator()(int32_t item) const { return engine->link(item); }
    };

    bool is_noting() const { return DERIVES && tape_.is_on(); }

    // Who stands for a rank: that rank, where all are simulated.
    int32_t rank_of(int32_t rank) const { return symmetry_ == nullptr ? rank : symmetry_->representative(rank); }

    int32_t &link(int32_t item) { return item < 0 ? messages_[~item].timer : ranks_[item].next; }

    void make_ready(int32_t rank) {
        if (is_noting()) tape_.wake(rank);
        ready_.add(rank, ranks_);
        // Operations of thousands of ranks come from memory in turns, which no processor foresees.
        __builtin_prefetch(ranks_[rank].at + 1);
        __builtin_prefetch(ranks_[rank].at + 3);
    }

    void run_ready() {
        while (!ready_.empty() && !run_.stopped() && run_.may_go_on(now_)) {
            proceed(ready_.take(ranks_));
            if (run_.live == nullptr) continue;
            if (run_.live->strands > 0) begin_strands();
            while (run_.live->births > 0) make_ready(run_.live->next_born());
        }
    }

    // ---- ranks

    // Note what a rank did since `since`.
    void spend(int32_t rank, State state, int32_t peer = NONE, int32_t tag = NONE, double size = 0.0) {
        Rank &process = ranks_[rank];
        if (strands_.is_rank(rank)) run_.spend(rank, state, peer, tag, size, process.since, now_);
        process.since = now_;
    }

    // A wait is a transfer while a message to or from the rank is in flight.
    static State waiting(const Rank &process) { return process.in_flight > 0 ? IN_TRANSFER : IN_WAIT; }

    // A message to or from a rank leaves: what it waited until now, nothing moved, unless others are in flight.
    void take_off(int32_t rank) {
        Rank &process = ranks_[rank];
        if (process.in_flight == 0 && (is_waiting(process) || (process.doing == RECEIVING && process.is_early)))
            spend(rank, IN_WAIT);
        process.is_early = false;
        ++process.in_flight;
    }

    void land(int32_t rank) {
        Rank &process = ranks_[rank];
        if (process.in_flight == 1 && is_waiting(process)) spend(rank, IN_TRANSFER);
        --process.in_flight;
    }

    // Let a rank be in what it does for so long; false where that is no time.
    bool stay(int32_t rank, double seconds, Doing doing) {
        const double end = now_ + seconds;
        if (!(end > now_)) return false;
        ranks_[rank].doing = doing;
        if (is_noting()) note_stay(rank, seconds);
        events_.set(end, rank);
        return true;
    }

    // Carry a rank's operations out until it has to wait.
    void proceed(int32_t rank) {
        Rank &process = ranks_[rank];
        const Doing doing = process.doing;
        if (is_noting()) tape_.at(rank);
        process.doing = NEXT;
        bool goes_on = true;
        switch (doing) {
            case NEXT: goes_on = begin(rank); break;
            case BUSY: end_busy(rank); break;
            case BEFORE_SENDING: goes_on = send(rank); break;
            case SENDING:
                spend(rank, IN_SEND, process.at->peer, process.at->tag, process.at->value), ++process.at;
                break;
            case RECEIVING: goes_on = received(rank); break;
            case AFTER_RECEIVING: end_receive(rank); break;
            case WAITING:
            case GOING_ON: goes_on = wait(rank, IN_WAIT); break;
            case AFTER_WAITING: goes_on = wait(rank, IN_RECEIVE); break;
            case TESTED: spend(rank, IN_RECEIVE), ++process.at; break;
            case FILING: spend(rank, IN_FILES), ++process.at; break;
            case AWOKEN: spend(rank, waiting(process)), ++process.at; break;
            case AWAITING:
            case ENDED: return;
        }
        while (goes_on && !run_.stopped()) goes_on = begin(rank);
    }

    void end_busy(int32_t rank) {
        Rank &process = ranks_[rank];
        const Operation &operation = *process.at++;
        if (operation.code == COMPUTE || operation.code == SLEEP) {
            spend(rank, operation.code == COMPUTE ? IN_COMPUTE : IN_SLEEP);
        } else {
            spend(rank, IN_SEND, operation.peer, operation.tag, operation.value);
        }
    }

    // Begin the next operation; true if it is done at once.
    bool begin(int32_t rank) {
        Rank &process = ranks_[rank];
        process.since = now_;
        if (process.at == process.end && !reader_.more(rank, process)) {
            process.doing = ENDED;
            if (strands_.is_rank(rank)) {
                if (is_noting()) tape_.end_rank(rank);
                progress(rank);  // in MPI_Finalize
            } else {
                end_strand(rank);
            }
            return false;
        }
        if (!reader_.check(rank, process, requests_)) return false;
        const Operation &operation = *process.at;
        switch (operation.code) {
            case COMPUTE:
            case SLEEP:
                if (stay(rank, operation.value, BUSY)) return false;
                break;
            case SEND:
            case ISEND:
            case SSEND:
            case ISSEND:
            case PUT:
            case GET: return begin_send(rank);
            case RECV:
            case IRECV: return receive(rank);
            case WAIT:
            case TEST: return begin_wait(rank);
            case WAITALL: return begin_waitall(rank);
            case AWAIT:
                if (!(operation.value > 0.0)) {
                    poll(rank);
                    break;
                }
                process.doing = AWAITING;
                if (is_noting()) tape_.stay(rank, Tape::FIXED, 0, operation.value);
                alarms_.set(now_ + operation.value, rank);
                progress(rank);
                return false;
            case WITHDRAW: withdraw(rank); break;
            case ACCESS: return access_file(rank);
            case MARK: run_.marks.push_back({rank, static_cast<int32_t>(operation.value), now_}); break;
        }
        ++process.at;
        return true;
    }

    // ---- sends: sending_engine.hpp

    static bool is_blocking(const Operation &send) { return send.code == SEND || send.code == SSEND; }

    double send_overhead(const Operation &operation) {
        const Costs &costs = costs_(operation.code == GET ? 0.0 : operation.value);
        return is_blocking(operation) ? costs.send : costs.isend;
    }

    bool begin_send(int32_t rank);
    bool send(int32_t rank);
    bool end_send(int32_t rank);

    // Who waits for an end of a message that a non-blocking call began.
    int32_t open(int32_t rank, int32_t name, bool done) {
        Rank &process = ranks_[rank];
        if (name == UNNAMED) {
            if (done) return NONE;
            ++process.open_unnamed;
            return UNNAMED_REQUEST;
        }
        const int32_t request = requests_.open(rank, {name, NONE, NONE, 0.0, done, false}, process.first_request);
        return done ? NONE : request;
    }

    // ---- receives: receiving_engine.hpp

    bool receive(int32_t rank);
    bool received(int32_t rank);
    void end_receive(int32_t rank);

    // ---- messages on their way

    struct Leave {  // of a message: when it could come by its latency, after its host's gate and queue, and does come
        double latency, gate = 0.0, queue = 0.0, there = 0.0;
    };

    void leave(int32_t index) {
        Message &message = messages_[index];
        if (run_.records) sends_.leave(index, now_);
        take_off(rank_of(message.source));
        take_off(message.destination);
        double requested = 0.0;  // time until a request for it is there
        if (message.stage == FETCHED) {
            requested = costs_(0.0).latency_factor *
                        routes_.length(hosts_[message.destination], hosts_[message.source]).latency;
        }
        const Route &route = routes_.length(hosts_[message.source], hosts_[message.destination]);
        if (route.links == 0) {
            arrive(index);
            return;
        }
        const Costs &costs = costs_(message.size);
        Leave leave{now_ + requested + costs.latency_factor * route.latency};
        const int32_t from = hosts_[message.source], to = hosts_[message.destination];
        const double free = is_noting() && costs.queued ? injection_.free(from) : 0.0;
        leave.gate = costs.gap > 0.0 && from != to ? gates_.leave(from, leave.latency, costs.gap) : leave.latency;
        leave.queue = leave.gate;
        if (costs.queued && from != to)
            leave.queue = injection_.leave(from, to, leave.gate, costs.wire, costs.work / route.bound);
        leave.there = leave.queue;
        if (goes_in_order(message)) {
            connections_.add(message.source, message.destination, index, Part::DATA);
            if (message.awaits_receive) leave.there = std::max(now_, leave.there - 2.0 * trip(message));
        }
        if (is_noting()) note_leave(index, leave, free);
        leave.there > now_ ? events_.set(leave.there, ~index) : come(index);
    }

    // The latency is over.
    void come(int32_t index) { goes_in_order(messages_[index]) ? go_on(connections_.come(index)) : flow(index); }

    void flow(int32_t index) {
        Message &message = messages_[index];
        if (message.stage == FILED) return flow_to_storage(index);
        const Costs &costs = costs_(message.size);
        if (!(costs.wire > 0.0)) return end_data(index);
        const Route &route = routes_(hosts_[message.source], hosts_[message.destination]);
        if (classes_ != nullptr && classes_->are_broken()) run_.stop.fault = ASYMMETRIC;
        for (int32_t use = 0; use < route.links; ++use) {
            const int32_t link = route.uses[use].link;
            const double flows = classes_ == nullptr ? 1.0 : classes_->flows(link);
            run_.link_bytes[link] += flows * costs.wire;
            run_.link_work[link] += flows * costs.work;
        }
        if (message.sender != NONE && leaves_early(message)) {
            if (costs.buffered < costs.work) return add_flow(index, route, costs.work - costs.buffered);
            release_sender(message);
        }
        if (!(costs.buffered < costs.work)) write_end(index);
        add_flow(index, route, costs.work);
    }

    // Whether its sender waits for a part of it alone: the rest is in buffers, which a message to oneself has none of.
    bool leaves_early(const Message &message) {
        return costs_(message.size).buffered > 0.0 && message.source != message.destination;
    }

    void add_flow(int32_t index, const Route &route, double work) {
        double penalty = route.penalty;
        if (protocol_.variation > 0.0) work *= varied(protocol_.variation);
        if (protocol_.unevenness > 0.0) penalty *= varied(protocol_.unevenness);
        if (protocol_.one_queue) ++sending_[hosts_[messages_[index].source]];
        const int32_t flow = sharing_.add(route.uses, route.count, penalty, route.bound, work);
        note_flow(flow, index);
        if (is_noting()) tape_.begin_flow(index, flow, penalty / route.penalty);
    }

    void note_flow(int32_t flow, int32_t index) {
        if (static_cast<size_t>(flow) >= message_of_flow_.size()) message_of_flow_.resize(flow + 1);
        message_of_flow_[flow] = index;
        ++flows_;
    }

    // All of a message has moved, or what its sender has to wait for: then the rest is a flow of its own.
    void end_flow(int32_t index) {
        Message &message = messages_[index];
        if (is_noting()) tape_.end_flow(index);
        if (message.stage == FILED) return end_file(index);
        if (protocol_.one_queue) --sending_[hosts_[message.source]];
        if (message.sender == NONE || !leaves_early(message)) return end_data(index);
        release_sender(message);
        write_end(index);
        const Route &route = routes_(hosts_[message.source], hosts_[message.destination]);
        add_flow(index, route, costs_(message.size).buffered);
    }

    void release_sender(Message &message) { complete(message.sends, std::exchange(message.sender, NONE), 0.0); }

    void arrive(int32_t index) {
        Message &message = messages_[index];
        message.arrived = true;
        ++changes_;
        land(rank_of(message.source));
        land(message.destination);
        if (run_.records) {
            run_.transfers.push_back({message.source, message.destination, message.tag, message.size,
                                      sends_.posted(index), sends_.left(index), now_});
        }
        if (message.sender != NONE) release_sender(message);
        if (message.receiver != NONE) {
            give(index);
        } else if (ranks_[message.destination].doing == AWAITING) {
            awake(message.destination);
        }
    }

    // A message that is there goes to its receive.
    void give(int32_t index) {
        Message &message = messages_[index];
        if (message.stage == STORED) {
            complete(message.receives, message.receiver, 0.0);
            message.stage = UNUSED;
            messages_.drop(index);
            return;
        }
        Rank &receiver = ranks_[message.receives];
        const double overhead = costs_(message.size).receive;
        if (message.receiver == BLOCKING) {
            receiver.owed = overhead;
            receiver.peer = message.source;
            receiver.tag = message.tag;
            receiver.size = message.size;
        }
        complete(message.receives, message.receiver, overhead);
        message.stage = UNUSED;
        messages_.drop(index);
    }

    void complete(int32_t rank, int32_t waiter, double overhead) {
        ++changes_;
        Rank &process = ranks_[rank];
        if (waiter == BLOCKING) {
            make_ready(rank);
            return;
        }
        if (waiter == UNNAMED_REQUEST) {
            --process.open_unnamed;
            if (!awaits_unnamed(process)) {
                process.owed_unnamed += overhead;
                return;
            }
        } else {
            Request &request = requests_[waiter];
            request.done = true;
            request.overhead = overhead;
            if (!request.awaited) {
                if (process.doing == AWAITING) awake(rank);
                return;
            }
            requests_.close(rank, waiter, process.first_request);
        }
        process.owed += overhead;
        --process.awaited;
        if (process.doing == WAITING && (process.awaited == 0 || overhead > 0.0)) {
            process.doing = GOING_ON;
            make_ready(rank);
        }
    }

    // ---- messages in the order of connections: ordered_engine.hpp

    bool goes_in_order(const Message &message) const;
    double trip(const Message &message);
    double queued(int32_t from, const Message &message);
    void go(int32_t index, Part part);
    void permit(int32_t index);
    void go_on(int32_t connection);
    bool is_in_progress(int32_t rank) const;
    void progress(int32_t rank);
    void poll(int32_t rank);
    void write_end(int32_t index);
    void end_data(int32_t index);
    double varied(double share);

    // ---- waits: waiting_engine.hpp

    bool begin_wait(int32_t rank);
    bool begin_waitall(int32_t rank);
    void collect(int32_t rank, int32_t index);
    bool wait(int32_t rank, State state);

    // ---- what times come of: noting_engine.hpp

    int32_t tape_route(const Message &message);
    void note_stay(int32_t rank, double seconds);
    void note_leave(int32_t index, const Leave &leave, double free);
    int32_t note_trip(const Message &message, int32_t last, double count);
    void open_tape();
    void note_shares();
    void derive();

    // ---- live programs: live_engine.hpp

    bool reach(int32_t rank);
    bool access_file(int32_t rank);
    void flow_to_storage(int32_t index);
    void end_file(int32_t index);
    void awake(int32_t rank);
    void begin_strands();
    void end_strand(int32_t number);
    bool begin_pending();
    void withdraw(int32_t rank);
    void report(const Message &message);
    double now() const override { return now_; }
    double buffered_limit() const override { return std::max(protocol_.eager_limit, protocol_.detached_limit); }
    int64_t changes() const override { return changes_; }
    bool is_done(int32_t rank, int32_t request) const override;
    bool find_message(int32_t rank, int32_t &source, int32_t &tag) const override;

    // ---- the end

    void finish() {
        bool deadlock = false;
        int32_t born = strands_.ranks();
        while (run_.live != nullptr && born > 0 && !run_.live->is_born(born - 1)) --born;
        run_.ends.resize(static_cast<size_t>(born));
        run_.spent.resize(run_.ends.size() * STATES);
        for (size_t rank = 0; rank < run_.ends.size(); ++rank) {
            const bool ended = ranks_[rank].doing == ENDED;
            run_.ends[rank] = ended ? ranks_[rank].since : now_;
            deadlock |= !ended;
        }
        if (classes_ != nullptr) end_classes();
        run_.solver_calls = sharing_.solutions();
        run_.unmatched_messages = matching_.unmatched_messages();
        if (is_noting() && !deadlock) derive();
        if (deadlock) run_.hanging = hanging(messages_, requests_, ranks_, strands_, order_, run_.live != nullptr);
    }

    // What the links have for which others stand.
    void end_classes() {
        if (classes_->are_broken()) run_.stop.fault = ASYMMETRIC;
        classes_->spread(run_.link_bytes);
        classes_->spread(run_.link_work);
    }

    Run &run_;
    const Routing &routing_;
    Protocol protocol_;
    CostTable costs_;
    LinkClasses *const classes_;
    const Symmetry *const symmetry_;
    RouteTable routes_;
    StorageLinks storage_;
    Sharing sharing_;
    Messages messages_;
    Matching<Messages, Messages> matching_;
    Requests<Request> requests_;
    EventQueue<Links> events_;
    std::vector<Rank> ranks_;  // and strands
    Strands strands_;
    ReadyRanks ready_;
    Alarms alarms_;
    Reader reader_;
    std::vector<int32_t> message_of_flow_;
    SendTimes sends_;  // where they are recorded
    InjectionQueues injection_;
    MessageGates gates_;
    Connections connections_;
    std::vector<int32_t> sending_;  // flows of each host, where it has one queue for all of them
    const int32_t *hosts_;
    Tape tape_;
    double now_ = 0.0;
    int64_t order_ = 0, flows_ = 0, varied_ = 0, changes_ = 0;
};

}  // namespace commmodel

#include "flows/live_engine.hpp"
#include "flows/noting_engine.hpp"
#include "flows/ordered_engine.hpp"
#include "flows/receiving_engine.hpp"
#include "flows/sending_engine.hpp"
#include "flows/waiting_engine.hpp"

namespace commmodel {

// Carry a program out by an engine that notes what times come of: noting_run.cpp.
void run_noting(const Routing &routing, const Protocol &protocol, const int32_t *hosts, int32_t ranks,
                const Operation *operations, const int64_t *offsets, Run &run, LinkClasses *classes);

// Carry a program out; times are noted only where derivatives are asked for.
inline void run_on_flows(const Routing &routing, const Protocol &protocol, const int32_t *hosts, int32_t ranks,
                         const Operation *operations, const int64_t *offsets, Run &run, LinkClasses *classes) {
    if (run.most_steps > 0) return run_noting(routing, protocol, hosts, ranks, operations, offsets, run, classes);
    Engine<false>(routing, protocol, hosts, ranks, operations, offsets, run, classes).run();
}

}  // namespace commmodel
