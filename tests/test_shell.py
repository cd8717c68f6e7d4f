"""Commands that can be pasted: they fit 80 columns, and a shell reads the same words."""

import shlex

import pytest

from commmodel.shell import WIDTH, command_lines, with_next

COMMANDS = [
    "commmodel fit results.jsonl -o machine.toml",
    "mpiexec -n 64 --bind-to core python -m commmodel.bench collective pingpong --sizes '1:4 MiB' --process-counts "
    "2,4,8,16,32,64 --time 5min --launches 10 -o a/long/folder/results.jsonl",
    f"commmodel report {' '.join(f'launch-{number}.jsonl' for number in range(20))} machine.toml -o report.html",
    "srun -n 4 sh -c 'exec \"$0\" \"$@\"' python -m commmodel.bench --note 'it is \"so\"'\\''ne' -o " + "x" * 30,
    f"commmodel predict {'m' * 100}.toml send -n 64KiB",
    "env A=b\\ c " + " ".join(f"--option-{number} value" for number in range(12)),
]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("width", [40, WIDTH, 120])
def test_a_shell_reads_the_same_words(command, width):
    lines = command_lines(command, width, "  ")
    assert shlex.split("\n".join(lines).replace("\\\n", "")) == shlex.split(command)
    assert all(line.endswith(" \\") for line in lines[:-1])
    longest_word = max(map(len, shlex.split(command, posix=False)))
    assert max(map(len, lines)) <= max(width, longest_word + len("      \\") + 1)


def test_long_commands_break_before_options():
    lines = command_lines(COMMANDS[1])
    assert [line.split()[0] for line in lines] == ["mpiexec", "--sizes", "--launches"]
    assert lines[0].endswith("python -m commmodel.bench collective pingpong \\")


def test_the_next_command_stands_on_lines_of_its_own_where_it_would_be_too_long():
    assert with_next("written to a", "commmodel fit b") == "written to a; next: commmodel fit b"
    first, *lines = with_next("written to machine.toml", COMMANDS[2]).splitlines()
    assert first == "written to machine.toml; next:"
    assert len(lines) > 2
    assert max(map(len, lines)) <= WIDTH
