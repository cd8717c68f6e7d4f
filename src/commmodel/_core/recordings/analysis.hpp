// Sums over the calls of a recorded program, rank by rank and block by block: calls, bytes, time, messages and waits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "recordings/decoder.hpp"
#include "recordings/waits.hpp"

namespace commmodel::recordings {

// common/codes.py says what they mean.
enum Role : int32_t { CALL_ROLES };
enum Share : int32_t { TIME_SHARES, SHARES };
enum Volume : int32_t { CALL_VOLUMES };

struct CallKind {
    Role role = PLAIN;
    Rule rule = NOBODY;
    Share share = COMMUNICATION;
    Volume volume = AS_GIVEN;
};

// A communicator as a rank sees it; one without peers is MPI_COMM_NULL, or unknown.
struct View {
    int32_t communicator = 0;  // number in the recording
    int32_t place = 0;         // of this rank
    bool is_inter = false;
    const std::vector<int32_t> *peers = nullptr;  // ranks in the program of those whom messages go to
};

struct Sums {
    int64_t count = 0, bytes = 0;
    double seconds = 0.0;
};

struct Row {  // calls of a code from a site
    int32_t code, site;
    Sums sums;
};

struct Cell {  // messages from rank to rank
    int64_t messages = 0, bytes = 0;
};

struct RankSums {
    double first = 0.0, last = 0.0;
    double seconds[SHARES] = {}, main_thread[SHARES] = {};
    int64_t calls = 0, messages = 0, bytes = 0;
};

class Analysis {
  public:
    // `members` of each communicator of the recording; number 0 is that of calls without one and has none. `groups` are
    // lists of ranks that views name by their numbers.
    Analysis(int64_t ranks, std::vector<CallKind> kinds, std::vector<std::vector<int32_t>> members,
             std::vector<std::vector<int32_t>> groups, bool keeps_transfers)
        : by_communicator(members.size()), of_ranks(static_cast<size_t>(ranks)), matching(ranks, keeps_transfers),
          collectives(ranks, members), kinds_(std::move(kinds)), groups_(std::move(groups)),
          states_(static_cast<size_t>(ranks)), ranks_(ranks) {
        waits.ranks = ranks;
        waits.keeps_calls = keeps_transfers;
        waits.of_rank.resize(static_cast<size_t>(ranks));
        waits.caused_by.resize(static_cast<size_t>(ranks));
        waits.of_communicator.resize(members.size());
    }

    Waits waits;  // these two before all that holds open waits
    Store<Wait> open_waits;
    std::vector<Row> rows;
    std::vector<Sums> by_communicator;
    std::vector<RankSums> of_ranks;
    Sums of_sizes[2][65];  // of messages, of collectives; by the bits of the number of bytes
    std::unordered_map<uint64_t, Cell> cells;
    Matching matching;
    Collectives collectives;
    int64_t messages = 0, bytes = 0;

    // Sites and communicators of a rank, by the numbers that they have in its log.
    void define(int32_t rank, std::vector<int32_t> sites) {
        states_[rank].rows.resize(sites.size());
        states_[rank].sites = std::move(sites);
    }
    void define(int32_t rank, int32_t number, View view, int32_t group) {
        std::vector<View> &views = states_[rank].views;
        if (static_cast<size_t>(number) >= views.size()) views.resize(static_cast<size_t>(number) + 1);
        view.peers = &groups_[group];
        views[number] = view;
    }

    // Decode and add the next calls of a rank, their times in seconds of one clock; return the bytes they take.
    int64_t read(int32_t rank, Decoder &log, const uint8_t *data, int64_t size, int64_t most) {
        const int64_t used = log.decode(data, size, most, [&](const Call &call) {
            if (static_cast<size_t>(call.code) < kinds_.size()) {
                Adding(*this, rank, call).add(log.numbers.data(), log.completed.data());
            }
            log.forget_lists();
        });
        log.definitions.clear();
        return used;
    }

    // A rank has no more calls.
    void close(int32_t rank) {
        State &state = states_[rank];
        state.posted.each([&](const Channel &, Posted &posted) {
            while (!posted.receives.empty()) deliver(rank, posted.receives.pop());
        });
        state.posted.clear();
        state.request_places.clear();
        state.requests.clear();
        state.free_places.clear();
        matching.close(rank);
        collectives.close(rank);
    }

