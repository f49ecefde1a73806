"""Evidence and claims that cannot be read cheaply by backtracking are judged at once: nobody else waits for them."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from services.validation.agreement import find_disagreement
from services.validation.labels import Place, find_label_fault
from services.validation.quantities import find_quantities
from services.validation.settings import ValidationSettings
from services.validation.table_head import find_table_head
from services.validation.validate import validate
from services.validation.words import strip_markers
from tests.unit.services.validation.builders import NOW, cite, claim, evidence, request

SIZE = 100_000  # characters, the longest text that a passage may have


@pytest.fixture(autouse=True)
def within_a_second() -> Iterator[None]:
    start = time.thread_time()
    yield
    assert time.thread_time() - start < 1.0


def repeat(unit: str, size: int = SIZE) -> str:
    return (unit * (size // len(unit) + 1))[:size]


def test_a_row_below_a_cell_of_dashes_and_words() -> None:
    above = f"| Vehicle | Fee |\n| {'-' * 60} other vehicles below | |\n"
    assert find_table_head(f"{above}| Car | 40 |", len(above), is_table=False) == ""
    assert find_table_head(f"| {repeat('-')} x |\n| Car | 40 |", SIZE + 7, is_table=False) == ""
    assert find_table_head("| Vehicle | Fee |\n|----|:--:|\n| Car | 40 |", 31, is_table=False) == "| Vehicle | Fee |"


@pytest.mark.parametrize("unit", ["\n", "\t", " ", "\n)", "(\n", "(a)\n", "-", "[1", "1", "1 ", "1. ", "111 ", "| a\n"])
def test_white_space_marks_and_digits(unit: str) -> None:
    source = evidence(f"It is 3 days.{repeat(unit)}x")
    validate(
        request("How many days is it?", [claim("Row (b) of Table 3 says 5 days [1]", cite(source))], [source]),
        NOW,
        ValidationSettings(),
        None,
    )


@pytest.mark.parametrize("unit", ["§", "§ ", "Part I of ", "Table 1 of the Act "])
def test_signs_of_places(unit: str) -> None:
    find_label_fault("Table 1 says so.", unit * (40_000 // len(unit)), Place("", ""))


def test_many_labels_and_rows_in_one_claim() -> None:
    text = "Table 1 shows rows. Row (a) is long.\n(a) first row of Table 1\n"
    place = Place(text * 200, text)
    find_label_fault("Table 1, row (a), " * 200, text * 200, place)
    find_disagreement("Table 1, row (a), " * 200, text * 200, place)


def test_parts_of_a_named_place_bear_its_number() -> None:
    place = Place("", "")
    assert find_label_fault("Section 3.1 says so.", "As Section 3.1.4 says.", place) == ""
    assert find_label_fault("Section 3.1 says so.", "As Section 3.12 says.", place) != ""


@pytest.mark.parametrize("kind", ["Table", "Figure"])
def test_a_place_is_not_the_one_whose_number_goes_on(kind: str) -> None:
    assert find_label_fault(f"{kind} 5 sets the limit.", f"{kind} 5-2: sets the limit.", Place("", ""))


@pytest.mark.parametrize("claim", ["See § 5 to {} months later.", "Section 5 and {} months before leaving."])
def test_a_count_behind_a_place_is_no_place(claim: str) -> None:
    quote = claim.format(24)
    assert find_disagreement(claim.format(12), quote, Place(quote, quote))
    assert not find_disagreement(quote, quote, Place(quote, quote))


def test_many_numbers() -> None:
    assert len(find_quantities("5 km an hour, " * 5_000)) == 5_000


def test_markers_go_with_the_space_before_them() -> None:
    assert strip_markers("It is so  [1] [22]. No[3], [4]") == "It is so. No,"
