"""The fuzzer's targets read what is right, and what it watches for is found."""

import importlib.util
import subprocess
import sys
from random import Random

import pytest
from support.paths import ROOT

FUZZ = ROOT / "fuzz"


def loaded(name):
    spec = importlib.util.spec_from_file_location(name, FUZZ / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


targets, runner = loaded("targets"), loaded("run")


@pytest.mark.parametrize("name", targets.READERS)
def test_every_target_has_right_inputs_that_its_reader_takes(name, tmp_path):
    file, read = targets.READERS[name]
    result = targets.seeds(name)
    if name == "otf2" and not result:
        pytest.skip("no archives can be written: there is no package otf2")
    assert result
    for content in result:
        (tmp_path / file).write_bytes(content)
        read(tmp_path / file)


def test_changed_inputs_are_changed_and_come_again_with_their_seed():
    def changed(seed):
        return runner.mutated(Random(seed), [b"0 init\n1 init\n"])  # noqa: S311

    result, other = ([changed(seed) for seed in range(50)] for _ in range(2))
    assert result == other
    assert len(set(result)) > 25


@pytest.mark.parametrize(
    ("line", "kind"),
    [("raise KeyError(1)", "fails"), ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "crash")],
)
def test_what_is_no_refusal_is_found_and_kept(tmp_path, line, kind):
    (tmp_path / "run.py").write_text((FUZZ / "run.py").read_text())
    planted = "TARGETS = {'planted': planted}\ndef seeds(name):\n    return [b'00000000']\n"
    (tmp_path / "targets.py").write_text(
        f"def planted(content):\n    if content != b'00000000':\n        {line}\n\n{planted}"
    )
    command = [sys.executable, tmp_path / "run.py", "--engine", "plain", "--seconds", "20"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert done.returncode == 1, done.stderr
    (path,) = (tmp_path / "found").glob("planted-*.in")
    assert path.name.startswith(f"planted-{kind}-")
    again = subprocess.run([*command[:2], "--input", path], capture_output=True, text=True, timeout=900)
    assert again.returncode != 0
