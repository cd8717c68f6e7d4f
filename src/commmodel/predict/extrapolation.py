"""Warnings that a prediction lies beyond what was measured. Main entries: `reach_of` and `collective_reach`."""

import math
from collections.abc import Iterator
from typing import NamedTuple

from commmodel.machine import Machine, MeasuredPairs, MeasuredTimes, Segment, choose_model
from commmodel.machine.description import usual_path
from commmodel.machine.model_choice import DESCRIBES, MEASURED, ONE_WAY, model_of, two_way
from commmodel.units import format_size, format_time


class Reach(NamedTuple):
    """The quantities of a prediction that lie beyond what was measured."""

    lines: tuple[str, ...] = ()
    most_pairs: int | None = None
    """The most pairs that were measured, where the model knows no limit of the node beyond them."""
    fewest_pairs: int = 1
    """That were measured."""
    remarks: tuple[str, ...] = ()
    """How far the model is from what was measured with so many pairs, where that is far, and what disturbed it."""


def _sizes(machine: Machine, path: str, message_size: float) -> list[str]:
    """Return a warning for a size outside the measured range of the path."""
    sizes = [size for segment in machine.segments if segment.path == path for entry in segment.measured
             for size in entry.sizes]  # fmt: skip
    if not sizes or min(sizes) <= message_size <= max(sizes) or (message_size == 0 and min(sizes) == 1):
        return []
    beyond = f"up to {format_size(max(sizes))}" if message_size > max(sizes) else f"from {format_size(min(sizes))} up"
    return [f"n = {format_size(round(message_size))} is extrapolated: measured {beyond}"]


def _has_limit(segment: Segment, name: str) -> bool:
    """Whether a model includes the node's maximum rate."""
    rate = getattr(model_of(segment, name), "R_N", None)
    return rate is not None and rate.is_limiting


def reach_of(
    machine: Machine, segment: Segment, message_size: float, processes: int, model: str, *, bounds: bool = True
) -> Reach:
    """Return warnings where a message's time is extrapolated; none where the file does not tell.

    `bounds`: the time will be a bound where the node's limit is not known.

    >>> from commmodel.machine import MaxRate, MeasuredPairs, Parameter
    >>> rates = MaxRate(Parameter(1e-6), Parameter(1e9), Parameter(4e9))
    >>> segment = Segment("all", max_rate=rates, measured=(MeasuredPairs(1, (1, 4096)), MeasuredPairs(2, (1, 4096))))
    >>> reach_of(Machine("m", (segment,)), segment, 1024, 8, "max-rate").lines
    ('k = 8 is extrapolated: measured up to k = 2',)
    """
    lines = _sizes(machine, segment.path, message_size)
    most = max((entry.pairs for entry in segment.measured), default=processes)
    bounded, of_streams = None, ""
    if model == ONE_WAY and two_way(segment):  # `measured` is of ping-pongs; streams are of all ranks in pairs
        if 1 <= most < processes:
            of_streams = f"this is of streams, one way: ping-pongs were measured up to k = {most}"
        most = (machine.origin.processes if machine.origin is not None else 0) // 2 or processes
    if processes > most:
        if _has_limit(segment, model):
            lines.append(f"k = {processes} is extrapolated: measured up to k = {most}")
        else:
            bounded = most if bounds else None
            kernel = "stream" if model == ONE_WAY else "pairs"
            remark = f", so the time is a bound, of a node that moves no more than with {most}" if bounds else ""
            lines.append(
                f"k = {processes} is extrapolated: measured up to k = {most}, and what the node moves at most is not "
                f"known{remark}: measure it with python -m commmodel.bench {kernel} on at least {2 * processes} ranks"
            )
    entries = {entry.pairs: entry for entry in segment.measured}
    fewest = min(entries, default=1)
    if processes < fewest:
        lines.append(f"k = {processes} is extrapolated: measured from k = {fewest} on")
    pairs = min((count for count in entries if count >= processes), default=max(entries, default=0))
    doubts = _doubts(segment, entries[pairs], message_size, processes, model) if pairs else ()
    return Reach(tuple(lines), bounded, fewest, (*filter(None, [of_streams, _distrust(segment, model)]), *doubts))


