"""The verb ``list``: published files, algorithms, kernels, formats and models by name."""

import argparse
import os
import shutil
import sys
from collections.abc import Callable
from textwrap import fill
from typing import Any

from commmodel.cli.parsers import new_verb, print_json
from commmodel.errors import MPIEnvironmentError

Row = dict[str, Any]
"""First its name, last what people want to know of it."""


def add(verbs: Any) -> None:
    """Add the verb and what it lists."""
    topic = "published machines, platforms and rules; algorithms, benchmark kernels, formats and models"
    listing = verbs.add_parser(
        "list", help=topic, description=f"List {topic}.", epilog="example: commmodel list machines"
    )
    kinds = listing.add_subparsers(required=True, dest="kind", metavar="WHAT", title="what to list")
    for kind, (meaning, rows) in _KINDS.items():
        new_verb(kinds, kind, _run, meaning, f"commmodel list {kind}").set_defaults(rows=rows)
    new_verb(
        kinds, "include", _include, "folder of commmodel.h, for programs of C that run simulated",
        "cc -I$(commmodel list include) program.c",
    )  # fmt: skip
    new_verb(
        kinds, "memory-library", _memory_library, "path of the library that counts allocations, to be preloaded",
        "mpiexec -n 4 env LD_PRELOAD=$(commmodel list memory-library) python -m commmodel.bench memory",
    )  # fmt: skip


def _run(arguments: argparse.Namespace) -> int:
    rows: list[Row] = arguments.rows()
    if arguments.json:
        print_json({arguments.kind: rows})
    else:
        for row in rows:
            name, *_, description = row.values()
            print(name, fill(description, _width(), initial_indent="    ", subsequent_indent="    "), sep="\n")
    return 0


def _width() -> int:
    """Return the columns of the terminal; where the output is none, lines stay whole for what reads them."""
    is_shown = sys.stdout.isatty() or "COLUMNS" in os.environ
    return max(20, shutil.get_terminal_size().columns) if is_shown else sys.maxsize


def _machines() -> list[Row]:
    from commmodel import machine

    machines = {name: machine.load(name) for name in machine.published()}
    return [
        {"name": name, "title": entry.name, "paths": entry.paths, "source": entry.origin.source if entry.origin else ""}
        for name, entry in machines.items()
    ]


def _platforms() -> list[Row]:
    from commmodel.simulate import platform

    rows = []
    for name in platform.published():
        summary = platform.load(name).summary()
        hosts, cores, links = (summary[key] for key in ("hosts", "cores", "links"))
        description = f"{summary['kind']}: {hosts} hosts with {cores} cores, {links} links"
        rows.append({"name": name, "hosts": hosts, "cores": cores, "links": links, "description": description})
    return rows


def _selectors() -> list[Row]:
    from commmodel.collectives.library import selection

    selectors = {name: selection.load(name) for name in selection.published()}
    return [{"name": name, "title": selector.name, "source": selector.source} for name, selector in selectors.items()]


def _expectations() -> list[Row]:
    from commmodel.scaling import load, published

    expectations = {name: load(name) for name in published()}
    return [
        {"name": name, "functions": len(entry.expectations), "rules": len(entry.guidelines), "title": entry.title}
        for name, entry in expectations.items()
    ]


def _algorithms() -> list[Row]:
    from commmodel.collectives import ALGORITHMS, summary

    return [
        {"name": f"{operation} {name}", "operation": operation, "algorithm": name, "summary": summary(operation, name)}
        for operation, names in ALGORITHMS.items()
        for name in names.loaded()
    ]


def _kernels() -> list[Row]:
    from commmodel.bench.kernels import REGISTRY

    return [{"name": name, "summary": kernel.summary} for name, kernel in REGISTRY.loaded().items()]


def _formats() -> list[Row]:
    from commmodel import formats

    readers = formats.REGISTRY.loaded()
    holds_of = {name: reader.holds for name, reader in readers.items()} | {formats.OURS: "results.jsonl"}
    return [{"name": name, "written": name in formats.WRITTEN, "holds": holds} for name, holds in holds_of.items()]


def _models() -> list[Row]:
    from commmodel.models import REGISTRY

    return [{"name": name, "summary": _phrase(formula.__doc__ or "")} for name, formula in REGISTRY.items()]


def _phrase(docstring: str) -> str:
    """Return what a function returns: the first line of its docstring without the verb."""
    line = docstring.partition("\n")[0].removeprefix("Return ").removeprefix("the ").replace("`", "").removesuffix(".")
    return line[:1].upper() + line[1:]


def _include(arguments: argparse.Namespace) -> int:
    """Print the folder of the header."""
    from commmodel.shadow import include_folder

    if arguments.json:
        print_json({"include": include_folder()})
    else:
        print(include_folder())
    return 0


def _memory_library(arguments: argparse.Namespace) -> int:
    """Print the path of the library."""
    from commmodel.bench.kernels.memory import LIBRARY

    if not LIBRARY.is_file():
        raise MPIEnvironmentError(f"{LIBRARY} was not built: allocations can be counted on Linux only")
    if arguments.json:
        print_json({"library": str(LIBRARY)})
    else:
        print(LIBRARY)
    return 0


_KINDS: dict[str, tuple[str, Callable[[], list[Row]]]] = {
    "machines": ("published machines", _machines),
    "platforms": ("published platforms", _platforms),
    "selectors": ("published rules by which MPI libraries select algorithms", _selectors),
    "expectations": ("published expectations of growth", _expectations),
    "algorithms": ("algorithms of collective operations", _algorithms),
    "kernels": ("benchmark kernels", _kernels),
    "formats": ("formats of measurements", _formats),
    "models": ("formulas", _models),
}
"""Word -> what it lists, and the rows."""
