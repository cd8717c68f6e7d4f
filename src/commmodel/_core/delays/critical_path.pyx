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

Order is that of time; at the same time, arrivals come before what processors do, arrivals in the order listed,
processors in the order of their ranks. A message that takes no time at all arrives when it is sent.

The way. A tree holds the time of the next action of every process. A message is put into a heap of its receiver, and
passes the port when its receiver acts next: until then only its order matters. What begins sooner than the fastest
message takes touches no other process; so the processes take turns by rank, each as far as that. In the order of time
alone each action would be one of another process, and out of the cache.
"""

from libc.float cimport DBL_MAX
from libc.math cimport INFINITY, isfinite
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint32_t

import numpy as np

from commmodel._core.program.ordering cimport first_outside, first_unsorted

cdef enum:
    CHILDREN = 4  # of a node of a heap: flat ones are faster, siblings lie in a cache line
    FAN_BITS = 3  # of the tree of times: a cache line of them is looked at at once
    FAN = 8
    LEVELS = 12  # enough for 8^11 processes


cdef struct Process:
    double free  # the processor, from then on
    double send_port  # free from then on
    double last_arrival
    int64_t round
    int32_t send, send_stop, send_end  # next one, end of this round's, end of all
    int32_t receive, receive_start, receive_stop, receive_end
    int32_t work, work_end
    int32_t flying_start, flying  # its heap of messages that have not passed the port


cdef struct Flying:
    double arrival
    uint32_t order
    int32_t message


cdef struct Run:
    const int64_t *round
    const int64_t *receiver
    const double *send_overhead
    const double *receive_overhead
    const double *gap
    const double *transit
    const int64_t *work_round
    const double *work
    const int32_t *sends  # messages by sender, in order
    const int32_t *receives  # messages by receiver, in order
    const int32_t *works  # works by worker, in order
    const int32_t *group  # message -> where in `receives` its receiver's messages of its round start
    int32_t *passed  # start of a group -> how many of it have passed the port
    double *arrived  # place in a group -> when the message that passed the port at that place did so
    int32_t *arrived_message
    Flying *flying
    Process *process
    double *level[LEVELS]  # times of next actions by rank; above them, the least of FAN each, up to one at the `top`
    int32_t top
    int32_t processes
    uint32_t messages
    uint32_t immediate  # how many messages took no time at all
    double fastest  # least time of a message from the begin of its send to its arrival


cdef inline bint _sooner(Flying one, Flying other) noexcept nogil:
    return one.arrival < other.arrival or (one.arrival == other.arrival and one.order < other.order)


cdef inline double _least(const double *times) noexcept nogil:
    return min(
        min(min(times[0], times[1]), min(times[2], times[3])), min(min(times[4], times[5]), min(times[6], times[7]))
    )


cdef inline void _set_time(Run *run, int32_t rank, double time) noexcept nogil:
    """Set the time of a process's next action, and the least times above it as far as they change."""
    cdef int64_t place = rank
    cdef int32_t level = 0
    cdef double before = run.level[0][place]
    run.level[0][place] = time
    while level < run.top and time != before:
        place >>= FAN_BITS
        level += 1
        if time > before:
            if run.level[level][place] != before:
                return
            time = _least(run.level[level - 1] + (place << FAN_BITS))
        elif run.level[level][place] <= time:
            return
        run.level[level][place], before = time, run.level[level][place]


cdef inline int32_t _next_rank(Run *run, double horizon) noexcept nogil:
    """Return the lowest rank that acts by then; there is one."""
    cdef int64_t place = 0
    cdef int32_t level = run.top
    while level > 0:
        level -= 1
        place <<= FAN_BITS
        while run.level[level][place] > horizon:
            place += 1
    return <int32_t>place


cdef inline double _horizon(Run *run) noexcept nogil:
    """Return a time by which no message arrives that is yet to be sent, or else that of the next action.

    A hundredth is left for rounding: three roundings, of 1.1e-16 each, lie in between.
    """
    cdef double now = run.level[run.top][0]
    return min(now + 0.99 * run.fastest, DBL_MAX) if run.fastest > 1e-12 * now else now


cdef void _add_flying(Flying *heap, int32_t count, Flying added) noexcept nogil:
    cdef int32_t place = count, parent
    while place > 0:
        parent = (place - 1) // CHILDREN
        if not _sooner(added, heap[parent]):
            break
        heap[place] = heap[parent]
        place = parent
    heap[place] = added


cdef void _drop_first_flying(Flying *heap, int32_t count) noexcept nogil:
    """Take the first of `count` out."""
    cdef Flying moved = heap[count - 1]
    cdef int32_t place = 0, child, best, stop, left = count - 1
    while CHILDREN * place + 1 < left:
        best = CHILDREN * place + 1
        stop = min(best + CHILDREN, left)
        for child in range(best + 1, stop):
            if _sooner(heap[child], heap[best]):
                best = child
        if not _sooner(heap[best], moved):
            break
        heap[place] = heap[best]
        place = best
    heap[place] = moved


