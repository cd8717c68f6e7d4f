"""Launches beside which others wanted the processors: ranks, or programs.

Main entries: `is_oversubscribed`, `oversubscription_warnings` and `crowded_hosts`.
"""

from collections import Counter
from collections.abc import Sequence

from commmodel.results.records import Header, Host

CROWDED = 1.25
"""Processes over processors beyond which other programs must have shared them: ranks alone make it 1."""
_MOST_NAMES = 3


def _crowded(header: Header) -> list[tuple[Host, int]]:
    """Return the oversubscribed hosts, each with its ranks."""
    ranks_on = Counter(rank.host for rank in header.ranks)
    return [(host, ranks_on[index]) for index, host in enumerate(header.hosts) if ranks_on[index] > host.cpus > 0]


def is_oversubscribed(header: Header) -> bool:
    """Whether ranks share processors on some host."""
    return bool(_crowded(header))


def oversubscription_warnings(header: Header) -> tuple[str, ...]:
    """Return warnings on which hosts ranks share processors, and what to do: a line for similar hosts.

    >>> from commmodel.results import Library, Rank
    >>> hosts, ranks = (Host("vm", cpus=2),), (Rank(0, 0), Rank(1, 0), Rank(2, 0))
    >>> oversubscription_warnings(Header("commmodel-results", 1, "", (), Library("MPICH"), hosts, ranks))
    ('vm: 3 ranks share 2 processors, so the scheduler is measured: start at most 2 ranks on it',)
    """
    hosts_of: dict[str, list[str]] = {}
    for host, ranks in _crowded(header):
        problem = (
            f"{ranks} ranks share {host.cpus} processors, so the scheduler is measured: "
            f"start at most {host.cpus} ranks on it"
        )
        hosts_of.setdefault(problem, []).append(host.name)
    return tuple(f"{some_names(names)}: {problem}" for problem, names in hosts_of.items())


def load_warnings(header: Header) -> tuple[str, ...]:
    """Return warnings of hosts where other programs wanted the ranks' processors before the first measurement.

    >>> from commmodel.results import Library
    >>> hosts = (Host("vm", cpus=2, load=(12.3, 8.0, 3.0)),)
    >>> load_warnings(Header("commmodel-results", 1, "", (), Library("MPICH"), hosts, ()))
    ('vm: load average 12.3 on 2 processors, so other programs are measured, too: measure on a quiet machine',)
    """
    return tuple(
        f"{host}: {load}, so other programs are measured, too: measure on a quiet machine"
        for host, load in crowded_hosts(header).items()
    )


def crowded_hosts(header: Header) -> dict[str, str]:
    """Return the hosts where other programs wanted the ranks' processors before the first measurement, and the load.

    Others that ran while the ranks slept say so at once. Where they were not counted, the load average does, which lags
    behind by a minute.

    >>> from commmodel.results import Library, Rank
    >>> host, ranks = Host("vm", cpus=2, load=(12.3, 8.0, 3.0), other_processes=1.0), (Rank(0, 0), Rank(1, 0))
    >>> crowded_hosts(Header("commmodel-results", 1, "", (), Library("MPICH"), (host,), ranks))
    {'vm': '1.0 other processes on 2 processors'}
    """
    ranks_on = Counter(rank.host for rank in header.ranks)
    crowded = {}
    for index, host in enumerate(header.hosts):
        processors = host.processors or host.cpus
        if host.other_processes is not None:
            processes, load = (
                host.other_processes + min(ranks_on[index], processors),
                f"{host.other_processes:.1f} other processes",
            )
        elif host.load is not None:
            processes, load = host.load[0], f"load average {host.load[0]:.1f}"
        else:
            continue
        if processes > CROWDED * processors > 0:
            crowded[host.name] = f"{load} on {processors} processors"
    return crowded


def some_names(names: Sequence[str]) -> str:
    """Return some names, for a message.

    >>> some_names(["a", "b", "c"]), some_names(["a", "b", "c", "d", "e"])
    ('a, b, c', 'a, b and 3 more')
    """
    return ", ".join(names) if len(names) <= _MOST_NAMES else f"{names[0]}, {names[1]} and {len(names) - 2} more"
