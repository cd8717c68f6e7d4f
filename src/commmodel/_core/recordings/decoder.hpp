// Decodes logs of recorded programs: bytes in, calls and definitions out. What is damaged ends a log, and nothing else:
// every number is checked against the bytes that are there. The format is in docs/reference/recording.md.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/codes.h"

#define INLINE inline __attribute__((always_inline))  // a call is decoded in registers

namespace commmodel::recordings {

constexpr int64_t LONGEST_LIST = 1 << 22;  // entries
constexpr int64_t LONGEST_TEXT = 1 << 16;  // bytes
constexpr int64_t LONGEST_NUMBER = 10;     // bytes
constexpr int64_t LARGEST = int64_t{1} << 62;

// A call; what it has no field for holds MPI_PROC_NULL where that is a rank, and 0 elsewhere.
struct Call {
    double begin = 0.0, end = 0.0;  // ticks since the first tick of the log
    int64_t bytes = 0, room = 0, request = 0, received_bytes = 0, message = 0;
    int64_t element = 0, data_flags = 0;  // bytes of one of a collective's datatype, 0: not known; how data are given
    int64_t content = 0;                  // number of the layout of what it gives, 0: one piece, or not known
    int64_t requests_at = 0, completed_at = 0, sent_counts_at = 0, received_counts_at = 0;  // offsets into the lists
    int32_t requests = 0, completed = 0, sent_counts = 0, received_counts = 0;              // lengths
    int32_t code = 0, thread = 0, site = 0, communicator = 0;
    int32_t peer = NO_PROCESS, tag = 0, root = NO_PROCESS, operation = 0;
    int32_t source = NO_PROCESS, received_tag = 0, flag = 0, new_communicator = 0;
    int32_t window = 0, target = NO_PROCESS, level = 0, given = 0;
    int32_t receive_peer = NO_PROCESS, receive_tag = 0;
};

// A request that has completed, and what it received.
struct Completed {
    int64_t request, bytes;
    int32_t source, tag;
};

enum Field : uint8_t { CALL_FIELDS };
enum Kind : uint8_t { LOG_RECORDS };

// What stands between the calls: numbers, texts and times in their order.
struct Definition {
    int32_t kind = 0;
    std::vector<int64_t> numbers;
    std::vector<std::string> texts;
    std::vector<double> times;
};

// Ticks of a rank as seconds of one clock: between two comparisons interpolated, outside of them at `rate` a second.
class Clock {
  public:
    // Both ascend, and are not empty.
    Clock(std::vector<double> ticks, std::vector<double> seconds, double rate)
        : ticks_(std::move(ticks)), seconds_(std::move(seconds)), rate_(rate) {
        for (size_t i = 1; i < ticks_.size(); ++i) {
            slopes_.push_back((seconds_[i] - seconds_[i - 1]) / (ticks_[i] - ticks_[i - 1]));
        }
    }

    INLINE double seconds(double ticks) {
        if (ticks <= ticks_.front()) return seconds_.front() + (ticks - ticks_.front()) / rate_;
        if (ticks >= ticks_.back()) return seconds_.back() + (ticks - ticks_.back()) / rate_;
        while (ticks < ticks_[at_]) --at_;
        while (ticks >= ticks_[at_ + 1]) ++at_;
        return slopes_[at_] * (ticks - ticks_[at_]) + seconds_[at_];
    }

