"""Wrong uses of MPI that are seen in programs of C alone: threads, places of calls, variables and their types."""

import json

import pytest
from support.simulated_runs import simulable_program, simulate

pytestmark = [pytest.mark.mpi, pytest.mark.simulated]

FRAME = """
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
static int world_rank, numbers[4];
struct pair {{ int first; double second; }};
static void *call(void *argument) {{ MPI_Barrier(argument ? *(MPI_Comm *)argument : MPI_COMM_WORLD); return NULL; }}
static void in_threads(int count, MPI_Comm *communicators) {{
    pthread_t threads[2];
    for (int i = 0; i < count; i++) pthread_create(&threads[i], NULL, call, communicators ? &communicators[i] : NULL);
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
}}
static void make_window(MPI_Win *window) {{
    int local[4];
    MPI_Win_create(local, sizeof local, 1, MPI_INFO_NULL, MPI_COMM_WORLD, window);
}}
static void ignore(void *at) {{ *(char *)at = 0; }}
int main(int argc, char **argv) {{
    int level;
    {before}
    MPI_Init_thread(&argc, &argv, {level}, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    const int other = 1 - world_rank;
    {body}
    {end}
    MPI_Finalize();
}}
"""
EXCHANGE = "MPI_Sendrecv({sent}, other, 1, {received}, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);"
EMPTY = "NULL, 0, MPI_INT"


def findings_of(folder, body, level="MPI_THREAD_MULTIPLE", before="", end=""):
    """Simulate a program of C with checks; return kinds and sentences of what is found, and the error output."""
    source = FRAME.format(body=body, level=level, before=before, end=end)
    program = simulable_program(folder, source)
    done = simulate("--check", "--json", "--compute", "0", "--", program, processes=2)
    listed = json.loads(done.stdout)["findings"] if done.stdout else []
    return [(finding["kind"], finding["sentence"]) for finding in listed], done.stderr


@pytest.mark.parametrize(
    ("level", "body", "words"),
    [
        ("MPI_THREAD_FUNNELED", "in_threads(1, NULL);", "another thread than the one that initialised MPI"),
        ("MPI_THREAD_SERIALIZED",
         "MPI_Comm two[2]; MPI_Comm_dup(MPI_COMM_WORLD, two); MPI_Comm_dup(MPI_COMM_WORLD, two + 1);"
         "in_threads(2, two); MPI_Comm_free(two); MPI_Comm_free(two + 1);", "while another one of the rank does"),
        ("MPI_THREAD_SINGLE", "pthread_t one; pthread_create(&one, NULL, (void *(*)(void *))free, NULL);"
         "pthread_join(one, NULL); MPI_Barrier(MPI_COMM_WORLD);", "several threads"),
    ],
)  # fmt: skip
def test_calls_of_threads_that_the_level_does_not_allow_are_named(level, body, words, tmp_path):
    findings, _ = findings_of(tmp_path, body, level)
    assert {kind for kind, _ in findings} == {"wrong thread"}
    assert any(words in sentence and level in sentence for _, sentence in findings)


def test_two_threads_in_collectives_on_one_communicator_are_named(tmp_path):
    findings, _ = findings_of(tmp_path, "in_threads(2, NULL);")
    assert [kind for kind, _ in findings] == ["collectives in different orders"]
    assert "another thread of the rank" in findings[0][1]


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ({"before": "MPI_Send(numbers, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);"}, "MPI_Send is called before MPI_Init"),
        ({"end": "MPI_Finalize();"}, "calls MPI_Finalize after MPI_Finalize"),
    ],
)
def test_a_call_before_the_beginning_or_after_the_end_of_mpi_is_named(place, words, tmp_path):
    _, errors = findings_of(tmp_path, "", **place)
    assert any(line.startswith("commmodel: rank ") and words in line for line in errors.splitlines())
    assert "exit code" not in errors


def test_memory_of_a_function_that_has_returned_is_named_as_a_window_and_as_a_buffer(tmp_path):
    findings, _ = findings_of(tmp_path, "MPI_Win window; make_window(&window); MPI_Win_free(&window);")
    assert [kind for kind, _ in findings] == ["freed memory of a window"]


