"""Cases in which SimGrid's SMPI and we once differed, with its times: ``oracles/smpi_cases.toml``."""

import pytest
from support.paths import ROOT
from tools.peers.replays import our_seconds, read_cases

CASES = read_cases(ROOT / "tests" / "oracles" / "smpi_cases.toml")


@pytest.mark.parametrize(("case", "expected"), CASES, ids=[expected["reason"] for _, expected in CASES])
def test_the_same_time(case, expected):
    assert our_seconds(case) == pytest.approx(expected["smpi"], rel=1e-9)
