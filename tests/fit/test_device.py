"""Device memory on made times: what is fitted, stands in the machine file, and which way is predicted and chosen."""

import json

import numpy as np
import pytest
from support.report_samples import header

from commmodel import fit, machine, predict
from commmodel.cli import main
from commmodel.errors import InputError, MissingParameterError
from commmodel.results import Launch, Measurements, Record
from commmodel.results.configurations import DeviceCollective, DeviceCopy, DeviceMessage, PingPong

SIZES = [1 << power for power in range(2, 25)]
PATH = "between-nodes"


def records(times):
    """Return records of (configuration, seconds), whose samples scatter by a hundredth."""
    random = np.random.default_rng(1)
    return [
        Record(configuration, "s", tuple(seconds * np.exp(0.01 * random.standard_normal(31))))
        for configuration, seconds in times
    ]


def host(size):
    return 2e-6 + size / 10e9


def copy(size):
    return 10e-6 + size / 40e9


def direct(size):
    """A library that pipelines large messages badly: faster than through the host up to about 640 KB."""
    return 6e-6 + size / 5e9


def fitted_cluster(*, with_host=True, whole=()):
    """Return a fitted machine; `whole` are ways that were measured as a whole."""
    times = [(DeviceCopy(size, name, "pinned"), copy(size)) for size in SIZES for name in ("copy-out", "copy-in")]
    times += [(DeviceMessage(size, "direct", PATH), direct(size)) for size in SIZES]
    times += [(DeviceMessage(size, way, PATH), seconds(size)) for way, seconds in whole for size in SIZES]
    times += [(PingPong(size, PATH), host(size)) for size in SIZES if with_host]
    return fit.fit_machine(
        Measurements((Launch(header(), tuple(records(times))),)), settings=fit.FitSettings(samples=20)
    )


@pytest.fixture(scope="module")
def cluster():
    return fitted_cluster()


def test_copies_and_direct_messages_are_fitted_and_read_back(cluster, tmp_path):
    costs = {(cost.kernel, cost.call): cost for cost in cluster.calls}
    assert costs.keys() == {("device", "direct"), ("device-copy", "copy-out"), ("device-copy", "copy-in")}
    assert costs["device", "direct"].alpha.value == pytest.approx(6e-6, rel=0.02)
    assert costs["device", "direct"].beta.value == pytest.approx(2e-10, rel=0.02)
    assert costs["device-copy", "copy-in"].alpha.value == pytest.approx(10e-6, rel=0.02)
    assert costs["device-copy", "copy-in"].conditions == {"memory": "pinned"}
    assert cluster.paths == (PATH,)  # a copy takes no path
    machine.dump(cluster, tmp_path / "machine.toml")
    assert machine.load(tmp_path / "machine.toml") == cluster


@pytest.mark.parametrize(
    ("size", "way"), [(8, "direct"), (64 << 10, "direct"), (512 << 10, "pinned"), (8 << 20, "pinned")]
)
def test_the_faster_way_comes_first(cluster, size, way):
    ways = predict.device_ways(cluster, size)
    assert ways[0].way == way == ("direct" if direct(size) < host(size) + 2 * copy(size) else "pinned")
    by_way = {row.way: row for row in ways}
    assert by_way["direct"].time.seconds == pytest.approx(direct(size), rel=0.05)
    staged = by_way["pinned"]
    assert staged.time.seconds == pytest.approx(host(size) + 2 * copy(size), rel=0.05)
    assert sum(staged.parts.values()) == pytest.approx(staged.time.seconds)
    assert staged.time.low < staged.time.seconds < staged.time.high


def test_a_way_that_was_measured_as_a_whole_is_taken_as_it_is():
    ways = {
        row.way: row
        for row in predict.device_ways(fitted_cluster(whole=[("pinned", lambda size: 50e-6 + size / 1e9)]), 4096)
    }
    assert ways["pinned"].time.seconds == pytest.approx(50e-6 + 4096 / 1e9, rel=0.05)
    assert ways["pinned"].parts == {}


def test_several_processes_share_a_message_of_the_host(cluster):
    shares = machine.MaxRate(*(machine.Parameter(value) for value in (2e-6, 10e9, 25e9)))
    several = machine.Machine("m", (machine.Segment("all", PATH, max_rate=shares),), calls=cluster.calls)
    ways = {(row.way, row.processes): row.time.seconds for row in predict.device_ways(several, 8 << 20, processes=3)}
    assert ways.keys() == {("direct", 1), ("pinned", 1), ("pinned", 2), ("pinned", 3)}
    saved = ways["pinned", 1] - ways["pinned", 2]
    assert saved == pytest.approx((8 << 20) / 10e9 / 2, rel=1e-6)  # half of the bytes, at the rate of one process
    assert ways["pinned", 3] == pytest.approx(2e-6 + (8 << 20) / 25e9 + ways["pinned", 1] - 2e-6 - (8 << 20) / 10e9)


