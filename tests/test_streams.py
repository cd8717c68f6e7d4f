"""Standard output that is closed, cut off or full, Ctrl-C, packages and libraries that are missing: one line each."""

import os
import signal
import subprocess
import sys
import time

import pytest
from support.effort import some
from support.paths import ROOT
from support.scaling_samples import measured, write_results

RESULTS = ROOT / "docs" / "examples" / "results.jsonl"
VERB = f"{sys.executable} -m commmodel"
MACHINES = f"{VERB} list machines"


def shell(command, **variables):
    return subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, timeout=900, env=os.environ | variables
    )  # fmt: skip


@pytest.mark.parametrize("command", ["list machines", "list machines --json", "--help", "predict ranger barrier -p 8"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_standard_output_is_one_line_and_exit_code_2(command, unbuffered):
    done = shell(f"{VERB} {command} > /dev/full", PYTHONUNBUFFERED=unbuffered)
    assert done.returncode == 2
    assert done.stderr == "commmodel: standard output: cannot be written: No space left on device\n"


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_stream_is_no_fault(closed):
    done = shell(f"{MACHINES} {closed}")
    assert (done.returncode, done.stderr) == (0, "")
    assert ("ranger" in done.stdout) == (closed == "2>&-")


def test_an_error_that_nobody_can_hear_has_its_exit_code():
    assert shell(f"{VERB} frobnicate 2>&-").returncode == 2
    assert shell(f"{VERB} frobnicate 2>/dev/full").returncode == 2


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_check_that_does_not_hold_says_so_by_its_exit_code_though_nobody_reads_on(tmp_path, unbuffered):
    (tmp_path / "e.toml").write_text('[[expectation]]\nname = "bcast"\nexpect = "1"\n')
    grown = write_results(tmp_path / "r.jsonl", measured({"bcast": "p log p"}))
    check = f"{VERB} check {tmp_path}/e.toml {grown}"
    alone = shell(check)
    assert alone.returncode == 1, alone.stderr
    done = shell(f"set -o pipefail; {check} | true", PYTHONUNBUFFERED=unbuffered)
    assert (done.returncode, done.stderr) == (1, "")


def test_signs_that_an_encoding_lacks_are_no_fault():
    done = shell(f"{VERB} predict ranger barrier -p 8", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert "closed form" in done.stdout


INTERRUPTED = """
import os, signal, sys
from commmodel.cli import main
import commmodel.{module} as module
def interrupted(*_, **__):
    os.kill(os.getpid(), signal.SIGINT)
    while True: pass
module.{name} = interrupted
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("module", "name", "command"),
    some(
        [
            ("formats", "load_all", f"fit {RESULTS} -o m.toml"),
            ("formats", "load_all", f"report {RESULTS}"),
            ("formats", "load_all", f"check mpi {RESULTS}"),
            ("formats", "load", f"compare {RESULTS} {RESULTS}"),
            ("formats", "dump", f"convert {RESULTS} -o r.csv"),
            ("machine", "load", "predict ranger send -n 8"),
            ("machine", "load", "optimize ranger --volume 1MiB --computation 1ms"),
            ("machine", "load", "tune ranger -p 2 --library openmpi -o rules"),
            ("simulate.scenario", "place", "simulate switch bcast -p 2 -n 8"),
            ("sweep", "make", "sweep make s -p 2 -- pingpong"),
            ("machine", "load", "list machines"),
        ],
        4,
    ),
)
def test_ctrl_c_ends_any_command_in_one_line(module, name, command, tmp_path):
    program = INTERRUPTED.format(module=module, name=name)
    done = subprocess.run(
        [sys.executable, "-c", program, *command.split()], cwd=tmp_path, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 130, done.stderr
    assert done.stderr == "commmodel: interrupted\n"
    assert not os.listdir(tmp_path)


def test_an_interrupted_sweep_says_how_to_go_on(tmp_path):
    folder = tmp_path / "s"
    launcher = f"{sys.executable} -c 'import time; time.sleep(300)' {{processes}}"
    result = subprocess.run([*VERB.split(), "sweep", "make", str(folder), "-p", "2", "--launcher", launcher, "--",
                           "pingpong"], capture_output=True, text=True, check=True)  # fmt: skip
    assert result.stderr == ""
    process = subprocess.Popen([*VERB.split(), "sweep", "run", str(folder)], stderr=subprocess.PIPE, text=True)
    while not list(folder.rglob("*.log")):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=900)[1] == (f"commmodel: interrupted: go on with commmodel sweep run {folder}\n")
    assert process.returncode == 130


WITHOUT = """
import sys
for name in {missing!r}: sys.modules[name] = None
from commmodel.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("missing", [["matplotlib"], ["jinja2"]])
@pytest.mark.parametrize(
    ("command", "code"),
    [
        (f"fit {RESULTS} -o m.toml", 0),
        (f"report {RESULTS}", 0),
        (f"report {RESULTS} -o r.html", 3),
        (f"predict ranger measurements {RESULTS} --model logp -o p.html", 3),
        ("simulate switch bcast -p 4 -n 8 -o s.html", 3),
    ],
)
def test_tables_need_no_plots(command, code, missing, tmp_path):
    program = WITHOUT.format(missing=missing)
    done = subprocess.run(
        [sys.executable, "-c", program, *command.split()], cwd=tmp_path, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == code, done.stderr
    assert len(done.stdout.splitlines()) > 5
    assert not list(tmp_path.glob("*.html"))
    assert ".html" not in done.stdout
    if not command.startswith("fit"):
        assert "which is not here: pip install 'commmodel[report]'; tables only" in done.stderr


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("pingpong", 3, "commmodel.bench: no MPI library: "),
        ("pingpongx", 2, "commmodel.bench: unknown kernel 'pingpongx'"),
        ("--help", 0, ""),
    ],
)
def test_without_an_mpi_library_the_benchmark_says_so_in_one_line(words, code, message, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "commmodel.bench", words], cwd=tmp_path, capture_output=True, text=True, timeout=900,
        env=os.environ | {"MPI4PY_LIBMPI": "/no/such/library.so"},
    )  # fmt: skip
    assert done.returncode == code
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == (1 if message else 0)
    assert ("usage:" in done.stdout) == (words == "--help")
    assert not os.listdir(tmp_path)


def test_json_is_the_same_where_formulas_are_not_compiled():
    command = f"{VERB} optimize --volume 64KiB --computation 1ms --overhead 2us --latency 10us --byte-time 1ns/B --json"
    plain = shell(command, NUMBA_DISABLE_JIT="1")
    assert plain.returncode == 0, plain.stderr
    assert plain.stdout == shell(command).stdout


def test_an_encoding_without_our_signs_is_no_error(tmp_path):
    environment = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    code = "from commmodel.streams import guarded\nwith guarded():\n    print(chr(945))"
    process = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=False)
    assert (process.returncode, process.stdout.split()) == (0, [b"\\u03b1"])
