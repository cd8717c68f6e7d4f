"""Runs the ranks of a program in turn and hands what they do to the engine: the Python side of pump.hpp.

Main entry: `Pump`.
"""

from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, strncpy
from libcpp cimport bool as cpp_bool

from commmodel._core.program.run cimport Live, Operation

import os

import numpy as np

cdef extern from "Python.h":
    int PyErr_CheckSignals() except -1

cdef extern from "online/pump.hpp" nogil:
    cdef int ONLINE_ABORTED
    cdef int ONLINE_FINALIZED
    cdef int ONLINE_NAME
    cdef int ONLINE_DEFINITION
    cdef enum:
        ONLINE_LISTED
        LARGEST_TAG "commmodel::LARGEST_TAG"

    cdef struct _Collective "online_call":
        int32_t operation, root, communicator, operator_kind
        int64_t sent, received, element
        int32_t in_place, sent_count, received_count, is_pending, is_derived
        int64_t *counts

    cdef struct _Call "online_recorded_call":
        double seconds
        int64_t number

    cdef struct online_recorded:
        uint64_t count
        _Call *calls

    cdef struct _List "online_list":
        uint64_t at
        int32_t count

    cdef struct _Decision "online_decision":
        int32_t kind, choice, prescribed, tag, posting, stamp
        int64_t order, message
        uint64_t site, other_site

    cdef struct _Arrival "online_arrival":
        int32_t posting, source, tag
        int64_t number
        uint64_t clock

    cdef struct _Candidate "online_candidate":
        int32_t decision, index, posting, is_complete

    cdef struct online_rank:
        int32_t state, exit_code, process, host_number
        char misplaced[1]
        uint32_t calls
        uint64_t recorded, memory, call_site, command, choices
        int32_t choice_count
        _List decisions, arrivals, candidates
        char host[128]

    cdef struct _Command "online_command":
        int64_t length
        const char *words

    cdef struct online_message:
        int64_t bytes
        int32_t source, tag
        uint64_t number, call_site, clock

    cdef struct online_open_request:
        int32_t rank
        uint64_t call_site

    cdef struct online_finding:
        uint64_t next, kind, sentence, site, other_site, times
        unsigned char *ranks

    cdef struct online_world:
        double compute_factor
        online_rank *rank
        uint64_t recorded_names
        int32_t recorded_name_count, threads, blas, begins_at_call
        char clock[256]
        char error[256]
        int32_t has_simulated_clocks
        int64_t real_epoch, monotonic_epoch
        char sleep_site[256]
        int32_t has_storage, has_files, first_ranks
        int64_t open_request_count
        online_open_request *open_requests
        int32_t is_checked, notes_decisions, is_repeated, ranks
        uint64_t first_finding, first_use
        char error_kind[64]

cdef extern from "online/pump.hpp" namespace "commmodel" nogil:
    cdef struct _Storage "commmodel::Storage":
        double bandwidth, latency, client

    cdef struct _Calls "commmodel::Pump::Calls":
        void *context
        cpp_bool (*start)(void *, int32_t) noexcept nogil
        cpp_bool (*look)(void *, int32_t, cpp_bool *) noexcept nogil
        cpp_bool (*end)(void *, int32_t) noexcept nogil
        cpp_bool (*expand)(
            void *, int32_t, int32_t, int32_t, const _Collective *, const Operation **, int64_t *, cpp_bool *
        ) noexcept nogil
        cpp_bool (*disturb)(void *, int32_t, int32_t, const Operation **, int64_t *) noexcept nogil
        cpp_bool (*begun)(void *, cpp_bool) noexcept nogil

    cdef struct _Step "commmodel::Unbuffered::Step":
        int32_t code, peer, tag, request
        double value
        uint64_t site

    cdef cppclass _Pump "commmodel::Pump"(Live):
        _Calls calls
        _Storage storage
        _Pump(int32_t ranks, int descriptor, uint64_t memory_size) except +
        _Pump(_Pump *beginning) except +
        online_world &world()
        void *allocate(uint64_t size, uint64_t &offset) except +
        const char *call_site(int32_t rank, int32_t step)
        const char *last_call_site(int32_t rank)
        int64_t unreceived(int32_t rank, const online_message **listed, int32_t room)
        const char *text(uint64_t offset)
        void spare(int32_t first_ranks) except +
        void begin_only(int descriptor) except +
        int32_t copy_of(int32_t rank)
        const online_finding *finding(uint64_t offset)
        void look_without_buffers() except +
        void mark_sites() except +
        uint64_t marked_site(size_t number)
        const _Step *hanging_without_buffers(int32_t rank, const _Step **begun)
        const void *at(uint64_t offset)


