"""The report of a recording: verdict, tables, page, JSON."""

import json
import re
import shutil
import subprocess
from dataclasses import replace

import pytest
from support.logs import end, new_logs, write
from support.paths import ROOT
from support.whole_html import Balance, text_of_page

from commmodel import record
from commmodel.cli import main
from commmodel.errors import InputError
from commmodel.report.recording.findings import costly_sites, factors_table, next_commands, verdict
from commmodel.report.recording.guides import GUIDES
from commmodel.report.recording.page import write_recording
from commmodel.report.recording.plots import draw
from commmodel.report.recording.tables import profile_tables

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
    moves_data = "most of whose time moves data; the rest waits for other ranks."
    assert first.endswith(f"is MPI_Barrier at solver.py:1, {moves_data}")


def test_the_sites_that_matter_say_why_and_what_to_do(tmp_path):
    first, *result = costly_sites(record.profile(record.load(unbalanced(tmp_path))))
    assert first.title == "solver.py:81 in main, MPI_Allreduce"
    assert first.cost == "100 % of communication: 16.0 s of all ranks, 4 calls"
    assert first.why == (
        "75 % wait at N x N: waits until the last rank comes; 25 % transfer (8 B a call); it waits for rank 3."
    )
    assert first.advice.endswith("; begin with rank 3")
    assert not result  # what takes less than a fiftieth does not matter


@pytest.mark.parametrize(
    ("size", "advice"),
    [
        (0, "latency counts: call it less often"),
        (8, "latency counts: put several"),
        (10**6, "bandwidth counts"),
        (None, "make communicators once"),
    ],
)
def test_what_only_transfers_is_told_what_kind_it_is(tmp_path, size, advice):
    logs = new_logs(2)
    for log in logs:
        if size is None:
            log.call("Comm_dup", 0, SECOND)
        else:
            log.call("Allreduce", 0, SECOND, bytes=size)
    end(logs)
    (site,) = costly_sites(record.profile(record.load(write(tmp_path / "r", logs))))
    assert site.advice.startswith(advice)
    assert site.why.startswith("100 % transfer")


def test_a_reduction_of_python_objects_is_told_from_a_copy_of_a_communicator(tmp_path):
    logs = new_logs(2)
    for log in logs:
        log.call("Comm_dup", 0, SECOND)
        log.call("Bcast", SECOND, SECOND + 1, bytes=8)
    end(logs)
    site, *_ = costly_sites(record.profile(record.load(write(tmp_path / "r", logs))))
    assert site.title.endswith("MPI_Comm_dup of mpi4py's reduction of objects")
    assert site.advice.startswith("mpi4py")


def test_guides_are_pages_of_the_documentation(tmp_path):
    for page in GUIDES:
        text = (ROOT / "docs/howto" / f"{page.name}.md").read_text()
        assert f"\n# {page.title}\n" in text
    sites = costly_sites(record.profile(record.load(unbalanced(tmp_path))))
    assert [site.guide for site in sites] == ["Is this node slow? (docs/howto/slow-node.md)"]
    assert sites[0].lines[-1].startswith("Guide: ")


def test_waits_for_changing_ranks_blame_nobody(tmp_path):
    logs = new_logs(3)
    for step in range(3):
        for log in logs:
            begin = 10 * step + (5 if log.rank == step else 1)
            log.call("Barrier", begin * SECOND, (10 * step + 6) * SECOND)
    end(logs)
    profile = record.profile(record.load(write(tmp_path / "r", logs)))
    (site,) = costly_sites(profile)
    assert "it waits for other ranks, of which no single one is late." in site.why
    assert "no rank is always the last" in site.advice
    assert verdict(profile)[0].endswith("which waits for other ranks, of which no single one is late.")