  private:
    struct Request {
        Role role = PLAIN;
        int32_t row = 0, communicator = 0, peer = NO_PROCESS, tag = 0, code = 0;
        int64_t bytes = 0;
        bool is_persistent = false;
        Shared<Message> message;
        Shared<Receive> receive;
        Shared<Instance> instance;
        Instance::Entry entry{};
    };

    struct Serial {
        int64_t number;
        bool operator==(const Serial &other) const { return number == other.number; }
        uint64_t hash() const { return mixed(static_cast<uint64_t>(number)); }
    };

    struct Posted {  // receives that ask for the same, in order
        int32_t first = NONE;
        Line<Receive> receives;
    };

    struct RowOfSite {
        int32_t code = NONE, row = 0;
    };

    struct RecentCell {
        int32_t destination = NONE;
        Cell *cell = nullptr;
    };

    struct State {  // of a rank
        std::vector<int32_t> sites;
        std::vector<RowOfSite> rows;  // the last one of each site
        RecentCell cells[16];
        std::vector<View> views;
        HashTable<Serial, Number, 16> request_places;
        std::vector<Request> requests;
        std::vector<int32_t> free_places;
        HashTable<Channel, Posted, 16> posted;
    };

    void deliver(int32_t rank, Shared<Receive> receive) {
        if (!receive->is_complete || receive->is_void || receive->source < 0) return;
        const Channel channel{receive->communicator, receive->source, rank, receive->tag};
        matching.receive(channel, std::move(receive));
    }

    // One call.
    class Adding {
      public:
        Adding(Analysis &analysis, int32_t rank, const Call &call)
            : all_(analysis), state_(analysis.states_[rank]), kind_(analysis.kinds_[call.code]), call_(call),
              rank_(rank), view_(view(call.communicator)) {}

        void add(const int64_t *numbers, const Completed *completed) {
            count(numbers);
            switch (kind_.role) {
                case PLAIN:
                case FETCHES: break;
                case SENDS: send(call_.peer, call_.tag, call_.bytes, open_wait()); break;
                case SENDS_LATER: request(numbers).message = send(call_.peer, call_.tag, call_.bytes, nullptr); break;
                case RECEIVES: receive(open_wait()); break;
                case RECEIVES_LATER: post(request(numbers), call_.communicator, call_.peer, call_.tag); break;
                case EXCHANGES: {
                    const OpenWait wait = open_wait();
                    send(call_.peer, call_.tag, call_.bytes, wait);
                    receive(wait);
                    break;
                }
                case EXCHANGES_LATER: {
                    Request &both = request(numbers);
                    both.message = send(call_.peer, call_.tag, call_.bytes, nullptr);
                    both.peer = call_.receive_peer;
                    both.tag = call_.receive_tag;
                    post(both, call_.communicator, both.peer, both.tag);
                    break;
                }
                case PROBES: receive(open_wait(), false); break;
                case TAKES: receive(open_wait()); break;
                case FETCHES_LATER: request(numbers); break;
                case SEND_PREPARED:
                case RECEIVE_PREPARED:
                case JOIN_PREPARED: request(numbers).is_persistent = true; break;
                case WAITS: complete(completed + call_.completed_at, open_wait()); break;
                case TESTS: complete(completed + call_.completed_at, nullptr); break;
                case STARTS:
                    for (int32_t i = 0; i < call_.requests; ++i) start(numbers[call_.requests_at + i]);
                    if (call_.request != 0) start(call_.request);
                    break;
                case FREES:
                    for (int32_t i = 0; i < call_.requests; ++i) free(numbers[call_.requests_at + i]);
                    if (call_.request != 0) free(call_.request);
                    break;
                case JOINS: {
                    const auto instance = join(call_.communicator, call_.code, entry());
                    if (instance) {
                        instance->wait(entry(), open_wait());
                        all_.collectives.settle(*instance);
                    }
                    break;
                }
                case JOINS_LATER: join_later(request(numbers)); break;
            }
        }

      private:
        const View &view(int32_t communicator) const {
            static const View unknown;
            return static_cast<size_t>(communicator) < state_.views.size() ? state_.views[communicator] : unknown;
        }

