"""Several sizes: the table of a workload's run times on several numbers of processes, of the verb ``simulate``."""

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from commmodel.cli.pages import OutputPage, tell_runs
from commmodel.cli.what_if import is_what_if, worker_count, worker_executor
from commmodel.errors import InputError
from commmodel.units import parse_counts, parse_size, parse_whole


def parse_processes(word: str) -> int | tuple[int, ...]:
    """Return a number of processes, or several; a range doubles unless told.

    They are typed ascending, each once, as sizes of messages may belong to them.

    >>> parse_processes("64"), parse_processes("4:16,20")
    (64, (4, 8, 16, 20))
    """
    parts = [parse_counts(f"{part}:*2" if part.count(":") == 1 else part) for part in word.split(",")]
    counts = tuple(count for part in parts for count in part)
    if any(second <= first for first, second in pairwise(counts)):
        raise InputError(f"{word!r}: write the numbers ascending, each once")
    return counts if len(counts) > 1 else counts[0]


def parse_message_sizes(word: str) -> int | tuple[int, ...]:
    """Return a size, or several in their order.

    >>> parse_message_sizes("64KiB"), parse_message_sizes("4KiB,1KiB")
    (65536, (4096, 1024))
    """
    sizes = tuple(map(parse_size, word.split(",")))
    return sizes if len(sizes) > 1 else sizes[0]


def parse_grid(word: str) -> tuple[int, ...]:
    """Return the dimensions of a grid.

    >>> parse_grid("64x32")
    (64, 32)
    """
    return tuple(parse_whole(part, 1, 1 << 24) for part in word.lower().split("x"))


def is_sized(arguments: argparse.Namespace) -> bool:
    """Whether several numbers of processes are wanted; raise for what does not go with them, or needs them."""
    processes: Any = getattr(arguments, "processes", None)
    sizes: Any = getattr(arguments, "message_size", None)
    is_several = isinstance(processes, tuple)
    if isinstance(sizes, tuple) and (not is_several or len(sizes) != len(processes)):
        count = len(processes) if is_several else 1
        raise InputError(f"-n: {len(sizes)} sizes and {count} -p: give one size, or one for each number of processes")
    if not is_several:
        if arguments.what == "run" and arguments.scaling != "strong":
            raise InputError(f"--scaling {arguments.scaling}: there is one size: give several -p, like 4,16,64")
        return False
    if arguments.what == "exchange":
        raise InputError(f"-p: {arguments.file} lists the same messages for any number of ranks: give one")
    if is_what_if(arguments):
        raise InputError("-p: several numbers are for one platform as it is: leave out --scale, and all but one WHERE")
    is_ordered = getattr(arguments, "orders", 1) != 1 or getattr(arguments, "order", None) is not None
    for option, value in (("--compare", arguments.compare), ("--trace", arguments.trace), ("--orders", is_ordered)):
        if value:
            raise InputError(f"{option} is of one run: leave it out, or give one number of processes")
    return True


def on_processes(arguments: argparse.Namespace, processes: int) -> argparse.Namespace:
    """Return the arguments for one of the numbers of processes."""
    words = {**vars(arguments), "processes": processes}
    if isinstance(words.get("message_size"), tuple):
        words["message_size"] = words["message_size"][arguments.processes.index(processes)]
    return argparse.Namespace(**words)


def run(arguments: argparse.Namespace, question: Callable[[int], Any]) -> int:
    """Run all sizes, write the page, and print the table or JSON.

    Parameters
    ----------
    arguments : Namespace
    question : callable
        Number of processes -> result; of a module, as other processes call it.
    """
    from commmodel.simulate.sizes import sizes

    page = OutputPage(arguments, "write_sizes", [arguments.where])
    scaling: Any = getattr(arguments, "scaling", None) or "strong"
    with worker_executor(arguments) as executor:
        results = sizes(
            question, arguments.processes, scaling=scaling, executor=executor, workers=worker_count(arguments)
        )
    page.write(_title(results), results)

    def blocks() -> list[Any]:
        from commmodel.report.kit.tables import text
        from commmodel.report.simulation.sizes import size_table, verdict

        return [text(_title(results), "bold"), size_table(results), text(verdict(results))]

    page.answer(partial(_as_json, results, scaling), blocks)
    return tell_runs([result.prediction for result in results], lambda run: f"{run.processes} ranks") or page.code


def _title(results: Sequence[Any]) -> str:
    return f"{results[-1].prediction.title}, {results[-1].prediction.place}: {len(results)} sizes"


def _as_json(results: Any, scaling: str) -> dict[str, Any]:
    last = results[-1].prediction
    rows = []
    for result in results:
        run = result.prediction
        row = result.to_dict() | {"title": run.title, "blocked": list(run.blocked), "notes": list(run.notes)}
        row["ranks"] = {name: times._asdict() for name, times in run.ranks.items()}
        if run.blocked:  # a deadlock never ends
            row["seconds"] = None
        rows.append({name: None if value != value else value for name, value in row.items()})
    return {
        "work": {"title": last.title}, "platform": last.place, "model": last.model, "scaling": scaling, "runs": rows,
    }  # fmt: skip
