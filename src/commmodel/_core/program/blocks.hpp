// Operations that come in blocks, for all ranks at once: most programs are as far with all ranks, and one call of Python
// serves them all. Where ranks are farther apart than a few blocks, each asks for its own.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "program/program.hpp"
#include "program/run.hpp"

namespace commmodel {

class Blocks {
  public:
    Blocks(const Callbacks &callbacks, int32_t ranks)
        : callbacks_(callbacks), places_(callbacks.refill_all != nullptr ? static_cast<size_t>(ranks) : 0) {}

    // Give a rank what it has of the next block; nothing where there is none for it. False where the caller raised.
    bool next(int32_t rank, const Operation *&begin, int64_t &count) {
        if (places_.empty()) return true;
        Place &place = places_[rank];
        if (place.current != NONE) --users_[std::exchange(place.current, NONE)];
        for (;;) {
            if (static_cast<size_t>(place.next) == users_.size() && !(may_ask() && ask())) return !failed_;
            const int32_t number = place.next++;
            const Block &block = given_[number % MOST];
            const int64_t first = block.offsets[rank];
            count = block.offsets[rank + 1] - first;
            if (count > 0) {
                begin = block.operations + first;
                place.current = number;
                return true;
            }
            --users_[number];
        }
    }

  private:
    static constexpr int32_t MOST = 4;  // blocks in use
    struct Place {
        int32_t next = 0, current = NONE;  // numbers of blocks
    };
    struct Block {
        const Operation *operations = nullptr;
        const int64_t *offsets = nullptr;
    };

    // Whether there is a place for a further block.
    bool may_ask() const { return users_.size() < MOST || users_[users_.size() - MOST] == 0; }

    bool ask() {
        Block block;
        failed_ = !callbacks_.refill_all(callbacks_.context, users_, &block.operations, &block.offsets);
        if (failed_ || block.operations == nullptr) return false;
        given_[users_.size() % MOST] = block;
        users_.push_back(static_cast<int32_t>(places_.size()));
        return true;
    }

    const Callbacks callbacks_;
    std::vector<Place> places_;   // of ranks
    std::vector<int32_t> users_;  // of blocks: ranks that are in it, or have yet to begin it
    Block given_[MOST];
    bool failed_ = false;
};

}  // namespace commmodel