        // Rank in the program of a peer; -1 where there is none.
        int32_t world(const View &view, int32_t peer) const {
            if (peer < 0 || view.peers == nullptr || static_cast<size_t>(peer) >= view.peers->size()) return -1;
            const int32_t rank = (*view.peers)[peer];
            return rank < all_.ranks_ ? rank : -1;  // the others were started by other programs
        }

        OpenWait open_wait() const {
            return all_.open_waits.make(all_.waits, row_, rank_, view_.communicator, call_.begin, call_.end);
        }

        void count(const int64_t *numbers) {
            const double seconds = call_.end - call_.begin;
            const int64_t bytes = moved(numbers);
            row_ = row();
            add(all_.rows[row_].sums, 1, bytes, seconds);
            add(all_.by_communicator[view_.communicator], 1, bytes, seconds);
            if (kind_.role >= JOINS && kind_.role != JOIN_PREPARED) add(size(1, bytes), 1, bytes, seconds);
            RankSums &sums = all_.of_ranks[rank_];
            if (sums.calls++ == 0) sums.first = call_.begin;
            sums.last = std::max(sums.last, call_.end);
            sums.bytes += bytes;
            sums.seconds[kind_.share] += seconds;
            if (call_.thread == 0) sums.main_thread[kind_.share] += seconds;
        }

        int32_t row() {
            if (static_cast<size_t>(call_.site) >= state_.sites.size()) return row(0);
            RowOfSite &last = state_.rows[call_.site];
            if (last.code != call_.code) last = {call_.code, row(state_.sites[call_.site])};
            return last.row;
        }

        int32_t row(int32_t site) {
            const uint64_t key = static_cast<uint64_t>(call_.code) << 32 | static_cast<uint32_t>(site);
            const auto [place, is_new] = all_.numbers_.try_emplace(key, static_cast<int32_t>(all_.rows.size()));
            if (is_new) {
                all_.rows.push_back({call_.code, site, {}});
                all_.waits.of_row.push_back(0.0);
                all_.waits.of_row_by_reason.resize(all_.rows.size() * REASONS);
            }
            return place->second;
        }

        // Bytes that the call sends, or has received; those of a request are added when it is started, or has completed.
        int64_t moved(const int64_t *numbers) const {
            switch (kind_.role) {
                case SENDS:
                case SENDS_LATER:
                case EXCHANGES:
                case EXCHANGES_LATER: return world(view_, call_.peer) < 0 ? 0 : call_.bytes;
                case RECEIVES:
                case FETCHES: return call_.source < 0 ? 0 : call_.received_bytes;
                case RECEIVES_LATER:
                case FETCHES_LATER:
                case SEND_PREPARED:
                case RECEIVE_PREPARED:
                case JOIN_PREPARED: return 0;
                default: break;
            }
            return volume(numbers);
        }

        int64_t volume(const int64_t *numbers) const {
            if (kind_.volume == AS_RECEIVED) return sum(numbers + call_.received_counts_at, call_.received_counts);
            const auto times = kind_.volume == TO_EACH && view_.peers ? static_cast<int64_t>(view_.peers->size()) : 1;
            return times * call_.bytes + sum(numbers + call_.sent_counts_at, call_.sent_counts);
        }

        static int64_t sum(const int64_t *values, int32_t count) {
            int64_t total = 0;
            for (int32_t i = 0; i < count; ++i) total += values[i];
            return total;
        }

        static void add(Sums &sums, int64_t count, int64_t bytes, double seconds) {
            sums.count += count;
            sums.bytes += bytes;
            sums.seconds += seconds;
        }

        Sums &size(int32_t which, int64_t bytes) {
            const int bits = bytes == 0 ? 0 : 64 - __builtin_clzll(static_cast<uint64_t>(bytes));
            return all_.of_sizes[which][bits];
        }

        // Bytes that a call has moved, which are known later than its time.
        void add_bytes(int32_t row, int32_t communicator, int64_t bytes) {
            all_.rows[row].sums.bytes += bytes;
            all_.by_communicator[view(communicator).communicator].bytes += bytes;
            all_.of_ranks[rank_].bytes += bytes;
        }

        Shared<Message> send(int32_t peer, int32_t tag, int64_t bytes, OpenWait wait) {
            return send(view_, peer, tag, bytes, std::move(wait), call_.end - call_.begin);
        }

