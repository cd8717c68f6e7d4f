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
// How: where many flows changed, all links are filled from nothing, and only a list of flows is kept
// (sharing_fill.hpp). Where few did, levels are mended in rising order, from the changed links on (sharing_mend.hpp).
// For that, links know their flows, and there are groups of flows (sharing_groups.hpp). docs/theory/sharing.md says why
// that suffices.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "sharing/elements.hpp"

namespace commmodel {

class Sharing {
  public:
    // Set up links. A fatpipe bounds each flow alone.
    Sharing(const std::vector<double> &capacity, const std::vector<uint8_t> &fatpipe)
        : capacity_(capacity), fatpipe_(fatpipe), loads_(capacity.size()), taken_of_(capacity.size()) {
        for (uint8_t one : fatpipe) fatpipes_ = fatpipes_ || one;
    }

    // Add a flow that moves `work` bytes of share from `now` on. uses: each link at most once, weights > 0.
    // penalty > 0, bound > 0 (may be infinite). Returns its number, reused after the flow has finished. Ask for `next`
    // at `now`, before time goes on.
    int32_t add(double now, const Use *uses, int32_t count, double penalty, double bound, double work);

    // When the next flow finishes; infinite where there is none. Shares bandwidth anew if flows were added or taken.
    double next(double now) {
        if (settled_ < living_.size() || taken_ > 0) share(now);
        if (!mending_) return std::max(now, first_end_);
        return ends_.empty() ? sharing::infinite : std::max(now, ends_[0].end);
    }

    // Append the numbers of all flows that finish at `now` (which `next` gave; those within rounding of it as well),
    // in the order in which they were added, and take them out.
    void take_finished(double now, std::vector<int32_t> &finished);

    // The rate of a flow at present, for tests and for the use of links.
    double rate(int32_t flow) const {
        const Flow &one = flows_[flow];
        return one.group < 0 ? 0 : (mending_ ? groups_[one.group].level : one.level) * one.share;
    }

    int64_t solutions() const { return solutions_; }  // times that bandwidth was shared anew

  private:
    using Flow = sharing::Flow;
    using Mended = sharing::Mended;
    using Load = sharing::Load;
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
        int64_t order() const { return static_cast<int64_t>(kind) << 32 | number; }
        bool operator>(const Task &other) const {  // without branches, which no processor foresees in a heap
            return (level > other.level) | ((level == other.level) & (order() > other.order()));
        }
    };
    enum Kind { LINK, GROUP, FLOW };
    static constexpr int32_t none = -1;

    void share(double now);
    int32_t new_number();
    void forget_numbers();
    int32_t own_group(int32_t flow) const { return static_cast<int32_t>(capacity_.size()) + flow; }
    const Use *begin(const Flow &flow) const { return uses_.data() + flow.first; }
    const Use *end(const Flow &flow) const { return uses_.data() + flow.first + flow.count; }
    double wide(const Link &link) const {  // up to this level of all its flows, a link is not full
        return link.capacity / link.share.value() * (1 - 1e-9);
    }
    template <class Visit> void each_member(Link &link, Visit visit);

    // sharing_fill.hpp
    void fill(double now);
    double begin_filling(double now);
    double find_levels();
    template <class Choose> size_t hold_open(size_t open, bool first, double now, Choose choose);
    void hold_down(int32_t at, int32_t group, double level, double now);
    int32_t *look_at(const Flow &flow, int32_t *used);
    double rise_on(size_t open);
    void fill_rest(double now, size_t open);
    void take_load_off(const Flow &flow);
    void list_members(size_t open);
    double level_of(int32_t link) const;
    void take_due(double now, std::vector<int32_t> &finished);
    bool leave_all_held(const int32_t *finished, size_t count);

    // sharing_groups.hpp
    void build(double now);
    void forget(double now);
    void begin_groups(double now);
    void note_changes();
    void put_on_links(int32_t flow);
    void take_off_links(int32_t flow);
    void take_first(double now, std::vector<int32_t> &finished);
    void join(int32_t number, int32_t group, double now);
    void leave(int32_t number, double now);
    End end_of(int32_t group, double now) const;
    void put_end(int32_t group, double now);
    void drop_end(int32_t group);
    static void place_waiting(std::vector<Mended> &mended, const Waiting &one, size_t i) {
        mended[one.flow].place = static_cast<int32_t>(i);
    }
    void mark(int32_t group) {
        if (groups_[group].changed) return;
        groups_[group].changed = true;
        changed_.push_back(group);
    }

    // sharing_mend.hpp
    void mend(double now);
    int32_t add_edge(int32_t link, int32_t group, double share);
    void drop_edge(int32_t number, double share);
    int32_t &edge_of(const Use *use) { return edge_of_[use - uses_.data()]; }
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

