// What ranks wait for when nothing goes on any more.
#pragma once

#include <cstdint>
#include <vector>

#include "flows/messages.hpp"
#include "flows/ranks.hpp"
#include "flows/strands.hpp"
#include "program/deadlock.hpp"
#include "program/requests.hpp"

namespace commmodel {

// Whether a rank waits for an end of a message, of which `waiter` is told.
inline bool hangs_on(const Rank &rank, int32_t waiter, const Requests<Request> &requests) {
    if (waiter == NONE) return false;
    if (waiter == BLOCKING) return true;
    if (waiter == UNNAMED_REQUEST) return awaits_unnamed(rank);
    return requests[waiter].awaited || rank.doing == AWAITING;
}

// order: after that of all messages. live: of a program that runs; then each line is how far a rank is in its last operations,
// NONE beside them.
inline std::vector<Hanging> hanging(const Messages &messages, const Requests<Request> &requests,
                                    const std::vector<Rank> &ranks, const Strands &strands, int64_t order, bool live) {
    Deadlock deadlock;
    const auto step = [&](int32_t number) {
        const Rank &rank = ranks[number];
        return !live ? 0 : strands.is_rank(number) ? static_cast<int32_t>(rank.at - rank.begin) : NONE;
    };
    std::vector<bool> is_told(static_cast<size_t>(strands.ranks()));
    for (int32_t index = 0; index < messages.size(); ++index) {
        const Message &message = messages[index];
        const bool sends = message.stage == SENT;
        if (!sends && message.stage != POSTED) continue;
        const int32_t number = sends ? message.sends : message.receives;
        const Rank &rank = ranks[number];
        if (!hangs_on(rank, sends ? message.sender : message.receiver, requests)) continue;
        const int32_t peer = sends ? message.destination : message.source;
        deadlock.add(message.order,
                     {strands.rank(number), rank.at->code, sends, peer, message.tag, step(number), message.size});
        is_told[static_cast<size_t>(strands.rank(number))] = true;
    }
    for (int32_t number = 0; number < strands.ranks(); ++number) {
        const Rank &rank = ranks[number];
        if (rank.doing != AWAITING) continue;
        const bool is_of_message = rank.at->peer >= ANY;  // else whatever happens, as several threads wait for messages
        if (!is_of_message && is_told[static_cast<size_t>(number)]) continue;
        const int32_t peer = is_of_message ? rank.at->peer : ANY, tag = is_of_message ? rank.at->tag : ANY;
        deadlock.add(order, {number, AWAIT, 0, peer, tag, step(number), 0.0});
    }
    return deadlock.report();
}

}  // namespace commmodel
