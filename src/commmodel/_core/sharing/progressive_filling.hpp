// Progressive filling: raise all rates together; a saturated link freezes its flows. The reference implementation.
//
// Links keep nothing from one solution to the next: sums are made anew by one pass over the flows, so that a flow costs
// nothing but its place in a list when it is added or taken. All links that are saturated at the same fair share are
// handled at once, by passes over the flows that still rise; where there are many different shares, links list their
// flows after a few.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "sharing/solver.hpp"

namespace commmodel::sharing {

class ProgressiveFilling final : public Solver {
  public:
    explicit ProgressiveFilling(FlowTable &table)
        : Solver(table), loads_(table.capacity.size()), taken_of_(table.capacity.size()) {}

    void note(int32_t) override {}
    void solve(double now) override;
    double next_end(double now) const override { return std::max(now, first_end_); }
    void take_finished(double now, std::vector<int32_t> &finished) override;
    double fair_share(const Flow &flow) const override { return flow.share; }

    // Whether the last solution had many different fair shares.
    bool is_uneven() const { return uneven_; }

    // When `left` of all flows was last updated.
    double since() const { return since_; }

    // Go on from here: `left` of all flows is that at `now`.
    void restart(double now) {
        since_ = now;
        first_key_ = first_end_ = INFINITE;
    }

  private:
    // Of a link: half a cache line, as thousands of links are visited in turns.
    struct alignas(32) Load {
        Sum rising;          // of the demands of rising flows
        int64_t mark = 0;    // when it was last visited; odd: it is saturated
        int32_t risers = 0;  // rising flows
        int32_t holds = 0;   // flows whose bottleneck it is
    };

    double begin(double now);
    double find_shares();
    template <class Choose> size_t freeze_rising(size_t open, bool first, double now, Choose choose);
    void freeze(int32_t at, int32_t group, double share, double now);
    int32_t *visit(const Flow &flow, int32_t *used);
    double continue_with(size_t open);
    void freeze_rest(double now, size_t open);
    void take_load_off(const Flow &flow);
    void list_members(size_t open);
    double share_of(int32_t link) const;
    bool keep_bottlenecks(const int32_t *finished, size_t count);

    std::vector<Load> loads_;
    std::vector<Sum> taken_of_;  // of each link: what frozen flows take
    std::vector<double> keys_;   // of each living flow: its end, less what counts as the same time
    double since_ = 0, first_key_ = INFINITE, first_end_ = INFINITE, last_key_ = 0;
    bool uneven_ = false;

