"""The rules of `commmodel._core.delays.critical_path` in plain Python, one event at a time: slow, and easy to believe.

At each step everything that could happen next is listed, and the first of it happens.
"""

import math
from dataclasses import dataclass, field


@dataclass
class Process:
    sends: dict[int, list[int]] = field(default_factory=dict)  # round -> messages
    receives: dict[int, int] = field(default_factory=dict)  # round -> how many
    works: dict[int, list[float]] = field(default_factory=dict)
    rounds: list[int] = field(default_factory=list)  # those left; the first is the one it is in
    free: float = 0.0
    send_port: float = 0.0
    last_arrival: float | None = None
    memory: dict[int, list[tuple[float, int]]] = field(default_factory=dict)  # round -> (arrival, message), in order

    def leave_finished_rounds(self):
        while self.rounds:
            now = self.rounds[0]
            if self.sends.get(now) or self.receives.get(now):
                return
            for seconds in self.works.get(now, []):
                self.free += seconds
            del self.rounds[0]

    def next_action(self):
        """Return (time, what), or None."""
        if not self.rounds:
            return None
        now = self.rounds[0]
        possible = []
        if self.sends.get(now):
            possible.append((max(self.free, self.send_port), "0 send"))
        if self.memory.get(now):
            possible.append((max(self.free, self.memory[now][0][0]), "1 receive"))
        return min(possible, default=None)


def finish_times(processes, messages, works=(), node=(), node_gap=()):
    """Return when each process has finished.

    messages: (round, sender, receiver, send_overhead, receive_overhead, gap, transit); works: (round, worker, work)
    """
    everybody = [Process() for _ in range(processes)]
    for index, (number, sender, receiver, *_) in enumerate(messages):
        everybody[sender].sends.setdefault(number, []).append(index)
        counts = everybody[receiver].receives
        counts[number] = counts.get(number, 0) + 1
    for number, worker, seconds in works:
        everybody[worker].works.setdefault(number, []).append(seconds)
    for process in everybody:
        process.rounds = sorted({*process.sends, *process.receives, *process.works})
        process.leave_finished_rounds()
    leaves, comes = {}, {}  # node -> when the next message may leave, when the last one came
    flying = []  # (arrival, message)
    while True:
        events = [(arrival, "0 arrival", message) for arrival, message in flying]
        for rank, process in enumerate(everybody):
            if action := process.next_action():
                events.append((action[0], "1 action", rank))
        if not events:
            break
        time, event, item = min(events)
        if event == "0 arrival":
            flying.remove((time, item))
            number, _, rank, _, _, gap, _ = messages[item]
            receiver = everybody[rank]
            if receiver.last_arrival is not None:
                time = max(time, receiver.last_arrival + gap)
            receiver.last_arrival = time
            receiver.memory.setdefault(number, []).append((time, item))
            continue
        process = everybody[item]
        now = process.rounds[0]
        if process.next_action()[1] == "0 send":
            index = process.sends[now].pop(0)
            _, sender, receiver, send_overhead, _, gap, transit = messages[index]
            process.send_port = time + gap
            process.free = time + send_overhead
            arrival = process.free + transit
            if node and node_gap[index]:
                out, home = node[sender], node[receiver]
                wait = max(0.0, leaves.get(out, 0.0) - time)
                leaves[out] = time + wait + node_gap[index]
                process.send_port += wait
                arrival = max(arrival + wait, comes.get(home, -math.inf) + node_gap[index])
                comes[home] = arrival
            flying.append((arrival, index))
        else:
            _, index = process.memory[now].pop(0)
            process.free = time + messages[index][4]
            process.receives[now] -= 1
        process.leave_finished_rounds()
    assert not any(process.rounds for process in everybody)
    return [process.free for process in everybody]