        Shared<Message> send(const View &view, int32_t peer, int32_t tag, int64_t bytes, OpenWait wait,
                             double seconds) {
            const int32_t destination = world(view, peer);
            if (destination < 0) return nullptr;
            RecentCell &recent = state_.cells[destination % 16];
            if (recent.destination != destination) {
                recent = {destination, &all_.cells[static_cast<uint64_t>(rank_) * all_.ranks_ + destination]};
            }
            ++recent.cell->messages, recent.cell->bytes += bytes;
            ++all_.messages, all_.bytes += bytes;
            ++all_.of_ranks[rank_].messages;
            add(size(0, bytes), 1, bytes, seconds);
            const bool blocks = kind_.role == SENDS || kind_.role == EXCHANGES;
            return all_.matching.send({view.communicator, rank_, destination, tag}, call_.begin,
                                      blocks ? call_.end : 0.0, bytes, std::move(wait));
        }

        // What a blocking call has received, or found.
        void receive(OpenWait wait, bool takes = true) {
            const int32_t source = world(view_, call_.source);
            if (source < 0) return;
            Shared<Receive> received = all_.matching.new_receive();
            received->posted = call_.begin;
            received->completed = call_.end;
            received->takes = takes;
            received->wait = std::move(wait);
            received->communicator = view_.communicator;
            received->source = source;
            received->tag = call_.received_tag;
            received->is_complete = true;
            const bool both = kind_.role == EXCHANGES;
            const Channel key =
                asked(view_, both ? call_.receive_peer : call_.peer, both ? call_.receive_tag : call_.tag);
            Posted &before = state_.posted[state_.posted.find(key)];
            if (before.first == NONE) return all_.deliver(rank_, std::move(received));
            before.receives.push(std::move(received));
            release(key);
        }

        static Channel asked(const View &view, int32_t peer, int32_t tag) {
            if (peer < 0 || tag < 0) return {view.communicator, ANY, ANY, ANY};
            return {view.communicator, peer, 0, tag};
        }

        void post(Request &request, int32_t communicator, int32_t peer, int32_t tag) {
            if (peer == NO_PROCESS || view(communicator).peers == nullptr) return;
            request.receive = all_.matching.new_receive();
            request.receive->posted = call_.begin;
            request.receive->communicator = view(communicator).communicator;
            const Channel key = asked(view(communicator), peer, tag);
            const size_t slot = state_.posted.find(key);
            Posted posted = state_.posted[slot];
            const bool is_new = posted.first == NONE;
            posted.first = 0;
            posted.receives.push(request.receive);
            if (is_new) {
                state_.posted.fill(slot, key, posted);
            } else {
                state_.posted[slot] = posted;
            }
        }

        // Hand on receives that have completed, in the order in which they were posted.
        void release(const Channel &key) {
            const size_t slot = state_.posted.find(key);
            Posted &posted = state_.posted[slot];
            if (posted.first == NONE) return;
            Line<Receive> &receives = posted.receives;
            while (!receives.empty() && (receives.front().is_complete || receives.front().is_void)) {
                all_.deliver(rank_, receives.pop());
            }
            if (receives.empty()) state_.posted.empty(slot);
        }

        // Of a number; null where there is none.
        Request *find(int64_t number) {
            const int32_t place = state_.request_places[state_.request_places.find({number})].first;
            return place == NONE ? nullptr : &state_.requests[place];
        }

        void forget(int64_t number) {
            const size_t slot = state_.request_places.find({number});
            const int32_t place = state_.request_places[slot].first;
            state_.requests[place] = Request();
            state_.free_places.push_back(place);
            state_.request_places.empty(slot);
        }

        Request &new_request(int64_t number) {
            if (Request *const before = find(number)) return *before = Request();
            if (state_.free_places.empty()) {
                state_.free_places.push_back(static_cast<int32_t>(state_.requests.size()));
                state_.requests.emplace_back();
            }
            const int32_t place = state_.free_places.back();
            state_.free_places.pop_back();
            state_.request_places.fill(state_.request_places.find({number}), {number}, {place});
            return state_.requests[place];
        }

        Request &request(const int64_t *numbers) {
            Request &made = new_request(call_.request);
            made.role = kind_.role;
            made.row = row_;
            made.communicator = call_.communicator;
            made.peer = call_.peer;
            made.tag = call_.tag;
            made.code = call_.code;
            made.bytes = volume(numbers);
            made.entry = entry();
            return made;
        }

