"""The kernels datatype and object: what is planned, and a short run of both."""

import sys

import numpy as np
import pytest
from support.launching import launch

from commmodel.bench.kernels import buffer_bytes, left_out
from commmodel.bench.kernels.datatype import Layout, irregular_places, numpy_copies
from commmodel.bench.options import parse
from commmodel.bench.placement import place
from commmodel.bench.plan import make_plan
from commmodel.errors import InputError
from commmodel.results import columns, configuration_words, describe, load
from commmodel.results.configurations import Datatype, PythonObject

PLACEMENT = place([0] * 2, [0] * 2)


def plan(*words):
    return make_plan(parse([*words, "--seed", "1"]).options, PLACEMENT)


def test_each_total_is_planned_in_the_pieces_that_make_it():
    words = ["--totals", "1KiB", "--blocks", "8,300,512,1KiB", "--layouts", "vector,struct", "--strides", "100,128"]
    planned = plan("datatype", *words)
    blocks = {layout: {row.block for row in planned if row.layout == layout} for layout in ("vector", "struct")}
    assert blocks == {"vector": {8, 512, 1024}, "struct": {8, 512}}  # records have two members
    assert {row.way for row in planned} == {"contiguous", "type", "pack", "numpy", "core"}
    assert sum(row.way == "contiguous" for row in planned) == 2
    assert {row.stride for row in planned if row.block == 8} == {16, 104, 128}
    assert buffer_bytes(planned) == (128 * 128 + 1024,) * 2


def test_pieces_far_apart_are_planned_as_far_as_they_fit():
    column = [row for row in plan("datatype", "--totals", "16KiB,1MiB", "--blocks", "8") if row.way == "type"]
    assert {(row.message_size >> 10, row.stride) for row in column} == {(16, 16), (16, 4160), (1024, 16)}


def test_the_default_plan_is_short_and_has_a_column_and_a_dictionary():
    planned = plan("datatype", "object")
    assert Datatype(1 << 20, "vector", 8, "type", "same-socket", 16) in plan("datatype", "--totals", "1MiB")
    assert {row.kind for row in planned if isinstance(row, PythonObject)} == {"array", "bytes", "str", "list", "dict"}
    assert len(planned) < 600


def test_a_way_that_a_kernel_does_not_know_is_left_out_in_words():
    options = parse(["datatype", "object", "--ways", "pickle"]).options
    assert left_out(options) == ["datatype: left out, as --ways has none of contiguous, type, pack, numpy, core"]
    assert {type(row) for row in make_plan(options, PLACEMENT)} == {PythonObject}


@pytest.mark.parametrize(("words", "problem"), [
    (["--blocks", "0"], "--blocks: a piece of 0 B holds no data"),
    (["--strides", "0"], "--strides: pieces that begin 0 B apart lie on each other"),
    (["--totals", "4GiB"], "--totals: 4294967296 B: data in pieces are from 1 B to 2147483647 B"),
    (["--ways", "mail"], "--ways: unknown way 'mail'"),
    (["--layouts", "column"], "--layouts: unknown layout 'column'"),
])  # fmt: skip
def test_wrong_options_are_named(words, problem):
    with pytest.raises(InputError, match=problem):
        parse(["datatype", *words])


@pytest.mark.parametrize("block", [8, 12, 7, 256])
@pytest.mark.parametrize("kind", ["vector", "subarray", "indexed", "struct"])
def test_numpy_gathers_the_pieces_and_scatters_them(kind, block):
    pieces, stride = 6, 3 * block
    places = irregular_places(pieces, block, stride) if kind == "indexed" else None
    layout = Layout(block, pieces, stride, pieces * stride, places, None)
    buffer = np.random.default_rng(1).integers(0, 256, layout.extent + block * pieces, np.uint8)
    begins = np.arange(pieces) * stride if places is None else places
    indices = (begins[:, None] + np.arange(block)).ravel()
    gather, scatter = numpy_copies(layout, kind, buffer)
    gather()
    assert (buffer[layout.extent :] == buffer[indices]).all()
    before = buffer.copy()
    buffer[layout.extent :] += 1
    before[indices] += 1
    scatter()
    assert (buffer[: layout.extent] == before[: layout.extent]).all()


def test_records_are_shown_by_their_columns():
    column = Datatype(1024, "vector", 8, "type", "same-node", 16)
    assert configuration_words(column) == "datatype, 1 KiB, vector, block = 8, type, same-node, stride = 16"
    assert columns(column)["block"] == "8 B"
    assert describe(column)[2] == {
        "n": 1024.0, "block": 8.0, "stride": 16.0, "layout": "vector", "path": "same-node", "way": "type",
    }  # fmt: skip
    assert [PythonObject(1024, kind, "pickle", "any").items for kind in ("array", "list", "dict")] == [128, 113, 44]


@pytest.mark.mpi
def test_a_run_measures_pieces_and_objects(tmp_path):
    output = tmp_path / "results.jsonl"
    pieces = ("--totals", "1KiB", "--blocks", "64", "--layouts", "indexed", "--kinds", "dict")
    words = ("datatype", "object", *pieces, "--repetitions", "5", "--visits", "1", "-o", output)
    done = launch(2, sys.executable, "-m", "commmodel.bench", *words)
    assert done.returncode == 0, done.stderr
    records = load(output).records
    assert {(record.configuration.way, record.configuration.message_size) for record in records} == {
        (way, 1024) for way in ("contiguous", "type", "pack", "numpy", "core", "pickle", "pickle5", "buffer")
    }
    assert all(min(record.samples) > 0 for record in records)
