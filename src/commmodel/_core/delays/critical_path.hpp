// When each process has finished a schedule of messages; the rules stand in critical_path.pyx.
//
// Unlike a program's, a schedule's messages are all known beforehand, with their costs and rounds, so nothing has to be
// matched: four times as fast as carrying out the same operations one by one (stream.hpp), under the same law of a message.
//
// A message is put into a heap of its receiver, and passes the port when its receiver acts next: until then only its
// order matters.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/quaternary_heap.hpp"
#include "delays/message_rule.hpp"
#include "delays/node_port.hpp"
#include "program/program.hpp"
#include "program/rank_queue.hpp"

namespace commmodel::delays {

// Columns: of messages, in the order of rounds, and of works.
struct RoundMessages {
    int32_t processes, messages, works;
    const int64_t *round, *sender, *receiver;
    const double *send_overhead, *receive_overhead, *gap, *transit;
    const int64_t *work_round, *worker;
    const double *work;
    // Of processes and messages; null where nodes have no ports.
    const int64_t *node;
    const double *node_gap, *byte_seconds;
    int32_t nodes;
};

class CriticalPath {
  public:
    // workspace: `workspace_size` bytes, which the caller keeps.
    CriticalPath(const RoundMessages &schedule, char *workspace)
        : in_(schedule), processes_(static_cast<size_t>(schedule.processes)), queue_(schedule.processes, fastest()),
          nodes_(static_cast<size_t>(schedule.node_gap ? schedule.nodes : 0)),
          crossings_(static_cast<size_t>(schedule.node_gap ? schedule.messages : 0)),
          orders_(static_cast<uint32_t>(schedule.messages)) {
        const size_t messages = static_cast<size_t>(schedule.messages), works = static_cast<size_t>(schedule.works);
        flying_ = carve<Flying>(workspace, messages);
        arrived_ = carve<double>(workspace, messages);
        for (int32_t **const column : {&sends_, &receives_, &group_, &passed_, &arrived_message_}) {
            *column = carve<int32_t>(workspace, messages);
        }
        works_ = carve<int32_t>(workspace, works);
        std::fill_n(passed_, messages, 0);
        sort(schedule.sender, schedule.messages, &Process::send, &Process::send_end, sends_);
        sort(schedule.receiver, schedule.messages, &Process::receive, &Process::receive_end, receives_);
        sort(schedule.worker, schedule.works, &Process::work, &Process::work_end, works_);
        for (Process &process : processes_) {
            process.send_stop = process.send;
            process.receive_start = process.receive_stop = process.flying_start = process.receive;
            int32_t start = process.receive;
            for (int32_t place = start; place < process.receive_end; ++place) {
                if (in_.round[receives_[place]] != in_.round[receives_[start]]) start = place;
                group_[receives_[place]] = start;
            }
        }
    }

    static size_t workspace_size(const RoundMessages &schedule) {
        const size_t of_message = sizeof(Flying) + sizeof(double) + 5 * sizeof(int32_t);
        return of_message * static_cast<size_t>(schedule.messages) +
               sizeof(int32_t) * static_cast<size_t>(schedule.works);
    }

    void run() {
        for (Process &process : processes_) enter_rounds(process);
        for (int32_t rank = 0; rank < in_.processes; ++rank) queue_.set(rank, next_time(processes_[rank]));
        while (queue_.least() < INFINITE) {
            const double horizon = queue_.horizon();
            while (queue_.least() <= horizon) act(queue_.next(horizon));
        }
    }

    double finish(int32_t rank) const { return processes_[rank].processor; }
    int64_t round(int32_t rank) const { return processes_[rank].round; }

    // The first process that has not finished, or NONE.
    int32_t waiting() const {
        for (int32_t rank = 0; rank < in_.processes; ++rank) {
            const Process &process = processes_[rank];
            if (process.send < process.send_end || process.receive < process.receive_end) return rank;
        }
        return NONE;
    }

  private:
    struct Process : Endpoint<double> {
        int64_t round = NONE;
        int32_t send = 0, send_stop = 0, send_end = 0;  // next one, end of this round's, end of all
        int32_t receive = 0, receive_start = 0, receive_stop = 0, receive_end = 0;
        int32_t work = 0, work_end = 0;
        int32_t flying_start = 0, flying = 0;  // its heap of messages that have not passed the port
        int32_t leaving = NONE;                // its last message between nodes, where that may still leave its node
    };
    struct Flying {
        double arrival;  // or sooner, where it passes the ports of nodes
        uint32_t order;
        int32_t message;
        bool sooner(const Flying &other) const {
            return arrival < other.arrival || (arrival == other.arrival && order < other.order);
        }
    };

