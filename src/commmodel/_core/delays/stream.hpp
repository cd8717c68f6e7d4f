// Carries out programs, streams of operations in the order of each rank, under LogP, LogGP and LogGPS.
//
// A rank's processor does one thing at a time. A message takes it o + k O_s at the sender and o + k O_r at the receiver,
// which spends that in calls that wait, and while a send waits for its port, on what has come for receives that are
// there, in the order in which it came; a send that can begin goes before. Its network card sends one message at a
// time, and receives one: a message takes a card as long as its bytes take. Under LogP and LogGP this gap counts from
// the begin of a send to that of the next, and the processor waits for it; under LogGPS from the end of the overhead,
// and the card keeps what it cannot send yet. Messages of more than S bytes (LogGPS) first ask: the receiver takes the
// question and answers, o each, when it is in a call that waits and the receive is there; the sender takes the answer,
// o, likewise, and only then does the message leave, as any other.
//
// Order is that of time; at one time messages come in the order of their senders' ranks, and then as they were sent. A
// rank takes 170 bytes with its outcome, a message on its way 64, a request that is open 44, and each queue of what waits
// for its match up to 96, in arrays that double; operations are read where they are.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "delays/matching.hpp"
#include "delays/queues.hpp"
#include "delays/record.hpp"
#include "program/program.hpp"

namespace commmodel::delays {

struct StreamParameters {
    double L, o, O_s, O_r;
    double g, G;  // gap of a message and of each byte after the first; the first is in the gap
    double G_small, small;  // LogGPS: of each of the first so many bytes
    double S;
    bool cards;  // LogGPS
};

// Gives a rank's next operations: first and end; none at its end. Returns false where that failed.
using Refill = bool (*)(void *context, int32_t rank, const Operation **first, const Operation **end);

class Stream {
public:
    Stream(int32_t ranks, const Operation *operations, const int64_t *offsets, Refill refill, void *context,
           const StreamParameters &parameters, Record &record)
        : refill_(refill), context_(context), p_(parameters), record_(record), ranks_(ranks),
          matching_(messages_, *this), by_arrival_{messages_}, agenda_(ranks, parameters.o + parameters.L) {
        for (int32_t rank = 0; rank < ranks; rank++) {
            ranks_[rank].next = operations + offsets[rank];
            ranks_[rank].end = operations + offsets[rank + 1];
        }
    }

    void run() {
        record_.spent.assign(ranks_.size() * STATES, 0.0);
        for (size_t rank = 0; rank < ranks_.size(); rank++) agenda_.set(static_cast<int32_t>(rank), 0.0);
        while (agenda_.least() < NEVER) {
            double horizon = std::min(agenda_.horizon(), LATEST);
            while (agenda_.least() <= horizon) {
                int32_t rank = agenda_.next(horizon);
                agenda_.set(rank, advance(rank, horizon));
                if (!record_.failure.empty()) return;
            }
        }
        for (const Rank &one : ranks_) {
            const bool waits = one.call != ENDED && (one.call == STALLS || one.flying != NOTHING);
            if (waits || one.now > LATEST || one.finish > LATEST) record_.failure = TOO_LATE;
        }
        if (!record_.failure.empty()) return;
        record_.messages = sent_;
        record_.unreceived = matching_.waiting();
        for (const Rank &one : ranks_) record_.ends.push_back(one.finish);
        for (size_t rank = 0; rank < ranks_.size(); rank++)
            if (ranks_[rank].call != ENDED) add_blocked(static_cast<int32_t>(rank));
    }

    // For `Matching`.
    int32_t &link(int32_t request) { return requests_[request].link; }
    int32_t source(int32_t request) const { return requests_[request].peer; }
    int32_t tag(int32_t request) const { return requests_[request].tag; }
    int32_t posted(int32_t request) const { return requests_[request].order; }

private:
    enum Call : uint8_t { RUNS, STALLS, AWAITS_ONE, AWAITS_UNNAMED, AWAITS_NAMED, ENDED };
    enum Kind : uint8_t { EAGER, QUESTION, ANSWER, DATA };
    static constexpr int32_t BLOCKING = -3;  // as the name of a request

