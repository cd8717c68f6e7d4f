// What the ranks of a program have done, done again without time and without buffers: no send ends before its receive
// is there, and no rank leaves a collective before all have come. Ranks that stay behind rely on buffers.
//
// Runs beside the simulator, so that it keeps only what has not been done yet. Receives get the messages that they got
// in the program, and calls that choose among requests (MPI_Waitany, tests, probes) wait for nothing here: what is said
// to hang does so whatever they choose.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <unordered_map>
#include <utility>
#include <vector>

#include "online/runtime/shared.h"
#include "program/program.hpp"

namespace commmodel {

class Unbuffered {
  public:
    struct Step {
        int32_t code, peer, tag, request;
        double value;
        uint64_t offset;  // of a batch
        uint64_t site;
    };

    explicit Unbuffered(int32_t ranks) : ranks_(static_cast<size_t>(ranks)) {}

    // What a rank does next.
    void add(int32_t rank, const Step &step) {
        if (is_given_up_) return;
        Rank &state = ranks_[static_cast<size_t>(rank)];
        if (++kept_ > MOST_KEPT) return give_up();
        state.steps.push_back(step);
        if (state.steps.size() == 1) go_on(rank);
    }

    // A rank calls a collective of so many ranks, or begins it as part of a batch.
    void join(int32_t rank, int32_t tag, int32_t ranks, uint64_t batch, uint64_t site) {
        add(rank, {ONLINE_COLLECTIVE, ranks, tag, NONE, 0.0, batch, site});
    }

    // A receive whose message the simulator found.
    void matched(int32_t rank, int32_t request, int32_t source, int32_t tag) {
        if (is_given_up_) return;
        Rank &state = ranks_[static_cast<size_t>(rank)];
        const auto entry = state.unknown.find(request);
        if (entry == state.unknown.end()) {
            state.reported[request] = {source, tag};
            return;
        }
        const int32_t name = entry->second;
        state.unknown.erase(entry);
        receive(rank, name, source, tag);
        wake();
    }

    void give_up() {
        is_given_up_ = true;
        for (Rank &rank : ranks_) rank = Rank();
        sent_.clear();
    }

    // The step at which a rank hangs; NULL where it does not.
    const Step *hanging(int32_t rank) const {
        const Rank &state = ranks_[static_cast<size_t>(rank)];
        return state.steps.empty() ? nullptr : &state.steps.front();
    }

    // The request's own step where a rank hangs in a wait for it.
    const Step *begun(int32_t rank, int32_t request) const {
        const auto &requests = ranks_[static_cast<size_t>(rank)].requests;
        const auto entry = requests.find(request);
        return entry == requests.end() ? nullptr : &entry->second.step;
    }

  private:
    struct Request {
        bool is_matched = false;
        Step step;
    };
    struct Post {  // of a send or a receive
        int32_t request, tag;
    };
    struct Pair {  // of ranks
        std::list<Post> sends, receives;
    };
    struct Call {  // a collective
        int32_t missing = 0;
        std::vector<int32_t> waiting;
    };
    struct Rank {
        std::deque<Step> steps;
        bool has_begun = false;  // the first of them
        std::unordered_map<int32_t, Request> requests;
        std::unordered_map<int32_t, std::pair<int32_t, int32_t>> reported;  // reported receive -> source and tag
        std::unordered_map<int32_t, int32_t> unknown;                       // posted, but not reported -> name
        std::unordered_map<uint64_t, std::vector<int32_t>> batches;         // -> tags of collectives
    };

    static bool fits(int32_t tag, int32_t of_message) {
        if (tag != ANY && tag > ANY_OF_COMMUNICATOR) return tag == of_message;
        const int32_t context = of_message >> TAG_BITS;
        return of_message >= 0 && tag == (context > 0 ? ANY_OF_COMMUNICATOR - context : ANY);
    }

    Pair &pair(int32_t receiver, int32_t sender) {
        return sent_[static_cast<uint64_t>(static_cast<uint32_t>(receiver)) << 32 | static_cast<uint32_t>(sender)];
    }

    void match(int32_t rank, int32_t request) {
        const auto entry = ranks_[static_cast<size_t>(rank)].requests.find(request);
        if (entry != ranks_[static_cast<size_t>(rank)].requests.end()) entry->second.is_matched = true;
        awake_.push_back(rank);
    }

    void send(int32_t rank, int32_t name, int32_t peer, int32_t tag) {
        Pair &posts = pair(peer, rank);
        for (auto post = posts.receives.begin(); post != posts.receives.end(); ++post) {
            if (!fits(post->tag, tag)) continue;
            const int32_t request = post->request;
            posts.receives.erase(post);
            match(peer, request);
            match(rank, name);
            return;
        }
        posts.sends.push_back({name, tag});
    }

