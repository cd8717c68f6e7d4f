// Ways made of hops: of each pair of points only the point before the last is kept, and of each hop its links. All ways
// of a ring of 500 hosts, listed, would be 31 million links; so they are 250,000 points and 1000 hops.
// Source: Floyd 1962 (algorithm 97).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace commmodel {

// Shorten ways between all points, rows of `distance`, in place, with the points as middles in their order; of equally
// long ways the one found first stands. before: of each way the point before the last.
inline void find_shortest(int64_t points, double *distance, int32_t *before) {
    for (int64_t middle = 0; middle < points; ++middle) {
        const double *onward = distance + middle * points;
        const int32_t *last = before + middle * points;
        for (int64_t source = 0; source < points; ++source) {
            double *row = distance + source * points;
            int32_t *mine = before + source * points;
            const double there = row[middle];
            if (source == middle || there == std::numeric_limits<double>::infinity()) continue;
            for (int64_t destination = 0; destination < points; ++destination) {
                const double through = there + onward[destination];
                if (through < row[destination]) {
                    row[destination] = through;
                    mine[destination] = last[destination];
                }
            }
        }
    }
}

struct Hops {
    int64_t points = 0;
    std::vector<int32_t> before;   // of each pair of points: the point before the last, -1: no way
    std::vector<int64_t> first;    // of each point: its first hop, and where the last one's end
    std::vector<int32_t> ends;     // of each hop: the point to which it leads, ascending for each point
    std::vector<int64_t> offsets;  // of each hop: where its links begin
    std::vector<int32_t> links;

    // Number of the hop from one point to another, -1 where there is none.
    int64_t find(int64_t source, int64_t destination) const {
        const auto begin = ends.begin() + first[source], end = ends.begin() + first[source + 1];
        const auto found = std::lower_bound(begin, end, static_cast<int32_t>(destination));
        return found == end || *found != destination ? -1 : found - ends.begin();
    }

    // Whether every way is one of hops that are there, and comes to its end.
    bool are_sound() const {
        std::vector<int64_t> reached(static_cast<size_t>(points));
        int64_t stamp = 0;
        for (int64_t source = 0; source < points; ++source) {
            const int64_t sound = ++stamp;  // points whose ways have been followed to their beginning
            std::fill(reached.begin(), reached.end(), 0);
            reached[source] = sound;
            for (int64_t destination = 0; destination < points; ++destination) {
                if (before[source * points + destination] < 0) continue;
                const int64_t trail = ++stamp;
                int64_t at = destination;
                while (reached[at] != sound) {
                    const int32_t last = before[source * points + at];
                    if (reached[at] == trail || last < 0 || last >= points || find(last, at) < 0) return false;
                    reached[at] = trail;
                    at = last;
                }
                for (at = destination; reached[at] == trail; at = before[source * points + at]) reached[at] = sound;
            }
        }
        return true;
    }

    // Append the links of a way, which is followed from its end.
    void route(int64_t source, int64_t destination, std::vector<int32_t> &way) const {
        const size_t begin = way.size();
        const int32_t *last = &before[static_cast<size_t>(source * points)];
        if (source != destination && last[destination] < 0) return;
        for (int64_t at = destination;;) {
            const int64_t from = at == source ? source : last[at];
            const int64_t hop = find(from, at);
            if (hop >= 0)
                for (int64_t place = offsets[hop + 1]; place-- > offsets[hop];) way.push_back(links[place]);
            at = from;
            if (at == source) break;
        }
        std::reverse(way.begin() + static_cast<std::ptrdiff_t>(begin), way.end());
    }
};

}  // namespace commmodel