cdef cpp_bool _start(void *context, int32_t rank) noexcept with gil:
    pump = <Pump>context
    try:
        pump.processes.start(rank, pump.command(rank))
        return True
    except BaseException as error:
        pump.raised = error
        return False


cdef cpp_bool _look(void *context, int32_t rank, cpp_bool *waits) noexcept with gil:
    pump = <Pump>context
    try:
        PyErr_CheckSignals()
        waits[0] = pump.processes.look(rank, pump.state(rank))
        return True
    except BaseException as error:
        pump.raised = error
        return False


cdef cpp_bool _end(void *context, int32_t rank) noexcept with gil:
    pump = <Pump>context
    try:
        pump.processes.end(rank)
        return True
    except BaseException as error:
        pump.raised = error
        return False


cdef cpp_bool _begun(void *context, cpp_bool may_be_copied) noexcept with gil:
    pump = <Pump>context
    try:
        pump.processes.begun(may_be_copied)
        return True
    except BaseException as error:
        pump.raised = error
        return False


cdef cpp_bool _disturb(
    void *context, int32_t number, int32_t rank, const Operation **begin, int64_t *count
) noexcept with gil:
    pump = <Pump>context
    cdef unsigned char[::1] given
    cdef const unsigned char[::1] view
    try:
        given = <unsigned char[: count[0] * sizeof(Operation)]><unsigned char *>begin[0]
        loud, steps = pump.noise(rank, np.array(given))
        pump.loud[number] = np.ascontiguousarray(loud).reshape(-1).view(np.uint8), steps
        view = pump.loud[number][0]
        begin[0] = <const Operation *>&view[0]
        count[0] = view.shape[0] // sizeof(Operation)
        return True
    except BaseException as error:
        pump.raised = error
        return False


cdef object _integers(const int64_t *first, int32_t count):
    values = np.empty(count, dtype=np.int64)
    cdef int64_t[::1] view = values
    if count > 0:
        memcpy(&view[0], first, count * sizeof(int64_t))
    return values


cdef object _sent(const _Collective *call):
    return _integers(call.counts, call.sent_count)


cdef object _received(const _Collective *call):
    return _integers(call.counts + call.sent_count, call.received_count)


cdef tuple _fields(const _Collective *call):
    """Return the fields of a `CollectiveCall` in their order, with operation and operator as numbers."""
    return (
        call.operation, call.sent, call.received, call.root, call.element, call.operator_kind, call.in_place != 0,
        call.communicator, tuple(_sent(call).tolist()), tuple(_received(call).tolist()), 0.0, 1,
        call.is_pending != 0, call.is_derived != 0,
    )


cdef cpp_bool _expand(
    void *context, int32_t number, int32_t rank, int32_t tag, const _Collective *call, const Operation **begin,
    int64_t *count, cpp_bool *rest,
) noexcept with gil:
    pump = <Pump>context
    cdef const unsigned char[::1] view
    count[0] = 0
    try:
        if call == NULL:
            operations, pending = pump.collectives.next(number)
        elif call.operation == ONLINE_DEFINITION:
            pump.collectives.define(rank, call.communicator, _sent(call), _received(call))
            return True
        else:
            operations, pending = pump.collectives.begin(number, rank, tag, _fields(call))
        rest[0] = pending
        if operations.size == 0:
            return True
        pump.held[number] = np.ascontiguousarray(operations).reshape(-1).view(np.uint8)
        view = pump.held[number]
        begin[0] = <const Operation *>&view[0]
        count[0] = view.shape[0] // sizeof(Operation)
        return True
    except BaseException as error:
        pump.raised = error
        return False


def least_memory(ranks):
    """Return the bytes of the memory that so many ranks share, before they put anything there."""
    return sizeof(online_world) + sizeof(online_rank) * <size_t>ranks


