"""March, Murali, Teo, See and Himer 2009: LogGP of messages and collectives on Ranger. Main entry: `paper`."""

from collections.abc import Iterator

from benchmarks.validation.papers.rows import Gap, Paper, Row, off

from commmodel import machine, predict
from commmodel.collectives.library.selection import load, select
from commmodel.models import loggp
from commmodel.models.collectives import CLOSED_FORMS, barrier_dissemination_printed

__all__ = ["paper"]

PROCESSES = 256
TABLES_2_AND_3 = {
    ("alltoall", 256, 4): "linear",
    ("alltoall", 256, 8): "bruck",
    ("alltoall", 257, 4): "linear",
    ("alltoall", 257, 8): "linear",
    ("alltoall", 32 << 10, 8): "linear",
    ("alltoall", (32 << 10) + 1, 4): "pairwise",
    ("alltoall", (32 << 10) + 1, 8): "pairwise",
    ("bcast", 12 << 10, 4): "binomial",
    ("bcast", 12 << 10, 8): "binomial",
    ("bcast", 12 << 10, 9): "binomial",
    ("bcast", 13 << 10, 4): "binomial",
    ("bcast", 13 << 10, 8): "scatter-recursive-doubling",
    ("bcast", 13 << 10, 9): "scatter-ring",
    ("bcast", 1 << 20, 4): "binomial",
    ("bcast", 1 << 20, 8): "scatter-ring",
    ("bcast", 1 << 20, 9): "scatter-ring",
}
"""Operation, bytes, processes -> algorithm, at the ends of all cells of the tables."""
FORMS = {
    ("barrier", "dissemination", 0): "as printed it is ⌈log P⌉ (L + o + g), the same where g = o",
    ("alltoall", "bruck", 1): "the printed parenthesis multiplies o by G",
    ("alltoall", "linear", 1): "the printed form has no m in its term of many messages",
    ("alltoall", "pairwise", 1): "",
    ("bcast", "binomial", 1): "",
    ("bcast", "scatter-ring", 256): "BT/R, the row scatter + gather",
}
"""Operation, algorithm, bytes -> what Table 4 prints."""
COPY = 0.125e-9
"""δ, seconds per byte: Section 4.2."""


def messages() -> Iterator[Row]:
    """Yield the time of a short message by Figure 4a."""
    for name, printed in (("ranger", 3.25e-6), ("ranger-nonblocking", 3.45e-6)):
        costs = machine.load(name).segments[0].loggp
        assert costs is not None  # noqa: S101
        seconds = float(loggp.time(1, costs.L.value, costs.o.value, costs.G.value if costs.G else 0.0))
        yield Row(
            "Figures 3, 4a",
            f"L + 2 o, {name}",
            f"{1e6 * printed:.4g} us",
            f"{1e6 * seconds:.4g} us",
            off(seconds, printed),
            "`models.loggp.time`, `commmodel list machines`",
        )


def choices() -> Iterator[Row]:
    """Yield what MVAPICH2 picks."""
    selector = load("mvapich2-1.0")
    right = sum(select(selector, *place).algorithm == name for place, name in TABLES_2_AND_3.items())
    yield Row(
        "Tables 2, 3",
        "the algorithm at both ends of every cell",
        f"{len(TABLES_2_AND_3)}",
        f"{right}",
        "the same" if right == len(TABLES_2_AND_3) else "differs",
        "`predict ... --selector mvapich2-1.0`",
    )


def closed_forms() -> Iterator[Row]:
    """Yield the closed forms beside the schedule of the same algorithm, message by message."""
    ranger = machine.load("ranger")
    costs = ranger.segments[0].loggp
    assert costs is not None  # noqa: S101
    L, o, g = (value.value for value in (costs.L, costs.o, costs.g))  # type: ignore[union-attr]
    for (operation, algorithm, size), note in FORMS.items():
        form = CLOSED_FORMS[operation][algorithm]
        closed = float(form.formula(PROCESSES, size, L, o, g, 0.0, COPY, 0.0))
        result = predict.collective(ranger, operation, size, PROCESSES, algorithm=algorithm, model="logp")
        seconds = result.time.seconds
        yield Row(
            "Table 4",
            f"{operation}, {algorithm}, {size} B, {PROCESSES} processes{'; ' if note else ''}{note}",
            f"{1e6 * closed:.5g} us by the form",
            f"{1e6 * seconds:.5g} us by the schedule",
            off(seconds, closed),
            f"`predict ranger {operation} -n {size} -p {PROCESSES} --algorithm {algorithm} --model logp`",
        )
    printed = float(barrier_dissemination_printed(PROCESSES, 0, L, o, g, 0.0, COPY, 0.0))
    yield Row(
        "Table 4",
        "barrier as printed",
        "26.00 us",
        f"{1e6 * printed:.2f} us",
        off(printed, 26e-6),
        "`models.collectives.barrier_dissemination_printed`",
    )


def growth() -> Iterator[Row]:
    """Yield how predictions grow from 16 to 256 processes, as Figures 6 and 7 say in words."""
    ranger = machine.load("ranger")
    for place, operation, algorithm, printed, expected in (
        ("Figure 6c", "bcast", "binomial", "logarithmic", 2.0),
        ("Figure 6a", "barrier", "dissemination", "logarithmic", 2.0),
        ("Figure 6b", "alltoall", "bruck", "logarithmic, measured linear", 2.0),
        ("Figure 7a", "alltoall", "pairwise", "linear", 17.0),
    ):
        size = 0 if operation == "barrier" else 2
        few, many = (
            predict.collective(ranger, operation, size, number, algorithm=algorithm, model="logp").time.seconds
            for number in (16, PROCESSES)
        )
        yield Row(
            place,
            f"{operation}, {algorithm}: growth of the prediction from 16 to {PROCESSES} processes",
            printed,
            f"x {many / few:.2f}",
            f"x {expected:g} expected, {off(many / few, expected)}",
            f"`predict ranger {operation} -n {size} -p 16,256 --algorithm {algorithm} --model logp`",
        )


def paper() -> Paper:
    """Return the rows and gaps."""
    gaps = [
        Gap(
            "Figure 4b",
            "G over the message size is drawn, not printed, so nothing above 8 bytes can be predicted",
            "`python -m commmodel.bench loggp plogp`, `fit` on your cluster",
        ),
        Gap(
            "Figure 5",
            "measured times and errors of messages, of which the means 19 % and 8 % are printed",
            "`predict machine.toml measurements results.jsonl`: the same table for your machine",
        ),
        Gap(
            "Figures 6, 7",
            "the measured times are drawn; that the error on 256 nodes is twice and four times the "
            "measured time is all that is printed",
            "the growth of the predictions, above; the same comparison on the emulated cluster: `make cluster-bench`",
        ),
        Gap(
            "Table 1, Figures 1, 2",
            "definitions and the conversion from pLogP; the sign of o_s(1) in Eq 1 is wrong",
            "`models.loggp.latency_from_plogp` has the right one, `fit` uses it",
        ),
    ]
    return Paper(
        "March, Murali, Teo, See, Himer 2009: LogGP", [*messages(), *choices(), *closed_forms(), *growth()], gaps
    )