    struct Request {
        double size;
        int32_t peer, tag, name;
        int32_t link;  // in a queue
        int32_t order;  // when posted
        int32_t before, after;  // of its rank's
        bool sends, done, blocking;
    };
    struct Rank {
        const Operation *next = nullptr, *end = nullptr;
        double now = 0.0;  // its processor is free from then on
        double port = 0.0;  // free for the next send
        double passed = -NEVER;  // when the last message came
        double called = 0.0, finish = 0.0;
        int32_t flying = NOTHING;
        int32_t come = NOTHING, come_last = NOTHING;  // messages for the processor
        int32_t requests = NOTHING;
        int32_t awaited = NOTHING;
        int32_t unnamed = 0, named = 0;  // open requests
        int32_t posts = 0;
        uint32_t sent = 0;
        Unmatched unmatched;
        Call call = RUNS;
    };

    double gap(double size) const {
        if (!p_.cards) return p_.g + std::max(size - 1.0, 0.0) * p_.G;
        return size < p_.small ? size * p_.G_small : p_.small * p_.G_small + (size - p_.small) * p_.G;
    }
    double transit(double size) const {
        return p_.L + (p_.cards ? gap(size) : std::max(size - 1.0, 0.0) * p_.G);
    }
    bool rendezvous(double size) const { return size > p_.S; }

    // A rank's message to itself costs its processor, but no card and no latency.
    bool is_local(const Rank &rank, const Message &message) const { return &rank == &ranks_[message.source]; }

    // When a rank's next message has come; those that only ask or answer take no time on a card.
    double next_come(const Rank &rank) {
        if (rank.flying == NOTHING) return NEVER;
        const Message &message = messages_[rank.flying];
        if (is_local(rank, message)) return message.arrival;
        bool has_bytes = message.kind == EAGER || message.kind == DATA;
        return std::max(message.arrival, rank.passed + (has_bytes ? gap(message.size) : 0.0));
    }

    // Let in what has come by now: match it, and hand what has its receive to the processor.
    void let_in(int32_t number, double now) {
        Rank &rank = ranks_[number];
        while (rank.flying != NOTHING) {
            double time = next_come(rank);
            if (time > now) return;
            int32_t place = rank.flying;
            rank.flying = drop_first(by_arrival_, place);
            Message &message = messages_[place];
            const bool local = is_local(rank, message);
            if (!local) rank.passed = time;
            if (record_.wanted && (message.kind == EAGER || message.kind == DATA))
                record_.transfers.push_back(
                    {message.source, number, message.tag, message.size, message.born, message.arrival - (local ? 0.0 : transit(message.size)), time});
            if (message.kind == EAGER || message.kind == QUESTION) {
                int32_t request = matching_.arrive(number, rank.unmatched, place);
                if (request == NOTHING) continue;
                if (!fits(number, request, place)) return;
                message.owner = request;
            }
            hand_over(rank, place);
        }
    }

    bool fits(int32_t number, int32_t request, int32_t place) {
        const Request &one = requests_[request];
        const Message &message = messages_[place];
        if (one.size < 0 || message.size <= one.size) return true;
        record_.failure = "rank " + std::to_string(number) + ": a message of " + std::to_string(static_cast<int64_t>(message.size)) +
                          " bytes from rank " + std::to_string(message.source) + " with tag " + std::to_string(message.tag) +
                          " does not fit into its receive of " + std::to_string(static_cast<int64_t>(one.size));
        return false;
    }

    void hand_over(Rank &rank, int32_t place) {
        messages_[place].link = NOTHING;
        (rank.come == NOTHING ? rank.come : messages_[rank.come_last].link) = place;
        rank.come_last = place;
    }

