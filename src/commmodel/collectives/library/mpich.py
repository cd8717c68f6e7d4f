"""MPICH's selection file: the JSON of ``MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE``, read and written.

The file is a tree of conditions, ``"collective=bcast": {"comm_type=intra": {"comm_size<=7": ...}}``, whose leaves are
algorithms, ``"algorithm=MPIR_Bcast_intra_binomial": {}``. Siblings are asked in order; what is below the first that is
true decides, so the last of a group must be ``...=any``. The file stands in for the one compiled into MPICH: an
operation it leaves out ends the program, so we write all of them. Sizes are n (``avg_msg_size``) for bcast, reduce,
allreduce and alltoall, n P (``total_msg_size``) for these, allgather and reduce_scatter, and none for the rest.
Source: MPICH's documentation, "Collective Selection Framework", and release 5.0.1, ``csel.c`` (conditions) and
``maint/tuning/coll/mpir/generic.json`` (what it does by itself). Main entries: `parse` and `dumps`.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from commmodel.collectives.algorithms.multi_leader import MULTI_LEADER
from commmodel.collectives.algorithms.registry import ALGORITHMS
from commmodel.collectives.algorithms.two_level import TWO_LEVEL
from commmodel.collectives.library.rules import DEFAULT, SEVERAL, SelectionRule, Selector, unknown, usual
from commmodel.collectives.operation import SCHEDULED
from commmodel.errors import DamagedFileError, InputError

DEFAULT_SELECTOR = "mpich-5.0"
"""The published selector of what MPICH 5.0 does by itself."""

Node = dict[str, Any]
NAMES: dict[str, dict[str, str]] = {
    "allgather": {"brucks": "bruck", "k_brucks": "bruck", "recursive_doubling": "recursive-doubling", "ring": "ring"},
    "allreduce": {
        "recursive_doubling": "recursive-doubling",
        "recexch": "recursive-doubling",
        "reduce_scatter_allgather": "reduce-scatter-allgather",
        "k_reduce_scatter_allgather": "reduce-scatter-allgather",
        "ring": "ring",
        "tree": "reduce-broadcast",
        "smp": "two-level",
    },
    "alltoall": {
        "brucks": "bruck",
        "k_brucks": "bruck",
        "scattered": "linear",
        "pairwise": "pairwise",
        "pairwise_sendrecv_replace": "pairwise-in-place",
    },
    "barrier": {"k_dissemination": "dissemination", "recexch": "recursive-doubling", "smp": "two-level"},
    "bcast": {
        "binomial": "binomial",
        "scatter_recursive_doubling_allgather": "scatter-recursive-doubling",
        "scatter_ring_allgather": "scatter-ring",
        "smp": "two-level",
    },
    "gather": {"binomial": "binomial"},
    "reduce": {"binomial": "binomial", "reduce_scatter_gather": "reduce-scatter-gather", "smp": "two-level"},
    **{
        operation: {
            "recursive_halving": "recursive-halving",
            "pairwise": "pairwise",
            "noncommutative": "butterfly",
            "recursive_doubling": "recursive-doubling",
        }
        for operation in ("reduce_scatter", "reduce_scatter_block")
    },
    "scan": {"recursive_doubling": "recursive-doubling", "smp": "two-level"},
    "scatter": {"binomial": "binomial"},
}
"""Operation -> MPICH's name, without ``MPIR_Bcast_intra_`` -> ours or the nearest of ours (of radix k: of radix 2)."""
WRITTEN: dict[str, dict[str, str]] = {
    operation: {algorithm: native for native, algorithm in reversed(names.items())}
    for operation, names in NAMES.items()
}
WRITTEN["alltoall"]["pairwise-xor"] = "pairwise"
WRITTEN["reduce"]["binomial-in-order"] = "binomial"
del WRITTEN["allreduce"]["reduce-broadcast"]
"""Operation -> ours -> MPICH's, of two the first. MPICH's pairwise alltoall is by XOR where P is a power of two."""
PARAMETERS: dict[tuple[str, str], tuple[str, ...]] = {
    ("barrier", "k_dissemination"): ("k=2",),
    ("barrier", "recexch"): ("k=2", "single_phase_recv=0"),
}
TREES = {"chain": "k=1", "binary": "k=2"}
"""Trees of bcast, of the type kary."""
FORMS = {operation: [name for name in names if name == TWO_LEVEL] for operation, names in WRITTEN.items()}
"""Operation -> algorithms in two levels that it has, for communicators of several nodes."""
COMPOSITIONS: dict[str, dict[str, str]] = {
    "barrier": {"alpha": TWO_LEVEL},
    "bcast": {"alpha": TWO_LEVEL, "beta": TWO_LEVEL},
    "allreduce": {"alpha": TWO_LEVEL},
    "reduce": {"alpha": TWO_LEVEL, "beta": TWO_LEVEL},
    "allgather": {"alpha": MULTI_LEADER},
    "alltoall": {"alpha": TWO_LEVEL},
    "scan": {"alpha": TWO_LEVEL},
}
"""Operation -> compositions of MPICH's device, in a file of its own, that are two levels -> ours."""
_SHARED = {"allgather": 4096, "alltoall": 4096}
# Largest block of a composition in memory that the node shares: MPIR_CVAR_ALLTOALL_SHM_PER_RANK and that of allgather.
OFFERS: dict[str, dict[str, dict[str, bool]]] = {
    operation: {
        name: {} for name in names if name not in {TWO_LEVEL, "binomial-in-order", "butterfly", "pairwise-in-place"}
    }
    for operation, names in WRITTEN.items()
}
OFFERS["bcast"] |= {name: {} for name in TREES}
OFFERS["alltoall"]["pairwise"] = {"power_of_two": False}
OFFERS["allreduce"]["reduce-scatter-allgather"] = {"count_below_power_of_two": False}
OFFERS["reduce"]["reduce-scatter-gather"] = {"count_below_power_of_two": False}
"""Operation -> algorithms that it has -> conditions of a rule that it sets for each beyond those of the schedule."""
NO_SIZES = frozenset({"barrier", "scan", "gather", "scatter"})
"""Operations whose message size the library does not look at."""
_BY_N = frozenset({"bcast", "reduce", "allreduce", "alltoall"})
_BY_TOTAL = _BY_N | {"allgather", "reduce_scatter", "reduce_scatter_block"}
PAGE = 4096
_LARGEST = 2**31 - 1
# MPICH keeps what a condition compares with in a C int.
_FLAT = {
    "comm_type": "intra", "comm_hierarchy": "flat", "is_block_regular": "yes", "is_node_consecutive": "no",
    "is_multi_threaded": "no",
}  # fmt: skip
# What is true of the operations that commmodel predicts where nodes are not told apart.
_OF_CALLS = {"is_commutative": "commutative", "is_op_built_in": "predefined", "is_sendbuf_inplace": "in_place"}
# Conditions on operators and buffers -> those of a rule.
_PARENT = "comm_hierarchy=parent"
# Of a communicator that spans nodes, of which some have several of its processes.


