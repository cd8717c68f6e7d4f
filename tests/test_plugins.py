"""Parts of one's own: the examples of the guide, in a script and as plugins, and plugins that are damaged."""

import json
import os
import re
import shutil
import subprocess
import sys
import traceback

import pytest
from support.launching import ENVIRONMENT, find
from support.paths import ROOT

from commmodel import collectives, formats, optimize, scaling, simulate
from commmodel.collectives import library, vector_round
from commmodel.collectives.library import SelectionRule, Selector
from commmodel.errors import InputError, blame, blamed
from commmodel.plugins import Parts
from commmodel.results import describe, load

EXAMPLES = ROOT / "docs/examples/extend"
GUIDE = ROOT / "docs/howto/extend.md"


def distribution(folder, group, module, text=None):
    """Install a module, an example of the guide or a text, as a distribution that names it as an entry point."""
    if text is None:
        shutil.copy(EXAMPLES / f"{module}.py", folder)
    else:
        (folder / f"{module}.py").write_text(text)
    about = folder / f"{module}-1.5.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.5\n")
    (about / "entry_points.txt").write_text(f"[commmodel.{group}]\n{module} = {module}\n")


def python(folder, *words):
    """Run Python with a folder of distributions."""
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, *words]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": path}
    )


def printed(folder, *words):
    """Return what a program that ends well prints."""
    done = python(folder, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def command(folder, words):
    return python(folder, "-m", "commmodel", *words.split())


def test_the_guide_shows_every_example_as_it_is_and_each_is_short():
    examples = [path for path in EXAMPLES.iterdir() if path.is_file()]
    assert examples
    for path in examples:
        assert f"{{literalinclude}} ../examples/extend/{path.name}\n" in GUIDE.read_text(), path.name
        assert len(path.read_text().splitlines()) <= 32, path.name


def test_an_algorithm_of_a_script_is_verified_built_simulated_and_predicted():
    text = (
        "import shifted\n"
        "from commmodel import collectives, predict, simulate\n"
        "for p in 1, 2, 5, 8: collectives.verify('allgather', 'shifted', p)\n"
        "problem = collectives.Problem(8, 1024)\n"
        "print(collectives.build('allgather', 'shifted', problem).messages)\n"
        "print(simulate.collective('allgather', 1024, 8, on='graphene', algorithm='shifted').messages)\n"
        "place = simulate.scenario.machine_of_parameters('L=2500ns,o=1500ns,g=1us,G=6ps')\n"
        "print(predict.collective(place, 'allgather', problem, algorithm='shifted').messages)"
    )
    assert printed(EXAMPLES, "-c", text).split() == ["56"] * 3


def test_an_algorithm_of_a_distribution_is_found_where_its_name_is_typed_or_all_are_listed(tmp_path):
    distribution(tmp_path, "algorithms", "shifted")
    done = command(tmp_path, "simulate graphene allgather -p 8 -n 1KiB --algorithm shifted --json")
    assert (done.returncode, json.loads(done.stdout)["messages"]) == (0, 56), done.stderr
    done = command(tmp_path, "predict L=2500ns,o=1500ns,g=1us,G=6ps allgather -p 8 -n 1KiB --algorithm shifted --json")
    assert (done.returncode, json.loads(done.stdout)["algorithm"]) == (0, "shifted"), done.stderr
    rows = json.loads(command(tmp_path, "list algorithms --json").stdout)["algorithms"]
    summaries = {row["name"]: row["summary"] for row in rows}
    assert summaries["allgather shifted"] == "In round i process r sends its own block to r + i, for P − 1 rounds."


def test_an_algorithm_of_a_distribution_is_among_those_that_are_tuned(tmp_path):
    distribution(tmp_path, "algorithms", "shifted")
    text = (
        "from commmodel.collectives.library.tuning import tune\n"
        "rules = tune(lambda operation, name, n, P: name != 'shifted', ['allgather'], [8], [4]).rules\n"
        "print(*(rule.algorithm for rule in rules))"
    )
    assert printed(tmp_path, "-c", text).split() == ["shifted"]


def test_an_algorithm_that_loses_a_block_is_not_verified():
    text = (EXAMPLES / "shifted.py").read_text().replace("range(1, ", "range(2, ")
    done = python(
        EXAMPLES, "-c", f"{text}\nfrom commmodel.collectives import verify\nverify('allgather', 'shifted', 3)"
    )
    assert done.stderr.splitlines()[-1] == (
        "commmodel.collectives.verification.ScheduleError: allgather shifted, 3 processes, 0 bytes: at the end: "
        "process 0, block 2: has the data of nobody, not of 2"
    )


def test_entry_points_are_left_alone_where_every_name_is_known(tmp_path):
    distribution(tmp_path, "algorithms", "broken", "raise OSError('no such device')")
    assert command(tmp_path, "simulate graphene allgather -p 8 -n 1KiB --algorithm ring").returncode == 0
    assert command(tmp_path, "predict L=2500ns,o=1500ns,g=1us,G=6ps bcast -p 8 -n 1KiB").returncode == 0


@pytest.mark.parametrize("words", ["list algorithms", "simulate graphene allgather -p 8 -n 1 --algorithm shiftde"])
def test_a_damaged_distribution_is_named_in_one_line(tmp_path, words):
    distribution(tmp_path, "algorithms", "broken", "raise OSError('no such device')")
    done = command(tmp_path, words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "commmodel: broken 1.5: entry point broken of commmodel.algorithms fails: OSError: no such device: repair or "
        "uninstall broken\n"
    )


def test_a_name_is_taken_once_but_a_module_may_register_it_again():
    def first():
        pass

    def second():
        pass

    second.__module__ = "elsewhere"
    parts = Parts("unknown colour", "commmodel.nosuch", {"red": 1})
    parts.add("mauve", 1, first)
    parts.add("mauve", 2, first)
    assert parts["mauve"] == 2
    with pytest.raises(InputError, match=f"'mauve' is a name of {__name__} already: choose another one"):
        parts.add("mauve", 3, second)
    with pytest.raises(InputError, match="'red' is a name of commmodel already"):
        parts.add("red", 3, second)


LATENCIES = "mpirun says hello\nlatencies: bytes, microseconds\n0 1.5\n\n8 1.75\n"


def test_a_reader_of_a_script_recognises_its_file_and_names_a_line_that_is_wrong(tmp_path):
    (tmp_path / "right.txt").write_text(LATENCIES)
    (tmp_path / "wrong.txt").write_text(f"{LATENCIES}16 soon\n")
    text = (
        "import sys; sys.path.append(sys.argv[1])\n"
        "import latencies\n"
        "from commmodel import formats\n"
        "print([(r.configuration.message_size, r.samples) for r in formats.load('right.txt').records])\n"
        "formats.load('wrong.txt')"
    )
    done = python(tmp_path, "-c", text, str(EXAMPLES))
    assert done.stdout == "[(0, (1.5e-06,)), (8, (1.75e-06,))]\n"
    assert done.stderr.splitlines()[-1] == (
        "commmodel.errors.DamagedFileError: wrong.txt: line 6: microseconds: 'soon' is no finite number from 0 up; "
        "restore or remove the line"
    )


def test_a_reader_of_a_distribution_serves_commands_and_is_listed(tmp_path):
    distribution(tmp_path, "formats", "latencies")
    rows = "".join(f"{1 << i} {1 + 1e-4 * (1 << i)}\n" for i in range(16))
    (tmp_path / "results.txt").write_text(LATENCIES.partition("0 1.5")[0] + rows)
    for words in ("fit results.txt -o machine.toml", "fit results.txt --format latencies -o again.toml"):
        done = command(tmp_path, words)
        assert done.returncode == 0, done.stderr
    rows = json.loads(command(tmp_path, "list formats --json").stdout)["formats"]
    assert {row["name"]: row["holds"] for row in rows}["latencies"] == "a table below 'latencies: bytes, microseconds'"
    done = command(tmp_path, "fit results.txt --format latencis -o third.toml")
    assert done.stderr.startswith("commmodel: unknown format 'latencis': did you mean latencies? Choose one of osu, ")


def kernels(folder):
    """Install both kernels of the guide, and build the loop of one."""
    distribution(folder, "kernels", "sendrecv")
    distribution(folder, "kernels", "triad")
    subprocess.run(
        ["cc", "-O2", "-shared", "-fPIC", str(EXAMPLES / "triad.c"), "-o", str(folder / "libtriad.so")], check=True
    )


def test_a_kernel_of_a_distribution_is_planned_and_listed(tmp_path):
    kernels(tmp_path)
    done = command(tmp_path, "bench sendrecv triad --sizes 8,1KiB --process-counts 2:all --dry-run -p 4")
    assert "plan     6 configurations (sendrecv 4, triad 2), 6 visits" in done.stdout, done.stderr
    rows = json.loads(command(tmp_path, "list kernels --json").stdout)["kernels"]
    assert {row["name"]: row["summary"] for row in rows}["triad"] == "a triad"
    text = python(tmp_path, "-m", "commmodel.bench", "--help").stdout
    assert "  sendrecv " in text
    assert "--stride N            distance between two elements (default: 1)" in text
    done = command(tmp_path, "bench triad --stride 0 --dry-run")
    assert (done.returncode, "--stride: " in done.stderr) == (2, True)
    done = command(tmp_path, "bench tirad --dry-run")
    assert (done.returncode, done.stderr.partition("Choose")[0]) == (
        2, "commmodel.bench: unknown kernel 'tirad': did you mean triad? "
    )  # fmt: skip


@pytest.mark.mpi
def test_kernels_of_distributions_are_measured_resumed_read_and_shown(tmp_path):
    site, work = tmp_path / "site", tmp_path / "work"
    site.mkdir()
    work.mkdir()
    kernels(site)

    def measured(*words, path=site):
        paths = os.pathsep.join([str(path), os.environ.get("PYTHONPATH", "")])
        line = [find("mpiexec"), "-n", "2", sys.executable, "-m", "commmodel.bench", *words]
        return subprocess.run(
            line, env=ENVIRONMENT | {"PYTHONPATH": paths}, cwd=work, capture_output=True, text=True, check=False
        )

    done = measured("sendrecv", "triad", "--sizes", "8,1KiB", "--time", "1s", "--repetitions", "9", "--stride", "2")
    assert done.returncode == 0, done.stderr
    file = work / "results.jsonl"
    launch = load(file).launches[0]
    assert launch.header.versions["sendrecv"] == launch.header.versions["triad"] == "1.5"
    described = {(*describe(record.configuration)[:2], record.unit) for record in launch.records}
    assert described == {("sendrecv", "time", "s"), ("triad", "bandwidth", "B/s")}
    assert {record.configuration["stride"] for record in launch.records if record.unit == "B/s"} == {2}
    assert launch.header.options.further == {"stride": 2}
    assert all(sample > 0 for record in launch.records for sample in record.samples)
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:-1]))
    done = measured("--resume", path=work)
    assert done.returncode == 2
    assert "results.jsonl: kernel sendrecv is not installed; it was measured with " in done.stderr
    done = measured("--resume", "--stride", "3")
    assert (done.returncode, "--stride differs from what results.jsonl was begun with" in done.stderr) == (2, True)
    assert measured("--resume", "--stride", "2").returncode == 0
    assert len({record.configuration for record in load(file).records}) == 4
    shown = command(work, "report results.jsonl --force")
    assert "sendrecv: time" in shown.stdout
    assert "triad: bandwidth" in shown.stdout
    assert "B/s" in shown.stdout


