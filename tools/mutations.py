"""Counts how many faults the unit tests find: ``python -m tools.mutations --sample 100 --seed 1``.

Each mutation changes one comparison, operator, constant or returned value of a module of commmodel. The unit tests of
its room, found by the mirror of folders, run with it in a copy of the package; it survives where they all pass.
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "commmodel"
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


@dataclass(frozen=True)
class Mutation:
    """A change of one place of a module: the text before and after it, from one offset in bytes to another."""

    path: Path
    line: int
    start: int
    end: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(SOURCE)}:{self.line}: {self.before} -> {self.after}".replace("\n", " ")


def replacements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what a node of the syntax tree is changed into."""
    match node:
        case ast.Compare(left, [operator], comparators) if type(operator) in SWAPS:
            yield ast.Compare(left, [SWAPS[type(operator)]()], comparators)
        case ast.BinOp(left, operator, right) if type(operator) in SWAPS:
            yield ast.BinOp(left, SWAPS[type(operator)](), right)
        case ast.BoolOp(operator, values):
            yield ast.BoolOp(SWAPS[type(operator)](), values)
        case ast.Constant(bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(int() | float() as value):
            yield ast.Constant(value + 1)
        case ast.Return(ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield ast.Return(ast.Constant(None))


def is_skipped(node: ast.AST) -> bool:
    """Return whether a node says nothing about what a program does: types, or what only type checkers import."""
    match node:
        case ast.If(ast.Name("TYPE_CHECKING")) | ast.JoinedStr():
            return True
    return False


def inner(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all in it, except for annotations and other things that no test can find."""
    if is_skipped(node):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name not in {"annotation", "returns", "type_params"}:
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from inner(child)


def mutations(path: Path) -> Iterator[Mutation]:
    """Yield the mutations of a module."""
    text = path.read_bytes()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in inner(ast.parse(text)):
        for changed in replacements(node):
            start, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
            after = ast.unparse(changed)
            if not isinstance(changed, ast.Return):
                after = f"({after})"
            yield Mutation(path, node.lineno, start, end, text[start:end].decode(), after)


def tests_of(path: Path) -> list[str]:
    """Return the tests of a module: those named after it first, then all of its room."""
    room, *rest = path.relative_to(SOURCE).with_suffix("").parts
    tests = ROOT / "tests"
    if not rest:
        return sorted(map(str, tests.glob(f"test_{room}*.py")))
    folder = tests / {"_core": "core"}.get(room, room)
    return [*sorted(map(str, folder.glob(f"test_*{rest[-1]}*.py"))), str(folder)] if folder.is_dir() else []


def is_found(mutation: Mutation, folder: Path, seconds: float) -> bool:
    """Run the tests with a mutation in a copy of the package; one that takes too long is found, too."""
    copy = folder / "commmodel" / mutation.path.relative_to(SOURCE)
    text = copy.read_bytes()
    copy.write_bytes(text[: mutation.start] + mutation.after.encode() + text[mutation.end :])
    options = ["-x", "-q", "-p", "no:mpi-pytest", "-p", "no:cacheprovider", "--without-mpi", "-W", "ignore"]
    command = [sys.executable, "-m", "pytest", *options, *tests_of(mutation.path)]
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    try:
        return subprocess.run(command, cwd=ROOT, env=environment, timeout=seconds, **quiet).returncode != 0
    except subprocess.TimeoutExpired:
        return True
    finally:
        copy.write_bytes(text)


def main() -> int:
    """Count the mutations of a sample that are found; print those that survive."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=100, help="number of mutations (default: 100)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the sample (default: 1)")
    parser.add_argument("--limit", type=float, default=600, help="seconds for the tests of a mutation (default: 600)")
    parser.add_argument("--rooms", default="", help="folders of commmodel, separated by commas (default: all)")
    arguments = parser.parse_args()
    rooms = set(filter(None, arguments.rooms.split(",")))
    paths = [path for path in sorted(SOURCE.rglob("*.py")) if not rooms or path.relative_to(SOURCE).parts[0] in rooms]
    candidates = [mutation for path in paths if tests_of(path) for mutation in mutations(path)]
    choice = random.Random(arguments.seed)  # noqa: S311 (no secret)
    sample = choice.sample(candidates, min(arguments.sample, len(candidates)))
    detected = 0
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(SOURCE, Path(folder) / "commmodel")
        for number, mutation in enumerate(sample, 1):
            begin = time.monotonic()
            result = is_found(mutation, Path(folder), arguments.limit)
            detected += result
            seconds = time.monotonic() - begin
            print(f"{number} {'found' if result else 'SURVIVES'} {mutation} ({seconds:.0f} s)", flush=True)
    print(f"{detected} of {len(sample)} mutations found, of {len(candidates)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
