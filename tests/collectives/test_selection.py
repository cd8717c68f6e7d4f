"""Selectors: which algorithm a library picks, and its own files of rules."""

import json
import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.effort import some

from commmodel.collectives import ALGORITHMS, Nodes, Problem
from commmodel.collectives.algorithms.blocks import power_below
from commmodel.collectives.library import mpich, openmpi
from commmodel.collectives.library.rules import unknown
from commmodel.collectives.library.selection import (
    SelectionRule,
    Selector,
    dump,
    dumps,
    load,
    published,
    select,
    select_for,
    with_rules,
)
from commmodel.collectives.operation import SCHEDULED
from commmodel.errors import DamagedFileError, InputError
from commmodel.machine import Machine, Segment
from commmodel.machine import dump as dump_machine
from commmodel.machine import load as load_machine

KIB = 1024
SIZES = [0, 1, 7, 8, 9, 64, 255, 256, 257, 1000, 2047, 2048, 2049, 4096, 12287, 12288, 12289, 32768, 32769]
SIZES += [65536, 81920, 524287, 524288, 524289, 2**20, 2**24]
PROCESSES = [1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 31, 32, 33, 63, 64, 100, 128, 256, 500, 1024, 2000, 4096, 5000]


@pytest.mark.parametrize(
    ("operation", "size", "processes", "algorithm"),
    [
        ("alltoall", 256, 8, "bruck"),  # March 2009, Table 2
        ("alltoall", 256, 7, "linear"),
        ("alltoall", 257, 8, "linear"),
        ("alltoall", 256, 4, "linear"),
        ("alltoall", 32 * KIB, 4, "linear"),
        ("alltoall", 32 * KIB, 256, "linear"),
        ("alltoall", 32 * KIB + 1, 4, "pairwise"),
        ("alltoall", 32 * KIB + 1, 256, "pairwise"),
        ("bcast", 12 * KIB, 8, "binomial"),  # Table 3
        ("bcast", 12 * KIB, 9, "binomial"),
        ("bcast", 13 * KIB, 8, "scatter-recursive-doubling"),
        ("bcast", 13 * KIB, 9, "scatter-ring"),
        ("bcast", 512 * KIB, 16, "scatter-recursive-doubling"),
        ("bcast", 512 * KIB + 1, 16, "scatter-ring"),
        ("bcast", 1024 * KIB, 16, "scatter-ring"),
        ("bcast", 1, 7, "binomial"),
        ("bcast", 2**24, 7, "binomial"),
        ("barrier", 0, 256, "dissemination"),
    ],
)
def test_mvapich2_picks_what_the_tables_of_the_paper_say(operation, size, processes, algorithm):
    assert select(load("mvapich2-1.0"), operation, size, processes).algorithm == algorithm


