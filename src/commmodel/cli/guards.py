"""The guards of the verb ``check`` that need no expectations: ``physics`` and ``nodes``. Main entry: `GUARDS`."""

import argparse
from collections.abc import Callable
from typing import Any

from commmodel.cli.parsers import note, print_json, typed
from commmodel.errors import InputError
from commmodel.units import parse_rate


def add_options(check: Any) -> None:
    """Add the options of guards alone."""
    guards = check.add_argument_group("physics")
    guards.add_argument(
        "--link-bandwidth", metavar="RATE", type=typed(parse_rate),
        help="rate of a node's link one way, like 100Gbit/s, beyond which nothing moves between nodes (default: none)",
    )  # fmt: skip


def _physics(arguments: argparse.Namespace, results: list[str]) -> int:
    """Print what no machine does, and which files differ from their siblings; exit code 1 if there is any."""
    from commmodel import formats
    from commmodel.scaling import physics

    if arguments.baseline:
        raise InputError("--baseline: physics compares files with one another: name all of them")
    files = {name: formats.load(name, arguments.format, arguments.placement) for name in results}
    for measurements in files.values():
        note(measurements)
    doubts = physics(files, link_bandwidth=arguments.link_bandwidth)
    if arguments.json:
        import msgspec

        print_json({"doubts": msgspec.to_builtins(doubts), "holds": not doubts})
    else:
        for doubt in doubts:
            print(f"{doubt.file}: {doubt.words}")
        if not doubts:
            print(f"nothing impossible in {len(files)} file{'s' * (len(files) > 1)}, and nothing unlike its siblings")
    return int(bool(doubts))


def _nodes(arguments: argparse.Namespace, results: list[str]) -> int:
    """Print which nodes and links are slow, and which are so since a baseline; exit code 1 if there is any."""
    from commmodel import formats
    from commmodel.scaling import slow_nodes

    slow = slow_nodes(formats.load_all(results, arguments.format))
    before = slow_nodes(formats.load_all(arguments.baseline, arguments.format)) if arguments.baseline else []
    names = {(row.kind, row.names) for row in before}
    if arguments.json:
        import msgspec

        rows = [{**msgspec.to_builtins(row), "new": (row.kind, row.names) not in names} for row in slow]
        print_json({"slow": rows, "holds": not slow})
    else:
        for row in slow:
            since = ", as in the baseline" if (row.kind, row.names) in names else ", unlike before"
            print(f"{row.words}{since * bool(arguments.baseline)}")
        if not slow:
            print("no node or link is slower than the others")
    return int(bool(slow))


GUARDS: dict[str, Callable[[argparse.Namespace, list[str]], int]] = {"physics": _physics, "nodes": _nodes}
"""Instead of expectations: what no machine does, and what sets a file apart from its siblings; which node is slow."""
