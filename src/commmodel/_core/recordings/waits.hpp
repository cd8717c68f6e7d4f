// Where ranks wait for each other in a recorded program: messages are matched, instances of collectives put together.
//
// A wait is open (`Wait`, shared) until all is known on which it depends; then it is added to the sums by itself, when
// its last owner lets it go. So nothing is kept of calls whose counterparts are known.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/hash_table.hpp"
#include "common/codes.h"
#include "recordings/shared.hpp"

namespace commmodel::recordings {

// common/codes.py says what they mean.
enum Reason : int32_t { WAITING_REASONS, REASONS };
enum Rule : int32_t { WAITING_RULES };

// A call of a rank waited from its begin until then, as another one, the cause, came to its part.
struct WaitOfCall {
    double begin, end;
    int32_t rank, cause;
};

struct Waits {  // sums, in seconds
    std::vector<double> of_row, of_rank, of_communicator, caused_by;
    std::vector<double> of_row_by_reason;  // of each row, as many as there are reasons
    std::unordered_map<uint64_t, double> by_row_and_cause;
    int64_t ranks = 0;
    bool keeps_calls = false;
    std::vector<WaitOfCall> of_calls;  // where they are kept, in any order

    double &of(int32_t row, int32_t cause) {
        const uint64_t key = static_cast<uint64_t>(row) * ranks + cause;
        Recent &recent = recent_[key % RECENT];
        if (recent.seconds == nullptr || recent.key != key) recent = {key, &by_row_and_cause[key]};
        return *recent.seconds;
    }

  private:
    struct Recent {
        uint64_t key = 0;
        double *seconds = nullptr;
    };
    static constexpr size_t RECENT = 256;
    Recent recent_[RECENT];
};

// What a call has waited for others, until it is let go.
class Wait : public Counted<Wait> {
  public:
    Wait(Waits &sums, int32_t row, int32_t rank, int32_t communicator, double begin, double end)
        : sums_(sums), row_(row), rank_(rank), communicator_(communicator), begin_(begin), end_(end) {}
    Wait(const Wait &) = delete;
    Wait &operator=(const Wait &) = delete;

    // It could not go on before `time`, due to a rank: a late sender, or the last of a collective.
    void until(double time, int32_t cause, Reason reason) {
        const double seconds = std::min(time, end_) - begin_;
        if (seconds > seconds_) seconds_ = seconds, cause_ = cause, reason_ = reason;
    }

    // The receiver of a message came at `time`: a send that ended before that had been buffered, and has not waited.
    void until_received(double time, int32_t receiver) {
        if (time < end_) until(time, receiver, LATE_RECEIVER);
    }

    ~Wait() {
        if (seconds_ <= 0.0) return;
        sums_.of_row[row_] += seconds_;
        sums_.of_row_by_reason[static_cast<size_t>(row_) * REASONS + reason_] += seconds_;
        sums_.of_rank[rank_] += seconds_;
        sums_.of_communicator[communicator_] += seconds_;
        sums_.caused_by[cause_] += seconds_;
        sums_.of(row_, cause_) += seconds_;
        if (sums_.keeps_calls) sums_.of_calls.push_back({begin_, begin_ + seconds_, rank_, cause_});
    }

