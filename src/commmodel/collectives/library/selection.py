"""Selection of algorithms as a library does it: reading, writing and applying rules; the first rule that holds wins.

A `Selector` is data: ``published/*.toml`` for published libraries, or a library's own file of rules (Open MPI's
dynamic rules, MPICH's selection file), read and written by `commmodel.collectives.library.openmpi` and
`commmodel.collectives.library.mpich`. `commmodel.collectives.library.tuning` makes one from predictions. Main entries:
`select`, and `load`, which knows published selectors by name and recognises files.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from commmodel import documents
from commmodel.arguments import Count, Whole
from commmodel.collectives.algorithms.blocks import segments
from commmodel.collectives.algorithms.registry import ALGORITHMS
from commmodel.collectives.algorithms.registry import algorithm as algorithm_of
from commmodel.collectives.algorithms.two_level import PIPELINED, stage_problem
from commmodel.collectives.library.rules import DEFAULT, FORMAT, NON_BLOCKING, UNKNOWN, VERSION, SelectionRule, Selector
from commmodel.collectives.operation import ELEMENT_SIZE
from commmodel.collectives.operation import operation as operation_of
from commmodel.collectives.schedule import Nodes, Problem
from commmodel.documents import check_format, convert, decode_json, locate, parse_toml, quantity, read_text
from commmodel.errors import DamagedFileError, InputError, choice_of
from commmodel.files import write_text
from commmodel.signatures import checked

__all__ = [
    "FORMATS", "SelectionRule", "Selector", "check", "dump", "dumps", "load", "normalise", "of_library", "picker",
    "published", "select", "select_for", "with_levels", "with_rules",
]  # fmt: skip

Format = Literal["toml", "openmpi", "openmpi-json", "openmpi-han", "mpich"]
FORMATS: tuple[Format, ...] = get_args(Format)
"""What `dumps` writes and `load` recognises."""


def with_rules(selector: Selector, rules: Sequence[SelectionRule]) -> Selector:
    """Return the selector with a user's rules before its own.

    >>> mine = with_rules(load("mpich"), [SelectionRule("bcast", "chain", segment_size=8192)])
    >>> select(mine, "bcast", 2**20, 64).algorithm
    'chain'
    """
    return msgspec.structs.replace(selector, rules=(*rules, *selector.rules))


@checked
def select(
    selector: Selector,
    operation: str,
    message_size: Whole,
    processes: Count,
    element_size: Count = ELEMENT_SIZE,
    per_node: Count | None = None,
) -> SelectionRule:
    """Return the rule that applies: its algorithm and segment size.

    Parameters
    ----------
    selector : Selector
        See `load`.
    operation : str
        One that has schedules (`commmodel.collectives.operation.SCHEDULED`).
    message_size : int
        n in bytes, as in `commmodel.collectives.Problem`.
    processes : int
        P, ≥ 1.
    element_size : int
        Bytes of an element, for rules that ask for a count.
    per_node : int, optional
        Processes of each node, for rules that ask for their distribution; left out, none of these holds.

    Raises
    ------
    InputError
        Where no rule holds, or one that picks an algorithm of which commmodel has no schedule.

    Examples
    --------
    >>> select(load("mvapich2-1.0"), "alltoall", 256, 8).algorithm
    'bruck'
    """
    operation_of(operation)
    if processes < 1 or message_size < 0 or element_size < 1:
        problem = f"{operation} of {message_size} bytes on {processes} processes, {element_size} bytes an element"
        raise InputError(f"{problem}: sizes must not be negative, and processes and elements at least 1")
    nodes = None if per_node is None else Nodes(per_node)
    return select_for(selector, operation, Problem(processes, message_size, nodes=nodes, element_size=element_size))


def select_for(selector: Selector, operation: str, problem: Problem) -> SelectionRule:
    """Return the rule that applies to a problem; as `select`, which knows sizes alone.

    >>> select_for(load("openmpi"), "allreduce", Problem(8, 1 << 20, operator="non-commutative")).algorithm
    'reduce-broadcast-in-order'
    """
    return _picked(selector, operation, problem)[0]


def picker(selector: Selector, operation: str, problem: Problem) -> str:
    """Return the name of what picks the algorithm: the selector, or its fallback where it has no rule.

    >>> mine = Selector("rules.txt", (SelectionRule("bcast", "chain"),), fallback="mvapich2-1.0")
    >>> picker(mine, "bcast", Problem(4, 8)), picker(mine, "alltoall", Problem(4, 8))
    ('rules.txt', 'MVAPICH2 1.0 (rules.txt has no rule for it)')
    """
    chosen = _picked(selector, operation, problem)[1]
    return (
        selector.name
        if chosen is selector or not selector.rules
        else f"{chosen.name} ({selector.name} has no rule for it)"
    )


def _picked(selector: Selector, operation: str, problem: Problem) -> tuple[SelectionRule, Selector]:
    """Return the rule that applies, and the selector whose rule it is."""
    operation_of(operation)
    size, processes = problem.message_size, problem.processes
    per_node = None if problem.nodes is None else problem.nodes.per_node
    call = problem.element_size, per_node, problem.operator, problem.in_place
    facts = size, size * processes, processes, *call
    rule = next((rule for rule in selector.rules if rule.operation == operation and rule.holds(*facts)), None)
    case = f"{operation} of {size} bytes on {processes} processes"
    if rule is None or rule.algorithm == DEFAULT:
        if selector.fallback:
            behind = replace(problem, nodes=None) if selector.is_flat else problem
            return _picked(_published(selector.fallback), operation, behind)
        raise InputError(f"selector {selector.name!r} has no rule for {case}: add one, or choose the algorithm")
    if rule.algorithm.startswith(UNKNOWN):
        name = rule.algorithm.removeprefix(UNKNOWN)
        trouble = f"selector {selector.name!r} picks {name} for {case}, an algorithm unknown to commmodel"
        raise InputError(f"{trouble}: put a rule with one of {', '.join(ALGORITHMS[operation])} before it")
    return rule, selector


def with_levels(selector: Selector, operation: str, algorithm: str, problem: Problem) -> Problem:
    """Return the problem of an algorithm in two levels, with the algorithms that a library takes on each of them.

    Within a node and between nodes these are what the selector picks there, but for reductions and broadcasts between
    nodes that are pipelined: Open MPI has non-blocking ones for these, which decide by themselves. What the problem
    names already stays.

    >>> from commmodel.collectives import Nodes
    >>> problem = with_levels(load("openmpi"), "bcast", "two-level", Problem(1024, 8, nodes=Nodes(64)))
    >>> problem.nodes.within, problem.nodes.between
    ({'bcast': 'binomial-at-once'}, {'bcast': 'binomial-at-once'})
    """
    form = algorithm_of(operation, algorithm)
    if not form.stages or problem.nodes is None:
        return problem
    levels = {"within": dict(problem.nodes.within), "between": dict(problem.nodes.between)}
    piece = problem
    if algorithm == PIPELINED:
        piece = replace(problem, message_size=segments(problem)[0][1])
    for stage in form.stages:
        part = stage_problem(form.operation, stage, piece)
        is_between = stage.level == "between"
        if part.processes > 1 and stage.operation not in levels[stage.level]:
            library = NON_BLOCKING if is_between and algorithm == PIPELINED else selector
            part = replace(part, nodes=Nodes(1 if is_between else part.processes))
            levels[stage.level][stage.operation] = select_for(library, stage.operation, part).algorithm
    return replace(problem, nodes=Nodes(problem.nodes.per_node, **levels))


def normalise(path: Path, rules: Any, where: str) -> None:
    """Turn sizes given as text (``"32KiB"``) into bytes, in place; wrong shapes are left to the typed decoder."""
    for index, rule in enumerate(rules if isinstance(rules, list) else ()):
        for name in ("upto", "total_upto", "segment_size") if isinstance(rule, dict) else ():
            if name in rule:
                rule[name] = quantity(path, f"field {where}[{index}].{name}", rule[name], "B")


def check(path: Path, rules: Sequence[SelectionRule], where: str) -> None:
    """Raise where a rule names an algorithm that its operation lacks, or contradicts itself."""
    for index, rule in enumerate(rules):
        algorithms = ALGORITHMS[rule.operation]
        if rule.algorithm != DEFAULT and not rule.algorithm.startswith(UNKNOWN) and rule.algorithm not in algorithms:
            problem = f"{rule.operation} has no algorithm {rule.algorithm!r}: {choice_of(rule.algorithm, algorithms)}"
            raise DamagedFileError(path, f"field {where}[{index}].algorithm", problem)
        if (rule.processes_from or 1) > (rule.processes_upto or rule.processes_from or 1):
            problem = f"from {rule.processes_from} up to {rule.processes_upto} processes: there are none"
            raise DamagedFileError(path, f"field {where}[{index}].processes_from", problem)


def _parse(path: Path, text: str) -> Selector:
    """Return the selector of a TOML file."""
    content = parse_toml(path, text)
    check_format(path, content, FORMAT, VERSION)
    normalise(path, content.get("rules"), "rules")
    selector: Selector = convert(path, content, Selector)
    check(path, selector.rules, "rules")
    if selector.fallback and selector.fallback not in published():
        problem = f"{selector.fallback!r} is no published selector: {choice_of(selector.fallback, published())}"
        raise DamagedFileError(path, "field fallback", problem)
    return selector


def _read(path: Path) -> Selector:
    """Read a file of rules: ours, Open MPI's (text, or JSON since version 6), han's or MPICH's, by what is in it."""
    text = read_text(path)
    lines = (line.strip() for line in text.splitlines())
    first = next((line for line in lines if line and not line.startswith("#")), "")
    if not first:
        raise DamagedFileError(path, "", "no rules: the file is empty")
    if first.startswith("{"):
        return _parse_json(path, text)
    if re.match(r"[-+]?\d+\b(?!\s*[=.])|rule-file-version-", first):
        from commmodel.collectives.library import han, openmpi

        return han.parse(path, text, _tuned(path)) if han.is_han(text) else openmpi.parse(path, text)
    return _parse(path, text)


