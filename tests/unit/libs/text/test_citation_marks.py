"""Numbers in square brackets of a quoted text do not look like citations."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citemesh.text.citation_marks import free_citation_marks


@pytest.mark.parametrize(
    ("text", "freed"),
    [
        ("It opens at nine. [2]", "It opens at nine. (2)"),
        ("It opens at nine[2].", "It opens at nine(2)."),
        ("[1] E1: nine [E1]", "(1) E1: nine (E1)"),
        ("see [1, 2] and [3–5] and [ 7 ]", "see (1, 2) and (3–5) and (7)"),
        ("[1][2]", "(1)(2)"),
        ("[a], [0], [], [12345] and [1.5] stay", "[a], [0], [], [12345] and [1.5] stay"),
        ("x = names[1]\ny = [2]", "x = names[ 1 ]\ny = [ 2 ]"),
    ],
)
def test_marks_of_the_text_are_freed(text: str, freed: str) -> None:
    assert free_citation_marks(text) == freed


@given(st.text(alphabet="[]()E0123 ,-a\n", max_size=60))
def test_none_is_left_and_nothing_else_changes(text: str) -> None:
    freed = free_citation_marks(text)
    assert not re.search(r"\[E?[1-9]\d{0,3}\]", freed)
    assert re.sub(r"[\s\[\]()]", "", freed) == re.sub(r"[\s\[\]()]", "", text)
