"""Stems of words, by the Snowball stemmers."""

from __future__ import annotations

from functools import cache, lru_cache
from threading import Lock
from typing import Any, Final

import snowballstemmer  # type: ignore[import-untyped]  # it ships no type information

_SNOWBALL: Final = {
    "ar": "arabic", "da": "danish", "de": "german", "en": "english", "es": "spanish", "fi": "finnish",
    "fr": "french", "hu": "hungarian", "it": "italian", "nl": "dutch", "no": "norwegian", "pt": "portuguese",
    "ro": "romanian", "ru": "russian", "sv": "swedish", "tr": "turkish",
}  # fmt: skip
_stemming = Lock()


def stem(word: str, language: str = "en") -> str:
    """The stem of a lower-case word in `language` (ISO 639-1), without an English possessive ending.

    Words that hold anything but letters (codes, versions, joined names) stay whole, and so do all words of a language
    without a stemmer.
    """
    plain = word.removesuffix("'s").removesuffix("'")
    if not plain.isalpha() or language not in _SNOWBALL:
        return plain
    return _stem(plain, language)


@lru_cache(maxsize=50_000)
def _stem(word: str, language: str) -> str:
    # The library's stemmers keep the word they work on in themselves.
    with _stemming:
        return str(_stemmer(language).stemWord(word))


@cache
def _stemmer(language: str) -> Any:
    return snowballstemmer.stemmer(_SNOWBALL[language])
