"""Sweeps: plans, the text of their scripts, and jobs run by a launcher of our own that needs no MPI."""

import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commmodel.errors import DamagedFileError, InputError
from commmodel.results import load
from commmodel.scaling import series_over
from commmodel.sweep import Job, Plan, Slurm, gather, make, run, states
from commmodel.sweep import load as load_plan
from commmodel.sweep.gathering import failures
from commmodel.sweep.plan import FORMAT, VERSION, launcher_words
from commmodel.sweep.scripts import array_script, job_script

LAUNCHER = '''"""Stands for mpiexec and the benchmark: writes a results file, or goes on with one."""
import os, sys, time
from commmodel.results import Header, Host, Library, Rank, Record, Writer
from commmodel.results.configurations import Collective

processes, words = int(sys.argv[1]), sys.argv[5:]
output, resume = words[-1], "--resume" in words
fault = open("fault").read().split() if os.path.exists("fault") else []
with open("calls", "a") as calls:
    print(output, *words[:-2], sep="|", file=calls)
ranks = tuple(Rank(rank, 0) for rank in range(processes))

header = Header("commmodel-results", 1, "", ("x",), Library("none"), (Host("h"),), ranks, resumes=resume)
with Writer(output, resume=resume) as writer:
    writer.write(header)
    for size in (16,) if resume else (8,) if output in fault else (8, 16):
        writer.write(Record(Collective("bcast", size, processes), "s", (1e-6 * processes, 2e-6)))
if output in fault:
    print("commmodel.bench: the network is down", file=sys.stderr)
    print("launcher: a rank ended", file=sys.stderr)
    sys.exit(3)
'''


def plan_of(processes=(2, 4), launches=2, bench=("collective", "--quick"), **options):
    launcher = options.pop("launcher", "mpiexec -n {processes}")
    return Plan(FORMAT, VERSION, processes, launches, bench, launcher, options.pop("python", "python3"), 1, **options)


@pytest.fixture
def sweep(tmp_path):
    """Make a sweep of four jobs, in a folder with a blank in its name."""
    folder = tmp_path / "a sweep's folder"
    (tmp_path / "my launcher.py").write_text(LAUNCHER)
    words = f"'{sys.executable}' '{tmp_path}/my launcher.py' {{processes}}"
    make(plan_of(launcher=words, bench=("collective", "--sizes", "8,16", "a b'c")), folder)
    return folder


def calls(folder):
    return (folder / "calls").read_text().splitlines()


def test_the_plan_is_read_as_it_was_written(tmp_path):
    plan = plan_of(slurm=Slurm(("--time=10",), 32), bench=("memory", "a b", 'qu"ote'), created="2026-01-01")
    make(plan, tmp_path / "s")
    assert load_plan(tmp_path / "s") == plan


def test_the_order_is_that_of_the_seed():
    plan = plan_of((2, 4, 8), 5)
    assert plan.jobs() == plan.jobs()
    assert list(plan.jobs()) != sorted(plan.jobs())
    assert msgspec.structs.replace(plan, seed=2).jobs() != plan.jobs()
    assert sorted(plan.jobs()) == [Job(p, launch) for p in (2, 4, 8) for launch in range(1, 6)]


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ('format = "commmodel-sweep"', "no such"),
        ("version = 1", "version"),
        ("launches = 2", "launches"),
        ("processes = [2, 4]", "processes"),
    ],
)
def test_a_plan_that_lacks_something_is_damaged(tmp_path, change, place):
    make(plan_of(), tmp_path / "s")
    path = tmp_path / "s" / "sweep.toml"
    text = path.read_text()
    assert change in text
    path.write_text(text.replace(change, ""))
    with pytest.raises(DamagedFileError, match=r"missing required field|there is no field format"):
        load_plan(tmp_path / "s")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("version = 1", "version = 2", "field version: 2 is newer than this commmodel reads .1.: upgrade it"),
        ("launches = 2", 'launches = "2"', "field launches: expected int, got str"),
        ("launches = 2", "launches = 0", "field launches: expected int >= 1"),
        ("launches = 2", "launches = 2147483647", "2147483647 launches on each of 2 numbers of processes: more than"),
        ("launches = 2", "launches = 2\nsurprise = 1", "unknown field surprise"),
        ("{processes}", "2", "launcher 'mpiexec -n 2': it lacks {processes}"),
        ("[2, 4]", "[2, 2]", "a number stands there twice"),
        ("[2, 4]", "[1, 2]", "1 process has nobody to talk to"),
        ("launches = 2", "launches = ", "not TOML: Invalid value"),
    ],
)
def test_a_wrong_plan_is_one_line_that_names_the_field(tmp_path, old, new, problem):
    make(plan_of(), tmp_path / "s")
    path = tmp_path / "s" / "sweep.toml"
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(DamagedFileError, match=problem) as caught:
        load_plan(tmp_path / "s")
    assert str(path) in str(caught.value)
    with pytest.raises(InputError, match="is no sweep"):
        load_plan(tmp_path)