def _distrust(segment: Segment, model: str) -> str:
    """Return why the fit of a model is not trusted; empty where it is, or where the file does not tell."""
    fitted = segment.loggp if model in {"loggp", "logp"} else model_of(segment, model)
    quality = None if fitted is None else fitted.quality
    if quality is None or quality.trusted:
        return ""
    return f"the fit of this model is not trusted: {next(iter(quality.remarks), 'see commmodel report')}"


def _doubts(segment: Segment, entry: MeasuredPairs, message_size: float, processes: int, model: str) -> Iterator[str]:
    """Yield a line for each reason to doubt a time, from what was measured with so many pairs."""
    speaking = choose_model(segment, processes, message_size)
    pairs = f"{entry.pairs} pair{'s' * (entry.pairs != 1)}"
    is_far = speaking.error is not None and speaking.error > DESCRIBES and entry.contradicting is None
    if isinstance(speaking.model, MeasuredTimes) and model == MEASURED:
        first, last = (format_size(speaking.model.sizes[place]) for place in (0, -1))
        if entry.is_of_all_sizes:
            yield f"no model describes the times of {pairs}: this is what was measured, interpolated between sizes"
        else:
            of_pairs = f" with {pairs}" if entry.pairs != processes else ""
            yield (
                f"the times of {first} to {last} leave the model's line: this is what was measured{of_pairs}, "
                "interpolated between sizes; measure more sizes there"
            )
    elif isinstance(speaking.model, MeasuredTimes) and (model in two_way(segment) or not two_way(segment)):
        first, last = (format_size(speaking.model.sizes[place]) for place in (0, -1))
        yield f"the times of {first} to {last} leave the line of this model: without it predictions follow them"
    elif speaking.name == model and speaking.error is not None and is_far:
        yield f"the times of {pairs} lie a factor of {math.exp(speaking.error):.1f} from this model in the mean"
    if (near := _nearest(entry.contradicting, message_size)) is not None:
        yield (
            f"a message of {format_size(near[0])} took {format_time(near[1])} when it was measured, beside the line of "
            "other sizes: this leaves it out, measure it again"
        )
    if (near := _nearest(entry.disturbed, message_size)) is not None:
        yield (
            f"this is for an undisturbed machine: when it was measured, other programs disturbed most messages of "
            f"{format_size(near[0])}, and half of them took {format_time(near[1])} or longer"
        )


def _nearest(table: MeasuredTimes | None, message_size: float) -> tuple[int, float] | None:
    """Return the size of a table that is nearest, and its time; None where none is within a factor of two."""
    if table is None:
        return None
    near = [row for row in zip(table.sizes, table.seconds, strict=True) if row[0] / 2 < message_size < 2 * row[0]
            or row[0] == message_size]  # fmt: skip
    return min(near, key=lambda row: abs(math.log(max(row[0], 1) / max(message_size, 1))), default=None)


def collective_reach(machine: Machine, processes: int, largest: int, path: str | None) -> tuple[str, ...]:
    """Return a warning where a collective operation's time is extrapolated: at most one line.

    Of more processes than were measured that is usual: the model is one of messages.
    """
    most = machine.origin.processes if machine.origin is not None else 0
    limits = [f"{most} processes"] if 0 < most < processes else []
    path = usual_path(machine.paths, path)
    sizes = [entry.sizes[1] for segment in machine.segments if segment.path == path for entry in segment.measured]
    if sizes and largest > max(sizes):
        limits.append(f"messages of {format_size(max(sizes))}")
    return (f"extrapolated: measured up to {' and '.join(limits)}",) if limits else ()
