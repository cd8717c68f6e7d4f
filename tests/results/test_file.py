"""results.jsonl: what is written is read back, and what is damaged is refused in one line that says where."""

import json
import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import inspect
from support.paths import ROOT

from commmodel import results
from commmodel.errors import DamagedFileError, InputError
from commmodel.results import BenchOptions, Header, Host, Library, Rank, Record, Writer, join_visits, load, load_all
from commmodel.results.configurations import PingPong, RandomPingPong, Stream
from commmodel.statistics import summarise

HEADER = Header(
    "commmodel-results", 1, "2026-01-31T12:00:00Z", ("bench",), Library("MPICH"), (Host("n1"),), (Rank(0, 0),)
)
RECORD = Record(PingPong(8, "same-node"), "s", (1e-6, 2e-6))


def valid(kind):
    """Return a strategy of all that a type of the format allows: a new field is tested as it appears."""
    match kind:
        case msgspec.inspect.Metadata(type=inner):
            return valid(inner)
        case inspect.StructType():
            fields = {field.encode_name: valid(field.type) for field in kind.fields}
            return st.builds(kind.cls, **fields)
        case inspect.UnionType():
            return st.one_of(map(valid, kind.types))
        case inspect.LiteralType():
            return st.sampled_from(kind.values)
        case inspect.NoneType():
            return st.none()
        case inspect.BoolType():
            return st.booleans()
        case inspect.IntType():
            low = -(2**63) if kind.ge is None else kind.ge
            return st.integers(low, 2**63 - 1 if kind.le is None else kind.le)
        case inspect.FloatType():
            low, high = (kind.gt if kind.ge is None else kind.ge), (kind.lt if kind.le is None else kind.le)
            open_ends = {"exclude_min": kind.gt is not None, "exclude_max": kind.lt is not None}
            return st.floats(low, high, allow_nan=False, allow_infinity=False, **open_ends)
        case inspect.StrType():
            return st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
        case inspect.TupleType():
            return st.tuples(*map(valid, kind.item_types))
        case inspect.VarTupleType():
            return st.lists(valid(kind.item_type), min_size=kind.min_length or 0, max_size=4).map(tuple)
        case inspect.DictType():
            return st.dictionaries(valid(kind.key_type), valid(kind.value_type), max_size=3)
    raise NotImplementedError(kind)


def on_known_hosts(header):
    hosts = header.hosts or (Host("n1"),)
    ranks = tuple(msgspec.structs.replace(rank, host=rank.host % len(hosts)) for rank in header.ranks)
    return msgspec.structs.replace(header, version=1, hosts=hosts, ranks=ranks)


HEADERS = valid(inspect.type_info(Header)).map(on_known_hosts)


def measured(record):
    """Return a record whose samples can have been measured, equally many of each size where there are several."""
    samples = tuple(min(max(value, 1e-30), 1e30) if value else 0.0 for value in record.samples)
    sizes = getattr(record.configuration, "message_sizes", (1,))
    return msgspec.structs.replace(record, samples=samples * len(sizes))


RECORDS = valid(inspect.type_info(Record)).map(measured)


def line(part, **changes):
    """Return a line of a file with fields changed; None leaves one out; `a__b` is field b of a."""
    plain = json.loads(msgspec.json.encode(part))
    for name, value in changes.items():
        *path, last = name.split("__")
        table = plain
        for step in path:
            table = table[step]
        table.pop(last) if value is None else table.update({last: value})
    return json.dumps(plain).encode() + b"\n"


GOOD_HEADER, GOOD_RECORD = line(HEADER), line(RECORD)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "results.jsonl"


@given(launches=st.lists(st.tuples(HEADERS, st.lists(RECORDS, max_size=3)), min_size=1, max_size=3))
def test_whatever_is_valid_is_read_back_as_it_was_written(tmp_path_factory, launches):
    file = tmp_path_factory.mktemp("results") / "results.jsonl"
    with Writer(file) as writer:
        for header, records in launches:
            for part in (header, *records):
                writer.write(part)
    measurements = load(file)
    read_back = [(launch.header, launch.records) for launch in measurements.launches]
    assert read_back == [(header, join_visits(records)) for header, records in launches]
    assert all(" is partial: " in note for note in measurements.notes)


