"""Timelines: what the writers write is what the formats want, and reading gives back what was written."""

import gzip
import json
import resource

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.engine_programs import WAITALL, compute, flat, irecv, program, recv, send
from support.timelines import PING_PONG, random_timeline

from commmodel.errors import DamagedFileError, InputError
from commmodel.simulate import DelayModel, DelayParameters, fluid, run
from commmodel.simulate.result import INTERVAL, SimulationResult
from commmodel.simulate.states import State
from commmodel.simulate.timeline import Timeline, dump, load, split_waits

SUFFIXES = (".json", ".paje", ".trace", ".csv")


def events(path):
    return json.loads(path.read_text())["traceEvents"]


def test_a_timeline_is_in_the_order_of_ranks_and_times():
    assert PING_PONG.intervals["rank"].tolist() == [0, 0, 0, 1]
    assert PING_PONG.seconds == 6e-6
    outcome = SimulationResult(
        np.array([1.0, 2.0]), np.zeros((2, 5)), 0, 0, intervals=PING_PONG.intervals[::-1], model="fluid"
    )
    timeline = Timeline.of(outcome)
    assert (timeline.name, timeline.processes) == ("fluid", 2)
    assert (timeline.intervals == PING_PONG.intervals).all()


@pytest.mark.parametrize("model", [fluid(), DelayModel(DelayParameters(L=1e-6, o=1e-6, S=10))])
def test_a_rank_that_hangs_waits_until_the_end(model):
    """Rank 0 sends what nobody receives, 1 and 3 wait for what nobody sends, 2 computes; 4 hangs when all is over."""
    ranks = [send(2, 1e5)], [compute(1.0), recv(0)], [compute(3.0)], [compute(2.0), irecv(0), WAITALL]
    last = [compute(3.0), recv(0, 8)]
    outcome = run(program(*ranks, last), model, flat(5), record=True, deadlock="return")
    assert len(outcome.blocked) == 4
    result = Timeline.of(outcome)
    rows = result.intervals[np.isin(result.intervals["rank"], (0, 1, 3, 4))]
    assert [tuple(row) for row in rows[["rank", "state", "peer", "start", "end"]].tolist()] == [
        (0, State.WAIT, 2, 0.0, 3.0),
        (1, State.COMPUTE, -1, 0.0, 1.0),
        (1, State.WAIT, 0, 1.0, 3.0),
        (3, State.COMPUTE, -1, 0.0, 2.0),
        (3, State.WAIT, 0, 2.0, 3.0),
        (4, State.COMPUTE, -1, 0.0, 3.0),
    ]
    assert rows["size"].tolist() == [1e5, 0, 0, 0, 0, 0]
    assert result.seconds == outcome.seconds == 3.0
    assert outcome.spent[:, State.WAIT].tolist() == [3.0, 2.0, 0.0, 1.0, 0.0]


def test_of_a_deadlock_that_was_not_recorded_there_is_no_timeline():
    outcome = run(program([recv(1)], [compute(1.0)]), fluid(), flat(2), deadlock="return")
    assert outcome.blocked
    assert not Timeline.of(outcome).intervals.size


# Perfetto


def test_perfetto_has_a_thread_for_each_rank_and_a_slice_for_each_interval(tmp_path):
    dump(PING_PONG, tmp_path / "t.json")
    result = events(tmp_path / "t.json")
    names = [event["args"]["name"] for event in result if event["name"] == "thread_name"]
    assert names == ["rank 0", "rank 1"]
    slices = [event for event in result if event["ph"] == "X" and event["cat"] == "state"]
    assert [(entry["tid"], entry["name"], entry["ts"], entry["dur"]) for entry in slices] == [
        (0, "send", 0.0, 1.0),
        (0, "compute", 1.0, 1.5),
        (0, "wait", 4.0, 2.0),
        (1, "receive", 0.0, 3.0),
    ]
    assert slices[0]["args"] == {"peer": 1, "tag": 7, "bytes": 1024}
    assert "args" not in slices[1]


