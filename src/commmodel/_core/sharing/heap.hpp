// Binary heaps whose entries know their places, so that one of them can be moved or removed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace commmodel::sharing {

// `before` compares two entries, `place` notes where an entry is.
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
template <class Entry, class Due> void find_due(const std::vector<Entry> &heap, Due due, std::vector<int32_t> &places) {
    size_t next = places.size();
    if (heap.empty() || !due(heap[0])) return;
    places.push_back(0);
    for (; next < places.size(); next++)
        for (size_t child = 2 * static_cast<size_t>(places[next]) + 1, end = child + 2; child < end; child++)
            if (child < heap.size() && due(heap[child])) places.push_back(static_cast<int32_t>(child));
}

}  // namespace commmodel::sharing
