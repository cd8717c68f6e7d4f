// Walks back from the end of a simulated run through what has decided it: its critical path.
//
// A walk is at a rank and a time, and asks what the rank did until then. What its processor did is a segment of the path,
// and the walk goes on at its begin. Where a message ended a wait, the way of that message is a segment, and the walk goes
// on at the rank that decided when the message left: at its sender, or at its receiver where that posted it last. Segments
// cover the time from 0 to the end; each begins where the one before it ends.
//
// Engines record what ranks did and when messages left and arrived, not why. Why follows from equal times, and from what
// a message costs (`MessageCosts` in simulate/critical_path/costs.py): the flow engine lets a rank go on at the very time of
// what it waits for; of the delay engine, which keeps the sums of several overheads in one interval, the costs tell the
// parts apart.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "program/program.hpp"

namespace commmodel {

enum PathKind : int32_t { PATH_KINDS };

struct PathSegment {
    int32_t rank, kind, peer;  // of a message its other end
    int32_t unused = 0;
    int64_t interval, message;  // NONE without one
    double start, end;
};

// What a message costs, in seconds.
struct PathCosts {
    double send, isend, receive;  // of processors
    double question;              // overhead of a question or an answer
    double latency;               // of those
    double gap, transit;          // of delay models: at ports, and from leaving to arriving
    int64_t waits;                // its sender waits for its transfer, or for an answer
};

struct PathRules {
    int32_t of_delays = 0;  // the record is the delay engine's
    int32_t nic_keeps = 0;  // LogGPS
    int32_t in_order = 0;   // messages that wait ask for their receives
    int32_t measured = 0;   // of a recording: the peer of a wait is the rank for which it waited
};

struct History {
    int32_t ranks;
    const int64_t *first;  // of each rank's intervals, and behind the last
    const Interval *intervals;
    int64_t messages;
    const Transfer *transfers;
    const PathCosts *costs;
    PathRules rules;
};

class WalkBack {
  public:
    explicit WalkBack(const History &history)
        : h_(history), by_arrival_(history), by_leaving_(history), by_post_(history) {
        by_arrival_.fill([](const Transfer &one) { return one.receiver; },
                         [](const Transfer &one) { return one.arrived; });
        by_leaving_.fill([](const Transfer &one) { return one.sender; }, [](const Transfer &one) { return one.left; });
        by_post_.fill([](const Transfer &one) { return one.sender; }, [](const Transfer &one) { return one.posted; });
        for (int64_t i = 0; i < h_.messages; ++i) has_questions_ |= h_.costs[i].waits != 0;
        last_.assign(h_.first + 1, h_.first + h_.ranks + 1);
    }

    // From this time of a rank back to 0; segments in the order of time.
    void walk(int32_t rank, double time) {
        rank_ = rank;
        time_ = time;
        tolerance_ = ROUNDING * time;
        while (time_ > 0.0) step();
        std::reverse(segments_.begin(), segments_.end());
    }

    const std::vector<PathSegment> &segments() const { return segments_; }

  private:
    static constexpr double ROUNDING = 1e-14;  // of the whole time: sums of a few terms
    static constexpr int64_t LOOKS = 64;       // messages that are tried for one question

    // Messages of each rank in the order of a time of theirs.
    class Order {
      public:
        explicit Order(const History &history) : h_(history) {}

