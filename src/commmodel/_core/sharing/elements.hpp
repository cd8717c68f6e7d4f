// What sharing keeps of flows, links and the groups of flows that one link holds down.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace commmodel {

struct Use {
    int32_t link;
    float weight;
};

namespace sharing {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double same_time = 1e-13;   // of a flow's duration: ends so close to one another are one
constexpr double same_level = 1e-14;  // levels so close to one another are one
constexpr double ulps = 4 * std::numeric_limits<double>::epsilon();

// A sum without drift: what rounding loses of each term is kept apart.
struct Sum {
    double high = 0, low = 0;
    void add(double term) {
        double sum = high + term, back = sum - high;
        low += (high - (sum - back)) + (term - back);
        high = sum;
    }
    double value() const { return high + low; }
};

struct Flow {
    double share;  // 1 / penalty: its rate at level 1
    double bound;  // level of its own bound
    double total;  // work * penalty: of virtual time, alone
    double left;   // of total, where no group's queue says it
    double level;  // where bandwidth is shared from nothing
    int32_t first, count, room = 0;  // its uses
    int32_t group;  // none: not yet shared
};

// Of a flow, while levels are mended.
struct Mended {
    int64_t order;
    uint32_t stamp = 0;  // tells those apart that have had the same number
    int32_t place;       // in its group's queue
    int32_t living;      // place among the flows in the network
};

// Of a link, while bandwidth is shared from nothing: half a cache line, as thousands of links are visited in turns.
struct alignas(32) Load {
    Sum rising;         // of the shares of flows that nothing holds down yet
    int64_t mark = 0;   // when it was last looked at; odd: it holds flows down
    int32_t risers = 0;
    int32_t holds = 0;  // how many flows
};

// A flow on a link; gone where the stamp is not the flow's.
struct Member {
    int32_t flow;
    uint32_t stamp;
    int32_t use;   // its place among the uses of all flows
    double share;  // weight / penalty: what it takes of the link at level 1
};

// Of a link, while levels are mended.
struct alignas(64) Link {
    Sum share;                   // of its flows' shares
    int32_t live = 0;            // flows
    int32_t risers = 0;          // of them, those that nothing holds down yet
    std::vector<Member> members;
    double capacity = 0;
    bool active = false, relaxed = false, looked = false, dirty = false;
    double rising = 0;           // sum of the risers' shares
    double remaining = 0;        // relaxed: of what is not granted to groups
    double promise = infinite;   // not active: no flow on it may pass this level without a look at it
    double key = infinite;       // of the entry that counts in the queue of a mending
    int32_t place = 0;           // among the links in use
    std::vector<int32_t> edges;
};

struct Waiting {
    double end;  // virtual
    int32_t flow;
};

// The flows that one link, or a flow's own bound, holds down.
struct Group {
    double level = 0;
    double cap = 0;  // level for others on its links; infinite while it rises
    double time = 0, since = 0;  // virtual time, and when it was taken
    double promise = infinite;   // none of its flows has a link or bound to look at up to this level
    int32_t place = -1;          // in the queue of ends
    int32_t joined = 0;          // since virtual time was set back
    bool changed = false, settled = false;
    std::vector<Waiting> queue;
    std::vector<int32_t> edges;
    double at(double now) const { return now > since ? time + level * (now - since) : time; }
};

// What flows of a group take together of an active link.
struct Edge {
    int32_t link, group;
    int32_t at_link, at_group;  // places in the lists of both
    int32_t count;
    Sum share;
    double grant;  // relaxed link: up to this level of the group, no look at the link is needed
};

// A table from (link, group) to edge: open addressing, nothing ever iterates over it.
class EdgeTable {
  public:
    EdgeTable() : slots_(64) {}
    int32_t &operator()(int32_t link, int32_t group) {  // -1: a new one
        if (used_ * 2 >= slots_.size()) grow();
        uint64_t key = key_of(link, group);
        size_t i = home(key);
        while (slots_[i].key && slots_[i].key != key) i = (i + 1) & (slots_.size() - 1);
        if (!slots_[i].key) {
            slots_[i] = {key, -1};
            used_++;
        }
        return slots_[i].edge;
    }
    void erase(int32_t link, int32_t group) {
        uint64_t key = key_of(link, group);
        size_t mask = slots_.size() - 1, i = home(key);
        while (slots_[i].key != key) i = (i + 1) & mask;
        for (size_t j = (i + 1) & mask; slots_[j].key; j = (j + 1) & mask)
            if (((j - home(slots_[j].key)) & mask) >= ((j - i) & mask)) slots_[i] = slots_[j], i = j;
        slots_[i] = {};
        used_--;
    }
    void clear() {
        slots_.assign(slots_.size(), {});
        used_ = 0;
    }

  private:
    struct Slot {
        uint64_t key = 0;
        int32_t edge = -1;
    };
    static uint64_t key_of(int32_t link, int32_t group) {
        return (static_cast<uint64_t>(static_cast<uint32_t>(link)) + 1) << 32 | static_cast<uint32_t>(group);
    }
    size_t home(uint64_t key) const { return (key * 0x9E3779B97F4A7C15u >> 24) & (slots_.size() - 1); }
    void grow() {
        std::vector<Slot> old(slots_.size() * 2);
        std::swap(old, slots_);
        for (const Slot &slot : old) {
            if (!slot.key) continue;
            size_t i = home(slot.key);
            while (slots_[i].key) i = (i + 1) & (slots_.size() - 1);
            slots_[i] = slot;
        }
    }
    std::vector<Slot> slots_;
    size_t used_ = 0;
};

// Binary heaps. `before` compares two entries, `place` notes where an entry is.
template <class Entry, class Before, class Place>
void sift_up(std::vector<Entry> &heap, size_t i, Before before, Place place) {
    Entry entry = heap[i];
    while (i > 0 && before(entry, heap[(i - 1) / 2])) {
        heap[i] = heap[(i - 1) / 2];
        place(heap[i], i);
        i = (i - 1) / 2;
    }
    heap[i] = entry;
    place(entry, i);
}

template <class Entry, class Before, class Place>
void sift_down(std::vector<Entry> &heap, size_t i, Before before, Place place) {
    Entry entry = heap[i];
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= heap.size()) break;
        if (child + 1 < heap.size() && before(heap[child + 1], heap[child])) child++;
        if (!before(heap[child], entry)) break;
        heap[i] = heap[child];
        place(heap[i], i);
        i = child;
    }
    heap[i] = entry;
    place(entry, i);
}

template <class Entry, class Before, class Place>
void remove_at(std::vector<Entry> &heap, size_t i, Before before, Place place) {
    Entry last = heap.back();
    heap.pop_back();
    if (i >= heap.size()) return;
    heap[i] = last;
    if (i > 0 && before(last, heap[(i - 1) / 2]))
        sift_up(heap, i, before, place);
    else
        sift_down(heap, i, before, place);
}

// Append the places of all entries of a heap that are `due`, where no entry is due below one that is not.
template <class Entry, class Due>
void find_due(const std::vector<Entry> &heap, Due due, std::vector<int32_t> &found) {
    size_t next = found.size();
    if (heap.empty() || !due(heap[0])) return;
    found.push_back(0);
    for (; next < found.size(); next++)
        for (size_t child = 2 * static_cast<size_t>(found[next]) + 1, end = child + 2; child < end; child++)
            if (child < heap.size() && due(heap[child])) found.push_back(static_cast<int32_t>(child));
}

}  // namespace sharing
}  // namespace commmodel