BOMB = 1_000_000
DAMAGES = {
    "a line cut short": (GOOD_RECORD[:40] + b"\n", "line 2: ", "truncated"),
    "two lines in one": (GOOD_RECORD.strip() + GOOD_RECORD, "line 2: ", "malformed"),
    "not an object": (b"[]\n", "line 2: ", "expected object"),
    "null": (b"null\n", "line 2: ", "expected object"),
    "no type": (b"{}\n", "line 2: ", "required field type"),
    "unknown type": (line(RECORD, type="note"), "line 2: field type: ", "invalid value 'note'"),
    "unknown field": (line(RECORD, colour="red"), "line 2: ", "unknown field colour"),
    "unknown field within": (
        line(RECORD, configuration__x=1),
        "line 2: field configuration: ",
        "unknown field x",
    ),
    "wrong type": (line(RECORD, samples="fast"), "line 2: field samples: ", "expected array"),
    "wrong type within": (
        line(RECORD, samples=[1, "2"]),
        "line 2: field samples[1]: ",
        "expected float, got str",
    ),
    "missing field": (line(RECORD, unit=None), "line 2: ", "missing required field unit"),
    "beyond all measuring": (line(RECORD, samples=[1e-6, 1e205]), "line 2: field samples: ", "nobody measured 1e+205"),
    "beneath all measuring": (line(RECORD, samples=[1e-320]), "line 2: field samples: ", "nobody measured 1e-320"),
    "sizes cut short": (
        line(Record(RandomPingPong((1, 2, 3), "any"), "s", (1.0,) * 5)),
        "line 2: field samples: ",
        "5 of 3 sizes, which have equally many each",
    ),
    "unknown unit": (line(RECORD, unit="us"), "line 2: field unit: ", "'us'"),
    "no samples": (line(RECORD, samples=[]), "line 2: field samples: ", "length >= 1"),
    "negative sample": (line(RECORD, samples=[-1e-9]), "line 2: field samples[0]: ", ">= 0"),
    "negative size": (
        line(RECORD, configuration__message_size=-8),
        "field configuration.message_size: ",
        ">= 0",
    ),
    "size not whole": (
        line(RECORD, configuration__message_size=8.5),
        "field configuration.message_size: ",
        "int",
    ),
    "huge size": (
        line(RECORD, configuration__message_size=2**63),
        "field configuration.message_size: ",
        "<=",
    ),
    "size of 10000 digits": (
        GOOD_RECORD.replace(b": 8,", b": %s," % (b"9" * 10_000)),
        "message_size: ",
        "out of range",
    ),
    "unknown kernel": (
        line(RECORD, configuration__kernel="dance"),
        "field configuration.kernel: ",
        "'dance'",
    ),
    "no kernel": (line(RECORD, configuration__kernel=None), "field configuration: ", "required field kernel"),
    "unknown path": (line(RECORD, configuration__path="moon"), "field configuration.path: ", "'moon'"),
    "sample of 1e999": (
        GOOD_RECORD.replace(b"1e-06", b"1e999"),
        "line 2: field samples[0]: ",
        "out of range",
    ),
    "sample of 400 digits": (line(RECORD, samples=[10**400]), "line 2: field samples[0]: ", "out of range"),
    "sample NaN": (line(RECORD, samples=[math.nan]), "line 2: ", "malformed"),
    "sample infinite": (line(RECORD, samples=[math.inf]), "line 2: ", "malformed"),
    "unknown format": (line(HEADER, format="netcdf"), "line 2: field format: ", "'netcdf'"),
    "later version": (line(HEADER, version=2, new_field=1), "line 2: field version: ", "2 is newer"),
    "version 0": (line(HEADER, version=0), "line 2: field version: ", ">= 1"),
    "version not a number": (line(HEADER, version="1"), "line 2: field version: ", "got str"),
    "rank on no host": (
        line(HEADER, ranks=[{"rank": 0, "host": 1}]),
        "line 2: field ranks[0].host: ",
        "1 hosts",
    ),
    "line end in a name": (line(RECORD, **{"a\nb\u2028c": 1}), "line 2: ", r"unknown field a\nb\u2028c"),
    "line end in a type": (line(RECORD, type="a\r\nb"), "line 2: field type: ", r"\r\n"),
    "binary": (bytes(range(14, 256)) + b"\n", "line 2: ", "malformed"),
    "zeros": (bytes(4096) + b"\n", "line 2: ", "malformed"),
    "not UTF-8": (GOOD_RECORD.replace(b"same-node", b"\xff\xfe"), "line 2: ", "utf-8"),
    "half a character": (GOOD_RECORD.replace(b"same-node", rb"\ud800"), "line 2: ", "malformed"),
    "deep list": (b"[" * BOMB + b"\n", "line 2: ", "expected object"),
    "deep object": (b'{"a":' * BOMB + b"\n", "line 2: ", "while deserializing"),
    "deep list within": (GOOD_RECORD[:-2] + b', "x": ' + b"[" * BOMB + b"\n", "line 2: ", "while deserializing"),
}


def refusal(path):
    """Return why a file is refused, without its name, after checking that one line says it."""
    with pytest.raises(InputError) as caught:
        load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert len(message.splitlines()) == 1
    return message.removeprefix(f"{path}: ")


