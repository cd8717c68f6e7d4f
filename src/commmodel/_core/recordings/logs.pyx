"""Recordings: logs decoded block by block, and the sums over all ranks' calls. The work is in decoder.hpp,
waits.hpp and analysis.hpp.

Main entries: `Decoder` (bytes of a log to calls), `Analysis` (calls of all ranks to sums and waits), `Clock` (ticks to
seconds).
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy
from libcpp cimport bool as cbool
from libcpp.pair cimport pair
from libcpp.string cimport string
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

import numpy as np

from commmodel._core.common.codes import FIELDS

cdef extern from "<optional>" namespace "std" nogil:
    cdef cppclass optional[T]:
        optional()
        optional(T)

cdef extern from "recordings/decoder.hpp" namespace "commmodel::recordings" nogil:
    cdef cppclass _Clock "commmodel::recordings::Clock":
        _Clock(vector[double] ticks, vector[double] seconds, double rate) except +
        double seconds(double ticks)

    cdef struct _Call "commmodel::recordings::Call":
        pass

    cdef struct _Completed "commmodel::recordings::Completed":
        pass

    cdef cppclass Definition:
        int32_t kind
        vector[int64_t] numbers
        vector[string] texts
        vector[double] times

    cdef cppclass _Decoder "commmodel::recordings::Decoder":
        vector[_Call] calls
        vector[int64_t] numbers
        vector[_Completed] completed
        vector[Definition] definitions
        vector[double] begins
        vector[double] ends
        vector[int32_t] codes
        string problem
        cbool has_ended
        int64_t count
        double last
        _Decoder(vector[vector[uint8_t]] fields, vector[uint8_t] known, optional[_Clock] clock) except +
        int64_t decode_calls(const uint8_t *data, int64_t size, int64_t most) except +
        int64_t decode_times(const uint8_t *data, int64_t size, int64_t most) except +
        int64_t decode_definitions(const uint8_t *data, int64_t size, int64_t most) except +
        void forget()

cdef extern from "recordings/waits.hpp" namespace "commmodel::recordings" nogil:
    cdef struct _WaitOfCall "commmodel::recordings::WaitOfCall":
        pass

    cdef cppclass Waits:
        vector[double] of_row, of_rank, of_communicator, caused_by
        unordered_map[uint64_t, double] by_row_and_cause
        vector[double] of_row_by_reason
        vector[_WaitOfCall] of_calls

    cdef enum Reason:
        REASONS

    cdef struct _Transfer "commmodel::recordings::Transfer":
        pass

    cdef cppclass Matching:
        int64_t unmatched_sends, unmatched_receives
        vector[_Transfer] transfers
        size_t open()

    cdef cppclass Collectives:
        int64_t incomplete

    cdef enum Rule:
        pass

cdef extern from "recordings/analysis.hpp" namespace "commmodel::recordings" nogil:
    cdef enum Role:
        pass

    cdef enum Share:
        SHARES

    cdef enum Volume:
        pass

    cdef struct CallKind:
        Role role
        Rule rule
        Share share
        Volume volume

    cdef cppclass View:
        int32_t communicator
        int32_t place
        cbool is_inter

    cdef struct Sums:
        int64_t count
        int64_t bytes
        double seconds

    cdef struct Row:
        int32_t code
        int32_t site
        Sums sums

    cdef struct Cell:
        int64_t messages
        int64_t bytes

    cdef struct RankSums:
        double first
        double last
        double *seconds
        double *main_thread
        int64_t calls
        int64_t messages
        int64_t bytes

    cdef cppclass _Analysis "commmodel::recordings::Analysis":
        Waits waits
        vector[Row] rows
        vector[Sums] by_communicator
        vector[RankSums] of_ranks
        Sums of_sizes[2][65]
        unordered_map[uint64_t, Cell] cells
        Matching matching
        Collectives collectives
        int64_t messages
        int64_t bytes
        _Analysis(
            int64_t ranks, vector[CallKind] kinds, vector[vector[int32_t]] members, vector[vector[int32_t]] groups,
            cbool keeps_transfers
        ) except +
        void define(int32_t rank, vector[int32_t] sites) except +
        void define(int32_t rank, int32_t number, View view, int32_t group) except +
        int64_t read(int32_t rank, _Decoder &log, const uint8_t *data, int64_t size, int64_t most) except +
        void close(int32_t rank) except +

CALL = np.dtype(
    [("begin", np.float64), ("end", np.float64)]
    + [(name, np.int64) for name in ("bytes", "room", "request", "received_bytes", "message")]
    + [(name, np.int64) for name in ("element", "data_flags", "content")]
    + [(f"{name}_at", np.int64) for name in ("requests", "completed", "sent_counts", "received_counts")]
    + [(name, np.int32) for name in ("requests", "completed", "sent_counts", "received_counts")]
    + [(name, np.int32) for name in ("code", "thread", "site", "communicator", "peer", "tag", "root", "operation")]
    + [(name, np.int32) for name in ("source", "received_tag", "flag", "new_communicator", "window", "target")]
    + [(name, np.int32) for name in ("level", "given", "receive_peer", "receive_tag")]
)
COMPLETED = np.dtype([("request", np.int64), ("bytes", np.int64), ("source", np.int32), ("tag", np.int32)])
TRANSFER = np.dtype(
    [(name, np.float64) for name in ("size", "posted", "left", "arrived")]
    + [(name, np.int32) for name in ("sender", "receiver", "tag", "communicator")]
)
assert CALL.itemsize == sizeof(_Call) and COMPLETED.itemsize == sizeof(_Completed)
WAIT_OF_CALL = np.dtype([("begin", np.float64), ("end", np.float64), ("rank", np.int32), ("cause", np.int32)])
assert TRANSFER.itemsize == sizeof(_Transfer) and WAIT_OF_CALL.itemsize == sizeof(_WaitOfCall)


cdef vector[double] _doubles(values):
    cdef vector[double] doubles
    for value in values:
        doubles.push_back(value)
    return doubles


cdef class Clock:
    """Ticks of a rank as seconds of one clock.

    Parameters
    ----------
    ticks, seconds : sequences of float
        The same moments on both clocks; both ascend. Between two of them times are interpolated.
    rate : float
        Ticks per second before the first moment and after the last.
    """

    cdef _Clock *clock

    def __cinit__(self, ticks, seconds, rate):
        if not 0 < len(ticks) == len(seconds):
            raise ValueError("a clock needs moments on both clocks")
        self.clock = new _Clock(_doubles(ticks), _doubles(seconds), rate)

    def __dealloc__(self):
        del self.clock

    def seconds(self, double ticks):
        """Return the time of a tick."""
        return self.clock.seconds(ticks)


cdef object _copied(const void *start, size_t count, dtype):
    """Return an array that has the content of so many items."""
    array = np.empty(count, dtype=dtype)
    cdef uint8_t[::1] raw
    if count:
        raw = array.view(np.uint8)
        memcpy(&raw[0], start, raw.shape[0])
    return array


cdef class Decoder:
    """Decodes one log, piece by piece.

    Each method `decode...` decodes whole records until there are `most` more calls, and returns the bytes that they
    take.

    Parameters
    ----------
    fields : dict
        Code of a call -> names of its fields, in their order.
    clock : Clock, optional
        Turns the times of calls from ticks since the first of the log into seconds.
    """

    cdef _Decoder *decoder

    def __cinit__(self, fields, Clock clock=None):
        cdef vector[vector[uint8_t]] listed
        cdef vector[uint8_t] known
        cdef size_t count = max(fields, default=0) + 1
        listed.resize(count)
        known.resize(count)
        for code, names in fields.items():
            known[<size_t>code] = 1
            for name in names:
                listed[<size_t>code].push_back(FIELDS.index(name))
        cdef optional[_Clock] of_rank
        if clock is not None:
            of_rank = optional[_Clock](clock.clock[0])
        self.decoder = new _Decoder(listed, known, of_rank)

    def __dealloc__(self):
        del self.decoder

    @property
    def problem(self):
        """What is damaged, in words; empty where nothing is."""
        return self.decoder.problem.decode()

    @property
    def has_ended(self):
        """Whether the end of what was written has come before the end of the file."""
        return self.decoder.has_ended

    @property
    def count(self):
        """Calls so far."""
        return self.decoder.count

    @property
    def last(self):
        """End of the last call."""
        return self.decoder.last

    def decode_calls(self, const uint8_t[::1] data not None, int64_t most):
        """Decode all: `take` returns it."""
        cdef int64_t size = data.shape[0]
        if size:
            with nogil:
                size = self.decoder.decode_calls(&data[0], size, most)
        return size

    def decode_times(self, const uint8_t[::1] data not None, int64_t most):
        """Decode times and codes of calls: `take_times` returns them."""
        cdef int64_t size = data.shape[0]
        if size:
            with nogil:
                size = self.decoder.decode_times(&data[0], size, most)
        return size

    def decode_definitions(self, const uint8_t[::1] data not None, int64_t most):
        """Decode what stands between calls, which are counted."""
        cdef int64_t size = data.shape[0]
        if size:
            with nogil:
                size = self.decoder.decode_definitions(&data[0], size, most)
        return size

    def take_times(self):
        """Return begins and ends (float64 arrays) and codes (int32 array) of the calls since the last time."""
        cdef _Decoder *decoder = self.decoder
        begins = _copied(decoder.begins.data(), decoder.begins.size(), np.float64)
        ends = _copied(decoder.ends.data(), decoder.ends.size(), np.float64)
        codes = _copied(decoder.codes.data(), decoder.codes.size(), np.int32)
        decoder.forget()
        return begins, ends, codes

    def take(self):
        """Return what was decoded since the last time: calls, numbers, completed requests, definitions.

        Returns
        -------
        calls : structured array of `CALL`
            Lists are parts of the two arrays that follow: ``numbers[requests_at:][:requests]``.
        numbers : int64 array
        completed : structured array of `COMPLETED`
        definitions : list of (kind, numbers, texts, times)
        """
        cdef _Decoder *decoder = self.decoder
        cdef Definition definition
        calls = _copied(decoder.calls.data(), decoder.calls.size(), CALL)
        numbers = _copied(decoder.numbers.data(), decoder.numbers.size(), np.int64)
        completed = _copied(decoder.completed.data(), decoder.completed.size(), COMPLETED)
        definitions = []
        for definition in decoder.definitions:
            texts = [(<bytes>text).decode("utf-8", "replace") for text in definition.texts]
            definitions.append((definition.kind, list(definition.numbers), texts, list(definition.times)))
        decoder.forget()
        return calls, numbers, completed, definitions


cdef vector[vector[int32_t]] _lists(arrays):
    cdef vector[vector[int32_t]] lists
    cdef const int32_t[::1] values
    cdef Py_ssize_t place
    lists.resize(len(arrays))
    for number, array in enumerate(arrays):
        values = np.ascontiguousarray(array, dtype=np.int32)
        lists[<size_t>number].reserve(values.shape[0])
        for place in range(values.shape[0]):
            lists[<size_t>number].push_back(values[place])
    return lists


cdef class Analysis:
    """Sums over the calls of all ranks, and how long they waited for each other.

    Parameters
    ----------
    ranks : int
    kinds : int32 array, shape (codes, 4)
        Role, rule of waiting, share of the time, and what its bytes are, of each code.
    members : list of int32 arrays
        Ranks of each communicator; of number 0, which stands for none, an empty one.
    groups : list of int32 arrays
        Lists of ranks that `define` names by number.
    keeps_transfers : bool
        Whether `transfers` has each message and `waits_of_calls` each call that waited, for timelines: 48 and 24 bytes
        of memory each.
    """

    cdef _Analysis *analysis
    cdef int64_t ranks

    def __cinit__(self, ranks, kinds, members, groups, keeps_transfers=False):
        cdef vector[CallKind] listed
        cdef CallKind kind
        for role, rule, share, volume in kinds.tolist():
            kind.role, kind.rule = <Role><int>role, <Rule><int>rule
            kind.share, kind.volume = <Share><int>share, <Volume><int>volume
            listed.push_back(kind)
        self.ranks = ranks
        self.analysis = new _Analysis(self.ranks, listed, _lists(members), _lists(groups), keeps_transfers)

    def __dealloc__(self):
        del self.analysis

    cdef int32_t _rank(self, rank) except -1:
        if not 0 <= rank < self.ranks:
            raise ValueError(f"rank {rank}: there are {self.ranks} ranks")
        return rank

    def define(self, rank, sites, views):
        """Name the sites and communicators of a rank.

        Parameters
        ----------
        rank : int
        sites : int32 array
            Number in the recording of each site of the log.
        views : list of (number in the log, number in the recording, this rank's place, is_inter, group of its peers)
        """
        cdef View view
        self.analysis.define(self._rank(rank), _lists([sites])[0])
        for number, communicator, place, is_inter, group in views:
            view.communicator, view.place, view.is_inter = communicator, place, is_inter
            self.analysis.define(self._rank(rank), <int32_t>number, view, <int32_t>group)

    def read(self, rank, Decoder log not None, const uint8_t[::1] data not None, int64_t most):
        """Decode and add the next calls of a rank, whose log has a clock; return the bytes that they take."""
        cdef int32_t number = self._rank(rank)
        cdef int64_t size = data.shape[0]
        if size:
            with nogil:
                size = self.analysis.read(number, log.decoder[0], &data[0], size, most)
        return size

    def close(self, rank):
        """Say that a rank has no more calls: nobody waits for it any longer."""
        cdef int32_t number = self._rank(rank)
        with nogil:
            self.analysis.close(number)

    @property
    def totals(self):
        """Messages and their bytes; sends and receives without a counterpart; collectives that not all entered."""
        cdef _Analysis *all_ = self.analysis
        return (
            all_.messages, all_.bytes, all_.matching.unmatched_sends, all_.matching.unmatched_receives,
            all_.collectives.incomplete,
        )

    @property
    def open(self):
        """Channels with a message or a receive that waits for its counterpart."""
        return self.analysis.matching.open()

    @property
    def rows(self):
        """For each call and site: code, site, count, bytes, seconds, of which waiting.

        Then {rank: waiting for it}, and the waiting for each `Reason`.
        """
        cdef pair[uint64_t, double] cause
        causes = {}
        for cause in self.analysis.waits.by_row_and_cause:
            causes.setdefault(cause.first // self.ranks, {})[cause.first % self.ranks] = cause.second
        cdef size_t number, reason
        cdef Row row
        result = []
        for number in range(self.analysis.rows.size()):
            row = self.analysis.rows[number]
            result.append((
                row.code, row.site, row.sums.count, row.sums.bytes, row.sums.seconds,
                self.analysis.waits.of_row[number], causes.get(number, {}),
                [
                    self.analysis.waits.of_row_by_reason[number * <size_t>REASONS + reason]
                    for reason in range(<int>REASONS)
                ],
            ))
        return result

    @property
    def communicators(self):
        """For each communicator: count of calls, bytes, seconds, of which waiting."""
        cdef size_t number
        cdef Sums sums
        result = []
        for number in range(self.analysis.by_communicator.size()):
            sums = self.analysis.by_communicator[number]
            result.append((sums.count, sums.bytes, sums.seconds, self.analysis.waits.of_communicator[number]))
        return result

    @property
    def sizes(self):
        """For messages, then for collectives: {bits of the number of bytes: (count, bytes, seconds)}."""
        cdef int which, bits
        cdef Sums sums
        result = ({}, {})
        for which in range(2):
            for bits in range(65):
                sums = self.analysis.of_sizes[which][bits]
                if sums.count:
                    result[which][bits] = (sums.count, sums.bytes, sums.seconds)
        return result

    @property
    def of_ranks(self):
        """For each rank: first begin, last end, seconds of each share, those of thread 0, calls, messages, bytes.

        Then what it has waited, and what others have waited for it.
        """
        cdef size_t rank
        cdef int share
        cdef RankSums sums
        result = []
        for rank in range(self.analysis.of_ranks.size()):
            sums = self.analysis.of_ranks[rank]
            seconds = [sums.seconds[share] for share in range(<int>SHARES)]
            main = [sums.main_thread[share] for share in range(<int>SHARES)]
            result.append((
                sums.first, sums.last, seconds, main, sums.calls, sums.messages, sums.bytes,
                self.analysis.waits.of_rank[rank], self.analysis.waits.caused_by[rank],
            ))
        return result

    @property
    def cells(self):
        """Messages from rank to rank: int64 array of source, destination, messages, bytes; sorted."""
        cdef pair[uint64_t, Cell] item
        cdef Py_ssize_t place = 0
        result = np.empty((self.analysis.cells.size(), 4), dtype=np.int64)
        cdef int64_t[:, ::1] table = result
        for item in self.analysis.cells:
            table[place, 0] = item.first // self.ranks
            table[place, 1] = item.first % self.ranks
            table[place, 2] = item.second.messages
            table[place, 3] = item.second.bytes
            place += 1
        return result[np.lexsort((result[:, 1], result[:, 0]))]

    @property
    def transfers(self):
        """Messages that are matched: structured array of `TRANSFER`, in the order in which they were matched."""
        return _copied(self.analysis.matching.transfers.data(), self.analysis.matching.transfers.size(), TRANSFER)

    @property
    def waits_of_calls(self):
        """Calls that waited for another rank, from their begin until then: structured array of `WAIT_OF_CALL`."""
        return _copied(self.analysis.waits.of_calls.data(), self.analysis.waits.of_calls.size(), WAIT_OF_CALL)
