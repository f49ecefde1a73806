"""Words as they are compared: lower case, stemmed, without the words that say nothing of the subject."""

from __future__ import annotations

import re
import unicodedata

from citemesh.text.scripts import is_unspaced
from citemesh.text.stems import stem
from services.generation.stop_words import ALL_STOP_WORDS, STOP_WORDS

_WORD = re.compile(r"[^\W_]+(?:[.'’\-_/:#+][^\W_]+)*[+#]*|[^\W_]+")
_PART = re.compile(r"[^\W_]+")


def find_words(text: str) -> list[str]:
    """The words of `text`, lower case; codes such as `--max-bytes` or `v3.6` also whole; unspaced text as pairs."""
    found: list[str] = []
    for match in _WORD.finditer(unicodedata.normalize("NFKC", text)):
        word = match.group(0).lower().replace("’", "'")
        if is_unspaced(word):
            found += _pairs(word)
            continue
        word = word.removesuffix("'s")
        parts = _PART.findall(word)
        if len(parts) > 1:
            found.append(word)
        found += parts
    return found


def find_terms(text: str, language: str = "en") -> list[str]:
    """Stems of the words of `text` that carry meaning, in order, repeats kept."""
    stop = STOP_WORDS.get(language, ALL_STOP_WORDS)
    return [stem(word, language) for word in find_words(text) if word not in stop and (len(word) > 1 or word.isdigit())]


def is_stop_word(word: str, language: str = "en") -> bool:
    """Whether the word says nothing of a subject by itself."""
    return word.lower() in STOP_WORDS.get(language, ALL_STOP_WORDS)


def _pairs(word: str) -> list[str]:
    return [word] if len(word) == 1 else [word[place : place + 2] for place in range(len(word) - 1)]