def test_both_ends_of_every_arrow_hold_on_to_a_slice(tmp_path):
    timeline = random_timeline(5, 40)
    dump(timeline, tmp_path / "t.json")
    result = events(tmp_path / "t.json")
    slices = [event for event in result if event["ph"] == "X"]
    ends = [event for event in result if event["ph"] in "sf"]
    assert len(ends) == 2 * timeline.transfers.size
    for end in ends:
        assert any(
            entry["tid"] == end["tid"] and entry["ts"] <= end["ts"] <= entry["ts"] + entry["dur"] + 1e-6
            for entry in slices
        )
    begun = {event["id"] for event in ends if event["ph"] == "s"}
    assert begun == {event["id"] for event in ends if event["ph"] == "f"} == set(range(timeline.transfers.size))


def test_where_a_rank_is_in_no_state_an_instant_is_written_for_the_arrow(tmp_path):
    dump(PING_PONG, tmp_path / "t.json")
    instants = [
        (entry["name"], entry["tid"], entry["ts"]) for entry in events(tmp_path / "t.json") if entry.get("dur") == 0
    ]
    assert instants == [("departure", 1, 3.0)]
    arrivals = [entry["ts"] for entry in events(tmp_path / "t.json") if entry["ph"] == "f"]
    assert arrivals == [2.999, 5.999]  # within the intervals that they end


# Paje


def paje(path):
    """Return the definitions and the events of a file: event numbers -> fields, and lists of words."""
    definitions, values, current = {}, [], None
    for line in path.read_text().splitlines():
        words = line.split()
        if words[0] == "%EventDef":
            current = definitions.setdefault(words[2], (words[1], []))
        elif words[0] == "%EndEventDef":
            current = None
        elif words[0] == "%":
            current[1].append(words[1])
        else:
            values.append(json.loads("[" + _commas(line) + "]"))
    return definitions, values


def _commas(line):
    """Return a line of words, quoted or not, as the inside of a JSON list."""
    pieces, quoted = [], line.split('"')
    for number, piece in enumerate(quoted):
        pieces += [f'"{piece}"'] if number % 2 else [f'"{word}"' for word in piece.split()]
    return ",".join(pieces)


def test_every_paje_event_has_the_fields_of_its_definition_and_time_never_goes_back(tmp_path):
    dump(random_timeline(4, 30), tmp_path / "t.paje")
    definitions, result = paje(tmp_path / "t.paje")
    assert all(len(event) == 1 + len(definitions[event[0]][1]) for event in result)
    times = [float(event[1]) for event in result if int(event[0]) >= 4]
    assert times == sorted(times)
    containers = {event[2] for event in result if definitions[event[0]][0] == "PajeCreateContainer"}
    assert containers == {"p", "r0", "r1", "r2", "r3"}


def test_paje_states_end_where_nothing_follows_at_once_and_links_are_paired(tmp_path):
    dump(PING_PONG, tmp_path / "t.paje")
    definitions, entry = paje(tmp_path / "t.paje")
    result = [(definitions[event[0]][0], *event[1:]) for event in entry]
    states = [(float(item[1]), item[4]) for item in result if item[0] == "PajeSetState" and item[3] == "r0"]
    assert states == [(0.0, "send"), (1e-6, "compute"), (2.5e-6, "idle"), (4e-6, "wait"), (6e-6, "idle")]
    starts = [item[-1] for item in result if item[0] == "PajeStartLink"]
    assert starts == [item[-1] for item in result if item[0] == "PajeEndLink"] == ["m0", "m1"]


