// Interface of the solvers: what gives flows their rates, and knows which of them ends first.
#pragma once

#include <vector>

#include "sharing/flow_table.hpp"

namespace commmodel::sharing {

class Solver {
  public:
    virtual ~Solver() = default;

    // A flow was added to the table.
    virtual void note(int32_t flow) = 0;

    // Give all flows their rates from `now` on.
    virtual void solve(double now) = 0;

    // When the next flow ends; infinite where there is none.
    virtual double next_end(double now) const = 0;

    // Take out of the table all flows that end at `now`, and append their numbers in the order in which they were added.
    virtual void take_finished(double now, std::vector<int32_t> &finished) = 0;

    // The fair share of a flow that has a rate.
    virtual double fair_share(const Flow &flow) const = 0;

  protected:
    explicit Solver(FlowTable &table) : table_(table) {}

    FlowTable &table_;
};

}  // namespace commmodel::sharing
