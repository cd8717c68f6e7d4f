"""How to send: call sites of a recording that send pieces or pickled objects, and what another way would gain.

Times are those that a machine has of messages of that size and layout. Main entries: `sending_findings`,
`sending_tables`, `sending_words`.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from commmodel.errors import MissingParameterError
from commmodel.machine import Machine
from commmodel.optimize import PickledObject, PieceLayout, SendAdvice, how_to_send
from commmodel.optimize.sending import certainty_of
from commmodel.optimize.sending_code import SendCode, c_code_of_datatype, code_of_datatype
from commmodel.record import SiteContent
from commmodel.report.kit.tables import Cell, Table, left, right
from commmodel.sites import without_suffix
from commmodel.units import format_rate, format_ratio, format_size, format_time

_MOST_SITES, _MOST_UNKNOWN = 10, 3
_SURE = 0.99
_NOW = {"type", "pickle"}
"""Ways of which it is known that the program takes them."""
_COMPILED = {"type", "pack", "core"}
"""Ways that programs in other languages than Python have."""
_BY = {
    "type": "its datatype", "pack": "MPI_Pack", "numpy": "a copy by numpy", "pickle": "send", "pickle5": "send of pkl5",
    "buffer": "Send", "core": "a loop that copies",
}  # fmt: skip
_MEASURE = (
    "How long each way takes is not known here: measure it by mpiexec -n 2 python -m commmodel.bench datatype object "
    "-o results.jsonl and commmodel fit results.jsonl -o machine.toml, then give machine.toml to this command, too."
)


class SendSite(NamedTuple):
    """A call site, and what is known of ways to send what it sends."""

    content: SiteContent
    advice: SendAdvice | None
    """None without times. Of an object of unknown kind, that of an array of as many bytes."""
    confidence: float | None = None
    """Of the intervals of times."""

    @property
    def is_known(self) -> bool:
        """Whether it is known what is sent."""
        return self.content.layout is not None or self.content.kind is not None

    @property
    def best(self) -> str:
        """The fastest way that a program in this language can take; empty without times."""
        if self.advice is None or self.content.is_python:
            return "" if self.advice is None else self.advice.best
        return next((row.way for row in self.advice.ways if row.way in _COMPILED), self.advice.best)

    @property
    def certainty(self) -> float:
        """Probability that this takes no longer than what the program does."""
        if self.advice is None:
            return 1.0
        rows = {row.way: row for row in self.advice.ways}
        return certainty_of(rows[self.best], rows[self.advice.usual], self.confidence)

    @property
    def times(self) -> tuple[float, float]:
        """Seconds of a message as the program sends it, and by the best way; the same where one is not known."""
        if self.advice is None or self.advice.usual not in _NOW:
            return 0.0, 0.0
        return self.advice.time_of(self.advice.usual).seconds, self.advice.time_of(self.best).seconds

    @property
    def gain(self) -> float:
        """Seconds that the best way saves of a message; 0 without times."""
        now, best = self.times
        return now - best

    @property
    def code(self) -> SendCode | None:
        """Lines that send so; those of pieces name the datatype that the program has."""
        if self.advice is None:
            return None
        if self.content.layout is None:
            return SendCode(self.advice.sender, self.advice.receiver)
        if self.content.is_python:
            return code_of_datatype(self.best, self.content.layout)
        return c_code_of_datatype(self.best, self.content.layout)

    @property
    def total_gain(self) -> float:
        """Seconds of all messages."""
        return self.gain * self.content.messages


class SendFindings(NamedTuple):
    """What a recording sends that is not in one piece, sorted by what is to be done about it."""

    machine: str
    """Its name; empty without one."""
    path: str
    gaining: tuple[SendSite, ...] = ()
    """Those that another way gains something at, the most first."""
    without_gain: tuple[SendSite, ...] = ()
    """Those that gain nothing."""
    of_unknown_kind: tuple[SendSite, ...] = ()
    without_times: tuple[SendSite, ...] = ()
    receiving: tuple[SendSite, ...] = ()
    problems: tuple[str, ...] = ()
    """What the machine lacks."""

    def as_json(self) -> list[dict[str, Any]]:
        """Return a row for each site that sends."""
        sites = (*self.gaining, *self.without_gain, *self.of_unknown_kind, *self.without_times)
        return [_as_json(site) for site in sites]


def sending_findings(contents: Iterable[SiteContent], machine: Machine | None) -> SendFindings | None:
    """Return what to do about the contents of a recording's messages; None where all are in one piece."""
    contents = tuple(contents)
    if not contents:
        return None
    problems: dict[str, None] = {}
    confidence = None if machine is None else machine.confidence
    sites = [
        SendSite(content, _advice(content, machine, problems), confidence) for content in contents if content.is_sent
    ]
    identified = [site for site in sites if site.is_known]
    timed = [site for site in identified if site.advice is not None and site.advice.usual in _NOW]
    return SendFindings(
        "" if machine is None else machine.name,
        next((site.advice.path for site in sites if site.advice is not None), ""),
        tuple(sorted((site for site in timed if site.gain > 0), key=_by_gain)),
        tuple(site for site in timed if site.gain <= 0),
        tuple(site for site in sites if not site.is_known),
        tuple(site for site in identified if site not in timed),
        tuple(SendSite(content, None) for content in contents if not content.is_sent),
        tuple(problems),
    )


