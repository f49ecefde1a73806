from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.retrieval.count_cues import find_announcements, find_count, read_number


@pytest.mark.parametrize(
    ("sentence", "count"),
    [
        ("We employ three types of regularization during training:", 3),
        ("The following 4 steps are required.", 4),
        ("There are two main reasons for this.", 2),
        ("Follow these five simple rules:", 5),
        ("The board has twelve responsibilities.", 12),
        ("Three widgets follow as below:", 3),
        ("Ask at least 14 days before.", None),
        ("It takes three hours, as follows:", None),
        ("Version 3 types are strict.", None),
        ("The model has 3.5 modes.", None),
        ("Section 5 lists things.", None),
        ("One way is this.", None),
        ("Widgets come in three colours.", None),
    ],
)
def test_counts_are_read_from_words_and_digits(sentence: str, count: int | None) -> None:
    assert find_count(sentence) == count


def test_announcements_are_whole_sentences() -> None:
    text = "Some words before. We use three methods:\nOne. The following applies below."
    found = find_announcements(text)
    assert [text[each.start : each.end] for each in found] == ["We use three methods:", "The following applies below."]
    assert [each.count for each in found] == [3, None]


@pytest.mark.parametrize(("written", "value"), [("two", 2), ("TWENTY", 20), ("7", 7), ("1", None), ("100", None)])
def test_numbers(written: str, value: int | None) -> None:
    assert read_number(written) == value


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    for each in find_announcements(text):
        assert 0 <= each.start < each.end <= len(text)
