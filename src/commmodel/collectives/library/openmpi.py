"""Open MPI's dynamic rules: the file of ``--mca coll_tuned_dynamic_rules_filename``, read and written.

The text is a list of numbers with comments: collectives; of each its id, and sizes of communicators; of each the size
from which it holds, and rules; of each the bytes from which it holds, the algorithm's number, a fan-out and the size
of segments. A size is n for bcast, reduce and allreduce and n P for the rest; barrier and scan have none. Open MPI 6
reads the same as JSON, with ranges. Sources: Open MPI's manual, "The tuned component", ``ompi_info`` of 5.0 for the
algorithms, and ``coll_tuned_dynamic_file.c`` and ``coll_tuned_dynamic_rules.c`` of its branch v6.0.x for JSON. Main
entries: `parse`, `parse_json`, `dumps` and `dumps_json`.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, NoReturn

import msgspec
from msgspec import Meta, Struct, structs

from commmodel.collectives.algorithms.blocks import power_below
from commmodel.collectives.library.rules import (
    DEFAULT,
    SEVERAL,
    SINGLE,
    SPREAD,
    Distribution,
    SelectionRule,
    Selector,
    unknown,
    usual,
)
from commmodel.collectives.operation import ELEMENT_SIZE, OPERATIONS
from commmodel.documents import convert
from commmodel.errors import DamagedFileError, InputError

IDS = {
    "allgather": 0, "allreduce": 2, "alltoall": 3, "barrier": 6, "bcast": 7,
    "gather": 9, "reduce": 11, "reduce_scatter": 12, "reduce_scatter_block": 13, "scan": 14, "scatter": 15,
}  # fmt: skip
"""Ids of the collectives that commmodel knows; Open MPI has 22."""
COLLECTIVES = 22
LIBRARY_ALGORITHMS: dict[str, tuple[tuple[str, str, bool], ...]] = {
    "allgather": (
        ("linear", "", False),
        ("bruck", "bruck", True),
        ("recursive_doubling", "recursive-doubling", True),
        ("ring", "ring", True),
        ("neighbor", "neighbor-exchange", True),
        ("two_proc", "ring", False),
        ("sparbit", "", False),
    ),
    "allreduce": (
        ("basic_linear", "linear", True),
        ("nonoverlapping", "reduce-broadcast", True),
        ("recursive_doubling", "recursive-doubling", True),
        ("ring", "ring", True),
        ("segmented_ring", "ring", False),
        ("rabenseifner", "reduce-scatter-allgather-halves", True),
    ),
    "alltoall": (
        ("linear", "linear", True),
        ("pairwise", "pairwise", True),
        ("modified_bruck", "bruck", True),
        ("linear_sync", "linear", False),
        ("two_proc", "pairwise", False),
    ),
    "barrier": (
        ("linear", "linear", True),
        ("double_ring", "", False),
        ("recursive_doubling", "recursive-doubling", True),
        ("bruck", "dissemination", True),
        ("two_proc", "recursive-doubling", False),
        ("tree", "binomial", True),
    ),
    "bcast": (
        ("basic_linear", "linear", True),
        ("chain", "chain", False),
        ("pipeline", "chain", True),
        ("split_binary_tree", "binary", False),
        ("binary_tree", "binary", True),
        ("binomial", "binomial-at-once", True),
        ("knomial", "binomial-at-once", False),
        ("scatter_allgather", "scatter-recursive-doubling", True),
        ("scatter_allgather_ring", "scatter-ring", True),
    ),
    "gather": (("basic_linear", "linear", True), ("binomial", "binomial", True), ("linear_sync", "linear", False)),
    "reduce": (
        ("linear", "linear", True),
        ("chain", "linear", False),
        ("pipeline", "chain", True),
        ("binary", "binary", True),
        ("binomial", "binomial", True),
        ("in-order_binary", "binary-in-order", True),
        ("rabenseifner", "reduce-scatter-gather-halves", True),
    ),
    "reduce_scatter": (
        ("non-overlapping", "binomial-then-linear", False),
        ("recursive_halving", "recursive-halving", True),
        ("ring", "ring", True),
        ("butterfly", "butterfly-exchange", True),
    ),
    "reduce_scatter_block": (
        ("basic_linear", "binomial-then-linear", False),
        ("recursive_doubling", "recursive-doubling", True),
        ("recursive_halving", "recursive-halving", True),
        ("butterfly", "butterfly", True),
    ),
    "scan": (("linear", "linear", True), ("recursive_doubling", "recursive-doubling", True)),
    "scatter": (("basic_linear", "linear", True), ("binomial", "binomial", True), ("linear_nb", "linear", False)),
}
"""Operation -> Open MPI's algorithms by number from 1: its name, ours or the nearest, whether they are the same."""
_RENAMED = {("allgather", "bruck"): "bruck-k-fanout"}
_ADDED = {"allgather": ("direct-messaging",), "allreduce": ("allgather_reduce",), "reduce": ("knomial",)}
# Names of Open MPI 6.
_FANOUTS = {("allgather", "bruck-k-fanout"): 2}
# Its radix, which has to be given: with 0 the algorithm of the branch v6.0.x never ends.
FALLBACKS: dict[tuple[str, str], tuple[tuple[str, str], ...]] = {
    ("allgather", "recursive-doubling"): (("power_of_two", "bruck"),),
    ("allgather", "neighbor-exchange"): (("even", "ring"),),
    ("allreduce", "ring"): (("count_below_processes", "recursive-doubling"),),
    ("allreduce", "reduce-scatter-allgather-halves"): (
        ("count_below_power_of_two", "linear"),
        ("commutative", "linear"),
    ),
    **{("alltoall", name): (("in_place", "shift-in-place"),) for name in ("linear", "pairwise", "bruck")},
    ("bcast", "scatter-recursive-doubling"): (("count_below_processes", "linear"),),
    ("bcast", "scatter-ring"): (("count_below_processes", "linear"),),
    ("reduce", "reduce-scatter-gather-halves"): (("count_below_power_of_two", "linear"), ("commutative", "linear")),
    ("reduce_scatter_block", "recursive-halving"): (("commutative", DEFAULT),),
}
"""Algorithm -> conditions of a rule that decide, and what Open MPI itself uses where it cannot do it.

That is where numbers of processes are not powers of two or not even, where there are so few elements, or where
operators do not commute; alltoall has one algorithm in place. Source: each algorithm in ``ompi/mca/coll/base``,
release 5.0.
"""
_MISSES = {
    "power_of_two": False, "even": False, "count_below_processes": True, "count_below_power_of_two": True,
    "commutative": False, "in_place": True,
}  # fmt: skip
# Value of a condition where the algorithm cannot do it.
ALSO = {
    ("bcast", "binomial"): "binomial-at-once",
    ("allreduce", "reduce-scatter-allgather"): "reduce-scatter-allgather-halves",
    ("reduce", "reduce-scatter-gather"): "reduce-scatter-gather-halves",
}
"""What Open MPI has in another form.

Its binomial tree does not send to one child after the other, and processes that stand aside in Rabenseifner's
algorithms combine half of their vectors before.
"""
NUMBERS = {
    operation: {algorithm: number for number, (_, algorithm, is_equal) in enumerate(listed, 1) if is_equal}
    for operation, listed in LIBRARY_ALGORITHMS.items()
}
OFFERS: dict[str, dict[str, dict[str, bool]]] = {
    operation: {name: {} for name in numbers} for operation, numbers in NUMBERS.items()
}
"""Operation -> algorithms that it has -> conditions of a rule that it sets for each beyond those of the schedule."""
_UNSEEN = frozenset({"barrier", "scan"})
# Open MPI looks up their rules without a message size.
NO_SIZES = _UNSEEN | {"gather", "scatter"}
"""Operations for which no rule that we write may depend on the message size.

Open MPI 5 takes it from arguments that only the root of a scatter has to give, or may leave out of a gather: ranks
would choose different algorithms, and the program hang or get wrong results.
"""
_LARGEST = 2**20
_LARGEST_ODD = 1024
# Where rules tell powers of two or even numbers apart, the file says so for each up to these.