def test_the_efficiency_is_in_the_verdict_and_has_a_table(tmp_path):
    recording = record.load(unbalanced(tmp_path))
    efficiency = record.efficiency(recording)
    assert "Parallel efficiency 60 %; its lowest factor is load balance, 67 %." in verdict(
        record.profile(recording), efficiency
    )
    rows = [[str(cell) for cell in row][:2] for row in factors_table(efficiency).rows]
    assert rows[:3] == [["parallel efficiency", "60 %"], ["load balance", "67 %"], ["communication", "90 %"]]


def test_an_efficiency_without_a_replay_says_why(tmp_path, capsys):
    folder = unbalanced(tmp_path)
    efficiency = record.efficiency(record.load(folder), most_calls=3)
    assert efficiency.serialisation is efficiency.transfer is efficiency.ideal_seconds is None
    assert efficiency.problem == "12 calls are more than the 3 that are replayed"
    assert "need a replay: 12 calls are more" in factors_table(efficiency).notes[-1]
    (folder / "rank-000001.log").unlink()
    assert main(["report", str(folder), "--json", "-o", str(tmp_path / "page.html")]) == 0
    content = json.loads(capsys.readouterr().out)["efficiency"]
    assert content["load_balance"] > 0
    assert content["transfer"] is None
    assert "no log of ranks 1" in content["problem"]


def test_commands_to_type_next_name_the_folder():
    lines = next_commands("my run")
    assert max(map(len, lines)) <= 78
    assert all(line.startswith("# ") for line in lines[::2])
    assert all("'my run'" in command for command in lines[1::2])
    assert next_commands("r")[1] == "commmodel convert r -o timeline.html"


def test_commands_to_type_next_make_one_folder_of_those_of_the_nodes(tmp_path):
    whole = unbalanced(tmp_path)
    first, second = tmp_path / "a b", tmp_path / "c"
    shutil.copytree(whole, first)
    second.mkdir()
    shutil.copy(first / "recording.json", second)
    shutil.move(first / "rank-000002.log", second)
    _, gather, _, convert = next_commands("a b/", "c")[:4]
    assert convert == "commmodel convert all -o timeline.html"
    subprocess.run(["sh", "-c", gather], cwd=tmp_path, check=True)
    assert record.profile(record.load(tmp_path / "all")) == record.profile(record.load(whole))


def test_tables_hold_calls_sites_ranks_sizes_communicators_and_pairs(tmp_path):
    tables = profile_tables(record.profile(record.load(unbalanced(tmp_path))))
    assert [table.title for table in tables] == [
        "Calls", "Call sites", "Ranks", "Sizes", "Communicators", "Pairs of ranks that send most"
    ]  # fmt: skip
    assert [str(cell) for cell in tables[0].rows[0]] == ["MPI_Allreduce", "4", "32 B", "16.0 s", "40 %", "75 %"]
    assert [str(cell) for cell in tables[1].rows[0]][:2] == ["solver.py:81 main", "MPI_Allreduce"]
    assert [str(cell) for cell in tables[1].rows[0]][-2:] == ["3", "wait at N x N"]
    assert [str(cell) for cell in tables[-1].rows[0]] == ["0", "1", "1", "1.00 MB"]


@pytest.mark.parametrize("processes", [1, 4, 130])
def test_the_page_is_whole_and_says_the_verdict(tmp_path, processes):
    profile = record.profile(record.load(unbalanced(tmp_path, processes)))
    html = text_of_page(write_recording, "python app.py", profile)
    page = Balance(html)
    assert len(page.ids) == len(set(page.ids))
    assert not [reference for reference in page.references if not reference.lstrip("'\"").startswith("#")]
    assert all(sentence in page.text for sentence in verdict(profile))
    assert "Who sends to whom" in page.text
    assert html == text_of_page(write_recording, "python app.py", profile)