    struct NodePorts {
        NodePort out, in;
    };
    // A message between nodes.
    struct Crossing {
        double out, in;     // virtual times at which it is through both ports
        double left, came;  // when it was; INFINITE before
        double begin;
    };

    // Least time of a message from the begin of its send to its arrival; none where processes share ports.
    double fastest() const {
        double least = in_.node_gap ? 0.0 : INFINITE;
        for (int32_t message = 0; message < in_.messages; ++message) {
            least = std::min(least, in_.send_overhead[message] + in_.transit[message]);
        }
        return least;
    }

    template <class Item> static Item *carve(char *&workspace, size_t count) {
        Item *const items = reinterpret_cast<Item *>(workspace);
        workspace += count * sizeof(Item);
        return items;
    }

    // Sort indices by rank, in order; set where those of each process begin and end.
    void sort(const int64_t *ranks, int32_t count, int32_t Process::*begin, int32_t Process::*end, int32_t *sorted) {
        for (int32_t index = 0; index < count; ++index) ++(processes_[ranks[index]].*end);
        int32_t place = 0;
        for (Process &process : processes_) {
            process.*begin = place;
            place += process.*end;
            process.*end = process.*begin;
        }
        for (int32_t index = 0; index < count; ++index) sorted[(processes_[ranks[index]].*end)++] = index;
    }

    void add_flying(Process &process, const Flying &added) {
        rise(flying_ + process.flying_start, static_cast<size_t>(process.flying++), added);
    }

    void drop_first_flying(Process &process) {
        Flying *const heap = flying_ + process.flying_start;
        const int32_t left = --process.flying;
        sink(heap, static_cast<size_t>(left), heap[left]);
    }

    bool has_arrival(const Process &process) const {
        return process.receive - process.receive_start < passed_[process.receive_start];
    }

    // When a process can do something next, by what is known; infinite where it waits or has finished.
    double next_time(const Process &process) const {
        double time = INFINITE;
        if (process.send < process.send_stop) time = sender_free(process);
        if (process.receive == process.receive_stop) return time;
        if (has_arrival(process)) return std::min(time, std::max(process.processor, arrived_[process.receive]));
        if (process.flying == 0) return time;
        const Flying &first = flying_[process.flying_start];
        double receive = first.arrival;
        if (in_.round[first.message] == process.round && !crosses(first.message)) {
            receive = port_passage(process, receive, in_.gap[first.message]);
        }
        // Else it only has to pass the port, so that the next one can be seen.
        return std::min(time, std::max(process.processor, receive));
    }

    // Let everything through the receive port that has come by now.
    void pass_port(Process &process, double now) {
        const Flying *const first = flying_ + process.flying_start;
        while (process.flying && first->arrival <= now) {
            const int32_t message = first->message;
            if (const double arrival = arrival_of(message, now); arrival > first->arrival) {
                const Flying later{arrival, first->order, message};
                drop_first_flying(process);
                add_flying(process, later);
                continue;
            }
            const int32_t group = group_[message], place = group + passed_[group]++;
            process.last_arrival = port_passage(process, first->arrival, receive_gap(message, first->arrival));
            arrived_[place] = process.last_arrival;
            arrived_message_[place] = message;
            drop_first_flying(process);
        }
    }

    bool crosses(int32_t message) const { return in_.node_gap && in_.node_gap[message] > 0.0; }

    // The gap at the receive port. What a message came later by, as it shared the ports of nodes, is no time of this one:
    // its bytes came meanwhile.
    double receive_gap(int32_t message, double arrival) const {
        if (!crosses(message)) return in_.gap[message];
        const double alone = crossings_[message].begin + in_.send_overhead[message] + in_.transit[message];
        return std::max(in_.gap[message] - (arrival - alone), 0.0);
    }

    // When a message is through the port of its sender's node, or of its receiver's, as far as is known now.
    double left(int32_t message, double now) {
        const Crossing &crossing = crossings_[message];
        if (crossing.left < INFINITE) return crossing.left;
        NodePort &port = nodes_[in_.node[in_.sender[message]]].out;
        port.advance(now, [this](int32_t other, double time) { crossings_[other].left = time; });
        return crossing.left < INFINITE ? crossing.left : port.through(crossing.out);
    }
    double came(int32_t message, double now) {
        const Crossing &crossing = crossings_[message];
        if (crossing.came < INFINITE) return crossing.came;
        NodePort &port = nodes_[in_.node[in_.receiver[message]]].in;
        port.advance(now, [this](int32_t other, double time) { crossings_[other].came = time; });
        return crossing.came < INFINITE ? crossing.came : port.through(crossing.in);
    }

