"""Fixtures of the tests of other suites' output."""

import pytest


@pytest.fixture
def write_file(tmp_path):
    """A function that writes a text and returns its path; the name says nothing about the format."""

    def write(text, name="file.dat"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write
