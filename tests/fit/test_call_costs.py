"""Costs of calls beside plain messages, on made times: what is fitted, stands in the machine and is predicted."""

import numpy as np
import pytest
from support.report_samples import header

from commmodel import fit, machine, predict
from commmodel.errors import DamagedFileError, InputError, MissingParameterError
from commmodel.fit.call_costs import fit_calls
from commmodel.machine import CallCost, Machine, Parameter, Segment
from commmodel.models import calls
from commmodel.results import Launch, Measurements, Record
from commmodel.results.configurations import Matching, OneSided, Persistent, StartUp, Threads

SIZES = [1 << power for power in range(21)]


def measured(times, noise=0.01):
    """Return measurements of (configuration, seconds), whose samples scatter."""
    random = np.random.default_rng(1)
    records = [
        Record(configuration, "s", tuple(seconds * np.exp(noise * random.standard_normal(51))))
        for configuration, seconds in times
    ]
    return Measurements((Launch(header(), tuple(records)),))


def puts(seconds, operation="put", **conditions):
    return [(OneSided(operation, size, "same-node", **conditions), seconds(size)) for size in SIZES]


def test_latency_and_byte_time_are_found_for_each_operation_and_condition():
    times = [
        *puts(lambda size: 1e-6 + size * 1.6e-10),
        *puts(lambda size: 1.9e-6 + size * 1.7e-10, "get"),
        *puts(lambda size: 4e-6 + size * 1.6e-10, synchronisation="fence"),
        (OneSided("fetch-and-op", 8, "same-node"), 2.4e-6),
    ]
    costs = {
        (cost.call, cost.conditions["synchronisation"]): cost for cost in fit_calls(measured(times), fit.FitSettings())
    }
    assert costs.keys() == {("put", "flush"), ("get", "flush"), ("put", "fence"), ("fetch-and-op", "flush")}
    for key, alpha, beta in ((("put", "flush"), 1e-6, 1.6e-10), (("get", "flush"), 1.9e-6, 1.7e-10)):
        cost = costs[key]
        assert cost.alpha.value == pytest.approx(alpha, rel=0.02)
        assert cost.beta.value == pytest.approx(beta, rel=0.02)
        assert cost.alpha.low < alpha < cost.alpha.high
        assert (cost.sizes, cost.times) == ((1, 1 << 20), None)
    single = costs["fetch-and-op", "flush"]
    assert single.beta is None
    assert single.alpha.low < 2.4e-6 < single.alpha.high


def test_what_a_line_does_not_describe_is_kept_as_measured_and_predicted_so():
    times = puts(lambda size: (1e-6 if size < 4096 else 20e-6) + size * 1.6e-10)
    machine = fit.fit_machine(measured(times), seed=1)
    (cost,) = machine.calls
    assert cost.times.sizes == tuple(SIZES)
    for size, seconds in ((64, 1.01e-6), (16384, 22.6e-6)):
        (prediction,) = predict.calls(machine, "one-sided", message_size=size)
        assert prediction.model == "measured"
        assert prediction.time.seconds == pytest.approx(seconds, rel=0.02)
        assert prediction.time.low < seconds < prediction.time.high


def test_a_machine_file_keeps_calls_and_refuses_what_contradicts_itself(tmp_path):
    fitted = fit.fit_machine(measured(puts(lambda size: 1e-6 + size * 1.6e-10)), seed=1)
    path = tmp_path / "machine.toml"
    machine.dump(fitted, path)
    assert machine.load(path).calls == fitted.calls
    text = path.read_text()
    for change, problem in (
        (("sizes = [1, 1048576]", "sizes = [9, 1]"), r"calls\[0\].sizes: the smallest comes first"),
        (('unit = "s/B"', 'unit = "s"'), r"calls\[0\].beta"),
    ):
        path.write_text(text.replace(*change))
        with pytest.raises(DamagedFileError, match=problem):
            machine.load(path)
    path.write_text(text + text[text.index("[[calls]]") :])
    with pytest.raises(DamagedFileError, match="a second cost of one-sided put"):
        machine.load(path)


