// What is to happen at which time, in exact order: what is set for the same time comes out in the order of setting.
//
// Programs are regular: thousands of ranks set something for the very same time. So equal times share a bucket, which a
// hash of the time finds, and only buckets are ordered, by a heap with four children a node. An item is in the queue at
// most once; it brings the place for the link to the next one along, so that nothing is allocated for it.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace commmodel {

// Links: a functor, item -> reference to the int32_t that links it to the next item of its bucket.
template <class Links> class EventQueue {
  public:
    static constexpr int32_t END = std::numeric_limits<int32_t>::min();  // no item has this number

    explicit EventQueue(Links links) : links_(links), slots_(64, FREE) {}

    bool empty() const { return heap_.empty(); }
    double first() const { return heap_.empty() ? std::numeric_limits<double>::infinity() : heap_[0].time; }

    void set(double time, int32_t item) {
        links_(item) = END;
        if (last_ == FREE || buckets_[last_].time != time) {
            last_ = find(time);
            if (last_ == FREE) {
                last_ = open(time, item);
                return;
            }
        }
        links_(buckets_[last_].tail) = item;
        buckets_[last_].tail = item;
    }

    // Take out all items of the first time; returns the first, the links lead to the others.
    int32_t take() {
        const int32_t bucket = heap_[0].bucket;
        erase(buckets_[bucket].time);
        const Entry moved = heap_.back();
        heap_.pop_back();
        if (!heap_.empty()) sink(moved);
        unused_.push_back(bucket);
        if (last_ == bucket) last_ = FREE;
        return buckets_[bucket].head;
    }

  private:
    static constexpr int32_t FREE = -1;
    static constexpr size_t CHILDREN = 4;
    struct Bucket {
        double time;
        int32_t head, tail;
    };
    struct Entry {
        double time;
        int32_t bucket;
    };

    size_t place(double time) const {
        uint64_t bits;
        std::memcpy(&bits, &time, sizeof bits);
        bits *= 0x9E3779B97F4A7C15u;
        return static_cast<size_t>((bits ^ (bits >> 32)) & (slots_.size() - 1));
    }

    int32_t find(double time) const {
        for (size_t at = place(time);; at = (at + 1) & (slots_.size() - 1)) {
            if (slots_[at] == FREE || buckets_[slots_[at]].time == time) return slots_[at];
        }
    }

    void enter(int32_t bucket) {
        size_t at = place(buckets_[bucket].time);
        while (slots_[at] != FREE) at = (at + 1) & (slots_.size() - 1);
        slots_[at] = bucket;
    }

    int32_t open(double time, int32_t item) {
        int32_t bucket;
        if (unused_.empty()) {
            bucket = static_cast<int32_t>(buckets_.size());
            buckets_.push_back({});
        } else {
            bucket = unused_.back();
            unused_.pop_back();
        }
        buckets_[bucket] = {time, item, item};
        if (2 * (heap_.size() + 1) > slots_.size()) {
            slots_.assign(2 * slots_.size(), FREE);
            for (const Entry &entry : heap_) enter(entry.bucket);
        }
        enter(bucket);
        heap_.push_back({time, bucket});
        rise(heap_.size() - 1);
        return bucket;
    }

    // Take a time out of the hash, and close the gap: no slot may be free between a time's own place and where it is.
    void erase(double time) {
        const size_t mask = slots_.size() - 1;
        size_t gap = place(time);
        while (buckets_[slots_[gap]].time != time) gap = (gap + 1) & mask;
        for (size_t at = (gap + 1) & mask; slots_[at] != FREE; at = (at + 1) & mask) {
            const size_t own = place(buckets_[slots_[at]].time);
            if (((at - own) & mask) >= ((at - gap) & mask)) {
                slots_[gap] = slots_[at];
                gap = at;
            }
        }
        slots_[gap] = FREE;
    }

    void rise(size_t at) {
        const Entry entry = heap_[at];
        while (at > 0) {
            const size_t parent = (at - 1) / CHILDREN;
            if (heap_[parent].time < entry.time) break;
            heap_[at] = heap_[parent];
            at = parent;
        }
        heap_[at] = entry;
    }

    void sink(Entry entry) {
        size_t at = 0;
        for (;;) {
            const size_t begin = CHILDREN * at + 1;
            if (begin >= heap_.size()) break;
            const size_t end = begin + CHILDREN < heap_.size() ? begin + CHILDREN : heap_.size();
            size_t least = begin;
            for (size_t child = begin + 1; child < end; ++child) {
                if (heap_[child].time < heap_[least].time) least = child;
            }
            if (heap_[least].time > entry.time) break;
            heap_[at] = heap_[least];
            at = least;
        }
        heap_[at] = entry;
    }

    Links links_;
    std::vector<Entry> heap_;
    std::vector<Bucket> buckets_;
    std::vector<int32_t> unused_, slots_;
    int32_t last_ = FREE;
};

}  // namespace commmodel
