"""What a rank does at a time: the states and their words, those of tables, pages, timelines, JSON and what-if alike.

A faster network shortens transfers, balanced work shortens waits:

compute, sleep
    Outside MPI.
send, receive
    In a call that sends, or in one that receives, since its message has left; and the overheads of messages that the
    rank handles in other calls.
transfer
    In a call that waits for requests, while a message to or from the rank is in flight: it has left and has not
    arrived. Of a recording: the rest of the time in communication, of collectives too.
wait
    In MPI, while nothing of the rank moves: in a call that waits for requests, while none of its messages is in flight;
    in a receive that is called before its message leaves, until one does; in a send whose receive is not posted yet,
    until it is; in a deadlock, until the end. Of a recording: until another rank has come to its part of the operation
    (`commmodel.record.profiles`).
files
    In calls on files; of a simulation, where the storage is simulated.
start and end
    Of a recording: in starting and ending MPI.
idle
    None of these, mostly after a rank's end, until the last one ends.

The engines tell waits from transfers while they simulate; in timelines of other programs
`commmodel.simulate.timeline.split_waits` does, in recordings their analysis.
"""

from commmodel._core.common.codes import State

SIMULATED = tuple(State)[: State.FILES + 1]
"""States of simulated ranks."""
STATE_NAMES = tuple(state.name.lower().replace("_", " ") for state in State)
"""Words of the states, in the order of their numbers."""
COLOURS: dict[int, tuple[str, str]] = {
    State.COMPUTE: ("#0072b2", "#56b4e9"),
    State.SEND: ("#d55e00", "#f0904e"),
    State.RECEIVE: ("#009e73", "#35c79c"),
    State.WAIT: ("#e3b52a", "#e8cc5a"),
    State.SLEEP: ("#a9b1ba", "#7d8792"),
    State.TRANSFER: ("#cc79a7", "#d9a0c3"),
    State.FILES: ("#8a6d3b", "#b59a6a"),
    State.START_AND_END: ("#5c6670", "#9aa5b1"),
}
"""State -> its colour on a light page and on a dark one (Okabe and Ito)."""
IDLE = "idle"
"""Word of the time in none of them."""
