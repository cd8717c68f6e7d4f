// Times that carry their derivatives by what they are made of.
//
// An engine is written once, for a type of time: double, or Slopes, where each sum adds the derivatives of its terms and
// each choice of the later time takes those of what it chose. Of times that are alike it takes the steepest: how much
// later the end becomes where a parameter grows. Times that differ by rounding alone are alike.
#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "common/constants.hpp"

namespace commmodel::delays {

// Derivatives of a time: by the factor of computation (in seconds), and by each parameter of messages, by what is added
// to it or by its factor.
enum Parameter { COMPUTATION, LATENCY, OVERHEAD, BYTE, GAP, OVERHEAD_SENT, OVERHEAD_RECEIVED, SMALL_BYTE, PARAMETERS };
constexpr int FEW_PARAMETERS = GAP + 1;  // those of LogP and LogGP

template <int COUNT> struct Slopes {
    static constexpr int SIZE = COUNT;
    double value = 0.0;
    double by[COUNT] = {};

    Slopes() = default;
    Slopes(double seconds) : value(seconds) {}

    Slopes &operator+=(const Slopes &other) {
        value += other.value;
        for (int i = 0; i < COUNT; ++i) by[i] += other.by[i];
        return *this;
    }
    friend Slopes operator+(Slopes first, const Slopes &second) { return first += second; }
    friend Slopes operator*(double factor, Slopes times) {
        times.value = factor * times.value;
        for (int i = 0; i < COUNT; ++i) times.by[i] *= factor;
        return times;
    }
    friend bool operator<(const Slopes &first, const Slopes &second) { return first.value < second.value; }
    friend bool operator>(const Slopes &first, const Slopes &second) { return first.value > second.value; }
    friend bool operator<=(const Slopes &first, const Slopes &second) { return first.value <= second.value; }
    friend bool operator!=(const Slopes &first, const Slopes &second) { return first.value != second.value; }
};

inline double value_of(double time) { return time; }
template <int COUNT> double value_of(const Slopes<COUNT> &time) { return time.value; }

// A time as it is, or its value alone.
template <class Number, class Time> Number as(const Time &time) {
    if constexpr (std::is_same_v<Number, Time>)
        return time;
    else
        return value_of(time);
}

inline double later(double first, double second) { return std::max(first, second); }
template <int COUNT> Slopes<COUNT> later(const Slopes<COUNT> &first, const Slopes<COUNT> &second) {
    constexpr double ROUNDING = 1e-13;
    const Slopes<COUNT> &last = first.value < second.value ? second : first;
    const double margin = ROUNDING * last.value;
    if (!(std::abs(first.value - second.value) <= margin)) return last;
    Slopes<COUNT> both;
    both.value = last.value;
    for (int i = 0; i < COUNT; ++i) both.by[i] = std::max(first.by[i], second.by[i]);
    return both;
}

// A parameter of messages as a term of times; the place of its derivative, which a type of few of them may lack.
inline void set_parameter(double &time, double seconds, int, double) { time = seconds; }
template <int COUNT> void set_parameter(Slopes<COUNT> &time, double seconds, int place, double growth) {
    time = seconds;
    if (place < COUNT) time.by[place] = growth;
}

// A time after some computation.
inline double computed(double begin, double seconds) { return begin + seconds; }
template <int COUNT> Slopes<COUNT> computed(Slopes<COUNT> begin, double seconds) {
    begin.value += seconds;
    begin.by[COMPUTATION] += seconds;
    return begin;
}

// Append the derivatives of a time.
template <class Out> void append_slopes(Out &, double) {}
template <class Out, int COUNT> void append_slopes(Out &out, const Slopes<COUNT> &time) {
    out.insert(out.end(), time.by, time.by + COUNT);
}

}  // namespace commmodel::delays
