// Where ranks wait for each other in a recorded program: messages are matched, instances of collectives put together.
//
// A wait is open (`Wait`, shared) until all is known on which it depends; then it is added to the sums by itself, when
// its last owner lets it go. So nothing is kept of calls whose counterparts are known.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace commmodel::recordings {

// Why a call waits: those of collectives come in the order of their `Rule`. `Reason` of commmodel.record.roles has the
// same names.
enum Reason : int32_t {
    LATE_SENDER,
    LATE_RECEIVER,
    WAIT_AT_ALL,
    LATE_BROADCAST,
    EARLY_REDUCE,
    WAIT_IN_SCAN,
    REASONS,
};

struct Waits {  // sums, in seconds
    std::vector<double> of_row, of_rank, of_communicator, caused_by;
    std::vector<double> of_row_by_reason;  // of each row, as many as there are reasons
    std::unordered_map<uint64_t, double> by_row_and_cause;
    int64_t ranks = 0;
};

// What a call has waited for others, until it is let go.
class Wait {
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
        sums_.by_row_and_cause[static_cast<uint64_t>(row_) * sums_.ranks + cause_] += seconds_;
    }

  private:
    Waits &sums_;
    int32_t row_, rank_, communicator_, cause_ = 0;
    Reason reason_ = LATE_SENDER;
    double begin_, end_, seconds_ = 0.0;
};
using OpenWait = std::shared_ptr<Wait>;

template <class T> class Queue {  // first in, first out; small and cheap to make
  public:
    bool empty() const { return first_ == items_.size(); }
    T &front() { return items_[first_]; }
    void push(T item) { items_.push_back(std::move(item)); }
    void pop() {
        items_[first_++] = T();
        if (empty()) items_.clear(), first_ = 0;
        if (first_ > 64 && 2 * first_ > items_.size()) {
            items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(first_));
            first_ = 0;
        }
    }

  private:
    std::vector<T> items_;
    size_t first_ = 0;
};

// A message that is sent, and its receive once they are matched.
struct Message {
    double sent = 0.0, posted = 0.0;  // when its send, and its receive, began
    double completed = 0.0;           // when the call ended that completed its send; 0: not yet known
    int64_t size = 0, transfer = -1;
    int32_t receiver = 0;
    bool is_matched = false;
    OpenWait wait;  // of the send, or of what completes it
};

// A receive, or a probe, which takes no message away.
struct Receive {
    double posted = 0.0, completed = 0.0;            // when it began, and when the call ended that completed it
    int32_t communicator = 0, source = -1, tag = 0;  // the message that it has got
    bool is_complete = false, is_void = false, takes = true;
    OpenWait wait;
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
};

struct Hash {
    size_t operator()(const Channel &key) const {
        uint64_t value = mix(static_cast<uint32_t>(key.communicator), static_cast<uint32_t>(key.tag));
        value = mix(value, static_cast<uint32_t>(key.source));
        return static_cast<size_t>(mix(value, static_cast<uint32_t>(key.destination)));
    }

  private:
    static uint64_t mix(uint64_t value, uint64_t next) {
        value = (value ^ next) * 0x9e3779b97f4a7c15u;
        return value ^ (value >> 29);
    }
};

// Messages of all ranks, matched first in, first out for each communicator, source, destination and tag.
class Matching {
  public:
    Matching(int64_t ranks, bool keeps_transfers)
        : is_gone_(static_cast<size_t>(ranks)), keeps_transfers_(keeps_transfers) {}

    int64_t unmatched_sends = 0, unmatched_receives = 0;
    std::vector<Transfer> transfers;  // of matched messages, where they are kept

    std::shared_ptr<Message> send(const Channel &channel, double begin, double completed, int64_t size, OpenWait wait) {
        auto message = std::make_shared<Message>();
        message->sent = begin;
        message->completed = completed;
        message->size = size;
        message->wait = std::move(wait);
        const auto place = queues_.find(channel);
        if (place != queues_.end()) {
            Queue<std::shared_ptr<Receive>> &receives = place->second.receives;
            while (!receives.empty() && !message->is_matched) {
                match(channel, *message, *receives.front());
                receives.pop();
            }
            if (receives.empty() && place->second.sends.empty()) queues_.erase(place);
        }
        if (message->is_matched) return message;
        if (is_gone_[channel.destination]) {
            ++unmatched_sends;
        } else {
            queues_[channel].sends.push(message);
        }
        return message;
    }

    void receive(const Channel &channel, std::shared_ptr<Receive> receive) {
        const auto place = queues_.find(channel);
        if (place != queues_.end() && !place->second.sends.empty()) {
            Queue<std::shared_ptr<Message>> &sends = place->second.sends;
            match(channel, *sends.front(), *receive);
            if (receive->takes) sends.pop();
            if (sends.empty()) queues_.erase(place);
        } else if (is_gone_[channel.source]) {
            ++unmatched_receives;
        } else {
            queues_[channel].receives.push(std::move(receive));
        }
    }

