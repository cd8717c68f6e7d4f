"""machine.toml: read as a person writes it, written so that it is read back, refused in one line where wrong."""

import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commmodel.errors import DamagedFileError, InputError, MissingParameterError
from commmodel.machine import (
    BandwidthProfile,
    Extended,
    LatencyAware,
    Limit,
    LogGP,
    Machine,
    MaxRate,
    MessageRate,
    Origin,
    OverlapProfile,
    Parameter,
    ParameterTable,
    PLogP,
    Postal,
    Quality,
    Segment,
    dump,
    dumps,
    load,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
FINITE = st.floats(0, allow_infinity=False)
RATE = st.floats(0, exclude_min=True)  # infinite: not limiting
BYTES = st.integers(0, 2**63 - 1)


@st.composite
def parameters(draw, unit):
    values = RATE if unit in ("B/s", "1/s") else FINITE
    low, high = sorted([draw(values), draw(values)])
    result = st.none()
    return Parameter(draw(values), unit, draw(result | st.just(low)), draw(result | st.just(high)))


QUALITIES = st.builds(
    Quality,
    st.integers(0, 10**6),
    FINITE,
    FINITE,
    FINITE,
    st.booleans(),
    st.lists(TEXT, max_size=3).map(tuple),
    st.none() | FINITE,
)
MAYBE_QUALITY = st.none() | QUALITIES
POSTALS = st.builds(Postal, parameters("s"), parameters("s/B"), MAYBE_QUALITY)
MAX_RATES = st.builds(MaxRate, parameters("s"), parameters("B/s"), st.none() | parameters("B/s"), MAYBE_QUALITY)
RATES = [parameters("B/s")] * 3
EXTENDED = st.builds(Extended, parameters("s"), *RATES, MAYBE_QUALITY)
LATENCY_AWARE = st.builds(LatencyAware, parameters("s"), *RATES[:2], MAYBE_QUALITY)
LOGGP = st.builds(LogGP, *[parameters("s")] * 3, st.none() | parameters("s/B"), MAYBE_QUALITY)
FOUND_BY = st.sampled_from(["threshold", "change-point", "user", "hand"])
ORIGINS = st.builds(
    Origin,
    mpi=TEXT,
    hosts=st.lists(TEXT, max_size=2).map(tuple),
    results=st.lists(TEXT, max_size=2).map(tuple),
    measured=TEXT,
    commmodel=TEXT,
    seed=st.none() | st.integers(0, 2**63 - 1),
    source=TEXT,
)


@st.composite
def tables(draw, path):
    """Return a pLogP table."""
    sizes = sorted(draw(st.sets(BYTES, min_size=2, max_size=4)))
    column = st.lists(FINITE, min_size=len(sizes), max_size=len(sizes)).map(tuple)
    low, high = (draw(st.dictionaries(st.sampled_from(["o_s", "o_r", "g"]), column)) for _ in range(2))
    for name in low.keys() & high.keys():
        ends = [sorted(pair) for pair in zip(low[name], high[name], strict=True)]
        low[name], high[name] = (tuple(column) for column in zip(*ends, strict=True))
    mode = draw(st.sampled_from(["blocking", "non-blocking"]))
    return PLogP(draw(parameters("s")), tuple(sizes), *(draw(column) for _ in range(3)), path, mode, low, high)


@st.composite
def grids(draw, values=FINITE):
    """Return a table of sizes and bursts."""
    axes = st.sets(st.floats(0, exclude_min=True, allow_infinity=False), min_size=1, max_size=3).map(sorted).map(tuple)
    sizes, bursts = draw(axes), draw(axes)
    row = st.lists(values, min_size=len(bursts), max_size=len(bursts)).map(tuple)
    return ParameterTable(sizes, bursts, tuple(draw(row) for _ in sizes))


OPERATIONS, PATTERNS, DIRECTIONS = ("two-sided", "put", "get"), ("nearest-neighbour", "cross"), ("one-way", "both-ways")
COUNTS = st.integers(1, 2**53)


@st.composite
def overlap_profiles(draw):
    """Return profiles, one for each path and operation."""
    of = st.tuples(TEXT, st.sampled_from(OPERATIONS))
    result = st.none()
    return tuple(
        OverlapProfile(
            *key,
            L=draw(result | parameters("s")),
            overhead=draw(result | grids()),
            progress=draw(result | grids(st.floats(0, 1))),
            queue_depth=draw(result | COUNTS.map(lambda depth: depth + 1)),
            outstanding_volume=draw(result | COUNTS),
        )
        for key in draw(st.lists(of, max_size=3, unique=True))
    )


@st.composite
def bandwidth_profiles(draw):
    """Return profiles, one for each pattern and direction."""
    of = st.tuples(st.sampled_from(PATTERNS), st.sampled_from(DIRECTIONS))
    return tuple(
        BandwidthProfile(*key, draw(grids()), draw(st.none() | grids()))
        for key in draw(st.lists(of, max_size=3, unique=True))
    )


@st.composite
def message_rates(draw):
    upto = [*sorted(draw(st.sets(BYTES, max_size=2))), *draw(st.sampled_from([[], [None]]))]
    return tuple(
        MessageRate(draw(parameters("1/s")), draw(COUNTS), draw(parameters("")), last, draw(FINITE), draw(FINITE))
        for last in upto
    )


@st.composite
def machines(draw):
    segments = []
    for path in draw(st.lists(TEXT, min_size=1, max_size=3, unique=True)):
        limits = sorted(draw(st.sets(BYTES, max_size=3)))
        endless = [None] if not limits or draw(st.booleans()) else []
        for value in limits + endless:
            limit = None if value is None else Limit(value, draw(FOUND_BY), draw(st.none() | BYTES))
            kinds = (POSTALS, MAX_RATES, EXTENDED, LATENCY_AWARE, MAX_RATES, LOGGP)
            models = [draw(st.none() | kind) for kind in kinds]
            segments.append(
                Segment(draw(TEXT), path, limit, *models, draw(TEXT), draw(TEXT), message_rate=draw(message_rates()))
            )
    confidence = st.none() | st.floats(0, 1, exclude_min=True, exclude_max=True)
    return Machine(
        draw(TEXT),
        tuple(segments),
        confidence=draw(confidence),
        origin=draw(st.none() | ORIGINS),
        queue_search=draw(st.none() | parameters("s")),
        link_contention=draw(st.none() | parameters("s/B")),
        memory_copy=draw(st.none() | parameters("s/B")),
        plogp=tuple(draw(tables(path)) for path in draw(st.lists(TEXT, max_size=2, unique=True))),
        overlap=draw(overlap_profiles()),
        bandwidth=draw(bandwidth_profiles()),
    )


@given(machine=machines())
def test_whatever_is_valid_is_read_back_as_it_was_written(tmp_path_factory, machine):
    file = tmp_path_factory.mktemp("machine") / "machine.toml"
    dump(machine, file)
    assert load(file) == machine
    assert dumps(load(file)) == dumps(machine) == file.read_text("utf-8")


HEAD = 'format = "commmodel-machine"\nversion = 1\nname = "by hand"\n'
SEGMENT = '[[segments]]\nprotocol = "eager"\n'


@pytest.fixture
def file(tmp_path):
    return tmp_path / "machine.toml"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4e-6", Parameter(4e-6, "s")),
        ("0", Parameter(0.0, "s")),
        ("1", Parameter(1.0, "s")),
        ('"4us"', Parameter(4e-6, "s")),
        ('"4 µs"', Parameter(4e-6, "s")),
        ('"4e-6"', Parameter(4e-6, "s")),
        ("{ value = 4e-6 }", Parameter(4e-6, "s")),
        ('{ value = 1, unit = "s", low = 0, high = 2 }', Parameter(1.0, "s", 0.0, 2.0)),
    ],
)
def test_a_parameter_may_be_a_number_a_text_with_a_unit_or_a_table(file, text, expected):
    file.write_text(f"{HEAD}{SEGMENT}postal = {{ alpha = {text}, beta = 1e-9 }}\n", "utf-8")
    assert load(file).segments[0].postal.alpha == expected


