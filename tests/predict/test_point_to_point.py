"""Predictions: published values, the choice of the model, what an interval covers, the two verbs."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commmodel import machine, optimize, predict
from commmodel.cli import main
from commmodel.collectives import Problem
from commmodel.errors import InputError, MissingParameterError
from commmodel.machine import (
    Extended,
    LatencyAware,
    Limit,
    Machine,
    MaxRate,
    MeasuredPairs,
    Origin,
    Parameter,
    Postal,
    Segment,
)
from commmodel.models import maxrate, nodeaware

ALPHA, R_C, R_N = Parameter(2e-6, "s"), Parameter(3e9, "B/s"), Parameter(6e9, "B/s")
RICH = Segment(
    "all",
    postal=Postal(ALPHA, Parameter(4e-10, "s/B")),
    max_rate=MaxRate(ALPHA, R_C, R_N),
    extended=Extended(ALPHA, R_C, Parameter(1e9, "B/s"), R_N),
    latency_aware=LatencyAware(ALPHA, R_C, R_N),
)


def machine_of(segment):
    return Machine("m", (segment,))


def replaced(segment, **changes):
    fields = {name: getattr(segment, name) for name in segment.__struct_fields__}
    return machine_of(Segment(**(fields | changes)))


@pytest.mark.parametrize(("size", "seconds"), [(1 << 20, "3.0704e-03"), (1 << 16, "2.1065e-04")])
def test_blue_waters_takes_what_its_table_says(size, seconds):
    predicted = predict.send(machine.load("blue-waters"), size, processes=16)
    assert f"{predicted.time.seconds:.4e}" == seconds
    assert predicted.model == "extended"


def test_short_messages_of_blue_waters_follow_the_reduced_model():
    predicted = predict.send(machine.load("blue-waters"), 32, processes=16)
    assert predicted.protocol == "short"
    assert predicted.time.seconds == pytest.approx(4e-6 + 16 * 32 / 6.3e8)


def test_a_halo_exchange_is_a_message_for_each_neighbour_and_moves_as_much_together():
    loaded = machine.load("blue-waters")
    prediction, six = predict.send(loaded, 16384, processes=16), predict.halo(loaded, 16384, 6, processes=16)
    assert six.time.seconds == pytest.approx(6 * prediction.time.seconds)
    assert six.postal.seconds == pytest.approx(6 * prediction.postal.seconds)
    assert (six.ratio, six.aggregate_rate) == (
        pytest.approx(prediction.ratio),
        pytest.approx(prediction.aggregate_rate),
    )


GAMMA, DELTA = 8.4e-9, 9.9e-11
NODE_AWARE = [
    # Worked by hand from the published figures: n, k, E on each path, ℓ, µs.
    # 6 (2.27 + 8/1350) + 0.0084 6²
    (8, 16, {"between-nodes": 6}, None, 13.957955556),
    # 2 (6.95 + 4096/752) + 2 (0.532 + 4096/3220) + 0.0084 4²
    (4096, 4, {"between-nodes": 2, "same-socket": 2}, None, 28.536116398),
    # 4 (6.2 + 16 16384/6670) + 2 (2.46 + 16384/6190) + 0.0084 6² + 9.9e-5 1048576
    (16384, 16, {"between-nodes": 4, "same-node": 2}, 1 << 20, 296.332919617),
    # 26 (2.46 + 16384/6190) + 0.0084 26²
    (16384, 1, {"same-node": 26}, 0, 138.456493700),
    # 100 (0.828 + 500/475) + 0.0084 100²
    (500, 2, {"same-node": 100}, None, 272.063157895),
]


@pytest.mark.parametrize(("size", "processes", "neighbours", "link", "microseconds"), NODE_AWARE)
def test_a_halo_over_several_paths_takes_what_the_node_aware_model_says(
    size, processes, neighbours, link, microseconds
):
    loaded = machine.load("blue-waters-node-aware")
    predicted = predict.halo(loaded, size, neighbours, processes=processes, link_volume=link)
    assert predicted.time.seconds == pytest.approx(microseconds * 1e-6, rel=1e-9)
    messages, paths_time = sum(neighbours.values()), 0.0
    for path, count in neighbours.items():
        rates = loaded.max_rate(size, path)
        parameters = (rates.alpha.value, rates.R_N.value, rates.R_C.value)
        paths_time += nodeaware.path_time(count, count * size, processes, *parameters)
    assert predicted.time.seconds == pytest.approx(nodeaware.time(paths_time, messages, link or 0, GAMMA, DELTA))
    assert predicted.queue_search.seconds == pytest.approx(GAMMA * messages**2)
    assert (predicted.link_contention is None) == (link is None)
    assert predicted.models[predicted.model] == predicted.time
    assert predicted.path == " + ".join(neighbours)


def test_neighbours_as_a_number_are_all_on_one_path():
    loaded = machine.load("blue-waters-node-aware")
    assert predict.halo(loaded, 100, 6, processes=4) == predict.halo(loaded, 100, {"between-nodes": 6}, processes=4)
    assert predict.halo(loaded, 100, 6, processes=4, path="same-node") == predict.halo(
        loaded, 100, {"same-node": 6}, processes=4
    )


def test_neither_a_single_message_nor_the_ping_pong_has_the_terms_of_the_machine():
    loaded = machine.load("blue-waters-node-aware")
    prediction, many = predict.send(loaded, 100), predict.halo(loaded, 100, 10, link_volume=1000)
    assert (prediction.queue_search, prediction.link_contention) == (None, None)
    assert many.postal.seconds == pytest.approx(10 * prediction.time.seconds)
    assert many.time.seconds == pytest.approx(10 * prediction.time.seconds + 100 * GAMMA + 1000 * DELTA)


def test_intervals_of_queue_search_and_link_contention_are_in_the_time():
    search = Parameter(8e-9, "s", 6e-9, 9e-9)
    result = Machine("m", (RICH,), queue_search=search, link_contention=Parameter(1e-10, "s/B", 0.0, 3e-10))
    plain, time = predict.halo(machine_of(RICH), 1000, 10).time.seconds, predict.halo(result, 1000, 10).time
    assert (time.low, time.high) == (pytest.approx(plain + 6e-7), pytest.approx(plain + 9e-7))
    prediction = predict.halo(result, 1000, 10, link_volume=1000)
    assert (prediction.link_contention.low, prediction.link_contention.high) == (0, pytest.approx(3e-7))
    assert (prediction.time.low, prediction.time.high) == (pytest.approx(plain + 6e-7), pytest.approx(plain + 12e-7))
    exact = Machine("m", (RICH,), queue_search=Parameter(8e-9))
    assert predict.halo(exact, 1000, 10).time.low is None


def test_each_path_has_its_own_model():
    result = Machine("m", (Segment("all", "between-nodes", extended=RICH.extended, postal=RICH.postal),
                          Segment("eager", "same-node", postal=RICH.postal)))  # fmt: skip
    predicted = predict.halo(result, 1000, {"between-nodes": 2, "same-node": 3})
    assert predicted.model == "extended + postal"
    assert predicted.models.keys() == {"extended + postal", "postal"}
    assert (predicted.protocol, predicted.path) == ("all + eager", "between-nodes + same-node")
    assert predicted.models["postal"].seconds == pytest.approx(5 * 2.4e-6)
    assert predicted.time.seconds == pytest.approx(2 * (2e-6 + 1000 / 3e9) + 3 * 2.4e-6)


def test_the_ping_pong_is_off_by_equation_6_for_large_messages():
    predicted = predict.send(machine.load("blue-waters-node-aware"), 1e15, processes=16, path="between-nodes")
    assert 1 / predicted.ratio == pytest.approx(maxrate.postal_over_max_rate(16, 6.67e9, 3.09e9))


def test_the_recommended_model_is_used_else_the_richest_else_the_one_asked_for():
    assert predict.send(machine_of(RICH), 1000, processes=4).model == "extended"
    assert predict.send(replaced(RICH, recommended="latency-aware"), 1000, processes=4).model == "latency-aware"
    assert predict.send(replaced(RICH, recommended="postal"), 1000, processes=4).model == "postal"
    assert predict.send(replaced(RICH, extended=None), 1000, processes=4).model == "max-rate"
    assert predict.send(machine_of(RICH), 1000, processes=4, model="max-rate").model == "max-rate"
    assert predict.send(machine_of(RICH), 1000, processes=4).models.keys() == {
        "extended",
        "max-rate",
        "latency-aware",
        "postal",
    }


def test_a_ping_pong_says_nothing_about_several_processes():
    lone = replaced(RICH, max_rate=MaxRate(ALPHA, R_C), extended=None, latency_aware=None, recommended="postal")
    assert predict.send(lone, 1000).model == "postal"
    with pytest.raises(MissingParameterError, match="bench pairs"):
        predict.send(lone, 1000, processes=2)
    assert predict.send(lone, 1000, processes=2, model="postal").time == predict.send(lone, 1000).time
    with pytest.raises(MissingParameterError, match="max-rate model or a parameter of it is missing"):
        predict.send(lone, 1000, processes=2, model="max-rate")


def test_max_rate_without_a_node_rate_serves_one_process():
    lone = machine_of(Segment("all", max_rate=MaxRate(ALPHA, R_C)))
    assert predict.send(lone, 3000).time.seconds == pytest.approx(3e-6)
    with pytest.raises(MissingParameterError, match="R_N is missing"):
        predict.send(lone, 3000, processes=2)


def test_a_segment_without_models_names_the_kernel():
    with pytest.raises(MissingParameterError, match="bench pingpong pairs"):
        predict.send(machine_of(Segment("all")), 8)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: predict.send(machine_of(RICH), 8, processes=0), "processes is 0"),
        (lambda: predict.halo(machine_of(RICH), 8, 0), "neighbours is 0"),
        (lambda: predict.halo(machine_of(RICH), 8, {}), "at least one"),
        (lambda: predict.halo(machine_of(RICH), 8, {"between-nodes": 0}), "neighbours between-nodes is 0"),
        (lambda: predict.halo(machine_of(RICH), 8, {"moon": 2}), "knows no path 'moon': choose one of any"),
        (lambda: predict.halo(machine_of(RICH), 8, {"any": 2}, path="any"), "name every path in neighbours"),
        (lambda: predict.send(machine_of(RICH), 8, path="moon"), "knows no path 'moon'"),
        (lambda: predict.halo(machine.load("blue-waters-node-aware"), 8, 2, link_volume=-1), "link_volume is -1"),
        (lambda: predict.halo(machine.load("blue-waters-node-aware"), 8, 2, link_volume=math.nan), "give a finite"),
        (lambda: predict.send(machine_of(RICH), -1), "message_size is -1"),
        (lambda: predict.send(machine_of(RICH), 8, model="hockney"), "model is 'hockney': choose one of extended"),
    ],
)
def test_what_cannot_be_is_refused(call, words):
    with pytest.raises(InputError, match=words):
        call()


def test_contention_on_a_link_needs_its_parameter():
    with pytest.raises(MissingParameterError, match="'Blue Waters' has no link_contention"):
        predict.halo(machine.load("blue-waters"), 8, 2, link_volume=1)


def test_without_intervals_there_is_none():
    assert predict.send(machine_of(RICH), 1000, processes=4).time.low is None


def test_no_time_and_no_bytes_have_a_rate_and_a_ratio():
    silent = machine_of(Segment("all", postal=Postal(Parameter(0.0), Parameter(1e-9))))
    predicted = predict.send(silent, 0)
    assert (predicted.time.seconds, math.isnan(predicted.ratio)) == (0, True)


def test_a_rate_that_may_be_zero_has_no_upper_end():
    rate = Parameter(1e9, "B/s", 0.0, 2e9)
    predicted = predict.send(machine_of(Segment("all", max_rate=MaxRate(ALPHA, rate, R_N))), 1000)
    assert predicted.time.high == math.inf


def test_a_node_that_shows_no_limit_may_limit_from_where_it_was_measured():
    unlimited = Parameter(math.inf, "B/s", 9e9, math.inf)
    time = predict.send(machine_of(Segment("all", max_rate=MaxRate(ALPHA, R_C, unlimited))), 9e6, processes=4).time
    assert (time.seconds, time.low) == (pytest.approx(3.002e-3), time.seconds)
    assert time.high == pytest.approx(4.002e-3)


SHARE = st.floats(0, 1)


@given(st.lists(SHARE, min_size=4, max_size=4), st.integers(1, 64), st.integers(0, 10**9))
def test_the_interval_holds_every_combination_of_parameters(shares, processes, size):
    ends = [("s", 1e-6, 3e-6), ("B/s", 4e9, 8e9), ("B/s", 1e9, 5e9), ("B/s", 0, 2e9)]
    alpha, node, first, further = (Parameter((low + high) / 2, unit, low, high) for unit, low, high in ends)
    result = machine_of(Segment("all", extended=Extended(alpha, first, further, node)))
    time = predict.send(result, size, processes=processes).time
    inside = [low + share * (high - low) for share, (_, low, high) in zip(shares, ends, strict=True)]
    assert time.low * (1 - 1e-12) <= maxrate.extended_time(size, processes, *inside) <= time.high * (1 + 1e-12)
    assert time.low <= time.seconds <= time.high


def test_the_extended_model_says_how_many_processes_fill_the_node_where_it_is_alone():
    loaded = machine.load("blue-waters")
    assert optimize.communicating_processes(loaded, 1 << 20) == 5
    assert optimize.communicating_processes(loaded, 8) == 1  # further processes add nothing
    with pytest.raises(MissingParameterError, match="does not limit"):
        optimize.communicating_processes(loaded, 1000)
    assert optimize.communicating_processes(machine_of(RICH), 1000) == 4  # of the model that predicts


def test_every_published_machine_names_its_source():
    assert all(machine.load(name).origin.source for name in machine.published())


@pytest.mark.parametrize("name", [name for name in machine.published() if not machine.load(name).overlap])
def test_every_published_machine_predicts_but_those_that_are_of_overlap_alone(name):
    loaded = machine.load(name)
    for segment in loaded.segments:
        size = segment.limit.value if segment.limit else 1 << 20
        model = "logp" if segment.loggp is not None and segment.loggp.G is None else None
        assert predict.send(loaded, size, path=segment.path, model=model).time.seconds > 0


def test_a_machine_is_a_file_or_a_published_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = Machine("mine", (Segment("all", limit=Limit(8)), Segment("rest")))
    machine.dump(result, "mine.toml")
    machine.dump(result, "without-suffix")
    assert machine.load("mine.toml") == machine.load(tmp_path / "without-suffix") == result
    with pytest.raises(InputError, match=r"neither a file nor a published machine.*blue-waters"):
        machine.load("red-waters")
    with pytest.raises(InputError, match="No such file"):
        machine.load("blue-waters.toml")


def test_predict_prints_a_table_and_what_it_means(capsys):
    assert main(["predict", "blue-waters", "send", "-n", "1MiB", "-k", "16"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "extended (used) 3.07 ms 9.9" in printed
    assert "ping-pong of one pair 311 us" in printed
    assert "9.9 times the one-pair ping-pong time. 5 processes saturate" in printed


def test_predict_as_json_has_the_promised_names(capsys):
    assert main(["predict", "blue-waters", "halo", "-n", "16KiB", "-k", "16", "--neighbours", "6", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["seconds"] == pytest.approx(6 * (2e-5 + 16 * 16384 / 5.5e9))
    assert (printed["low"], printed["high"]) == (None, None)
    assert (printed["model"], printed["algorithm"], printed["filling_processes"]) == ("extended", "halo", 5)
    assert printed["postal"]["seconds"] == pytest.approx(6 * (2e-5 + 16384 / 3.6e9))


def test_predict_prints_what_queue_search_and_link_contention_add(capsys):
    halo = ["predict", "blue-waters-node-aware", "halo", "-n", "16KiB", "-k", "16"]
    assert main([*halo, "--neighbours", "between-nodes=4, same-node=2", "--link-volume", "1MiB"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "max-rate (used) 296 us 5.3 of which queue search 302 ns 0.0 of which link contention 104 us 1.8" in printed
    assert "between-nodes + same-node" in printed
    assert "3 processes saturate the node's NIC." in printed
    assert "left out" not in printed
    assert main([*halo, "--neighbours", "6"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "of which queue search" in printed
    assert "Link contention is left out: say how much the busiest link carries with --link-volume." in printed
    assert "of which link contention" not in printed
    assert main(["predict", "blue-waters", "halo", "-n", "8", "--neighbours", "6"]) == 0
    printed = capsys.readouterr().out
    assert "of which" not in printed
    assert "left out" not in printed


def test_predict_as_json_has_the_terms_of_the_machine(tmp_path, capsys):
    result = Machine("m", (RICH,), queue_search=Parameter(8e-9, "s", 6e-9, 9e-9))
    machine.dump(result, tmp_path / "machine.toml")
    assert main(["predict", str(tmp_path / "machine.toml"), "halo", "-n", "8", "--neighbours", "any=10", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    search = [printed[f"queue_search_{end}"] for end in ("seconds", "low", "high")]
    assert search == pytest.approx([8e-7, 6e-7, 9e-7])
    assert [printed[f"link_contention_{end}"] for end in ("seconds", "low", "high")] == [None, None, None]
    assert main(["predict", str(tmp_path / "machine.toml"), "send", "-n", "8", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["queue_search_seconds"] is None


def test_predict_for_one_process_and_for_one_path(capsys):
    assert main(["predict", "blue-waters-node-aware", "send", "-n", "8", "--path", "same-socket", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["seconds"] == pytest.approx(4.42e-7 + 8 / 2.19e9)
    assert printed["path"] == "same-socket"
    assert main(["predict", "cray-xe6-pingpong", "send", "-n", "0"]) == 0
    assert "One process" in capsys.readouterr().out


def test_machines_lists_names_and_sources(capsys):
    assert main(["list", "machines"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in machine.published())
    assert main(["list", "machines", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["machines"]
    assert [entry["name"] for entry in listed] == list(machine.published())
    assert all(any(name in entry["source"] for name in ("EuroMPI", "March", "Iancu", "Bédaride")) for entry in listed)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["red-waters", "send", "-n", "8"], "'red-waters' is neither a file nor a published machine"),
        (["blue-waters", "bcast", "-n", "8"], "required: -p/--processes"),
        (["blue-waters", "send"], "required: -n/--size"),
        (["blue-waters", "halo", "-n", "8"], "required: --neighbours"),
        (["blue-waters", "send", "-n", "8", "--neighbours", "2"], "unrecognized arguments: --neighbours 2"),
        (["blue-waters", "halo", "-n", "8", "--neighbours", "0"], "--neighbours: '0' is no whole number from 1 up"),
        (["blue-waters", "halo", "-n", "8", "--neighbours", "9" * 5000], "is no whole number from 1 up"),
        (["blue-waters", "halo", "-n", "8", "--neighbours", "same-node=0"], "--neighbours: same-node: '0' is no whole"),
        (["blue-waters", "halo", "-n", "8", "--neighbours", "4,any=2"], "'4' is no path=number: write it like"),
        (["blue-waters", "halo", "-n", "8", "--neighbours", "any=4,any=2"], "--neighbours: path 'any' is named twice"),
        (["blue-waters", "halo", "-n", "8", "--neighbours", "moon=2"], "knows no path 'moon'"),
        (["blue-waters", "halo", "-n", "8", "--neighbours", "same-node=2"], "knows no path 'same-node'"),
        (["blue-waters", "halo", "-n", "8", "--neighbours", "2", "--link-volume", "8"], "has no link_contention"),
        (["blue-waters", "halo", "-n", "8", "--neighbours", "2", "--link-volume=-8"], "finite and not negative"),
        (["blue-waters", "send", "-n", "8", "--link-volume", "8"], "unrecognized arguments: --link-volume 8"),
        (["blue-waters", "send", "-n", "8", "-k", "0"], "-k: '0' is no whole number from 1 up"),
        (["blue-waters", "send", "-n", "8", "--path", "moon"], "knows no path 'moon'"),
        (["cray-xe6-pingpong", "send", "-n", "8", "-k", "2"], "measure it with python -m commmodel.bench pairs"),
    ],
)
def test_wrong_words_are_one_line_and_exit_code_2(arguments, words, capsys):
    assert main(["predict", *arguments]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert len(output.err.splitlines()) == 1
    assert words in output.err


def test_streams_alone_tell_how_many_processes_fill_the_node(tmp_path, capsys):
    """From a text file of osu_mbw_mr to a number of processes, in two commands."""
    lines = []
    for pairs in (1, 2, 3, 4, 6, 8):
        lines.append(f"# OSU MPI Multiple Bandwidth / Message Rate Test v7.4\n# [ pairs: {pairs} ] [ window size: 64 ]")
        lines.append("# Size                  MB/s        Messages/s")
        for size in (2**exponent for exponent in range(21)):
            rate = pairs * size / (2e-7 + pairs * size / min(25e9, pairs * 9e9))
            lines.append(f"{size:<10d}{rate / 1e6:20.2f}{rate / size:18.2f}")
    file, value = tmp_path / "osu_mbw_mr.txt", tmp_path / "machine.toml"
    file.write_text("\n".join(lines) + "\n")
    assert main(["fit", str(file), "-o", str(value)]) == 0
    capsys.readouterr()
    assert main(["predict", str(value), "send", "-n", "1MiB", "-k", "8", "--json"]) == 0
    predicted = json.loads(capsys.readouterr().out)
    assert predicted["model"] == "one-way"
    assert predicted["filling_processes"] == 3
    assert predicted["seconds"] == pytest.approx(2e-7 + 8 * 2**20 / 25e9, rel=0.02)


def test_a_name_in_place_of_a_machine_is_refused():
    for call in (
        lambda: predict.send("blue-waters", 8),
        lambda: predict.halo("blue-waters", 8, 2),
        lambda: predict.collective("blue-waters", "bcast", Problem(4, 8)),
    ):
        with pytest.raises(InputError, match=r"machine is 'blue-waters': give a Machine"):
            call()


def test_the_reach_of_streams_is_not_that_of_ping_pongs():
    """A file with ping-pongs of one pair and streams of many: the model of streams is not extrapolated."""
    streams = MaxRate(Parameter(1e-6), Parameter(5e9), Parameter(12e9))
    measured = (MeasuredPairs(1, (1, 1 << 20), {"postal": 0.01}),)
    postal = Postal(Parameter(3e-6), Parameter(1e-9))
    segment = Segment("all", postal=postal, one_way=streams, measured=measured)
    of_112 = Machine("m", (segment,), origin=Origin(processes=112))
    within, beyond = (predict.send(of_112, 4096, processes=processes) for processes in (56, 57))
    assert (within.model, within.extrapolates) == ("one-way", ())
    assert any("streams" in remark for remark in within.remarks)
    assert beyond.extrapolates == ("k = 57 is extrapolated: measured up to k = 56",)
    assert predict.send(of_112, 4096).remarks == ()


def test_streams_of_one_pair_alone_say_what_is_missing():
    lone = Machine("m", (Segment("all", one_way=MaxRate(Parameter(1e-7), Parameter(1e10))),))
    with pytest.raises(MissingParameterError, match=r"streams of one pair alone.*bench pingpong"):
        predict.send(lone, 8)
