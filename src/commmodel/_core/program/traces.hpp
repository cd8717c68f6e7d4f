// Programs of ranks as streams of operations: from rounds of messages, and from the text of time-independent traces.
//
// rounds.hpp sorts rounds by rank. `Parser` turns lines `rank action arguments` into
// operations, rank by rank or all ranks from one text. It keeps what a rank must remember between two pieces of its
// text: requests that wait, its default type, how many collectives it has called. A collective comes out as a marker
// (code MARKER, `request` the number of its call in `calls`), which `splice` replaces. Nothing here calls Python.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/hash_table.hpp"
#include "program/rounds.hpp"

namespace commmodel::traces {

struct Piece {
    const Operation *operations;
    int64_t count;
};

inline int64_t spliced_count(const Operation *operations, int64_t count, const std::vector<Piece> &pieces) {
    int64_t sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += operations[i].code == MARKER ? pieces[operations[i].request].count : 1;
    return sum;
}

// Replace markers by the operations of their calls; their collective messages get the tag of the call.
inline void splice(const Operation *operations, int64_t count, const std::vector<Piece> &pieces, Operation *out) {
    for (int64_t i = 0; i < count; ++i) {
        if (operations[i].code != MARKER) {
            *out++ = operations[i];
            continue;
        }
        const Piece &piece = pieces[operations[i].request];
        for (int64_t j = 0; j < piece.count; ++j) {
            *out = piece.operations[j];
            if (out->tag <= COLLECTIVE_TAG) out->tag = operations[i].tag;
            ++out;
        }
    }
}

constexpr double TYPE_SIZES[] = {TYPE_SIZE_LIST};
constexpr int TYPES = sizeof TYPE_SIZES / sizeof TYPE_SIZES[0];

struct Request {
    uint64_t key;
    int32_t name;
    int64_t
        place;  // of its operation in what is being parsed, -1 where that has been handed out or is to keep its name
};

// Requests that may be waited for by name, in the order in which they were posted.
class Requests {
  public:
    int32_t add(uint64_t key, int64_t place) {
        int32_t name;
        if (!open_) clear();
        if (free_.empty()) {
            name = next_++;
        } else {
            name = free_.back();
            free_.pop_back();
        }
        unsorted_.push_back({key, name, place});
        ++open_;
        return name;
    }

    // Return the name of the oldest request of a key, or NONE; with `take` it is none any more.
    int32_t find(uint64_t key, bool take) {
        named_ = true;
        for (const Request &one : unsorted_) by_key_[one.key].names.push_back(one.name);
        unsorted_.clear();
        auto found = by_key_.find(key);
        if (found == by_key_.end()) return NONE;
        Queue &queue = found->second;
        int32_t name = queue.names[queue.first];
        if (take) {
            if (++queue.first == queue.names.size())
                by_key_.erase(found);
            else if (queue.first >= 64 && 2 * queue.first > queue.names.size()) {  // one that never empties
                queue.names.erase(queue.names.begin(), queue.names.begin() + static_cast<std::ptrdiff_t>(queue.first));
                queue.first = 0;
            }
            free_.push_back(name);
            --open_;
        }
        return name;
    }

    // Whether all requests are still in the operations being parsed, and nobody asked for one by its name.
    bool can_be_unnamed() const { return !named_ && by_key_.empty(); }
    const std::vector<Request> &unsorted() const { return unsorted_; }
    int64_t open() const { return open_; }

    // From now on they keep their names.
    void keep_names() { named_ = named_ || open_ > 0; }

    void clear() {
        unsorted_.clear();
        if (!by_key_.empty()) by_key_.clear();
        free_.clear();
        next_ = 0;
        open_ = 0;
        named_ = false;
    }

