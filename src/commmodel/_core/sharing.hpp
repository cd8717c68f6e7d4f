// Sharing of bandwidth among flows: weighted max-min fairness, solved anew only where something changed.
//
// A flow of rate x takes weight * x of each link that it uses. Its level is x * penalty. Rates are max-min fair in
// levels, with weight and bound: no level can rise but by lowering one that is no higher; no link is used beyond its
// capacity (a fatpipe: by any single flow); no rate is above the flow's bound. Sources: Bertsekas and Gallager, "Data
// Networks", 1992, Section 6.5; the weighting by penalties: Velho et al. 2013 (for TCP).
//
// Between two changes of the set of flows, rates are constant. So a caller adds flows and takes finished ones at one
// time, and asks for `next` when all changes of that time are made: bandwidth is shared once for all of them.
//
// How: the flows that a link holds down are a group, with one level; so is a flow held down by its own bound. A group
// keeps its flows by virtual end, where virtual time is the integral of its level: a change of level costs nothing for
// each flow. Where many flows changed, all links are filled from nothing (sharing_fill.hpp). Where few did, levels are
// mended in rising order, from the changed links on (sharing_mend.hpp). docs/theory/sharing.md says why that suffices.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "sharing_parts.hpp"

namespace commmodel {

class Sharing {
  public:
    // Set up links. A fatpipe bounds each flow alone.
    Sharing(const std::vector<double> &capacity, const std::vector<uint8_t> &fatpipe)
        : fatpipe_(fatpipe), links_(capacity.size()), groups_(capacity.size()) {
        for (size_t link = 0; link < capacity.size(); link++) links_[link].capacity = capacity[link];
    }

    // Add a flow that moves `work` bytes of share from `now` on. uses: each link at most once, weights > 0.
    // penalty > 0, bound > 0 (may be infinite). Returns its number, reused after the flow has finished. Ask for `next`
    // at `now`, before time goes on.
    int32_t add(double now, const Use *uses, int32_t count, double penalty, double bound, double work);

    // When the next flow finishes; infinite where there is none. Shares bandwidth anew if flows were added or taken.
    double next(double now) {
        if (!fresh_.empty() || taken_ > 0) share(now);
        return ends_.empty() ? sharing::infinite : std::max(now, ends_[0].end);
    }

    // Append the numbers of all flows that finish at `now` (which `next` gave; those within rounding of it as well),
    // in the order in which they were added, and take them out.
    void take_finished(double now, std::vector<int32_t> &finished);

    // The rate of a flow at present, for tests and for the use of links.
    double rate(int32_t flow) const {
        const Flow &one = flows_[flow];
        return one.group < 0 ? 0 : groups_[one.group].level * one.share;
    }

    int64_t solutions() const { return solutions_; }  // times that bandwidth was shared anew

  private:
    using Flow = sharing::Flow;
    using Link = sharing::Link;
    using Group = sharing::Group;
    using Edge = sharing::Edge;
    using Waiting = sharing::Waiting;
    struct End {  // of a group's first flow
        double key;  // the end, less what counts as the same time
        double end;
        int32_t group;
    };
    struct Task {
        double level;
        int32_t kind, number;
        bool operator>(const Task &other) const {
            if (level != other.level) return level > other.level;
            return kind != other.kind ? kind > other.kind : number > other.number;
        }
    };
    enum Kind { LINK, GROUP, FLOW };
    static constexpr int32_t none = -1;

    void share(double now);
    int32_t own_group(int32_t flow) const { return static_cast<int32_t>(links_.size()) + flow; }
    const Use *begin(const Flow &flow) const { return uses_.data() + flow.first; }
    const Use *end(const Flow &flow) const { return uses_.data() + flow.first + flow.count; }
    double wide(const Link &link) const {  // up to this level of all its flows, a link is not full
        return link.capacity / link.share.value() * (1 - 1e-9);
    }
    template <class Visit> void each_member(Link &link, Visit visit);

    // Groups and the queue of their ends.
    void join(int32_t number, int32_t group, double now);
    void leave(int32_t number, double now);
    void take_out(int32_t number);
    End end_of(int32_t group, double now) const;
    void put_end(int32_t group, double now);
    void drop_end(int32_t group);
    static void place_waiting(std::vector<Flow> &flows, const Waiting &one, size_t i) {
        flows[one.flow].place = static_cast<int32_t>(i);
    }
    void mark(int32_t group) {
        if (groups_[group].changed) return;
        groups_[group].changed = true;
        changed_.push_back(group);
    }

    // sharing_fill.hpp
    void fill(double now);
    void fill_rest(double now, size_t open);
    double exact_level(int32_t link);
    size_t hold_all(int32_t link, double level, double now);
    void hold_down(int32_t flow, int32_t group, double level, double now);