def test_a_topology_is_a_platform_in_a_script_and_a_file_where_it_is_installed(tmp_path):
    text = (
        "from line import Line\n"
        "from commmodel import simulate\n"
        "line = Line(hosts=4, bandwidth=1e9, latency=1e-6).build()\n"
        "print(line.route(0, 2), line.route(3, 1), simulate.collective('bcast', 1024, 4, on=line).messages)\n"
        "simulate.platform.dump(line, 'again.toml'); print(simulate.platform.load('again.toml').description.hosts)"
    )
    (tmp_path / "line.toml").write_text((EXAMPLES / "line.toml").read_text())
    done = command(tmp_path, "simulate line.toml bcast -n 1KiB --json")
    assert done.returncode == 2
    assert "line.toml: field kind: unknown kind 'line': " in done.stderr
    distribution(tmp_path, "topologies", "line")
    assert printed(tmp_path, "-c", text) == ("['cable 0 up', 'cable 1 up'] ['cable 2 down', 'cable 1 down'] 3\n4\n")
    done = command(tmp_path, "simulate line.toml bcast -n 1KiB --json")
    assert json.loads(done.stdout)["processes"] == 8, done.stderr


def test_selectors_and_expectations_are_files_or_objects_alike():
    rules = Selector("mine", (SelectionRule("allgather", "ring", upto=65536),), fallback="mpich")
    assert library.load(EXAMPLES / "rules.toml") == rules
    results = {simulate.collective("allgather", 1024, 8, on="graphene", selector=s).seconds
               for s in (rules, EXAMPLES / "rules.toml")}  # fmt: skip
    assert results == {simulate.collective("allgather", 1024, 8, on="graphene", algorithm="ring").seconds}
    growth = scaling.Expectations("mine", (scaling.Expectation("solve", scaling.parse_growth("log p")),))
    assert scaling.load(EXAMPLES / "growth.toml").expectations == growth.expectations