  private:
    std::vector<double> ticks_, seconds_, slopes_;
    double rate_;
    size_t at_ = 0;  // the comparison before the last time
};

// Reads numbers; after the first that is not whole, or that is damaged, all are 0 and nothing is left to read. With
// IS_AMPLE there are bytes enough for all that is read and for `room` more: the end is not looked for, and a call that
// is not `fine` may be so without.
template <bool IS_AMPLE> class Bytes {
  public:
    Bytes(const uint8_t *begin, const uint8_t *end, int64_t room = 0) : at_(begin), end_(end), room_(room) {}

    const uint8_t *at() const { return at_; }
    bool fine() const { return !is_short_ && problem_ == nullptr; }
    const char *problem() const { return problem_; }  // null where bytes are missing and nothing else is wrong

    uint8_t byte() {
        if (at_ != end_) return *at_++;
        if (fine()) is_short_ = true;
        return 0;
    }

    INLINE uint64_t unsigned_number() {
        if ((IS_AMPLE || at_ != end_) && *at_ < 0x80) return *at_++;
        if (!IS_AMPLE && end_ - at_ < 8) return long_number();
        uint64_t word;  // its lowest byte is the first
        std::memcpy(&word, at_, sizeof word);
        const uint64_t stops = ~word & 0x8080808080808080u;
        if (stops == 0) return long_number();
        at_ += (__builtin_ctzll(stops) + 1) / 8;
        word &= stops ^ (stops - 1);
        word = (word & 0x007f007f007f007fu) | (word & 0x7f007f007f007f00u) >> 1;
        word = (word & 0x00003fff00003fffu) | (word & 0x3fff00003fff0000u) >> 2;
        return (word & 0x000000000fffffffu) | (word & 0x0fffffff00000000u) >> 4;
    }

    INLINE int64_t natural(int64_t most = LARGEST) {
        const uint64_t value = unsigned_number();
        if (value <= static_cast<uint64_t>(most)) return static_cast<int64_t>(value);
        return fail("a number out of range"), 0;
    }

    INLINE int64_t integer(int64_t most = LARGEST) {
        const uint64_t coded = unsigned_number();
        const int64_t value = static_cast<int64_t>(coded >> 1) ^ -static_cast<int64_t>(coded & 1);
        if (-most <= value && value <= most) return value;
        return fail("a number out of range"), 0;
    }

    INLINE int32_t small() { return static_cast<int32_t>(natural(INT32_MAX)); }
    INLINE int32_t small_integer() { return static_cast<int32_t>(integer(INT32_MAX)); }

    // Of a list of entries of so many numbers.
    INLINE int32_t length(int32_t numbers = 1) {
        const int64_t entries = natural(LONGEST_LIST);
        if (IS_AMPLE && end_ - at_ < entries * numbers * LONGEST_NUMBER + room_) return fail("a long list"), 0;
        return static_cast<int32_t>(entries);
    }

    double time() {
        double value = 0.0;
        if (!has(sizeof value)) return 0.0;
        std::memcpy(&value, at_, sizeof value);
        at_ += sizeof value;
        return value;
    }

    std::string text() {
        const int64_t size = natural(LONGEST_TEXT);
        if (!has(size)) return {};
        std::string value(reinterpret_cast<const char *>(at_), static_cast<size_t>(size));
        at_ += size;
        return value;
    }

    void fail(const char *problem) {
        if (fine()) problem_ = problem;
        if (!IS_AMPLE) at_ = end_;
    }

  private:
    uint64_t long_number() {
        if (IS_AMPLE) return fail("a long number"), 0;
        uint64_t value = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            const uint8_t part = byte();
            if (!fine()) return 0;
            if (shift == 63 && part > 1) break;
            value |= static_cast<uint64_t>(part & 0x7f) << shift;
            if (part < 0x80) return value;
        }
        return fail("a number of more than 64 bits"), 0;
    }

    bool has(int64_t size) {
        if (fine() && end_ - at_ < size) is_short_ = true, at_ = end_;
        return fine();
    }

    const uint8_t *at_, *end_;
    const int64_t room_;
    bool is_short_ = false;
    const char *problem_ = nullptr;
};

class Decoder {
  public:
    // `fields` are those of each code, none where there is no such call. With a clock the times of calls are its seconds,
    // else ticks.
    Decoder(std::vector<std::vector<uint8_t>> fields, std::vector<uint8_t> known, std::optional<Clock> clock)
        : fields_(std::move(fields)), known_(std::move(known)), clock_(std::move(clock)) {
        size_t most = 0;
        for (const std::vector<uint8_t> &each : fields_) most = std::max(most, each.size());
        room_ = LONGEST_NUMBER * static_cast<int64_t>(most + 5);
    }

    std::vector<Call> calls;
    std::vector<int64_t> numbers;
    std::vector<Completed> completed;
    std::vector<Definition> definitions;
    std::vector<double> begins, ends;  // of calls of which nothing else is kept
    std::vector<int32_t> codes;
    std::string problem;     // what is damaged
    bool has_ended = false;  // at the end of what was written
    int64_t count = 0;       // calls so far
    double last = 0.0;       // end of the last call

