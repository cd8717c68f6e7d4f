// Lets the ranks of a program run in turn, and hands what they do to the engine.
//
// A rank runs until it needs what the engine alone knows, or another rank has to do first. It leaves its operations in
// a ring; when the engine has carried them out, the rank gets its turn again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "online/runtime/shared_heap.h"
#include "online/unbuffered.hpp"
#include "program/live.hpp"
#include "program/traces.hpp"

namespace commmodel {

class Pump final : public Live {
  public:
    // Functions of the caller; each returns false where it raised.
    struct Calls {
        void *context = nullptr;
        bool (*start)(void *context, int32_t rank) = nullptr;  // a rank's process
        // After the ranks, while one runs; and whether that waits outside MPI.
        bool (*look)(void *context, int32_t rank, bool *waits) = nullptr;
        bool (*end)(void *context, int32_t rank) = nullptr;  // wait for the end of a rank that has finalized MPI
        // The operations of a rank's collective under a number, or the next of the last one under it where there is no
        // call; `rest`: more may come.
        bool (*expand)(void *context, int32_t number, int32_t rank, int32_t tag, const online_call *call,
                       const Operation **begin, int64_t *count, bool *rest) = nullptr;
        // Put noise into operations of a rank, its own or those of a strand of it under a number; none: there is no noise.
        bool (*disturb)(void *context, int32_t number, int32_t rank, const Operation **begin, int64_t *count) = nullptr;
        // The beginning of all orders has been made; its ranks may be copied, or not.
        bool (*begun)(void *context, bool may_be_copied) = nullptr;
    };

    Pump(int32_t ranks, int descriptor, uint64_t memory_size) : Pump(ranks) {
        const uint64_t size = sizeof(online_world) + sizeof(online_rank) * static_cast<uint64_t>(ranks);
        world_ = memory_of(descriptor, memory_size, 0);
        world_->magic = ONLINE_MAGIC;
        world_->size = memory_size;
        world_->ranks = world_->first_ranks = ranks;
        world_->simulator = getpid();
        world_->heap = (size + 4095) / 4096 * 4096;
        world_->communicators = 1;
        world_->contexts[0] = 1;
    }
    // Go on from a beginning, which is kept, with copies of its ranks.
    explicit Pump(Pump *beginning) : Pump(beginning->world_->ranks) {
        world_ = beginning->memory_of_copies_;
        const online_world &before = *beginning->world_;
        const uint64_t used = world_->heap, size = used > before.heap ? used - before.heap : 0;
        if (size <= MOST_CLEARED)
            memset(online_at(world_, before.heap), 0, size);
        else
            madvise(online_at(world_, before.heap), size, MADV_REMOVE);
        memcpy(world_, &before, before.heap);
        world_->beginning = ONLINE_WHOLE;
        is_borrowed_ = true;
        if (world_->first_ranks < world_->ranks) has_begun_.resize(static_cast<size_t>(world_->ranks));
        for (int32_t rank = 0; rank < before.ranks; ++rank)
            if (before.rank[rank].state == ONLINE_ALIVE) beginning->copy(rank);
    }
    explicit Pump(int32_t ranks)
        : pauses_(static_cast<size_t>(ranks), Operation{SLEEP, NONE, NONE, NONE, 1e-9 * WAIT_OUTSIDE}),
          expansions_(static_cast<size_t>(ranks)), names_(static_cast<size_t>(ranks), 2 * EXPANDED_NAMES) {
        for (int32_t rank = 0; rank < ranks; ++rank) cursors_.emplace_back(rank);
        tag_bits = TAG_BITS;
    }
    ~Pump() {
        if (is_borrowed_) return;
        const uint64_t size = world_->size;
        if (memory_of_copies_ != nullptr) munmap(memory_of_copies_, size);
        munmap(world_, size);
    }
    Pump(const Pump &) = delete;
    Pump &operator=(const Pump &) = delete;

    Calls calls;

    online_world &world() { return *world_; }