def _tuned(path: Path) -> Selector:
    """Return the rules beside a file for han: those of the file without its suffix, else Open MPI's own."""
    beside = path.with_suffix("")
    return _read(beside) if beside != path and beside.is_file() else _published("openmpi")


def _parse_json(path: Path, text: str) -> Selector:
    """Return the selector of an Open MPI 6 or MPICH file."""
    from commmodel.collectives.library import mpich, openmpi

    content = decode_json(path, text.encode(), msgspec.json.Decoder())
    try:
        return openmpi.parse_json(path, content) if "collectives" in content else mpich.parse(path, content)
    except RecursionError:
        raise DamagedFileError(path, "", "nested too deeply") from None


def published() -> dict[str, Path]:
    """Return the selectors that come with commmodel, each with its source: name -> file.

    >>> ", ".join(published())
    'mpich, mpich-5.0, mvapich2-1.0, openmpi, openmpi-4.0, openmpi-4.1'
    """
    return documents.published(__file__)


_VERSION = re.compile(r"(?P<base>open mpi|mpich version|anl base)\D*(?P<major>\d+)\.(?P<minor>\d+)", re.IGNORECASE)
"""In what a library says of itself; what is made from MPICH may name that as its base."""


def of_library(version: str) -> str:
    """Return the name of the published selector of an MPI library, by its version as `MPI_Get_library_version` has it.

    What is not told apart counts as MPICH's before 3.4, on which most other libraries were based.

    >>> [of_library(text) for text in ("Open MPI v4.0.7", "Open MPI v5.0.11", "MPICH Version: 5.0.2", "Intel MPI 2021")]
    ['openmpi-4.0', 'openmpi', 'mpich-5.0', 'mpich']
    >>> of_library("CRAY MPICH version 7.7.19 (ANL base 3.2)")
    'mpich'
    """
    bases = {match["base"].lower(): (int(match["major"]), int(match["minor"])) for match in _VERSION.finditer(version)}
    if "open mpi" in version.lower():
        number = bases.get("open mpi", (5, 0))
        return "openmpi-4.0" if number < (4, 1) else "openmpi-4.1" if number < (5, 0) else "openmpi"
    return "mpich-5.0" if bases.get("anl base", bases.get("mpich version", (0, 0))) >= (3, 4) else "mpich"


