"""A decoder of logs in plain Python, written from the format alone: what tests compare with."""

import struct
from pathlib import Path

from commmodel.record.calls import CALLS, FINGERPRINTS

HEADER = (
    *("magic", "version", "header_size", "rank", "processes", "ticks_per_second"),
    *("first_tick", "unix_ns", "abi", "thread_level", "table"),
)
KINDS = {
    1: "site",
    2: "communicator",
    3: "clock",
    4: "window",
    5: "thread",
    6: "text",
    7: "leave",
    8: "neighbours",
    9: "data",
    10: "layout",
    11: "content",
    16: "call",
}
BY_CODE = {call.code: call for call in CALLS}
SIGNED = {"peer", "tag", "receive_peer", "receive_tag", "root", "source", "received_tag", "target", "level"}


class Cursor:
    """A place in the bytes of a log."""

    def __init__(self, content, at):
        self.content, self.at = content, at

    def unsigned(self):
        value = shift = 0
        while True:
            byte = self.content[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def signed(self):
        value = self.unsigned()
        return value >> 1 ^ -(value & 1)

    def text(self):
        length = self.unsigned()
        self.at += length
        return self.content[self.at - length : self.at].decode()

    def double(self):
        self.at += 8
        return struct.unpack_from("<d", self.content, self.at - 8)[0]

    def members(self):
        ranks = []
        for _ in range(self.unsigned()):
            first, stride, count = self.unsigned(), self.signed(), self.unsigned()
            ranks += [first + stride * i for i in range(count)]
        return ranks

    def field(self, name):
        if name == "completed":
            return [(self.unsigned(), self.signed(), self.signed(), self.unsigned()) for _ in range(self.unsigned())]
        if name in {"requests", "sent_counts", "received_counts"}:
            return [self.unsigned() for _ in range(self.unsigned())]
        return self.signed() if name in SIGNED else self.unsigned()


def decode(path):
    """Return the header and the records of a log, as dicts with ``kind``."""
    content = Path(path).read_bytes()
    header = dict(zip(HEADER, struct.unpack_from("<8s4IdQq2IQ", content), strict=True))
    assert header["magic"] == b"CMRECORD"
    assert header["table"] == FINGERPRINTS[-1]
    cursor, records, end = Cursor(content, header["header_size"]), [], 0
    while cursor.at < len(content) and content[cursor.at]:
        kind = KINDS[content[cursor.at]]
        cursor.at += 1
        record = {"kind": kind, "at": cursor.at - 1}
        if kind == "site":
            record |= {"id": cursor.unsigned(), "file": cursor.text(), "line": cursor.unsigned()}
            record |= {"function": cursor.text(), "language": cursor.unsigned()}
        elif kind == "communicator":
            record |= {"id": cursor.unsigned(), "parent": cursor.unsigned(), "topology": cursor.unsigned()}
            record |= {"name": cursor.text(), "local": cursor.members(), "remote": cursor.members()}
        elif kind == "clock":
            record |= {"tick": cursor.unsigned(), "seconds": cursor.double(), "uncertainty": cursor.double()}
        elif kind == "window":
            record |= {name: cursor.unsigned() for name in ("id", "communicator", "bytes", "unit")}
        elif kind == "neighbours":
            record["id"] = cursor.unsigned()
            record |= {way: [cursor.signed() for _ in range(cursor.unsigned())] for way in ("sources", "destinations")}
        elif kind == "thread":
            record["thread"] = cursor.unsigned()
        elif kind == "data":
            record |= {"element": cursor.unsigned(), "flags": cursor.unsigned()}
        elif kind == "layout":
            record |= {name: cursor.unsigned() for name in ("number", "shape", "size", "pieces", "distance")}
        elif kind == "content":
            record |= {"number": cursor.unsigned()}
        elif kind == "text":
            record |= {"key": cursor.text(), "value": cursor.text()}
        elif kind == "leave":
            record |= {"reason": cursor.unsigned(), "code": cursor.signed(), "tick": cursor.unsigned()}
        else:
            call = BY_CODE[cursor.unsigned()]
            begin = end + cursor.signed()
            end = begin + cursor.unsigned()
            record |= {"name": call.name, "begin": begin, "end": end, "site": cursor.unsigned()}
            record |= {field: cursor.field(field) for field in call.fields}
        records.append(record)
    return header, records


def calls(path, *names):
    """Return the calls of a log, or those with the names."""
    return [
        record
        for record in decode(path)[1]
        if record["kind"] == "call" and (not names or record["name"] in {f"MPI_{name}" for name in names})
    ]