    // Let only the first ranks begin: the others may be spawned.
    void spare(int32_t first_ranks) {
        world_->first_ranks = first_ranks;
        world_->communicators = 2;  // MPI_COMM_WORLD is not all ranks
        for (int32_t rank = first_ranks; rank < world_->ranks; ++rank) world_->rank[rank].state = ONLINE_SPARE;
        has_begun_.resize(static_cast<size_t>(world_->ranks));
    }

    // Make the beginning of all orders of messages in place of a run, for copies that have as much memory behind it.
    void begin_only(int descriptor) {
        memory_of_copies_ = memory_of(descriptor, world_->size, world_->size);
        world_->beginning = ONLINE_BEGINS;
    }

    // The process of a rank's last copy, 0 where it is not known yet.
    int32_t copy_of(int32_t rank) const { return __atomic_load_n(&world_->rank[rank].copy, __ATOMIC_ACQUIRE); }

    bool is_born(int32_t rank) const override { return world_->rank[rank].state != ONLINE_SPARE; }

    int32_t next_born() override {
        births = --world_->births;
        for (int32_t rank = world_->first_ranks; rank < world_->ranks; ++rank) {
            if (world_->rank[rank].state != ONLINE_UNBORN || has_begun_[static_cast<size_t>(rank)]) continue;
            has_begun_[static_cast<size_t>(rank)] = true;
            return rank;
        }
        throw std::runtime_error("no rank has been spawned");
    }

    bool more(const Answers &answers, int32_t number, const Operation *&begin, int64_t &count) override {
        if (!quiet(answers, number, begin, count)) return false;
        if (calls.disturb == nullptr || count == 0) return true;
        return calls.disturb(calls.context, number, cursors_[number].rank, &begin, &count);
    }

    // The next operations of a rank as the program makes them.
    bool quiet(const Answers &answers, int32_t number, const Operation *&begin, int64_t &count) {
        Cursor &cursor = cursors_[number];
        count = 0;
        if (memory_of_copies_ != nullptr) return begin_all(answers);
        if (number >= world_->ranks) return more_of_strand(number, cursor, begin, count);
        online_rank &shared = world_->rank[number];
        while (count == 0) {
            shared.tail += cursor.ring_count;
            cursor.ring_count = 0;
            if (cursor.in_collective) {
                if (!expand(number, cursor, begin, count)) return false;
            } else if (cursor.batch != 0) {
                if (!more_of_batch(cursor, begin, count)) drop_batch(cursor);
            } else if (shared.tail != shared.head) {
                if (!marks_.empty() && mark_site(number, shared, cursor, begin, count)) break;
                more_of_ring(shared, cursor, begin, count);
            } else if (shared.state == ONLINE_FINALIZED) {
                return calls.end(calls.context, number);
            } else if (is_outside(shared)) {
                if (!wait_outside(answers, number, cursor, begin, count)) return false;
            } else if (!run(answers, number)) {
                return false;
            }
        }
        return true;
    }

    void begin_strand(int32_t number, int32_t &rank, int32_t &request) override {
        const Queued next = queue_.front();
        queue_.pop_front();
        strands = static_cast<int32_t>(queue_.size());
        online_batch &batch = batch_at(next.batch);
        batch.stage = ONLINE_BEGUN;
        if (static_cast<size_t>(number) == cursors_.size()) cursors_.emplace_back(next.rank);
        cursors_[number] = Cursor(next.rank, next.batch, batch.call_site);
        rank = next.rank;
        request = batch.wait.request;
    }

    void stall() override {
        for (int32_t rank = 0; rank < world_->ranks; ++rank) queue_batches(rank);
    }

    void matched(int32_t rank, int32_t request, int32_t source, int32_t tag) override {
        if (unbuffered_) unbuffered_->matched(rank, request, source, tag);
        online_rank &shared = world_->rank[rank];
        if (shared.report_count == shared.report_room) {
            const int32_t room = shared.report_room ? 2 * shared.report_room : 16;
            uint64_t offset = 0;
            allocate(sizeof(online_report) * static_cast<uint64_t>(room), offset);
            if (shared.report_count)
                memcpy(online_at(world_, offset), online_at(world_, shared.reports),
                       sizeof(online_report) * static_cast<size_t>(shared.report_count));
            online_free(world_, shared.reports);
            shared.reports = offset;
            shared.report_room = room;
        }
        static_cast<online_report *>(online_at(world_, shared.reports))[shared.report_count++] = {request, source, tag};
    }