FAILING = """
from commmodel import collectives
from commmodel.collectives import vector_round

@collectives.register("bcast", "failing")
def failing(problem):
    yield vector_round(problem, 0, [1])
    {}["missing"]
"""


def test_an_error_of_an_own_part_names_its_place_in_one_line_of_a_command(tmp_path):
    distribution(tmp_path, "algorithms", "failing", FAILING)
    for where in ("simulate graphene", "predict L=2us,o=1us,g=1us,G=1ns"):
        done = command(tmp_path, f"{where} bcast -n 8 -p 4 --algorithm failing")
        assert (done.returncode, done.stdout) == (2, "")
        place = f"{tmp_path / 'failing.py'}, line 8"
        assert done.stderr == f"commmodel: the algorithm failing of bcast raised it: {place}: KeyError: 'missing'\n"


def _of_cost(*_):
    raise ZeroDivisionError("of mine")


def _question(*_):
    raise LookupError("of mine")


def _failing_reader(_):
    raise OSError("of mine")


def _failing_algorithm(problem):
    yield vector_round(problem, 0, [1])
    raise KeyError("of mine")


SENDS = {"latency": 1e-6, "byte_time": 1e-9}
OWN_ERRORS = {
    "function overhead": lambda _: optimize.choose(
        optimize.MessageCosts(overhead=_of_cost, **SENDS), optimize.TransferProblem(1 << 20, 1e-3)
    ),
    "question about graphene": lambda _: simulate.what_if.predictions(_question, ["graphene"]),
    "algorithm failing of bcast": lambda _: collectives.verify("bcast", "failing", 4),
    "_failing_reader of the format failing": lambda path: formats.load(path),
}


@pytest.mark.parametrize("part", OWN_ERRORS)
def test_an_error_of_an_own_part_keeps_its_traceback_and_is_named(part, tmp_path, monkeypatch):
    failing = collectives.Algorithm("bcast", "failing", _failing_algorithm)
    monkeypatch.setitem(collectives.ALGORITHMS["bcast"], "failing", failing)
    monkeypatch.setitem(formats.REGISTRY, "failing", formats.Format(_failing_reader, lambda _: 5, "nothing"))
    (tmp_path / "measured.txt").write_text("8 1.5\n")
    with pytest.raises(Exception, match="of mine") as caught:
        OWN_ERRORS[part](tmp_path / "measured.txt")
    text = "".join(traceback.format_exception(caught.value))
    assert re.search(rf'File "{__file__}", line \d+, in _', text)
    assert re.search(rf"{part} raised it: {__file__}, line \d+", text)


def test_an_error_of_ours_or_of_a_package_is_no_part_of_the_users():
    with pytest.raises(ValueError, match="Expecting") as caught:
        json.loads("{")
    error = caught.value
    error.__traceback__ = error.__traceback__.tb_next  # without this file
    blame(error, "the reader mine")
    assert blamed(error) == ""
