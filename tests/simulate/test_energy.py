"""Energy and price of runs: as SimGrid's plugin host_energy, from TOML and from XML."""

import json

import numpy as np
import pytest

from commmodel.cli import main
from commmodel.errors import DamagedFileError, InputError
from commmodel.simulate import OPERATION, Code, Program, fluid, replay, run
from commmodel.simulate.energy import energy_use
from commmodel.simulate.platform import dumps, flat, load
from commmodel.simulate.platform.file import loads
from commmodel.simulate.platform.xml import read_xml_bytes

POWER = (100.0, 120.0, 200.0, 10.0)
MIXED = """<?xml version='1.0'?>
<platform version="4.1"><zone id="AS0" routing="Full">
<host id="A" speed="100.0Mf,50.0Mf" pstate="1" core="4">
<prop id="wattage_per_state" value="95.0:120.0:200.0, 93.0:115.0:170.0"/><prop id="wattage_off" value="10"/></host>
<host id="B" speed="100.0Mf" core="4"><prop id="wattage_per_state" value="100.0:200.0"/></host>
<host id="C" speed="100.0Mf" core="1"><prop id="wattage_per_state" value="100.0:200.0:200.0"/></host>
<link id="bus" bandwidth="1MBps" latency="1ms" sharing_policy="SHARED"/>
<route src="A" dst="B"><link_ctn id="bus"/></route>
<route src="A" dst="C"><link_ctn id="bus"/></route>
<route src="B" dst="C"><link_ctn id="bus"/></route>
</zone></platform>
"""
EXAMPLE = """<platform version="4.1"><zone id="z" routing="Full">
<host core="4" id="MyHost1" pstate="{state}" speed="100.0Mf,50.0Mf,20.0Mf">
<prop id="wattage_per_state" value="100.0:93.33333333333333:200.0, 93.0:90.0:170.0, 90.0:90.0:150.0"/></host>
<host core="1" id="MyHost2" pstate="{state}" speed="100.0Mf,50.0Mf,20.0Mf">
<prop id="wattage_per_state" value="100.0:200.0:200.0, 93.0:170.0:170.0, 90.0:150.0:150.0"/></host>
<link id="bus" bandwidth="100kBps" latency="0"/><route src="MyHost1" dst="MyHost2"><link_ctn id="bus"/></route>
</zone></platform>"""


def computing(*ranks):
    rows = []
    for steps in ranks:
        code = [Code.COMPUTE if value > 0 else Code.SLEEP for value in steps]
        rows.append(
            np.array([(part, 0, 0, -1, abs(value)) for part, value in zip(code, steps, strict=True)], OPERATION)
        )
    return Program.from_ranks(rows)


@pytest.mark.parametrize(("busy", "watts"), [(0, 100), (1, 140), (2, 160), (3, 180), (4, 200)])
def test_power_by_busy_cores_is_that_of_simgrids_manual(busy, watts):
    """The table of HostA in the documentation of the plugin host_energy, for an hour."""
    platform = flat(1, 125e6, 15e-6, cores=4, power=POWER)
    program = computing(*[[3600.0]] * busy, *[[-3600.0]] * (4 - busy))
    hosts = np.zeros(4, np.int32)
    use = energy_use(platform, hosts, run(program, fluid(), platform, hosts=hosts, record=True))
    assert use.joules.tolist() == pytest.approx([3600.0 * watts], rel=1e-12)


@pytest.mark.parametrize(
    ("state", "seconds", "joules"), [(0, 10.0, (1200, 2000)), (1, 20.0, (2200, 3400)), (2, 50.0, (5250, 7500))]
)
def test_power_states_are_those_of_simgrids_example(tmp_path, state, seconds, joules):
    """examples/smpi/energy of SimGrid: 10^9 flop in each of three states; energy.tesh has the sums so far."""
    (tmp_path / "energy.xml").write_text(EXAMPLE.format(state=state))
    (tmp_path / "trace").write_text("0 compute 1e9\n1 compute 1e9\n")
    result = replay(tmp_path / "trace", on=str(tmp_path / "energy.xml"), mapping=["MyHost1", "MyHost2"])
    assert result.seconds == pytest.approx(seconds)
    assert result.energy.joules.tolist() == pytest.approx(joules, rel=1e-9)


def test_a_replay_takes_the_energy_that_simgrid_says(tmp_path):
    """smpirun -np 5 -platform mixed.xml -hostfile hosts -replay list --cfg=plugin:host_energy, SimGrid 3.32."""
    (tmp_path / "mixed.xml").write_text(MIXED)
    for rank in range(5):
        lines = ["init", f"compute {rank + 1}e7"]
        lines += [f"recv {other} 0 300000 6" for other in range(1, 5)] if rank == 0 else ["send 0 0 300000 6"]
        lines += ["compute 1e8", "allreduce 1000 1000", f"compute {5 - rank}5000000", "finalize"]
        (tmp_path / f"t{rank}").write_text("".join(f"{rank} {line}\n" for line in lines))
    (tmp_path / "list").write_text("".join(f"t{rank}\n" for rank in range(5)))
    result = replay(tmp_path / "list", on=str(tmp_path / "mixed.xml"), mapping=[*"AAABB"], selector="smpi")
    assert result.seconds == pytest.approx(4.401282, abs=5e-7)
    assert result.energy.joules.tolist() == pytest.approx([642.093124, 522.628726, 440.128226], abs=5e-7)
    assert result.energy.used_joules == pytest.approx(1164.721850, abs=5e-7)
    assert result.energy.idle_joules == pytest.approx(440.128226, abs=5e-7)
    assert not result.intervals.size