    // Room in the ranks' memory.
    void *allocate(uint64_t size, uint64_t &offset) {
        offset = online_allocate(world_, size);
        if (offset == 0) throw std::runtime_error("the memory that ranks share is full");
        return online_at(world_, offset);
    }

    // Call, file, line, function and language, on lines, of the operation that is `step` after the first of those that
    // a rank has given last, or where it is if negative; NULL where there is none.
    const char *call_site(int32_t rank, int32_t step) const {
        if (step < 0) return last_call_site(rank);
        const online_rank &shared = world_->rank[rank];
        const Cursor &cursor = cursors_[rank];
        const uint64_t text = cursor.ring_count
                                  ? shared.call_sites[(shared.tail + static_cast<uint32_t>(step)) % ONLINE_RING]
                                  : cursor.text;
        return text ? static_cast<const char *>(online_at(world_, text)) : nullptr;
    }

    // The same of the last call of a rank.
    const char *last_call_site(int32_t rank) const {
        const uint64_t text = world_->rank[rank].call_site;
        return text ? static_cast<const char *>(online_at(world_, text)) : nullptr;
    }

    // Messages of the program that no receive has got, as far as room is there; returns how many there are.
    int64_t unreceived(int32_t rank, const online_message **listed, int32_t room) const {
        int64_t count = 0;
        for (const uint64_t bucket : world_->rank[rank].buckets) {
            const online_channel *channel;
            for (uint64_t at = bucket; at != 0; at = channel->next) {
                channel = static_cast<const online_channel *>(online_at(world_, at));
                if (channel->of_receives || channel->tag < 0) continue;
                int32_t matched = matches_of(rank, channel->source, channel->tag);
                const online_message *message;
                for (uint64_t item = channel->first; item != 0; item = message->next) {
                    message = static_cast<const online_message *>(online_at(world_, item));
                    if (matched-- > 0 || message->is_accused) continue;
                    if (count < room) listed[count] = message;
                    ++count;
                }
            }
        }
        return count;
    }

    // How many messages of a source and a tag receives have got of which the rank does not know yet.
    int32_t matches_of(int32_t rank, int32_t source, int32_t tag) const {
        const online_rank &shared = world_->rank[rank];
        const auto *const reports = static_cast<const online_report *>(online_at(world_, shared.reports));
        return static_cast<int32_t>(
            std::count_if(reports, reports + shared.report_count,
                          [&](const online_report &report) { return report.source == source && report.tag == tag; }));
    }

    const online_finding *finding(uint64_t offset) const {
        return offset ? static_cast<const online_finding *>(online_at(world_, offset)) : nullptr;
    }

    const char *text(uint64_t offset) const {
        return offset ? static_cast<const char *>(online_at(world_, offset)) : nullptr;
    }

    // Mark where the operations of another call site begin.
    void mark_sites() { marks_.assign(static_cast<size_t>(world_->ranks), Operation{MARK, NONE, NONE, UNNAMED, -1.0}); }

    // The call site of a mark's number, as of `text`; 0 behind the last.
    uint64_t marked_site(size_t number) const { return number < marked_sites_.size() ? marked_sites_[number] : 0; }

    // Look, beside the simulation, whether ranks come as far without buffers.
    void look_without_buffers() { unbuffered_ = std::make_unique<Unbuffered>(world_->ranks); }

    const void *at(uint64_t offset) const { return online_at(world_, offset); }

    // What a rank hangs in without buffers, and the request's own step where that is a wait; NULL where it does not.
    const Unbuffered::Step *hanging_without_buffers(int32_t rank, const Unbuffered::Step **begun) const {
        if (!unbuffered_ || world_->is_in_order || world_->threads) return nullptr;
        const Unbuffered::Step *const step = unbuffered_->hanging(rank);
        *begun = step != nullptr && step->code == WAIT ? unbuffered_->begun(rank, step->request) : nullptr;
        return step;
    }