    // Decode whole records until there are `most` calls, each of which `take` is given; return the bytes they take.
    template <class Take> int64_t decode(const uint8_t *data, int64_t size, int64_t most, Take take) {
        const uint8_t *const end = data + size;
        const uint8_t *done = data;
        const int64_t last_count = count + most;
        while (done != end && count < last_count && !has_ended && problem.empty()) {
            const size_t numbers_before = numbers.size(), completed_before = completed.size();
            Call call;
            if (*done == LOG_CALL && end - done > room_) {
                Bytes<true> ample(done + 1, end, room_);
                const int64_t last_end = read(ample, call);
                if (ample.fine()) {
                    add(call, last_end, take);
                    done = ample.at();
                    continue;
                }
                forget_lists(numbers_before, completed_before);
                call = Call();
            }
            Bytes<false> bytes(done, end);
            const uint8_t kind = bytes.byte();
            if (kind == LOG_CALL) {
                const int64_t last_end = read(bytes, call);
                if (bytes.fine()) {
                    add(call, last_end, take);
                } else {
                    forget_lists(numbers_before, completed_before);
                }
            } else if (kind == LOG_END) {
                has_ended = true;
                break;
            } else {
                Definition definition;
                read(bytes, kind, definition);
                if (bytes.fine() && kind == LOG_THREAD) {
                    thread_ = static_cast<int32_t>(definition.numbers[0]);
                } else if (bytes.fine() && kind == LOG_DATA) {
                    element_ = definition.numbers[0];
                    data_flags_ = definition.numbers[1];
                } else if (bytes.fine() && kind == LOG_CONTENT) {
                    content_ = definition.numbers[0];
                } else if (bytes.fine()) {
                    definitions.push_back(std::move(definition));
                }
            }
            if (bytes.problem() != nullptr) problem = bytes.problem();
            if (!bytes.fine()) break;
            done = bytes.at();
        }
        return done - data;
    }

    // The same: all of the calls are kept.
    int64_t decode_calls(const uint8_t *data, int64_t size, int64_t most) {
        return decode(data, size, most, [this](const Call &call) { calls.push_back(call); });
    }

    // The same: the times and codes of calls are kept.
    int64_t decode_times(const uint8_t *data, int64_t size, int64_t most) {
        return decode(data, size, most, [this](const Call &call) {
            begins.push_back(call.begin);
            ends.push_back(call.end);
            codes.push_back(call.code);
            forget_lists();
        });
    }

    // The same: nothing of the calls is kept.
    int64_t decode_definitions(const uint8_t *data, int64_t size, int64_t most) {
        return decode(data, size, most, [this](const Call &) { forget_lists(); });
    }

    void forget_lists(size_t numbers_left = 0, size_t completed_left = 0) {
        if (numbers.size() > numbers_left) numbers.resize(numbers_left);
        if (completed.size() > completed_left) completed.resize(completed_left);
    }

    void forget() {
        calls.clear();
        begins.clear();
        ends.clear();
        codes.clear();
        definitions.clear();
        forget_lists();
    }

  private:
    template <class Take> void add(const Call &call, int64_t last_end, Take take) {
        last_end_ = last_end;
        last = call.end;
        ++count;
        take(call);
    }

    // Returns the end of the call in ticks.
    template <bool IS_AMPLE> INLINE int64_t read(Bytes<IS_AMPLE> &bytes, Call &call) {
        call.code = bytes.small();
        const int64_t begin = last_end_ + bytes.integer();
        const int64_t end = begin + bytes.natural();
        if (begin < -LARGEST / 4 || end > LARGEST / 4 || end < begin) return bytes.fail("a time out of range"), 0;
        call.begin = static_cast<double>(begin);
        call.end = static_cast<double>(end);
        if (clock_) call.begin = clock_->seconds(call.begin), call.end = clock_->seconds(call.end);
        call.site = bytes.small();
        call.thread = thread_;
        call.element = element_;
        call.data_flags = data_flags_;
        call.content = content_;
        if (!bytes.fine()) return 0;
        if (static_cast<size_t>(call.code) >= known_.size() || !known_[call.code]) {
            return bytes.fail("an unknown call"), 0;
        }
        for (const uint8_t field : fields_[call.code]) read(bytes, field, call);
        return end;
    }

