"""Freeze what the command says before a redesign, and compare with it afterwards.

    python tools/freeze.py record FOLDER
    python tools/freeze.py compare FOLDER [--renamed tools/renamed.toml] [--text] [--files] [--only PATTERN]

``record`` runs every command of ``freeze_cases.toml`` and writes FOLDER/frozen.json, packed where it is large (zcat
shows it; ``python -m json.tool`` sets it in lines): for each case its exit code, what
it printed (parsed, where it is JSON), the last line of standard error, and the files it wrote. ``compare`` runs the
commands again and prints what differs: exit codes and JSON exactly, floats bit for bit; text and files only where told
to. It ends with exit code 1 where something differs.

Fits take numpy and scipy, so that floats are the same only with the same versions of them on the same processor:
record again, from the old commit, on another machine.

Where the redesign renames something on purpose, a file says so::

    [keys]          # of JSON objects, anywhere: old = "new"
    wall_time = "seconds_of_wall"
    [values]        # of strings in JSON, whole ones: old = "new"
    hybrid = "hybrid-fluid"
    [ignore]        # keys of JSON objects that were taken out, or came in
    keys = ["links"]
    [commands]      # a command's new spelling, in place of that in freeze_cases.toml
    "simulate.alltoall" = "simulate graphene alltoall -p 32 -n 100KiB --json"

The spelling may also be changed in freeze_cases.toml itself: a case is known by its id alone.
"""

import argparse
import contextlib
import fnmatch
import gzip
import hashlib
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from freeze_inputs import make

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent
DOCS = REPOSITORY / "docs" / "examples"
ORACLES = REPOSITORY / "tests" / "oracles"
INPUTS = "../in"
"""What {in} stands for: relative, so that no line of output depends on where the scratch folder is."""
NOT_RECORDED = {"wall_seconds"}
"""Keys of JSON that hold time which the simulation itself took."""
REPLACED = (
    # Time that the simulation itself took: last column of the table of models in text.
    (re.compile(r"^( \S+ +\S+ \S+ +\d+ +\d+) +[\d.]+ [mun]?s *$", re.MULTILINE), r"\1 {wall}"),
    (re.compile(r'(commmodel = )"[^"]*"'), r'\1"{version}"'),  # in machine files: the version that fitted them
    (re.compile(r'"commmodel":\s*"\d[^"]*"'), '"commmodel":"{version}"'),
    (re.compile(r"^commmodel \d\S*$", re.MULTILINE), "commmodel {version}"),  # of --version
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[^\"\s]*"), "{date}"),  # when a file was converted
)
MOST_TEXT = 20_000
"""Characters of a written file above which its digest is kept in place of its text."""
LARGE = 1_500_000
"""Bytes above which the record is packed."""
SECONDS = 120
"""After so many a command is ended."""

Outcome = dict[str, Any]


class TookTooLongError(Exception):
    """A command did not end."""


def cases(renamed: dict[str, Any], only: str) -> Iterator[tuple[str, list[str]]]:
    """Return id and commands of every case; the commands of one case run in one folder, one after the other."""
    spelling = renamed.get("commands", {})
    for group, members in tomllib.loads((HERE / "freeze_cases.toml").read_text()).items():
        for name, words in members.items():
            identity = f"{group}.{name}"
            if fnmatch.fnmatch(identity, only):
                numbers = spelling.get(identity, words)
                yield identity, [numbers] if isinstance(numbers, str) else list(numbers)