    std::vector<double> capacity_;
    std::vector<uint8_t> fatpipe_;
    std::vector<Flow> flows_;
    std::vector<Use> uses_;
    std::vector<int32_t> free_, living_;  // those since `settled_` were added since bandwidth was last shared
    size_t numbers_ = 0, room_ = 0, settled_ = 0, filling_ = 0;
    int64_t taken_ = 0, solutions_ = 0;
    double reached_ = 0;
    bool fatpipes_ = false, mending_ = false, some_held_ = false, uneven_ = false;
    int32_t spared_ = 0;  // fillings in a row where little changed

    // Sharing from nothing.
    std::vector<Load> loads_;
    std::vector<sharing::Sum> taken_of_;  // of capacity, by flows that are held down
    std::vector<double> keys_, levels_;
    std::vector<int32_t> full_, open_, held_, members_, places_;  // within `fill`; of `full_`, the first `filling_`
    std::vector<std::pair<double, int32_t>> waiting_;
    int64_t mark_ = 0;
    double since_ = 0, first_key_ = sharing::infinite, first_end_ = sharing::infinite, last_key_ = 0;

    // Mending.
    std::vector<Link> links_;
    std::vector<Group> groups_;  // of links, then of flows at their bounds
    std::vector<Mended> mended_;
    std::vector<Edge> edges_;
    std::vector<int32_t> edge_of_;  // of each use, where its link is active and its flow in a group
    sharing::EdgeTable table_;
    std::vector<End> ends_;
    std::vector<Task> tasks_;
    std::vector<int32_t> free_edges_, used_;
    std::vector<int32_t> fresh_, gone_, dirty_, changed_, looked_;  // since bandwidth was last shared
    std::vector<int32_t> found_, movers_, due_;                     // within one function
    int64_t added_ = 0;
};

// Visit the flows on a link, and drop the entries of those that have gone.
template <class Visit> void Sharing::each_member(Link &link, Visit visit) {
    size_t kept = 0;
    for (size_t i = 0; i < link.members.size(); i++) {
        const sharing::Member member = link.members[i];
        if (mended_[member.flow].stamp != member.stamp) continue;
        link.members[kept++] = member;
        visit(member);
    }
    link.members.resize(kept);
}

inline int32_t Sharing::new_number() {
    if (!free_.empty()) {
        const int32_t number = free_.back();
        free_.pop_back();
        return number;
    }
    if (numbers_ == flows_.size()) flows_.emplace_back();
    flows_[numbers_].room = 0;
    return static_cast<int32_t>(numbers_++);
}

// There is no flow: numbers begin anew, so that flows that are added together lie side by side.
inline void Sharing::forget_numbers() {
    free_.clear();
    numbers_ = room_ = 0;
}

inline int32_t Sharing::add(double, const Use *uses, int32_t count, double penalty, double bound, double work) {
    const int32_t number = new_number();
    Flow &flow = flows_[number];
    if (flow.room < count) {
        flow.room = 4;
        while (flow.room < count) flow.room *= 2;
        flow.first = static_cast<int32_t>(room_);
        room_ += flow.room;
        if (room_ > uses_.size()) {
            uses_.resize(std::max(room_, 2 * uses_.size()));
            edge_of_.resize(uses_.size());
        }
    }
    flow.share = 1 / penalty;
    flow.total = flow.left = work * penalty;
    flow.group = none;
    Use *copy = uses_.data() + flow.first;
    if (!fatpipes_) {
        copy = std::copy(uses, uses + count, copy);
    } else {
        for (const Use *use = uses; use != uses + count; use++)
            if (fatpipe_[use->link])
                bound = std::min(bound, capacity_[use->link] / use->weight);
            else
                *copy++ = *use;
    }
    flow.count = static_cast<int32_t>(copy - begin(flow));
    flow.bound = bound * penalty;
    if (mending_) {
        fresh_.push_back(number);
        if (mended_.size() < flows_.size()) mended_.resize(flows_.size());
        mended_[number].order = added_++;
        mended_[number].living = static_cast<int32_t>(living_.size());
    }
    living_.push_back(number);
    return number;
}

inline void Sharing::take_finished(double now, std::vector<int32_t> &finished) {
    if (mending_)
        take_first(now, finished);
    else
        take_due(now, finished);
    if (!living_.empty()) return;
    if (mending_) forget(now);
    forget_numbers();
}

inline void Sharing::share(double now) {
    constexpr size_t few = 16, part = 4;
    constexpr int32_t spare = 2;  // fillings that cost as much as to start mending
    const size_t changes = living_.size() - settled_ + static_cast<size_t>(taken_);
    solutions_++;
    const bool many = living_.size() <= few || changes * part > living_.size();
    spared_ = many ? 0 : spared_ + 1;
    if (many || (!mending_ && !uneven_ && spared_ <= spare)) {
        if (mending_) forget(now);
        fill(now);
    } else {
        if (mending_)
            note_changes();
        else
            build(now);
        mend(now);
    }
    settled_ = living_.size();
    taken_ = 0;
}

}  // namespace commmodel

#include "sharing/progressive_filling.hpp"
#include "sharing/flow_groups.hpp"
#include "sharing/incremental_update.hpp"