    // sharing_mend.hpp
    void mend(double now);
    void build();
    void forget_edges();
    void add_edge(int32_t link, int32_t group, double share);
    void drop_edge(int32_t link, int32_t group, double share);
    void touch(int32_t link);
    static double grantable(const Link &link) { return link.capacity * (1 - 1e-6); }
    double fair_level(int32_t link) const;
    void queue_link(int32_t link);
    void nudge(int32_t link);
    void activate(int32_t link);
    void watch(int32_t link);
    void relax(int32_t link);
    void check_promise(int32_t link);
    double examine(int32_t flow);
    void settle_link(int32_t link, double level, double now);
    void settle_group(int32_t group, double now);
    void start_rising(int32_t link);
    void hold(int32_t link, double level, double now);
    void hold_bounded(int32_t flow, double now);
    void set_level(int32_t group, double level, double now);
    void move(int32_t flow, int32_t group, double now);
    void push(double level, Kind kind, int32_t number);
    void close(double now);

    std::vector<uint8_t> fatpipe_;
    std::vector<Link> links_;
    std::vector<Group> groups_;  // of links, then of flows at their bounds
    std::vector<Flow> flows_;
    std::vector<Use> uses_;
    std::vector<Edge> edges_;
    sharing::EdgeTable table_;
    std::vector<End> ends_;
    std::vector<Task> tasks_;
    std::vector<int32_t> free_, free_edges_, living_, used_;
    std::vector<int32_t> fresh_, dirty_, changed_, looked_;  // since bandwidth was last shared
    std::vector<int32_t> open_, tight_, found_, movers_, due_;  // within one function
    std::vector<double> levels_;
    std::vector<std::pair<double, int32_t>> waiting_;
    int64_t added_ = 0, taken_ = 0, solutions_ = 0;
    double reached_ = 0;
    bool mending_ = false;  // edges and promises hold
};

// Visit the flows on a link, and drop the entries of those that have gone.
template <class Visit> void Sharing::each_member(Link &link, Visit visit) {
    size_t kept = 0;
    for (size_t i = 0; i < link.members.size(); i++) {
        const sharing::Member member = link.members[i];
        if (flows_[member.flow].stamp != member.stamp) continue;
        link.members[kept++] = member;
        visit(member);
    }
    link.members.resize(kept);
}

inline int32_t Sharing::add(double, const Use *uses, int32_t count, double penalty, double bound, double work) {
    int32_t number;
    if (free_.empty()) {
        number = static_cast<int32_t>(flows_.size());
        flows_.emplace_back();
        groups_.emplace_back();
    } else {
        number = free_.back();
        free_.pop_back();
    }
    Flow &flow = flows_[number];
    if (flow.room < count) {
        flow.room = 4;
        while (flow.room < count) flow.room *= 2;
        flow.first = static_cast<int32_t>(uses_.size());
        uses_.resize(uses_.size() + flow.room);
    }
    flow.share = 1 / penalty;
    flow.total = flow.left = work * penalty;
    flow.order = added_++;
    flow.group = none;
    flow.count = 0;
    for (int32_t i = 0; i < count; i++) {
        Link &link = links_[uses[i].link];
        if (fatpipe_[uses[i].link]) {
            bound = std::min(bound, link.capacity / uses[i].weight);
            continue;
        }
        uses_[flow.first + flow.count++] = uses[i];
        double share = uses[i].weight * flow.share;
        if (link.live++ == 0) {
            link.place = static_cast<int32_t>(used_.size());
            used_.push_back(uses[i].link);
        }
        link.share.add(share);
        if (link.members.size() > 2 * static_cast<size_t>(link.live) + 8) each_member(link, [](const auto &) {});
        link.members.push_back({number, flow.stamp, share});
        if (!mending_) continue;
        touch(uses[i].link);
        if (!link.active) continue;
        link.rising += share;
        link.risers++;
    }
    flow.bound = bound * penalty;
    flow.living = static_cast<int32_t>(living_.size());
    living_.push_back(number);
    fresh_.push_back(number);
    return number;
}

inline void Sharing::join(int32_t number, int32_t to, double now) {
    Group &group = groups_[to];
    Flow &flow = flows_[number];
    flow.group = to;
    group.joined++;
    group.queue.push_back({group.at(now) + flow.left, number});
    sharing::sift_up(group.queue, group.queue.size() - 1,
                     [](const Waiting &a, const Waiting &b) { return a.end < b.end; },
                     [this](const Waiting &one, size_t i) { place_waiting(flows_, one, i); });
}

inline void Sharing::leave(int32_t number, double now) {
    Flow &flow = flows_[number];
    Group &group = groups_[flow.group];
    flow.left = std::max(0.0, group.queue[flow.place].end - group.at(now));
    sharing::remove_at(group.queue, flow.place, [](const Waiting &a, const Waiting &b) { return a.end < b.end; },
                       [this](const Waiting &one, size_t i) { place_waiting(flows_, one, i); });
}

inline Sharing::End Sharing::end_of(int32_t number, double now) const {
    const Group &group = groups_[number];
    const Waiting &first = group.queue[0];
    double left = first.end - group.time;
    double end = left > 0 ? group.since + left / group.level : std::min(now, group.since);
    if (!(end < sharing::infinite)) return {sharing::infinite, end, number};
    double same = sharing::same_time * flows_[first.flow].total / group.level + sharing::ulps * end;
    return {end - same, end, number};
}

inline void Sharing::put_end(int32_t number, double now) {
    auto before = [](const End &a, const End &b) { return a.key < b.key; };
    auto place = [this](const End &one, size_t i) { groups_[one.group].place = static_cast<int32_t>(i); };
    End end = end_of(number, now);
    int32_t at = groups_[number].place;
    if (at < 0) {
        ends_.push_back(end);
        sharing::sift_up(ends_, ends_.size() - 1, before, place);
    } else if (end.key < ends_[at].key) {
        ends_[at] = end;
        sharing::sift_up(ends_, at, before, place);
    } else {
        ends_[at] = end;
        sharing::sift_down(ends_, at, before, place);
    }
}

inline void Sharing::drop_end(int32_t number) {
    int32_t at = groups_[number].place;
    if (at < 0) return;
    groups_[number].place = -1;
    sharing::remove_at(ends_, at, [](const End &a, const End &b) { return a.key < b.key; },
                       [this](const End &one, size_t i) { groups_[one.group].place = static_cast<int32_t>(i); });
}

inline void Sharing::take_out(int32_t number) {
    Flow &flow = flows_[number];
    for (const Use *use = begin(flow); use != end(flow); use++) {
        Link &link = links_[use->link];
        double share = use->weight * flow.share;
        if (mending_ && link.active) {
            drop_edge(use->link, flow.group, share);
            if (!link.relaxed) touch(use->link);
        }
        if (--link.live == 0) {
            used_[link.place] = used_.back();
            links_[used_.back()].place = link.place;
            used_.pop_back();
            link.members.clear();
            link.share = {};
            link.active = link.relaxed = false;
            link.promise = sharing::infinite;
        } else {
            link.share.add(-share);
        }
    }
    flow.stamp++;
    flow.group = none;
    living_[flow.living] = living_.back();
    flows_[living_.back()].living = flow.living;
    living_.pop_back();
    free_.push_back(number);
    taken_++;
}

inline void Sharing::take_finished(double now, std::vector<int32_t> &finished) {
    const size_t first = finished.size();
    due_.clear();
    sharing::find_due(ends_, [now](const End &one) { return one.key <= now; }, due_);
    if (due_.empty()) return;
    for (int32_t &one : due_) one = ends_[one].group;
    for (int32_t number : due_) {
        Group &group = groups_[number];
        double reached = group.level < sharing::infinite ? group.at(now) + group.level * sharing::ulps * now
                                                         : sharing::infinite;
        found_.clear();
        sharing::find_due(group.queue, [&](const Waiting &one) {
            return one.end <= reached + sharing::same_time * flows_[one.flow].total;
        }, found_);
        const size_t from = finished.size();
        for (int32_t at : found_) finished.push_back(group.queue[at].flow);
        if (finished.size() == from) finished.push_back(group.queue[0].flow);  // its key said so
        if (finished.size() - from == group.queue.size())
            group.queue.clear();
        else
            for (size_t i = from; i < finished.size(); i++) leave(finished[i], now);
    }
    auto older = [this](int32_t a, int32_t b) { return flows_[a].order < flows_[b].order; };
    if (!std::is_sorted(finished.begin() + first, finished.end(), older))
        std::sort(finished.begin() + first, finished.end(), older);
    for (size_t i = first; i < finished.size(); i++) take_out(finished[i]);
    if (living_.empty()) {  // all at once
        for (const End &one : ends_) groups_[one.group].place = -1;
        ends_.clear();
    } else {
        for (int32_t number : due_)
            if (groups_[number].queue.empty())
                drop_end(number);
            else
                put_end(number, now);
    }
}

inline void Sharing::share(double now) {
    constexpr size_t few = 16, part = 4;
    const size_t changes = fresh_.size() + static_cast<size_t>(taken_);
    solutions_++;
    if (living_.size() <= few || changes * part > living_.size()) {
        if (mending_) forget_edges();
        fill(now);
    } else {
        if (!mending_) build();
        mend(now);
    }
    fresh_.clear();
    taken_ = 0;
}

}  // namespace commmodel

#include "sharing_fill.hpp"
#include "sharing_mend.hpp"
