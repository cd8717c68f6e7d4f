"""The verb ``convert``: measurements from one format to another."""

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from commmodel.cli.parsers import add_format, new_verb, note, print_json
from commmodel.errors import InputError

__all__ = ["add"]


def add(verbs: Any) -> None:
    """Add the verb."""
    convert = new_verb(
        verbs, "convert", _run, "measurements from one format to another",
        "commmodel convert results.jsonl -o results.txt --to extrap-text --over p",
    )  # fmt: skip
    convert.add_argument("files", nargs="+", metavar="IN", help="results.jsonl, or other programs' files")
    add_format(convert)
    convert.add_argument("-o", "--output", required=True, metavar="OUT", help="file to write, which must not exist")
    convert.add_argument("--to", help="commmodel, extrap-json, extrap-text or csv (by OUT's suffix .txt or .csv)")
    convert.add_argument("--over", help="parameters in Extra-P's formats, like p or p,n (chosen so that all fits in)")
    convert.add_argument("--force", action="store_true", help="replace OUT")


def _target(output: Path, asked: str | None) -> str:
    """Return the format to write."""
    from commmodel import formats

    suffixes = {".csv": "csv", ".txt": "extrap-text"}
    if asked is not None and asked not in formats.WRITTEN:
        raise InputError(f"--to: unknown format {asked!r}: choose {', '.join(formats.WRITTEN)}")
    if asked is None and output.suffix not in suffixes:
        problem = f"{output}: its suffix does not tell the format: choose with --to {', '.join(formats.WRITTEN)}"
        raise InputError(problem)
    return asked or suffixes[output.suffix]


def _run(asked: argparse.Namespace) -> int:
    """Read, write, and say what was left out."""
    from commmodel import formats

    output = Path(asked.output)
    target = _target(output, asked.to)
    over = None if asked.over is None else [name.strip() for name in asked.over.split(",")]
    if over is not None and not all(over):
        raise InputError(f"--over: {asked.over!r} is no list of parameters like p,n")
    if os.path.exists(output) and not asked.force:
        raise InputError(f"{output} exists: replace it with --force, or name another file with -o")
    measurements = formats.load_all(asked.files, asked.format)
    left_out = formats.dump(measurements, output, target, over)
    note(measurements)
    for text in left_out:
        print(f"note: {text}", file=sys.stderr)
    if asked.json:
        notes = [*measurements.notes, *left_out]
        print_json({"output": asked.output, "format": target, "records": len([*measurements.records]), "notes": notes})
    else:
        print(f"written to {output} ({target})")
    return 0