def test_a_whole_machine_may_be_written_by_hand(file):
    file.write_text(
        f"""{HEAD}
        [[segments]]
        protocol = "eager"
        limit = 8192
        max_rate = {{ alpha = "4us", R_C = "630MB/s", R_N = inf }}
        [[segments]]
        protocol = "rendezvous"
        [segments.max_rate]
        alpha = 2e-5
        R_C = "3.6GB/s"
        R_N = {{ value = 5_500_000_000, unit = "B/s" }}
        """,
        "utf-8",
    )
    machine = load(file)
    assert machine.paths == ("any",)
    assert machine.segment(8192).limit == Limit(8192, "hand")
    small, large = machine.max_rate(0), machine.max_rate(8193)
    assert (small.alpha.value, small.R_C.value, small.R_N.value) == (4e-6, 6.3e8, math.inf)
    assert (large.alpha.value, large.R_C.value, large.R_N.value) == (2e-5, 3.6e9, 5.5e9)
    assert not small.R_N.is_limiting
    assert large.R_N.is_limiting


def postal(alpha="1e-6", more=""):
    return f"{HEAD}{SEGMENT}postal = {{ alpha = {alpha}, beta = 1e-9 }}\n{more}"


def max_rate(R_C):
    return f"{HEAD}{SEGMENT}max_rate = {{ alpha = 1e-6, R_C = {R_C} }}\n"


