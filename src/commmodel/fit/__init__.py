"""Fitting: measurements to a machine. Main entries: `fit_machine`, and `fit_report`, which tells its errors, too.

``points`` takes the location over ``visits`` of the medians of ``undisturbed`` samples, ``protocol_limits`` finds where
protocols end, ``segment`` fits each model of ping-pongs and streams to the points between two limits, using
``least_squares`` and ``bootstrap``, and ``trust`` judges it; ``loggp`` fits trains, ``plogp`` makes the tables of
parameterised LogP, ``consistency`` compares the two, ``local_costs`` fits copies and reductions, ``overlap_parameters``
makes the tables of o(S, b) and G(P, S), ``hybrid`` fits the modes of messages of random sizes, ``collective_times`` the
messages of collectives, ``call_costs`` one-sided operations and other calls, ``sending`` ways to send data in
pieces and objects; ``measured_range`` records what was measured and the errors.
"""

from collections.abc import Iterable, Sequence, Set
from dataclasses import replace
from importlib.metadata import version

import msgspec
import numpy as np

from commmodel.arguments import Whole, whole
from commmodel.errors import InputError
from commmodel.fit.call_costs import fit_calls, queue_search
from commmodel.fit.collective_times import fit_collectives, has_collectives, unpublished_choice
from commmodel.fit.consistency import consistency
from commmodel.fit.hybrid import fit_hybrid, mode_warnings
from commmodel.fit.launches import over_launches
from commmodel.fit.local_costs import fit_local
from commmodel.fit.loggp import NO_TRAINS, Trains, bounded_loggp, collect_trains, fit_loggp_model
from commmodel.fit.measured_range import measured, most_processes, warnings
from commmodel.fit.model_errors import error_sums
from commmodel.fit.overlap_parameters import fit_bandwidth, fit_overlap
from commmodel.fit.plogp import as_loggp, fit_plogp, plogp_paths
from commmodel.fit.points import NO_POINTS, Points, between, collect, collect_streams, stream_buffers
from commmodel.fit.protocol_limits import Part, find_parts
from commmodel.fit.quality import FitReport
from commmodel.fit.regimes import regimes
from commmodel.fit.segment import (
    FitSettings,
    fit_extended_model,
    fit_latency_aware_model,
    fit_max_rate_model,
    fit_postal_model,
    fit_streams_model,
    ping_pong_error,
    settings_of,
)
from commmodel.fit.sending import fit_sending
from commmodel.fit.trust import doubted, recommend
from commmodel.lazy import attributes
from commmodel.machine import Machine, Origin, PLogP, Segment
from commmodel.progress import ProgressLine
from commmodel.results import Measurements, Record, describe, kernel_name, pool
from commmodel.results.conditions import MEMORY, MESSAGE_BUFFERS, THREAD_LEVEL
from commmodel.results.configurations import Function, SendMode
from commmodel.results.records import BY_SCRIPT, UNKNOWN_LIBRARY
from commmodel.signatures import checked

__all__ = ["FitReport", "FitSettings", "fit_machine", "fit_report"]
__dir__ = attributes(__name__)[1]

_SAMPLES_OF_A_LAUNCH = 20  # of the bootstrap: of a launch alone only the parameters are taken
_MOST_NAMES = 4
"""Of functions in a message."""