def run_all(renamed: dict[str, Any], only: str = "*") -> dict[str, Outcome]:
    """Run the commands in a scratch folder; return id -> what came of it. A case's second command has #2 behind."""
    os.environ |= {"COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb", "MPLBACKEND": "agg"}
    os.environ.pop("FORCE_COLOR", None)
    outcomes: dict[str, Outcome] = {}
    with tempfile.TemporaryDirectory(prefix="freeze-") as scratch, contextlib.chdir(scratch):
        Path("in").mkdir()
        make(Path("in"), DOCS, ORACLES)
        for identity, commands in cases(renamed, only):
            folder = Path(scratch) / identity
            folder.mkdir()
            with contextlib.chdir(folder):
                for number, command in enumerate(commands, 1):
                    began = time.perf_counter()
                    outcome = run(command, Path(scratch))
                    seconds = time.perf_counter() - began
                    if seconds > 3:
                        print(f"  {identity}: {seconds:.1f} s", file=sys.stderr, flush=True)
                    outcomes[identity if number == 1 else f"{identity}#{number}"] = outcome
    return outcomes


def run(command: str, scratch: Path) -> Outcome:
    """Run one command in the working folder; return its exit code, what it said and what it wrote."""
    if command.startswith("python:"):
        return run_command(command)
    words = [word.replace("{in}", INPUTS) for word in shlex.split(command)]
    lacking = words.pop(0).partition("=")[2] if words and words[0].startswith("without=") else ""
    before = {path: path.stat().st_mtime_ns for path in files()}
    code, out, err = in_another_process(words, lacking) if lacking else in_this_process(words)
    printed: Any = normalised(out, scratch)
    if "--json" in words:
        with contextlib.suppress(ValueError):
            printed = without_wall(json.loads(printed))
    lines = normalised(err, scratch).splitlines()
    outcome: Outcome = {"command": command, "exit": code, "stdout": printed, "stderr": lines[-1] if lines else ""}
    changed = {str(path): content(path, scratch) for path in files() if before.get(path) != path.stat().st_mtime_ns}
    return outcome | ({"files": changed} if changed else {})


def run_command(command: str) -> Outcome:
    """Run statements of Python; return what they leave under the name ``result``, as JSON."""
    names: dict[str, Any] = {"inputs": Path(INPUTS)}
    try:
        exec(command.removeprefix("python:"), names)  # noqa: S102 - it is ours, from freeze_cases.toml
    except Exception as error:  # as with commands: what goes wrong is worth recording
        return {"command": command, "exit": type(error).__name__, "stdout": "", "stderr": str(error)}
    return {"command": command, "exit": 0, "stdout": as_json(names["result"]), "stderr": ""}


def as_json(value: Any) -> Any:
    """Return a value of the Python interface in JSON's types: structures by field, arrays as lists."""
    fields = getattr(value, "__struct_fields__", None) or getattr(value, "__dataclass_fields__", None)
    if isinstance(value, dict):
        return {str(name): as_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    if fields:
        return {name: as_json(getattr(value, name)) for name in fields if name[0] != "_" and name not in NOT_RECORDED}
    if hasattr(value, "tolist"):
        return as_json(value.tolist())
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def in_this_process(words: list[str]) -> tuple[Any, str, str]:
    """Run the command by a call, which spares the start of a Python and its imports."""
    main = import_module("commmodel.cli").main
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))

    def end(*_: object) -> None:
        raise TookTooLongError

    signal.signal(signal.SIGALRM, end)
    signal.alarm(SECONDS)
    code: Any
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(words)
    except SystemExit as error:
        code = error.code or 0
    except Exception as error:  # what the command should have said in a line is worth recording, too
        code = f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)
    return code, *(stream.buffer.getvalue().decode() for stream in (out, err))  # type: ignore[attr-defined]


def in_another_process(words: list[str], lacking: str) -> tuple[Any, str, str]:
    """Run the command in a Python that lacks some packages."""
    preamble = "".join(f"sys.modules[{name!r}] = None; " for name in lacking.split(","))
    program = f"import sys; {preamble}from commmodel.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def files() -> list[Path]:
    """Return the files in the working folder, in order."""
    return sorted(path for path in Path().rglob("*") if path.is_file())


def content(path: Path, scratch: Path) -> str:
    """Return a written file's text, or a digest of it; of pages only that there is one: they change with their look."""
    if path.suffix == ".html":
        return "(a page)" if path.stat().st_size else "(empty)"
    raw = path.read_bytes()
    if path.suffix == ".gz":
        raw = gzip.decompress(raw)
    text = normalised(raw.decode("utf-8", "backslashreplace"), scratch)
    return text if len(text) <= MOST_TEXT else f"sha256 {hashlib.sha256(text.encode()).hexdigest()}"