        template <class RankOf, class TimeOf> void fill(RankOf rank_of, TimeOf time_of) {
            first_.assign(static_cast<size_t>(h_.ranks) + 1, 0);
            for (int64_t i = 0; i < h_.messages; ++i) ++first_[rank_of(h_.transfers[i]) + 1];
            std::partial_sum(first_.begin(), first_.end(), first_.begin());
            std::vector<int64_t> place(first_.begin(), first_.end() - 1);
            numbers_.resize(h_.messages);
            for (int64_t i = 0; i < h_.messages; ++i) numbers_[place[rank_of(h_.transfers[i])]++] = i;
            times_.resize(h_.messages);
            for (int32_t rank = 0; rank < h_.ranks; ++rank) {
                const auto begin = numbers_.begin() + first_[rank], end = numbers_.begin() + first_[rank + 1];
                const auto sooner = [&](int64_t one, int64_t other) {
                    return time_of(h_.transfers[one]) < time_of(h_.transfers[other]);
                };
                if (!std::is_sorted(begin, end, sooner)) std::stable_sort(begin, end, sooner);
            }
            for (int64_t i = 0; i < h_.messages; ++i) times_[i] = time_of(h_.transfers[numbers_[i]]);
        }
        // Places of a rank's messages; the first with at least that time, or with more.
        int64_t begin(int32_t rank) const { return first_[rank]; }
        int64_t end(int32_t rank) const { return first_[rank + 1]; }
        int64_t from(int32_t rank, double time) const {
            return std::lower_bound(times_.begin() + begin(rank), times_.begin() + end(rank), time) - times_.begin();
        }
        int64_t behind(int32_t rank, double time) const {
            return std::upper_bound(times_.begin() + begin(rank), times_.begin() + end(rank), time) - times_.begin();
        }
        int64_t operator[](int64_t place) const { return numbers_[place]; }

      private:
        const History &h_;
        std::vector<int64_t> first_, numbers_;
        std::vector<double> times_;
    };

    bool is_near(double one, double other) const { return std::abs(one - other) <= tolerance_; }
    const Transfer &transfer(int64_t message) const { return h_.transfers[message]; }
    const PathCosts &costs(int64_t message) const { return h_.costs[message]; }
    bool is_local(int64_t message) const { return transfer(message).sender == transfer(message).receiver; }

    // A segment from `start` until now, which is then its begin.
    void emit(PathKind kind, double start, int64_t interval, int64_t message = NONE) {
        start = std::max(start, 0.0);
        if (!(start < time_)) return;
        int32_t peer = interval == NONE ? NONE : h_.intervals[interval].peer;
        if (message != NONE)
            peer = transfer(message).sender == rank_ ? transfer(message).receiver : transfer(message).sender;
        segments_.push_back({rank_, kind, peer, 0, interval, message, start, time_});
        time_ = start;
        jumps_ = 0;
    }

    // Go on at another rank at the same time; false where that has been done too often without getting any earlier.
    bool jump(int32_t rank) {
        if (++jumps_ > h_.ranks + 8) return false;
        rank_ = rank;
        return true;
    }

    // The last interval of a rank that begins before a time that is not after now; NONE without one.
    int64_t before(int32_t rank, double time) {
        int64_t place = last_[rank];
        while (place > h_.first[rank] && !(h_.intervals[place - 1].start < time - tolerance_)) --place;
        if (!(time < time_)) last_[rank] = place;  // the walk's time only falls
        return place > h_.first[rank] ? place - 1 : NONE;
    }

    // Whether an interval of a rank begins or ends at a time.
    bool has_boundary(int32_t rank, double time) {
        const int64_t place = before(rank, time);
        if (place != NONE && is_near(h_.intervals[place].end, time)) return true;
        const int64_t next = place == NONE ? h_.first[rank] : place + 1;
        return next < h_.first[rank + 1] && is_near(h_.intervals[next].start, time);
    }

    static bool is_waiting(int32_t state) { return state == IN_WAIT || state == IN_TRANSFER; }

    void step() {
        const int64_t place = before(rank_, time_);
        if (place == NONE) return emit(ON_WAIT, 0.0, NONE);
        const Interval &now = h_.intervals[place];
        if (now.end < time_ - tolerance_) return emit(ON_WAIT, now.end, place);
        if (h_.rules.measured) return step_measured(place);
        switch (now.state) {
            case IN_COMPUTE: return emit(ON_COMPUTATION, now.start, place);
            case IN_SLEEP: return emit(ON_SLEEP, now.start, place);
            case IN_FILES: return emit(ON_FILES, now.start, place);
            case IN_SEND: return h_.rules.of_delays ? delayed_send(place) : flowing_send(place);
            case IN_RECEIVE: return h_.rules.of_delays ? delayed_receive(place) : flowing_receive(place);
            default: return waiting(place);
        }
    }

