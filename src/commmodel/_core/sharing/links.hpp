// Links while they are updated: their flows, and what each group of flows takes of each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/hash_table.hpp"
#include "sharing/flow_groups.hpp"

namespace commmodel::sharing {

// A flow on a link; gone where the stamp is not the flow's.
struct Member {
    int32_t flow;
    uint32_t stamp;
    int32_t use;    // its place among the uses of all flows
    double demand;  // weight / penalty: what it takes of the link at a fair share of 1
};
struct alignas(64) Link {
    Sum demand;          // of its flows
    int32_t live = 0;    // flows
    int32_t risers = 0;  // flows of them that have no bottleneck yet
    std::vector<Member> members;
    double capacity = 0;
    bool active = false, relaxed = false, looked = false, dirty = false;
    double rising = 0;          // sum of the risers' demands
    double remaining = 0;       // relaxed: of what is not granted to groups
    double promise = INFINITE;  // not active: no flow on it may pass this share without a look at it
    double key = INFINITE;      // of the entry that counts in the queue of an update
    int32_t place = 0;          // among the links in use
    std::vector<int32_t> edges;
};
// What flows of a group take together of an active link.
struct Edge {
    int32_t link, group;
    int32_t at_link, at_group;  // places in the lists of both
    int32_t count;
    Sum demand;
    double grant;  // relaxed link: up to this share of the group, no look at the link is needed
};

struct EdgeKey {
    int32_t link, group;
    bool operator==(const EdgeKey &other) const { return link == other.link && group == other.group; }
    uint64_t hash() const { return mixed(pair_of(link, group)); }
};

class LinkTable {
  public:
    std::vector<Edge> edges;

    LinkTable(FlowTable &table, FlowGroups &groups) : table_(table), groups_(groups) {}

    Link &operator[](int32_t number) { return links_[number]; }
    const Link &operator[](int32_t number) const { return links_[number]; }

    // The edge of a use, where its link is active and its flow in a group.
    int32_t &edge_of(const Use *use) { return edge_of_[use - table_.uses.data()]; }

    // Visit the flows on a link.
    template <class Visit> void each_member(Link &link, Visit visit);

    // Add a flow to its links; `updating`: these have changed, and the flow rises.
    void put_on(int32_t flow, bool updating);
    void take_off(int32_t flow);

    // Count one flow more, and return the edge: it keeps its number as long as it has flows.
    int32_t add_edge(int32_t link, int32_t group, double demand);
    void drop_edge(int32_t number, double demand);

    // Links that have flows.
    const std::vector<int32_t> &used() const { return used_; }

    // Note that a link has changed; visit, and forget, all that have.
    void touch(int32_t link) {
        if (links_[link].dirty) return;
        links_[link].dirty = true;
        dirty_.push_back(link);
    }
    template <class Visit> void each_dirty(Visit visit) {
        for (int32_t link : dirty_) {
            links_[link].dirty = false;
            if (links_[link].live > 0) visit(link);
        }
        dirty_.clear();
    }

    // Make room for all links and uses.
    void resize() {
        if (links_.empty() && !table_.capacity.empty()) {
            links_.resize(table_.capacity.size());
            for (size_t link = 0; link < links_.size(); link++) links_[link].capacity = table_.capacity[link];
        }
        edge_of_.resize(std::max(edge_of_.size(), table_.uses.size()));
    }
    void clear();

  private:
    static constexpr size_t FEW = 8;  // edges of a link that are looked through

    int32_t find_edge(int32_t link, int32_t group) const;
    void note_edge(int32_t number);
    void forget_edge(int32_t number);

