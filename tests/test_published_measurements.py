"""Readers of what others measured, on small files in their formats, and rows that come out of them."""

import msgspec
import numpy as np
import pytest
from benchmarks.validation.published_measurements import (
    blue_waters,
    calibrated_clusters,
    gemini_lines,
    ping_pongs,
    rows,
    summit,
    trains,
)

from commmodel.machine import Limit, Machine, MaxRate, Parameter, Segment
from commmodel.simulate import Code


def segment_of(path, alpha, R_C, R_N=float("inf")):
    return Segment("all", path, max_rate=MaxRate(Parameter(alpha), Parameter(R_C), Parameter(R_N)))


@pytest.fixture
def machine():
    paths = (
        segment_of("between-nodes", 2e-6, 1e9, 4e9),
        segment_of("same-node", 1e-6, 2e9),
        segment_of("same-socket", 5e-7, 4e9),
    )
    return Machine("m", paths, queue_search=Parameter(1e-8), link_contention=Parameter(1e-10))


def two_protocols(machine):
    far, *within = machine.segments
    eager = Segment("eager", "between-nodes", Limit(8000), max_rate=far.max_rate)
    return msgspec.structs.replace(machine, segments=(eager, far, *within))


def test_ranks_of_a_load_test_take_part_from_their_own_step_on(tmp_path):
    half = 3
    assert calibrated_clusters.steps(0, half, "send") == [1, 2, 3]
    assert calibrated_clusters.steps(5, half, "send") == [3]
    assert calibrated_clusters.steps(1, 4, "sendrecv_diff") == [2, 4]
    assert calibrated_clusters.steps(3, half, "alltoall") == [2, 3]
    path = tmp_path / "load_alltoall.csv"
    calls = [(rank, step) for rank in range(4) for step in (1, 2) if rank < 2 * step]
    lines = [f"{rank},MPI_Alltoall,4000000,1.5,{rank + step}" for rank, step in calls for _ in range(3)]
    path.write_text("\n".join(lines))
    times = calibrated_clusters.load_times(path, 4, "alltoall")
    assert {step: seconds.shape for step, seconds in times.items()} == {1: (2, 3), 2: (4, 3)}
    assert times[2].max() == pytest.approx(5e-3)  # milliseconds in the file


@pytest.mark.parametrize("test", ["send", "sendrecv_same", "sendrecv_diff"])
def test_every_message_of_a_load_test_has_a_receiver(test):
    messages = calibrated_clusters.partners(test, 4, 6)
    sent = {(rank, to) for rank, to, _ in messages if to >= 0}
    received = {(sender, rank) for rank, _, sender in messages if sender >= 0}
    assert sent == received
    program = calibrated_clusters.exchange(test, 4, 12)
    codes = program.operations["code"]
    sends, receives = (Code.SEND, Code.ISEND), (Code.RECV, Code.IRECV)
    assert np.isin(codes, sends).sum() == np.isin(codes, receives).sum() == 10 * len(sent)


def test_trains_are_read_with_the_median_of_half_their_times(tmp_path):
    path = tmp_path / "train"
    path.write_text("Pingpong for\nmaster: 0\npartner: 1\n\nNum Msgs 2\nSizeMsgs 8\n4.00e-06\t2.00e-06\t8.00e-06\t\n")
    assert trains.trains(path) == [trains.Train(2, 32, 2e-6)]


def test_trains_on_a_line_share_its_middle(machine, tmp_path):
    job, size = "Num Msgs 1\nSizeMsgs {}\n{}\n", 1 << 16
    for short, long in gemini_lines.FILES.values():
        for name, processes in ((short, 128), (long, 256)):
            there_and_back = 2 * processes / 2 * 4 * size / 1e10
            text = job.format(size, f"{there_and_back:.2e}")
            (tmp_path / f"nodecomm_contention_{name}.bw.out").write_text(text)
    lines = list(gemini_lines.rows(tmp_path, two_protocols(machine)))
    assert len(lines) == 3
    assert lines[0].error("simulated") == pytest.approx(0, abs=0.01)
    assert lines[0].error("without links") < -0.5


def block(name, seconds, volume=1000):
    counts = "\n".join(
        f"{word} {protocol}{place}: {number}"
        for place in ("", " Node", " Socket")
        for word, number in (("Num", 1), ("Size", 100))
        for protocol in ("Short", "Eager", "Rend")
    )
    return f"{name}\nMax Num Msgs: 9\nTotal Bytes = {volume}\n{counts}\nByte Hops = 3000\nComm Time: {seconds}\n"