        void start(int64_t number) {
            Request *const request = find(number);
            if (request == nullptr) return;
            Request &started = *request;
            const View &of = view(started.communicator);
            if (started.role == SEND_PREPARED) {
                if (world(of, started.peer) >= 0) add_bytes(started.row, started.communicator, started.bytes);
                started.message = send(of, started.peer, started.tag, started.bytes, nullptr, 0.0);
            } else if (started.role == RECEIVE_PREPARED) {
                post(started, started.communicator, started.peer, started.tag);
            } else if (started.role == JOIN_PREPARED) {
                started.entry.begin = call_.begin;
                add_bytes(started.row, started.communicator, started.bytes);
                add(size(1, started.bytes), 1, started.bytes, 0.0);
                started.instance = join(started.communicator, started.code, started.entry);
                if (started.instance) all_.collectives.settle(*started.instance);
            }
        }

        void free(int64_t number) {
            Request *const freed = find(number);
            if (freed == nullptr) return;
            drop(*freed);
            forget(number);
        }

        void drop(Request &request) {
            if (!request.receive) return;
            request.receive->is_void = true;
            release(key_of(request));
            request.receive.reset();
        }

        Channel key_of(const Request &request) const {
            return asked(view(request.communicator), request.peer, request.tag);
        }

        void complete(const Completed *completed, const OpenWait &wait) {
            for (const Completed *done = completed; done != completed + call_.completed; ++done) {
                Request *const open = find(done->request);
                if (open == nullptr) continue;
                Request &request = *open;
                if (request.message) settle_send(request, wait);
                if (request.receive) settle_receive(request, *done, wait);
                if (request.role == FETCHES_LATER) add_bytes(request.row, request.communicator, done->bytes);
                if (request.instance && wait) request.instance->wait(request.entry, wait);
                request.instance.reset();
                if (!request.is_persistent) forget(done->request);
            }
        }

        void settle_send(Request &request, const OpenWait &wait) {
            Message &message = *request.message;
            all_.matching.complete(message, call_.end);
            if (message.is_matched && wait) wait->until_received(message.posted, message.receiver);
            if (!message.is_matched) message.wait = wait;
            request.message.reset();
        }

        void settle_receive(Request &request, const Completed &done, const OpenWait &wait) {
            const bool exchanges =
                request.role == EXCHANGES_LATER;  // its bytes are those sent; MPICH gives it no status
            const int32_t peer = exchanges && request.peer >= 0 ? request.peer : done.source;
            const int32_t source = world(view(request.communicator), peer);
            if (source < 0) return drop(request);
            if (!exchanges) add_bytes(request.row, request.communicator, done.bytes);
            request.receive->source = source;
            request.receive->tag = exchanges && request.tag >= 0 ? request.tag : done.tag;
            request.receive->completed = call_.end;
            request.receive->is_complete = true;
            request.receive->wait = wait;
            request.receive.reset();
            release(key_of(request));
        }

        Instance::Entry entry() const {
            const bool is_root = view_.is_inter ? call_.root == -3 : call_.root == view_.place;
            return {call_.begin, view_.place, rank_, is_root, view_.is_inter && call_.root == NO_PROCESS};
        }

        Shared<Instance> join(int32_t communicator, int32_t code, const Instance::Entry &entry) {
            const int32_t number = view(communicator).communicator;
            if (number == 0 || all_.kinds_[code].rule == NOBODY) return nullptr;
            return all_.collectives.enter(number, code, all_.kinds_[code].rule, entry);
        }

        void join_later(Request &request) {
            request.instance = join(call_.communicator, call_.code, request.entry);
            if (request.instance) all_.collectives.settle(*request.instance);
        }

        Analysis &all_;
        State &state_;
        const CallKind kind_;
        const Call &call_;
        const int32_t rank_;
        const View &view_;
        int32_t row_ = 0;
    };

    const std::vector<CallKind> kinds_;
    const std::vector<std::vector<int32_t>> groups_;
    std::unordered_map<uint64_t, int32_t> numbers_;  // of rows, by code and site
    std::vector<State> states_;
    const int64_t ranks_;
};

}  // namespace commmodel::recordings
