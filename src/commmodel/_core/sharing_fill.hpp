// Sharing from nothing: all levels rise together; what is full first holds its flows down, and so on.
#pragma once

#include "sharing.hpp"

namespace commmodel {

inline void Sharing::hold_down(int32_t number, int32_t to, double level, double now) {
    Group &group = groups_[to];
    if (group.queue.empty()) {
        group.level = group.cap = level;
        group.time = 0;
        group.since = now;
        group.joined = 0;
        changed_.push_back(to);
    }
    join(number, to, now);
}

// Hold down the flows on a full link that no other does; return how many.
inline size_t Sharing::hold_all(int32_t number, double level, double now) {
    Link &full = links_[number];
    size_t count = 0;
    full.held = true;
    each_member(full, [&](const sharing::Member &member) {
        const Flow &flow = flows_[member.flow];
        if (flow.group != none) return;
        hold_down(member.flow, number, level, now);
        count++;
        for (const Use *use = begin(flow); use != end(flow); use++) {
            Link &link = links_[use->link];
            if (link.held) continue;
            double share = use->weight * flow.share;
            link.remaining -= share * level;
            link.rising -= share;
            link.risers--;
        }
    });
    return count;
}

// All links that are equally full come at once, while there are few different levels; then one after the other.
inline void Sharing::fill(double now) {
    constexpr int rounds = 6;
    for (int32_t number : living_) {
        Flow &flow = flows_[number];
        if (flow.group == none) continue;
        const Group &group = groups_[flow.group];
        flow.left = std::max(0.0, group.queue[flow.place].end - group.at(now));
    }
    for (const End &one : ends_) {
        groups_[one.group].queue.clear();
        groups_[one.group].place = -1;
    }
    ends_.clear();
    changed_.clear();
    double bound = sharing::infinite;
    for (int32_t number : living_) {
        flows_[number].group = none;
        bound = std::min(bound, flows_[number].bound);
    }
    for (int32_t number : used_) {
        Link &link = links_[number];
        link.held = false;
        link.remaining = link.capacity;
        link.rising = link.share.value();
        link.risers = link.live;
    }
    open_ = used_;
    reached_ = 0;
    size_t open = living_.size();
    for (int round = 0; round < rounds && open > 0; round++) {
        double level = sharing::infinite;
        levels_.clear();
        size_t kept = 0;
        for (int32_t number : open_) {
            const Link &link = links_[number];
            if (link.held || link.risers == 0) continue;
            open_[kept++] = number;
            levels_.push_back(std::max(reached_, link.remaining / link.rising));
            level = std::min(level, levels_.back());
        }
        open_.resize(kept);
        if (round > 0 && level < sharing::infinite) {
            const double close = level * (1 + 1e-11);
            level = sharing::infinite;
            for (size_t i = 0; i < kept; i++)
                if (levels_[i] <= close) level = std::min(level, levels_[i] = exact_level(open_[i]));
        }
        if (!(level < sharing::infinite && level <= bound * (1 + sharing::same_level))) break;
        reached_ = level;
        tight_.clear();
        for (size_t i = 0; i < kept; i++)
            if (levels_[i] <= level * (1 + sharing::same_level)) {
                links_[open_[i]].held = true;
                tight_.push_back(open_[i]);
            }
        for (int32_t link : tight_) {
            open -= hold_all(link, level, now);
            if (open == 0) break;
        }
    }
    if (open > 0) fill_rest(now, open);
    for (int32_t group : changed_) put_end(group, now);
    changed_.clear();
}

// The level at which a link is full, from all its flows: differences lose digits.
inline double Sharing::exact_level(int32_t number) {
    Link &link = links_[number];
    double taken = 0, rising = 0;
    each_member(link, [&](const sharing::Member &member) {
        int32_t group = flows_[member.flow].group;
        if (group == none)
            rising += member.share;
        else
            taken += member.share * groups_[group].level;
    });
    link.remaining = link.capacity - taken;
    link.rising = rising;
    return std::max(reached_, link.remaining / rising);
}

inline void Sharing::fill_rest(double now, size_t open) {
    tasks_.clear();
    waiting_.clear();
    for (int32_t number : open_) {
        Link &link = links_[number];
        if (link.held || link.risers == 0) continue;
        tasks_.push_back({std::max(reached_, link.remaining / link.rising), LINK, number});
    }
    std::make_heap(tasks_.begin(), tasks_.end(), std::greater<Task>());
    for (int32_t number : living_)
        if (flows_[number].group == none) waiting_.push_back({flows_[number].bound, number});
    std::sort(waiting_.begin(), waiting_.end());
    size_t bounded = 0;
    while (open > 0) {
        while (flows_[waiting_[bounded].second].group != none) bounded++;
        auto [bound, number] = waiting_[bounded];
        if (!tasks_.empty() && tasks_[0].level < bound) {
            Task task = tasks_[0];
            std::pop_heap(tasks_.begin(), tasks_.end(), std::greater<Task>());
            tasks_.pop_back();
            Link &link = links_[task.number];
            if (link.risers == 0) continue;
            double level = link.remaining / link.rising;
            if (level <= task.level * (1 + sharing::same_level)) level = exact_level(task.number);
            if (level > task.level * (1 + sharing::same_level)) {
                tasks_.push_back({level, LINK, task.number});
                std::push_heap(tasks_.begin(), tasks_.end(), std::greater<Task>());
                continue;
            }
            reached_ = std::max(reached_, level);
            open -= hold_all(task.number, reached_, now);
        } else {
            const Flow &flow = flows_[number];
            reached_ = std::max(reached_, bound);
            hold_down(number, own_group(number), bound, now);
            open--;
            for (const Use *use = begin(flow); use != end(flow); use++) {
                Link &link = links_[use->link];
                double share = use->weight * flow.share;
                link.remaining -= share * bound;
                link.rising -= share;
                link.risers--;
            }
        }
    }
}

}  // namespace commmodel
