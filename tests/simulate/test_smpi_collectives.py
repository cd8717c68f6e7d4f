"""Against SimGrid's SMPI: its times on six platforms, from ``oracles/smpi.toml``, and anew where it is installed."""

import csv

import pytest
from support.paths import SHARED
from tools.peers import ours
from tools.peers.ours import ORACLES, collective, exchange, rows
from tools.peers.platforms import KINDS
from tools.peers.record import EXACT, EXCHANGES
from tools.peers.smpi import Peer, available
from tools.peers.traces import TRACES

from commmodel import simulate
from commmodel.errors import InputError
from commmodel.simulate import SMPI, run, smpi_collectives
from commmodel.simulate.work import pair

SHARED = SHARED / "simgrid"
TABLES = [(kind, table) for kind in KINDS for table in ORACLES[kind]]
TOLERANCE = 1e-3


@pytest.mark.parametrize(("size", "seconds"), ORACLES["point-to-point"].items())
def test_point_to_point(size, seconds):
    outcome = run(pair(int(size)), SMPI, ours.platform("flat", 16))
    assert outcome.seconds / 2 == pytest.approx(seconds, rel=1e-6)


@pytest.mark.parametrize(("kind", "table"), TABLES)
def test_platforms(kind, table):
    wrong = []
    for name, program, seconds in rows(kind, table):
        result = ours.simulated(program, kind)
        if result != pytest.approx(seconds, rel=TOLERANCE):
            wrong.append(f"{name}: {result:.9f} s, SMPI {seconds:.9f} s")
    assert not wrong


@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name in TRACES for kind in KINDS])
def test_traces(name, kind, tmp_path):
    assert ours.replayed(TRACES[name](16), tmp_path, kind) == pytest.approx(
        ORACLES["replay"][name][kind], rel=TOLERANCE
    )


@pytest.mark.skipif(not SHARED.exists(), reason="shared data are not here")
def test_table_of_collectives():
    kinds = {"flatnobb": "flat", "cab": "cabinets"}
    wrong, compared = [], 0
    with (SHARED / "collectives.csv").open() as file:
        for row in csv.DictReader(file):
            operation = row["collective"].replace("a2a", "alltoall")
            size, processes = int(row["bytes_arg"]), int(row["P"])
            program = collective(operation, row["algorithm"], size, processes)
            compared += 1
            if ours.simulated(program, kinds[row["platform"]]) != pytest.approx(float(row["simtime_s"]), rel=TOLERANCE):
                wrong.append(row)
    assert compared > 100
    assert not wrong


@pytest.mark.skipif(not available(), reason="SMPI is not installed")
def test_the_oracles_are_what_it_says(tmp_path):
    peer = Peer(tmp_path)
    value = peer.run("limited", 16, ["alltoall", 102400, 1], {"alltoall": "bruck"}, EXACT).seconds
    assert value == pytest.approx(ORACLES["limited"]["collectives-16"]["alltoall"]["bruck"][1], rel=1e-6)


@pytest.mark.skipif(not available(), reason="SMPI is not installed")
@pytest.mark.parametrize("operation", EXCHANGES)
def test_exchanges_that_no_oracle_has(operation, tmp_path):
    value = Peer(tmp_path).run("cabinets", 16, [operation, 7000, 2], options=EXACT).seconds
    assert ours.simulated(exchange(operation, 7000, 16, 2), "cabinets") == pytest.approx(value, rel=TOLERANCE)


def test_an_unknown_algorithm_is_named():
    with pytest.raises(InputError, match="bcast by 'bruck' is not known: choose one of default, binomial_tree"):
        smpi_collectives.program("bcast", 8, 4, "bruck")
    with pytest.raises(InputError, match=r"'broadcast' is not known: did you mean bcast\? Choose one of barrier"):
        smpi_collectives.program("broadcast", 8, 4)


@pytest.mark.parametrize(("selector", "processes"), [("smpi-impi", 2), ("smpi-ompi", 16)])
def test_an_algorithm_that_ends_for_nothing_is_named(selector, processes):
    """SMPI 3.32 ends there with a floating point exception."""
    with pytest.raises(InputError, match="ompi_ring_segmented ends for 0 elements"):
        simulate.collective("allreduce", 0, processes, on="switch", selector=selector)
