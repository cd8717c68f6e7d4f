// Shortest routes between all points. Source: Floyd 1962 (algorithm 97).
#pragma once

#include <cstdint>

#include "common/constants.hpp"

namespace commmodel::routing {

// Shorten routes between all points, rows of `distance`, in place, with the points as middles in their order; of equally
// long routes the first one found stands. before: of each route the point before the last.
inline void find_shortest(int64_t points, double *distance, int32_t *before) {
    for (int64_t middle = 0; middle < points; ++middle) {
        const double *onward = distance + middle * points;
        const int32_t *last = before + middle * points;
        for (int64_t source = 0; source < points; ++source) {
            double *row = distance + source * points;
            int32_t *before_row = before + source * points;
            const double first_part = row[middle];
            if (source == middle || first_part == INFINITE) continue;
            for (int64_t destination = 0; destination < points; ++destination) {
                const double through = first_part + onward[destination];
                if (through < row[destination]) {
                    row[destination] = through;
                    before_row[destination] = last[destination];
                }
            }
        }
    }
}

}  // namespace commmodel::routing
