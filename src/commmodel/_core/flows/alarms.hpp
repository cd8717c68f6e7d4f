// Times at which ranks that wait for anything to happen go on by themselves.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "program/program.hpp"

namespace commmodel {

class Alarms {
  public:
    explicit Alarms(int32_t ranks) : orders_(static_cast<size_t>(ranks)) {}

    // Replaces the rank's last one; none where the time is beyond all numbers.
    void set(double time, int32_t rank) {
        orders_[rank] = ++order_;
        if (time < INFINITE) alarms_.push({time, order_, rank});
    }

    void drop(int32_t rank) { orders_[rank] = 0; }

    // The time of the first one, that of `rank`; of equal ones, that which was set first.
    double first() {
        while (!alarms_.empty() && orders_[alarms_.top().rank] != alarms_.top().order) alarms_.pop();
        return alarms_.empty() ? INFINITE : alarms_.top().time;
    }

    int32_t rank() const { return alarms_.top().rank; }

  private:
    struct Alarm {
        double time;
        int64_t order;
        int32_t rank;
        bool operator<(const Alarm &other) const {  // for a queue whose first is the greatest
            return time != other.time ? time > other.time : order > other.order;
        }
    };

    std::priority_queue<Alarm> alarms_;
    std::vector<int64_t> orders_;  // of the alarm of each rank, 0 for none
    int64_t order_ = 0;
};

}  // namespace commmodel
