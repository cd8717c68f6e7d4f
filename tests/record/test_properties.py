"""What holds for the profile of any program."""

from hypothesis import given
from hypothesis import strategies as st
from support.logs import end, new_logs, write

from commmodel import record

PROCESSES = 4


@st.composite
def programs(draw):
    """Return steps of a program that cannot deadlock: (kind, source, destination, tag, bytes, begin, duration)."""
    ranks = st.integers(0, PROCESSES - 1)
    times = st.tuples(st.integers(0, 50), st.integers(0, 50))
    message = st.tuples(st.just("message"), ranks, ranks, st.integers(0, 2), st.integers(0, 10**6), times, times)
    collective = st.tuples(st.just("Allreduce"), st.lists(times, min_size=PROCESSES, max_size=PROCESSES))
    return draw(st.lists(st.one_of(message, collective), max_size=30))


def logs_of(steps, order):
    """Return the logs of a program whose rank r is run by rank order[r]."""
    logs = new_logs(PROCESSES)
    of = [logs[order[rank]] for rank in range(PROCESSES)]
    for number, step in enumerate(steps):
        if step[0] == "message":
            _, source, destination, tag, size, (before, duration), (other, length) = step
            if source == destination:
                continue
            begin = of[source].last + before
            of[source].call("Send", begin, begin + duration, line=number % 5 + 1, peer=order[destination], tag=tag,
                            bytes=size)  # fmt: skip
            begin = of[destination].last + other
            of[destination].call("Recv", begin, begin + length, line=number % 5 + 1, peer=order[source], tag=tag,
                                 bytes=size, source=order[source], received_tag=tag, received_bytes=size)  # fmt: skip
        else:
            for log, (before, duration) in zip(of, step[1], strict=True):
                log.call("Allreduce", log.last + before, log.last + before + duration, bytes=8, line=number % 5 + 1)
    end(logs)
    return logs


def profiled(folder, steps, order=tuple(range(PROCESSES))):
    return record.profile(record.load(write(folder, logs_of(steps, order))))


def near(first, second):
    return abs(first - second) <= 1e-12 + 1e-9 * abs(first)


@given(programs())
def test_sums_over_any_grouping_are_equal(tmp_path_factory, steps):
    profile = profiled(tmp_path_factory.mktemp("r"), steps)
    calls, sites, communicators = profile.calls.values(), profile.sites, profile.communicators
    for group in (sites, communicators):
        for name in ("count", "bytes"):
            assert sum(getattr(call, name) for call in group) == sum(getattr(call, name) for call in calls)
        for name in ("seconds", "waiting"):
            assert near(sum(getattr(call, name) for call in group), sum(getattr(call, name) for call in calls))
    assert near(sum(rank.waiting + rank.transferring for rank in profile.ranks), sum(call.seconds for call in calls))
    assert near(sum(rank.waiting for rank in profile.ranks), sum(rank.caused for rank in profile.ranks))
    assert sum(rank.calls for rank in profile.ranks) == sum(call.count for call in calls)
    assert all(0 <= call.waiting <= call.seconds + 1e-12 for call in calls)
    assert profile.faults == ()


@given(programs())
def test_bytes_of_the_matrix_are_bytes_of_sends(tmp_path_factory, steps):
    profile = profiled(tmp_path_factory.mktemp("r"), steps)
    sent = [step[4] for step in steps if step[0] == "message" and step[1] != step[2]]
    assert profile.matrix.bytes.sum() == profile.bytes == sum(sent)
    assert profile.matrix.messages.sum() == profile.messages == len(sent)
    assert sum(size.bytes for size in profile.sizes if size.kind == "messages") == sum(sent)
    if sent:
        assert profile.calls["MPI_Send"].bytes == profile.calls["MPI_Recv"].bytes == sum(sent)
    assert all(size.least * size.count <= size.bytes <= size.most * size.count for size in profile.sizes)


@given(programs(), st.permutations(range(PROCESSES)))
def test_renaming_ranks_renames_the_matrix_and_the_rows_of_ranks(tmp_path_factory, steps, order):
    folder = tmp_path_factory.mktemp("r")
    plain, renamed = profiled(folder / "a", steps), profiled(folder / "b", steps, order)
    for entry in ("messages", "bytes"):
        square = renamed.matrix.dense(entry)
        assert (square[order][:, order] == plain.matrix.dense(entry)).all()
    for rank, new in enumerate(order):
        assert near(plain.ranks[rank].waiting, renamed.ranks[new].waiting)
    assert near(*(sum(call.waiting for call in profile.calls.values()) for profile in (plain, renamed)))
