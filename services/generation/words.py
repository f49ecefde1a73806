"""Words as they are compared: lower case, stemmed, without the words that say nothing of the subject."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Any

import snowballstemmer

_WORD = re.compile(r"[^\W_]+(?:[.'’\-_/:#+][^\W_]+)*[+#]*|[^\W_]+")
_PART = re.compile(r"[^\W_]+")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")
_SNOWBALL = {
    "ar": "arabic", "da": "danish", "de": "german", "en": "english", "es": "spanish", "fi": "finnish",
    "fr": "french", "hu": "hungarian", "it": "italian", "nl": "dutch", "no": "norwegian", "pt": "portuguese",
    "ro": "romanian", "ru": "russian", "sv": "swedish", "tr": "turkish",
}  # fmt: skip

STOP_WORDS = {
    "en": frozenset(
        "a about above after again all also am an and any are as at be because been before being below between both but "
        "by can could did do does doing done during each either else ever every for from further get gets got had has "
        "have having he her here hers him his how i if in into is it its itself just let like may me might more most "
        "much many must my no nor not now of off on once one only onto or other our ours out over own per please s said "
        "same say says shall she should so some such t tell than that the their theirs them then there these they this "
        "those through to too under until up upon us very was we were what when where whether which while who whom "
        "whose why will with within would you your yours happen happens happened mean means according give given want "
        "need needs make makes made take takes use used using long old big large high often come comes go goes".split()
    ),
    "de": frozenset(
        "aber alle als also am an auch auf aus bei bin bis bitte da damit dann das dass dein dem den der des dich die "
        "dies diese dieser doch dort du durch ein eine einem einen einer eines er es euch für gibt hat habe haben hatte "
        "hier ich ihm ihn ihr ihre im in ist ja jede jeder kann kein keine können man mein mich mir mit muss nach nicht "
        "noch nun nur ob oder ohne sein seine sich sie sind so soll sollen über um und uns unser unter vom von vor war "
        "was weil welche welcher welches wenn wer werden wie wieviel wird wo woher wurde zu zum zur wann warum".split()
    ),
    "fr": frozenset(
        "à au aux avec avoir ce ces cet cette comment combien dans de des du donc elle elles en est et être eux fait "
        "faire faut il ils je la le les leur lui ma mais me mes moi mon ne nos notre nous on ou où par pas peut plus "
        "pour pourquoi qu quand que quel quelle quelles quels qui quoi sa sans se ses si son sont sur ta te tes toi ton "
        "tu un une vos votre vous y a-t-il est-ce".split()
    ),
    "es": frozenset(
        "a al algo como con cuál cuáles cuando cuándo cuánto cuánta de del dónde donde el ella ellos en entre es esa ese "
        "eso esta este esto está están fue ha hay la las le les lo los más me mi muy no nos o para pero por porque puede "
        "que qué quien quién se ser si sin sobre son su sus también te tiene tu un una uno unos y ya yo".split()
    ),
}
_ALL_STOP_WORDS = frozenset().union(*STOP_WORDS.values())


def find_words(text: str) -> list[str]:
    """The words of `text`, lower case; codes such as `--max-bytes` or `v3.6` also whole; CJK text as pairs."""
    found: list[str] = []
    for match in _WORD.finditer(unicodedata.normalize("NFKC", text)):
        word = match.group(0).lower().replace("’", "'")
        if _CJK.search(word):
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
    stop = STOP_WORDS.get(language, _ALL_STOP_WORDS)
    return [stem(word, language) for word in find_words(text) if word not in stop and (len(word) > 1 or word.isdigit())]


def is_stop_word(word: str, language: str = "en") -> bool:
    """Whether the word says nothing of a subject by itself."""
    return word.lower() in STOP_WORDS.get(language, _ALL_STOP_WORDS)


def stem(word: str, language: str = "en") -> str:
    """The stem of a lower-case word; the word itself where it holds figures or the language has no stemmer."""
    if not word.isalpha() or language not in _SNOWBALL:
        return word
    return _stem(word, language)


@lru_cache(maxsize=50_000)
def _stem(word: str, language: str) -> str:
    return str(_stemmer(language).stemWord(word))


@lru_cache(maxsize=None)
def _stemmer(language: str) -> Any:
    return snowballstemmer.stemmer(_SNOWBALL[language])


def _pairs(word: str) -> list[str]:
    return [word] if len(word) == 1 else [word[place : place + 2] for place in range(len(word) - 1)]
