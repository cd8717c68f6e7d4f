// Sharing of bandwidth among flows: weighted max-min fairness, solved anew only where something changed.
//
// A flow of rate x takes weight * x of each link that it uses. Its level is x * penalty. Rates are max-min fair in
// levels, with weight and bound: no level can rise but by lowering one that is no higher; no link is used beyond its
// capacity (a fatpipe: by any single flow); no rate is above the flow's bound. Sources: Bertsekas and Gallager, "Data
// Networks", 1992, Section 6.5; the weighting by penalties: Velho et al. 2013 (for TCP).
//
// Between two changes of the set of flows, rates are constant. So a caller adds flows and takes finished ones at one
// time, and asks for `next` when all changes of that time are made: bandwidth is shared once for all of them.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace commmodel {

struct Use {
    int32_t link;
    float weight;
};

class Sharing {
  public:
    // Set up links. A fatpipe bounds each flow alone.
    Sharing(const std::vector<double> &capacity, const std::vector<uint8_t> &fatpipe);

    // Add a flow that moves `work` bytes of share from `now` on. uses: each link at most once, weights > 0.
    // penalty > 0, bound > 0 (may be infinite). Returns its number, reused after the flow has finished.
    int32_t add(double now, const Use *uses, int32_t count, double penalty, double bound, double work);

    // When the next flow finishes; infinite where there is none. Shares bandwidth anew if flows were added or taken.
    double next(double now);

    // Append the numbers of all flows that finish at `now` (which `next` gave; those within rounding of it as well),
    // in the order in which they were added, and take them out.
    void take_finished(double now, std::vector<int32_t> &finished);

    // The rate of a flow at present, for tests and for the use of links.
    double rate(int32_t flow) const;

    int64_t solutions() const;  // times that bandwidth was shared anew
};

}  // namespace commmodel
