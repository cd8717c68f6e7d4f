"""Rules of Open MPI's component han, collectives in two levels: ``--mca coll_han_dynamic_rules_filename``.

The text lists collectives; of each the levels, here that of all processes alone; of that sizes of communicators; of
each the size from which it holds, and rules; of each the bytes from which it holds and the component: ``tuned``, whose
own file then says how (`commmodel.collectives.library.openmpi`), or ``han`` with an algorithm. Bytes are n: of gather,
scatter and allgather those of one process's block. On each level ``tuned`` decides by its own file; what a file says of
single levels is passed over. Source: Open MPI 5.0.10, ``coll_han_dynamic_file.h``. Main entries: `parse` and `dumps`.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import structs

from commmodel.collectives.algorithms.multi_leader import STEPS
from commmodel.collectives.algorithms.registry import ALGORITHMS
from commmodel.collectives.algorithms.two_level import PIPELINED, TWO_LEVEL
from commmodel.collectives.library.openmpi import COLLECTIVES, IDS, RuleWords, ascending, starts
from commmodel.collectives.library.rules import SEVERAL, SelectionRule, Selector, unknown, usual
from commmodel.collectives.operation import OPERATIONS

SUFFIX = ".han"
"""Behind the name of the file of ``tuned`` that goes with one."""

_NAMES = {TWO_LEVEL: "simple", PIPELINED: "intra", STEPS: "smsc"}
_FOREIGN = {("alltoall", TWO_LEVEL), ("scan", TWO_LEVEL)}
# MPICH's.
FORMS: dict[str, dict[str, str]] = {
    operation: names
    for operation, forms in ALGORITHMS.items()
    if (names := {name: _NAMES[name] for name in forms if name in _NAMES and (operation, name) not in _FOREIGN})
}
"""Operation -> algorithms in two levels -> their names in the component han."""
NEW_IN_6 = frozenset({"alltoall"})
"""Operations that han has from Open MPI 6 on: version 5.0.11 breaks down at an algorithm of theirs in the file.

