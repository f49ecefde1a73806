"""Words of claims and quotes, reduced to what two wordings of one statement share."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from citemesh.text.function_words import FUNCTION_WORDS
from citemesh.text.stems import stem
from citemesh.text.word_lists import word_set

_WORD: Final = re.compile(r"[^\W_]+(?:['’._/&+:-]+[^\W_]+)*|[€$£¥%§]")
_LINK_TARGET: Final = re.compile(r"\]\([^()\s]*(?:\s+\"[^\"]*\")?\)")
_MARKER: Final = re.compile(r"(?<!\s)\s*+\[\d{1,3}\]")

# Function words that say how much, how often or whether at all: two statements may differ in nothing else. And "mes",
# which are my things in French and a month in Spanish.
_TELLING: Final = word_set("""again anybody anyone anything everybody everyone everything few least less many more most
    much never nobody nothing once twice several need needs unless ought mehr viel viele nichts immer moins jamais
    toujours tous tout toute toutes menos nunca siempre todo todos toda todas mes""")
# Of those with an apostrophe most deny: "isn't".
_LISTED: Final = frozenset(
    word for language in ("en", "de", "fr", "es") for word in FUNCTION_WORDS[language] if "'" not in word
)
SHARED_WORDS: Final = (_LISTED - _TELLING) | word_set("according called known")
"""Words that hold any statement together: that two share one of them says nothing."""


def split_words(text: str) -> list[str]:
    """The words of `text` in order, lower case, apostrophes straightened, compatibility forms folded."""
    return [word.replace("’", "'") for word in _WORD.findall(fold(text))]


def fold(text: str) -> str:
    """`text` in lower case with ligatures, full-width forms and odd spaces made plain."""
    return unicodedata.normalize("NFKC", text).lower()


def content_stems(text: str) -> list[str]:
    """Stems of the words that carry meaning, in order, with repeats; parts of hyphenated words stand for themselves."""
    stems = []
    for word in split_words(text):
        for part in re.split(r"[-/]", word) if not any(character.isdigit() for character in word) else [word]:
            if part and part not in SHARED_WORDS:
                stems.append(stem(part))
    return stems


def plain(text: str) -> str:
    """The words of `text` with single spaces and without link targets, for telling whether one text holds another."""
    return " ".join(split_words(_LINK_TARGET.sub("]", text)))


def strip_markers(text: str) -> str:
    """`text` without citation markers such as [1]."""
    return _MARKER.sub("", text)