def test_exchanges_of_multigrid_keep_the_least_time_and_leave_out_those_in_three_steps(tmp_path, machine):
    path = tmp_path / "aniso_128.out"
    blocks = [
        *("Level 0\n", block("A Vector Communication", 2e-5), block("A Vector TAP Communication", 1e-5)),
        *("Level 0\n", block("A Vector Communication", 3e-5), "Level 1\n", block("A*x", 4e-5), block("P*e", 1, 0)),
    ]
    path.write_text("".join(blocks))
    first, second = blue_waters.exchanges(path)
    assert (first.name, first.seconds, first.messages, first.hops) == ("level 0, A Vector", 2e-5, 9, 3.0)
    assert (second.name, second.seconds) == ("level 1, A*x", 4e-5)
    times = blue_waters.sums(machine, first, 128)
    assert times["three paths"] == pytest.approx(
        3 * (2e-6 + 16 * 100 / 4e9) + 3 * (1e-6 + 100 / 2e9) + 3 * (5e-7 + 100 / 4e9)
    )
    assert times["+ queue search"] - times["three paths"] == pytest.approx(81e-8)
    assert times["+ link contention"] - times["+ queue search"] == pytest.approx(27 * 1000 / 4 * 1e-10)


def test_tables_of_sizes_and_of_pairs_are_read_below_their_title():
    text = "noise\nTiming\nSize 1\t1e-6\t2e-6\t\nSize 2\t3e-6\t4e-6\t\n\nSize 4\t9\t9\n"
    assert summit.sized_rows(text, "Timing") == {4: [1e-6, 2e-6], 8: [3e-6, 4e-6]}
    pairs = "Profiling:\nCPU 0 and CPU 3:\t1e-6\t2e-6\t\nCPU 1 and CPU 9:\t5e-6\t6e-6\nother\n"
    read = summit.named_rows(pairs, "Profiling:", r"CPU (\d+) and CPU (\d+)")
    assert {ends: times.tolist() for ends, times in read.items()} == {(0, 3): [1e-6, 2e-6], (1, 9): [5e-6, 6e-6]}


def test_an_alltoall_sends_to_the_socket_the_node_and_beyond(machine):
    steps = 2 * 5e-7 + 3 * 1e-6 + 6 * 2e-6
    volume = 2 * 100 / 4e9 + 3 * 100 / 2e9 + 6 * 6 * 100 / 4e9
    assert summit.alltoall_time(machine, 2, 100, 6) == pytest.approx(steps + volume)
    assert summit.in_place_time(machine, 2, 100, 6) == pytest.approx((steps + volume) * 21 / 11)  # 2 P - 3 for P - 1
    gaps = summit.message_gaps({4: [3e-6, 4e-6, 5e-6], 8: [5e-6, 8e-6, 11e-6]})
    assert summit.one_by_one_time(gaps, 4, 6) == pytest.approx(4e-6 + 2 * 2e-6)


def test_a_copy_beyond_the_largest_goes_on_at_its_rate():
    times = np.array([1e-6, 2e-6])
    assert summit.copy_time(times, 16) == pytest.approx(4e-6)
    assert summit.copy_time(times, 4) == pytest.approx(1e-6)


@pytest.mark.slow
def test_a_machine_is_fitted_to_tables_of_ping_pongs():
    sizes = [4 << i for i in range(14)]
    table = {n: np.array([2e-6 + k * n / min(k * 1e9, 3e9) for k in range(1, 9)]) for n in sizes}
    fitted = ping_pongs.fitted("m", {"between-nodes": table})
    rates = fitted.max_rate(1 << 14)
    assert rates.R_C.value == pytest.approx(1e9, rel=0.01)
    assert rates.R_N.value == pytest.approx(3e9, rel=0.01)


def test_the_summary_has_a_row_for_each_model():
    several = [
        rows.Row("m", "work", "a", 1.0, {"x": 1.1, "y": 0.5}),
        rows.Row("m", "work", "b", 2.0, {"x": 2.2, "y": 4.0}),
    ]
    table = rows.summary(several)
    assert [list(column.cells) for column in table.columns][3:5] == [["x", "y"], ["10.0%", "75.0%"]]
    assert rows.detail(several)[0].row_count == 2
