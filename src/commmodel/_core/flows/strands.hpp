// Operations that a rank of a live program carries out beside its own, those of a non-blocking collective: a strand has a
// number above those of ranks, and a place among them, but sends and receives as its rank.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "flows/ranks.hpp"
#include "program/live.hpp"
#include "program/requests.hpp"

namespace commmodel {

class Strands {
  public:
    explicit Strands(int32_t ranks) : ranks_(ranks) {}

    int32_t ranks() const { return ranks_; }
    bool is_rank(int32_t number) const { return number < ranks_; }
    // The rank of a strand, or of a rank itself.
    int32_t rank(int32_t number) const { return is_rank(number) ? number : strands_[number - ranks_].rank; }
    // That the rank waits for.
    int32_t request(int32_t number) const { return strands_[number - ranks_].request; }

    // Begin the next one; its number.
    int32_t begin(Live &live, std::vector<Rank> &ranks, Requests<Request> &requests) {
        int32_t number = static_cast<int32_t>(ranks.size());
        if (unused_.empty()) {
            ranks.emplace_back();
            strands_.emplace_back();
        } else {
            number = unused_.back();
            unused_.pop_back();
            ranks[number] = Rank();
        }
        Strand &strand = strands_[number - ranks_];
        int32_t name;
        live.begin_strand(number, strand.rank, name);
        Rank &rank = ranks[strand.rank];
        strand.request = requests.open(strand.rank, {name, NONE, NONE, 0.0, false, false}, rank.first_request);
        rank.highest_name = std::max(rank.highest_name, name);
        return number;
    }

    void end(int32_t number, const std::vector<Rank> &ranks) {
        if (ranks[number].open_unnamed == 0) unused_.push_back(number);
    }

  private:
    struct Strand {
        int32_t rank, request;
    };
    int32_t ranks_;
    std::vector<Strand> strands_;
    std::vector<int32_t> unused_;  // numbers
};

}  // namespace commmodel
