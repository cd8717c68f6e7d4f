"""Iancu and Strohmaier 2007: decompositions that hide a transfer. Main entry: `paper`."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from benchmarks.validation.papers.rows import Gap, Paper, Row, off

from commmodel.models import overlap
from commmodel.optimize import Choice, MessageCosts, TransferProblem, choose, misdiagnosis, sensitivity

__all__ = ["paper"]

BYTE_TIME = 1 / 900e6
"""G, which is in figures only; 900 MB/s is Infiniband's peak of that time. Overheads are assumed, too."""
INFINIBAND = MessageCosts(overhead=2e-6, latency=10e-6, byte_time=BYTE_TIME, queue_depth=64)
ELAN4 = MessageCosts(overhead=1e-6, latency=2.4e-6, byte_time=BYTE_TIME, queue_depth=32, outstanding_volume=4 << 20)
VOLUMES = tuple(1024 * 8 << exponent for exponent in range(1, 11))
"""2K to 1M doubles, bytes."""
TABLE_2 = {
    "overestimate": (1.9, 0.2, 1.3, 1.7, 0.5, 2.2, 0.8, 1.3, 0.5, 1.1),
    "underestimate": (None, None, 0.8, 0.5, 0.8, 0.5, 0.8, 0.5, 0.9, 0.6),
    "misdiagnosed": (0.48, 0.22, 0.12, 0.06, 0.01, None, None, None, None, None),
}
"""Errors of the computation time at which the choice changes, and the loss if the problem is mistaken; None: no
change, or less than 1 %."""
FIGURES = {"Figure 7": (INFINIBAND, 0.43), "Figure 8": (INFINIBAND, 1.59), "Figure 9": (ELAN4, 0.56)}
"""Network and the ratio of computation to communication."""
MOST, LEAST = 100, 0.01
"""Errors that count as no change, and losses that count as none."""
WORKED = (1 << 20, 1 << 14, 32)
"""Volume, message size and burst of the example that formulas are checked with."""


def problem(volume: int, ratio: float) -> TransferProblem:
    """Return the transfer of so many bytes, with computation in this ratio."""
    return TransferProblem(volume, ratio * volume * BYTE_TIME)


def choices(costs: MessageCosts, ratio: float) -> list[Choice]:
    """Return the paper's choice for each volume."""
    return [choose(costs, problem(volume, ratio), model="paper") for volume in VOLUMES]


def equations() -> Iterator[Row]:
    """Yield Eq 7 on the paper's network, and which burst the equations of all-to-all hold for best."""
    volume, size, burst = WORKED
    seconds = float(
        overlap.pipelined_computation_time(volume, size, burst, 1.59 * volume * BYTE_TIME, 2e-6, 10e-6, BYTE_TIME)
    )
    yield Row(
        "Eq 7",
        "1 MiB in messages of 16 KiB and two bursts, ratio 1.59",
        "1882.7 us, by hand",
        f"{1e6 * seconds:.1f} us",
        off(seconds, 1882.7e-6),
        "`models.overlap.pipelined_computation_time`",
    )
    bursts = [1 << exponent for exponent in range(7)]
    best = [
        min(
            bursts,
            key=lambda burst, size=size: overlap.all_to_all_contiguous_time(
                overlap.pipelined_time(
                    volume, size, burst, 0.43 * volume * BYTE_TIME, 2e-6, 10e-6, BYTE_TIME, BYTE_TIME
                ),
                size,
                burst,
                32,
                BYTE_TIME,
            ),
        )
        for size in (64, 512, 4096, 8192)
    ]
    yield Row(
        "Section 3.4, Eq 10",
        "best burst of an all-to-all of 32, messages of 64 B, 512 B, 4 KiB, 8 KiB",
        "1 for each: not what the equation says",
        ", ".join(map(str, best)),
        "√((o + L) r V / (2 (P − 1) G)) / S",
        "`models.overlap.all_to_all_contiguous_time`",
    )


