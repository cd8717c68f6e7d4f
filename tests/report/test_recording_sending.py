"""The section "How to send" of a recording: which sites gain by another way, how much, and which lines to write."""

import json
from functools import partial

import pytest
from support.logs import end, new_logs, write
from support.report_samples import shown
from support.whole_html import text_of_page

from commmodel import record
from commmodel.cli import main
from commmodel.machine import Machine, MeasuredTimes, ObjectTimes, PieceCosts, Segment, Sending, dump
from commmodel.report.recording.page import write_recording
from commmodel.report.recording.sending import sending_codes, sending_findings, sending_tables, sending_words

FLOOR = MeasuredTimes((1024, 1 << 20), (1e-6, 1e-4))


def costs(way, seconds, layout="vector"):
    return PieceCosts(layout, way, (1024, 1 << 20), (8,), ((seconds,), (seconds,)), scatter=0.1)


def times(kind, way, factor):
    return ObjectTimes(kind, way, MeasuredTimes((1024, 1 << 20), (factor * 1e-6, factor * 1e-4)), scatter=0.1)


def machine(*pieces, objects=()):
    return Machine("vm", (Segment("all"),), sending=(Sending("same-node", FLOOR, pieces, objects),), confidence=0.95)


@pytest.fixture
def folder(tmp_path):
    """A column sent 100 times, irregular pieces, an array and a dictionary of anything that are pickled."""
    logs = new_logs(2)
    for log in logs:
        log.layout(1, 0, 8192, 1024, 512)
        log.layout(2, 2, 1024, 128)
        log.layout(3, 17)
        log.layout(4, 16)
    for line, number, count, size in ((10, 1, 100, 8192), (20, 2, 1, 1024), (30, 3, 10, 1024), (40, 4, 1, 1024)):
        logs[0].contents(number)
        for _ in range(count):
            logs[0].call("Send", 0, 1, line=line, peer=1, bytes=size)
    logs[1].contents(1)
    logs[1].call("Recv", 0, 1, line=50, peer=0, source=0, bytes=8192, received_bytes=8192)
    end(logs)
    return write(tmp_path / "recording", logs)


def findings(folder, machine):
    return sending_findings(record.site_contents(record.load(folder)), machine)


def test_sites_that_gain_come_by_their_sum(folder):
    slow, quick = costs("type", 4e-9), costs("numpy", 1e-9)
    objects = [times("array", way, factor) for way, factor in (("pickle", 20), ("pickle5", 8), ("buffer", 2))]
    result = findings(folder, machine(slow, quick, objects=tuple(objects)))
    assert [site.content.line for site in result.gaining] == [10, 30, 20]
    column, array, _ = result.gaining
    assert column.gain == pytest.approx(8192 * 3e-9)
    assert column.total_gain == pytest.approx(100 * 8192 * 3e-9)
    assert array.total_gain == pytest.approx(10 * 18e-6)
    (table,) = sending_tables(result)
    text = "\n".join(str(cell) for row in table.rows for cell in row)
    assert "1,024 pieces of 8 B, 512 B apart" in text
    assert "128 pieces of 8 B, irregular" in text
    assert "pickled array, 1 KiB" in text
    assert "path same-node" in table.notes[0]
    words = "\n".join(sending_words(result))
    assert "solver.py:40, MPI_Send: 1 pickled object of 1 KiB, neither an array" in words
    assert "If its data can be an array: one of that size takes 2.00 us by Send, and 20.0 us pickled." in words
    assert "Received into pieces at solver.py:50" in words
    codes = dict(sending_codes(result))
    assert "comm.Send(data, peer, tag)" in codes["solver.py:30: pickled array, 1 KiB"]
    assert "buffer[...] = view" in codes["solver.py:10: 1,024 pieces of 8 B, 512 B apart"]
    assert "np.take(numbers, indices" in codes["solver.py:20: 128 pieces of 8 B, irregular"]


def test_sites_that_gain_nothing_are_counted(folder):
    result = findings(folder, machine(costs("type", 1e-9), costs("numpy", 4e-9)))
    assert not result.gaining
    assert "2 other sites that send pieces or pickled objects would gain nothing by another way." in sending_words(
        result
    )
    (table,) = sending_tables(result)  # the array, of which the machine has no times
    assert "pickled array" in shown(table)
    assert any("--kinds array" in sentence for sentence in sending_words(result))


def test_a_machine_without_the_time_of_the_programs_own_way_says_so(folder):
    result = findings(folder, machine(costs("numpy", 4e-9)))
    assert not result.gaining
    assert any("sent by type" in sentence for sentence in sending_words(result))


def test_without_a_machine_sites_are_listed_with_the_commands_that_measure(folder):
    result = findings(folder, None)
    assert "pickled object, 1 KiB" in shown(sending_tables(result)[0])
    assert "commmodel.bench datatype object" in sending_words(result)[0]
    assert not sending_codes(result)


def test_a_recording_in_one_piece_has_no_section(tmp_path):
    logs = new_logs(1)
    end(logs)
    assert findings(write(tmp_path / "r", logs), None) is None


def test_the_command_takes_one_machine(folder, tmp_path, capsys):
    dump(machine(costs("type", 4e-9), costs("numpy", 1e-9)), tmp_path / "vm.toml")
    page = str(tmp_path / "page.html")
    assert main(["report", str(folder), str(tmp_path / "vm.toml"), "-o", page, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["sending"]
    column = next(row for row in rows if row["line"] == 10)
    assert (column["way"], column["best"], column["messages"], column["stride"]) == ("type", "numpy", 100, 512)
    assert column["gain"] == pytest.approx(8192 * 3e-9)
    assert next(row for row in rows if row["line"] == 30)["gain"] is None
    assert main(["report", str(folder), str(tmp_path / "vm.toml"), "graphene"]) == 2
    assert "with one machine" in capsys.readouterr().err
    assert main(["report", str(folder), "nosuch.toml"]) == 2


def test_the_page_has_the_section_and_its_lines(folder):
    result = findings(folder, machine(costs("type", 4e-9), costs("numpy", 1e-9)))
    html = text_of_page(partial(write_recording, sending=result), "app.py", record.profile(record.load(folder)))
    assert "How to send" in html
    assert "The lines for solver.py:10" in html


def test_a_program_in_c_gets_its_own_ways_and_lines(tmp_path):
    (log,) = logs = new_logs(1)
    log.layout(1, 0, 8192, 1024, 512)
    log.contents(1)
    log.site("solver.c", 10, language=2)
    log.sites[("solver.c", 10, "main", 1)] = log.sites[("solver.c", 10, "main", 2)]
    log.call("Send", 0, 1, line=10, file="solver.c", peer=0, bytes=8192)
    end(logs)
    folder = write(tmp_path / "recording", logs)
    (site,) = findings(folder, machine(costs("type", 4e-9), costs("numpy", 1e-9), costs("pack", 2e-9))).gaining
    assert (site.best, site.content.is_python) == ("pack", False)
    assert site.gain == pytest.approx(8192 * 2e-9)
    assert 0.5 < site.certainty <= 1
    assert "MPI_Pack(data, 1, layout, packed, size, &position, comm);" in site.code.sender
    result = findings(folder, machine(costs("type", 4e-9), costs("core", 1e-9)))
    assert "memcpy(buffer + i * block, data + i * stride, block);" in dict(sending_codes(result)).popitem()[1]
