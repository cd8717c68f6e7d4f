"""Share of a collective operation that overlaps with computation. Main entry: `overlap_share`."""

from commmodel.results import Record


def overlap_share(record: Record) -> tuple[float, float, float] | None:
    """Return the share of a collective that overlapped with computation of equal length, and its interval.

    max(0, min(1, 2 - T / d)): T is the median time of the overlapped operation, or an end of its interval, and d the
    time of the operation without computation and of the computation alone, `Record.delay`. None without a delay.

    >>> from commmodel.results.configurations import Collective
    >>> overlapped = Collective("allreduce", 8, 2, mode="overlapped")
    >>> overlap_share(Record(overlapped, "s", (15e-6,) * 9, delay=10e-6))
    (0.5, 0.5, 0.5)
    """
    if not record.delay:
        return None
    summary, delay = record.summary, record.delay
    share, low, high = (max(0.0, min(1.0, 2 - time / delay)) for time in (summary.median, summary.high, summary.low))
    return share, low, high