  private:
    struct Queue {
        std::vector<int32_t> names;
        size_t first = 0;
    };
    struct Mixed {
        size_t operator()(uint64_t key) const { return static_cast<size_t>(mixed(key)); }
    };
    std::vector<Request> unsorted_;
    std::unordered_map<uint64_t, Queue, Mixed> by_key_;
    std::vector<int32_t> free_;
    int32_t next_ = 0;
    int64_t open_ = 0;
    bool named_ = false;
};

struct Rank {
    Requests requests;
    double type_size = 1;
    int32_t collectives = 0;
    std::unordered_map<int32_t, int32_t> within;  // collectives of each other communicator
    std::vector<Operation> operations;
};

// Tags of collectives within other communicators than that of all ranks: below all of that one's, some for each.
constexpr int32_t TAGS_WITHIN = 1 << 10, COMMUNICATORS = 1 << 20;
constexpr int32_t FIRST_TAG_WITHIN = COLLECTIVE_TAG - COLLECTIVE_TAGS;

inline int32_t tag_within(int32_t communicator, int32_t number) {
    return FIRST_TAG_WITHIN - communicator % COMMUNICATORS * TAGS_WITHIN - number;
}

struct Call {
    int64_t line;
    int32_t rank;
    double type_size;
    std::string text;
};

struct Word {
    const char *begin, *end;
    bool is(std::string_view other) const {
        return static_cast<size_t>(end - begin) == other.size() && !std::memcmp(begin, other.data(), other.size());
    }
    std::string shown() const {
        std::string text(begin, end - begin > 40 ? 40 : end - begin);
        for (char &c : text)
            if (static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) > 126) c = '?';
        return "'" + text + (end - begin > 40 ? "...'" : "'");
    }
};

// Read digits alone, which most words of a trace are; false where there is anything else, or more than are exact.
inline bool read_digits(Word word, double &value) {
    constexpr std::ptrdiff_t most = 15;
    if (word.begin == word.end || word.end - word.begin > most) return false;
    int64_t number = 0;
    for (const char *at = word.begin; at < word.end; ++at) {
        if (*at < '0' || *at > '9') return false;
        number = 10 * number + (*at - '0');
    }
    value = static_cast<double>(number);
    return true;
}

// Read digits alone up to a blank or the end, from `at` on, which comes to lie behind the blanks; -1 where there is
// anything else, nothing, or more than an int32_t holds.
inline int64_t take_digits(const char *&at, const char *end) {
    const char *const begin = at;
    int64_t number = 0;
    for (; at < end && *at >= '0' && *at <= '9'; ++at) number = 10 * number + (*at - '0');
    if (at == begin || at - begin > 9 || (at < end && *at != ' ')) return -1;
    while (at < end && *at == ' ') ++at;
    return number;
}

// Read a finite number, with or without fraction and exponent.
inline bool read_number(Word word, double &value) {
    const char *at = word.begin;
    bool negative = at < word.end && *at == '-';
    if (at < word.end && (*at == '-' || *at == '+')) ++at;
    uint64_t mantissa = 0;
    int digits = 0, exponent = 0;
    for (; at < word.end && *at >= '0' && *at <= '9'; ++at, ++digits)
        if (digits < 18) mantissa = 10 * mantissa + (*at - '0');
    int whole = digits;
    if (at < word.end && *at == '.') {
        ++at;
        for (; at < word.end && *at >= '0' && *at <= '9'; ++at, ++digits)
            if (digits < 18) mantissa = 10 * mantissa + (*at - '0');
    }
    if (!digits) return false;
    int written = 0;
    if (at < word.end && (*at == 'e' || *at == 'E')) {
        ++at;
        bool down = at < word.end && *at == '-';
        if (at < word.end && (*at == '-' || *at == '+')) ++at;
        int more = 0;
        for (; at < word.end && *at >= '0' && *at <= '9'; ++at, ++more)
            written = written < 10000 ? 10 * written + (*at - '0') : written;
        if (!more) return false;
        written = down ? -written : written;
    }
    if (at != word.end) return false;
    exponent = written - (digits - whole);
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (digits <= 18 && mantissa < (1ULL << 53) && exponent >= -22 && exponent <= 22) {  // exact, rounded once
        double number = static_cast<double>(mantissa);
        number = exponent < 0 ? number / powers[-exponent] : number * powers[exponent];
        value = negative ? -number : number;
        return true;
    }
    std::string copy(word.begin, word.end);
    value = std::strtod(copy.c_str(), nullptr);
    return std::isfinite(value);
}

