// Flows that share links, and the links that they use: what all solvers read.
//
// A flow of rate x takes weight * x of each link that it uses. Its fair share is x * penalty: that is what solvers
// compare between flows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "common/constants.hpp"

namespace commmodel {

struct Use {
    int32_t link;
    float weight;
};

namespace sharing {

constexpr double SAME_TIME = 1e-13;   // of a flow's duration: ends so close to one another are one
constexpr double SAME_SHARE = 1e-14;  // fair shares so close to one another are one
constexpr double ULPS = 4 * std::numeric_limits<double>::epsilon();

// Seconds before an end that count as the end: of a flow of such a total, at a fair share.
inline double same_end(double total, double share, double end) { return SAME_TIME * total / share + ULPS * end; }

// A sum without drift: what rounding loses of each term is kept apart.
struct Sum {
    double high = 0, low = 0;
    void add(double term) {
        double sum = high + term, back = sum - high;
        low += (high - (sum - back)) + (term - back);
        high = sum;
    }
    double value() const { return high + low; }
};

struct Flow {
    double demand;                   // 1 / penalty: its rate at a fair share of 1
    double bound;                    // fair share at its own bound
    double total;                    // work * penalty: of virtual time, alone
    double left;                     // of total, where no group's queue says it
    double share;                    // fair share, by progressive filling
    int32_t first, count, room = 0;  // its uses
    int32_t group;                   // number of its bottleneck: a link, or its own bound; NONE: no rate yet
};

// A link or a bound in the order in which it may become a bottleneck.
struct Task {
    double share;
    int32_t kind, number;
    int64_t order() const { return static_cast<int64_t>(kind) << 32 | number; }
    bool operator>(const Task &other) const {  // without branches, which no processor predicts in a heap
        return (share > other.share) | ((share == other.share) & (order() > other.order()));
    }
};

// What solutions may have changed: bottlenecks of flows, and shares of groups.
struct Changes {
    std::vector<int32_t> flows, groups;
};

class FlowTable {
  public:
    Changes *changes = nullptr;  // where incremental updates are to say what they change
    const std::vector<double> capacity;
    std::vector<Flow> flows;
    std::vector<Use> uses;
    std::vector<int32_t> living;  // flows in the network; those from `settled` on have no rate yet
    std::vector<int32_t> free_numbers;
    size_t settled = 0;
    int64_t taken = 0;  // flows that have left since the last solution

    // A fatpipe bounds each flow alone.
    FlowTable(const std::vector<double> &capacity, const std::vector<uint8_t> &fatpipe)
        : capacity(capacity), fatpipe_(fatpipe) {
        for (uint8_t is_fatpipe : fatpipe) fatpipes_ = fatpipes_ || is_fatpipe;
    }

    const Use *begin(const Flow &flow) const { return uses.data() + flow.first; }
    const Use *end(const Flow &flow) const { return uses.data() + flow.first + flow.count; }
    int32_t own_group(int32_t flow) const { return static_cast<int32_t>(capacity.size()) + flow; }

    int32_t add(const Use *first, int32_t count, double penalty, double bound, double work) {
        const int32_t number = new_number();
        Flow &flow = flows[number];
        if (flow.room < count) {
            flow.room = 4;
            while (flow.room < count) flow.room *= 2;
            flow.first = static_cast<int32_t>(room_);
            room_ += flow.room;
            if (room_ > uses.size()) uses.resize(std::max(room_, 2 * uses.size()));
        }
        flow.demand = 1 / penalty;
        flow.total = flow.left = work * penalty;
        flow.group = NONE;
        Use *copy = uses.data() + flow.first;
        if (!fatpipes_) {
            copy = std::copy(first, first + count, copy);
        } else {
            for (const Use *use = first; use != first + count; use++)
                if (fatpipe_[use->link])
                    bound = std::min(bound, capacity[use->link] / use->weight);
                else
                    *copy++ = *use;
        }
        flow.count = static_cast<int32_t>(copy - begin(flow));
        flow.bound = bound * penalty;
        living.push_back(number);
        return number;
    }

    // There is no flow: numbers begin anew, so that flows that are added together lie side by side.
    void reset_numbers() {
        free_numbers.clear();
        numbers_ = room_ = 0;
    }

  private:
    int32_t new_number() {
        if (!free_numbers.empty()) {
            const int32_t number = free_numbers.back();
            free_numbers.pop_back();
            return number;
        }
        if (numbers_ == flows.size()) flows.emplace_back();
        flows[numbers_].room = 0;
        return static_cast<int32_t>(numbers_++);
    }

    const std::vector<uint8_t> fatpipe_;
    bool fatpipes_ = false;
    size_t numbers_ = 0, room_ = 0;
};

}  // namespace sharing
}  // namespace commmodel
