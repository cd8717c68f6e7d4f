"""What the benchmark finds on two hosts whose network is known: the rate of their link, with either MPI library."""

import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest
from support.launching import NETWORK, find
from tools.emulated_cluster import cluster, hosts, launcher, missing, mpi_environment, set_rate, socket_rate

from commmodel import results
from commmodel.fit import fit_machine
from commmodel.models import maxrate, postal
from commmodel.results import Measurements
from commmodel.results.configurations import Pairs, Stream

MPIEXEC = find("mpiexec")
RANKS_ON_HOST = 4
RATE, OTHER_RATE = 100e6, 50e6  # bit/s: what emulation keeps to within a percent on a busy machine
SOCKET_SECONDS = 2.0
SMALL, LARGE = 32 << 10, 64 << 10  # B; a window of large ones takes 0.35 s or more
TWO_WAY = 256 << 10

pytestmark = [
    pytest.mark.skipif(MPIEXEC is None, reason="no mpiexec beside this Python or on PATH"),
    pytest.mark.skipif(bool(problem := missing()), reason=f"no emulated cluster here: {problem}"),
]


def bench(output, *arguments):
    command = [*launcher(MPIEXEC, hosts(), RANKS_ON_HOST), sys.executable, "-m", "commmodel.bench"]
    command += ["--seed", "1", "-o", str(output), *arguments]
    environment = NETWORK | mpi_environment()
    completed = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1800)
    assert completed.returncode == 0, completed.stderr
    return results.load(output)


@dataclass(frozen=True)
class Measured:
    """What was measured on the link, in bytes per second, and by the benchmark."""

    rate: float
    measurements: Measurements

    def medians(self, kind):
        """Return the median of each (pairs, message size) between the nodes."""
        records = (record for record in self.measurements.records if isinstance(record.configuration, kind))
        return {
            (record.configuration.pairs, record.configuration.message_size): record.summary.median
            for record in records
            if record.configuration.path == "between-nodes"
        }

    def rates(self, kind):
        """Return k n / T of each (pairs, message size), over the rate of the link."""
        return {(k, n): k * n / time / self.rate for (k, n), time in self.medians(kind).items()}


def measure(output, *arguments):
    """Return what the benchmark finds, with the faster of a socket before it and one after it.

    What disturbs a stream makes it slower.
    """
    before = socket_rate(SOCKET_SECONDS)
    measurements = bench(output, *arguments)
    return Measured(max(before, socket_rate(SOCKET_SECONDS)), measurements)


@pytest.fixture(scope="module")
def network():
    with cluster():
        yield


@pytest.fixture(scope="module")
def measured(network, tmp_path_factory):
    set_rate(RATE)
    arguments = ("stream", "--pairs", "1,2,4", "--sizes", f"{SMALL}:{LARGE}", "--time", "5s")
    output = tmp_path_factory.mktemp("cluster") / "results.jsonl"
    return measure(output, *arguments)


def test_ranks_are_paired_across_the_two_hosts(measured):
    (launched,) = measured.measurements.launches
    assert [host.name for host in launched.header.hosts] == list(hosts())
    across = tuple((rank, rank + RANKS_ON_HOST) for rank in range(RANKS_ON_HOST))
    assert launched.header.placement["between-nodes"] == across


def test_streams_find_the_rate_of_the_link_however_many_there_are(measured):
    shares = measured.rates(Stream)
    assert {pairs for pairs, _ in shares} == {1, 2, RANKS_ON_HOST}
    large = [share for (_, size), share in shares.items() if size >= LARGE]
    assert np.median(large) == pytest.approx(1, abs=0.05)
    assert large == pytest.approx(np.ones(len(large)), abs=0.1)  # each is of a second or less


def test_the_one_way_rate_of_the_fit_is_that_of_the_link(measured):
    model = fit_machine(measured.measurements, limits=()).segment(LARGE, "between-nodes").one_way
    assert model.R_N.value / measured.rate == pytest.approx(1, abs=0.05)


def test_ping_pongs_of_several_pairs_use_both_directions_and_find_up_to_twice_the_rate(measured, tmp_path):
    """Several round trips in a row, so that the pairs fall out of step: some send while others answer."""
    arguments = ("pairs", "--pairs", str(RANKS_ON_HOST), "--sizes", str(TWO_WAY), "--time", "5s", "--batch", "4")
    both_ways = Measured(measured.rate, bench(tmp_path / "results.jsonl", *arguments))
    (share,) = both_ways.rates(Pairs).values()
    assert 1 < share < 2


def test_the_postal_model_of_one_pair_is_too_fast_for_all_of_them_by_the_factor_of_the_max_rate_model(measured):
    """Gropp, Olson and Samfass (2016), Eq 6."""
    medians = measured.medians(Stream)
    sizes = np.array(sorted(size for pairs, size in medians if pairs == 1))
    values = np.array([medians[1, size] for size in sizes])
    beta, alpha = np.polyfit(sizes, values, 1, w=1 / values)
    expected = maxrate.postal_over_max_rate(RANKS_ON_HOST, measured.rate, 1 / beta)
    value = postal.time(LARGE, alpha, beta) / medians[RANKS_ON_HOST, LARGE]
    assert value == pytest.approx(expected, rel=0.2)
    assert value * RANKS_ON_HOST == pytest.approx(1, abs=0.2)  # as one pair has the whole link


def test_another_rate_of_the_link_is_found_as_well(network, measured, tmp_path):
    set_rate(OTHER_RATE)
    arguments = ("stream", "--pairs", "2", "--sizes", str(LARGE), "--time", "1s")
    other = measure(tmp_path / "results.jsonl", *arguments)
    assert other.rate / measured.rate == pytest.approx(OTHER_RATE / RATE, rel=0.05)
    assert list(other.rates(Stream).values()) == [pytest.approx(1, abs=0.05)]