def _by_gain(site: SendSite) -> float:
    return -site.total_gain


def _advice(content: SiteContent, machine: Machine | None, problems: dict[str, None]) -> SendAdvice | None:
    """Return how to send a message of a site; note what the machine lacks."""
    if machine is None or content.message_size < 1:
        return None
    block = max(1, round(content.block))
    data: PieceLayout | PickledObject = PickledObject(content.message_size, content.kind or "array")
    if content.layout is not None:
        stride = content.stride if content.stride is not None and content.stride >= block else None
        data = PieceLayout(content.pieces, block, stride, content.layout)
    try:
        advice = how_to_send(data, machine)
    except MissingParameterError as error:
        problems[str(error)] = None
        return None
    if advice.usual not in _NOW:
        now = "type" if content.layout is not None else "pickle"
        problems[f"machine {machine.name!r} has no times of {advice.content} sent by {now}"] = None
    return advice


def content_words(content: SiteContent) -> str:
    """Return what a message holds.

    >>> content_words(SiteContent("a.py", 1, "f", "MPI_Send", "a.py:1", True, True, 1, 1, 8192, "vector", 8.0, 16))
    '1,024 pieces of 8 B, 16 B apart'
    >>> content_words(SiteContent("a.py", 1, "f", "MPI_Send", "a.py:1", True, True, 1, 1, 1200000, kind="dict"))
    'pickled dict, 1.20 MB'
    """
    if content.layout is None:
        return f"pickled {content.kind or 'object'}, {_bytes(content.message_size)}"
    count = content.pieces
    pieces = f"{count:,} piece{'s' * (count > 1)} of {'about ' * (not content.block.is_integer())}"
    pieces += _bytes(round(content.block))
    if content.stride is not None:
        return f"{pieces}, {_bytes(content.stride)} apart" + ", in rows" * (content.layout == "subarray")
    return f"{pieces}, {'members of records' if content.layout == 'struct' else 'irregular'}"


def _bytes(size: int) -> str:
    """Return bytes, exact where they are few."""
    return format_size(size) if size < 10_000 else format_rate(size).removesuffix("/s")


def sending_tables(findings: SendFindings) -> tuple[Table, ...]:
    """Return the sites that gain, and without times those that send pieces or objects."""
    if not findings.machine:
        return (_contents_table((*findings.without_times, *findings.of_unknown_kind)),)
    tables = [_gains_table(findings)] if findings.gaining else []
    return (*tables, *([_contents_table(findings.without_times)] if findings.without_times else []))


def _contents_table(sites: Sequence[SendSite]) -> Table:
    rows = tuple(
        (*_place_cells(site), Cell(f"{site.content.messages:,}"), Cell(content_words(site.content)))
        for site in sites[:_MOST_SITES]
    )
    columns = (*left("site", "call"), *right("messages"), *left("each holds"))
    return Table("Sent in pieces, or pickled", columns, rows, _left_out(sites), details="none")


def _place_cells(site: SendSite) -> tuple[Cell, Cell]:
    content = site.content
    function = "" if content.function.startswith("<") else content.function
    return Cell(without_suffix(content.place), function), Cell(content.call)


def _left_out(sites: Sequence[SendSite]) -> tuple[str, ...]:
    more = len(sites) - _MOST_SITES
    return (f"And {more} more site{'s' * (more > 1)}.",) if more > 0 else ()


def _gains_table(findings: SendFindings) -> Table:
    rows = tuple(_gain_row(site, site.advice) for site in findings.gaining[:_MOST_SITES] if site.advice is not None)
    columns = (*left("site", "call"), *right("messages"), *left("each holds"),
               *right("takes now", "could take", "gain of each", "of all", "certain"))  # fmt: skip
    note = (
        "Times of one message between two ranks, with gathering and scattering or pickling on both sides, by machine "
        f"{findings.machine!r}, path {findings.path}; they are not those of the recorded run. Of all: all ranks' "
        "messages. Certain: the probability that the better way takes no longer."
    )
    return Table("Where another way to send gains", columns, rows, (note, *_left_out(findings.gaining)))


