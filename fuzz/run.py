"""Damaged input for every reader: `python fuzz/run.py [TARGET ...] --seconds 30`, or `make fuzz`.

Each target runs in a process of its own, so that a crash is a finding like any other. With the package atheris,
inputs are found by what they reach in the code; without it, seeds are changed at random, which finds less and runs
anywhere. A finding is kept as fuzz/found/TARGET-what-number.in, to be run again with --input; then the exit code is 1.
"""

import argparse
import hashlib
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

HERE = Path(__file__).parent
FOUND = HERE / "found"
MEMORY = 3 << 30
"""Bytes of address space: no small file may need them."""
SLOW = 20.0
"""Seconds."""
TRICKY = (
    b"nan", b"inf", b"-1", b"0", b"1e308", b"1.7e308", b"1e-308", b"1e999", b"9007199254740993", b"2147483647",
    b"16777215", b"1048575", b"99999999999999999999", b"1_0", "\u0663".encode(), b"0x10", b"1.", b"-0", b"1e", b"\0",
    b"\xff\xfe", b"\xef\xbb\xbf", b"\n", b"\r\n", b"\"", b"'", b"#", b"{", b"}", b"[", b"]", b",", b":", b";", b"&a;",
    b"9" * 5000, b" " * 2000, b"<a>" * 70, b"[" * 2000,
)  # fmt: skip


def mutated(chance: random.Random, seeds: list[bytes]) -> bytes:
    """Return a seed that has been changed in a few places."""
    content = bytearray(chance.choice(seeds))
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        begin = chance.randrange(len(content) + 1)
        end = min(len(content), begin + chance.choice((1, 1, 2, 5, 20, 200)))
        match chance.randrange(8):
            case 0:
                content[begin:end] = b""
            case 1:
                content[begin:begin] = content[begin:end]
            case 2:
                content[begin:end] = chance.choice(TRICKY)
            case 3:
                content[begin:end] = chance.randbytes(end - begin)
            case 4:
                other = chance.choice(seeds)
                place = chance.randrange(len(other) + 1)
                content[begin:end] = other[place : place + end - begin]
            case 5:
                lines = content.splitlines(keepends=True)
                chance.shuffle(lines)
                content = bytearray(b"".join(lines))
            case 6:
                content = content[:begin]
            case _:
                words = [at for at in range(len(content)) if 48 <= content[at] < 58]
                if words:
                    begin = end = chance.choice(words)
                    while end < len(content) and 48 <= content[end] < 58:
                        end += 1
                    content[begin:end] = chance.choice(TRICKY)
    return bytes(content[: 1 << 16])


class TooSlowError(Exception):
    """An input took longer than it may."""


def _alarm(*_: object) -> None:
    raise TooSlowError


def plain(name: str, seconds: float, seed: int, current: Path) -> int:
    """Run a target on changed seeds; the input that is being read stands in `current`."""
    from targets import TARGETS, seeds

    target, first = TARGETS[name], seeds(name)
    for content in first:
        target(content)  # right inputs are read; imports are done before the clock and the limit of memory
    resource.setrlimit(resource.RLIMIT_AS, (_address_space() + MEMORY,) * 2)
    signal.signal(signal.SIGALRM, _alarm)
    chance, end, inputs = random.Random(seed), time.monotonic() + seconds, 0  # noqa: S311
    while time.monotonic() < end:
        content = mutated(chance, first)
        current.write_bytes(content)
        _one(target, content)
        inputs += 1
    print(f"{name}: {inputs} inputs, nothing found", flush=True)
    return 0


