// Reads schedules in the text form of GOAL (Hoefler, Siebert and Lumsdaine 2009), piece by piece, into flat arrays.
//
// A file is `num_ranks N` and blocks `rank r { ... }` of statements, one a line. It is untrusted: sizes are bounded,
// every mistake is named with its line, and dependencies that go in a circle are found before anything runs.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "common/hash_table.hpp"
#include "program/program.hpp"

namespace commmodel::delays {

enum GoalKind : uint8_t { GOAL_KINDS };

struct GoalOperation {  // 24 bytes
    double value;       // bytes, or time
    int32_t peer, tag;
    uint8_t kind, cpu, nic, unused;
    uint32_t line;
};

struct GoalDependency {
    int32_t dependent, on;
    int32_t start;  // after `on` has started; else after it is done
};

struct GoalFailure {
    uint64_t line;
    std::string message;
};

// Name -> operation, of one rank.
class Labels {
  public:
    void clear() {
        if (used_ * 8 < slots_.size() && slots_.size() > 1024)
            slots_.assign(64, Slot());
        else if (used_)
            std::fill(slots_.begin(), slots_.end(), Slot());
        used_ = 0;
        text_.clear();
    }
    // Return the place of a name's operation: negative where it is new.
    int32_t &at(std::string_view name) {
        if (2 * (used_ + 1) > slots_.size()) grow();
        uint64_t key = hash(name);
        size_t place = key & (slots_.size() - 1);
        for (; slots_[place].length; place = (place + 1) & (slots_.size() - 1))
            if (slots_[place].hash == static_cast<uint32_t>(key >> 32) && name == text_of(slots_[place]))
                return slots_[place].operation;
        slots_[place] = {static_cast<uint32_t>(text_.size()), static_cast<uint32_t>(name.size()),
                         static_cast<uint32_t>(key >> 32), NONE};
        text_.append(name);
        used_ += 1;
        return slots_[place].operation;
    }
    // Return an operation's name; slow.
    std::string name_of(int32_t operation) const {
        for (const Slot &slot : slots_)
            if (slot.length && slot.operation == operation) return std::string(text_of(slot));
        return "";
    }

  private:
    struct Slot {
        uint32_t start = 0, length = 0, hash = 0;
        int32_t operation = NONE;
    };
    static uint64_t hash(std::string_view name) {
        uint64_t key = name.size();
        size_t i = 0;
        for (; i + 8 <= name.size(); i += 8) {
            uint64_t word;
            std::memcpy(&word, name.data() + i, 8);
            key = mixed(key ^ word);
        }
        uint64_t word = 0;
        std::memcpy(&word, name.data() + i, name.size() - i);
        return mixed(key ^ word);
    }
    std::string_view text_of(const Slot &slot) const { return {text_.data() + slot.start, slot.length}; }
    void grow() {
        std::vector<Slot> old(slots_.size() * 2);
        old.swap(slots_);
        for (const Slot &slot : old) {
            if (!slot.length) continue;
            size_t place = hash(text_of(slot)) & (slots_.size() - 1);
            while (slots_[place].length) place = (place + 1) & (slots_.size() - 1);
            slots_[place] = slot;
        }
    }

    std::vector<Slot> slots_ = std::vector<Slot>(64);
    size_t used_ = 0;
    std::string text_;
};

class GoalParser {
  public:
    std::vector<GoalOperation> operations;
    std::vector<GoalDependency> dependencies;
    std::vector<int64_t> begins, ends;  // of each rank's operations
    GoalFailure failure{0, ""};

    // Read a piece of the file; return whether all was well.
    bool feed(const char *bytes, size_t count) {
        const char *end = bytes + count;
        while (bytes < end) {
            const char *newline = static_cast<const char *>(std::memchr(bytes, '\n', end - bytes));
            const char *stop = newline ? newline : end;
            if (carried_.size() + (stop - bytes) > LONGEST_LINE) {
                line_ += 1;
                return fail("a line of more than " + std::to_string(LONGEST_LINE) + " bytes");
            }
            if (!newline) {
                carried_.append(bytes, stop);
                return true;
            }
            if (carried_.empty()) {
                if (!line({bytes, static_cast<size_t>(stop - bytes)})) return false;
            } else {
                carried_.append(bytes, stop);
                if (!line(carried_)) return false;
                carried_.clear();
            }
            bytes = newline + 1;
        }
        return true;
    }