def normalised(text: str, scratch: Path) -> str:
    """Return text without what differs from run to run, or from place to place."""
    for place, name in ((scratch.resolve(), "{scratch}"), (scratch, "{scratch}")):
        text = text.replace(str(place), name)
    text = text.replace(sys.executable, "{python}").replace(str(Path(sys.executable).parent), "{bin}")
    text = text.replace(str(REPOSITORY), "{repository}")
    for pattern, instead in REPLACED:
        text = pattern.sub(instead, text)
    return text


def without_wall(value: Any) -> Any:
    """Return JSON without the time that the run itself took."""
    if isinstance(value, dict):
        return {name: without_wall(item) for name, item in value.items() if name not in NOT_RECORDED}
    return [without_wall(item) for item in value] if isinstance(value, list) else value


def translated(value: Any, renamed: dict[str, Any]) -> Any:
    """Return frozen JSON with the names of today."""
    keys, values, ignored = (renamed.get(name, {}) for name in ("keys", "values", "ignore"))
    if isinstance(value, dict):
        return {
            keys.get(name, name): translated(item, renamed)
            for name, item in value.items()
            if name not in ignored.get("keys", ())
        }
    if isinstance(value, list):
        return [translated(item, renamed) for item in value]
    return values.get(value, value) if isinstance(value, str) else value


def dropped(value: Any, names: set[str]) -> Any:
    """Return JSON without some keys."""
    if isinstance(value, dict):
        return {name: dropped(item, names) for name, item in value.items() if name not in names}
    return [dropped(item, names) for item in value] if isinstance(value, list) else value


