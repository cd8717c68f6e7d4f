"""Rules for Open MPI 6, read by what its sources do with the file: a second reader, independent of the package's.

`Reader` follows ``coll_tuned_dynamic_file.c`` and ``coll_tuned_dynamic_rules.c`` of the branch v6.0.x (2026), fields,
C types and order of search; names of collectives are those of ``coll_base_util.c``, names of algorithms those of
``coll_tuned_*_decision.c``.
"""

import ctypes
import json
from itertools import product

import pytest
from support.made_up_times import made_up

from commmodel.collectives.library.openmpi import NUMBERS, dumps_json
from commmodel.collectives.library.selection import SelectionRule, Selector, dump, load, select
from commmodel.collectives.library.tuning import tune
from commmodel.collectives.operation import OPERATIONS, SCHEDULED
from commmodel.errors import InputError

INFINITE = 2**63 - 1
ALGORITHMS_OF_6 = {
    "allgather": "linear bruck-k-fanout recursive_doubling ring neighbor two_proc sparbit direct-messaging",
    "allreduce": "basic_linear nonoverlapping recursive_doubling ring segmented_ring rabenseifner allgather_reduce",
    "alltoall": "linear pairwise modified_bruck linear_sync two_proc",
    "barrier": "linear double_ring recursive_doubling bruck two_proc tree",
    "bcast": "basic_linear chain pipeline split_binary_tree binary_tree binomial knomial scatter_allgather "
    "scatter_allgather_ring",
    "gather": "basic_linear binomial linear_sync",
    "reduce": "linear chain pipeline binary binomial in-order_binary rabenseifner knomial",
    "reduce_scatter": "non-overlapping recursive_halving ring butterfly",
    "reduce_scatter_block": "basic_linear recursive_doubling recursive_halving butterfly",
    "scan": "linear recursive_doubling",
    "scatter": "basic_linear binomial linear_nb",
}


class IgnoredFileError(Exception):
    """Open MPI passes over the file, and says so only if it is asked to be verbose."""


def integer(rule, name, default):
    """Return a field of the type int64_t."""
    value = rule.get(name, default)
    if isinstance(value, str) and value.startswith(("inf", "Inf", "INF")):
        return INFINITE
    if type(value) is not int:
        raise IgnoredFileError(f"{name}: {value!r}")
    return value


class Reader:
    """What Open MPI 6 does by a file of rules."""

    def __init__(self, text):
        content = json.loads(text)
        if not isinstance(content.get("collectives"), dict):
            raise IgnoredFileError("collectives")
        self.tables = {}
        for name, communicators in content["collectives"].items():
            if name not in ALGORITHMS_OF_6 or not isinstance(communicators, list):
                raise IgnoredFileError(name)
            self.tables[name] = [self.communicator(name, communicator) for communicator in communicators]

    @staticmethod
    def communicator(name, rule):
        if not isinstance(rule.get("rules"), list):
            raise IgnoredFileError("rules")
        distribution = rule.get("comm_rank_distribution", "any")
        return (
            ctypes.c_int(integer(rule, "comm_size_min", 0)).value,
            ctypes.c_int(integer(rule, "comm_size_max", 2**31 - 1)).value,
            distribution if distribution in {"one-per-node", "single-node"} else "any",
            [Reader.message(name, message) for message in rule["rules"]],
        )

    @staticmethod
    def message(name, rule):
        low, high = integer(rule, "msg_size_min", 0), integer(rule, "msg_size_max", INFINITE)
        parameters = [integer(rule, field, 0) for field in ("faninout", "seg_size", "reqs")]
        names = ["ignore", *ALGORITHMS_OF_6[name].split()]
        algorithm = rule["alg"]
        if isinstance(algorithm, str) and algorithm.lower() in names:
            return low, high, names.index(algorithm.lower()), *parameters
        if isinstance(algorithm, int) and algorithm in range(len(names)):
            return low, high, algorithm, *parameters
        return INFINITE, 0, 0, *parameters  # a rule that never holds

    def choice(self, name, size, processes, per_node):
        """Return algorithm, fan-out and segment size; the algorithm is 0 where the library's own decision holds."""
        for first, last, distribution, messages in self.tables.get(name, ()):
            if distribution == "one-per-node" and per_node != 1:
                continue
            if distribution == "single-node" and per_node != processes:
                continue
            if first <= processes <= last:
                holding = (message[2:5] for message in messages if message[0] <= size <= message[1])
                return next(holding, (0, 0, 0))
        return 0, 0, 0


