"""When each process has finished a schedule of messages, by the rules of LogGP. No MPI here, and no choice.

What a message costs is given for each: LogP, LogGP and pLogP differ only in the numbers (`commmodel.models.loggp`).

The rules. A process goes through its rounds in order. It has finished a round when all its sends of that round have
begun and spent their overhead, all its receives have been received, and its work is done; then it enters the next. Its
processor does one thing at a time. Sends begin in the order listed, each no sooner than the processor is free and the
send before it lies its gap back. Receives begin, in the order of arrival, no sooner than the processor is free and the
message has arrived. The processor takes whatever can begin earliest, a send before a receive where both can; so it
receives while it waits for the send port. A message leaves at the end of its send overhead and takes its transit; then
it passes the receive port, no sooner than its own gap after the message that passed before it. Messages that come for
a later round pass the port as they come, and wait in memory until the process is in their round. Gaps reach from one
round to the next.

Where processes share a node, messages between nodes also pass a port of the sender's node and one of the receiver's,
both from the begin of the send on. A message alone needs a port for the node's gap, and those that pass it at the same
time have equal shares, as on the links of a network. While its message passes the port of its node, a process begins no
other send. The message arrives as usual, and no sooner than its transit, without the time of its own bytes, after it
has passed both ports. What it comes later by than alone is no time of its receiver's port, as its bytes came meanwhile.

Order is that of time; at the same time, arrivals come before what processors do, arrivals in the order listed,
processors in the order of their ranks. A message that takes no time at all arrives when it is sent.
"""

from libc.math cimport isfinite
from libc.stdint cimport INT64_MAX, int32_t, int64_t

import numpy as np

from commmodel._core.program.ordering cimport first_outside, first_unsorted

cdef extern from "common/constants.hpp" namespace "commmodel" nogil:
    const int32_t LARGEST_INDEX

cdef extern from "delays/critical_path.hpp" namespace "commmodel::delays" nogil:
    cdef struct RoundMessages:
        int32_t processes, messages, works
        const int64_t *round
        const int64_t *sender
        const int64_t *receiver
        const double *send_overhead
        const double *receive_overhead
        const double *gap
        const double *transit
        const int64_t *work_round
        const int64_t *worker
        const double *work
        const int64_t *node
        const double *node_gap
        const double *byte_seconds
        int32_t nodes

    cdef cppclass CriticalPath:
        CriticalPath(const RoundMessages &, char *) except +
        @staticmethod
        size_t workspace_size(const RoundMessages &)
        void run() except +
        double finish(int32_t)
        int64_t round(int32_t)
        int32_t waiting()


cdef int64_t _first_no_time(const double[::1] times) noexcept nogil:
    """Return the index of the first number that is negative or not finite, or -1."""
    cdef int64_t i
    for i in range(times.shape[0]):
        if not (isfinite(times[i]) and times[i] >= 0):
            return i
    return -1


def _checked(names, dtype, check, problem, processes, columns):
    """Return the columns as contiguous arrays of one length; raise where a number in them is wrong."""
    arrays = []
    for name, column in zip(names, columns, strict=True):
        array = np.asarray(column)
        if array.ndim != 1 or (array.size and not np.can_cast(array.dtype, dtype, "same_kind")):
            raise ValueError(f"{name}: expected one row of {np.dtype(dtype)}, got {array.ndim} of {array.dtype}")
        array = np.ascontiguousarray(array, dtype=dtype)
        if (wrong := check(array, processes)) >= 0:
            raise ValueError(f"{name}[{wrong}] is {array[wrong]}: {problem}")
        arrays.append(array)
    return arrays


def _equal_lengths(**columns):
    sizes = {name: column.size for name, column in columns.items()}
    if len(set(sizes.values())) > 1:
        raise ValueError(f"columns of different lengths: {', '.join(f'{name} {size}' for name, size in sizes.items())}")


def _in_range(const int64_t[::1] ranks, int64_t processes):
    return first_outside(ranks, processes)


def _is_sorted(const int64_t[::1] numbers, _):
    return first_unsorted(numbers, INT64_MAX - 1)  # the highest stands for none


def _is_time(const double[::1] times, _):
    return _first_no_time(times)