class _Place(NamedTuple):
    """A place in a file, and the conditions above it."""

    path: Path
    keys: tuple[str, ...]
    conditions: Mapping[str, Any]

    def below(self, key: str, **conditions: Any) -> "_Place":
        return _Place(self.path, (*self.keys, key), {**self.conditions, **conditions})

    def least(self, key: str, name: str, value: int) -> "_Place":
        return self.below(key, **{name: min(value, self.conditions.get(name, value))})

    def damaged(self, problem: str) -> DamagedFileError:
        return DamagedFileError(self.path, f"field {' / '.join(key[:60] for key in self.keys) or '(whole)'}", problem)


def parse(path: Path, content: Any) -> Selector:
    """Return the selector of a file's content; `DamagedFileError` names the place of what is wrong."""
    place = _Place(path, (), {})
    if not isinstance(content, dict):
        raise place.damaged(f"expected an object, got {type(content).__name__}")
    rules = tuple(_read(place, content, ""))
    if not rules:
        raise place.damaged("no collective of those that commmodel knows: this is no selection file of MPICH's")
    return Selector(path.name, rules, f"MPICH's selection file, {path.name}")


def _read(place: _Place, node: Any, operation: str) -> Iterator[SelectionRule]:
    """Yield the rules below a node, in MPICH's order of evaluation."""
    if not isinstance(node, dict):
        raise place.damaged(f"expected an object, got {type(node).__name__}")
    complete, numeric = False, False
    for key, below in node.items():
        name, _, value = re.sub(r"\s", "", key).partition("=")
        if name == "algorithm" or (name == "composition" and operation):
            yield from _leaf(place, operation, value, below)
            return
        if name == "collective":
            if value in SCHEDULED:
                yield from _read(place.below(key), below, value)
            complete = True
        elif (name, value) == ("comm_hierarchy", "parent"):
            yield from _read(place.below(key, distribution=SEVERAL), below, operation)
            numeric = True
        elif value == "any" or key == "any":
            yield from _read(place.below(key), below, operation)
            complete = True
        elif (operation, name, value) == ("scan", "is_node_consecutive", "yes"):
            yield from _read(place.below(key, distribution=SEVERAL), below, operation)
        elif name in _OF_CALLS and value in {"yes", "no"}:
            yield from _read(place.below(key, **{_OF_CALLS[name]: value == "yes"}), below, operation)
            complete |= (value == "yes") == (name != "is_sendbuf_inplace")
        elif name in _FLAT:
            true = value == _FLAT[name] or (name == "comm_hierarchy" and value in {"node", "node_roots"})
            if true:
                yield from _read(place.below(key), below, operation)
            complete |= true
        elif name.startswith("comm_avg_ppn") or (name, value) == ("comm_size", "node_comm_size"):
            numeric = True  # never of a communicator whose nodes are not told apart
        else:
            numeric = True
            yield from _read(_condition(place, key, name, value), below, operation)
    if not complete and (numeric or operation) and node:
        raise place.damaged("incomplete: the last of its conditions must be ...=any")
    if not node and operation:
        raise place.damaged("empty: an algorithm or conditions are missing")