def limits(*values):
    return HEAD + "".join(SEGMENT + ("" if value is None else f"limit = {value}\n") for value in values)


def loggp(more):
    return f"{HEAD}{SEGMENT}loggp = {{ L = 1e-6, o = 1e-6, {more} }}\n"


def plogp(**changes):
    columns = {"L": "1e-6", "sizes": "[1, 8]", "o_s": "[1, 2]", "o_r": "[1, 2]", "g": "[1, 2]"} | changes
    return HEAD + SEGMENT + "[[plogp]]\n" + "".join(f"{key} = {value}\n" for key, value in columns.items() if value)


def table(**changes):
    parts = {"sizes": "[8, 64]", "bursts": "[1, 4]", "values": "[[1, 2], [3, 4]]"} | changes
    return "{ " + ", ".join(f"{key} = {value}" for key, value in parts.items() if value) + " }"


def overlap(more="", **changes):
    return f"{HEAD}{SEGMENT}[[overlap]]\noverhead = {table(**changes)}\n{more}\n"


def bandwidth(pattern="cross", **changes):
    rest = f'pattern = "{pattern}"\ndirection = "one-way"\n'
    return f"{HEAD}{SEGMENT}[[bandwidth]]\n{rest}byte_time = {table(**changes)}\n"


ALPHA, R_C, BOMB = "field segments[0].postal.alpha: ", "field segments[0].max_rate.R_C: ", 100_000
LONG = ("not TOML: ", "parts") if sys.version_info >= (3, 14) else ()  # names of so many parts Python itself refuses
DAMAGES = {
    "syntax": (postal() + "x = [", "not TOML: Invalid value"),
    "syntax in a middle line": (HEAD + "???\n" + SEGMENT, "(at line 4, column 1)"),
    "a key twice": (postal(more='protocol = "x"\n'), "not TOML: Cannot overwrite a value"),
    "empty": ("", "there is no field format, which says what it is: format = 'commmodel-machine'"),
    "another format": (postal().replace("commmodel-machine", "cargo"), "field format: ", "'cargo'"),
    "a list as format": ("format = [" + "1, " * 999 + "]", "field format: expected 'commmodel-machine', got list"),
    "later version": (postal().replace("version = 1", "version = 2\nnew = 1"), "field version: 2 is newer"),
    "version as text": (postal().replace("version = 1", 'version = "1"'), "field version: expected int"),
    "version 0": (postal().replace("version = 1", "version = 0"), "field version: ", ">= 1"),
    "no name": (postal().replace("name", "# "), "missing required field name"),
    "no segments": (HEAD, "missing required field segments"),
    "empty segments": (HEAD + "segments = []", "field segments: ", "length >= 1"),
    "segments a number": (HEAD + "segments = 3", "field segments: expected array"),
    "a segment a number": (HEAD + "segments = [3]", "field segments[0]: expected object"),
    "unknown field": ("colour = 1\n" + postal(), "unknown field colour"),
    "unknown field of a segment": (postal(more="colour = 1\n"), "field segments[0]: ", "unknown field colour"),
    "unknown field of a model": (postal("1, gamma = 1"), "field segments[0].postal: ", "unknown field gamma"),
    "unknown field of a parameter": (postal("{ value = 1, x = 1 }"), ALPHA, "unknown field x"),
    "line end in a field": (postal(more='"a\\nb" = 1\n'), r"unknown field a\nb"),
    "missing alpha": (HEAD + SEGMENT + "postal = { beta = 1 }", "field segments[0].postal: ", "field alpha"),
    "missing value": (postal("{ low = 1 }"), ALPHA, "missing required field value"),
    "missing protocol": (HEAD + "[[segments]]\n", "field segments[0]: ", "field protocol"),
    "negative alpha": (postal("-1e-6"), ALPHA, "-1e-06 is not a finite number from 0 up"),
    "negative alpha as text": (postal('"-1us"'), ALPHA, "not negative"),
    "negative alpha in a table": (postal("{ value = -1e-6 }"), ALPHA, "-1e-06 is not"),
    "NaN": (postal("nan"), ALPHA, "nan is not"),
    "infinite alpha": (postal("inf"), ALPHA, "inf is not"),
    "alpha of 1e999": (postal("1e999"), ALPHA, "inf is not"),
    "alpha of 1e999 as text": (postal('"1e999s"'), ALPHA, "must be finite"),
    "alpha of 400 digits": (postal("1" + "0" * 400), ALPHA, "number out of range"),
    "alpha of 400 digits in a table": (postal("{ value = 1" + "0" * 400 + " }"), ALPHA, "out of range"),
    "alpha of 5000 digits": (postal("1" + "0" * 5000), "not TOML: ", "digits"),
    "truth as alpha": (postal("true"), ALPHA, "got bool"),
    "date as alpha": (postal("2026-01-31"), ALPHA, "got date"),
    "list as alpha": (postal("[1e-6]"), ALPHA, "got list"),
    "text in a table": (postal('{ value = "1 day" }'), "field segments[0].postal.alpha.value: ", "'day'"),
    "wrong unit": (postal('"4MB"'), ALPHA, "unknown unit 'MB' of a time"),
    "wrong unit in a table": (postal('{ value = 1, unit = "us" }'), ALPHA, "expected 's', got 'us'"),
    "unit no text": (postal("{ value = 1, unit = [[1]] }"), ALPHA, "expected 's', got list"),
    "interval falls": (postal("{ value = 1, low = 2, high = 1 }"), ALPHA, "[2.0, 1.0] does not ascend"),
    "interval of NaN": (postal("{ value = 1, low = nan }"), ALPHA, "[nan, inf] does not ascend"),
    "zero rate": (max_rate("0"), R_C, "a rate must not be 0"),
    "zero rate as text": (max_rate('"0GB/s"'), R_C, "a rate must not be 0"),
    "rate NaN": (max_rate("nan"), R_C, "nan is not"),
    "rate in flops": (max_rate('"5Gflop/s"'), R_C, "unknown unit 'Gflop/s'"),
    "limits fall": (limits(100, 50), "field segments: limits on path 'any' must ascend", "[100, 50]"),
    "limits equal": (limits(100, 100), "field segments: limits on path 'any' must ascend"),
    "no limit but at the end": (limits(None, 100), "only the last segment may have none"),
    "two segments without limit": (limits(None, None), "only the last segment may have none"),
    "negative limit": (limits(-1), "field segments[0].limit.value: ", ">= 0"),
    "limit not whole": (limits(0.5), "field segments[0].limit: ", "got float"),
    "huge limit": (limits(2**63), "field segments[0].limit.value: ", "<="),
    "unknown finder": (limits('{ value = 1, found_by = "me" }'), "field segments[0].limit.found_by: ", "'me'"),
    "confidence 95": ("confidence = 95.0\n" + postal(), "field confidence: ", "< 1"),
    "negative gap": (loggp("g = -1"), "field segments[0].loggp.g: -1.0 is not a finite number from 0 up"),
    "gap missing": (loggp("G = 1e-9"), "field segments[0].loggp: ", "field g"),
    "latency in bytes": (loggp('g = "1B"'), "field segments[0].loggp.g: ", "unknown unit 'B'"),
    "memory copy negative": ("memory_copy = -1\n" + postal(), "field memory_copy: -1.0 is not"),
    "memory copy of 400 digits": (f"memory_copy = 1{'0' * 400}\n" + postal(), "field memory_copy: number out of range"),
    "table no list": ("plogp = 3\n" + postal(), "field plogp: expected array"),
    "table without L": (plogp(L=""), "field plogp[0]: ", "field L"),
    "table with a wrong L": (plogp(L='"1B"'), "field plogp[0].L: ", "unknown unit 'B'"),
    "table with a huge L": (plogp(L="1" + "0" * 400), "field plogp[0].L: number out of range"),
    "table with a negative L": (plogp(L="-1"), "field plogp[0].L: -1.0 is not"),
    "table of one size": (plogp(sizes="[1]"), "field plogp[0].sizes: ", ">= 2"),
    "sizes fall": (plogp(sizes="[8, 1]"), "field plogp[0].sizes: sizes must ascend"),
    "a size twice": (plogp(sizes="[8, 8]"), "field plogp[0].sizes: sizes must ascend"),
    "column too short": (plogp(o_r="[1]"), "field plogp[0].o_r: 1 numbers for 2 sizes"),
    "column with a negative time": (plogp(g="[1, -2]"), "field plogp[0].g", ">= 0"),
    "column with NaN": (plogp(g="[1, nan]"), "field plogp[0].g"),
    "column infinite": (plogp(o_s="[1, inf]"), "field plogp[0].o_s: inf is not"),
    "interval of no column": (plogp(low="{ L = [1, 2] }"), "field plogp[0].low: 'L' is no column", "o_s, o_r, g"),
    "interval too long": (plogp(high="{ g = [1, 2, 3] }"), "field plogp[0].high.g: 3 numbers for 2 sizes"),
    "table's interval falls": (plogp(low="{ g = [1, 2] }", high="{ g = [2, 1] }"), "field plogp[0].high.g: "),
    "two tables of a path": (plogp() + plogp().removeprefix(HEAD + SEGMENT), "plogp[1].path: a second table", "'any'"),
    "unknown mode": (plogp(mode='"slow"'), "field plogp[0].mode: ", "'slow'"),
    "profiles no list": ("overlap = 3\n" + postal(), "field overlap: expected array"),
    "a profile no table": ("overlap = [3]\n" + postal(), "field overlap[0]: expected object"),
    "unknown field of a profile": (overlap("depth = 3"), "field overlap[0]: ", "unknown field depth"),
    "unknown operation": (overlap('operation = "push"'), "field overlap[0].operation: ", "'push'"),
    "a profile with a wrong L": (overlap('L = "1B"'), "field overlap[0].L: ", "unknown unit 'B'"),
    "a profile with a negative L": (overlap("L = -1"), "field overlap[0].L: -1.0 is not"),
    "a profile with a huge L": (overlap("L = 1" + "0" * 400), "field overlap[0].L: number out of range"),
    "interval of L falls": (overlap("L = { value = 1, low = 2, high = 1 }"), "field overlap[0].L: ", "[2.0, 1.0]"),
    "a queue of one": (overlap("queue_depth = 1"), "field overlap[0].queue_depth: ", ">= 2"),
    "no bytes under way": (overlap("outstanding_volume = 0"), "field overlap[0].outstanding_volume: ", ">= 1"),
    "sizes of a table fall": (overlap(sizes="[64, 8]"), "field overlap[0].overhead: a table's sizes must ascend"),
    "a burst of 0": (overlap(bursts="[0, 4]"), "field overlap[0].overhead: a table's bursts must ascend"),
    "a row too few": (overlap(values="[[1, 2]]"), "field overlap[0].overhead: a table of 2 sizes and 2 bursts"),
    "negative overhead": (overlap(values="[[1, 2], [3, -4]]"), "field overlap[0].overhead: ", "finite numbers from 0"),
    "overhead as text": (overlap(values='[[1, 2], [3, "4us"]]'), "field overlap[0].overhead.values", "got str"),
    "a table without values": (overlap(values=""), "field overlap[0].overhead: ", "field values"),
    "a table no table": (overlap("progress = 1"), "field overlap[0].progress: expected object"),
    "more than all": (overlap(f"progress = {table()}"), "field overlap[0].progress: 2.0 is no share"),
    "two profiles": (
        overlap() + overlap().removeprefix(HEAD + SEGMENT),
        "field overlap[1]: a second profile of path 'any' and operation 'two-sided'",
    ),
    "unknown pattern": (bandwidth("ring"), "field bandwidth[0].pattern: ", "'ring'"),
    "infinite time of a byte": (bandwidth(values="[[1, 2], [3, inf]]"), "field bandwidth[0].byte_time: ", "finite"),
    "two rates": (
        bandwidth() + bandwidth().removeprefix(HEAD + SEGMENT),
        "field bandwidth[1]: a second profile of pattern 'cross' and direction 'one-way'",
    ),
    "deep list": (postal(more="x = " + "[" * BOMB), "not TOML: ", "recursion"),
    "deep table": (postal(more="x = " + "{ a = " * BOMB), "not TOML: ", "recursion"),
    "deep name": (
        postal(more=f"[format{'.a' * 2000}]\n").replace("format =", "was ="),
        *(LONG or ("field format: ", "dict")),
    ),
    "deep unit": (postal(f"{{ value = 1, unit{'.a' * 2000} = 1 }}"), *(LONG or (ALPHA, "got dict"))),
}


