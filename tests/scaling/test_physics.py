"""What no machine does, and files that differ from their siblings."""

import csv
import json
import lzma
import re
from collections import defaultdict

import pytest
from support.fit_samples import measurements
from support.paths import SHARED

from commmodel import cli, formats
from commmodel.errors import InputError
from commmodel.results import Record
from commmodel.results.configurations import Collective, PingPong, Stream
from commmodel.scaling import physics

SIZES = tuple(4**power for power in range(11))


def latencies(alpha, rate=10e9, path="between-nodes"):
    return measurements(*(Record(PingPong(n, path), "s", (alpha + n / rate,)) for n in SIZES))


def calls(factor):
    return measurements(*(Record(Collective("allreduce", n, 64), "s", (factor * (1e-5 + n * 1e-9),)) for n in SIZES))


def test_half_a_microsecond_between_nodes_is_within_one():
    (doubt,) = physics({"efa.txt": latencies(0.49e-6)})
    assert (doubt.file, doubt.kind) == ("efa.txt", "latency")
    assert "its ranks shared a node" in doubt.words


@pytest.mark.parametrize("path", ["same-node", "any"])
def test_half_a_microsecond_elsewhere_is_none_of_its_business(path):
    assert physics({"a": latencies(0.49e-6, path=path)}) == []


@pytest.mark.parametrize("alpha", [0.8e-6, 1.05e-6, 20e-6])
def test_real_networks_are_not_accused(alpha):
    assert physics({"a": latencies(alpha)}) == []


def test_bytes_that_did_not_move_are_seen():
    flat = measurements(*(Record(Stream(n, 1, "any"), "s", (1e-6,)) for n in SIZES))
    (doubt,) = physics({"flat": flat})
    assert (doubt.kind, doubt.value) == ("bytes", pytest.approx((1 << 20) / 1e-6))


@pytest.mark.parametrize(("factor", "count"), [(1.45, 1), (0.6, 1), (1.1, 0)])
def test_a_file_unlike_its_siblings_is_named(factor, count):
    files = {f"{system}.txt": calls(1 + 0.01 * place) for place, system in enumerate(("a", "b", "c", "d"))}
    doubts = physics(files | {"slow.txt": calls(factor)})
    assert [(doubt.file, doubt.kind, doubt.about) for doubt in doubts] == [("slow.txt", "sibling", "allreduce")] * count


def test_copies_are_no_siblings_and_two_files_do_not_tell_which():
    assert physics({"a": calls(1), "b": calls(2)}) == []
    assert physics({"a": calls(1), "copy": calls(1), "b": calls(2)}) == []


def test_of_three_files_the_wrong_one_alone_is_named():
    doubts = physics({"right": calls(1), "right too": calls(1.001), "wrong": calls(8)})
    assert [(doubt.file, round(doubt.value)) for doubt in doubts] == [("wrong", 8)]


@pytest.mark.parametrize("order", [("right", "wrong"), ("wrong", "right")])
def test_of_two_files_one_that_takes_four_times_as_long_is_named(order):
    files = {"right": calls(1), "wrong": calls(11)}
    (doubt,) = physics({name: files[name] for name in order})
    assert (doubt.file, doubt.kind, doubt.value) == ("wrong", "sibling", pytest.approx(11))
    assert "takes 11.00 times as long as in right: the library uses another network" in doubt.words


def test_messages_far_below_their_link_took_another_way():
    slow = measurements(*(Record(Stream(n, 1, "between-nodes"), "s", (1e-6 + n / 3.1e9,)) for n in SIZES))
    (doubt,) = physics({"slow": slow}, link_bandwidth=25e9)
    assert doubt.kind == "slow link"
    assert "moves 3.09 GB/s, 12 % of the link's 25.0 GB/s: the library uses another network" in doubt.words
    assert physics({"slow": slow}, link_bandwidth=6e9) == []
    short = measurements(Record(Stream(8, 1, "between-nodes"), "s", (1e-6,)))
    assert physics({"short": short}, link_bandwidth=25e9) == []


ALPS = SHARED / "public" / "alps" / "openmpi.md"


