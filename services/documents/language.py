"""The language of a text: by its script or its function words, and by a model only where these do not tell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

UNKNOWN: Final = "und"

_FUNCTION_WORDS: Final = {
    "en": "the of and to in is that for it with as are on be this by from or which have not at an was will can",
    "fr": "le la les des est dans pour que qui une sur par pas avec sont ce au aux du il elle nous vous ne se ou",
    "de": "der die das und ist nicht ein eine den dem des mit für auf von zu sich auch als es an werden oder bei wird",
    "es": "el los las una que es por para con del se no su al como más pero sus este entre cuando muy sin sobre",
    "it": "il lo gli una che è per con del della di non si sono dei nel alla anche come più le dal ha questo",
    "pt": "os as uma que é por para com não do da dos das em no na se ao mais como mas foi seu sua são",
    "nl": "de het een en van is dat op te voor met zijn niet aan er om ook als door bij naar maar wordt deze",
    "sv": "och att det som en på är av för med den till inte har de ett om var kan från eller vid",
    "pl": "i w na z się nie do że jest o jak to przez dla po od są za oraz być może tym który",
}
_WORD_SETS: Final = {language: frozenset(words.split()) for language, words in _FUNCTION_WORDS.items()}
_SCRIPTS: Final = (
    ("ja", re.compile("[぀-ヿ]")),
    ("ko", re.compile("[가-힯]")),
    ("zh", re.compile("[一-鿿]")),
    ("he", re.compile("[֐-׿]")),
    ("el", re.compile("[Ͱ-Ͽ]")),
    ("th", re.compile("[฀-๿]")),
)
_WORD: Final = re.compile(r"[^\W\d_]+")
_LEAST_LETTERS: Final = 40
_LEAST_SHARE: Final = 0.12
_LEAST_HITS: Final = 4
_PASSAGE_HITS: Final = 8


def tell_language(text: str) -> str:
    """ISO 639-1, or "und" where there is too little text to tell. The model behind it takes 80 MB once it is asked."""
    words = _WORD.findall(text.casefold())
    letters = sum(map(len, words))
    if letters < _LEAST_LETTERS:
        return UNKNOWN
    clear = _by_script(text, letters) or _by_function_words(words, _LEAST_HITS, 1.5)
    if clear:
        return clear
    import py3langid  # type: ignore[import-untyped]  # it ships no types

    language, _ = py3langid.classify(text)
    return str(language)


def tell_passage_language(text: str, document_language: str) -> str:
    """The language of one passage: the document's, unless its script or its function words clearly say another."""
    words = _WORD.findall(text.casefold())
    other = _by_script(text, sum(map(len, words))) or _by_function_words(words, _PASSAGE_HITS, 3.0)
    return other or document_language


def _by_script(text: str, letters: int) -> str:
    for language, script in _SCRIPTS:
        if letters and len(script.findall(text)) > 0.2 * letters:
            return language
    return ""


def _by_function_words(words: Sequence[str], least: int, lead: float) -> str:
    """The language of which a text has at least so many function words, `lead` times those of any other; else ""."""
    hits = sorted(((sum(word in known for word in words), language) for language, known in _WORD_SETS.items()))
    (second, _), (first, best) = hits[-2], hits[-1]
    clear = (first >= least and first >= lead * second) or (2 <= first >= least // 2 and not second)
    return best if clear and first >= _LEAST_SHARE * len(words) else ""
