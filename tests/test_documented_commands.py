"""The shell commands of the documentation run as they stand, each page's in one folder, on a small scale."""

import re
import shutil
import subprocess

import pytest
from support.documented_commands import ELSEWHERE, PAGES, blocks, excuse, questions
from support.launching import ENVIRONMENT
from support.paths import ROOT
from support.small_program import command, script

WITH_COMMANDS = [page for page in PAGES if blocks(page)]
DEFAULT_OUTPUTS = {"-m commmodel.bench": "results.jsonl", "commmodel fit ": "machine.toml"}
"""What writes a file that a line does not name -> that file."""
VERDICTS = {"check", "compare"}
"""Verbs whose exit code 1 is an answer."""
MEASURED = (
    "mpiexec -n 2 python -m commmodel.bench threshold loggp plogp local collective -o machine.jsonl",
    "mpiexec -n 2 python -m commmodel.bench pingpong burst queue progress bandwidth -o overlap.jsonl",
    "mpiexec -n 6 python -m commmodel.bench collective --process-counts 2:all --sizes 8 -o collectives.jsonl",
    "mpiexec -n 6 env LD_PRELOAD=$(commmodel list memory-library) python -m commmodel.bench memory -o memory.jsonl",
    "mpiexec -n 6 python -m commmodel.bench matrix --visits 1 -o last-week.jsonl",
    "commmodel fit machine.jsonl -o machine.toml",
    "commmodel tune machine.toml -p 2 --library mpich -o rules.json",
    "commmodel fit overlap.jsonl -o overlap.toml",
    "mpiexec -n 2 commmodel record -o recording -- python app.py",
)
"""What makes files that pages read but do not make."""
COPIES = {
    "machine.jsonl": ("before.jsonl", "large-run.jsonl", "mpich-4.1.0.jsonl", "mpich-4.2.0.jsonl", "mpich-4.3.1.jsonl"),
    "collectives.jsonl": ("released.jsonl", "results-1.jsonl", "results-2.jsonl", "results.jsonl"),
    "recording": ("FOLDER", "recording-64"),
    "app.py": ("09-task-pull.py",),
}
"""A file -> others with the same content, which pages read."""
OF_PAGES = {
    "cluster.md": {"results-1.jsonl": "machine.jsonl", "results-2.jsonl": "machine.jsonl"},
    "gallery.md": {"results.jsonl": "machine.jsonl"},
    "resume.md": {"results.jsonl": "machine.jsonl", "other.jsonl": "machine.jsonl"},
    "tutorial.md": {"results.jsonl": "machine.jsonl"},
}
"""Page -> files of other contents, by the name of the input that they are."""


def durations(*calls):
    """Return rows of single calls, as simulators are calibrated with: start and duration in seconds."""
    sizes = [int(1.3**power) for power in range(6, 60)]
    rows = [(call, size, 1e-6 + size / 1e9) for size in sizes for call in calls]
    return "".join(f"{call},{size},{number}.0,{seconds:.6e}\n" for number, (call, size, seconds) in enumerate(rows))


def osu(title, *rows):
    """Return a table of OSU: bytes and us."""
    column = "Latency " if title == "Latency" else "Avg Latency"
    return f"# OSU MPI {title} Test v7.5\n# Size {column}(us)\n" + "".join(f"{size} {time}\n" for size, time in rows)


def job(nodes, per_node, command):
    """Return the script of a job."""
    return f"#!/bin/bash\n#SBATCH --nodes={nodes} --ntasks-per-node={per_node}\nsrun {command}\n"


LATENCIES = osu("Latency", (1, 1.0), (1024, 1.5), (65536, 9.0), (1 << 20, 110.0))
FILES = {
    **dict.fromkeys(("osu_latency.txt", "rhel8.txt", "ubuntu2204.txt", "alinux2.txt"), LATENCIES),
    "osu-results/latency.txt": LATENCIES,
    "osu-results/latency.sh": job(2, 1, "osu_latency > latency.txt"),
    **{
        f"osu-results/allreduce-{nodes}.txt": osu("Allreduce Latency", (8, 5 + nodes), (1 << 20, 900 + 100 * nodes))
        for nodes in (2, 4, 8)
    },
    **{
        f"osu-results/allreduce-{nodes}.sh": job(nodes, 32, f"osu_allreduce > allreduce-{nodes}.txt")
        for nodes in (2, 4, 8)
    },
    "graphene_eth_PingPong.csv": durations("MPI_Send", "MPI_Recv"),
    "graphene_eth_Isend.csv": durations("MPI_Isend"),
    "graphene_eth_Recv.csv": durations("MPI_Recv"),
    "extra-p.txt": "PARAMETER p\nPOINTS 2 4 8\nREGION solve\nMETRIC time\nDATA 1\nDATA 2\nDATA 3\n",
    "pingpong_1.txt": osu("Latency", (1, 1.0), (256, 1.1), (1024, 1.5), (65536, 9.0)),
    "pingpong_2.txt": osu("Latency", (1, 1.01), (256, 1.12), (1024, 1.49), (65536, 9.1)),
    "app.py": "from mpi4py import MPI\nfor _ in range(3):\n    MPI.COMM_WORLD.allreduce(1)\n",
    "platform.toml": (ROOT / "tests/frozen/platform-1.toml").read_text("utf-8"),
    "expectations.toml": '[[expectation]]\nname = "bcast"\nexpect = "log p"\n',
    "measured.csv": "rank,state,start,end\n0,compute,0.0,0.1\n1,compute,0.0,0.1\n",
    "list.txt": "0.trace\n1.trace\n",
    "0.trace": "0 init\n0 send 1 0 1000000 0\n0 finalize\n",
    "1.trace": "1 init\n1 recv 0 0 1000000 0\n1 finalize\n",
    "osu_mbw_mr.txt": "# OSU MPI Multiple Bandwidth / Message Rate Test v7.5\n# [ pairs: 32 ] [ window size: 64 ]\n"
    "# Size MB/s Messages/s\n1 3.00 3000000.00\n1024 900.00 878906.25\n65536 5000.00 76293.95\n",
    "pairs.csv": "from,to,message_size,seconds\n"
    + "".join(f"n{left},n{right},8,1e-6\n" for left in range(6) for right in range(6) if left != right),
    **dict.fromkeys(("last-year.txt", "today.txt"), LATENCIES),
    **{
        f"data_MPI_{name}_default.dat": "#@reproMPIcommitSHA1=2e73\n#@nprocs=4\n#@nrep=2\ntest nrep count runtime_sec\n"
        + "".join(f"MPI_{name} {row} {size} 0.00001{row}\n" for size in (8, 1024) for row in range(2))
        for name in ("Gather", "Allgather")
    },
    "mine.txt": "message_size,seconds\n1,1e-6\n1024,2e-6\n",
    "test_sorting.py": "import random\nimport pytest\n\n\n"
    "@pytest.mark.scales('n log n', over='n', at=[100, 200, 400, 800, 1600], repetitions=3)\n"
    "def test_sorting(n):\n    sorted(random.choices(range(n), k=n))\n",
}
"""Files that pages read, of a reader's own."""

