"""Several launches into one file: what is done with a file that is there."""

import pytest

from commmodel.bench.command import run


@pytest.mark.parametrize(("content", "code"), [("", 1), ("x", 2)])
def test_an_empty_file_is_begun_anew_and_any_other_is_kept(content, code, tmp_path, capfd):
    output = tmp_path / "results.jsonl"
    output.write_text(content)
    assert run(["pingpong", "--launches", "2", "--launcher", "false", "-o", str(output)]) == code
    err = capfd.readouterr().err
    assert ("launch 1 of 2 ended with exit code 1" if code == 1 else "results.jsonl exists") in err
    assert output.read_text() == content
