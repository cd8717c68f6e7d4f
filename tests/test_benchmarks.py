"""Benchmarks that nothing else runs: each can be loaded, and runs on a small scale, long ones in `make thorough`."""

import os
import re
import shutil
import subprocess
import sys
from importlib import import_module

import pytest
from support.launching import ENVIRONMENT, NETWORK, find
from support.paths import ROOT, SHARED
from tools import emulated_cluster

MODULES = sorted(
    f"benchmarks.{path.parent.name}.{path.stem}"
    for folder in ("speed", "validation")
    for path in (ROOT / "benchmarks" / folder).glob("*.py")
    if "\ndef main(" in (text := path.read_text("utf-8")) and "from mpi4py" not in text  # what starts MPI is launched
)
SMALL = {
    "benchmarks.speed.critical_path": ["--rounds", "1"],
    "benchmarks.speed.slopes": ["--rounds", "1"],
    "benchmarks.speed.model_surfaces": ["--rounds", "1"],
    "benchmarks.validation.loggp_recovery": ["--sets", "1", "--samples", "20"],
    "benchmarks.validation.overlap_losses": ["--problems", "5"],
    "benchmarks.validation.speedup_curves": ["--kernels", "lu", "--classes", "S", "--processes", "8:8:*2"],
}
"""Benchmark -> its options for a run of seconds."""
LONGER = {
    "benchmarks.speed.collective_starts": ["--rounds", "1", "--seconds", "0.05"],
    "benchmarks.speed.exchange_overhead": ["--turns", "2", "--volume", "64KiB", "--sizes", "16KiB"],
    "benchmarks.speed.message_orders": ["--ranks", "3", "--messages", "1", "--orders", "2"],
    "benchmarks.speed.online": ["--repetitions", "1", "--ranks", "16", "--kinds", "flat", "--calls"],
    "benchmarks.speed.overlap_surfaces": ["--calls", "3", "--rounds", "1"],
    "benchmarks.speed.page_opening": ["--ranks", "4", "--intervals", "2000", "--rounds", "1"],
    "benchmarks.speed.record_scaling": ["--records", "200,400", "--commands", "decode,read,fit,compare"],
    "benchmarks.speed.recorder": ["--launches", "1"],
    "benchmarks.speed.recording_memory": ["--sizes", "1MB,2MB", "--allowed", "1GB"],
    "benchmarks.speed.simulators": ["--quick", "--repetitions", "1", "--peers", ""],
    "benchmarks.speed.simulated_tests": ["--tests", "2", "--ranks", "2", "--launches", "1"],
    "benchmarks.speed.start_up": ["--rounds", "1", "--cold", "1"],
    "benchmarks.speed.start_up_of_ranks": ["--ranks", "1", "2", "--of", "10"],
    "benchmarks.validation.changed_network": [
        *("--hosts", "2", "--launches", "1", "--programs", "norms", "--random-sizes", "20", "--calibration-time", "3s"),
    ],
    "benchmarks.validation.collective_messages": ["-p", "2"],
    "benchmarks.validation.contradictions": [str(SHARED)],
    "benchmarks.validation.tables_of_pairs": [
        str(SHARED / "public/performance-study/osu_times.csv.xz"),
        "--orders",
        "1",
    ],
    "benchmarks.validation.emulated_nodes": ["--trials", "1"],
    "benchmarks.validation.emulated_overlap": ["--volumes", "16KiB", "--work", "1", "--launches", "1", "--time", "4s"],
    "benchmarks.validation.emulated_senders": ["--sizes", "16KiB", "--repetitions", "2"],
    "benchmarks.validation.emulated_simulation": [
        *("--hosts", "4", "--sizes", "10KiB", "--cabinets", "1", "--random-sizes", "20", "--calibration-time", "3s"),
        *("--time", "5s"),
    ],
    "benchmarks.validation.recorded_programs": [
        *("--hosts", "2", "--repetitions", "1", "--programs", "halo", "--random-sizes", "20"),
        *("--calibration-time", "3s"),
    ],
    "benchmarks.validation.extrapolated_recordings": [
        "--ranks",
        "32",
        "--recorded",
        "8,16",
        "--programs",
        "halo_1d,lu",
    ],
    "benchmarks.validation.first_answers": ["--loads", "0,1", "--time", "2s", "--upto", "64KiB", "--visits", "1"],
    "benchmarks.validation.guard_alarms": ["--trials", "2", "--files", "1"],
    "benchmarks.validation.interval_coverage": ["--sets", "2", "--samples", "20", "--noise", "even", "two-moded"],
    "benchmarks.validation.loggp_under_load": ["--turns", "1", "--time", "1s", "--busy", "1", "--sizes", "1:1KiB"],
    "benchmarks.validation.online_agreement": ["--processes", "2", "--only", "replay"],
    "benchmarks.validation.public_runners": ["--runners", "2"],
    "benchmarks.validation.random_agreement": ["--cases", "2"],
    "benchmarks.validation.scaling_models": ["--kernels", "2", "--sets", "1", "--theirs", "1"],
    "benchmarks.validation.ways_to_send": [
        *("--launches", "2", "--time", "1s", "--layouts", "vector", "--grid", "1KiB:64KiB:*64", "8,512", "4160"),
        *("--apart", "8KiB", "64", "1000"),
    ],
    "benchmarks.validation.segment_power": ["--sets", "1"],
    "benchmarks.validation.selector_agreement": [
        *("--only", "barrier", "--algorithms", "ompi_basic_linear", "--deployments", "1"),
    ],
    "benchmarks.validation.shared_memory": [
        *("--rounds", "1", "--programs", "ping_pong", "--random-sizes", "60", "--patience", "5s"),
    ],
    "benchmarks.validation.simulated_machine": [
        *("--ranks", "4", "-k", "2", "--sizes", "1:64KiB:*4", "--collectives", "bcast"),
    ],
    "benchmarks.validation.smpi_accuracy": [],
}
"""Benchmark -> its options for a run of a minute: by `make thorough` alone."""
RANKS = {"collective_starts": 2, "exchange_overhead": 2}
"""Those that are programs of MPI -> on how many ranks."""
LAUNCHES = {
    "changed_network": "mpiexec",
    "emulated_nodes": "mpiexec", "emulated_overlap": "mpiexec", "emulated_senders": "mpiexec",
    "emulated_simulation": "mpiexec", "recorded_programs": "mpiexec", "collective_messages": "mpiexec",
    "first_answers": "mpiexec -n 2", "loggp_under_load": "mpiexec", "recorder": "mpiexec", "shared_memory": "mpiexec",
}  # fmt: skip
"""Those that start MPI -> how."""
EMULATED = {
    "changed_network",
    "emulated_nodes",
    "emulated_overlap",
    "emulated_senders",
    "emulated_simulation",
    "recorded_programs",
}
"""Those on emulated hosts, which need root and a network of their own."""
JUDGES = {*EMULATED, "overlap_surfaces", "recorder", "shared_memory", "start_up"}
"""Those whose exit code says whether times are as wanted, of which no test tells."""
NEEDS = {"random_agreement": "smpirun", "selector_agreement": "smpirun"}
PARTS = {"barrier_exits", "counting_messages", "queue_exchanges", "rank_report"}
"""Programs that other benchmarks start."""
ELSEWHERE = {
    "bug_suites": "clones of suites of bugs",
    "corrbench": "a clone of MPI-CorrBench", "courseware": "a clone of SMPI CourseWare",
    "llamp_tolerances": "clones of LLAMP and ATLAHS", "message_rate": "published measurements",
    "mpi4py_suite": "mpi4py's sources", "mpich_suite": "MPICH's sources", "osu_figures": "OSU's sources",
    "osu_datatypes": "osu_latency of OSU 7.4",
    "placements": "Scotch's programs",
    "peer_platforms": "other projects' platforms", "petsc4py_suite": "petsc4py's sources",
    "proxy_applications": "clones of applications", "public_record": "public records",
    "public_suites": "public projects' sources",
    "two_networks": "public records",
    "tuning_by_measurement": "public records", "emulated_tuning": "minutes of a machine without other work",
    **dict.fromkeys(
        ("emulated_collectives", "emulated_guard", "emulated_levels", "emulated_queues"), "tests/cluster"
    ),
    **dict.fromkeys(("against_c", "thread_level"), "tests/bench/test_bench_c.py"),
    "online_scale": "tests/simulate/online/test_scale.py", "trace_memory": "tests/simulate/test_trace_memory.py",
}  # fmt: skip
"""Benchmark -> what it needs that tests do not have, or which test runs it."""


