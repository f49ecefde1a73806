"""Evidence is cut into quotable units whose offsets are exact, whatever the text."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from citemesh.v1 import evidence_pb2
from services.generation.layout import LineKind
from services.generation.markup import read_plain
from services.generation.units import read_units
from tests.unit.services.generation.builders import make_evidence

_MARKUP = st.lists(
    st.sampled_from(
        ["a b. C d", "# ", "- ", "* x", "1. ", "(a) ", "| a | b |", "|---|---|", "```", "\n", "\n\n", "  ", "e.g. ",
         "`x.y`",
         "[l](http://a.b/c)", "。", "!", "?", "Dr. ", "3.5 ", "\t", "> ", "\u2028", "\r\n", "**b**"]
    ),
    max_size=40,
).map("".join)  # fmt: skip


@given(st.one_of(_MARKUP, st.text(max_size=300)), st.sampled_from([1, 2, 3, 6]))
@example("# \n- a b. C d", 1).via("an empty heading above a list")
@settings(max_examples=300, deadline=None)
def test_units_are_spans_of_the_text_in_order(text: str, kind: evidence_pb2.PassageKind.ValueType) -> None:
    units = read_units(0, make_evidence(text, kind=kind))
    for unit in units:
        assert 0 <= unit.start < unit.end <= len(text)
        assert text[unit.start : unit.end] == text[unit.start : unit.end].strip()
        if unit.lead_span is not None:
            assert 0 <= unit.lead_span[0] < unit.lead_span[1] <= len(text)
    assert [unit.start for unit in units] == sorted(unit.start for unit in units)
    for before, after in pairwise(units):
        assert before.end <= after.start


def test_a_list_knows_what_announces_it_and_what_holds_it() -> None:
    text = "There are two ways:\n\n* First, with `--a`.\n* Second:\n    - inner one\n    - inner two\n\nAfter."
    units = read_units(0, make_evidence(text))
    items = [unit for unit in units if unit.kind is LineKind.LIST_ITEM]
    assert [unit.plain for unit in items] == ["First, with --a.", "Second:", "inner one", "inner two"]
    assert all(unit.lead.startswith("There are two ways:") for unit in items)
    assert "Second:" in items[2].lead
    assert [unit.depth for unit in items] == [0, 0, 1, 1]
    assert text[items[0].start : items[0].end] == "* First, with `--a`."


def test_a_pipe_row_reads_with_its_columns() -> None:
    text = "| Grade | Days |\n|---|:---:|\n| Junior | 20 |\n| Senior | 25 |"
    units = read_units(0, make_evidence(text, kind=evidence_pb2.PASSAGE_KIND_TABLE))
    assert [unit.plain for unit in units] == ["Grade: Junior; Days: 20", "Grade: Senior; Days: 25"]
    assert text[units[1].start : units[1].end] == "| Senior | 25 |"


def test_a_part_of_a_table_takes_its_columns_from_the_context() -> None:
    evidence = make_evidence(
        "| Senior | 25 |\n| Chief | 30 |",
        kind=evidence_pb2.PASSAGE_KIND_TABLE,
        heading_context="Table 2\n| Grade | Days |\n|---|---|",
    )
    assert read_units(0, evidence)[1].plain == "Grade: Chief; Days: 30"


def test_a_printed_table_keeps_caption_and_rows_apart() -> None:
    text = "Table 3: Leave by grade.\nGrade Days Hours\nJunior 20 160\nSenior 25 200"
    units = read_units(0, make_evidence(text, kind=evidence_pb2.PASSAGE_KIND_TABLE))
    rows = [unit for unit in units if unit.kind is LineKind.TABLE_ROW]
    assert [text[row.start : row.end] for row in rows] == ["Junior 20 160", "Senior 25 200"]
    assert all("Grade Days Hours" in row.lead for row in rows)
    assert units[0].plain == "Table 3: Leave by grade."


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("Device  Price\nLaptop  900\nPhone  500", ["Device: Laptop; Price: 900", "Device: Phone; Price: 500"]),
        ("device  owner\nLaptop  Ana\nPhone  Bob", ["device: Laptop; owner: Ana", "device: Phone; owner: Bob"]),
        # A row with a cell more or less, or a header with figures: nobody can say which title is whose.
        ("Device  Price\nLaptop  900  new\nPhone  500", ["Laptop 900 new", "Phone 500"]),
        ("2024  2025\n10  20\n30  40", ["10 20", "30 40"]),
    ],
)
def test_cells_two_spaces_apart_read_with_their_titles(text: str, readings: list[str]) -> None:
    units = read_units(0, make_evidence(text, kind=evidence_pb2.PASSAGE_KIND_TABLE))
    assert [unit.plain for unit in units if unit.kind is LineKind.TABLE_ROW][-len(readings) :] == readings


def test_a_part_of_a_printed_table_takes_its_titles_from_the_context() -> None:
    evidence = make_evidence(
        "Phone  500", kind=evidence_pb2.PASSAGE_KIND_TABLE, heading_context="Table 2: Prices\nDevice  Price"
    )
    assert read_units(0, evidence)[0].plain == "Device: Phone; Price: 500"


def test_long_code_is_cut_by_entry() -> None:
    entries = [f"--flag-{number} 'value'\n  What flag number {number} does when it is set." for number in range(12)]
    units = read_units(0, make_evidence("```\n" + "\n".join(entries) + "\n```"))
    assert len(units) == 12
    assert units[3].plain.startswith("--flag-3 'value' What flag number 3")


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        ("**Bold** and _slanted_ `co_de*`", "Bold and slanted co_de*"),
        ('[words](http://a.b "title") here', "words here"),
        ("[`code`](#anchor)", "code"),
        ("- item <b>x</b>", "item x"),
        ("snake_case stays, 2 * 3 * 4 too", "snake_case stays, 2 * 3 * 4 too"),
        ('[Page]({% page "/x y/" %}) end', "Page end"),
        ("it will **not** be paid", "it will not be paid"),
    ],
)
def test_marks_come_off_and_words_stay(raw: str, plain: str) -> None:
    assert read_plain(raw) == plain


def test_addresses_stay_where_they_are_asked_for() -> None:
    assert read_plain("[the desk](https://a.b/c)", keep_addresses=True) == "the desk (https://a.b/c)"


def test_code_inside_a_list_belongs_to_its_item_and_does_not_end_the_list() -> None:
    text = "To build:\n\n1. Fetch it:\n\n   ```\n   git clone x\n   ```\n"
    text += "2. Run the script:\n\n   ```\n   ./build.sh\n   ```"
    units = read_units(0, make_evidence(text))
    code = [unit for unit in units if unit.kind is LineKind.CODE]
    items = [unit for unit in units if unit.kind is LineKind.LIST_ITEM]
    assert [unit.lead for unit in code] == ["1. Fetch it:", "2. Run the script:"]
    assert len({unit.group for unit in items}) == 1
    assert all(unit.lead == "To build:" for unit in items)
