// Sharing from nothing: all levels rise together; what is full first holds its flows down, and so on.
//
// Links keep nothing from one time to the next: sums are made anew by one pass over the flows, so that a flow costs
// nothing but its place in a list when it is added or taken. What is full at the same level is dealt with at once, by
// passes over the flows that still rise; where there are many different levels, links list their flows after a few.
#pragma once

#include "sharing/sharing.hpp"

namespace commmodel {

inline void Sharing::fill(double now) {
    constexpr int rounds = 6;
    first_key_ = first_end_ = sharing::infinite;
    last_key_ = 0;
    reached_ = 0;
    double bound = begin_filling(now);
    size_t open = living_.size();
    for (int round = 0; round < rounds && open > 0; round++) {
        const double level = find_levels();
        if (level < sharing::infinite && level <= bound * (1 + sharing::same_level)) {
            reached_ = level;
            const double same = level * (1 + sharing::same_level);
            for (size_t i = 0; i < filling_; i++)
                if (levels_[i] <= same) loads_[full_[i]].mark = mark_ + 1;
            open = hold_open(open, round == 0, now, [this](int32_t, const Flow &flow) {
                for (const Use *use = begin(flow), *last = end(flow); use != last; use++)
                    if (loads_[use->link].mark == mark_ + 1) return use->link;
                return none;
            });
        } else {
            reached_ = std::max(reached_, bound);
            const double same = bound * (1 + sharing::same_level);
            open = hold_open(open, round == 0, now, [this, same](int32_t number, const Flow &flow) {
                return flow.bound <= same ? own_group(number) : none;
            });
        }
        if (open > 0) bound = rise_on(open);
    }
    uneven_ = open > 0;
    if (uneven_) fill_rest(now, open);
}

// Make the sums of links, and note what is left of flows. Return the lowest bound.
inline double Sharing::begin_filling(double now) {
    const double passed = std::max(0.0, now - since_);
    since_ = now;
    mark_ += 2;
    some_held_ = false;
    full_.resize(capacity_.size());  // once: it stays as large
    int32_t *used = full_.data();
    keys_.resize(living_.size());
    double bound = sharing::infinite;
    for (size_t i = 0; i < living_.size(); i++) {
        Flow &flow = flows_[living_[i]];
        if (i < settled_ && passed > 0) flow.left = std::max(0.0, flow.left - flow.level * passed);
        flow.group = none;
        bound = std::min(bound, flow.bound);
        used = look_at(flow, used);
    }
    filling_ = static_cast<size_t>(used - full_.data());
    return bound;
}

// Add a flow that rises to the sums of its links; list at `used` those that no flow before it used.
inline int32_t *Sharing::look_at(const Flow &flow, int32_t *used) {
    Load *const loads = loads_.data();
    const int64_t mark = mark_;
    const double share = flow.share;
    for (const Use *use = begin(flow), *last = end(flow); use != last; use++) {
        Load &load = loads[use->link];
        if (load.mark != mark) {
            load.rising = {use->weight * share, 0};
            load.mark = mark;
            load.risers = 1;
            load.holds = 0;
            *used++ = use->link;
        } else {
            load.rising.add(use->weight * share);
            load.risers++;
        }
    }
    return used;
}

// Make sums of the links anew for the flows that still rise: differences would lose digits. Note what the others,
// which are held down by now, take of these links. Return the lowest bound.
inline double Sharing::rise_on(size_t open) {
    double bound = sharing::infinite;
    mark_ += 2;
    int32_t *used = full_.data();  // none that it did not list before
    for (size_t i = 0; i < open; i++) {
        const Flow &flow = flows_[living_[open_[i]]];
        bound = std::min(bound, flow.bound);
        used = look_at(flow, used);
    }
    filling_ = static_cast<size_t>(used - full_.data());
    if (!some_held_)
        for (size_t i = 0; i < filling_; i++) taken_of_[full_[i]] = {};
    some_held_ = true;
    for (int32_t number : held_) {
        const Flow &flow = flows_[number];
        for (const Use *use = begin(flow), *last = end(flow); use != last; use++)
            if (loads_[use->link].mark == mark_) taken_of_[use->link].add(use->weight * flow.share * flow.level);
    }
    return bound;
}

// The level at which a link is full: what is held down stays as it is, the rest rises.
inline double Sharing::level_of(int32_t number) const {
    const Load &load = loads_[number];
    double room = capacity_[number];
    if (some_held_) room -= taken_of_[number].value();
    return std::max(reached_, room / load.rising.value());
}

// Find the levels at which links are full on which something rises; return the lowest.
inline double Sharing::find_levels() {
    double lowest = sharing::infinite;
    size_t kept = 0;
    if (levels_.size() < filling_) levels_.resize(filling_);
    for (size_t i = 0; i < filling_; i++) {
        const int32_t number = full_[i];
        const Load &load = loads_[number];
        if (load.mark != mark_ || load.risers == 0) continue;
        const double level = level_of(number);
        full_[kept] = number;
        levels_[kept++] = level;
        lowest = std::min(lowest, level);
    }
    filling_ = kept;
    return lowest;
}

inline void Sharing::hold_down(int32_t at, int32_t group, double level, double now) {
    Flow &flow = flows_[living_[at]];
    flow.group = group;
    flow.level = level;
    if (group < static_cast<int32_t>(capacity_.size())) loads_[group].holds++;
    const double end = flow.left > 0 ? now + flow.left / level : now;
    double key = end;
    if (end < sharing::infinite) key -= sharing::same_time * flow.total / level + sharing::ulps * end;
    keys_[at] = key;
    if (key < first_key_) {
        first_key_ = key;
        first_end_ = end;
    }
    last_key_ = std::max(last_key_, key);
}

// Hold down those flows that rise for which `choose` names a group; return how many still rise.
template <class Choose> size_t Sharing::hold_open(size_t open, bool first, double now, Choose choose) {
    size_t kept = 0;
    held_.clear();
    if (first) open_.resize(open);
    for (size_t i = 0; i < open; i++) {
        const int32_t at = first ? static_cast<int32_t>(i) : open_[i], number = living_[at];
        const Flow &flow = flows_[number];
        const int32_t group = choose(number, flow);
        if (group == none) {
            open_[kept++] = at;
        } else {
            const bool own = group >= static_cast<int32_t>(capacity_.size());
            hold_down(at, group, own ? flow.bound : reached_, now);
            held_.push_back(number);
        }
    }
    return kept;
}

// List for each link the flows on it that rise.
inline void Sharing::list_members(size_t open) {
    int32_t first = 0;
    places_.resize(capacity_.size());
    for (size_t i = 0; i < filling_; i++) {
        places_[full_[i]] = first;
        first += loads_[full_[i]].risers;
    }
    members_.resize(static_cast<size_t>(first));
    for (size_t i = 0; i < open; i++) {
        const Flow &flow = flows_[living_[open_[i]]];
        for (const Use *use = begin(flow), *last = end(flow); use != last; use++)
            members_[places_[use->link]++] = open_[i];
    }
    for (size_t i = 0; i < filling_; i++) places_[full_[i]] -= loads_[full_[i]].risers;
}

// A flow is held down while others rise on its links.
inline void Sharing::take_load_off(const Flow &flow) {
    for (const Use *use = begin(flow), *last = end(flow); use != last; use++) {
        Load &load = loads_[use->link];
        if (load.mark != mark_) continue;
        const double share = use->weight * flow.share;
        taken_of_[use->link].add(share * flow.level);
        load.rising.add(-share);
        load.risers--;
    }
}

// One link or bound after the other.
inline void Sharing::fill_rest(double now, size_t open) {
    find_levels();
    list_members(open);
    tasks_.clear();
    waiting_.clear();
    std::vector<int32_t> &counts = held_;
    counts.clear();
    for (size_t i = 0; i < filling_; i++) {
        tasks_.push_back({levels_[i], static_cast<int32_t>(i), full_[i]});
        counts.push_back(loads_[full_[i]].risers);
    }
    std::make_heap(tasks_.begin(), tasks_.end(), std::greater<Task>());
    for (size_t i = 0; i < open; i++) waiting_.push_back({flows_[living_[open_[i]]].bound, open_[i]});
    std::sort(waiting_.begin(), waiting_.end());
    size_t bounded = 0;
    const auto hold = [&](int32_t at, int32_t group, double level) {
        hold_down(at, group, level, now);
        take_load_off(flows_[living_[at]]);
        open--;
    };
    while (open > 0) {
        while (flows_[living_[waiting_[bounded].second]].group != none) bounded++;
        const auto [bound, at] = waiting_[bounded];
        if (tasks_.empty() || bound <= tasks_[0].level) {
            reached_ = std::max(reached_, bound);
            hold(at, own_group(living_[at]), bound);
            continue;
        }
        Task task = tasks_[0];
        std::pop_heap(tasks_.begin(), tasks_.end(), std::greater<Task>());
        tasks_.pop_back();
        Load &load = loads_[task.number];
        if (load.risers == 0) continue;
        const double level = level_of(task.number);
        if (level > task.level * (1 + sharing::same_level)) {
            task.level = level;
            tasks_.push_back(task);
            std::push_heap(tasks_.begin(), tasks_.end(), std::greater<Task>());
            continue;
        }
        reached_ = std::max(reached_, level);
        load.mark = mark_ + 1;
        for (int32_t i = 0; i < counts[task.kind]; i++) {
            const int32_t member = members_[places_[task.number] + i];
            if (flows_[living_[member]].group == none) hold(member, task.number, reached_);
        }
    }
}

inline void Sharing::take_due(double now, std::vector<int32_t> &finished) {
    if (!(first_key_ <= now)) return;
    first_key_ = first_end_ = sharing::infinite;
    const size_t first = finished.size();
    if (last_key_ <= now && settled_ == living_.size()) {  // all at once
        finished.insert(finished.end(), living_.begin(), living_.end());
        living_.clear();
        settled_ = 0;
        return;
    }
    size_t kept = 0, next = 0;
    for (size_t i = 0; i < living_.size(); i++) {
        const int32_t number = living_[i];
        if (i < settled_ && keys_[i] <= now) {
            finished.push_back(number);
            continue;
        }
        if (i < settled_) {
            keys_[kept] = keys_[i];
            if (keys_[kept] < keys_[next]) next = kept;
        }
        living_[kept++] = number;
    }
    const size_t count = finished.size() - first;
    settled_ -= count;
    living_.resize(kept);
    free_.insert(free_.end(), finished.begin() + static_cast<std::ptrdiff_t>(first), finished.end());
    if (!leave_all_held(&finished[first], count)) {
        taken_ += static_cast<int64_t>(count);
    } else if (settled_ > 0 && taken_ == 0) {
        const Flow &flow = flows_[living_[next]];
        first_key_ = keys_[next];
        first_end_ = flow.left > 0 ? since_ + flow.left / flow.level : since_;
    }
}

// Are the other flows still held down as they were, by links that finished flows did not use?
inline bool Sharing::leave_all_held(const int32_t *finished, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const int32_t group = flows_[finished[i]].group;
        if (group < static_cast<int32_t>(capacity_.size())) loads_[group].holds--;
    }
    for (size_t i = 0; i < count; i++) {
        const Flow &flow = flows_[finished[i]];
        for (const Use *use = begin(flow), *last = end(flow); use != last; use++)
            if (loads_[use->link].holds > 0) return false;
    }
    return true;
}

}  // namespace commmodel
