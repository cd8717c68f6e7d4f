"""Table of the ways to send a buffer in device memory. Main entry: `device_table`."""

from collections.abc import Sequence

from rich.text import Text

from commmodel.predict import DevicePrediction
from commmodel.report.kit.tables import Table, left, plain_rows, right, text
from commmodel.units import format_interval, format_time

_PARTS = ("copy-out", "message", "copy-in")


def device_table(ways: Sequence[DevicePrediction]) -> Table:
    """Return the predicted times of the ways, in their order."""
    rows = [
        (
            way.way,
            str(way.processes),
            format_interval(way.time.seconds, way.time.low, way.time.high, "s"),
            *(format_time(way.parts[part]) if way.parts else "–" for part in _PARTS),
        )
        for way in ways
    ]
    columns = (*left("way"), *right("processes", "time", *_PARTS))
    return Table("device memory", columns, plain_rows(rows), ("–: measured as a whole.",))


def device_lines(ways: Sequence[DevicePrediction]) -> list[Text]:
    """Return a line for each thing that lies beyond what was measured."""
    return [text(f"{line}.") for line in dict.fromkeys(line for way in ways for line in way.extrapolates)]
