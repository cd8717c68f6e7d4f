// What ranks wait for when nothing goes on any more: by rank, in the order of posting, no more than people read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "program/program.hpp"

namespace commmodel {

class Deadlock {
  public:
    void add(int64_t order, const Hanging &hanging) { entries_.emplace_back(order, hanging); }

    std::vector<Hanging> report() {
        std::sort(entries_.begin(), entries_.end(), [](const Entry &a, const Entry &b) {
            return a.second.rank != b.second.rank ? a.second.rank < b.second.rank : a.first < b.first;
        });
        std::vector<Hanging> report;
        int32_t rank = NONE, listed = 0;
        for (const Entry &entry : entries_) {
            listed = entry.second.rank == rank ? listed + 1 : 1;
            rank = entry.second.rank;
            if (listed > MOST_OF_A_RANK) continue;
            if (report.size() == MOST) break;
            report.push_back(entry.second);
        }
        return report;
    }

  private:
    using Entry = std::pair<int64_t, Hanging>;
    static constexpr int32_t MOST_OF_A_RANK = 4;
    static constexpr size_t MOST = 10000;
    std::vector<Entry> entries_;
};

}  // namespace commmodel