def _rules(operation: str, number: int, segment_size: int, conditions: dict[str, Any]) -> Iterator[SelectionRule]:
    """Yield the rules of an algorithm's number in the file."""
    algorithms = LIBRARY_ALGORITHMS[operation]
    if number == 0:
        yield _rule(operation, DEFAULT, conditions)
        return
    name, algorithm, _ = algorithms[number - 1] if number <= len(algorithms) else (f"algorithm {number}", "", False)
    algorithm = algorithm or unknown(f"Open MPI's {operation} {name}")
    segment = {"segment_size": segment_size} if segment_size else {}
    for condition, instead in FALLBACKS.get((operation, algorithm), ()):
        yield _rule(operation, instead, conditions | {condition: _MISSES[condition]})
    yield _rule(operation, algorithm, conditions | segment)


def _rule(operation: str, algorithm: str, conditions: dict[str, Any]) -> SelectionRule:
    return msgspec.convert({"operation": operation, "algorithm": algorithm} | conditions, SelectionRule)


def _row(operation: str, cells: Sequence[tuple[int, int, int]], conditions: dict[str, Any]) -> Iterator[SelectionRule]:
    """Yield the rules of one communicator size; a cell is (bytes from which it holds, algorithm, segment size)."""
    field = "total_upto" if OPERATIONS[operation].size_is_per_block else "upto"
    ends: list[int | None] = [cell[0] - 1 for cell in cells[1:]]
    for (_, number, segment_size), end in zip(cells, [*ends, None], strict=True):
        limit = {} if end is None or operation in _UNSEEN else {field: end}
        yield from _rules(operation, number, segment_size, conditions | limit)
        if operation in _UNSEEN:
            break


