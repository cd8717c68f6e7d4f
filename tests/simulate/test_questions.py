"""One question, one call: the same as its steps."""

import copy
import pickle

import pytest
from matplotlib.figure import Figure
from support.paths import ROOT

from commmodel import machine, record, simulate
from commmodel.collectives import CollectiveSettings, Problem
from commmodel.errors import DeadlockError, InputError
from commmodel.simulate import DelayParameters, platform
from commmodel.simulate.scenario import Scale, place, prepare, workloads

RECORDING = ROOT / "tests/frozen/recording-1"


def test_a_call_is_what_its_steps_are():
    graphene = place("graphene")
    steps = prepare(graphene, workloads.collective(graphene, "bcast", Problem(16, 1 << 20), algorithm="binomial"))
    result = simulate.collective("bcast", 1 << 20, 16, on="graphene", algorithm="binomial")
    assert result.seconds == steps.run().seconds
    assert result.title == "Bcast of 1 MiB on 16 ranks: binomial"
    assert result.where == "graphene"
    assert (
        simulate.collective("bcast", Problem(16, 1 << 20), on=graphene, algorithm="binomial").seconds == result.seconds
    )
    halo = workloads.exchange(graphene, "halo", 4096, 64, dimensions=3)
    call = simulate.exchange("halo", 4096, 64, on="graphene", dimensions=3, mapping="round-robin")
    assert call.seconds == prepare(graphene, halo, mapping="round-robin").run().seconds
    kernel = prepare(graphene, workloads.application(graphene, "cg", "S", 4, iterations=1), "smpi").run()
    assert simulate.application("cg", "S", 4, on="graphene", iterations=1, model="smpi").seconds == kernel.seconds


def test_a_place_is_a_name_a_path_or_a_thing(tmp_path):
    switch = platform.load("switch")
    platform.dump(switch, tmp_path / "switch.toml")
    ranger, parameters = machine.load("ranger"), DelayParameters(L=4e-6, o=1e-6, G=6e-9)
    machine.dump(ranger, tmp_path / "ranger.toml")

    def seconds(on):
        return simulate.collective("allreduce", 65536, 16, on=on).seconds

    assert seconds("switch") == seconds(switch) == seconds(tmp_path / "switch.toml") == seconds(place(switch))
    assert seconds("ranger") == seconds(ranger) == seconds(tmp_path / "ranger.toml") == seconds(place(ranger))
    assert seconds("L=4us,o=1us,G=6ns") == seconds(parameters)
    assert seconds(place("switch", ranger)) == seconds(place(switch, "ranger"))
    for wrong in (3, None, ["switch"]):
        with pytest.raises(InputError, match=r"on is .*: give a text"):
            seconds(wrong)
    with pytest.raises(InputError, match="are of the Place already"):
        place(place(switch), model="smpi")


def test_selectors_are_words_or_settings():
    def seconds(selector):
        return simulate.collective("allreduce", 1 << 16, 24, on="switch", selector=selector).seconds

    assert seconds("mpich") == seconds(CollectiveSettings("mpich")) != seconds("openmpi")
    assert seconds(CollectiveSettings("mpich", memory_copy=1e-8)) > seconds("mpich")


def test_scales_and_rounds():
    slow = simulate.exchange("ring", 65536, 16, on="switch")
    assert simulate.exchange("ring", 65536, 16, on="switch", scale=Scale(bandwidth=2.0)).seconds < slow.seconds
    assert simulate.exchange("ring", 65536, 16, on="switch", rounds=3).messages == 3 * slow.messages


def test_messages_of_a_file(tmp_path):
    path = tmp_path / "messages.csv"
    path.write_text("sender,receiver,bytes\n0,1,1000\n1,2,1000\n")
    assert simulate.exchange(path, on="switch").messages == 2
    with pytest.raises(InputError, match="message_size: give the bytes of each message of the halo exchange"):
        simulate.exchange("halo", on="switch")


def test_a_recording_is_replayed_from_its_folder_or_itself():
    recording = record.load(RECORDING)
    where = place("graphene")
    expected = prepare(where, record.workload(where, recording, faster=2.0)).run().seconds
    assert simulate.replay(RECORDING, on="graphene", faster=2.0).seconds == expected
    assert simulate.replay(recording, on=where, faster=2.0).seconds == expected
    with pytest.raises(InputError, match="speed is of time-independent traces"):
        simulate.replay(recording, on=where, speed=1e9)


def test_traces_are_replayed_and_their_deadlocks_raised(tmp_path):
    trace = tmp_path / "trace.txt"
    trace.write_text("0 init\n1 init\n0 send 1 0 1000\n1 recv 0 0 1000\n0 finalize\n1 finalize\n")
    assert simulate.replay(trace, on="switch").messages == 1
    with pytest.raises(InputError, match="faster is of recordings"):
        simulate.replay(trace, on="switch", faster=2.0)
    trace.write_text("0 init\n1 init\n0 compute 1e9\n1 recv 0 0 1000\n0 finalize\n1 finalize\n")
    with pytest.raises(DeadlockError, match="rank 1 waits in MPI_Recv for a message from rank 0") as raised:
        simulate.replay(trace, on="switch")
    again = pickle.loads(pickle.dumps(raised.value))  # noqa: S301
    title = f"Replay of {trace} on 2 ranks, collectives as mpich picks"
    assert again.result.title == raised.value.result.title == title
    result = simulate.replay(trace, on="switch", deadlock="return")
    assert (result.blocked[0].rank, result.seconds) == (1, copy.deepcopy(raised.value.result).seconds)


def test_words_that_are_none_are_refused_before_anything_runs():
    for wrong in ({"model": "hybird"}, {"deadlock": "retrun"}, {"algorithm": "binomal"}, {"mapping": "blok"}):
        with pytest.raises(InputError):
            simulate.collective("bcast", 1 << 20, 16, on="graphene", **wrong)
    with pytest.raises(InputError, match="unknown argument modle: did you mean model"):
        simulate.collective("bcast", 1 << 20, 16, on="graphene", modle="hybrid")
    with pytest.raises(InputError, match="are of the Problem"):
        simulate.collective("bcast", Problem(16), 16, on="graphene")


def test_a_size_that_was_forgotten_is_asked_for_unless_there_is_none():
    with pytest.raises(InputError) as refused:
        simulate.collective("bcast", processes=4, on="graphene")
    assert refused.value.parameter == "message_size"
    assert simulate.collective("barrier", processes=4, on="graphene").seconds > 0
    with pytest.raises(InputError) as refused:
        simulate.collective("barrier", processes=4, on="graphene", rounds=0)
    assert refused.value.parameter == "rounds"


@pytest.mark.parametrize("recorded", [False, True])
def test_a_result_is_drawn_with_a_bar_for_each_state(recorded):
    result = simulate.exchange("ring", 65536, 4, on="switch", record=recorded)
    axes = result.plot(Figure().subplots())
    assert axes.get_ylabel() == "rank"
    assert axes.get_title() == f"{result.title}, switch"
    assert "transfer" in [text.get_text() for text in axes.get_legend().get_texts()]
    assert axes.get_xlim()[1] >= result.seconds


def test_a_result_is_a_frame():
    pandas = pytest.importorskip("pandas")
    frame = simulate.exchange("ring", 65536, 4, on="switch").to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert frame.shape[0] == 4
