"""The fit of ways to send, on made times: parameters come back, disturbances do not, files are read again."""

import numpy as np
import pytest
from support.report_samples import header

from commmodel.errors import DamagedFileError
from commmodel.fit import fit_machine
from commmodel.fit.sending import falling, fit_sending
from commmodel.machine import dump, dumps, load
from commmodel.predict import pieces, python_object
from commmodel.results import Launch, Measurements, Record
from commmodel.results.configurations import Datatype, PythonObject

SIZES, BLOCKS = [1 << bits for bits in range(10, 24, 3)], [8, 64, 512]
PIECE_SECONDS = {"type": 20e-9, "numpy": 2e-9}


def message_time(size):
    return 1e-6 + size / 5e9


def piece_time(size, block, way):
    return message_time(size) + size / block * PIECE_SECONDS[way] + size * 1e-10


def record(configuration, seconds, random):
    return Record(configuration, "s", tuple(seconds * random.lognormal(0, 0.01, 60)))


def measured(seed=1, disturbed=None):
    random = np.random.default_rng(seed)
    records = [
        record(Datatype(size, "vector", 8, "contiguous", "same-node", 16), message_time(size), random) for size in SIZES
    ]
    for size in SIZES:
        for block in BLOCKS:
            for way in PIECE_SECONDS:
                seconds = piece_time(size, block, way) * (8 if (size, block, way) == disturbed else 1)
                records.append(record(Datatype(size, "vector", block, way, "same-node", 2 * block), seconds, random))
        records.append(record(PythonObject(size, "dict", "pickle", "same-node"), 20e-6 + size * 1e-8, random))
    return Measurements((Launch(header(), tuple(records)),))


def test_predictions_are_what_was_measured_and_what_lies_between():
    machine = fit_machine(measured())
    for way in PIECE_SECONDS:
        for size, block, tolerance in ((8192, 64, 0.03), (65536, 8, 0.03), (262144, 8, 0.1), (1 << 22, 128, 0.3)):
            time = pieces(machine, size, block, way=way)
            assert time.seconds == pytest.approx(piece_time(size, block, way), rel=tolerance)
            assert time.low < time.seconds < time.high
    assert pieces(machine, 1024, 8, way="contiguous").seconds == pytest.approx(message_time(1024), rel=0.02)
    assert python_object(machine, 8192, "dict").seconds == pytest.approx(20e-6 + 8192e-8, rel=0.02)
    assert machine.sending[0].path == "same-node"


def test_beyond_what_was_measured_each_piece_and_each_byte_costs_as_much():
    machine = fit_machine(measured())
    large = pieces(machine, 1 << 26, 8, way="type").seconds
    assert large == pytest.approx(piece_time(1 << 26, 8, "type"), rel=0.05)
    added = [pieces(machine, 1 << 20, block, way="type").seconds - message_time(1 << 20) for block in (4, 8)]
    assert added[0] == pytest.approx(2 * added[1], rel=0.1)


def test_pieces_further_apart_cost_what_was_measured_of_them_and_what_lies_between():
    near, random = measured(), np.random.default_rng(2)
    far = [
        record(Datatype(size, "vector", 8, way, "same-node", 4096), 3 * piece_time(size, 8, way), random)
        for size in SIZES
        for way in PIECE_SECONDS
    ]
    machine = fit_machine(Measurements((Launch(header(), (*near.launches[0].records, *far)),)))
    assert [(costs.way, costs.stride) for costs in machine.sending[0].pieces] == [
        (way, stride) for way in ("numpy", "type") for stride in (None, 4096)
    ]
    once = piece_time(8192, 8, "type")
    strides = (None, 16, 256, 4096, 1 << 20)
    times = [pieces(machine, 8192, 8, stride=stride).seconds / once for stride in strides]
    assert times == pytest.approx([1, 1, 2, 3, 3], rel=0.03)
    long = [pieces(machine, 8192, 4096, stride=stride).seconds for stride in (8192, 1 << 20)]
    assert long[0] == long[1]


def test_longer_pieces_never_cost_more_than_shorter_ones():
    costs = fit_sending(measured(disturbed=(65536, 512, "numpy")))[0].pieces
    for row in (row for table in costs for row in table.byte_time):
        assert [*row] == sorted(row, reverse=True)
    assert falling(np.array([1.0, 2.0, 3.0])).tolist() == [2.0, 2.0, 2.0]


def test_a_machine_with_ways_to_send_is_written_and_read(tmp_path):
    machine = fit_machine(measured())
    path = tmp_path / "machine.toml"
    dump(machine, path)
    assert load(path) == machine
    text = dumps(machine)
    for right, wrong, problem in (
        ("blocks = [8, 64, 512]", "blocks = [8, 64]", "sending[0].pieces[0].byte_time: expected 5 rows of 2 numbers"),
        ("blocks = [8, 64, 512]", "blocks = [8, 512, 64]", "blocks must ascend"),
        ('way = "numpy"', 'way = "type"', "vector by type is there twice"),
        ('way = "numpy"', 'way = "mail"', "way"),
    ):
        path.write_text(text.replace(right, wrong, 1))
        with pytest.raises(DamagedFileError) as error:
            load(path)
        assert problem in str(error.value)