cdef double _next_time(Run *run, Process *process) noexcept nogil:
    """Return when a process can do something next, by what is known; infinite where it waits or has finished."""
    cdef double time = INFINITY, receive
    cdef Flying first
    if process.send < process.send_stop:
        time = max(process.free, process.send_port)
    if process.receive < process.receive_stop:
        if process.receive - process.receive_start < run.passed[process.receive_start]:
            time = min(time, max(process.free, run.arrived[process.receive]))
        elif process.flying:
            first = run.flying[process.flying_start]
            receive = first.arrival
            if run.round[first.message] == process.round:
                receive = max(receive, process.last_arrival + run.gap[first.message])
            # Else it only has to pass the port, so that the one behind it can be seen.
            time = min(time, max(process.free, receive))
    return time


cdef void _pass_port(Run *run, Process *process, double now) noexcept nogil:
    """Let everything through the receive port that has come by now."""
    cdef Flying *heap = run.flying + process.flying_start
    cdef int32_t group, place
    while process.flying and heap[0].arrival <= now:
        process.last_arrival = max(heap[0].arrival, process.last_arrival + run.gap[heap[0].message])
        group = run.group[heap[0].message]
        place = group + run.passed[group]
        run.arrived[place] = process.last_arrival
        run.arrived_message[place] = heap[0].message
        run.passed[group] += 1
        _drop_first_flying(heap, process.flying)
        process.flying -= 1


cdef void _send(Run *run, Process *process) noexcept nogil:
    """Begin the next send; its receiver may now have something to wait for."""
    cdef int32_t message = run.sends[process.send]
    cdef double begin = max(process.free, process.send_port)
    cdef int32_t rank = <int32_t>run.receiver[message]
    cdef Process *receiver = run.process + rank
    cdef Flying flying
    process.send += 1
    process.send_port = begin + run.gap[message]
    process.free = begin + run.send_overhead[message]
    flying.arrival = process.free + run.transit[message]
    flying.order = flying.message = message
    if flying.arrival == begin:  # after all that arrive at this time and have been on their way
        flying.order = run.messages + run.immediate
        run.immediate += 1
    _add_flying(run.flying + receiver.flying_start, receiver.flying, flying)
    receiver.flying += 1
    if receiver is not process and run.flying[receiver.flying_start].message == message:
        _set_time(run, rank, _next_time(run, receiver))


cdef void _enter_rounds(Run *run, Process *process) noexcept nogil:
    """Do the work at the end of a round that is complete, and go on to the next, until there is one to wait in."""
    cdef int64_t number
    while process.send == process.send_stop and process.receive == process.receive_stop:
        while process.work < process.work_end and run.work_round[run.works[process.work]] == process.round:
            process.free += run.work[run.works[process.work]]
            process.work += 1
        number = INT64_MAX
        if process.send < process.send_end:
            number = run.round[run.sends[process.send]]
        if process.receive < process.receive_end:
            number = min(number, run.round[run.receives[process.receive]])
        if process.work < process.work_end:
            number = min(number, run.work_round[run.works[process.work]])
        if number == INT64_MAX:
            return
        process.round = number
        while process.send_stop < process.send_end and run.round[run.sends[process.send_stop]] == number:
            process.send_stop += 1
        process.receive_start = process.receive
        while process.receive_stop < process.receive_end and run.round[run.receives[process.receive_stop]] == number:
            process.receive_stop += 1


cdef void _act(Run *run, int32_t rank, double now) noexcept nogil:
    """Let a process do what it can do now."""
    cdef Process *process = run.process + rank
    _pass_port(run, process, now)
    if process.send < process.send_stop and max(process.free, process.send_port) <= now:
        _send(run, process)
    elif (
        process.receive < process.receive_stop
        and process.receive - process.receive_start < run.passed[process.receive_start]
        and max(process.free, run.arrived[process.receive]) <= now
    ):
        process.free = now + run.receive_overhead[run.arrived_message[process.receive]]
        process.receive += 1
    _enter_rounds(run, process)
    _set_time(run, rank, _next_time(run, process))


cdef void _run(Run *run) noexcept nogil:
    cdef int32_t rank
    cdef double horizon
    for rank in range(run.processes):
        _enter_rounds(run, run.process + rank)
    for rank in range(run.processes):
        _set_time(run, rank, _next_time(run, run.process + rank))
    while run.level[run.top][0] < INFINITY:
        horizon = _horizon(run)
        while run.level[run.top][0] <= horizon:
            rank = _next_rank(run, horizon)
            _act(run, rank, run.level[0][rank])