# Files


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_same_timeline_gives_the_same_bytes_compressed_or_not(tmp_path, suffix):
    timeline = random_timeline(3, 20)
    for name in ("one", "other"):
        dump(timeline, tmp_path / f"{name}{suffix}")
        dump(timeline, tmp_path / f"{name}{suffix}.gz")
    assert (tmp_path / f"one{suffix}").read_bytes() == (tmp_path / f"other{suffix}").read_bytes()
    packed = (tmp_path / f"one{suffix}.gz").read_bytes()
    assert packed == (tmp_path / f"other{suffix}.gz").read_bytes()
    assert gzip.decompress(packed) == (tmp_path / f"one{suffix}").read_bytes()


def test_a_name_without_a_format_and_a_folder_that_is_not_there_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"must end in \.json"):
        dump(PING_PONG, tmp_path / "t.txt")
    with pytest.raises(InputError, match="cannot be written"):
        dump(PING_PONG, tmp_path / "no" / "t.json")


def test_nothing_at_all_is_a_timeline_too(tmp_path):
    result = Timeline('no"thing', 2, np.empty(0, INTERVAL))
    for suffix in SUFFIXES:
        dump(result, tmp_path / f"t{suffix}")
    assert len(events(tmp_path / "t.json")) == 5
    assert result.seconds == 0.0


rows = st.lists(
    st.tuples(
        st.integers(0, 5), st.sampled_from([*map(int, State)]), st.integers(-1, 5), st.integers(-1, 99),
        st.integers(0, 1 << 40), st.floats(0, 1e3), st.floats(0, 10),
    ),
    min_size=1, max_size=20,
)  # fmt: skip


@given(rows)
def test_reading_csv_gives_back_what_was_written(tmp_path_factory, drawn):
    path = tmp_path_factory.mktemp("csv") / "t.csv.gz"
    table = np.array([(*row[:5], row[5], row[5] + row[6]) for row in drawn], dtype=INTERVAL)
    timeline = Timeline("t", 6, table)
    dump(timeline, path)
    back = load(path).intervals
    first = timeline.intervals["start"].min()
    for name in ("rank", "state", "peer", "tag", "size"):
        assert sorted(back[name]) == sorted(timeline.intervals[name])
    assert np.array_equal(np.sort(back["start"]), np.sort(timeline.intervals["start"] - first))
    assert back["start"].min() == 0.0


def test_reading_csv_gives_back_messages_to_the_last_bit(tmp_path):
    timeline = random_timeline(3, 40)
    dump(timeline, tmp_path / "t.csv")
    back = load(tmp_path / "t.csv")
    first = timeline.intervals["start"].min()
    assert back.processes == 3
    for name in ("sender", "receiver", "tag", "size"):
        assert np.array_equal(back.transfers[name], timeline.transfers[name])
    for name in ("posted", "left", "arrived"):
        assert np.array_equal(back.transfers[name], timeline.transfers[name] - first)


def test_reading_a_perfetto_trace_gives_back_states_and_messages(tmp_path):
    dump(PING_PONG, tmp_path / "t.json")
    back = load(tmp_path / "t.json")
    assert (back.name, back.processes) == ("t.json", 2)
    rows = back.intervals[back.intervals["end"] - back.intervals["start"] > 2e-9]  # times are of nanoseconds
    for name in INTERVAL.names:
        assert np.allclose(rows[name], split_waits(PING_PONG)[name], rtol=0, atol=2e-9)
    for name in PING_PONG.transfers.dtype.names:
        assert np.allclose(back.transfers[name], PING_PONG.transfers[name], rtol=0, atol=2e-9)


def test_names_of_mpi_functions_are_states(tmp_path):
    path = tmp_path / "t.csv"
    words = ("MPI_Send", "mpi_recv", "MPI_Waitall", "MPI_Allreduce", "Compute")
    lines = "\n".join(f"{rank}, {word} ,1.5,2.5" for rank, word in enumerate(words))
    path.write_text(f"# measured\nrank,state,start,end\n{lines}\n")
    intervals = load(path).intervals
    assert intervals["state"].tolist() == [State.SEND, State.RECEIVE, State.WAIT, State.WAIT, State.COMPUTE]
    assert set(intervals["end"]) == {1.0}