    void step_measured(int64_t place) {
        const Interval &now = h_.intervals[place];
        static constexpr PathKind KINDS[] = {ON_COMPUTATION, ON_SEND,     ON_RECEIVE, ON_WAIT,
                                             ON_SLEEP,       ON_TRANSFER, ON_FILES,   ON_START_AND_END};
        if (now.state == IN_WAIT && now.peer >= 0 && now.peer < h_.ranks && now.peer != rank_ &&
            is_near(now.end, time_) && jump(now.peer))
            return;
        emit(KINDS[now.state], now.start, place);
    }

    // ---- the flow engine's record

    bool is_of(int64_t message, const Interval &call) const {
        const Transfer &one = transfer(message);
        const int32_t peer = call.state == IN_SEND ? one.receiver : one.sender;
        return peer == call.peer && one.tag == call.tag && one.size == call.size;
    }

    // The message that a call sends: posted at its begin, or before, and it leaves in it.
    int64_t sent(const Interval &call) const {
        for (int64_t i = by_post_.from(call.rank, call.start - tolerance_),
                     end = by_post_.behind(call.rank, call.start + tolerance_);
             i < end; ++i)
            if (is_of(by_post_[i], call)) return by_post_[i];
        int64_t best = NONE;
        for (int64_t i = by_leaving_.from(call.rank, call.start - tolerance_),
                     end = by_leaving_.behind(call.rank, call.end + tolerance_);
             i < end; ++i) {
            if (!is_of(by_leaving_[i], call)) continue;
            best = by_leaving_[i];
            if (is_near(transfer(best).left, call.start)) break;
        }
        return best;
    }

    void flowing_send(int64_t place) {
        const Interval &call = h_.intervals[place];
        const int64_t message = call.peer >= 0 ? sent(call) : NONE;
        if (message == NONE) return emit(ON_SEND, call.start, place);
        const Transfer &one = transfer(message);
        const bool ends_with_it = costs(message).waits || one.arrived == call.end;
        const double length = call.end - call.start;
        const bool is_overhead = is_near(length, costs(message).isend) || is_near(length, costs(message).send);
        if (!ends_with_it || is_overhead || !(one.left < call.end - tolerance_))
            return emit(ON_SEND, call.start, place);
        if (!(one.left < time_)) return emit(ON_RENDEZVOUS, call.start, place, message);
        emit(ON_TRANSFER, std::max(one.left, call.start), place, message);
        if (time_ <= one.left + tolerance_) decide(message);
    }

    void flowing_receive(int64_t place) {
        const Interval &call = h_.intervals[place];
        if (call.peer < 0) return emit(ON_RECEIVE, call.start, place);
        int64_t best = NONE;
        for (int64_t i = by_arrival_.behind(rank_, call.end + tolerance_); i-- > by_arrival_.begin(rank_);) {
            const int64_t message = by_arrival_[i];
            if (!(transfer(message).arrived > call.start + tolerance_)) break;
            if (!is_of(message, call)) continue;
            if (best == NONE) best = message;
            if (is_near(transfer(message).arrived + costs(message).receive, call.end)) {
                best = message;
                break;
            }
        }
        if (best == NONE) return emit(ON_RECEIVE, call.start, place);
        if (transfer(best).arrived < time_) emit(ON_RECEIVE, transfer(best).arrived, place, best);
        if (transfer(best).arrived > time_ + tolerance_) return waiting(place);  // a jump into the call
        follow(best, place);
    }

    // ---- waits of both

