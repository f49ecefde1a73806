"""The words that say what a question is about: what is left without function words and general ones."""

from __future__ import annotations

from citemesh.text.function_words import is_function_word
from services.query.lexicon import GENERIC_WORDS
from services.query.words import Word, split_words


def find_telling_words(question: str, language: str) -> list[Word]:
    """The telling words of `question` in order; empty for one like "How many days do we have?"."""
    return [word for word in split_words(question) if _is_telling(word, language, is_first=word.start == 0)]


def _is_telling(word: Word, language: str, *, is_first: bool) -> bool:
    lower = word.lower.removesuffix("'s")
    if word.is_identifier and not lower.isdigit() and len(lower) > 1:
        return True
    if len(lower) == 1 or is_function_word(word.lower, language) or is_function_word(lower, language):
        return False
    # A capital inside the sentence makes a name of a general word ("Use or Lose").
    named = word.is_capitalised and not is_first and language != "de"
    return named or not (lower in GENERIC_WORDS or lower.rstrip("s") in GENERIC_WORDS or lower.isdigit())
