"""The rules of `commmodel._core.delays.critical_path` in plain Python, one event at a time: slow, and easy to believe.

At each step everything that could happen next is listed, and the first of it happens.
"""

from dataclasses import dataclass, field


@dataclass
class Process:
    sends: dict[int, list[int]] = field(default_factory=dict)  # round -> messages
    receives: dict[int, int] = field(default_factory=dict)  # round -> how many
    works: dict[int, list[float]] = field(default_factory=dict)
    rounds: list[int] = field(default_factory=list)  # those left; the first is the one it is in
    free: float = 0.0
    send_port: float = 0.0
    leaves_node: int | None = None  # a message that passes the port of its node
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
        if self.sends.get(now) and self.leaves_node is None:
            possible.append((max(self.free, self.send_port), "0 send"))
        if self.memory.get(now):
            possible.append((max(self.free, self.memory[now][0][0]), "1 receive"))
        return min(possible, default=None)


@dataclass
class Port:
    """Messages that pass a port of a node have equal shares of it."""

    left: dict[int, float] = field(default_factory=dict)  # message -> seconds that it still needs alone
    time: float = 0.0

    def go_on(self, time):
        if self.left:
            share = (time - self.time) / len(self.left)
            self.left = {message: seconds - share for message, seconds in self.left.items()}
        self.time = time

    def next_through(self):
        message = min(self.left, key=self.left.get, default=None)
        return None if message is None else (self.time + self.left[message] * len(self.left), message)


def finish_times(processes, messages, works=(), node=(), node_gap=(), byte_seconds=()):
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
    ports = {(way, place): Port() for way in ("out", "in") for place in node}
    shared = {}  # of messages between nodes: by how much they came later as they shared ports
    begins, passed = {}, {}  # of messages between nodes: when they begin, when they are through the first of two ports
    flying = []  # (arrival, message)
    while True:
        events = [(arrival, "0 arrival", message) for arrival, message in flying]
        for rank, process in enumerate(everybody):
            if action := process.next_action():
                events.append((action[0], "1 action", rank))
        for name, port in ports.items():
            if (through := port.next_through()) is not None:
                events.append((through[0], "0 port", (name, through[1])))
        if not events:
            break
        time, event, item = min(events)
        if event == "0 port":
            name, index = item
            ports[name].go_on(time)
            del ports[name].left[index]
            _, sender, _, send_overhead, _, _, transit = messages[index]
            if name[0] == "out":
                everybody[sender].leaves_node = None
                everybody[sender].send_port = max(everybody[sender].send_port, time)
            if index in passed:
                base = send_overhead + transit
                arrival = max(begins[index] + base, time + max(base - byte_seconds[index], 0.0))
                shared[index] = arrival - (begins[index] + base)
                flying.append((arrival, index))
            passed[index] = time
            continue
        if event == "0 arrival":
            flying.remove((time, item))
            number, _, rank, _, _, gap, _ = messages[item]
            receiver = everybody[rank]
            if receiver.last_arrival is not None:
                time = max(time, receiver.last_arrival + max(gap - shared.get(item, 0.0), 0.0))
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
                begins[index], process.leaves_node = time, index
                for port in (ports["out", node[sender]], ports["in", node[receiver]]):
                    port.go_on(time)
                    port.left[index] = node_gap[index]
            else:
                flying.append((arrival, index))
        else:
            _, index = process.memory[now].pop(0)
            process.free = time + messages[index][4]
            process.receives[now] -= 1
        process.leave_finished_rounds()
    assert not any(process.rounds for process in everybody)
    return [process.free for process in everybody]
