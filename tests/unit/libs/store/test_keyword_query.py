"""What a question's words are searched by."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from citemesh.store.keyword_query import read_keyword_query, searched_words


def test_words_identifiers_and_neighbours() -> None:
    asked = read_keyword_query("Does --max-size limit snapshots, snapshots of RFC 2616?", ("en",))
    assert (["snapshot"], 2.0) in asked.words
    assert "--max-size" in asked.identifiers or "max-size" in asked.identifiers
    assert ["limit", "snapshot"] in asked.neighbours
    assert read_keyword_query("", ("en",)).is_empty


@given(st.text(max_size=300), st.sampled_from([("en",), ("en", "de"), ("en", "zh")]))
def test_any_text_can_be_asked(text: str, languages: tuple[str, ...]) -> None:
    asked = read_keyword_query(text, languages)
    assert all(forms and times >= 1.0 for forms, times in asked.words)
    assert all(len(pair) == 2 for pair in asked.neighbours)
    assert len(asked.words) <= len(searched_words(text, languages)) <= 64
