// Lets the ranks of a program run in turn, and hands what they do to the engine.
//
// A rank runs until it needs what the engine alone knows, or another rank has to do first. It leaves its operations in
// a ring; when the engine has carried them out, the rank gets its turn again.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "online/shared.h"
#include "program/live.hpp"
#include "program/traces.hpp"

namespace commmodel {

class Pump final : public Live {
  public:
    // Functions of the caller; each returns false where it raised.
    struct Calls {
        void *context = nullptr;
        bool (*start)(void *context, int32_t rank) = nullptr;  // a rank's process
        bool (*look)(void *context, int32_t rank) = nullptr;   // after the ranks, while one runs
        bool (*end)(void *context, int32_t rank) = nullptr;    // wait for the end of a rank that has finalized MPI
        // The operations of a collective, or the next of the last one where there is no action; `rest`: more may come.
        bool (*expand)(void *context, int32_t rank, int32_t tag, const char *action, const Operation **begin,
                       int64_t *count, bool *rest) = nullptr;
    };

    Pump(int32_t ranks, int descriptor) : places_(static_cast<size_t>(ranks)) {
        tag_bits = ONLINE_TAG_BITS;
        const uint64_t size = sizeof(online_world) + sizeof(online_rank) * static_cast<uint64_t>(ranks);
        if (ftruncate(descriptor, static_cast<off_t>(ONLINE_MEMORY)) != 0) throw std::runtime_error("no memory");
        void *memory = mmap(nullptr, ONLINE_MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
        if (memory == MAP_FAILED) throw std::runtime_error("no addresses for the memory of ranks");
        world_ = static_cast<online_world *>(memory);
        world_->magic = ONLINE_MAGIC;
        world_->ranks = ranks;
        world_->simulator = getpid();
        world_->heap = (size + 4095) / 4096 * 4096;
        world_->communicators = 1;
        world_->contexts[0] = 1;
    }
    ~Pump() { munmap(world_, ONLINE_MEMORY); }
    Pump(const Pump &) = delete;
    Pump &operator=(const Pump &) = delete;

    Calls calls;

    online_world &world() { return *world_; }

    bool more(const Answers &answers, int32_t rank, const Operation *&begin, int64_t &count) override {
        online_rank &me = world_->rank[rank];
        Place &place = places_[rank];
        for (;;) {
            me.tail += place.given;
            place.given = 0;
            if (place.in_collective || take_collective(me, place)) {
                if (!expand(rank, place, begin, count)) return false;
                if (count > 0) return true;
            } else if (me.tail != me.head) {
                give(me, place, begin, count);
                return true;
            } else if (me.state == ONLINE_FINALIZED) {
                count = 0;
                return calls.end(calls.context, rank);
            } else if (!run(answers, rank)) {
                return false;
            }
        }
    }

    void matched(int32_t rank, int32_t request, int32_t source, int32_t tag) override {
        online_rank &me = world_->rank[rank];
        if (me.report_count == me.report_room) {
            const int32_t room = me.report_room ? 2 * me.report_room : 16;
            const uint64_t place = online_allocate(world_, sizeof(online_report) * static_cast<uint64_t>(room));
            if (me.report_count)
                memcpy(online_at(world_, place), online_at(world_, me.reports),
                       sizeof(online_report) * static_cast<size_t>(me.report_count));
            online_free(world_, me.reports);
            me.reports = place;
            me.report_room = room;
        }
        static_cast<online_report *>(online_at(world_, me.reports))[me.report_count++] = {request, source, tag};
    }

    // Room in the ranks' memory.
    void *allocate(uint64_t size, uint64_t &place) {
        place = online_allocate(world_, size);
        if (place == 0) throw std::runtime_error("no memory for what ranks share");
        return online_at(world_, place);
    }

    // Call, file, line, function and language, on lines, of the operation that is `step` after the first of those that
    // a rank has given last; NULL where there is none.
    const char *place(int32_t rank, int32_t step) const {
        const online_rank &me = world_->rank[rank];
        const Place &place = places_[rank];
        const uint64_t text =
            place.given ? me.places[(me.tail + static_cast<uint32_t>(step)) % ONLINE_RING] : place.text;
        return text ? static_cast<const char *>(online_at(world_, text)) : nullptr;
    }

    // The same of the last call of a rank.
    const char *last_place(int32_t rank) const {
        const uint64_t text = world_->rank[rank].place;
        return text ? static_cast<const char *>(online_at(world_, text)) : nullptr;
    }

  private:
    struct Place {  // where the engine is in what a rank has left
        uint32_t given = 0;
        bool in_collective = false;
        int32_t tag = 0;
        uint64_t action = 0;
        uint64_t text = 0;                                                   // of the collective's place in the program
        std::unordered_map<std::string, std::vector<Operation>> expansions;  // of small collectives, by action
        std::vector<Operation> expanded;                                     // what the engine has of one of these
    };

    // The operations of a collective that has been taken, or more of them; false where the caller raised.
    bool expand(int32_t rank, Place &place, const Operation *&begin, int64_t &count) {
        if (place.action == 0) {
            return calls.expand(calls.context, rank, place.tag, nullptr, &begin, &count, &place.in_collective);
        }
        const std::string action(static_cast<const char *>(online_at(world_, place.action)));
        online_free(world_, place.action);
        place.action = 0;
        const auto known = place.expansions.find(action);
        if (known != place.expansions.end()) {
            place.expanded = known->second;
            for (Operation &operation : place.expanded) {
                if (operation.tag <= traces::COLLECTIVE_TAG) operation.tag = place.tag;
            }
            begin = place.expanded.data();
            count = static_cast<int64_t>(place.expanded.size());
            return true;
        }
        if (!calls.expand(calls.context, rank, place.tag, action.c_str(), &begin, &count, &place.in_collective)) {
            return false;
        }
        // Not the definition of a communicator: its number is never that of another one.
        if (count > 0 && !place.in_collective) {
            remembered_ += action.size() + static_cast<size_t>(count) * sizeof(Operation);
            if (remembered_ > MOST_REMEMBERED) forget();
            place.expansions.emplace(action, std::vector<Operation>(begin, begin + count));
        }
        return true;
    }

    void forget() {
        for (Place &place : places_) place.expansions.clear();
        remembered_ = 0;
    }

    bool take_collective(online_rank &me, Place &place) {
        if (me.tail == me.head) return false;
        const online_operation &next = me.ring[me.tail % ONLINE_RING];
        if (next.code != ONLINE_COLLECTIVE) return false;
        place.tag = next.tag;
        place.action = static_cast<uint64_t>(next.value);
        place.text = me.places[me.tail % ONLINE_RING];
        ++me.tail;
        return true;
    }

    // Operations up to the next collective, or the end of the ring's memory.
    void give(online_rank &me, Place &place, const Operation *&begin, int64_t &count) {
        static_assert(sizeof(online_operation) == sizeof(Operation));
        const online_operation *const first = &me.ring[me.tail % ONLINE_RING];
        const online_operation *const last = me.ring + ONLINE_RING;
        uint32_t number = 0;
        while (me.tail + number != me.head && first + number != last && first[number].code != ONLINE_COLLECTIVE)
            ++number;
        place.given = number;
        begin = reinterpret_cast<const Operation *>(first);
        count = number;
    }

    // Let a rank run until it waits; false where the run has to stop.
    bool run(const Answers &answers, int32_t rank) {
        online_rank &me = world_->rank[rank];
        world_->now = answers.now();
        if (me.state == ONLINE_UNBORN) {
            if (!calls.start(calls.context, rank)) return false;
        } else {
            answer(answers, rank);
            online_wake(&me.turn);
        }
        while (!online_wait(&world_->simulator_turn, WAIT)) {
            if (!calls.look(calls.context, rank)) return false;
        }
        return me.state != ONLINE_ABORTED || calls.look(calls.context, rank);
    }

    void answer(const Answers &answers, int32_t rank) {
        online_rank &me = world_->rank[rank];
        if (me.question == ONLINE_DONE) {
            int32_t *const names = static_cast<int32_t *>(online_at(world_, me.names));
            for (int32_t i = 0; i < me.count; ++i) names[i] = answers.is_done(rank, names[i]);
        } else if (me.question == ONLINE_MESSAGE) {
            me.answer = answers.find_message(rank, me.source, me.tag);
        }
        me.question = ONLINE_NOTHING;
    }

    static constexpr long WAIT = 20000000;                      // ns between two looks after the ranks
    static constexpr size_t MOST_REMEMBERED = size_t{1} << 26;  // bytes
    online_world *world_ = nullptr;
    size_t remembered_ = 0;
    std::vector<Place> places_;
};

}  // namespace commmodel