def refusal(path):
    """Return why a file is refused, without its name, after checking that one line says it."""
    with pytest.raises(InputError) as caught:
        load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert len(message.splitlines()) == 1
    return message.removeprefix(f"{path}: ")


@pytest.mark.parametrize(("text", "words"), [(text, words) for text, *words in DAMAGES.values()], ids=DAMAGES)
def test_damage_is_refused_in_one_line_naming_file_and_field(file, text, words):
    file.write_text(text, "utf-8")
    message = refusal(file)
    assert all(word in message for word in words), message


def test_what_is_no_text_is_refused(file):
    file.write_bytes(bytes(range(256)))
    assert refusal(file).startswith("line 2: not UTF-8")


def test_a_folder_or_a_missing_file_is_refused_as_such(file):
    assert refusal(file) == "No such file or directory"
    file.mkdir()
    assert refusal(file) == "Is a directory"
    with pytest.raises(InputError) as caught:
        dump(Machine("m", (Segment("all"),)), file)
    assert str(caught.value) == f"{file}: cannot be written: Is a directory"
    assert not isinstance(caught.value, DamagedFileError)


ALPHA_RATE = Parameter(1e-6, "s"), Parameter(1e9, "B/s")
TWO_PATHS = Machine(
    "two",
    (
        Segment("all", "same-node", max_rate=MaxRate(*ALPHA_RATE)),
        Segment("eager", "between-nodes", Limit(100), max_rate=MaxRate(*ALPHA_RATE, Parameter(math.inf, "B/s"))),
        Segment("rendezvous", "between-nodes", Limit(5000)),
    ),
)