@pytest.mark.parametrize("name", MODULES)
def test_a_benchmark_can_be_loaded(name):
    assert import_module(name).__doc__


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_a_benchmark_runs_on_a_small_scale(name):
    process = subprocess.run(
        [sys.executable, "-m", name, *SMALL[name]], cwd=ROOT, capture_output=True, text=True, timeout=600, check=False
    )
    assert process.returncode == 0, process.stderr
    assert process.stdout


@pytest.mark.thorough
@pytest.mark.mpi
@pytest.mark.parametrize("name", LONGER)
def test_a_longer_benchmark_runs_on_a_small_scale(name, tmp_path):
    short = name.rpartition(".")[2]
    if short in NEEDS and shutil.which(NEEDS[short]) is None:
        pytest.skip(f"{NEEDS[short]} is not installed")
    if short in EMULATED and (problem := emulated_cluster.missing()):
        pytest.skip(f"no emulated cluster here: {problem}")
    missing = [word for word in LONGER[name] if word.startswith(str(SHARED)) and not os.path.exists(word)]
    if missing:
        pytest.skip(f"no {missing[0]}")
    launcher = [find("mpiexec"), "-n", str(RANKS[short])] if short in RANKS else []
    words = [*LONGER[name]]
    if short in LAUNCHES:
        words += ["--mpiexec", LAUNCHES[short].replace("mpiexec", find("mpiexec"))]
    command = [*launcher, sys.executable, "-m", name, *words]
    environment = (NETWORK if short in EMULATED else ENVIRONMENT) | {
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])
    }
    process = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=1800, check=False
    )
    assert "Traceback" not in process.stderr
    assert process.returncode <= (short in JUDGES), process.stderr[-2000:]
    assert process.stdout


def test_every_benchmark_runs_somewhere():
    folders = [ROOT / "benchmarks" / folder for folder in ("speed", "validation")]
    programs = {
        path.stem
        for folder in folders
        for path in folder.glob("*.py")
        if re.search(r"\ndef main\(|__name__ == .__main__.", path.read_text("utf-8"))
    }
    run = {name.rpartition(".")[2] for name in (*SMALL, *LONGER)}
    assert programs - run - ELSEWHERE.keys() <= PARTS
    assert not run & ELSEWHERE.keys()
