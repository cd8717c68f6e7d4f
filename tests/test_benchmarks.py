"""Every script of `benchmarks` starts: it is imported, and says what it does where it takes arguments."""

import ast
import importlib
import sys

import pytest
from support.paths import ROOT

SCRIPTS = sorted((ROOT / "benchmarks").glob("*/*.py"))


@pytest.mark.parametrize("script", [pytest.param(path, id=path.stem) for path in SCRIPTS if path.stem != "__init__"])
def test_each_script_starts(script, monkeypatch, capsys):
    text = script.read_text(encoding="utf-8")
    if any(isinstance(line, ast.ImportFrom) and line.module == "mpi4py" for line in ast.parse(text).body):
        pytest.skip("it runs on ranks")
    monkeypatch.setattr(sys, "argv", [script.name, "--help"])
    module = importlib.import_module(f"benchmarks.{script.parent.name}.{script.stem}")
    if hasattr(module, "main") and ("ArgumentParser(" in text or "emulated_cluster.parser(" in text):
        with pytest.raises(SystemExit) as ended:
            module.main()
        assert ended.value.code == 0
        assert capsys.readouterr().out.startswith("usage: ")