// Return the highest number with which a line begins, -1 where none does; enough digits to be too many are enough.
// seen: for each number below `most`, whether a line has begun with it.
inline int64_t highest_rank(const char *text, int64_t size, uint8_t *seen, int64_t most) {
    int64_t highest = -1;
    const char *at = text, *end = text + size;
    while (at < end) {
        const char *stop = static_cast<const char *>(std::memchr(at, '\n', end - at));
        if (!stop) stop = end;
        while (at < stop && (*at == ' ' || *at == '\t')) ++at;
        int64_t number = -1;
        for (; at < stop && *at >= '0' && *at <= '9' && number < 1000000000000; ++at)
            number = 10 * (number < 0 ? 0 : number) + (*at - '0');
        highest = number > highest ? number : highest;
        if (number >= 0 && number < most) seen[number] = 1;
        at = stop + 1;
    }
    return highest;
}

class Parser {
  public:
    std::string problem;  // what is wrong in line `line`, empty where nothing is
    int64_t line = 0;     // lines read so far
    std::vector<Call> calls;
    int64_t actions = 0, skipped = 0, unmatched = 0;
    bool splits = false;  // communicators of some ranks are made or asked for, and no line says which ranks they have

    Parser(int64_t processes, std::vector<double> speeds) : speeds_(std::move(speeds)), ranks_(processes) {}

    int64_t processes() const { return static_cast<int64_t>(ranks_.size()); }
    const std::vector<Operation> &operations(int64_t rank) const { return ranks_[rank].operations; }

    // Parse whole lines. owner: the rank whose lines they are, or -1 for any; records: how many collectives the caller
    // has that are no text. False: see `problem`.
    bool parse(const char *text, int64_t size, int64_t owner, int64_t first_line, int64_t records) {
        const char *at = text, *end = text + size;
        records_ = records;
        line = first_line;
        calls.clear();
        known_.clear();
        while (at < end) {
            const char *stop = static_cast<const char *>(std::memchr(at, '\n', end - at));
            if (!stop) stop = end;
            ++line;
            if (!one_line(at, stop, owner)) return false;
            at = stop + 1;
        }
        if (owner >= 0) {
            ranks_[owner].requests.keep_names();
        } else {
            for (Rank &rank : ranks_) rank.requests.keep_names();
        }
        return true;
    }

    void forget(int64_t rank) { ranks_[rank].operations.clear(); }

  private:
    std::vector<double> speeds_;
    std::vector<Rank> ranks_;
    std::unordered_map<std::string, int32_t> known_;
    std::vector<Word> words_;
    int64_t records_ = 0;

    bool reject(std::string what) {
        problem = std::move(what);
        return false;
    }

    // One comparison for almost all that is not blank.
    static bool is_blank(char c) {
        return static_cast<unsigned char>(c) <= ' ' && (c == ' ' || c == '\t' || c == '\r');
    }

    bool split(const char *at, const char *end) {
        words_.clear();
        while (true) {
            while (at < end && is_blank(*at)) ++at;
            if (at == end || (words_.empty() && *at == '#')) return !words_.empty();
            const char *begin = at;
            while (at < end && !is_blank(*at)) ++at;
            words_.push_back({begin, at});
        }
    }

    bool whole(size_t place, const char *name, double least, double most, double &value) {
        const Word &word = words_[place];
        if (!read_digits(word, value) && (!read_number(word, value) || value != std::floor(value)))
            return reject(std::string(name) + " " + words_[place].shown() + ": expected a whole number");
        if (value < least || value > most)
            return reject(std::string(name) + " " + words_[place].shown() + ": expected " +
                          (least == INT32_MIN ? "at most " : text_of(least) + " to ") + text_of(most));
        return true;
    }

    static std::string text_of(double value) {
        char buffer[32];
        std::snprintf(buffer, sizeof buffer, "%.0f", value);
        return buffer;
    }

