"""Programs of ranks as streams of operations, from rounds of messages and from traces. The work is in traces.hpp
and rounds.hpp.

Main entries: `arranged` and `exchanged` (rounds to operations), `Parser` (text of time-independent traces to
operations), `spliced` (collectives of traces put in place).
"""

from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t
from libc.string cimport memcpy
from libcpp cimport bool as cbool
from libcpp.string cimport string
from libcpp.vector cimport vector

import numpy as np

from commmodel._core.program.ordering cimport first_outside, first_unsorted

cdef extern from "program/program.hpp" namespace "commmodel" nogil:
    cdef struct Operation:
        pass

cdef extern from "program/traces.hpp" namespace "commmodel::traces" nogil:
    cdef struct Rounds:
        int64_t processes
        int64_t messages
        int64_t works
        const int64_t *round
        const int64_t *sender
        const int64_t *receiver
        const double *size
        const int64_t *work_round
        const int64_t *worker
        const double *seconds

    cdef struct Piece:
        const Operation *operations
        int64_t count

    cdef struct Call:
        int64_t line
        int32_t rank
        double type_size
        string text

    void count_operations(const Rounds &rounds, int64_t *offsets) except +
    void place_operations(const Rounds &rounds, const int64_t *offsets, int32_t tag, Operation *operations) except +
    cbool place_exchange(
        int64_t processes, int64_t rounds, int64_t round, const int64_t *receiver, const double *size, int32_t tag,
        int32_t *source, Operation *operations
    )
    int64_t spliced_count(const Operation *operations, int64_t count, const vector[Piece] &pieces)
    void splice(const Operation *operations, int64_t count, const vector[Piece] &pieces, Operation *out)

    int64_t _highest_rank "commmodel::traces::highest_rank"(const char *, int64_t, uint8_t *, int64_t)

    cdef cppclass _Parser "commmodel::traces::Parser":
        string problem
        int64_t line
        vector[Call] calls
        int64_t actions
        int64_t skipped
        cbool splits
        int64_t unmatched
        _Parser(int64_t processes, vector[double] speeds) except +
        int64_t processes()
        const vector[Operation] &operations(int64_t rank)
        cbool parse(const char *text, int64_t size, int64_t owner, int64_t first_line, int64_t records) except +
        void forget(int64_t rank)

OPERATION = np.dtype(
    [("code", np.int32), ("peer", np.int32), ("tag", np.int32), ("request", np.int32), ("value", np.float64)]
)


class TraceError(Exception):
    """A line of a trace is damaged."""

    def __init__(self, line, problem):
        super().__init__(f"line {line}: {problem}")
        self.line, self.problem = line, problem


cdef const int64_t[::1] _integers(column):
    return np.ascontiguousarray(column, dtype=np.int64)


