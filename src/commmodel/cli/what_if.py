"""What if: the table of a workload's run times on scaled and on several platforms, of the verb ``simulate``."""

import argparse
import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import cache, partial
from typing import Any

from commmodel.cli.pages import OutputPage, tell_runs
from commmodel.cli.parsers import Parser, parent, typed
from commmodel.errors import InputError, MissingPackageError
from commmodel.units import parse_whole

_MPI = "mpi"


@cache
def options() -> Parser:
    """Return the options of scaled platforms."""
    scaling = parent()
    group = scaling.add_argument_group("what if")
    group.add_argument(
        "--scale", metavar="FACTORS", type=typed(_scales),
        help="factors of bandwidth, latency, compute (the speed of cores), overhead and gap of messages, also lists "
        "and ranges, like bandwidth=2,4,latency=0.5 or compute=1:8: a table of the run times as it is and of all "
        "combinations (default: none)",
    )  # fmt: skip
    group.add_argument(
        "--workers", metavar="N", type=typed(_workers),
        help="runs side by side, or mpi: on the ranks of mpiexec -n K python -m mpi4py.futures -m commmodel ... "
        "(default: one for each core; one where computation is measured)",
    )  # fmt: skip
    return scaling


def _scales(text: str) -> Any:
    from commmodel.simulate.scenario import parse_scales

    return parse_scales(text)


def _workers(text: str) -> int | str:
    return text if text == _MPI else parse_whole(text, 1, 4096)


def _places(where: str) -> list[str]:
    """Return the platforms of WHERE; parameters of a delay model have commas, too, and so may files."""
    if "=" in where or os.path.exists(where):
        return [where]
    places = [word.strip() for word in where.split(",")]
    if "" in places or len({*places}) < len(places):
        raise InputError(f"{where!r} names a platform twice, or none: name each once, with commas between")
    return places


def is_several(arguments: argparse.Namespace) -> bool:
    """Whether scaled or several platforms are named."""
    return getattr(arguments, "scale", None) is not None or len(_places(arguments.where)) > 1


def is_what_if(arguments: argparse.Namespace) -> bool:
    """Whether scaled or several platforms are wanted; raise for workers where there is one run."""
    if not hasattr(arguments, "scale"):
        return False
    are_several = is_several(arguments)
    if arguments.workers is not None and not are_several and not isinstance(arguments.processes, tuple):
        raise InputError(
            "--workers: there is one run: give --scale, several platforms with commas between, or several -p"
        )
    return are_several


def run(arguments: argparse.Namespace, scenario: Callable[[str, Any], Any]) -> int:
    """Run all combinations, write the page, and print the table or JSON.

    Parameters
    ----------
    arguments : Namespace
    scenario : callable
        (place, scale) -> what to run; of a module, as other processes call it.
    """
    from commmodel.simulate.scenario import Scale
    from commmodel.simulate.what_if import predictions

    for option, value in (("--compare", arguments.compare), ("--trace", arguments.trace)):
        if value:
            raise InputError(f"{option} is of one run: leave it out, or --scale and all platforms but one")
    places = _places(arguments.where)
    # as it is first: what the others are held against
    scales = (Scale(), *(scale for scale in arguments.scale or () if scale != Scale()))
    page = OutputPage(arguments, "write_what_if", places)
    with worker_executor(arguments) as executor:
        results = predictions(scenario, places, scales, executor=executor, workers=worker_count(arguments))
    page.write(_title(results), results)

    def blocks() -> list[Any]:
        from commmodel.report.kit.tables import text
        from commmodel.report.simulation.what_if import prediction_table, verdicts

        return [text(_title(results), "bold"), prediction_table(results), *map(text, verdicts(results))]

    page.answer(partial(_as_json, results), blocks)
    return tell_runs(results, lambda run: f"{run.place}, {run.scale}") or page.code


def worker_count(arguments: argparse.Namespace) -> int:
    """Return the number of runs side by side; those that measure their computation would disturb each other."""
    if isinstance(arguments.workers, int):
        return arguments.workers
    return 1 if getattr(arguments, "compute", "0") in (None, "measured") else len(os.sched_getaffinity(0))


def worker_executor(arguments: argparse.Namespace) -> Any:
    """Return the context of the executor of --workers mpi; of None for processes of this host."""
    if arguments.workers != _MPI:
        return nullcontext()
    try:
        from mpi4py.futures import MPIPoolExecutor
    except (ImportError, RuntimeError) as error:
        raise MissingPackageError(f"--workers mpi needs mpi4py, which cannot be loaded: {error}") from None
    return MPIPoolExecutor()


def _title(results: Sequence[Any]) -> str:
    return f"{results[0].title}: {len(results)} predictions"


def _as_json(results: Sequence[Any]) -> dict[str, Any]:
    from dataclasses import asdict

    first = results[0]
    runs = []
    for result in results:
        row = asdict(result) | {"scale": result.scale.factors}
        row["seconds"] = None if result.blocked else result.seconds  # a deadlock never ends
        row["ranks"] = {name: times._asdict() for name, times in result.ranks.items()}
        del row["title"], row["processes"]
        runs.append(row)
    return {"work": {"title": first.title}, "processes": first.processes, "runs": runs}
