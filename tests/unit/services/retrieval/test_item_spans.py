from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.retrieval.item_spans import Run, RunKind, find_runs, split_inline


def items(text: str, run: Run) -> list[str]:
    return [text[span.start : span.end] for span in run.items]


def first(text: str, kind: RunKind, **options: bool) -> list[str]:
    runs = [run for run in find_runs(text, **options) if run.kind is kind]
    return items(text, runs[0]) if runs else []


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
    assert first(text, RunKind.MARKED) == expected


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
    assert first(text, RunKind.NAMED) == expected


def test_sentences_are_no_names() -> None:
    text = "The Transformer uses attention.\nIn Paris We apply rules.\nThis Model We like."
    assert first(text, RunKind.NAMED) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It needs (1) a key, (2) a lock and (3) a door. Then it opens.", ["a key,", "a lock and", "a door."]),
        ("First, open it. Second, close it. Finally, leave. ", ["open it.", "close it.", "leave."]),
        ("It has (i) speed and (ii) size.", ["speed and", "size."]),
    ],
)
def test_enumerating_sentences(text: str, expected: list[str]) -> None:
    assert first(text, RunKind.ENUMERATED) == expected


def test_rows_of_a_table_without_its_header() -> None:
    text = "Table 1: Sizes\n| name | size |\n|---|---|\n| a | 1 |\n| b | 2 |"
    assert first(text, RunKind.ROWS, is_table=True) == ["| a | 1 |", "| b | 2 |"]
    assert first("name  size\na  1\nb  2", RunKind.ROWS, is_table=True) == ["a  1", "b  2"]
    assert first("a  1\nb  2", RunKind.ROWS, is_table=True, is_continued=True) == ["a  1", "b  2"]


def test_a_list_within_a_sentence() -> None:
    text = "There are three kinds: apples, old pears and figs."
    run = split_inline(text, 0, len(text) - 1)
    assert run is not None
    assert items(text, run) == ["apples", "old pears", "figs"]
    assert split_inline("Nothing here.", 0, 13) is None


@given(st.text(alphabet="ab -*1.2)(\n|:Z", max_size=120), st.booleans(), st.booleans())
def test_spans_lie_in_the_text_in_order(text: str, is_table: bool, is_continued: bool) -> None:
    for run in find_runs(text, is_table=is_table, is_continued=is_continued):
        spans = [span for span in run.items if span.start < span.end]
        assert all(0 <= span.start <= span.end <= len(text) for span in run.items)
        assert all(one.end <= two.start for one, two in pairwise(spans))
