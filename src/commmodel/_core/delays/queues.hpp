// What the engine of the delay models orders by time: messages and operations in heaps, ranks in a tree.
//
// A heap is a pairing heap whose nodes live in an array of the caller, so that a rank's heap takes one number and a
// node two (Fredman et al. 1986). The tree holds when each rank acts next. What a rank does reaches no other sooner
// than the fastest message takes; so ranks take turns, each as far as that: in the order of time alone each action
// would be one of another rank, and out of the cache.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace commmodel::delays {

constexpr int32_t NOTHING = -1;
constexpr double NEVER = std::numeric_limits<double>::infinity();
constexpr double LATEST = std::numeric_limits<double>::max();
constexpr const char *TOO_LATE = "simulated time goes beyond 1.8e308, more than a number holds: take shorter times";

// A message on its way, or one that has come and waits for its receive. 64 bytes.
struct Message {
    double arrival;
    double born;  // when its send began
    double size;
    int32_t source, tag;
    uint32_t order;  // of its sender's messages
    int32_t child, sibling;  // in a heap; afterwards the one before and the next that came unexpectedly
    int32_t link;  // next in a queue
    int32_t owner;  // the operation or request that it serves
    int32_t answers;  // the sender's request, of a message in a rendezvous
    uint16_t lane;
    uint8_t kind;
};

// Messages in an array; places of those that are gone are taken again.
class Messages {
public:
    int32_t add(const Message &message) {
        count_ += 1;
        if (free_ != NOTHING) {
            int32_t place = free_;
            free_ = items_[place].link;
            items_[place] = message;
            return place;
        }
        items_.push_back(message);
        return static_cast<int32_t>(items_.size() - 1);
    }
    void drop(int32_t place) {
        items_[place].link = free_;
        free_ = place;
    }
    Message &operator[](int32_t place) { return items_[place]; }
    int64_t count() const { return count_; }

private:
    std::vector<Message> items_;
    int32_t free_ = NOTHING;
    int64_t count_ = 0;
};

// `Nodes` gives `sooner(one, other)`, `child(one)` and `sibling(one)`, the last two to be written to.
template <class Nodes> int32_t merge_heaps(Nodes &nodes, int32_t one, int32_t other) {
    if (one == NOTHING) return other;
    if (other == NOTHING) return one;
    if (nodes.sooner(other, one)) std::swap(one, other);
    nodes.sibling(other) = nodes.child(one);
    nodes.child(one) = other;
    return one;
}

template <class Nodes> int32_t add_to_heap(Nodes &nodes, int32_t root, int32_t added) {
    nodes.child(added) = nodes.sibling(added) = NOTHING;
    return merge_heaps(nodes, root, added);
}

// Return the heap without its first: children merge in pairs, and the pairs from the last to the first.
template <class Nodes> int32_t drop_first(Nodes &nodes, int32_t root) {
    int32_t next = nodes.child(root), pairs = NOTHING;
    while (next != NOTHING) {
        int32_t one = next, other = nodes.sibling(one);
        next = other == NOTHING ? NOTHING : nodes.sibling(other);
        nodes.sibling(one) = NOTHING;
        if (other != NOTHING) nodes.sibling(other) = NOTHING;
        one = merge_heaps(nodes, one, other);
        nodes.sibling(one) = pairs;
        pairs = one;
    }
    int32_t merged = NOTHING;
    while (pairs != NOTHING) {
        int32_t before = nodes.sibling(pairs);
        nodes.sibling(pairs) = NOTHING;
        merged = merge_heaps(nodes, merged, pairs);
        pairs = before;
    }
    return merged;
}

// In the order of arrival; at one time in that of the senders' ranks, and then as they were sent.
struct ByArrival {
    Messages &messages;
    bool sooner(int32_t one, int32_t other) {
        const Message &a = messages[one], &b = messages[other];
        if (a.arrival != b.arrival) return a.arrival < b.arrival;
        if (a.source != b.source) return a.source < b.source;
        return static_cast<int32_t>(a.order - b.order) < 0;
    }
    int32_t &child(int32_t one) { return messages[one].child; }
    int32_t &sibling(int32_t one) { return messages[one].sibling; }
};

// When each rank acts next: above the ranks' times stand the least of eight each, up to one.
class Agenda {
public:
    Agenda(int32_t ranks, double fastest) : fastest_(fastest) {
        for (size_t width = ranks;; width = (width + FAN - 1) / FAN) {
            levels_.emplace_back((width + FAN - 1) / FAN * FAN, NEVER);
            if (width <= 1) break;
        }
    }

    double least() const { return levels_.back()[0]; }
    double time(int32_t rank) const { return levels_[0][rank]; }

    // Return a time by which no message arrives that is yet to be sent, or else that of the next action. A hundredth is
    // left for rounding.
    double horizon() const {
        double now = least();
        return fastest_ > 1e-12 * now ? now + 0.99 * fastest_ : now;
    }

    void set(int32_t rank, double time) {
        size_t place = rank;
        double before = levels_[0][place];
        levels_[0][place] = time;
        for (size_t level = 0; level + 1 < levels_.size() && time != before; level++) {
            size_t above = place / FAN;
            double &least = levels_[level + 1][above];
            if (time > before) {
                if (least != before) return;
                const double *eight = &levels_[level][above * FAN];
                time = *std::min_element(eight, eight + FAN);
            } else if (least <= time) {
                return;
            }
            before = least;
            least = time;
            place = above;
        }
    }

    // Return the lowest rank that acts by then; there is one.
    int32_t next(double horizon) const {
        size_t place = 0;
        for (size_t level = levels_.size() - 1; level > 0; level--) {
            place *= FAN;
            while (levels_[level - 1][place] > horizon) place++;
        }
        return static_cast<int32_t>(place);
    }

private:
    static constexpr size_t FAN = 8;
    std::vector<std::vector<double>> levels_;
    double fastest_;
};

}  // namespace commmodel::delays
