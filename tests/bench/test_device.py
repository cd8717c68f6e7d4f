"""The kernel device: the probe of MPI, devices by CuPy and Numba, what is planned, and short runs with a simulator."""

import sys
from types import SimpleNamespace

import msgspec
import pytest
from support.host_device import HostDevice
from support.launching import BENCHMARK, launch

from commmodel.bench import accelerator, device_probe
from commmodel.bench.kernels import buffer_bytes, left_out, participants
from commmodel.bench.options import parse
from commmodel.bench.placement import place
from commmodel.bench.plan import make_plan
from commmodel.errors import InputError, MPIEnvironmentError
from commmodel.results import configuration_words, load
from commmodel.results.configurations import DeviceCollective, DeviceCopy, DeviceMessage

PLACEMENT = place([0] * 4, [0] * 4)


def plan(*words, **fields):
    options = parse(["device", "--sizes", "0,8,1KiB", "--device-collectives", "none", *words, "--seed", "1"]).options
    return make_plan(msgspec.structs.replace(options, **fields), PLACEMENT)


@pytest.mark.parametrize(("program", "answer"), [
    ("pass", ""),
    ("import os; os.kill(os.getpid(), 11)", "the probe ended by signal 11, Segmentation fault"),
    ("print('no GPU support'); raise SystemExit(1)", "the probe said: no GPU support"),
    ("raise SystemExit(3)", "the probe ended with 3"),
    ("import time; time.sleep(60)", "the probe did not end within 0.5 s"),
])  # fmt: skip
def test_a_probe_that_answers_crashes_or_hangs_is_a_sentence(program, answer):
    seconds = 0.5 if "sleep" in program else 60
    assert device_probe.why_not([sys.executable, "-S", "-c", program], seconds) == answer


def test_a_probe_that_cannot_start_is_a_sentence(tmp_path):
    assert device_probe.why_not([str(tmp_path / "nothing")]) == "the probe did not start: No such file or directory"


def test_the_first_package_that_reaches_a_device_is_used(monkeypatch):
    def failing(_):
        raise RuntimeError("Error at driver init:\n\nlibrary cannot be found.\nIf you are sure ...")

    monkeypatch.setattr(accelerator, "_PACKAGES", (("CuPy", failing), ("Numba", HostDevice)))
    assert accelerator.use(3).name == "host memory 3"
    assert accelerator.current().name == "host memory 3"
    monkeypatch.setattr(accelerator, "_PACKAGES", (("CuPy", failing),))
    with pytest.raises(
        MPIEnvironmentError, match=r"no accelerator can be used \(CuPy: library cannot be found\): start"
    ):
        accelerator.use(0)


def test_a_device_by_cupy_copies_on_its_stream_and_waits(monkeypatch):
    """CuPy as far as it is used; nothing else can be done without a GPU."""
    steps = []
    stream = SimpleNamespace(synchronize=lambda: steps.append("wait"))

    class Array:
        def get(self, stream, out):
            steps.append(("get", stream, out.size))

        def set(self, host, stream):
            steps.append(("set", stream, host.size))

    runtime = SimpleNamespace(
        getDeviceCount=lambda: 2,
        getDeviceProperties=lambda number: {"name": f"GPU {number}".encode()},
        deviceSynchronize=lambda: steps.append("wait for all"),
    )
    cuda = SimpleNamespace(
        runtime=runtime,
        Device=lambda number: SimpleNamespace(use=lambda: steps.append(("use", number))),
        Stream=lambda **_: stream,
        alloc_pinned_memory=bytearray,
    )
    package = SimpleNamespace(cuda=cuda, zeros=lambda *_: Array(), __version__="13")
    monkeypatch.setitem(sys.modules, "cupy", package)
    device = accelerator.use(3)
    assert device.name == "GPU 1 by CuPy 13"
    host, array = device.pinned_array(5), device.device_array(5)
    host[:] = 1  # it can be written
    device.copy_out(array, host)
    device.copy_in(host, array)
    assert steps == [("use", 1), "wait for all", ("get", stream, 5), "wait", ("set", stream, 5), "wait"]
    runtime.getDeviceCount = lambda: 0
    monkeypatch.setattr(accelerator, "_PACKAGES", accelerator._PACKAGES[:1])
    with pytest.raises(MPIEnvironmentError, match=r"\(CuPy: no device\)"):
        accelerator.use(0)