cdef int64_t _first_no_time(const double[::1] times) noexcept nogil:
    """Return the index of the first number that is negative or not finite, or -1."""
    cdef int64_t i
    for i in range(times.shape[0]):
        if not (isfinite(times[i]) and times[i] >= 0):
            return i
    return -1


cdef void _sort(const int64_t[::1] ranks, int32_t[::1] start, int32_t[::1] listed) noexcept nogil:
    """Sort indices by rank, in order; `start` has a place for every rank, zeros, and two more."""
    cdef int64_t i
    for i in range(ranks.shape[0]):
        start[ranks[i] + 2] += 1
    for i in range(2, start.shape[0]):
        start[i] += start[i - 1]
    for i in range(ranks.shape[0]):
        listed[start[ranks[i] + 1]] = <int32_t>i
        start[ranks[i] + 1] += 1


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
    if not 1 <= processes < 2**31 - 2:
        raise ValueError(f"{processes} processes: expected from 1 to {2**31 - 3}")
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
    if max(round.size, work.size) >= 2**31:
        raise ValueError(f"{max(round.size, work.size)} messages or works: at most {2**31 - 1}")
    return _finish_times(
        processes, round, sender, receiver, send_overhead, receive_overhead, gap, transit, work_round, worker, work
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
):
    cdef int64_t messages = round.shape[0], works = work.shape[0], i
    cdef int32_t[::1] send_start = np.zeros(processes + 2, np.int32), sends = np.empty(messages + 1, np.int32)
    cdef int32_t[::1] receive_start = np.zeros(processes + 2, np.int32), receives = np.empty(messages + 1, np.int32)
    cdef int32_t[::1] work_start = np.zeros(processes + 2, np.int32), workers = np.empty(works + 1, np.int32)
    cdef int32_t[::1] group = np.empty(messages + 1, np.int32), passed = np.zeros(messages + 1, np.int32)
    cdef int32_t[::1] arrived_message = np.empty(messages + 1, np.int32)
    cdef double[::1] arrived = np.empty(messages + 1)
    cdef char[::1] flying = np.empty((messages + 1) * sizeof(Flying), np.int8)
    cdef char[::1] process = np.zeros(processes * sizeof(Process), np.int8)
    cdef double[::1] tree
    finish = np.empty(processes)
    cdef double[::1] out = finish
    cdef int32_t rank, start, waiting = -1
    cdef Process *one
    cdef Run run
    width = processes
    widths = [width]
    while width > 1:
        width = (width + FAN - 1) // FAN
        widths.append(width)
    tree = np.full(FAN * (sum(widths) // FAN + len(widths)), INFINITY)
    start = 0
    for i in range(len(widths)):
        run.level[i] = &tree[start]
        start += (widths[i] + FAN - 1) // FAN * FAN
    run.top = len(widths) - 1
    with nogil:
        _sort(sender, send_start, sends)
        _sort(receiver, receive_start, receives)
        _sort(worker, work_start, workers)
        run.process = <Process *>&process[0]
        for rank in range(processes):
            one = run.process + rank
            one.last_arrival = -INFINITY
            one.round = -1
            one.send = one.send_stop = send_start[rank]
            one.send_end = send_start[rank + 1]
            one.receive = one.receive_start = one.receive_stop = one.flying_start = receive_start[rank]
            one.receive_end = receive_start[rank + 1]
            one.work = work_start[rank]
            one.work_end = work_start[rank + 1]
            start = one.receive
            for i in range(one.receive, one.receive_end):
                if round[receives[i]] != round[receives[start]]:
                    start = <int32_t>i
                group[receives[i]] = start
        run.round = &round[0]
        run.receiver = &receiver[0]
        run.send_overhead = &send_overhead[0]
        run.receive_overhead = &receive_overhead[0]
        run.gap = &gap[0]
        run.transit = &transit[0]
        run.work_round = &work_round[0]
        run.work = &work[0]
        run.sends = &sends[0]
        run.receives = &receives[0]
        run.works = &workers[0]
        run.group = &group[0]
        run.passed = &passed[0]
        run.arrived = &arrived[0]
        run.arrived_message = &arrived_message[0]
        run.flying = <Flying *>&flying[0]
        run.processes = processes
        run.messages = <uint32_t>messages
        run.immediate = 0
        run.fastest = INFINITY
        for i in range(messages):
            run.fastest = min(run.fastest, send_overhead[i] + transit[i])
        _run(&run)
        for rank in range(processes):
            one = run.process + rank
            out[rank] = one.free
            if one.send < one.send_end or one.receive < one.receive_end:
                waiting = rank
                break
    if waiting >= 0:
        raise ValueError(
            f"process {waiting} never finishes: it waits in round {one.round} for ever, or its times are too large"
        )
    return finish
