"""Ranks and nodes of other suites' output, from job scripts or told: paths of messages, and collectives."""

import json

import pytest
from support.paths import SHARED

from commmodel import formats, optimize, predict
from commmodel.cli import main
from commmodel.errors import InputError, MissingParameterError
from commmodel.fit import fit_machine
from commmodel.formats import Placement
from commmodel.formats.job_scripts import JobScript, loaded_library, parse_placement, script_of
from commmodel.results import Measurements
from commmodel.results.configurations import Collective, Pairs, PingPong, Stream
from commmodel.simulate import delays

LATENCY = "# OSU MPI Latency Test v5.6.3\n# Size          Latency (us)\n0   0.98\n8   1.0\n1024   1.5\n65536   9.0\n"
RATES = """\
# OSU MPI Multiple Bandwidth / Message Rate Test v5.6.3
# [ pairs: 4 ] [ window size: 64 ]
# Size                  MB/s        Messages/s
8                      32.00        4000000.00
1024                 2048.00        2000000.00
"""
ALLREDUCE = "\n# OSU MPI Allreduce Latency Test v5.6.3\n# Size       Avg Latency(us)\n4   5.23\n8   5.17\n"
FULL = """\
# OSU MPI All-to-All Personalized Exchange Latency Test v7.4
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
8                       0.84              0.74              0.93        1000
"""
BARRIER = "# OSU MPI Barrier Latency Test v7.4\n# Avg Latency(us)\n             2.50\n"
NON_BLOCKING = """\
# OSU MPI Non-blocking Broadcast Latency Test v5.9
# Size            Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)
8                        9.00              5.00              4.50             88.00
"""
IMB = """\
#    Intel(R) MPI Benchmarks 2021.11, MPI-1 part
# Benchmarking Allreduce
# #processes = 4
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            0          100         0.16         0.22         0.19
            8          100         0.83         0.97         0.90
# Benchmarking Reduce_scatter
# #processes = 4
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
           64          100         0.83         1.25         0.90
# Benchmarking Barrier
# #processes = 4
 #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
         1000         0.80         0.95         0.90
"""
UNIBAND = """\
#    Intel(R) MPI Benchmarks 2019 Update 6, MPI-1 part
# Benchmarking Uniband
# #processes = {processes}
{waiting}       #bytes #repetitions   Mbytes/sec      Msg/sec
            0         1000         0.00      3861633
            8         1000        16.00      2000000
"""
SCRIPT = "#!/bin/bash\n#SBATCH --ntasks=8\n#SBATCH --ntasks-per-node=4\nsrun osu_benchmark\n"


def configurations(measurements):
    return [record.configuration for record in measurements.records]


@pytest.fixture
def job(tmp_path):
    """Return a function that writes output beside a job script and reads it."""

    def read(text, script=SCRIPT, **options):
        (tmp_path / "job.out").write_text(text)
        if script:
            (tmp_path / "job.sh").write_text(script)
        return formats.load(tmp_path / "job.out", **options)

    return read


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (SCRIPT, Placement(8, 4)),
        ("srun -n 64 --ntasks-per-node=32 ./osu\n", Placement(64, 32)),
        ("mpirun -np 8 x\n", Placement(8)),
        ("mpirun -np 8 -N 4 x\n", Placement(8, 4)),
        ("  time mpiexec -n 4 -ppn 2 x\n", Placement(4, 2)),
        ("#SBATCH -N 4\n#SBATCH --ntasks-per-node=16\nsrun ./a\n", Placement(64, 16)),
        ("#SBATCH --nodes=2\n#SBATCH --ntasks=8\nsrun x\n", Placement(8, 4)),
        ("#PBS -l select=2:ncpus=64:mpiprocs=32\nmpiexec ./a\n", Placement(64, 32)),
        ("mpirun --map-by ppr:4:node -np 16 a\n", Placement(16, 4)),
        ("#SBATCH -n 4\nsrun a\nsrun -n 2 b\n", None),
        ("srun -n 4 --ntasks-per-node=2 --distribution=cyclic x\n", Placement(4)),
        ("mpirun -np 4 -N 2 --map-by node x\n", Placement(4)),
        ("srun -N2 --ntasks-per-node=4 --mpi=pmix ./osu\n", Placement(8, 4)),
        ("srun -N1 -n2 ./osu\n", Placement(2, 2)),
        ("srun -N2 --mpi=pmix ./osu\n", Placement(2, 1)),
        ("mpirun -np4 x\n", Placement(4)),
        ("echo done\n", None),
    ],
)
def test_what_scripts_say(script, expected, tmp_path):
    (tmp_path / "run.sbatch").write_text(script)
    assert script_of(tmp_path / "log.txt").placement == expected


