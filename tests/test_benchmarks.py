"""Benchmarks that nothing else runs: each can be loaded, and those that need no MPI run on a small scale."""

import subprocess
import sys
from importlib import import_module

import pytest
from support.paths import ROOT

MODULES = sorted(
    f"benchmarks.{path.parent.name}.{path.stem}"
    for folder in ("speed", "validation")
    for path in (ROOT / "benchmarks" / folder).glob("*.py")
    if "\ndef main(" in (text := path.read_text("utf-8")) and "from mpi4py" not in text  # what starts MPI is launched
)
SMALL = {
    "benchmarks.speed.critical_path": ["--rounds", "1"],
    "benchmarks.speed.model_surfaces": ["--rounds", "1"],
    "benchmarks.validation.guard_alarms": ["--trials", "2", "--files", "1"],
    "benchmarks.validation.loggp_recovery": ["--sets", "1", "--samples", "20"],
    "benchmarks.validation.overlap_losses": ["--problems", "5"],
    "benchmarks.validation.scaling_models": ["--kernels", "2", "--sets", "1", "--theirs", "1"],
    "benchmarks.validation.speedup_curves": ["--kernels", "lu", "--classes", "S", "--processes", "8:8:*2"],
}
"""Benchmark -> its options for a run of seconds."""


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
