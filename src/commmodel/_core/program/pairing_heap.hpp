// A pairing heap whose nodes live in an array of the caller, so that a heap takes one number and a node two (Fredman et
// al. 1986). `Nodes` gives `sooner(a, b)`, and `child(a)` and `sibling(a)`, to be written to.
#pragma once

#include <cstdint>
#include <utility>

#include "program/program.hpp"

namespace commmodel {

template <class Nodes> int32_t merge_heaps(Nodes &nodes, int32_t first, int32_t second) {
    if (first == NONE) return second;
    if (second == NONE) return first;
    if (nodes.sooner(second, first)) std::swap(first, second);
    nodes.sibling(second) = nodes.child(first);
    nodes.child(first) = second;
    return first;
}

template <class Nodes> int32_t add_to_heap(Nodes &nodes, int32_t root, int32_t added) {
    nodes.child(added) = nodes.sibling(added) = NONE;
    return merge_heaps(nodes, root, added);
}

// The heap without its first: children merge in pairs, and the pairs from the last to the first.
template <class Nodes> int32_t drop_first(Nodes &nodes, int32_t root) {
    int32_t next = nodes.child(root), pairs = NONE;
    while (next != NONE) {
        int32_t pair = next;
        const int32_t second = nodes.sibling(pair);
        next = second == NONE ? NONE : nodes.sibling(second);
        nodes.sibling(pair) = NONE;
        if (second != NONE) nodes.sibling(second) = NONE;
        pair = merge_heaps(nodes, pair, second);
        nodes.sibling(pair) = pairs;
        pairs = pair;
    }
    int32_t merged = NONE;
    while (pairs != NONE) {
        const int32_t before = nodes.sibling(pairs);
        nodes.sibling(pairs) = NONE;
        merged = merge_heaps(nodes, merged, pairs);
        pairs = before;
    }
    return merged;
}

}  // namespace commmodel