    // Let a message fly; its receiver may now have something to wait for.
    void launch(int32_t number, Message message, int32_t receiver, double arrival) {
        message.arrival = arrival;
        message.source = number;
        message.order = ranks_[number].sent++;
        int32_t place = messages_.add(message);
        Rank &other = ranks_[receiver];
        other.flying = add_to_heap(by_arrival_, other.flying, place);
        if (receiver == number || other.flying != place || other.call == RUNS || other.come != NOTHING) return;
        double time = next_come(other);
        if (other.call == STALLS) time = std::min(time, std::max(other.now, other.port));
        agenda_.set(receiver, std::min(agenda_.time(receiver), std::max(other.now, time)));
    }

    // Send a message whose overhead begins now; with a request to be completed, and the receiver's where it is known.
    void transmit(int32_t number, Kind kind, int32_t receiver, int32_t tag, double size, double born, int32_t owner, int32_t answers) {
        Rank &rank = ranks_[number];
        Message message{};
        message.born = born;
        message.size = size;
        message.tag = tag;
        message.kind = kind;
        message.owner = owner;
        message.answers = answers;
        double begin = rank.now;
        rank.now += p_.o + (kind == QUESTION ? 0.0 : size * p_.O_s);
        if (receiver == number) return launch(number, message, receiver, rank.now);
        if (!p_.cards) {
            rank.port = begin + gap(size);
            return launch(number, message, receiver, rank.now + transit(size));
        }
        double leaves = std::max(rank.now, rank.port);
        if (kind == QUESTION) return launch(number, message, receiver, leaves + p_.L);
        rank.port = leaves + gap(size);
        launch(number, message, receiver, leaves + transit(size));
    }

    // Let the processor take the first of what has come for it.
    void take(int32_t number) {
        Rank &rank = ranks_[number];
        int32_t place = rank.come;
        Message message = messages_[place];
        rank.come = message.link;
        messages_.drop(place);
        if (message.kind == QUESTION) {  // take it and answer; the answer takes no time on a card
            rank.now += p_.o + p_.o;
            Message answer{};
            answer.kind = ANSWER;
            answer.owner = message.answers;
            answer.answers = message.owner;
            answer.born = message.born;
            launch(number, answer, message.source, rank.now + (message.source == number ? 0.0 : p_.L));
        } else if (message.kind == ANSWER) {
            rank.now += p_.o;
            const Request request = requests_[message.owner];
            transmit(number, DATA, request.peer, request.tag, request.size, message.born, message.answers, NOTHING);
            complete(rank, message.owner);
        } else {
            rank.now += p_.o + message.size * p_.O_r;
            complete(rank, message.owner);
        }
        if (rank.call == ENDED) rank.finish = rank.now;
    }

    int32_t add_request(Rank &rank, bool sends, bool blocking, int32_t peer, int32_t tag, int32_t name, double size) {
        int32_t place;
        if (free_requests_ != NOTHING) {
            place = free_requests_;
            free_requests_ = requests_[place].link;
        } else {
            place = static_cast<int32_t>(requests_.size());
            requests_.emplace_back();
        }
        requests_[place] = {size, peer, tag, name, NOTHING, rank.posts++, NOTHING, rank.requests, sends, false, blocking};
        if (rank.requests != NOTHING) requests_[rank.requests].before = place;
        rank.requests = place;
        if (!blocking) (name >= 0 ? rank.named : rank.unnamed) += 1;
        return place;
    }
    void drop_request(Rank &rank, int32_t place) {
        Request &one = requests_[place];
        (one.before == NOTHING ? rank.requests : requests_[one.before].after) = one.after;
        if (one.after != NOTHING) requests_[one.after].before = one.before;
        one.link = free_requests_;
        free_requests_ = place;
    }
    void complete(Rank &rank, int32_t place) {
        Request &one = requests_[place];
        one.done = true;
        if (one.blocking) return;
        if (one.name >= 0) {
            rank.named -= 1;
        } else {
            rank.unnamed -= 1;
            drop_request(rank, place);
        }
    }