def test_a_received_datatype_whose_entries_lie_on_one_another_is_named(tmp_path):
    type_of = "MPI_Datatype rows; MPI_Type_create_hvector(3, 1, 3, MPI_INT, &rows); MPI_Type_commit(&rows);"
    exchange = "void *memory = malloc(64);" + EXCHANGE.format(sent="numbers, 3, MPI_INT", received="memory, 1, rows")
    findings, _ = findings_of(tmp_path, f"{type_of} {exchange} MPI_Type_free(&rows);")
    assert [kind for kind, _ in findings] == ["overlapping receive buffers"]
    assert "two entries" in findings[0][1]


WRONG = {
    "int few[2] = {1}": ("few, 3, MPI_INT", "buffer overrun", "12 bytes of few, which has 8 (int[2])"),
    "int sum = 1": ("&sum, 1, MPI_DOUBLE", "buffer overrun", "8 bytes of sum, which has 4 (int)"),
    "int whole[2] = {1}": ("whole, 2, MPI_UNSIGNED", "memory of another type", "uint32 whole, which is int[2]"),
    "long *wide = calloc(2, 8)":
        ("wide, 2, MPI_INT", "memory of another type", "int32 where wide points to, which is long int"),
    "ignore(numbers)":
        ("numbers + 2, 3, MPI_INT", "buffer overrun", "12 bytes from byte 8 of numbers, which has 16 (int[4])"),
}  # fmt: skip


@pytest.mark.parametrize("statement", WRONG)
def test_a_buffer_that_is_not_what_the_variable_is_is_named(statement, tmp_path):
    pytest.importorskip("elftools", reason="nothing reads debug information")
    sent, kind, words = WRONG[statement]
    body = f"{statement}; if (world_rank == 0) MPI_Send({sent}, 1, 1, MPI_COMM_WORLD); else {{ char got[64];"
    count, datatype = sent.split(", ")[1:]
    body += f"MPI_Recv(got, {count}, {datatype}, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }}"
    findings, _ = findings_of(tmp_path, body)
    assert [pair[0] for pair in findings] == [kind]
    assert words in findings[0][1]


STRUCTURE = """
MPI_Datatype type;
struct pair pair = {1, 2.0}, got;
MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, OFFSET}, (MPI_Datatype[]){MPI_INT, MPI_DOUBLE}, &type);
MPI_Type_commit(&type);
MPI_Sendrecv(&pair, 1, type, other, 1, &got, 1, type, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
MPI_Type_free(&type);
"""


@pytest.mark.parametrize(("offset", "is_right"), [("8", True), ("4", False)])
def test_members_of_a_structure_are_found_where_its_datatype_has_them(offset, is_right, tmp_path):
    pytest.importorskip("elftools", reason="nothing reads debug information")
    findings, _ = findings_of(tmp_path, STRUCTURE.replace("OFFSET", offset))
    assert is_right == (not findings)
    assert {kind for kind, _ in findings} <= {"memory of another type"}
    assert is_right or "double at byte 4 pair, which is struct pair" in findings[0][1]


RIGHT = [
    "char packed[64]; double one = 1; int at = 0; MPI_Pack(&one, 1, MPI_DOUBLE, packed, 64, &at, MPI_COMM_WORLD);"
    + EXCHANGE.format(sent="packed, at, MPI_PACKED", received="&one, 1, MPI_DOUBLE"),
    "double grid[4][4] = {{0}}; MPI_Datatype column; MPI_Type_vector(4, 1, 4, MPI_DOUBLE, &column);"
    "MPI_Type_commit(&column);"
    + EXCHANGE.format(sent="&grid[0][3], 1, column", received="&grid[0][0], 1, column")
    + "MPI_Type_free(&column);",
    "int size = 8; double sums[size]; void *memory = malloc(64); ignore(sums);"
    + EXCHANGE.format(sent="memory, 8, MPI_DOUBLE", received="sums, 8, MPI_DOUBLE"),
    "struct pair *pairs = calloc(4, sizeof *pairs);"
    + EXCHANGE.format(sent="&pairs[1].second, 1, MPI_DOUBLE", received="&pairs[2].second, 1, MPI_DOUBLE"),
]


@pytest.mark.parametrize("body", RIGHT)
def test_buffers_that_suit_their_variables_are_not_accused(body, tmp_path):
    assert findings_of(tmp_path, body)[0] == []
