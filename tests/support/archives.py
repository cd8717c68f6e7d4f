"""Archives of OTF2, as the package's own writer writes them."""

from commmodel.errors import MissingPackageError
from commmodel.simulate.traces import otf2

RESOLUTION = 1_000_000


def package():
    """Return the package otf2, None where it is not installed."""
    try:
        return otf2._package()
    except MissingPackageError:
        return None


class Archive:
    """Writes an archive of ranks with a communicator for rows of two."""

    def __init__(self, folder, processes):
        self.path = folder / "archive"
        self._open = package().writer.open(str(self.path), timer_resolution=RESOLUTION)
        self.trace = self._open.__enter__()
        define = self.trace.definitions
        root = define.system_tree_node("machine")
        self.locations = []
        for rank in range(processes):
            group = define.location_group(f"rank {rank}", system_tree_parent=root)
            self.locations.append(define.location("master", group=group))
        self.thread = define.location("thread", group=group)
        types = package()
        kinds = {"paradigm": types.Paradigm.MPI, "group_flags": types.GroupFlag.NONE}
        define.group("", types.GroupType.COMM_LOCATIONS, members=self.locations, **kinds)
        self.world = define.comm("world", define.group("", types.GroupType.COMM_GROUP, members=self.locations, **kinds))
        self.rows = [
            define.comm(f"row {row}", define.group(
                "", types.GroupType.COMM_GROUP, members=[self.locations[2 * row + 1], self.locations[2 * row]], **kinds,
            ), parent=self.world)
            for row in range(processes // 2)
        ]  # fmt: skip
        self.regions = {}

    def rank(self, rank):
        return Writer(self, self.trace.event_writer_from_location(self.locations[rank]))

    def close(self):
        self._open.__exit__(None, None, None)
        return self.path / "traces.otf2"


class Writer:
    """Writes a rank's events, one a microsecond after the other."""

    def __init__(self, archive, writer):
        self._archive, self._writer, self.time = archive, writer, 0

    def region(self, name, *events, length=10):
        regions = self._archive.regions
        if name not in regions:
            regions[name] = self._archive.trace.definitions.region(name)
        self._writer.enter(self.time, regions[name])
        for event, *arguments in events:
            getattr(self._writer, event)(self.time, *arguments)
        self.time += length
        self._writer.leave(self.time, regions[name])
        return self

    def compute(self, length):
        self.time += length
        return self


def exchange(folder):
    """Write an archive of two ranks that exchange messages; return its anchor file."""
    archive = Archive(folder, 2)
    world = archive.world
    first = archive.rank(0).region("MPI_Init").compute(1000).region("main", length=0)
    first.region("MPI_Irecv", ("mpi_irecv_request", 7)).region("MPI_Isend", ("mpi_isend", 1, world, 4, 100, 8))
    first.compute(500).region("MPI_Comm_rank").region("MPI_Test", ("mpi_request_test", 7))
    first.region("MPI_Waitall", ("mpi_isend_complete", 8), ("mpi_irecv", 1, world, 5, 64, 7))
    first.region("MPI_Put").region("MPI_Irecv", ("mpi_irecv_request", 9)).region(
        "MPI_Cancel", ("mpi_request_cancelled", 9)
    )
    second = archive.rank(1).region("MPI_Init").region("MPI_Recv", ("mpi_recv", 0, world, 4, 100))
    second.region("MPI_Send", ("mpi_send", 0, world, 5, 64)).region("MPI_Finalize")
    return archive.close()
