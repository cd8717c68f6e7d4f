"""Ramble's definition of commmodel: figures of merit of a ping-pong, and the verdict of a guard.

Copied to ``applications/commmodel/application.py`` of a repository of Ramble, which ``ramble repo add`` adds.
"""

from ramble.appkit import *


class Commmodel(ExecutableApplication):
    """Models of a machine's MPI communication: measure, predict, guard."""

    name = "commmodel"

    tags("synthetic-benchmarks", "mpi")

    software_spec("py-commmodel", pkg_spec="py-commmodel", package_manager="spack*")

    executable(
        "measure", "python3 -m commmodel.bench {kernels} --time {time} -o {experiment_run_dir}/results.jsonl --force",
        use_mpi=True,
    )  # fmt: skip
    executable("small", "echo small $(commmodel predict {experiment_run_dir}/results.jsonl send -n 8 --json)")
    executable("large", "echo large $(commmodel predict {experiment_run_dir}/results.jsonl send -n 1MiB --json)")
    executable("guard", "cd {folder} && commmodel guard {guard} --json")

    workload("pingpong", executables=["measure", "small", "large"])
    workload("guard", executables=["guard"])

    workload_variable("kernels", default="pingpong", description="Kernels to measure", workloads=["pingpong"])
    workload_variable("time", default="30s", description="Time of the measurement", workloads=["pingpong"])
    workload_variable("guard", default="guard.toml", description="Guard file", workloads=["guard"])
    workload_variable("folder", default=".", description="Folder of the programs", workloads=["guard"])

    figure_of_merit("records", fom_regex=r".*results\.jsonl: (?P<records>\d+) records", group_name="records", units="")
    for size in ("small", "large"):  # 8 B and 1 MiB
        figure_of_merit(
            f"{size} message", fom_regex=size + r' \{"seconds":(?P<seconds>[0-9.e+-]+)', group_name="seconds", units="s"
        )
    figure_of_merit("holds", fom_regex=r'\{"holds":(?P<holds>true|false)', group_name="holds", units="")

    success_criteria(
        "measured", mode="string", match=r".*(results\.jsonl: \d+ records|\"holds\":true)", file="{log_file}"
    )
