"""Drawings of what goes where: recording, simulating, and the steps of commmodel.

Main entries: `record`, `simulate` and `architecture`.
"""

from collections.abc import Sequence

from tools.drawings.canvas import Canvas, Frame


def _column(canvas: Canvas, frame: Frame, entries: Sequence[tuple[str, Sequence[str]]], gap: float) -> list[Frame]:
    """Draw boxes below each other, each as large as the first."""
    step = frame.height + gap
    return [
        canvas.box(frame._replace(y=frame.y + row * step), title, words) for row, (title, words) in enumerate(entries)
    ]


def _fan(canvas: Canvas, source: Frame, targets: Sequence[Frame]) -> None:
    """Draw arrows from one box to several beside it, which share their first part."""
    x = (source.right.x + targets[0].x) / 2
    canvas.path([source.right, (x, source.right.y)], "thin s-soft")
    for frame in targets:
        canvas.arrow((x, source.right.y), (x, frame.left.y), frame.left)


def record() -> str:
    """From a program to its recording, and what reads that."""
    canvas = Canvas(760, 250)
    program = canvas.box(Frame(12, 50, 124, 150), "program", ["rank 0", "rank 1", "rank 2", "rank 3"])
    recorder = canvas.box(Frame(212, 50, 130, 60), "recorder", ["in each rank"])
    library = canvas.box(Frame(212, 140, 130, 60), "MPI library", ["as it is"])
    recording = canvas.box(
        Frame(398, 50, 136, 150), "recording", ["recording.json", "rank-000000.log", "rank-000001.log", "..."]
    )
    canvas.arrow((program.x + program.width, recorder.left.y), recorder.left)
    canvas.text((174, 70), "MPI calls", "soft", "middle")
    canvas.arrow(recorder.bottom, library.top, is_double=True)
    canvas.arrow(recorder.right, (recording.x, recorder.right.y))
    canvas.text((370, 70), "a log", "soft", "middle")
    readers = _column(
        canvas,
        Frame(580, 12, 168, 64),
        (
            ("commmodel report", ["where time goes,", "what to do about it"]),
            ("simulate ... replay", ["the same ranks on", "another machine"]),
            ("commmodel convert", ["timeline, traces of", "other tools"]),
        ),
        17,
    )
    _fan(canvas, recording, readers)
    canvas.text((12, 232), "mpiexec -n 4 commmodel record -o recording -- ./a.out", "code")
    return canvas.svg()


def simulate() -> str:
    """What the simulator reads, and what it says."""
    canvas = Canvas(760, 270)
    inputs = _column(
        canvas,
        Frame(12, 12, 204, 74),
        (
            ("WHERE: platform", ["hosts, cores, links, routes:", "graphene, XML, TOML"]),
            ("parameters of messages", ["a machine of commmodel fit,", "or L, o, g, G as typed"]),
            ("WHAT: work", ["collective, halo, LU, traces,", "recording, your program"]),
        ),
        12,
    )
    engine = canvas.box(
        Frame(268, 68, 220, 134),
        "engine",
        ["matches sends and receives,", "lets messages share links,", "or applies LogGP;", "one event after the other"],
    )
    x = (inputs[0].right.x + engine.x) / 2
    for frame in inputs:
        canvas.path([frame.right, (x, frame.right.y), (x, engine.left.y)], "thin s-soft")
    canvas.arrow((x, engine.left.y), engine.left)
    answers = _column(
        canvas,
        Frame(540, 12, 208, 74),
        (
            ("times", ["of the run, of each rank", "and what it waits for"]),
            ("busiest links", ["bytes, and the share", "of the capacity"]),
            ("timeline", ["-o page.html: all ranks", "and messages over time"]),
        ),
        12,
    )
    _fan(canvas, engine, answers)
    return canvas.svg()


def architecture() -> str:
    """How data flow from a measurement, or a recording, to answers."""
    canvas = Canvas(760, 560)
    bench = canvas.box(Frame(12, 12, 300, 56), "bench", ["mpiexec -n P python -m commmodel.bench"])
    suites = canvas.box(Frame(12, 96, 130, 56), "formats", ["files of other suites"])
    results = canvas.box(Frame(180, 100, 190, 48), "results.jsonl", ["raw samples, environment"], "code")
    fit = canvas.box(Frame(180, 182, 190, 48), "fit", ["parameters, intervals, trust"])
    machine = canvas.box(Frame(180, 264, 190, 48), "machine.toml", ["or by hand, or published"], "code")
    recorder = canvas.box(Frame(440, 12, 308, 56), "record", ["mpiexec -n P commmodel record -- PROGRAM"])
    recording = canvas.box(Frame(550, 100, 190, 48), "recording", ["a log of each rank"], "code")
    answers = [
        canvas.box(Frame(12 + 149 * column, 372, 140, 84), title, words)
        for column, (title, words) in enumerate(
            (
                ("predict", ["time of a message,", "halo, collective"]),
                ("optimize, tune", ["sizes of messages,", "bursts, algorithms"]),
                ("scaling", ["growth, against", "what is expected"]),
                ("simulate", ["programs on links", "or under delays"]),
                ("profile", ["waits, matrix,", "efficiencies"]),
            )
        )
    ]
    predict, optimize, scaling, simulate_box, profile = answers
    report = canvas.box(Frame(12, 504, 736, 44), "report", ["tables in the terminal, plots, HTML pages, timelines"])
    canvas.arrow((275, bench.bottom.y), results.top)
    canvas.arrow(suites.right, results.left)
    canvas.arrow(results.bottom, fit.top)
    canvas.arrow(fit.bottom, machine.top)
    canvas.arrow((645, recorder.bottom.y), recording.top)
    canvas.path([machine.bottom, (machine.bottom.x, 342)], "thin s-soft")
    for frame in (predict, optimize, simulate_box):
        canvas.arrow((machine.bottom.x, 342), (frame.top.x, 342), frame.top)
    canvas.arrow(
        results.right, (410, results.right.y), (410, 328), (scaling.top.x + 30, 328), (scaling.top.x + 30, scaling.y)
    )
    canvas.arrow((670, recording.bottom.y), (670, profile.y))
    canvas.arrow(
        (600, recording.bottom.y), (600, 342), (simulate_box.top.x + 30, 342), (simulate_box.top.x + 30, profile.y)
    )
    for frame in answers:
        canvas.arrow(frame.bottom, (frame.bottom.x, report.y))
    return canvas.svg()
