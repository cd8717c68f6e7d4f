"""Compiled Fortran programs: what they print while they are simulated is what they print under mpiexec."""

import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from support.launching import ENVIRONMENT
from support.simulated_runs import simulate

pytestmark = pytest.mark.mpi

FIXED_FORM = r"""
      program main
      implicit none
      include 'mpif.h'
      integer rank, ranks, error, left, right, op, i, length, handler
      integer requests(4), status(MPI_STATUS_SIZE), values(4), count
      integer class, index
      double precision mine(3), all(3), lowest
      logical flag
      character*(MPI_MAX_OBJECT_NAME) name
      character*(MPI_MAX_ERROR_STRING) text
      external product_of, note_error
      call MPI_Init(error)
      call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
      call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
      left = mod(rank + ranks - 1, ranks)
      right = mod(rank + 1, ranks)

      values(1) = 10 * rank
      values(2) = -1
      call MPI_Sendrecv(values(1), 1, MPI_INTEGER, right, 3, values(2),
     &     1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG,
     &     MPI_COMM_WORLD, status, error)
      call MPI_Get_count(status, MPI_INTEGER, count, error)
      print *, rank, 'got', values(2), 'from', status(MPI_SOURCE),
     &     'tag', status(MPI_TAG), 'count', count

      do i = 1, 2
        call MPI_Irecv(values(i), 1, MPI_INTEGER, left, i,
     &       MPI_COMM_WORLD, requests(i), error)
        values(i + 2) = 100 * rank + i
        call MPI_Isend(values(i + 2), 1, MPI_INTEGER, right, i,
     &       MPI_COMM_WORLD, requests(i + 2), error)
      end do
      call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, error)
      print *, rank, 'waited', values, requests(1) .eq. MPI_REQUEST_NULL

      if (rank .eq. 0) then
        call MPI_Send(MPI_BOTTOM, 0, MPI_BYTE, MPI_PROC_NULL, 0,
     &       MPI_COMM_WORLD, error)
        call MPI_Recv(values, 1, MPI_INTEGER, 1, 7, MPI_COMM_WORLD,
     &       MPI_STATUS_IGNORE, error)
        print *, rank, 'ignored status of', values(1)
      else if (rank .eq. 1) then
        call MPI_Send(4711, 1, MPI_INTEGER, 0, 7, MPI_COMM_WORLD,
     &       error)
      end if

      do i = 1, 3
        mine(i) = rank + i
      end do
      call MPI_Op_create(product_of, .true., op, error)
      call MPI_Allreduce(mine, all, 3, MPI_DOUBLE_PRECISION, op,
     &     MPI_COMM_WORLD, error)
      print *, rank, 'products', all
      call MPI_Reduce(mine, all, 3, MPI_DOUBLE_PRECISION, op,
     &     ranks - 1, MPI_COMM_WORLD, error)
      if (rank .eq. ranks - 1) print *, rank, 'products at root', all
      call MPI_Op_free(op, error)
      print *, rank, 'no operation', op .eq. MPI_OP_NULL
      call MPI_Allreduce(MPI_IN_PLACE, mine, 3, MPI_DOUBLE_PRECISION,
     &     MPI_SUM, MPI_COMM_WORLD, error)
      print *, rank, 'sums in place', mine
      lowest = 5 - rank
      if (rank .eq. 0) then
        call MPI_Reduce(MPI_IN_PLACE, lowest, 1, MPI_DOUBLE_PRECISION,
     &       MPI_MIN, 0, MPI_COMM_WORLD, error)
        print *, rank, 'lowest in place', lowest
      else
        call MPI_Reduce(lowest, mine, 1, MPI_DOUBLE_PRECISION,
     &       MPI_MIN, 0, MPI_COMM_WORLD, error)
      end if

      call MPI_Comm_set_name(MPI_COMM_WORLD, 'all of us   ', error)
      name = 'x'
      call MPI_Comm_get_name(MPI_COMM_WORLD, name, length, error)
      print *, rank, length, '"', name(1:length + 2), '"'

      call MPI_Comm_create_errhandler(note_error, handler, error)
      call MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler, error)
      call MPI_Errhandler_free(handler, error)
      call MPI_Send(i, 1, MPI_INTEGER, ranks + 3, 1, MPI_COMM_WORLD,
     &     error)
      call MPI_Error_class(error, class, i)
      call MPI_Error_string(error, text, length, i)
      print *, rank, 'wrong rank', class .eq. MPI_ERR_RANK, length > 0

      requests(1) = MPI_REQUEST_NULL
      requests(2) = MPI_REQUEST_NULL
      call MPI_Testany(2, requests, index, flag, MPI_STATUS_IGNORE,
     &     error)
      print *, rank, 'nothing', flag, index .eq. MPI_UNDEFINED
      call MPI_Finalize(error)
      end

      subroutine product_of(in, into, length, datatype)
      implicit none
      include 'mpif.h'
      integer length, datatype, i
      double precision in(length), into(length)
      if (datatype .ne. MPI_DOUBLE_PRECISION) print *, 'another type'
      do i = 1, length
        into(i) = in(i) * into(i)
      end do
      end

      subroutine note_error(comm, code)
      implicit none
      include 'mpif.h'
      integer comm, code, class, error
      call MPI_Error_class(code, class, error)
      print *, 'handler', comm .eq. MPI_COMM_WORLD,
     &     class .eq. MPI_ERR_RANK
      end
"""
MODULE = r"""
module callbacks
  use mpi
  implicit none
contains
  subroutine copy(comm, keyval, state, old, new, flag, error)
    integer :: comm, keyval, error
    integer(MPI_ADDRESS_KIND) :: state, old, new
    logical :: flag
    new = old + state
    flag = .true.
    error = MPI_SUCCESS
  end subroutine
  subroutine delete(comm, keyval, value, state, error)
    integer :: comm, keyval, error
    integer(MPI_ADDRESS_KIND) :: value, state
    print *, 'deleted', value, state
    error = MPI_SUCCESS
  end subroutine
end module

program main
  use mpi
  use callbacks
  implicit none
  type particle
    sequence
    double precision :: place(2)
    integer :: charge
    character :: kind
  end type
  type(particle) :: sent, received
  integer :: error, rank, ranks, left, right, type_of_particle, i, plane, column, keyval, copied, state_of
  integer :: requests(3), statuses(MPI_STATUS_SIZE, 3), dimensions(2), coordinates(2), place, up, down, index, done
  integer(MPI_ADDRESS_KIND) :: addresses(3), state, value, lower, extent
  integer :: matrix(3, 4), far, row(4)
  logical :: flag
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  left = modulo(rank - 1, ranks)
  right = modulo(rank + 1, ranks)

  ! A structure, by addresses from its beginning
  call MPI_Get_address(sent%place, addresses(1), error)
  call MPI_Get_address(sent%charge, addresses(2), error)
  call MPI_Get_address(sent%kind, addresses(3), error)
  addresses = addresses - addresses(1)
  call MPI_Type_create_struct(3, [2, 1, 1], addresses, [MPI_DOUBLE_PRECISION, MPI_INTEGER, MPI_CHARACTER], &
       type_of_particle, error)
  call MPI_Type_commit(type_of_particle, error)
  sent = particle([0.5d0 + rank, -1d0], rank, achar(iachar('a') + rank))
  call MPI_Irecv(received, 1, type_of_particle, left, 1, MPI_COMM_WORLD, requests(1), error)
  call MPI_Send(sent, 1, type_of_particle, right, 1, MPI_COMM_WORLD, error)
  done = 0
  do while (done == 0)  ! one at a time, as it comes
    call MPI_Testany(1, requests, index, flag, statuses, error)
    if (flag) done = index
  end do
  print *, rank, 'particle', received%place, received%charge, received%kind, index, statuses(MPI_SOURCE, 1)

  ! Two variables by their addresses
  far = 100 + rank
  i = 200 + rank
  call MPI_Get_address(far, addresses(1), error)
  call MPI_Get_address(i, addresses(2), error)
  call MPI_Type_create_hindexed(2, [1, 1], addresses(1:2), MPI_INTEGER, plane, error)
  call MPI_Type_commit(plane, error)
  call MPI_Bcast(MPI_BOTTOM, 1, plane, 1, MPI_COMM_WORLD, error)
  print *, rank, 'from the bottom', far, i

  ! A row of a matrix that is stored by columns
  matrix = reshape([(100 * rank + i, i = 1, 12)], [3, 4])
  call MPI_Type_vector(4, 1, 3, MPI_INTEGER, column, error)
  call MPI_Type_commit(column, error)
  call MPI_Type_get_extent(column, lower, extent, error)
  call MPI_Sendrecv(matrix(2, 1), 1, column, right, 2, row, 4, MPI_INTEGER, left, 2, MPI_COMM_WORLD, &
       MPI_STATUS_IGNORE, error)
  print *, rank, 'row', row, lower, extent

  ! Attributes
  state = 1000
  call MPI_Comm_create_keyval(copy, delete, keyval, state, error)
  value = rank
  call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, value, error)
  call MPI_Comm_dup(MPI_COMM_WORLD, copied, error)
  call MPI_Comm_get_attr(copied, keyval, value, flag, error)
  print *, rank, 'attribute', value, flag
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, error)
  print *, rank, 'tags', value >= 32767, flag
  call MPI_Comm_free(copied, error)
  call MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval, error)
  call MPI_Comm_free_keyval(keyval, error)

  ! A grid
  dimensions = 0
  call MPI_Dims_create(ranks, 2, dimensions, error)
  call MPI_Cart_create(MPI_COMM_WORLD, 2, dimensions, [.true., .false.], .false., copied, error)
  call MPI_Cart_coords(copied, rank, 2, coordinates, error)
  call MPI_Cart_rank(copied, coordinates, place, error)
  call MPI_Cart_shift(copied, 1, 1, down, up, error)
  print *, rank, 'grid', dimensions, coordinates, place, down == MPI_PROC_NULL, up == MPI_PROC_NULL
  call MPI_Allgather(rank, 1, MPI_INTEGER, row, 1, MPI_INTEGER, copied, error)
  row(1:ranks) = row(1:ranks) * 2
  print *, rank, 'gathered', row(1:ranks)
  call MPI_Neighbor_allgather(rank, 1, MPI_INTEGER, row, 1, MPI_INTEGER, copied, error)
  print *, rank, 'neighbours', row(1:2)
  call MPI_Finalize(error)
end program
"""
MODULE_2008 = r"""
module callbacks
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
contains
  subroutine largest(in, into, length, datatype)
    type(c_ptr), value :: in, into
    integer :: length
    type(MPI_Datatype) :: datatype
    integer, pointer :: from(:), to(:)
    call c_f_pointer(in, from, [length])
    call c_f_pointer(into, to, [length])
    if (datatype /= MPI_INTEGER) print *, 'another type'
    to = max(from, to)
  end subroutine
  subroutine note_error(comm, code)
    type(MPI_Comm) :: comm
    integer :: code, class
    call MPI_Error_class(code, class)
    print *, 'handler', comm == MPI_COMM_WORLD, class == MPI_ERR_TAG
  end subroutine
end module

program main
  use mpi_f08
  use callbacks
  implicit none
  type(MPI_Status) :: status, statuses(2)
  type(MPI_Request) :: requests(2), parts(2)
  type(MPI_Comm) :: graph, half
  type(MPI_Op) :: op
  type(MPI_Errhandler) :: handler
  type(MPI_Datatype) :: type
  type(MPI_Win) :: window
  integer(MPI_ADDRESS_KIND) :: address
  integer :: rank, ranks, left, right, i, values(10), results(10), count, error, class, length, sources(1), to(1)
  integer, asynchronous :: cell(2)
  logical :: flag
  character(len=MPI_MAX_OBJECT_NAME) :: name
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  left = modulo(rank - 1, ranks)
  right = modulo(rank + 1, ranks)

  values = [(10 * rank + i, i = 1, 10)]
  results = 0
  call MPI_Irecv(results, 5, MPI_INTEGER, left, 4, MPI_COMM_WORLD, requests(1))
  call MPI_Isend(values(1:10:2), 5, MPI_INTEGER, right, 4, MPI_COMM_WORLD, requests(2))
  call MPI_Waitall(2, requests, statuses)
  call MPI_Get_count(statuses(1), MPI_INTEGER, count)
  print *, rank, 'part of an array', results(1:5), statuses(1)%MPI_SOURCE, statuses(1)%MPI_TAG, count
  call MPI_Send_init(values, 1, MPI_INTEGER, right, 5, MPI_COMM_WORLD, requests(1))
  call MPI_Recv_init(results, 1, MPI_INTEGER, left, 5, MPI_COMM_WORLD, requests(2))
  do i = 1, 3
    values(1) = rank * i
    call MPI_Startall(2, requests)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  end do
  call MPI_Request_free(requests(1))
  call MPI_Request_free(requests(2))
  print *, rank, 'persistent', results(1), requests(2) == MPI_REQUEST_NULL

  call MPI_Op_create(largest, .true., op)
  values = [(modulo(rank + i, ranks), i = 1, 10)]
  call MPI_Allreduce(values, results, 10, MPI_INTEGER, op, MPI_COMM_WORLD)
  print *, rank, 'largest', results
  call MPI_Op_free(op)
  call MPI_Allreduce(MPI_IN_PLACE, values, 10, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  print *, rank, 'in place', values
  call MPI_Get_address(values, address)
  call MPI_Type_create_hindexed(1, [2], [address], MPI_INTEGER, type)
  call MPI_Type_commit(type)
  values(1:2) = rank
  call MPI_Bcast(MPI_BOTTOM, 1, type, ranks - 1, MPI_COMM_WORLD)
  print *, rank, 'from the bottom', values(1:2)

  sources = left
  to = right
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, sources, MPI_UNWEIGHTED, 1, to, MPI_UNWEIGHTED, &
       MPI_INFO_NULL, .false., graph)
  call MPI_Dist_graph_neighbors_count(graph, i, count, flag)
  call MPI_Neighbor_allgather(rank, 1, MPI_INTEGER, results, 1, MPI_INTEGER, graph)
  print *, rank, 'graph', i, count, flag, results(1)

  call MPI_Comm_split(MPI_COMM_WORLD, modulo(rank, 2), -rank, half)
  call MPI_Comm_set_name(half, 'half')
  call MPI_Comm_get_name(half, name, length)
  call MPI_Comm_rank(half, i)
  print *, rank, trim(name), length, i

  call MPI_Comm_create_errhandler(note_error, handler)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler)
  call MPI_Errhandler_free(handler)
  call MPI_Send(i, 1, MPI_INTEGER, right, -7, MPI_COMM_WORLD, error)
  call MPI_Error_class(error, class)
  print *, rank, 'wrong tag', class == MPI_ERR_TAG

  cell = -1
  call MPI_Win_create(cell, 8_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, window)
  call MPI_Win_fence(0, window)
  call MPI_Put(rank, 1, MPI_INTEGER, right, 1_MPI_ADDRESS_KIND, 1, MPI_INTEGER, window)
  call MPI_Win_fence(0, window)
  print *, rank, 'window', cell
  call MPI_Win_free(window)

  call MPI_Ibarrier(MPI_COMM_WORLD, parts(1))
  call MPI_Wait(parts(1), MPI_STATUS_IGNORE)
  call MPI_Probe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, status)
  print *, rank, 'nobody', status%MPI_SOURCE == MPI_PROC_NULL
  call MPI_Finalize()
end program
"""
TIME = """
program main
  use mpi
  implicit none
  integer :: error, rank
  double precision :: begin
  character, allocatable :: message(:)
  allocate(message(1000000))
  message = 'a'
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  begin = MPI_Wtime()
  if (rank == 0) call MPI_Send(message, size(message), MPI_CHARACTER, 1, 1, MPI_COMM_WORLD, error)
  if (rank == 1) call MPI_Recv(message, size(message), MPI_CHARACTER, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
  if (rank == 1) print '(a, es23.16)', 'received after', MPI_Wtime() - begin
  call MPI_Finalize(error)
end program
"""