    // Named requests stand in a table; those of one name in the order in which they were made.
    void name_request(int32_t number, int32_t place) {
        const Key key{number, requests_[place].name, 0};
        const size_t slot = names_.find(key);
        Queue &queue = names_[slot];
        if (queue.first == NOTHING) {
            names_.fill(slot, key, {place, place, false});
        } else {
            name_links_[queue.last] = place;
            queue.last = place;
        }
        if (name_links_.size() < requests_.size()) name_links_.resize(requests_.capacity(), NOTHING);
        name_links_[place] = NOTHING;
    }
    int32_t named_request(int32_t number, int32_t name) {
        return names_[names_.find({number, name, 0})].first;
    }
    void forget_named(int32_t number, int32_t place) {
        const size_t slot = names_.find({number, requests_[place].name, 0});
        int32_t next = name_links_[place];
        if (next == NOTHING) names_.empty(slot);
        else names_[slot].first = next;
        drop_request(ranks_[number], place);
    }

    bool fail(int32_t number, const std::string &what) {
        record_.failure = "rank " + std::to_string(number) + ": " + what;
        return false;
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
        const Operation &one = rank.next[-1];
        if (rank.call == AWAITS_NAMED) {
            for (int32_t place = rank.requests, after; place != NOTHING; place = after) {
                after = requests_[place].after;
                if (requests_[place].name < 0) continue;
                const size_t slot = names_.find({number, requests_[place].name, 0});
                if (names_[slot].first != NOTHING) names_.empty(slot);
                drop_request(rank, place);
            }
        } else if (rank.call == AWAITS_ONE) {
            if (requests_[rank.awaited].blocking) drop_request(rank, rank.awaited);
            else forget_named(number, rank.awaited);
        }
        rank.call = RUNS;
        bool sends = one.code == SEND || one.code == ISEND, receives = one.code == RECV || one.code == IRECV;
        bool alone = sends || receives;
        record_.spend(number, sends ? IN_SEND : receives ? IN_RECEIVE : IN_WAIT, alone ? one.peer : -1, alone ? one.tag : -1,
                      alone ? std::max(one.value, 0.0) : 0.0, rank.called, rank.now);
    }

    // Carry out a send whose port is free.
    void send(int32_t number) {
        Rank &rank = ranks_[number];
        const Operation &one = rank.next[-1];
        bool blocking = one.code == SEND, asks = rendezvous(one.value);
        int32_t request = NOTHING;
        if (asks || !blocking) {
            request = add_request(rank, true, blocking, one.peer, one.tag, blocking ? BLOCKING : one.request, one.value);
            if (!blocking && one.request >= 0) name_request(number, request);
        }
        sent_ += 1;
        double born = rank.called;
        transmit(number, asks ? QUESTION : EAGER, one.peer, one.tag, one.value, born, NOTHING, request);
        if (!asks && !blocking) complete(rank, request);
        if (asks && blocking) {
            rank.call = AWAITS_ONE;
            rank.awaited = request;
            return;
        }
        end_call_of_send(number);
    }
    void end_call_of_send(int32_t number) {
        ranks_[number].call = STALLS;
        end_call(number);
    }

