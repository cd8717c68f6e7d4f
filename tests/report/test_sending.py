"""The section "How to send": a row and the lines for each example that the machine has times of."""

from support import structs
from support.report_samples import shown

from commmodel.optimize import PieceLayout, how_to_send
from commmodel.report.sections import sending_section
from commmodel.report.sending import advice_blocks, examples


def test_the_section_has_a_row_and_lines_for_each_example():
    section = sending_section(structs.sending())
    text = shown(section)
    for words in ("a column of a 4096 × 4096 matrix", "a dictionary of 10000 numbers", "a gigabyte in one piece"):
        assert words in text
    assert "comm.send(data, dest=peer, tag=tag)" in text
    page = section.on_page()
    assert page.heading == "How to send"
    assert len(page.blocks) == 1 + len(examples(structs.sending()))


def test_a_machine_without_such_times_has_no_section():
    assert sending_section(structs.overlapping()) is None


def test_an_advice_is_shown_with_its_gain_and_lines():
    text = "\n".join(map(shown, advice_blocks(how_to_send(PieceLayout(128, 8), structs.sending()))))
    assert "Best: numpy, the usual way" in text
    assert "128 pieces of 8 B, 16 B apart, any" in text