@checked
def fit_machine(
    measurements: Measurements,
    *,
    name: str | None = None,
    limits: Sequence[int] | None = None,
    settings: FitSettings | None = None,
    results: Sequence[str] = (),
    mode: SendMode = "blocking",
    seed: Whole | None = None,
    confidence: float | None = None,
) -> Machine:
    """Fit every model to each protocol of each path, and recommend one of them.

    Parameters
    ----------
    measurements : Measurements
        With records of the kernels pingpong, pairs, stream, loggp or plogp; a record of threshold gives the protocol
        limit. Or of burst, queue, progress, bandwidth, one-sided, datatype, object or device: where there are no
        others, a segment has no models.
    name : str, optional
        Of the machine; the first host's name where left out.
    limits : sequence of int, optional
        Largest message of each protocol but the last, in bytes, instead of what is measured.
    settings : FitSettings, optional
        Confidence, number of bootstrap samples, seed and loss.
    results : sequence of str, optional
        Names of the files, for the machine's origin.
    mode : {"blocking", "non-blocking"}
        Which records of loggp and plogp to fit.
    seed, confidence : optional
        Of the bootstrap, at least 0, and of all intervals, from 0.01 to 0.999999, in place of those of the settings.

    Raises
    ------
    InputError
        Where there is nothing to fit, or what is given is no measurements, no sizes or no mode.

    Notes
    -----
    Over each segment the loss of the settings is minimised: by default the biweight of the logarithms, which disturbed
    sizes do not move; Σ rᵢ²/nᵢ of Gropp, Olson and Samfass 2016, Section 4.1, with ``FitSettings(loss="paper")``. The
    postal model is fitted to one pair, as a ping-pong would, the others to all numbers of pairs. Configurations that
    were measured very often are pooled first (`commmodel.results.pool`).
    """
    settings = settings_of(settings, seed, confidence)
    measurements = _comparable(measurements)
    limits = None if limits is None else [whole("limits", limit, 0) for limit in limits]

    def fit_one(launch: Measurements, limits: Sequence[int] | None) -> Sequence[Segment]:
        return _fit_paths(launch, limits, replace(settings, samples=_SAMPLES_OF_A_LAUNCH), mode)[0]

    with ProgressLine("fitting"):
        segments, tables = _fit_paths(measurements, limits, settings, mode)
        machine = _with_other_kernels(measurements, segments, tables, settings, results, name)
        return _with_collectives(over_launches(machine, measurements, fit_one), measurements)


def _with_collectives(machine: Machine, measurements: Measurements) -> Machine:
    """Return a machine with models of the collectives that were measured; raise where these are all and have none."""
    collectives = fit_collectives(measurements, machine)
    is_bare = not any(next(segment.parts(), None) for segment in machine.segments)
    tables = machine.overlap, machine.bandwidth, machine.hybrid, machine.plogp, machine.calls, machine.sending
    if not collectives and is_bare and not any(tables):
        _refuse_unpublished(measurements)
        raise InputError(
            "nothing but collectives was measured, by algorithms whose schedules are not known here: measure the "
            "kernels pingpong and loggp, too, or collectives by what the library picks"
        )
    return msgspec.structs.replace(machine, collectives=collectives)


def _refuse_unpublished(measurements: Measurements) -> None:
    """Raise where collectives, which are all that was measured, are those of a library that picks in secret."""
    if library := unpublished_choice(measurements):
        problem = f"collectives alone, and how {library} chooses their algorithms is not published"
        raise InputError(f"{problem}: see commmodel report and compare")


@checked
def fit_report(
    measurements: Measurements,
    *,
    name: str | None = None,
    limits: Sequence[int] | None = None,
    settings: FitSettings | None = None,
    results: Sequence[str] = (),
    mode: SendMode = "blocking",
    seed: Whole | None = None,
    confidence: float | None = None,
) -> FitReport:
    """Fit a machine as `commmodel.fit.fit_machine` does, and tell the errors of its models.

    Parameters
    ----------
    measurements : Measurements
        Of one or several files (`commmodel.formats.load_all`).
    name, limits, settings, results, mode, seed, confidence
        As of `commmodel.fit.fit_machine`.

    Raises
    ------
    InputError
        Where there is nothing to fit, or what is given is no measurements, no sizes or no mode.

    Examples
    --------
    ``fit.fit_report(formats.load("results.jsonl")).error_sums`` tells which model has the smallest errors, and
    ``.machine`` is the machine.
    """
    measurements = _comparable(measurements)
    settings = settings_of(settings, seed, confidence)
    machine = fit_machine(measurements, name=name, limits=limits, settings=settings, results=results, mode=mode)
    errors, agreement = error_sums(measurements, machine, settings), consistency(measurements, machine)
    return FitReport(machine, measurements, tuple(errors), tuple(agreement))


