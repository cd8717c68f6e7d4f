// Carries out programs, streams of operations in the order of each rank, under LogP, LogGP and LogGPS.
//
// A rank's processor does one thing at a time. A message takes it o + k O_s at the sender and o + k O_r at the receiver,
// which spends that in calls that wait, and while a send waits for its port, on what has come for receives that are
// there, in the order in which it came; a send that can begin goes before. Its NIC sends one message at a time, and
// receives one: a message takes a port of the NIC as long as its bytes take. Under LogP and LogGP this gap counts from
// the begin of a send to that of the next, and the processor waits for it; under LogGPS from the end of the overhead,
// and the NIC keeps what it cannot send yet (message_rule.hpp). Messages of more than S bytes (LogGPS) first ask: the receiver takes the
// question and answers, o each, when it is in a call that waits and the receive is there; the sender takes the answer,
// o, likewise, and only then does the message leave, as any other.
//
// Order is that of time; at one time messages come in the order of their senders' ranks, and then as they were sent. A
// rank takes 309 bytes with its result, a message on its way 64, a request that is open 40, and each queue of what waits
// for its match up to 80; operations are read where they are.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "delays/flights.hpp"
#include "delays/message_rule.hpp"
#include "delays/messages.hpp"
#include "delays/slopes.hpp"
#include "program/deadlock.hpp"
#include "program/matching.hpp"
#include "program/pairing_heap.hpp"
#include "program/program.hpp"
#include "program/rank_queue.hpp"
#include "program/reader.hpp"
#include "program/requests.hpp"
#include "program/run.hpp"
#include "program/symmetry.hpp"

namespace commmodel::delays {

// Of messages of up to so many bytes.
template <class Time> struct Costs {
    double upto;
    Time L, o, O_s, O_r;
    Time g, G;     // gap of a message and of each byte after the first; the first is in the gap
    Time G_small;  // LogGPS: of each of the first so many bytes
    double small;
};
struct MessageCosts : Costs<double> {};

struct StreamParameters {
    // Of messages between hosts and within one, in the order of sizes; the last has no end.
    const MessageCosts *costs[2];
    int32_t lines[2];
    const int64_t *hosts;  // of ranks; null where each has one of its own
    double S;
    bool nic_keeps;                      // LogGPS: the NIC keeps what it cannot send yet, and the processor goes on
    bool by_factors;                     // derivatives are by factors of the parameters, not by what is added to them
    const Symmetry *symmetry = nullptr;  // of ranks that stand for others; each host has one then

