"""Work within the memory of a process: copies and reductions, for δ and γ of the models of collectives.

Rank 0 measures alone. Main entry: `KERNELS`.
"""

from itertools import product
from typing import Literal, get_args

from commmodel.bench.kernels.kernel import NO_MESSAGES, Kernel, sampled
from commmodel.bench.placement import Placement
from commmodel.bench.session import Session
from commmodel.results import BenchOptions, Configuration, Record
from commmodel.results.configurations import Local

_OPERATIONS: tuple[Literal["copy", "reduction"], ...] = get_args(Literal["copy", "reduction"])


def _plan(options: BenchOptions, placement: Placement) -> list[Configuration]:  # noqa: ARG001
    return [Local(operation, size) for operation, size in product(_OPERATIONS, options.sizes)]


def _measure(session: Session, configuration: Local) -> Record | None:
    from commmodel._core.mpi import collective

    loop = collective.copies if configuration.operation == "copy" else collective.reductions
    common = session.send_buffer, session.receive_buffer, configuration.message_size
    return sampled(
        session,
        configuration,
        lambda repetitions: session.seconds(loop(*common, repetitions, session.clock_number)),
    )


KERNELS = (
    Kernel(
        "copies and reductions within a process's memory, for collectives",
        (Local,),
        _plan,
        _measure,
        ranks=lambda *_: [0],
        effort=lambda _: NO_MESSAGES,
    ),
)