def test_names_in_a_recording_cannot_act_on_the_page(tmp_path):
    logs = new_logs(1)
    logs[0].call("Barrier", 1, 2, file="<script>alert(1)</script>")
    end(logs)
    html = text_of_page(write_recording, "<b>app</b>", record.profile(record.load(write(tmp_path / "r", logs))))
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
    assert {"seconds", "processes", "messages", "bytes", "calls", "sites", "matrix", "efficiency"} <= content.keys()
    assert content["sites"][0]["reasons"].keys() == {"wait at N x N"}
    assert content["calls"]["MPI_Allreduce"].items() >= {"count": 3, "bytes": 24}.items()
    assert content["sites"][0]["line"] == 81
    assert content["matrix"]["bytes"] == [10**6] * 3
    assert "note: no log of rank 2\n" in printed.err


def test_folders_of_nodes_are_one_recording(tmp_path, capsys):
    first, second, third = (tmp_path / name for name in ("first", "second", "third"))
    whole = unbalanced(tmp_path)
    shutil.copytree(whole, first)
    second.mkdir()
    third.mkdir()
    for rank in (2, 3):
        shutil.move(first / f"rank-{rank:06d}.log", second)
    parts = record.load(second, first)
    assert parts.ranks == (0, 1, 2, 3)
    assert parts.command == record.load(whole).command
    assert record.profile(parts) == record.profile(record.load(whole))
    assert main(["report", str(first), str(second), "-o", str(tmp_path / "page.html")]) == 0
    assert capsys.readouterr().err == ""
    assert main(["report", str(whole), str(second)]) == 2
    assert "rank 2 is in" in capsys.readouterr().err
    with pytest.raises(InputError, match="named twice"):
        record.load(whole, whole)
    larger = unbalanced(third, processes=5)
    for rank in range(4):
        (larger / f"rank-{rank:06d}.log").unlink()
    with pytest.raises(InputError, match=r"is of 5 processes and .* of 4: they are of two runs"):
        record.load(whole, larger)


def test_a_folder_without_a_recording_is_refused(tmp_path, capsys):
    assert main(["report", str(tmp_path), "--json"]) == 2
    assert "a folder without files" in capsys.readouterr().err
    folder = unbalanced(tmp_path)
    assert main(["report", str(folder), "results.jsonl"]) == 2
    assert "a recording is reported alone" in capsys.readouterr().err


@pytest.mark.parametrize("begin", [b"\x03BOTF2", b"0 init\n0 finalize\n"])
def test_a_trace_is_not_reported_but_replayed(tmp_path, capsys, begin):
    (tmp_path / "rank-0.otf2").write_bytes(begin)
    for path in (tmp_path, tmp_path / "rank-0.otf2"):
        assert main(["report", str(path)]) == 2
        assert f"commmodel simulate graphene replay {path}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("sizes", "count"), [((10**6, 10**6, 10**6), 1), ((10**6, 12 * 10**5, 14 * 10**5), 3), ((1, 10**3, 10**6), 3)]
)
def test_the_colours_of_a_matrix_tell_its_messages_apart(sizes, count, tmp_path):
    logs = new_logs(4)
    for log in logs:
        if log.rank < 3:
            log.call("Send", 0, SECOND, line=4, bytes=sizes[log.rank], peer=3)
        else:
            for source, size in enumerate(sizes):
                log.call("Recv", SECOND, 2 * SECOND, line=5, bytes=size, peer=source, source=source)
    end(logs)
    profile = record.profile(record.load(write(tmp_path / "recording", logs)))
    (plot,) = (plot for plot in draw(profile) if plot.key == "matrix")
    names = re.findall(r"[\d.]+ [kM]?B each|up to [\d.]+ [kM]?B", plot.svg)
    assert len(set(names)) == count


def test_a_matrix_knows_its_dense_form_only_where_that_fits(tmp_path):
    matrix = record.matrix(record.load(unbalanced(tmp_path)))
    assert matrix.dense("messages").sum() == 4
    with pytest.raises(ValueError, match="no dense form"):
        replace(matrix, processes=10**6).dense()
