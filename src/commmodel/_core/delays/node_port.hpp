// A port of a node: messages that pass it at the same time have equal shares of it.
//
// A message needs the port for its gap when it is alone. Virtual time goes on as the work of each message does, by 1/n
// with n of them; one is through when virtual time is its begin there and its gap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace commmodel::delays {

class NodePort {
  public:
    // Let a message begin at a time, which never falls; `passed(message, time)` is told of those that are through.
    template <class Passed> double begin(int32_t message, double gap, double time, Passed passed) {
        advance(time, passed);
        if (count() > 0) virtual_ += (time - now_) / static_cast<double>(count());
        now_ = time;
        const Passage added{virtual_ + gap, message};
        const auto place = std::upper_bound(inside_.begin() + static_cast<ptrdiff_t>(first_), inside_.end(), added);
        inside_.insert(place, added);
        return added.end;
    }

    // Tell of those that are through by a time. Else nothing changes, so that asking often loses nothing by rounding.
    template <class Passed> void advance(double time, Passed passed) {
        while (first_ < inside_.size()) {
            const double through = now_ + (inside_[first_].end - virtual_) * static_cast<double>(count());
            if (through > time) break;
            now_ = std::max(now_, through);
            virtual_ = inside_[first_].end;
            passed(inside_[first_++].message, now_);
        }
        if (first_ == inside_.size()) {
            inside_.clear();
            first_ = 0;
        } else if (first_ > LEAST_FREE && 2 * first_ > inside_.size()) {
            inside_.erase(inside_.begin(), inside_.begin() + static_cast<ptrdiff_t>(first_));
            first_ = 0;
        }
    }

    // When a message that is inside, and ends at this virtual time, is through if no other one begins.
    double through(double end) const {
        double time = now_, before = virtual_;
        size_t left = count();
        for (size_t place = first_; place < inside_.size() && inside_[place].end <= end; ++place, --left) {
            time += (inside_[place].end - before) * static_cast<double>(left);
            before = inside_[place].end;
        }
        return time;
    }

  private:
    static constexpr size_t LEAST_FREE = 64;
    struct Passage {
        double end;  // virtual
        int32_t message;
        bool operator<(const Passage &other) const { return end < other.end; }
    };

    size_t count() const { return inside_.size() - first_; }

    std::vector<Passage> inside_;  // from `first_` on, ascending
    size_t first_ = 0;
    double now_ = 0.0, virtual_ = 0.0;  // when a message last began or was through
};

}  // namespace commmodel::delays