    // The call that completed a send has ended.
    void complete(Message &message, double time) {
        message.completed = time;
        if (message.transfer >= 0) transfers[message.transfer].left = left(message);
    }

    // No more comes from this rank.
    void close(int32_t rank) {
        is_gone_[rank] = 1;
        for (auto place = queues_.begin(); place != queues_.end();) {
            Queues &queues = place->second;
            if (place->first.destination == rank) {
                for (; !queues.sends.empty(); queues.sends.pop()) ++unmatched_sends;
            }
            if (place->first.source == rank) {
                for (; !queues.receives.empty(); queues.receives.pop()) ++unmatched_receives;
            }
            place = queues.sends.empty() && queues.receives.empty() ? queues_.erase(place) : std::next(place);
        }
    }

    size_t open() const { return queues_.size(); }

  private:
    struct Queues {
        Queue<std::shared_ptr<Message>> sends;
        Queue<std::shared_ptr<Receive>> receives;
    };

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

    std::unordered_map<Channel, Queues, Hash> queues_;
    std::vector<uint8_t> is_gone_;
    const bool keeps_transfers_;
};

// For whom a rank waits in a collective: nobody; all; the root, unless it is itself that; all, where it is the root; all
// ranks up to itself.
enum Rule : int32_t { NOBODY, EVERYBODY, FOR_ROOT, AS_ROOT, PREFIX };

// One collective operation of one communicator: who has entered it, and when.
class Instance {
  public:
    struct Entry {
        double begin;
        int32_t place, rank;  // in the communicator, and in the program
        bool is_root, is_passive;
    };

    explicit Instance(Rule rule) : rule_(rule) {}

    size_t size() const { return entries_.size(); }

    void enter(const Entry &entry) { entries_.push_back(entry); }

    // A rank waits for this collective: settled at once where all have entered.
    void wait(const Entry &entry, OpenWait wait) {
        if (is_complete_) {
            settle(entry, *wait);
        } else {
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

    int64_t incomplete = 0;

    std::shared_ptr<Instance> enter(int32_t communicator, int32_t code, Rule rule, const Instance::Entry &entry) {
        const Channel key{communicator, code, 0, 0};
        const int64_t number = counts_[entry.rank][key]++;
        const Channel place = at(key, number);
        auto &instance = open_[place];
        if (!instance) instance = std::make_shared<Instance>(rule);
        instance->enter(entry);
        return instance;
    }

    // What `enter` began: complete those of this communicator and code that nobody will enter any more.
    void settle(int32_t communicator, int32_t code, int32_t rank) {
        const Channel key{communicator, code, 0, 0};
        const auto place = open_.find(at(key, counts_[rank][key] - 1));
        if (place == open_.end() || !is_full(place->first, *place->second)) return;
        complete(place->first, *place->second);
        open_.erase(place);
    }

    void close(int32_t rank) {
        for (const int32_t communicator : of_rank_[rank]) gone_[communicator].push_back(rank);
        for (auto place = open_.begin(); place != open_.end();) {
            if (!is_full(place->first, *place->second)) {
                ++place;
                continue;
            }
            complete(place->first, *place->second);
            place = open_.erase(place);
        }
    }

  private:
    static Channel at(const Channel &key, int64_t number) {
        return {key.communicator, key.source, static_cast<int32_t>(number), static_cast<int32_t>(number >> 31)};
    }

    void complete(const Channel &place, Instance &instance) {
        incomplete += instance.size() < members_[place.communicator].size();
        instance.complete();
    }

    bool is_full(const Channel &place, const Instance &instance) {
        const auto communicator = static_cast<size_t>(place.communicator);
        const size_t missing = members_[communicator].size() - std::min(instance.size(), members_[communicator].size());
        if (missing == 0 || gone_[communicator].size() < missing) return missing == 0;
        const int64_t number = (static_cast<int64_t>(place.tag) << 31) | place.destination;
        const Channel key{place.communicator, place.source, 0, 0};
        size_t absent = 0;
        for (const int32_t rank : gone_[communicator]) {
            const auto count = counts_[rank].find(key);
            absent += count == counts_[rank].end() || count->second <= number;
        }
        return absent >= missing;
    }

    std::vector<std::vector<int32_t>> members_, gone_, of_rank_;
    std::vector<std::unordered_map<Channel, int64_t, Hash>> counts_;
    std::unordered_map<Channel, std::shared_ptr<Instance>, Hash> open_;
};

}  // namespace commmodel::recordings