def test_ranks_of_a_host_that_compute_at_different_times_are_counted_when_they_do():
    platform = flat(2, 125e6, 15e-6, cores=2, power=POWER, price=36.0)
    program = computing([1.0, -2.0], [-0.5, 1.0], [4.0])
    hosts = np.array([0, 0, 1])
    use = energy_use(platform, hosts, run(program, fluid(), platform, hosts=hosts, record=True))
    first = 0.5 * 160 + 0.5 * 200 + 0.5 * 160 + 2.5 * 100
    assert use.joules.tolist() == pytest.approx([first, 4 * 160], rel=1e-12)
    assert use.price == pytest.approx(2 * 36.0 * 4 / 3600)
    crowded = np.zeros(3, np.int32)
    use = energy_use(platform, crowded, run(computing(*[[1.0]] * 3), fluid(), platform, hosts=crowded, record=True))
    assert use.joules.tolist() == pytest.approx([200.0, 100.0])
    assert use.is_used.tolist() == [True, False]


def test_a_toml_file_says_power_and_price_and_is_written_again():
    text = """format = "commmodel-platform"
version = 1
kind = "torus"
sizes = [2, 2]
bandwidth = "1GB/s"
latency = "1us"
price = 2.5
power = {idle = "100 W", epsilon = 120, all = "200W"}
"""
    platform = loads(text)
    assert platform.watts.tolist() == [[100.0, 120.0, 200.0, 0.0]] * 4
    assert platform.prices.tolist() == [2.5] * 4
    again = loads(dumps(platform))
    assert np.array_equal(again.watts, platform.watts)
    assert not load("graphene").watts.size
    assert not load("graphene").prices.size
    for wrong in ("price = -1", "power = {idle = -1, epsilon = 1, all = 1}", "power = {idle = 1}"):
        lines = [line for line in text.splitlines() if line.split()[0] != wrong.split()[0]]
        with pytest.raises(DamagedFileError, match=wrong.split()[0]):
            loads("\n".join([*lines, wrong]))


def test_properties_of_xml_hosts_and_clusters_are_read():
    cluster = (
        '<cluster id="c" prefix="n" suffix="" radical="0-1" speed="1Gf" core="2" bw="125MBps" lat="50us">'
        '<prop id="wattage_per_state" value="1:2:3"/><prop id="price_per_hour" value="4"/></cluster>'
    )
    platform, _ = read_xml_bytes(f'<platform version="4.1">{cluster}</platform>'.encode())
    assert platform.watts.tolist() == [[1.0, 2.0, 3.0, 0.0]] * 2
    assert platform.prices.tolist() == [4.0] * 2
    mixed, _ = read_xml_bytes(MIXED.encode())
    assert mixed.watts[:, 1].tolist() == [115.0, 100.0, 200.0]
    assert not mixed.prices.size
    for value, problem in (("1:x:3", "expected a number"), ("1", "idle:epsilon:all"), ("-1:2:3", "from 0 up")):
        with pytest.raises(DamagedFileError, match=problem):
            read_xml_bytes(MIXED.replace("100.0:200.0:200.0", value).encode())
    with pytest.raises(DamagedFileError, match="power of 1 states"):
        read_xml_bytes(MIXED.replace("95.0:120.0:200.0, 93.0:115.0:170.0", "95:120:200").encode())


def test_hosts_whose_power_is_not_known_leave_the_sum_open(tmp_path):
    text = MIXED.replace('<prop id="wattage_per_state" value="100.0:200.0"/>', "")
    (tmp_path / "mixed.xml").write_text(text)
    (tmp_path / "trace").write_text("0 compute 1e8\n1 compute 1e8\n")
    used = replay(tmp_path / "trace", on=str(tmp_path / "mixed.xml"), mapping=["A", "B"]).energy
    assert used.used_joules is None
    assert used.idle_joules > 0
    assert used.price is None
    assert replay(tmp_path / "trace", on=str(tmp_path / "mixed.xml"), mapping=["A", "C"]).energy.used_joules > 0


def test_the_command_prints_energy_and_price(capsys, tmp_path):
    (tmp_path / "p.toml").write_text(dumps(flat(4, 1e9, 1e-6, cores=2, power=POWER, price=3.0)))
    words = ["simulate", str(tmp_path / "p.toml"), "ring", "-n", "1MiB", "-p", "4"]
    assert main([*words, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    seconds = printed["seconds"]
    assert printed["energy"]["used"] == pytest.approx(2 * 100 * seconds)
    assert printed["energy"]["idle"] == pytest.approx(2 * 100 * seconds)
    assert printed["price"] == pytest.approx(2 * 3.0 * seconds / 3600)
    assert main(words) == 0
    assert "Energy and price" in capsys.readouterr().out


def test_wrong_powers_are_refused():
    with pytest.raises(InputError, match="power: all"):
        flat(2, 1e9, 1e-6, power=(1.0, 2.0, -3.0))
    with pytest.raises(InputError, match="price"):
        flat(2, 1e9, 1e-6, price=-1.0)
