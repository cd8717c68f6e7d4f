"""Links of emulated hosts that take time."""

import subprocess
import sys

import pytest
from tools.emulated_cluster import cluster, delays, missing, set_rate

pytestmark = pytest.mark.skipif(bool(problem := missing()), reason=f"no emulated cluster here: {problem}")
ROUND_TRIPS = """
import socket, time
times = []
for _ in range(7):
    begin = time.perf_counter()
    try:
        socket.create_connection(("10.139.211.2", 9))  # where nobody listens: the other host refuses
    except ConnectionRefusedError:
        times.append(time.perf_counter() - begin)
print(min(times))
"""


def round_trip(host):
    command = ["ip", "netns", "exec", host, sys.executable, "-c", ROUND_TRIPS]
    return float(subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout)


def test_a_delay_holds_there_and_back_and_can_be_changed():
    with cluster() as hosts, delays(hosts) as set_delay:
        set_rate(40e6, hosts, "1600", "each")
        set_delay(0.02)
        long = round_trip(hosts[0])
        set_delay(0.005)
        set_rate(20e6, hosts, "1600", "each")  # again, and the delay stays
        short = round_trip(hosts[0])
    assert long >= 0.04
    assert 0.01 <= short < long
