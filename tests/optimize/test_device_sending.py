"""How to send an array in device memory: what is recognised, the choice, and its lines executed as far as can be."""

import os
import subprocess
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from commmodel.errors import InputError, MissingParameterError
from commmodel.machine import CallCost, Machine, Parameter, Postal, Segment
from commmodel.optimize import how_to_send
from commmodel.optimize.device_sending import device_data, is_on_device

PATH = "between-nodes"
HOST = Segment("all", PATH, postal=Postal(Parameter(2e-6, "s", 1.9e-6, 2.1e-6), Parameter(1e-10)))
SIZES = (8, 1 << 24)
DIRECT = CallCost("device", "direct", Parameter(6e-6), PATH, beta=Parameter(4e-10), sizes=SIZES)
COPIES = tuple(
    CallCost("device-copy", name, Parameter(seconds), conditions={"memory": memory}, beta=Parameter(2e-11), sizes=SIZES)
    for name in ("copy-out", "copy-in")
    for memory, seconds in (("pinned", 12e-6), ("pageable", 20e-6))
)
MACHINE = Machine("m", (HOST,), confidence=0.95, calls=(DIRECT, *COPIES))


class OnDevice:
    """An array of another package; its memory is the host's."""

    def __init__(self, array, **changes):
        shown = {"shape": array.shape, "typestr": array.dtype.str, "strides": array.strides, "data": (1, False)}
        self.__cuda_array_interface__ = shown | changes
        self.array = array


@pytest.mark.parametrize(
    ("array", "is_whole", "message_size"),
    [
        (np.zeros((10, 64)), True, 5120), (np.zeros((10, 64))[:, 0], False, 80), (np.zeros((10, 64)).T, False, 5120),
        (np.zeros((1, 8))[:, ::1], True, 64), (np.zeros(9)[::-1], False, 72), (np.array(1.0, np.float16), True, 2),
    ],
)  # fmt: skip
def test_how_an_array_lies_is_seen_from_its_interface(array, is_whole, message_size):
    data = device_data(OnDevice(array))
    assert (data.is_whole, data.message_size, data.package) == (is_whole, message_size, "cupy")
    assert ("not in one piece" in data.content) != is_whole
    assert device_data(OnDevice(np.zeros(4), strides=None)).is_whole


def test_the_faster_way_is_advised_with_its_gain_over_giving_the_array_to_mpi():
    small, large = (how_to_send(OnDevice(np.zeros(count)), MACHINE) for count in (128, 1 << 20))
    assert (small.best, small.usual, small.gain, small.certainty) == ("direct", "direct", 1.0, 1.0)
    assert [row.way for row in large.ways] == ["pinned", "staged", "direct"]
    assert (large.best, large.usual) == ("pinned", "direct")
    size = 8 << 20
    assert large.gain == pytest.approx((6e-6 + size * 4e-10) / (26e-6 + size * 1.4e-10))
    assert large.certainty > 0.95
    assert large.path == PATH
    assert "cupyx.empty_pinned" in large.sender
    assert large.remarks == ()
    assert "copy into one piece" in how_to_send(OnDevice(np.zeros((9, 9))[:, 1]), MACHINE).remarks[0]


def test_where_direct_was_not_measured_staged_is_usual_and_it_is_said():
    advice = how_to_send(OnDevice(np.zeros(1 << 20)), Machine("m", (HOST,), confidence=0.95, calls=COPIES))
    assert (advice.best, advice.usual) == ("pinned", "staged")
    assert "direct was not measured" in advice.remarks[0]
    with pytest.raises(MissingParameterError, match=r"commmodel\.bench pingpong device"):
        how_to_send(OnDevice(np.zeros(8)), Machine("m", (HOST,)))


class Recorded:
    """A tensor of torch that derivatives need."""

    @property
    def __cuda_array_interface__(self):
        raise RuntimeError("Can't get it on a tensor that requires grad.\nUse detach().")


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (OnDevice(np.zeros(0)), "data is OnDevice without elements: nothing is sent"),
        (OnDevice(np.zeros(3), shape=None), "its __cuda_array_interface__ cannot be read (TypeError"),
        (OnDevice(np.zeros(3), typestr="<q9"), "its __cuda_array_interface__ cannot be read"),
        (SimpleNamespace(__cuda_array_interface__={"shape": (3,)}), "cannot be read (KeyError: 'typestr')"),
        (SimpleNamespace(__cuda_array_interface__=3), "cannot be read (TypeError"),
        (OnDevice(np.zeros(3), mask=np.ones(3)), "it is masked: send its data and its mask"),
        (Recorded(), "does not show its device memory (Can't get it on a tensor that requires grad)"),
    ],
)
def test_what_does_not_say_how_it_lies_is_refused_in_a_line(data, problem):
    with pytest.raises(InputError) as error:
        how_to_send(data, MACHINE)
    assert problem in str(error.value)
    assert "\n" not in str(error.value)