  private:
    struct Cursor {  // where the engine is in what a rank, or a strand of it, has to do
        explicit Cursor(int32_t number, uint64_t operations = 0, uint64_t site = 0)
            : rank(number), batch(operations), text(site) {}

        int32_t rank;
        uint32_t ring_count = 0;  // of the ring
        uint64_t batch;           // that it is in
        int32_t position = 0;     // of that
        bool in_collective = false;
        int32_t tag = 0;
        uint64_t call = 0;
        uint64_t text;                    // of the call site
        std::vector<Operation> expanded;  // of a collective that the rank has called before
    };
    struct Queued {  // a strand to begin
        int32_t rank;
        uint64_t batch;
    };

    static online_world *memory_of(int descriptor, uint64_t size, uint64_t offset) {
        void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor,
                            static_cast<off_t>(offset));
        if (memory == MAP_FAILED) throw std::runtime_error("cannot map the memory that ranks share");
        return static_cast<online_world *>(memory);
    }

    // Let all ranks run until something is to be decided; false, as the run stops here.
    bool begin_all(const Answers &answers) {
        for (int32_t rank = 0; rank < world_->first_ranks; ++rank)
            if (!run(answers, rank)) return false;
        bool may_be_copied = world_->births == 0 && !world_->threads;
        world_->beginning = ONLINE_LOOKS;
        for (int32_t rank = 0; may_be_copied && rank < world_->first_ranks; ++rank) {
            online_rank &shared = world_->rank[rank];
            if (shared.state != ONLINE_ALIVE) continue;
            online_wake(&shared.turn);
            if (!await(rank)) return false;
            may_be_copied = shared.copy == 0;
        }
        world_->beginning = ONLINE_COPIES;
        return calls.begun(calls.context, may_be_copied);
    }

    void copy(int32_t rank) {
        world_->rank[rank].copy = 0;
        online_wake(&world_->rank[rank].turn);
    }

    // Wait until the turn is ours again; false where a process has ended.
    bool await(int32_t rank) {
        bool waits;
        while (!online_wait(&world_->simulator_turn, WAIT))
            if (!calls.look(calls.context, rank, &waits)) return false;
        return true;
    }

    online_batch &batch_at(uint64_t offset) { return *static_cast<online_batch *>(online_at(world_, offset)); }

    // The operations of a collective that has been taken, or more of them; false where the caller raised.
    bool expand(int32_t number, Cursor &cursor, const Operation *&begin, int64_t &count) {
        if (cursor.call == 0) return ask(number, cursor, nullptr, begin, count);
        const auto *const shared_call = static_cast<const online_call *>(online_at(world_, cursor.call));
        const size_t size = sizeof *shared_call + sizeof(int64_t) * static_cast<size_t>(shared_call->sent_count) +
                            sizeof(int64_t) * static_cast<size_t>(shared_call->received_count);
        const std::string call(reinterpret_cast<const char *>(shared_call), size);  // its bytes, by which it is found
        online_free(world_, cursor.call);
        cursor.call = 0;
        auto &expansions = expansions_[static_cast<size_t>(cursor.rank)];
        const auto entry = expansions.find(call);
        if (entry != expansions.end()) {
            cursor.expanded = entry->second;
            int32_t &name = names_[static_cast<size_t>(cursor.rank)];
            int32_t shift = 0;
            if (name > LAST_NAME) name = 2 * EXPANDED_NAMES;
            for (Operation &operation : cursor.expanded) {
                if (operation.tag <= COLLECTIVE_TAG) operation.tag = cursor.tag;
                if (operation.request < EXPANDED_NAMES) continue;
                if (shift == 0) shift = name - operation.request;  // of the first, which is the lowest
                operation.request += shift;
                name = std::max(name, operation.request + 1);
            }
            begin = cursor.expanded.data();
            count = static_cast<int64_t>(cursor.expanded.size());
            cursor.in_collective = false;
            return true;
        }
        if (!ask(number, cursor, reinterpret_cast<const online_call *>(call.data()), begin, count)) return false;
        // Not the definition of a communicator: its number is never that of another one.
        if (count > 0 && !cursor.in_collective) {
            remembered_ += call.size() + static_cast<size_t>(count) * sizeof(Operation);
            if (remembered_ > MOST_REMEMBERED) forget();
            expansions.emplace(call, std::vector<Operation>(begin, begin + count));
        }
        return true;
    }

