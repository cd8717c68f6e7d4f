// A program that is made while it is simulated: what it does next may depend on simulated time.
#pragma once

#include <cstdint>

#include "program/program.hpp"

namespace commmodel {

// What an engine knows at the time of asking.
class Answers {
  public:
    virtual double now() const = 0;
    // How often anything has happened for which a rank may wait.
    virtual int64_t changes() const = 0;
    // Bytes of the largest message whose send ends without its receive.
    virtual double buffered_limit() const = 0;
    // Whether a named request is complete.
    virtual bool is_done(int32_t rank, int32_t request) const = 0;
    // The first message that a probe of source and tag finds; these become the message's own.
    virtual bool find_message(int32_t rank, int32_t &source, int32_t &tag) const = 0;

  protected:
    ~Answers() = default;
};

// What all ranks' files are on: its bandwidth is shared by those that use it at a time.
struct Storage {
    double bandwidth = 0.0;  // 0: there is none
    double latency = 0.0;    // of each part
    double client = 0.0;     // the most that a host has of the bandwidth; 0: all of it
};

class Live {
  public:
    Storage storage;
    // Bits of a tag that a communicator's own tags have; above them, a tag names the communicator.
    int32_t tag_bits = 31;
    // How many strands wait to begin: operations that a rank carries out beside its own, and then completes a request.
    int32_t strands = 0;
    // How many ranks begin now that others have spawned.
    int32_t births = 0;

    // The next operations of a rank, none at its end; false where the run has to stop.
    virtual bool more(const Answers &answers, int32_t rank, const Operation *&begin, int64_t &count) = 0;
    // A receive has got its message: one whose request is `FIRST_REPORTED` or above.
    virtual void matched(int32_t rank, int32_t request, int32_t source, int32_t tag) = 0;
    // Begin a strand, whose operations `more` gives under a number that is no rank's; its rank and its request's name.
    virtual void begin_strand(int32_t number, int32_t &rank, int32_t &request) = 0;
    // Whether a rank has begun or begins: the others may be spawned later.
    virtual bool is_born(int32_t rank) const = 0;
    // The next rank that begins.
    virtual int32_t next_born() = 0;
    // Nothing goes on any more: let ranks begin all strands that they can.
    virtual void stall() = 0;

  protected:
    ~Live() = default;
};

}  // namespace commmodel