    struct Line {
        bool within;
        int32_t number;
    };
    Line line(int32_t sender, int32_t receiver, double size) const {
        const bool within = hosts != nullptr && hosts[sender] == hosts[receiver];
        int32_t number = 0;
        while (number < lines[within] - 1 && size > costs[within][number].upto) ++number;
        return {within, number};
    }
    double fastest() const {
        double least = INFINITE;
        for (int path = 0; path < (hosts == nullptr ? 1 : 2); ++path)
            for (int32_t line = 0; line < lines[path]; ++line)
                least = std::min(least, costs[path][line].o + costs[path][line].L);
        return least;
    }
};

template <class Time> class Stream {
  public:
    Stream(int32_t ranks, const Operation *operations, const int64_t *offsets, const StreamParameters &parameters,
           Run &run)
        : p_(parameters), run_(run), ranks_(ranks),
          reader_(ranks, operations, offsets, run,
                  parameters.symmetry != nullptr ? parameters.symmetry->ranks() : ranks),
          matching_(messages_, *this), by_arrival_{messages_}, queue_(ranks, parameters.fastest()), flights_(run) {
        for (int32_t rank = 0; rank < ranks; rank++) reader_.open(rank, ranks_[rank]);
        for (const bool within : {false, true}) {
            const MessageCosts *const lines = p_.costs[within];
            for (int32_t line = 0; line < p_.lines[within]; ++line) {
                const MessageCosts &c = lines[line];
                const auto term = [within, this](double seconds, Parameter number) {
                    Time time;
                    const int count = p_.nic_keeps ? PARAMETERS : FEW_PARAMETERS;
                    const int place = number < count ? number + (within && p_.hosts ? count : 0) : 2 * PARAMETERS;
                    set_parameter(time, seconds, place, p_.by_factors ? seconds : 1.0);
                    return time;
                };
                costs_[within].push_back({c.upto, term(c.L, LATENCY), term(c.o, OVERHEAD), term(c.O_s, OVERHEAD_SENT),
                                          term(c.O_r, OVERHEAD_RECEIVED), term(c.g, GAP), term(c.G, BYTE),
                                          term(c.G_small, SMALL_BYTE), c.small});
            }
        }
    }

    void run() {
        run_.spent.assign(ranks_.size() * STATES, 0.0);
        for (size_t rank = 0; rank < ranks_.size(); rank++) queue_.set(static_cast<int32_t>(rank), 0.0);
        while (queue_.least() < INFINITE) {
            const double horizon = queue_.horizon();
            while (queue_.least() <= horizon) {
                int32_t rank = queue_.next(horizon);
                queue_.set(rank, advance(rank, horizon));
                if (run_.stopped() || !run_.may_go_on(value_of(ranks_[rank].processor))) return;
            }
        }
        for (const Rank &rank : ranks_) {
            const bool waits = rank.call != ENDED && (rank.call == STALLS || rank.flying != NONE);
            if (waits || value_of(rank.processor) > LATEST || value_of(rank.finish) > LATEST)
                run_.stop.fault = TOO_LATE;
        }
        if (p_.symmetry != nullptr && by_arrival_.tied) run_.stop.fault = ASYMMETRIC;
        if (run_.stopped()) return;
        for (Rank &rank : ranks_) flights_.settle(rank, INFINITE);
        run_.unmatched_messages = matching_.unmatched_messages();
        for (const Rank &rank : ranks_) {
            run_.ends.push_back(value_of(rank.finish));
            append_slopes(run_.slopes, rank.finish);
        }
        report_deadlock();
    }

    // For `Matching`.
    int32_t &link(int32_t request) { return requests_[request].link; }
    int32_t source(int32_t request) const { return requests_[request].peer; }
    int32_t tag(int32_t request) const { return requests_[request].tag; }
    bool posted_before(int32_t first, int32_t second) const {
        return requests_[first].order - requests_[second].order < 0;
    }

  private:
    using Note = Message<Time>;

    enum Call : uint8_t { RUNS, STALLS, AWAITS_ONE, AWAITS_UNNAMED, AWAITS_NAMED, ENDED };
    enum Kind : uint8_t { EAGER, QUESTION, ANSWER, DATA };

    struct Request {
        int32_t name;
        int32_t before, after;  // of its rank's
        int32_t peer, tag;
        int32_t link;  // in a queue
        double size;
        int32_t order;  // of posting
        bool sends, done, blocking;
    };
    struct Rank : Cursor, Endpoint<Time>, Kept {
        Time finish = 0.0;
        Time sent_last = 0.0;  // LogGPS: when what its NIC has sent last arrives
        double called = 0.0;
        int32_t flying = NONE;                  // heap of messages on their way
        int32_t come = NONE, come_last = NONE;  // messages for the processor
        int32_t awaited = NONE;
        int32_t unnamed = 0, named = 0;  // open requests
        int32_t posts = 0;
        uint32_t sent = 0;
        Unmatched unmatched;
        Call call = RUNS;
    };

    // Who stands for a rank: that rank, where all are simulated.
    int32_t rank_of(int32_t rank) const { return p_.symmetry == nullptr ? rank : p_.symmetry->representative(rank); }

    // Costs with derivatives, or plain ones where a time alone is wanted.
    const Costs<Time> &costs(StreamParameters::Line line) const { return costs_[line.within][line.number]; }
    const Costs<double> &plain_costs(StreamParameters::Line line) const { return p_.costs[line.within][line.number]; }

    template <class Number> Number gap(const Costs<Number> &c, double size) const {
        if (!p_.nic_keeps) return c.g + bytes_after_first(size) * c.G;
        if (size < c.small) return size * c.G_small;
        return c.small > 0.0 ? c.small * c.G_small + (size - c.small) * c.G : size * c.G;
    }
    template <class Number> Number transit(const Costs<Number> &c, double size) const {
        return c.L + (p_.nic_keeps ? gap(c, size) : bytes_after_first(size) * c.G);
    }
    StreamParameters::Line line_of(const Note &message, const Rank &receiver) const {
        return p_.line(message.source, static_cast<int32_t>(&receiver - ranks_.data()), message.size);
    }
    bool rendezvous(double size) const { return size > p_.S; }

    // A rank's message to itself costs its processor, but no NIC and no latency.
    bool is_local(const Rank &rank, const Note &message) const {
        return static_cast<size_t>(message.source) < ranks_.size() && &rank == &ranks_[message.source];
    }

    // When a rank's next message has come; those that only ask or answer take no time on a NIC.
    double next_come(const Rank &rank) {
        if (rank.flying == NONE) return INFINITE;
        const Note &message = messages_[rank.flying];
        const double arrival = value_of(message.arrival);
        if (is_local(rank, message)) return arrival;
        const double gap = has_bytes(message) ? this->gap(plain_costs(line_of(message, rank)), message.size) : 0.0;
        return std::max(arrival, value_of(rank.last_arrival) + gap);
    }
    // The same, once more with its derivatives.
    Time come(const Rank &rank, double time) {
        if constexpr (std::is_same_v<Time, double>) return time;
        const Note &message = messages_[rank.flying];
        if (is_local(rank, message)) return message.arrival;
        const Time gap = has_bytes(message) ? this->gap(costs(line_of(message, rank)), message.size) : Time();
        return port_passage(rank, message.arrival, gap);
    }
    static bool has_bytes(const Note &message) { return message.kind == EAGER || message.kind == DATA; }

    // Let in what has come by now: match it, and hand what has its receive to the processor.
    void let_in(int32_t number, double now) {
        Rank &rank = ranks_[number];
        while (rank.flying != NONE) {
            const double come_at = next_come(rank);
            if (come_at > now) return;
            const Time time = come(rank, come_at);
            int32_t place = rank.flying;
            rank.flying = drop_first(by_arrival_, place);
            Note &message = messages_[place];
            const bool local = is_local(rank, message);
            if (!local) rank.last_arrival = time;
            if (has_bytes(message)) {
                const double flight = local ? 0.0 : transit(plain_costs(line_of(message, rank)), message.size);
                const double left = value_of(message.arrival) - flight;
                Flights::arrive(ranks_[rank_of(message.source)], rank, message.turns, left, come_at);
                if (run_.records)
                    run_.transfers.push_back(
                        {message.source, number, message.tag, message.size, message.born, left, come_at});
            }
            message.arrival = time;
            if (message.kind == EAGER || message.kind == QUESTION) {
                int32_t request = matching_.take_receive(number, rank.unmatched, message.source, message.tag);
                if (request == NONE) {
                    matching_.keep_message(number, rank.unmatched, place);
                    continue;
                }
                if (!fits(number, request, place)) return;
                message.owner = request;
            }
            hand_over(rank, place);
        }
    }

    bool fits(int32_t number, int32_t request, int32_t place) {
        const Note &message = messages_[place];
        return reader_.fits(message.size, requests_[request].size, message.source, number, message.tag, ranks_[number]);
    }

    void hand_over(Rank &rank, int32_t place) {
        messages_[place].link = NONE;
        (rank.come == NONE ? rank.come : messages_[rank.come_last].link) = place;
        rank.come_last = place;
    }

    // Let a message fly; its receiver may now have something to wait for.
    void launch(int32_t number, Note &message, int32_t destination, const Time &arrival) {
        const int32_t receiver = rank_of(destination);
        if (has_bytes(message)) message.turns = Flights::leave(ranks_[number], ranks_[receiver]);
        message.arrival = arrival;
        message.source = p_.symmetry == nullptr ? number : p_.symmetry->relative(number, destination);
        message.order = ranks_[number].sent++;
        int32_t place = messages_.add(message);
        Rank &other = ranks_[receiver];
        other.flying = add_to_heap(by_arrival_, other.flying, place);
        if (receiver == number || other.flying != place || other.call == RUNS || other.come != NONE) return;
        double time = next_come(other);
        if (other.call == STALLS) time = std::min(time, value_of(sender_free(other)));
        queue_.set(receiver, std::min(queue_.time(receiver), std::max(value_of(other.processor), time)));
    }

    // Send a message whose overhead begins now; with a request to be completed, and the receiver's where it is known.
    void transmit(int32_t number, Kind kind, int32_t receiver, int32_t tag, double size, double born, int32_t owner,
                  int32_t answers) {
        Rank &rank = ranks_[number];
        Note message{};
        message.born = born;
        message.size = size;
        message.tag = tag;
        message.kind = kind;
        message.owner = owner;
        message.answers = answers;
        const Costs<Time> &c = costs(p_.line(number, receiver, size));
        const Time overhead = kind == QUESTION ? c.o : c.o + size * c.O_s;
        if (receiver != number && !p_.nic_keeps) {
            return launch(number, message, receiver,
                          delays::send<Time>(rank, Time(rank.processor), overhead, gap(c, size), transit(c, size)));
        }
        rank.processor += overhead;
        if (receiver == number) return launch(number, message, receiver, rank.processor);
        // A question comes no sooner than what left before it, by rounding either.
        if (kind == QUESTION) return launch(number, message, receiver, later(sender_free(rank) + c.L, rank.sent_last));
        const Time gap_of_bytes = gap(c, size);
        rank.sent_last = send_by_nic<Time>(rank, gap_of_bytes, c.L + gap_of_bytes);
        launch(number, message, receiver, rank.sent_last);
    }

    // Let the processor take the first of what has come for it.
    void take(int32_t number) {
        Rank &rank = ranks_[number];
        int32_t place = rank.come;
        const Note message = messages_[place];
        rank.come = message.link;
        messages_.drop(place);
        const Costs<Time> &c = costs(line_of(message, rank));
        rank.processor = later(rank.processor, message.arrival);  // at once, for the derivatives of both
        const bool waits = rank.call != ENDED && (rank.at[-1].code == WAIT || rank.at[-1].code == WAITALL);
        if (waits) spend_since_call(number, IN_WAIT);
        if (message.kind == QUESTION) {  // take it and answer; the answer takes no time on a NIC
            const double late = rank.processor > message.arrival ? value_of(rank.processor) : 0.0;
            rank.processor += c.o + c.o;
            Note answer{};
            answer.kind = ANSWER;
            answer.owner = message.answers;
            answer.answers = message.owner;
            answer.born = message.born;
            answer.size = late;
            launch(number, answer, message.source, message.source == number ? rank.processor : rank.processor + c.L);
        } else if (message.kind == ANSWER) {
            if (rank.call == AWAITS_ONE && rank.awaited == message.owner && requests_[message.owner].blocking &&
                message.size > rank.called) {  // the receiver came late
                const Request &send = requests_[message.owner];
                run_.spend(number, IN_WAIT, send.peer, send.tag, send.size, rank.called, message.size);
                rank.called = message.size;
            }
            rank.processor += c.o;
            const Request request = requests_[message.owner];
            transmit(number, DATA, request.peer, request.tag, request.size, message.born, message.answers, NONE);
            complete(number, message.owner);
        } else {
            rank.processor += c.o + message.size * c.O_r;
            complete(number, message.owner);
        }
        if (rank.call == ENDED) rank.finish = rank.processor;
        if (waits) spend_since_call(number, message.kind == ANSWER ? IN_SEND : IN_RECEIVE);
    }

    // Note what a rank did in its call until now.
    void spend_since_call(int32_t number, State state) {
        Rank &rank = ranks_[number];
        const double now = value_of(rank.processor);
        const Interval call{number, state, NONE, NONE, 0.0, rank.called, now};
        rank.called = now;
        if (state == IN_WAIT) return flights_.wait(rank, call, queue_.least());
        run_.spend(number, state, NONE, NONE, 0.0, call.start, call.end);
    }

    // Open the request of a rank's operation.
    int32_t open(int32_t number, const Operation &operation, bool sends, bool blocking) {
        Rank &rank = ranks_[number];
        const int32_t name = blocking ? UNNAMED : operation.request;
        if (!blocking) (name == UNNAMED ? rank.unnamed : rank.named) += 1;
        const Request request{name,         NONE,  NONE,  operation.peer, operation.tag, NONE, operation.value,
                              rank.posts++, sends, false, blocking};
        return requests_.open(number, request, rank.first_request);
    }
    void close(int32_t number, int32_t request) { requests_.close(number, request, ranks_[number].first_request); }
    void complete(int32_t number, int32_t place) {
        Rank &rank = ranks_[number];
        Request &request = requests_[place];
        request.done = true;
        if (request.blocking) return;
        if (request.name >= 0) {
            rank.named -= 1;
        } else {
            rank.unnamed -= 1;
            close(number, place);
        }
    }

    // Whether a call's wait is over.
    bool is_over(const Rank &rank) const {
        switch (rank.call) {
            case AWAITS_ONE: return requests_[rank.awaited].done;
            case AWAITS_UNNAMED: return rank.unnamed == 0;
            case AWAITS_NAMED: return rank.named == 0;
            default: return false;
        }
    }

    void end_call(int32_t number) {
        Rank &rank = ranks_[number];
        const Operation &operation = rank.at[-1];
        if (rank.call == AWAITS_NAMED) {
            for (int32_t place = rank.first_request, after; place != NONE; place = after) {
                after = requests_[place].after;
                if (requests_[place].name >= 0) close(number, place);
            }
        } else if (rank.call == AWAITS_ONE) {
            close(number, rank.awaited);
        }
        rank.call = RUNS;
        const bool sends = operation.code == SEND || operation.code == ISEND;
        const bool receives = operation.code == RECV || operation.code == IRECV;
        const double size = std::max(operation.value, 0.0), now = value_of(rank.processor);
        if (sends) {
            run_.spend(number, IN_SEND, operation.peer, operation.tag, size, rank.called, now);
        } else if (receives) {
            flights_.wait(rank, {number, IN_RECEIVE, operation.peer, operation.tag, size, rank.called, now},
                          queue_.least());
        } else {
            spend_since_call(number, IN_WAIT);
        }
    }

    // Carry out a send whose port is free.
    void send(int32_t number) {
        Rank &rank = ranks_[number];
        const Operation &operation = rank.at[-1];
        const bool blocking = operation.code == SEND, asks = rendezvous(operation.value);
        const int32_t request = asks || !blocking ? open(number, operation, true, blocking) : NONE;
        run_.messages += 1;
        transmit(number, asks ? QUESTION : EAGER, operation.peer, operation.tag, operation.value, rank.called, NONE,
                 request);
        if (!asks && !blocking) complete(number, request);
        if (asks && blocking) {
            rank.call = AWAITS_ONE;
            rank.awaited = request;
            return;
        }
        end_call(number);
    }

    // Begin the next operation, now.
    void begin(int32_t number) {
        Rank &rank = ranks_[number];
        if (rank.at == rank.end && !reader_.more(number, rank)) {
            rank.call = ENDED;
            rank.finish = rank.processor;
            return;
        }
        if (!reader_.check(number, rank, requests_)) return;
        const Operation &operation = *rank.at++;
        rank.called = value_of(rank.processor);
        switch (operation.code) {
            case COMPUTE:
            case SLEEP:
                rank.processor = operation.code == COMPUTE ? computed(rank.processor, operation.value)
                                                           : rank.processor + operation.value;
                run_.spend(number, operation.code == COMPUTE ? IN_COMPUTE : IN_SLEEP, NONE, NONE, 0.0, rank.called,
                           value_of(rank.processor));
                break;
            case MARK:
                run_.marks.push_back({number, static_cast<int32_t>(operation.value), value_of(rank.processor)});
                break;
            case SEND:
            case ISEND: rank.call = STALLS; break;
            case RECV:
            case IRECV: receive(number, operation); break;
            case WAIT:
                rank.awaited = requests_.find(number, operation.request);
                if (rank.awaited != NONE) rank.call = AWAITS_ONE;
                break;
            case WAITALL: rank.call = operation.request == EVERY_NAMED ? AWAITS_NAMED : AWAITS_UNNAMED; break;
            case TEST: {
                let_in(number, value_of(rank.processor));
                while (rank.come != NONE) take(number);
                const int32_t request = requests_.find(number, operation.request);
                if (request != NONE && requests_[request].done) close(number, request);
                run_.spend(number, IN_RECEIVE, NONE, NONE, 0.0, rank.called, value_of(rank.processor));
                break;
            }
        }
    }

    void receive(int32_t number, const Operation &operation) {
        Rank &rank = ranks_[number];
        const bool blocking = operation.code == RECV;
        let_in(number, value_of(rank.processor));
        const int32_t request = open(number, operation, false, blocking);
        const int32_t message = matching_.take_message(number, rank.unmatched, operation.peer, operation.tag);
        if (message == NONE) {
            matching_.keep_receive(number, rank.unmatched, request);
        } else if (fits(number, request, message)) {
            messages_[message].owner = request;
            hand_over(rank, message);
        }
        if (blocking) {
            rank.call = AWAITS_ONE;
            rank.awaited = request;
        }
    }

    // Let a rank do what it does by the horizon; return when it goes on.
    double advance(int32_t number, double horizon) {
        Rank &rank = ranks_[number];
        for (;;) {
            if (run_.stopped()) return INFINITE;
            if (value_of(rank.processor) > horizon) return value_of(rank.processor);
            run_.events += 1;
            if (rank.call == RUNS) {
                begin(number);
                continue;
            }
            if (rank.call == STALLS && (p_.nic_keeps || rank.send_port <= rank.processor)) {
                if (!p_.nic_keeps) rank.processor = later(rank.processor, rank.send_port);  // at once
                send(number);
                continue;
            }
            if (is_over(rank)) {
                end_call(number);
                continue;
            }
            let_in(number, value_of(rank.processor));
            if (rank.come != NONE) {
                take(number);
                continue;
            }
            const double time = next_come(rank), port = value_of(rank.send_port);
            const bool sends = rank.call == STALLS && port < time;
            if ((sends ? port : time) > horizon) return sends ? port : time;
            rank.processor = later(rank.processor, sends ? rank.send_port : come(rank, time));
        }
    }

    // What ranks that have not ended wait for; only requests can keep them.
    void report_deadlock() {
        Deadlock deadlock;
        for (int32_t number = 0; static_cast<size_t>(number) < ranks_.size(); number++) {
            const Rank &rank = ranks_[number];
            if (rank.call == ENDED) continue;
            for (int32_t place = rank.first_request; place != NONE; place = requests_[place].after) {
                const Request &request = requests_[place];
                const bool open = !request.done && !request.blocking;
                const bool awaited = rank.call == AWAITS_ONE
                                         ? place == rank.awaited
                                         : open && (request.name >= 0) == (rank.call == AWAITS_NAMED);
                if (!awaited) continue;
                deadlock.add(request.order,
                             {number, rank.at[-1].code, request.sends, request.peer, request.tag, 0, request.size});
            }
        }
        run_.hanging = deadlock.report();
    }

    StreamParameters p_;
    Run &run_;
    std::vector<Rank> ranks_;
    Reader reader_;
    Messages<Time> messages_;
    Matching<Messages<Time>, Stream> matching_;
    ByArrival<Time> by_arrival_;
    std::vector<Costs<Time>> costs_[2];  // between hosts, and within one
    RankQueue queue_;
    Requests<Request> requests_;
    Flights flights_;
};

// Carry a program out, with the derivatives of the ranks' ends if wanted.
inline void run_stream(int32_t ranks, const Operation *operations, const int64_t *offsets,
                       const StreamParameters &parameters, bool slopes, Run &run) {
    if (!slopes) return Stream<double>(ranks, operations, offsets, parameters, run).run();
    const bool few = !parameters.nic_keeps, paths = parameters.hosts != nullptr;
    if (few && !paths) return Stream<Slopes<FEW_PARAMETERS>>(ranks, operations, offsets, parameters, run).run();
    if (!paths) return Stream<Slopes<PARAMETERS>>(ranks, operations, offsets, parameters, run).run();
    if (few) return Stream<Slopes<2 * FEW_PARAMETERS>>(ranks, operations, offsets, parameters, run).run();
    Stream<Slopes<2 * PARAMETERS>>(ranks, operations, offsets, parameters, run).run();
}

}  // namespace commmodel::delays
