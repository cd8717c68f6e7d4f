"""What the report says of the network beyond the node."""

import json
import re
from pathlib import Path

import msgspec
import pytest
from support.report_samples import header, measurements, record, records, shown
from support.whole_html import Balance

from commmodel.cli import main
from commmodel.fit.oversubscription import network_oversubscription
from commmodel.report import environment_table, measurements_table, page
from commmodel.report.measurements.node_pairs import node_share_table
from commmodel.results import Header, Launch, Measurements, Record, Writer
from commmodel.results.configurations import Pairs, Stream

LARGE, SMALL = 1 << 20, 1 << 10


def stream(seconds: float, node_pairs: int = 1, size: int = LARGE, **changes: object) -> Record:
    """A record of four streams with the interval [0.992, 1.008] of its median."""
    return record(Stream(size, 4, "between-nodes", node_pairs=node_pairs), seconds, **changes)


TAPERED = measurements(
    [stream(1e-4), stream(1.25e-4, 2), stream(2e-4, 4), stream(1e-6, size=SMALL), stream(1e-5, 2, size=SMALL)]
)


def verdict(*measured: Record) -> str:
    answer = network_oversubscription(measurements(list(measured)))
    assert answer is not None
    return answer.verdict


def test_one_pair_of_nodes_says_nothing_beyond_the_node() -> None:
    several = measurements(records("between-nodes"))
    assert network_oversubscription(several) is None
    assert "beyond the node" not in shown(measurements_table(several))
    assert "Oversubscription of the network" not in page.render(several, None, "m")


def test_a_share_is_the_rate_beside_others_over_the_rate_alone_with_both_intervals() -> None:
    result = network_oversubscription(TAPERED)
    assert result is not None
    by_key = {(share.message_size, share.node_pairs): share for share in result.shares}
    assert set(by_key) == {(SMALL, 2), (LARGE, 2), (LARGE, 4)}
    share = by_key[LARGE, 2]
    assert share[:3] == ("stream", LARGE, 4)
    assert share.alone == pytest.approx(4 * LARGE / 1e-4)
    assert share.ratio == pytest.approx(0.8)
    assert share.low == pytest.approx(0.8 * 0.992 / 1.008)
    assert share.high == pytest.approx(0.8 * 1.008 / 0.992)


def test_the_verdict_names_the_worst_of_the_largest_messages() -> None:
    result = network_oversubscription(TAPERED)
    assert result is not None
    assert result.verdict == (
        "The network beyond the node limits: while 4 pairs of nodes communicate, each node gets 50 % [49, 51] of its "
        "rate alone (stream, k = 4, messages of 1 MiB)."
    )


def test_a_network_is_said_to_limit_only_where_the_whole_interval_is_more_than_5_percent_below_1() -> None:
    assert "limits: while" in verdict(stream(1e-4), stream(1e-4 / 0.93, 2))
    assert "is not decided" in verdict(stream(1e-4), stream(1e-4 / 0.94, 2))
    assert "does not limit 2 pairs of nodes" in verdict(stream(1e-4), stream(1e-4 / 0.98, 2))
    assert "does not limit" in verdict(stream(1e-4), stream(0.5e-4, 2))
    few = msgspec.structs.replace(stream(2e-4, 2), samples=(2e-4,) * 3)
    assert "is not decided" in verdict(stream(1e-4), few)


def test_small_messages_decide_nothing() -> None:
    slow_start = stream(1e-6, size=SMALL), stream(1e-5, 2, size=SMALL)
    assert "does not limit" in verdict(*slow_start, stream(1e-4), stream(1e-4, 2))


def test_without_a_rate_alone_there_is_nothing_to_compare_with() -> None:
    text = verdict(stream(2e-4, 2))
    assert "is not known" in text
    assert "--node-pairs 1" in text


def test_runs_are_compared_within_themselves_and_resumed_ones_are_one() -> None:
    def run(*result: Record, resumes: bool = False) -> Launch:
        return Launch(header(resumes=resumes), result)

    first = run(stream(1e-4)), run(stream(2e-4, 2), resumes=True)
    result = network_oversubscription(Measurements((*first, run(stream(1e-3), stream(1e-3, 2)), run(stream(9.0, 2)))))
    assert result is not None
    assert [share.ratio for share in result.shares] == pytest.approx([0.5, 1.0])
    table = node_share_table(result.shares)
    assert [column.heading for column in table.columns[4:]] == ["h = 2"]
    assert [str(row[4]) for row in table.rows] == ["50 % [49, 51]", "100 % [98, 102]"]


def test_the_table_and_the_verdict_are_in_terminal_and_page() -> None:
    for text in (shown(measurements_table(TAPERED)), Balance(page.render(TAPERED, None, "m")).text):
        words = re.sub(r"\s+", " ", text)
        for expected in (
            "50 %",
            "[49, 51]",
            "80 %",
            "h = 4",
            "41.9 GB/s",
            "The network beyond the node limits: while 4",
        ):
            assert expected in words
    assert "21.0 GB/s" not in shown(measurements_table(TAPERED))  # that of four pairs of nodes is no rate of one


def test_a_page_with_messages_of_no_bytes_or_no_time_is_whole() -> None:
    empty = [record(Pairs(0, 1, "between-nodes", node_pairs=count), 1e-6) for count in (1, 2)]
    timeless = [record(Pairs(8, 1, "between-nodes", node_pairs=count), 0.0) for count in (1, 2)]
    html = page.render(measurements(empty, timeless), None, "m")
    assert len(Balance(html).ids) == len(set(Balance(html).ids))
    assert "100 %" in html


def test_the_pairs_of_further_nodes_are_in_the_environment() -> None:
    placed = header(placement={"between-nodes": ((0, 2),)}, further_nodes=(((4, 6), (5, 7)),))
    assert "pair 2 of nodes: 4–6, 5–7" in shown(environment_table(placed))


def test_the_json_has_the_shares_and_the_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "results.jsonl"
    (launch,) = TAPERED.launches
    assert isinstance(launch.header, Header)
    with Writer(file) as writer:
        for line in (launch.header, *launch.records):
            writer.write(line)
    assert main(["report", str(file), "-o", str(tmp_path / "report.html"), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    result = network_oversubscription(TAPERED)
    assert result is not None
    assert printed["oversubscription"]["verdict"] == result.verdict
    assert printed["oversubscription"]["shares"] == [share._asdict() for share in result.shares]