class RuleWords:
    """The words of a text, with their lines, but for comments."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.lines = [line.partition("#")[0].split() for line in text.splitlines()]
        self.line, self.column = 0, 0
        self.version = 1
        for number, line in enumerate(self.lines):
            if line:
                if match := re.fullmatch(r"rule-file-version-(\d{1,9})", line[0]):
                    self.version = int(match[1])
                    self.line, self.column = number, 1
                break

    def fail(self, problem: str) -> NoReturn:
        """Raise an error that names the line."""
        raise DamagedFileError(self.path, f"line {self.line + 1}", problem)

    def following(self) -> str:
        """Return the next word, and stay before it; at the end an empty one."""
        while self.line < len(self.lines) and self.column == len(self.lines[self.line]):
            self.line, self.column = self.line + 1, 0
        return "" if self.line == len(self.lines) else self.lines[self.line][self.column]

    def word(self, name: str) -> str:
        """Return the next word."""
        word = self.following()
        if not word:
            self.line -= 1
            self.fail(f"the file ends where {name} should be")
        self.column += 1
        return word

    def number(self, name: str, most: int | None = None) -> int:
        """Return the next number."""
        word = self.word(name)
        if not re.fullmatch(r"\d{1,18}", word):
            self.fail(f"{name}: expected a whole number from 0 up, got {word[:40]!r}")
        if most is not None and int(word) > most:
            self.fail(f"{name}: {word}, and Open MPI has {most}")
        return int(word)

    def skip_on_line(self) -> None:
        """Skip another number on the same line, if there is one."""
        if self.column < len(self.lines[self.line]):
            self.number("the largest number of requests")

    def end(self) -> None:
        """Raise where something is left."""
        if self.following():
            self.fail("more than the counts before say")


def ascending(words: RuleWords, owner: str, unit: str, count: int) -> Iterator[int]:
    """Yield the numbers at the begin of so many entries, which must ascend."""
    last = -1
    for _ in range(count):
        number = words.number(f"the {unit} of {owner}")
        if number <= last:
            words.fail(f"{owner} for {number} {unit} after {last}: sizes must ascend")
        yield number
        last = number


def parse(path: Path, text: str) -> Selector:
    """Return the selector of a text file of rules; `DamagedFileError` names the line of what is wrong."""
    words = RuleWords(path, text)
    operations = {number: operation for operation, number in IDS.items()}
    rules: list[SelectionRule] = []
    ids: set[int] = set()
    for _ in range(words.number("the number of collectives", COLLECTIVES)):
        collective = words.number("the id of a collective")
        if collective >= COLLECTIVES or collective in ids:
            words.fail(f"id {collective} of a collective: expected each once, and less than {COLLECTIVES}")
        ids.add(collective)
        count = words.number("the number of communicator sizes")
        rows = [(size, _cells(words)) for size in ascending(words, "communicators", "processes", count)]
        if collective in operations:
            ends: list[int | None] = [size - 1 for size, _ in rows[1:]]
            for (_, cells), end in zip(rows, [*ends, None], strict=bool(rows)):
                if end != 0:
                    rules += _row(operations[collective], cells, {} if end is None else {"processes_upto": end})
    words.end()
    return Selector(path.name, tuple(rules), f"Open MPI's dynamic rules, {path.name}", "openmpi")


def _cells(words: RuleWords) -> list[tuple[int, int, int]]:
    """Return the rules of one size of communicator: (bytes from which it holds, algorithm, segment size)."""
    cells: list[tuple[int, int, int]] = []
    for size in ascending(words, "a rule", "bytes", words.number("the number of rules")):
        if not cells and size:
            words.fail(f"the first rule is for {size} bytes: it must be for 0")
        algorithm = words.number("an algorithm")
        words.number("a fan-out")
        cells.append((size, algorithm, words.number("a segment size")))
        if words.version > 1:
            words.skip_on_line()
    return cells or [(0, 0, 0)]


_Whole = Annotated[int, Meta(ge=0, le=2**63 - 1)]


class _Message(Struct, forbid_unknown_fields=True):
    alg: int | str
    msg_size_min: _Whole | str = 0
    msg_size_max: _Whole | str = "inf"
    faninout: _Whole = 0
    seg_size: _Whole = 0
    reqs: _Whole = 0


class _Communicator(Struct, forbid_unknown_fields=True):
    rules: list[_Message]
    comm_size_min: _Whole | str = 0
    comm_size_max: _Whole | str = "inf"
    comm_rank_distribution: Literal["any", "single-node", "one-per-node"] = "any"


class _RulesFile(Struct):
    collectives: dict[str, list[_Communicator]]
    module: str = "tuned"


def _bound(path: Path, where: str, value: int | str) -> int | None:
    if isinstance(value, int):
        return value
    if value[:3] not in {"inf", "Inf", "INF"}:
        raise DamagedFileError(path, where, f"expected a whole number or 'inf', got {value[:40]!r}")
    return None


def parse_json(path: Path, content: Any) -> Selector:
    """Return the selector of an Open MPI 6 file; `DamagedFileError` names the field of what is wrong."""
    file: _RulesFile = convert(path, content, _RulesFile)
    rules: list[SelectionRule] = []
    for operation, communicators in file.collectives.items():
        if operation not in IDS:
            continue
        for index, communicator in enumerate(communicators):
            where = f"field collectives.{operation}[{index}]"
            first = _bound(path, f"{where}.comm_size_min", communicator.comm_size_min) or 0
            last = _bound(path, f"{where}.comm_size_max", communicator.comm_size_max)
            if last is not None and last < max(first, 1):
                continue
            conditions: dict[str, Any] = ({"processes_from": first} if first > 1 else {}) | (
                {"processes_upto": last} if last else {}
            )
            if communicator.comm_rank_distribution != "any":
                conditions["distribution"] = communicator.comm_rank_distribution
            rules += _row(operation, _ranges(path, where, operation, communicator.rules), conditions)
    return Selector(path.name, tuple(rules), f"Open MPI's dynamic rules, {path.name}", "openmpi")


def _ranges(path: Path, where: str, operation: str, messages: Sequence[_Message]) -> list[tuple[int, int, int]]:
    """Return ranges, of which the first that holds wins, as cells."""
    listed = []
    for index, message in enumerate(messages):
        place = f"{where}.rules[{index}]"
        low = _bound(path, f"{place}.msg_size_min", message.msg_size_min)
        high = _bound(path, f"{place}.msg_size_max", message.msg_size_max)
        number = _number(operation, message.alg)
        if number is not None and low is not None:
            listed.append((low, high, number, message.seg_size))
    edges = sorted({0, *(low for low, *_ in listed), *(high + 1 for _, high, *_ in listed if high is not None)})
    cells: list[tuple[int, int, int]] = []
    for edge in edges:
        matches = (cells[2:] for cells in listed if cells[0] <= edge and (cells[1] is None or edge <= cells[1]))
        number, segment_size = next(matches, (0, 0))
        if not cells or cells[-1][1:] != (number, segment_size):
            cells.append((edge, number, segment_size))
    return cells


def _number(operation: str, algorithm: int | str) -> int | None:
    """Return the number of an algorithm; None where Open MPI would pass over the rule."""
    names = _names_in_json(operation)
    if isinstance(algorithm, str) and algorithm.lower() in names:
        return names.index(algorithm.lower())
    if isinstance(algorithm, str) and not re.fullmatch(r"\d{1,9}", algorithm):
        return None
    number = int(algorithm)
    return number if 0 <= number < len(names) else None


def _names_in_json(operation: str) -> list[str]:
    """Return Open MPI 6's names of the algorithms, by number from 0."""
    listed = (_RENAMED.get((operation, name), name) for name, _, _ in LIBRARY_ALGORITHMS[operation])
    return ["ignore", *listed, *_ADDED.get(operation, ())]


