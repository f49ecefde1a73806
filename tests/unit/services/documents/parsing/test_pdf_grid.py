"""Ruled tables: cells, spans, titles over groups, rows without lines between, and what is no table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.documents.parsing.blocks import Block, BlockKind
from services.documents.parsing.pdf import parse_pdf
from services.documents.parsing.pdf_grid_table import find_bands
from services.documents.parsing.pdf_rules import Rule, join_rules
from services.documents.parsing.pdf_table_block import Title, spread_titles
from tests.unit.services.documents.conftest import HEIGHT, NewPdf, PdfWriter

XS = (72.0, 172.0, 272.0, 372.0)


def tables_of(path: Path) -> list[Block]:
    return [block for block in parse_pdf(path, "", 100).blocks if block.kind is BlockKind.TABLE]


def rule(page: PdfWriter, xs: Sequence[float], ys: Sequence[float]) -> None:
    for x in xs:
        page.canvas.line(x, ys[0], x, ys[-1])
    for y in ys:
        page.canvas.line(xs[0], y, xs[-1], y)


def write(page: PdfWriter, x: float, y: float, *lines: str) -> None:
    page.canvas.setFont("Helvetica", 9)
    for number, line in enumerate(lines):
        page.canvas.drawString(x + 4, y - 12 - 11 * number, line)


def test_cells_of_several_lines_are_read_whole(pdf: NewPdf) -> None:
    page = pdf("a.pdf")
    page.line("Table 4: Duties of the keepers by day and by night.", gap=0)
    ys = [HEIGHT - 120 - 40 * number for number in range(4)]
    rule(page, XS, ys)
    rows = (
        (("Keeper",), ("By day",), ("By night",)),
        (("Ada",), ("cleans the lamp", "and fills it"), ("lights it and", "watches it")),
        (("Bo",), ("mends the boat",), ("sleeps until", "the bell rings")),
    )
    for number, cells in enumerate(rows):
        for x, lines in zip(XS, cells, strict=False):
            write(page, x, ys[number], *lines)
    (table,) = tables_of(page.save())
    assert table.columns == ["Keeper", "By day", "By night"]
    assert (table.caption_count, table.header_count) == (1, 1)
    assert table.text.split("\n")[2:] == [
        "Ada  cleans the lamp and fills it  lights it and watches it",
        "Bo  mends the boat  sleeps until the bell rings",
    ]
    assert table.lines[2].box == pytest.approx((76, HEIGHT - 185, 322, HEIGHT - 163), abs=3)


def test_a_title_over_two_columns_counts_for_both(pdf: NewPdf) -> None:
    page = pdf("a.pdf")
    ys = [700.0, 680.0, 660.0, 640.0]
    rule(page, XS, ys[1:])
    for x in (XS[0], XS[1], XS[3]):
        page.canvas.line(x, ys[0], x, ys[1])
    page.canvas.line(XS[0], ys[0], XS[-1], ys[0])
    write(page, XS[0], ys[0], "Keeper")
    write(page, XS[1] + 70, ys[0], "Hours")
    for number, cells in enumerate((("", "day", "night"), ("Ada", "8", "9"))):
        for x, text in zip(XS, cells, strict=False):
            write(page, x, ys[number + 1], text)
    (table,) = tables_of(page.save())
    assert table.columns == ["Keeper", "Hours day", "Hours night"]
    assert table.cells == [[(0, "Ada"), (1, "8"), (2, "9")]]


def test_a_cell_over_two_rows_names_both(pdf: NewPdf) -> None:
    page = pdf("a.pdf")
    ys = [700.0, 680.0, 660.0, 640.0]
    rule(page, XS[1:], ys)
    for y in (ys[0], ys[1], ys[3]):
        page.canvas.line(XS[0], y, XS[1], y)
    page.canvas.line(XS[0], ys[0], XS[0], ys[3])
    for x, text in zip(XS, ("Tower", "Keeper", "Hours"), strict=False):
        write(page, x, ys[0], text)
    write(page, XS[0], ys[1], "north")
    for number, cells in enumerate((("Ada", "8"), ("Bo", "9"))):
        for x, text in zip(XS[1:], cells, strict=False):
            write(page, x, ys[number + 1], text)
    (table,) = tables_of(page.save())
    assert table.cells == [[(0, "north"), (1, "Ada"), (2, "8")], [(0, "north"), (1, "Bo"), (2, "9")]]
    assert [line.text for line in table.lines[1:]] == ["north  Ada  8", "  Bo  9"]


def test_rows_without_lines_between_are_told_by_their_baselines(pdf: NewPdf) -> None:
    page = pdf("a.pdf")
    xs = [72.0, 152.0, 232.0, 312.0, 392.0]
    rule(page, xs, [700.0, 680.0, 600.0])
    for x, text in zip(xs, ("Keeper", "oil", "wicks", "bread"), strict=False):
        write(page, x, 700, text)
    for number in range(5):
        for column, x in enumerate(xs[:-1]):
            write(page, x, 680 - 14 * number, f"{number}.{column}")
    (table,) = tables_of(page.save())
    assert [line.text for line in table.lines[1:]] == [f"{n}.0  {n}.1  {n}.2  {n}.3" for n in range(5)]


def test_frames_around_text_and_drawings_are_no_tables(pdf: NewPdf) -> None:
    page = pdf("a.pdf")
    for text in ("The keeper shall write down each reading on the day it is made and",) * 4:
        page.line(text)
    rule(page, (60.0, 540.0), (HEIGHT - 70, HEIGHT - 150))
    page.canvas.rect(100, 300, 200, 100)
    page.canvas.rect(120, 320, 60, 40)
    write(page, 130, 350, "a box")
    assert tables_of(page.save()) == []


def test_real_ruled_tables_are_read_by_cell(shared_data: Path) -> None:
    folder = shared_data / "pdfs" / "tables"
    authority = next(t for t in tables_of(folder / "redp5110_sampled.pdf") if t.text.startswith("Table 2-2"))
    # Its titles stand upright in narrow columns.
    assert authority.columns[:3] == ["User action", "*JOBCTL", "QIBM_DB_SECADM"]
    assert authority.columns[5] == "No Authority"
    visual = next(row for row in authority.cells if row[0][1].startswith("Visual Explain within"))
    assert [column for column, _ in visual[1:]] == [1, 3, 4, 5]
    (checks,) = tables_of(folder / "nics-background-checks-2015-11.pdf")
    washington = next(row for row in checks.cells if row[0][1] == "Washington")
    assert {checks.columns[column]: text for column, text in washington}["Private Sale Long Gun"] == "340"
    korean = next(t for t in tables_of(folder / "normal_4pages.pdf") if t.columns)
    assert korean.columns == ["구분", "개정전", "개정후"]
    assert all(len(row) == 3 for row in korean.cells)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 4)), min_size=1, max_size=30))
def test_bands_are_in_order_and_apart(starts: list[tuple[int, int]]) -> None:
    bands = find_bands([(start, start + length) for start, length in starts])
    assert bands == sorted(bands)
    narrow = [(start, start + length) for start, length in starts if length == 0]
    assert all(any(first <= place[0] <= last for first, last in bands) for place in narrow)


@given(st.lists(st.tuples(st.sampled_from([10.0, 10.9, 50.0]), st.floats(0, 90), st.floats(5, 30)), max_size=20))
def test_joined_lines_cover_what_was_drawn(drawn: list[tuple[float, float, float]]) -> None:
    joined = join_rules(Rule(place, start, start + length) for place, start, length in drawn)
    for place, start, length in drawn:
        assert any(
            abs(rule.place - place) < 1 and rule.start <= start and start + length <= rule.end + 1e-9 for rule in joined
        )


def test_titles_stand_over_the_middle_of_their_columns() -> None:
    columns = [(100.0 * number, 100.0 * number + 60) for number in range(6)]
    titles = [Title("oil", 215, 245), Title("wicks", 460, 500)]
    below = ["keeper", "day", "night", "noon", "day", "night"]
    # "oil" is over the columns 1 to 3, "wicks" over 4 and 5.
    assert spread_titles(titles, columns, below) == ["", "oil", "oil", "oil", "wicks", "wicks"]
    assert spread_titles([], columns) == [""] * 6
    assert spread_titles(titles, []) == []