    FlowTable &table_;
    FlowGroups &groups_;
    std::vector<Link> links_;
    std::vector<int32_t> edge_of_, free_edges_, used_, dirty_;
    HashTable<EdgeKey, Number, 64> edge_numbers_;  // of links with many
};

// Entries of flows that have gone are dropped.
template <class Visit> void LinkTable::each_member(Link &link, Visit visit) {
    size_t kept = 0;
    for (size_t i = 0; i < link.members.size(); i++) {
        const Member member = link.members[i];
        if (groups_.positions[member.flow].stamp != member.stamp) continue;
        link.members[kept++] = member;
        visit(member);
    }
    link.members.resize(kept);
}

inline void LinkTable::put_on(int32_t number, bool updating) {
    const Flow &flow = table_.flows[number];
    for (const Use *use = table_.begin(flow); use != table_.end(flow); use++) {
        Link &link = links_[use->link];
        const double demand = use->weight * flow.demand;
        if (link.live++ == 0) {
            link.place = static_cast<int32_t>(used_.size());
            used_.push_back(use->link);
        }
        link.demand.add(demand);
        if (link.members.size() > 2 * static_cast<size_t>(link.live) + 8) each_member(link, [](const auto &) {});
        link.members.push_back(
            {number, groups_.positions[number].stamp, static_cast<int32_t>(use - table_.uses.data()), demand});
        if (!updating) continue;
        touch(use->link);
        if (!link.active) continue;
        link.rising += demand;
        link.risers++;
    }
}

inline void LinkTable::take_off(int32_t number) {
    Flow &flow = table_.flows[number];
    for (const Use *use = table_.begin(flow); use != table_.end(flow); use++) {
        Link &link = links_[use->link];
        double demand = use->weight * flow.demand;
        if (link.active) {
            drop_edge(edge_of(use), demand);
            if (!link.relaxed) touch(use->link);
        }
        if (--link.live == 0) {
            used_[link.place] = used_.back();
            links_[used_.back()].place = link.place;
            used_.pop_back();
            link.members.clear();
            link.demand = {};
            link.active = link.relaxed = false;
            link.promise = INFINITE;
        } else {
            link.demand.add(-demand);
        }
    }
    groups_.positions[number].stamp++;
    flow.group = NONE;
    table_.free_numbers.push_back(number);
}

// The edge of a link and a group, or NONE. A link with many edges has them in the table.
inline int32_t LinkTable::find_edge(int32_t link, int32_t group) const {
    const std::vector<int32_t> &at_link = links_[link].edges;
    if (at_link.size() > FEW) return edge_numbers_[edge_numbers_.find({link, group})].first;
    for (const int32_t number : at_link)
        if (edges[number].group == group) return number;
    return NONE;
}

inline void LinkTable::note_edge(int32_t number) {
    const EdgeKey key{edges[number].link, edges[number].group};
    edge_numbers_.fill(edge_numbers_.find(key), key, {number});
}

inline void LinkTable::forget_edge(int32_t number) {
    edge_numbers_.empty(edge_numbers_.find({edges[number].link, edges[number].group}));
}

inline int32_t LinkTable::add_edge(int32_t link, int32_t group, double demand) {
    int32_t number = find_edge(link, group);
    if (number == NONE) {
        if (free_edges_.empty()) {
            number = static_cast<int32_t>(edges.size());
            edges.emplace_back();
        } else {
            number = free_edges_.back();
            free_edges_.pop_back();
        }
        std::vector<int32_t> &at_link = links_[link].edges, &at_group = groups_[group].edges;
        edges[number] = {link, group, static_cast<int32_t>(at_link.size()), static_cast<int32_t>(at_group.size()), 0,
                         {},   0};
        at_link.push_back(number);
        at_group.push_back(number);
        if (at_link.size() == FEW + 1)
            for (const int32_t one : at_link) note_edge(one);
        else if (at_link.size() > FEW + 1)
            note_edge(number);
    }
    Edge &edge = edges[number];
    edge.count++;
    edge.demand.add(demand);
    return number;
}

inline void LinkTable::drop_edge(int32_t number, double demand) {
    Edge &edge = edges[number];
    const int32_t link = edge.link, group = edge.group;
    if (links_[link].relaxed) links_[link].remaining += demand * edge.grant;
    if (--edge.count > 0) {
        edge.demand.add(-demand);
        return;
    }
    std::vector<int32_t> &at_link = links_[link].edges, &at_group = groups_[group].edges;
    if (at_link.size() == FEW + 1)
        for (const int32_t one : at_link) forget_edge(one);
    else if (at_link.size() > FEW + 1)
        forget_edge(number);
    at_link[edge.at_link] = at_link.back();
    edges[at_link.back()].at_link = edge.at_link;
    at_link.pop_back();
    at_group[edge.at_group] = at_group.back();
    edges[at_group.back()].at_group = edge.at_group;
    at_group.pop_back();
    free_edges_.push_back(number);
}

inline void LinkTable::clear() {
    for (const Edge &edge : edges) {
        links_[edge.link].edges.clear();
        groups_[edge.group].edges.clear();
    }
    edges.clear();
    free_edges_.clear();
    edge_numbers_.clear();
    for (int32_t number : used_) {
        Link &link = links_[number];
        link.demand = {};
        link.live = 0;
        link.members.clear();
        link.active = link.relaxed = false;
        link.promise = INFINITE;
    }
    used_.clear();
    for (int32_t link : dirty_) links_[link].dirty = false;
    dirty_.clear();
}

}  // namespace commmodel::sharing