def test_a_size_has_the_segment_of_its_path_that_ends_at_or_above_it():
    assert TWO_PATHS.paths == ("same-node", "between-nodes")
    rows = [(TWO_PATHS.segment(size).protocol, size) for size in (0, 100, 100.5, 5000)]
    assert rows == [("eager", 0), ("eager", 100), ("rendezvous", 100.5), ("rendezvous", 5000)]
    assert TWO_PATHS.segment(10**9, "same-node").protocol == "all"
    assert TWO_PATHS.max_rate(100).R_N.value == math.inf


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: TWO_PATHS.segment(1, "moon"), ["knows no path 'moon'", "same-node, between-nodes", "commmodel.bench"]),
        (lambda: TWO_PATHS.segment(5001), ["ends at 5000 bytes", "commmodel.bench pingpong --sizes"]),
        (lambda: TWO_PATHS.max_rate(5000), ["rendezvous (between-nodes): max_rate is missing", "bench pairs"]),
        (lambda: TWO_PATHS.max_rate(1, "same-node"), ["max_rate.R_N is missing", "commmodel.bench pairs"]),
    ],
)
def test_what_the_machine_lacks_is_named_with_the_measurement_that_gives_it(ask, words):
    with pytest.raises(MissingParameterError) as caught:
        ask()
    assert all(word in str(caught.value) for word in ["machine 'two'", *words])


