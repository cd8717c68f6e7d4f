"""Differences in the environment of two files of measurements. Main entry: `changed_environment`."""

from collections.abc import Sequence

from commmodel.results import Header
from commmodel.results.conditions import THREAD_LEVEL


def _facts(header: Header) -> dict[str, str]:
    """Return properties of the environment that may change times, as text."""
    hosts, buffers = header.hosts, header.buffers

    def of_hosts(name: str) -> str:
        return ", ".join(dict.fromkeys(str(getattr(host, name)) for host in hosts))

    facts: dict[str, str] = {
        "MPI library": " ".join(header.mpi.version.strip().partition("\n")[0].split()),
        "thread level": THREAD_LEVEL.words(header),
        "hosts": ", ".join(host.name for host in hosts),
        "CPU": of_hosts("cpu_model"),
        "processors": of_hosts("cpus"),
        "kernel": of_hosts("kernel"),
        "frequency governor": of_hosts("governor"),
        "huge pages of the system": of_hosts("transparent_huge_pages"),
        "clock": ", ".join(dict.fromkeys(host.clock.kind for host in hosts if host.clock)),
        "ranks": str(len(header.ranks)) if header.ranks else "",
        "binding": ", ".join(f"{rank.rank} on {rank.cpus}" for rank in header.ranks if rank.bound) or "none",
        "huge pages of the buffers": buffers.huge_pages if buffers else "",
    }
    facts |= {f"version of {name}": version for name, version in header.versions.items()}
    return facts | _options(header)


def _options(header: Header) -> dict[str, str]:
    if header.options is None:
        return {}
    # Seeds differ from launch to launch, and which kernels were asked for changes no measurement.
    plan = {"seed", "kernels", "sizes", "pairs", "node_pairs", "collectives", "procs", "volumes", "bursts", "work"}
    names = [name for name in header.options.__struct_fields__ if name not in plan]
    return {f"option {name}": str(getattr(header.options, name)) for name in names}


def changed_environment(before: Sequence[Header], after: Sequence[Header]) -> tuple[tuple[str, str, str], ...]:
    """Return the differences in the environment: (name, before, after).

    Where several launches of one file differ, each is named once. What only one of the files recorded is left out.
    """
    sides: list[dict[str, dict[str, None]]] = []
    for headers in (before, after):
        values_of: dict[str, dict[str, None]] = {}
        for header in headers:
            for name, text in _facts(header).items():
                values_of.setdefault(name, {})[text] = None
        sides.append({name: {value: None for value in values if value} for name, values in values_of.items()})
    old, new = sides
    changed = (name for name in old if old[name] and new.get(name) and set(old[name]) != set(new[name]))
    return tuple((name, "; ".join(old[name]), "; ".join(new[name])) for name in changed)
