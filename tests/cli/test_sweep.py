"""The verb `commmodel sweep`: what it prints, answers to wrong words, and real launches that are killed and go on."""

import json
import shlex
import signal
import subprocess
import sys
import time

import pytest
from support.commands import joined
from support.launching import ENVIRONMENT, find

from commmodel.cli import main
from commmodel.results import load
from commmodel.scaling import series_over
from commmodel.sweep import Job, states
from commmodel.sweep import load as load_plan

QUICK = ["--", "collective", "--quick"]


def make(folder, *words):
    return main(["sweep", "make", str(folder), *words])


def test_the_words_after_the_dashes_are_the_benchmarks(tmp_path, capsys):
    words = ["collective", "--quick", "--sizes", "8:64", "--process-counts", "all"]
    assert make(tmp_path / "s", "-p", "2:16,24", "--launches", "3", "--seed", "9", "--", *words) == 0
    plan = load_plan(tmp_path / "s")
    assert (plan.processes, plan.launches, plan.seed, list(plan.bench)) == ((2, 4, 8, 16, 24), 3, 9, words)
    assert plan.python == sys.executable
    assert plan.command(4)[-5:] == ("-n", "4", sys.executable, "-m", "commmodel.bench")
    out = capsys.readouterr().out
    folder = tmp_path / "s"
    jobs = "15 jobs on 2, 4, 8, 16, 24 processes"
    assert joined(out) == f"{folder}: {jobs}; next: commmodel sweep run {shlex.quote(str(folder))}"
    assert len(list((tmp_path / "s").glob("p*/launch*.sh"))) == 15


def test_without_words_the_benchmark_chooses_and_the_seed_is_drawn(tmp_path, capsys):
    seeds = []
    for name in "ab":
        assert make(tmp_path / name, "-p", "2", "--json") == 0
        printed = json.loads(capsys.readouterr().out)
        assert printed == {"folder": str(tmp_path / name), "jobs": 10, "processes": [2], "seed": printed["seed"]}
        seeds.append(load_plan(tmp_path / name).seed)
        assert seeds[-1] == printed["seed"]
        assert load_plan(tmp_path / name).bench == ()
    assert seeds[0] != seeds[1]


