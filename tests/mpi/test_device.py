"""Device buffers on real MPI, with a device whose memory is the host's: every way brings them; who refuses what."""

from types import SimpleNamespace
from typing import get_args

import numpy as np
import pytest
from mpi4py import MPI
from support.host_device import HostDevice

from commmodel.bench import accelerator, device_probe
from commmodel.bench.kernels.collective import collective_room
from commmodel.bench.kernels.device import calls, collective_call, prepare
from commmodel.bench.options import parse
from commmodel.bench.placement import place
from commmodel.choices import DeviceOperation, DeviceWay
from commmodel.errors import CommModelError, MPIEnvironmentError
from commmodel.results.configurations import DeviceCollective

COMM = MPI.COMM_WORLD
PEER = COMM.rank ^ 1
CRASH = "the probe ended by signal 11, Segmentation fault"


@pytest.fixture
def device(monkeypatch):
    monkeypatch.setattr(accelerator, "_PACKAGES", (("Host", HostDevice),))
    return accelerator.use(COMM.rank)


def prepared(*words):
    return prepare(COMM, None, parse(["device", *words]).options, place([0] * 2, [0] * 2))


@pytest.mark.parallel([2, 4])
@pytest.mark.parametrize(("way", "copies"), [("direct", 0), ("pinned", 1), ("staged", 1)])
def test_each_way_brings_a_device_buffer(device, way, copies):
    session = SimpleNamespace(comm=COMM, peer=PEER, send_buffer=np.zeros(4096, np.uint8))
    buffer = device.device_array(1000)
    buffer[:] = (np.arange(1000) + COMM.rank) % 251
    give, take = calls(session, way, buffer, 1000)
    first = COMM.rank < PEER
    (give if first else take)()
    assert device.copies == copies
    np.testing.assert_array_equal(buffer, (np.arange(1000) + min(COMM.rank, PEER)) % 251)


@pytest.mark.parallel([1, 2, 4])
@pytest.mark.parametrize("way", get_args(DeviceWay))
@pytest.mark.parametrize("operation", get_args(DeviceOperation))
def test_each_way_makes_a_collective_of_device_buffers(device, operation, way):
    size, ranks = 16, COMM.size
    configuration = DeviceCollective(operation, size, ranks, way)
    room = collective_room(configuration)
    session = SimpleNamespace(
        comm=COMM, send_buffer=np.zeros(room[0], np.uint8), receive_buffer=np.zeros(room[1], np.uint8)
    )
    sent, received = map(device.device_array, room)
    numbers = np.arange(room[0] // 4, dtype=np.float32)
    sent.view(np.float32)[:] = numbers + 100 * COMM.rank
    collective_call(session, configuration, sent, received)()
    everybody = np.array([numbers + 100 * rank for rank in range(ranks)])
    blocks = everybody.reshape(ranks, -1, size // 4)
    expected = {
        "allreduce": everybody.sum(axis=0), "bcast": everybody[0], "allgather": everybody,
        "alltoall": blocks[:, COMM.rank] if operation == "alltoall" else None,
    }[operation]  # fmt: skip
    result = sent if operation == "bcast" else received
    np.testing.assert_array_equal(result.view(np.float32), np.ravel(expected))
    assert device.copies == (0 if way == "direct" else 1 if operation == "bcast" else 2)


@pytest.mark.parallel([1, 2])
def test_where_mpi_takes_no_device_memory_the_reason_is_an_option_on_all_ranks(device, monkeypatch):
    monkeypatch.setattr(device_probe, "why_not", lambda: CRASH)
    options = prepared()
    assert options.accelerator == "host memory 0"
    assert options.without_direct.endswith(f" cannot send device memory ({CRASH})")
    assert not prepared("--ways", "pinned").without_direct  # nobody asked
    with pytest.raises(MPIEnvironmentError, match="add pinned and staged to --ways"):
        prepared("--ways", "direct")


@pytest.mark.parallel([2])
def test_a_rank_without_a_device_ends_all(monkeypatch):
    def device_of_rank_0(rank):
        if COMM.rank:
            raise RuntimeError("no device")
        return HostDevice(rank)

    monkeypatch.setattr(accelerator, "_PACKAGES", (("Host", device_of_rank_0),))
    with pytest.raises(CommModelError, match=r"no accelerator can be used \(Host: no device\)"):
        prepared()


@pytest.mark.parallel([1])
def test_the_program_of_the_probe_passes_where_device_memory_is_the_hosts(device, monkeypatch):
    monkeypatch.setattr(device_probe.resource, "setrlimit", lambda *_: None)
    assert device_probe.main() == 0
    monkeypatch.setattr(HostDevice, "copy_out", lambda *_: None)  # what arrives is not looked at
    assert device_probe.main() == 1
