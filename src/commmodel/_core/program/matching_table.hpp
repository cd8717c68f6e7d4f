// Where the queues are of what waits for a match: (rank, source, tag) -> queue, by open addressing. A queue that empties
// is taken out and the gap closed, so that the size is that of what waits. Requests are
// found by it, too: (rank, name, 0) -> request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "program/program.hpp"

namespace commmodel {

struct MatchingKey {
    int32_t rank, source, tag;
    bool operator==(const MatchingKey &other) const {
        return rank == other.rank && source == other.source && tag == other.tag;
    }
};

// `Queue` has `first`, NONE where it is empty, as when it is made; `SIZE`, a power of two, is the least number of slots.
template <class Queue, size_t SIZE> class MatchingTable {
  public:
    MatchingTable() : slots_(SIZE), mask_(SIZE - 1) {}

    // The slot of a key's queue, or the free one where it would be; holds until the next `fill` or `empty`.
    size_t find(const MatchingKey &key) const {
        size_t slot = place(key);
        while (slots_[slot].queue.first != NONE && !(slots_[slot].key == key)) slot = (slot + 1) & mask_;
        return slot;
    }
    Queue &operator[](size_t slot) { return slots_[slot].queue; }
    const Queue &operator[](size_t slot) const { return slots_[slot].queue; }

    // Put a key's queue, which is not empty, into its free slot.
    void fill(size_t slot, const MatchingKey &key, const Queue &queue) {
        slots_[slot] = {key, queue};
        if (2 * ++used_ > slots_.size()) grow();
    }

    // Take a queue out.
    void empty(size_t slot) {
        --used_;  // close the gap: no slot may be free between a queue's own place and where it is
        size_t gap = slot;
        for (size_t next = (gap + 1) & mask_; slots_[next].queue.first != NONE; next = (next + 1) & mask_) {
            const size_t own = place(slots_[next].key);
            if (((next - own) & mask_) >= ((next - gap) & mask_)) {
                slots_[gap] = slots_[next];
                gap = next;
            }
        }
        slots_[gap].queue.first = NONE;
    }

  private:
    struct Slot {
        MatchingKey key{0, 0, 0};
        Queue queue;
    };

    size_t place(const MatchingKey &key) const {
        uint64_t bits =
            (static_cast<uint64_t>(static_cast<uint32_t>(key.rank)) << 32) | static_cast<uint32_t>(key.source);
        bits = (bits + static_cast<uint32_t>(key.tag) * 0xD6E8FEB86659FD93u) * 0x9E3779B97F4A7C15u;
        return static_cast<size_t>(bits ^ (bits >> 32)) & mask_;
    }

    void grow() {
        std::vector<Slot> old(2 * slots_.size());
        old.swap(slots_);
        mask_ = slots_.size() - 1;
        for (const Slot &one : old)
            if (one.queue.first != NONE) slots_[find(one.key)] = one;
    }

    std::vector<Slot> slots_;
    size_t mask_, used_ = 0;
};

}  // namespace commmodel
