"""Of tests under Slurm: what it has to speak, and waiting."""

import sys
import time
from pathlib import Path

MPI = "pmix" if list(Path(sys.prefix, "lib").glob("libmpi.so.40*")) else "pmi2"
"""What Slurm has to speak for the MPI library of this environment."""


def wait_until(is_so, seconds=60):
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.2)
