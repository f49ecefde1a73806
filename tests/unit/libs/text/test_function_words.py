"""Function words by language."""

from __future__ import annotations

from citemesh.text.function_words import ALL_FUNCTION_WORDS, FUNCTION_WORDS, is_function_word


def test_english_ones_count_in_every_language() -> None:
    assert is_function_word("the", "de")
    assert is_function_word("und", "de")
    assert not is_function_word("und")
    assert not is_function_word("leave")


def test_all_of_them_are_lower_case() -> None:
    assert {"en", "de", "fr", "es"} <= set(FUNCTION_WORDS)
    assert all(word == word.lower() for word in ALL_FUNCTION_WORDS)
