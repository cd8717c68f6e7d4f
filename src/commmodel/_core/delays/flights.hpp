// Waits of ranks told apart, waiting from transferring, where messages arrive out of the order of time.
//
// A wait is a transfer while a message to or from its rank is in flight, and a receive that began before any was begins
// with a wait (`commmodel.simulate.states`). A sender hears of an arrival when the receiver has come that far; so waits
// are kept until no message of their rank is in flight that left before they end, and none can leave so any more.
// Messages are counted in two turns of each rank: when all of the earlier turn have arrived, the waits before the later
// one are told apart, and a new turn begins.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/constants.hpp"
#include "program/run.hpp"

namespace commmodel::delays {

struct Flight {
    double begin, end;
};

// What is kept of a rank.
struct Kept {
    std::vector<Flight> flights;  // in the order of time, those at once joined
    std::vector<Interval> waits;
    double turned = 0.0;            // none of the messages of the later turn left before
    int32_t in_flight[2] = {0, 0};  // of the turns
    uint8_t turn = 0;               // the later one
};

class Flights {
  public:
    explicit Flights(Run &run) : run_(run) {}

    // Let a message leave; returns the turns to which it belongs.
    static uint8_t leave(Kept &sender, Kept &receiver) {
        ++sender.in_flight[sender.turn];
        ++receiver.in_flight[receiver.turn];
        return static_cast<uint8_t>(sender.turn | receiver.turn << 1);
    }

    static void arrive(Kept &sender, Kept &receiver, uint8_t turns, double left, double arrived) {
        --sender.in_flight[turns & 1];
        --receiver.in_flight[turns >> 1];
        add(sender.flights, {left, arrived});
        if (&receiver != &sender) add(receiver.flights, {left, arrived});
    }

    // A rank was in a call that waits (IN_WAIT) or receives (IN_RECEIVE); no message leaves before `settled` any more.
    void wait(Kept &rank, const Interval &call, double settled) {
        if (!(call.end > call.start)) return;
        rank.waits.push_back(call);
        if (rank.in_flight[!rank.turn] > 0) return;
        settle(rank, rank.in_flight[rank.turn] > 0 ? rank.turned : settled);
        rank.turned = settled;
        rank.turn = !rank.turn;
    }

    void settle(Kept &rank, double settled) {
        size_t done = 0;
        for (; done < rank.waits.size() && rank.waits[done].end <= settled; ++done) cut(rank, rank.waits[done]);
        if (done == 0) return;
        const double begun = done < rank.waits.size() ? rank.waits[done].start : rank.waits[done - 1].end;
        rank.waits.erase(rank.waits.begin(), rank.waits.begin() + static_cast<int64_t>(done));
        const auto past = std::find_if(rank.flights.begin(), rank.flights.end(),
                                       [begun](const Flight &flight) { return flight.end > begun; });
        rank.flights.erase(rank.flights.begin(), past);
    }

  private:
    static void add(std::vector<Flight> &flights, Flight flight) {
        const auto sooner = [](double time, const Flight &one) { return time < one.begin; };
        const auto last = std::upper_bound(flights.begin(), flights.end(), flight.end, sooner);
        auto first = last;
        while (first != flights.begin() && (first - 1)->end >= flight.begin) {
            --first;
            flight = {std::min(first->begin, flight.begin), std::max(first->end, flight.end)};
        }
        if (first == last) {
            flights.insert(last, flight);
        } else {
            *first = flight;
            flights.erase(first + 1, last);
        }
    }

    void cut(const Kept &rank, const Interval &call) {
        const auto over = [](const Flight &one, double time) { return one.end <= time; };
        auto flight = std::lower_bound(rank.flights.begin(), rank.flights.end(), call.start, over);
        double at = call.start;
        if (call.state == IN_RECEIVE) {
            if (flight != rank.flights.end() && flight->begin < call.end && flight->begin > at) {
                spend(call, IN_WAIT, at, flight->begin);
                at = flight->begin;
            }
            return spend(call, IN_RECEIVE, at, call.end);
        }
        for (; flight != rank.flights.end() && flight->begin < call.end; ++flight) {
            if (flight->begin > at) spend(call, IN_WAIT, at, flight->begin);
            at = std::max(at, flight->begin);
            spend(call, IN_TRANSFER, at, std::min(flight->end, call.end));
            at = std::min(flight->end, call.end);
        }
        if (at < call.end) spend(call, IN_WAIT, at, call.end);
    }

    void spend(const Interval &call, State state, double start, double end) {
        run_.spend(call.rank, state, call.peer, call.tag, call.size, start, end);
    }

    Run &run_;
};

}  // namespace commmodel::delays