pytestmark = [pytest.mark.thorough, pytest.mark.mpi]


def run(line, folder):
    """Run a line of the shell in a folder whose programs are small; what it writes may be there from a line before."""
    outputs = re.findall(r" (?:-o|--scaling-results) (\S+)", line)
    for verb, name in DEFAULT_OUTPUTS.items():
        outputs += [name] if verb in line and not outputs else []
    for path in [*(folder / name for name in outputs if "--resume" not in line), *folder.glob("*.html")]:
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    environment = ENVIRONMENT | {"PATH": f"{folder}/.venv/bin:{ENVIRONMENT['PATH']}", "NO_COLOR": "1"}
    return subprocess.run(
        ["bash", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False
    )


def complaints(lines, folder):
    """Run lines in a folder; return those that did not end well, with what they said."""
    wrong = []
    for line in lines:
        if excuse(line) is None:
            completed = run(line, folder)
            verb = line.partition("commmodel ")[2].partition(" ")[0]
            if completed.returncode > (verb in VERDICTS) or "Traceback" in completed.stderr:
                wrong.append(f"{line}\nexit code {completed.returncode}\n{completed.stderr[-1500:]}")
    return wrong


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Make what pages read."""
    folder = tmp_path_factory.mktemp("inputs")
    shutil.copytree(ROOT / "docs/examples", folder, dirs_exist_ok=True)
    shutil.rmtree(folder / "recording")
    programs = folder / ".venv/bin"
    programs.mkdir(parents=True)
    for name in ("mpiexec", "srun", "python", "pytest", "commmodel"):
        (programs / name).write_text(script(name), "utf-8")
        (programs / name).chmod(0o755)
    for side in (".venv-released", "old", "new"):
        (folder / side).symlink_to(".venv")
    (folder / "osu-results").mkdir()
    for name, content in FILES.items():
        (folder / name).write_text(content, "utf-8")
    for line in MEASURED:
        completed = run(line, folder)
        assert completed.returncode == 0, f"{line}\n{completed.stderr}"
    assert run("cp machine.jsonl after.jsonl", folder).returncode == 0
    for name, copies in COPIES.items():
        for other in copies:
            assert run(f"cp -r {name} {other}", folder).returncode == 0
    return folder


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.stem)
def test_the_commands_of_a_page_run(page, inputs, tmp_path):
    folder = tmp_path / "folder"
    shutil.copytree(inputs, folder, symlinks=True)
    for name, other in OF_PAGES.get(page.name, {}).items():
        shutil.copy(inputs / other, folder / name)
    wrong = [
        f"{page.relative_to(ROOT)}:{block.line}: {complaint}"
        for block in blocks(page)
        for complaint in complaints(block.commands, folder)
    ]
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize("lines", questions(), ids=lambda lines: lines[0][:40])
def test_what_a_question_says_to_type_runs(lines, inputs, tmp_path):
    folder = tmp_path / "folder"
    shutil.copytree(inputs, folder, symlinks=True)
    wrong = complaints(lines, folder)
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize("pattern", ELSEWHERE)
def test_what_is_not_run_is_there(pattern):
    lines = [line for page in WITH_COMMANDS for block in blocks(page) for line in block.commands]
    assert any(excuse(line) == ELSEWHERE[pattern] for line in lines)


def test_a_small_program_places_no_ranks():
    words = ["-n", "64", "-ppn", "16", "--bind-to", "core", "python", "-m", "commmodel.bench", "--time", "5min"]
    assert command("mpiexec", words)[1:3] == ["-n", "2"]
    assert command("python", words[7:])[-2:] == ["--time", "2s"]
    assert command("commmodel", ["sweep", "make", "s", "--launches", "10", "--", "memory"])[-1] == "1s"