    void receive(int32_t rank, int32_t name, int32_t source, int32_t tag) {
        Pair &posts = pair(rank, source);
        for (auto post = posts.sends.begin(); post != posts.sends.end(); ++post) {
            if (!fits(tag, post->tag)) continue;
            const int32_t request = post->request;
            posts.sends.erase(post);
            match(source, request);
            match(rank, name);
            return;
        }
        posts.receives.push_back({name, tag});
    }

    void begin_receive(int32_t rank, Rank &state, const Step &step, int32_t name) {
        if (step.request < FIRST_REPORTED) return receive(rank, name, step.peer, step.tag);
        const auto entry = state.reported.find(step.request);
        if (entry == state.reported.end()) {
            state.unknown[step.request] = name;
            return;
        }
        const auto [source, tag] = entry->second;
        state.reported.erase(entry);
        receive(rank, name, source, tag);
    }

    bool is_complete(int32_t tag) const { return calls_.find(tag) == calls_.end(); }

    void arrive(int32_t rank, const Step &step) {
        const auto entry = calls_.try_emplace(step.tag, Call{step.peer, {}}).first;
        if (step.offset == 0) entry->second.waiting.push_back(rank);
        if (--entry->second.missing > 0) return;
        awake_.insert(awake_.end(), entry->second.waiting.begin(), entry->second.waiting.end());
        calls_.erase(entry);
    }

    // Carry out the first step; false where it has to wait.
    bool carry_out(int32_t rank, Rank &state, const Step &step) {
        const bool is_first = !state.has_begun;
        state.has_begun = true;
        switch (step.code) {
            case ISEND:
            case ISSEND:
            case IRECV:
                state.requests[step.request] = {false, step};
                if (step.code == IRECV)
                    begin_receive(rank, state, step, step.request);
                else
                    send(rank, step.request, step.peer, step.tag);
                return true;
            case SEND:
            case SSEND:
            case RECV:
                if (is_first) {
                    state.requests[BLOCKING] = {false, step};
                    if (step.code == RECV)
                        begin_receive(rank, state, step, BLOCKING);
                    else
                        send(rank, BLOCKING, step.peer, step.tag);
                }
                return end(state, BLOCKING);
            case WAIT: return end(state, step.request);
            case ONLINE_CHOSEN:
                state.requests.erase(step.request);
                state.batches.erase(step.offset);
                return true;
            case ONLINE_COLLECTIVE:
                if (step.peer == 0) return true;
                if (is_first) arrive(rank, step);
                if (step.offset != 0) state.batches[step.offset].push_back(step.tag);
                return step.offset != 0 || is_complete(step.tag);
            case ONLINE_BATCH: {
                const auto entry = state.batches.find(step.offset);
                if (entry == state.batches.end()) return true;
                for (const int32_t tag : entry->second) {
                    const auto call = calls_.find(tag);
                    if (call == calls_.end()) continue;
                    call->second.waiting.push_back(rank);
                    return false;
                }
                state.batches.erase(entry);
                return true;
            }
            case PUT:
            case GET:
            case WITHDRAW: give_up(); return false;
            default: return true;
        }
    }

    static bool end(Rank &state, int32_t request) {
        const auto entry = state.requests.find(request);
        if (entry == state.requests.end()) return true;
        if (!entry->second.is_matched) return false;
        state.requests.erase(entry);
        return true;
    }

    void advance(int32_t rank) {
        Rank &state = ranks_[static_cast<size_t>(rank)];
        while (!state.steps.empty() && carry_out(rank, state, state.steps.front()) && !is_given_up_) {
            state.steps.pop_front();
            --kept_;
            state.has_begun = false;
        }
    }

    void go_on(int32_t rank) {
        advance(rank);
        wake();
    }

    void wake() {
        while (!awake_.empty()) {
            const int32_t next = awake_.back();
            awake_.pop_back();
            advance(next);
        }
    }

    static constexpr int32_t BLOCKING = -7;          // request of a blocking call
    static constexpr int64_t MOST_KEPT = 1LL << 22;  // steps of all ranks
    std::vector<Rank> ranks_;
    std::unordered_map<uint64_t, Pair> sent_;
    std::unordered_map<int32_t, Call> calls_;
    std::vector<int32_t> awake_;
    int64_t kept_ = 0;
    bool is_given_up_ = false;
};

}  // namespace commmodel