    void waiting(int64_t place) {
        const Interval &call = h_.intervals[place];
        if (h_.rules.of_delays && call.peer >= 0) return taken(place, call.start);  // the first part of a receive
        for (int64_t i = by_arrival_.from(rank_, time_ - tolerance_),
                     end = by_arrival_.behind(rank_, time_ + tolerance_);
             i < end; ++i)
            if (is_moving(by_arrival_[i])) return follow(by_arrival_[i], place);
        if (h_.rules.of_delays) {
            if (asked(place) || answered(place)) return;
        } else {
            const int64_t own = released();
            if (own != NONE) {
                emit(ON_TRANSFER, transfer(own).left, place, own);
                return decide(own);
            }
        }
        if (is_near(call.end, time_)) {  // nothing moved until a message left
            for (int64_t i = by_leaving_.from(rank_, time_ - tolerance_),
                         end = by_leaving_.behind(rank_, time_ + tolerance_);
                 i < end; ++i)
                if (!is_local(by_leaving_[i]) && has_boundary(transfer(by_leaving_[i]).receiver, time_) &&
                    jump(transfer(by_leaving_[i]).receiver))
                    return;
        }
        // What no record tells: until the last message that came before it.
        const int64_t last = by_arrival_.from(rank_, time_ - tolerance_) - 1;
        if (last >= by_arrival_.begin(rank_) && transfer(by_arrival_[last]).arrived > call.start + tolerance_) {
            emit(ON_WAIT, transfer(by_arrival_[last]).arrived, place);
            return follow(by_arrival_[last], place);
        }
        emit(ON_WAIT, call.start, place);
    }

    // Whether a message has taken time, or at least comes from elsewhere; else it explains nothing.
    bool is_moving(int64_t message) const { return transfer(message).left < time_ - tolerance_ || !is_local(message); }

    // A message of this rank whose transfer the rank waited for until now, whole or up to what sockets hold.
    int64_t released() const {
        for (int64_t i = by_leaving_.from(rank_, time_ - tolerance_), looks = 0;
             i-- > by_leaving_.begin(rank_) && looks < LOOKS; ++looks)
            if (is_near(transfer(by_leaving_[i]).arrived, time_)) return by_leaving_[i];
        int64_t best = NONE;
        for (int64_t i = by_leaving_.from(rank_, time_ - tolerance_), looks = 0;
             i-- > by_leaving_.begin(rank_) && looks < LOOKS; ++looks) {
            const Transfer &one = transfer(by_leaving_[i]);
            const bool is_under_way = costs(by_leaving_[i]).waits && one.arrived > time_;
            if (is_under_way && (best == NONE || one.arrived < transfer(best).arrived)) best = by_leaving_[i];
        }
        return best;
    }

    // A message has come now, through its way back to when it left.
    void follow(int64_t message, int64_t place) {
        const Transfer &one = transfer(message);
        if (h_.rules.of_delays && !is_local(message)) {
            while (is_behind_another(message)) {
                const int32_t receiver = transfer(message).receiver;
                const int64_t i = place_of(by_arrival_, receiver, transfer(message).arrived, message);
                const int64_t previous = before_it(by_arrival_, i, receiver);
                if (previous == NONE ||
                    !is_near(transfer(previous).arrived + costs(message).gap, transfer(message).arrived))
                    break;
                emit(ON_PORT, transfer(previous).arrived, place, message);
                message = previous;
            }
            emit(ON_TRANSFER, transfer(message).left, place, message);
            return decide(message);
        }
        emit(ON_TRANSFER, one.left, place, message);
        decide(message);
    }

    bool is_behind_another(int64_t message) const {
        const Transfer &one = transfer(message);
        return one.arrived > one.left + costs(message).transit + tolerance_;
    }

    // Where a message is in an order, of which its time and rank are known.
    static int64_t place_of(const Order &order, int32_t rank, double time, int64_t message) {
        int64_t place = order.from(rank, time);
        while (order[place] != message) ++place;
        return place;
    }

    // The message before a place in an order that used the same NIC; NONE without one.
    int64_t before_it(const Order &order, int64_t place, int32_t rank) const {
        while (place-- > order.begin(rank))
            if (!is_local(order[place])) return order[place];
        return NONE;
    }

