"""Whether a program relies on buffers: on sends that end before their receives. Main entry: `without_buffers`."""

from collections.abc import Callable, Sequence
from typing import Any

from commmodel.simulate.findings import Finding
from commmodel.simulate.operations import Code

KIND = "relies on buffering"
_SENDS = {Code.SEND, Code.SSEND, Code.ISEND, Code.ISSEND}
_MOST_NAMED = 3
_HangingStep = tuple[int, int, int, float, list[str]]


def without_buffers(
    steps: Sequence[tuple[int, _HangingStep, _HangingStep | None]], call_of: Callable[[Sequence[str]], str]
) -> Finding | None:
    """Return what ranks hang in without buffers as a finding; None where none does.

    `steps` are ranks with what `Pump.hanging_without_buffers` says of them, `call_of` names a call site.
    """
    if not steps:
        return None
    lines = []
    for rank, step, begun in sorted(steps, key=_is_later)[:_MOST_NAMED]:
        lines.append(f"rank {rank} waits {_wait(*(begun or step)[:4])} ({call_of(step[4])})")
    more = f"; and {len(steps) - len(lines)} ranks more" if len(steps) > len(lines) else ""
    sentence = f"where no send ends before its receive, {'; '.join(lines)}{more}"
    sites = dict.fromkeys(call_of(step[4]) for _, step, _ in steps)
    return Finding(KIND, sentence, tuple(rank for rank, *_ in steps), tuple(sites))


def _is_later(entry: tuple[int, Any, Any]) -> bool:
    """Return whether a rank waits for what no send is: such ranks are named last."""
    _, step, begun = entry
    return (begun or step)[0] not in _SENDS


def _wait(code: int, peer: int, tag: int, size: float) -> str:
    if code in _SENDS:
        return f"until rank {peer} receives {size:.0f} bytes with tag {_tag(tag)}"
    if code in (Code.RECV, Code.IRECV):
        source = "any rank" if peer < 0 else f"rank {peer}"
        return f"for a message from {source}"
    return "for other ranks"


def _tag(tag: int) -> int:
    return tag & ((1 << 20) - 1)
