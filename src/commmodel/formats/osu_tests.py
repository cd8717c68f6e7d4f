"""Tests of the OSU Micro-Benchmarks: titles, programs, and what a row of a test's table becomes.

A test that measures what one of our kernels measures becomes that kernel's configuration; any other a
`commmodel.results.configurations.Function` with the program's name. A new test is one row of `TESTS`. Main entry:
`osu_test`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, get_args

from commmodel.formats.job_scripts import Placement
from commmodel.formats.lines import suite_function
from commmodel.results import Configuration
from commmodel.results.configurations import (
    Bandwidth,
    Collective,
    CollectiveMode,
    CollectiveName,
    Function,
    MessagePath,
    OneSided,
    Pairs,
    Persistent,
    PersistentCollective,
    PersistentOperation,
    PingPong,
    StartUp,
    Stream,
    Synchronisation,
    WindowMemory,
    WindowOperation,
)

DEFAULT_WINDOW = 64
"""Of osu_bw and osu_bibw, which do not print it; the time of a message is had without it."""
_OF_WHOLE = {"reduce_scatter", "reduce_scatter_block"}
"""Operations whose size is that of the whole vector, not of a rank's block."""
_ATOMIC_BYTES = 8
_SYNCHRONISATIONS: dict[str, Synchronisation] = {
    "MPI_Win_flush": "flush", "MPI_Win_flush_local": "flush-local", "MPI_Win_lock/unlock": "lock",
    "MPI_Win_lock_all/unlock_all": "lock-all", "MPI_Win_fence": "fence",
    "MPI_Win_post/start/complete/wait": "post-start",
}  # fmt: skip
_WINDOWS: dict[str, WindowMemory] = {"MPI_Win_allocate": "allocate", "MPI_Win_create": "create"}


@dataclass
class Setting:
    """What a test's title, its head and a job script say of all rows of its table."""

    placement: Placement | None = None
    pairs: int = 1
    window: int = DEFAULT_WINDOW
    numbers: dict[str, float] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)

    @property
    def path(self) -> MessagePath | None:
        """Of its pairs; None where they take several."""
        return "any" if self.placement is None else self.placement.path(self.pairs)


class OSUTest(NamedTuple):
    """A test of the suite."""

    program: str
    configuration: Callable[["OSUTest", Setting, int | None], Configuration]
    """From the test, its setting and a row's size (None without one) to what was measured."""
    directions: int = 0
    """In which messages move at once, of a test of bandwidth; 0: the table has times."""
    by_all: bool = False
    """Whether all ranks take part, so that their number must be known."""
    operation: CollectiveName | None = None


def _ping_pong(_: OSUTest, setting: Setting, size: int | None) -> Configuration:
    return PingPong(size or 0, setting.path or "any")


def _pairs(_: OSUTest, setting: Setting, size: int | None) -> Configuration:
    return Pairs(size or 0, setting.pairs, setting.path or "any", 1)


def _stream(_: OSUTest, setting: Setting, size: int | None) -> Configuration:
    return Stream(size or 0, setting.pairs, setting.path or "any", setting.window, buffers="one")


def _both_ways(_: OSUTest, setting: Setting, size: int | None) -> Configuration:
    return Bandwidth(size or 0, 2, "nearest-neighbour", "both-ways", setting.path or "any", setting.window)


def _ranks(setting: Setting) -> tuple[int, int | None]:
    """Return the number of all ranks, and that of a node."""
    return (1, None) if setting.placement is None else (setting.placement.ranks, setting.placement.per_node)


