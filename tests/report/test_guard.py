"""The comment, JUnit's XML, the badge and the history of a guard."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import msgspec
import pytest
from support import structs

from commmodel.errors import DamagedFileError
from commmodel.guard import Counts, GuardResult, RunCounts, SiteCounts, compare
from commmodel.machine import MeasuredTimes, ObjectTimes
from commmodel.record import SiteContent
from commmodel.report import write_guard_history
from commmodel.report.scaling.guard.badge import badge
from commmodel.report.scaling.guard.junit import junit
from commmodel.report.scaling.guard.markdown import LONGEST, MARKER, comment
from commmodel.report.scaling.guard.sending import sending_sections
from commmodel.report.scaling.guard.words import verdict_words
from commmodel.results.configurations import Function
from commmodel.scaling import Difference, Differences


def parsed(text):
    return ElementTree.fromstring(text)  # noqa: S314  (our own)


def counts(messages, calls=10, program="app"):
    site = SiteCounts("src/app.py", 12, "step", "MPI_Allreduce", calls, 80)
    return Counts(runs=tuple(RunCounts(program, p, messages=messages * p, sites=(site,)) for p in (4, 16)))


def result(before, after):
    return GuardResult(after, compare(before, after))


WORSE = result(counts(1), counts(2, 20))
USUAL = structs.sending()
PICKLE5 = ObjectTimes("dict", "pickle5", MeasuredTimes((1024, 1 << 20), (4e-7, 4e-5)))
FASTER = msgspec.structs.replace(
    USUAL, sending=(msgspec.structs.replace(USUAL.sending[0], objects=(*USUAL.sending[0].objects, PICKLE5)),)
)
"""A machine on which dictionaries go faster beside their pickle."""
SAME = result(counts(1), counts(1))


def test_the_comment_says_what_changed_where():
    text = comment(WORSE)
    assert text.startswith(f"{MARKER}\n### ❌")
    assert "| app | 16 | messages | 16 | 32 | +100 % | ✗ larger |" in text
    assert "| Allreduce | src/app.py:12 (step) | 16 | 10 → 20 | +100 % | 80 | changed |" in text
    assert text.index("| app | 16 |") < text.index("<details>") < text.index("| app | 4 |")


def test_a_comment_without_changes_is_short():
    text = comment(SAME)
    assert "### ✅ MPI communication: as the baseline" in text
    assert text.index("<details>") < 300


def test_names_of_a_program_are_no_markup():
    text = comment(GuardResult(Counts(runs=(RunCounts("<img src=x>|@team [a](b) `c`", 4, error="*no*\n# end"),))))
    assert not re.search(r"<img|@team|\[a\]|`c`|\*no\*|\n# end", text)


def test_a_comment_is_no_longer_than_github_takes():
    runs = tuple(RunCounts(f"program {number}", 4, messages=number) for number in range(3000))
    text = comment(GuardResult(Counts(runs=runs)))
    assert len(text) <= LONGEST + 1
    assert text.startswith(MARKER)
    assert "<details>" not in text or "</details>" in text


def test_the_comment_says_how_to_send_on_a_machine():
    text = comment(WORSE, sending_sections(WORSE.counts, structs.sending()))
    rows = [line for line in text.splitlines() if line.startswith("| a ")]
    assert [row.split(" | ")[0] for row in rows] == [
        "| a column of a 4096 × 4096 matrix", "| a face of a 128³ cube",
        "| a dictionary of 10000 numbers", "| a gigabyte in one piece",
    ]  # fmt: skip
    start = text.index("**How to send it**")
    assert text.index("src/app.py:12") < start < text.index("All numbers")
    lines = text[text.index("The lines for a dictionary") :]
    assert "```python\n# sender\ncomm.send(data, dest=peer, tag=tag)\n" in lines
    assert text.count("```python") == len(rows)
    assert text.count("<details>") == text.count("</details>")


def test_the_comment_names_call_sites_of_the_most_ranks_where_another_way_gains():
    sites = [
        SiteContent("app.py", line, "step", "MPI_Send", f"app.py:{line}", True, True, 5, 5, 5 * size, kind="dict")
        for line, size in ((7, 1000), (8, 9000))
    ]
    runs = [RunCounts("solver", processes, contents=(sites[processes == 16],)) for processes in (4, 16)]
    (first, _) = sending_sections(Counts(runs=tuple(runs)), FASTER)
    assert first.table.title == "Where another way to send gains"
    text = comment(GuardResult(Counts(runs=tuple(runs))), [first])
    assert "app.py:7" not in text
    assert "| app.py:8 step | MPI&#95;Send | 5 | pickled dict, 9000 B |" in text
    assert "pkl5" in text
    assert "app.py" not in comment(GuardResult(Counts(runs=tuple(runs))), sending_sections(Counts(), FASTER))


def test_junit_has_a_case_for_each_number():
    suite = parsed(junit(WORSE))[0]
    failures = [case.get("name") for case in suite if case.find("failure") is not None]
    assert failures == ["messages on 4 ranks", "messages on 16 ranks"]
    assert (suite.get("tests"), suite.get("failures")) == (str(len(suite)), "2")
    message = suite.find("testcase/failure").get("message")
    assert message == "4 → 8, +100 %; MPI_Allreduce src/app.py:12 (step): 10 → 20 calls"


def test_junit_is_xml_whatever_a_program_is_called():
    text = junit(GuardResult(Counts(runs=(RunCounts('<&"\x01', 4, error='"\x00<'),))))
    assert len(parsed(text)[0]) == 1


@pytest.mark.parametrize(("guarded", "message"), [(WORSE, "2 larger"), (SAME, "holds")])
def test_a_badge_says_the_verdict(guarded, message):
    assert msgspec.json.decode(badge("b.json", guarded))["message"] == message
    picture = parsed(badge("b.svg", guarded))
    assert picture.findtext("{http://www.w3.org/2000/svg}title") == f"MPI communication: {message}"
    assert "http" not in badge("b.svg", guarded).replace("http://www.w3.org/2000/svg", "")


def test_a_history_keeps_older_points(tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "history.html"
    for number, messages in enumerate((1, 1, 2)):
        write_guard_history(
            path, result(counts(1), counts(messages)), f"commit-{number}", f"2026-11-0{number + 1}T00:00"
        )
    page = path.read_text().replace("\xa0", " ")
    assert "3 commits" in page
    assert "Since commit-2 (2026-11-03): app, messages, p = 16: 16.0 → 32.0, +100 %, larger" in page
    assert "<svg" in page
    write_guard_history(path, SAME, "commit-2", "2026-11-04T00:00")  # the same commit again
    assert "3 commits" in path.read_text()
    assert "+100 %" not in path.read_text()


def test_a_history_is_safe_from_names(tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "history.html"
    evil = counts(1, program="</script><script>alert(1)</script>")
    for label in ("one", "two"):
        write_guard_history(path, GuardResult(evil), label, "")
    assert "<script>alert" not in path.read_text()
    assert path.read_text().count("</script>") == 1


def test_another_page_is_no_history(tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "page.html"
    path.write_text("<html></html>")
    with pytest.raises(DamagedFileError, match="no history that commmodel guard has written"):
        write_guard_history(path, SAME, "one", "")


def test_the_verdict_is_a_line():
    assert verdict_words(WORSE) == "larger than the baseline: messages of app"
    assert verdict_words(result(counts(2), counts(1))) == "smaller than the baseline, nothing larger"
    assert verdict_words(GuardResult(counts(1))) == "nothing to compare with"
    hanging = replace(SAME, counts=Counts(runs=(RunCounts("app", 4, error="deadlock"),)))
    assert verdict_words(hanging) == "one run of 1 did not come to an end"


@pytest.mark.parametrize(
    ("detectable", "words"),
    [(0.05, ""), (0.25, "; launches scatter so that times could only have shown 25 % slower"),
     (float("inf"), "; too few launches for any difference of times")],
)  # fmt: skip
def test_the_verdict_says_what_times_could_not_have_shown(detectable, words):
    row = Difference(
        Function("f", "time", ()), "s", 1.0, 1.0, (9, 9), 1.0, 0.9, 1.1, 0.5, "unclear", detectable=detectable
    )
    timed = replace(SAME, times=Differences((row,), (), (), (), ()))
    assert verdict_words(timed).replace("\xa0", " ") == f"as the baseline{words}"
