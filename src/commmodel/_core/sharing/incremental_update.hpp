// Incremental update: where few flows changed, fair shares are updated in rising order, from the changed links on.
//
// Below the fair share that has been reached all is final. A link that comes up has a fair share of its own: what
// saturates it when flows with another bottleneck count with their shares. Below its group's share: it becomes the
// bottleneck of more flows, at a lower share. Above: its group is released at its old share and rises, until this link or
// another is saturated.
//
// Only active links are looked at: those with a group, and those on which some share is so high that it could saturate
// the link if all others there had it too. An active link keeps, for each group, what its flows there take together.
// docs/theory/sharing.md says why that suffices.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "sharing/flow_groups.hpp"
#include "sharing/links.hpp"
#include "sharing/solver.hpp"

namespace commmodel::sharing {

class IncrementalUpdate final : public Solver {
  public:
    explicit IncrementalUpdate(FlowTable &table) : Solver(table), groups_(table) {}

    // Take over from progressive filling, and solve. since: when `left` of all flows was last updated.
    void start(double now, double since);

    // Leave a list of flows, in the order in which they were added, with what is left of each.
    void stop(double now);

    bool is_running() const { return running_; }

    void note(int32_t flow) override;
    void solve(double now) override;
    double next_end(double now) const override { return groups_.next_end(now); }
    void take_finished(double now, std::vector<int32_t> &finished) override;
    double fair_share(const Flow &flow) const override { return groups_[flow.group].share; }
    double share_of_group(int32_t group) const { return groups_[group].share; }

  private:
    enum Kind { LINK, GROUP, FLOW };

    static constexpr int32_t MANY = 8;         // flows on a link
    static constexpr double RESERVE = 0.8;     // part of what such a link can promise
    static constexpr double GRANTED = 1.5;     // a group's share that it gets, where there is that much
    static constexpr double LEAST_MORE = 1.2;  // share to grant, else it is soon used up

    // Up to this share of all its flows, a link is not saturated.
    static double wide(const Link &link) { return link.capacity / link.demand.value() * (1 - 1e-9); }
    static double grantable(const Link &link) { return link.capacity * (1 - 1e-6); }

    // What a link promises that is not active: of many flows less than it could, or it would be looked at with each more.
    static double promise_of(const Link &link) { return wide(link) * (link.live < MANY ? 1 : RESERVE); }
    void mark(int32_t group) {
        if (groups_[group].changed) return;
        groups_[group].changed = true;
        changed_.push_back(group);
    }

    void make_room();
    void make_groups(double now, double since);
    void update(double now);
    int32_t add_edge(int32_t link, int32_t group, double demand);
    double fair_share_of(int32_t link) const;
    void look_at(int32_t link);
    void queue_link(int32_t link);
    void nudge(int32_t link);
    void activate(int32_t link);
    void watch(int32_t link);
    void relax(int32_t link);
    void check_promise(int32_t link);
    double examine(int32_t flow);
    void settle_link(int32_t link, double share, double now);
    void settle_group(int32_t group, double now);
    void start_rising(int32_t link);
    void make_bottleneck(int32_t link, double share, double now);
    void settle_at_bound(int32_t flow, double now);
    void set_share(int32_t group, double share, double now);
    void move(int32_t flow, int32_t group, double now);
    void push(double share, Kind kind, int32_t number);
    void close(double now);

    bool running_ = false;
    FlowGroups groups_;
    LinkTable links_{table_, groups_};
    std::vector<int32_t> fresh_, gone_, changed_, looked_;  // since the last solution
    int64_t added_ = 0;

