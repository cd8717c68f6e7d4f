"""Touched and untouched message buffers of measurements, whose times are never mixed. Main entry: `known_buffers`.

A program writes what it sends and reads what it has received, so that its messages come from another processor's cache.
Most benchmarks send the same bytes again and again, which both ends then have in their caches.
"""

from collections.abc import Iterable, Sequence

from commmodel.errors import InputError
from commmodel.results.configurations import MessageBuffers
from commmodel.results.records import Header, Launch

WORDS: dict[str, str] = {
    "touched": "touched: written before each send, read after each receive",
    "untouched": "untouched: never written or read",
}


def known_buffers(header: Header) -> MessageBuffers | None:
    """Return whether message buffers were touched; None where unknown, as in other suites' output.

    >>> from commmodel.results import BenchOptions, Library
    >>> known_buffers(Header("commmodel-results", 1, "", (), Library("MPICH"), (), (), options=BenchOptions((), 1)))
    'touched'
    >>> known_buffers(Header("commmodel-results", 1, "", (), Library("MPICH"), (), ()))
    """
    return None if header.options is None else header.options.buffers


def _kinds(launches: Iterable[Launch]) -> list[MessageBuffers]:
    return sorted({buffers for launch in launches if (buffers := known_buffers(launch.header))})


def refuse_different(launches: Iterable[Launch], advice: str) -> None:
    """Raise `InputError` where some launches touched their message buffers and others did not.

    Parameters
    ----------
    launches : iterable of Launch
    advice : str
        What to do, the end of the message.

    >>> from commmodel.results import BenchOptions, Library
    >>> options = [BenchOptions((), 1, buffers=one) for one in WORDS]
    >>> headers = [Header("commmodel-results", 1, "", (), Library("MPICH"), (), (), options=one) for one in options]
    >>> refuse_different([Launch(header, ()) for header in headers], "fit each on its own")
    Traceback (most recent call last):
    commmodel.errors.InputError: touched and untouched message buffers were measured: fit each on its own
    """
    if len(kinds := _kinds(launches)) > 1:
        raise InputError(f"{' and '.join(kinds)} message buffers were measured: {advice}")


def remarks(launches: Sequence[Launch], fitted: str = "") -> tuple[str, ...]:
    """Return a line where launches differ in their message buffers from each other, or from the machine's.

    >>> from commmodel.results import BenchOptions, Library
    >>> options = BenchOptions((), 1, buffers="untouched")
    >>> launch = Launch(Header("commmodel-results", 1, "", (), Library("MPICH"), (), (), options=options), ())
    >>> remarks([launch]), remarks([launch], "touched")
    ((), ('measured with untouched message buffers, but the machine was fitted to touched ones: times differ by that',))
    """
    kinds = _kinds(launches)
    if len(kinds) > 1:
        return ("measured with touched and with untouched message buffers: times differ by that",)
    return tuple(
        f"measured with {buffers} message buffers, but the machine was fitted to {fitted} ones: times differ by that"
        for buffers in kinds
        if fitted and buffers != fitted
    )
