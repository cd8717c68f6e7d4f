"""Messages in timelines of recordings: who sends to whom, when, and their arrows in each format."""

import json

import numpy as np
import pytest
from support.logs import end, new_logs, write

from commmodel import record
from commmodel.cli import main
from commmodel.simulate import timeline

SECOND = 10**9


def messages(folder, logs):
    """Return sender, receiver, tag, size, posted, left, arrived of each message, in seconds from the first call."""
    end(logs)
    return record.timeline(record.load(write(folder / "run", logs))).transfers.tolist()


def recv(log, begin, stop, source, size=8, tag=0):
    log.call("Recv", begin * SECOND, stop * SECOND, peer=source, tag=tag, bytes=size, source=source,
             received_tag=tag, received_bytes=size)  # fmt: skip


def test_a_message_leaves_at_its_send_and_arrives_when_the_receive_ends(tmp_path):
    logs = new_logs(2)
    logs[0].call("Init", 0, SECOND)
    logs[1].call("Init", 0, SECOND)
    logs[0].call("Send", 2 * SECOND, 3 * SECOND, peer=1, tag=5, bytes=80)
    recv(logs[1], 1, 4, 0, 80, 5)
    assert messages(tmp_path, logs) == [(0, 1, 5, 80.0, 2.0, 2.0, 4.0)]


def test_a_send_that_waits_for_its_receiver_lets_the_message_go_when_that_comes(tmp_path):
    logs = new_logs(2)
    logs[0].call("Ssend", 0, 6 * SECOND, peer=1, bytes=8)
    recv(logs[1], 4, 6, 0)
    assert messages(tmp_path, logs) == [(0, 1, 0, 8.0, 0.0, 4.0, 6.0)]


@pytest.mark.parametrize(("waits_until", "left"), [(3, 1.0), (7, 5.0)])
def test_a_message_without_blocking_leaves_as_its_completion_tells(tmp_path, waits_until, left):
    logs = new_logs(2)
    logs[0].call("Init", 0, SECOND)
    logs[0].call("Isend", SECOND, SECOND, peer=1, bytes=8, request=1)
    logs[0].call("Wait", 2 * SECOND, waits_until * SECOND, given=1, completed=[(1, -2, 0, 0)])
    logs[1].call("Irecv", 5 * SECOND, 5 * SECOND, peer=0, bytes=8, request=1)
    logs[1].call("Waitall", 6 * SECOND, 7 * SECOND, given=1, completed=[(1, 0, 0, 8)])
    assert messages(tmp_path, logs) == [(0, 1, 0, 8.0, 1.0, left, 7.0)]


def test_ranks_of_a_communicator_are_those_of_the_program_and_what_is_not_received_has_no_arrow(tmp_path):
    logs = new_logs(3)
    for log in logs[1:]:
        log.communicator(3, [(1, 1, 2)])
    logs[1].call("Send", 0, SECOND, peer=1, communicator=3, bytes=8)
    logs[1].call("Send", SECOND, 2 * SECOND, peer=0, bytes=8)
    logs[2].call("Recv", 0, SECOND, peer=0, communicator=3, bytes=8, source=0, received_bytes=8)
    assert [row[:2] for row in messages(tmp_path, logs)] == [(1, 2)]


def ring(folder, steps=3):
    logs = new_logs(3)
    for log in logs:
        for step in range(steps):
            at = step * SECOND
            log.call("Sendrecv", at, at + SECOND // 2, peer=(log.rank + 1) % 3, receive_peer=(log.rank - 1) % 3,
                     bytes=100, source=(log.rank - 1) % 3, received_bytes=100)  # fmt: skip
    end(logs)
    return write(folder / "run", logs)


@pytest.mark.parametrize(
    ("name", "arrow"), [("t.json", '"ph":"s"'), ("t.paje", "\n7 "), ("t.trace", "\n7 "), ("t.csv", ",message,")]
)
def test_each_format_has_an_arrow_for_each_message(tmp_path, name, arrow):
    assert main(["convert", str(ring(tmp_path)), "-o", str(tmp_path / name)]) == 0
    assert (tmp_path / name).read_text().count(arrow) == 9


def test_what_is_written_is_read_with_its_messages(tmp_path):
    recorded = record.timeline(record.load(ring(tmp_path)))
    timeline.dump(recorded, tmp_path / "t.csv")
    back = timeline.load(tmp_path / "t.csv").transfers
    assert all(np.array_equal(back[name], recorded.transfers[name]) for name in back.dtype.names)


def test_the_page_draws_messages(tmp_path):
    assert main(["convert", str(ring(tmp_path)), "-o", str(tmp_path / "t.html")]) == 0
    page = (tmp_path / "t.html").read_text()
    assert "Recorded run" in page
    begin = page.index('{"seconds"')
    chart = json.loads(page[begin : page.index("</script>", begin)])["charts"][0]
    assert chart["messages"] == 9