  private:
    Waits &sums_;
    int32_t row_, rank_, communicator_, cause_ = 0;
    Reason reason_ = LATE_SENDER;
    double begin_, end_, seconds_ = 0.0;
};
using OpenWait = Shared<Wait>;

// A message that is sent, and its receive once they are matched.
struct Message : Counted<Message> {
    double sent = 0.0, posted = 0.0;  // when its send, and its receive, began
    double completed = 0.0;           // when the call ended that completed its send; 0: not yet known
    int64_t size = 0, transfer = -1;
    int32_t receiver = 0;
    bool is_matched = false;
    OpenWait wait;  // of the send, or of what completes it
    Message *next = nullptr;
};

// A receive, or a probe, which takes no message away.
struct Receive : Counted<Receive> {
    double posted = 0.0, completed = 0.0;            // when it began, and when the call ended that completed it
    int32_t communicator = 0, source = -1, tag = 0;  // the message that it has got
    bool is_complete = false, is_void = false, takes = true;
    OpenWait wait;
    Receive *next = nullptr;
};

// A message on its way, as timelines show it.
struct Transfer {
    double size, posted, left, arrived;  // bytes; when its send began, when it left, when it was received
    int32_t sender, receiver, tag, communicator;
};

struct Channel {
    int32_t communicator, source, destination, tag;
    bool operator==(const Channel &other) const {
        return communicator == other.communicator && source == other.source && destination == other.destination &&
               tag == other.tag;
    }
    uint64_t hash() const { return mixed(pair_of(source, destination) ^ mixed(pair_of(communicator, tag))); }
};

// Messages of all ranks, matched first in, first out for each communicator, source, destination and tag.
class Matching {
  public:
    Matching(int64_t ranks, bool keeps_transfers)
        : is_gone_(static_cast<size_t>(ranks)), keeps_transfers_(keeps_transfers) {}

    int64_t unmatched_sends = 0, unmatched_receives = 0;
    std::vector<Transfer> transfers;  // of matched messages, where they are kept

    Shared<Message> send(const Channel &channel, double begin, double completed, int64_t size, OpenWait wait) {
        Shared<Message> message = messages_.make();
        message->sent = begin;
        message->completed = completed;
        message->size = size;
        message->wait = std::move(wait);
        const size_t slot = queues_.find(channel);
        Queue &queue = queues_[slot];
        while (!queue.receives.empty() && !message->is_matched) match(channel, *message, *queue.receives.pop());
        if (!message->is_matched && is_gone_[channel.destination]) {
            ++unmatched_sends;
        } else if (!message->is_matched) {
            queue.sends.push(message);
        }
        keep(slot, channel);
        return message;
    }

    void receive(const Channel &channel, Shared<Receive> receive) {
        const size_t slot = queues_.find(channel);
        Queue &queue = queues_[slot];
        if (!queue.sends.empty()) {
            match(channel, queue.sends.front(), *receive);
            if (receive->takes) queue.sends.pop();
        } else if (is_gone_[channel.source]) {
            ++unmatched_receives;
        } else {
            queue.receives.push(std::move(receive));
        }
        keep(slot, channel);
    }

    Shared<Receive> new_receive() { return receives_.make(); }

    // The call that completed a send has ended.
    void complete(Message &message, double time) {
        message.completed = time;
        if (message.transfer >= 0) transfers[message.transfer].left = left(message);
    }

    // No more comes from this rank.
    void close(int32_t rank) {
        is_gone_[rank] = 1;
        std::vector<Channel> emptied;
        queues_.each([&](const Channel &channel, Queue &queue) {
            if (channel.destination == rank) {
                for (; !queue.sends.empty(); queue.sends.pop()) ++unmatched_sends;
            }
            if (channel.source == rank) {
                for (; !queue.receives.empty(); queue.receives.pop()) ++unmatched_receives;
            }
            if (queue.empty()) emptied.push_back(channel);
        });
        for (const Channel &channel : emptied) queues_.empty(queues_.find(channel));
    }

    size_t open() {
        size_t count = 0;
        queues_.each([&count](const Channel &, const Queue &) { ++count; });
        return count;
    }

  private:
    struct Queue {
        int32_t first = NONE;  // 0 where it is in the table
        Line<Message> sends;   // one of the two is empty
        Line<Receive> receives;
        bool empty() const { return sends.empty() && receives.empty(); }
    };

    // Have a queue in the table as long as there is something in it.
    void keep(size_t slot, const Channel &channel) {
        const Queue queue = queues_[slot];
        if (queue.first == NONE && !queue.empty()) {
            queues_.fill(slot, channel, {0, queue.sends, queue.receives});
        } else if (queue.first != NONE && queue.empty()) {
            queues_.empty(slot);
        }
    }

