"""The benchmark on a simulated machine: its clock is the simulator's, and a fit gives back what is known."""

import subprocess
import sys

import numpy as np
import pytest

from commmodel import machine, predict, results
from commmodel.results.configurations import Collective

pytestmark = [pytest.mark.mpi, pytest.mark.simulated]

KNOWN = """
format = "commmodel-machine"
version = 1
name = "known"

[[segments]]
protocol = "eager"
path = "between-nodes"
limit = {value = 16384, found_by = "threshold"}
[segments.postal]
alpha = {value = 1.6e-06, unit = "s"}
beta = {value = 2.5e-10, unit = "s/B"}

[[segments]]
protocol = "rendezvous"
path = "between-nodes"
[segments.postal]
alpha = {value = 4e-06, unit = "s"}
beta = {value = 1.25e-10, unit = "s/B"}

[[hybrid]]
path = "between-nodes"
contention = {value = 2.0, unit = "1"}
link_latency = {value = 1.2e-06, unit = "s"}
link_bandwidth = {value = 16e9, unit = "B/s"}
[[hybrid.modes]]
kind = "asynchronous"
L = {value = 1.2e-06, unit = "s"}
B = {value = 4e9, unit = "B/s"}
limit = {value = 16384, found_by = "threshold"}
o_s = {value = 3e-07, unit = "s"}
O_s = {value = 0.0, unit = "s/B"}
o_r = {value = 4e-07, unit = "s"}
O_r = {value = 0.0, unit = "s/B"}
[[hybrid.modes]]
kind = "synchronous"
L = {value = 4e-06, unit = "s"}
B = {value = 8e9, unit = "B/s"}
o_s = {value = 3e-07, unit = "s"}
O_s = {value = 0.0, unit = "s/B"}
o_r = {value = 0.0, unit = "s"}
O_r = {value = 0.0, unit = "s/B"}

[[hybrid]]
path = "same-node"
[[hybrid.modes]]
kind = "asynchronous"
L = {value = 5e-07, unit = "s"}
B = {value = 8e9, unit = "B/s"}
o_s = {value = 0.0, unit = "s"}
O_s = {value = 0.0, unit = "s/B"}
o_r = {value = 0.0, unit = "s"}
O_r = {value = 0.0, unit = "s/B"}
"""
"""A machine whose messages take 1.6 µs and 4 GB/s up to 16 KiB, then 4 µs and 8 GB/s."""


LINKS = """
format = "commmodel-platform"
version = 1
kind = "flat"
hosts = 2
cores = 2
bandwidth = "24GB/s"
latency = "0.6us"
backbone = {bandwidth = "16GB/s", sharing = "fatpipe"}
loopback = {bandwidth = "10GB/s", latency = "0.5us"}
"""
"""Two hosts, whose links carry 1.5 times what one message has at most."""


SOCKETS = """
format = "commmodel-platform"
version = 1
kind = "cabinets"
are_nodes = true
hosts = [2, 2]
cores = 2
bandwidth = "24GB/s"
latency = "0.15us"
backbone = {bandwidth = "16GB/s", sharing = "fatpipe"}
loopback = {bandwidth = "20GB/s", latency = "0.12us"}
uplink = {bandwidth = "20GB/s", latency = "0.45us"}
"""
"""Two nodes of two sockets with two cores each; two messages share a socket's link."""