@pytest.mark.skipif(not ALPS.exists(), reason="the public record is not beside the checkout")
@pytest.mark.parametrize(("test", "count"), [("osu_bw", 4), ("osu_alltoall", 2)])
def test_the_wrong_provider_of_a_site_is_named_and_no_right_one(test, count, tmp_path):
    blocks = re.findall(r'=== "([^"]+)"\n\s*```console\n(.*?)```', ALPS.read_text("utf-8"), re.DOTALL)
    files = {}
    for number, (title, text) in enumerate(blocks):
        if f"/{test} " in text:
            path = tmp_path / f"{number}.txt"
            path.write_text("\n".join(line.strip() for line in text.splitlines()) + "\n", "utf-8")
            files[title] = formats.load(path)
    doubts = physics(files, link_bandwidth=25e9 if test == "osu_bw" else None)
    assert {doubt.file for doubt in doubts} == {title for title in files if "(*)" in title}
    assert len(doubts) == count


def test_siblings_that_differ_among_themselves_accuse_nobody():
    assert physics({str(factor): calls(factor) for factor in (1.0, 1.3, 1.7, 2.2, 2.9)}) == []


def test_the_command_says_it_and_fails(tmp_path, capsys):
    table = "# OSU MPI Latency Test v5.7.1\n# Size          Latency (us)\n0    0.52\n1    0.49\n8    0.49\n"
    (tmp_path / "efa.txt").write_text(table)
    words = ["check", "physics", str(tmp_path / "efa.txt"), "--ranks", "2/1"]
    assert cli.main(words) == 1
    assert "pingpong, 1 B, between-nodes takes 490 ns" in capsys.readouterr().out
    assert cli.main([*words, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["doubts"][0]["kind"] == "latency"
    assert cli.main(["check", "physics", str(tmp_path / "efa.txt"), "--ranks", "2/2"]) == 0
    assert "nothing impossible in 1 file" in capsys.readouterr().out
    assert cli.main([*words, "--baseline", str(tmp_path / "efa.txt")]) == 2


PUBLISHED = SHARED / "public" / "aws-parallelcluster" / "osu_times.csv.xz"


@pytest.mark.skipif(not PUBLISHED.exists(), reason="the public record is not beside the checkout")
def test_a_vendors_baselines_of_two_instances_that_were_one_are_named():
    files = defaultdict(list)
    with lzma.open(PUBLISHED, "rt") as lines:
        for row in csv.DictReader(lines):
            if row["benchmark"] == "osu_latency":
                record = Record(PingPong(int(row["bytes"]), "between-nodes"), "s", (float(row["value"]) / 1e6,))
                files["{date} {os} {instance} {mpi}".format(**row)].append(record)
    doubts = physics({name: measurements(*records) for name, records in files.items()})
    accused = {doubt.file for doubt in doubts if doubt.kind == "latency"}
    systems = ("centos7", "rhel8", "rocky8", "ubuntu2004", "ubuntu2204")
    assert accused == {f"2023-10-13 {system} c5n.18xlarge intelmpi" for system in systems}
    assert len(files) > 20


def test_nothing_moves_faster_than_its_link(tmp_path, capsys):
    records = (
        Record(Stream(1 << 20, 4, "between-nodes"), "s", (4 * (1 << 20) / 13e9,)),
        Record(PingPong(1 << 20, "between-nodes"), "s", ((1 << 20) / 11e9,)),
        Record(Stream(1 << 20, 4, "same-node"), "s", (4 * (1 << 20) / 90e9,)),
    )
    files = {"a": measurements(*records)}
    (doubt,) = physics(files, link_bandwidth=12.5e9)
    assert (doubt.kind, doubt.value) == ("link", pytest.approx(13e9))
    assert doubt.words.endswith("moves 13.0 GB/s, beyond the link's 12.5 GB/s: it took another way")
    assert physics(files, link_bandwidth=25e9) == physics(files) == []
    with pytest.raises(
        InputError, match="no file has ping-pongs, pairs or streams between nodes: say so of other suites"
    ):
        physics({"a": measurements(*records[2:])}, link_bandwidth=12.5e9)
    file = tmp_path / "bw.txt"
    file.write_text("# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n1048576   13000.00\n")
    words = ["check", "physics", str(file), "--ranks", "2/1"]
    assert cli.main([*words, "--link-bandwidth", "100Gbit/s"]) == 1
    assert "beyond the link's 12.5 GB/s" in capsys.readouterr().out
    assert cli.main([*words, "--link-bandwidth", "200Gbit/s"]) == 0
    assert cli.main(["check", "mpi", str(file), "--link-bandwidth", "200Gbit/s"]) == 2
    assert "--link-bandwidth goes with physics" in capsys.readouterr().err
