"""Table and sentences of chosen message sizes and bursts. Main entries: `choices_table`, `choice_lines`."""

import math
from collections.abc import Iterator, Sequence

from rich.text import Text

from commmodel.optimize import LIMITS, Choice, PartitionedGain, Sensitivity
from commmodel.optimize.progress import LITTLE_MOVES, NOTHING_MOVES
from commmodel.report.kit.tables import Cell, Table, left, right, text
from commmodel.units import format_ratio, format_size, format_time


def choices_table(
    volumes: Sequence[int], computations: Sequence[float], choices: Sequence[Choice], peers: int = 1
) -> Table:
    """Return the choice for each pattern and implementation, the fastest first.

    Volumes and computations are one of each with each peer, or those of unequal peers.
    """
    columns = (*left("pattern", "implementation"), *right("message", "burst", "messages", "time", "blocking", "hidden"))
    has_patterns = len({choice.pattern for choice in choices}) > 1 or choices[0].pattern != "point-to-point"
    rows = []
    for place, choice in enumerate(choices):
        words = (
            choice.pattern, choice.implementation, format_size(choice.message_size), str(choice.burst),
            str(choice.messages), format_time(choice.seconds), format_time(choice.blocking_seconds),
            format_ratio(choice.hidden_fraction),
        )  # fmt: skip
        rows.append(tuple(Cell(word, style="" if place else "strong") for word in words[not has_patterns :]))
    title = f"{format_size(sum(volumes))}, {format_time(sum(computations))} of computation"
    if len(volumes) > 1:
        title = f"{peers} unequal peers, with all of them {title}"
    elif all(choice.pattern.startswith("all-to-all") for choice in choices):
        title += f" on all of it, {peers} processes"
    elif has_patterns:
        title = f"{peers} peers, with each of them {title}"
    return Table(title, columns[not has_patterns :], tuple(rows))


def choice_lines(choice: Choice, sensitivity: Sensitivity | None = None, loss: float | None = None) -> Iterator[Text]:
    """Yield sentences on the fastest choice: advice, limits, alternatives, sensitivity.

    Where little of a transfer goes on by itself, that comes first.

    `loss` is what a wrong diagnosis costs, a share of the blocking time.
    """
    if choice.progress < LITTLE_MOVES:
        much = "Hardly anything" if choice.progress < NOTHING_MOVES else "Little"
        yield text(
            f"{much} moves outside MPI calls: at most {format_ratio(choice.progress)} of a transfer in messages of "
            "these sizes (kernel progress), and splitting hides no more than that."
        )
    yield text(_advice_words(choice))
    for name in choice.limits:
        yield text(f"Limited by {name}: {LIMITS[name]}.")
    if choice.alternatives:
        alternatives = ", ".join(f"{format_size(size)} x {burst}" for size, burst in choice.alternatives)
        yield text(f"As fast within the parameters' intervals (message size x burst): {alternatives}.")
    if sensitivity is not None:
        yield text(_sensitivity_words(sensitivity))
    if loss is not None:
        yield text(
            f"Taken for a problem of the other kind, it takes {format_ratio(max(loss, 0.0))} of the blocking time more."
        )


def partitioned_words(gain: PartitionedGain | None) -> str:
    """Return whether partitioned sends are faster, in one line."""
    if gain is None:
        return "Partitioned sends in place of these messages were not measured (kernel persistent)."
    parts, whole = format_time(gain.partitioned.seconds), format_time(gain.persistent.seconds)
    times = f"in {gain.partitions} partitions all bytes take {parts}, in one persistent message {whole}"
    if gain.is_certain:
        return (
            f'Partitioned sends gain the overhead of all messages but one: {times}: give implementation="partitioned".'
        )
    return f"Partitioned sends gain nothing for certain: {times}."


def _messages_words(messages: int, message_size: int, burst: int) -> str:
    if messages == 1:
        return "one message"
    return f"messages of {format_size(message_size)}{f', bursts of {burst}' if burst > 1 else ', one at a time'}"


def _advice_words(choice: Choice) -> str:
    """Return the advice, with the gain and its error where the model has one."""
    blocking = format_time(choice.blocking_seconds)
    share = choice.blocking_seconds or 1.0
    gain = f"{format_time(choice.gain_seconds)} ({format_ratio(choice.gain_seconds / share)})"
    error = f"{format_time(choice.error_seconds)} ({format_ratio(choice.error_seconds / share)})"
    if choice.advice == "split":
        words = _messages_words(choice.messages, choice.message_size, choice.burst)
        advice = f"Fastest: {words}, {choice.implementation}: {format_time(choice.seconds)}{_interval_words(choice)} "
        advice += f"instead of {blocking} in blocking messages. "
        advice += f"It hides {format_ratio(choice.hidden_fraction)} of the communication."
        return advice + (f" The gain, {gain}, is above its error, {error}." if choice.error_seconds else "")
    rejected, interval = choice.rejected, _interval_words(choice)
    if rejected is None and choice.seconds == choice.blocking_seconds:
        return f"Do not split it: by the model nothing is faster than blocking messages, {blocking}{interval}."
    size, burst = (choice.message_size, choice.burst) if rejected is None else (rejected.message_size, rejected.burst)
    fastest = f"The fastest way to split it, messages of {format_size(size)} in bursts of {burst},"
    if choice.gain_seconds <= 0:
        fastest += f" takes {format_time(choice.seconds)}{interval} by the model."
    else:
        fastest += f" gains {gain} by the model, which is not above the gain's error, {error}."
    return f"Do not split it: in blocking messages it takes {blocking}. {fastest}"


def _interval_words(choice: Choice) -> str:
    """Return the interval of the time as text, where it is visible."""
    low, high = format_time(choice.low), format_time(choice.high)
    return f" ({low} to {high})" if low != high else ""


def _sensitivity_words(sensitivity: Sensitivity) -> str:
    ends = []
    for factor, how in ((sensitivity.overestimate, "over"), (sensitivity.underestimate, "under")):
        if factor < math.inf:
            ends.append(f"{how}estimated more than {factor:.2f} times")
    if not ends:
        return "The choice stays the same however wrong the computation's estimate is."
    return f"The choice changes where the computation is {' or '.join(ends)}."