@pytest.mark.parametrize(
    ("launcher", "problem"),
    [
        ("mpiexec -n 4", "it lacks {processes}"),
        ("srun -N {nodes} -n {processes}", "it knows no {nodes}"),
        ("srun {}", "it knows no {}"),
        ("srun {processes.real}", "it knows no {processes.real}"),
        ("mpiexec -n {processes", "write it like"),
        ("mpiexec -n '{processes}", "write it like"),
    ],
)
def test_a_launcher_that_does_not_say_how_many_is_refused(launcher, problem):
    with pytest.raises(InputError, match="launcher") as caught:
        launcher_words(launcher, {"processes": 2})
    assert problem in str(caught.value)


@given(words=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), min_size=1), max_size=4))
def test_the_words_of_the_benchmark_arrive_as_they_were_given(words):
    script = job_script(plan_of(bench=tuple(words), launcher="printf '%s\\0' {processes}"), Job(2, 1))
    lines = script.splitlines(keepends=True)
    set_words = script[script.index("set --") : script.index("if [ -e")]
    assert lines[0] == "#!/bin/bash\n"
    done = subprocess.run(["bash", "-c", set_words + 'printf "%s\\0" "$@"'], capture_output=True, check=True)
    assert done.stdout.decode().split("\0")[:-1] == (words or [""])


@pytest.mark.parametrize("slurm", [None, Slurm(("--time", "10", "-p", "my queue", "--mail-user=a b"), 32)])
def test_the_scripts_are_shell(tmp_path, slurm):
    make(plan_of((2, 48), slurm=slurm, python="/my python/bin/python"), tmp_path / "s")
    scripts = sorted((tmp_path / "s").rglob("*.sh"))
    assert len(scripts) == (5 if slurm is None else 3)
    for script in scripts:
        subprocess.run(["bash", "-n", script], check=True)
        assert os.access(script, os.X_OK)
        assert not re.search("@[A-Z_]+@", script.read_text())


def test_a_script_for_slurm_asks_for_what_the_job_needs():
    plan = plan_of((8, 48), 10, slurm=Slurm(("--time=10", "-p", "x"), 32), launcher="srun --ntasks={processes}")
    lines = array_script(plan, plan.slurm, Job(48, 1)).splitlines()
    assert [line for line in lines if line.startswith("#SBATCH")] == [
        f"#SBATCH --job-name=commmodel-{plan.seed:08x}-p0048",
        "#SBATCH --ntasks=48",
        "#SBATCH --nodes=2",
        "#SBATCH --ntasks-per-node=32",
        "#SBATCH --exclusive",
        "#SBATCH --output=p0048/launch%2a.log",
        "#SBATCH --open-mode=append",
        "#SBATCH --time=10",
        "#SBATCH -p x",
    ]
    assert lines[1].startswith("#SBATCH")  # sbatch reads no further than the first command
    assert 'srun --ntasks=48 python3 -m commmodel.bench "$@" -o "$name.jsonl"' in lines
    few = array_script(plan, plan.slurm, Job(8, 1))
    assert "--nodes=1\n" in few
    assert "--ntasks-per-node=8\n" in few


@pytest.mark.parametrize("options", ["-n 4", "-n4", "--nodes=2", "--output x", "x", "--time=1\n2"])
def test_options_of_slurm_that_the_plan_decides_are_refused(tmp_path, options):
    with pytest.raises(InputError, match="--slurm"):
        make(plan_of(slurm=Slurm(tuple(options.split(" ")), 4)), tmp_path / "s")
    assert not (tmp_path / "s").exists()


