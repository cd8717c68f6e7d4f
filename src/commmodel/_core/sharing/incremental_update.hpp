// Sharing anew where little changed: levels are mended in rising order, from the changed links on.
//
// Below the level that has been reached all is final. A link that comes up has a fair level: what fills it when flows
// that others hold down count with their levels. Below its group's level: it holds down more, and lower. Above: its
// group is set free at its old level and rises, until this link or another is full.
//
// Only active links are looked at: those with a group, and those on which some level is so high that it could fill the
// link if all others there had it too. An active link keeps, for each group, what its flows there take together.
#pragma once

#include "sharing/sharing.hpp"

namespace commmodel {

// Count one flow more, and return the edge: it keeps its number as long as it has flows.
inline int32_t Sharing::add_edge(int32_t link, int32_t group, double share) {
    int32_t &known = table_(link, group);
    if (known < 0) {
        if (free_edges_.empty()) {
            known = static_cast<int32_t>(edges_.size());
            edges_.emplace_back();
        } else {
            known = free_edges_.back();
            free_edges_.pop_back();
        }
        edges_[known] = {link, group, static_cast<int32_t>(links_[link].edges.size()),
                         static_cast<int32_t>(groups_[group].edges.size()), 0, {}, 0};
        links_[link].edges.push_back(known);
        groups_[group].edges.push_back(known);
    }
    const int32_t number = known;
    Edge &edge = edges_[number];
    edge.count++;
    edge.share.add(share);
    Link &at = links_[link];
    if (!at.relaxed) return number;
    double level = groups_[group].level;
    if (edge.count == 1) {  // half as much again, where there is that much
        edge.grant = level * 1.5;
        if (share * edge.grant > at.remaining) edge.grant = level;
    }
    at.remaining -= share * edge.grant;
    if (at.risers > 0 || at.remaining < 0)
        watch(link);
    else
        groups_[group].promise = std::min(groups_[group].promise, edge.grant);
    return number;
}

inline void Sharing::drop_edge(int32_t number, double share) {
    Edge &edge = edges_[number];
    const int32_t link = edge.link, group = edge.group;
    if (links_[link].relaxed) links_[link].remaining += share * edge.grant;
    if (--edge.count > 0) {
        edge.share.add(-share);
        return;
    }
    std::vector<int32_t> &at_link = links_[link].edges, &at_group = groups_[group].edges;
    at_link[edge.at_link] = at_link.back();
    edges_[at_link.back()].at_link = edge.at_link;
    at_link.pop_back();
    at_group[edge.at_group] = at_group.back();
    edges_[at_group.back()].at_group = edge.at_group;
    at_group.pop_back();
    table_.erase(link, group);
    free_edges_.push_back(number);
}

inline void Sharing::touch(int32_t link) {
    if (links_[link].dirty) return;
    links_[link].dirty = true;
    dirty_.push_back(link);
}

// The level at which a link is full, were its own group and those that rise held down by it alone.
inline double Sharing::fair_level(int32_t number) const {
    const Link &link = links_[number];
    double level = reached_;
    for (;;) {  // Newton's method on a concave function, from below: ends after finitely many steps
        double taken = 0, rising = link.rising, next = sharing::infinite;
        for (int32_t one : link.edges) {
            const Edge &edge = edges_[one];
            const double cap = groups_[edge.group].cap, share = edge.share.value();
            if (edge.group == number) {
                rising += share;
            } else if (cap > level) {
                rising += share;
                next = std::min(next, cap);
            } else {
                taken += share * cap;
            }
        }
        if (!(rising > 0)) return sharing::infinite;
        const double full = (link.capacity - taken) / rising;
        const bool same = full < next || next == sharing::infinite;  // groups count with their levels there as here
        if (same) return std::max(level, full);
        level = full;
    }
}

inline void Sharing::push(double level, Kind kind, int32_t number) {
    tasks_.push_back({level, kind, number});
    std::push_heap(tasks_.begin(), tasks_.end(), std::greater<Task>());
}

inline void Sharing::queue_link(int32_t number) {
    if (!links_[number].looked) {
        links_[number].looked = true;
        looked_.push_back(number);
    }
    if (links_[number].key <= reached_) return;  // it comes next already
    const Group &group = groups_[number];
    double level = fair_level(number);
    if (!group.queue.empty() && !group.settled) level = std::min(level, std::max(reached_, group.cap));
    if (level >= links_[number].key) return;
    links_[number].key = level;
    push(level, LINK, number);
}

// A link has lost load: if it holds flows down, they may rise when their level comes up.
inline void Sharing::nudge(int32_t number) {
    const Group &group = groups_[number];
    if (group.queue.empty() || group.settled || group.cap == sharing::infinite) return;
    double level = std::max(reached_, group.level);
    if (level >= links_[number].key) return;
    links_[number].key = level;
    push(level, LINK, number);
}

// A link that is not full, and holds nothing down, grants each group the same part more than it has.
inline void Sharing::relax(int32_t number) {
    Link &link = links_[number];
    if (!link.active || link.relaxed || link.risers > 0 || !groups_[number].queue.empty()) return;
    double taken = 0;
    for (int32_t one : link.edges) taken += edges_[one].share.value() * groups_[edges_[one].group].level;
    const double more = grantable(link) / taken;
    if (more < 1.2) return;  // soon used up
    link.relaxed = true;
    link.remaining = 0;
    for (int32_t one : link.edges) {
        Group &group = groups_[edges_[one].group];
        edges_[one].grant = group.level * more;
        group.promise = std::min(group.promise, edges_[one].grant);
    }
}

inline void Sharing::watch(int32_t number) {
    links_[number].relaxed = false;
    queue_link(number);
}

inline void Sharing::activate(int32_t number) {
    Link &link = links_[number];
    link.active = true;
    link.relaxed = false;
    link.rising = 0;
    link.risers = 0;
    each_member(link, [&](const sharing::Member &member) {
        int32_t group = flows_[member.flow].group;
        if (group != none)
            edge_of_[member.use] = add_edge(number, group, member.share);
        else
            link.rising += member.share, link.risers++;
    });
    queue_link(number);
}

// A link that is not active may have got too narrow for what it promised.
inline void Sharing::check_promise(int32_t number) {
    Link &link = links_[number];
    double promise = wide(link);
    if (promise >= link.promise) return;
    if (link.live >= 8) promise *= 0.8;  // not again with the next flow
    bool broken = false;
    each_member(link, [&](const sharing::Member &member) {
        int32_t group = flows_[member.flow].group;
        if (group == none) return;
        if (groups_[group].level > promise) broken = true;
        groups_[group].promise = std::min(groups_[group].promise, promise);
    });
    link.promise = promise;
    if (broken) activate(number);
}

// Look at all links of a flow that rises; return up to which level there is no need to look again.
inline double Sharing::examine(int32_t number) {
    const Flow &flow = flows_[number];
    double level = flow.bound;
    for (const Use *use = begin(flow); use != end(flow); use++) {
        Link &link = links_[use->link];
        if (link.active) {
            if (!link.relaxed || flow.group != none) continue;
            double most = std::max(0.0, link.remaining) / link.rising;
            if (most <= reached_)
                watch(use->link);
            else
                level = std::min(level, most);
            continue;
        }
        link.promise = std::max(link.promise, wide(link) * (link.live < 8 ? 1 : 0.8));
        if (link.promise <= reached_)
            activate(use->link);
        else
            level = std::min(level, link.promise);
    }
    return level;
}

inline void Sharing::set_level(int32_t number, double level, double now) {
    Group &group = groups_[number];
    mark(number);
    if (group.queue.empty()) {
        group.time = 0;
        group.since = now;
        group.joined = 0;
        group.promise = sharing::infinite;
    } else if (level != group.level) {
        group.time = group.at(now);
        group.since = now;
    }
    group.level = group.cap = level;
    group.settled = true;
}

inline void Sharing::move(int32_t number, int32_t to, double now) {
    Flow &flow = flows_[number];
    const int32_t from = flow.group;
    if (from != none) {
        leave(number, now);
        mark(from);
    }
    double promise = to == own_group(number) ? sharing::infinite : flow.bound;
    for (const Use *use = begin(flow); use != end(flow); use++) {
        Link &link = links_[use->link];
        double share = use->weight * flow.share;
        if (!link.active) {
            promise = std::min(promise, link.promise);
            continue;
        }
        if (from != none)
            drop_edge(edge_of(use), share);
        else if (--link.risers == 0)
            link.rising = 0;
        else
            link.rising -= share;
        edge_of(use) = add_edge(use->link, to, share);
        if (use->link != to) nudge(use->link);
    }
    groups_[to].promise = std::min(groups_[to].promise, promise);
    join(number, to, now);
}

// Let a link hold down at a level all its flows that are above it.
inline void Sharing::hold(int32_t number, double level, double now) {
    Link &link = links_[number];
    Group &group = groups_[number];
    const double above = level * (1 + sharing::same_level);
    const bool lower = !group.queue.empty() && group.cap < sharing::infinite && level < group.level;
    size_t crowd = link.risers > 0 ? fresh_.size() : 0;
    bool any = link.risers > 0;
    for (int32_t one : link.edges) {
        int32_t other = edges_[one].group;
        if (other == number || groups_[other].cap <= above) continue;
        crowd += groups_[other].queue.size();
        any = true;
    }
    movers_.clear();
    if (any && crowd * 4 < link.members.size()) {  // look through the groups instead of the link
        auto uses_it = [&](int32_t flow) {
            for (const Use *use = begin(flows_[flow]); use != end(flows_[flow]); use++)
                if (use->link == number) return true;
            return false;
        };
        for (int32_t one : link.edges) {
            int32_t other = edges_[one].group;
            if (other == number || groups_[other].cap <= above) continue;
            for (const Waiting &waiting : groups_[other].queue)
                if (uses_it(waiting.flow)) movers_.push_back(waiting.flow);
        }
        if (link.risers > 0)
            for (int32_t flow : fresh_)
                if (flows_[flow].group == none && uses_it(flow)) movers_.push_back(flow);
    } else if (any) {
        each_member(link, [&](const sharing::Member &member) {
            int32_t other = flows_[member.flow].group;
            if (other == none || (other != number && groups_[other].cap > above)) movers_.push_back(member.flow);
        });
    }
    set_level(number, level, now);
    for (int32_t flow : movers_) move(flow, number, now);
    if (lower)
        for (int32_t one : group.edges)
            if (edges_[one].link != number) nudge(edges_[one].link);
}

inline void Sharing::hold_bounded(int32_t flow, double now) {
    set_level(own_group(flow), flows_[flow].bound, now);
    move(flow, own_group(flow), now);
}

inline void Sharing::start_rising(int32_t number) {
    Group &group = groups_[number];
    mark(number);
    group.cap = sharing::infinite;
    for (int32_t one : group.edges)
        if (!links_[edges_[one].link].relaxed) queue_link(edges_[one].link);
    push(std::max(reached_, group.promise), GROUP, number);
}

inline void Sharing::settle_link(int32_t number, double level, double now) {
    Link &link = links_[number];
    if (level != link.key) return;  // another entry counts
    link.key = sharing::infinite;
    Group &group = groups_[number];
    double fair = fair_level(number);
    if (fair == sharing::infinite) return;
    const bool held = !group.queue.empty() && group.cap < sharing::infinite;
    if (held && group.settled) {  // what rises on it since then stops at its level as well
        if (fair > std::max(level, group.level) * (1 + sharing::same_level)) return queue_link(number);
        fair = group.level;
    } else if (held && group.level <= level * (1 + sharing::same_level)) {
        if (fair > group.level * (1 + sharing::same_level)) return start_rising(number);
        if (fair > group.level * (1 - sharing::same_level)) fair = group.level;
    } else if (fair > level * (1 + sharing::same_level)) {
        return queue_link(number);
    }
    hold(number, fair, now);
}

inline void Sharing::settle_group(int32_t number, double now) {
    if (groups_[number].queue.empty() || groups_[number].cap < sharing::infinite) return;
    due_.clear();
    double promise = sharing::infinite;
    for (size_t i = 0; i < groups_[number].queue.size(); i++) {
        int32_t flow = groups_[number].queue[i].flow;
        double level = examine(flow);
        if (flows_[flow].bound <= reached_)
            due_.push_back(flow);
        else
            promise = std::min(promise, level);
    }
    for (int32_t one : groups_[number].edges) {
        const Edge &edge = edges_[one];
        if (!links_[edge.link].relaxed) continue;
        if (edge.grant <= reached_)
            watch(edge.link);
        else
            promise = std::min(promise, edge.grant);
    }
    groups_[number].promise = promise;
    if (promise < sharing::infinite) push(promise, GROUP, number);
    for (int32_t flow : due_) hold_bounded(flow, now);
}

inline void Sharing::mend(double now) {
    reached_ = 0;
    tasks_.clear();
    for (int32_t link : dirty_) {
        links_[link].dirty = false;
        if (links_[link].live == 0) continue;
        if (links_[link].relaxed)
            continue;
        else if (links_[link].active)
            queue_link(link);
        else
            check_promise(link);
    }
    dirty_.clear();
    for (int32_t flow : fresh_) push(examine(flow), FLOW, flow);
    while (!tasks_.empty()) {
        Task task = tasks_[0];
        std::pop_heap(tasks_.begin(), tasks_.end(), std::greater<Task>());
        tasks_.pop_back();
        reached_ = std::max(reached_, task.level);
        if (task.kind == LINK) {
            settle_link(task.number, task.level, now);
        } else if (task.kind == GROUP) {
            settle_group(task.number, now);
        } else if (flows_[task.number].group == none) {
            double level = examine(task.number);
            if (flows_[task.number].bound <= reached_)
                hold_bounded(task.number, now);
            else
                push(level, FLOW, task.number);
        }
    }
    fresh_.clear();
    close(now);
}

// Put the ends of the groups that changed in order.
inline void Sharing::close(double now) {
    for (int32_t number : changed_) {
        Group &group = groups_[number];
        group.changed = group.settled = false;
        group.cap = group.level;
        if (group.queue.empty()) {
            drop_end(number);
            continue;
        }
        if (static_cast<size_t>(group.joined) > 4 * group.queue.size() + 64) {  // virtual time from 0: keeps digits
            double time = group.at(now);
            for (Waiting &waiting : group.queue) waiting.end -= time;
            group.time = 0;
            group.since = now;
            group.joined = 0;
        }
        put_end(number, now);
    }
    changed_.clear();
    for (int32_t link : looked_) {
        links_[link].looked = false;
        relax(link);
    }
    looked_.clear();
}

}  // namespace commmodel
