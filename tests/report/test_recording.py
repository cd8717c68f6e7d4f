"""The report of a recording: verdict, tables, page, JSON."""

import json
from dataclasses import replace

import pytest
from support.logs import end, new_logs, write
from support.whole_html import Balance

from commmodel import record
from commmodel.cli import main
from commmodel.report.recording.page import render
from commmodel.report.recording.tables import profile_tables, verdict

SECOND = 10**9


def unbalanced(folder, processes=4):
    """Return the folder of a program in which rank 3 computes longest and all wait for it in MPI_Allreduce."""
    logs = new_logs(processes)
    for log in logs:
        log.call("Init_thread", 0, SECOND // 100, line=0)
        log.call("Sendrecv", SECOND, SECOND + 10**6, line=40, bytes=10**6, peer=(log.rank + 1) % processes,
                 receive_peer=(log.rank - 1) % processes, source=(log.rank - 1) % processes,
                 received_bytes=10**6)  # fmt: skip
        log.call("Allreduce", (9 if log.rank == 3 else 5) * SECOND, 10 * SECOND, line=81, bytes=8)
    end(logs)
    return write(folder / "recording", logs)


def test_the_verdict_names_the_call_its_site_and_the_rank_that_others_wait_for(tmp_path):
    first, second, third = verdict(record.profile(record.load(unbalanced(tmp_path))))
    assert first == (
        "40 % of 10.0 s is communication; most of it (100 %) is MPI_Allreduce at solver.py:81, which waits for rank 3."
    )
    assert second == "Of all time in communication 75 % is waiting for other ranks."
    assert third == "Computing is unbalanced: ranks compute 67 % of what rank 3 does, 8.99 s."


def test_the_verdict_of_a_program_that_only_transfers_or_does_nothing(tmp_path):
    logs = new_logs(2)
    end(logs, SECOND)
    assert verdict(record.profile(record.load(write(tmp_path / "a", logs)))) == ["No communication in 1.00 s."]
    logs = new_logs(2)
    for log in logs:
        log.call("Barrier", SECOND, 2 * SECOND)
    end(logs)
    first, _ = verdict(record.profile(record.load(write(tmp_path / "b", logs))))
    assert first.endswith("is MPI_Barrier at solver.py:1, which transfers more than it waits.")


def test_tables_hold_calls_sites_ranks_sizes_communicators_and_pairs(tmp_path):
    tables = profile_tables(record.profile(record.load(unbalanced(tmp_path))))
    assert [table.title for table in tables] == [
        "Calls", "Call sites", "Ranks", "Sizes", "Communicators", "Pairs of ranks that send most"
    ]  # fmt: skip
    assert [str(cell) for cell in tables[0].rows[0]] == ["MPI_Allreduce", "4", "32 B", "16.0 s", "40 %", "75 %"]
    assert [str(cell) for cell in tables[1].rows[0]][:3] == ["solver.py:81", "main", "MPI_Allreduce"]
    assert [str(cell) for cell in tables[-1].rows[0]] == ["0", "1", "1", "1.00 MB"]


@pytest.mark.parametrize("processes", [1, 4, 130])
def test_the_page_is_whole_and_says_the_verdict(tmp_path, processes):
    profile = record.profile(record.load(unbalanced(tmp_path, processes)))
    html = render("python app.py", profile)
    page = Balance(html)
    assert len(page.ids) == len(set(page.ids))
    assert not [reference for reference in page.references if not reference.lstrip("'\"").startswith("#")]
    assert all(sentence in page.text for sentence in verdict(profile))
    assert "Who sends to whom" in page.text
    assert html == render("python app.py", profile)


def test_names_in_a_recording_cannot_act_on_the_page(tmp_path):
    logs = new_logs(1)
    logs[0].call("Barrier", 1, 2, file="<script>alert(1)</script>")
    end(logs)
    html = render("<b>app</b>", record.profile(record.load(write(tmp_path / "r", logs))))
    assert "<script" not in html
    assert "<b>app" not in html


def test_the_command_prints_the_verdict_and_writes_the_page(tmp_path, capsys):
    folder, output = unbalanced(tmp_path), tmp_path / "page.html"
    assert main(["report", str(folder), "-o", str(output)]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("40 % of 10.0 s is communication")
    assert printed.out.endswith(f"written to {output}\n")
    assert printed.err == ""
    assert "solver.py:81" in output.read_text()
    assert main(["report", str(folder), "-o", str(output)]) == 2  # it is there


def test_json_has_the_names_of_the_contract(tmp_path, capsys):
    folder = unbalanced(tmp_path)
    (folder / "rank-000002.log").unlink()
    assert main(["report", str(folder), "--json", "-o", str(tmp_path / "page.html")]) == 0
    printed = capsys.readouterr()
    content = json.loads(printed.out)
    assert {"seconds", "processes", "messages", "bytes", "calls", "sites", "matrix"} <= content.keys()
    assert content["calls"]["MPI_Allreduce"].items() >= {"count": 3, "bytes": 24}.items()
    assert content["sites"][0]["line"] == 81
    assert content["matrix"]["bytes"] == [10**6] * 3
    assert "note: no log of rank 2\n" in printed.err


def test_a_folder_without_a_recording_is_refused(tmp_path, capsys):
    assert main(["report", str(tmp_path), "--json"]) == 2
    assert "no log of a rank that can be read" in capsys.readouterr().err
    folder = unbalanced(tmp_path)
    assert main(["report", str(folder), "results.jsonl"]) == 2
    assert "a recording is reported alone" in capsys.readouterr().err


def test_a_matrix_knows_its_dense_form_only_where_that_fits(tmp_path):
    matrix = record.matrix(record.load(unbalanced(tmp_path)))
    assert matrix.dense("messages").sum() == 4
    with pytest.raises(ValueError, match="no dense form"):
        replace(matrix, processes=10**6).dense()
