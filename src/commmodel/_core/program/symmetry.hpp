// A symmetry of ranks: what one of them does, others do as well, with partners that are as far away.
//
// A rank's number is a number in a mixed radix: a lowest digit, which has a value for each representative, and digits
// above it. To add to these digits, each modulo its base, moves every rank to another one. With base 2 in each place, that
// is XOR; with one digit, rotation; with one for each dimension, translation in a periodic grid.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "program/program.hpp"

namespace commmodel {

class Symmetry {
  public:
    Symmetry(int32_t representatives, std::vector<int32_t> bases)
        : representatives_(representatives), ranks_(representatives), bases_(std::move(bases)),
          is_xor_((representatives & (representatives - 1)) == 0) {
        for (const int32_t base : bases_) {
            ranks_ *= base;
            is_xor_ = is_xor_ && base == 2;
        }
    }

    int32_t ranks() const { return ranks_; }
    int32_t representatives() const { return representatives_; }   // ranks 0 to representatives - 1
    int32_t members() const { return ranks_ / representatives_; }  // ranks for which each of them stands

    int32_t representative(int32_t rank) const { return rank < representatives_ ? rank : rank % representatives_; }

    // Which rank is to the representative of `from` what `rank` is to `from`.
    int32_t relative(int32_t rank, int32_t from) const { return moved(rank, from, -1); }

    // Which rank is to a rank what `rank` is to its representative: to the rank with the place `member` among its like.
    int32_t image(int32_t rank, int32_t member) const { return moved(rank, member * representatives_, 1); }

  private:
    // Add the digits of another rank, or take them away.
    int32_t moved(int32_t rank, int32_t other, int32_t sign) const {
        const int32_t lowest = representative(other);
        if (is_xor_) return rank ^ (other - lowest);
        int32_t left = rank / representatives_, amount = other / representatives_, stride = representatives_;
        int32_t result = rank - left * representatives_;
        for (const int32_t base : bases_) {
            int32_t digit = left % base + sign * (amount % base);
            if (digit < 0) digit += base;
            if (digit >= base) digit -= base;
            result += digit * stride;
            stride *= base;
            left /= base;
            amount /= base;
        }
        return result;
    }

    int32_t representatives_, ranks_;
    std::vector<int32_t> bases_;  // of the digits above the lowest
    bool is_xor_;                 // all digits are bits
};

inline bool has_peer(const Operation &operation) {
    return operation.code == SEND || operation.code == ISEND || operation.code == RECV || operation.code == IRECV;
}

// Whether it means the same for each rank that carries it out.
inline bool can_be_shared(const Operation &operation, int32_t ranks) {
    switch (operation.code) {
        case SEND:
        case ISEND:
        case RECV:
        case IRECV: return operation.peer >= 0 && operation.peer < ranks && operation.tag != ANY;
        case COMPUTE:
        case SLEEP:
        case WAIT:
        case WAITALL:
        case MARK: return true;
        default: return false;
    }
}

// Whether all ranks do what their representatives do. offsets: where the operations of each rank begin, and the end.
inline bool holds(const Symmetry &symmetry, const Operation *operations, const int64_t *offsets) {
    const int32_t ranks = symmetry.ranks(), representatives = symmetry.representatives();
    for (int64_t place = 0; place < offsets[representatives]; ++place)
        if (!can_be_shared(operations[place], ranks)) return false;
    for (int32_t rank = representatives; rank < ranks; ++rank) {
        const int32_t first = symmetry.representative(rank);
        const Operation *like = operations + offsets[first], *own = operations + offsets[rank];
        const Operation *const end = operations + offsets[rank + 1];
        if (end - own != offsets[first + 1] - offsets[first]) return false;
        for (; own < end; ++own, ++like) {
            if (own->code != like->code || own->tag != like->tag || own->request != like->request) return false;
            if (!(own->value == like->value)) return false;
            if (!has_peer(*own)) continue;
            if (own->peer < 0 || own->peer >= ranks || symmetry.relative(own->peer, rank) != like->peer) return false;
        }
    }
    return true;
}

}  // namespace commmodel
