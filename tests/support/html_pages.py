"""An example of every HTML page that the package writes, with all kinds of blocks, for what looks at pages."""

from collections.abc import Callable
from pathlib import Path

from support import overlap_samples, report_samples, scaling_samples
from support.logs import end, new_logs, write
from support.timelines import PING_PONG, random_timeline

from commmodel import guard, predict, report
from commmodel.cli import main
from commmodel.collectives import Problem
from commmodel.machine import LogGP, Machine, Parameter, Postal, Segment
from commmodel.optimize.validation import validate
from commmodel.report.overlap.validation_page import write_validation
from commmodel.report.prediction.comparison_page import write_comparison
from commmodel.report.simulation.gantt_page import write_gantt
from commmodel.results import Measurements, Record
from commmodel.results.configurations import Burst, Collective, PingPong, Queue
from commmodel.results.file import dump
from commmodel.scaling import check, differences, history, load
from commmodel.scaling.overview import overview

_SECOND = 10**9
_VOLUME = 1 << 20
_EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
_FFT, _CFD = (str(_EXAMPLES / name) for name in ("fft.trace", "cfd.trace"))


def _overlap() -> Measurements:
    bursts = [
        report_samples.record(Burst(size, burst, call, "same-node"), (1e-6 + 1e-11 * size) / burst**0.5)
        for call in ("isend", "irecv")
        for size in (8, 1024, 65536)
        for burst in (1, 4, 16)
    ]
    queue = report_samples.record(Queue(8, "isend", "same-node"), 1e-7)
    sweeps = [*overlap_samples.problem(_VOLUME, 0.9), *overlap_samples.problem(_VOLUME // 4, 0.9)]
    return overlap_samples.measurements(*bursts, queue, *sweeps)


def _growths(count: int) -> Measurements:
    growths = dict([*scaling_samples.AS_PROMISED.items()][:count]) | {"bcast": "p"}
    return scaling_samples.measured(growths, launches=2)


def _is_kept(record: Record) -> bool:
    """Return whether a record of the cluster is on the page: some of each kind do."""
    configuration = record.configuration
    size, pairs = getattr(configuration, "size", 0), getattr(configuration, "pairs", 1)
    return configuration.path != "same-socket" and size.bit_length() % 4 == 0 and pairs in (1, 2, 16)


def _write_report(path: Path) -> None:
    head = report_samples.header(warnings=("the governor of node1 is powersave: set it to performance",))
    cluster = filter(_is_kept, report_samples.cluster_measurements().records)
    measurements = report_samples.measurements([*cluster, *_overlap().records, *_growths(2).records], head=head)
    report.write_html(path, measurements, report_samples.cluster(), overview(measurements, load("mpi")))


def _write_results(path: Path) -> None:
    report.write_html(path, report_samples.FULL, None)


def _write_check(path: Path) -> None:
    report.write_check(path, "MPI's promises", check(_growths(3), load("mpi")))


def _write_comparison(path: Path) -> None:
    loggp = LogGP(Parameter(2e-6, "s"), Parameter(1e-6, "s"), Parameter(1.5e-6, "s"), Parameter(1e-9, "s/B"))
    postal = Postal(Parameter(4e-6, "s"), Parameter(1e-9, "s/B"))
    machine = Machine("cluster", (Segment("all", "same-node", postal=postal, loggp=loggp),))
    sizes = (1, 1024, 1 << 20)
    records = [
        report_samples.record(
            Collective(operation, size, processes),
            1.7 * predict.collective(machine, operation, Problem(processes, size), model="loggp").time.seconds,
        )
        for operation in ("bcast", "alltoall")
        for processes in (2, 16)
        for size in sizes
    ]
    records += [
        report_samples.record(PingPong(size, "same-node"), predict.send(machine, size, model="loggp").time.seconds)
        for size in (0, *sizes)
    ]
    comparison = predict.compare(machine, report_samples.measurements(records))
    write_comparison(path, machine.name, comparison, predict.summarise(comparison.rows))


def _weeks() -> dict[str, Measurements]:
    return {
        f"week{week}.jsonl": scaling_samples.measured({"bcast": "p", "barrier": "log p"}, launches=3)
        for week in range(4)
    }


def _write_differences(path: Path) -> None:
    before, after, *_ = _weeks().values()
    report.write_differences(path, "two weeks", differences(before, after))


def _write_history(path: Path) -> None:
    report.write_history(path, "a cluster", history(_weeks()))


def _write_index(path: Path) -> None:
    folder = path.parent / "files"
    folder.mkdir()
    dump(report_samples.FULL, folder / "results.jsonl")
    (folder / "results.html").write_text("<!DOCTYPE html>")
    report.write_index(path, folder)


def _write_validation(path: Path) -> None:
    machine = overlap_samples.machine(overlap=(overlap_samples.PROFILE,))
    write_validation(path, machine.name, validate(_overlap(), machine))


def _write_recording(path: Path) -> None:
    logs = new_logs(processes := 8)
    for log in logs:
        after, before = (log.rank + 1) % processes, (log.rank - 1) % processes
        log.call("Init_thread", 0, _SECOND // 100, line=0)
        for step in range(3):
            begin = (1 + 3 * step) * _SECOND
            log.call("Sendrecv", begin, begin + _SECOND // 4, line=40, bytes=10**6, peer=after, receive_peer=before,
                     source=before, received_bytes=10**6)  # fmt: skip
            late = begin + (9 + log.rank) * _SECOND // 8
            log.call("Allreduce", late, begin + 5 * _SECOND // 2, line=81, bytes=8)
    end(logs)
    folder = write(path.parent / "recording", logs)
    (folder / "rank-000005.log").unlink()  # which the page has to say
    _run(["report", str(folder), "-o", str(path)])


def _write_what_if(path: Path) -> None:
    scale = "bandwidth=1:4,latency=0.5,1"
    _run(["simulate", "graphene,switch", "halo", "-p", "4", "-n", "64KiB", "--scale", scale, "-o", str(path)])


def _write_advice(path: Path) -> None:
    _run(["simulate", "graphene", "replay", str(_EXAMPLES / "recording"), "--advice", "-o", str(path)])


def _write_noise(path: Path) -> None:
    source = path.parent / "work.csv"
    source.write_text("seconds\n" + "".join(f"{1e-3 + 1e-5 * (number % 7) ** 2}\n" for number in range(50)))
    _run(["simulate", "graphene", "cg", "-p", "4", "--class", "S", "--iterations", "1", "--noise", str(source),
          "--seeds", "20", "-o", str(path)])  # fmt: skip


def _write_jobs(path: Path) -> None:
    _run(["simulate", "graphene", "jobs", _FFT, _CFD, "--placement", "random", "-k", "2", "-o", str(path)])


def _write_placement(path: Path) -> None:
    _run(["place", "graphene", _FFT, "-k", "4", "-o", str(path)])


def _write_sensitivity(path: Path) -> None:
    _run(["simulate", "L=2us,o=1us,g=1us,G=1ns", "cg", "-p", "8", "--class", "S", "--iterations", "1", "--sensitivity",
          "-o", str(path)])  # fmt: skip


def _write_sizes(path: Path) -> None:
    _run(["simulate", "graphene", "cg", "-p", "4:16", "--class", "S", "--iterations", "1", "-o", str(path)])


def _write_simulation(path: Path) -> None:
    _run(["simulate", "graphene", "alltoall", "-p", "16", "-n", "100KiB", "--compare", "loggps", "-o", str(path)])


def _write_timelines(path: Path) -> None:
    write_gantt(path, "two runs", [PING_PONG, random_timeline(64, 400, name="long")])


def _write_guard_history(path: Path) -> None:
    for commit, messages in enumerate((12, 12, 20)):
        runs = tuple(guard.RunCounts("solver", p, messages=messages * p, seconds=1e-6 * p) for p in (4, 16))
        result = guard.GuardResult(guard.Counts(runs=runs))
        report.write_guard_history(path, result, f"commit-{commit}", f"2026-11-0{commit + 1}T00:00")


def _write_study(path: Path) -> None:
    rows = [
        {"where": where, "program": "ring -n 8", "ranks": ranks, "model": "hybrid", "seconds": 1e-6 * ranks * factor}
        for where, factor in (("graphene", 2), ("switch", 1))
        for ranks in (4, 16, 64)
    ]
    report.write_study(path, "rings", [*rows, {"where": "nowhere", "program": "ring -n 8", "error": "no platform"}])


def _run(words: list[str]) -> None:
    code = main(words)
    assert code == 0, f"commmodel {' '.join(words)}: exit code {code}"


PAGES: dict[str, tuple[str, Callable[[Path], None]]] = {
    "report": ("report.page", _write_report),
    "results": ("report.page", _write_results),
    "check": ("report.scaling.page", _write_check),
    "comparison": ("report.prediction.comparison_page", _write_comparison),
    "differences": ("report.scaling.difference_page", _write_differences),
    "index": ("report.index_page", _write_index),
    "history": ("report.scaling.difference_page", _write_history),
    "validation": ("report.overlap.validation_page", _write_validation),
    "recording": ("report.recording.page", _write_recording),
    "what-if": ("report.simulation.what_if_page", _write_what_if),
    "advice": ("report.simulation.advice_page", _write_advice),
    "sensitivity": ("report.simulation.sensitivity_page", _write_sensitivity),
    "noise": ("report.simulation.noise_page", _write_noise),
    "jobs": ("report.simulation.jobs_page", _write_jobs),
    "placement": ("report.simulation.placements_page", _write_placement),
    "sizes": ("report.simulation.sizes_page", _write_sizes),
    "simulation": ("report.simulation.gantt_page", _write_simulation),
    "timelines": ("report.simulation.gantt_page", _write_timelines),
    "guard": ("report.scaling.guard.history_page", _write_guard_history),
    "study": ("report.simulation.study", _write_study),
}
"""Name of an example -> the module of its page, and what writes it."""


def write_pages(folder: Path) -> dict[str, Path]:
    """Write all examples into a folder and return their files."""
    files = {name: folder / f"{name}.html" for name in PAGES}
    for name, (_, write_page) in PAGES.items():
        write_page(files[name])
    return files