    bool finish() {
        if (!carried_.empty() && !line(carried_)) return false;
        carried_.clear();
        if (begins.empty()) return fail("it does not say `num_ranks N`: no GOAL schedule, or an empty one");
        if (in_comment_) return fail("the file ends within a comment: close it with */");
        if (rank_ >= 0)
            return fail("the file ends within rank " + std::to_string(rank_) + ": it is cut off, or } is missing");
        return true;
    }

  private:
    static constexpr size_t LONGEST_LINE = 1 << 16;
    static constexpr int64_t MOST_RANKS = 1 << 24;

    struct Forward {  // a dependency on a label that comes later
        std::string dependent, on;
        int32_t start;
        uint64_t line;
    };

    std::string carried_;
    uint64_t line_ = 0;
    bool in_comment_ = false;
    int64_t rank_ = NONE;
    size_t first_dependency_ = 0;
    Labels labels_;
    std::vector<Forward> forward_;
    std::string cleaned_;
    const char *at_ = nullptr, *end_ = nullptr;

    bool fail(const std::string &message) {
        failure = {line_, message};
        return false;
    }
    static bool is_letter(char one) { return (one >= 'a' && one <= 'z') || (one >= 'A' && one <= 'Z') || one == '_'; }
    static bool is_digit(char one) { return one >= '0' && one <= '9'; }
    void skip() {
        while (at_ < end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r')) at_++;
    }
    std::string found() {
        skip();
        if (at_ == end_) return "the end of the line";
        const char *stop = at_ + 1;
        while (stop < end_ && stop - at_ < 20 && *stop > ' ') stop++;
        std::string shown = "'";
        for (const char *one = at_; one < stop; one++) shown += (*one >= ' ' && *one < 127) ? *one : '?';
        return shown + "'";
    }
    bool expected(const char *what) { return fail(std::string("expected ") + what + ", found " + found()); }

    std::string_view word() {
        skip();
        const char *start = at_;
        if (at_ < end_ && is_letter(*at_))
            while (at_ < end_ && (is_letter(*at_) || is_digit(*at_))) at_++;
        return {start, static_cast<size_t>(at_ - start)};
    }
    bool number(double most, const char *what, double &value) {
        skip();
        if (at_ == end_ || !is_digit(*at_)) return expected(what);
        const char *start = at_;
        uint64_t digits = 0;
        for (; at_ < end_ && is_digit(*at_); at_++) {
            if (at_ - start >= 17) return fail(std::string(what) + " of more than 17 digits");
            digits = digits * 10 + static_cast<uint64_t>(*at_ - '0');
        }
        if (static_cast<double>(digits) > most)
            return fail(std::string(what) + " " + std::to_string(digits) + ": at most " +
                        std::to_string(static_cast<uint64_t>(most)));
        value = static_cast<double>(digits);
        return true;
    }

    // Take comments out; return false where all of the line is one.
    std::string_view without_comments(std::string_view text) {
        if (!in_comment_ && text.find_first_of("/#") == text.npos) return text;
        cleaned_.clear();
        size_t i = 0;
        while (i < text.size()) {
            if (in_comment_) {
                size_t close = text.find("*/", i);
                if (close == text.npos) return cleaned_;
                in_comment_ = false;
                i = close + 2;
            } else if (text[i] == '#' || text.substr(i, 2) == "//") {
                return cleaned_;
            } else if (text.substr(i, 2) == "/*") {
                in_comment_ = true;
                cleaned_ += ' ';
                i += 2;
            } else {
                cleaned_ += text[i++];
            }
        }
        return cleaned_;
    }

    bool line(std::string_view text) {
        line_ += 1;
        text = without_comments(text);
        at_ = text.data();
        end_ = at_ + text.size();
        for (skip(); at_ < end_; skip()) {
            if (*at_ == '}') {
                if (rank_ < 0) return fail("a } that closes nothing");
                at_++;
                if (!close_rank()) return false;
            } else if (rank_ < 0) {
                if (!header()) return false;
            } else {
                if (!statement()) return false;
                skip();
                if (at_ < end_ && *at_ != '}') return expected("the end of the statement");
            }
        }
        return true;
    }

    bool header() {
        std::string_view name = word();
        double value = 0;
        if (name == "num_ranks") {
            if (!begins.empty()) return fail("num_ranks for a second time");
            if (!number(MOST_RANKS, "a number of ranks", value)) return false;
            if (value < 1) return fail("num_ranks 0: there must be at least one");
            begins.assign(static_cast<size_t>(value), NONE);
            ends.assign(static_cast<size_t>(value), NONE);
            return true;
        }
        if (name != "rank") {
            at_ = name.data();
            return expected(begins.empty() ? "num_ranks N" : "rank N {");
        }
        if (begins.empty()) return fail("a rank before num_ranks: `num_ranks N` comes first");
        if (!number(static_cast<double>(begins.size()) - 1, "a rank", value)) return false;
        if (begins[static_cast<size_t>(value)] >= 0)
            return fail("rank " + std::to_string(static_cast<int64_t>(value)) + " for a second time");
        skip();
        if (at_ == end_ || *at_ != '{') return expected("{");
        at_++;
        rank_ = static_cast<int64_t>(value);
        begins[rank_] = static_cast<int64_t>(operations.size());
        first_dependency_ = dependencies.size();
        labels_.clear();
        return true;
    }

    bool statement() {
        std::string_view name = word();
        if (name.empty()) return expected("send, recv, calc, a label or }");
        if (name == "send" || name == "recv" || name == "calc") return operation(name);
        if (name == "rank" || name == "num_ranks")
            return fail(std::string(name) + " within rank " + std::to_string(rank_) + ": is its } missing?");
        skip();
        if (at_ < end_ && *at_ == ':') {
            at_++;
            int32_t &place = labels_.at(name);
            if (place >= 0)
                return fail("label " + std::string(name) + " for a second time in rank " + std::to_string(rank_));
            place = static_cast<int32_t>(operations.size());
            std::string_view action = word();
            if (action == "send" || action == "recv" || action == "calc") return operation(action);
            at_ = action.data();
            return expected("send, recv or calc");
        }
        std::string_view relation = word();
        if (relation != "requires" && relation != "irequires") {
            at_ = relation.data();
            return expected("':', requires or irequires");
        }
        std::string_view on = word();
        if (on.empty()) return expected("a label");
        return depend(name, on, relation == "irequires", line_, true);
    }

    bool depend(std::string_view dependent, std::string_view on, int32_t start, uint64_t line, bool may_wait) {
        int32_t after = labels_.at(dependent), before = labels_.at(on);
        if (after < 0 || before < 0) {
            if (may_wait) {
                forward_.push_back({std::string(dependent), std::string(on), start, line});
                return true;
            }
            line_ = line;
            return fail("rank " + std::to_string(rank_) + " has no label " + std::string(after < 0 ? dependent : on));
        }
        if (static_cast<int64_t>(dependencies.size()) >= LARGEST_INDEX)
            return fail("more dependencies than " + std::to_string(LARGEST_INDEX));
        dependencies.push_back({after, before, start});
        return true;
    }

    bool operation(std::string_view what) {
        if (static_cast<int64_t>(operations.size()) >= LARGEST_INDEX)
            return fail("more operations than " + std::to_string(LARGEST_INDEX));
        GoalOperation one{0, 0, 0, GOAL_CALCULATE, 0, 0, 0, static_cast<uint32_t>(line_)};
        double value = 0;
        if (what == "calc") {
            if (!number(LARGEST_INTEGER, "a time", one.value)) return false;
        } else {
            bool sends = what == "send";
            one.kind = sends ? GOAL_SEND : GOAL_RECEIVE;
            if (!number(LARGEST_INTEGER, "a number of bytes", one.value)) return false;
            skip();
            if (at_ == end_ || *at_ != 'b' || (at_ + 1 < end_ && (is_letter(at_[1]) || is_digit(at_[1]))))
                return expected("b, as in 8b");
            at_++;
            std::string_view way = word();
            if (way != (sends ? "to" : "from")) {
                at_ = way.data();
                return expected(sends ? "to" : "from");
            }
            skip();
            if (!sends && any()) {
                one.peer = ANY;
            } else {
                if (!number(static_cast<double>(begins.size()) - 1, "a rank", value)) return false;
                one.peer = static_cast<int32_t>(value);
            }
        }
        for (;;) {
            const char *before = at_;
            std::string_view option = word();
            if (option == "cpu" || (option == "nic" && one.kind != GOAL_CALCULATE)) {
                if (!number(255, option == "cpu" ? "a processor" : "a NIC", value)) return false;
                (option == "cpu" ? one.cpu : one.nic) = static_cast<uint8_t>(value);
            } else if (option == "tag" && one.kind != GOAL_CALCULATE) {
                skip();
                if (one.kind == GOAL_RECEIVE && any()) {
                    one.tag = ANY;
                } else {
                    if (!number(LARGEST_INDEX, "a tag", value)) return false;
                    one.tag = static_cast<int32_t>(value);
                }
            } else {
                at_ = before;
                break;
            }
        }
        operations.push_back(one);
        return true;
    }

    bool any() {
        if (end_ - at_ >= 2 && at_[0] == '-' && at_[1] == '1') {
            at_ += 2;
            return true;
        }
        if (end_ - at_ >= 3 && std::string_view(at_, 3) == "any" && (at_ + 3 == end_ || !is_letter(at_[3]))) {
            at_ += 3;
            return true;
        }
        return false;
    }

    bool close_rank() {
        uint64_t closing = line_;
        for (const Forward &one : forward_)
            if (!depend(one.dependent, one.on, one.start, one.line, false)) return false;
        forward_.clear();
        line_ = closing;
        ends[rank_] = static_cast<int64_t>(operations.size());
        if (!check_circles()) return false;
        rank_ = NONE;
        return true;
    }

    // Find a circle: only dependencies on what comes later in the file can make one.
    bool check_circles() {
        int32_t first = static_cast<int32_t>(begins[rank_]);
        size_t count = operations.size() - static_cast<size_t>(first), stop = dependencies.size();
        bool forwards = false;
        for (size_t i = first_dependency_; i < stop; i++) forwards |= dependencies[i].on >= dependencies[i].dependent;
        if (!forwards) return true;
        std::vector<int32_t> missing(count, 0), places(count + 2, 0), after(stop - first_dependency_), free;
        for (size_t i = first_dependency_; i < stop; i++) {
            missing[dependencies[i].dependent - first] += 1;
            places[dependencies[i].on - first + 2] += 1;
        }
        for (size_t i = 2; i < places.size(); i++) places[i] += places[i - 1];
        for (size_t i = first_dependency_; i < stop; i++)
            after[places[dependencies[i].on - first + 1]++] = dependencies[i].dependent - first;
        for (size_t i = 0; i < count; i++)
            if (!missing[i]) free.push_back(static_cast<int32_t>(i));
        size_t done = 0;
        for (; done < free.size(); done++)
            for (int32_t i = places[free[done]]; i < places[free[done] + 1]; i++)
                if (!--missing[after[i]]) free.push_back(after[i]);
        if (done == count) return true;
        // Go back along what is missing until something comes for a second time: that is in the circle.
        std::vector<int32_t> before(count, NONE);
        for (size_t i = first_dependency_; i < stop; i++)
            if (missing[dependencies[i].on - first] > 0)
                before[dependencies[i].dependent - first] = dependencies[i].on - first;
        std::vector<bool> seen(count, false);
        int32_t one = 0;
        while (!missing[one]) one++;
        for (; !seen[one]; one = before[one]) seen[one] = true;
        line_ = operations[first + one].line;
        return fail("rank " + std::to_string(rank_) + ": " + labels_.name_of(first + one) +
                    " waits for itself: its dependencies go in a circle");
    }
};

}  // namespace commmodel::delays
