// Items in chunks, which stay where they are; places of dropped items are used again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "program/program.hpp"

namespace commmodel {

// LINK: the member that links unused items.
template <class Item, int32_t Item::*LINK> class Pool {
  public:
    Item &operator[](int32_t index) { return chunks_[static_cast<size_t>(index) >> BITS][index & (CHUNK - 1)]; }
    const Item &operator[](int32_t index) const {
        return chunks_[static_cast<size_t>(index) >> BITS][index & (CHUNK - 1)];
    }
    int32_t size() const { return made_; }  // all items ever in use have lower indices

    // The index of an item whose members have yet to be set.
    int32_t make() {
        int32_t index = unused_;
        if (index != NONE) {
            unused_ = (*this)[index].*LINK;
        } else {
            index = made_++;
            if ((static_cast<size_t>(index) >> BITS) == chunks_.size()) chunks_.emplace_back(new Item[CHUNK]);
        }
        return index;
    }

    int32_t add(const Item &item) {
        const int32_t index = make();
        (*this)[index] = item;
        return index;
    }

    void drop(int32_t index) {
        (*this)[index].*LINK = unused_;
        unused_ = index;
    }

  private:
    static constexpr int BITS = 14;
    static constexpr int32_t CHUNK = 1 << BITS;
    std::vector<std::unique_ptr<Item[]>> chunks_;
    int32_t made_ = 0, unused_ = NONE;
};

}  // namespace commmodel