def submit(folder, queued=""):
    """Return what sbatch gets, where squeue shows jobs."""
    for name, text in {"sbatch": 'echo "$PWD $*"', "squeue": f"echo '{queued}'"}.items():
        (folder / name).write_text(f"#!/bin/bash\n{text}\n")
        (folder / name).chmod(0o755)
    environment = os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"}
    words = ["bash", folder / "s/submit.sh"]
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout


def test_slurm_gets_an_array_of_what_is_neither_done_nor_queued(tmp_path):
    make(plan_of((2, 4), 4, slurm=Slurm((), 4)), tmp_path / "s")
    (tmp_path / "s" / "p0002" / "launch02.done").touch()
    arrays = f"{tmp_path}/s --array=1,3,4 p0002/array.sh\n{tmp_path}/s --array=1,2,3,4 p0004/array.sh\n"
    assert submit(tmp_path) == arrays
    name = f"commmodel-{load_plan(tmp_path / 's').seed:08x}"
    assert submit(tmp_path, f"{name}-p0002 1 {tmp_path}/other\n{name}-p0002 11 {tmp_path}/s") == arrays
    queued = [f"{name}-p0002 1 {tmp_path}/s", *(f"{name}-p0004 {launch} {tmp_path}/s" for launch in (1, 2, 3, 4))]
    assert submit(tmp_path, "\n".join(queued)) == f"{tmp_path}/s --array=3,4 p0002/array.sh\n"
    with pytest.raises(InputError, match=r"is for Slurm: submit its jobs with .*submit.sh"):
        run(tmp_path / "s")


def test_a_task_of_an_array_runs_its_launch_and_says_how_it_failed(tmp_path):
    launcher = "bash -c 'echo $2 $3 $4 $5; echo the nodes are too few; exit 3' _ {processes}"
    make(plan_of((2,), 12, slurm=Slurm((), 4), launcher=launcher), tmp_path / "s")
    for task in ("3", "12"):
        environment = os.environ | {"SLURM_SUBMIT_DIR": str(tmp_path / "s"), "SLURM_ARRAY_TASK_ID": task}
        words = ["bash", tmp_path / "s/p0002/array.sh"]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 3
        (tmp_path / f"s/p0002/launch{int(task):02}.log").write_text(done.stdout)
    assert [state.job.launch for state in states(tmp_path / "s") if state.state == "failed"] == [3, 12]
    assert failures(states(tmp_path / "s")) == ["2 jobs: the nodes are too few"]
    with pytest.raises(InputError, match="no job is done, as they have failed: 2 jobs: the nodes are too few"):
        gather(tmp_path / "s", tmp_path / "all.jsonl")


def test_what_the_benchmark_has_left_out_is_a_note(sweep):
    run(sweep)
    path = sweep / Job(2, 1).results
    path.write_text(path.read_text().replace('"planned":0', '"planned":9', 1))
    state = next(state for state in states(sweep) if state.job == Job(2, 1))
    assert state.state == "done"
    assert "configurations are left out, as the time was over" in state.problem
    assert len(gather(sweep, sweep / "all.jsonl").jobs) == 4