def test_of_several_scripts_the_one_that_names_the_output(tmp_path):
    (tmp_path / "a.sh").write_text("#SBATCH --output=log.txt\nsrun -n 4 x\n")
    (tmp_path / "b.sh").write_text("srun -n 16 x\n")
    assert script_of(tmp_path / "log.txt") == JobScript("a.sh", Placement(4))
    assert script_of(tmp_path / "b.out") == JobScript("b.sh", Placement(16))
    assert script_of(tmp_path / "other.txt") == JobScript()


def test_ranks_as_typed():
    assert parse_placement("64/32") == Placement(64, 32)
    for wrong in ("", "0", "64/0", "a", "64/32/2", "-4"):
        with pytest.raises(InputError, match="ranks"):
            parse_placement(wrong)


def test_messages_take_the_path_of_their_ranks(job):
    latency = job(LATENCY)
    assert {configuration.path for configuration in configurations(latency)} == {"same-node"}
    assert "job.sh beside it says 8 ranks, 4 on a node" in latency.notes[0]
    assert configurations(job(LATENCY, placement=Placement(2, 1)))[0] == PingPong(0, "between-nodes")
    assert configurations(job(RATES))[0] == Stream(8, 4, "between-nodes", 64, buffers="one")
    assert configurations(job(RATES, placement=Placement(8, 8)))[0].path == "same-node"
    with pytest.raises(InputError, match="some of its pairs are on one node"):
        job(RATES, placement=Placement(8, 6))


def test_without_any_word_paths_are_any(job):
    assert configurations(job(LATENCY, script=""))[0].path == "any"


def test_several_latencies_at_once(job):
    text = LATENCY.replace("Latency Test", "Multi Latency Test")
    assert configurations(job(text))[0] == Pairs(0, 4, "between-nodes", 1)


@pytest.mark.parametrize(
    ("text", "expected", "seconds"),
    [
        (ALLREDUCE, Collective("allreduce", 4, 8, per_node=4), 5.23e-6),
        (FULL, Collective("alltoall", 8, 8, per_node=4), 0.93e-6),
        (BARRIER, Collective("barrier", 0, 8, per_node=4), 2.5e-6),
        (NON_BLOCKING, Collective("bcast", 8, 8, mode="non-blocking", per_node=4), 4.5e-6),
    ],
)
def test_collectives_of_osu(text, expected, seconds, job):
    first = next(iter(job(text).records))
    assert first.configuration == expected
    assert first.samples == pytest.approx([seconds])


def test_collectives_without_their_ranks_say_what_is_missing(job):
    with pytest.raises(InputError, match=r"osu_allreduce is left out: how many ranks .* --ranks"):
        job(ALLREDUCE, script="")


def test_other_tests_are_named_by_their_titles(job):
    with pytest.raises(InputError, match="'OSU MPI Unheard-of Latency Test' is left out"):
        job("# OSU MPI Unheard-of Latency Test v7.4\n# Size Latency(us)\n8  1.0\n")


def test_collectives_of_imb(job):
    assert configurations(job(IMB, script="")) == [
        Collective("allreduce", 0, 4), Collective("allreduce", 8, 4), Collective("reduce_scatter", 16, 4),
        Collective("barrier", 0, 4),
    ]  # fmt: skip


def test_pairs_of_uniband(job):
    waits = "# ( 4 additional processes waiting in MPI_Barrier)\n"
    alone = configurations(job(UNIBAND.format(processes=8, waiting=""), script=""))
    assert alone == [Stream(8, 4, "any", 64, buffers="one")]
    with pytest.raises(InputError, match="processes wait beside it"):
        job(UNIBAND.format(processes=4, waiting=waits), script="")
    assert configurations(job(UNIBAND.format(processes=4, waiting=waits)))[0].path == "same-node"
    with pytest.raises(InputError, match="not all of its pairs take one path"):
        job(UNIBAND.format(processes=6, waiting=waits))


