"""LogGP and pLogP in tables and on the page, and how the verbs fit and report show them."""

import json

import msgspec
import pytest
from support.report_samples import header, measurements, parameter, quality, record, shown
from support.whole_html import Balance

from commmodel import machine
from commmodel.cli import main
from commmodel.fit.consistency import Agreement
from commmodel.machine import Limit, LogGP, Machine, Parameter, PLogP, Postal, Segment
from commmodel.report.machine.loggp import (
    agreement_table,
    has_other_models,
    loggp_remarks,
    loggp_table,
    plogp_table,
)
from commmodel.report.page import render
from commmodel.results import Writer
from commmodel.results.configurations import PingPong, Train
from commmodel.results.configurations import PLogPParameter as Quantity

LOGGP = LogGP(Parameter(2e-6, "s"), Parameter(1e-6, "s"), Parameter(1.5e-6, "s"), Parameter(1e-9, "s/B"))
POSTAL = Postal(Parameter(4e-6, "s"), Parameter(1e-9, "s/B"))
TABLE = PLogP(Parameter(2e-6, "s"), (0, 1 << 20), (1e-6, 1e-3), (1e-6, 1e-3), (2e-6, 2e-3), path="same-node")

FITTED = LogGP(
    parameter(2e-6, "s"), parameter(1e-6, "s"), parameter(1.5e-6, "s"), parameter(1e-9, "s/B"), quality("L is at 0")
)
TWO_WAYS = Machine(
    "m",
    (Segment("eager", "same-node", Limit(1024), loggp=FITTED), Segment("rendezvous", "same-node", loggp=LOGGP)),
    plogp=(TABLE,),
)
AGREEMENT = [
    Agreement("eager", "same-node", FITTED, LOGGP, 3, {"LogGP of trains": 0.05, "LogGP of pLogP": 0.2, "pLogP": 0.01}),
    Agreement("rendezvous", "same-node", None, LOGGP, 0, {}),
]


def test_loggp_has_a_row_for_each_segment():
    table = loggp_table(TWO_WAYS)
    assert [str(cell) for cell in table.rows[0]] == [
        "eager same-node", "up to 1 KiB", "trains", "2.00 us [1.90, 2.10]", "1.00 us [0.950, 1.05]",
        "1.50 us [1.43, 1.58]", "1.00 ns/B [0.950, 1.05]", "2.1 % max 8.3 %", "no",
    ]  # fmt: skip
    assert [str(cell) for cell in table.rows[1][:3]] == ["rendezvous same-node", "above 1 KiB", "pLogP"]
    bounded = msgspec.structs.replace(LOGGP, bounded=True)
    names = [loggp_table(Machine("m", (Segment("all", loggp=model),))).rows[0][2].value for model in (LOGGP, bounded)]
    assert names == ["file", "ping-pong"]
    assert loggp_remarks(TWO_WAYS) == ["LogGP, eager (same-node): L is at 0"]
    assert "LogGP" in shown(table)
    assert loggp_table(Machine("m", (Segment("all", postal=POSTAL),))) is None
    assert loggp_table(machine.load("ranger")).rows[1][6].value == "–"
    gap = msgspec.structs.replace(LOGGP, G_gap=Parameter(2e-10, "s/B"), overlap=Parameter(5e-7, "s"))
    table = loggp_table(Machine("m", (Segment("all", loggp=gap),)))
    assert [cell.value for cell in table.rows[0][6].below] == ["gap 0.200 ns/B", "v 500 ns"]
    assert [note.split(":")[0] for note in table.notes[1:]] == ["gap", "v"]
    assert not has_other_models(TWO_WAYS)
    assert has_other_models(machine.load("blue-waters"))


def test_plogp_has_a_row_for_each_size_and_the_rate_of_a_train():
    assert [str(cell) for cell in plogp_table(TABLE).rows[1]] == ["1 MiB", "1.00 ms", "1.00 ms", "2.00 ms", "524 MB/s"]
    assert plogp_table(TABLE).rows[0][-1].value == ""
    assert "L = 2.00 us" in shown(plogp_table(TABLE))