def finish_times(
    processes,
    round,  # noqa: A002
    sender,
    receiver,
    send_overhead,
    receive_overhead,
    gap,
    transit,
    work_round=(),
    worker=(),
    work=(),
    node=(),
    node_gap=(),
    byte_seconds=(),
):
    """Return when each process has finished the schedule, all having started at 0, by the rules of this module.

    Parameters
    ----------
    processes : int
        How many processes there are, ≥ 1.
    round, sender, receiver : arrays of integers, shape (messages,)
        Rounds ascend; within a round a process sends in the order listed.
    send_overhead, receive_overhead : arrays, shape (messages,)
        Seconds that the processors of sender and receiver are busy with a message.
    gap : array, shape (messages,)
        Least seconds from the begin of this send to that of the sender's next one, and from the arrival of the message
        before this one at the receiver to its own.
    transit : array, shape (messages,)
        Seconds from the end of the send overhead to the arrival of the last byte.
    work_round, worker, work : arrays, shape (works,)
        Rounds, which ascend; ranks; and seconds that the rank's processor works at the end of that round.
    node : array of integers, shape (processes,)
        The node of each process; left out, processes share none.
    node_gap : array, shape (messages,)
        Seconds that a message alone needs the ports of its nodes; 0 within a node.
    byte_seconds : array, shape (messages,), optional
        Of the transit, the seconds in which bytes of this message pass; 0 without.

    Returns
    -------
    array of float64, shape (processes,)
        Seconds.

    Raises
    ------
    ValueError
        Where lengths differ, a rank is out of range, rounds do not ascend, or a time is negative or not finite; and
        where a process would wait for ever, which names its rank.

    Examples
    --------
    Two processes send each other a message, o = 1, L = 3:

    >>> finish_times(2, [0, 0], [0, 1], [1, 0], [1.0, 1.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]).tolist()
    [5.0, 5.0]
    """
    processes = int(processes)
    if not 1 <= processes <= LARGEST_INDEX - 2:
        raise ValueError(f"{processes} processes: expected from 1 to {LARGEST_INDEX - 2}")
    rounds = ("round", "work_round"), np.int64, _is_sorted, "rounds must ascend, from 0", processes
    ranks = ("sender", "receiver", "worker"), np.int64, _in_range, f"ranks are 0 to {processes - 1}", processes
    times = ("send_overhead", "receive_overhead", "gap", "transit", "work"), np.float64, _is_time
    round, work_round = _checked(*rounds, (round, work_round))
    sender, receiver, worker = _checked(*ranks, (sender, receiver, worker))
    send_overhead, receive_overhead, gap, transit, work = _checked(
        *times, "a time must be finite, from 0", processes, (send_overhead, receive_overhead, gap, transit, work)
    )
    _equal_lengths(
        round=round, sender=sender, receiver=receiver,
        send_overhead=send_overhead, receive_overhead=receive_overhead, gap=gap, transit=transit,
    )
    _equal_lengths(work_round=work_round, worker=worker, work=work)
    [node] = _checked(["node"], np.int64, _in_range, "nodes are 0 to processes - 1", processes, [node])
    [node_gap] = _checked(["node_gap"], np.float64, _is_time, "a time must be finite, from 0", processes, [node_gap])
    if not len(byte_seconds):
        byte_seconds = np.zeros(node_gap.size)
    names = ["byte_seconds"]
    [byte_seconds] = _checked(names, np.float64, _is_time, "a time must be finite, from 0", processes, [byte_seconds])
    if node.size or node_gap.size:
        _equal_lengths(processes=np.empty(processes), node=node)
        _equal_lengths(round=round, node_gap=node_gap, byte_seconds=byte_seconds)
    if max(round.size, work.size) > LARGEST_INDEX:
        raise ValueError(f"{max(round.size, work.size)} messages or works: at most {LARGEST_INDEX}")
    return _finish_times(
        processes, round, sender, receiver, send_overhead, receive_overhead, gap, transit, work_round, worker, work,
        node, node_gap, byte_seconds,
    )


cdef _finish_times(
    int32_t processes,
    const int64_t[::1] round,  # noqa: A002
    const int64_t[::1] sender,
    const int64_t[::1] receiver,
    const double[::1] send_overhead,
    const double[::1] receive_overhead,
    const double[::1] gap,
    const double[::1] transit,
    const int64_t[::1] work_round,
    const int64_t[::1] worker,
    const double[::1] work,
    const int64_t[::1] node,
    const double[::1] node_gap,
    const double[::1] byte_seconds,
):
    cdef RoundMessages schedule
    cdef CriticalPath *path
    cdef int32_t rank, waiting
    schedule.processes = processes
    schedule.messages = <int32_t>round.shape[0]
    schedule.works = <int32_t>work.shape[0]
    schedule.round = &round[0]
    schedule.sender = &sender[0]
    schedule.receiver = &receiver[0]
    schedule.send_overhead = &send_overhead[0]
    schedule.receive_overhead = &receive_overhead[0]
    schedule.gap = &gap[0]
    schedule.transit = &transit[0]
    schedule.work_round = &work_round[0]
    schedule.worker = &worker[0]
    schedule.work = &work[0]
    schedule.node = &node[0] if node.shape[0] else NULL
    schedule.node_gap = &node_gap[0] if node.shape[0] else NULL
    schedule.byte_seconds = &byte_seconds[0] if node.shape[0] else NULL
    schedule.nodes = processes
    finish = np.empty(processes)
    cdef double[::1] out = finish
    # By numpy, as that takes large pages: of small ones, most look-ups would miss.
    cdef char[::1] workspace = np.empty(CriticalPath.workspace_size(schedule) + 1, np.int8)
    with nogil:
        path = new CriticalPath(schedule, &workspace[0])
    try:
        with nogil:
            path.run()
            waiting = path.waiting()
            for rank in range(processes):
                out[rank] = path.finish(rank)
        if waiting >= 0:
            raise ValueError(
                f"process {waiting} never finishes: it waits in round {path.round(waiting)} for ever, or its times are"
                " too large"
            )
    finally:
        del path
    return finish