def test_a_folder_is_all_of_its_files(tmp_path):
    for name, text in (("latency", LATENCY), ("rates", RATES), ("allreduce", ALLREDUCE)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "job.out").write_text(text)
        (tmp_path / name / "job.sh").write_text(SCRIPT)
    (tmp_path / "README").write_text("these are ours\n")
    measurements = formats.load_all([tmp_path])
    assert {type(configuration) for configuration in configurations(measurements)} == {PingPong, Stream, Collective}
    assert any("README" in note for note in measurements.notes)
    assert sum("beside it says" in note for note in measurements.notes) == 1
    assert any("and 2 more outputs, by the scripts beside them" in note for note in measurements.notes)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="a folder without files"):
        formats.load_all([tmp_path / "empty"])


def test_a_collective_from_a_folder_of_latency_and_bandwidth(tmp_path, capsys):
    for name, text in (("latency", LATENCY), ("rates", RATES)):
        (tmp_path / f"{name}.txt").write_text(text)
    command = ["predict", str(tmp_path), "allreduce", "-n", "8", "-p", "64", "--json"]
    assert main(command) == 0
    answer = json.loads(capsys.readouterr().out)
    assert 0 < answer["low"] < answer["seconds"] < answer["high"]
    assert any("o and g are bounds" in remark for remark in answer["remarks"])


def test_bounds_hold_latency_together():
    latency = "".join(f"{size}   {1 + size / 1000}\n" for size in (0, 8, 64, 256, 1024, 4096, 16384))
    text = "# OSU MPI Latency Test v7.4\n# Size  Avg Latency(us)\n" + latency
    from pathlib import Path

    measurements = formats.osu.parse(formats.Text(Path("latency.txt"), tuple(text.splitlines())))
    (segment,) = fit_machine(measurements).segments
    assert segment.loggp.bounded
    assert segment.loggp.L.value + 2 * segment.loggp.o.value == pytest.approx(segment.postal.alpha.value)
    assert segment.postal.beta == segment.loggp.G


def test_bounds_serve_collectives_alone(job):
    machine = fit_machine(job(LATENCY + "262144   30.0\n1048576   110.0\n", placement=Placement(2, 1)))
    assert any(segment.loggp.bounded for segment in machine.segments)
    assert not {"loggp", "logp"} & predict.send(machine, 8).models.keys()
    with pytest.raises(MissingParameterError, match="loggp"):
        delays.from_machine(machine)
    with pytest.raises(MissingParameterError):
        optimize.choose(machine, optimize.TransferProblem(volume=1 << 20, computation=1e-4))


def test_the_public_tables_of_a_real_system(tmp_path):
    import tarfile

    archive = SHARED / "public" / "hpc-tests" / "csd3.tar.xz"
    if not archive.exists():
        pytest.skip("the public record is not beside the checkout")
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    measurements = formats.load_all([tmp_path / "csd3" / "cclake-ib-gcc9-ompi3-ucx" / "omb"])
    machine = fit_machine(measurements)
    assert machine.paths == ("between-nodes",)
    time = predict.send(machine, 8, processes=56).time
    assert time.low < 0.797e-6 < time.high
    collectives = [
        configuration for configuration in configurations(measurements) if isinstance(configuration, Collective)
    ]
    assert {configuration.processes for configuration in collectives} == {64}


def test_real_collectives():
    if not (SHARED / "suites").exists():
        pytest.skip("the shared data are not beside the checkout")
    osu = formats.load(SHARED / "suites" / "osu_allreduce_full.txt", placement=Placement(2))
    assert configurations(osu)[0] == Collective("allreduce", 4, 2)
    imb = formats.load(SHARED / "suites" / "imb_collectives.txt")
    assert {(configuration.operation, configuration.processes) for configuration in configurations(imb)} == {
        ("allreduce", 2),
        ("bcast", 2),
    }