HEAD = "rank,state,start,end\n"
DAMAGED = [
    ("t.csv", "", "no column rank"),
    ("t.csv", HEAD + "0,wait,0,1\n1,wait,0.5,1.", "line 3: the last line has no end"),
    ("t.csv", HEAD + "0,wait,0,1_0\n", "field end: '1_0'"),
    ("t.csv", HEAD + "0,wait,0,\u0663\n", "field end"),
    ("t.csv", HEAD + "0,wait,-1.7e308,1.7e308\n", "no times in seconds"),
    ("t.csv", HEAD, "no interval"),
    ("t.csv", "rank,state,start,end,colour\n", "columns are rank, state"),
    ("t.csv", HEAD + "0,wait,0\n", "interval 1: 3 fields instead of 4"),
    ("t.csv", HEAD + "0,wait,0,1\n0,dream,1,2\n", "interval 2: unknown state 'dream'"),
    ("t.csv", HEAD + "0,wait,2,1\n", "ends at 1, before it begins at 2"),
    ("t.csv", HEAD + "-1,wait,0,1\n", "field rank: '-1'"),
    ("t.csv", HEAD + "0.5,wait,0,1\n", "field rank: '0.5' is no whole number"),
    ("t.csv", HEAD + "0,wait,nan,1\n", "field start: 'nan'"),
    ("t.csv", HEAD + "99999999,wait,0,1\n", "rank 99999999 is beyond"),
    ("t.csv", HEAD + "0,message,0,1\n", "a message needs a peer"),
    ("t.csv", "rank,state,start,end,peer,left\n0,message,0,1,1,2\n", "leaves between start and end"),
    ("t.csv.gz", HEAD, "damaged or cut short"),
    ("t.json", "{", "not JSON: "),
    ("t.json", '{"traceEvents": []}', "no interval"),
    ("t.json", '[{"ph":"X","name":"wait","tid":"main"}]', "event 1: tid 'main' is no rank"),
    ("t.json", '[{"ph":"X","name":"dream","tid":0}]', "unknown state 'dream'"),
    ("t.json", '[{"ph":"X","name":"wait","tid":0,"dur":-1}]', "are no times"),
    ("t.json", '[{"ph":"X","name":"wait","tid":0,"args":{"peer":1e300}}]', "args.peer: 1e+300"),
]


@pytest.mark.parametrize(("name", "content", "problem"), DAMAGED)
def test_a_damaged_file_gets_one_line(tmp_path, name, content, problem):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(DamagedFileError) as caught:
        load(path)
    assert problem in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_a_file_that_is_cut_short_or_not_there_is_refused(tmp_path):
    dump(random_timeline(2, 50), tmp_path / "t.csv.gz")
    whole = (tmp_path / "t.csv.gz").read_bytes()
    (tmp_path / "t.csv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DamagedFileError, match="cut short"):
        load(tmp_path / "t.csv.gz")
    with pytest.raises(InputError, match="cannot be read"):
        load(tmp_path / "none.csv")


@given(st.binary(max_size=200), st.sampled_from([".csv", ".json"]))
def test_any_bytes_are_a_timeline_or_one_error(tmp_path_factory, content, suffix):
    path = tmp_path_factory.mktemp("any") / f"t{suffix}"
    path.write_bytes(content)
    with pytest.raises(InputError):
        load(path)


def test_a_small_file_that_unpacks_to_very_much_is_refused_early(tmp_path):
    """100 KiB of gzip with 34 million events; of these, no more is unpacked than says that they are too many."""
    path = tmp_path / "t.json.gz"
    with gzip.open(path, "wb", compresslevel=9) as file:
        for _ in range(100):
            file.write(b"{},\n" * (1 << 18))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DamagedFileError, match="its events take more than 4 GiB of memory"):
        load(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # KiB
