"""Commands under a real Slurm whose MpiDefault is none, as an ordinary user with limited memory."""

import pytest
from support.slurm import MPI, wait_until

PROGRAM = "python -m mpi4py.bench ringtest"
ALONE = "srun has started 2 ranks, each of which is alone: srun --mpi=pmi2 for MPICH, srun --mpi=pmix for Open MPI, or"


@pytest.mark.parametrize("program", [PROGRAM, "sleep 2"])
def test_a_recording_that_cannot_be_made_ends_all_ranks(slurm, program):
    (slurm.home / "there").mkdir(exist_ok=True)
    done = slurm.run(f"srun --mpi={MPI} -N 2 -n 3 commmodel record -o there -- {program}", timeout=40)
    assert done.returncode == 2
    assert done.stdout.count("commmodel:") == 1
    assert f"commmodel: {slurm.home}/there exists: choose another folder, or replace it with --force" in done.stdout


def test_a_recording_into_a_folder_that_is_read_only_ends_all_ranks(slurm):
    done = slurm.run(f"srun --mpi={MPI} -n 2 commmodel record -o /proc/recording -- {PROGRAM}", timeout=40)
    assert done.returncode == 2
    assert done.stdout.count("commmodel:") == 1


@pytest.mark.parametrize("command", [
    f"commmodel record -o alone -- {PROGRAM}", "python -m commmodel.bench --quick -o alone.jsonl",
    "python -m pytest -q -p no:cacheprovider -p no:mpi-pytest test_mark.py",
])  # fmt: skip
def test_ranks_that_are_alone_are_told_once_with_the_cure(slurm, command):
    (slurm.home / "test_mark.py").write_text(
        "import pytest\n@pytest.mark.scales('n', over='n', at=[10, 20, 40, 80])\ndef test_it(n): sum(range(n))\n"
    )
    done = slurm.run(f"srun -n 2 {command}", timeout=60)
    assert done.returncode in (3, 4)
    assert done.stdout.count(ALONE) == 1
    assert not (slurm.home / "alone").exists()
    assert not (slurm.home / "alone.jsonl").exists()


def test_a_recording_of_all_ranks_is_made_where_slurm_speaks_their_language(slurm):
    done = slurm.run(f"export SLURM_MPI_TYPE={MPI}; srun -N 2 -n 4 commmodel record -o made -- {PROGRAM}")
    assert done.returncode == 0, done.stdout
    assert len([*(slurm.home / "made").glob("rank-*.log")]) == 4


def test_a_recording_into_a_folder_of_each_node_is_told_at_the_start(slurm):
    done = slurm.run(f"srun --mpi={MPI} -N 2 -n 2 commmodel record -o /tmp/recording -- {PROGRAM}")
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("/tmp/recording is a folder of its own on the nodes of 1 of 2 ranks: name one") == 1  # noqa: S108


def test_a_program_runs_simulated_within_the_limit_of_memory(slurm):
    done = slurm.run(f"srun -n 1 commmodel simulate graphene run -p 4 -- {PROGRAM}")
    assert done.returncode == 0, done.stdout
    assert "Traceback" not in done.stdout


def test_a_sweep_is_submitted_once_and_tells_what_failed(slurm):
    for name, words in {"good": "", "bad": "--launcher 'srun --mpi=none --ntasks={processes}'"}.items():
        bench = "--quick --time 2s pingpong --sizes 8"
        command = f"commmodel sweep make {name} -p 2 --launches 2 --slurm=--time=5 -k 2 {words} -- {bench}"
        done = slurm.run(f"{command} && export SLURM_MPI_TYPE={MPI} && bash {name}/submit.sh && bash {name}/submit.sh")
        assert done.stdout.count("Submitted batch job") == 1, done.stdout
    slurm.run('while [ -n "$(squeue -h --me)" ]; do sleep 0.5; done', timeout=150)
    done = slurm.run("commmodel sweep gather good -o good.jsonl")
    assert "2 launches" in done.stdout, done.stdout
    done = slurm.run("commmodel sweep status bad")
    assert done.returncode == 1
    assert "failed: 2 jobs: commmodel.bench: srun has started 2 ranks" in done.stdout
    assert "they have failed: 2 jobs: " in slurm.run("commmodel sweep gather bad -o bad.jsonl").stdout


def test_an_interactive_step_may_start_launches(slurm):
    bench = "python -m commmodel.bench pingpong --sizes 8 --time 1 --launches 2"
    launcher = f"srun --overlap --kill-on-bad-exit=1 --mpi={MPI} -n 2"
    done = slurm.run(f"salloc -n 2 srun --overlap -n 1 {bench} --launcher '{launcher}' -o steps.jsonl")
    assert done.returncode == 0, done.stdout
    assert (slurm.home / "steps.jsonl").read_text().count('"type":"header"') == 2
    assert '"SLURM_JOB_ID"' in (slurm.home / "steps.jsonl").read_text()


JOB = """\
#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --time=5 --output=stopped.out --open-mode=append --requeue
[ -e stopped.jsonl ] && resume=--resume || resume=
srun --mpi=@MPI@ --kill-on-bad-exit=1 python -m commmodel.bench $resume pingpong --time 100 -o stopped.jsonl
echo "srun returned $?"
""".replace("@MPI@", MPI)


def test_a_job_that_is_warned_and_requeued_ends_and_goes_on(slurm):
    output, results = slurm.home / "stopped.out", slurm.home / "stopped.jsonl"
    for attempt in (1, 2):
        job = slurm.submit(JOB)
        wait_until(lambda: results.exists() and results.read_text().count('"type":"record"') > 4 * attempt)  # noqa: B023
        slurm.run(f"scancel --signal=TERM {job}")
        slurm.wait(job)
        text = output.read_text()
        assert text.count("commmodel.bench: terminated: what was measured is kept: go on with --resume") == attempt, (
            text
        )
        assert text.count("srun returned 143") == attempt, text
    assert results.read_text().count('"resumes":true') == 1
    assert "to complete it: srun --kill-on-bad-exit=1 -n 2 python -m" in slurm.run("commmodel fit stopped.jsonl").stdout
    job = slurm.submit(JOB.replace("stopped", "again"))
    results = slurm.home / "again.jsonl"
    wait_until(lambda: results.exists() and results.read_text().count('"type":"record"') > 4)
    slurm.run(f"scontrol requeue {job}; until squeue -h -t PD | grep {job}; do sleep 0.5; done", 40)
    slurm.run(f"scontrol update job={job} starttime=now")  # else in two minutes
    wait_until(lambda: '"resumes":true' in results.read_text())
    slurm.run(f"scancel {job}")
