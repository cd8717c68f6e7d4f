"""Rules of Open MPI's component han, collectives in two levels: ``--mca coll_han_dynamic_rules_filename``.

The text lists collectives; of each the levels, here that of all processes alone; of that sizes of communicators; of
each the size from which it holds, and rules; of each the bytes from which it holds and the component: ``tuned``, whose
own file then says how (`commmodel.collectives.library.openmpi`), or ``han`` with an algorithm. Bytes are n: of gather,
scatter and allgather those of one process's block. On each level ``tuned`` decides by its own file. Source: Open MPI
5.0.10, ``coll_han_dynamic_file.h``. Main entry: `dumps`.
"""

from collections.abc import Sequence

from msgspec import structs

from commmodel.collectives.algorithms.registry import ALGORITHMS
from commmodel.collectives.algorithms.two_level import PIPELINED, TWO_LEVEL
from commmodel.collectives.library.openmpi import NAMES, starts
from commmodel.collectives.library.rules import SEVERAL, SelectionRule, Selector

__all__ = ["FORMS", "NON_BLOCKING", "dumps"]

FORMS: dict[str, dict[str, str]] = {
    operation: {name: {TWO_LEVEL: "simple", PIPELINED: "intra"}[name] for name, form in forms.items() if form.stages}
    for operation, forms in ALGORITHMS.items()
    if any(form.stages for form in forms.values())
}
"""Operation -> algorithms in two levels -> their names in the component han."""
NON_BLOCKING = Selector(
    "libnbc of Open MPI 5.0",
    (
        SelectionRule("bcast", "linear", processes_upto=4),
        SelectionRule("bcast", "binomial-at-once"),
        SelectionRule("reduce", "binomial", processes_upto=2),
        SelectionRule("reduce", "binomial", count_below_power_of_two=True),
        SelectionRule("reduce", "reduce-scatter-gather"),
    ),
    "Open MPI 5.0.10, ompi/mca/coll/libnbc",
)
"""What Open MPI takes between nodes for a pipelined broadcast or reduction in two levels."""


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
    rules = {name: [rule for rule in selector.rules if (rule.operation, rule.distribution) == (name, SEVERAL)]
             for name in FORMS}  # fmt: skip
    operations = [name for name, listed in rules.items() if listed]
    lines.append(f"{len(operations)}  # collectives")
    for operation in operations:
        table: list[tuple[int, list[tuple[int, str]]]] = []
        for processes in starts(rules[operation]):
            cells = _cells([structs.replace(rule, distribution=None) for rule in rules[operation]], processes)
            if not table or table[-1][1] != cells:
                table.append((processes, cells))
        lines += [NAMES[operation], "1  # level", "global_communicator", f"{len(table)}  # sizes of communicators"]
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