    bool ask(int32_t number, Cursor &cursor, const online_call *call, const Operation *&begin, int64_t &count) {
        return calls.expand(calls.context, number, cursor.rank, cursor.tag, call, &begin, &count,
                            &cursor.in_collective);
    }

    void forget() {
        for (auto &expansions : expansions_) expansions.clear();
        remembered_ = 0;
    }

    static void enter_collective(Cursor &cursor, const online_operation &operation) {
        cursor.in_collective = true;
        cursor.tag = operation.tag;
        cursor.call = operation.offset;
    }

    // The next operations of a strand, none at its end.
    bool more_of_strand(int32_t number, Cursor &cursor, const Operation *&begin, int64_t &count) {
        while (count == 0 && cursor.batch != 0) {
            if (cursor.in_collective) {
                if (!expand(number, cursor, begin, count)) return false;
            } else if (!more_of_batch(cursor, begin, count)) {
                batch_at(cursor.batch).stage = ONLINE_OVER;
                cursor.batch = 0;
            }
        }
        return true;
    }

    // False at the end of a batch.
    bool more_of_batch(Cursor &cursor, const Operation *&begin, int64_t &count) {
        const online_batch &batch = batch_at(cursor.batch);
        if (cursor.position == batch.count) return false;
        const auto *const first =
            static_cast<online_operation *>(online_at(world_, batch.operations)) + cursor.position++;
        if (first->code == ONLINE_COLLECTIVE) {
            enter_collective(cursor, *first);
            return true;
        }
        while (cursor.position < batch.count && first[count + 1].code != ONLINE_COLLECTIVE) ++count, ++cursor.position;
        ++count;
        begin = reinterpret_cast<const Operation *>(first);
        return true;
    }

    // Carry a batch out here, or wait for what has been begun of it.
    void enter_batch(online_rank &shared, Cursor &cursor, const Operation *&begin, int64_t &count) {
        online_batch &batch = batch_at(cursor.batch);
        cursor.position = 0;
        if (batch.stage == ONLINE_PENDING) {
            (batch.before ? batch_at(batch.before).next : shared.first_batch) = batch.next;
            (batch.next ? batch_at(batch.next).before : shared.last_batch) = batch.before;
        } else if (batch.stage == ONLINE_QUEUED) {
            queue_.erase(std::find_if(queue_.begin(), queue_.end(),
                                      [&](const Queued &queued) { return queued.batch == cursor.batch; }));
            strands = static_cast<int32_t>(queue_.size());
        } else {
            cursor.position = batch.count;
            begin = reinterpret_cast<const Operation *>(&batch.wait);
            count = 1;
        }
    }

    void drop_batch(Cursor &cursor) {
        online_free(world_, batch_at(cursor.batch).operations);
        online_free(world_, cursor.batch);
        cursor.batch = 0;
    }

    void queue_batches(int32_t rank) {
        online_rank &shared = world_->rank[rank];
        for (uint64_t offset = shared.first_batch; offset != 0; offset = batch_at(offset).next) {
            batch_at(offset).stage = ONLINE_QUEUED;
            queue_.push_back({rank, offset});
        }
        shared.first_batch = shared.last_batch = 0;
        strands = static_cast<int32_t>(queue_.size());
    }

    void more_of_ring(online_rank &shared, Cursor &cursor, const Operation *&begin, int64_t &count) {
        const online_operation &next = shared.ring[shared.tail % ONLINE_RING];
        if (next.code < ONLINE_COLLECTIVE) return give(shared, cursor, begin, count);
        cursor.text = shared.call_sites[shared.tail++ % ONLINE_RING];
        if (unbuffered_) show_without_buffers(cursor, next);
        if (next.code == ONLINE_CHOSEN || next.code == ONLINE_HELD) return;
        if (next.code == ONLINE_BESIDE) {
            queue_batches(cursor.rank);
        } else if (next.code == ONLINE_BATCH) {
            cursor.batch = next.offset;
            enter_batch(shared, cursor, begin, count);
        } else {
            enter_collective(cursor, next);
        }
    }