def arranged(processes, round, sender, receiver, size, work_round, worker, seconds, tag):  # noqa: A002
    """Return the operations of each rank, and where each rank's begin, for rounds of messages.

    A rank posts the receives of a round, then its sends, in the order listed, waits for all of them, and works. In a
    round without messages of its own it does not wait, and where its work takes no time it does not work.

    Parameters
    ----------
    processes : int
        P, at least 1.
    round, sender, receiver : int64 arrays, shape (messages,)
        Rounds ascend from 0.
    size : float64 array, shape (messages,)
        Bytes.
    work_round, worker : int64 arrays, shape (works,)
        Rounds ascend.
    seconds : float64 array, shape (works,)
        What a rank computes after its messages of that round.
    tag : int
        Of all messages.

    Returns
    -------
    operations : structured array of 24 bytes each, shape (operations,)
    offsets : int64 array, shape (processes + 1,)

    Raises
    ------
    ValueError
        Where rounds do not ascend, ranks are none, or columns have different lengths.
    """
    cdef const int64_t[::1] rounds = _integers(round)
    cdef const int64_t[::1] senders = _integers(sender)
    cdef const int64_t[::1] receivers = _integers(receiver)
    cdef const double[::1] sizes = np.ascontiguousarray(size, dtype=np.float64)
    cdef const int64_t[::1] work_rounds = _integers(work_round)
    cdef const int64_t[::1] workers = _integers(worker)
    cdef const double[::1] work = np.ascontiguousarray(seconds, dtype=np.float64)
    if processes < 1 or len({rounds.shape[0], senders.shape[0], receivers.shape[0], sizes.shape[0]}) > 1:
        raise ValueError("messages: columns of different lengths, or no processes")
    if len({work_rounds.shape[0], workers.shape[0], work.shape[0]}) > 1:
        raise ValueError("works: columns of different lengths")
    for name, column in (("round", rounds), ("work_round", work_rounds)):
        if (wrong := first_unsorted(column, INT64_MAX)) >= 0:
            raise ValueError(f"{name}[{wrong}] is {column[wrong]}: rounds must ascend from 0")
    for name, column in (("sender", senders), ("receiver", receivers), ("worker", workers)):
        if (wrong := first_outside(column, processes)) >= 0:
            raise ValueError(f"{name}[{wrong}] is {column[wrong]}: there are {processes} ranks")
    offsets = np.empty(processes + 1, dtype=np.int64)
    cdef int64_t[::1] starts = offsets
    cdef Rounds all_rounds
    all_rounds.processes = processes
    all_rounds.messages = rounds.shape[0]
    all_rounds.works = work.shape[0]
    all_rounds.round = &rounds[0] if rounds.shape[0] else NULL
    all_rounds.sender = &senders[0] if rounds.shape[0] else NULL
    all_rounds.receiver = &receivers[0] if rounds.shape[0] else NULL
    all_rounds.size = &sizes[0] if rounds.shape[0] else NULL
    all_rounds.work_round = &work_rounds[0] if work.shape[0] else NULL
    all_rounds.worker = &workers[0] if work.shape[0] else NULL
    all_rounds.seconds = &work[0] if work.shape[0] else NULL
    cdef int32_t the_tag = tag
    with nogil:
        count_operations(all_rounds, &starts[0])
    operations = np.empty(int(offsets[processes]), dtype=OPERATION)
    cdef unsigned char[::1] raw = operations.view(np.uint8)
    if operations.size:
        with nogil:
            place_operations(all_rounds, &starts[0], the_tag, <Operation *>&raw[0])
    return operations, offsets


def exchanged(processes, receivers, sizes, tag):
    """Return what `arranged` does for rounds in each of which every rank sends one message and receives one.

    Parameters
    ----------
    processes, tag
        As of `arranged`.
    receivers, sizes : lists of arrays, shape (processes,)
        For each round: whom each rank sends to, and how many bytes.

    Returns
    -------
    operations, offsets
        As of `arranged`; None instead of both where in some round two ranks send to the same one.

    Raises
    ------
    ValueError
        Where in some round not every rank sends one message.
    """
    cdef int64_t ranks = processes, rounds = len(receivers), number
    cdef int32_t the_tag = tag
    cdef const int64_t[::1] receiver
    cdef const double[::1] size
    cdef vector[int32_t] source
    cdef cbool right
    source.resize(ranks)
    operations = np.empty(3 * ranks * rounds, dtype=OPERATION)
    if not operations.size:
        return operations, np.zeros(ranks + 1, dtype=np.int64)
    cdef unsigned char[::1] raw = operations.view(np.uint8)
    for number in range(rounds):
        receiver = _integers(receivers[number])
        size = np.ascontiguousarray(sizes[number], dtype=np.float64)
        if receiver.shape[0] != ranks or size.shape[0] != ranks:
            raise ValueError("every rank of an exchange must send one message")
        right = place_exchange(
            ranks, rounds, number, &receiver[0], &size[0], the_tag, source.data(), <Operation *>&raw[0]
        )
        if not right:
            return None
    return operations, np.arange(ranks + 1, dtype=np.int64) * (3 * rounds)


def spliced(operations, pieces):
    """Return operations whose markers have been replaced by the operations of what they call.

    Parameters
    ----------
    operations : structured array, shape (operations,)
        What `Parser` returns.
    pieces : list of structured arrays
        For each call the operations of this rank.
    """
    cdef vector[Piece] parts
    cdef Piece part
    cdef const unsigned char[::1] raw
    kept = [np.ascontiguousarray(piece, dtype=OPERATION) for piece in pieces]
    for piece in kept:
        raw = piece.view(np.uint8)
        part.operations = <const Operation *>&raw[0] if piece.size else NULL
        part.count = piece.size
        parts.push_back(part)
    listed = np.ascontiguousarray(operations, dtype=OPERATION)
    if not listed.size:
        return listed
    if int((np.where(listed["code"] == -1, listed["request"], -1)).max()) >= len(kept):
        raise ValueError("a marker of a call for which there are no operations")
    cdef const unsigned char[::1] before = listed.view(np.uint8)
    cdef int64_t count = listed.size
    result = np.empty(int(spliced_count(<const Operation *>&before[0], count, parts)), dtype=OPERATION)
    cdef unsigned char[::1] after = result.view(np.uint8)
    if result.size:
        with nogil:
            splice(<const Operation *>&before[0], count, parts, <Operation *>&after[0])
    return result


