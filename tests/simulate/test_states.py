"""One word for one time: the states of ranks in every place that shows them."""

import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.engine_programs import NETWORKS, flat, matched_programs
from support.logs import end, new_logs, write

from commmodel import record
from commmodel.cli import main
from commmodel.simulate import DelayModel, DelayParameters, goal, run, timeline
from commmodel.simulate.delays import run_schedule
from commmodel.simulate.states import State
from commmodel.simulate.summary import breakdown, summary_of
from commmodel.simulate.timeline import Timeline
from commmodel.units import format_ratio

DELAYS = DelayParameters(L=8e-6, o=1e-6, g=2e-6, G=1e-9, S=1000.0)
MODELS = [*NETWORKS, DelayModel(DELAYS, "logp"), DelayModel(DELAYS, "loggp"), DelayModel(DELAYS), "goal"]
SECOND = 10**9


def simulated(program, model, *, recorded):
    if model == "goal":
        return run_schedule(goal.from_program(program), DELAYS, record=recorded)
    return run(program, model, flat(program.processes), record=recorded)


def flights(outcome, rank):
    sent = outcome.transfers
    entry = sent[((sent["sender"] == rank) | (sent["receiver"] == rank)) & (sent["arrived"] > sent["left"])]
    return entry["left"], entry["arrived"]


@settings(max_examples=100, deadline=None)
@given(matched_programs(), st.sampled_from(MODELS))
def test_a_transfer_is_a_wait_with_a_message_of_the_rank_in_flight(drawn, model):
    result, _ = drawn
    outcome, alone = (simulated(result, model, recorded=recorded) for recorded in (True, False))
    assert np.array_equal(outcome.spent, alone.spent)
    rows = Timeline.of(outcome).intervals
    spent = np.zeros_like(outcome.spent)
    np.add.at(spent, (rows["rank"], rows["state"]), rows["end"] - rows["start"])
    assert spent == pytest.approx(outcome.spent, abs=1e-12)
    for rank in range(result.processes):
        left, arrived = flights(outcome, rank)
        for row in rows[(rows["rank"] == rank) & (rows["end"] > rows["start"] + 1e-12)]:
            in_flight = (left[:, None] < row["end"] - 1e-12) & (arrived[:, None] > row["start"] + 1e-12)
            if row["state"] == State.TRANSFER:
                middle = (row["start"] + row["end"]) / 2
                assert ((left <= middle) & (middle <= arrived)).any()
            elif row["state"] == State.WAIT and row["peer"] < 0:  # others are of a send or a receive
                assert not in_flight.any()


def words_of(text, states):
    """Return the shares of time that a table of states says, as they are printed."""
    rows = re.findall(rf"^ ({'|'.join(states)}) +.* ([\d.]+) %$", text, re.MULTILINE)
    return {state: f"{share} %" for state, share in rows}


