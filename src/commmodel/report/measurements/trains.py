"""Tables of LogGP trains and of pLogP quantities. Main entry: `train_tables`."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import zip_longest

from commmodel.report.kit.cells import record_cell, size_table
from commmodel.report.kit.tables import Cell, Table, right
from commmodel.results import Record
from commmodel.results.configurations import PLogPParameter, SendMode, Train
from commmodel.units import format_quantity, format_size

_QUANTITIES = {"send": "o_s, send", "receive": "o_r, receive", "gap": "g, gap", "round-trip": "RTT"}


def _train_table(mode: SendMode, records: Sequence[Record]) -> Table:
    cells: dict[int, dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        if isinstance(train := record.configuration, Train):
            kind = "delayed" if train.delayed else "lone" if train.messages == 1 else "train"
            cells[train.message_size][kind].append(record)
    rows = []
    for size, row in sorted(cells.items()):
        for measured in zip_longest(row["lone"], row["train"], row["delayed"]):
            lasts = [record for record in measured[1:] if record is not None]
            trains = (record.configuration for record in lasts)
            counts = dict.fromkeys(str(train.messages) for train in trains if isinstance(train, Train))
            delays = [format_quantity(record.delay, "s") for record in lasts if record.delay is not None]
            about = Cell(format_size(size)), Cell(", ".join(counts))
            rows.append((*about, *map(record_cell, measured), Cell(", ".join(delays))))
    return Table(
        f"trains of messages, {mode}",
        right("size", "messages", "PRTT(1, 0, s)", "PRTT(n, 0, s)", "PRTT(n, d, s)", "d"),
        tuple(rows),
        ("From the first send to the answer after the last of n messages; d: busy time between a send and the next.",),
        details="none",
    )


def _plogp_tables(mode: SendMode, records: Sequence[Record]) -> list[Table]:
    cells = (
        (plogp.message_size, plogp.quantity, record_cell(record))
        for record in records
        if isinstance(plogp := record.configuration, PLogPParameter)
    )
    note = (
        "Time of a send, of a receive of a message that is there, of a message in a saturating train, of a round trip "
        "with an empty answer."
    )
    return size_table(f"quantities of pLogP, {mode}", cells, _QUANTITIES.__getitem__, note, tuple(_QUANTITIES))


def train_tables(records: Iterable[Record]) -> tuple[Table, ...]:
    """Return the tables of the trains and of the pLogP quantities of a path, one for each mode."""
    trains: dict[SendMode, list[Record]] = defaultdict(list)
    quantities: dict[SendMode, list[Record]] = defaultdict(list)
    for record in records:
        match record.configuration:
            case Train(mode=mode):
                trains[mode].append(record)
            case PLogPParameter(mode=mode):
                quantities[mode].append(record)
    return (
        *(_train_table(mode, measured) for mode, measured in trains.items()),
        *(table for mode, measured in quantities.items() for table in _plogp_tables(mode, measured)),
    )
