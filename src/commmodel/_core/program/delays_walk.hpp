// What a walk back does with the record of the delay engine: overheads, ports, and questions of a rendezvous.
#pragma once

#include <algorithm>
#include <cstdint>

#include "program/walk_back.hpp"

namespace commmodel {

// A send: its overhead, before it the wait for the port; or of a rendezvous what comes behind the answer.
inline void WalkBack::delayed_send(int64_t place) {
    const Interval &call = h_.intervals[place];
    if (call.peer < 0) return emit(ON_SEND, call.start, place);  // an answer taken in a wait, and the data sent
    int64_t message = sent(call);
    if (message == NONE) {  // data of a rendezvous that the NIC keeps leave behind the call
        const int64_t end = std::min(by_leaving_.end(rank_), by_leaving_.from(rank_, call.end) + LOOKS);
        for (int64_t i = by_leaving_.from(rank_, call.end); i < end && message == NONE; ++i)
            if (is_of(by_leaving_[i], call) && transfer(by_leaving_[i]).posted < call.end) message = by_leaving_[i];
    }
    if (message == NONE) return emit(ON_SEND, call.start, place);
    const PathCosts &cost = costs(message);
    if (cost.waits) {
        if (is_near(call.start + cost.question, call.end) || is_local(message)) return emit(ON_SEND, call.start, place);
        if (is_near(call.end, time_)) return take(place, call.start, answer_to(message));
        return taken(place, call.start);
    }
    if (h_.rules.nic_keeps || is_local(message)) return emit(ON_SEND, call.start, place, message);
    const double begin = std::max(transfer(message).left - cost.send, call.start);
    emit(ON_SEND, begin, place, message);
    if (time_ > call.start + tolerance_) {
        stalled(place, message, call.start);
    } else {
        emit(ON_SEND, call.start, place, message);
    }
}

// A send began now that was called at `start`: its port was busy, or the processor with what had come.
inline void WalkBack::stalled(int64_t place, int64_t message, double start) {
    const int64_t previous =
        before_it(by_leaving_, place_of(by_leaving_, rank_, transfer(message).left, message), rank_);
    if (previous != NONE) {
        const double begin = transfer(previous).left - costs(previous).send;
        if (begin < time_ - tolerance_ && is_near(begin + costs(previous).gap, time_))
            return emit(ON_PORT, begin, place, message);
    }
    taken(place, start);
}

// A call that receives one message, and meanwhile takes others that have come.
inline void WalkBack::delayed_receive(int64_t place) { taken(place, h_.intervals[place].start); }

inline WalkBack::Taken WalkBack::receive_of(int64_t message) const {
    return {message, ON_RECEIVE, costs(message).receive, transfer(message).arrived};
}
inline WalkBack::Taken WalkBack::question_of(int64_t message) const {
    const PathCosts &cost = costs(message);
    return {message, ON_RENDEZVOUS, 2.0 * cost.question, transfer(message).posted + cost.question + cost.latency};
}
inline WalkBack::Taken WalkBack::answer_to(int64_t message) const {
    return {message, ON_SEND, costs(message).question + costs(message).send, INFINITE};
}

// What a processor can have taken last until `end`, in a call that began at `start`; what it took as it came goes before
// what had waited for it. The message is NONE where nothing is known.
inline WalkBack::Taken WalkBack::taken_last(const Interval &call, double start, double end, int32_t depth) const {
    const auto is_exact = [&](const Taken &one) { return is_near(one.come + one.length, end); };
    for (int64_t i = by_leaving_.from(rank_, end - tolerance_), last = by_leaving_.behind(rank_, end + tolerance_);
         i < last; ++i)
        if (costs(by_leaving_[i]).waits && !is_local(by_leaving_[i])) return answer_to(by_leaving_[i]);
    candidates_.clear();
    int64_t looks = 0;
    for (int64_t i = by_arrival_.behind(rank_, end + tolerance_); i-- > by_arrival_.begin(rank_) && looks < LOOKS;
         ++looks) {
        const Taken one = receive_of(by_arrival_[i]);
        if (one.come + one.length > end + tolerance_ || one.message == just_taken_) continue;
        candidates_.push_back(one);
    }
    looks = 0;
    for (int64_t i = by_arrival_.from(rank_, end); i < by_arrival_.end(rank_) && looks < LOOKS && has_questions_;
         ++i, ++looks) {
        const int64_t message = by_arrival_[i];
        if (!costs(message).waits || is_local(message) || message == just_asked_) continue;
        const Taken one = question_of(message);
        if (one.come + one.length > end + tolerance_ || !(transfer(message).left > end)) continue;
        candidates_.push_back(one);
    }
    const auto is_own = [&](const Taken &one) {
        const Transfer &message = transfer(one.message);
        return one.kind == ON_RECEIVE && (call.peer < 0 || message.sender == call.peer) &&
               (call.tag < 0 || message.tag == call.tag);
    };
    const Taken *best = nullptr;
    for (const Taken &one : candidates_)
        if (is_exact(one) && (best == nullptr || (is_own(one) && !is_own(*best)))) best = &one;
    const bool ends_call = is_near(call.end, end) && call.state == IN_RECEIVE;  // with its own message
    if (best != nullptr && (!ends_call || is_own(*best))) return *best;
    const Taken exact = best == nullptr ? Taken{NONE, ON_WAIT, 0.0, 0.0} : *best;
    std::vector<Taken> several;  // the call's own first, where it ends with that
    for (const Taken &one : candidates_)
        if (one.length > tolerance_ && is_own(one)) several.push_back(one);
    const size_t own = several.size();
    for (const Taken &one : candidates_)
        if (one.length > tolerance_ && !is_own(one)) several.push_back(one);
    if (!ends_call && exact.message != NONE) return exact;
    for (size_t i = 0; i < several.size() && depth > 0; ++i) {  // behind something else, or the call's begin
        if (ends_call && i == own && own > 0) break;
        const double begin = end - several[i].length;
        if (is_near(begin, start)) return several[i];
        if (begin < start) continue;
        const Taken earlier = taken_last(call, start, begin, depth - 1);
        const bool is_behind =
            earlier.message != NONE && (earlier.kind == ON_SEND || is_near(earlier.come + earlier.length, begin));
        if (is_behind && (earlier.message != several[i].message || earlier.kind != several[i].kind)) return several[i];
    }
    if (ends_call && own > 0) return several.front();
    if (exact.message != NONE) return exact;
    return several.empty() ? exact : several.front();
}

// Until now the processor took what had come, in a call that began at `start`.
inline void WalkBack::taken(int64_t place, double start) {
    just_taken_ = just_asked_ = NONE;
    take(place, start, taken_last(h_.intervals[place], start, time_, 1));
}

inline void WalkBack::take(int64_t place, double start, Taken last) {
    const Interval &call = h_.intervals[place];
    while (last.message != NONE && time_ > start + tolerance_) {
        const bool is_question = last.kind == ON_RENDEZVOUS;
        (is_question ? just_asked_ : just_taken_) = last.message;
        emit(last.kind, std::max(start, time_ - last.length), place, last.message);
        if (last.kind == ON_RECEIVE && is_near(last.come, time_)) return follow(last.message, place);
        if (is_question && is_near(last.come, time_)) return ask(place, last.message);
        const bool is_answer = last.kind == ON_SEND;
        const int64_t message = last.message;
        last = time_ > start + tolerance_ ? taken_last(call, start, time_, 1) : Taken{NONE, ON_WAIT, 0.0, 0.0};
        const bool was_busy =
            last.message != NONE &&
            (last.kind == ON_SEND || is_near(last.come + last.length, time_) || is_near(time_ - last.length, start));
        if (is_answer && !was_busy && time_ > start + tolerance_) return answer(place, message);
    }
    if (time_ > start + tolerance_) return emit(ON_WAIT, start, place);
    if (time_ > start) emit(call.state == IN_SEND ? ON_SEND : ON_RECEIVE, start, place);
}

// A question came now: go on where it was asked.
inline void WalkBack::ask(int64_t place, int64_t message) {
    emit(ON_RENDEZVOUS, transfer(message).posted, place, message);
    jump_or_wait(transfer(message).sender);
}

// Whether this rank has waited until now for a question: then the walk goes on where it was asked.
inline bool WalkBack::asked(int64_t place) {
    for (int64_t i = by_arrival_.from(rank_, time_ - tolerance_), looks = 0;
         i < by_arrival_.end(rank_) && looks < LOOKS; ++i, ++looks) {
        const int64_t message = by_arrival_[i];
        if (!costs(message).waits || is_local(message) || !is_near(question_of(message).come, time_)) continue;
        ask(place, message);
        return true;
    }
    return false;
}

// Whether this rank has waited until now for an answer: then the walk goes on where it was given.
inline bool WalkBack::answered(int64_t place) {
    int64_t best = NONE;
    for (int64_t i = by_leaving_.from(rank_, time_ - tolerance_), looks = 0;
         i < by_leaving_.end(rank_) && looks < LOOKS; ++i, ++looks) {
        const int64_t message = by_leaving_[i];
        const PathCosts &cost = costs(message);
        if (!cost.waits || is_local(message) || !(transfer(message).posted < time_)) continue;
        if (best == NONE) best = message;
        if (!is_near(transfer(message).left, time_ + cost.question + cost.send)) continue;
        best = message;
        break;
    }
    if (best == NONE) return false;
    answer(place, best);
    return true;
}

// An answer has come now.
inline void WalkBack::answer(int64_t place, int64_t message) {
    const Transfer &one = transfer(message);
    const Taken question = question_of(message);
    emit(ON_RENDEZVOUS, time_ - costs(message).latency, place, message);
    if (!(time_ - question.length > question.come + tolerance_)) return ask(place, message);  // taken as it came
    if (!jump(one.receiver)) return wait_here();
    emit(ON_RENDEZVOUS, time_ - question.length, before(one.receiver, time_), message);
}

// A message left now: what its sender's processor did, or the message before it on its NIC.
inline void WalkBack::decide_delayed(int64_t message) {
    const int32_t sender = transfer(message).sender;
    while (h_.rules.nic_keeps && !is_local(message)) {
        const PathCosts &cost = costs(message);
        const bool is_free =
            cost.waits ? has_boundary(sender, time_) : is_near(transfer(message).posted + cost.send, time_);
        if (is_free) break;
        const int64_t previous =
            before_it(by_leaving_, place_of(by_leaving_, sender, transfer(message).left, message), sender);
        if (previous == NONE || !is_near(transfer(previous).left + costs(previous).gap, time_)) break;
        rank_ = sender;
        emit(ON_PORT, transfer(previous).left, before(sender, time_), message);
        message = previous;
    }
    jump_or_wait(sender);
}

}  // namespace commmodel
