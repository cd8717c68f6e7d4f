"""Collectives of a running program as operations. Main entry: `Collectives`."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from commmodel.collectives.between_groups import between_groups
from commmodel.collectives.call import MOVED, CollectiveCall
from commmodel.collectives.library.smpi_selection import Selection
from commmodel.collectives.operation import OPERATORS
from commmodel.collectives.settings import CollectiveSettings
from commmodel.errors import InputError
from commmodel.simulate.operations import ANY, OPERATION, Code, Operations
from commmodel.simulate.work.collective_calls import Caller
from commmodel.simulate.work.collective_expansion import Expander
from commmodel.simulate.work.communicators import Ranks

_MARKER = -1
_FIRST_NAME = 1 << 25
"""Of requests between groups, `EXPANDED_NAMES` of pump.hpp: far from those of programs and of SMPI's algorithms."""
_OPERATIONS = tuple(MOVED)
"""By their numbers in the library of simulated programs."""


class Collectives:
    """Turns collective calls of ranks into operations; `speeds` are the flops per second of each rank's processor.

    `earlier` is that of another run of the same program, which is over.
    """

    def __init__(
        self,
        processes: int,
        speeds: Sequence[float],
        settings: CollectiveSettings,
        earlier: "Collectives | None" = None,
    ) -> None:
        self._expander: Expander = (
            Expander(processes, speeds, settings, is_replayed=False) if earlier is None else earlier._expander.again()
        )
        self._caller = Caller(processes, self._expander, lambda _, rank, problem: InputError(f"rank {rank}: {problem}"))
        self._groups: dict[tuple[int, int], tuple[int, Ranks]] = {}
        self._remote_groups: dict[int, Ranks] = {}
        self._names = 0
        self.begins_at_call = isinstance(settings.library, Selection)
        """Whether non-blocking collectives begin when they are called, as SMPI's, and not when they are waited for."""
        self._marker = np.array([(_MARKER, ANY, 0, 0, 0.0)], dtype=OPERATION)

    def define(self, rank: int, number: int, members: Ranks, remote: Ranks) -> None:
        """Take the ranks of a communicator, as one of them gives them; of an intercommunicator those of both groups."""
        if remote.size:  # each group has collectives of its own, under a number that no communicator has
            local = -2 * number - int(members[0] < remote[0])
            self._groups[rank, number] = local, self._remote_groups.setdefault(local, remote)
            number = local
        self._expander.communicators.define(number, members, rank)

    def begin(self, number: int, rank: int, tag: int, fields: tuple[Any, ...]) -> tuple[Operations, bool]:
        """Return a rank's first operations of a collective, and whether more may follow under that number.

        What is complete stands for all calls of the rank with these fields, so one that may differ next time is not.
        `fields` are those of a `CollectiveCall`, with the numbers of operation and operator.
        """
        call = CollectiveCall(*fields)
        call = call._replace(operation=_OPERATIONS[fields[0]], operator=OPERATORS[fields[5]], unit=call.element or 1)
        self._marker["tag"] = tag
        try:
            operations, calls = self._marker, [call]
            if (rank, call.communicator) in self._groups:
                operations, calls = self._between_groups(call, rank, tag)
            expansions, is_settled = [], True
            for call in calls:
                expansions.append(self._expander.expand(call, rank))
                is_settled = is_settled and self._expander.is_settled(call.communicator, rank)
        except InputError as error:
            raise InputError(f"rank {rank}: {error}") from None
        operations = self._caller.insert(number, operations, expansions)
        return operations, self._caller.has_more(number) or not is_settled

    def _between_groups(self, call: CollectiveCall, rank: int, tag: int) -> tuple[Operations, list[CollectiveCall]]:
        """Return a collective of an intercommunicator as messages and markers, and the calls that these stand for."""
        local, remote = self._groups[rank, call.communicator]
        group = self._expander.communicators[local]
        exchange = between_groups(call, group.processes, remote.size, group.rank(rank))
        if exchange is None:
            raise InputError(f"{call.operation} of an intercommunicator cannot be simulated")
        rows: list[tuple[int, int, int, int, float]] = []
        calls: list[CollectiveCall] = []

        def add(step: CollectiveCall | None) -> None:
            if step is not None and group.processes > 1:
                rows.append((_MARKER, ANY, tag, len(calls), 0.0))
                calls.append(step._replace(communicator=local))

        add(exchange.before)
        first = _FIRST_NAME + self._names % _FIRST_NAME
        messages = [(Code.IRECV, peer, -1.0) for peer, _ in exchange.receives]
        messages += [(Code.ISEND, peer, float(size)) for peer, size in exchange.sends]
        for name, (code, peer, size) in enumerate(messages, first):
            rows.append((code, int(remote[peer]), tag, name, size))
        rows += [(Code.WAIT, ANY, ANY, name, 0.0) for name in range(first, first + len(messages))]
        self._names += len(messages)
        add(exchange.after)
        return np.array(rows, dtype=OPERATION), calls

    def next(self, number: int) -> tuple[Operations, bool]:
        """Return the next operations of the large collective under that number, and whether more may follow."""
        operations = self._caller.next(number)
        return operations, operations.size > 0 and self._caller.has_more(number)