def test_a_hand_written_machine_is_enough():
    put = CallCost("one-sided", "put", Parameter(1e-6), beta=Parameter(1.6e-10), sizes=(8, 1 << 20))
    get = CallCost("one-sided", "get", Parameter(1.9e-6), "same-node", sizes=(8, 8))
    hand_made = Machine("m", (Segment("all"),), calls=(put, get))
    assert [prediction.call for prediction in predict.calls(hand_made, "one-sided")] == ["put", "get"]
    (prediction,) = predict.calls(hand_made, "one-sided", call="put", message_size=2 << 20)
    assert prediction.time.seconds == calls.time(2 << 20, 0, 1e-6, 1.6e-10, 0, 0)
    assert prediction.extrapolates == ("put: 2 MiB is beyond what was measured, 8 B to 1 MiB",)
    with pytest.raises(MissingParameterError, match="no one-sided of call 'putt': did you mean put"):
        predict.calls(hand_made, "one-sided", call="putt")
    with pytest.raises(MissingParameterError, match="of path 'moon'"):
        predict.calls(hand_made, "one-sided", path="moon")
    with pytest.raises(InputError, match="one-sided has no number"):
        predict.calls(hand_made, "one-sided", number=2)
    with pytest.raises(MissingParameterError, match=r"commmodel\.bench one-sided"):
        predict.calls(Machine("m", (Segment("all"),)), "one-sided")


def test_an_entry_of_a_queue_costs_its_time_and_half_of_it_is_the_search_of_a_halo():
    times = [
        (Matching(queue, entries, 8, "same-node"), start + entries * step)
        for queue, start, step in (("posted", 1e-6, 8e-9), ("unexpected", 2e-7, 5e-9))
        for entries in (0, 16, 64, 256, 1024)
    ]
    fitted = fit.fit_machine(measured(times), seed=1)
    steps = {cost.call: cost.step.value for cost in fitted.calls}
    assert steps == {"posted": pytest.approx(8e-9, rel=0.05), "unexpected": pytest.approx(5e-9, rel=0.05)}
    assert fitted.queue_search.value == pytest.approx(4e-9, rel=0.05)
    posted, unexpected = predict.calls(fitted, "matching", number=100)
    assert posted.time.seconds == pytest.approx(1.8e-6, rel=0.05)
    assert unexpected.time.low < 0.7e-6 < unexpected.time.high
    assert predict.calls(fitted, "matching", number=5000)[0].extrapolates == (
        "posted: 5000 entries are beyond what was measured, 0 to 1024",
    )


def test_a_partition_costs_its_time():
    times = [
        (Persistent(size, "same-node", "partitioned", partitions), 2e-6 + size * 1e-10 + (partitions - 1) * 3e-7)
        for size in (1024, 4096, 65536)
        for partitions in (1, 4, 16)
    ]
    (cost,) = fit_calls(measured(times), fit.FitSettings())
    assert (cost.call, cost.numbers) == ("partitioned", (1, 16))
    assert cost.alpha.value == pytest.approx(2e-6, rel=0.05)
    assert cost.step.value == pytest.approx(3e-7, rel=0.05)


def test_threads_wait_for_each_other_and_their_rate_is_predicted():
    def law(threads):
        return 1e-6 * (1 + 0.6 * (threads - 1) + 0.05 * threads * (threads - 1))

    times = [(Threads(8, threads, "same-node"), law(threads)) for threads in (1, 2, 4, 8, 16)]
    fitted = fit.fit_machine(measured(times), seed=1)
    (cost,) = fitted.calls
    assert cost.step.value == pytest.approx(6e-7, rel=0.1)
    assert cost.crosstalk.value == pytest.approx(5e-8, rel=0.1)
    (eight,) = predict.calls(fitted, "threads", number=8)
    assert eight.rate == pytest.approx(8 / law(8), rel=0.03)
    assert predict.calls(fitted, "threads")[0].number == 1


def test_launches_on_several_numbers_of_ranks_tell_how_the_start_grows():
    times = [(StartUp("init", ranks), 0.02 + 0.001 * (ranks - 1)) for ranks in (2, 4, 8, 16, 32)]
    fitted = fit.fit_machine(measured(times), seed=1)
    assert [segment.path for segment in fitted.segments] == ["any"]
    (start,) = predict.calls(fitted, "start-up", number=64)
    assert start.time.seconds == pytest.approx(0.083, rel=0.05)
    assert start.extrapolates == ("init: 64 ranks are beyond what was measured, 2 to 32",)
