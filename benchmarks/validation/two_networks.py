"""What another network would buy, and what it did: ``python -m benchmarks.validation.two_networks DATA``.

CSD3 (StackHPC's hpc-tests, DATA/hpc-tests/csd3.tar.xz) has 100 Gb/s InfiniBand and 50 Gb/s RoCE between the same nodes,
with the same Open MPI. A machine is fitted to each network's OSU tables of messages (latency, bw, mbw_mr), and the
change from InfiniBand to RoCE is predicted for each cell of the tables of collectives, which no fit has seen. Wanted:
the sign right in 90 % of the cells, changes within 10 points where the model is trusted: where the interval of the
predicted change is narrower than that.
"""

import argparse
import math
import re
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from benchmarks.validation.public_record import OLD_OPEN_MPI, Cell, from_messages

from commmodel import formats

SAME = 0.02
"""Change of a measured time that is none, as two runs of a table differ by as much."""
POINTS = 0.10


class Change(NamedTuple):
    """Of a cell of a table, the change from one network to the other, as shares of the first one's time."""

    table: str
    size: int
    measured: float
    predicted: float
    low: float
    high: float

    @property
    def is_right(self) -> bool:
        """Whether the sign is right."""
        return (self.measured > 0) == (self.predicted > 0)

    @property
    def is_close(self) -> bool:
        """Whether the change is right within ten points."""
        return abs(self.measured - self.predicted) <= POINTS


def changes(data: Path) -> Iterator[Change]:
    """Yield the change of each cell of the tables of collectives that both networks have."""
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(data / "hpc-tests/csd3.tar.xz") as packed:
            packed.extractall(folder, filter="data")
        tables: list[dict[tuple[str, int], Cell]] = []
        for network in ("ib", "roce"):
            tests = Path(folder) / f"csd3/cclake-{network}-gcc9-ompi3-ucx/omb"
            files = sorted(tests.glob("Osu_*/*.out"))
            messages = [file for file in files if re.search("Osu_(latency|bw|mbw_mr)", str(file))]
            cells = from_messages(network, messages, OLD_OPEN_MPI, formats.load_all(files))
            tables.append({(cell.call.operation, cell.call.message_size): cell for cell in cells if cell.predicted})
    for (operation, size), before in tables[0].items():
        after = tables[1].get((operation, size))
        if after is None or before.predicted is None or after.predicted is None:
            continue
        spread = math.hypot(*(math.log(cell.high / cell.low) / 2 for cell in (before, after)))
        ratio = after.predicted / before.predicted
        yield Change(operation, size, after.measured / before.measured - 1, ratio - 1, ratio / math.exp(spread) - 1,
                     ratio * math.exp(spread) - 1)  # fmt: skip


def main() -> None:
    """Print a line for each table, and for all."""
    parser = argparse.ArgumentParser(description="Predicted and measured change from InfiniBand to RoCE.")
    parser.add_argument("data", type=Path, help="folder with hpc-tests/csd3.tar.xz")
    parser.add_argument("--listed", action="store_true", help="list every cell")
    arguments = parser.parse_args()
    rows = [*changes(arguments.data)]
    print(f"{'table':24}{'cells':>7}{'sign':>8}{'median':>9}{'within 10':>11}{'90 %':>8}")
    groups = {table: [row for row in rows if row.table == table] for table in dict.fromkeys(row.table for row in rows)}
    groups |= {"all of them": rows, "changed by above 2 %": [row for row in rows if abs(row.measured) > SAME]}
    for table, of_table in groups.items():
        errors = [abs(row.measured - row.predicted) for row in of_table]
        print(
            f"{table:24}{len(of_table):7}{np.mean([row.is_right for row in of_table]):8.0%}{np.median(errors):9.2f}"
            f"{np.mean([row.is_close for row in of_table]):11.0%}"
            f"{np.mean([row.low <= row.measured <= row.high for row in of_table]):8.0%}"
        )
    trusted = [row for row in rows if row.high - row.low <= 2 * POINTS]
    print(f"{len(trusted)} of {len(rows)} cells are trusted: their interval is within 10 points")
    if arguments.listed:
        for row in rows:
            print(f"{row.table:20}{row.size:9} measured {row.measured:+.2f} predicted {row.predicted:+.2f} "
                  f"[{row.low:+.2f}, {row.high:+.2f}]")  # fmt: skip


if __name__ == "__main__":
    main()