    bool amount(size_t place, const char *name, double &value) {
        if (!read_number(words_[place], value))
            return reject(std::string(name) + " " + words_[place].shown() + ": expected a number");
        return value >= 0 || reject(std::string(name) + " " + words_[place].shown() + " is negative");
    }

    bool bytes(size_t count_at, size_t type_at, const Rank &rank, double &value, const char *name = "count") {
        double type;
        if (!whole(count_at, name, -1, LARGEST_INTEGER, value)) return false;
        double size = rank.type_size;
        if (words_.size() > type_at) {
            if (!whole(type_at, "type", 0, TYPES - 1, type)) return false;
            size = TYPE_SIZES[static_cast<int>(type)];
        }
        value *= size;
        return true;
    }

    bool needs(size_t arguments, const char *usage) {
        return words_.size() >= 2 + arguments ||
               reject(words_[1].shown() + " has " + std::to_string(words_.size() - 2) + " arguments: expected " +
                      usage);
    }

    static uint64_t key_of(bool receive, int64_t rank, int64_t peer, int64_t tag) {
        bool side = receive && peer != rank;  // requests of messages to oneself are not told apart
        return (static_cast<uint64_t>(side) << 63) | (static_cast<uint64_t>(peer + 1) << 32) |
               static_cast<uint64_t>(static_cast<uint32_t>(tag));
    }

    bool message(int64_t rank, Code code) {
        bool receive = code == RECV || code == IRECV;
        double peer, tag, size = -1;
        if (!needs(receive ? 2 : 3, receive ? "partner tag [count] [type]" : "partner tag count [type]")) return false;
        if (!partner(2, receive, peer) || !tag_of(3, receive, tag)) return false;
        Rank &mine = ranks_[rank];
        if (words_.size() > 4 && !bytes(4, 5, mine, size)) return false;
        if (size < 0 && !receive) return reject("count " + words_[4].shown() + " is negative");
        if (receive && size <= 0) size = -1;  // the peer takes no count for one that is unknown
        add_message(rank, code, static_cast<int64_t>(peer), static_cast<int64_t>(tag), size);
        return true;
    }

    void add_message(int64_t rank, Code code, int64_t peer, int64_t tag, double size) {
        Rank &mine = ranks_[rank];
        int32_t name = UNNAMED;
        if (code == ISEND || code == IRECV) {
            name =
                mine.requests.add(key_of(code == IRECV, rank, peer, tag), static_cast<int64_t>(mine.operations.size()));
        }
        mine.operations.push_back({code, static_cast<int32_t>(peer), static_cast<int32_t>(tag), name, size});
    }

    // What traces have for MPI_ANY_SOURCE and MPI_ANY_TAG is some negative number, not always the same.
    bool partner(size_t place, bool any, double &peer) {
        if (!whole(place, "partner", any ? INT32_MIN : 0, static_cast<double>(processes() - 1), peer)) return false;
        peer = peer < 0 ? ANY : peer;
        return true;
    }

    bool tag_of(size_t place, bool any, double &tag) {
        if (!whole(place, "tag", any ? INT32_MIN : 0, INT32_MAX, tag)) return false;
        tag = tag < 0 ? ANY : tag;
        return true;
    }

    bool wait_or_test(int64_t rank, Code code) {
        double source, target, tag;
        if (!needs(3, "source target tag") || !partner(2, true, source) || !partner(3, false, target) ||
            !tag_of(4, true, tag))
            return false;
        if (source != rank && target != rank)
            return reject(words_[1].shown() + " of a message that is neither from nor to rank " + std::to_string(rank));
        bool receive = source != rank;
        int64_t peer = static_cast<int64_t>(receive ? source : target);
        Rank &mine = ranks_[rank];
        bool take = code == WAIT;
        int32_t name = mine.requests.find(key_of(receive, rank, peer, static_cast<int64_t>(tag)), take);
        if (name < 0 && receive) {  // it may have been posted for any source or tag
            for (uint64_t key : {key_of(true, rank, ANY, static_cast<int64_t>(tag)), key_of(true, rank, peer, ANY),
                                 key_of(true, rank, ANY, ANY)})
                if ((name = mine.requests.find(key, take)) >= 0) break;
        }
        if (name < 0)
            ++unmatched;
        else
            mine.operations.push_back({code, ANY, ANY, name, 0.0});
        return true;
    }