@pytest.mark.parametrize(("damage", "place", "words"), DAMAGES.values(), ids=DAMAGES)
def test_damage_in_a_middle_line_is_refused_in_one_line_naming_file_line_and_field(file, damage, place, words):
    file.write_bytes(GOOD_HEADER + damage + GOOD_RECORD)
    message = refusal(file)
    assert message.startswith("line 2: ")
    assert place in message
    assert words.lower() in message.lower()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no measurements: it is empty"),
        (b"\n\n", "no measurements: it is empty"),
        (GOOD_HEADER[:-1], "no measurements: its only line is incomplete"),
        (GOOD_RECORD + GOOD_HEADER, "line 1: a record stands before any header"),
        (b"\xef\xbb\xbf" + GOOD_HEADER, "line 1: JSON is malformed"),
        (GOOD_HEADER.decode().encode("utf-16"), "line 1: JSON is malformed"),
    ],
    ids=["empty", "empty lines", "only half a line", "record before header", "byte order mark", "UTF-16"],
)
def test_a_file_without_a_launch_is_refused(file, content, words):
    file.write_bytes(content)
    assert words in refusal(file)


def test_a_folder_or_a_missing_file_is_refused(file):
    assert refusal(file) == "No such file or directory"
    file.mkdir()
    assert refusal(file) == "Is a directory"
    assert "directory" in refusal(file / "below")


def test_damage_is_told_apart_from_a_file_that_cannot_be_opened(file):
    with pytest.raises(InputError) as caught:
        load(file)
    assert not isinstance(caught.value, DamagedFileError)
    file.write_bytes(b"{}\n")
    with pytest.raises(DamagedFileError):
        load(file)


@pytest.mark.parametrize("length", [1, len(GOOD_RECORD) // 2, len(GOOD_RECORD) - 1])
def test_a_last_line_that_was_cut_off_is_left_out_and_noted(file, length):
    file.write_bytes(GOOD_HEADER + GOOD_RECORD + GOOD_RECORD[:length])
    measurements = load(file)
    assert list(measurements.records) == [RECORD]
    assert measurements.notes == (f"{file}: line 3 is incomplete ({length} bytes), left out: its writer was stopped",)


def test_every_cut_of_a_file_keeps_its_complete_lines(file):
    whole = GOOD_HEADER + GOOD_RECORD
    for index in range(len(GOOD_HEADER), len(whole) + 1):
        file.write_bytes(whole[:index])
        measurements = load(file)
        assert len(list(measurements.records)) == (index == len(whole))
        assert bool(measurements.notes) == (len(GOOD_HEADER) < index < len(whole))


def test_line_ends_of_windows_and_empty_lines_do_no_harm(file):
    file.write_bytes(GOOD_HEADER.replace(b"\n", b"\r\n") + b"\r\n\n" + GOOD_RECORD.replace(b"\n", b"\r\n"))
    assert list(load(file).records) == [RECORD]


def test_files_joined_by_cat_are_a_file_of_two_launches(file, tmp_path):
    other = tmp_path / "other.jsonl"
    file.write_bytes(GOOD_HEADER + GOOD_RECORD)
    other.write_bytes(line(HEADER, created="later") + GOOD_RECORD + GOOD_RECORD)
    apart = load_all([file, other])
    file.write_bytes(file.read_bytes() + other.read_bytes())
    joined = load(file)
    assert joined == apart
    assert [(launch.header.created, len(launch.records)) for launch in joined.launches] == [
        (HEADER.created, 1),
        ("later", 2),
    ]


def test_notes_of_several_files_are_all_kept(file, tmp_path):
    other = tmp_path / "other.jsonl"
    for path in (file, other):
        path.write_bytes(GOOD_HEADER + b"{")
    assert [note.split(":")[0] for note in load_all([file, other]).notes] == [str(file), str(other)]


def test_a_record_summarises_its_samples():
    assert RECORD.summary == summarise([1e-6, 2e-6])


def test_a_file_from_before_pairs_of_nodes_has_one_everywhere(file):
    options = BenchOptions(("stream",), 1, sizes=(8,))
    older = line(msgspec.structs.replace(HEADER, options=options), options__node_pairs=None, options__visits=None,
                 options__start=None, further_nodes=None)  # fmt: skip
    file.write_bytes(older + line(Record(Stream(8, 2, "between-nodes"), "s", (1e-6,)), configuration__node_pairs=None))
    (launch,) = load(file).launches
    assert launch.header.options.node_pairs == (1,)
    assert (launch.header.options.visits, launch.header.options.start) == (1, "barrier")
    assert launch.header.further_nodes == ()
    assert launch.records[0].configuration.node_pairs == 1


def test_the_schema_names_every_kernel():
    text = json.dumps(json.loads(results.schema()))
    assert all(f'"{kernel}"' in text for kernel in ("header", "record", "pingpong", "pairs", "ping", "threshold"))


def test_the_schema_in_the_docs_is_that_of_the_code():
    stored = ROOT / "docs" / "reference" / "results.schema.json"
    assert stored.read_bytes() == results.schema()