def highest_rank(bytes text, unsigned char[::1] seen not None):
    """Return the highest number with which a line begins, -1 where none does; `seen` notes 1 for each that occurs."""
    return _highest_rank(text, len(text), &seen[0] if seen.shape[0] else NULL, seen.shape[0])


cdef class Parser:
    """Reads the text of time-independent traces, piece by piece, of many ranks.

    Parameters
    ----------
    processes : int
        P.
    speeds : float64 array, shape (processes,)
        Flops per second of each rank's processor.
    """

    cdef _Parser *parser

    def __cinit__(self, processes, speeds):
        cdef vector[double] listed
        cdef double speed
        for speed in np.asarray(speeds, dtype=np.float64).tolist():
            listed.push_back(speed)
        if processes < 1 or <int64_t>listed.size() != processes:
            raise ValueError(f"{listed.size()} speeds for {processes} processes")
        self.parser = new _Parser(processes, listed)

    def __dealloc__(self):
        del self.parser

    @property
    def actions(self):
        """Lines with an action, read so far."""
        return self.parser.actions

    @property
    def splits(self):
        """Whether communicators of some ranks are made or asked for, and no line says which ranks they have."""
        return self.parser.splits

    @property
    def skipped(self):
        """Actions read so far that take no time: communicators made, ends of ranks."""
        return self.parser.skipped

    @property
    def unmatched(self):
        """Waits and tests read so far of requests that there were not."""
        return self.parser.unmatched

    cdef list _parse(self, bytes text, int64_t owner, int64_t line, int64_t records=0):
        cdef const char *start = text
        cdef int64_t size = len(text)
        cdef Call call
        cdef cbool right
        with nogil:
            right = self.parser.parse(start, size, owner, line, records)
        if not right:
            raise TraceError(self.parser.line, self.parser.problem.decode("ascii", "replace"))
        calls = []
        for call in self.parser.calls:
            calls.append((call.line, call.rank, call.type_size, (<bytes>call.text).decode("ascii", "replace")))
        return calls

    cdef void _take(self, int64_t rank, unsigned char *place) noexcept:
        cdef size_t count = self.parser.operations(rank).size()
        if count:
            memcpy(place, self.parser.operations(rank).data(), count * sizeof(Operation))
        self.parser.forget(rank)

    def parse(self, bytes text, rank, line, records=0):
        """Return operations of one rank, the calls that their markers name, and the lines read so far.

        Parameters
        ----------
        text : bytes
            Whole lines.
        rank : int
            Whose lines they are.
        line : int
            Lines before these.
        records : int
            Collectives that are no text: a line ``collective NUMBER COMMUNICATOR`` stands for one of them, and with
            the communicator -1 for the definition of one. Such markers have these numbers.

        Returns
        -------
        operations : structured array
            A collective is one operation of code -1: `request` is the number of its call, `tag` its messages' tag.
        calls : list of (line, rank, bytes of the default type, action and its arguments)
        line : int

        Raises
        ------
        TraceError
            Naming the line.
        """
        cdef int64_t owner = rank
        if not 0 <= owner < self.parser.processes():
            raise ValueError(f"rank {rank}: there are {self.parser.processes()} ranks")
        calls = self._parse(text, owner, line, records)
        operations = np.empty(int(self.parser.operations(owner).size()), dtype=OPERATION)
        cdef unsigned char[::1] raw = operations.view(np.uint8)
        self._take(owner, &raw[0] if operations.size else NULL)
        return operations, calls, self.parser.line

    def parse_merged(self, bytes text, line):
        """Return operations of all ranks, where each rank's begin, the calls and the lines read so far; see `parse`."""
        cdef int64_t rank, processes = self.parser.processes()
        calls = self._parse(text, -1, line)
        offsets = np.zeros(processes + 1, dtype=np.int64)
        cdef int64_t[::1] starts = offsets
        for rank in range(processes):
            starts[rank + 1] = starts[rank] + <int64_t>self.parser.operations(rank).size()
        operations = np.empty(int(offsets[processes]), dtype=OPERATION)
        cdef unsigned char[::1] raw = operations.view(np.uint8)
        for rank in range(processes):
            if starts[rank + 1] > starts[rank]:
                self._take(rank, &raw[starts[rank] * <int64_t>sizeof(Operation)])
        return operations, offsets, calls, self.parser.line