@pytest.mark.parametrize(
    ("operation", "size", "processes", "algorithm"),
    [
        ("bcast", 12287, 64, "binomial"),
        ("bcast", 12288, 64, "scatter-recursive-doubling"),
        ("bcast", 12288, 65, "scatter-ring"),
        ("bcast", 524288, 64, "scatter-ring"),
        ("alltoall", 256, 8, "bruck"),
        ("alltoall", 32769, 16, "pairwise-xor"),
        ("alltoall", 32769, 12, "pairwise"),
        ("allreduce", 2048, 8, "recursive-doubling"),
        ("allreduce", 2056, 8, "reduce-scatter-allgather"),
        ("allreduce", 4088, 512, "recursive-doubling"),  # 511 doubles
        ("allreduce", 4096, 512, "reduce-scatter-allgather"),
        ("allgather", 524288 // 64 - 1, 64, "recursive-doubling"),
        ("allgather", 524288 // 64, 64, "ring"),
        ("allgather", 81920 // 10 - 1, 10, "bruck"),
        ("allgather", 81920 // 10, 10, "ring"),
        ("reduce", 2048, 8, "binomial"),
        ("reduce", 2049, 8, "reduce-scatter-gather"),
        ("reduce_scatter_block", 524288 // 8, 8, "pairwise"),
        ("reduce_scatter_block", 524288 // 8 - 1, 8, "recursive-halving"),
        ("gather", 1, 8, "binomial"),
    ],
)
def test_mpich_picks_by_its_documented_thresholds(operation, size, processes, algorithm):
    assert select(load("mpich"), operation, size, processes).algorithm == algorithm


@pytest.mark.parametrize(
    ("operation", "size", "processes", "algorithm"),
    [
        ("bcast", 2**20, 16, "scatter-recursive-doubling"),
        ("bcast", 4095, 16, "binomial-at-once"),
        ("barrier", 0, 4, "linear"),
        ("barrier", 0, 64, "dissemination"),
        ("allreduce", 8191, 8, "recursive-doubling"),
        ("allreduce", 8192, 8, "reduce-scatter-allgather-halves"),
        ("alltoall", 511, 64, "bruck"),
        ("alltoall", 262144, 128, "pairwise"),
        ("allgather", 100, 16, "recursive-doubling"),
        ("allgather", 100, 17, "bruck"),
        ("allgather", 2048, 64, "neighbor-exchange"),
        ("allgather", 2048, 65, "ring"),
        ("reduce_scatter", 262143 // 16, 16, "recursive-halving"),
        ("reduce_scatter", 262144 // 16, 16, "ring"),
        ("reduce_scatter_block", 31, 16, "binomial-then-binomial"),
        ("reduce_scatter_block", 32, 16, "recursive-halving"),
        ("reduce_scatter_block", 64, 8, "butterfly"),
        ("scan", 8, 16, "linear"),
    ],
)
def test_open_mpi_picks_by_its_fixed_decisions(operation, size, processes, algorithm):
    assert select(load("openmpi"), operation, size, processes).algorithm == algorithm


@pytest.mark.parametrize("name", published())
def test_every_published_selector_has_an_algorithm_that_works_for_everything(name):
    selector = load(name)
    assert selector.source
    for operation, size, processes in product(SCHEDULED, some(SIZES, 12), some(PROCESSES, 12)):
        chosen = select(selector, operation, size, processes)
        assert chosen.algorithm in ALGORITHMS[operation]
        needs = ALGORITHMS[operation][chosen.algorithm].needs
        assert not needs.get("power_of_two") or processes == power_below(processes)
        assert not needs.get("even") or processes % 2 == 0


def test_no_rule_of_a_published_selector_is_out_of_reach():
    for name in some(published(), 3):
        selector = load(name)
        rules = selector.rules
        for operation in SCHEDULED:
            rows = [rule for rule in rules if rule.operation == operation]
            edges = {0, 10**9} | {edge + entry for rule in rows for edge in [rule.upto or 0] for entry in (0, 1)}
            counts = {1, 2, 3, 6, 8, 1000, 5001} | {
                count + entry for rule in rows for count in [rule.processes_upto or 1] for entry in (-1, 0, 1)
            }
            lines = [rule.processes_above for rule in rows if rule.processes_above is not None]
            counts |= {16, 24, 40} if lines else set()
            edges |= {
                int((count - b) / a) + entry for count in counts for a, b in lines if count > b for entry in (0, 1)
            }
            totals = [rule.total_upto for rule in rows if rule.total_upto is not None]
            cases = {(size, count) for size, count in product(edges, counts) if count > 0}
            cases |= {
                (total // count + entry, count) for total, count, entry in product(totals, counts, (0, 1)) if count > 0
            }
            calls = product((None, Nodes(2)), (1, 8, 1 << 30), [("predefined", False)])
            result = product([None], [8], [("commutative", False), ("non-commutative", False), ("predefined", True)])
            used = {
                select_for(selector, operation, Problem(count, size, 0, None, nodes, element_size, *call))
                for (size, count), (nodes, element_size, call) in product(cases, [*calls, *result])
            }
            assert used == set(rows) or selector.is_flat, (name, operation)  # then the rules are the fallback's


def test_what_no_rule_covers_is_named():
    selector = Selector("mine", (SelectionRule("bcast", "chain", upto=10),))
    with pytest.raises(InputError, match="selector 'mine' has no rule for bcast of 11 bytes on 4 processes"):
        select(selector, "bcast", 11, 4)
    with pytest.raises(InputError, match="no rule for scan of 8 bytes on 2 processes"):
        select(selector, "scan", 8, 2)
    with pytest.raises(InputError, match="operation is 'gossip'"):
        select(selector, "gossip", 8, 2)
    with pytest.raises(InputError, match="give a whole number from 1 up"):
        select(selector, "bcast", 8, 0)


def test_a_users_rules_come_first_and_a_fallback_last():
    result = with_rules(load("mpich"), [SelectionRule("bcast", "chain", upto=100, segment_size=10)])
    assert select(result, "bcast", 100, 4) == SelectionRule("bcast", "chain", upto=100, segment_size=10)
    assert select(result, "bcast", 101, 4).algorithm == "binomial"
    behind = Selector(
        "mine", (SelectionRule("bcast", "default", upto=10), SelectionRule("bcast", "linear")), fallback="openmpi"
    )
    assert select(behind, "bcast", 10, 2000).algorithm == select(load("openmpi"), "bcast", 10, 2000).algorithm
    assert select(behind, "bcast", 11, 2000).algorithm == "linear"
    assert select(behind, "barrier", 0, 64).algorithm == "dissemination"


CONDITIONS = st.fixed_dictionaries(
    {},
    optional={
        "upto": st.integers(0, 2**63 - 1),
        "total_upto": st.integers(0, 2**63 - 1),
        "processes_from": st.integers(1, 100),
        "processes_upto": st.integers(100, 2**63 - 1),
        "power_of_two": st.booleans(),
        "even": st.booleans(),
        "count_below_power_of_two": st.booleans(),
        "segment_size": st.integers(1, 2**63 - 1),
    },
)


@st.composite
def rules(draw):
    operation = draw(st.sampled_from(SCHEDULED))
    algorithms = [*ALGORITHMS[operation], "default", unknown("MPIR_This")]
    return SelectionRule(operation, draw(st.sampled_from(algorithms)), **draw(CONDITIONS))


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)


@given(
    selector=st.builds(Selector, TEXT, st.lists(rules(), max_size=5).map(tuple), TEXT, st.sampled_from(["", "mpich"]))
)
def test_whatever_is_valid_is_read_back_as_it_was_written(tmp_path_factory, selector):
    file = tmp_path_factory.mktemp("selector") / "rules.toml"
    dump(selector, file)
    assert load(file) == selector


HEAD = 'format = "commmodel-selector"\nversion = 1\nname = "by hand"\n'


@pytest.fixture
def file(tmp_path):
    return tmp_path / "rules"


def test_sizes_by_hand_may_have_units(file):
    file.write_text(
        f'{HEAD}[[rules]]\noperation = "bcast"\nalgorithm = "chain"\nupto = "32KiB"\nsegment_size = "8kB"\n'
    )
    assert load(file).rules == (SelectionRule("bcast", "chain", upto=32768, segment_size=8000),)


OPEN_MPI = "1\n7 # bcast\n2\n2 2\n0 6 0 0\n1000 3 0 256\n8 1\n0 9 0 0\n"
MPICH = {
    "collective=bcast": {
        "comm_type=intra": {
            "comm_size<8": {"algorithm=MPIR_Bcast_intra_binomial": {}},
            "comm_size=any": {
                "avg_msg_size <= 12288": {"algorithm=MPIR_Bcast_intra_smp": {}},
                "avg_msg_size=any": {"algorithm=MPIR_Bcast_intra_scatter_ring_allgather": {}},
            },
        },
        "comm_type=inter": {"algorithm=MPIR_Bcast_inter_remote_send_local_bcast": {}},
    }
}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "no rules: the file is empty"),
        ("# nothing\n\n", "no rules: the file is empty"),
        (b"\x7fELF\x02\xff\x00", "line 1: not UTF-8"),
        ("name = ", "not TOML: "),
        ("hello world", "not TOML: "),
        ('format = "other"', "field format: expected 'commmodel-selector', got 'other'"),
        ("a = 1", "there is no field format, which says what it is"),
        (HEAD.replace("1", "2"), "field version: 2 is newer"),
        (HEAD + 'rules = "x"', "field rules: expected array, got str"),
        (HEAD + "rules = [ 3 ]", "field rules[0]: expected object, got int"),
        (HEAD + 'rules = [ { algorithm = "linear" } ]', "field rules[0]: object missing required field operation"),
        (
            HEAD + 'rules = [ { operation = "gossip", algorithm = "x" } ]',
            "field rules[0].operation: invalid enum value",
        ),
        (HEAD + 'rules = [ { operation = "scan", algorithm = "x" } ]', "rules[0].algorithm: scan has no algorithm 'x'"),
        (
            HEAD + 'rules = [ { operation = "scan", algorithm = "linear", up = 3 } ]',
            "rules[0]: object contains unknown",
        ),
        (
            HEAD + 'rules = [ { operation = "scan", algorithm = "linear", upto = -1 } ]',
            "rules[0].upto: expected int >=",
        ),
        (HEAD + 'rules = [ { operation = "scan", algorithm = "linear", upto = "4 apples" } ]', "rules[0].upto: '4 app"),
        (HEAD + 'rules = [ { operation = "scan", algorithm = "linear", upto = 1e3 } ]', "rules[0].upto: expected int"),
        (
            HEAD + 'rules = [ { operation = "scan", algorithm = "linear", processes_from = 9, processes_upto = 8 } ]',
            "rules[0].processes_from: from 9 up to 8 processes",
        ),
        (HEAD + 'fallback = "other"', "field fallback: 'other' is no published selector"),
        (HEAD + "x = " + "[" * 100_000, "not TOML: "),
        (OPEN_MPI[:-6], "line 8: the file ends where"),
        ("1\n7\n1\n2 1\n0 six 0 0\n", "line 5: an algorithm: expected a whole number from 0 up, got 'six'"),
        ("1\n7\n1\n2 1\n0 -6 0 0\n", "line 5: an algorithm: expected a whole number from 0 up, got '-6'"),
        ("1\n7\n1\n2 1\n8 6 0 0\n", "line 5: the first rule is for 8 bytes: it must be for 0"),
        ("1\n7\n1\n2 2\n0 6 0 0\n0 6 0 0\n", "line 6: a rule for 0 bytes after 0: sizes must ascend"),
        ("1\n7\n2\n4 0\n4 0\n", "line 5: communicators for 4 processes after 4: sizes must ascend"),
        ("23\n", "line 1: the number of collectives: 23, and Open MPI has 22"),
        ("1\n22\n", "line 2: id 22 of a collective"),
        ("2\n7 0\n7 0\n", "line 3: id 7 of a collective: expected each once"),
        (OPEN_MPI + "3\n", "line 9: more than the counts before say"),
        ("1\n7\n" + "9" * 5000 + "\n", "line 3: the number of communicator sizes: expected a whole number"),
        ("1\n7\n999999999999999999\n", "line 3: the file ends where the processes of communicators should be"),
        ("1\nbcast\n1\nglobal_communicator\n1\n1 1\n8 han\n", "line 7: the first rule is for 8 bytes"),
        ("1\nbcast\n1\nglobal_communicator\n1\n1 x\n0 han\n", "line 6: the number of rules: expected a whole number"),
        ("1\nbcast\n1\nnode\n1\n1 1\n0 han\n", "line 4: 'node' is no level: choose intra_node, inter_node, global_"),
        ("1\nbcast\n7\nglobal_communicator\n", "line 3: the number of levels: 7, and Open MPI has 6"),
        ("1\nbcast\n1\nglobal_communicator\n1\n1 2\n0 han\n", "line 7: the file ends where the bytes of a rule"),
        ("1\nbcast\n1\nglobal_communicator\n1\n1 1\n0 han @simple\n3", "line 8: more than the counts before say"),
        ("{", "not JSON: "),
        ("{}", "field (whole): no collective of those that commmodel knows"),
        ('{"collective=bcast": 3}', "field collective=bcast: expected an object, got int"),
        ('{"collective=bcast": {}}', "field collective=bcast: empty"),
        ('{"collective=bcast": {"comm_size<=3": {"algorithm=MPIR_Bcast_intra_binomial":{}}}}', "incomplete"),
        ('{"collective=bcast": {"count<=3": {}}}', "collective=bcast / count<=3: a condition that commmodel does not"),
        ('{"collective=bcast": {"comm_size<x": {}}}', "comm_size<x: a condition that commmodel does not know"),
        ('{"collective=bcast": {"comm_size<1": {}}}', "comm_size<1: a condition that never holds"),
        ('{"algorithm=MPIR_Bcast_intra_binomial": {}}', "field (whole): an algorithm outside of any collective"),
        (json.dumps(MPICH)[:-9], "not JSON: "),
        ('{"a":' * 100_000, "nested too deeply"),
        ('{"collectives": 3}', "field collectives: expected object, got int"),
        ('{"collectives": {"bcast": [{"rules": [{"alg": 6, "msg_size_min": "low"}]}]}}', "got 'low'"),
        ('{"collectives": {"bcast": [{"rules": [{"algorithm": 6}]}]}}', "field collectives[...][0].rules[0]: object"),
    ],
)
def test_a_damaged_file_is_refused_in_one_line_with_file_and_place(file, content, problem):
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DamagedFileError) as caught:
        load(file)
    message = str(caught.value)
    assert message.startswith(f"{file}: ")
    assert problem in message
    assert len(message.splitlines()) == 1
    assert len(message) < len(str(file)) + 400


def test_nesting_that_the_json_reader_bears_but_a_rule_does_not_is_refused(file):
    for depth in (100, 500, 900, 1000, 5000):
        file.write_text('{"collective=bcast":' + '{"comm_size<=3":' * depth + "{}" + "}" * depth + "}")
        with pytest.raises(DamagedFileError):
            load(file)


def test_a_huge_file_is_refused_unread(file):
    with file.open("wb") as out:
        out.truncate(2**40)
    with pytest.raises(DamagedFileError, match="larger than 16 MiB"):
        load(file)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match="neither a file nor a published selector"):
        load("ompi")
    with pytest.raises(InputError, match="No such file"):
        load(tmp_path / "gone.toml")
    with pytest.raises(InputError, match="Is a directory"):
        load(tmp_path)


def test_open_mpis_rules_are_read_as_it_reads_them(file):
    file.write_text(
        "rule-file-version-2\n# mine\n" + OPEN_MPI.replace("0 6 0 0", "0 6 0 0 7 # no more than 7 requests")
    )
    selector = load(file)
    assert select(selector, "bcast", 999, 2).algorithm == "binomial-at-once"
    assert select(selector, "bcast", 1000, 7) == SelectionRule("bcast", "chain", processes_upto=7, segment_size=256)
    assert select(selector, "bcast", 0, 1).algorithm == "binomial-at-once"  # below the first size its rules hold, too
    assert select(selector, "bcast", 64, 8).algorithm == "scatter-ring"
    assert select(selector, "bcast", 56, 8).algorithm == "linear"  # what that is with fewer elements than processes
    assert select(selector, "barrier", 0, 64).algorithm == "dissemination"  # not in the file: the fixed decision
    file.write_text("2\n3\n1\n1 2\n0 0 0 0\n800 2 0 0\n1 # allgatherv\n1\n1 1\n0 99 0 0\n")
    selector = load(file)
    assert select(selector, "alltoall", 99, 8).algorithm == select(load("openmpi"), "alltoall", 99, 8).algorithm
    assert select(selector, "alltoall", 100, 8).algorithm == "pairwise"
    file.write_text("1\n0\n1\n1 1\n0 7 0 0\n")
    with pytest.raises(InputError, match="picks Open MPI's allgather sparbit for allgather of 8 bytes on 4 processes"):
        select(load(file), "allgather", 8, 4)


def test_open_mpi_6s_json_is_read_as_its_manual_says(file):
    file.write_text(
        json.dumps(
            {
                "rule_file_version": 3,
                "module": "tuned",
                "collectives": {
                    "allreduce": [
                        {
                            "comm_size_min": 64,
                            "comm_size_max": 128,
                            "rules": [
                                {"msg_size_min": 512, "msg_size_max": 511999, "alg": 2},
                                {"msg_size_min": 512000, "msg_size_max": "inf", "alg": "recursive_doubling", "reqs": 8},
                                {"alg": "later"},
                            ],
                        }
                    ],
                    "ialltoall": [],
                },
            }
        )
    )
    selector = load(file)
    assert select(selector, "allreduce", 512, 64).algorithm == "reduce-broadcast"
    assert select(selector, "allreduce", 2**30, 128).algorithm == "recursive-doubling"
    for size, processes in ((511, 64), (2**30, 129), (2**30, 63)):
        expected = select(load("openmpi"), "allreduce", size, processes).algorithm
        assert select(selector, "allreduce", size, processes).algorithm == expected


def test_mpichs_file_is_read_as_it_reads_it(file):
    file.write_text(json.dumps(MPICH))
    selector = load(file)
    assert select(selector, "bcast", 2**20, 7).algorithm == "binomial"
    assert select(selector, "bcast", 12289, 8).algorithm == "scatter-ring"
    with pytest.raises(InputError, match="picks MPIR_Bcast_intra_smp for bcast of 12288 bytes on 8 processes"):
        select(selector, "bcast", 12288, 8)
    assert select(selector, "bcast", 12288, 8, per_node=4).algorithm == "two-level"
    with pytest.raises(InputError, match="no rule for scan"):
        select(selector, "scan", 8, 8)
    tree = {"tree_type=kary": {}, "k=1": {}, "chunk_size=4096": {}}
    file.write_text(json.dumps({"collective=bcast": {"algorithm=MPIR_Bcast_intra_pipelined_tree": tree}}))
    assert load(file).rules == (SelectionRule("bcast", "chain", segment_size=4096),)
    # The file of MPICH's device, whose compositions are two levels or one.
    sizes = {"avg_msg_size<12288": composition("alpha"), "avg_msg_size=any": composition("gamma")}
    levels = {"comm_hierarchy=parent": sizes, "comm_hierarchy=any": composition("gamma")}
    file.write_text(json.dumps({"collective=bcast": {"comm_type=intra": levels}}))
    assert select(load(file), "bcast", 12287, 8, per_node=4).algorithm == "two-level"
    with pytest.raises(InputError, match="picks MPIDI_Bcast_intra_composition_gamma"):
        select(load(file), "bcast", 12287, 8)


@pytest.mark.parametrize(
    ("operation", "algorithm"), [("alltoall", "two-level"), ("allgather", "two-level-multi-leader")]
)
def test_mpichs_memory_of_a_node_holds_blocks_of_4_kib(file, operation, algorithm):
    name = f"MPIDI_{operation.capitalize()}_intra_composition_alpha"
    file.write_text(json.dumps({f"collective={operation}": {"comm_type=intra": {f"composition={name}": {}}}}))
    selector = load(file)
    assert select(selector, operation, 4096, 16, per_node=4).algorithm == algorithm
    for case in ((4097, 16, 4), (8, 16, 1), (8, 4, 4)):
        with pytest.raises(InputError, match=f"picks {name}"):
            select(selector, operation, case[0], case[1], per_node=case[2])


def test_mpich_scans_in_two_levels_where_ranks_of_a_node_are_neighbours(file):
    smp, flat = ({f"algorithm=MPIR_Scan_intra_{name}": {}} for name in ("smp", "recursive_doubling"))
    tree = {"is_node_consecutive=yes": smp, "is_node_consecutive=no": flat}
    file.write_text(json.dumps({"collective=scan": {"comm_type=intra": tree, "comm_type=inter": smp}}))
    for selector in (load(file), load("mpich-5.0")):
        assert select(selector, "scan", 8, 16, per_node=4).algorithm == "two-level"
        assert select(selector, "scan", 8, 16).algorithm == "recursive-doubling"
    text = dumps(Selector("mine", (SelectionRule("scan", "two-level", distribution="several-per-node"),)), "mpich")
    entry = json.loads(text)["collective=scan"]["comm_type=intra"]
    assert entry["comm_hierarchy=parent"] == tree


def composition(letter):
    return {f"composition=MPIDI_Bcast_intra_composition_{letter}": {}}


@pytest.mark.parametrize(
    ("kind", "rule", "problem"),
    [
        ("openmpi", SelectionRule("alltoall", "pairwise-xor"), "Open MPI has no 'pairwise-xor' of alltoall"),
        (
            "openmpi",
            SelectionRule("alltoall", "linear", upto=3),
            "a rule for alltoall has upto, and Open MPI's file can have n P alone",
        ),
        (
            "openmpi",
            SelectionRule("bcast", "linear", total_upto=3),
            "a rule for bcast has total_upto, and Open MPI's file can have n alone",
        ),
        (
            "openmpi",
            SelectionRule("scan", "linear", upto=3),
            "has upto, and Open MPI's file can have no message sizes there",
        ),
        ("openmpi", SelectionRule("scatter", "linear", total_upto=3), "no message sizes there: leave it out"),
        ("openmpi", SelectionRule("bcast", unknown("X")), "Open MPI has no 'unknown:X'"),
        ("mpich", SelectionRule("bcast", "linear"), "MPICH has no 'linear' of bcast: choose one of scatter-ring"),
        ("mpich", SelectionRule("allgather", "ring", upto=3), "n P alone: write total_upto"),
        ("mpich", SelectionRule("gather", "binomial", upto=3), "no message size: leave it out"),
        ("mpich", SelectionRule("bcast", "binomial", even=True), "cannot tell whether P is even"),
        ("mpich", SelectionRule("bcast", "binomial", upto=2**40), "ends at 2147483647"),
        ("yaml", SelectionRule("bcast", "binomial"), "format is 'yaml': choose one of toml, openmpi"),
    ],
)
def test_what_a_librarys_file_cannot_say_is_refused(kind, rule, problem):
    with pytest.raises(InputError, match=problem):
        dumps(Selector("mine", (rule,)), kind)


def test_mpichs_own_rules_survive_being_written(file):
    dump(load("mpich-5.0"), file, "mpich")
    back, size_of_page = load(file), 4096
    assert file.stat().st_size % size_of_page  # MPICH reads on to a zero behind the file
    for operation, size, processes in product(SCHEDULED, SIZES, PROCESSES):
        expected = select(load("mpich-5.0"), operation, size, processes).algorithm
        assert select(back, operation, size, processes).algorithm == expected


def test_mpichs_file_never_ends_with_its_page(monkeypatch):
    lengths = {
        len(dumps(Selector("x", (SelectionRule("bcast", "chain", segment_size=10**n),)), "mpich")) for n in range(18)
    }
    assert len(lengths) > 10
    shortest = min(lengths)
    monkeypatch.setattr("commmodel.collectives.library.mpich.PAGE", shortest)
    text = dumps(Selector("x", (SelectionRule("bcast", "chain", segment_size=1),)), "mpich")
    assert len(text) == shortest + 1


def test_tables_of_names_agree_with_the_schedules():
    for offers in (mpich.OFFERS, openmpi.OFFERS):
        assert set(offers) == set(SCHEDULED) == set(ALGORITHMS)
        for operation, names in offers.items():
            assert set(names) <= set(ALGORITHMS[operation])


def test_a_machine_file_names_a_selector_and_has_rules_before_it(tmp_path):
    file = tmp_path / "machine.toml"
    file.write_text(
        'format = "commmodel-machine"\nname = "m"\nselector = "mpich"\n[[segments]]\nprotocol = "eager"\n'
        '[[selection]]\noperation = "bcast"\nalgorithm = "chain"\nupto = "1MiB"\nsegment_size = 8192\n'
    )
    machine = load_machine(file)
    assert machine.selection == (SelectionRule("bcast", "chain", upto=2**20, segment_size=8192),)
    assert select(machine.algorithm_selector(), "bcast", 2**20, 64).algorithm == "chain"
    assert select(machine.algorithm_selector(), "bcast", 2**20 + 1, 64).algorithm == "scatter-ring"
    assert select(machine.algorithm_selector("openmpi"), "barrier", 0, 4).algorithm == "linear"
    dump_machine(machine, file)
    assert load_machine(file) == machine


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            '[[selection]]\noperation = "bcast"\nalgorithm = "x"',
            "field selection[0].algorithm: bcast has no algorithm 'x'",
        ),
        (
            '[[selection]]\noperation = "bcast"\nalgorithm = "chain"\nupto = "x"',
            "field selection[0].upto: 'x' is no size",
        ),
        ('[[selection]]\noperation = "bcast"', "field selection[0]: object missing required field algorithm"),
        ("[selection]", "field selection: expected array, got object"),
    ],
)
def test_a_wrong_rule_in_a_machine_file_is_named(tmp_path, text, problem):
    file = tmp_path / "machine.toml"
    file.write_text(f'format = "commmodel-machine"\nname = "m"\n[[segments]]\nprotocol = "eager"\n{text}\n')
    with pytest.raises(DamagedFileError, match=re.escape(f"{file}: {problem}")):
        load_machine(file)


def test_a_machine_without_a_selector_says_which_there_are():
    with pytest.raises(InputError, match="has neither selector nor selection: give it one of mpich,"):
        Machine("m", (Segment("all"),)).algorithm_selector()
