"""Groups that meet at ports while they are simulated."""

import pytest
from support.simulated_runs import simulate_script

pytestmark = [pytest.mark.mpi, pytest.mark.simulated]

SERVICE = """
from mpi4py import MPI
world = MPI.COMM_WORLD
side = world.Split(world.rank % 2)
if world.rank % 2 == 0:
    port = MPI.Open_port() if side.rank == 1 else None
    if side.rank == 1:
        MPI.Publish_name("solver", port)
    world.Barrier()
    other = side.Accept(port, root=1)
    if side.rank == 1:
        MPI.Unpublish_name("solver", port)
        MPI.Close_port(port)
else:
    world.Barrier()
    other = side.Connect(MPI.Lookup_name("solver") if side.rank == 0 else None, root=0)
print("rank", world.rank, (other.size, other.remote_size, other.allgather(world.rank)))
together = other.Merge(high=world.rank % 2 == 1)
assert together.allgather(world.rank) == [0, 2, 4, 1, 3]
together.Free()
other.Disconnect()
side.Free()
"""
CLIENTS = """
from mpi4py import MPI
import numpy as np
world = MPI.COMM_WORLD
port = world.bcast(MPI.Open_port() if world.rank == 0 else None)
if world.rank == 0:
    seen = []
    for _ in range(3):
        client = MPI.COMM_SELF.Accept(port)
        seen.append(client.recv())
        client.Disconnect()
    print("served", sorted(seen))
    MPI.Close_port(port)
else:
    server = MPI.COMM_SELF.Connect(port)
    server.send(world.rank, 0)
    server.Disconnect()
"""
REFUSED = """
from mpi4py import MPI
world = MPI.COMM_WORLD
def refusal(call, *arguments):
    try:
        call(*arguments)
    except MPI.Exception as error:
        return MPI.Get_error_string(error.Get_error_class())
port = world.bcast(MPI.Open_port() if world.rank == 0 else None)
refusals = [
    refusal(world.Connect, "nowhere"),
    refusal(MPI.Lookup_name, "nobody") if world.rank == 0 else None,
    refusal(MPI.COMM_SELF.Accept, port) if world.rank == 1 else None,
    refusal(MPI.Unpublish_name, "nobody", port) if world.rank == 1 else None,
]
if world.rank == 1:
    MPI.Publish_name("once", port)
    refusals.append(refusal(MPI.Publish_name, "once", port))
print(world.rank, refusals)
"""
ALONE = "from mpi4py import MPI; MPI.COMM_SELF.Accept(MPI.Open_port())"


def lines_of(done):
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_two_groups_meet_at_a_published_port(tmp_path):
    lines = lines_of(simulate_script(tmp_path, SERVICE, "--compute", "0", "--check", processes=5))
    assert {line for line in lines if line.startswith("rank ")} == {
        *(f"rank {rank} (3, 2, [1, 3])" for rank in (0, 2, 4)),
        *(f"rank {rank} (2, 3, [0, 2, 4])" for rank in (1, 3)),
    }


def test_a_server_takes_one_client_after_the_other(tmp_path):
    assert "served [1, 2, 3]" in lines_of(simulate_script(tmp_path, CLIENTS, "--compute", "0", "--check", processes=4))


def test_what_is_no_port_or_name_is_an_error_of_mpi(tmp_path):
    lines = "\n".join(lines_of(simulate_script(tmp_path, REFUSED, "--compute", "0", processes=2)))
    port, name, service = "'invalid port'", "'no such published name'", "'invalid service name'"
    assert f"0 [{port}, {name}, None, None]" in lines
    assert f"1 [{port}, None, {port}, {service}, {service}]" in lines


def test_a_rank_that_nobody_calls_is_a_deadlock_with_its_line(tmp_path):
    done = simulate_script(tmp_path, ALONE, "--compute", "0", processes=1)
    assert done.returncode == 2
    assert "rank 0 waits in MPI_Comm_accept for a message from any rank" in done.stderr
