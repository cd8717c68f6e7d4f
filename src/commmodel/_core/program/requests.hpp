// Named requests that are open: a pool, a list for each rank, and a hash of (rank, name).
#pragma once

#include <cstdint>
#include <vector>

#include "program/program.hpp"

namespace commmodel {

struct Request {
    int32_t rank, name;
    int32_t before, after;  // among the rank's own
    double overhead;        // that its wait takes, once it is done
    bool done, awaited;     // awaited: its rank is in the wait for it
};

class Requests {
  public:
    Requests() : slots_(256, NONE) {}

    Request &at(int32_t index) { return pool_[index]; }

    // NONE where there is no such request.
    int32_t find(int32_t rank, int32_t name) const { return slots_[slot(rank, name)]; }

    // first: of the rank's list.
    int32_t open(int32_t rank, int32_t name, int32_t &first) {
        int32_t index = unused_;
        if (index != NONE) {
            unused_ = pool_[index].after;
        } else {
            index = static_cast<int32_t>(pool_.size());
            pool_.push_back({});
        }
        pool_[index] = {rank, name, NONE, first, 0.0, false, false};
        if (first != NONE) pool_[first].before = index;
        first = index;
        slots_[slot(rank, name)] = index;
        if (2 * ++open_ > slots_.size()) {
            std::vector<int32_t> old(2 * slots_.size(), NONE);
            old.swap(slots_);
            for (const int32_t one : old) {
                if (one != NONE) slots_[slot(pool_[one].rank, pool_[one].name)] = one;
            }
        }
        return index;
    }

    void close(int32_t index, int32_t &first) {
        const Request &request = pool_[index];
        (request.before == NONE ? first : pool_[request.before].after) = request.after;
        if (request.after != NONE) pool_[request.after].before = request.before;
        --open_;
        const size_t mask = slots_.size() - 1;
        size_t gap = slot(request.rank, request.name);
        for (size_t next = (gap + 1) & mask; slots_[next] != NONE; next = (next + 1) & mask) {
            const size_t own = place(pool_[slots_[next]].rank, pool_[slots_[next]].name);
            if (((next - own) & mask) >= ((next - gap) & mask)) {
                slots_[gap] = slots_[next];
                gap = next;
            }
        }
        slots_[gap] = NONE;
        pool_[index].after = unused_;
        unused_ = index;
    }

  private:
    size_t place(int32_t rank, int32_t name) const {
        uint64_t bits = (static_cast<uint64_t>(static_cast<uint32_t>(rank)) << 32) | static_cast<uint32_t>(name);
        bits *= 0x9E3779B97F4A7C15u;
        return static_cast<size_t>((bits ^ (bits >> 32)) & (slots_.size() - 1));
    }

    size_t slot(int32_t rank, int32_t name) const {
        size_t at = place(rank, name);
        for (; slots_[at] != NONE; at = (at + 1) & (slots_.size() - 1)) {
            if (pool_[slots_[at]].rank == rank && pool_[slots_[at]].name == name) break;
        }
        return at;
    }

    std::vector<Request> pool_;
    std::vector<int32_t> slots_;
    size_t open_ = 0;
    int32_t unused_ = NONE;
};

}  // namespace commmodel