def on_nodes(operation, algorithm, size, processes, nodes):
    """Return a time that is another on one node, on nodes of one process, and on others."""
    where = "single" if nodes.per_node >= processes else "spread" if nodes.per_node == 1 else "several"
    return made_up(operation, algorithm, size + len(where), processes)


PLACES = [(4, 4), (2, 2), (3, 3), (4, 1), (16, 1), (100, 1), (4000, 1)]
"""(P, processes of each node)."""


def test_open_mpi_6_does_what_the_rules_say_on_one_node_and_with_one_process_on_each():
    tuned = tune(on_nodes, SCHEDULED, [1, 1000, 10_000], [2, 4, 8, 16, 64], "openmpi-6", per_node=4)
    reader = Reader(dumps_json(tuned))
    result = set()
    for operation, size, (processes, per_node) in product(SCHEDULED, [1, 1000, 10_000, 2**33], PLACES):
        rule = select(tuned, operation, size, processes, per_node=per_node)
        per_process = OPERATIONS[operation].size_is_per_block
        looked_up = 0 if operation == "barrier" else size * processes if per_process else size
        number, fan_out, segment_size = reader.choice(operation, looked_up, processes, per_node)
        assert number == NUMBERS[operation][rule.algorithm], (operation, size, processes, per_node)
        assert segment_size == (rule.segment_size or 0)
        if (operation, rule.algorithm) == ("allgather", "bruck"):
            assert fan_out == 2  # the radix: with 0 it never ends
        result.add((operation, number, per_node == 1))
    assert ("allgather", NUMBERS["allgather"]["bruck"]) in {choice[:2] for choice in result}
    assert len(result) > 25


@pytest.mark.parametrize("operation", SCHEDULED)
def test_open_mpi_6_knows_each_algorithm_that_is_written_by_its_name(operation):
    for algorithm, number in NUMBERS[operation].items():
        text = dumps_json(Selector("mine", (SelectionRule(operation, algorithm),)))
        for processes in (2, 64, 10**6):
            assert Reader(text).choice(operation, 8, processes, 1)[0] == number, algorithm


def test_algorithms_that_open_mpi_6_has_beside_those_of_5_are_named_where_they_are_picked(tmp_path):
    file = tmp_path / "rules.json"
    rules = [{"alg": "direct-messaging", "msg_size_max": 1023}, {"alg": "Bruck-K-Fanout", "msg_size_max": 4095}]
    rules += [{"alg": "4"}]
    file.write_text(json.dumps({"collectives": {"allgather": [{"rules": rules}]}}))
    selector = load(file)
    assert [select(selector, "allgather", size, 64).algorithm for size in (16, 64)] == ["bruck", "ring"]
    with pytest.raises(InputError, match="picks Open MPI's allgather algorithm 8"):
        select(selector, "allgather", 8, 64)
    reader = Reader(file.read_text())
    assert [reader.choice("allgather", size, 64, 1)[0] for size in (8, 1024)] == [8, 2]


def test_a_written_file_says_the_same_to_both_readers(tmp_path):
    rules = tuple(
        SelectionRule("bcast", name, upto=upto, distribution=where, segment_size=512 if name == "chain" else None)
        for name, upto, where in (
            ("chain", 4095, "single-node"), ("linear", None, "single-node"), ("binary", 99, "one-per-node"),
            ("scatter-ring", None, None),
        )
    )  # fmt: skip
    file = tmp_path / "rules.json"
    dump(Selector("mine", rules), file, "openmpi-json")
    reader, back = Reader(file.read_text()), load(file)
    for size, (processes, per_node) in product([0, 99, 100, 4095, 4096, 2**40], [*PLACES, (8, 4)]):
        number, _, segment_size = reader.choice("bcast", size, processes, per_node)
        rule = select(back, "bcast", size, processes, per_node=per_node)
        if number:
            if rule.algorithm == "linear" and number == NUMBERS["bcast"]["scatter-ring"]:
                assert size // 8 < processes  # as Open MPI does by itself
                continue
            assert (NUMBERS["bcast"][rule.algorithm], rule.segment_size or 0) == (number, segment_size)
        else:
            assert rule == select(load("openmpi"), "bcast", size, processes, per_node=per_node)