@cache
def compiler():
    """Return MPICH's compiler of Fortran, whose mpiexec lies beside it."""
    names = [f"{Path(sys.executable).parent}/mpifort", "mpifort.mpich", "mpifort"]
    for path in filter(None, map(shutil.which, names)):
        shown = subprocess.run([path, "-show"], capture_output=True, text=True, check=False).stdout
        launcher = launcher_beside(path)
        if re.search(r"-lmpich\b|-lmpi\b.*\bmpich|mpich.*-lmpi\b", shown) and launcher.is_file():
            return path if shutil.which(shown.split()[0]) else None
    return None


def launcher_beside(path):
    return Path(path).with_name(Path(path).name.replace("mpifort", "mpiexec"))


def fortran_program(folder, source, ending=".f90"):
    if compiler() is None:
        pytest.skip("no mpifort of MPICH with its compiler")
    path = folder / f"program{ending}"
    path.write_text(source)
    command = [compiler(), path.name, "-o", "program"]
    completed = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if re.search(r"Cannot open module file .mpi(_f08)?\.mod", completed.stderr):
        pytest.skip("this MPICH has no such module of Fortran")
    assert completed.returncode == 0, completed.stderr
    return folder / "program"


@pytest.mark.parametrize(
    ("source", "ending", "words"),
    [(FIXED_FORM, ".f", "sums in place"), (MODULE, ".f90", "neighbours"), (MODULE_2008, ".f90", "window")],
    ids=["mpif.h", "use mpi", "use mpi_f08"],
)
def test_a_program_of_fortran_prints_what_it_prints_under_mpiexec(tmp_path, source, ending, words):
    program = fortran_program(tmp_path, source, ending)
    launch = [launcher_beside(compiler()), "-n", "4", program]
    real = subprocess.run(launch, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=300)
    simulated = simulate("--json", "--compute", "0", "--", str(program), processes=4)
    assert (real.returncode, simulated.returncode) == (0, 0), real.stderr + simulated.stderr
    assert real.stdout.count(words) == 4
    lines = [line for line in simulated.stderr.splitlines() if not line.startswith("commmodel: ")]
    assert sorted(lines) == sorted(real.stdout.splitlines())


def test_the_clock_of_fortran_is_simulated_time(tmp_path):
    program = fortran_program(tmp_path, TIME)
    words = ("--compute", "0", "--mapping", "round-robin", "--", str(program))
    first, second = (simulate(*words, processes=2) for _ in range(2))
    times = [re.search(r"received after *(\S+)", run.stdout)[1] for run in (first, second)]
    assert times[0] == times[1]
    assert 1e6 / 125e6 < float(times[0]) < 2e6 / 125e6  # graphene's links carry 125 MB/s
