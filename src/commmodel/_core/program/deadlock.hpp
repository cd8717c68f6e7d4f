// Who waits for whom when nothing goes on any more: what the engine says of a deadlock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "flows/engine.hpp"

namespace commmodel {

inline bool Engine::hangs_on(int32_t rank, int32_t waiter) {
    const Rank &me = ranks_[rank];
    if (waiter == NOBODY) return false;
    if (waiter == BLOCKING) return true;
    if (waiter == UNNAMED_ONE) return awaits_unnamed(me);
    return requests_.at(waiter).awaited;
}

inline void Engine::list_hanging() {
    std::vector<std::pair<std::pair<int32_t, int64_t>, int32_t>> found;  // (rank, order of posting), message
    for (int32_t index = 0; index < matching_.size(); ++index) {
        const Message &message = matching_.at(index);
        if (message.stage == POSTED && hangs_on(message.destination, message.receiver)) {
            found.push_back({{message.destination, message.order}, index});
        } else if (message.stage == SENT && hangs_on(message.source, message.sender)) {
            found.push_back({{message.source, message.order}, index});
        }
    }
    std::sort(found.begin(), found.end());
    int32_t rank = NONE, listed = 0;
    for (const auto &one : found) {
        const Message &message = matching_.at(one.second);
        listed = one.first.first == rank ? listed + 1 : 1;
        rank = one.first.first;
        if (listed > MOST_OF_A_RANK) continue;
        if (hanging.size() == MOST_HANGING) break;
        const bool sends = message.stage == SENT;
        hanging.push_back({rank, ranks_[rank].at->code, sends, sends ? message.destination : message.source,
                           message.tag, message.size});
    }
}

}  // namespace commmodel
