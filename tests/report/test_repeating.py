"""How to do it again: the commands of a report repeat what made it."""

import shlex

import pytest
from msgspec.structs import replace

from commmodel.machine import Machine, Origin, Segment
from commmodel.report.kit.blocks import CodeBlock
from commmodel.report.measurements.repeating import repeat_section
from commmodel.results import Header, Host, Launch, Library, Measurements, Rank
from commmodel.results.records import UNKNOWN_LIBRARY
from commmodel.results.repeating import launcher_words


def header(library="mpich", hosts=1, ranks=2, bound=True, **rest):
    version = {"mpich": "MPICH Version: 5.0.2", "openmpi": "Open MPI v5.0.11"}[library]
    return Header(
        "commmodel-results", 1, "2026-11-28T10:00:00+00:00", ("python", "-m", "commmodel.bench", "-o", "a.jsonl"),
        Library(version, library), tuple(Host(f"n{host}") for host in range(hosts)),
        tuple(Rank(rank, rank * hosts // ranks, bound=bound) for rank in range(ranks)), **rest,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("library", "hosts", "ranks", "bound", "job", "words"),
    [
        ("mpich", 1, 2, True, {}, "mpiexec -n 2 -bind-to core"),
        ("mpich", 1, 2, False, {}, "mpiexec -n 2"),
        ("mpich", 2, 8, True, {}, "mpiexec -n 8 -ppn 4 -bind-to core"),
        ("mpich", 2, 3, False, {}, "mpiexec -n 3"),
        ("openmpi", 1, 2, True, {}, "mpiexec -n 2 --bind-to core"),
        ("openmpi", 2, 4, False, {}, "mpiexec -n 4 --map-by ppr:2:node --bind-to none"),
        (
            "openmpi", 2, 4, True, {"SLURM_JOB_ID": "7"},
            "srun --kill-on-bad-exit=1 -n 4 -N 2 --ntasks-per-node=2 --cpu-bind=cores",
        ),
    ],
)  # fmt: skip
def test_the_launcher_places_and_binds_as_it_was(library, hosts, ranks, bound, job, words):
    assert shlex.join(launcher_words(header(library, hosts, ranks, bound, job=job))) == words


def code_of(section):
    return "\n".join(line for block in section.blocks if isinstance(block, CodeBlock) for line in block.lines)


def test_the_commands_name_the_files_the_variables_and_the_page():
    variables = {"UCX_TLS": "tcp,self", "MPICH_X": "a b"}
    measurements = Measurements((Launch(header(environment=variables), ()), Launch(header(), ())))
    machine = Machine("m", (Segment("all"),), origin=Origin(command=("commmodel", "fit", "a.jsonl", "-o", "m.toml")))
    section = repeat_section(measurements, machine, ("commmodel", "report", "a.jsonl", "m.toml", "-o", "r.html"))
    assert code_of(section).splitlines() == [
        "export MPICH_X='a b'",
        "export UCX_TLS=tcp,self",
        "mpiexec -n 2 -bind-to core python -m commmodel.bench -o a.jsonl",
        "unset MPICH_X UCX_TLS",
        "mpiexec -n 2 -bind-to core python -m commmodel.bench -o a.jsonl",
        "commmodel fit a.jsonl -o m.toml",
        "commmodel report a.jsonl m.toml -o r.html",
    ]


def test_launches_of_one_command_are_one_command_that_writes_where_the_page_reads():
    words = ("python", "-m", "commmodel.bench", "pingpong", "--json", "-o", "/far/.a.jsonl.launch")
    launch = Launch(replace(header(), command=words), ())
    origin = Origin(command=("commmodel", "fit", "/far/a.jsonl", "-o", "/far/m.toml"))
    page = ("commmodel", "report", "b c/renamed.jsonl", "b c/m2.toml", "-o", "b c/r.html")
    section = repeat_section(Measurements((launch, launch)), Machine("m", (Segment("all"),), origin=origin), page)
    assert code_of(section).replace(" \\\n   ", "").splitlines() == [
        "python -m commmodel.bench pingpong --launches 2 --launcher 'mpiexec -n 2 -bind-to core' -o a.jsonl",
        "commmodel fit a.jsonl -o m.toml",
        "commmodel report a.jsonl m.toml -o r.html",
    ]


def test_what_no_file_tells_is_not_made_up():
    without = Header("commmodel-results", 1, "", (), Library("Intel MPI"), (), ())
    section = repeat_section(Measurements((Launch(without, ()),)), None, ())
    assert code_of(section) == ""
    assert section.blocks[0].text == "The files do not tell by which commands the launches were measured."


@pytest.mark.parametrize("library", [f"{UNKNOWN_LIBRARY} OSU output)", "Open MPI"])
def test_the_name_of_another_suites_program_is_no_command(library):
    foreign = Header("commmodel-results", 1, "", ("osu_latency",), Library(library), (), ())
    section = repeat_section(Measurements((Launch(foreign, ()),)), None, ("commmodel", "report", "a.txt"))
    assert section.blocks[0].text == "The files do not tell by which commands the launches were measured."
    assert code_of(section) == "commmodel report a.txt"