    void wait_for_all(Rank &mine) {
        if (!mine.requests.open()) return;
        bool unnamed = mine.requests.can_be_unnamed();
        if (unnamed)
            for (const Request &one : mine.requests.unsorted()) mine.operations[one.place].request = UNNAMED;
        mine.operations.push_back({WAITALL, ANY, ANY, unnamed ? UNNAMED : EVERY_NAMED, 0.0});
        mine.requests.clear();
    }

    bool exchange(int64_t rank) {
        double sent, received, target, source;
        Rank &mine = ranks_[rank];
        if (!needs(4, "send_count target receive_count source [send_type receive_type]") ||
            !bytes(2, 6, mine, sent, "send_count") || !partner(3, false, target) ||
            !bytes(4, 7, mine, received, "receive_count") || !partner(5, true, source))
            return false;
        if (sent < 0) return reject("send_count " + words_[2].shown() + " is negative");
        mine.requests.keep_names();
        mine.operations.push_back({IRECV, static_cast<int32_t>(source), 0, UNNAMED, received > 0 ? received : -1});
        mine.operations.push_back({ISEND, static_cast<int32_t>(target), 0, UNNAMED, sent});
        mine.operations.push_back({WAITALL, ANY, ANY, UNNAMED, 0.0});
        return true;
    }

    // Note a collective of all ranks.
    bool collective(int64_t rank, bool varies) { return call(rank, varies, next_tag(ranks_[rank])); }

    static int32_t next_tag(Rank &mine) {
        const int32_t tag = COLLECTIVE_TAG - mine.collectives;
        mine.collectives = (mine.collectives + 1) % COLLECTIVE_TAGS;
        return tag;
    }

    static int32_t next_tag_within(Rank &mine, int32_t communicator) {
        int32_t &number = mine.within[communicator];
        const int32_t tag = tag_within(communicator, number);
        number = (number + 1) % TAGS_WITHIN;
        return tag;
    }

    // Note a collective that the caller has, or the definition of a communicator.
    bool record(int64_t rank) {
        double number, communicator;
        if (!needs(2, "number communicator") || !whole(2, "number", 0, static_cast<double>(records_ - 1), number) ||
            !whole(3, "communicator", -1, INT32_MAX, communicator))
            return false;
        Rank &mine = ranks_[rank];
        const int32_t tag = communicator < 0    ? COLLECTIVE_TAG
                            : communicator == 0 ? next_tag(mine)
                                                : next_tag_within(mine, static_cast<int32_t>(communicator));
        mine.requests.keep_names();
        mine.operations.push_back({MARKER, ANY, tag, static_cast<int32_t>(number), 0.0});
        return true;
    }

    // Note a collective of the ranks of a communicator.
    bool collective_within(int64_t rank) {
        double value;
        if (!needs(2, "communicator action") || !whole(2, "communicator", 1, INT32_MAX, value)) return false;
        return call(rank, true, next_tag_within(ranks_[rank], static_cast<int32_t>(value)));
    }

    // Note a call: Python reads its arguments, once for all calls of the same text in what is being parsed.
    bool call(int64_t rank, bool varies, int32_t tag) {
        Rank &mine = ranks_[rank];
        std::string text(words_[1].begin, words_.back().end);
        std::string key = text + (mine.type_size == 8 ? "\n8" : "\n1");
        if (varies) key += std::to_string(rank);
        auto [found, is_new] = known_.try_emplace(key, static_cast<int32_t>(calls.size()));
        if (is_new) calls.push_back({line, static_cast<int32_t>(rank), mine.type_size, text});
        mine.requests.keep_names();
        mine.operations.push_back({MARKER, ANY, tag, found->second, 0.0});
        return true;
    }

