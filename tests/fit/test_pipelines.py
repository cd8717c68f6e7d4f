"""Streams and trains whose bytes move while processors work on other messages: fits and predictions."""

import numpy as np
import pytest
from support.fit_samples import measurements

from commmodel import predict
from commmodel.fit import FitSettings, fit_machine
from commmodel.fit.loggp import collect_trains, fit_loggp_model
from commmodel.machine import Machine, Segment, dump, load
from commmodel.models import maxrate
from commmodel.predict.costs import message_costs
from commmodel.results import Record
from commmodel.results.configurations import Stream, Train

ALPHA, R_N, R_C = 0.44e-6, 10e9, 4e9
SIZES, PAIRS = tuple(2**power for power in range(15)), (1, 2, 4, 8, 16)
QUICK = FitSettings(samples=50)
L, o, g, G, G_gap = 2e-6, 0.6e-6, 0.9e-6, 2e-9, 0.5e-9
MESSAGES = 16


def streams(overlap, noise=0.0):
    random = np.random.default_rng(1)
    records = []
    for size in SIZES:
        for pairs in PAIRS:
            seconds = maxrate.pipeline_time(size, pairs, ALPHA, R_N, R_C, overlap)
            samples = seconds * np.exp(noise * random.standard_normal(9))
            records.append(Record(Stream(size, pairs, "between-nodes", 64), "s", tuple(samples.tolist())))
    return fit_machine(measurements(*records), limits=(), settings=QUICK)


def trains(gap):
    """Return LogGP of trains whose messages follow each other by a gap, a function of the bytes after the first."""
    records = []
    for size in SIZES:
        lone = 2 * L + 4 * o + (size - 1) * G
        kinds = (1, False, lone), (MESSAGES, False, lone + (MESSAGES - 1) * gap(size - 1)), (
            MESSAGES, True, lone + (MESSAGES - 1) * (o + lone),
        )  # fmt: skip
        for messages, waits, seconds in kinds:
            train = Train(size, messages, "between-nodes", waits, "blocking")
            records.append(Record(train, "s", (seconds,) * 9, delay=lone if waits else None))
    return fit_loggp_model(collect_trains(measurements(*records), "blocking")["between-nodes"], QUICK)


@pytest.mark.parametrize("overlap", [0.25e-6, ALPHA])
def test_streams_whose_bytes_move_during_overheads_give_the_node_s_rate(overlap, tmp_path):
    machine = streams(overlap, noise=0.002)
    (segment,) = machine.segments
    model = segment.one_way
    fitted = {name: getattr(model, name).value for name in ("alpha", "R_C", "R_N", "overlap")}
    assert fitted == pytest.approx({"alpha": ALPHA, "R_C": R_C, "R_N": R_N, "overlap": overlap}, rel=0.01)
    assert model.quality.trusted
    for size, pairs in ((8, 16), (256, 16), (2048, 2), (16384, 4)):
        true = maxrate.pipeline_time(size, pairs, ALPHA, R_N, R_C, overlap)
        predicted = predict.send(machine, size, processes=pairs, model="one-way").time.seconds
        assert predicted == pytest.approx(true, rel=0.01)
    dump(machine, tmp_path / "machine.toml")
    assert load(tmp_path / "machine.toml").segments == machine.segments


def test_streams_whose_bytes_come_on_top_have_no_overlap():
    (segment,) = streams(0.0, noise=0.002).segments
    assert segment.one_way.overlap.value == 0
    assert segment.one_way.R_N.value == pytest.approx(R_N, rel=0.01)


def test_trains_whose_bytes_move_during_the_gap_give_it_and_predictions_take_the_longer_one():
    model = trains(lambda further: max(g, further * G_gap))
    fitted = {name: getattr(model, name).value for name in ("L", "o", "g", "G", "G_gap", "overlap")}
    assert fitted == pytest.approx({"L": L, "o": o, "g": g, "G": G, "G_gap": G_gap, "overlap": g}, rel=1e-3)
    costs = message_costs(Machine("m", (Segment("all", loggp=model),)), "loggp")(np.array([101, 10001]))
    assert costs.gap == pytest.approx([g, 1e4 * G_gap], rel=1e-3)
    assert trains(lambda further: g + further * G_gap).overlap.value == 0
