// What is kept while levels are mended: which flows are on which link, groups of flows, and when they end.
//
// The flows that a link holds down are a group, with one level; so is a flow held down by its own bound. A group keeps
// its flows by virtual end, where virtual time is the integral of its level: a change of level costs nothing for each
// flow. One queue has the first end of each group. Changes are noted when bandwidth is shared next: where that is done
// from nothing, none of it is needed.
#pragma once

#include "sharing/sharing.hpp"

namespace commmodel {

inline void Sharing::join(int32_t number, int32_t to, double now) {
    Group &group = groups_[to];
    Flow &flow = flows_[number];
    flow.group = to;
    group.joined++;
    group.queue.push_back({group.at(now) + flow.left, number});
    sharing::sift_up(group.queue, group.queue.size() - 1,
                     [](const Waiting &a, const Waiting &b) { return a.end < b.end; },
                     [this](const Waiting &one, size_t i) { place_waiting(mended_, one, i); });
}

inline void Sharing::leave(int32_t number, double now) {
    Flow &flow = flows_[number];
    Group &group = groups_[flow.group];
    const int32_t place = mended_[number].place;
    flow.left = std::max(0.0, group.queue[place].end - group.at(now));
    sharing::remove_at(group.queue, place, [](const Waiting &a, const Waiting &b) { return a.end < b.end; },
                       [this](const Waiting &one, size_t i) { place_waiting(mended_, one, i); });
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

// Let links know a flow.
inline void Sharing::put_on_links(int32_t number) {
    const Flow &flow = flows_[number];
    for (const Use *use = begin(flow); use != end(flow); use++) {
        Link &link = links_[use->link];
        const double share = use->weight * flow.share;
        if (link.live++ == 0) {
            link.place = static_cast<int32_t>(used_.size());
            used_.push_back(use->link);
        }
        link.share.add(share);
        if (link.members.size() > 2 * static_cast<size_t>(link.live) + 8) each_member(link, [](const auto &) {});
        link.members.push_back({number, mended_[number].stamp, static_cast<int32_t>(use - uses_.data()), share});
        if (!mending_) continue;
        touch(use->link);
        if (!link.active) continue;
        link.rising += share;
        link.risers++;
    }
}

inline void Sharing::take_off_links(int32_t number) {
    Flow &flow = flows_[number];
    for (const Use *use = begin(flow); use != end(flow); use++) {
        Link &link = links_[use->link];
        double share = use->weight * flow.share;
        if (link.active) {
            drop_edge(edge_of(use), share);
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
    mended_[number].stamp++;
    flow.group = none;
    free_.push_back(number);
}

// Let links know of all changes since bandwidth was last shared.
inline void Sharing::note_changes() {
    groups_.resize(capacity_.size() + flows_.size());
    for (int32_t flow : gone_) take_off_links(flow);
    gone_.clear();
    for (int32_t flow : fresh_) put_on_links(flow);
}

// Take out the flows that are finished, of each group from its queue.
inline void Sharing::take_first(double now, std::vector<int32_t> &finished) {
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
    auto older = [this](int32_t a, int32_t b) { return mended_[a].order < mended_[b].order; };
    if (!std::is_sorted(finished.begin() + first, finished.end(), older))
        std::sort(finished.begin() + first, finished.end(), older);
    for (size_t i = first; i < finished.size(); i++) {
        const int32_t place = mended_[finished[i]].living;
        living_[place] = living_.back();
        mended_[living_.back()].living = place;
        living_.pop_back();
        gone_.push_back(finished[i]);
    }
    taken_ += static_cast<int64_t>(finished.size() - first);
    settled_ -= finished.size() - first;
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

// Make groups of the flows that were shared from nothing.
inline void Sharing::begin_groups(double now) {
    changed_.clear();
    for (size_t i = 0; i < settled_; i++) {
        Flow &flow = flows_[living_[i]];
        if (now > since_) flow.left = std::max(0.0, flow.left - flow.level * (now - since_));
        Group &group = groups_[flow.group];
        if (group.queue.empty()) {
            group.level = group.cap = flow.level;
            group.time = 0;
            group.since = now;
            group.joined = 0;
            group.promise = sharing::infinite;
            changed_.push_back(flow.group);
        }
        join(living_[i], flow.group, now);
    }
    for (int32_t group : changed_) put_end(group, now);
    changed_.clear();
}

// Start to keep groups, what links have of them, and promises.
inline void Sharing::build(double now) {
    if (links_.empty() && !capacity_.empty()) {
        links_.resize(capacity_.size());
        for (size_t link = 0; link < capacity_.size(); link++) links_[link].capacity = capacity_[link];
    }
    groups_.resize(capacity_.size() + flows_.size());
    mended_.resize(flows_.size());
    for (size_t i = 0; i < living_.size(); i++) {
        mended_[living_[i]].order = added_++;
        mended_[living_[i]].living = static_cast<int32_t>(i);
        put_on_links(living_[i]);
    }
    fresh_.assign(living_.begin() + static_cast<std::ptrdiff_t>(settled_), living_.end());
    begin_groups(now);
    for (int32_t number : used_) {
        Link &link = links_[number];
        link.active = !groups_[number].queue.empty();
        link.relaxed = false;
        link.promise = wide(link) * (link.live < 8 ? 1 : 0.8);
        link.rising = 0;
        link.risers = 0;
        touch(number);
    }
    for (int32_t number : living_) {
        const Flow &flow = flows_[number];
        if (flow.group == none) continue;
        for (const Use *use = begin(flow); use != end(flow); use++)
            if (groups_[flow.group].level > links_[use->link].promise) links_[use->link].active = true;
    }
    for (int32_t number : living_) {
        const Flow &flow = flows_[number];
        double promise = flow.group == own_group(number) ? sharing::infinite : flow.bound;
        for (const Use *use = begin(flow); use != end(flow); use++) {
            Link &link = links_[use->link];
            double share = use->weight * flow.share;
            if (!link.active)
                promise = std::min(promise, link.promise);
            else if (flow.group != none)
                edge_of(use) = add_edge(use->link, flow.group, share);
            else
                link.rising += share, link.risers++;
        }
        if (flow.group != none) groups_[flow.group].promise = std::min(groups_[flow.group].promise, promise);
    }
    mending_ = true;
}

// Go back to a list of flows, in the order in which they were added.
inline void Sharing::forget(double now) {
    for (int32_t number : living_) {
        Flow &flow = flows_[number];
        if (flow.group == none) continue;
        const Group &group = groups_[flow.group];
        flow.left = std::max(0.0, group.queue[mended_[number].place].end - group.at(now));
    }
    since_ = now;
    std::sort(living_.begin(), living_.end(),
              [this](int32_t a, int32_t b) { return mended_[a].order < mended_[b].order; });
    for (const End &one : ends_) {
        groups_[one.group].queue.clear();
        groups_[one.group].place = -1;
    }
    ends_.clear();
    for (const Edge &edge : edges_) {
        links_[edge.link].edges.clear();
        groups_[edge.group].edges.clear();
    }
    edges_.clear();
    free_edges_.clear();
    table_.clear();
    for (int32_t number : used_) {
        Link &link = links_[number];
        link.share = {};
        link.live = 0;
        link.members.clear();
        link.active = link.relaxed = false;
        link.promise = sharing::infinite;
    }
    used_.clear();
    for (int32_t link : dirty_) links_[link].dirty = false;
    dirty_.clear();
    free_.insert(free_.end(), gone_.begin(), gone_.end());
    gone_.clear();
    fresh_.clear();
    first_key_ = first_end_ = sharing::infinite;
    mending_ = false;
}

}  // namespace commmodel