def test_a_negative_size_is_refused():
    with pytest.raises(InputError, match=r"from 0 up|must not be negative"):
        TWO_PATHS.segment(-1)


def test_segments_of_any_path_hold_where_a_path_has_none_of_its_own():
    result = Machine("m", (Segment("all"), Segment("eager", "same-node")))
    assert result.segment(8, "between-nodes").protocol == "all"
    assert result.segment(8, "same-node").protocol == "eager"


@pytest.mark.parametrize("text", ["3e-6", '"3us"', "{ value = 3e-6, low = 2e-6 }"])
def test_the_latency_of_a_table_may_be_written_in_three_ways(file, text):
    file.write_text(plogp(L=text), "utf-8")
    (table,) = load(file).plogp
    assert (table.L.value, table.L.unit, table.sizes, table.g) == (3e-6, "s", (1, 8), (1.0, 2.0))


def test_profiles_may_be_written_by_hand_in_plain_numbers(file):
    file.write_text(
        overlap('L = "3us"\nqueue_depth = 32\noutstanding_volume = 4_194_304') + bandwidth()[len(HEAD + SEGMENT) :]
    )
    machine = load(file)
    (profile,), (rates,) = machine.overlap, machine.bandwidth
    assert (profile.path, profile.operation, profile.progress) == ("any", "two-sided", None)
    assert (profile.L.value, profile.L.unit) == (3e-6, "s")
    assert (profile.queue_depth, profile.outstanding_volume) == (32, 4 << 20)
    assert [profile.overhead.at(size, burst) for size, burst in ((8, 1), (64, 4))] == [1.0, 4.0]
    assert rates.byte_time == profile.overhead


def test_ranger_is_as_published():
    blocking, other = load("ranger"), load("ranger-nonblocking")
    for machine, expected in ((blocking, (1.95e-6, 0.65e-6, 0.65e-6)), (other, (1.75e-6, 0.85e-6, 0.85e-6))):
        small = machine.segment(8).loggp
        assert (small.L.value, small.o.value, small.g.value) == pytest.approx(expected)
        assert small.G.value == 0
        assert machine.segment(9).loggp.G is None
        assert machine.memory_copy.value == 0.125e-9
        assert "March" in machine.origin.source


def test_a_limit_may_be_a_text_with_a_unit(file):
    file.write_text('format = "commmodel-machine"\nname = "m"\n[[segments]]\nprotocol = "eager"\nlimit = "8KiB"\n')
    assert load(file).segments[0].limit.value == 8192