class _SizeRule(NamedTuple):
    """An algorithm for messages of at least `size` bytes."""

    size: int
    number: int
    segment_size: int


def _table(
    selector: Selector, operation: str, distribution: Distribution | None = None
) -> list[tuple[int, list[_SizeRule]]]:
    """Return (processes from which it holds, cells) of an operation's rules for a distribution."""
    rules = [
        structs.replace(rule, distribution=None)
        for rule in usual(selector.rules)
        if rule.operation == operation and rule.distribution == distribution
    ]
    per_block = OPERATIONS[operation].size_is_per_block
    field, foreign = ("total_upto", "upto") if per_block else ("upto", "total_upto")
    for rule in rules:
        blind = operation in NO_SIZES and getattr(rule, field) is not None
        if blind or getattr(rule, foreign) is not None or (per_block and rule.count_below_power_of_two):
            raise _beyond(selector, rule, field, foreign)
        if rule.count_below_processes is not None and not _is_fallback(rule):
            raise InputError(
                f"{selector.name}: Open MPI's file has no count_below_processes (a rule for {operation} asks)"
            )
    table: list[tuple[int, list[_SizeRule]]] = []
    for processes in starts(rules):
        cells: list[_SizeRule] = []
        edges = {0, *(limit + 1 for rule in rules if (limit := getattr(rule, field)) is not None)}
        if any(rule.count_below_power_of_two is not None and not _is_fallback(rule) for rule in rules):
            edges.add(power_below(processes) * ELEMENT_SIZE)
        for size in sorted(edges):
            match = _rule_to_write(rules, size, processes)
            number, segment_size = _codes(selector, match, operation)
            if not cells or cells[-1][1:] != (number, segment_size):
                cells.append(_SizeRule(size, number, segment_size))
        if not table or table[-1][1] != cells:
            table.append((processes, cells))
    return table


