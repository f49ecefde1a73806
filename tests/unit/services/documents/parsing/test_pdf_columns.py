"""Two and three columns are read one after the other, in whatever order the file draws them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.documents.parsing.blocks import BlockKind
from services.documents.parsing.pdf import parse_pdf
from services.documents.parsing.pdf_columns import restore_columns
from services.documents.parsing.pdf_text import TextLine, Word
from tests.unit.services.documents.conftest import NewPdf

WORDS = ("keeper", "lamp", "oil", "rope", "night", "shore", "wick", "tower", "storm", "bread")


def sentence(column: int, row: int) -> str:
    """Four words and a number that tells where the line belongs."""
    return " ".join(WORDS[(column * 3 + row + step) % 10] for step in range(4)) + f" {column}{row:02}"


def write_columns(pdf: NewPdf, count: int, *, across: bool) -> Path:
    page = pdf("a.pdf")
    page.line("A title that runs over the whole width of the page and all its columns", size=14, bold=True, gap=40)
    top, width = page.y, 460 / count
    rows = [(column, row) for column in range(count) for row in range(14)]
    for column, row in sorted(rows, key=lambda place: place[::-1]) if across else rows:
        page.y = top - 12 * row
        page.line(sentence(column, row), x=72 + column * width, size=9)
    return page.save()


@pytest.mark.parametrize("across", [False, True])
@pytest.mark.parametrize("count", [2, 3])
def test_columns_are_read_one_after_the_other(pdf: NewPdf, count: int, across: bool) -> None:
    document = parse_pdf(write_columns(pdf, count, across=across), "", 10)
    text = " ".join(block.text for block in document.blocks)
    places = [text.index(sentence(column, row)) for column in range(count) for row in range(14)]
    assert places == sorted(places)
    assert document.blocks[0].kind is BlockKind.HEADING


def test_a_table_is_not_taken_for_columns(pdf: NewPdf) -> None:
    page = pdf("a.pdf")
    for number in range(12):
        page.row([(72, f"wick {number}"), (200, f"{number}.5"), (300, f"{number * 7} pence")])
    (table,) = parse_pdf(page.save(), "", 10).blocks
    assert table.kind is BlockKind.TABLE
    assert table.text.split("\n")[3] == "wick 3  3.5  21 pence"


LINES = st.lists(st.tuples(st.integers(40, 300), st.integers(60, 780), st.integers(1, 9)), min_size=1, max_size=40)


@given(LINES)
def test_no_word_is_lost_or_doubled(places: list[tuple[int, int, int]]) -> None:
    lines = [
        TextLine(
            [Word(f"{number}.{step}", x + 30 * step, x + 30 * step + 26, y, y + 9, 0) for step in range(count)],
            size=9.0,
            bold=False,
            fixed_width=False,
        )
        for number, (x, y, count) in enumerate(places)
    ]
    read = [word.text for line in restore_columns(lines) for word in line.words]
    assert sorted(read) == sorted(word.text for line in lines for word in line.words)


def test_real_pages_of_two_columns_keep_sentences_whole(shared_data: Path) -> None:
    document = parse_pdf(shared_data / "pdfs" / "multicolumn" / "tracemonkey.pdf", "", 100)
    text = " ".join(" ".join(block.text.split()) for block in document.blocks)
    for words in (
        "Dynamic languages such as JavaScript are more difficult to compile than statically typed ones.",
        "We present an alternative compilation technique for dynamically-typed languages",
    ):
        assert words in text
