"""The registry of benchmark kernels: every module of this folder that has ``KERNELS``. Main entry: `REGISTRY`.

A kernel plans its configurations and measures one of them. A new kernel is a module here that is found by being here, a
configuration in `commmodel.results.configurations` and a loop in ``_core/mpi``; or elsewhere a call of `register`.
"""

from collections.abc import Iterable, Sequence
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

import msgspec

from commmodel.bench.kernels.kernel import NO_MESSAGES, Kernel, sampled, timed
from commmodel.bench.option import Option, positive
from commmodel.bench.placement import FurtherNodes, Placement, node_pairs
from commmodel.errors import InputError
from commmodel.lazy import attributes
from commmodel.plugins import Parts
from commmodel.results import BenchOptions, Configuration, Record
from commmodel.results.configurations import Function
from commmodel.signatures import checked

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = [
    "NO_MESSAGES", "REGISTRY", "Kernel", "Option", "buffer_bytes", "check", "kernel_of", "left_out", "on_several_nodes",
    "participants", "positive", "refinements", "register", "sampled", "sensible_kernels", "timed",
]  # fmt: skip
__dir__ = attributes(__name__)[1]


def _kernels() -> list[Kernel]:
    """Return the kernels of all modules, those that are measured by default first."""
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    kernels: list[Kernel] = [kernel for module in modules for kernel in getattr(module, "KERNELS", ())]
    return sorted(kernels, key=lambda kernel: (kernel.by_default is None, kernel.name))


REGISTRY: Parts[Kernel] = Parts("unknown kernel", "commmodel.kernels", {kernel.name: kernel for kernel in _kernels()})
_OF_CONFIGURATION = {kind: kernel for kernel in REGISTRY.values() for kind in kernel.configurations}


def kernel_of(configuration: Configuration) -> Kernel:
    """Return the kernel that measures a configuration."""
    if isinstance(configuration, Function):
        return REGISTRY[configuration.name]
    return _OF_CONFIGURATION[type(configuration)]


@checked
def register(kernel: Kernel) -> None:
    """Add a kernel of one's own, which measures `Function` with the kernel's name.

    Raises
    ------
    InputError
        Where a kernel of another module has its name.

    Examples
    --------
    >>> register(Kernel("nothing", (Function,), lambda options, placement: [], lambda session, _: None, name="nothing"))
    >>> REGISTRY.pop("nothing").summary
    'nothing'
    """
    if kernel.configurations[0] is Function and kernel.name == "function":
        raise InputError("name: a kernel that measures Function needs one: Kernel(..., name='mine')", "name")
    REGISTRY.add(kernel.name, kernel, kernel.measure)


def sensible_kernels(placement: Placement, numbers: Sequence[int] = (1,)) -> tuple[str, ...]:
    """Return the kernels to measure by default on these numbers of pairs of nodes.

    Everything that does not wait to be named, but no pairs where one pair is all there is, and no streams where it is
    within a node, either.
    """
    return tuple(
        name for name, kernel in REGISTRY.items() if kernel.by_default and kernel.by_default(placement, numbers)
    )


def on_several_nodes(
    plan: Iterable[Configuration], options: BenchOptions, placement: Placement, further: FurtherNodes
) -> list[Configuration]:
    """Return the plan with multi-pair configurations repeated for each number of pairs of nodes."""
    nodes = node_pairs(options, placement, further)
    spread: list[Configuration] = []
    for configuration in plan:
        counts = kernel_of(configuration).node_pairs
        if counts is None:
            spread.append(configuration)
        else:
            spread += [
                msgspec.structs.replace(configuration, node_pairs=count) for count in counts(configuration, nodes)
            ]
    return spread


def participants(configuration: Configuration, placement: Placement, further: FurtherNodes = ()) -> list[int]:
    """Return the participating ranks, rank 0 first.

    >>> from commmodel.results.configurations import Collective
    >>> participants(Collective("barrier", 0, 3), {})
    [0, 1, 2]
    """
    return [*kernel_of(configuration).ranks(configuration, placement, further)]


def buffer_bytes(plan: Iterable[Configuration]) -> tuple[int, int]:
    """Return the sizes of the send and receive buffers for a plan and its refinements."""
    rooms = [kernel_of(configuration).room(configuration) for configuration in plan]
    sent = max((room[0] for room in rooms), default=1)
    return max(sent, 1), max((room[1] for room in rooms), default=1)


def check(comm: "MPI.Intracomm", plan: Sequence[Configuration]) -> None:
    """Raise on every rank where some rank cannot measure the plan."""
    for name in dict.fromkeys(kernel_of(configuration).name for configuration in plan):
        kernel = REGISTRY[name]
        if kernel.check:
            kernel.check(comm, plan)


def refinements(options: BenchOptions, records: Sequence[Record]) -> list[Configuration]:
    """Return further configurations that the records up to here suggest."""
    done = {record.configuration for record in records}
    refined = [
        configuration
        for name in options.kernels
        if (refine := REGISTRY[name].refine)
        for configuration in refine(options, records)
    ]
    return [configuration for configuration in refined if configuration not in done]


def left_out(options: BenchOptions) -> list[str]:
    """Return a line for each kernel that omits configurations of the options."""
    omissions = {name: tell(options) for name in options.kernels if (tell := REGISTRY[name].left_out)}
    return [f"{name}: {words}" for name, words in omissions.items() if words]