    void show_without_buffers(const Cursor &cursor, const online_operation &next) {
        if (next.code == ONLINE_COLLECTIVE) {
            join_without_buffers(cursor, next, 0);
        } else if (next.code == ONLINE_HELD) {
            const online_batch &batch = batch_at(next.offset);
            const auto *const first = static_cast<const online_operation *>(online_at(world_, batch.operations));
            for (int32_t i = 0; i < batch.count; ++i)
                if (first[i].code == ONLINE_COLLECTIVE) join_without_buffers(cursor, first[i], next.offset);
        } else {
            unbuffered_->add(cursor.rank,
                             {next.code, next.peer, next.tag, next.request, 0.0, next.offset, cursor.text});
        }
    }

    void join_without_buffers(const Cursor &cursor, const online_operation &operation, uint64_t batch) {
        const auto *const call = static_cast<const online_call *>(online_at(world_, operation.offset));
        if (call->operation == ONLINE_DEFINITION) return;
        unbuffered_->join(cursor.rank, operation.tag, call->participants, batch, cursor.text);
    }

    // Begin the call site of a rank's next operation; false where it is that of the last one.
    bool mark_site(int32_t rank, const online_rank &shared, const Cursor &cursor, const Operation *&begin,
                   int64_t &count) {
        const uint64_t site = shared.call_sites[shared.tail % ONLINE_RING];
        if (site == 0 || (cursor.text == site && marks_[static_cast<size_t>(rank)].value >= 0.0)) return false;
        cursors_[rank].text = site;
        auto entry = site_numbers_.find(site);
        if (entry == site_numbers_.end()) {  // each rank has texts of its own
            const auto next = static_cast<int32_t>(marked_sites_.size());
            const int32_t number = numbers_of_words_.try_emplace(text(site), next).first->second;
            if (number == next) marked_sites_.push_back(site);
            entry = site_numbers_.emplace(site, number).first;
        }
        marks_[static_cast<size_t>(rank)].value = entry->second;
        begin = &marks_[static_cast<size_t>(rank)];
        count = 1;
        return true;
    }

    // Operations up to the next of another kind, or of another site where these are marked, or the end of the ring's
    // memory.
    void give(online_rank &shared, Cursor &cursor, const Operation *&begin, int64_t &count) {
        static_assert(sizeof(online_operation) == sizeof(Operation));
        const online_operation *const first = &shared.ring[shared.tail % ONLINE_RING];
        const online_operation *const last = shared.ring + ONLINE_RING;
        uint32_t number = 0;
        while (shared.tail + number != shared.head && first + number != last &&
               first[number].code < ONLINE_COLLECTIVE && (marks_.empty() || is_of_site(shared, number, cursor.text)))
            ++number;
        for (uint32_t i = 0; unbuffered_ && i < number; ++i) {
            const online_operation &operation = first[i];
            unbuffered_->add(cursor.rank, {operation.code, operation.peer, operation.tag, operation.request,
                                           operation.value, 0, shared.call_sites[(shared.tail + i) % ONLINE_RING]});
        }
        cursor.ring_count = number;
        begin = reinterpret_cast<const Operation *>(first);
        count = number;
    }

    static bool is_of_site(const online_rank &shared, uint32_t behind, uint64_t site) {
        const uint64_t other = shared.call_sites[(shared.tail + behind) % ONLINE_RING];
        return other == 0 || other == site;
    }

    static bool is_outside(online_rank &shared) {
        const int32_t location = __atomic_load_n(&shared.location, __ATOMIC_ACQUIRE);
        return location == ONLINE_TAKEN || location == ONLINE_RETURNING;
    }

    // A rank that waits outside MPI, without the turn: time passes for it as for us, until it is back.
    bool wait_outside(const Answers &answers, int32_t rank, Cursor &cursor, const Operation *&begin, int64_t &count) {
        online_rank &shared = world_->rank[rank];
        if (__atomic_load_n(&shared.location, __ATOMIC_ACQUIRE) == ONLINE_RETURNING) {
            __atomic_store_n(&shared.location, ONLINE_INSIDE, __ATOMIC_RELEASE);
            return run(answers, rank);
        }
        const timespec pause = {0, WAIT_OUTSIDE};
        nanosleep(&pause, nullptr);
        bool waits;
        if (!calls.look(calls.context, rank, &waits)) return false;
        cursor.ring_count = 0;
        begin = &pauses_[static_cast<size_t>(rank)];
        count = 1;
        return true;
    }

