// Heaps whose nodes have four children, which lie in a cache line. `Entry` has `sooner(other)`.
#pragma once

#include <cstddef>

namespace commmodel {

// Put an entry into a heap, from its free place upwards.
template <class Entry> void rise(Entry *heap, size_t place, Entry entry) {
    while (place > 0) {
        const size_t parent = (place - 1) / 4;
        if (!entry.sooner(heap[parent])) break;
        heap[place] = heap[parent];
        place = parent;
    }
    heap[place] = entry;
}

// Put an entry into a heap of so many, from its free root downwards.
template <class Entry> void sink(Entry *heap, size_t count, Entry entry) {
    size_t place = 0;
    for (size_t begin = 1; begin < count; begin = 4 * place + 1) {
        const size_t end = begin + 4 < count ? begin + 4 : count;
        size_t first = begin;
        for (size_t child = begin + 1; child < end; ++child)
            if (heap[child].sooner(heap[first])) first = child;
        if (!heap[first].sooner(entry)) break;
        heap[place] = heap[first];
        place = first;
    }
    heap[place] = entry;
}

}  // namespace commmodel