Its alltoall maps the neighbours' memory, by XPMEM; where that is missing, ``tuned`` decides.
"""
_GLOBAL = ("global_communicator", "2")
_LEVELS = ("intra_node", "inter_node", *_GLOBAL, "0", "1")
_TELLING = {"han", "tuned", *(name for name in _LEVELS if not name.isdigit())}
"""Words of which one stands in every file with a rule."""


def is_han(text: str) -> bool:
    """Whether a text that begins with a number names levels or components."""
    return any(not _TELLING.isdisjoint(line.partition("#")[0].split()) for line in text.splitlines())


def parse(path: Path, text: str, tuned: Selector) -> Selector:
    """Return the selector of a file of rules for han; `DamagedFileError` names the line of what is wrong.

    `tuned` holds where the file says ``tuned``, and for other distributions of processes.

    >>> text = "1 bcast 1 global_communicator 1 1 2 0 tuned 4096 han @simple"
    >>> selector = parse(Path("mine.han"), text, Selector("tuned", (SelectionRule("bcast", "linear"),)))
    >>> [(rule.algorithm, rule.upto, rule.distribution) for rule in selector.rules]
    [('linear', 4095, 'several-per-node'), ('two-level', None, 'several-per-node'), ('linear', None, None)]
    """
    words = RuleWords(path, text)
    operations = {name: operation for operation, number in IDS.items() for name in (operation, str(number))}
    rules: list[SelectionRule] = []
    for _ in range(words.number("the number of collectives", COLLECTIVES)):
        operation = operations.get(words.word("a collective"))
        for _ in range(words.number("the number of levels", len(_LEVELS))):
            level = words.word("a level")
            if level not in _LEVELS:
                words.fail(f"{level[:40]!r} is no level: choose {', '.join(_LEVELS[:3])}")
            table = [*_sizes(words)]
            if operation is None or level not in _GLOBAL:
                continue
            ends: list[int | None] = [size - 1 for size, _ in table[1:]]
            for (size, cells), end in zip(table, [*ends, None], strict=bool(table)):
                if end != 0:
                    span = ({"processes_from": size} if size > 1 else {}) | ({"processes_upto": end} if end else {})
                    rules += _row(operation, cells, span, tuned)
    words.end()
    source = f"Open MPI's rules for han, {path.name}, beside {tuned.name}"
    return Selector(path.name, (*rules, *tuned.rules), source, tuned.fallback)


def _sizes(words: RuleWords) -> Iterator[tuple[int, list[tuple[int, str]]]]:
    """Yield each size of communicators with its rules: (bytes from which it holds, component and algorithm)."""
    for size in ascending(words, "communicators", "processes", words.number("the number of sizes of communicators")):
        cells: list[tuple[int, str]] = []
        for start in ascending(words, "a rule", "bytes", words.number("the number of rules")):
            if not cells and start:
                words.fail(f"the first rule is for {start} bytes: it must be for 0")
            component = words.word("a component")
            name = words.word("an algorithm") if words.following().startswith("@") else ""
            cells.append((start, f"{component} {name}".strip()))
        if cells:
            yield size, cells


def _row(
    operation: str, cells: Sequence[tuple[int, str]], span: dict[str, Any], tuned: Selector
) -> Iterator[SelectionRule]:
    """Yield the rules of a size of communicators; ``tuned`` stands for all of its rules, up to the next cell."""
    algorithms = {f"han @{name}": algorithm for algorithm, name in FORMS.get(operation, {}).items()}
    ends = [start - 1 for start, _ in cells[1:]]
    for (_, component), end in zip(cells, [*ends, None], strict=True):
        limit = {} if end is None else {"upto": end}
        if component != "tuned":
            name = algorithms.get(component, unknown(f"Open MPI's {component}"))
            rule = SelectionRule(operation, name, distribution=SEVERAL, **span, **limit)  # type: ignore[arg-type]
            # Where operators do not commute it leaves it to tuned.
            yield structs.replace(rule, commutative=True) if OPERATIONS[operation].combines else rule
            continue
        for rule in tuned.rules:
            if rule.operation == operation and rule.distribution is None:
                yield structs.replace(rule, distribution=SEVERAL, **_common_limits(rule, span | limit))


def _common_limits(rule: SelectionRule, span: dict[str, int]) -> dict[str, int]:
    """Return limits that are those of a rule and of a span."""
    limits = {}
    for name, value in span.items():
        limit = getattr(rule, name)
        limits[name] = value if limit is None else (max if name == "processes_from" else min)(limit, value)
    return limits


def dumps(selector: Selector) -> str:
    """Return the text of a file of rules for Open MPI's component han.

    >>> rule = SelectionRule("bcast", "two-level", upto=4095, distribution=SEVERAL)
    >>> print(dumps(Selector("mine", (rule,))), end="")
    # mine
    # mpiexec --mca coll_han_use_dynamic_file_rules 1 --mca coll_han_dynamic_rules_filename THIS_FILE ...
    1  # collectives
    bcast
    1  # level
    global_communicator
    1  # sizes of communicators
    1 2  # from so many processes on; rules: from n, component, algorithm
    0 han @simple
    4096 tuned
    """
    lines = [
        f"# {' '.join(selector.name.split())}",
        "# mpiexec --mca coll_han_use_dynamic_file_rules 1 --mca coll_han_dynamic_rules_filename THIS_FILE ...",
    ]
    listed = usual(selector.rules)
    rules = {name: [rule for rule in listed if (rule.operation, rule.distribution) == (name, SEVERAL)]
             for name in FORMS}  # fmt: skip
    operations = [name for name, some in rules.items() if some]
    if not NEW_IN_6.isdisjoint(operations):
        lines.append("# Open MPI 6 and later alone: version 5 breaks down at an algorithm of alltoall")
    lines.append(f"{len(operations)}  # collectives")
    for operation in operations:
        table: list[tuple[int, list[tuple[int, str]]]] = []
        for processes in starts(rules[operation]):
            cells = _cells([structs.replace(rule, distribution=None) for rule in rules[operation]], processes)
            if not table or table[-1][1] != cells:
                table.append((processes, cells))
        lines += [operation, "1  # level", "global_communicator", f"{len(table)}  # sizes of communicators"]
        for processes, cells in table:
            lines.append(f"{processes} {len(cells)}  # from so many processes on; rules: from n, component, algorithm")
            lines += [f"{size} {component}" for size, component in cells]
    return "\n".join(lines) + "\n"


def _cells(rules: Sequence[SelectionRule], processes: int) -> list[tuple[int, str]]:
    """Return (n from which it holds, component and algorithm) on P processes."""
    limits = {rule.upto for rule in rules} | {
        None if rule.total_upto is None else rule.total_upto // processes for rule in rules
    }
    cells: list[tuple[int, str]] = []
    for size in (0, *sorted(limit + 1 for limit in limits if limit is not None)):
        match = next((rule for rule in rules if rule.holds(size, size * processes, processes)), None)
        form = FORMS[match.operation].get(match.algorithm) if match else None
        component = f"han @{form}" if form else "tuned"
        if not cells or cells[-1][1] != component:
            cells.append((size, component))
    return cells
