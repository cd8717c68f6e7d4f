// Groups of flows with one bottleneck, and when the first flow of each ends.
//
// The flows of which a link is the bottleneck are a group, with one fair share; so is a flow at its own bound. A group
// keeps its flows by virtual end, where virtual time is the integral of its share: a change of the share costs nothing
// for each flow. One queue has the first end of each group.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sharing/flow_table.hpp"
#include "sharing/heap.hpp"

namespace commmodel::sharing {

struct Waiting {
    double end;  // virtual
    int32_t flow;
};

struct Group {
    double share = 0;
    double cap = 0;              // share for others on its links; infinite while it rises
    double time = 0, since = 0;  // virtual time, and when it was taken
    double promise = INFINITE;   // none of its flows has a link or bound to look at up to this share
    int32_t place = NONE;        // in the queue of ends
    int32_t joined = 0;          // since virtual time was set back
    bool changed = false, settled = false;
    std::vector<Waiting> queue;
    std::vector<int32_t> edges;

    double at(double now) const { return now > since ? time + share * (now - since) : time; }

    // Begin with no flows.
    void open(double now) {
        time = 0;
        since = now;
        joined = 0;
        promise = INFINITE;
    }

    // Count virtual time from 0 again: keeps digits.
    void reset_time(double now) {
        const double passed = at(now);
        for (Waiting &waiting : queue) waiting.end -= passed;
        time = 0;
        since = now;
        joined = 0;
    }
};

// Where a flow stands.
struct Position {
    int64_t order;
    uint32_t stamp = 0;  // tells those apart that have had the same number
    int32_t place;       // in its group's queue
    int32_t living;      // among the flows in the network
};

class FlowGroups {
  public:
    std::vector<Position> positions;  // of each flow

    explicit FlowGroups(FlowTable &table) : table_(table) {}

    // Make room for all flows: groups of links, then of flows at their bounds.
    void resize() {
        groups_.resize(table_.capacity.size() + table_.flows.size());
        positions.resize(std::max(positions.size(), table_.flows.size()));
    }
    Group &operator[](int32_t number) { return groups_[number]; }
    const Group &operator[](int32_t number) const { return groups_[number]; }

    double next_end(double now) const { return ends_.empty() ? INFINITE : std::max(now, ends_[0].end); }

    void join(int32_t flow, int32_t group, double now);
    void leave(int32_t flow, double now);
    void put_end(int32_t group, double now);
    void drop_end(int32_t group);

    // List the groups of which a flow ends at `now`.
    void list_due(double now, std::vector<int32_t> &due) const {
        find_due(ends_, [now](const End &end) { return end.key <= now; }, due);
        for (int32_t &number : due) number = ends_[number].group;
    }

    // Take the flows of a group that end at `now` out of its queue, and append their numbers.
    void take_due(int32_t group, double now, std::vector<int32_t> &finished);

    // What is left of a flow.
    double left(int32_t flow, double now) const {
        const Group &group = groups_[table_.flows[flow].group];
        return std::max(0.0, group.queue[positions[flow].place].end - group.at(now));
    }

    // Forget all ends, and which flows are in which group.
    void clear_ends() {
        for (const End &end : ends_) {
            groups_[end.group].queue.clear();
            groups_[end.group].place = NONE;
        }
        ends_.clear();
    }

  private:
    struct End {     // of a group's first flow
        double key;  // the end, less what counts as the same time
        double end;
        int32_t group;
    };
    static bool ends_before(const Waiting &a, const Waiting &b) { return a.end < b.end; }
    static bool comes_before(const End &a, const End &b) { return a.key < b.key; }
    auto place_waiting() {
        return [this](const Waiting &waiting, size_t i) { positions[waiting.flow].place = static_cast<int32_t>(i); };
    }
    auto place_end() {
        return [this](const End &end, size_t i) { groups_[end.group].place = static_cast<int32_t>(i); };
    }
    End end_of(int32_t group, double now) const;

    FlowTable &table_;
    std::vector<Group> groups_;
    std::vector<End> ends_;
    std::vector<int32_t> places_;  // within one function
};

inline void FlowGroups::join(int32_t number, int32_t to, double now) {
    Group &group = groups_[to];
    Flow &flow = table_.flows[number];
    flow.group = to;
    group.joined++;
    group.queue.push_back({group.at(now) + flow.left, number});
    sift_up(group.queue, group.queue.size() - 1, ends_before, place_waiting());
}

inline void FlowGroups::leave(int32_t number, double now) {
    Flow &flow = table_.flows[number];
    flow.left = left(number, now);
    remove_at(groups_[flow.group].queue, positions[number].place, ends_before, place_waiting());
}

inline FlowGroups::End FlowGroups::end_of(int32_t number, double now) const {
    const Group &group = groups_[number];
    const Waiting &first = group.queue[0];
    double left = first.end - group.time;
    double end = left > 0 ? group.since + left / group.share : std::min(now, group.since);
    if (!(end < INFINITE)) return {INFINITE, end, number};
    return {end - same_end(table_.flows[first.flow].total, group.share, end), end, number};
}

inline void FlowGroups::put_end(int32_t number, double now) {
    End end = end_of(number, now);
    int32_t at = groups_[number].place;
    if (at == NONE) {
        ends_.push_back(end);
        sift_up(ends_, ends_.size() - 1, comes_before, place_end());
    } else if (end.key < ends_[at].key) {
        ends_[at] = end;
        sift_up(ends_, at, comes_before, place_end());
    } else {
        ends_[at] = end;
        sift_down(ends_, at, comes_before, place_end());
    }
}

inline void FlowGroups::drop_end(int32_t number) {
    int32_t at = groups_[number].place;
    if (at == NONE) return;
    groups_[number].place = NONE;
    remove_at(ends_, at, comes_before, place_end());
}

inline void FlowGroups::take_due(int32_t number, double now, std::vector<int32_t> &finished) {
    Group &group = groups_[number];
    double reached = group.share < INFINITE ? group.at(now) + group.share * ULPS * now : INFINITE;
    places_.clear();
    find_due(
        group.queue,
        [&](const Waiting &waiting) { return waiting.end <= reached + SAME_TIME * table_.flows[waiting.flow].total; },
        places_);
    const size_t from = finished.size();
    for (int32_t at : places_) finished.push_back(group.queue[at].flow);
    if (finished.size() == from) finished.push_back(group.queue[0].flow);  // its key said so
    if (finished.size() - from == group.queue.size())
        group.queue.clear();
    else
        for (size_t i = from; i < finished.size(); i++) leave(finished[i], now);
}

}  // namespace commmodel::sharing
