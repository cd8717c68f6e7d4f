"""A plain writer of recordings: any program's logs, as the preloaded library would write them."""

import json
import struct

from commmodel.record.calls import CALLS, FINGERPRINTS
from commmodel.record.files import HEADER, MAGIC

CODES = {call.name: call for call in CALLS}
SIGNED = {"peer", "tag", "root", "source", "received_tag", "target", "level", "receive_peer", "receive_tag"}
LISTS = {"requests", "sent_counts", "received_counts"}
NOTHING = {"peer": -2, "root": -2, "source": -2, "target": -2, "receive_peer": -2}
WORLD, SELF = 1, 2


def unsigned(value):
    parts = bytearray()
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def signed(value):
    return unsigned(2 * value if value >= 0 else -2 * value - 1)


def text(words):
    raw = words.encode()
    return unsigned(len(raw)) + raw


def runs(groups):
    return unsigned(len(groups)) + b"".join(unsigned(a) + signed(b) + unsigned(c) for a, b, c in groups)


def field(name, value):
    if name in LISTS:
        return unsigned(len(value)) + b"".join(map(unsigned, value))
    if name == "completed":
        parts = (unsigned(r) + signed(s) + signed(t) + unsigned(b) for r, s, t, b in value)
        return unsigned(len(value)) + b"".join(parts)
    return signed(value) if name in SIGNED else unsigned(value)


def header(rank, processes, rate=1e9, table=FINGERPRINTS[-1], unix=0, version=1):
    return HEADER.pack(MAGIC, version, 64, rank, processes, rate, 0, unix, 1, 3, table)


class Log:
    """The log of a rank; times are in ticks, by default 1e9 a second."""

    def __init__(self, rank, processes, rate=1e9, clock=True, unix=0):
        self.rank, self.processes, self.rate = rank, processes, rate
        self.parts = [header(rank, processes, rate, unix=unix)]
        self.last, self.sites, self.thread = 0, {}, 0
        self.communicator(WORLD, [(0, 1, processes)], name="MPI_COMM_WORLD")
        self.communicator(SELF, [(rank, 0, 1)], name="MPI_COMM_SELF")
        if clock:
            self.clock(0, 0.0)

    def communicator(self, number, local, remote=(), kind=0, name="", parent=WORLD):
        self.parts.append(
            b"\x02" + unsigned(number) + unsigned(parent) + unsigned(kind) + text(name) + runs(local) + runs(remote)
        )

    def neighbours(self, number, sources, destinations):
        lists = (unsigned(len(ranks)) + b"".join(map(signed, ranks)) for ranks in (sources, destinations))
        self.parts.append(b"\x08" + unsigned(number) + b"".join(lists))

    def data(self, element, flags=0):
        self.parts.append(b"\x09" + unsigned(element) + unsigned(flags))

    def layout(self, number, shape, size=0, pieces=0, distance=0):
        self.parts.append(b"\x0a" + b"".join(map(unsigned, (number, shape, size, pieces, distance))))

    def contents(self, number):
        """The calls that follow have a layout."""
        self.parts.append(b"\x0b" + unsigned(number))

    def window(self, number, communicator=WORLD, size=0):
        self.parts.append(b"\x04" + unsigned(number) + unsigned(communicator) + unsigned(size) + unsigned(1))

    def clock(self, ticks, seconds, uncertainty=1e-6):
        self.parts.append(b"\x03" + unsigned(ticks) + struct.pack("<dd", seconds, uncertainty))

    def note(self, key, value):
        self.parts.append(b"\x06" + text(key) + text(value))

    def site(self, file, line, function="main", language=1):
        key = (file, line, function, language)
        if key not in self.sites:
            number = self.sites[key] = len(self.sites) + 1
            self.parts.append(
                b"\x01" + unsigned(number) + text(file) + unsigned(line) + text(function) + unsigned(language)
            )
        return self.sites[key]

    def call(self, name, begin, end, line=1, thread=0, file="/home/ada/solver.py", **values):
        if thread != self.thread:
            self.thread = thread
            self.parts.append(b"\x05" + unsigned(thread))
        call = CODES[f"MPI_{name}"]
        assert not set(values) - set(call.fields), (name, values)
        site = self.site(file, line) if line else 0
        defaults = {"communicator": WORLD} | NOTHING
        fields = b"".join(
            field(name, values.get(name, () if name in LISTS | {"completed"} else defaults.get(name, 0)))
            for name in call.fields
        )
        self.parts.append(
            b"\x10" + unsigned(call.code) + signed(begin - self.last) + unsigned(end - begin) + unsigned(site) + fields
        )
        self.last = end

    def leave(self, ticks=None, reason=1, code=0):
        self.parts.append(b"\x07" + unsigned(reason) + signed(code) + unsigned(self.last if ticks is None else ticks))

    def content(self):
        return b"".join(self.parts)

    def write(self, folder, cut=None):
        folder.mkdir(exist_ok=True)
        (folder / f"rank-{self.rank:06d}.log").write_bytes(self.content()[:cut])


def describe(folder, command=("python", "app.py")):
    folder.mkdir(exist_ok=True)
    content = {"format": "commmodel-recording", "version": 1, "command": command, "created": "2026-11-23T01:00:00Z"}
    (folder / "recording.json").write_text(json.dumps(content))


def write(folder, logs):
    """Write a whole recording; logs without an end get one."""
    describe(folder)
    for log in logs:
        log.write(folder)
    return folder


def new_logs(processes, **options):
    return [Log(rank, processes, **options) for rank in range(processes)]


def end(logs, ticks=None):
    for log in logs:
        log.leave(ticks)
