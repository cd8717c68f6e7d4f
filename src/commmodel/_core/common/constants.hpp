// Constants of all of the core: one spelling of each.
#pragma once

#include <cstdint>
#include <limits>

namespace commmodel {

constexpr int32_t NONE = -1;                                            // of indices: there is none
constexpr int32_t LARGEST_INDEX = std::numeric_limits<int32_t>::max();  // hosts, links, operations have such numbers
constexpr double LARGEST_INTEGER = 9007199254740992.0;                  // up to 2^53, integers are exact in a double
constexpr double INFINITE = std::numeric_limits<double>::infinity();    // of times: never
constexpr double LATEST = std::numeric_limits<double>::max();

}  // namespace commmodel
