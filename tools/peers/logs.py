"""Reads which messages a simulated collective consists of, from a trace that SMPI writes in Paje's format.

Main entry: `messages`.
"""

from collections.abc import Iterable
from typing import NamedTuple


class Message(NamedTuple):
    """A message as the trace tells of it."""

    sender: int
    receiver: int
    tag: int
    size: int
    begin: float
    end: float


def messages(lines: Iterable[str]) -> list[Message]:
    """Return the messages in the order in which their receives ended.

    Events 15 and 16 are the begin and the end of an arrow; its key is sender_receiver_tag_number, ranks from 1.
    """
    begun: dict[str, tuple[float, int]] = {}
    sorted_messages = []
    for line in lines:
        fields = line.split()
        if fields[:1] == ["15"]:
            begun[fields[6]] = float(fields[1]), int(fields[7])
        elif fields[:1] == ["16"]:
            begin, size = begun.pop(fields[6])
            sender, receiver, tag, _ = map(int, fields[6].split("_"))
            sorted_messages.append(Message(sender - 1, receiver - 1, tag, size, begin, float(fields[1])))
    return sorted_messages
