// What is to happen at which time, in exact order: what is set for the same time comes out in the order of setting.
//
// Programs are regular: thousands of ranks set something for the very same time. So equal times share a bucket, which a
// hash of the time finds, and only buckets are ordered, by a heap with four children a node. An item is in the queue at
// most once; it brings the place for the link to the next one along, so that nothing is allocated for it.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "common/hash_table.hpp"
#include "common/quaternary_heap.hpp"

namespace commmodel {

// Links: a functor, item -> reference to the int32_t that links it to the next item of its bucket.
template <class Links> class EventQueue {
  public:
    static constexpr int32_t END = std::numeric_limits<int32_t>::min();  // no item has this number

    explicit EventQueue(Links links) : links_(links) {}

    bool empty() const { return heap_.empty(); }
    double first() const { return heap_.empty() ? INFINITE : heap_[0].time; }

    void set(double time, int32_t item) {
        links_(item) = END;
        if (last_ == NONE || buckets_[last_].time != time) {
            const size_t slot = bucket_of_.find({time});
            last_ = bucket_of_[slot].first;
            if (last_ == NONE) {
                last_ = open(slot, time, item);
                return;
            }
        }
        links_(buckets_[last_].tail) = item;
        buckets_[last_].tail = item;
    }

    // Take out all items of the first time; returns the first, the links lead to the others.
    int32_t take() {
        const int32_t bucket = heap_[0].bucket;
        bucket_of_.empty(bucket_of_.find({buckets_[bucket].time}));
        const Entry moved = heap_.back();
        heap_.pop_back();
        if (!heap_.empty()) sink(heap_.data(), heap_.size(), moved);
        unused_.push_back(bucket);
        if (last_ == bucket) last_ = NONE;
        return buckets_[bucket].head;
    }

  private:
    struct Bucket {
        double time;
        int32_t head, tail;
    };
    struct Entry {
        double time;
        int32_t bucket;
        bool sooner(const Entry &other) const { return time < other.time; }
    };
    struct Time {
        double seconds;
        bool operator==(const Time &other) const { return seconds == other.seconds; }
        uint64_t hash() const { return mixed(bits_of(seconds)); }
    };

    int32_t open(size_t slot, double time, int32_t item) {
        int32_t bucket;
        if (unused_.empty()) {
            bucket = static_cast<int32_t>(buckets_.size());
            buckets_.push_back({});
        } else {
            bucket = unused_.back();
            unused_.pop_back();
        }
        buckets_[bucket] = {time, item, item};
        bucket_of_.fill(slot, {time}, {bucket});
        heap_.push_back({time, bucket});
        rise(heap_.data(), heap_.size() - 1, heap_.back());
        return bucket;
    }

    Links links_;
    std::vector<Entry> heap_;
    std::vector<Bucket> buckets_;
    std::vector<int32_t> unused_;
    HashTable<Time, Number, 64> bucket_of_;
    int32_t last_ = NONE;
};

}  // namespace commmodel
