"""Scenarios: how place, workload and model go together in Python, where the command line only passes words on."""

import numpy as np
import pytest

from commmodel import machine, predict
from commmodel.collectives import CollectiveSettings, Problem
from commmodel.collectives.library.rules import SelectionRule
from commmodel.errors import InputError, MissingParameterError
from commmodel.machine import LogGP, Machine, Parameter, Segment
from commmodel.simulate import SMPI, DelayModel, DelayParameters, fluid, run, work
from commmodel.simulate import platform as platforms
from commmodel.simulate.scenario import PROGRAM_MODELS, Scale, place, prepare, workloads

SIZE = 64 << 10


@pytest.fixture
def switch():
    return place("switch")


def test_a_scenario_is_what_run_says_of_the_same_program(switch):
    ring = workloads.exchange(switch, "ring", SIZE, 8)
    expected = run(work.ring(SIZE, 8), fluid(), platforms.load("switch"))
    assert prepare(switch, ring).run().seconds == expected.seconds
    assert (
        prepare(switch, ring, "smpi").run().seconds == run(work.ring(SIZE, 8), SMPI, platforms.load("switch")).seconds
    )
    delays = place("L=4us,o=1us,G=6ns")
    model = DelayModel(DelayParameters(L=4e-6, o=1e-6, G=6e-9), "loggp")
    assert prepare(delays, ring).run().seconds == run(work.ring(SIZE, 8), model).seconds


@pytest.mark.parametrize(
    ("where", "parameters", "model"),
    [
        ("graphene", None, "hybrid"),
        ("switch", None, "fluid"),
        ("switch", "smpi", "smpi"),
        ("switch", "graphene", "hybrid"),
        ("switch", "ranger", "loggp"),
        ("switch", "L=4us,o=1us", "loggp"),
        ("switch", "L=4us,o=1us,S=64KiB", "loggps"),
        ("switch", DelayParameters(L=4e-6, o=1e-6), "loggp"),
        ("ranger", None, "loggp"),
        ("L=4us,o=1us", None, "loggp"),
    ],
)
def test_the_model_follows_from_the_place(where, parameters, model):
    assert place(where, parameters).default_model == model


def test_a_model_of_the_place_holds_unless_another_is_named(switch):
    ring = workloads.exchange(switch, "ring", SIZE, 8)
    result = place("graphene", model="logp")
    assert prepare(result, ring).model == "logp"
    assert prepare(result, ring, "fluid").model == "fluid"


def test_the_selector_is_that_of_the_machines_library(switch):
    assert switch.settings.selector == "mpich"
    assert place("graphene").settings.selector == machine.load("graphene").selector_name


@pytest.mark.parametrize("operation", ["bcast", "reduce", "allreduce", "allgather", "reduce_scatter_block", "gather"])
@pytest.mark.parametrize("memory_copy", [None, 1e-9])
def test_simulated_and_predicted_collectives_of_a_machine_take_the_same_time(operation, memory_copy, tmp_path):
    L, o, g, G = map(Parameter, (2e-6, 1e-6, 1e-6, 1e-9))
    result = Machine(
        "m",
        (Segment("all", loggp=LogGP(L, o, g, G)),),
        memory_copy=Parameter(2e-9),
        reduction=Parameter(5e-9),
        selector="openmpi",
        selection=(SelectionRule("bcast", "chain"),),
    )
    machine.dump(result, tmp_path / "machine.toml")
    simulated = place(str(tmp_path / "machine.toml"))
    problem = Problem(13, 8192)
    settings = None if memory_copy is None else CollectiveSettings(memory_copy=memory_copy)
    seconds = prepare(simulated, workloads.collective(simulated, operation, problem, settings=settings)).run().seconds
    predicted = predict.collective(predict.with_byte_times(result, memory_copy), operation, problem, model="loggp")
    assert seconds == pytest.approx(predicted.time.seconds, rel=1e-12)
    assert operation != "bcast" or predicted.algorithm == "chain"


def test_ranks_are_those_of_the_platform_and_a_machine_has_none(switch):
    assert workloads.exchange(switch, "halo", SIZE).processes == switch.cores == 64
    with pytest.raises(InputError, match="give the number of ranks"):
        workloads.exchange(place("ranger"), "halo", SIZE)


def test_hosts_speed_and_mapping_are_arguments(switch):
    kernel = workloads.application(switch, "lu", "S", 16, iterations=1)
    slow, fast = (prepare(switch, kernel, speed=speed).run() for speed in (1e9, 1e12))
    assert slow.seconds > fast.seconds
    assert prepare(switch, kernel, mapping="round-robin").hosts.tolist() == list(range(16))
    ring = workloads.exchange(place("graphene"), "ring", SIZE, 8)
    measured = place(str(machine.published()["graphene"]))
    assert np.unique(prepare(measured, ring, hosts=2).hosts).size == 2
    assert np.unique(prepare(measured, ring).hosts).size == 8


def test_more_ranks_than_cores_are_noted_where_links_are_shared(switch):
    ring = workloads.exchange(switch, "ring", 8, 65)
    assert "65 ranks on the 64 cores of switch" in prepare(switch, ring).notes[0]
    (note,) = prepare(place("switch", "ranger"), ring, "loggps").notes
    assert note.startswith("loggps has one set of parameters for all sizes")


@pytest.mark.parametrize("model", PROGRAM_MODELS)
def test_every_model_runs_where_there_are_parameters_for_it(model):
    graphene = place("graphene")
    assert prepare(graphene, workloads.collective(graphene, "bcast", Problem(8, SIZE)), model).run().seconds > 0


def test_a_schedule_is_no_program(tmp_path):
    path = tmp_path / "t.goal"
    path.write_text("num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from 0\n}\n")
    delays, schedule = place("L=4us,o=1us"), workloads.schedule(str(path))
    assert prepare(delays, schedule).model == "loggops"
    with pytest.raises(InputError, match="choose one of loggops, loggps, loggp, logp"):
        prepare(delays, schedule, "fluid")
    with pytest.raises(InputError, match="is a GOAL schedule"):
        schedule.program(None, 1.0)


def test_what_does_not_go_together_is_refused(switch):
    ring = workloads.exchange(switch, "ring", SIZE, 8)
    with pytest.raises(InputError, match="model is "):
        prepare(switch, ring, "loggops")
    with pytest.raises(MissingParameterError, match="no hybrid section"):
        prepare(place("ranger"), ring, "fluid")
    with pytest.raises(InputError, match="kind is "):
        workloads.exchange(switch, "star", SIZE)
    with pytest.raises(InputError, match="name is "):
        workloads.application(switch, "ft")
    with pytest.raises(InputError, match="above 0"):
        prepare(switch, ring, speed=0.0)


@pytest.mark.parametrize("model", ["loggp", "loggops"])
def test_a_delay_model_has_no_links_to_scale(model, tmp_path):
    (tmp_path / "one.goal").write_text("num_ranks 1\nrank 0 {\nl1: calc 5\n}\n")
    delays = place("L=4us,o=1us,G=1ns")
    work = workloads.exchange(delays, "ring", 1000, 4)
    if model == "loggops":
        work = workloads.schedule(str(tmp_path / "one.goal"))
    with pytest.raises(InputError, match="no link 'node-0 up': scale its bandwidth"):
        prepare(delays, work, model, scale=Scale(links=(("node-0 up", 2.0),)))
