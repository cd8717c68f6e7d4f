"""Files of GOAL schedules, in text and in binary form. Main entries: `load`, `dump`, `is_schedule`."""

import os
import re
from pathlib import Path

from commmodel.errors import InputError
from commmodel.files import write_bytes
from commmodel.signatures import checked
from commmodel.simulate.goal import binary_form
from commmodel.simulate.goal.schedule import GoalSchedule
from commmodel.simulate.goal.text_form import parse_pieces, text
from commmodel.simulate.traces.files import pieces

_PIECE = 1 << 22
_BEGIN = re.compile(rb"(?>\s++|//[^\n]*\n|#[^\n]*\n|/\*.*?\*/)*+num_ranks\b", re.DOTALL)


def _is_binary(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return binary_form.is_binary(file.read(8))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None


def is_schedule(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a schedule, by its content: text that begins with the number of ranks, or the binary form."""
    place = Path(path)
    if not place.is_file():
        return False
    return _is_binary(place) or _BEGIN.match(next(pieces(place, 1 << 16), b"")) is not None


@checked
def load(path: str | os.PathLike[str]) -> GoalSchedule:
    """Read a schedule from a file: text, plain or compressed by gzip, bzip2 or xz, or LogGOPSim's binary form.

    Raises
    ------
    InputError
        Where the file cannot be read.
    DamagedFileError
        Where it is no schedule: the message names the line, or the byte; of dependencies in a circle, rank and label.
    """
    path = Path(path)
    if _is_binary(path):
        return binary_form.load(path)
    return parse_pieces(path, pieces(path, _PIECE), path.name)


@checked
def dump(schedule: GoalSchedule, path: str | os.PathLike[str]) -> None:
    """Write a schedule, in LogGOPSim's binary form where the name ends in ``.bin``, else as text.

    Times and sizes become integers, as the format has them.
    """
    if Path(path).suffix == ".bin":
        write_bytes(path, binary_form.content(schedule))
    else:
        write_bytes(path, (line.encode("ascii") for line in text(schedule)))
