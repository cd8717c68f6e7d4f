"""What users do most: each job takes at most five lines, imports apart, and its answer is right."""

import inspect
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from support.launching import ENVIRONMENT, find
from support.paths import ROOT

from commmodel import machine, optimize, predict

EXAMPLES = ROOT / "docs/examples"
JOBS = []
MOST_LINES = 5


def job(function):
    """Note a job, which is called in the folder of examples."""
    JOBS.append(function)
    return function


@pytest.fixture(autouse=True)
def examples(monkeypatch):
    monkeypatch.chdir(EXAMPLES)


@job
def results_plotted():
    from commmodel import results

    return results.load("results.jsonl").plot()


def test_results_plotted():
    pytest.importorskip("matplotlib").use("agg")
    axes = results_plotted()
    assert axes.get_xlabel() == "message size"
    assert axes.has_data()


@job
def fit_with_options():
    from commmodel import fit, results

    return fit.fit_machine(results.load("results.jsonl"), seed=2, confidence=0.9)


def test_fit_with_options():
    fitted = fit_with_options()
    assert (fitted.confidence, fitted.origin.seed) == (0.9, 2)


@job
def halo_over_sizes():
    from commmodel import machine, predict

    return predict.halo(machine.load("blue-waters"), [1024, 4096, 65536], 4)


def test_halo_over_sizes():
    one_by_one = [predict.halo(machine.load("blue-waters"), size, 4).time.seconds for size in (1024, 4096, 65536)]
    assert halo_over_sizes().time.seconds.tolist() == one_by_one


@job
def two_machines_compared():
    from commmodel import machine, predict

    machines = {name: machine.load(name) for name in ("blue-waters", "cray-xe6-pingpong")}
    return predict.side_by_side(machines, [64, 1024])


def test_two_machines_compared():
    pytest.importorskip("pandas")
    frame = two_machines_compared().to_frame()
    assert list(zip(frame["machine"], frame["message_size"], strict=True)) == [
        (name, size) for name in ("blue-waters", "cray-xe6-pingpong") for size in (64, 1024)
    ]
    alone = predict.send(machine.load("cray-xe6-pingpong"), 1024).time.seconds
    assert frame["seconds"].iloc[-1] == alone


@job
def intervals_in_pandas():
    from commmodel import fit, predict, results

    fitted = fit.fit_machine(results.load("results.jsonl"))
    return predict.send(fitted, [64, 1024]).to_frame()


def test_intervals_in_pandas():
    pytest.importorskip("pandas")
    frame = intervals_in_pandas()
    assert (frame["low"] <= frame["seconds"]).all()
    assert (frame["seconds"] <= frame["high"]).all()
    assert (frame["low"] < frame["high"]).all()


@job
def choices_200():
    from commmodel import optimize

    costs = optimize.MessageCosts(overhead=2e-6, latency=10e-6, byte_time=1e-9)
    volumes = np.geomspace(1e4, 1e8, 200).astype(int)
    return optimize.choose(costs, optimize.TransferProblems(volume=volumes, computation=5e-4))


def test_choices_200():
    choices = choices_200()
    assert choices.seconds.shape == (200,)
    costs = optimize.MessageCosts(overhead=2e-6, latency=10e-6, byte_time=1e-9)
    last = optimize.choose(costs, optimize.TransferProblem(volume=10**8, computation=5e-4))
    assert choices.seconds[199] == pytest.approx(last.seconds, rel=1e-6)


@job
def fat_tree_table():
    import pandas as pd

    from commmodel import simulate

    tree = simulate.platform.fat_tree(down=[4, 4], up=[1, 2], parallel=[1, 1], bandwidth=12.5e9, latency=1e-6)
    pairs = [(size, p) for size in (1024, 65536) for p in (4, 16)]
    rows = [(size, p, simulate.collective("alltoall", size, p, on=tree).seconds) for size, p in pairs]
    return pd.DataFrame(rows, columns=["message_size", "processes", "seconds"])


def test_fat_tree_table():
    pytest.importorskip("pandas")
    table = fat_tree_table().pivot_table("seconds", "message_size", "processes")
    assert (table.loc[65536] > table.loc[1024]).all()
    assert (table[16] > table[4]).all()


@job
def own_algorithm():
    import numpy as np

    from commmodel import collectives, simulate

    @collectives.register("bcast", "by-root")
    def by_root(problem):
        yield collectives.vector_round(problem, problem.root, np.delete(range(problem.processes), problem.root))

    collectives.verify("bcast", "by-root", 8)
    return simulate.collective("bcast", 1024, 8, on="graphene", algorithm="by-root")


@job
def function_simulated():
    from commmodel import simulate

    return simulate.function(lambda comm: comm.allreduce(comm.rank), 4, on="graphene")


def test_function_simulated():
    result = function_simulated()
    assert result.returned == (6, 6, 6, 6)
    assert result.seconds > 0


@job
def trace_replayed():
    from commmodel import simulate

    return simulate.replay("recording", on="graphene")


def test_trace_replayed():
    result = trace_replayed()
    assert result.ends.shape == (2,)
    assert result.messages > 0