def test_a_folder_that_holds_something_is_left_alone(tmp_path):
    (tmp_path / "other").touch()
    with pytest.raises(InputError, match="is not empty: name a new folder"):
        make(plan_of(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["other"]
    with pytest.raises(InputError, match=r"Not a directory|File exists"):
        make(plan_of(), tmp_path / "other")


def test_all_jobs_are_run_in_the_order_of_the_plan_and_only_once(sweep):
    rows = []
    assert run(sweep, tell=lambda job, failure, left: rows.append((job, failure, left))) == ()
    order = [job.results for job in load_plan(sweep).jobs()]
    assert calls(sweep) == [f"{results}|collective|--sizes|8,16|a b'c" for results in order]
    assert [(job.results, failure, left) for job, failure, left in rows] == [
        (results, None, 3 - index) for index, results in enumerate(order)
    ]
    assert {state.state for state in states(sweep)} == {"done"}
    assert run(sweep) == ()
    assert len(calls(sweep)) == 4


def test_each_launch_stays_apart_in_the_gathered_file(sweep, tmp_path):
    run(sweep)
    gathered = gather(sweep, tmp_path / "all.jsonl")
    assert (len(gathered.jobs), gathered.left_out) == (4, ())
    measurements = load(tmp_path / "all.jsonl")
    assert [len(launch.header.ranks) for launch in measurements.launches] == [2, 2, 4, 4]
    for series in series_over(measurements, "p"):
        assert series.scales == (2.0, 4.0)
        assert [samples.shape for samples in series.samples] == [(2, 2), (2, 2)]
    assert not list(tmp_path.glob(".*.part"))


def test_a_failed_job_is_named_and_the_others_go_on(sweep):
    failing = Job(2, 1)
    (sweep / "fault").write_text(failing.results)
    (failure,) = run(sweep)
    assert (failure.job, failure.line) == (failing, "commmodel.bench: the network is down")
    assert [state.state for state in states(sweep)] == ["failed", "done", "done", "done"]
    gathered = gather(sweep, sweep / "all.jsonl")
    assert [state.job for state in gathered.left_out] == [failing]
    (sweep / "fault").unlink()
    assert run(sweep) == ()
    assert calls(sweep)[4:] == [f"{failing.results}|--resume"]
    again = load(sweep / failing.results)
    assert [launch.header.resumes for launch in again.launches] == [False, True]
    assert {state.state for state in states(sweep)} == {"done"}


def test_the_first_failure_ends_all_where_asked(sweep):
    first, *result = load_plan(sweep).jobs()
    (sweep / "fault").write_text(first.results)
    (failure,) = run(sweep, stop=True)
    assert failure.job == first
    assert {state.state for state in states(sweep) if state.job in result} == {"missing"}


def test_a_file_without_a_complete_line_is_begun_anew(sweep):
    job = Job(4, 2)
    (sweep / job.results).write_text('{"type": "header", "for')
    assert run(sweep) == ()
    assert f"{job.results}|collective|--sizes|8,16|a b'c" in calls(sweep)
    assert {state.state for state in states(sweep)} == {"done"}


def test_damaged_files_are_named_and_left_out(sweep):
    run(sweep)
    (sweep / Job(2, 1).results).unlink()
    with (sweep / Job(2, 2).results).open("a") as file:
        file.write("nonsense\n")
    (sweep / Job(4, 1).results).write_bytes((sweep / Job(4, 2).results).read_bytes()[:-5])
    assert [state.state for state in states(sweep)] == ["damaged", "damaged", "damaged", "done"]
    gathered = gather(sweep, sweep / "all.jsonl")
    problems = [state.problem for state in gathered.left_out]
    for word, problem in zip(("its file is gone", "line 4", "is incomplete"), problems, strict=True):
        assert word in problem
    failures = run(sweep)
    assert [failure.job for failure in failures] == [Job(2, 1), Job(2, 2), Job(4, 1)]
    assert all("to measure again" in failure.line for failure in failures)
    assert len(calls(sweep)) == 4


def test_gathering_writes_through_nothing_that_lies_beside_the_output(sweep, tmp_path):
    run(sweep)
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (sweep / ".all.jsonl.part").symlink_to(precious)
    gather(sweep, sweep / "all.jsonl")
    assert precious.read_text() == "mine"
    assert len(load(sweep / "all.jsonl").launches) == 4


def test_gathering_replaces_no_file_of_a_job(sweep):
    run(sweep)
    part = sweep / Job(2, 1).results
    before = part.read_bytes()
    with pytest.raises(InputError, match="is read: it cannot be written, too"):
        gather(sweep, part)
    assert part.read_bytes() == before


def test_scripts_may_be_run_by_those_whom_the_umask_lets(tmp_path):
    before = os.umask(0o077)
    try:
        make(plan_of(), tmp_path / "sweep")
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "sweep").rglob("*") if path.is_file()}
    assert (modes["run.sh"], modes["launch01.sh"], modes["sweep.toml"]) == (0o700, 0o700, 0o600)


def test_half_a_sweep_is_not_left_where_it_cannot_be_written(tmp_path, monkeypatch):
    def full(*_):
        raise InputError("sweep.toml: cannot be written: No space left on device")

    monkeypatch.setattr("commmodel.sweep.scripts.dump", full)
    (tmp_path / "there").mkdir()
    for folder in (tmp_path / "there", tmp_path / "new"):
        with pytest.raises(InputError, match="No space left"):
            make(plan_of(), folder)
    assert [path.name for path in tmp_path.rglob("*")] == ["there"]