def measure(folder, *words, where="known.toml", processes=4, per_node=2, options=("--compute", "0")):
    (folder / "known.toml").write_text(KNOWN)
    (folder / "links.toml").write_text(LINKS)
    (folder / "sockets.toml").write_text(SOCKETS)
    command = [sys.executable, "-m", "commmodel", "simulate", where, "run", "-p", str(processes)]
    command += ["-k", str(per_node)] if per_node else []
    command += [*options, "--", sys.executable, "-m", "commmodel.bench", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done


def test_a_fit_of_what_is_measured_gives_the_machine_back(tmp_path):
    measure(tmp_path, "threshold", "pingpong", "--sizes", "1:1MiB")
    command = [sys.executable, "-m", "commmodel", "fit", "results.jsonl", "-o", "fitted.toml"]
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
    true, fitted = machine.load(tmp_path / "known.toml"), machine.load(tmp_path / "fitted.toml")
    segments = [segment for segment in fitted.segments if segment.path == "between-nodes"]
    assert [segment.limit and segment.limit.value for segment in segments] == [16384, None]
    for segment, expected in zip(segments, true.segments, strict=True):
        assert segment.postal.alpha.value == pytest.approx(expected.postal.alpha.value, rel=0.01)
        assert segment.postal.beta.value == pytest.approx(expected.postal.beta.value, rel=0.01)


def fitted_machine(folder):
    command = [sys.executable, "-m", "commmodel", "fit", "results.jsonl", "-o", "fitted.toml"]
    subprocess.run(command, check=True, capture_output=True, cwd=folder)
    return machine.load(folder / "fitted.toml")


def test_pairs_begin_together_so_that_a_fit_gives_the_rate_of_a_node(tmp_path):
    options = ("--parameters", "known.toml", "--compute", "0")
    words = ("pairs", "--sizes", "1:16KiB:*4", "--pairs", "1,2")
    measure(tmp_path, *words, where="links.toml", options=options)
    (launch,) = results.load(tmp_path / "results.jsonl").launches
    for record in launch.records:  # all ranks on one clock, so nothing differs but the rounding to its nanoseconds
        assert np.ptp(record.samples) <= 5e-3 * record.samples[0]
    (eager,) = [item for item in fitted_machine(tmp_path).segments if item.path == "between-nodes"]
    truth = {"alpha": 1.6e-6, "R_C": 4e9, "R_N": 6e9}
    assert {name: getattr(eager.max_rate, name).value for name in truth} == pytest.approx(truth, rel=0.01)


def test_each_level_of_nodes_with_two_sockets_is_given_back(tmp_path):
    options = ("--parameters", "known.toml", "--compute", "0")
    words = ("pingpong", "pairs", "--sizes", "1:16KiB:*4", "--pairs", "1,2")
    measure(tmp_path, *words, where="sockets.toml", processes=8, per_node=4, options=options)
    (launch,) = results.load(tmp_path / "results.jsonl").launches
    assert [host.name for host in launch.header.hosts] == ["node-0", "node-1"]
    assert [rank.socket for rank in launch.header.ranks] == [0, 0, 1, 1] * 2
    fitted = {segment.path: segment.max_rate for segment in fitted_machine(tmp_path).segments}
    truth = {  # eager messages have the latency of their links, 0.4 µs at their end, and a quarter of their bandwidth
        "same-socket": {"alpha": 0.52e-6, "R_C": 5e9},
        "same-node": {"alpha": 0.7e-6, "R_C": 4e9, "R_N": 6e9},
        "between-nodes": {"alpha": 1.6e-6, "R_C": 4e9, "R_N": 5e9},
    }
    assert fitted.keys() == truth.keys()
    for path, expected in truth.items():
        assert {name: getattr(fitted[path], name).value for name in expected} == pytest.approx(expected, rel=0.01)


def test_trains_on_a_loggp_machine_give_its_parameters_back_and_collectives_take_what_is_predicted(tmp_path):
    words = ("loggp", "collective", "--collectives", "bcast,alltoall", "--sizes", "8,64KiB")
    measure(tmp_path, *words, where="L=2700ns,o=1500ns,g=4us,G=250ps", per_node=None)
    fitted = fitted_machine(tmp_path)
    (segment,) = fitted.segments
    truth = {"L": 2.7e-6, "o": 1.5e-6, "g": 4e-6, "G": 0.25e-9}  # L + o is not g: no message comes as another leaves
    assert {name: getattr(segment.loggp, name).value for name in truth} == pytest.approx(truth, rel=0.01)
    compared = predict.compare(fitted, results.load(tmp_path / "results.jsonl"), models=("loggp",))
    assert {row.processes for row in compared.rows} == {2, 4}
    assert len(compared.rows) == 8
    for row in compared.rows:
        assert abs(row.relative_error("loggp")) < 0.01, row


def test_repetitions_are_exact_and_few_and_the_header_says_what_is_simulated(tmp_path):
    done = measure(tmp_path, "pingpong", "collective", "--collectives", "allreduce", "--sizes", "1024")
    assert "warning" not in done.stderr
    (launch,) = results.load(tmp_path / "results.jsonl").launches
    assert launch.header.simulated == "known, model hybrid"
    assert {host.clock.kind for host in launch.header.hosts} == {"simulated"}
    assert launch.header.placement["between-nodes"] == ((0, 2), (1, 3))
    for record in launch.records:
        assert 3 <= len(record.samples) <= 12
        assert max(record.samples) == pytest.approx(min(record.samples), rel=2e-3)
    collective = next(record for record in launch.records if isinstance(record.configuration, Collective))
    assert collective.samples[0] > 0
    assert collective.late == 0


def test_charged_computation_is_warned_of(tmp_path):
    measure(tmp_path, "pingpong", "--sizes", "8", options=())
    (launch,) = results.load(tmp_path / "results.jsonl").launches
    assert "--compute 0" in launch.header.warnings[0]