    // When a message left: at its send, or where that waited for the receiver, when the receiver came.
    static double left(const Message &message) {
        return message.posted < message.completed ? std::max(message.sent, message.posted) : message.sent;
    }

    void match(const Channel &channel, Message &message, Receive &receive) {
        if (receive.wait) receive.wait->until(message.sent, channel.source, LATE_SENDER);
        receive.wait.reset();
        if (!receive.takes) return;
        message.is_matched = true;
        message.posted = receive.posted;
        message.receiver = channel.destination;
        if (message.wait) message.wait->until_received(message.posted, message.receiver);
        message.wait.reset();
        if (!keeps_transfers_) return;
        message.transfer = static_cast<int64_t>(transfers.size());
        transfers.push_back({static_cast<double>(message.size), message.sent, left(message), receive.completed,
                             channel.source, channel.destination, channel.tag, channel.communicator});
    }

    Store<Message> messages_;
    Store<Receive> receives_;
    HashTable<Channel, Queue, 256> queues_;
    std::vector<uint8_t> is_gone_;
    const bool keeps_transfers_;
};

// One collective operation of one communicator: who has entered it, and when.
class Instance : public Counted<Instance> {
  public:
    struct Entry {
        double begin;
        int32_t place, rank;  // in the communicator, and in the program
        bool is_root, is_passive;
    };

    // `channel` has its communicator, the code of its call as the source, and its number as the two others.
    Instance(const Channel &channel, Rule rule, size_t members) : channel(channel), rule_(rule) {
        entries_.reserve(members);
    }

    const Channel channel;

    size_t size() const { return entries_.size(); }

    void enter(const Entry &entry) { entries_.push_back(entry); }

    // A rank waits for this collective: settled at once where all have entered.
    void wait(const Entry &entry, OpenWait wait) {
        if (is_complete_) {
            settle(entry, *wait);
        } else {
            if (waits_.empty()) waits_.reserve(entries_.capacity());
            waits_.emplace_back(entry, std::move(wait));
        }
    }

    void complete() {
        is_complete_ = true;
        for (const Entry &entry : entries_) {
            if (last_ == nullptr || entry.begin > last_->begin) last_ = &entry;
            if (entry.is_root) root_ = &entry;
        }
        if (rule_ == PREFIX) {
            std::sort(entries_.begin(), entries_.end(), [](auto &a, auto &b) { return a.place < b.place; });
            for (size_t i = 1; i < entries_.size(); ++i) {
                if (entries_[i].begin >= entries_[i - 1].begin) continue;
                entries_[i].begin = entries_[i - 1].begin;
                entries_[i].rank = entries_[i - 1].rank;
            }
        }
        for (auto &[entry, wait] : waits_) settle(entry, *wait);
        waits_.clear();
    }

  private:
    void settle(const Entry &entry, Wait &wait) const {
        const Entry *awaited = nullptr;
        if (rule_ == EVERYBODY || (rule_ == AS_ROOT && entry.is_root)) awaited = last_;
        if (rule_ == FOR_ROOT && !entry.is_root && !entry.is_passive) awaited = root_;
        if (rule_ == PREFIX) {
            const auto place = std::lower_bound(entries_.begin(), entries_.end(), entry.place,
                                                [](const Entry &each, int32_t value) { return each.place < value; });
            if (place != entries_.end()) awaited = &*place;
        }
        if (awaited == nullptr || awaited->rank == entry.rank) return;
        wait.until(awaited->begin, awaited->rank, static_cast<Reason>(WAIT_AT_ALL + rule_ - EVERYBODY));
    }

