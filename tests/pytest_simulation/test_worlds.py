"""Worlds as the controller sees them."""

import os

import pytest

from commmodel.pytest_simulation.worlds import World


@pytest.mark.parametrize("answer", [b"", b"do", b"done\n"])
def test_a_world_whose_ranks_have_gone_has_ended_though_its_answers_can_be_read(answer):
    """Both may be seen at once, where the controller is late: what was answered before counts first."""
    world = object.__new__(World)
    world._answers, answers = os.pipe()
    world._ending, ending = os.pipe()
    world._unread = b""
    os.write(answers, answer)
    for descriptor in (answers, ending):
        os.close(descriptor)
    assert world.wait() == answer.endswith(b"\n")
    assert not world.wait()
    for descriptor in (world._answers, world._ending):
        os.close(descriptor)
