// What the engine does where ranks wait for requests.
#pragma once

#include <cstdint>
#include <utility>

#include "flows/engine.hpp"

namespace commmodel {

inline bool Engine::begin_wait(int32_t rank) {
    Rank &me = ranks_[rank];
    const Operation &operation = *me.at;
    if (operation.code == TEST) poll(rank);
    const int32_t index = requests_.find(rank, operation.request);
    if (index == NONE || (operation.code == TEST && !requests_[index].done)) {
        ++me.at;
        return true;
    }
    collect(rank, index);
    if (operation.code == TEST) {
        if (stay(rank, std::exchange(me.owed, 0.0), TESTED)) return false;
        ++me.at;
        return true;
    }
    return wait(rank, IN_WAIT);
}

inline bool Engine::begin_waitall(int32_t rank) {
    Rank &me = ranks_[rank];
    if (me.at->request == UNNAMED) {
        me.awaited = me.open_unnamed;
        me.owed = std::exchange(me.owed_unnamed, 0.0);
    } else {
        for (int32_t index = me.first_request; index != NONE;) {
            const int32_t next = requests_[index].after;
            collect(rank, index);
            index = next;
        }
    }
    return wait(rank, IN_WAIT);
}

// Wait for a named request, or take it if it is done.
inline void Engine::collect(int32_t rank, int32_t index) {
    Rank &me = ranks_[rank];
    Request &request = requests_[index];
    if (request.done) {
        me.owed += request.overhead;
        requests_.close(rank, index, me.first_request);
    } else {
        request.awaited = true;
        ++me.awaited;
    }
}

// After a part of a wait spent in `state`: the overheads that are owed, then what has not come yet.
inline bool Engine::wait(int32_t rank, State state) {
    Rank &me = ranks_[rank];
    if (me.owed > 0.0 || me.awaited == 0 || state == IN_RECEIVE) spend(rank, state == IN_WAIT ? waiting(me) : state);
    if (me.owed > 0.0 && stay(rank, std::exchange(me.owed, 0.0), AFTER_WAITING)) return false;
    me.owed = 0.0;
    if (me.awaited > 0) {
        me.doing = WAITING;
        progress(rank);
        return false;
    }
    ++me.at;
    return true;
}

}  // namespace commmodel
