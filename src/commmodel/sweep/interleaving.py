"""Two variants measured alternately, so that drift affects both alike. Main entry: `measure_in_turns`.

In half of the pairs, drawn at random, the second side begins: then chance alone decides which launch of a pair meets
more load, and the pairs' ratios can be tested whatever the load does (`commmodel.scaling.permutation`).
"""

import os
import random
import shlex
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from commmodel.arguments import Count
from commmodel.documents import decode_json, read_bytes
from commmodel.errors import InputError
from commmodel.files import write_bytes
from commmodel.results import Launch, Measurements, load
from commmodel.signatures import checked
from commmodel.sweep.running import LOCK, claim, end_with_children

__all__ = ["FILE", "MOST_PAIRS", "Turn", "Turns", "measure_in_turns", "turns"]

FILE = "turns.json"
MOST_PAIRS = 1000
SIDES = ("before", "after")


@dataclass(frozen=True)
class Turn:
    """A launch: its pair (from 1) and its side (0 or 1)."""

    pair: int
    side: int

    @property
    def name(self) -> str:
        """Path of its files without their ending."""
        return f"pair{self.pair:03}-{SIDES[self.side]}"


class Turns(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The plan, stored as `FILE` in the folder so that an interrupted run continues with the same."""

    command: str
    sides: tuple[str, str]
    seed: int

    def words(self, turn: Turn, output: Path) -> list[str]:
        """Return the command of one launch.

        >>> Turns("mpiexec -n 2 {side}/bin/python -m commmodel.bench -o {output}", ("old", "new"), 1).words(
        ...     Turn(1, 1), Path("r.jsonl"))
        ['mpiexec', '-n', '2', 'new/bin/python', '-m', 'commmodel.bench', '-o', 'r.jsonl']
        """
        return [
            word.replace("{side}", self.sides[turn.side]).replace("{output}", str(output))
            for word in shlex.split(self.command)
        ]

    def order(self, pairs: int) -> list[Turn]:
        """Return all launches in order; a longer plan begins with the order of a shorter one.

        Of each two pairs, one begins with either side, so that a steady drift cancels.

        >>> [turn.name for turn in Turns("", ("old", "new"), 1).order(2)]
        ['pair001-before', 'pair001-after', 'pair002-after', 'pair002-before']
        """
        drawn = random.Random(self.seed)  # noqa: S311  (an order, no secret)
        turns: list[Turn] = []
        first = 0
        for pair in range(1, pairs + 1):
            first = drawn.randrange(2) if pair % 2 else 1 - first
            turns += [Turn(pair, first), Turn(pair, 1 - first)]
        return turns


def turns(command: str, sides: Sequence[str], seed: int) -> Turns:
    """Return the plan.

    Raises
    ------
    InputError
        Where the command cannot be split into words, or lacks ``{side}`` or ``{output}``.
    """
    example = "'mpiexec -n 2 {side}/bin/python -m commmodel.bench --quick -o {output}'"
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InputError(f"--run: {command!r}: {error}: write it like {example}") from None
    for place in ("{side}", "{output}"):
        if not any(place in word for word in words):
            raise InputError(f"--run: {command!r}: it lacks {place}: write it like {example}")
    if sides[0] == sides[1]:
        raise InputError(f"both sides are {sides[0]!r}: name what differs, such as two installations")
    return Turns(command, (sides[0], sides[1]), seed)


@checked
def measure_in_turns(
    plan: Turns, pairs: Count, folder: str | os.PathLike[str], tell: Callable[[Turn, int], None] | None = None
) -> tuple[Measurements, Measurements]:
    """Run the missing launches, and return those of both sides, pairs at equal positions.

    Parameters
    ----------
    plan : Turns
        Its seed holds for a new folder only: one that is there goes on with its own.
    pairs : int
        At least one; more than there are go on where these end.
    folder : path
        Made where it is not there. Each launch has a file in it.
    tell : callable, optional
        Called before each launch with it and how many are left with it.

    Raises
    ------
    InputError
        Where the folder holds something else, another command measures into it, or a launch fails.
    """
    folder = Path(folder)
    _refuse_other_folder(folder)
    lock = claim(folder)
    try:
        stored = _claimed(plan, folder)
        left = [turn for turn in stored.order(pairs) if not (folder / f"{turn.name}.jsonl").exists()]
        for number, turn in enumerate(left):
            if tell is not None:
                tell(turn, len(left) - number)
            _carry_out(stored, turn, folder, lock)
    finally:
        os.close(lock)
    sides = [[_as_one(folder / f"{Turn(pair, side).name}.jsonl") for pair in range(1, pairs + 1)] for side in (0, 1)]
    return Measurements(tuple(sides[0])), Measurements(tuple(sides[1]))


def _refuse_other_folder(folder: Path) -> None:
    """Make the folder where it is not there; raise where it holds something else."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / FILE).exists() and any(path.name != LOCK for path in folder.iterdir()):
            raise InputError(f"{folder} is not empty, and no {FILE} is in it: name a new folder with -o")
    except OSError as error:
        raise InputError(f"{error.filename or folder}: {error.strerror}") from None


def _claimed(plan: Turns, folder: Path) -> Turns:
    """Return the plan of a folder: written into a new one, compared with that of an old one in which launches ended."""
    path = folder / FILE
    try:
        if path.exists() and any(folder.glob("pair*.jsonl")):
            stored = decode_json(path, read_bytes(path), msgspec.json.Decoder(Turns))
            for field in ("command", "sides"):
                then, now = getattr(stored, field), getattr(plan, field)
                if then != now:
                    raise InputError(f"{folder} was begun with {field} {then!r}, not {now!r}: name another with -o")
            return stored
        write_bytes(path, msgspec.json.format(msgspec.json.encode(plan)) + b"\n")
    except OSError as error:
        raise InputError(f"{error.filename or folder}: {error.strerror}") from None
    return plan


def _carry_out(plan: Turns, turn: Turn, folder: Path, lock: int) -> None:
    """Run one launch, which inherits the lock; its file gets its name once the command has succeeded."""
    part, log = (folder / f"{turn.name}.{ending}" for ending in ("part", "log"))
    words = plan.words(turn, part)
    try:
        part.unlink(missing_ok=True)
        with log.open("wb") as log_file:
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=log_file,
                stderr=log_file,
                start_new_session=True,
                pass_fds=(lock,),
            )
    except OSError as error:
        raise InputError(f"{error.filename or words[0]}: {error.strerror}: it stands in --run") from None
    try:
        code = process.wait()
    except BaseException:  # interrupted: the ranks would go on without us
        end_with_children(process)
        raise
    where = f"pair {turn.pair}, {plan.sides[turn.side]}"
    if code:
        lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
        raise InputError(f"{where}: exit code {code}: {lines[-1] if lines else shlex.join(words)} (all of it: {log})")
    if not part.exists():
        raise InputError(f"{where}: {shlex.join(words)} ended well, but wrote no {part}")
    _as_one(part)
    part.rename(folder / f"{turn.name}.jsonl")


def _as_one(path: Path) -> Launch:
    """Return the measurements of one command as a launch."""
    launches = load(path).launches
    return Launch(launches[0].header, tuple(record for launch in launches for record in launch.records))