@cache
def _published(name: str) -> Selector:
    return _read(published()[name])


@checked
def load(name_or_path: str | os.PathLike[str]) -> Selector:
    """Read a published selector, or a file of rules: ours, Open MPI's or MPICH's, known by what stands in it.

    A file for Open MPI's component han goes with one for ``tuned``: the file of the same name without the suffix.

    Parameters
    ----------
    name_or_path : str or path
        A name of `published`, or a file.

    Raises
    ------
    InputError
        Where there is neither such a name nor such a file.
    DamagedFileError
        Naming file and place, where it is not what its format says.

    Examples
    --------
    >>> load("openmpi").name
    'Open MPI 5.0'
    """
    path = locate(name_or_path, published(), "a published selector")
    return _published(path.stem) if path in published().values() else _read(path)


@checked
def dumps(selector: Selector, format: Format = "toml") -> str:  # noqa: A002  (the option's name)
    """Return the text of a file of rules.

    Parameters
    ----------
    selector : Selector
        The rules.
    format : str
        One of `FORMATS`: ours, Open MPI's dynamic rules (as JSON from version 6 on), those of its component han for
        algorithms in two levels, or MPICH's selection file.

    Raises
    ------
    InputError
        Where the library has no such algorithm, or its file cannot express a rule.

    Examples
    --------
    >>> print(dumps(Selector("mine", (SelectionRule("bcast", "binomial", upto=4096),)), "openmpi").splitlines()[-2])
    0 6 0 0  # binomial
    """
    from commmodel.collectives.library import han, mpich, openmpi

    for rule in selector.rules if format != "toml" else ():
        if rule.processes_above is not None or rule.processes_above_total is not None:
            problem = f"{selector.name}: a rule for {rule.operation} has processes_above, which no library's file can"
            raise InputError(f"{problem} have: write toml, or give limits of P and n")
    match format:
        case "toml":
            return _dumps(selector)
        case "openmpi":
            return openmpi.dumps(selector)
        case "openmpi-json":
            return openmpi.dumps_json(selector)
        case "openmpi-han":
            return han.dumps(selector)
        case "mpich":
            return mpich.dumps(selector, load(mpich.DEFAULT_SELECTOR))


def _dumps(selector: Selector) -> str:
    import tomlkit

    plain = msgspec.to_builtins(selector)
    head = {"format": selector.format, "version": selector.version} | plain
    document = tomlkit.document()
    document.add(tomlkit.comment("Rules for commmodel: which algorithm a collective operation uses. The first that"))
    document.add(tomlkit.comment("holds wins. upto: n in bytes; total_upto: n P in bytes."))
    for key, value in head.items():
        if key != "rules":
            document[key] = value
    rules = tomlkit.array().multiline(True)
    for rule in plain.get("rules", ()):
        table = tomlkit.inline_table()
        table.update(rule)
        rules.append(table)
    document["rules"] = rules
    return tomlkit.dumps(document)


@checked
def dump(selector: Selector, path: str | os.PathLike[str], format: Format = "toml") -> None:  # noqa: A002
    """Write a file of rules, replacing one that is there; see `dumps`.

    Parameters
    ----------
    format : str
        As of `dumps`.
    """
    write_text(path, dumps(selector, format))
