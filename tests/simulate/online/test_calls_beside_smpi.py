"""Forms of collective calls in running programs, against the times that SimGrid's SMPI 3.32 has for them."""

import json
import re
import subprocess
import sys

import pytest
from support.paths import ROOT
from support.simulated_runs import simulable_program
from tools.peers import platforms

pytestmark = [pytest.mark.mpi, pytest.mark.simulated]

TIMES = {
    ("smpi", "flat", "beside", "bcast", "80000"): 0.011715965254,
    ("smpi", "flat", "ordered", "allreduce", "800"): 0.001666952424,
    ("smpi", "flat", "pairs", "allreduce", "80000"): 0.004673312452,
    ("smpi", "overheads", "blocking", "allgather", "20000"): 0.005202277742,
    ("smpi-impi", "flat", "blocking", "gather", "800"): 0.001086612522,
    ("smpi-impi", "overheads", "blocking", "allgatherv", "80000"): 0.038124360103,
    ("smpi-mpich", "overheads", "blocking", "alltoallv", "800"): 0.000940201486,
    ("smpi-ompi", "flat", "blocking", "bcast", "800"): 0.000385736322,
    ("smpi-ompi", "overheads", "blocking", "bcast", "32"): 0.000636341745,
    ("smpi-mvapich2", "flat", "ordered", "reduce", "800"): 0.000624037409,
}  # fmt: skip
"""Selector, platform, form, operation, bytes -> seconds of two calls on 8 hosts."""


@pytest.mark.parametrize("case", TIMES, ids=" ".join)
def test_time(case, tmp_path):
    selector, kind, *words = case
    program = simulable_program(tmp_path, (ROOT / "tools" / "peers" / "calls.c").read_text())
    file = tmp_path / "platform.xml"
    file.write_text(platforms.platform(kind, 8))
    options = ("-p", "8", "--compute", "0", "--selector", selector, "--json")
    command = [sys.executable, "-m", "commmodel", "simulate", str(file), "run", *options, "--", program, *words, "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert json.loads(done.stdout.splitlines()[-1])["messages"] > 0
    assert float(re.search(r"^seconds (\S+)$", done.stderr, re.MULTILINE)[1]) == pytest.approx(TIMES[case], rel=1e-6)