def _library(measurements: Measurements) -> str:
    """Return the MPI library; raise where there are several. What no suite says of it may be one, or a script's."""
    libraries = list(dict.fromkeys(launch.header.mpi.version.partition("\n")[0] for launch in measurements.launches))
    certain = [library for library in libraries if not library.startswith(UNKNOWN_LIBRARY)]
    if len(libraries) > 1 and (not certain or (len(certain) == 1 and certain[0].endswith(BY_SCRIPT))):
        return certain[0] if certain else "unknown"
    if len(libraries) > 1:
        raise InputError(f"different MPI libraries were measured ({'; '.join(libraries)}): fit each on its own")
    return libraries[0].strip() if libraries else ""


def _passed_over(records: Iterable[Record]) -> str:
    """Return the names of functions, of which no model is made; empty without any."""
    functions = (record.configuration for record in records if isinstance(record.configuration, Function))
    names = [*dict.fromkeys(describe(function)[0] for function in functions)]
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more


def _comparable(measurements: Measurements) -> Measurements:
    """Return measurements pooled; raise where they are none, or were not all made under the same conditions."""
    measurements = pool(measurements)
    records = [*measurements.records]
    if names := _passed_over(records):
        if all(isinstance(record.configuration, Function) for record in records):
            raise InputError(
                f"only functions of another program, and no messages of which a machine is made ({names}): see "
                "commmodel check"
            )
        note = f"not fitted, as no model is made of such tests: {names}; report, compare and check take them"
        measurements = msgspec.structs.replace(measurements, notes=(*measurements.notes, note))
    _library(measurements)
    THREAD_LEVEL.refuse_different(measurements.launches, "fit each on its own")
    MESSAGE_BUFFERS.refuse_different(measurements.launches, "fit each on its own")
    MEMORY.refuse_different(measurements.launches, "fit each on its own")
    return measurements


def _fit_paths(
    measurements: Measurements, limits: Sequence[int] | None, settings: FitSettings, mode: SendMode
) -> tuple[list[Segment], list[PLogP]]:
    """Return the segments and the pLogP table of each path."""
    both_ways, one_way = collect(measurements), collect_streams(measurements)
    trains = collect_trains(measurements, mode)
    segments: list[Segment] = []
    tables: list[PLogP] = []
    for path in dict.fromkeys([*both_ways, *one_way, *trains, *plogp_paths(measurements)]):
        points, streams = both_ways.get(path, NO_POINTS), one_way.get(path, NO_POINTS)
        on_path = trains.get(path, NO_TRAINS)
        table = fit_plogp(measurements, path, mode)
        if any((series.seconds <= 0).any() for series in (points, streams, on_path.points)):
            raise InputError(f"path {path}: a median time is 0: the clock was too coarse, measure with --batch auto")
        telling = next((series for series in (points, streams, on_path.lone) if len(series)), NO_POINTS)
        parts = find_parts(measurements, path, telling, limits)
        segments += _fit_path(path, points, streams, on_path, table, parts, settings)
        tables += [table] if table is not None else []
    return segments, tables


