// When each rank acts next: above the ranks' times stand the least of eight each, up to a single time.
//
// What a rank does reaches no other sooner than the fastest message takes; so ranks act in rank order, each as far as
// that horizon: in the order of time alone each action would be that of another rank, and out of the cache.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/constants.hpp"

namespace commmodel {

class RankQueue {
  public:
    // fastest: least time from an action of a rank to its effect on another.
    RankQueue(int32_t ranks, double fastest) : fastest_(fastest) {
        size_t width = static_cast<size_t>(ranks), size = 0;
        std::vector<size_t> begins;
        do {
            begins.push_back(size);
            width = (width + FAN - 1) / FAN;
            size += width * FAN;
        } while (width > 1);
        times_.assign(size + 1, INFINITE);
        begins.push_back(size);
        for (const size_t begin : begins) levels_[top_++] = times_.data() + begin;
        --top_;
    }
    RankQueue(const RankQueue &) = delete;
    RankQueue &operator=(const RankQueue &) = delete;

    double least() const { return levels_[top_][0]; }
    double time(int32_t rank) const { return levels_[0][rank]; }

    // A time by which no message arrives that is yet to be sent, or else that of the next action. A hundredth is left
    // for rounding: three roundings, of 1.1e-16 each, lie in between.
    double horizon() const {
        const double now = least();
        return fastest_ > 1e-12 * now ? std::min(now + 0.99 * fastest_, LATEST) : std::min(now, LATEST);
    }

    void set(int32_t rank, double time) {
        size_t place = static_cast<size_t>(rank);
        double before = levels_[0][place];
        levels_[0][place] = time;
        for (int32_t level = 0; level < top_ && time != before; ++level) {
            place /= FAN;
            double &above = levels_[level + 1][place];
            if (time > before) {
                if (above != before) return;
                time = least_of(levels_[level] + place * FAN);
            } else if (above <= time) {
                return;
            }
            before = above;
            above = time;
        }
    }

    // The lowest rank that acts by then; there is one.
    int32_t next(double horizon) const {
        size_t place = 0;
        for (int32_t level = top_; level > 0; --level) {
            place *= FAN;
            while (levels_[level - 1][place] > horizon) ++place;
        }
        return static_cast<int32_t>(place);
    }

  private:
    static constexpr size_t FAN = 8;       // a cache line of times
    static constexpr int32_t LEVELS = 13;  // enough for 8^11 ranks

    static double least_of(const double *t) {
        return std::min(std::min(std::min(t[0], t[1]), std::min(t[2], t[3])),
                        std::min(std::min(t[4], t[5]), std::min(t[6], t[7])));
    }

    double fastest_;
    std::vector<double> times_;
    double *levels_[LEVELS] = {};
    int32_t top_ = 0;
};

}  // namespace commmodel
