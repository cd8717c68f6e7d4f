"""Models of measured collectives: what they give back, and where they go beyond."""

import math

import numpy as np
import pytest
from support.fit_samples import measurements as measured

from commmodel import formats, predict
from commmodel.collectives import Nodes, Problem
from commmodel.collectives.busiest import Load, busiest, load_of
from commmodel.collectives.library import selection
from commmodel.collectives.spellings import schedule_named
from commmodel.errors import DamagedFileError, InputError, MissingParameterError
from commmodel.fit import fit_machine
from commmodel.machine import CollectiveTimes, dump, load
from commmodel.predict.measured_collectives import load_seconds
from commmodel.results import Measurements, Record
from commmodel.results.configurations import Collective, PingPong

LIBRARY = "Open MPI v5.0.7"
ALPHA, BETA = 2e-6, 1e-9
SHAPES = {
    ("allreduce", "ring"): lambda n, p: 2 * (p - 1) * (ALPHA + BETA * n / p),
    ("allreduce", "recursive-doubling"): lambda n, p: math.log2(p) * (ALPHA + BETA * n),
    ("bcast", "binomial"): lambda n, p: math.log2(p) * (ALPHA + BETA * n),
    ("allgather", "ring"): lambda n, p: (p - 1) * (ALPHA + BETA * n),
    ("allgather", "recursive-doubling"): lambda n, p: math.log2(p) * ALPHA + BETA * n * (p - 1),
    ("alltoall", "pairwise"): lambda n, p: (p - 1) * (ALPHA + BETA * n),
    ("reduce_scatter", "recursive-halving"): lambda n, p: math.log2(p) * ALPHA + BETA * n * (p - 1),
}
SIZES = (64, 1024, 16384, 262144, 4194304)


def measurements(operation, algorithm, time, processes, per_node=None):
    records = (
        Record(Collective(operation, n, p, algorithm=algorithm, per_node=per_node), "s", (time(n, p),))
        for p in processes
        for n in SIZES
    )
    return measured(*records, library=LIBRARY)


@pytest.mark.parametrize(("operation", "algorithm"), SHAPES)
@pytest.mark.parametrize("processes", [(8,), (4, 16)])
def test_a_message_of_two_parameters_is_given_back_at_other_numbers_of_processes(operation, algorithm, processes):
    time = SHAPES[operation, algorithm]
    machine = fit_machine(measurements(operation, algorithm, time, processes))
    for p in (16, 64, 256):
        for n in (1024, 100_000, 1 << 20):
            answer = predict.collective(machine, operation, n, p, algorithm=algorithm)
            assert answer.model == "measured"
            assert answer.time.seconds == pytest.approx(time(n, p), rel=0.05)
            assert answer.time.low < answer.time.seconds < answer.time.high


def test_contention_that_grows_with_the_processes_is_learned_from_two_numbers():
    def time(n, p):
        return SHAPES["bcast", "binomial"](n, p) * (p / 4) ** 0.3

    alone, pair = (
        fit_machine(measurements("bcast", "binomial", time, processes)).collectives[0] for processes in ((4,), (4, 64))
    )
    load_of_call = busiest("bcast", "binomial", Problem(256, 1 << 20))
    assert load_seconds(alone, load_of_call, 256) < 0.5 * time(1 << 20, 256)
    assert load_seconds(pair, load_of_call, 256) == pytest.approx(time(1 << 20, 256), rel=0.15)
    assert pair.growth_scatter < alone.growth_scatter


def test_intervals_widen_beyond_what_was_measured():
    machine = fit_machine(measurements("bcast", "binomial", SHAPES["bcast", "binomial"], (4, 8)))
    widths = [
        (time := predict.collective(machine, "bcast", 1024, p, algorithm="binomial").time).high / time.low
        for p in (4, 8, 32, 1024)
    ]
    assert widths[0] == pytest.approx(widths[1])
    assert widths[1] < widths[2] < widths[3]


def test_what_the_library_picks_changes_with_the_size_and_one_model_holds_for_all():
    openmpi = selection.load("openmpi")

    def time(n, p):
        picked = load_of("allreduce", "", p, n, 1, openmpi)
        return float(picked.counts @ (ALPHA + BETA * picked.sizes))

    assert len({selection.select(openmpi, "allreduce", n, 16).algorithm for n in SIZES}) > 1
    records = (Record(Collective("allreduce", n, 16, per_node=1), "s", (time(n, 16),)) for n in SIZES)
    machine = fit_machine(measured(*records, library=LIBRARY))
    answer = predict.collective(machine, "allreduce", Problem(16, 1024, nodes=Nodes(1)))
    assert (answer.model, answer.evaluation, answer.chosen_by) == ("measured", "measured", "Open MPI 5.0")
    for n, p in ((1024, 16), (1 << 20, 128)):
        answer = predict.collective(machine, "allreduce", n, p)
        assert answer.time.seconds == pytest.approx(time(n, p), rel=0.1)


def test_other_nodes_and_algorithms_are_not_answered_from_these_times():
    machine = fit_machine(measurements("bcast", "binomial", SHAPES["bcast", "binomial"], (8,), per_node=4))
    assert predict.collective(machine, "bcast", 8, 8, algorithm="binomial").per_node == 4
    for problem, algorithm in ((Problem(8, 8, nodes=Nodes(2)), "binomial"), (Problem(8, 8), "chain")):
        with pytest.raises(MissingParameterError, match="LogGP"):
            predict.collective(machine, "bcast", problem, algorithm=algorithm)