def _condition(place: _Place, key: str, name: str, value: str) -> _Place:
    """Return the place below a condition on sizes."""
    match = re.fullmatch(r"(comm_size|avg_msg_size|total_msg_size)<(=?)(\d{1,18})", re.sub(r"\s", "", key))
    if (name, value) == ("comm_size", "pow2"):
        return place.below(key, power_of_two=True)
    if re.sub(r"\s", "", key) == "count<pow2":
        return place.below(key, count_below_power_of_two=True)
    if match is None:
        raise place.below(key).damaged("a condition that commmodel does not know")
    limit = int(match[3]) - (not match[2])
    field = {"comm_size": "processes_upto", "avg_msg_size": "upto", "total_msg_size": "total_upto"}[match[1]]
    if limit < (field == "processes_upto"):
        raise place.below(key).damaged("a condition that never holds")
    return place.least(key, field, limit)


def _leaf(place: _Place, operation: str, name: str, parameters: Any) -> Iterator[SelectionRule]:
    """Yield the rules of an algorithm in the file."""
    if not operation:
        raise place.damaged("an algorithm outside of any collective")
    short = name.removeprefix(f"MPIR_{operation.capitalize()}_intra_")
    options = {}
    for key in parameters if isinstance(parameters, dict) else ():
        option, _, value = re.sub(r"\s", "", key).partition("=")
        options[option] = value
    conditions = dict(place.conditions)
    algorithm = NAMES[operation].get(short)
    composition = re.fullmatch(r"MPIDI_\w+_intra_composition_(\w+)", name)
    if composition:
        algorithm = COMPOSITIONS.get(operation, {}).get(composition[1])
    if algorithm in {TWO_LEVEL, MULTI_LEADER}:
        limit = {"upto": min(conditions.get("upto", _LARGEST), _SHARED[operation])} if operation in _SHARED else {}
        yield _rule(operation, algorithm, conditions | {"distribution": SEVERAL} | limit)
        if "distribution" in conditions and not limit:
            return
        algorithm = None  # of other communicators, and of more bytes
    if operation == "bcast" and short in {"tree", "pipelined_tree"}:
        kind = options.get("tree_type", "")
        chain = "chain" if options.get("k") == "1" else "binary"
        algorithm = {"kary": chain, "knomial_1": "binomial", "knomial_2": "binomial"}.get(kind)
        segment = options.get("chunk_size", "")
        if algorithm and short == "pipelined_tree" and re.fullmatch(r"0*[1-9]\d{0,17}", segment):
            conditions["segment_size"] = int(segment)
    if (operation, short) == ("alltoall", "pairwise"):
        yield _rule(operation, "pairwise-xor", conditions | {"power_of_two": True})
    if (operation, short) == ("reduce", "binomial") and not (
        conditions.get("commutative") or conditions.get("predefined")
    ):
        yield _rule(operation, "binomial-in-order", conditions | {"commutative": False})
    yield _rule(operation, algorithm or unknown(name), conditions)