def decompositions() -> Iterator[Row]:
    """Yield what the figures of the best decompositions say in words."""
    by = '`optimize.choose(..., model="paper")`'
    answers_of = {place: choices(*case) for place, case in FIGURES.items()}
    for place, answers in answers_of.items():
        sizes = [answer.message_size for answer in answers]
        yield Row(
            place,
            "best message size, 2K to 1M doubles",
            "grows with the problem size",
            f"{sizes[0] >> 10} KiB to {sizes[-1] >> 10} KiB",
            "holds" if all(low <= high for low, high in pairwise(sizes)) else "fails",
            by,
        )
    infiniband, elan = ([answer.message_size for answer in answers_of[place]] for place in ("Figure 7", "Figure 9"))
    smaller = sum(small <= large for small, large in zip(elan, infiniband, strict=True))
    yield Row(
        "Figures 7, 9",
        "Quadrics is best with messages no larger than Infiniband's",
        "in words",
        f"at {smaller} of {len(VOLUMES)} volumes",
        "holds" if smaller == len(VOLUMES) else "not at all",
        by,
    )
    hidden = [
        _share_hidden(answer, volume, 0.43) for answer, volume in zip(answers_of["Figure 7"], VOLUMES, strict=True)
    ]
    yield Row(
        "Section 4",
        "of what can be hidden at ratio 0.43, the computation, hidden by the choice (of the model's times)",
        "over 90 %",
        f"{min(hidden):.0%} to {max(hidden):.0%}, {hidden[4]:.0%} at 32K doubles",
        f"over 90 % at {sum(share > 0.9 for share in hidden)} of {len(hidden)} volumes",
        by,
    )


def _share_hidden(answer: Choice, volume: int, ratio: float) -> float:
    """Return by how much the choice beats blocking messages, of the computation that it could hide behind."""
    return (answer.blocking_seconds - answer.seconds) / (ratio * volume * BYTE_TIME)


def robustness() -> Iterator[Row]:
    """Yield Table 2, whose values are from measured times; ours are from the model's."""
    results = [sensitivity(INFINIBAND, problem(volume, 0.43), model="paper") for volume in VOLUMES]
    for name, printed in (("overestimate", "Table 2 A, overestimate"), ("underestimate", "Table 2 A, underestimate")):
        values = [getattr(item, name) - 1 for item in results]
        yield Row(
            printed,
            "error of the computation time at which the choice changes, 2K to 1M doubles",
            _percents(TABLE_2[name]),
            _percents([None if value > MOST else value for value in values]),
            "model's times in place of measured ones",
            "`optimize.sensitivity`",
        )
    losses = [misdiagnosis(INFINIBAND, problem(volume, 0.43), model="paper") for volume in VOLUMES]
    yield Row(
        "Table 2 B, misdiagnose",
        "loss where the problem is mistaken for a computation-bound one",
        _percents(TABLE_2["misdiagnosed"]),
        _percents([None if value < LEAST else value for value in losses]),
        "model's times in place of measured ones",
        "`optimize.misdiagnosis`",
    )


def _percents(values: Sequence[float | None]) -> str:
    return ", ".join("*" if value is None else f"{100 * value:.0f}" for value in values) + " %"


def paper() -> Paper:
    """Return the rows and gaps."""
    gaps = [
        Gap(
            "Table 1, Figures 1 to 5",
            "o, G and bandwidths of Elan3, Elan4 and Infiniband are drawn, and the machines are gone",
            "`python -m commmodel.bench burst queue progress bandwidth` measures the same curves",
        ),
        Gap(
            "Figure 6",
            "code patterns A to E, without numbers",
            "`bench overlap --templates blocking,communication,tight,"
            "loose,pipelined`; `commmodel.overlap` runs C and E in an application",
        ),
        Gap(
            "Figures 7 to 9, 11, 12, as measured",
            "colour maps without numbers",
            "all decompositions measured beside the choice on emulated hosts: `make cluster-bench`",
        ),
        Gap(
            "Figure 10", "the knee of Elan4's address table, drawn", "the limit of 4 MB under way, `outstanding_volume`"
        ),
        Gap(
            "Table 2 B, rows Model and A2A",
            "losses of measured times",
            "the same table of emulated hosts: `make cluster-bench`",
        ),
    ]
    return Paper("Iancu, Strohmaier 2007: overlap", [*equations(), *decompositions(), *robustness()], gaps)
