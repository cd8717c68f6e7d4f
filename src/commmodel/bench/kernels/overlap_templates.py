"""Overlap of communication with computation: one problem in many messages and bursts.

Source: Iancu and Strohmaier, "Optimizing Communication Overlap for High-Speed Networks" (2007), Figure 6 and Section 3.
The order in which messages are exchanged is in `exchange_order`. Main entry: `KERNELS`.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, get_args

import msgspec
import numpy as np
from numpy.typing import NDArray

from commmodel.bench.buffers import allocate
from commmodel.bench.kernels.burst import BURSTS, OPERATIONS, locked_window, origin_buffer
from commmodel.bench.kernels.exchange_order import Order, largest_share, longest_burst, order, room
from commmodel.bench.kernels.kernel import Effort, Floats, Kernel, Room, pair_or_all, sampled
from commmodel.bench.option import Option, list_of, number_list, positive, sizes, with_step
from commmodel.bench.placement import Placement
from commmodel.bench.session import Session
from commmodel.bench.synchronisation import GroupClock
from commmodel.errors import InputError
from commmodel.results import BenchOptions, Clock, Configuration, Record
from commmodel.results.configurations import MessagePath, Overlap, Pattern, Template
from commmodel.units import parse_sizes

if TYPE_CHECKING:
    from mpi4py import MPI

Bytes = NDArray[np.uint8]

_BASE_BYTES = 1 << 20  # of the transfer
_BASE_RATIO = 0.5  # of whose time the base computation takes, as in the paper: 40 % to 50 %
_BASE_REPETITIONS, _BASE_CHUNK = 300, 10
_SMALLEST = 8  # bytes of a message, one float64
_MOST_MESSAGES = 8192  # of one peer, as in the paper
_COARSE = 4  # from one size or burst to the next, where not all are measured
_ALONE_SHARE = 0.1  # of the time, for the computation alone
_FEWEST_ALONE, _MOST_ALONE = 3, 99
_BASE_SECONDS = 2.0  # to find the base computation
_SLEEP_SECONDS = 2e-3
_LARGEST_VOLUME = 2**31 - 1  # bytes that one message can have
_TEMPLATES: tuple[Template, ...] = get_args(Template)
_PATTERNS: tuple[Pattern, ...] = get_args(Pattern)


def _thinned(values: Sequence[int]) -> list[int]:
    """Return the first value, and others at least a factor of 4 apart.

    >>> _thinned([1, 2, 4, 8, 16, 100]), _thinned([64, 32, 16, 8, 1])
    ([1, 4, 16, 100], [64, 16, 1])
    """
    thinned = list(values[:1])
    for value in values[1:]:
        if max(value, thinned[-1]) >= _COARSE * min(value, thinned[-1]):
            thinned.append(value)
    return thinned


def _sizes(options: BenchOptions, largest: int) -> list[int]:
    """Return the message sizes of a transfer of `largest` bytes, from that down."""
    smallest = max(_SMALLEST, -(-largest // _MOST_MESSAGES))
    sizes = [largest, *(size for size in reversed(options.sizes) if smallest <= size < largest)]
    return sizes if options.exhaustive else _thinned(sizes)


def _decompositions(options: BenchOptions, uncut: Overlap) -> Iterable[Overlap]:
    """Return the decompositions of a problem to measure; `uncut` has one message per peer."""
    if uncut.template == "blocking":
        yield uncut
        return
    bursts = options.bursts if options.exhaustive else _thinned(options.bursts)
    for size in _sizes(options, uncut.message_size):
        cut = msgspec.structs.replace(uncut, message_size=size)
        most = longest_burst(cut)
        yield from (msgspec.structs.replace(cut, burst=burst) for burst in bursts if burst <= most)


def _scenes(options: BenchOptions, placement: Placement) -> Iterable[tuple[Pattern, int, MessagePath]]:
    """Return the pattern, number of processes and path of all problems to measure."""
    processes = [count for count in options.procs if count > 1]
    for pattern in options.patterns:
        if pattern == "point-to-point":
            yield from ((pattern, 2, path) for path in placement)
        elif options.procs and not processes:
            raise InputError(f"--process-counts: the pattern {pattern} of overlap needs 2 processes or more")
        else:
            yield from ((pattern, count, "any") for count in processes)


def _plan(options: BenchOptions, placement: Placement) -> list[Configuration]:
    amounts = [multiple * (options.passes or 1) for multiple in options.work]
    plan: list[Configuration] = []
    for pattern, processes, path in _scenes(options, placement):
        for volume in options.volumes:
            for operation in options.operations:
                for template in options.templates:
                    problem = Overlap(
                        volume, volume, 1, template, 0, processes, path, pattern, operation, options.iterations
                    )
                    uncut = msgspec.structs.replace(problem, message_size=largest_share(problem))
                    cut = list(_decompositions(options, uncut))
                    plan += [
                        msgspec.structs.replace(configuration, passes=passes)
                        for configuration in cut
                        for passes in amounts
                    ]
    return plan


def _room(problem: Overlap) -> Room:
    """Return the buffer sizes: for sent data, and for received and computed data."""
    return room(problem), 2 * room(problem)


def _result(session: Session, problem: Overlap) -> Bytes:
    """Return the offset of the computed data: behind the received data."""
    return session.receive_buffer[room(problem) : 2 * room(problem)]


def _alone(session: Session, problem: Overlap, steps: NDArray[np.int64]) -> Callable[[int], Floats]:
    """Return the measurement of the computation alone: repetitions -> seconds on this rank."""
    from commmodel._core.mpi import overlap_templates

    data = session.send_buffer if problem.operation == "put" else session.receive_buffer
    data, result = data[: room(problem)], _result(session, problem)
    common = session.comm, steps, data, result, problem.passes
    return lambda repetitions: session.seconds(
        overlap_templates.computations(*common, repetitions, session.clock_number)
    )


def _computation_seconds(session: Session, problem: Overlap, steps: NDArray[np.int64]) -> float:
    """Return, on every rank, the median time of the computation alone on its slowest rank."""
    if not problem.passes:
        return 0.0
    measure = _alone(session, problem, steps)
    looks = session.slowest(measure(_FEWEST_ALONE))
    affordable = session.comm.bcast(int(_ALONE_SHARE * session.share / max(float(looks.min()), 1e-9)))
    more = min(_MOST_ALONE, affordable) - _FEWEST_ALONE
    if more > 0:
        looks = np.concatenate([looks, session.slowest(measure(more))])
    return float(np.median(looks))


def _two_sided(session: Session, problem: Overlap, plan: Order) -> Callable[[int], Floats]:
    from commmodel._core.mpi import overlap_templates

    size, result = room(problem), _result(session, problem)
    buffers = session.send_buffer[:size], session.receive_buffer[:size], result
    common = session.comm, problem.template, *plan, *buffers, problem.passes, problem.iterations
    return lambda repetitions: session.timed(overlap_templates.two_sided, *common, repetitions)


def _one_sided(
    session: Session, problem: Overlap, plan: Order, operation: Literal["put", "get"], window: "MPI.Win"
) -> Callable[[int], Floats]:
    from commmodel._core.mpi import overlap_templates

    loop = overlap_templates.get if operation == "get" else overlap_templates.put
    buffer, result = origin_buffer(session, operation)[: room(problem)], _result(session, problem)
    common = session.comm, window, problem.template, plan.receives, plan.receive_bounds, buffer, result, problem.passes
    return lambda repetitions: session.seconds(loop(*common, problem.iterations, repetitions, session.clock_number))


def _measure(session: Session, problem: Overlap) -> Record | None:
    plan, operation = order(problem, session.comm.rank), problem.operation
    seconds = _computation_seconds(session, problem, plan.receives)
    rest = replace(session, share=(1 - _ALONE_SHARE) * session.share)
    if operation == "two-sided":
        record = sampled(rest, problem, _two_sided(rest, problem, plan))
    else:
        with locked_window(rest, operation) as window:
            record = sampled(rest, problem, _one_sided(rest, problem, plan, operation, window))
    return None if record is None else msgspec.structs.replace(record, computation=seconds)


def _least(session: Session, measure: Callable[[int], Floats]) -> float:
    """Return, on every rank, the root's smallest time of many repetitions in half of the session's time."""
    started, least, done, more = time.perf_counter(), np.inf, 0, True
    while more:
        least = min(least, float(measure(_BASE_CHUNK).min()))
        done += _BASE_CHUNK
        more = session.comm.bcast(done < _BASE_REPETITIONS and time.perf_counter() - started < session.share / 2)
    return float(session.comm.bcast(least))


def _base_passes(session: Session, path: MessagePath) -> int:
    """Return the passes of a vector-scalar add that take half as long as a blocking exchange of 1 MiB: at least 1.

    Called by both ranks of a pair, whose buffers have 1 MiB for what is sent and 2 MiB for what is received. It is the
    least times that are compared: with some interruption in one of them, all problems would be too large.
    """
    exchange = Overlap(_BASE_BYTES, _BASE_BYTES, 1, "blocking", 0, 2, path)
    plan = order(exchange, session.comm.rank)
    seconds = _least(session, _two_sided(session, exchange, plan))
    once = _alone(session, msgspec.structs.replace(exchange, passes=1), plan.receives)
    return max(1, round(_BASE_RATIO * seconds / _least(session, once)))


def _prepare(comm: "MPI.Intracomm", clock: Clock, options: BenchOptions, placement: Placement) -> BenchOptions:
    """Measure the base computation where it is not given, on the first pair of the last path; other ranks sleep."""
    if options.passes is not None:
        return options
    path = list(placement)[-1]
    pair = placement[path][0]
    passes = 1
    if comm.rank in pair:
        group = comm.group.Incl(pair)
        pair_comm = comm.Create_group(group)
        group.Free()
        send_buffer = allocate(_BASE_BYTES, options.huge_pages)
        receive_buffer = allocate(2 * _BASE_BYTES, options.huge_pages)
        session = Session(
            pair_comm, clock, options, send_buffer, receive_buffer, _BASE_SECONDS, GroupClock(pair_comm, clock)
        )
        passes = _base_passes(session, path)
        pair_comm.Free()
    request = comm.Ibarrier()
    while not request.Test():
        time.sleep(_SLEEP_SECONDS)
    return msgspec.structs.replace(options, passes=int(comm.bcast(passes)))


def _volumes(text: str) -> tuple[int, ...]:
    volumes = parse_sizes(text)
    if not 1 <= volumes[0] <= volumes[-1] <= _LARGEST_VOLUME:
        raise InputError(f"{text!r}: a volume is at least 1 B and less than 2 GiB")
    return volumes


def _work(text: str) -> tuple[int, ...]:
    if not set(text) <= set("0123456789,:+*"):
        raise InputError(f"{text!r} is no list of whole numbers: write it like 0:5, or 1,3,5")
    return parse_sizes(with_step(text, "+1"))  # of which 0 may be one, unlike of counts


_OPTIONS = (
    Option(
        "templates",
        f"implementations, of {', '.join(_TEMPLATES)}; all",
        list_of(_TEMPLATES, "template"),
        metavar="TEMPLATE,...",
    ),
    Option(
        "patterns",
        f"communication patterns, of {', '.join(_PATTERNS)}; all",
        list_of(_PATTERNS, "pattern"),
        metavar="PATTERN,...",
    ),
    OPERATIONS,
    Option("volumes", "bytes that a process receives from a peer", _volumes, sizes, metavar="SIZES"),
    BURSTS,
    Option("work", "computation, multiples of --passes: 0:5, or 1,3", _work, number_list, metavar="N,..."),
    Option(
        "passes",
        "additions of a scalar to all data",
        positive,
        unset="measured: half as long as the transfer of 1 MiB",
    ),
    Option("iterations", "problems in a row without synchronisation: 1 is balanced", positive),
    Option("exhaustive", "measure all of --sizes and --bursts, not only steps of a factor of 4", None),
)
KERNELS = (
    Kernel(
        "communication overlapped with computation, in messages and bursts of many sizes",
        (Overlap,),
        _plan,
        _measure,
        _room,
        pair_or_all,
        _OPTIONS,
        prepare=_prepare,
        effort=lambda problem: Effort(problem.volume, 2 * problem.iterations, 1, by_all=True),
        one_sided=True,
    ),
)