def differences(old: Any, new: Any, where: str = "") -> Iterator[str]:
    """Return a line for each place where two values of JSON differ; floats must be the same in every bit."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in [*old, *(name for name in new if name not in old)]:
            if name not in new:
                yield f"{where}.{name}: gone, was {short(old[name])}"
            elif name not in old:
                yield f"{where}.{name}: new, {short(new[name])}"
            else:
                yield from differences(old[name], new[name], f"{where}.{name}")
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield f"{where}: {len(old)} values became {len(new)}"
        for number, (before, other) in enumerate(zip(old, new, strict=False)):
            yield from differences(before, other, f"{where}[{number}]")
    elif repr(old) != repr(new):  # tells 1 from 1.0 and 0.0 from -0.0, and NaN is NaN
        yield f"{where}: {short(old)} became {short(new)}"


def short(value: Any) -> str:
    """Return a value in few signs."""
    text = json.dumps(value)
    return text if len(text) <= 100 else f"{text[:97]}..."


def compared(old: Outcome, new: Outcome, arguments: argparse.Namespace, renamed: dict[str, Any]) -> list[str]:
    """Return lines that say how one outcome differs from the frozen one."""
    differing = []
    if old["exit"] != new["exit"]:
        differing.append(f"exit code {old['exit']} became {new['exit']}; it says: {new['stderr']}")
    was, now = old["stdout"], new["stdout"]
    if isinstance(was, str) and isinstance(now, str):
        if arguments.text:
            differing += text_differences(was, now, "stdout")
    else:
        ignored = set(renamed.get("ignore", {}).get("keys", ()))
        differing += differences(translated(was, renamed), dropped(now, ignored), "json")
    if arguments.text:
        differing += text_differences(old["stderr"], new["stderr"], "stderr")
    if arguments.files:
        was, now = old.get("files", {}), new.get("files", {})
        differing += [f"{name}: not written" for name in was if name not in now]
        differing += [f"{name}: written, which was not" for name in now if name not in was]
        for name in was:
            differing += text_differences(was[name], now.get(name, was[name]), name)
    return differing


def text_differences(old: str, new: str, where: str) -> list[str]:
    """Return the first line where two texts differ."""
    if old == new:
        return []
    pairs = zip([*old.splitlines(), "(end)"], [*new.splitlines(), "(end)"], strict=False)
    first = next((pair for pair in pairs if pair[0] != pair[1]), ("", "other ends of lines"))
    return [f"{where}: {first[0].strip()!r} became {first[1].strip()!r}"]


def record(arguments: argparse.Namespace) -> int:
    """Write what every command says."""
    began = time.perf_counter()
    outcomes = run_all({})
    text = json.dumps(outcomes, indent=0, ensure_ascii=False) + "\n"
    arguments.folder.mkdir(parents=True, exist_ok=True)
    path, packed = arguments.folder / "frozen.json", arguments.folder / "frozen.json.gz"
    path.unlink(missing_ok=True)
    packed.unlink(missing_ok=True)
    if len(text.encode()) > LARGE:
        path = packed
        with path.open("wb") as raw, gzip.GzipFile("", "wb", mtime=0, fileobj=raw) as file:
            file.write(text.encode())
    else:
        path.write_text(text)
    wrong = sum(outcome["exit"] != 0 for outcome in outcomes.values())
    print(f"{path}: {len(outcomes)} commands, {wrong} of them with an exit code that is not 0, "
          f"{time.perf_counter() - began:.0f} s")  # fmt: skip
    return 0


def compare(arguments: argparse.Namespace) -> int:
    """Print what differs from what was recorded; return 1 where something does."""
    renamed = tomllib.loads(arguments.renamed.read_text()) if arguments.renamed else {}
    packed = arguments.folder / "frozen.json.gz"
    raw = gzip.decompress(packed.read_bytes()) if packed.exists() else (arguments.folder / "frozen.json").read_bytes()
    frozen = {
        name: outcome
        for name, outcome in json.loads(raw).items()
        if fnmatch.fnmatch(name.partition("#")[0], arguments.only)
    }
    now = run_all(renamed, arguments.only)
    differing = 0
    for name in [*frozen, *(name for name in now if name not in frozen)]:
        if name not in now:
            lines = ["the case is gone from freeze_cases.toml"]
        elif name not in frozen:
            lines = ["a new case: record again, from the old commit"]
        else:
            lines = compared(frozen[name], now[name], arguments, renamed)
        if lines:
            differing += 1
            print(f"{name}: {now.get(name, frozen.get(name))['command']}")  # type: ignore[index]
            for line in lines[: arguments.most]:
                print(f"    {line}")
            if len(lines) > arguments.most:
                print(f"    and {len(lines) - arguments.most} more: --most {len(lines)}")
    package = Path(str(import_module("commmodel").__file__)).parent
    print(f"{len(frozen)} commands were frozen: {differing} differ in {package}")
    return 1 if differing else 0


def main() -> int:
    """Read the words and do what they ask."""
    parser = argparse.ArgumentParser(description="Freeze what every command says, and compare with it later.")
    steps = parser.add_subparsers(required=True)
    recording = steps.add_parser("record", help="run every command and write FOLDER/frozen.json")
    comparing = steps.add_parser("compare", help="run them again and print what differs")
    for step, function in ((recording, record), (comparing, compare)):
        step.add_argument("folder", type=Path)
        step.set_defaults(function=function)
    comparing.add_argument("--renamed", type=Path, help="what was renamed on purpose, a TOML file")
    comparing.add_argument("--text", action="store_true", help="compare text of stdout and stderr, too")
    comparing.add_argument("--files", action="store_true", help="compare files that were written, too")
    comparing.add_argument("--only", default="*", help="cases whose id matches this pattern, like 'simulate.*'")
    comparing.add_argument("--most", type=int, default=8, help="lines for one case at most (8)")
    arguments = parser.parse_args()
    arguments.folder = arguments.folder.resolve()
    return arguments.function(arguments)  # type: ignore[no-any-return]


if __name__ == "__main__":
    sys.exit(main())
