"""Ctrl-C and SIGTERM while a command is at work."""

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from commmodel import cli
from commmodel.interruption import Termination, prompt_interruption

LONG = {
    "messages": "switch alltoall -p 4096 -n 100KiB",
    "delays": "L=1us,o=1us,G=1ns barrier -p 1000000",
    "many flows at once": "switch irregular -p 100000 -n 100KiB --rounds 100",
    "kernel": "switch lu -p 64 --class C",
    "exchange": "switch halo -p 20000 -n 100KiB --rounds 100",
}
MOST = 5.0
"""Seconds of processor time, start-up and what goes before the signal included."""


def processor_time():
    """Return seconds of all programs that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def interrupted(words, after, number=signal.SIGINT):
    """Return the processor time of a program that gets a signal, its exit code, and what it says."""
    begin = processor_time()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
    try:
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, before)
    try:
        after(process)
        process.send_signal(number)
        _, result = process.communicate(timeout=900)
        return processor_time() - begin, process.returncode, result
    finally:
        process.kill()


def used(number):
    """Return the processor time that a process and those that it started have used, in ticks."""
    path = Path(f"/proc/{number}")
    started = (path / f"task/{number}/children").read_text().split()
    return sum(map(int, (path / "stat").read_text().rpartition(")")[2].split()[11:13])) + sum(map(used, started))


def work(process, seconds=0.9):
    """Wait until a program has used so much processor time, three times that of its start."""
    while used(process.pid) < seconds * os.sysconf("SC_CLK_TCK"):
        time.sleep(0.02)


@pytest.mark.parametrize("name", LONG)
def test_a_simulation_ends_soon(name):
    words = [sys.executable, "-m", "commmodel", "simulate", *LONG[name].split()]
    seconds, code, result = interrupted(words, work)
    assert (code, result) == (130, "commmodel: interrupted\n")
    assert seconds < MOST


_LONG = "simulate switch irregular -p 20000 -n 100KiB --rounds 100"
TERMINATED = {
    "simulate": f"{_LONG} -o {{folder}}/page.html --trace {{folder}}/timeline.csv",
    "what if": f"{_LONG} --scale bandwidth=1,2,4 -o {{folder}}/page.html",
    "predict": "predict L=1us,o=1us,g=1us,G=1ns alltoall -p 4000 -n 8 --algorithm all",
    "tune": "tune L=1us,o=1us,g=1us,G=1ns -p 2:4096:*2 --library openmpi -o {folder}/rules",
}


@pytest.mark.parametrize("name", TERMINATED)
def test_a_terminated_command_leaves_no_half_of_a_file(name, tmp_path):
    words = TERMINATED[name].format(folder=tmp_path).split()
    _, code, result = interrupted([sys.executable, "-m", "commmodel", *words], work, signal.SIGTERM)
    assert (code, result) == (143, "commmodel: terminated\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("rank", "lines"), [("0", "commmodel: terminated\n"), ("1", "")])
def test_rank_0_alone_says_that_all_were_terminated(rank, lines, monkeypatch, capsys):
    def terminated(words):
        raise Termination

    monkeypatch.setattr(cli, "_run", terminated)
    monkeypatch.setenv("PMIX_RANK", rank)
    assert cli.main(["record"]) == 143
    assert capsys.readouterr().err == lines


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    "moment",
    [
        "os.register_at_fork(after_in_parent=come)\nif not os.fork(): os._exit(0)",
        "class Short:\n    def __del__(self): come()\nShort()",
    ],
)
def test_a_signal_at_a_moment_when_nothing_can_be_raised_comes_again(moment, number):
    script = (
        "import os, signal, time\nfrom commmodel.interruption import ending, raise_on_signals\nraise_on_signals()\n"
        f"def come():\n    signal.raise_signal({number:d})\n    time.sleep(0)\n"
        f"try:\n    exec({moment!r})\n    time.sleep(600)\nexcept KeyboardInterrupt as interruption:\n"
        "    print(ending(interruption)[1])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=300)
    assert (done.stdout, done.stderr) == (f"{128 + number}\n", "")


def test_what_does_not_look_for_signals_is_ended():
    script = (
        "import hashlib\nfrom commmodel.interruption import prompt_interruption\n"
        "with prompt_interruption():\n    print(flush=True)\n"
        "    hashlib.pbkdf2_hmac('sha256', b'', b'', 2_000_000_000)\n"
    )
    code = -signal.SIGINT
    while code == -signal.SIGINT:  # the signal came before hashlib was there
        seconds, code, result = interrupted([sys.executable, "-c", script], lambda process: process.stdout.readline())
    assert (code, result) == (130, "commmodel: interrupted\n")
    assert seconds < MOST


def test_an_interruption_that_is_noticed_is_left_alone():
    with pytest.raises(KeyboardInterrupt), prompt_interruption():
        signal.raise_signal(signal.SIGINT)
    time.sleep(0.5)  # and nobody ends us


def test_an_import_is_not_interrupted(tmp_path):
    (tmp_path / "slow.py").write_text("import signal\nsignal.raise_signal(signal.SIGINT)\nwhole = True\n")
    script = (
        "import time\nfrom commmodel.interruption import raise_on_signals\nraise_on_signals()\nimport slow\n"
        "try:\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    print(slow.whole)\n"
    )
    (tmp_path / "main.py").write_text(script)
    words = [sys.executable, str(tmp_path / "main.py")]
    signal_of_shells = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=600)
    finally:
        signal.signal(signal.SIGINT, signal_of_shells)
    assert (done.stdout, done.stderr) == ("True\n", "")