    // Begin the next operation, now; return false where it cannot be.
    bool begin(int32_t number) {
        Rank &rank = ranks_[number];
        if (rank.next == rank.end) {
            if (refill_ && !refill_(context_, number, &rank.next, &rank.end)) return fail(number, "its next operations did not come");
            if (rank.next == rank.end) {
                rank.call = ENDED;
                rank.finish = rank.now;
                return true;
            }
        }
        const Operation &one = *rank.next++;
        rank.called = rank.now;
        if (!(one.value >= 0.0 && std::isfinite(one.value)) && !((one.code == RECV || one.code == IRECV) && one.value == -1.0))
            return fail(number, "an operation of " + std::to_string(one.value) + " bytes or seconds: it must be finite, from 0");
        switch (one.code) {
            case COMPUTE:
            case SLEEP:
                rank.now += one.value;
                record_.spend(number, one.code == COMPUTE ? IN_COMPUTE : IN_SLEEP, -1, -1, 0.0, rank.called, rank.now);
                return true;
            case MARK:
                record_.marks.push_back({number, static_cast<int32_t>(one.value), rank.now});
                return true;
            case SEND:
            case ISEND:
                if (!is_rank(one.peer) || one.tag == ANY) return fail(number, "a send to rank " + std::to_string(one.peer) + " with tag " + std::to_string(one.tag));
                rank.call = STALLS;
                return true;
            case RECV:
            case IRECV: {
                if (!is_rank(one.peer) && one.peer != ANY) return fail(number, "a receive from rank " + std::to_string(one.peer));
                let_in(number, rank.now);
                bool blocking = one.code == RECV;
                int32_t request = add_request(rank, false, blocking, one.peer, one.tag, blocking ? BLOCKING : one.request, one.value);
                if (!blocking && one.request >= 0) name_request(number, request);
                int32_t message = matching_.post(number, rank.unmatched, request);
                if (message != NOTHING) {
                    if (!fits(number, request, message)) return false;
                    messages_[message].owner = request;
                    hand_over(rank, message);
                }
                if (blocking) {
                    rank.call = AWAITS_ONE;
                    rank.awaited = request;
                }
                return true;
            }
            case WAIT:
                rank.awaited = named_request(number, one.request);
                if (rank.awaited != NOTHING) rank.call = AWAITS_ONE;
                return true;
            case WAITALL:
                rank.call = one.request == EVERY_NAMED ? AWAITS_NAMED : AWAITS_UNNAMED;
                return true;
            case TEST: {
                let_in(number, rank.now);
                while (rank.come != NOTHING) take(number);
                int32_t request = named_request(number, one.request);
                if (request != NOTHING && requests_[request].done) forget_named(number, request);
                record_.spend(number, IN_WAIT, -1, -1, 0.0, rank.called, rank.now);
                return true;
            }
            default:
                return fail(number, "an operation with code " + std::to_string(one.code) + ": there is none");
        }
    }
    bool is_rank(int32_t number) const { return number >= 0 && static_cast<size_t>(number) < ranks_.size(); }

    // Let a rank do what it does by the horizon; return when it goes on.
    double advance(int32_t number, double horizon) {
        Rank &rank = ranks_[number];
        for (;;) {
            if (!record_.failure.empty()) return NEVER;
            if (rank.now > horizon) return rank.now;
            record_.events += 1;
            if (rank.call == RUNS) {
                begin(number);
                continue;
            }
            if (rank.call == STALLS && (p_.cards || rank.port <= rank.now)) {
                send(number);
                continue;
            }
            if (is_over(rank)) {
                end_call(number);
                continue;
            }
            let_in(number, rank.now);
            if (rank.come != NOTHING) {
                take(number);
                continue;
            }
            double time = next_come(rank);
            if (rank.call == STALLS) time = std::min(time, rank.port);
            if (time > horizon) return time;
            rank.now = std::max(rank.now, time);
        }
    }

    void add_blocked(int32_t number) {
        const Rank &rank = ranks_[number];
        const Operation &one = rank.next[-1];
        int32_t place = rank.awaited;
        if (rank.call != AWAITS_ONE) {  // the oldest that is open
            place = NOTHING;
            for (int32_t i = rank.requests; i != NOTHING; i = requests_[i].after)
                if (!requests_[i].done && (requests_[i].name >= 0) == (rank.call == AWAITS_NAMED)) place = i;
        }
        if (place == NOTHING) return;
        const Request &open = requests_[place];
        const char *call = one.code == SEND ? "MPI_Send" : one.code == RECV ? "MPI_Recv" : one.code == WAIT ? "MPI_Wait" : "MPI_Waitall";
        record_.blocked.push_back({number, call, open.sends, open.peer, open.tag, open.size});
    }

    Refill refill_;
    void *context_;
    StreamParameters p_;
    Record &record_;
    std::vector<Rank> ranks_;
    Messages messages_;
    Matching<Stream> matching_;
    ByArrival by_arrival_;
    Agenda agenda_;
    std::vector<Request> requests_;
    int32_t free_requests_ = NOTHING;
    Table names_;
    std::vector<int32_t> name_links_;
    int64_t sent_ = 0;
};

}  // namespace commmodel::delays