def test_slurm_has_its_launcher_and_its_way_on(tmp_path, capsys):
    slurm = ["--slurm", "--time=10 --partition='my queue'", "--per-node", "32"]
    assert make(tmp_path / "s", "-p", "64", *slurm, *QUICK) == 0
    assert f"10 jobs on 64 processes; next: bash {tmp_path}/s/submit.sh" in joined(capsys.readouterr().out)
    text = (tmp_path / "s" / "p0064" / "array.sh").read_text()
    assert "#SBATCH --partition='my queue'\n" in text
    assert f"\nsrun --kill-on-bad-exit=1 --cpu-bind=cores --ntasks=64 {sys.executable} -m commmodel.bench" in text
    assert main(["sweep", "run", str(tmp_path / "s")]) == 2
    assert "submit its jobs with" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["-p", "2", "--launcher", "mpiexec -n 2", *QUICK], "launcher 'mpiexec -n 2': it lacks {processes}"),
        (["-p", "0", *QUICK], "-p: '0': counts begin at 1"),
        (["-p", "two", *QUICK], "-p: 'two' is no count"),
        (["-p", "2", "--launches", "0", *QUICK], "--launches: '0' is no whole number from 1 up"),
        (["-p", "2", "--slurm=--time=1", *QUICK], "--slurm and -k (--per-node) belong together"),
        (["-p", "2", "--per-node", "4", *QUICK], "--slurm and -k (--per-node) belong together"),
        (["-p", "2", "--slurm=--time='1", "--per-node", "4"], '--slurm: "--time=\'1": No closing'),
        (["-p", "2", *QUICK, "--sizes", "8K"], "--sizes: '8K': unknown unit 'K'"),
        (["-p", "2", *QUICK, "-o", "x"], "-o of the benchmark: each job has its own: leave it out"),
        (["-p", "2", *QUICK, "--force"], "--force of the benchmark: each job has its own: leave it out"),
        (["-p", "2", *QUICK, "--resume"], "--resume of the benchmark"),
        (["-p", "2", "--", "nonsense"], "unknown kernel 'nonsense'"),
        (["-p", "2", "--", "--help"], "run commmodel bench --help"),
        (["-p", "2", "collective"], "collective: what is meant for the benchmark comes after --: commmodel sweep"),
        (QUICK, "the following arguments are required: -p"),
    ],
)
def test_wrong_words_are_one_line_and_make_nothing(tmp_path, capsys, words, problem):
    assert make(tmp_path / "s", *words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert problem in line
    assert not (tmp_path / "s").exists()


def test_more_processes_than_processors_are_warned_of(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    make(tmp_path / "fits", "-p", "2", *QUICK)
    make(tmp_path / "elsewhere", "-p", "4", "--launcher", "mpiexec -f hosts -n {processes}", *QUICK)
    assert not capsys.readouterr().err
    make(tmp_path / "crowded", "-p", "2:4", *QUICK)
    assert "warning: 4 processes on the 2 processors of this machine" in capsys.readouterr().err
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    make(tmp_path / "in-a-job", "-p", "4", *QUICK)
    assert not capsys.readouterr().err


def test_the_other_steps_refuse_wrong_words_too(tmp_path, capsys):
    for step in ("run", "status", "gather"):
        assert main(["sweep", step, str(tmp_path)]) == 2
        assert "is no sweep, it has no sweep.toml" in capsys.readouterr().err
        assert main(["sweep", step, str(tmp_path), *QUICK]) == 2
        assert "they go with commmodel sweep make alone" in capsys.readouterr().err
    for option, value in (("--workers", "0"), ("--timeout", "soon")):
        assert main(["sweep", "run", str(tmp_path), option, value]) == 2
        assert option in capsys.readouterr().err


def test_failures_are_named_and_the_exit_code_tells(tmp_path, capsys):
    make(
        tmp_path / "s",
        "-p",
        "2",
        "--launches",
        "2",
        "--launcher",
        "bash -c 'echo too bad >&2; exit 3' {processes}",
    )
    capsys.readouterr()
    assert main(["sweep", "run", str(tmp_path / "s")]) == 1
    out, err = capsys.readouterr()
    assert sorted(err.splitlines()) == [f"failed: p0002/launch0{launch}: too bad" for launch in (1, 2)]
    assert joined(out).startswith(f"{tmp_path}/s: 0 of 2 jobs done; next: commmodel sweep run ")
    assert main(["sweep", "gather", str(tmp_path / "s"), "-o", str(tmp_path / "x")]) == 2
    assert "no job is done, as they have failed: 2 jobs: too bad" in capsys.readouterr().err
    assert main(["sweep", "status", str(tmp_path / "s")]) == 1
    assert "failed: 2 jobs: too bad" in capsys.readouterr().out
    assert main(["sweep", "run", str(tmp_path / "s"), "--stop", "--workers", "2", "--json"]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["failed"][0]["problem"] == "too bad"
    assert "warning: several jobs at once disturb each other's measurements" in err


def wait_for(condition, process):
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)


@pytest.mark.mpi
def test_real_launches_are_killed_go_on_and_stay_apart(tmp_path, capsys):
    """Two launches on 2 and on 3 ranks; the first job is ended once it has measured something.

    Ranks go on until their launcher has ended them, seconds later on a busy machine: there must be far more to measure.
    """
    folder, seconds, script = (tmp_path / name for name in ("a sweep", "seconds", "launcher"))
    script.write_text(f'exec {shlex.quote(find("mpiexec"))} -n "$@" --time "$(cat {shlex.quote(str(seconds))})"\n')
    launcher = shlex.join(["bash", str(script)]) + " {processes}"
    bench = [
        "collective",
        "--collectives",
        "barrier,bcast,allreduce",
        "--sizes",
        "4KiB:64KiB",
        "--process-counts",
        "all",
    ]
    limits = ["--start", "barrier", "--ci", "0.01%", "--repetitions", "100000"]
    seconds.write_text("20s")
    make(folder, "-p", "2,3", "--launches", "2", "--launcher", launcher, "--seed", "1", "--", *bench, *limits)
    command = [sys.executable, "-m", "commmodel", "sweep", "run", str(folder)]
    process = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    first = load_plan(folder).jobs()[0]

    def has_begun():
        path = folder / first.results
        return path.exists() and path.read_bytes().count(b"\n") >= 2

    wait_for(has_begun, process)
    process.send_signal(signal.SIGTERM)
    _, result = process.communicate(timeout=900)
    assert process.returncode == 143
    assert f"terminated: go on with commmodel sweep run '{folder}'" in result
    values = {series_.job: series_.state for series_ in states(folder)}
    assert values.pop(first) == "begun"
    assert set(values.values()) == {"missing"}

    seconds.write_text("0.4s")
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=900, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert joined(done.stdout).startswith(f"{folder}: 4 of 4 jobs done; next: commmodel sweep gather")
    assert main(["sweep", "status", str(folder), "--json"]) == 0
    capsys.readouterr()
    output = tmp_path / "results.jsonl"
    assert main(["sweep", "gather", str(folder), "-o", str(output)]) == 0
    assert capsys.readouterr().out == f"{output}: 4 launches, 44 records\n"

    resumed = [launch.header.resumes for launch in load(folder / first.results).launches]
    assert resumed == [False, True]
    measurements = load(output)
    assert len({launch.header.options.seed for launch in measurements.launches}) == 4
    series = list(series_over(measurements, "p"))
    assert {series_.name for series_ in series} == {"barrier", "bcast", "allreduce"}
    for series_ in series:
        assert series_.scales == (2.0, 3.0)
        assert [len(samples) for samples in series_.samples] == [2, 2]


def test_status_and_gather_tell_what_lacks(tmp_path, capsys, monkeypatch):
    folder = tmp_path / "s"
    make(folder, "-p", "2,4", "--launches", "2")
    (folder / Job(4, 1).results).write_text("")
    (folder / Job(4, 2).done).touch()
    capsys.readouterr()
    assert main(["sweep", "status", str(folder)]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "processes ┃ done ┃ failed ┃ begun ┃ missing ┃ damaged" in printed
    assert "damaged: p0004/launch02: " in printed
    assert main(["sweep", "status", str(folder), "--json"]) == 0
    jobs = json.loads(capsys.readouterr().out)["jobs"]
    assert [job["state"] for job in jobs] == ["missing", "missing", "begun", "damaged"]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results.jsonl").touch()
    assert main(["sweep", "gather", str(folder)]) == 2
    assert "results.jsonl exists: replace it with --force" in capsys.readouterr().err
