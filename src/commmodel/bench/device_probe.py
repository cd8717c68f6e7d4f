"""Whether the MPI library takes buffers in device memory, tried in a child process. Main entry: `why_not`.

A library that cannot may crash or hang where such a buffer is given to it. So a process of its own, not connected to
the launcher, sends to itself, and looks at what arrives.
"""

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence

import numpy as np

from commmodel.results.repeating import library_variables

_SECONDS = 60.0  # in which packages are loaded, MPI and the device begun: seconds elsewhere, more from a slow disk
_SIZES = (8, 64 << 10, 4 << 20)
"""Bytes of messages of each protocol."""
_OF_LAUNCHERS = ("PMI_", "PMIX_", "OMPI_", "PRTE_", "HYDI_", "HYDRA_", "PALS_", "MPI_LOCAL")
"""Prefixes of variables that connect a rank with its launcher."""
_PROGRAM = (sys.executable, "-m", "commmodel.bench.device_probe")


def environment_alone(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without what connects a rank with its launcher, but with what tells the library to do.

    >>> environment_alone({"PMI_RANK": "1", "UCX_TLS": "tcp", "OMPI_MCA_pml": "ucx", "OMPI_COMM_WORLD_SIZE": "2"})
    {'UCX_TLS': 'tcp', 'OMPI_MCA_pml': 'ucx'}
    """
    unconnected = {name: value for name, value in environment.items() if not name.startswith(_OF_LAUNCHERS)}
    return unconnected | library_variables(environment)


def why_not(program: Sequence[str] = _PROGRAM, seconds: float = _SECONDS) -> str:
    """Return how the probe ended where device buffers cannot be sent; empty where they can."""
    try:
        done = subprocess.run(
            program, env=environment_alone(os.environ), stdin=subprocess.DEVNULL, capture_output=True, text=True,
            errors="replace", timeout=seconds, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"the probe did not end within {seconds:g} s"
    except OSError as error:
        return f"the probe did not start: {error.strerror}"
    if not done.returncode:
        return ""
    if done.returncode < 0:
        return f"the probe ended by signal {-done.returncode}, {signal.strsignal(-done.returncode)}"
    lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    return f"the probe said: {lines[-1]}" if lines else f"the probe ended with {done.returncode}"


def main() -> int:
    """Send and combine device buffers of some sizes within this process; print what went wrong and return 1, else 0."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a crash is an answer here
    from mpi4py import MPI

    from commmodel.bench import accelerator

    device = accelerator.use(0)
    for size in _SIZES:
        content = (np.arange(size) % 251).astype(np.uint8)
        sent = device.device_array(size)
        device.copy_in(content, sent)
        for name in ("Sendrecv", "Allreduce"):
            received, host = device.device_array(size), np.zeros(size, np.uint8)
            try:
                if name == "Sendrecv":
                    MPI.COMM_SELF.Sendrecv([sent, MPI.BYTE], 0, 0, [received, MPI.BYTE], 0, 0)
                else:
                    MPI.COMM_SELF.Allreduce([sent, MPI.UINT8_T], [received, MPI.UINT8_T], MPI.BOR)
            except MPI.Exception as error:
                print(error.Get_error_string().replace("\n", " "))
                return 1
            device.copy_out(received, host)
            if not np.array_equal(host, content):
                print(f"{name}: of {size} bytes others arrived than were sent")
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