    const Rule rule_;
    bool is_complete_ = false;
    std::vector<Entry> entries_;
    const Entry *last_ = nullptr, *root_ = nullptr;
    std::vector<std::pair<Entry, OpenWait>> waits_;
};

// Collectives of all communicators: the k-th call of a kind on a communicator is one operation of all its ranks.
class Collectives {
  public:
    Collectives(int64_t ranks, std::vector<std::vector<int32_t>> members)
        : members_(std::move(members)), gone_(members_.size()), of_rank_(static_cast<size_t>(ranks)),
          counts_(static_cast<size_t>(ranks)) {
        for (size_t communicator = 0; communicator < members_.size(); ++communicator) {
            for (const int32_t rank : members_[communicator]) {
                of_rank_[rank].push_back(static_cast<int32_t>(communicator));
            }
        }
    }

    ~Collectives() {
        open_.each([](const Channel &, const Open &open) { Shared<Instance>::adopt(open.instance); });
    }
    Collectives(const Collectives &) = delete;
    Collectives &operator=(const Collectives &) = delete;

    int64_t incomplete = 0;

    Shared<Instance> enter(int32_t communicator, int32_t code, Rule rule, const Instance::Entry &entry) {
        const Channel channel = at(communicator, code, add_to_count(entry.rank, communicator, code));
        const size_t slot = open_.find(channel);
        Shared<Instance> instance(open_[slot].instance);
        if (!instance) {
            instance = instances_.make(channel, rule, members_[communicator].size());
            open_.fill(slot, channel, {0, Shared<Instance>(instance).release()});
        }
        instance->enter(entry);
        return instance;
    }

    // Complete what `enter` has returned, where nobody will enter it any more.
    void settle(Instance &instance) {
        if (!is_full(instance)) return;
        complete(instance);
    }

    void close(int32_t rank) {
        for (const int32_t communicator : of_rank_[rank]) gone_[communicator].push_back(rank);
        std::vector<Instance *> full;
        open_.each([&](const Channel &, const Open &open) {
            if (is_full(*open.instance)) full.push_back(open.instance);
        });
        for (Instance *const instance : full) complete(*instance);
    }

  private:
    struct Open {
        int32_t first = NONE;  // 0 where it is in the table
        Instance *instance = nullptr;
    };

    struct Count {
        int32_t first = NONE;  // 0 where it is in the table
        int64_t calls = 0;
    };

    static Channel at(int32_t communicator, int32_t code, int64_t number) {
        return {communicator, code, static_cast<int32_t>(number >> 31), static_cast<int32_t>(number & INT32_MAX)};
    }

    // Count a call of a code on a communicator; return how many there were before.
    int64_t add_to_count(int32_t rank, int32_t communicator, int32_t code) {
        const Channel key{communicator, code, 0, 0};
        const size_t slot = counts_[rank].find(key);
        if (counts_[rank][slot].first != NONE) return counts_[rank][slot].calls++;
        counts_[rank].fill(slot, key, {0, 1});
        return 0;
    }

    void complete(Instance &instance) {
        const auto owner = Shared<Instance>::adopt(&instance);  // that of the table
        open_.empty(open_.find(instance.channel));
        incomplete += instance.size() < members_[instance.channel.communicator].size();
        instance.complete();
    }

    bool is_full(const Instance &instance) const {
        const auto communicator = static_cast<size_t>(instance.channel.communicator);
        const size_t missing = members_[communicator].size() - std::min(instance.size(), members_[communicator].size());
        if (missing == 0 || gone_[communicator].size() < missing) return missing == 0;
        const int64_t number = static_cast<int64_t>(instance.channel.destination) << 31 | instance.channel.tag;
        const Channel key{instance.channel.communicator, instance.channel.source, 0, 0};
        size_t absent = 0;
        for (const int32_t rank : gone_[communicator]) absent += counts_[rank][counts_[rank].find(key)].calls <= number;
        return absent >= missing;
    }

    Store<Instance> instances_;
    std::vector<std::vector<int32_t>> members_, gone_, of_rank_;
    std::vector<HashTable<Channel, Count, 16>> counts_;
    HashTable<Channel, Open, 64> open_;
};

}  // namespace commmodel::recordings
