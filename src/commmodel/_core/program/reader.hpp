// Reads the programs of all ranks: checks each operation, and asks the caller for more where a rank has come to the end.
#pragma once

#include <cmath>
#include <cstdint>

#include "program/blocks.hpp"
#include "program/program.hpp"
#include "program/run.hpp"

namespace commmodel {

// Where a rank is in its program.
struct Cursor {
    const Operation *begin = nullptr, *at = nullptr, *end = nullptr;
    int64_t before = 0;                                 // operations in parts of the program that were replaced
    int32_t first_request = NONE, highest_name = NONE;  // requests: list of open ones, highest name so far
};

class Reader {
  public:
    // peers: numbers that partners may have, those of all ranks.
    Reader(int32_t ranks, const Operation *operations, const int64_t *offsets, Run &run, int32_t peers = NONE)
        : run_(run), peers_(peers == NONE ? ranks : peers), operations_(operations), offsets_(offsets),
          blocks_(run.callbacks, ranks) {}

    void open(int32_t rank, Cursor &cursor) const {
        cursor.begin = cursor.at = operations_ + offsets_[rank];
        cursor.end = operations_ + offsets_[rank + 1];
    }

    // Replace a rank's operations by its next ones; false where there are none, or the caller raised.
    bool more(int32_t rank, Cursor &cursor) {
        const Callbacks &callbacks = run_.callbacks;
        if (callbacks.refill == nullptr && run_.live == nullptr) return false;
        const Operation *begin = nullptr;
        int64_t count = 0;
        cursor.before += cursor.end - cursor.begin;
        cursor.begin = cursor.at = cursor.end = nullptr;
        if (run_.live != nullptr) {
            if (!run_.live->more(*run_.answers, rank, begin, count)) return fail(rank, cursor, INTERRUPTED);
        } else if (!blocks_.next(rank, begin, count)) {
            return fail(rank, cursor, INTERRUPTED);
        } else if (count == 0 && !callbacks.refill(callbacks.context, rank, &begin, &count)) {
            return fail(rank, cursor, INTERRUPTED);
        }
        cursor.begin = cursor.at = begin;
        cursor.end = begin + count;
        return count > 0;
    }

    // Whether a rank's operation can be carried out; else stop the run.
    template <class Requests> bool check(int32_t rank, Cursor &cursor, const Requests &requests) {
        const Operation &operation = *cursor.at;
        switch (operation.code) {
            case COMPUTE:
            case SLEEP: return is_amount(operation.value) || fail(rank, cursor, BAD_VALUE, 0, operation.value);
            case SEND:
            case ISEND:
            case RECV:
            case IRECV: return check_message(rank, cursor, requests);
            case SSEND:
            case ISSEND:
                if (run_.live == nullptr) return fail(rank, cursor, UNKNOWN_CODE, operation.code);
                return check_message(rank, cursor, requests);
            case WAIT:
            case TEST:
                if (operation.request < 0) return fail(rank, cursor, BAD_REQUEST, operation.request);
                return operation.request <= cursor.highest_name ||
                       fail(rank, cursor, REQUEST_UNKNOWN, operation.request);
            case WAITALL:
                return operation.request == UNNAMED || operation.request == EVERY_NAMED ||
                       fail(rank, cursor, BAD_REQUEST, operation.request);
            case MARK:
                return std::abs(operation.value) < LARGEST_INDEX + 1.0 ||
                       fail(rank, cursor, BAD_VALUE, 0, operation.value);
            case PUT:
            case GET:
                if (run_.live == nullptr) return fail(rank, cursor, UNKNOWN_CODE, operation.code);
                return check_message(rank, cursor, requests);
            case ACCESS:
                if (run_.live == nullptr) return fail(rank, cursor, UNKNOWN_CODE, operation.code);
                if (operation.peer < 0) return fail(rank, cursor, BAD_PEER, operation.peer);
                if (!is_amount(operation.value)) return fail(rank, cursor, BAD_VALUE, 0, operation.value);
                return check_request(rank, cursor, requests);
            case WITHDRAW:
                if (run_.live == nullptr) return fail(rank, cursor, UNKNOWN_CODE, operation.code);
                return operation.request >= 0 || fail(rank, cursor, BAD_REQUEST, operation.request);
            case AWAIT:
                if (run_.live == nullptr) return fail(rank, cursor, UNKNOWN_CODE, operation.code);
                return operation.value >= 0.0 || fail(rank, cursor, BAD_VALUE, 0, operation.value);
            default: return fail(rank, cursor, UNKNOWN_CODE, operation.code);
        }
    }

    // Whether a message fits into its receive, which takes `most` bytes, or any number where that is negative.
    bool fits(double size, double most, int32_t source, int32_t destination, int32_t tag, const Cursor &receiver) {
        if (most < 0.0 || size <= most) return true;
        if (!run_.stopped()) run_.stop.tag = tag, run_.stop.limit = most;
        return fail(destination, receiver, TRUNCATED, source, size);
    }

  private:
    static bool is_amount(double value) { return value >= 0.0 && value < INFINITE; }

    template <class Requests> bool check_message(int32_t rank, Cursor &cursor, const Requests &requests) {
        const Operation &operation = *cursor.at;
        const bool blocking = operation.code == SEND || operation.code == RECV || operation.code == SSEND;
        const bool sends = operation.code != RECV && operation.code != IRECV;
        if (operation.peer < (sends ? 0 : ANY) || operation.peer >= peers_) {
            return fail(rank, cursor, BAD_PEER, operation.peer);
        }
        if (sends && operation.tag == ANY) return fail(rank, cursor, BAD_TAG, operation.tag);
        if (sends ? !is_amount(operation.value) : std::isnan(operation.value)) {
            return fail(rank, cursor, BAD_VALUE, 0, operation.value);
        }
        return blocking || check_request(rank, cursor, requests);
    }

    // Of an operation that begins one.
    template <class Requests> bool check_request(int32_t rank, Cursor &cursor, const Requests &requests) {
        const Operation &operation = *cursor.at;
        if (operation.request < UNNAMED) return fail(rank, cursor, BAD_REQUEST, operation.request);
        if (operation.request == UNNAMED) return true;
        if (requests.find(rank, operation.request) != NONE) {
            return fail(rank, cursor, REQUEST_IN_USE, operation.request);
        }
        if (operation.request > cursor.highest_name) cursor.highest_name = operation.request;
        return true;
    }

    // Stop the run at a rank's operation; false, for its callers to return.
    bool fail(int32_t rank, const Cursor &cursor, Fault fault, int64_t number = 0, double size = 0.0) {
        Stop &stop = run_.stop;
        if (run_.stopped()) return false;
        stop.fault = fault;
        stop.rank = rank;
        stop.operation = cursor.before + (cursor.at - cursor.begin);
        stop.number = number;
        stop.size = size;
        return false;
    }

    Run &run_;
    int32_t peers_;
    const Operation *operations_;
    const int64_t *offsets_;
    Blocks blocks_;
};

}  // namespace commmodel