def test_messages_by_each_way_and_the_copies_that_they_need_are_planned():
    planned = plan()
    messages = [row for row in planned if isinstance(row, DeviceMessage)]
    assert {(row.message_size, row.way, row.pairs) for row in messages} == {
        (size, way, 1) for size in (8, 1024) for way in ("direct", "pinned", "staged")
    }
    copies = {(row.operation, row.memory) for row in planned if isinstance(row, DeviceCopy)}
    assert copies == {(operation, memory) for operation in ("copy-out", "copy-in") for memory in ("pinned", "pageable")}
    assert buffer_bytes(planned) == (1024, 1024)
    assert {type(row) for row in plan("--ways", "direct")} == {DeviceMessage}
    assert buffer_bytes(plan("--ways", "direct"))[0] == 1024  # what the look ahead sends
    two = [row for row in plan("--ways", "staged", "--pairs", "2") if isinstance(row, DeviceMessage)]
    assert [sorted(participants(row, PLACEMENT)) for row in two] == [[0, 1, 2, 3]] * 2
    assert participants(DeviceCopy(8, "copy-in", "pinned"), PLACEMENT) == [0]


def test_collectives_of_the_first_ranks_are_planned_by_each_way():
    planned = plan("--device-collectives", "alltoall,bcast", "--ways", "direct,staged", procs=(2, 4))
    rows = [row for row in planned if isinstance(row, DeviceCollective)]
    assert {(row.operation, row.way, row.processes) for row in rows} == {
        (operation, way, count)
        for operation in ("alltoall", "bcast")
        for way in ("direct", "staged")
        for count in (2, 4)
    }
    assert {row.message_size for row in rows} == {8, 1024}
    assert buffer_bytes(planned) == (4096, 4096)
    assert participants(DeviceCollective("bcast", 8, 4, "direct"), PLACEMENT) == [0, 1, 2, 3]
    assert configuration_words(DeviceCollective("bcast", 8, 4, "direct")).startswith("device-collective bcast, 8 B")
    with pytest.raises(InputError, match="--device-collectives: unknown collective 'scan'"):
        parse(["device", "--device-collectives", "scan"])


def test_without_a_library_that_takes_device_memory_direct_is_left_out_in_words():
    reason = "MPICH 5.0.2 cannot send device memory (the probe ended by signal 11)"
    assert not any(row.way == "direct" for row in plan(without_direct=reason) if isinstance(row, DeviceMessage))
    options = msgspec.structs.replace(parse(["device"]).options, without_direct=reason)
    assert left_out(options) == [f"device: direct is left out: {reason}; staged ways are measured"]
    assert left_out(parse(["device", "--ways", "pickle"]).options) == [
        "device: left out, as --ways has none of direct, pinned, staged"
    ]


def test_records_are_shown_by_their_columns():
    assert configuration_words(DeviceMessage(1024, "pinned", "same-node", 2)) == (
        "device, 1 KiB, pinned, same-node, k = 2"
    )
    assert configuration_words(DeviceCopy(8, "copy-in", "pageable")) == "device-copy copy-in, 8 B, pageable"


@pytest.mark.mpi
def test_a_run_with_the_simulator_of_numba_measures_each_way(tmp_path):
    output = tmp_path / "results.jsonl"
    words = ("device", "--sizes", "64", "--repetitions", "5", "--visits", "1", "-o", output)
    done = launch(2, "env", "NUMBA_ENABLE_CUDASIM=1", *BENCHMARK, *words)
    assert done.returncode == 0, done.stderr
    measurements = load(output)
    ways = {record.configuration.way for record in measurements.records if hasattr(record.configuration, "way")}
    assert ways == {"direct", "pinned", "staged"}  # the simulator's memory is the host's
    assert len([*measurements.records]) == 3 + 4 + 4 * 3
    assert measurements.launches[0].header.options.accelerator.startswith("CUDA simulator by Numba ")
    assert all(min(record.samples) > 0 for record in measurements.records)


@pytest.mark.mpi
def test_without_a_device_the_run_ends_with_a_line(tmp_path):
    hidden = ("env", "CUDA_VISIBLE_DEVICES=-1", "HIP_VISIBLE_DEVICES=-1")
    done = launch(2, *hidden, *BENCHMARK, "device", "-o", tmp_path / "results.jsonl")
    assert done.returncode == 3
    assert "commmodel.bench: no accelerator can be used (CuPy: " in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "results.jsonl").exists()
