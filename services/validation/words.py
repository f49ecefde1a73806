"""Words of claims and quotes, reduced to what two wordings of one statement share."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from threading import Lock
from typing import Final

import snowballstemmer  # type: ignore[import-untyped]  # it ships no types

_WORD: Final = re.compile(r"[^\W_]+(?:['’._/&+:-]+[^\W_]+)*|[€$£¥%§]")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?。？！])[\"'”’)\]]*\s+(?=[^\s\d])|(?<=[。？！])|\n+")
_LINK_TARGET: Final = re.compile(r"\]\([^()\s]*(?:\s+\"[^\"]*\")?\)")
_MARKER: Final = re.compile(r"\s*\[\d{1,3}\]")
_STEMMER: Final = snowballstemmer.stemmer("english")
_stemming = Lock()

FUNCTION_WORDS: Final = frozenset(
    """a an the this that these those some any each every either neither both all no not nor and or but if then than
    so as at by for from in into of off on onto out over per to under until up upon with within without about above
    after against along among around before behind below between beyond during except inside like near since through
    throughout toward towards via i me my we us our you your he him his she her it its they them their one who whom
    whose which what when where why how whether am is are was were be been being do does did done have has had having
    can could may might must shall should will would there here now still yet already also too very just only even
    such same other another own because while although according called known der die das den dem des ein eine einen
    einem einer und oder aber nicht kein keine ist sind war wird werden hat haben kann muss darf soll auf aus bei für
    mit nach von vor zu zum zur im in an am als wie es sie er wir ihr man sich auch nur le la les un une des du de et
    ou mais ne pas est sont était a ont au aux en dans par pour sur avec sans ce cette ces qui que se sa son ses leur
    il elle ils elles on y el los las una unos unas del al y o pero no es son era ha han con sin por para su sus lo
    se""".split()  # noqa: SIM905  # a list of words reads better as text
)


def split_words(text: str) -> list[str]:
    """The words of `text` in order, lower case, apostrophes straightened, compatibility forms folded."""
    return [word.replace("’", "'") for word in _WORD.findall(fold(text))]


def fold(text: str) -> str:
    """`text` in lower case with ligatures, full-width forms and odd spaces made plain."""
    return unicodedata.normalize("NFKC", text).lower()


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """The stem of a lower-case word; words with digits stay whole."""
    plain = word.removesuffix("'s").removesuffix("'")
    if any(character.isdigit() for character in plain):
        return plain
    # The library's stemmer keeps the word it works on in itself.
    with _stemming:
        return str(_STEMMER.stemWord(plain))


def content_stems(text: str) -> list[str]:
    """Stems of the words that carry meaning, in order, with repeats; parts of hyphenated words stand for themselves."""
    stems = []
    for word in split_words(text):
        for part in re.split(r"[-/]", word) if not any(character.isdigit() for character in word) else [word]:
            if part and part not in FUNCTION_WORDS:
                stems.append(stem(part))
    return stems


def split_sentences(text: str) -> list[str]:
    """Sentences and lines of `text`, without blank ones."""
    return [part.strip() for part in _SENTENCE_END.split(text) if part and part.strip()]


def plain(text: str) -> str:
    """The words of `text` with single spaces and without link targets, for telling whether one text holds another."""
    return " ".join(split_words(_LINK_TARGET.sub("]", text)))


def strip_markers(text: str) -> str:
    """`text` without citation markers such as [1]."""
    return _MARKER.sub("", text)