def _rule(operation: str, algorithm: str, conditions: Mapping[str, Any]) -> SelectionRule:
    return msgspec.convert({"operation": operation, "algorithm": algorithm, **conditions}, SelectionRule)


class _Facts(NamedTuple):
    """Facts at a place of the tree to be written."""

    ranges: Mapping[str, tuple[int, int]] = {}
    """Name of a size -> its least and largest value."""
    facts: Mapping[str, bool] = {}

    def value(self, key: str) -> bool | None:
        """Return whether a condition holds; None: it is to be asked."""
        name, sign, limit = key.partition("<=")
        if not sign:
            return self.facts.get(key)
        low, high = self.ranges.get(name, (0, _LARGEST))
        return True if high <= int(limit) else False if low > int(limit) else None

    def with_answer(self, key: str, true: bool) -> "_Facts":
        """Return the known facts after the answer to a condition."""
        name, sign, limit = key.partition("<=")
        if not sign:
            return _Facts(self.ranges, {**self.facts, key: true})
        low, high = self.ranges.get(name, (0, _LARGEST))
        return _Facts({**self.ranges, name: (low, int(limit)) if true else (int(limit) + 1, high)}, self.facts)


_POWER, _COUNT = "comm_size=pow2", "count<pow2"


def _conditions(selector: Selector, rule: SelectionRule) -> list[tuple[str, bool]]:
    """Return the conditions of a rule in MPICH's notation, each with the value that it must have."""
    operation = rule.operation
    for field, possible in (("upto", _BY_N), ("total_upto", _BY_TOTAL)):
        if getattr(rule, field) is not None and operation not in possible:
            asks = "n P alone: write total_upto" if operation in _BY_TOTAL else "no message size: leave it out"
            raise InputError(f"{selector.name}: MPICH's file has for {operation} {asks} (a rule has {field})")
    if rule.even is not None:
        raise InputError(f"{selector.name}: MPICH's file cannot tell whether P is even (a rule for {operation} asks)")
    if rule.count_below_power_of_two is not None and operation not in {"bcast", "allreduce", "reduce"}:
        raise InputError(f"{selector.name}: MPICH's file has no count_below_power_of_two for {operation}")
    if rule.distribution not in {None, SEVERAL}:
        raise InputError(f"{selector.name}: MPICH's file has no {rule.distribution}, only {SEVERAL} (a rule asks)")
    if rule.algorithm == TWO_LEVEL and rule.distribution is None:
        raise InputError(f"{selector.name}: {operation} in two levels needs distribution = {SEVERAL!r} in its rule")
    conditions: list[tuple[str, bool]] = [(_PARENT, True)] if rule.distribution else []
    for name, limit, true in (
        ("comm_size", rule.processes_from and rule.processes_from - 1, False),
        ("comm_size", rule.processes_upto, True),
        (_POWER, rule.power_of_two, rule.power_of_two),
        ("avg_msg_size", rule.upto, True),
        ("total_msg_size", rule.total_upto, True),
        (_COUNT, rule.count_below_power_of_two, rule.count_below_power_of_two),
    ):
        if limit is None or (name == "comm_size" and limit == 0):
            continue
        if "=" not in name and "<" not in name:
            if limit >= _LARGEST:
                raise InputError(f"{selector.name}: {limit} in a rule for {operation}: MPICH's file ends at {_LARGEST}")
            conditions.append((f"{name}<={limit}", bool(true)))
        else:
            conditions.append((name, bool(true)))
    return conditions