cdef class Pump:
    """The ranks of a program as the engine's source of operations.

    Parameters
    ----------
    ranks : int
        P.
    descriptor : int
        Of the file of the shared memory, whose size is reserved and which is empty.
    processes
        ``start(rank)``, ``look(rank, state)`` and ``end(rank)`` start a rank's process, look after all of them and say
        whether this one waits outside MPI, and wait for the end of one.
    collectives
        ``begin(number, rank, tag, fields)`` and ``next(number)`` return operations of a collective, and whether more
        may follow; the number is the rank's, or that of what it does beside its own operations. The fields are those
        of a `commmodel.collectives.call.CollectiveCall`, with numbers for names.
        ``define(rank, communicator, members, remote)`` takes the ranks of a communicator. Where ``begins_at_call``,
        non-blocking ones begin when they are called.
    compute_factor : float
        Simulated seconds for each second of computation.
    hosts : sequence of (int, str)
        Number and name of each rank's host.
    beginning : Pump, optional
        Made with `copies`, from which copies of its ranks go on; what is given there holds here, too. The descriptor is
        its own, and its last run is over.
    copies : bool
        Whether a run ends where something is to be decided, as ``processes.begun(may_be_copied)`` raises, so that
        others go on from there: the size of the memory is that of both.
    """

    cdef _Pump *_pump
    cdef readonly object processes, collectives, live
    cdef readonly dict held, loud
    cdef readonly object noise
    cdef public object raised
    cdef Pump _beginning

    def __cinit__(self, ranks, descriptor, processes, collectives, compute_factor, hosts, beginning=None, copies=False):
        self._beginning = beginning
        if beginning is None:
            self._pump = new _Pump(ranks, descriptor, os.fstat(descriptor).st_size // (2 if copies else 1))
        else:
            self._pump = new _Pump(self._beginning._pump)
        self.processes, self.collectives = processes, collectives
        self.held, self.loud, self.noise = {}, {}, None
        self.raised = None
        cdef _Calls *calls = &self._pump.calls
        calls.context = <void *>self
        calls.start, calls.look, calls.end, calls.expand, calls.begun = _start, _look, _end, _expand, _begun
        if copies:
            self._pump.begin_only(descriptor)
        cdef online_world *world = &self._pump.world()
        world.compute_factor = compute_factor
        world.begins_at_call = collectives.begins_at_call
        for rank, (number, name) in enumerate(hosts if beginning is None else ()):
            encoded = name.encode("ascii", "replace")[:127]
            strncpy(world.rank[<int>rank].host, encoded, 127)
            world.rank[<int>rank].host_number = number
        self.live = PyCapsule_New(<void *><Live *>self._pump, "commmodel.live", NULL)

    def __dealloc__(self):
        del self._pump

    def copy_of(self, int rank):
        """Return the process of the copy of a rank that this beginning has made last; 0 where it is not known yet."""
        return self._pump.copy_of(rank)

    def state(self, int rank):
        """Return a rank's state, its exit code where it has called MPI_Abort, what it says, and the kind of that."""
        cdef online_world *world = &self._pump.world()
        cdef online_rank *shared = &world.rank[rank]
        name = {ONLINE_ABORTED: "aborted", ONLINE_FINALIZED: "finalized"}.get(shared.state, "running")
        if shared.misplaced[0] and shared.state != ONLINE_ABORTED:
            return name, shared.exit_code, (<char *>shared.misplaced).decode("utf-8", "replace"), "misplaced call"
        return name, shared.exit_code, world.error.decode("utf-8", "replace"), world.error_kind.decode("ascii")

    def memory(self, int rank):
        """Return the bytes that a rank shares with no other; of the first ranks, once they have waited or ended."""
        return self._pump.world().rank[rank].memory

    def progress(self, int rank):
        """Return the number of a rank's process, 0 before MPI begins, and how many calls of MPI it has made."""
        cdef online_rank *shared = &self._pump.world().rank[rank]
        return shared.process, shared.calls

    def last_call(self, int rank):
        """Return where in the program a rank's last call is, as `call_site` does; empty before the first."""
        cdef const char *text = self._pump.last_call_site(rank)
        return [] if text == NULL else text.decode("utf-8", "replace").split("\n")

    def compare(self, names):
        """Let calls of these names be those of a recording."""
        cdef online_world *world = &self._pump.world()
        cdef char *at = <char *>self._pump.allocate(len(names) * ONLINE_NAME, world.recorded_names)
        for number, name in enumerate(names):
            strncpy(at + <int>number * ONLINE_NAME, name.encode("ascii") + b"\0", ONLINE_NAME - 1)
        world.recorded_name_count = len(names)

    def record(self, int rank, const int64_t[::1] numbers, const double[::1] seconds):
        """Give the recorded calls of a rank: the numbers of their names, and the computation before each."""
        cdef int64_t count = numbers.shape[0], i
        cdef uint64_t size = sizeof(online_recorded) + <uint64_t>count * sizeof(_Call)
        cdef online_recorded *recorded = <online_recorded *>self._pump.allocate(
            size, self._pump.world().rank[rank].recorded
        )
        recorded.count = count
        for i in range(count):
            recorded.calls[i].seconds = seconds[i]
            recorded.calls[i].number = numbers[i]

    def set_clocks(self, bint are_simulated, int64_t real, int64_t monotonic):
        """Say whether all clocks speak simulated time, and their nanoseconds when it begins."""
        cdef online_world *world = &self._pump.world()
        world.has_simulated_clocks = are_simulated
        world.real_epoch, world.monotonic_epoch = real, monotonic

    def sleep(self):
        """Return where in the program the first sleep is, where clocks are those of this machine; else empty."""
        words = self._pump.world().sleep_site.decode("utf-8", "replace")
        return words.split("\n") if words else []

    def store(self, double bandwidth, double latency, double client):
        """Give the storage that files are on: bytes per second, seconds of each operation, bytes per second of a host.

        No bandwidth, or that of a host: it is unlimited.
        """
        self._pump.storage.bandwidth, self._pump.storage.latency = bandwidth, latency
        self._pump.storage.client = client
        self._pump.world().has_storage = True

    def spare(self, int first_ranks):
        """Let only the first ranks begin: the others may be spawned."""
        self._pump.spare(first_ranks)

    def command(self, int rank):
        """Return folder, program and arguments of a rank that another one has spawned; None of the first ones."""
        cdef uint64_t offset = self._pump.world().rank[rank].command
        if offset == 0:
            return None
        cdef const _Command *command = <const _Command *><const void *>self._pump.text(offset)
        words = command.words[:command.length].split(b"\0")
        words.pop()
        return [word.decode("utf-8", "surrogateescape") for word in words]

    def has_untimed_files(self):
        """Return whether a file has been opened where the storage is not simulated."""
        return bool(self._pump.world().has_files and not self._pump.world().has_storage)

    def unsimulated(self):
        """Return what ranks have used that is not simulated.

        Returns
        -------
        list of str
            A clock, and where: function, file, line, function of the program, number of the language; or empty.
        bool
            Whether threads have been started.
        bool
            Whether a library is loaded that could have several threads.
        """
        cdef online_world *world = &self._pump.world()
        clock = world.clock.decode("utf-8", "replace")
        return clock.split("\n") if clock else [], bool(world.threads), bool(world.blas)

    def unreceived(self, int rank):
        """Return what a rank has not received.

        Returns
        -------
        int
            Number of messages.
        list of (int, int, int, list of str)
            Source, tag, bytes and call site, as of `call_site`, of the first ones.
        """
        cdef const online_message *listed[ONLINE_LISTED]
        cdef int64_t count = self._pump.unreceived(rank, listed, ONLINE_LISTED), i
        return count, [
            (listed[i].source, listed[i].tag & LARGEST_TAG, listed[i].bytes, self._words(listed[i].call_site))
            for i in range(min(count, ONLINE_LISTED))
        ]

    def open_requests(self):
        """Return the number of requests that ranks have not completed, and rank and call site of the first ones."""
        cdef online_world *world = &self._pump.world()
        cdef int64_t count = world.open_request_count, i
        return count, [
            (world.open_requests[i].rank, self._words(world.open_requests[i].call_site))
            for i in range(min(count, ONLINE_LISTED))
        ]

    def disturb(self, noise):
        """Put noise into the operations of ranks.

        ``noise(rank, operations)`` takes their bytes (uint8), and returns others, and for each of these the place of
        the one that it is of.
        """
        self.noise = noise
        self._pump.calls.disturb = _disturb

    def check(self):
        """Let wrong uses of MPI be findings."""
        self._pump.world().is_checked = 1

    def findings(self):
        """Return the wrong uses of MPI that ranks have found: kind, sentence, ranks, times, and sites of calls."""
        return self._listed(self._pump.world().first_finding)

    def uses(self):
        """Return what calls have done with memory near variables, in the same way."""
        return self._listed(self._pump.world().first_use)

    cdef _listed(self, uint64_t first):
        cdef online_world *world = &self._pump.world()
        cdef const online_finding *finding = self._pump.finding(first)
        listed = []
        while finding != NULL:
            ranks = tuple(rank for rank in range(world.ranks) if finding.ranks[<int>rank // 8] >> <int>rank % 8 & 1)
            sites = [self._words(finding.site), self._words(finding.other_site)]
            kind = self._pump.text(finding.kind).decode("ascii")
            sentence = self._pump.text(finding.sentence).decode("utf-8", "replace")
            listed.append((kind, sentence, ranks, finding.times, [words for words in sites if words]))
            finding = self._pump.finding(finding.next)
        return listed

    def note_decisions(self, choices):
        """Let ranks note what time decides; `choices` are those of each rank's first decisions, -1 for free ones."""
        cdef online_world *world = &self._pump.world()
        cdef int32_t *listed
        world.notes_decisions = 1
        for rank, prescribed in choices.items():
            listed = <int32_t *>self._pump.allocate(4 * len(prescribed) + 4, world.rank[<int>rank].choices)
            for i, choice in enumerate(prescribed):
                listed[<int>i] = choice
            world.rank[<int>rank].choice_count = len(prescribed)

    def repeat(self):
        """Say that the program has run before: ranks do not look at what notes would say again."""
        self._pump.world().is_repeated = 1

    def decisions(self, int rank):
        """Return what time has decided on a rank.

        Returns
        -------
        list of tuple
            Decisions: kind (enum decision_kind of decisions.h), choice, prescribed choice, tag, postings before, stamp,
            order, number of the message, and two call sites, as of `call_site`.
        list of tuple
            Messages that have arrived, or were sent and not received: number of the receive, -1 where there is none,
            source, tag, number, and the clock of the sender's decisions, None where it is zero.
        list of tuple
            Requests that another choice would have completed: decision, place, number of the receive, whether it is
            complete already.
        """
        cdef online_rank *shared = &self._pump.world().rank[rank]
        cdef const _Decision *decision = <const _Decision *>self._pump.at(shared.decisions.at)
        cdef const _Arrival *arrival = <const _Arrival *>self._pump.at(shared.arrivals.at)
        cdef const _Candidate *candidate = <const _Candidate *>self._pump.at(shared.candidates.at)
        cdef int i
        decisions = [
            (
                decision[i].kind, decision[i].choice, decision[i].prescribed, decision[i].tag, decision[i].posting,
                decision[i].stamp, decision[i].order, decision[i].message, self._words(decision[i].site),
                self._words(decision[i].other_site),
            )
            for i in range(shared.decisions.count)
        ]
        arrivals = [
            (
                arrival[i].posting, arrival[i].source, arrival[i].tag, arrival[i].number, self._clock(arrival[i].clock)
            )
            for i in range(shared.arrivals.count)
        ]
        candidates = [
            (candidate[i].decision, candidate[i].index, candidate[i].posting, bool(candidate[i].is_complete))
            for i in range(shared.candidates.count)
        ]
        return decisions, arrivals + self._left(rank), candidates

    cdef list _left(self, int rank):
        """Return the messages that a rank has not received, as those that have arrived."""
        cdef const online_message *listed[1024]
        cdef int64_t count = self._pump.unreceived(rank, listed, 1024), i
        return [
            (-1, listed[i].source, listed[i].tag, listed[i].number, self._clock(listed[i].clock))
            for i in range(min(count, 1024))
        ]

    cdef object _clock(self, uint64_t offset):
        cdef const int32_t *values = <const int32_t *>self._pump.at(offset)
        if offset == 0:
            return None
        return tuple([values[rank] for rank in range(self._pump.world().ranks)])

    def look_without_buffers(self):
        """See beside the simulation whether ranks come as far where no send ends before its receive."""
        self._pump.look_without_buffers()

    def hanging_without_buffers(self, int rank):
        """Return what a rank hangs in without buffers, and what began that where it is a wait; None where it does not.

        Returns
        -------
        tuple, or None
            Two times code, peer, tag, bytes and call site, as of `call_site`; the second is None but for waits.
        """
        cdef const _Step *begun = NULL
        cdef const _Step *step = self._pump.hanging_without_buffers(rank, &begun)
        if step == NULL:
            return None
        return self._step(step), None if begun == NULL else self._step(begun)

    cdef object _step(self, const _Step *step):
        return [step.code, step.peer, step.tag, step.value, self._words(step.site)]

    cdef list _words(self, uint64_t site):
        cdef const char *text = self._pump.text(site)
        return [] if text == NULL else text.decode("utf-8", "replace").split("\n")

    def mark_sites(self):
        """Have operations of each call site follow a mark with its number."""
        self._pump.mark_sites()

    def marked_sites(self):
        """Return where in the program the sites of marks are, by their numbers, as `call_site` does."""
        cdef uint64_t site
        sites = []
        while (site := self._pump.marked_site(len(sites))) != 0:
            sites.append(self._words(site))
        return sites

    def call_site(self, int rank, int step):
        """Return where in the program an operation comes from.

        Parameters
        ----------
        rank, step : int
            The operation is so many behind the first of those that the rank has given last.

        Returns
        -------
        list of str
            Call, file, line, function and number of the language; empty where that is not known.
        """
        if rank in self.loud and 0 <= step < self.loud[rank][1].size:
            step = self.loud[rank][1][step]
        cdef const char *text = self._pump.call_site(rank, step)
        return [] if text == NULL else text.decode("utf-8", "replace").split("\n")
