"""Cases in which SimGrid's SMPI and we once differed, or differ, with its times: ``oracles/smpi_*.toml``."""

import pytest
from support.paths import ROOT
from tools.peers.replays import our_seconds, read_cases

MENDED = read_cases(ROOT / "tests" / "oracles" / "smpi_cases.toml")
FAULTS = read_cases(ROOT / "tests" / "oracles" / "smpi_faults.toml")


@pytest.mark.parametrize(("case", "expected"), MENDED, ids=[expected["reason"] for _, expected in MENDED])
def test_the_same_time(case, expected):
    assert our_seconds(case) == pytest.approx(expected["smpi"], rel=1e-9)


@pytest.mark.parametrize(("case", "expected"), FAULTS, ids=[expected["reason"] for _, expected in FAULTS])
def test_faults_of_smpi_are_not_ours(case, expected):
    assert our_seconds(case) == pytest.approx(expected["seconds"], rel=1e-12)


def test_rounding_decides_whether_smpi_shares_a_fatpipe():
    full, shared = (expected["smpi"] for case, expected in FAULTS if "FATPIPE" in case.platform)
    assert shared > 1.3 * full
