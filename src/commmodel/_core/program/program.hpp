// What ranks do, and what is said of it: the layouts of `commmodel.simulate.operations` and `.result`, and the numbers
// that Python knows.
#pragma once

#include <cstdint>

#include "common/constants.hpp"
#include "common/codes.h"

namespace commmodel {

enum Code : int32_t { OPERATION_CODES, CODES };
enum State : int32_t { RANK_STATES, STATES };

#pragma pack(push, 1)  // as numpy lays them out
struct Operation {
    int32_t code, peer, tag, request;
    double value;
};
struct Interval {
    int32_t rank, state, peer, tag;
    double size, start, end;
};
struct Transfer {
    int32_t sender, receiver, tag;
    double size, posted, left, arrived;
};
struct Mark {
    int32_t rank, number;
    double time;
};
struct Hanging {  // a rank that waits for something that will not come
    int32_t rank, call, awaits_receive, peer, tag;
    int32_t
        line;  // of a GOAL schedule's file; of a live program, operations behind the first of the rank's last, or NONE; else 0
    double size;
};
#pragma pack(pop)

// Why a run stopped before its end.
enum Fault : int32_t {
    NO_FAULT,
    UNKNOWN_CODE,     // number: the code
    BAD_PEER,         // number: the peer
    BAD_TAG,          // number: the tag
    BAD_VALUE,        // size: the value
    BAD_REQUEST,      // number: the request
    REQUEST_IN_USE,   // number: the request
    REQUEST_UNKNOWN,  // number: the request
    TRUNCATED,        // number: the sender; size, limit: bytes
    INTERRUPTED,      // a callback raised
    STUCK,            // time does not go on: a fault of the engine
    ASYMMETRIC,       // ranks that stand for others do not
    TOO_LATE,         // something would happen at a time beyond all numbers
};

struct Stop {
    Fault fault = NO_FAULT;
    int32_t rank = NONE;
    int64_t operation = 0;  // how many the rank had carried out before it
    int64_t number = 0;
    int32_t tag = 0;
    double size = 0.0, limit = 0.0;
};

}  // namespace commmodel