    // Within `solve`.
    std::vector<Task> tasks_;
    std::vector<int32_t> movers_, due_;
    double reached_ = 0;  // the fair share up to which all is final
};

inline void IncrementalUpdate::make_room() {
    groups_.resize();
    links_.resize();
}

inline void IncrementalUpdate::note(int32_t flow) {
    fresh_.push_back(flow);
    make_room();
    groups_.positions[flow].order = added_++;
    groups_.positions[flow].living = static_cast<int32_t>(table_.living.size()) - 1;
}

inline void IncrementalUpdate::solve(double now) {
    for (int32_t flow : gone_) links_.take_off(flow);
    gone_.clear();
    for (int32_t flow : fresh_) links_.put_on(flow, true);
    update(now);
}

// Flows are taken out of their groups' queues; links hear of it with the next solution.
inline void IncrementalUpdate::take_finished(double now, std::vector<int32_t> &finished) {
    const size_t first = finished.size();
    due_.clear();
    groups_.list_due(now, due_);
    if (due_.empty()) return;
    for (int32_t group : due_) groups_.take_due(group, now, finished);
    auto older = [this](int32_t a, int32_t b) { return groups_.positions[a].order < groups_.positions[b].order; };
    if (!std::is_sorted(finished.begin() + first, finished.end(), older))
        std::sort(finished.begin() + first, finished.end(), older);
    for (size_t i = first; i < finished.size(); i++) {
        const int32_t place = groups_.positions[finished[i]].living;
        table_.living[place] = table_.living.back();
        groups_.positions[table_.living.back()].living = place;
        table_.living.pop_back();
        gone_.push_back(finished[i]);
    }
    table_.taken += static_cast<int64_t>(finished.size() - first);
    table_.settled -= finished.size() - first;
    if (table_.living.empty()) {  // all at once
        groups_.clear_ends();
    } else {
        for (int32_t number : due_)
            if (groups_[number].queue.empty())
                groups_.drop_end(number);
            else
                groups_.put_end(number, now);
    }
}

// Make groups of the flows that have their shares from progressive filling.
inline void IncrementalUpdate::make_groups(double now, double since) {
    changed_.clear();
    for (size_t i = 0; i < table_.settled; i++) {
        Flow &flow = table_.flows[table_.living[i]];
        if (now > since) flow.left = std::max(0.0, flow.left - flow.share * (now - since));
        Group &group = groups_[flow.group];
        if (group.queue.empty()) {
            group.share = group.cap = flow.share;
            group.open(now);
            changed_.push_back(flow.group);
        }
        groups_.join(table_.living[i], flow.group, now);
    }
    for (int32_t group : changed_) groups_.put_end(group, now);
    changed_.clear();
}

inline void IncrementalUpdate::start(double now, double since) {
    make_room();
    for (size_t i = 0; i < table_.living.size(); i++) {
        groups_.positions[table_.living[i]].order = added_++;
        groups_.positions[table_.living[i]].living = static_cast<int32_t>(i);
        links_.put_on(table_.living[i], false);
    }
    fresh_.assign(table_.living.begin() + static_cast<std::ptrdiff_t>(table_.settled), table_.living.end());
    make_groups(now, since);
    for (int32_t number : links_.used()) {
        Link &link = links_[number];
        link.active = !groups_[number].queue.empty();
        link.relaxed = false;
        link.promise = promise_of(link);
        link.rising = 0;
        link.risers = 0;
        links_.touch(number);
    }
    for (int32_t number : table_.living) {
        const Flow &flow = table_.flows[number];
        if (flow.group == NONE) continue;
        for (const Use *use = table_.begin(flow); use != table_.end(flow); use++)
            if (groups_[flow.group].share > links_[use->link].promise) links_[use->link].active = true;
    }
    for (int32_t number : table_.living) {
        const Flow &flow = table_.flows[number];
        double promise = flow.group == table_.own_group(number) ? INFINITE : flow.bound;
        for (const Use *use = table_.begin(flow); use != table_.end(flow); use++) {
            Link &link = links_[use->link];
            double demand = use->weight * flow.demand;
            if (!link.active)
                promise = std::min(promise, link.promise);
            else if (flow.group != NONE)
                links_.edge_of(use) = add_edge(use->link, flow.group, demand);
            else
                link.rising += demand, link.risers++;
        }
        if (flow.group != NONE) groups_[flow.group].promise = std::min(groups_[flow.group].promise, promise);
    }
    running_ = true;
    update(now);
}

inline void IncrementalUpdate::stop(double now) {
    for (int32_t number : table_.living) {
        Flow &flow = table_.flows[number];
        if (flow.group != NONE) flow.left = groups_.left(number, now);
    }
    std::sort(table_.living.begin(), table_.living.end(),
              [this](int32_t a, int32_t b) { return groups_.positions[a].order < groups_.positions[b].order; });
    groups_.clear_ends();
    links_.clear();
    table_.free_numbers.insert(table_.free_numbers.end(), gone_.begin(), gone_.end());
    gone_.clear();
    fresh_.clear();
    running_ = false;
}

// Count one flow more on the edge of a link and a group.
inline int32_t IncrementalUpdate::add_edge(int32_t link, int32_t group, double demand) {
    const int32_t number = links_.add_edge(link, group, demand);
    Edge &edge = links_.edges[number];
    Link &at = links_[link];
    if (!at.relaxed) return number;
    double share = groups_[group].share;
    if (edge.count == 1) {
        edge.grant = share * GRANTED;
        if (demand * edge.grant > at.remaining) edge.grant = share;
    }
    at.remaining -= demand * edge.grant;
    if (at.risers > 0 || at.remaining < 0)
        watch(link);
    else
        groups_[group].promise = std::min(groups_[group].promise, edge.grant);
    return number;
}

// The fair share at which a link is saturated, were it the only bottleneck of its own group and of rising flows.
inline double IncrementalUpdate::fair_share_of(int32_t number) const {
    const Link &link = links_[number];
    double share = reached_;
    for (;;) {  // Newton's method on a concave function, from below: ends after finitely many steps
        double taken = 0, rising = link.rising, next = INFINITE;
        for (int32_t edge_number : link.edges) {
            const Edge &edge = links_.edges[edge_number];
            const double cap = groups_[edge.group].cap, demand = edge.demand.value();
            if (edge.group == number) {
                rising += demand;
            } else if (cap > share) {
                rising += demand;
                next = std::min(next, cap);
            } else {
                taken += demand * cap;
            }
        }
        if (!(rising > 0)) return INFINITE;
        const double full = (link.capacity - taken) / rising;
        const bool same = full < next || next == INFINITE;  // groups count with their fair shares there as here
        if (same) return std::max(share, full);
        share = full;
    }
}

inline void IncrementalUpdate::push(double share, Kind kind, int32_t number) {
    tasks_.push_back({share, kind, number});
    std::push_heap(tasks_.begin(), tasks_.end(), std::greater<Task>());
}

// Note that a link may be relaxed when all is settled.
inline void IncrementalUpdate::look_at(int32_t number) {
    if (links_[number].looked) return;
    links_[number].looked = true;
    looked_.push_back(number);
}

inline void IncrementalUpdate::queue_link(int32_t number) {
    look_at(number);
    if (links_[number].key <= reached_) return;  // it comes next already
    const Group &group = groups_[number];
    double share = fair_share_of(number);
    if (!group.queue.empty() && !group.settled) share = std::min(share, std::max(reached_, group.cap));
    if (share >= links_[number].key) return;
    links_[number].key = share;
    push(share, LINK, number);
}

// A link has lost load: if it holds flows down, they may rise when their share comes up.
inline void IncrementalUpdate::nudge(int32_t number) {
    const Group &group = groups_[number];
    if (group.queue.empty() || group.settled || group.cap == INFINITE) return;
    double share = std::max(reached_, group.share);
    if (share >= links_[number].key) return;
    links_[number].key = share;
    push(share, LINK, number);
}

// A link that is neither saturated nor a bottleneck grants each group the same part more than it has.
inline void IncrementalUpdate::relax(int32_t number) {
    Link &link = links_[number];
    if (!link.active || link.relaxed || link.risers > 0 || !groups_[number].queue.empty()) return;
    double taken = 0;
    for (int32_t edge_number : link.edges)
        taken += links_.edges[edge_number].demand.value() * groups_[links_.edges[edge_number].group].share;
    const double more = grantable(link) / taken;
    if (more < LEAST_MORE) return;
    link.relaxed = true;
    link.remaining = 0;
    for (int32_t edge_number : link.edges) {
        Group &group = groups_[links_.edges[edge_number].group];
        links_.edges[edge_number].grant = group.share * more;
        group.promise = std::min(group.promise, links_.edges[edge_number].grant);
    }
}

inline void IncrementalUpdate::watch(int32_t number) {
    links_[number].relaxed = false;
    queue_link(number);
}

inline void IncrementalUpdate::activate(int32_t number) {
    Link &link = links_[number];
    link.active = true;
    link.relaxed = false;
    link.rising = 0;
    link.risers = 0;
    links_.each_member(link, [&](const Member &member) {
        int32_t group = table_.flows[member.flow].group;
        if (group != NONE)
            links_.edge_of(table_.uses.data() + member.use) = add_edge(number, group, member.demand);
        else
            link.rising += member.demand, link.risers++;
    });
    queue_link(number);
}

// A link that is not active may have got too narrow for what it promised.
inline void IncrementalUpdate::check_promise(int32_t number) {
    Link &link = links_[number];
    if (wide(link) >= link.promise) return;
    const double promise = promise_of(link);
    bool broken = false;
    links_.each_member(link, [&](const Member &member) {
        int32_t group = table_.flows[member.flow].group;
        if (group == NONE) return;
        if (groups_[group].share > promise) broken = true;
        groups_[group].promise = std::min(groups_[group].promise, promise);
    });
    link.promise = promise;
    if (broken) activate(number);
}

// Look at all links of a flow that rises; return up to which share there is no need to look again.
inline double IncrementalUpdate::examine(int32_t number) {
    const Flow &flow = table_.flows[number];
    double share = flow.bound;
    for (const Use *use = table_.begin(flow); use != table_.end(flow); use++) {
        Link &link = links_[use->link];
        if (link.active) {
            if (!link.relaxed || flow.group != NONE) continue;
            double most = std::max(0.0, link.remaining) / link.rising;
            if (most <= reached_)
                watch(use->link);
            else
                share = std::min(share, most);
            continue;
        }
        link.promise = std::max(link.promise, promise_of(link));
        if (link.promise <= reached_)
            activate(use->link);
        else
            share = std::min(share, link.promise);
    }
    return share;
}

inline void IncrementalUpdate::set_share(int32_t number, double share, double now) {
    Group &group = groups_[number];
    mark(number);
    if (group.queue.empty()) {
        group.open(now);
    } else if (share != group.share) {
        group.time = group.at(now);
        group.since = now;
    }
    group.share = group.cap = share;
    group.settled = true;
}

inline void IncrementalUpdate::move(int32_t number, int32_t to, double now) {
    Flow &flow = table_.flows[number];
    const int32_t from = flow.group;
    if (table_.changes != nullptr) table_.changes->flows.push_back(number);
    if (from != NONE) {
        groups_.leave(number, now);
        mark(from);
    }
    double promise = to == table_.own_group(number) ? INFINITE : flow.bound;
    for (const Use *use = table_.begin(flow); use != table_.end(flow); use++) {
        Link &link = links_[use->link];
        double demand = use->weight * flow.demand;
        if (!link.active) {
            promise = std::min(promise, link.promise);
            continue;
        }
        if (from != NONE)
            links_.drop_edge(links_.edge_of(use), demand);
        else if (--link.risers == 0)
            link.rising = 0;
        else
            link.rising -= demand;
        links_.edge_of(use) = add_edge(use->link, to, demand);
        if (use->link != to) nudge(use->link);
    }
    groups_[to].promise = std::min(groups_[to].promise, promise);
    groups_.join(number, to, now);
}

// Make a link the bottleneck of all its flows whose share is above a fair share.
inline void IncrementalUpdate::make_bottleneck(int32_t number, double share, double now) {
    Link &link = links_[number];
    Group &group = groups_[number];
    const double above = share * (1 + SAME_SHARE);
    const bool lower = !group.queue.empty() && group.cap < INFINITE && share < group.share;
    size_t crowd = link.risers > 0 ? fresh_.size() : 0;
    bool any = link.risers > 0;
    for (int32_t edge_number : link.edges) {
        int32_t other = links_.edges[edge_number].group;
        if (other == number || groups_[other].cap <= above) continue;
        crowd += groups_[other].queue.size();
        any = true;
    }
    movers_.clear();
    if (any && crowd * 4 < link.members.size()) {  // look through the groups instead of the link
        auto uses_it = [&](int32_t flow) {
            for (const Use *use = table_.begin(table_.flows[flow]); use != table_.end(table_.flows[flow]); use++)
                if (use->link == number) return true;
            return false;
        };
        for (int32_t edge_number : link.edges) {
            int32_t other = links_.edges[edge_number].group;
            if (other == number || groups_[other].cap <= above) continue;
            for (const Waiting &waiting : groups_[other].queue)
                if (uses_it(waiting.flow)) movers_.push_back(waiting.flow);
        }
        if (link.risers > 0)
            for (int32_t flow : fresh_)
                if (table_.flows[flow].group == NONE && uses_it(flow)) movers_.push_back(flow);
    } else if (any) {
        links_.each_member(link, [&](const Member &member) {
            int32_t other = table_.flows[member.flow].group;
            if (other == NONE || (other != number && groups_[other].cap > above)) movers_.push_back(member.flow);
        });
    }
    set_share(number, share, now);
    for (int32_t flow : movers_) move(flow, number, now);
    if (lower)
        for (int32_t edge_number : group.edges)
            if (links_.edges[edge_number].link != number) nudge(links_.edges[edge_number].link);
}

inline void IncrementalUpdate::settle_at_bound(int32_t flow, double now) {
    set_share(table_.own_group(flow), table_.flows[flow].bound, now);
    move(flow, table_.own_group(flow), now);
}

inline void IncrementalUpdate::start_rising(int32_t number) {
    Group &group = groups_[number];
    mark(number);
    group.cap = INFINITE;
    for (int32_t edge_number : group.edges)
        if (!links_[links_.edges[edge_number].link].relaxed) queue_link(links_.edges[edge_number].link);
    push(std::max(reached_, group.promise), GROUP, number);
}

inline void IncrementalUpdate::settle_link(int32_t number, double share, double now) {
    Link &link = links_[number];
    if (share != link.key) return;  // another entry counts
    link.key = INFINITE;
    Group &group = groups_[number];
    double fair = fair_share_of(number);
    if (fair == INFINITE) return;
    const bool held = !group.queue.empty() && group.cap < INFINITE;
    if (held && group.settled) {  // what rises on it since then stops at its share as well
        if (fair > std::max(share, group.share) * (1 + SAME_SHARE)) return queue_link(number);
        fair = group.share;
    } else if (held && group.share <= share * (1 + SAME_SHARE)) {
        if (fair > group.share * (1 + SAME_SHARE)) return start_rising(number);
        if (fair > group.share * (1 - SAME_SHARE)) fair = group.share;
    } else if (fair > share * (1 + SAME_SHARE)) {
        return queue_link(number);
    }
    make_bottleneck(number, fair, now);
}

inline void IncrementalUpdate::settle_group(int32_t number, double now) {
    if (groups_[number].queue.empty() || groups_[number].cap < INFINITE) return;
    due_.clear();
    double promise = INFINITE;
    for (size_t i = 0; i < groups_[number].queue.size(); i++) {
        int32_t flow = groups_[number].queue[i].flow;
        double share = examine(flow);
        if (table_.flows[flow].bound <= reached_)
            due_.push_back(flow);
        else
            promise = std::min(promise, share);
    }
    for (int32_t edge_number : groups_[number].edges) {
        const Edge &edge = links_.edges[edge_number];
        if (!links_[edge.link].relaxed) continue;
        if (edge.grant <= reached_)
            watch(edge.link);
        else
            promise = std::min(promise, edge.grant);
    }
    groups_[number].promise = promise;
    if (promise < INFINITE) push(promise, GROUP, number);
    for (int32_t flow : due_) settle_at_bound(flow, now);
}

inline void IncrementalUpdate::update(double now) {
    reached_ = 0;
    tasks_.clear();
    links_.each_dirty([this](int32_t link) {
        if (links_[link].relaxed) return;
        if (!links_[link].active) return check_promise(link);
        if (links_[link].risers > 0) return queue_link(link);
        look_at(link);
        nudge(link);
    });
    for (int32_t flow : fresh_) push(examine(flow), FLOW, flow);
    while (!tasks_.empty()) {
        Task task = tasks_[0];
        std::pop_heap(tasks_.begin(), tasks_.end(), std::greater<Task>());
        tasks_.pop_back();
        reached_ = std::max(reached_, task.share);
        if (task.kind == LINK) {
            settle_link(task.number, task.share, now);
        } else if (task.kind == GROUP) {
            settle_group(task.number, now);
        } else if (table_.flows[task.number].group == NONE) {
            double share = examine(task.number);
            if (table_.flows[task.number].bound <= reached_)
                settle_at_bound(task.number, now);
            else
                push(share, FLOW, task.number);
        }
    }
    fresh_.clear();
    close(now);
}

// Put the ends of the groups that changed in order.
inline void IncrementalUpdate::close(double now) {
    if (table_.changes != nullptr) table_.changes->groups = changed_;
    for (int32_t number : changed_) {
        Group &group = groups_[number];
        group.changed = group.settled = false;
        group.cap = group.share;
        if (group.queue.empty()) {
            groups_.drop_end(number);
            continue;
        }
        if (static_cast<size_t>(group.joined) > 4 * group.queue.size() + 64) {
            group.reset_time(now);
        }
        groups_.put_end(number, now);
    }
    changed_.clear();
    for (int32_t link : looked_) {
        links_[link].looked = false;
        relax(link);
    }
    looked_.clear();
}

}  // namespace commmodel::sharing