def _with_other_kernels(
    measurements: Measurements,
    segments: Sequence[Segment],
    tables: Sequence[PLogP],
    settings: FitSettings,
    results: Sequence[str],
    name: str | None,
) -> Machine:
    """Return the machine of fitted paths, and of what other kernels measured; raise where nothing was fitted."""
    overlap, bandwidth = fit_overlap(measurements), fit_bandwidth(measurements)
    hybrid = fit_hybrid(measurements, settings)
    calls, sending = fit_calls(measurements, settings), fit_sending(measurements)
    has_models = any(segment.max_rate or segment.one_way or segment.loggp for segment in segments)
    if not (has_models or overlap or bandwidth or hybrid or calls or sending or has_collectives(measurements)):
        _refuse_unpublished(measurements)
        kernels = sorted({kernel_name(record.configuration) for record in measurements.records})
        measured_ones = f", but of {', '.join(kernels)}" if kernels else ""
        raise InputError(
            "no records of the kernels pingpong, pairs, stream, loggp or plogp with at least two sizes, nor of burst, "
            "queue, progress, bandwidth, one-sided, persistent, matching, threads, start-up, datatype, object or device"
            f"{measured_ones}: measure those that you need with mpiexec -n 2 python -m commmodel.bench KERNEL ..."
        )
    headers = [launch.header for launch in measurements.launches]
    judged = [doubted(segment, headers) for segment in segments]
    paths = [part.path for parts in (overlap, hybrid, calls, sending) for part in parts]
    judged += _bare_segments({segment.path for segment in judged}, [path for path in paths if path != "any"])
    hosts = tuple(dict.fromkeys(host.name for header in headers for host in header.hosts))
    origin = Origin(
        mpi=_library(measurements),
        hosts=hosts,
        results=tuple(results),
        measured=headers[0].created,
        commmodel=version("commmodel"),
        seed=settings.seed,
        processes=most_processes(headers),
        warnings=(*warnings(measurements, results), *mode_warnings(hybrid)),
        thread_level=THREAD_LEVEL.first(measurements.launches),
        buffers=MESSAGE_BUFFERS.first(measurements.launches),
        stream_buffers=stream_buffers(measurements),
    )
    return Machine(
        name or (hosts[0] if hosts else "machine"),
        tuple(judged),
        confidence=settings.confidence,
        origin=origin,
        memory_copy=fit_local(measurements, "copy", settings),
        reduction=fit_local(measurements, "reduction", settings),
        plogp=tuple(tables),
        overlap=overlap,
        bandwidth=bandwidth,
        hybrid=hybrid,
        calls=calls,
        queue_search=queue_search(calls),
        sending=sending,
    )


def _bare_segments(paths_with_segments: Set[str], paths: Sequence[str]) -> list[Segment]:
    """Return a segment without models for each path that has none, so that the machine knows the path."""
    missing = [path for path in dict.fromkeys(paths) if path not in paths_with_segments]
    if not paths_with_segments and not missing:
        missing = ["any"]
    return [Segment("all", path) for path in missing]


def _fit_path(
    path: str,
    points: Points,
    streams: Points,
    trains: Trains,
    table: PLogP | None,
    parts: Sequence[Part],
    settings: FitSettings,
) -> list[Segment]:
    """Fit the protocols of one path; one with fewer than two sizes gets no models."""
    ends = [np.inf if end is None else float(end.value) for _, end in parts]
    spans = list(zip([-1.0, *ends], ends, strict=False))
    points_of, streams_of = ([between(series, *span) for span in spans] for series in (points, streams))
    segments = []
    masks = [regimes(series) if settings.loss == "robust" else [np.zeros(len(part), dtype=bool) for part in series]
             for series in (points_of, streams_of)]  # fmt: skip
    for number, (protocol, end) in enumerate(parts):
        part, stream_part = points_of[number], streams_of[number]
        regime, stream_regime = masks[0][number], masks[1][number]
        on_line = part.where(~regime)
        if len(part):  # then no times of streams are kept
            stream_regime = np.zeros(len(stream_part), dtype=bool)
        one_way, rates = fit_streams_model(stream_part, stream_regime, settings)
        if rates or (one_way is not None and one_way.overlap.value):  # they say what a regime is
            stream_regime = np.zeros(len(stream_part), dtype=bool)
        postal = fit_postal_model(on_line, settings)
        segment = Segment(
            protocol,
            path,
            end,
            postal=postal,
            max_rate=fit_max_rate_model(on_line, settings, one_way),
            extended=fit_extended_model(on_line, settings),
            latency_aware=fit_latency_aware_model(on_line, settings),
            one_way=one_way,
            message_rate=rates,
            loggp=fit_loggp_model(trains.between(*spans[number]), settings)
            or (bounded_loggp(postal, one_way) if table is None else as_loggp(table, *spans[number])),
        )
        recommended, reason = recommend(segment, ping_pong_error(on_line, settings))
        segment = msgspec.structs.replace(segment, recommended=recommended, reason=reason)
        segments.append(measured(segment, part, stream_part, regime if len(part) else stream_regime))
    return segments