def test_times_within_a_node_say_nothing_of_several():
    machine = fit_machine(measurements("bcast", "binomial", SHAPES["bcast", "binomial"], (4, 8), per_node=8))
    assert predict.collective(machine, "bcast", 8, 8, algorithm="binomial").model == "measured"
    with pytest.raises(MissingParameterError, match="no times of bcast like this"):
        predict.collective(machine, "bcast", 8, 64, algorithm="binomial")


def test_runs_that_differ_say_how_much_a_prediction_can_hold():
    runs = [measurements("bcast", "binomial", lambda n, _, f=f: f * (ALPHA + BETA * n), (8,)) for f in (1.0, 1.6)]
    pair = Measurements(tuple(launch for run in runs for launch in run.launches))
    for measured_runs, factor in ((runs[0], 1.0), (pair, 1.6)):
        machine = fit_machine(measured_runs)
        remarks = " ".join(predict.collective(machine, "bcast", 1024, 8, algorithm="binomial").remarks)
        assert machine.collectives[0].between_runs == pytest.approx(factor)
        words = "differ 1.6 times in the median: no prediction of one run holds closer than 26 %"
        assert (words in remarks) == (factor > 1)


def test_what_was_not_measured_is_said():
    with pytest.raises(InputError, match="algorithms whose schedules are not known here"):
        fit_machine(measurements("bcast", "my_ring", SHAPES["bcast", "binomial"], (8,)))
    machine = fit_machine(measurements("allreduce", "ring_ompi", SHAPES["allreduce", "ring"], (8,)))
    with pytest.raises(MissingParameterError, match="no times of scan like this, only of allreduce, and no LogGP"):
        predict.collective(machine, "scan", 8, 8)
    with pytest.raises(InputError, match="allreduce by ring_ompi on 1000000 processes has too many messages"):
        predict.collective(machine, "allreduce", 8, 1_000_000, algorithm="ring_ompi")


def test_libraries_whose_choices_are_not_known_get_no_model_of_them():
    calls = [Record(Collective("bcast", n, 8), "s", (1e-6 * n,)) for n in SIZES]
    for library, count in (("Fujitsu MPI 4.0.1", 0), ("Open MPI v4.1.6", 1)):
        pingpongs = (Record(PingPong(n, "any"), "s", (1e-6 + 1e-9 * n,)) for n in SIZES)
        machine = fit_machine(measured(*calls, *pingpongs, library=library))
        assert len(machine.collectives) == count


def test_a_machine_file_keeps_them(tmp_path):
    machine = fit_machine(measurements("bcast", "binomial", SHAPES["bcast", "binomial"], (4, 8), per_node=2))
    dump(machine, tmp_path / "m.toml")
    assert load(tmp_path / "m.toml").collectives == machine.collectives


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("processes = [4, 8]", "processes = [8, 4]", "processes must ascend"),
        ("message_sizes = [64,", "message_sizes = [1024,", "sizes must ascend"),
        ("message_sizes = [64, ", "message_sizes = [", "numbers for 4 sizes"),
        ('operation = "bcast"', 'operation = "bcst"', "operation"),
    ],
)
def test_a_damaged_machine_file_is_one_line(tmp_path, old, new, problem):
    path = tmp_path / "m.toml"
    dump(fit_machine(measurements("bcast", "binomial", SHAPES["bcast", "binomial"], (4, 8))), path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(DamagedFileError, match=problem):
        load(path)


def test_the_time_of_an_empty_load_is_empty():
    times = CollectiveTimes("bcast", (4,), (8,), (1e-6,))
    empty = np.empty(0, np.int64)
    assert load_seconds(times, Load(empty, empty, empty), 8) == 0


@pytest.mark.parametrize(
    ("operation", "name", "schedule"),
    [
        ("allreduce", "ring", "ring"),
        ("allreduce", "default-ring", "ring"),
        ("allreduce", "rabenseifner_ompi", "reduce-scatter-allgather"),
        ("allreduce", "bine_lat_over", "recursive-doubling"),
        ("allgather", "bine_block_by_block_over", "ring"),
        ("allreduce", "default-trix3", ""),
        ("allreduce", "RING-B_CONT-UTOFU-0-6", ""),
    ],
)
def test_names_of_others_find_the_schedule(operation, name, schedule):
    assert schedule_named(operation, name) == schedule


PICO = """\
collective_type,array_dim,buffer_size,algo_name,median,nnodes,tasks_per_node,timestamp,test_id,mpi_lib,mpi_lib_version
ALLREDUCE,512,2048,recursive_doubling_ompi,12854.0,4x2,2,2025_03_26___19_49_06,0,OMPI,4.1.6
ALLGATHER,512,2048,default_ompi,9854.0,8,1,2025_03_26___19_49_06,1,OMPI,4.1.6
SCAN_ALL,512,2048,default_ompi,9854.0,8,1,2025_03_26___19_49_06,1,OMPI,4.1.6
"""


def test_tables_of_pico_are_read(tmp_path):
    path = tmp_path / "summary.csv"
    path.write_text(PICO)
    read = formats.load(path)
    assert [record.configuration for record in read.records] == [
        Collective("allreduce", 2048, 16, algorithm="recursive_doubling_ompi", per_node=2),
        Collective("allgather", 256, 8, per_node=1),
    ]
    assert [record.samples for record in read.records] == [(12854e-9,), (9854e-9,)]
    assert [launch.header.mpi.version for launch in read.launches] == ["Open MPI 4.1.6"] * 2
    assert "SCAN_ALL" in read.notes[0]
    path.write_text(PICO.replace("12854.0", "fast"))
    with pytest.raises(DamagedFileError, match="line 2: median"):
        formats.load(path)
