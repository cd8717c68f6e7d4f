"""A suite of unittest on simulated ranks, each test beside its end under mpiexec.

Part of mpi4py_suite.py and petsc4py_suite.py.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

RANK_REPORT = Path(__file__).with_name("rank_report.py")
_TEST = re.compile(r"^(\w+) \((\w[\w.]*)\)(?:\n[^\n]*?)? \.\.\. ", re.MULTILINE)
_END = re.compile(r"^(={70}|-{70})$", re.MULTILINE)

Verdicts = dict[str, str]
"""Test -> passed, skipped, failed, or ended where its module has not come to the end."""


def verdicts_of(report: str) -> Verdicts:
    """Return the verdicts in a rank's report, those of tests that it has ended."""
    end = _END.search(report)
    text = report[: end.start()] if end else report
    matches = list(_TEST.finditer(text))
    verdicts = {}
    for place, match in enumerate(matches):
        words = text[match.end() : matches[place + 1].start() if place + 1 < len(matches) else len(text)].rstrip()
        verdict = "passed" if words.endswith("ok") else "skipped" if "skipped" in words else "failed"
        verdicts[match[2] if match[2].endswith(match[1]) else f"{match[2]}.{match[1]}"] = verdict
    return verdicts


def run(command: Sequence[str], report: Path, ranks: int, seconds: float) -> tuple[Verdicts, str]:
    """Run tests; return the worst verdict of all ranks on each, and why they have not come to the end."""
    for path in report.parent.glob(f"{report.name}.*"):
        path.unlink()
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    reason = ""
    try:
        _, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        reason = f"no end within {seconds:g} s"
    else:
        lines = [line for line in errors.splitlines() if line.startswith("commmodel: ")]
        reason = lines[0] if lines else f"exit code {process.returncode}"
    texts = [path.read_text(errors="replace") for path in sorted(report.parent.glob(f"{report.name}.*"))]
    order = ("ended", "failed", "skipped", "passed")
    worst: Verdicts = {}
    for text in texts:
        for name, verdict in verdicts_of(text).items():
            worst[name] = min(verdict, worst.get(name, verdict), key=order.index)
    is_whole = len(texts) == ranks and all(re.search(r"^Ran \d+ test", text, re.MULTILINE) for text in texts)
    return worst, "" if is_whole else reason


def suite(launch: Sequence[str], ranks: int, modules: Sequence[str], options: argparse.Namespace) -> Verdicts:
    """Run modules in groups; those of a group that does not come to its end apart.

    Parameters
    ----------
    launch : sequence of str
        The command in front of the interpreter.
    ranks : int
        P.
    modules : sequence of str
        Names of test modules.
    options : Namespace
    """
    whole: Verdicts = {}
    todo = [list(modules[first : first + options.group]) for first in range(0, len(modules), options.group)]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report"
        while todo:
            group = todo.pop(0)
            names = "|".join(name.removesuffix(".py") for name in group)
            pattern = rf"^({names})(\.py)?$"
            script = [sys.executable, str(RANK_REPORT), str(report), str(options.folder / options.script)]
            verdicts, reason = run([*launch, *script, "-v", "-i", pattern], report, ranks, options.seconds)
            if reason and len(group) > 1:
                todo = [[module] for module in group] + todo
                continue
            if reason:
                print(f"   {group[0]} on {ranks} ranks: {reason}", flush=True)
                verdicts = dict.fromkeys([*verdicts, f"{group[0].removesuffix('.py')}.*"], "ended")
            whole |= verdicts
    return whole


def _module(test: str) -> str:
    return test.partition(".")[0]


def rows(reference: Verdicts, simulated: Verdicts, left_out: str) -> list[tuple[str, Counter[str], list[str]]]:
    """Return for each module how the tests end that pass under mpiexec, and which do not pass."""
    ended = {_module(test) for test, verdict in simulated.items() if verdict == "ended"}
    table = []
    passing = [test for test, verdict in reference.items() if verdict == "passed" and not re.search(left_out, test)]
    for module in sorted({_module(test) for test in passing}):
        tests = [test for test in passing if _module(test) == module]
        ends = {test: "ended" if module in ended else simulated.get(test, "ended") for test in tests}
        table.append((module, Counter(ends.values()), [test for test in tests if ends[test] != "passed"]))
    return table


def reference_of(ranks: int, modules: Sequence[str], options: argparse.Namespace) -> Verdicts:
    """Return the verdicts under mpiexec, from the file of references where they are there."""
    path = options.reference
    stored = json.loads(path.read_text()) if path and path.is_file() else {}
    verdicts: Verdicts = stored.get(str(ranks), {})
    names = {module.removesuffix(".py") for module in modules}
    left = sorted(names - {_module(test) for test in verdicts})
    if left:
        mpiexec = [str(Path(sys.executable).with_name("mpiexec")), "-n", str(ranks)]
        verdicts |= suite(mpiexec, ranks, [f"{name}.py" for name in left], options)
        if path:
            path.write_text(json.dumps(stored | {str(ranks): verdicts}))
    return {test: verdict for test, verdict in verdicts.items() if _module(test) in names}


def compare(options: argparse.Namespace) -> bool:
    """Run the suite under mpiexec and simulated, print a table for each number of ranks; whether enough passes.

    Parameters
    ----------
    options : Namespace
        The command's, and of the suite: ``script`` in its folder, ``left_out`` and ``left_out_cases``, regular
        expressions of its modules and of the cases of others.
    """
    modules = [path.name for path in sorted(options.folder.glob("test_*.py")) if re.search(options.include, path.stem)]
    modules = [name for name in modules if not re.search(options.left_out, name.removesuffix(".py"))]
    all_pass = True
    for ranks in options.simulated:
        simulate = [sys.executable, "-m", "commmodel", "simulate", "switch", "run", "-p", str(ranks)]
        simulated = suite([*simulate, "--compute", "0", "--"], ranks, modules, options)
        reference = reference_of(ranks, modules, options)
        table = Table("module", "pass under mpiexec", "pass", "fail", "skipped", "ended", title=f"{ranks} ranks")
        sums: Counter[str] = Counter()
        for module, counts, failing in rows(reference, simulated, options.left_out_cases):
            numbers = [counts.total(), *(counts[verdict] for verdict in ("passed", "failed", "skipped", "ended"))]
            table.add_row(module, *map(str, numbers))
            sums += counts
            if not counts["ended"]:
                for test in failing:
                    print(f"   {ranks} ranks, {simulated[test]}: {test}", flush=True)
        Console(width=100).print(table)
        share = sums["passed"] / max(1, sums.total())
        print(f"{ranks} ranks: {sums['passed']} of {sums.total()} tests, {share:.2%}", flush=True)
        all_pass = all_pass and share >= 0.97
    return all_pass
