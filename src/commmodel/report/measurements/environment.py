"""Tables of a launch's environment: MPI library, hosts, clock, binding, options, variables, warnings.

Main entry: `environment_rows`.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby

from commmodel.results import BenchOptions, Clock, Header, Host, Rank, library_name
from commmodel.results.conditions import MESSAGE_BUFFERS, THREAD_LEVEL, touched_words
from commmodel.units import format_ratio, format_size, format_time


def _clock(clock: Clock) -> str:
    drift = "" if clock.against_wtime is None else f", {clock.against_wtime:+.1e} against MPI_Wtime"
    return (
        f"{clock.kind}, a tick every {format_time(1 / clock.frequency)} (from {clock.frequency_source}), "
        f"resolution {format_time(clock.resolution)}, cost {format_time(clock.cost)}{drift}"
    )


_PER_HOST = ("load before", "others before", "clock")  # they do not tell hosts apart


def _host(host: Host) -> dict[str, str]:
    load = ", ".join(f"{average:.2f}" for average in host.load) if host.load else ""
    described = [
        ("CPU", host.cpu_model),
        ("processors", f"{host.cpus} for these ranks" if host.cpus else ""),
        ("kernel", host.kernel),
        ("frequency governor", host.governor),
        ("load before", load),
        ("others before", "" if host.other_processes is None else f"{host.other_processes:.1f} processes"),
        ("huge pages", host.transparent_huge_pages),
        ("clock source", host.clocksource),
        ("clock", _clock(host.clock) if host.clock else ""),
    ]
    return {name: text for name, text in described if text}


def _hosts(hosts: Sequence[Host]) -> Iterable[tuple[str, tuple[str, ...]]]:
    """Describe hosts; those that differ only in name, load and clock readings are joined."""
    alike: dict[tuple[tuple[str, str], ...], list[dict[str, str]]] = {}
    for host in hosts:
        facts = _host(host)
        common = tuple(item for item in facts.items() if item[0] not in _PER_HOST)
        alike.setdefault(common, []).append(facts | {"": host.name})
    for group in alike.values():
        names = [facts[""] for facts in group]
        lines = []
        for field, text in group[0].items():
            of_first = f" of {names[0]}" if any(facts.get(field) != text for facts in group) else ""
            lines += [f"{field}{of_first}: {text}"] * bool(field)
        yield "host" if len(group) == 1 else f"{len(group)} hosts", (", ".join(names), *lines)


def _bound(ranks: Sequence[Rank]) -> str:
    """Describe the binding of consecutive ranks with the same processors."""
    first, last = ranks[0], ranks[-1]
    numbers = f"{first.rank}" if first is last else f"{first.rank}–{last.rank}"
    return f"{numbers} → {first.cpus or 'not known'}"


def _binding(header: Header) -> tuple[str, ...]:
    lines = []
    for index, host in enumerate(header.hosts):
        ranks = [rank for rank in header.ranks if rank.host == index]
        if not ranks:
            continue
        groups = (list(group) for _, group in groupby(ranks, key=lambda rank: rank.cpus))
        lines.append(f"{host.name}: {', '.join(map(_bound, groups))}")
    return tuple(lines)


def _pairs(header: Header) -> tuple[str, ...]:
    further = ((f"pair {number} of nodes", pairs) for number, pairs in enumerate(header.further_nodes, start=2))
    return tuple(
        f"{name}: " + ", ".join(f"{first}–{second}" for first, second in pairs)
        for name, pairs in (*header.placement.items(), *further)
    )


def _ranks(header: Header) -> tuple[str, ...]:
    """Return the numbers of ranks and hosts as text, as far as the file tells."""
    if not header.ranks:
        pairs = max(map(len, header.placement.values()), default=0)
        return (f"{2 * pairs} in {pairs} pair{'s' * (pairs > 1)}; on which hosts is not known",) if pairs else ()
    return (f"{len(header.ranks)} on {len(header.hosts)} host{'s' * (len(header.hosts) != 1)}",)


def _options(options: BenchOptions) -> tuple[str, ...]:
    sizes = [format_size(size) for size in options.sizes]
    span = f"{sizes[0]} to {sizes[-1]}, {len(sizes)} sizes" if len(sizes) > 1 else ", ".join(sizes)
    return (
        f"kernels: {', '.join(options.kernels)}",
        f"messages: {span}",
        f"time: {format_time(options.time)}, at most {options.repetitions} samples a record",
        f"until the {format_ratio(options.confidence)} interval of the median is within ±{format_ratio(options.ci)}",
        f"seed: {options.seed}",
    )


def environment_rows(header: Header) -> list[tuple[str, tuple[str, ...]]]:
    """Return the environment of a launch as (name, lines); unrecorded values are omitted."""
    standard = f" (MPI {header.mpi.standard})" if header.mpi.standard else ""
    buffers = header.buffers
    touched = touched_words(MESSAGE_BUFFERS.words(header))
    on_huge = "" if not buffers or buffers.huge_bytes is None else f", {format_size(buffers.huge_bytes)} on them"
    rows: list[tuple[str, tuple[str, ...]]] = [
        ("measured", (header.created + (" (goes on with the launch before it)" if header.resumes else ""),)),
        ("MPI library", (library_name(header) + standard,)),
        ("thread level", (THREAD_LEVEL.words(header),)),
        ("ranks", _ranks(header)),
        *_hosts(header.hosts),
        ("rank → processors", _binding(header)),
        ("pairs of ranks", _pairs(header)),
        ("options", _options(header.options) if header.options else ()),
        (
            "buffers",
            (
                *((touched,) if touched else ()),
                *(
                    (f"aligned to {format_size(buffers.alignment)}, huge pages: {buffers.huge_pages}{on_huge}",)
                    if buffers
                    else ()
                ),
            ),
        ),
        ("variables", tuple(f"{name}={value}" for name, value in sorted(header.environment.items()))),
        ("versions", (", ".join(f"{name} {version}" for name, version in sorted(header.versions.items())),)),
        ("warnings", header.warnings),
    ]
    return [(name, lines) for name, lines in rows if any(lines)]