@job
def five_costliest_sites():
    from commmodel import record

    sites = record.load("recording").profile().sites
    return sorted(sites, key=lambda site: -site.seconds)[:5]


def test_five_costliest_sites():
    from commmodel import record

    costs = [site.seconds for site in five_costliest_sites()]
    assert costs == sorted((site.seconds for site in record.load("recording").profile().sites), reverse=True)[:5]


@job
def scaling_of_a_list():
    from commmodel import scaling

    return scaling.check_values([2, 4, 8, 16, 32], [1.0, 2.0, 3.1, 4.0, 5.0], "log p")


def test_scaling_of_a_list():
    from commmodel import scaling

    assert scaling_of_a_list().verdict == "match"
    assert scaling.check_values([2, 4, 8, 16, 32], [2.0, 4.0, 8.1, 16.0, 32.0], "log p").verdict == "mismatch"


@job
def memory_expected():
    from commmodel import scaling

    limit = scaling.MemoryLimit(2**30)
    return scaling.check_values([2, 4, 8, 16, 32], [2e6, 4e6, 8e6, 16e6, 32e6], "p", metric="memory", memory=limit)


def test_memory_expected():
    assert memory_expected().room.scale == pytest.approx(2**30 / 1e6, rel=1e-3)


@job
def sweep_on_two_cores():
    from commmodel import simulate

    tree = simulate.platform.fat_tree(down=[4, 4], up=[1, 2], parallel=[1, 1], bandwidth=12.5e9, latency=1e-6)
    scales = [simulate.scenario.Scale(bandwidth=factor) for factor in (1.0, 2.0, 4.0)]
    question = lambda where, scale: simulate.collective("alltoall", 65536, on=where, scale=scale)  # noqa: E731
    return simulate.what_if.predictions(question, [tree], scales, workers=2)


def test_sweep_on_two_cores():
    times = [run.seconds for run in sweep_on_two_cores()]
    assert len(times) == 3
    assert times == sorted(times, reverse=True)
    assert times[2] < 0.5 * times[0]


@job
def overlap_in_a_stencil():
    from commmodel import optimize

    costs = optimize.MessageCosts(overhead=2e-6, latency=1e-5, byte_time=1e-9)
    return optimize.choose(costs, optimize.TransferProblem(volume=32768, computation=2e-4))


def test_overlap_in_a_stencil():
    choice = overlap_in_a_stencil()
    assert 0 < choice.hidden_fraction <= 1
    assert choice.seconds < choice.blocking_seconds


@job
def own_reader():
    from commmodel import formats
    from commmodel.results.configurations import PingPong

    def parse(text):
        for line in filter(lambda line: line.content, text.numbered(2)):
            size, time = line.content.split()
            yield line.record(PingPong(line.whole(size, "bytes"), "any"), line.real(time, "seconds"))

    formats.register("mine", formats.Format(lambda lines: int(lines[0] == "mine"), parse, "a table below 'mine'"))


@job
def own_kernel():
    from commmodel.bench.kernels import Kernel, register, timed
    from commmodel.results.configurations import Function

    plan = lambda options, _: [Function("mine", "time", {"p": p}) for p in options.procs]  # noqa: E731
    measure = lambda session, configuration: timed(session, configuration, session.comm.Barrier)  # noqa: E731
    register(Kernel("MPI_Barrier", (Function,), plan, measure, name="mine"))


def script(function, then):
    """Return a program of a job that registers something, and of what is done then."""
    return f"{textwrap.dedent(inspect.getsource(function)).removeprefix('@job')}\n{then}\n"


def printed(*words, **options):
    """Return what a program that ends well prints."""
    done = subprocess.run(words, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_own_algorithm():
    assert printed(sys.executable, "-c", script(own_algorithm, "print(own_algorithm().messages)")) == "7\n"


def test_own_reader(tmp_path):
    (tmp_path / "table.txt").write_text("mine\n8 1e-6\n16 2e-6\n")
    then = "own_reader()\nprint([r.summary.median for r in __import__('commmodel').formats.load('table.txt').records])"
    assert printed(sys.executable, "-c", script(own_reader, then), cwd=tmp_path) == "[1e-06, 2e-06]\n"


@pytest.mark.mpi
def test_own_kernel(tmp_path):
    from commmodel import results

    then = "own_kernel()\nimport sys\nfrom commmodel.bench.command import run\nsys.exit(run(sys.argv[1:]))"
    (tmp_path / "bench.py").write_text(script(own_kernel, then))
    words = [find("mpiexec"), "-n", "2", sys.executable, "bench.py", "mine", "--procs", "2", "--time", "1"]
    printed(*words, cwd=tmp_path, env=ENVIRONMENT)
    (record,) = results.load(tmp_path / "results.jsonl").records
    assert record.configuration["p"] == 2
    assert record.summary.median > 0


@pytest.mark.parametrize("function", JOBS, ids=lambda function: function.__name__)
def test_a_job_is_short(function):
    lines = [line.strip() for line in inspect.getsource(function).splitlines()[2:]]
    assert len([line for line in lines if line and not line.startswith(("import ", "from "))]) <= MOST_LINES