def _tree(selector: Selector, rules: Sequence[tuple[SelectionRule, list[tuple[str, bool]]]], facts: _Facts) -> Node:
    """Return the decision tree of the rules, below the given facts."""
    for index, (rule, conditions) in enumerate(rules):
        answers = [(key, facts.value(key), expected) for key, expected in conditions]
        if any(answer is not None and answer != expected for _, answer, expected in answers):
            continue
        for key, answer, _ in answers:
            if answer is None:
                yes = _tree(selector, rules[index:], facts.with_answer(key, True))
                no = _tree(selector, rules[index:], facts.with_answer(key, False))
                return _branch(key, yes, no)
        return _algorithm(selector, rule, facts)
    raise AssertionError("MPICH's own rules end with one that always holds")


def _branch(key: str, yes: Node, no: Node) -> Node:
    """Return a node for one condition; siblings on the same quantity are joined."""
    if yes == no:
        return yes
    name = re.split("[<=]", key)[0]
    if re.split("[<=]", next(iter(no)))[0] == name:
        return {key: yes, **no}
    return {key: yes, f"{name}=any": no}


def _algorithm(selector: Selector, rule: SelectionRule, facts: _Facts) -> Node:
    """Return the leaf of a rule, below the conditions that MPICH's algorithm needs."""
    operation, algorithm = rule.operation, rule.algorithm
    names = WRITTEN[operation]
    if operation == "bcast" and algorithm in TREES:
        tree = ["tree_type=kary", TREES[algorithm], "is_non_blocking=1"]
        if rule.segment_size:
            return _node(operation, "pipelined_tree", *tree, f"chunk_size={rule.segment_size}", "recv_pre_posted=0")
        topology = ("overhead", "diff_groups", "diff_switches", "same_switches")
        return _node(operation, "tree", *tree, *(f"topo_{name}=0" for name in topology))
    if algorithm not in names:
        choice = ", ".join(OFFERS[operation])
        raise InputError(f"{selector.name}: MPICH has no {algorithm!r} of {operation}: choose one of {choice}")
    leaf = _node(operation, names[algorithm], *PARAMETERS.get((operation, names[algorithm]), ()))
    if "count_below_power_of_two" in OFFERS[operation].get(algorithm, {}) and facts.value(_COUNT) is not False:
        few = "recursive_doubling" if operation == "allreduce" else "binomial"
        return {_COUNT: _node(operation, few), "count=any": leaf}
    if operation == "scan" and algorithm == TWO_LEVEL:
        return _branches("is_node_consecutive", leaf, _node(operation, "recursive_doubling"))
    if (
        operation == "allgather"
        and ALGORITHMS[operation][algorithm].needs == {"power_of_two": True}
        and not facts.value(_POWER)
    ):
        return {_POWER: leaf, "comm_size=any": _node(operation, "brucks")}
    return leaf


def _node(operation: str, name: str, *parameters: str, group: str = "intra") -> Node:
    return {f"algorithm=MPIR_{operation.capitalize()}_{group}_{name}": {parameter: {} for parameter in parameters}}


# What MPICH 5.0 does by itself in operations that commmodel does not predict, and on intercommunicators. A text is an
# algorithm; a pair is what it does in place, and else.
_INTER = {
    "allgather": "local_gather_remote_bcast", "allreduce": "reduce_exchange_bcast", "alltoall": "pairwise_exchange",
    "barrier": "bcast", "bcast": "remote_send_local_bcast", "reduce": "local_reduce_remote_send",
    "reduce_scatter": "remote_reduce_local_scatter", "reduce_scatter_block": "remote_reduce_local_scatter",
    "gather": ("local_gather_remote_send", "linear"), "scatter": ("remote_send_local_scatter", "linear"),
    "allgatherv": "remote_gather_local_bcast", "alltoallv": "pairwise_exchange", "alltoallw": "pairwise_exchange",
    "ibarrier": "sched_bcast", "iallreduce": "sched_remote_reduce_local_bcast",
    "iallgather": "sched_local_gather_remote_bcast", "iallgatherv": "sched_remote_gather_local_bcast",
    "ibcast": "sched_flat", "ireduce": "sched_local_reduce_remote_send",
    "ireduce_scatter": "sched_remote_reduce_local_scatterv",
    "ireduce_scatter_block": "sched_remote_reduce_local_scatterv", "igather": ("sched_short", "sched_long"),
    "iscatter": ("sched_remote_send_local_scatter", "sched_linear"), "ialltoall": "sched_pairwise_exchange",
    "ialltoallv": "sched_pairwise_exchange", "ialltoallw": "sched_pairwise_exchange",
}  # fmt: skip
_EVERYWHERE = {
    "gatherv": "allcomm_linear", "scatterv": "allcomm_linear", "exscan": "intra_recursive_doubling",
    "igatherv": "allcomm_sched_linear", "iscatterv": "allcomm_sched_linear",
    "iexscan": "intra_sched_recursive_doubling",
    **{f"neighbor_{name}": "allcomm_nb" for name in ("allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw")},
    **{
        f"ineighbor_{name}": "allcomm_sched_linear"
        for name in ("allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw")
    },
}  # fmt: skip


