"""A Slurm cluster for all tests here; without root or Slurm they are skipped."""

import pytest
from tools import slurm_cluster


@pytest.fixture(scope="session")
def slurm():
    if problem := slurm_cluster.missing():
        pytest.skip(f"no Slurm cluster here: {problem}")
    with slurm_cluster.cluster() as cluster:
        yield cluster


@pytest.fixture(autouse=True)
def _nothing_runs(request):
    """Cancel what a test that failed has left."""
    yield
    if "slurm" in request.fixturenames:
        request.getfixturevalue("slurm").run("scancel --user $USER")
