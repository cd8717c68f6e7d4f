"""All algorithms and selectors of SimGrid's SMPI, against its times in ``oracles/smpi_collectives.toml``."""

import contextlib
import tomllib
from dataclasses import replace

import pytest
from support.paths import ROOT
from tools.peers.collectives import (
    OPERATIONS,
    ORACLE_SIZES,
    ORACLES,
    Deployment,
    PeerCollectives,
    our_replay,
    our_times,
    selection_of,
)
from tools.peers.smpi import available

from commmodel.collectives import CollectiveSettings, Problem
from commmodel.collectives.library.smpi_selection import SMPI_SELECTORS, Selection, smpi_selection
from commmodel.errors import InputError
from commmodel.simulate import SMPI, run
from commmodel.simulate.operations import Code, Program
from commmodel.simulate.platform import flat
from commmodel.simulate.smpi_collectives import ALGORITHMS, AT_ONCE, Member, RankCall, calls, program
from commmodel.simulate.smpi_collectives.tables import pick, tables
from commmodel.simulate.work import collective

TABLES = tomllib.loads((ROOT / "tests" / "oracles" / "smpi_collectives.toml").read_text())


@pytest.mark.parametrize("deployment", ORACLES, ids=str)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_times(operation, deployment):
    wrong = {}
    for name, seconds in TABLES[str(deployment)][operation].items():
        times = our_times(deployment, operation, ORACLE_SIZES, selection_of(operation, name, deployment))
        if times != pytest.approx(seconds, rel=1e-6):
            wrong[name] = times, seconds
    assert wrong == {}


def test_the_oracles_have_nearly_all():
    algorithms = {(operation, name) for table in TABLES.values() for operation in table for name in table[operation]}
    assert len(algorithms) > 200


@pytest.mark.skipif(not available(), reason="SMPI is not installed")
@pytest.mark.parametrize("operation", ["allgather", "bcast", "scatter"])
def test_the_oracles_are_what_it_says(operation, tmp_path):
    deployment, name = ORACLES[1], "selector mvapich2"
    selection = selection_of(operation, name, deployment)
    times = PeerCollectives(tmp_path).times(deployment, operation, ORACLE_SIZES, selection)
    assert times == pytest.approx(TABLES[str(deployment)][operation][name], rel=1e-9)


@pytest.mark.parametrize("processes", [1, 2, 3, 7, 12])
@pytest.mark.parametrize("operation", ALGORITHMS)
def test_none_hangs(operation, processes):
    platform = flat(hosts=processes, bandwidth=125e6, latency=15e-6)
    for name in ALGORITHMS[operation]:
        with contextlib.suppress(InputError):  # of an algorithm that is not for so many
            result = program(operation, 0 if operation == "barrier" else 80000, processes, name)
            assert not run(result, SMPI, platform).blocked, name


def test_the_second_call_knows_the_nodes():
    selection = Selection("mpich", hosts=(0, 0, 1, 1))
    first, second = calls(4, 2 * [("bcast", [RankCall(8)])], selection)
    [prepared] = calls(4, [("bcast", [RankCall(8)])], Selection("mpich", hosts=(0, 0, 1, 1), is_prepared=True))
    assert first.operations.size > second.operations.size
    assert second.operations.tolist() == prepared.operations.tolist()


def test_a_replay_selects_as_a_program_does():
    deployment = Deployment.cycles("flat", 4, 2)
    selection = replace(selection_of("bcast", "SMP_binomial", deployment), is_prepared=True)
    times = our_times(deployment, "bcast", (1000, 70000), selection)
    assert our_replay(deployment, "bcast", (1000, 70000), selection) == pytest.approx(times[-1], rel=1e-9)


def test_ranks_on_a_host_make_a_difference():
    alone, together = (
        program("allreduce", 1000, 8, "smp_rdb", selection=Selection(hosts=hosts, is_prepared=True))
        for hosts in ((), (0, 0, 1, 1, 2, 2, 3, 3))
    )
    assert alone.operations.size != together.operations.size


def test_names_of_selectors():
    assert [smpi_selection(f"smpi-{name}") for name in SMPI_SELECTORS] == list(map(Selection, SMPI_SELECTORS))
    assert smpi_selection("smpi") == Selection()
    assert smpi_selection("openmpi") == "openmpi"
    assert Selection("impi").name == "smpi-impi"


@pytest.mark.parametrize("selector", tables())
def test_tables_name_algorithms(selector):
    def leaves(table):
        return [word for row in table.values() for word in (leaves(row) if isinstance(row, dict) else row.split(", "))]

    for operation, table in tables()[selector].items():
        names = {word.split()[0].removesuffix("*") for word in leaves(table)}
        assert names <= {*ALGORITHMS[operation], "none", "mcst", "reduce"}


def test_limits_of_tables():
    table = {"<4": "a <8, b", "<=4": "c <=8, d", "": "e"}
    assert [pick(table, *case) for case in ((3, 7), (3, 8), (4, 8), (4, 9), (5, 0))] == ["a", "b", "c", "d", "e"]


def test_selectors_of_smpi_are_selectors_of_collectives():
    selected = collective("allreduce", Problem(8, 1000), settings=CollectiveSettings("smpi-mpich"))
    assert selected.name == "allreduce of 1000 bytes on 8 processes by SMPI's mpich"
    assert (
        "rab2" in collective("allreduce", Problem(8, 1000), algorithm="rab2", settings=CollectiveSettings("smpi")).name
    )


def test_what_begins_at_once_ends():
    platform = flat(hosts=5, bandwidth=125e6, latency=15e-6)
    for operation in AT_ONCE:
        sizes = (80000,) * 5 if operation in ("alltoallv", "allgatherv", "reduce_scatter") else ()
        ranks = []
        for rank in range(5):
            member = Member.of_world(5, rank, Selection(), ALGORITHMS)
            AT_ONCE[operation](member, RankCall(80000, root=3, sizes=sizes))
            ranks.append(member.drain())
        assert not run(Program.from_ranks(ranks), SMPI, platform).blocked, operation


def test_a_root_receives_one_after_the_other_where_the_operator_does_not_commute():
    ordered = RankCall(8, 8, is_ordered=True)
    [together], [in_turn] = (calls(4, [("reduce", [call])], Selection()) for call in (RankCall(8, 8), ordered))
    assert together.operations["code"][:4].tolist() == [Code.IRECV] * 3 + [Code.WAITALL]
    assert in_turn.operations["code"][:3].tolist() == [Code.RECV] * 3
    assert in_turn.operations["peer"][:3].tolist() == [3, 2, 1]


def test_rounds_are_the_calls_that_they_are():
    [program_of_calls] = calls(2, [("bcast", [RankCall(8)])], Selection(is_in_order=True))
    assert program_of_calls.operations["code"].tolist() == [Code.SEND, Code.RECV]
    [exchange] = calls(4, [("allreduce", [RankCall(8, 8)])], Selection(algorithms={"allreduce": "rdb"}))
    assert exchange.operations["code"][:3].tolist() == [Code.ISEND, Code.IRECV, Code.WAITALL]
