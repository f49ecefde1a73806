"""Tables as passages: whole where they fit, else parts of whole rows, each under the caption and every column title."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from services.documents.parsing.blocks import Block, Line, ParsedDocument
from services.documents.parsing.pdf_table_block import Row, make_table
from services.documents.sections import build_sections
from services.documents.splitting.passages import Lengths, make_passages

Count = Callable[[Sequence[str]], list[int]]


def wide_table(rows: int) -> Block:
    titles = ["keeper", *(f"reading of the lamp in week number {number}" for number in range(25))]
    made = [
        Row([(0, f"keeper {row}"), *((column, str(row * column)) for column in range(1, 26))], (0, 0, 9, 9))
        for row in range(rows)
    ]
    return make_table([Line("Table 7: Readings by week.", 1, (0, 0, 9, 9))], titles, (0, 0, 9, 9), made, 1)


def test_parts_of_a_long_table_know_all_its_columns(count_tokens: Count) -> None:
    table = wide_table(40)
    document = ParsedDocument("pdf", blocks=[table])
    passages = make_passages(document, build_sections(document), count_tokens, "en", Lengths())
    assert len(passages) > 2
    assert passages[0].label == "table 7"
    for passage in passages[1:]:
        caption, header = passage.heading_context.split("\n")
        assert caption == "Table 7: Readings by week."
        assert header.split("  ") == table.columns
        assert all(len(row.split("  ")) == len(table.columns) for row in passage.text.split("\n"))
    rows = [row for passage in passages for row in passage.text.split("\n") if re.match(r"keeper \d", row)]
    assert len(rows) == 40


def test_a_table_that_fits_is_one_passage_with_its_caption(count_tokens: Count) -> None:
    document = ParsedDocument("pdf", blocks=[wide_table(1)])
    (passage,) = make_passages(document, build_sections(document), count_tokens, "en", Lengths())
    assert passage.text.startswith("Table 7: Readings by week.\nkeeper  reading of the lamp in week number 0")