def test_two_ways_to_the_parameters_stand_below_each_other_with_their_ratio():
    table = agreement_table(AGREEMENT)
    assert [row[1].value for row in table.rows] == ["trains", "pLogP", "ratio", "L + g(m)", "pLogP"]
    assert [row[-1].value for row in table.rows] == ["5.0 %", "20 %", "", "1.0 %", "–"]
    assert [cell.value for cell in table.rows[2][2:6]] == ["1.00"] * 4
    assert "off the ping-pong" in shown(table)
    assert agreement_table([]) is None


SIZES = (1, 64, 1024, 16384, 1 << 18, 1 << 20)


def trains(mode="blocking", o=1e-6):
    """Trains that follow LogGP with L = 2 us, g = 1.5 us, G = 1 ns/B."""
    rows = []
    for size in SIZES:
        rest = (size - 1) * 1e-9
        for count in (1, 16):
            time = 2 * 2e-6 + 4 * o + rest + (count - 1) * (1.5e-6 + rest)
            rows.append(record(Train(size, count, "same-node", mode=mode), time))
        delay = 4e-6 + 4 * o + rest
        time = delay + 15 * (o + delay)
        rows.append(record(Train(size, 16, "same-node", delayed=True, mode=mode), time, delay=delay))
    return rows


def quantities():
    """The four quantities of pLogP for L + g(m) = 4 us + m ns."""
    rows = []
    for size in (0, *SIZES):
        times = {"send": 1e-6, "receive": 1e-6, "gap": 1.5e-6 + size * 1e-9, "round-trip": 8e-6 + size * 1e-9}
        rows += [record(Quantity(size, name, "same-node"), time) for name, time in times.items()]
    return rows


def ping_pongs():
    return [record(PingPong(size, "same-node"), 4e-6 + (size - 1) * 1e-9) for size in SIZES]


def write(tmp_path, *records):
    path = tmp_path / "results.jsonl"
    with Writer(path) as writer:
        writer.write(header())
        for part in records:
            for entry in part:
                writer.write(entry)
    return str(path)


def test_fit_shows_loggp_alone_where_nothing_else_was_measured(tmp_path, capsys):
    path, output = write(tmp_path, trains()), tmp_path / "m.toml"
    assert main(["fit", path, "-o", str(output), "--resamples", "20"]) == 0
    printed = capsys.readouterr().out
    assert "LogGP" in printed
    assert "R_C" not in printed
    assert "pLogP, same-node" not in printed
    assert machine.load(output).segments[0].loggp.o.value == pytest.approx(1e-6, rel=0.1)


def test_fit_shows_both_ways_and_how_far_they_are_from_the_ping_pong(tmp_path, capsys):
    path, output = write(tmp_path, trains(), quantities(), ping_pongs()), tmp_path / "m.toml"
    assert main(["fit", path, "-o", str(output), "--resamples", "20"]) == 0
    printed = capsys.readouterr().out
    for words in ("R_C or 1/β", "LogGP", "pLogP, same-node, blocking", "Two ways to LogGP", "ratio", "L + g(m)"):
        assert words in printed
    assert main(["fit", path, "-o", str(output), "--force", "--resamples", "20", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["plogp"][0]["path"] == "same-node"
    assert printed["consistency"][0]["trains"]["L"]["value"] == pytest.approx(2e-6, rel=0.2)
    assert printed["consistency"][0]["errors"]["LogGP of trains"] < 0.1
    assert main(["report", path, str(output), "-o", str(tmp_path / "r.html")]) == 0
    assert "Two ways to LogGP" in capsys.readouterr().out


def test_fit_takes_the_mode_that_is_asked_for(tmp_path, capsys):
    path, output = write(tmp_path, trains(), trains("non-blocking", o=3e-6)), tmp_path / "m.toml"
    assert main(["fit", path, "-o", str(output), "--resamples", "20", "--mode", "non-blocking"]) == 0
    assert machine.load(output).segments[0].loggp.o.value == pytest.approx(3e-6, rel=0.1)
    capsys.readouterr()
    assert main(["fit", path, "-o", str(output), "--mode", "slow"]) == 2
    assert "there is no 'slow'" in capsys.readouterr().err


def test_the_page_has_loggp_and_leaves_out_what_is_not_there():
    page = Balance(render(measurements(ping_pongs()), TWO_WAYS, "m"))
    for words in ("LogGP", "pLogP, same-node, blocking", "Two ways to LogGP", "up to 1 KiB", "LogGP, eager"):
        assert words in page.text
    assert "R_C or 1/β" not in page.text
    assert len(set(page.ids)) == len(page.ids)