    // Within `solve`.
    std::vector<int32_t> links_;  // the first `listed_`: links with rising flows
    std::vector<double> shares_;  // of these links
    std::vector<int32_t> rising_, frozen_, members_, places_;
    std::vector<std::pair<double, int32_t>> bounds_;
    std::vector<Task> tasks_;
    size_t listed_ = 0;
    int64_t mark_ = 0;
    double reached_ = 0;  // the fair share up to which all is final
    bool some_frozen_ = false;
};

inline void ProgressiveFilling::solve(double now) {
    constexpr int rounds = 6;
    first_key_ = first_end_ = INFINITE;
    last_key_ = 0;
    reached_ = 0;
    double bound = begin(now);
    size_t open = table_.living.size();
    for (int round = 0; round < rounds && open > 0; round++) {
        const double share = find_shares();
        if (share < INFINITE && share <= bound * (1 + SAME_SHARE)) {
            reached_ = share;
            const double same = share * (1 + SAME_SHARE);
            for (size_t i = 0; i < listed_; i++)
                if (shares_[i] <= same) loads_[links_[i]].mark = mark_ + 1;
            open = freeze_rising(open, round == 0, now, [this](int32_t, const Flow &flow) {
                for (const Use *use = table_.begin(flow), *last = table_.end(flow); use != last; use++)
                    if (loads_[use->link].mark == mark_ + 1) return use->link;
                return NONE;
            });
        } else {
            reached_ = std::max(reached_, bound);
            const double same = bound * (1 + SAME_SHARE);
            open = freeze_rising(open, round == 0, now, [this, same](int32_t number, const Flow &flow) {
                return flow.bound <= same ? table_.own_group(number) : NONE;
            });
        }
        if (open > 0) bound = continue_with(open);
    }
    uneven_ = open > 0;
    if (uneven_) freeze_rest(now, open);
}

// Sum up the demands on links, and update what is left of flows. Return the lowest bound.
inline double ProgressiveFilling::begin(double now) {
    const double passed = std::max(0.0, now - since_);
    since_ = now;
    mark_ += 2;
    some_frozen_ = false;
    links_.resize(table_.capacity.size());  // once: it stays as large
    int32_t *used = links_.data();
    keys_.resize(table_.living.size());
    double bound = INFINITE;
    for (size_t i = 0; i < table_.living.size(); i++) {
        Flow &flow = table_.flows[table_.living[i]];
        if (i < table_.settled && passed > 0) flow.left = std::max(0.0, flow.left - flow.share * passed);
        flow.group = NONE;
        bound = std::min(bound, flow.bound);
        used = visit(flow, used);
    }
    listed_ = static_cast<size_t>(used - links_.data());
    return bound;
}

// Add a rising flow to the sums of its links; list at `used` those that no flow before it used.
inline int32_t *ProgressiveFilling::visit(const Flow &flow, int32_t *used) {
    Load *const loads = loads_.data();
    const int64_t mark = mark_;
    const double demand = flow.demand;
    for (const Use *use = table_.begin(flow), *last = table_.end(flow); use != last; use++) {
        Load &load = loads[use->link];
        if (load.mark != mark) {
            load.rising = {use->weight * demand, 0};
            load.mark = mark;
            load.risers = 1;
            load.holds = 0;
            *used++ = use->link;
        } else {
            load.rising.add(use->weight * demand);
            load.risers++;
        }
    }
    return used;
}

// Sum up anew for the flows that still rise: differences would lose digits. Add up what the frozen ones take of their
// links. Return the lowest bound.
inline double ProgressiveFilling::continue_with(size_t open) {
    double bound = INFINITE;
    mark_ += 2;
    int32_t *used = links_.data();  // links not listed yet
    for (size_t i = 0; i < open; i++) {
        const Flow &flow = table_.flows[table_.living[rising_[i]]];
        bound = std::min(bound, flow.bound);
        used = visit(flow, used);
    }
    listed_ = static_cast<size_t>(used - links_.data());
    if (!some_frozen_)
        for (size_t i = 0; i < listed_; i++) taken_of_[links_[i]] = {};
    some_frozen_ = true;
    for (int32_t number : frozen_) {
        const Flow &flow = table_.flows[number];
        for (const Use *use = table_.begin(flow), *last = table_.end(flow); use != last; use++)
            if (loads_[use->link].mark == mark_) taken_of_[use->link].add(use->weight * flow.demand * flow.share);
    }
    return bound;
}

// The fair share at which a link is saturated: frozen flows stay as they are, the others rise.
inline double ProgressiveFilling::share_of(int32_t number) const {
    const Load &load = loads_[number];
    double room = table_.capacity[number];
    if (some_frozen_) room -= taken_of_[number].value();
    return std::max(reached_, room / load.rising.value());
}

// Find the fair shares at which the links with rising flows are saturated; return the lowest.
inline double ProgressiveFilling::find_shares() {
    double lowest = INFINITE;
    size_t kept = 0;
    if (shares_.size() < listed_) shares_.resize(listed_);
    for (size_t i = 0; i < listed_; i++) {
        const int32_t number = links_[i];
        const Load &load = loads_[number];
        if (load.mark != mark_ || load.risers == 0) continue;
        const double share = share_of(number);
        links_[kept] = number;
        shares_[kept++] = share;
        lowest = std::min(lowest, share);
    }
    listed_ = kept;
    return lowest;
}

inline void ProgressiveFilling::freeze(int32_t at, int32_t group, double share, double now) {
    Flow &flow = table_.flows[table_.living[at]];
    flow.group = group;
    flow.share = share;
    if (group < static_cast<int32_t>(table_.capacity.size())) loads_[group].holds++;
    const double end = flow.left > 0 ? now + flow.left / share : now;
    double key = end;
    if (end < INFINITE) key -= same_end(flow.total, share, end);
    keys_[at] = key;
    if (key < first_key_) {
        first_key_ = key;
        first_end_ = end;
    }
    last_key_ = std::max(last_key_, key);
}

// Freeze those rising flows for which `choose` names a bottleneck; return how many still rise.
template <class Choose> size_t ProgressiveFilling::freeze_rising(size_t open, bool first, double now, Choose choose) {
    size_t kept = 0;
    frozen_.clear();
    if (first) rising_.resize(open);
    for (size_t i = 0; i < open; i++) {
        const int32_t at = first ? static_cast<int32_t>(i) : rising_[i], number = table_.living[at];
        const Flow &flow = table_.flows[number];
        const int32_t group = choose(number, flow);
        if (group == NONE) {
            rising_[kept++] = at;
        } else {
            const bool bounded = group >= static_cast<int32_t>(table_.capacity.size());
            freeze(at, group, bounded ? flow.bound : reached_, now);
            frozen_.push_back(number);
        }
    }
    return kept;
}

// List the rising flows of each link.
inline void ProgressiveFilling::list_members(size_t open) {
    int32_t first = 0;
    places_.resize(table_.capacity.size());
    for (size_t i = 0; i < listed_; i++) {
        places_[links_[i]] = first;
        first += loads_[links_[i]].risers;
    }
    members_.resize(static_cast<size_t>(first));
    for (size_t i = 0; i < open; i++) {
        const Flow &flow = table_.flows[table_.living[rising_[i]]];
        for (const Use *use = table_.begin(flow), *last = table_.end(flow); use != last; use++)
            members_[places_[use->link]++] = rising_[i];
    }
    for (size_t i = 0; i < listed_; i++) places_[links_[i]] -= loads_[links_[i]].risers;
}

// A flow is frozen while others rise on its links.
inline void ProgressiveFilling::take_load_off(const Flow &flow) {
    for (const Use *use = table_.begin(flow), *last = table_.end(flow); use != last; use++) {
        Load &load = loads_[use->link];
        if (load.mark != mark_) continue;
        const double demand = use->weight * flow.demand;
        taken_of_[use->link].add(demand * flow.share);
        load.rising.add(-demand);
        load.risers--;
    }
}

// One link or bound after the other.
inline void ProgressiveFilling::freeze_rest(double now, size_t open) {
    find_shares();
    list_members(open);
    tasks_.clear();
    bounds_.clear();
    std::vector<int32_t> &counts = frozen_;
    counts.clear();
    for (size_t i = 0; i < listed_; i++) {
        tasks_.push_back({shares_[i], static_cast<int32_t>(i), links_[i]});
        counts.push_back(loads_[links_[i]].risers);
    }
    std::make_heap(tasks_.begin(), tasks_.end(), std::greater<Task>());
    for (size_t i = 0; i < open; i++) bounds_.push_back({table_.flows[table_.living[rising_[i]]].bound, rising_[i]});
    std::sort(bounds_.begin(), bounds_.end());
    size_t bounded = 0;
    const auto freeze_at = [&](int32_t at, int32_t group, double share) {
        freeze(at, group, share, now);
        take_load_off(table_.flows[table_.living[at]]);
        open--;
    };
    while (open > 0) {
        while (table_.flows[table_.living[bounds_[bounded].second]].group != NONE) bounded++;
        const auto [bound, at] = bounds_[bounded];
        if (tasks_.empty() || bound <= tasks_[0].share) {
            reached_ = std::max(reached_, bound);
            freeze_at(at, table_.own_group(table_.living[at]), bound);
            continue;
        }
        Task task = tasks_[0];
        std::pop_heap(tasks_.begin(), tasks_.end(), std::greater<Task>());
        tasks_.pop_back();
        Load &load = loads_[task.number];
        if (load.risers == 0) continue;
        const double share = share_of(task.number);
        if (share > task.share * (1 + SAME_SHARE)) {
            task.share = share;
            tasks_.push_back(task);
            std::push_heap(tasks_.begin(), tasks_.end(), std::greater<Task>());
            continue;
        }
        reached_ = std::max(reached_, share);
        load.mark = mark_ + 1;
        for (int32_t i = 0; i < counts[task.kind]; i++) {
            const int32_t member = members_[places_[task.number] + i];
            if (table_.flows[table_.living[member]].group == NONE) freeze_at(member, task.number, reached_);
        }
    }
}

inline void ProgressiveFilling::take_finished(double now, std::vector<int32_t> &finished) {
    if (!(first_key_ <= now)) return;
    first_key_ = first_end_ = INFINITE;
    const size_t first = finished.size();
    if (last_key_ <= now && table_.settled == table_.living.size()) {  // all at once
        finished.insert(finished.end(), table_.living.begin(), table_.living.end());
        table_.living.clear();
        table_.settled = 0;
        return;
    }
    size_t kept = 0, next = 0;
    for (size_t i = 0; i < table_.living.size(); i++) {
        const int32_t number = table_.living[i];
        if (i < table_.settled && keys_[i] <= now) {
            finished.push_back(number);
            continue;
        }
        if (i < table_.settled) {
            keys_[kept] = keys_[i];
            if (keys_[kept] < keys_[next]) next = kept;
        }
        table_.living[kept++] = number;
    }
    const size_t count = finished.size() - first;
    table_.settled -= count;
    table_.living.resize(kept);
    table_.free_numbers.insert(table_.free_numbers.end(), finished.begin() + static_cast<std::ptrdiff_t>(first),
                               finished.end());
    if (!keep_bottlenecks(&finished[first], count)) {
        table_.taken += static_cast<int64_t>(count);
    } else if (table_.settled > 0 && table_.taken == 0) {
        const Flow &flow = table_.flows[table_.living[next]];
        first_key_ = keys_[next];
        first_end_ = flow.left > 0 ? since_ + flow.left / flow.share : since_;
    }
}

// Do all other flows keep their bottlenecks, as finished flows used none of them?
inline bool ProgressiveFilling::keep_bottlenecks(const int32_t *finished, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const int32_t group = table_.flows[finished[i]].group;
        if (group < static_cast<int32_t>(table_.capacity.size())) loads_[group].holds--;
    }
    for (size_t i = 0; i < count; i++) {
        const Flow &flow = table_.flows[finished[i]];
        for (const Use *use = table_.begin(flow), *last = table_.end(flow); use != last; use++)
            if (loads_[use->link].holds > 0) return false;
    }
    return true;
}

}  // namespace commmodel::sharing