def _is_fallback(rule: SelectionRule, of: SelectionRule | None = None) -> bool:
    """Whether a rule says what Open MPI does by itself instead of another algorithm, any or that of a rule."""
    return any(
        operation == rule.operation
        and instead == rule.algorithm
        and getattr(rule, condition) == _MISSES[condition]
        and (of is None or of.algorithm == algorithm)
        for (operation, algorithm), pairs in FALLBACKS.items()
        for condition, instead in pairs
    )


def _rule_to_write(rules: Sequence[SelectionRule], size: int, processes: int) -> SelectionRule | None:
    """Return the rule that holds; of one for a fallback, that of the algorithm which turns into it."""
    matches = [rule for rule in rules if rule.holds(size, size, processes)][:2]
    if len(matches) > 1 and _is_fallback(*matches):
        return matches[1]
    return matches[0] if matches else None


def starts(rules: Sequence[SelectionRule]) -> list[int]:
    """Return the numbers of processes from which on another rule may hold."""
    numbers = {1}
    for rule in rules:
        numbers |= {rule.processes_from or 1, (rule.processes_upto or 0) + 1}
        if rule.power_of_two is not None or rule.count_below_power_of_two is not None:
            power = 1
            while power <= _LARGEST:
                numbers |= {power, power + 1}
                power *= 2
        if rule.even is not None:
            numbers |= set(range(rule.processes_from or 1, min(rule.processes_upto or _LARGEST_ODD, _LARGEST_ODD) + 1))
    return sorted(numbers)


def _beyond(selector: Selector, rule: SelectionRule, field: str, foreign: str) -> InputError:
    """Return the error for a rule with a condition that the file cannot express."""
    condition = next((name for name in (foreign, field) if getattr(rule, name) is not None), "count_below_power_of_two")
    problem = f"{selector.name}: a rule for {rule.operation} has {condition}, and Open MPI's file can have"
    if rule.operation in NO_SIZES:
        return InputError(f"{problem} no message sizes there: leave it out")
    return InputError(f"{problem} {'n P' if field == 'total_upto' else 'n'} alone there: write {field}")