    // Take the turn of a rank that waits outside MPI; false where it has come back.
    bool take_turn(int32_t rank) {
        int32_t location = ONLINE_OUTSIDE;
        return __atomic_compare_exchange_n(&world_->rank[rank].location, &location, ONLINE_TAKEN, false,
                                           __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    }

    // The next rank whose data have come gets the turn; false where there is none.
    bool pass_turn() {
        const int32_t next = world_->first_ready;
        if (next == 0) return false;
        online_rank &rank = world_->rank[next - 1];
        world_->first_ready = rank.next_ready;
        world_->running = next - 1;
        rank.is_ahead = 1;
        online_wake(&rank.turn);
        return true;
    }

    // Let a rank run, and those that get what they wait for, until all wait; false where the run has to stop.
    bool run(const Answers &answers, int32_t rank) {
        online_rank &shared = world_->rank[rank];
        world_->now = answers.now();
        world_->changes = answers.changes();
        world_->buffered_limit = answers.buffered_limit();
        world_->running = rank;
        shared.is_ahead = 0;
        if (shared.state == ONLINE_UNBORN) {
            if (!calls.start(calls.context, rank)) return false;
        } else {
            answer(answers, rank);
            online_wake(&shared.turn);
        }
        while (!online_wait(&world_->simulator_turn, WAIT)) {
            bool waits = false;
            if (!calls.look(calls.context, world_->running, &waits)) return false;
            if (waits && take_turn(world_->running) && !pass_turn()) return true;
        }
        births = world_->births;
        bool waits;
        return world_->rank[world_->running].state != ONLINE_ABORTED ||
               calls.look(calls.context, world_->running, &waits);
    }

    void answer(const Answers &answers, int32_t rank) {
        online_rank &shared = world_->rank[rank];
        if (shared.question == ONLINE_DONE) {
            int32_t *const names = static_cast<int32_t *>(online_at(world_, shared.names));
            for (int32_t i = 0; i < shared.count; ++i) names[i] = answers.is_done(rank, names[i]);
        } else if (shared.question == ONLINE_MESSAGE) {
            shared.answer = answers.find_message(rank, shared.source, shared.tag);
        }
        shared.question = ONLINE_NOTHING;
    }

    static constexpr long WAIT_OUTSIDE = 1000000;                            // ns
    static constexpr long WAIT = 20000000;                                   // ns between two looks after the ranks
    static constexpr int32_t EXPANDED_NAMES = 1 << 25, LAST_NAME = 1 << 30;  // of requests in collectives
    static constexpr size_t MOST_REMEMBERED = size_t{1} << 26;               // bytes
    static constexpr uint64_t MOST_CLEARED = 1 << 20;                        // bytes
    online_world *world_ = nullptr;
    online_world *memory_of_copies_ = nullptr;                                         // where this is a beginning
    bool is_borrowed_ = false;                                                         // world_ is another one's
    std::vector<Cursor> cursors_;                                                      // of ranks and strands
    std::vector<Operation> pauses_;                                                    // of ranks outside MPI
    std::deque<Queued> queue_;                                                         // strands that are to begin
    std::vector<std::unordered_map<std::string, std::vector<Operation>>> expansions_;  // of a rank's small collectives
    std::vector<int32_t> names_;   // of each rank, the next for requests of a collective that it has called before
    size_t remembered_ = 0;        // bytes of these
    std::vector<bool> has_begun_;  // of ranks that others spawn
    std::unique_ptr<Unbuffered> unbuffered_;
    std::vector<Operation> marks_;  // of each rank, the last mark of a call site, where these are marked
    std::unordered_map<uint64_t, int32_t> site_numbers_;
    std::unordered_map<std::string, int32_t> numbers_of_words_;
    std::vector<uint64_t> marked_sites_;
};

}  // namespace commmodel
