"""Counts how many faults the unit tests find: ``python -m tools.mutations --sample 100 --seed 1``.

Each mutation changes one comparison, operator, constant or returned value of a module of commmodel, in a copy of the
whole tree. The unit tests that execute the changed line run there, quick ones first; it survives where they all pass.
With ``--before FOLDER``, another tree with its environment, the sample is drawn from places that are the same in both
trees, and counted in both. Needs the package coverage; see CONTRIBUTING.md.
"""

import argparse
import ast
import json
import os
import queue
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLUGINS = ["-p", "no:mpi-pytest", "-p", "no:cacheprovider", "-p", "executed_lines"]
OPTIONS = [*PLUGINS, "--without-mpi", "-q", "-W", "ignore"]
TESTS = ["tests", "src", "--ignore", "tests/mpi", "--ignore", "tests/cluster"]
NOT_COPIED = (".git", ".venv*", "build", "_build", "demo", "__pycache__", ".mypy_cache", ".hypothesis")
COMPILED = {"models", "optimize"}  # rooms in which numba hides lines from coverage
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


@dataclass(frozen=True)
class Mutation:
    """A change of one place of a module: the text before and after it, from one offset in bytes to another.

    Attributes
    ----------
    path : str
        Of the module, in ``src/commmodel``.
    lines : range
        Of the statement, or of the head of a compound one.
    body : range
        Lines of the function around it; empty where it is executed at import.
    """

    path: str
    lines: range
    body: range
    start: int
    end: int
    before: str
    after: str
    key: tuple[str, ...] = field(repr=False)

    def __str__(self) -> str:
        return f"{self.path}:{self.lines.start}: {self.before} -> {self.after}".replace("\n", " ")


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


Place = tuple[ast.AST, ast.stmt | None, str, range]
"""A node, the statement around it, the name of the function around it, and the lines of its body."""


def inner(node: ast.AST, statement: ast.stmt | None, name: str, body: range) -> Iterator[Place]:
    """Yield a node and all in it, except for annotations and other things that no test can find."""
    if is_skipped(node):
        return
    statement = node if isinstance(node, ast.stmt) else statement
    yield node, statement, name, body
    for part, value in ast.iter_fields(node):
        if part in {"annotation", "returns", "type_params"}:
            continue
        place = name, body
        if isinstance(node, ast.FunctionDef) and part in {"body", "args"}:
            place = node.name, range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from inner(child, statement, *place)


def head(statement: ast.stmt) -> range:
    """Return the lines of a statement without those of the statements in it."""
    within = getattr(statement, "body", None) or getattr(statement, "cases", None)
    first = within[0] if within else None
    end = (first.pattern if isinstance(first, ast.match_case) else first).lineno if first else statement.end_lineno + 1
    return range(statement.lineno, max(end, statement.lineno + 1))


def mutations(source: Path, path: Path) -> Iterator[Mutation]:
    """Yield the mutations of a module."""
    text = path.read_bytes()
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    for node, statement, name, body in inner(ast.parse(text), None, "", range(0)):
        for changed in replacements(node):
            start, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
            after = ast.unparse(changed)
            if not isinstance(changed, ast.Return):
                after = f"({after})"
            line = lines[node.lineno - 1].decode()
            column = str(node.col_offset - (len(line) - len(line.lstrip())))
            before = text[start:end].decode()
            where = str(path.relative_to(source))
            yield Mutation(
                where, head(statement), body, start, end, before, after, (name, line.strip(), column, before, after)
            )


