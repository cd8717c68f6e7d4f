// Operations that come in blocks, for all ranks at once: most programs are as far with all ranks, and one call of Python
// serves them all. Where ranks are not as far, each asks for its own.
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
        if (waiting_ == 0 && !ask()) return false;
        if (place.next == NONE) return true;
        begin = place.begin;
        count = place.end - place.begin;
        place.current = std::exchange(place.next, NONE);
        --waiting_;
        return true;
    }

  private:
    struct Place {
        const Operation *begin = nullptr, *end = nullptr;  // of the next block
        int32_t next = NONE, current = NONE;               // numbers of blocks
    };

    bool ask() {
        const Operation *operations = nullptr;
        const int64_t *offsets = nullptr;
        if (!callbacks_.refill_all(callbacks_.context, users_, &operations, &offsets)) return false;
        if (operations == nullptr) return true;
        const int32_t number = static_cast<int32_t>(users_.size());
        users_.push_back(0);
        for (size_t rank = 0; rank < places_.size(); ++rank) {
            if (offsets[rank] == offsets[rank + 1]) continue;
            places_[rank] = {operations + offsets[rank], operations + offsets[rank + 1], number, places_[rank].current};
            ++users_[number];
            ++waiting_;
        }
        return true;
    }

    const Callbacks callbacks_;
    std::vector<Place> places_;   // of ranks
    std::vector<int32_t> users_;  // of blocks: ranks that are in it, or have yet to begin it
    int64_t waiting_ = 0;         // ranks that have yet to begin the last one
};

}  // namespace commmodel
