// What goes from one rank to another, in order, as over one connection: what comes behind a message's data waits for it.
#pragma once

#include <cstdint>
#include <vector>

#include "common/hash_table.hpp"
#include "program/pool.hpp"
#include "program/program.hpp"

namespace commmodel {

// Of a synchronous message: it asks for its receive, which answers the other way; its data; and what says that it is
// whole, which is written when its last data are. Of any other: its data.
enum class Part : uint8_t { REQUEST, ANSWER, DATA, END };

class Connections {
  public:
    struct Entry {
        int32_t message, link;
        Part part;
        bool ready;  // it can go on as soon as it is the first: its latency is over
    };

    // Put a part behind all that is under way between two ranks; returns the number of their connection.
    int32_t add(int32_t from, int32_t to, int32_t message, Part part) {
        const Key key{pair_of(from, to)};
        const size_t slot = numbers_.find(key);
        int32_t number = numbers_[slot].first;
        if (number == NONE) {
            number = static_cast<int32_t>(lines_.size());
            lines_.push_back({NONE, NONE, to, NONE, false});
            numbers_.fill(slot, key, {number});
        }
        const int32_t entry = entries_.add({message, NONE, part, part == Part::END});
        Line &line = lines_[number];
        (line.first == NONE ? line.first : entries_[line.last].link) = entry;
        line.last = entry;
        if (part != Part::END) state(message) = {number, entry, part != Part::REQUEST, false};
        return number;
    }

    // The latency of a message's last part is over; returns the number of its connection.
    int32_t come(int32_t message) {
        entries_[states_[message].entry].ready = true;
        return states_[message].connection;
    }

    int32_t receiver(int32_t connection) const { return lines_[connection].receiver; }

    // Whether it is a request or an answer that can go on.
    bool must_be_read(int32_t connection) const {
        const int32_t first = lines_[connection].first;
        return first != NONE && entries_[first].ready && entries_[first].part <= Part::ANSWER;
    }

    // A connection waits until its receiver reads it, after those that do already.
    void put_off(int32_t connection) {
        Line &line = lines_[connection];
        if (line.is_unread) return;
        line.is_unread = true;
        line.after = NONE;
        if (static_cast<size_t>(line.receiver) >= unread_.size()) {
            unread_.resize(static_cast<size_t>(line.receiver) + 1, {NONE, NONE});
        }
        Unread &unread = unread_[line.receiver];
        (unread.first == NONE ? unread.first : lines_[unread.last].after) = connection;
        unread.last = connection;
    }

    // The first connection that waits until a rank reads it, which does not any more; NONE where there is none.
    int32_t take_unread(int32_t rank) {
        if (static_cast<size_t>(rank) >= unread_.size()) return NONE;
        const int32_t connection = unread_[rank].first;
        if (connection == NONE) return NONE;
        lines_[connection].is_unread = false;
        unread_[rank].first = lines_[connection].after;
        return connection;
    }

    // The part that can go on; its message is NONE where there is none. Data hold what is behind them, until `drop`.
    Entry next(int32_t connection) {
        const Line &line = lines_[connection];
        if (line.first == NONE || !entries_[line.first].ready) return {NONE, NONE, Part::END, false};
        const Entry entry = entries_[line.first];
        if (entry.part == Part::DATA) {
            entries_[line.first].ready = false;
        } else {
            drop(connection);
        }
        return entry;
    }

    void drop(int32_t connection) {
        Line &line = lines_[connection];
        const int32_t entry = line.first;
        line.first = entries_[entry].link;
        entries_.drop(entry);
    }

    int32_t connection(int32_t message) const { return states_[message].connection; }
    bool &has_asked(int32_t message) { return states_[message].has_asked; }  // its request has come
    bool &has_end(int32_t message) { return states_[message].has_end; }

  private:
    struct Key {
        uint64_t ranks = 0;
        bool operator==(const Key &other) const { return ranks == other.ranks; }
        uint64_t hash() const { return mixed(ranks); }
    };
    struct Line {
        int32_t first, last;  // entries
        int32_t receiver;
        int32_t after;  // the next one that its receiver has not read
        bool is_unread;
    };
    struct Unread {
        int32_t first, last;  // connections
    };
    struct State {
        int32_t connection, entry;  // of its last part
        bool has_asked, has_end;
    };

    State &state(int32_t message) {
        if (static_cast<size_t>(message) >= states_.size()) states_.resize(static_cast<size_t>(message) + 1);
        return states_[message];
    }

    HashTable<Key, Number, 64> numbers_;
    std::vector<Line> lines_;
    std::vector<Unread> unread_;  // by rank
    Pool<Entry, &Entry::link> entries_;
    std::vector<State> states_;  // by message
};

}  // namespace commmodel