@dataclass
class Tree:
    """A checkout, copies of it in which mutations are tried, and the lines that its tests execute."""

    root: Path
    folder: Path
    workers: int
    ignored: list[str]
    seconds: dict[str, float] = field(default_factory=dict)
    executed: dict[tuple[str, int], set[str]] = field(default_factory=dict)
    executed_modules: dict[str, set[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.copies: queue.Queue[Path] = queue.Queue()
        for worker in range(self.workers):
            copy = self.folder / str(worker)
            shutil.copytree(self.root, copy, ignore=shutil.ignore_patterns(*NOT_COPIED), dirs_exist_ok=True)
            self.copies.put(copy)
        beside = self.root / ".venv" / "bin" / "python"
        self.python = str(beside) if beside.exists() else sys.executable

    @property
    def source(self) -> Path:
        """The package."""
        return self.root / "src" / "commmodel"

    def environment(self, copy: Path, **more: str) -> dict[str, str]:
        """Return the environment in which the tests of a copy import it, not the tree that is installed."""
        folders = [copy / "src", copy / "tests", copy, ROOT / "tools"]
        source = str(copy / "src" / "commmodel")
        return os.environ | {"PYTHONPATH": os.pathsep.join(map(str, folders)), "MUTATED_SOURCE": source} | more

    def collect(self) -> None:
        """Run all unit tests once, and keep which lines each that passes executes."""
        copy = self.copies.get()
        folder = self.folder / "executed"
        if not folder.exists():
            folder.mkdir()
            ignored = [f"--ignore-glob={pattern}" for pattern in self.ignored]
            several = ["--numprocesses", str(self.workers), "--dist", "loadfile"]
            command = [self.python, "-m", "pytest", *OPTIONS, *several, *ignored, *TESTS]
            subprocess.run(command, cwd=copy, env=self.environment(copy, EXECUTED_LINES=str(folder)), check=False)
        self.copies.put(copy)
        for file in folder.glob("*.json"):
            for test, (seconds, files) in json.loads(file.read_text()).items():
                self.seconds[test] = seconds
                for path, lines in files.items():
                    self.executed_modules.setdefault(path, set()).add(test)
                    for line in lines:
                        self.executed.setdefault((path, line), set()).add(test)

    def tests_of(self, mutation: Mutation) -> list[str]:
        """Return the tests that execute a place, else those of its module; then those of its room, quick ones first."""
        tests: set[str] = set()
        if mutation.body:
            lines = mutation.lines if mutation.lines.start in mutation.body else mutation.body
            tests = set().union(*(self.executed.get((mutation.path, line), ()) for line in lines))
        tests = tests or self.executed_modules.get(mutation.path, set())
        room = Path(mutation.path).parts[0]
        room_tests: set[str] = set()
        if not tests or room in COMPILED:
            room_tests = set().union(
                *(tests for path, tests in self.executed_modules.items() if Path(path).parts[0] == room)
            )
        quick = [sorted(some, key=lambda test: (self.seconds[test], test)) for some in (tests, room_tests - tests)]
        return quick[0] + quick[1]

    def is_found(self, mutation: Mutation, limit: float) -> bool:
        """Run the tests with a mutation in a copy; one that takes far too long is found, too."""
        tests, total = [], 0.0
        for test in self.tests_of(mutation):
            total += self.seconds[test]
            if total > limit and tests:
                break
            tests.append(test)
        copy = self.copies.get()
        path = copy / "src" / "commmodel" / mutation.path
        text = path.read_bytes()
        try:
            with tempfile.TemporaryDirectory() as folder:
                chosen = Path(folder) / "tests"
                chosen.write_text("\n".join(tests))
                environment = self.environment(copy, SELECTED_TESTS=str(chosen))
                # numba looks for changes in the file of what it compiles, not in those of the formulas that it calls.
                if mutation.path.startswith("models/"):
                    environment["NUMBA_CACHE_DIR"] = folder
                path.write_bytes(text[: mutation.start] + mutation.after.encode() + text[mutation.end :])
                files = sorted({test.partition("::")[0] for test in tests})
                command = [self.python, "-m", "pytest", *OPTIONS, "-x", *files]
                quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
                patience = 120 + 10 * min(total, limit)
                code = subprocess.run(command, cwd=copy, env=environment, timeout=patience, **quiet).returncode
                return code not in {0, 5}  # 5: no test
        except subprocess.TimeoutExpired:
            return True
        finally:
            path.write_bytes(text)
            self.copies.put(copy)

    def mutations(self) -> list[Mutation]:
        """Return all mutations of the package."""
        return [mutation for path in sorted(self.source.rglob("*.py")) for mutation in mutations(self.source, path)]


def unique(mutations: Iterable[Mutation]) -> dict[tuple[str, ...], Mutation]:
    """Return the mutations whose place no other looks like, by its text."""
    mutations = list(mutations)
    counts = Counter(mutation.key for mutation in mutations)
    return {mutation.key: mutation for mutation in mutations if counts[mutation.key] == 1}


def main() -> int:
    """Count the mutations of a sample that are found; print those that survive."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=100, help="number of mutations (default: 100)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the sample (default: 1)")
    parser.add_argument("--limit", type=float, default=60, help="seconds of tests for a mutation (default: 60)")
    parser.add_argument("--rooms", default="", help="folders of commmodel, separated by commas (default: all)")
    parser.add_argument("--ignore", action="append", default=[], help="tests to leave out: 'tests/bench/*'")
    parser.add_argument("--before", type=Path, help="another tree, with its .venv, to count the same mutations in")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="tests at once (default: one per core)")
    parser.add_argument("--folder", type=Path, help="for copies of the trees, kept; what is there is used again")
    arguments = parser.parse_args()
    rooms = set(filter(None, arguments.rooms.split(",")))
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        roots = {"after": ROOT} | ({"before": arguments.before} if arguments.before else {})
        trees = {name: Tree(root, folder / name, arguments.workers, arguments.ignore) for name, root in roots.items()}
        mutations = {name: unique(tree.mutations()) for name, tree in trees.items()}
        common = set.intersection(*map(set, mutations.values()))
        drawn_from = [key for key in common if not rooms or Path(mutations["after"][key].path).parts[0] in rooms]
        choice = random.Random(arguments.seed)  # noqa: S311 (no secret)
        sample = choice.sample(sorted(drawn_from), min(arguments.sample, len(drawn_from)))
        for tree in trees.values():
            tree.collect()
        counts: Counter[str] = Counter()

        def attempt(task: tuple[int, str]) -> None:
            number, name = task
            mutation = mutations[name][sample[number]]
            begin = time.monotonic()
            result = trees[name].is_found(mutation, arguments.limit)
            counts[name] += result
            seconds = time.monotonic() - begin
            print(f"{number} {name} {'found' if result else 'SURVIVES'} {mutation} ({seconds:.0f} s)", flush=True)

        with ThreadPoolExecutor(arguments.workers) as pool:
            list(pool.map(attempt, [(number, name) for number in range(len(sample)) for name in trees]))
    for name in trees:
        print(f"{name}: {counts[name]} of {len(sample)} mutations found, of {len(drawn_from)} to draw from")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