def test_terminal_page_timeline_json_and_what_if_say_the_same_of_one_run(tmp_path, capsys):
    for rank, work in enumerate((3e5, 0)):  # rank 1 waits for rank 0, then both for a large message
        (tmp_path / f"{rank}").write_text(
            f"{rank} init\n{rank} compute {work}\n"
            + (f"{rank} isend 1 0 1e6 6\n" if rank == 0 else f"{rank} irecv 0 0 1e6 6\n")
            + f"{rank} waitall\n{rank} finalize\n"
        )
    (tmp_path / "list").write_text("0\n1\n")
    command = ["simulate", "graphene", "replay", str(tmp_path / "list"), "-p", "2", "-k", "1", "--speed", "1e8"]
    page, file = tmp_path / "run.html", tmp_path / "run.csv"
    assert main([*command, "-o", str(page), "--trace", str(file)]) == 0
    printed = capsys.readouterr().out
    assert main([*command, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    means = {state: times["mean"] for state, times in document["breakdown"].items()}
    assert sum(means.values()) == pytest.approx(document["seconds"])
    assert means["wait"] == pytest.approx(3e-3 / 2, rel=0.01)
    assert means["transfer"] > 5e-3
    shares = {state: format_ratio(mean / document["seconds"]) for state, mean in means.items() if mean > 0}

    assert words_of(printed, means) == shares
    text = page.read_text()
    most = max(means, key=means.__getitem__)
    assert f"ranks spend {shares[most]} of it in {most}" in text
    for state, share in shares.items():
        assert re.search(rf">{state}</th>(<td>[^<]*</td>){{3}}<td>{share}</td>", text), state
    of_file = {row.state: row.mean for row in breakdown(summary_of(timeline.load(file)))}
    assert {state: of_file[state] for state in means} == pytest.approx(means)

    assert main([*command, "--scale", "bandwidth=1,2", "--workers", "1", "--json"]) == 0
    run_as_it_is = json.loads(capsys.readouterr().out)["runs"][0]
    assert {state: times["mean"] for state, times in run_as_it_is["ranks"].items()} == pytest.approx(means)
    assert main([*command, "--scale", "bandwidth=1,2", "--workers", "1"]) == 0
    header = next(line for line in capsys.readouterr().out.splitlines() if "run time" in line)
    assert header.split()[-len(shares) :] == [state for state in means if state in shares]


def recorded(folder):
    """Return a recording of two ranks that start, wait for each other in several ways, write a file and end."""
    logs = new_logs(2)
    for log, late in zip(logs, (0, 2), strict=True):
        log.call("Init", 0, (5 + log.rank) * SECOND)
        log.call("Barrier", (7 + late) * SECOND, 10 * SECOND)
        log.call("File_write_at", 11 * SECOND, 12 * SECOND, bytes=100)
    logs[0].call("Send", 15 * SECOND, 16 * SECOND, peer=1, bytes=8)
    logs[1].call("Recv", 13 * SECOND, 17 * SECOND, peer=0, bytes=8, source=0, received_bytes=8)
    logs[0].call("Ssend", 18 * SECOND, 22 * SECOND, peer=1, bytes=8)
    logs[1].call("Recv", 20 * SECOND, 22 * SECOND, peer=0, bytes=8, source=0, received_bytes=8)
    for log in logs:
        log.call("Finalize", 25 * SECOND, 30 * SECOND)
    end(logs, 31 * SECOND)
    return write(folder / "recording", logs)


def test_the_timeline_of_a_recording_says_what_its_report_says(tmp_path, capsys):
    folder = recorded(tmp_path)
    drawn = record.timeline(record.load(folder))
    spent = summary_of(drawn).spent
    assert main(["report", str(folder), "--json", "-o", str(tmp_path / "r.html")]) == 0
    ranks = json.loads(capsys.readouterr().out)["ranks"]
    moving = [State.SEND, State.RECEIVE, State.TRANSFER]
    for rank, times in enumerate(ranks):
        assert spent[rank, State.COMPUTE] == pytest.approx(times["computing"])
        assert spent[rank, State.WAIT] == pytest.approx(times["waiting"])
        assert spent[rank, moving].sum() == pytest.approx(times["transferring"])
        assert spent[rank, State.FILES] == pytest.approx(times["files"]) == 1.0
        assert spent[rank, State.START_AND_END] == pytest.approx(times["other"]) == 10.0 + rank
    assert spent[:, State.WAIT].tolist() == [2.0 + 2.0, 2.0]  # the barrier and the late receiver; the late sender
    for name in ("t.csv", "t.json"):
        assert main(["convert", str(folder), "-o", str(tmp_path / name)]) == 0
        assert summary_of(timeline.load(tmp_path / name)).spent == pytest.approx(spent, abs=1e-6)
    assert main(["convert", str(folder), "-o", str(tmp_path / "t.html")]) == 0
    share = format_ratio(spent[:, State.COMPUTE].sum() / (2 * drawn.seconds))
    assert f"ranks spend {share} of it in compute" in (tmp_path / "t.html").read_text()
