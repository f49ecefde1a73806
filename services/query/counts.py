"""How many items a question asks for: "three reasons", "which 4 kinds"."""

from __future__ import annotations

import re
from typing import Final

from citemesh.text.function_words import is_function_word
from citemesh.text.numbers import numbers_between
from services.query.lexicon import UNIT_WORDS

_MOST_ITEMS: Final = 50
# "Once" counts only where Spanish is asked.
_NUMBER_WORDS: Final = numbers_between(2, 12)
_ASKS: Final = (
    r"\b(?:which|what(?: are)?|list|name|give(?: me)?|state|mention|enumerate|describe|tell me|nenne|welche"
    r"|welches sind|quelles? sont|quels sont"
    r"|cuáles son|cita|the|these|those|die|les|los|las)(?: the| all| at least| exactly| die| les| los| las){0,4}\s++"
)
_COUNT: Final = re.compile(
    rf"{_ASKS}({'|'.join(_NUMBER_WORDS)}|\d{{1,2}})\s++((?:[\w-]++\s++){{0,2}}?)([^\W\d]{{3,}})", re.I
)
_LISTS: Final = re.compile(
    r"^\W*(?:which|what|list|name|give|state|mention|enumerate|describe|tell|nenne|welche|quel|cuáles|cita|can you"
    r"|could you|please)\b|\bare the\b",
    re.I,
)


def find_requested_count(question: str) -> int | None:
    """The number of items that the question asks for, 2 to 50; None where it names none, or one that only measures."""
    if not _LISTS.search(question):
        return None
    for match in _COUNT.finditer(question):
        noun = match.group(3).lower()
        between = match.group(2).lower().split()
        plural = noun.endswith(("s", "en", "e", "x", "people", "criteria", "children"))
        if (
            noun in UNIT_WORDS
            or set(between) & UNIT_WORDS
            or is_function_word(noun)
            or not plural
            or any(map(is_function_word, between))
        ):
            continue
        value = _NUMBER_WORDS.get(match.group(1).lower()) or int(match.group(1) if match.group(1).isdigit() else 0)
        if 2 <= value <= _MOST_ITEMS:
            return value
    return None
