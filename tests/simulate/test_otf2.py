"""Archives of OTF2: ranks, communicators, requests and regions, as the package's own writer writes them."""

import shutil

import pytest
from support.archives import RESOLUTION, Archive, exchange, package

from commmodel.errors import CommModelError, DamagedFileError, InputError, MissingPackageError
from commmodel.simulate import SMPI, platform, run, traces
from commmodel.simulate.traces import otf2 as reader

otf2 = package()
pytestmark = pytest.mark.skipif(otf2 is None, reason="no archives can be written: there is no package otf2")


def actions(path, rank):
    return [line.removeprefix(f"{rank} ") for line in "".join(traces.load(path).text(rank)).splitlines()[1:-1]]


def test_messages_and_requests(tmp_path):
    path = exchange(tmp_path)
    assert actions(path, 0) == [
        "compute 1000000", "irecv 1 5 64 6", "isend 1 4 100 6", "compute 500000", "compute 10000", "wait 0 1 4",
        "wait 1 0 5", "sleep 1e-05",
    ]  # fmt: skip
    assert actions(path, 1) == ["recv 0 4 100 6", "send 0 5 64 6"]
    assert traces.is_foreign(path)
    trace = traces.load(tmp_path / "archive")
    outcome = run(trace.program(), SMPI, platform.flat(2, 125e6, 15e-6))
    assert not outcome.blocked
    assert outcome.seconds > 1.5e-3
    assert trace.notes() == ["carried over as the time that they took, not as messages: 1 MPI_Put"]


UNDEFINED = 0xFFFFFFFF


def test_collectives_and_communicators(tmp_path):
    archive = Archive(tmp_path, 4)
    op = otf2.CollectiveOp
    for rank in range(4):
        writer, row = archive.rank(rank), archive.rows[rank // 2]
        for name, communicator, root, sent, received in (
            ("BARRIER", archive.world, UNDEFINED, 0, 0),
            ("BCAST", archive.world, 1, 400 if rank == 1 else 0, 100),
            ("ALLTOALL", archive.world, UNDEFINED, 400, 400),
            ("CREATE_HANDLE", archive.world, UNDEFINED, 0, 0),
            ("ALLREDUCE", row, UNDEFINED, 8, 8),
            ("GATHERV", row, 0, 30, 61 if rank % 2 else 0),
            ("DESTROY_HANDLE", row, UNDEFINED, 0, 0),
        ):
            event = ("mpi_collective_end", getattr(op, name),
                     communicator, root, sent, received)  # fmt: skip
            writer.region("MPI_Collective", ("mpi_collective_begin",), event)
    path = archive.close()
    assert actions(path, 2) == [
        "barrier", "bcast 100 1 6", "alltoall 100 100 6 6", "allreduce 8 0 6", "communicator 2 3 2",
        "within 2 allreduce 8 0 6", "within 2 gather 30 0 0 6 6",
    ]  # fmt: skip
    assert actions(path, 3)[-1] == "within 2 gather 30 31 0 6 6"
    assert not run(traces.replay(path), SMPI, platform.flat(4, 125e6, 15e-6)).blocked


def test_damage_is_told_in_one_line(tmp_path):
    path = exchange(tmp_path)
    events = sorted((tmp_path / "archive" / "traces").glob("*.evt"))
    for damaged in (path, path.with_suffix(".def"), events[0]):
        copy = tmp_path / "copy"
        shutil.copytree(tmp_path / "archive", copy)
        place = copy / damaged.relative_to(tmp_path / "archive")
        content = place.read_bytes()
        place.write_bytes(content[: len(content) // 2].ljust(len(content), b"\xff"))
        with pytest.raises(CommModelError):
            run(traces.replay(copy), SMPI, platform.flat(2, 125e6, 15e-6))
        shutil.rmtree(copy)


def test_archive_without_ranks_and_two_archives_are_refused(tmp_path):
    with otf2.writer.open(str(tmp_path / "empty"), timer_resolution=RESOLUTION) as trace:
        trace.definitions.system_tree_node("machine")
    with pytest.raises(DamagedFileError, match="an archive without ranks of MPI"):
        traces.load(tmp_path / "empty" / "traces.otf2")
    path = exchange(tmp_path)
    (tmp_path / "list").write_text(f"{path}\n{path}\n")
    with pytest.raises(InputError, match="2 archives of OTF2"):
        traces.load(tmp_path / "list")


def test_missing_package_is_named(tmp_path, monkeypatch):
    path = exchange(tmp_path)
    monkeypatch.setitem(reader.sys.modules, "otf2", None)
    monkeypatch.setattr(reader, "_DEBIAN", tmp_path)
    with pytest.raises(MissingPackageError, match="python3-otf2"):
        traces.load(path)
