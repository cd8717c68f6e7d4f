// Sharing of bandwidth among flows: weighted max-min fairness, solved anew only where something changed.
//
// Rates are max-min fair in fair shares (rate * penalty), with weight and bound: no share can rise but by lowering one
// that is no higher; no link is used beyond its capacity (a fatpipe: by any single flow); no rate is above the flow's
// bound. Sources: Bertsekas and Gallager, "Data Networks", 1992, Section 6.5; the weighting by penalties: Velho et al.
// 2013 (for TCP).
//
// Between two changes of the set of flows, rates are constant. So a caller adds flows and takes finished ones at one
// time, and asks for `next` when all changes of that time are made: bandwidth is shared once for all of them. Where many
// flows changed, that is done by progressive filling; where few did, by an incremental update.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sharing/flow_table.hpp"
#include "sharing/incremental_update.hpp"
#include "sharing/progressive_filling.hpp"

namespace commmodel {

class Sharing {
  public:
    // A fatpipe bounds each flow alone.
    Sharing(const std::vector<double> &capacity, const std::vector<uint8_t> &fatpipe) : table_(capacity, fatpipe) {}
    Sharing(const Sharing &) = delete;
    Sharing &operator=(const Sharing &) = delete;

    // Add a flow that moves `work` bytes of share from `now` on. uses: each link at most once, weights > 0.
    // penalty > 0, bound > 0 (may be infinite). Returns its number, reused after the flow has finished. Ask for `next`
    // at `now`, before time goes on.
    int32_t add(const Use *uses, int32_t count, double penalty, double bound, double work) {
        const int32_t flow = table_.add(uses, count, penalty, bound, work);
        solver_->note(flow);
        return flow;
    }

    // When the next flow finishes; infinite where there is none. Solves anew if flows were added or taken.
    double next(double now) {
        if (table_.settled < table_.living.size() || table_.taken > 0) solve(now);
        return solver_->next_end(now);
    }

    // Append the numbers of all flows that finish at `now` (which `next` gave; those within rounding of it as well),
    // in the order in which they were added, and take them out.
    void take_finished(double now, std::vector<int32_t> &finished) {
        solver_->take_finished(now, finished);
        if (!table_.living.empty()) return;
        use_progressive_filling(now);
        table_.reset_numbers();
    }

    // The rate of a flow at present, for tests and for the use of links.
    double rate(int32_t number) const {
        const sharing::Flow &flow = table_.flows[number];
        return flow.group == NONE ? 0 : solver_->fair_share(flow) * flow.demand;
    }

    // From now on, `take_changes` says what a solution changed.
    void keep_changes() { table_.changes = &changes_; }

    // Visit flows that may have got another bottleneck by the last solution, as (flow, bottleneck), and then links that
    // may have got another share as bottlenecks, as (link, share).
    template <class OfFlow, class OfLink> void take_changes(OfFlow of_flow, OfLink of_link) {
        const auto links = static_cast<int32_t>(table_.capacity.size());
        const bool all = !update_.is_running();
        for (const int32_t flow : all ? table_.living : changes_.flows) of_flow(flow, table_.flows[flow].group);
        if (all) {
            for (const int32_t number : table_.living) {
                const sharing::Flow &flow = table_.flows[number];
                if (flow.group < links) of_link(flow.group, flow.share);
            }
        } else {
            for (const int32_t group : changes_.groups)
                if (group < links) of_link(group, update_.share_of_group(group));
        }
        changes_.flows.clear();
    }

    size_t links() const { return table_.capacity.size(); }
    int64_t solutions() const { return solutions_; }  // times that bandwidth was shared anew

  private:
    void solve(double now) {
        constexpr size_t few = 16, part = 4;
        constexpr int32_t spare = 2;  // solutions from scratch that cost as much as to start an incremental update
        const size_t changes = table_.living.size() - table_.settled + static_cast<size_t>(table_.taken);
        solutions_++;
        const bool many = table_.living.size() <= few || changes * part > table_.living.size();
        spared_ = many ? 0 : spared_ + 1;
        if (many || (!update_.is_running() && !filling_.is_uneven() && spared_ <= spare)) {
            use_progressive_filling(now);
            filling_.solve(now);
        } else if (update_.is_running()) {
            update_.solve(now);
        } else {
            update_.start(now, filling_.since());
            solver_ = &update_;
        }
        table_.settled = table_.living.size();
        table_.taken = 0;
    }

    void use_progressive_filling(double now) {
        if (!update_.is_running()) return;
        update_.stop(now);
        filling_.restart(now);
        solver_ = &filling_;
    }

    sharing::FlowTable table_;
    sharing::ProgressiveFilling filling_{table_};
    sharing::IncrementalUpdate update_{table_};
    sharing::Solver *solver_ = &filling_;
    sharing::Changes changes_;
    int64_t solutions_ = 0;
    int32_t spared_ = 0;  // solutions from scratch in a row where little changed
};

}  // namespace commmodel