def test_a_collective_is_measured_or_made_of_copies_and_that_of_the_hosts():
    """Allgather of 4: out goes a block, in come four."""
    costs = [
        machine.CallCost("device-copy", name, machine.Parameter(10e-6), conditions={"memory": "pinned"},
                         beta=machine.Parameter(1e-10), sizes=(8, 1 << 24))
        for name in ("copy-out", "copy-in")
    ]  # fmt: skip
    of_four = {"processes": "4", "way": "direct"}
    costs.append(machine.CallCost("device-collective", "allgather", machine.Parameter(20e-6), conditions=of_four,
                                  beta=machine.Parameter(2e-9), sizes=(8, 1 << 24)))  # fmt: skip
    host = machine.LogGP(*(machine.Parameter(value) for value in (2e-6, 1e-6, 1e-6, 1e-10)))
    several = machine.Machine("m", (machine.Segment("all", PATH, loggp=host),), calls=tuple(costs))
    ways = {row.way: row for row in predict.device_collective(several, "allgather", 1 << 20, 4)}
    assert ways.keys() == {"direct", "pinned"}
    assert ways["direct"].time.seconds == pytest.approx(20e-6 + (1 << 20) * 2e-9)
    between = predict.collective(several, "allgather", 1 << 20, 4).time.seconds
    assert ways["pinned"].parts == pytest.approx(
        {"copy-out": 10e-6 + (1 << 20) * 1e-10, "message": between, "copy-in": 10e-6 + (4 << 20) * 1e-10}
    )
    assert ways["pinned"].time.seconds == pytest.approx(sum(ways["pinned"].parts.values()))
    assert {row.way for row in predict.device_collective(several, "allgather", 1 << 20, 8)} == {"pinned"}
    with pytest.raises(MissingParameterError, match="no times of bcast of device memory on 2 processes"):
        predict.device_collective(machine.load("blue-waters"), "bcast", 8, 2)
    with pytest.raises(InputError, match="operation"):
        predict.device_collective(several, "scan", 8, 2)


def test_measured_collectives_are_fitted_by_processes_and_way():
    times = [
        (DeviceCollective("bcast", size, ranks, "direct"), ranks * direct(size)) for size in SIZES for ranks in (2, 4)
    ]
    fitted = fit.fit_machine(
        Measurements((Launch(header(), tuple(records(times))),)), settings=fit.FitSettings(samples=20)
    )
    assert [cost.conditions for cost in fitted.calls] == [
        {"processes": str(ranks), "way": "direct"} for ranks in (2, 4)
    ]
    (row,) = predict.device_collective(fitted, "bcast", 4096, 4)
    assert row.time.seconds == pytest.approx(4 * direct(4096), rel=0.05)


def test_without_messages_of_the_host_only_what_was_measured_is_predicted():
    assert [row.way for row in predict.device_ways(fitted_cluster(with_host=False), 1024, path=PATH)] == ["direct"]


def test_wrong_numbers_and_machines_without_devices_are_refused(cluster):
    with pytest.raises(InputError, match="message_size is 0: give a finite number from 1 up"):
        predict.device_ways(cluster, 0)
    with pytest.raises(InputError, match="processes is 0"):
        predict.device_ways(cluster, 8, processes=0)
    with pytest.raises(MissingParameterError, match=r"commmodel\.bench pingpong device, where there are GPUs"):
        predict.device_ways(machine.load("blue-waters"), 8)
    with pytest.raises(MissingParameterError, match="on path 'same-node'"):
        predict.device_ways(cluster, 8, path="same-node")


def test_the_command_shows_the_ways(cluster, tmp_path, capsys):
    machine.dump(cluster, tmp_path / "machine.toml")
    words = ["predict", str(tmp_path / "machine.toml"), "send", "-n", "8MiB", "--memory", "device"]
    assert main([*words, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [row["way"] for row in answer["ways"]] == ["pinned", "direct"]
    assert answer["way"] == "pinned"
    assert answer["seconds"] == answer["ways"][0]["seconds"]
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert "copy-out" in shown
    collective = ["predict", str(tmp_path / "machine.toml"), "allreduce", "-n", "1MiB", "-p", "2", "--memory", "device"]
    assert main([*collective, "--algorithm", "ring"]) == 2
    assert "--algorithm: of device memory there is one model" in capsys.readouterr().err
    assert main([*words, "--model", "postal"]) == 2
    assert "--model: of device memory there is one model" in capsys.readouterr().err
