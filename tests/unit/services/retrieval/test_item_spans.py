from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.retrieval.item_spans import (
    Run,
    find_code_runs,
    find_enumerated_runs,
    find_enumerating_sentences,
    find_named_runs,
    find_row_run,
    split_inline,
)
from services.retrieval.marked_lines import find_marked_runs


def items(text: str, run: Run) -> list[str]:
    return [text[span.start : span.end] for span in run.items]


def longest(text: str, runs: Iterable[Run]) -> list[str]:
    return max((items(text, run) for run in runs), key=len, default=[])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Intro:\n- one\n- two\n  more of two\n- three", ["one", "two\n  more of two", "three"]),
        ("1. one\n2. two\n10. not the next", ["one", "two"]),
        ("(a) one;\n(b) two;\n(c) three.", ["one;", "two;", "three."]),
        ("* outer\n  * inner\n* next", ["outer\n  * inner", "next"]),
        ("• one\n• two", ["one", "two"]),
        ("1) one\n2) two", ["one", "two"]),
        ("- [ ] open\n- [x] done", ["open", "done"]),
    ],
)
def test_marked_lines(text: str, expected: list[str]) -> None:
    assert longest(text, find_marked_runs(text, 2)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("**Speed.** It is fast.\n**Size.** It is small.", ["**Speed.** It is fast.", "**Size.** It is small."]),
        ("Speed: it is fast.\nSize: it is small.", ["Speed: it is fast.", "Size: it is small."]),
        (
            "We use two:\nResidual Dropout We apply dropout.\nLabel Smoothing During training, we smooth.",
            ["Residual Dropout We apply dropout.", "Label Smoothing During training, we smooth."],
        ),
    ],
)
def test_named_paragraphs(text: str, expected: list[str]) -> None:
    assert longest(text, find_named_runs(text, 1)) == expected


def test_sentences_are_no_names() -> None:
    text = "The Transformer uses attention.\nIn Paris We apply rules.\nThis Model We like."
    assert longest(text, find_named_runs(text, 1)) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It needs (1) a key, (2) a lock and (3) a door. Then it opens.", ["a key,", "a lock and", "a door."]),
        ("First, open it. Second, close it. Finally, leave. ", ["open it.", "close it.", "leave."]),
        ("It has (i) speed and (ii) size.", ["speed and", "size."]),
    ],
)
def test_enumerating_sentences(text: str, expected: list[str]) -> None:
    assert longest(text, find_enumerated_runs(text)) == expected


def test_rows_of_a_table_without_its_header() -> None:
    text = "Table 1: Sizes\n| name | size |\n|---|---|\n| a | 1 |\n| b | 2 |"
    assert longest(text, find_row_run(text, has_header=True, smallest=2)) == ["| a | 1 |", "| b | 2 |"]
    text = "name  size\na  1\nb  2"
    assert longest(text, find_row_run(text, has_header=True, smallest=2)) == ["a  1", "b  2"]
    assert len(longest(text, find_row_run(text, has_header=False, smallest=2))) == 3


def test_entries_of_a_block_of_code_that_begin_alike() -> None:
    text = "Flags removed\n```diff\n--one 1\n  the first\n--two 2\n```\nMore."
    (run,) = find_code_runs(text)
    assert items(text, run) == ["--one 1\n  the first", "--two 2"]
    for program in ("x = 1\ny = 2", "def a():\n  pass\ndef b():\n  pass"):
        assert not list(find_code_runs(f"```\n{program}\n```"))
    assert not list(find_code_runs("Nothing."))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Red, green and blue are sold.", ["Red", "green", "blue"]),
        ("It supports red, dark green, or blue.", ["red", "dark green", "blue"]),
        ("Red and green are sold.", []),
        ("When it rains hard on all of the hills, the keeper stays, and people who come by are asked in.", []),
    ],
)
def test_sentences_that_enumerate(text: str, expected: list[str]) -> None:
    assert [each for run in find_enumerating_sentences(text) for each in items(text, run)] == expected


def test_a_list_within_a_sentence() -> None:
    text = "There are three kinds: apples, old pears and figs."
    run = split_inline(text, 0, len(text) - 1)
    assert run is not None
    assert items(text, run) == ["apples", "old pears", "figs"]
    assert split_inline("Nothing here.", 0, 13) is None


def test_lists_within_lists_are_lists_of_their_own() -> None:
    text = "(c) Exempt. These do not apply:\n(1) One;\n(2) Two if:\n(i) small;\n(ii) old;\n(3) Three.\n(d) Other."
    runs = [items(text, run) for run in find_marked_runs(text, 2)]
    assert ["small;", "old;"] in runs
    assert ["One;", "Two if:\n(i) small;\n(ii) old;", "Three."] in runs
    assert len(runs) == 3


def test_letters_are_read_as_they_go_on() -> None:
    text = "(h) eight\n(i) nine\n(j) ten"
    assert longest(text, find_marked_runs(text, 2)) == ["eight", "nine", "ten"]
    text = "(i) one\n(ii) two\n(iii) three\n(iv) four\n(v) five"
    assert len(longest(text, find_marked_runs(text, 2))) == 5
    (run,) = find_marked_runs("(v) five", 1)
    assert run.readings == {"i": 5, "a": 22}


def test_an_announcement_between_bullets_parts_them() -> None:
    text = "Fruits:\n- apple\n- pear\nNuts:\n- walnut\n- hazel"
    runs = [items(text, run) for run in find_marked_runs(text, 2)]
    assert runs == [["apple", "pear"], ["walnut", "hazel"]]


@given(st.text(alphabet="abiv -*1.2)(\n|:Z", max_size=120), st.integers(1, 2))
def test_spans_lie_in_the_text_in_order(text: str, smallest: int) -> None:
    runs = [*find_marked_runs(text, smallest), *find_named_runs(text, smallest), *find_enumerated_runs(text)]
    runs += find_row_run(text, has_header=True, smallest=smallest)
    for run in runs:
        assert len(run.items) >= smallest
        spans = [span for span in run.items if span.start < span.end]
        assert all(0 <= span.start <= span.end <= len(text) for span in run.items)
        assert all(one.end <= two.start for one, two in pairwise(spans))