    // A message left now: go on at the rank that decided it.
    void decide(int64_t message) {
        const Transfer &one = transfer(message);
        if (h_.rules.of_delays) return decide_delayed(message);
        if (!(one.posted < time_ - tolerance_)) {
            const bool is_of_receiver = !has_boundary(one.sender, time_) && has_boundary(one.receiver, time_);
            jump_or_wait(is_of_receiver ? one.receiver : one.sender);
            return;
        }
        const int64_t place = before(one.sender, time_);
        if (place != NONE) {
            const Interval &call = h_.intervals[place];
            const bool is_overhead =
                call.state == IN_SEND && is_near(call.start, one.posted) && is_near(call.end, time_);
            if (is_overhead) return jump_or_wait(one.sender);
        }
        if (!h_.rules.in_order) return jump_or_wait(one.receiver);
        // It has asked, and its answer was read now.
        const int64_t begin = begin_of_call(one.sender, time_);
        if (begin != NONE && is_near(h_.intervals[begin].start, time_)) return jump_or_wait(one.sender);
        const double asked = time_ - costs(message).latency;
        const int64_t entry = begin_of_call(one.receiver, asked);
        const double entered = entry == NONE ? 0.0 : h_.intervals[entry].start;
        const bool is_late = entered > one.posted && entered < time_;
        if (!jump(one.sender)) return wait_here();
        emit(ON_RENDEZVOUS, is_late ? entered : one.posted, NONE, message);
        jump_or_wait(is_late ? one.receiver : one.sender);
    }

    // The first interval of the call in which a rank is at a time, or which begins then: its last one may have several.
    int64_t begin_of_call(int32_t rank, double time) {
        int64_t place = before(rank, time);
        const int64_t next = place == NONE ? h_.first[rank] : place + 1;
        if (next < h_.first[rank + 1] && is_near(h_.intervals[next].start, time) &&
            (place == NONE || !is_waiting(h_.intervals[place].state)))
            return next;
        while (place != NONE && place > h_.first[rank] && is_waiting(h_.intervals[place].state) &&
               is_waiting(h_.intervals[place - 1].state))
            --place;
        return place;
    }

    void jump_or_wait(int32_t rank) {
        if (!jump(rank)) wait_here();
    }

    // Nothing got any earlier: what the rank did is left unexplained.
    void wait_here() {
        const int64_t place = before(rank_, time_);
        emit(ON_WAIT, place == NONE ? 0.0 : h_.intervals[place].start, place);
    }

    // ---- the delay engine's record: delays_walk.hpp

    void delayed_send(int64_t place);
    void delayed_receive(int64_t place);
    void stalled(int64_t place, int64_t message, double start);
    struct Taken {  // by a processor: a message, a question, or an answer and then the data
        int64_t message;
        PathKind kind;
        double length, come;  // come: INFINITE where it is not known
    };
    Taken receive_of(int64_t message) const;
    Taken question_of(int64_t message) const;
    Taken answer_to(int64_t message) const;
    Taken taken_last(const Interval &call, double start, double end, int32_t depth) const;
    void taken(int64_t place, double start);
    void take(int64_t place, double start, Taken last);
    void ask(int64_t place, int64_t message);
    bool asked(int64_t place);
    bool answered(int64_t place);
    void answer(int64_t place, int64_t message);
    void decide_delayed(int64_t message);

    const History &h_;
    Order by_arrival_, by_leaving_, by_post_;
    std::vector<int64_t> last_;  // of each rank: behind the intervals that begin before now
    std::vector<PathSegment> segments_;
    mutable std::vector<Taken> candidates_;
    int64_t just_taken_ = NONE, just_asked_ = NONE;
    bool has_questions_ = false;
    int32_t rank_ = 0, jumps_ = 0;
    double time_ = 0.0, tolerance_ = 0.0;
};

}  // namespace commmodel

#include "program/delays_walk.hpp"
