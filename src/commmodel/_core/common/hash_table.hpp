// A hash table by open addressing. An entry that is removed leaves no gap, so that the size is that of what is there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "common/constants.hpp"

namespace commmodel {

// Spread the bits of a number: 2^64 over the golden ratio.
inline uint64_t mixed(uint64_t bits) {
    bits *= 0x9E3779B97F4A7C15u;
    return bits ^ (bits >> 32);
}

// Two numbers, neither of which loses a bit.
inline uint64_t pair_of(int32_t high, int32_t low) {
    return (static_cast<uint64_t>(static_cast<uint32_t>(high)) << 32) | static_cast<uint32_t>(low);
}

inline uint64_t bits_of(double number) {
    uint64_t bits;
    std::memcpy(&bits, &number, sizeof bits);
    return bits;
}

// `Key` has `==` and `hash()`; `Value` has `first`, NONE where there is no entry, as when it is made; `SIZE`, a power of
// two, is the least number of slots.
template <class Key, class Value, size_t SIZE> class HashTable {
  public:
    HashTable() : slots_(SIZE), mask_(SIZE - 1) {}

    // The slot of a key's value, or the free one where it would be; holds until the next `fill` or `empty`.
    size_t find(const Key &key) const {
        size_t slot = home(key);
        while (slots_[slot].value.first != NONE && !(slots_[slot].key == key)) slot = (slot + 1) & mask_;
        return slot;
    }
    Value &operator[](size_t slot) { return slots_[slot].value; }
    const Value &operator[](size_t slot) const { return slots_[slot].value; }

    // Put a key's value into its free slot.
    void fill(size_t slot, const Key &key, const Value &value) {
        slots_[slot] = {key, value};
        if (2 * ++used_ > slots_.size()) grow();
    }

    // Take an entry out, and close the gap: no slot may be free between an entry's own place and where it is.
    void empty(size_t slot) {
        --used_;
        size_t gap = slot;
        for (size_t next = (gap + 1) & mask_; slots_[next].value.first != NONE; next = (next + 1) & mask_) {
            if (((next - home(slots_[next].key)) & mask_) < ((next - gap) & mask_)) continue;
            slots_[gap] = slots_[next];
            gap = next;
        }
        slots_[gap].value = Value();
    }

    // Give `take` each key and value, in the order of the slots.
    template <class Take> void each(Take take) {
        for (Slot &slot : slots_)
            if (slot.value.first != NONE) take(slot.key, slot.value);
    }

    void clear() {
        slots_.assign(slots_.size(), {});
        used_ = 0;
    }

  private:
    struct Slot {
        Key key{};
        Value value;
    };

    size_t home(const Key &key) const { return static_cast<size_t>(key.hash()) & mask_; }

    void grow() {
        std::vector<Slot> old(2 * slots_.size());
        old.swap(slots_);
        mask_ = slots_.size() - 1;
        for (const Slot &slot : old)
            if (slot.value.first != NONE) slots_[find(slot.key)] = slot;
    }

    std::vector<Slot> slots_;
    size_t mask_, used_ = 0;
};

// A value that is a number.
struct Number {
    int32_t first = NONE;
};

}  // namespace commmodel