def _gain_row(site: SendSite, advice: SendAdvice) -> tuple[Cell, ...]:
    now, best = map(format_time, site.times)
    return (
        *_place_cells(site),
        Cell(f"{site.content.messages:,}"),
        Cell(content_words(site.content)),
        Cell(now, f"by {_BY[advice.usual]}"),
        Cell(best, f"by {_BY.get(site.best, site.best)}"),
        Cell(format_time(site.gain)),
        Cell(format_time(site.total_gain)),
        Cell(f"over {format_ratio(_SURE)}" if site.certainty > _SURE else format_ratio(site.certainty)),
    )


def sending_words(findings: SendFindings) -> tuple[str, ...]:
    """Return what the tables do not tell, a sentence each."""
    sentences = []
    if not findings.machine:
        sentences.append(_MEASURE)
    elif findings.problems:
        sentences += [f"{problem[:1].upper()}{problem[1:]}." for problem in findings.problems]
    if count := len(findings.without_gain):
        sentences.append(
            f"{count} other site{'s' * (count > 1)} that send{'s' * (count == 1)} pieces or pickled objects would gain "
            "nothing by another way."
        )
    if findings.machine:
        sentences += map(_unknown_words, sorted(findings.of_unknown_kind, key=_by_gain)[:_MOST_UNKNOWN])
    remarks = [remark for site in findings.gaining if site.advice is not None for remark in site.advice.remarks]
    sentences += [
        f"{remark[:1].upper()}{remark[1:]}." for remark in dict.fromkeys(remarks) if remark.startswith("measured ")
    ]
    if places := _places(findings.receiving):
        sentences.append(f"Received into pieces at {places}: whoever sends to these lines decides how.")
    if any(not site.content.call.endswith("send") for site in findings.gaining):
        sentences.append(
            "The lines below are those of Send and Recv; other calls, such as collectives, take the same buffers."
        )
    return tuple(sentences)


def _unknown_words(site: SendSite) -> str:
    """Return what holds of a pickled object of which only the programmer knows what it could be."""
    content = site.content
    words = (
        f"{without_suffix(content.place)}, {content.call}: {content.messages:,} pickled "
        f"object{'s' * (content.messages > 1)} of {_bytes(content.message_size)}, neither an array, text, bytes nor "
        "numbers alone"
    )
    if site.advice is None or site.gain <= 0:
        return f"{words}."
    now, best = map(format_time, site.times)
    return (
        f"{words}. If its data can be an array: one of that size takes {best} by {_BY[site.best]}, and {now} pickled."
    )


def _places(sites: Sequence[SendSite]) -> str:
    places = sorted({without_suffix(site.content.place) for site in sites})
    more = len(places) - _MOST_SITES
    return ", ".join(places[:_MOST_SITES]) + (f" and {more} more" if more > 0 else "")


def sending_codes(findings: SendFindings) -> tuple[tuple[str, str], ...]:
    """Return the lines to write for the sites that gain: what they are for, and the lines; the same lines once."""
    names: dict[str, list[str]] = {}
    for site in findings.gaining[:_MOST_SITES]:
        if site.code is not None:
            mark = "#" if site.content.is_python else "//"
            code = f"{mark} sender\n{site.code.sender}\n{mark} receiver\n{site.code.receiver}"
            names.setdefault(code, []).append(f"{without_suffix(site.content.place)}: {content_words(site.content)}")
    return tuple(("; ".join(sites), code) for code, sites in names.items())


def _as_json(site: SendSite) -> dict[str, Any]:
    content, advice = site.content, site.advice
    row: dict[str, Any] = {name: getattr(content, name) for name in content.__struct_fields__ if name != "is_sent"}
    row |= {"message_size": content.message_size, "pieces": content.pieces, "is_known": site.is_known}
    if advice is None or site.code is None or advice.usual not in _NOW:
        return row | dict.fromkeys(_TIMES)
    gains = site.gain, site.total_gain, site.certainty
    now, best = site.times
    values = (advice.usual, now, site.best, best, *gains, *site.code)
    return row | dict(zip(_TIMES, values, strict=True))


_TIMES = ("way", "seconds", "best", "best_seconds", "gain", "total_gain", "certainty", "sender", "receiver")