def _collective(test: OSUTest, setting: Setting, size: int | None) -> Configuration:
    """Return a collective."""
    ranks, per_node = _ranks(setting)
    size = max((size or 0) // ranks, 1) if test.operation in _OF_WHOLE else size or 0
    mode: CollectiveMode = "non-blocking" if test.program.startswith("osu_i") else "blocking"
    return Collective(test.operation or "barrier", size, ranks, mode=mode, per_node=per_node)


def as_function(test: OSUTest, setting: Setting, size: int | None) -> Function:
    """Return what a test measures by the program's name, with all that is said of it."""
    numbers: dict[str, float] = {} if size is None else {"n": size}
    if setting.pairs > 1:
        numbers["k"] = setting.pairs
    labels = dict(setting.labels)
    if setting.placement is not None and test.by_all:
        numbers["p"] = setting.placement.ranks
        if setting.placement.per_node is not None:
            numbers["per_node"] = setting.placement.per_node
    elif "p" not in setting.numbers and setting.path not in (None, "any"):
        labels["path"] = str(setting.path)
    return suite_function(test.program, numbers | setting.numbers, labels)


def _persistent(_: OSUTest, setting: Setting, size: int | None) -> Configuration:
    return Persistent(size or 0, setting.path or "any")


def _persistent_collective(operation: PersistentOperation) -> Callable[["OSUTest", Setting, int | None], Configuration]:
    """Return the configuration of a persistent collective."""

    def configuration(_: OSUTest, setting: Setting, size: int | None) -> Configuration:
        ranks, per_node = _ranks(setting)
        return PersistentCollective(operation, size or 0, ranks, per_node=per_node)

    return configuration


def _start_up(_: OSUTest, setting: Setting, size: int | None) -> Configuration:  # noqa: ARG001
    return StartUp("init", int(setting.numbers["p"]))


def _one_sided(operation: WindowOperation) -> Callable[["OSUTest", Setting, int | None], Configuration]:
    """Return the configuration of a test of latency; a function where its window is none that is measured here."""

    def configuration(test: OSUTest, setting: Setting, size: int | None) -> Configuration:
        labels = setting.labels
        how, memory = _SYNCHRONISATIONS.get(labels.get("synchronisation", "")), _WINDOWS.get(labels.get("window", ""))
        if how is None or memory is None or len(labels) > 2 or setting.path is None:
            return as_function(test, setting, size)
        return OneSided(operation, _ATOMIC_BYTES if size is None else size, setting.path, how, memory)

    return configuration


TESTS = {
    "mpi latency": OSUTest("osu_latency", _ping_pong),
    "mpi bandwidth": OSUTest("osu_bw", _stream, 1),
    "mpi multiple bandwidth / message rate": OSUTest("osu_mbw_mr", _stream, 1),
    "mpi bi-directional bandwidth": OSUTest("osu_bibw", _both_ways, 2),
    "mpi multi latency": OSUTest("osu_multi_lat", _pairs, by_all=True),
    "mpi multi-threaded latency": OSUTest("osu_latency_mt", as_function),
    "mpi multi-process latency": OSUTest("osu_latency_mp", as_function),
    "mpi partitioned latency": OSUTest("osu_partitioned_latency", as_function),
    "mpi latency persistent": OSUTest("osu_latency_persistent", _persistent),
    "mpi bandwidth persistent": OSUTest("osu_bw_persistent", as_function, 1),
    "mpi bi-directional bandwidth persistent": OSUTest("osu_bibw_persistent", as_function, 2),
    "mpi_put latency": OSUTest("osu_put_latency", _one_sided("put")),
    "mpi_get latency": OSUTest("osu_get_latency", _one_sided("get")),
    "mpi_put bandwidth": OSUTest("osu_put_bw", as_function, 1),
    "mpi_get bandwidth": OSUTest("osu_get_bw", as_function, 1),
    "mpi_put bi-directional bandwidth": OSUTest("osu_put_bibw", as_function, 2),
    "mpi_accumulate latency": OSUTest("osu_acc_latency", _one_sided("accumulate")),
    "mpi_get_accumulate latency": OSUTest("osu_get_acc_latency", _one_sided("get-accumulate")),
    "mpi_fetch_and_op latency": OSUTest("osu_fop_latency", _one_sided("fetch-and-op")),
    "mpi_compare_and_swap latency": OSUTest("osu_cas_latency", _one_sided("compare-and-swap")),
    "mpi init": OSUTest("osu_init", _start_up),
}
"""Title in lower case, without device -> test."""
_DEVICE = re.compile(r"-(?P<device>[A-Z]{4,})\b(?: MANAGED\b)?")
_UNSAID = re.compile(r"one sided | personalized exchange| test$")
"""Words of titles that some versions have."""
_COLLECTIVE = re.compile(
    r"mpi (?P<mode>non-blocking )?(?P<neighbours>neighborhood )?(?P<name>\S+)(?P<persistent> persistent)? latency"
)
_OPERATIONS: dict[str, CollectiveName] = {
    **{name: name for name in get_args(CollectiveName) if not name.startswith(("neighbor_", "bcast_"))},
    "broadcast": "bcast", "all-to-all": "alltoall", "all-to-allv": "alltoallv", "all-to-allw": "alltoallw",
}  # fmt: skip
"""OSU's name in lower case -> operation."""
_PERSISTENT: dict[str, PersistentOperation] = {f"{name}_persistent": name for name in get_args(PersistentOperation)}
"""Name of a test, without ``osu_`` -> operation of our kernel."""


def osu_test(title: str, has_neighbours: bool = False) -> tuple[OSUTest | None, str]:
    """Return the test of a title, None where its table is not read, and the device whose memory it used.

    `has_neighbours` where the program built a topology first: the title of ``osu_neighbor_alltoallw`` does not say it.

    >>> osu_test("MPI Non-Blocking Broadcast Latency Test")[0].program, osu_test("MPI_Get-CUDA latency Test")[1]
    ('osu_ibcast', 'cuda')
    """
    match = _DEVICE.search(title)
    device = match["device"].lower() if match else ""
    plain = _UNSAID.sub("", _DEVICE.sub("", title).lower())
    return TESTS.get(plain) or _collective_test(plain, has_neighbours), device


def _collective_test(title: str, has_neighbours: bool) -> OSUTest | None:
    match = _COLLECTIVE.fullmatch(title)
    operation = _OPERATIONS.get(match["name"]) if match else None
    if match is None or operation is None:
        return None
    name = f"{'i' if match['mode'] else ''}{'neighbor_' if match['neighbours'] or has_neighbours else ''}{operation}"
    if match["persistent"]:
        name += "_persistent"
    configuration: Callable[[OSUTest, Setting, int | None], Configuration] = as_function
    if name in (operation, f"i{operation}"):
        configuration = _collective
    elif name in _PERSISTENT:
        configuration = _persistent_collective(_PERSISTENT[name])
    return OSUTest(f"osu_{name}", configuration, by_all=True, operation=operation)