def _fallback_trees() -> dict[str, Node]:
    """Return the trees on intracommunicators of operations that commmodel does not predict."""
    trees: dict[str, Node] = {}
    for name, kind in (("allgatherv", ""), ("iallgather", "sched_"), ("iallgatherv", "sched_")):
        ring = _node(name, f"{kind}ring")
        trees[name] = {
            _POWER: {"total_msg_size<=524287": _node(name, f"{kind}recursive_doubling"), "total_msg_size=any": ring},
            "comm_size=any": {"total_msg_size<=81919": _node(name, f"{kind}brucks"), "total_msg_size=any": ring},
        }
    for name, in_place, other in (
        ("alltoallv", "pairwise_sendrecv_replace", "scattered"),
        ("alltoallw", "pairwise_sendrecv_replace", "scattered"),
        ("ialltoallv", "sched_inplace", "sched_blocked"),
        ("ialltoallw", "sched_inplace", "sched_blocked"),
    ):
        trees[name] = _branches("is_sendbuf_inplace", _node(name, in_place), _node(name, other))
    for name in ("ireduce_scatter", "ireduce_scatter_block"):
        sizes = {
            "total_msg_size<=524287": _node(name, "sched_recursive_halving"),
            "total_msg_size=any": _node(name, "sched_pairwise"),
        }
        trees[name] = _branches("is_commutative", sizes, _node(name, "sched_recursive_doubling"))
    for name, few, many in (
        ("iallreduce", "sched_recursive_doubling", "sched_reduce_scatter_allgather"),
        ("ireduce", "sched_binomial", "sched_reduce_scatter_gather"),
    ):
        counted = {_COUNT: _node(name, few), "count=any": _node(name, many)}
        large = _branches("is_op_built_in", counted, _node(name, few))
        trees[name] = {"avg_msg_size<=2048": _node(name, few), "avg_msg_size=any": large}
    binomial, ring = _node("ibcast", "sched_binomial"), _node("ibcast", "sched_scatter_ring_allgather")
    doubling = _node("ibcast", "sched_scatter_recursive_doubling_allgather")
    trees["ibcast"] = {
        "comm_size<=7": binomial,
        _POWER: {"avg_msg_size<=12287": binomial, "avg_msg_size<=524287": doubling, "avg_msg_size=any": ring},
        "comm_size=any": {"avg_msg_size<=12287": binomial, "avg_msg_size=any": ring},
    }
    permuted, pairwise = _node("ialltoall", "sched_permuted_sendrecv"), _node("ialltoall", "sched_pairwise")
    large = {"avg_msg_size<=32768": permuted, "avg_msg_size=any": pairwise}
    sizes = {
        "comm_size<=7": large,
        "comm_size=any": {"avg_msg_size<=2048": _node("ialltoall", "sched_brucks"), **large},
    }
    trees["ialltoall"] = _branches("is_sendbuf_inplace", _node("ialltoall", "sched_inplace"), sizes)
    trees["ireduce"] = _parents(
        _branches("is_commutative", _node("ireduce", "sched_smp"), _node("ireduce", "sched_binomial")), trees["ireduce"]
    )
    trees["ibcast"] = _parents(_node("ibcast", "sched_smp"), trees["ibcast"])
    trees["ibarrier"] = _node("ibarrier", "sched_recursive_doubling")
    return trees | {name: _node(name, "sched_binomial") for name in ("igather", "iscatter")}


def _branches(question: str, yes: Node, no: Node) -> Node:
    return {f"{question}=yes": yes, f"{question}=no": no}


def _parents(parent: Node, other: Node) -> Node:
    """Return a node with a special case for communicators that span nodes."""
    return {"comm_hierarchy=parent": parent, "comm_hierarchy=any": other}