    template <bool IS_AMPLE> INLINE void read(Bytes<IS_AMPLE> &bytes, uint8_t field, Call &call) {
        switch (field) {
            case COMMUNICATOR: call.communicator = bytes.small(); break;
            case PEER: call.peer = bytes.small_integer(); break;
            case TAG: call.tag = bytes.small_integer(); break;
            case BYTES: call.bytes = bytes.natural(); break;
            case ROOM: call.room = bytes.natural(); break;
            case ROOT: call.root = bytes.small_integer(); break;
            case OPERATION: call.operation = bytes.small(); break;
            case REQUEST: call.request = bytes.natural(); break;
            case SOURCE: call.source = bytes.small_integer(); break;
            case RECEIVED_TAG: call.received_tag = bytes.small_integer(); break;
            case RECEIVED_BYTES: call.received_bytes = bytes.natural(); break;
            case FLAG: call.flag = bytes.small(); break;
            case REQUESTS: list(bytes, call.requests_at, call.requests); break;
            case SENT_COUNTS: list(bytes, call.sent_counts_at, call.sent_counts); break;
            case RECEIVED_COUNTS: list(bytes, call.received_counts_at, call.received_counts); break;
            case NEW_COMMUNICATOR: call.new_communicator = bytes.small(); break;
            case WINDOW: call.window = bytes.small(); break;
            case TARGET: call.target = bytes.small_integer(); break;
            case LEVEL: call.level = bytes.small_integer(); break;
            case MESSAGE: call.message = bytes.natural(); break;
            case GIVEN: call.given = bytes.small(); break;
            case RECEIVE_PEER: call.receive_peer = bytes.small_integer(); break;
            case RECEIVE_TAG: call.receive_tag = bytes.small_integer(); break;
            case COMPLETED:
                call.completed_at = static_cast<int64_t>(completed.size());
                call.completed = bytes.length(4);
                for (int32_t left = call.completed; left > 0 && bytes.fine(); --left) {
                    Completed done;
                    done.request = bytes.natural();
                    done.source = bytes.small_integer();
                    done.tag = bytes.small_integer();
                    done.bytes = bytes.natural();
                    completed.push_back(done);
                }
                break;
            default: bytes.fail("a field that is unknown"); break;
        }
    }

    template <bool IS_AMPLE> INLINE void list(Bytes<IS_AMPLE> &bytes, int64_t &begin, int32_t &length) {
        begin = static_cast<int64_t>(numbers.size());
        length = bytes.length();
        for (int32_t left = length; left > 0 && bytes.fine(); --left) numbers.push_back(bytes.natural());
    }

    // A letter for each part: u and z numbers, t a text, f a time, r runs of ranks, l a list of ranks.
    static const char *parts(uint8_t kind) {
        switch (kind) {
            case LOG_SITE: return "ututu";
            case LOG_COMMUNICATOR: return "uuutrr";
            case LOG_CLOCK: return "uff";
            case LOG_WINDOW: return "uuuu";
            case LOG_THREAD: return "u";
            case LOG_DATA: return "uu";
            case LOG_LAYOUT: return "uuuuu";
            case LOG_CONTENT: return "u";
            case LOG_TEXT: return "tt";
            case LOG_LEAVE: return "uzu";
            case LOG_NEIGHBOURS: return "ull";
            default: return nullptr;
        }
    }

    static void read(Bytes<false> &bytes, uint8_t kind, Definition &definition) {
        definition.kind = kind;
        const char *part = parts(kind);
        if (part == nullptr) return bytes.fail("a record of unknown kind");
        for (; *part != 0 && bytes.fine(); ++part) {
            switch (*part) {
                case 'u': definition.numbers.push_back(kind == LOG_THREAD ? bytes.small() : bytes.natural()); break;
                case 'z': definition.numbers.push_back(bytes.integer()); break;
                case 't': definition.texts.push_back(bytes.text()); break;
                case 'f': definition.times.push_back(bytes.time()); break;
                case 'l': {
                    int32_t left = bytes.length();
                    definition.numbers.push_back(left);
                    for (; left > 0 && bytes.fine(); --left) definition.numbers.push_back(bytes.small_integer());
                    break;
                }
                default: {
                    int32_t left = bytes.length();
                    definition.numbers.push_back(left);
                    for (; left > 0 && bytes.fine(); --left) {
                        definition.numbers.push_back(bytes.natural());
                        definition.numbers.push_back(bytes.integer());
                        definition.numbers.push_back(bytes.natural());
                    }
                }
            }
        }
    }

    std::vector<std::vector<uint8_t>> fields_;  // of codes
    std::vector<uint8_t> known_;                // whether there is a call of that code
    std::optional<Clock> clock_;
    int64_t room_ = 0;  // bytes of the longest call without its lists
    int64_t last_end_ = 0;
    int32_t thread_ = 0;
    int64_t element_ = 0, data_flags_ = 0, content_ = 0;  // of the calls that follow
};

#undef INLINE

}  // namespace commmodel::recordings