    // Read a line `rank isend|irecv partner tag count type` of nothing but digits, as most are; false where it is another.
    bool plain_message(const char *at, const char *end, int64_t owner) {
        const int64_t rank = take_digits(at, end);
        if (rank < 0 || rank >= processes() || (owner >= 0 && rank != owner) || end - at < 6) return false;
        const bool receive = !std::memcmp(at, "irecv ", 6);
        if (!receive && std::memcmp(at, "isend ", 6)) return false;
        at += 6;
        const int64_t peer = take_digits(at, end);
        const int64_t tag = peer < 0 || peer >= processes() ? -1 : take_digits(at, end);
        const int64_t count = tag < 0 ? -1 : take_digits(at, end);
        const int64_t type = count < 0 ? -1 : take_digits(at, end);
        if (type < 0 || type >= TYPES || at != end) return false;
        ++actions;
        const double size = static_cast<double>(count) * TYPE_SIZES[type];
        add_message(rank, receive ? IRECV : ISEND, peer, tag, receive && size <= 0 ? -1 : size);
        return true;
    }

    bool one_line(const char *at, const char *end, int64_t owner) {
        if (plain_message(at, end, owner) || !split(at, end)) return true;
        double value;
        if (words_.size() < 2) return reject(words_[0].shown() + ": expected a rank and an action");
        if (!whole(0, "rank", 0, static_cast<double>(processes() - 1), value)) return false;
        int64_t rank = static_cast<int64_t>(value);
        if (owner >= 0 && rank != owner)
            return reject("an action of rank " + std::to_string(rank) + " in the trace of rank " +
                          std::to_string(owner));
        ++actions;
        Rank &mine = ranks_[rank];
        const Word &action = words_[1];
        if (action.is("compute") || action.is("sleep")) {
            bool computes = action.is("compute");
            if (!needs(1, computes ? "flops" : "seconds") || !amount(2, computes ? "flops" : "seconds", value))
                return false;
            if (value > 0)
                mine.operations.push_back(
                    {computes ? COMPUTE : SLEEP, ANY, ANY, UNNAMED, computes ? value / speeds_[rank] : value});
            return true;
        }
        if (action.is("isend")) return message(rank, ISEND);
        if (action.is("irecv")) return message(rank, IRECV);
        if (action.is("send")) return message(rank, SEND);
        if (action.is("recv")) return message(rank, RECV);
        if (action.is("waitall")) {
            wait_for_all(mine);
            return true;
        }
        if (action.is("wait")) return wait_or_test(rank, WAIT);
        if (action.is("test")) return wait_or_test(rank, TEST);
        if (action.is("sendRecv") || action.is("sendrecv")) return exchange(rank);
        if (records_ > 0 && action.is("collective")) return record(rank);
        if (action.is("mark")) {
            if (!needs(1, "number") || !whole(2, "number", 0, LARGEST_INDEX, value)) return false;
            mine.operations.push_back({MARK, ANY, ANY, UNNAMED, value});
            return true;
        }
        for (std::string_view name : {"barrier", "bcast", "reduce", "allreduce", "alltoall", "allgather", "gather",
                                      "scatter", "scan", "exscan"})
            if (action.is(name)) return collective(rank, false);
        for (std::string_view name : {"alltoallv", "gatherv", "scatterv", "allgatherv", "reducescatter"})
            if (action.is(name)) return collective(rank, true);
        if (action.is("within")) return collective_within(rank);
        if (action.is("communicator")) return call(rank, true, COLLECTIVE_TAG);
        if (action.is("init")) {
            mine.type_size = words_.size() > 2 ? 8 : 1;
            return true;
        }
        for (std::string_view name : {"finalize", "comm_size", "comm_split", "comm_dup", "location"})
            if (action.is(name)) {
                ++skipped;
                splits = splits || action.is("comm_split");
                if (action.is("comm_size") && words_.size() > 2)
                    splits = splits || !read_digits(words_[2], value) || value != static_cast<double>(processes());
                return true;
            }
        return reject("unknown action " + action.shown());
    }
};

}  // namespace commmodel::traces
