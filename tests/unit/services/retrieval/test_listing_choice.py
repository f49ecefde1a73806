"""What a question calls the things that it asks for, and how words are compared."""

from __future__ import annotations

import pytest

from services.retrieval.listing_choice import find_asked, word_forms


@pytest.mark.parametrize(
    ("question", "language", "asked"),
    [
        ("Which relief valves can I open?", "en", "relief valve"),
        ("What kinds of rope do we use?", "en", "rope"),
        ("Quels projets le plan a-t-il fait naître ?", "fr", "projet"),
        ("Which claims of a token are checked?", "en", "claims"),
        # A list of anything is a list of options, of ways or of circumstances.
        ("Which options do I have?", "en", ""),
        ("Under which circumstances may I ask?", "en", ""),
        ("List the ropes", "en", ""),
        ("What is it?", "en", ""),
    ],
)
def test_what_is_asked_for(question: str, language: str, asked: str) -> None:
    assert find_asked(question, language) == word_forms(asked)


@pytest.mark.parametrize(("one", "other"), [("schedule", "schedules"), ("policy", "policies"), ("type", "types")])
def test_a_word_and_its_plural_are_alike(one: str, other: str) -> None:
    assert word_forms(one) == word_forms(other)
