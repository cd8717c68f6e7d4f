"""An interpreter of programs in which nothing takes time: matching, completion and deadlock, as plainly as possible.

A twin of the simulator's engine for what does not depend on time. Sends never block. Main entry: `carry_out`.
"""

from collections import defaultdict, deque
from dataclasses import dataclass, field

from commmodel.simulate.operations import ANY, EVERY_NAMED, UNNAMED, Code, Program


@dataclass
class Carried:
    """What happened."""

    messages: list = field(default_factory=list)
    """(sender, receiver, tag, bytes), in the order in which they were matched."""
    computed: dict = field(default_factory=lambda: defaultdict(float))
    marks: list = field(default_factory=list)
    blocked: list = field(default_factory=list)
    """Ranks that hang."""
    unwaited: int = 0


class Rank:
    def __init__(self, program: Program, rank: int):
        self.program, self.rank = program, rank
        begin, end = program.offsets[rank : rank + 2]
        self.operations = deque(program.operations[begin:end].tolist())
        self.ended = False
        self.requests, self.unnamed = {}, []
        self.posted, self.arrived = [], []
        self.waits = None

    def next(self):
        if not self.operations and not self.ended:
            more = self.program.refill(self.rank) if self.program.refill else ()
            self.operations.extend(more.tolist() if len(more) else ())
            self.ended = not self.operations
        return self.operations[0] if self.operations else None


def _fits(receive, message):
    source, tag = receive[:2]
    return source in (ANY, message[0]) and (message[2] == tag or (tag == ANY and message[2] >= 0))


def _matched(ranks, carried, receiver):
    """Match what can be matched at a rank, receives in the order of their posting, messages in that of coming."""
    for receive in list(receiver.posted):
        for message in receiver.arrived:
            if _fits(receive, message):
                receiver.arrived.remove(message)
                receiver.posted.remove(receive)
                receive[3] = True
                assert receive[2] < 0 or message[3] <= receive[2], f"{message} does not fit into {receive}"
                carried.messages.append(message[:4])
                break


def _step(ranks, carried, rank) -> bool:
    """Carry out the next operation of a rank; return whether that was possible."""
    operation = rank.next()
    if operation is None:
        return False
    code, peer, tag, request, value = operation
    match code:
        case Code.COMPUTE | Code.SLEEP:
            carried.computed[rank.rank] += value
        case Code.MARK:
            carried.marks.append((rank.rank, int(value)))
        case Code.SEND | Code.ISEND:
            ranks[peer].arrived.append((rank.rank, peer, tag, value))
            _matched(ranks, carried, ranks[peer])
            if code == Code.ISEND:
                _keep(rank, request, [ANY, ANY, -1, True])
        case Code.RECV | Code.IRECV:
            if rank.waits is None:
                receive = [peer, tag, value, False]
                rank.posted.append(receive)
                _matched(ranks, carried, rank)
                if code == Code.IRECV:
                    _keep(rank, request, receive)
                else:
                    rank.waits = receive
            if code == Code.RECV:
                if not rank.waits[3]:
                    return False
                rank.waits = None
        case Code.WAIT:
            if request in rank.requests and not rank.requests[request][3]:
                return False
            rank.requests.pop(request, None)
        case Code.WAITALL:
            waited = rank.unnamed if request == UNNAMED else list(rank.requests.values())
            if not all(request[3] for request in waited):
                return False
            if request == UNNAMED:
                rank.unnamed = []
            else:
                assert request == EVERY_NAMED
                rank.requests = {}
        case Code.TEST:
            if request in rank.requests and rank.requests[request][3]:
                del rank.requests[request]
        case _:
            raise AssertionError(f"code {code}")
    rank.operations.popleft()
    return True


def _keep(rank, request, operation):
    if request == UNNAMED:
        rank.unnamed.append(operation)
    else:
        assert request not in rank.requests, f"rank {rank.rank}: two requests of name {request}"
        rank.requests[request] = operation


def carry_out(program: Program) -> Carried:
    ranks = [Rank(program, rank) for rank in range(program.processes)]
    carried = Carried()
    moving = True
    while moving:
        moving = False
        for rank in ranks:
            while _step(ranks, carried, rank):
                moving = True
    carried.blocked = [rank.rank for rank in ranks if rank.next() is not None]
    carried.unwaited = sum(len(rank.requests) + len(rank.unnamed) + len(rank.arrived) for rank in ranks)
    return carried
