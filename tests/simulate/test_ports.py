"""LogP and LogGP as a network of ports: times as of the delay models, for programs that run."""

import math
import subprocess
import sys

import numpy as np
import pytest

from commmodel.collectives.schedule import Problem
from commmodel.errors import InputError
from commmodel.simulate import OPERATION, Code, DelayModel, DelayParameters, Program, run
from commmodel.simulate.ports import ports
from commmodel.simulate.scenario import place, workloads

LOGGP = DelayParameters(L=2.5e-6, o=1.5e-6, g=4e-6, G=0.25e-9)


def seconds(program, model):
    network, platform = ports(model, program.processes)
    return run(program, network, platform).seconds, run(program, model).seconds


def train(messages, size):
    sender = [(Code.SEND, 1, 0, -1, size)] * messages + [(Code.RECV, 1, 1, -1, 1)]
    receiver = [(Code.RECV, 0, 0, -1, size)] * messages + [(Code.SEND, 0, 1, -1, 1)]
    return Program.from_ranks([np.array(calls, dtype=OPERATION) for calls in (sender, receiver)])


@pytest.mark.parametrize("size", [1, 8, 1000, 100000])
@pytest.mark.parametrize("messages", [1, 2, 16])
@pytest.mark.parametrize("name", ["logp", "loggp"])
def test_a_train_and_its_answer_take_what_the_formula_says(messages, size, name):
    G = LOGGP.G * (name == "loggp")
    gap = max(LOGGP.o, LOGGP.g + (size - 1) * G)
    expected = 2 * LOGGP.L + 4 * LOGGP.o + (size - 1) * G + (messages - 1) * gap
    on_ports, by_delays = seconds(train(messages, size), DelayModel(LOGGP, name))
    assert on_ports == pytest.approx(expected, rel=1e-9)
    assert by_delays == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("operation", "algorithm"), [("bcast", "binomial"), ("barrier", "dissemination"), ("allgather", "ring")]
)
@pytest.mark.parametrize("processes", [2, 7, 16])
def test_collectives_in_which_no_port_receives_two_messages_at_once_take_as_long(operation, algorithm, processes):
    where = place("L=2.5us,o=1.5us,g=2us,G=0.25ns")
    problem = Problem(processes, 0 if operation == "barrier" else 4096)
    workload = workloads.collective(where, operation, problem, algorithm=algorithm)
    model = DelayModel(DelayParameters(L=2.5e-6, o=1.5e-6, g=2e-6, G=0.25e-9), "loggp")
    on_ports, by_delays = seconds(workload.program(np.full(processes, 1e9), 1.0), model)
    assert on_ports == pytest.approx(by_delays, rel=1e-6)


def test_parameters_of_sizes_hold_for_their_messages():
    large = DelayParameters(L=1e-5, o=3e-6, g=5e-6, G=0.1e-9)
    model = DelayModel(LOGGP, "loggp", ((4096, LOGGP), (math.inf, large)))
    for size, p in ((4096, LOGGP), (4097, large)):
        on_ports, _ = seconds(train(1, size), model)
        answer = LOGGP.L + 2 * LOGGP.o
        assert on_ports == pytest.approx(p.L + 2 * p.o + (size - 1) * p.G + answer, rel=1e-9)


def test_what_has_no_ports_is_refused():
    with pytest.raises(InputError, match="not loggps"):
        ports(DelayModel(LOGGP), 2)
    with pytest.raises(InputError, match="within a host"):
        ports(DelayModel(LOGGP, "loggp", (), ((math.inf, LOGGP),)), 2)


PING = """
from mpi4py import MPI
comm = MPI.COMM_WORLD
begin = MPI.Wtime()
comm.Send(bytes(1001), 1) if comm.rank == 0 else comm.Recv(bytearray(1001), 0)
comm.Recv(bytearray(1), 1) if comm.rank == 0 else comm.Send(bytes(1), 0)
if comm.rank == 0:
    print(MPI.Wtime() - begin)
"""


@pytest.mark.mpi
@pytest.mark.simulated
def test_a_program_runs_by_loggp_and_says_where_ranks_cannot_be(tmp_path):
    (tmp_path / "ping.py").write_text(PING)
    command = [sys.executable, "-m", "commmodel", "simulate", "L=2500ns,o=1500ns,g=4us,G=250ps", "run", "-p", "2"]
    program = ["--compute", "0", "--", sys.executable, "ping.py"]
    done = subprocess.run([*command, *program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert float(done.stdout.split()[0]) == pytest.approx(11.25e-6, rel=1e-6)
    done = subprocess.run([*command, "-k", "2", *program], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 2
    assert "no hosts" in done.stderr
