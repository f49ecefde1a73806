"""Where sentences end."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citemesh.text.sentences import LINES, PARAGRAPHS, cut_sentences, split_sentences, trim


@given(st.text(max_size=400), st.sampled_from([None, LINES, PARAGRAPHS]), st.booleans())
@settings(max_examples=200, deadline=None)
def test_sentences_lose_nothing_but_white_space(text: str, breaks: re.Pattern[str] | None, is_typed: bool) -> None:
    spans = split_sentences(text, breaks=breaks, is_typed=is_typed)
    kept = "".join(text[start:end] for start, end in spans)
    assert "".join(kept.split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Use v3.5 or later, e.g. v3.6. Then restart.", 2),
        ("See Fig. 3 and Dr. J. Smith et al. for more.", 1),
        ("It costs $5.50. That is all.", 2),
        ("Is it? Yes! Good.", 3),
        ("Run `a. B` now. Done.", 2),
        ("Die Frist beträgt z.B. 30 Tage. Danach verfällt sie.", 2),
        ("第一条。第二条！", 2),
        ("See [the page. Now](http://x.y/a.b) here. End.", 2),
        ("He works in the U.S. Army base. Yes.", 2),
    ],
)
def test_full_stops_that_end_no_sentence(text: str, count: int) -> None:
    spans = split_sentences(text)
    # "U.S. Army" may be cut: a capital after it is also how sentences begin.
    assert len(spans) in ({count, count + 1} if "U.S." in text else {count})


def test_lines_and_paragraphs_end_sentences_where_that_is_asked_for() -> None:
    text = "One line\ngoes on. Two\n \nThree"
    assert [text[start:end] for start, end in split_sentences(text)] == ["One line\ngoes on.", "Two\n \nThree"]
    paragraphs = [text[start:end] for start, end in split_sentences(text, breaks=PARAGRAPHS)]
    assert paragraphs == ["One line\ngoes on.", "Two", "Three"]
    assert cut_sentences(text) == ["One line", "goes on.", "Two", "Three"]


def test_people_begin_sentences_with_small_letters() -> None:
    text = "i run v3.5, e.g. on linux. what now? and why"
    assert cut_sentences(text, is_typed=True) == ["i run v3.5, e.g. on linux.", "what now?", "and why"]
    assert cut_sentences(text) == [text]


def test_only_the_named_part_is_split_and_trimmed() -> None:
    text = "Not this. This one. And  that. Not that."
    assert [text[start:end] for start, end in split_sentences(text, 9, 30)] == ["This one.", "And  that."]
    assert trim("  a b ", 0, 6) == (2, 5)
    assert trim("   ", 0, 3) == (3, 3)