def test_a_file_of_another_number_of_ranks_is_damaged(sweep):
    run(sweep)
    (sweep / Job(2, 1).results).write_bytes((sweep / Job(4, 1).results).read_bytes())
    assert states(sweep)[0].problem.endswith("measured on 4 ranks, not on 2")


def test_nothing_to_gather_is_said(sweep):
    with pytest.raises(InputError, match="no job is done yet"):
        gather(sweep, sweep / "all.jsonl")
    run(sweep)
    with pytest.raises(InputError, match="cannot be written"):
        gather(sweep, sweep / "no" / "all.jsonl")


@pytest.mark.slow
def test_a_job_that_takes_too_long_is_ended_with_all_it_started(tmp_path):
    make(plan_of((2,), 1, launcher="bash -c 'sleep 1000 & echo $! >pid; wait' {processes}"), tmp_path / "s")
    (failure,) = run(tmp_path / "s", limit=5)
    assert "took longer than 5 s and was ended" in failure.line
    pid = (tmp_path / "s" / "pid").read_text().strip()
    assert has_ended(pid)


def has_ended(pid):
    try:
        return Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.slow
def test_a_launcher_that_clears_up_is_given_the_time_for_it(tmp_path):
    launcher = (
        "bash -c 'trap \"sleep 1; touch cleared; exit\" TERM; echo $$ >pid; while :; do sleep 0.1; done' {processes}"
    )
    make(plan_of((2,), 1, launcher=launcher), tmp_path / "s")
    run(tmp_path / "s", limit=5)
    assert (tmp_path / "s" / "cleared").exists()
    assert has_ended((tmp_path / "s" / "pid").read_text().strip())


def test_two_runs_of_one_sweep_at_once_are_refused(tmp_path):
    make(plan_of((2,), 2, launcher="false {processes}"), tmp_path / "s")
    refused = []

    def tell(*_):
        with pytest.raises(InputError, match="its jobs are being run") as caught:
            run(tmp_path / "s")
        refused.append(caught.value)

    assert len(run(tmp_path / "s", tell=tell)) == len(refused) == 2


def test_a_job_that_outlives_its_killed_run_is_waited_for(tmp_path):
    """A run that gets SIGKILL cannot end its job: a second one beside it would write into the same file."""
    make(plan_of((2,), 1, launcher="bash -c 'echo $$ >pid; exec sleep 1000' {processes}"), tmp_path / "s")
    process = subprocess.Popen([sys.executable, "-m", "commmodel", "sweep", "run", tmp_path / "s"])
    pid = tmp_path / "s" / "pid"
    end = time.monotonic() + 60
    while not (pid.exists() and pid.read_text().strip()):
        assert time.monotonic() < end
        time.sleep(0.05)
    process.kill()
    process.wait()
    try:
        with pytest.raises(InputError, match="one of a killed run still is: wait for it"):
            run(tmp_path / "s")
    finally:
        os.killpg(os.getpgid(int(pid.read_text())), signal.SIGKILL)


def test_several_workers_run_jobs_at_once(tmp_path):
    waiting = "bash -c 'touch $1; until [ -e 2 ] && [ -e 4 ]; do sleep 0.01; done; exit 3' _ {processes}"
    make(plan_of((2, 4), 1, launcher=waiting), tmp_path / "s")
    failures = run(tmp_path / "s", workers=2, limit=60)
    assert [failure.line for failure in failures] == ["exit code 3", "exit code 3"]


def test_run_sh_does_the_same_without_us(sweep):
    (sweep / "fault").write_text(Job(2, 1).results)
    done = subprocess.run(["bash", sweep / "run.sh"], cwd="/", capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "failed: p0002/launch01: launcher: a rank ended\n"
    assert [state.state for state in states(sweep)] == ["failed", "done", "done", "done"]


def test_the_plan_is_toml_that_says_what_it_is(tmp_path):
    make(plan_of(), tmp_path / "s")
    content = tomllib.loads((tmp_path / "s" / "sweep.toml").read_text())
    assert (content["format"], content["version"], content["processes"]) == ("commmodel-sweep", 1, [2, 4])