def test_what_lies_in_the_memory_of_the_host_is_none_of_it():
    assert not is_on_device(np.zeros(3))
    assert not is_on_device({"a": 1})
    assert not is_on_device(OnDevice)


class FakeCupyArray(np.ndarray):
    """CuPy's array as far as the lines use it."""

    def get(self, out):
        assert out.flags.c_contiguous
        out[...] = np.asarray(self)

    def set(self, host):
        assert self.flags.c_contiguous
        self[...] = host


def fake_cupy(steps):
    cupy, cupyx = ModuleType("cupy"), ModuleType("cupyx")
    cupy.empty = lambda shape, dtype: np.empty(shape, dtype).view(FakeCupyArray)
    cupy.asarray = lambda data: data.array.view(FakeCupyArray)
    stream = SimpleNamespace(synchronize=lambda: steps.append("wait"))
    cupy.cuda = SimpleNamespace(get_current_stream=lambda: stream)
    cupyx.empty_pinned = np.empty
    return {"cupy": cupy, "cupyx": cupyx}


class FakeTensor:
    """A tensor of torch as far as the lines use it."""

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype
        self.__cuda_array_interface__ = OnDevice(array).__cuda_array_interface__

    __module__ = "torch"

    def copy_(self, other):
        self.array[...] = other.array

    def numpy(self):
        return self.array


def fake_torch(steps):
    torch = ModuleType("torch")
    torch.empty = lambda shape, dtype, **_: FakeTensor(np.empty(shape, dtype))
    torch.contiguous_format = "contiguous"
    torch.empty_like = lambda tensor, **_: FakeTensor(np.empty(tensor.shape, tensor.dtype))
    stream = SimpleNamespace(synchronize=lambda: steps.append("wait"))
    torch.cuda = SimpleNamespace(current_stream=lambda: stream)
    return {"torch": torch}


class Wire:
    """A communicator that keeps the bytes of the last message."""

    def Send(self, message, _peer, _tag):  # noqa: N802
        buffer = getattr(message[0], "array", message[0])
        assert buffer.flags.c_contiguous
        self.content = buffer.tobytes()

    def Recv(self, message, _peer, _tag):  # noqa: N802
        buffer = np.asarray(getattr(message[0], "array", message[0]))
        assert buffer.flags.c_contiguous
        buffer[...] = np.frombuffer(self.content, buffer.dtype).reshape(buffer.shape)


@pytest.mark.parametrize("way", ["direct", "pinned", "staged"])
@pytest.mark.parametrize("kind", [OnDevice, FakeTensor])
@pytest.mark.parametrize("part", [np.s_[:], np.s_[:, 1], np.s_[::-2, ::2]])
def test_lines_bring_an_array_however_it_lies(way, kind, part, monkeypatch):
    steps = []
    for name, module in (fake_cupy(steps) | fake_torch(steps)).items():
        monkeypatch.setitem(sys.modules, name, module)
    matrix, room = np.arange(24.0).reshape(4, 6), np.zeros((4, 6))
    sent, received = kind(matrix[part]), kind(room[part])
    code = device_data(sent).code(way)
    names = {"np": np, "MPI": SimpleNamespace(BYTE="byte"), "comm": Wire(), "peer": 1, "tag": 5}
    exec(code.sender, names | {"data": sent})  # noqa: S102  (it is what is tested)
    exec(code.receiver, names | {"data": received})  # noqa: S102
    np.testing.assert_array_equal(room[part], matrix[part])
    assert room.sum() == matrix[part].sum()  # nothing beside it was written
    assert steps == (["wait"] * 2 if way == "direct" else [])


PROGRAM = """
import numpy as np
from numba import cuda
from commmodel.optimize.device_sending import device_data, is_on_device

content = np.arange(24.0).reshape(4, 6)
for way in ("direct", "pinned", "staged"):
    data, room = cuda.to_device(content), cuda.to_device(np.zeros((4, 6)))
    assert is_on_device(data)
    described = device_data(data)
    assert (described.package, described.is_whole) == ("numba", True)
    code = described.code(way)
    names = {"np": np, "MPI": type("MPI", (), {"BYTE": "byte"}), "peer": 0, "tag": 5}
    sent = []

    class Self:
        def Send(self, message, peer, tag):
            sent.append(np.array(getattr(message[0], "_ary", message[0])))

        def Recv(self, message, peer, tag):
            getattr(message[0], "_ary", message[0])[...] = sent.pop()

    exec(code.sender, names | {"data": data, "comm": Self()})
    exec(code.receiver, names | {"data": room, "comm": Self()})
    np.testing.assert_array_equal(room.copy_to_host(), content)
column = device_data(cuda.to_device(content)[:, 0])
assert (column.package, column.is_whole) == ("cupy", False)
"""


def test_lines_of_numba_bring_an_array_on_its_simulator():
    words = [sys.executable, "-c", PROGRAM]
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "1"}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