def _one(target: object, content: bytes) -> None:
    signal.setitimer(signal.ITIMER_REAL, SLOW)
    try:
        target(content)  # type: ignore[operator]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _address_space() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def guided(name: str, seconds: float, seed: int, current: Path) -> None:
    """Run a target by atheris, which ends the process."""
    import atheris

    with atheris.instrument_imports(include=["commmodel"]):
        from targets import TARGETS, seeds

        for content in seeds(name):
            TARGETS[name](content)
    corpus = Path(tempfile.mkdtemp(prefix="commmodel-corpus-"))
    for number, content in enumerate(seeds(name)):
        (corpus / str(number)).write_bytes(content)
    options = [f"-max_total_time={int(seconds)}", f"-timeout={int(SLOW)}", "-rss_limit_mb=3072", "-max_len=65536",
               f"-seed={seed or 1}", "-verbosity=0", f"-exact_artifact_path={current}", str(corpus)]  # fmt: skip
    atheris.Setup([sys.argv[0], *options], TARGETS[name])
    atheris.Fuzz()


def again(path: Path) -> int:
    """Run one input that was kept."""
    from targets import TARGETS

    name = max((one for one in TARGETS if path.name.startswith(one)), key=len, default=None)
    if name is None:
        print(f"{path}: its name begins with no target: {', '.join(TARGETS)}", file=sys.stderr)
        return 2
    TARGETS[name](path.read_bytes())
    print(f"{path}: nothing found")
    return 0


def watched(name: str, engine: str, seconds: float, seed: int) -> bool:
    """Run a target in a process of its own; keep what it finds, and return whether it found anything."""
    with tempfile.TemporaryDirectory(prefix="commmodel-fuzz-") as folder:
        current = Path(folder) / "current"
        command = [sys.executable, __file__, name, "--child", engine, "--seconds", str(seconds), "--seed", str(seed)]
        environment = {**os.environ, "FUZZ_FOLDER": folder}
        done = subprocess.run([*command, "--current", current], env=environment, capture_output=True, text=True)
        if done.returncode == 0:
            print(f"{name}: {(done.stdout.strip() or 'nothing found').removeprefix(f'{name}: ')}", flush=True)
            return False
        last = (done.stderr.strip().splitlines() or [""])[-1]
        what = "crash" if done.returncode < 0 else "slow" if "TooSlow" in last else "fails"
        if not current.exists():
            print(f"{name}: does not run: {last}\n{done.stderr[-3000:]}", flush=True)
            return True
        number = hashlib.sha256(current.read_bytes()).hexdigest()[:10]
        FOUND.mkdir(exist_ok=True)
        kept = FOUND / f"{name}-{what}-{number}.in"
        shutil.copyfile(current, kept)
        kept.with_suffix(".said.txt").write_text(done.stderr[-20000:])
        print(f"{name}: {what}: {last[:200]}; kept as {kept}", flush=True)
        return True


def main() -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="readers (all)")
    parser.add_argument("--seconds", type=float, default=30.0, help="for each (30)")
    parser.add_argument("--seed", type=int, default=1, help="of what is made up (1)")
    parser.add_argument("--engine", choices=("auto", "atheris", "plain"), default="auto")
    parser.add_argument("--input", type=Path, help="one input that was kept, run again")
    parser.add_argument("--child", choices=("atheris", "plain"), help=argparse.SUPPRESS)
    parser.add_argument("--current", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    sys.path.insert(0, str(HERE))
    if asked.input is not None:
        return again(asked.input)
    if asked.child == "atheris":
        guided(asked.targets[0], asked.seconds, asked.seed, asked.current)
    if asked.child == "plain":
        return plain(asked.targets[0], asked.seconds, asked.seed, asked.current)
    from targets import TARGETS

    if unknown := [name for name in asked.targets if name not in TARGETS]:
        print(f"there is no target {unknown[0]!r}: choose of {', '.join(TARGETS)}", file=sys.stderr)
        return 2
    engine = asked.engine
    if engine == "auto":
        there = subprocess.run([sys.executable, "-c", "import atheris"], capture_output=True)
        engine = "plain" if there.returncode else "atheris"
    print(f"by {'atheris' if engine == 'atheris' else 'plain mutations'}, {asked.seconds:g} s for each", flush=True)
    found = [name for name in asked.targets or TARGETS if watched(name, engine, asked.seconds, asked.seed)]
    return 1 if found else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Exception:
        traceback.print_exc()
        sys.exit(1)
