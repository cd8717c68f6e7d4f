"""Simulation of a program by any model. Main entry: `run`.

The model is an option: a `commmodel.simulate.network.Network`, whose messages share the links of a platform, or a
`commmodel.simulate.delays.DelayModel`, whose messages only take their time. GOAL schedules are no programs but graphs
of what has to come before what: `commmodel.simulate.delays.run_schedule` runs these.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from commmodel.choices import Slopes
from commmodel.errors import InputError
from commmodel.signatures import checked
from commmodel.simulate import delays, flows
from commmodel.simulate.delays import DelayModel
from commmodel.simulate.network import Network
from commmodel.simulate.operations import Program
from commmodel.simulate.result import Deadlock, SimulationResult

if TYPE_CHECKING:
    from commmodel.simulate.platform import Platform


@checked
def run(
    program: Program,
    model: Network | DelayModel,
    platform: "Platform | None" = None,
    *,
    hosts: ArrayLike | None = None,
    record: bool = False,
    progress: Callable[[float, int], None] | None = None,
    deadlock: Deadlock = "raise",
    slopes: Slopes | None = None,
) -> SimulationResult:
    """Simulate a program by a model.

    Parameters
    ----------
    program : Program
    model : Network or DelayModel
        How messages behave: `SMPI`, `fluid()`, or a network that was fitted (`commmodel.simulate.from_machine.network`:
        the hybrid model); or LogP, LogGP or LogGPS with their parameters.
    platform : Platform, optional
        Whose links messages share: a network needs one. A delay model knows no links and takes no notice of
        `platform`, so that all models can be called alike.
    hosts : int array, shape (processes,), optional
        Rank -> number of its host; without it, the platform places the ranks, one block after the other. To a delay
        model it matters where messages within a host have parameters of their own.
    record : bool
        Whether to keep what each rank did when, and each message: 40 bytes for each interval, 44 for a message.
    progress : callable, optional
        (seconds simulated, events so far), called now and then.
    deadlock : {"raise", "return"}
        Whether ranks that hang are an error, or their result is returned: its `blocked` says what they wait for.
    slopes : {"parameters", "factors"}, optional
        Whether the result has derivatives: of a delay model those of the ranks' ends, by what is added to the model's
        parameters, or by their factors (`SimulationResult.derivatives`); of a network, with either word, those of the
        end by every link and host (`SimulationResult.gradient`), but not where ranks hang.

    Raises
    ------
    DeadlockError
        If ranks wait for ever; it names them, and has the result until then.
    InputError
        If a network has no platform, a parameter is not possible, or the program does what cannot be done: the message
        names the rank.

    Examples
    --------
    Two hosts that send each other 100 kB at once, over links of 125 MB/s for both directions together, 15 µs each. To a
    delay model, each message is alone.

    >>> import numpy as np
    >>> from commmodel.simulate import Program, OPERATION, SMPI, Code, DelayModel, DelayParameters, fluid, platform
    >>> def rank(peer):
    ...     calls = [(Code.ISEND, peer, 0, -1, 1e5), (Code.RECV, peer, 0, -1, 1e5), (Code.WAITALL, 0, 0, -1, 0)]
    ...     return np.array(calls, dtype=OPERATION)
    >>> program = Program.from_ranks([rank(1), rank(0)])
    >>> links = platform.flat(2, bandwidth=125e6, latency=15e-6, limiter=125e6)
    >>> loggps = DelayModel(DelayParameters(L=30e-6, o=0, G=8e-9))
    >>> for model in (fluid(), SMPI, loggps):
    ...     result = run(program, model, links)
    ...     print(f"{result.model}: {1e6 * result.seconds:.0f} µs")
    fluid: 1630 µs
    smpi: 2136 µs
    loggps: 830 µs
    """
    if isinstance(model, DelayModel):
        if program.is_live:
            raise InputError(
                f"a program that runs needs a model of shared links, hybrid, fluid or smpi: not {model.name}"
            )
        result = delays.simulated(program, model, record, progress, hosts, slopes)
        return _with_model(result, model, hosts, record).or_deadlock(deadlock)
    if platform is None:
        raise InputError(
            f"by the model {model.name!r} messages share links: give a platform, as in run(program, model, platform)"
        )
    try:
        result = flows.simulated(program, model, platform, hosts, record, progress, slopes)
        places = platform.place(program.processes) if hosts is None else hosts
        return _with_model(result, model, places, record).or_deadlock(deadlock)
    finally:
        program.close()


def _with_model(
    result: SimulationResult, model: Network | DelayModel, hosts: ArrayLike | None, record: bool
) -> SimulationResult:
    """Return the result with what its critical path is told by, where it was recorded."""
    if not record:
        return result
    return replace(result, message_model=model, hosts=None if hosts is None else np.asarray(hosts))