def _codes(selector: Selector, rule: SelectionRule | None, operation: str) -> tuple[int, int]:
    """Return the number and segment size of a rule."""
    if rule is None or rule.algorithm == DEFAULT:
        return 0, 0
    algorithm = ALSO.get((operation, rule.algorithm), rule.algorithm)
    if "-then-" in algorithm:  # a reduction and a scatter, which it picks itself
        return 1, 0
    if algorithm not in NUMBERS[operation]:
        problem = f"{selector.name}: Open MPI has no {rule.algorithm!r} of {operation}"
        raise InputError(f"{problem}: choose one of {', '.join(NUMBERS[operation])}")
    return NUMBERS[operation][algorithm], rule.segment_size or 0


def _written_operations(selector: Selector) -> list[str]:
    """Return the operations with rules for ``tuned``; those for several processes of each node are han's."""
    operations = {rule.operation for rule in selector.rules if rule.distribution != SEVERAL}
    return sorted(operations, key=IDS.__getitem__)


def _names(operation: str) -> list[str]:
    return ["the library's own choice", *(name for name, _, _ in LIBRARY_ALGORITHMS[operation])]


def dumps(selector: Selector) -> str:
    """Return the text of a file of rules for Open MPI up to version 5.

    >>> print(dumps(Selector("mine", (SelectionRule("scan", "linear"),))), end="")
    # mine
    # mpiexec --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_dynamic_rules_filename THIS_FILE ...
    1  # collectives
    14  # scan
    1  # sizes of communicators
    1 1  # from so many processes on; rules: from n P (of bcast, reduce, allreduce: n), algorithm, fan-out, segments
    0 1 0 0  # linear
    """
    lines = [
        f"# {' '.join(selector.name.split())}",
        "# mpiexec --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_dynamic_rules_filename THIS_FILE ...",
    ]
    for rule in selector.rules:
        if rule.distribution in {SINGLE, SPREAD}:
            raise InputError(f"{selector.name}: Open MPI 5's file has no {rule.distribution}: write openmpi-json")
    operations = _written_operations(selector)
    lines.append(f"{len(operations)}  # collectives")
    head = "from so many processes on; rules: from n P (of bcast, reduce, allreduce: n), algorithm, fan-out, segments"
    for operation in operations:
        table = _table(selector, operation)
        lines += [f"{IDS[operation]}  # {operation}", f"{len(table)}  # sizes of communicators"]
        for processes, cells in table:
            lines.append(f"{processes} {len(cells)}  # {head}")
            lines += [
                f"{cell.size} {cell.number} 0 {cell.segment_size}  # {_names(operation)[cell.number]}" for cell in cells
            ]
    return "\n".join(lines) + "\n"


def dumps_json(selector: Selector) -> str:
    """Return the text of a file of rules for Open MPI 6 and later, where `dumps`'s has another meaning.

    What has no upper end is left out: Open MPI 6 keeps the size of a communicator in a C int, where its own word for no
    end, "inf", becomes -1, and no communicator is so small.
    """
    collectives = {}
    for operation in _written_operations(selector):
        rows = []
        for distribution in (SINGLE, SPREAD, None):  # the first that holds wins
            table = _table(selector, operation, distribution)
            ends: list[dict[str, int]] = [{"comm_size_max": processes - 1} for processes, _ in table[1:]]
            if not any(cell.number for _, cells in table for cell in cells):
                continue
            where = {"comm_rank_distribution": distribution} if distribution else {}
            rows += [
                {"comm_size_min": processes, **end, **where, "rules": _messages(operation, cells)}
                for (processes, cells), end in zip(table, [*ends, {}], strict=True)
            ]
        collectives[operation] = rows
    content = {"rule_file_version": 3, "module": "tuned", "collectives": collectives}
    return msgspec.json.format(msgspec.json.encode(content), indent=1).decode() + "\n"


def _messages(operation: str, cells: Sequence[_SizeRule]) -> list[dict[str, Any]]:
    names = _names_in_json(operation)
    ends: list[dict[str, int]] = [{"msg_size_max": cell.size - 1} for cell in cells[1:]]
    messages: list[dict[str, Any]] = []
    for cell, end in zip(cells, [*ends, {}], strict=True):
        name = names[cell.number]
        options = {"faninout": _FANOUTS.get((operation, name), 0), "seg_size": cell.segment_size}
        parameters = {option: value for option, value in options.items() if value}
        messages.append({"msg_size_min": cell.size, **end, "alg": name, **parameters})
    return messages
