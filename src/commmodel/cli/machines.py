"""The verb ``machines``: the published machines."""

import argparse
from typing import Any

from commmodel.cli.parsers import new_verb, print_json

__all__ = ["add"]


def add(verbs: Any) -> None:
    """Add the verb."""
    new_verb(verbs, "machines", _run, "published machines, usable by name", "commmodel machines")


def _run(asked: argparse.Namespace) -> int:
    """List the published machines."""
    from commmodel import machine

    known = {name: machine.load(path) for name, path in machine.published().items()}
    sources = {name: one.origin.source if one.origin else "" for name, one in known.items()}
    if asked.json:
        listed = [
            {"name": name, "title": one.name, "paths": one.paths, "source": sources[name]}
            for name, one in known.items()
        ]
        print_json({"machines": listed})
    else:
        for name, source in sources.items():
            print(f"{name}\n    {source}")
    return 0
