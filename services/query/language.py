"""Which language a question is in: by its script, else by its function words, else by a model where one is loaded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from citemesh.text.function_words import FUNCTION_WORDS
from citemesh.text.word_lists import word_set
from services.query.words import split_words

UNKNOWN: Final = "und"
Identify = Callable[[str], str]
"""A model that names the language (ISO 639-1) of a text."""

_SMALLEST_MODEL_TEXT: Final = 16  # letters; below, the model guesses ("hello" is Italian to it)

# In this order: Japanese text holds Han characters too.
_SCRIPTS: Final = (
    (re.compile(r"[\u3040-\u30ff]"), "ja"),
    (re.compile(r"[\uac00-\ud7af]"), "ko"),
    (re.compile(r"[\u3400-\u9fff]"), "zh"),
    (re.compile(r"[\u0600-\u06ff]"), "ar"),
    (re.compile(r"[\u0590-\u05ff]"), "he"),
    (re.compile(r"[\u0900-\u097f]"), "hi"),
    (re.compile(r"[\u0e00-\u0e7f]"), "th"),
    (re.compile(r"[\u0370-\u03ff]"), "el"),
    (re.compile(r"[іїєґ]", re.I), "uk"),
    (re.compile(r"[\u0400-\u04ff]"), "ru"),
)
_GREETINGS: Final = {
    "en": word_set("hello hi hey thanks thank bye goodbye morning please great cheers"),
    "de": word_set("hallo danke dank guten tschüss moin servus bitte"),
    "fr": word_set("bonjour bonsoir salut merci beaucoup revoir svp"),
    "es": word_set("hola gracias muchas buenos buenas adiós"),
    "it": word_set("ciao grazie buongiorno buonasera mille"),
    "pt": word_set("olá obrigado obrigada bom boa"),
    "nl": word_set("hoi bedankt goedemorgen dank"),
}
_LETTERS: Final = (
    (re.compile(r"[äöüß]", re.I), "de"),
    (re.compile(r"[çèêœ]|(?:^|\W)[cdjlmnst]['’][a-zéèêàâh]", re.I), "fr"),
    (re.compile(r"[ñ¿¡]|[áíóú]\w*\b", re.I), "es"),
    (re.compile(r"[ãõ]", re.I), "pt"),
)


def detect_language(text: str, earlier: Iterable[str] = (), identify: Identify | None = None) -> str:
    """ISO 639-1 of `text`; of the latest of the `earlier` turns that tells where the text itself does not; "und"
    else."""
    own = _detect(text, identify)
    if own != UNKNOWN:
        return own
    for turn in reversed(list(earlier)):
        found = _detect(turn, None)
        if found != UNKNOWN:
            return found
    return UNKNOWN


def _detect(text: str, identify: Identify | None) -> str:
    letters = sum(character.isalpha() for character in text)
    if letters == 0:
        return UNKNOWN
    for script, language in _SCRIPTS:
        if len(script.findall(text)) * 4 >= letters:
            return language
    found = _by_function_words(text)
    if found == UNKNOWN and identify is not None and letters >= _SMALLEST_MODEL_TEXT:
        return identify(text)
    return found


def _by_function_words(text: str) -> str:
    words = [part for word in split_words(text) for part in _split_elision(word.lower)]
    weights = {
        language: float(sum(word in listed or word in _GREETINGS[language] for word in words))
        for language, listed in FUNCTION_WORDS.items()
    }
    for letters, language in _LETTERS:
        if letters.search(text):
            weights[language] += 1.0
    best = max(weights.values())
    winners = [language for language, weight in weights.items() if weight == best]
    return winners[0] if best > 0 and (len(winners) == 1 or winners[0] == "en") else UNKNOWN


def _split_elision(word: str) -> list[str]:
    head, apostrophe, tail = word.partition("'")
    return [head + "'", tail] if apostrophe and len(head) <= 2 and head not in {"i", "it", "he", "we"} else [word]


def load_identifier() -> Identify:
    """The language model py3langid (about 80 MB resident, a second to load)."""
    from py3langid.langid import classify  # type: ignore[import-untyped]  # it ships no types

    classify("The model is loaded by its first call.")
    return lambda text: str(classify(text)[0])