def _guarded(operation: str, tree: Node) -> Node:
    """Return the tree below commmodel's assumptions: built-in commutative operators, a send buffer."""
    match operation:
        case "allreduce":
            return _branches("is_op_built_in", tree, _node(operation, "recursive_doubling"))
        case "reduce":
            return _branches("is_op_built_in", tree, _node(operation, "binomial"))
        case "reduce_scatter" | "reduce_scatter_block":
            doubling = _node(operation, "recursive_doubling")
            other: Node = {_POWER: _node(operation, "noncommutative"), "comm_size=any": doubling}
            if operation == "reduce_scatter":
                other = _branches("is_block_regular", other, doubling)
            return _branches("is_commutative", tree, other)
        case "alltoall":
            return _branches("is_sendbuf_inplace", _node(operation, "pairwise_sendrecv_replace"), tree)
    return tree


def dumps(selector: Selector, default: Selector) -> str:
    """Return the text of a selection file for MPICH 4 and 5.

    Operations without rules, and sizes and processes for which there are none, do as `default` says, which must have
    a rule for every case: the published selector `DEFAULT_SELECTOR`, what MPICH 5.0 does by itself.

    >>> every = ("barrier", "dissemination"), ("scan", "recursive-doubling"), ("reduce_scatter_block", "pairwise")
    >>> every += ("reduce_scatter", "pairwise"), ("allgather", "ring"), ("alltoall", "pairwise")
    >>> every += (("allreduce", "recursive-doubling"),)
    >>> every += tuple((operation, "binomial") for operation in ("bcast", "reduce", "gather", "scatter"))
    >>> default = Selector("default", tuple(SelectionRule(operation, algorithm) for operation, algorithm in every))
    >>> text = dumps(Selector("mine", (SelectionRule("bcast", "scatter-ring", processes_from=8),)), default)
    >>> json.loads(text)["collective=bcast"]["comm_type=intra"]["comm_size=any"]
    {'algorithm=MPIR_Bcast_intra_scatter_ring_allgather': {}}
    """
    trees: dict[str, Node] = {}
    for operation in SCHEDULED:
        specific = [rule for rule in usual(selector.rules) if rule.operation == operation]
        rest = [
            (rule, _conditions(selector, rule))
            for rule in usual(default.rules)
            if (rule.operation, rule.distribution) == (operation, None)
        ]
        rules = []
        for rule in specific:
            conditions = _conditions(selector, rule)
            is_default = rule.algorithm == DEFAULT
            rules += [(row, conditions + more) for row, more in rest] if is_default else [(rule, conditions)]
        rules += rest
        tree = _tree(selector, rules, _Facts({"comm_size": (1, _LARGEST)}))
        if not specific and operation == "barrier":
            tree = _parents(_node(operation, "smp"), tree)
        if not specific and operation == "scan":
            tree = _branches("is_node_consecutive", _node(operation, "smp"), tree)
        trees[operation] = _guarded(operation, tree)
    content: Node = {
        f"collective={name}": _both_groups(name, tree) for name, tree in (trees | _fallback_trees()).items()
    }
    for name, short in _EVERYWHERE.items():
        group, _, rest_of_name = short.partition("_")
        content[f"collective={name}"] = _node(name, rest_of_name, group=group)
    iscan = _parents(_node("iscan", "sched_smp"), _node("iscan", "sched_recursive_doubling"))
    content["collective=iscan"] = iscan
    text = json.dumps(content, indent=1) + "\n"
    # MPICH maps the file into memory and reads on to a zero, which stands behind it unless it fills its last page.
    return text + "\n" * (len(text) % PAGE == 0)


def _both_groups(name: str, tree: Node) -> Node:
    """Return a tree for intra- and intercommunicators."""
    if name not in _INTER:
        return {"comm_type=intra": tree, "comm_type=inter": _node(name, "smp")}
    match _INTER[name]:
        case str(leaf):
            inter = _node(name, leaf, group="inter")
        case (short, long):
            below = "total_msg_size<=2047"
            nodes = _node(name, short, group="inter"), _node(name, long, group="inter")
            inter = {below: nodes[0], "total_msg_size=any": nodes[1]}
    return {"comm_type=intra": tree, "comm_type=inter": inter}
