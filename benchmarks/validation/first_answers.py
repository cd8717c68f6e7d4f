"""Is the first answer right on a busy machine? The default run beside other programs, beside that of an idle one.

    python -m benchmarks.validation.first_answers --mpiexec 'mpiexec -n 2 -bind-to core' --time 30s --loads 0,2,6

measures once for each number of busy loops that run meanwhile, and prints a row for each segment: the model that is
recommended, whether it is trusted, its mean error, alpha and the rate of one pair, and by how much these are off from
those of the first run. ``--visits 1`` shows what a configuration that is measured all at once gives.
"""

import argparse
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from commmodel.fit import fit_machine
from commmodel.machine import Machine, Segment
from commmodel.machine.model_choice import model_of, recommended_model
from commmodel.results import load
from commmodel.units import format_rate, format_size, format_time, parse_size

ROW = "{:>5} {:<11} {:>10} {:>8} {:>7} {:>10} {:>7} {:>11} {:>7}"


def measured(launcher: str, output: Path, loops: int, words: list[str]) -> Machine:
    """Return the machine that the benchmark and the fit make beside so many busy loops."""
    spin = [sys.executable, "-c", "while True: pass"]
    busy = [subprocess.Popen(spin) for _ in range(loops)]
    command = [*shlex.split(launcher), sys.executable, "-m", "commmodel.bench", "threshold", "pingpong", *words]
    try:
        subprocess.run([*command, "-o", str(output)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    return fit_machine(load(output))


def numbers(segment: Segment) -> tuple[bool, float, float, float]:
    """Return whether a segment's model is trusted, its mean error, alpha and the rate of one pair."""
    model = model_of(segment, recommended_model(segment))
    rate = 1 / model.beta.value if hasattr(model, "beta") and model.beta.value else float("inf")
    return model.quality.trusted, model.quality.relative_error_mean, model.alpha.value, rate


def off(value: float, other: float) -> str:
    """Return by how much a number differs from another."""
    return "" if not other or value == float("inf") else f"{100 * (value / other - 1):+.0f} %"


def main() -> None:
    """Measure beside each load and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpiexec", default="mpiexec -n 2", help="what starts two ranks (mpiexec -n 2)")
    parser.add_argument(
        "--loads", default="0,2,6", help="busy loops beside each run; the first is what others are compared with"
    )
    parser.add_argument("--upto", default="1MiB", help="only segments of messages up to this size (1MiB)")
    parser.add_argument("--time", default="30s", help="of each run (30s)")
    parser.add_argument("--visits", default="4", help="to each configuration (4)")
    arguments = parser.parse_args()
    print(ROW.format("loops", "protocol", "up to", "trusted", "error", "alpha", "off", "one pair", "off"))
    reference: list[Segment] = []
    with tempfile.TemporaryDirectory() as folder:
        for run, loops in enumerate(map(int, arguments.loads.split(","))):
            words = ["--time", arguments.time, "--visits", arguments.visits]
            machine = measured(arguments.mpiexec, Path(folder) / f"{run}.jsonl", loops, words)
            reference = reference or list(machine.segments)
            below = 0
            for index, segment in enumerate(machine.segments):
                begin, below = below, segment.limit.value if segment.limit else sys.maxsize
                if begin >= parse_size(arguments.upto):
                    continue
                beside = numbers(reference[min(index, len(reference) - 1)])
                trusted, error, alpha, rate = numbers(segment)
                limit = format_size(below) if segment.limit else "all"
                answer = ("yes" if trusted else "no", f"{100 * error:.1f} %", format_time(alpha), off(alpha, beside[2]))
                rates = (format_rate(rate), off(rate, beside[3]))
                print(ROW.format(loops, segment.protocol, limit, *answer, *rates), flush=True)


if __name__ == "__main__":
    main()
