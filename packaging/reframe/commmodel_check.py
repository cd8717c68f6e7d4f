"""ReFrame tests: what a message costs, and whether programs send what they did. commmodel must be on the path.

    reframe -c commmodel_check.py -r -n CommModelPingPong
    cd examples/guard; commmodel guard --accept; reframe -c ... -r -n CommModelGuard -S folder=$PWD

The first needs a system whose launcher starts two ranks. References of a site make them fail, as of any test.
"""

import json
import os

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import performance_function, run_after, sanity_function, variable


@rfm.simple_test
class CommModelPingPong(rfm.RunOnlyRegressionTest):
    """Latency and bandwidth of a message between two ranks, from the model of what was measured."""

    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    num_tasks = 2
    time = variable(str, value="30s")
    executable = "python3"
    postrun_cmds = [
        "commmodel predict results.jsonl send -n 8 --json > small.json",
        "commmodel predict results.jsonl send -n 1MiB --json > large.json",
    ]

    @run_after("init")
    def set_options(self):
        """Choose what is run."""
        words = ["--quick", "--time", self.time, "-o", "results.jsonl"]
        self.executable_opts = ["-m", "commmodel.bench", "pingpong", *words]

    @sanity_function
    def is_measured(self):
        """Return whether there are records."""
        return sn.assert_found(r"results\.jsonl: \d+ records", self.stdout)

    @performance_function("us")
    def latency(self):
        """Return the time of 8 bytes."""
        return 1e6 * self._seconds("small.json")

    @performance_function("GB/s")
    def bandwidth(self):
        """Return the rate of 1 MiB."""
        return 1e-9 * 2**20 / self._seconds("large.json")

    def _seconds(self, name):
        with open(os.path.join(self.stagedir, name)) as file:
            return json.load(file)["seconds"]


@rfm.simple_test
class CommModelGuard(rfm.RunOnlyRegressionTest):
    """Messages of simulated programs, by a guard file: exact, on any node."""

    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    local = True
    folder = variable(str, value=".")
    executable = "commmodel"

    @run_after("init")
    def set_options(self):
        """Choose what is run."""
        self.prerun_cmds = [f"cd '{os.path.abspath(self.folder)}'"]
        self.executable_opts = ["guard", "--json"]

    def _answer(self):
        with open(os.path.join(self.stagedir, str(self.stdout))) as file:
            return json.load(file)

    @sanity_function
    def holds(self):
        """Return the guard's verdict."""
        return sn.assert_true(self._answer()["holds"], msg=self._answer()["verdict"])

    @performance_function("messages")
    def messages(self):
        """Return those of all runs."""
        return sum(run["messages"] for run in self._answer()["runs"])