JULIA = """\
size (bytes),iterations,min_time (seconds),max_time (seconds),avg_time (seconds)
0,100,1.2e-6,4.8e-6,3.1e-6
4,100,6.1e-6,6.3e-6,6.2e-6
"""
PJM = """\
#!/bin/bash
#PJM -L "node=4x6x16:torus:strict-io"  # Number of nodes
#PJM --mpi proc=1536
mpiexecjl --project=. -np 1536 julia collective.jl
"""


def test_tables_of_julia_are_named_by_their_files(tmp_path):
    (tmp_path / "job.sh").write_text(PJM)
    path = tmp_path / "julia_imb_allreduce.csv"
    path.write_text(JULIA)
    records = [*formats.load(path).records]
    assert records[1].configuration == Collective("allreduce", 4, 1536, per_node=4)
    assert records[1].samples == (6.3e-6,)
    path.rename(tmp_path / "mine.csv")
    with pytest.raises(InputError, match="the file's name must end in the benchmark"):
        formats.load(tmp_path / "mine.csv")


def test_a_latency_of_julia_is_a_ping_pong(tmp_path):
    path = tmp_path / "julia_osu_latency.csv"
    path.write_text("size (bytes),iterations,latency (seconds)\n8,1000,1.25e-6\nreal 0m3s\n")
    read = formats.load(path)
    assert [(record.configuration, record.samples) for record in read.records] == [(PingPong(8, "any"), (1.25e-6,))]
    assert "real 0m3s" in read.notes[0]
    path.write_text("size (bytes),iterations,latency (seconds)\n8,1000\n")
    with pytest.raises(InputError, match="line 2: 2 columns"):
        formats.load(path)


def test_imb_tables_as_csv_are_microseconds(tmp_path):
    path = tmp_path / "imb_reduce.csv"
    path.write_text("#bytes,#repetitions,t_min[usec],t_max[usec],t_avg[usec]\n4,1000,0.60,8.30,1.34\n")
    (record,) = formats.load(path, placement=Placement(60, 4)).records
    assert record.samples == pytest.approx((8.3e-6,))
    with pytest.raises(InputError, match="--ranks"):
        formats.load(path)


@pytest.mark.parametrize(
    ("line", "library"),
    [
        ("module load openmpi-3.1.6-gcc-9.1.0-omffmfv", "Open MPI 3.1.6"),
        ("  module load gcc/12 OpenMPI/4.1.4-GCC-11.3.0", "Open MPI 4.1.4"),
        ("spack load mpich@4.1.2", "MPICH 4.1.2"),
        ("module swap PrgEnv-cray cray-mpich/8.1.25", "Cray MPICH 8.1.25"),
        ("ml mvapich2/2.3.7", "MVAPICH2 2.3.7"),
        ("module load intel-mpi/2021.9", "Intel MPI 2021.9"),
        ("module load osu-micro-benchmarks-5.6.3-openmpi", ""),
        ("# module load openmpi/4.1.4", ""),
        ("module load openmpi/4.1.4 mpich/4.1", ""),
    ],
)
def test_a_script_tells_the_library_that_it_loads(line, library):
    assert loaded_library(["#!/bin/bash", line, "srun ./osu_latency"]) == library


def test_the_library_of_a_job_script_picks_the_algorithms(tmp_path):
    (tmp_path / "latency.out").write_text(LATENCY)
    (tmp_path / "job.sh").write_text("#SBATCH -N 2 -n 2\nmodule load openmpi/4.0.5\nsrun osu_latency > latency.out\n")
    read = formats.load_all([tmp_path])
    assert read.launches[0].header.mpi.version == "Open MPI 4.0.5 (by its job script)"
    assert "job.sh beside it says 2 ranks, 1 on a node, Open MPI 4.0.5" in read.notes[0]
    assert fit_machine(read).selector_name == "openmpi-4.0"
    (tmp_path / "job.sh").unlink()
    unsaid = formats.load_all([tmp_path])
    assert fit_machine(unsaid).selector_name == "mpich"
    assert fit_machine(Measurements((*read.launches, *unsaid.launches))).selector_name == "openmpi-4.0"