    // When a message arrives, as far as is known now: no sooner.
    double arrival_of(int32_t message, double now) {
        if (!crosses(message)) return -INFINITE;
        const double until = std::max(left(message, now), came(message, now));
        const double base = in_.send_overhead[message] + in_.transit[message];
        return std::max(crossings_[message].begin + base, until + std::max(base - in_.byte_seconds[message], 0.0));
    }

    // Let a message begin to pass the ports of its nodes; return when it arrives if no other one follows.
    double through_nodes(Process &sender, int32_t message, double begin, double arrival) {
        const double gap = in_.node_gap[message];
        if (gap == 0.0) return arrival;
        Crossing &crossing = crossings_[message];
        crossing.begin = begin;
        crossing.left = crossing.came = INFINITE;
        crossing.out = nodes_[in_.node[in_.sender[message]]].out.begin(
            message, gap, begin, [this](int32_t other, double time) { crossings_[other].left = time; });
        crossing.in = nodes_[in_.node[in_.receiver[message]]].in.begin(
            message, gap, begin, [this](int32_t other, double time) { crossings_[other].came = time; });
        sender.leaving = message;
        sender.send_port = std::max(sender.send_port, left(message, begin));
        return arrival_of(message, begin);
    }

    // Whether the last message of a process has left its node; else its send port is busy until then.
    bool has_left(Process &process, double now) {
        if (process.leaving == NONE) return true;
        const double until = left(process.leaving, now);
        if (until > now) {
            process.send_port = std::max(process.send_port, until);
            return false;
        }
        process.leaving = NONE;
        return true;
    }

    // Begin the next send; its receiver may now have something to wait for.
    void begin_send(Process &process) {
        const int32_t message = sends_[process.send++], rank = static_cast<int32_t>(in_.receiver[message]);
        Process &receiver = processes_[rank];
        const double begin = sender_free(process);
        double arrival = send(process, begin, in_.send_overhead[message], in_.gap[message], in_.transit[message]);
        if (in_.node_gap) arrival = through_nodes(process, message, begin, arrival);
        // After all that arrive at this time and have been on their way.
        const uint32_t order = arrival == begin ? orders_++ : static_cast<uint32_t>(message);
        add_flying(receiver, {arrival, order, message});
        if (&receiver != &process && flying_[receiver.flying_start].message == message) {
            queue_.set(rank, next_time(receiver));
        }
    }

    // Do the work at the end of a round that is complete, and go on to the next, until there is one to wait in.
    void enter_rounds(Process &process) {
        while (process.send == process.send_stop && process.receive == process.receive_stop) {
            while (process.work < process.work_end && in_.work_round[works_[process.work]] == process.round) {
                process.processor += in_.work[works_[process.work++]];
            }
            int64_t round = INT64_MAX;
            if (process.send < process.send_end) round = in_.round[sends_[process.send]];
            if (process.receive < process.receive_end) round = std::min(round, in_.round[receives_[process.receive]]);
            if (process.work < process.work_end) round = std::min(round, in_.work_round[works_[process.work]]);
            if (round == INT64_MAX) return;
            process.round = round;
            while (process.send_stop < process.send_end && in_.round[sends_[process.send_stop]] == round) {
                ++process.send_stop;
            }
            process.receive_start = process.receive;
            while (process.receive_stop < process.receive_end && in_.round[receives_[process.receive_stop]] == round) {
                ++process.receive_stop;
            }
        }
    }

    // Let a process do what it can do now.
    void act(int32_t rank) {
        Process &process = processes_[rank];
        const double now = queue_.time(rank);
        pass_port(process, now);
        if (process.send < process.send_stop && sender_free(process) <= now && has_left(process, now)) {
            begin_send(process);
        } else if (process.receive < process.receive_stop && has_arrival(process) &&
                   std::max(process.processor, arrived_[process.receive]) <= now) {
            spend_overhead(process, now, in_.receive_overhead[arrived_message_[process.receive++]]);
        }
        enter_rounds(process);
        queue_.set(rank, next_time(process));
    }

    const RoundMessages in_;
    std::vector<Process> processes_;
    RankQueue queue_;
    std::vector<NodePorts> nodes_;
    std::vector<Crossing> crossings_;      // of messages, where nodes have ports
    int32_t *sends_, *receives_, *works_;  // by sender, receiver, worker, in order
    int32_t *group_;                       // message -> where in `receives_` its receiver's messages of its round start
    int32_t *passed_;                      // start of a group -> how many of it have passed the port
    double *arrived_;           // place in a group -> when the message that passed the port at that place did so
    int32_t *arrived_message_;  // and which message
    Flying *flying_;            // heaps of processes
    uint32_t orders_;           // of messages that take no time at all
};

}  // namespace commmodel::delays
