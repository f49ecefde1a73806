"""Words as keyword indexes keep them: stems by language, identifiers whole, bigrams for scripts without spaces."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import Final

import tantivy

from citemesh.text.scripts import UNSPACED
from citemesh.v1.evidence_pb2 import Passage

# ISO 639-1 -> the stemmer's name in tantivy.
_STEMMERS = {
    "ar": "arabic",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}
_STOP_LISTS = ("da", "de", "es", "fi", "fr", "hu", "it", "nl", "no", "pt", "ru", "sv")
_ENGLISH_STOP_TEXT = """
a about again all also am an and any are as at be because been before being both but by can could did do does doing
each few for from further had has have having he her here hers him his how i if in into is it its just may me might
more most must my no nor not of on once only or other our ours out over own please s same shall she should so some
such t than that the their theirs them then there these they this those through to too under until up us very was we
were what when where which while who whom whose why will with would you your yours tell don doesn didn isn aren wasn
weren won couldn shouldn wouldn hasn haven ll ve re
"""
_ENGLISH_STOP_WORDS = frozenset(_ENGLISH_STOP_TEXT.split())
_MAX_WORD_CHARACTERS = 80

UNDETERMINED: Final = frozenset({"", "und"})
"""What the language of a text is called where it is not known."""

# Questions are stemmed by it for every tenant, whatever languages its documents are in.
_ASSUMED: Final = "en"

_UNSPACED_RUN = re.compile(f"[{UNSPACED}]+")

# Digits inside, or inner "_", "-", ".", "/", ":", or mixed case: names of flags, files, settings, versions, laws.
_IDENTIFIER = re.compile(r"[A-Za-z0-9_$@#-][A-Za-z0-9_$@#./:%+-]*[A-Za-z0-9_]")
_IDENTIFIER_SIGN = re.compile(r"\d|[_./:@#$-]|[a-z][A-Z]|^[A-Z]{2,}$")


@cache
def _analyzer(language: str) -> tantivy.TextAnalyzer:
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    builder = builder.filter(tantivy.Filter.remove_long(_MAX_WORD_CHARACTERS)).filter(tantivy.Filter.lowercase())
    if language in _STEMMERS:
        builder = builder.filter(tantivy.Filter.stemmer(_STEMMERS[language]))
    return builder.filter(tantivy.Filter.ascii_fold()).build()


@cache
def _stop_filter(language: str) -> tantivy.TextAnalyzer:
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).filter(tantivy.Filter.lowercase())
    return builder.filter(tantivy.Filter.stopword(_STEMMERS[language])).build()


def stem_words(text: str, language: str) -> list[str]:
    """The stems of all words of `text` in order; two-character pieces for scripts without spaces.

    A text of undetermined language is stemmed as English: every question is too, so equal words meet in any language.
    """
    language = _ASSUMED if language in UNDETERMINED else language
    return _cut_words(text, _analyzer(language if language in _STEMMERS else "").analyze)


def split_words(text: str) -> list[str]:
    """All words of a query in order, lower case, with repetitions."""
    return _cut_words(text, _plain_analyzer().analyze)


def _cut_words(text: str, analyze: Callable[[str], list[str]]) -> list[str]:
    words: list[str] = []
    end = 0
    for run in _UNSPACED_RUN.finditer(text):
        words.extend(analyze(text[end : run.start()]))
        words.extend(_bigrams(run.group()))
        end = run.end()
    words.extend(analyze(text[end:]))
    return words


INDEXED_FIELDS: Final = ("text", "title", "section", "exact")
"""What `analyse_passage` gives: all words, those of the title, of the place, and identifiers as written."""


def analyse_passage(passage: Passage) -> dict[str, str]:
    """The words of a passage by field, analysed and joined by spaces: languages differ, an index does not.

    The text holds the document's title and headings too: a passage of a document on the subject need not repeat it to
    be about it.
    """
    body = "\n".join(part for part in (passage.title, passage.heading_context, passage.text) if part)
    heading = " ".join((*passage.section_path, passage.section_number, passage.label))
    language = passage.language
    return {
        "text": " ".join(stem_words(body, language)),
        "title": " ".join(stem_words(passage.title, language)),
        "section": " ".join(stem_words(heading, language)),
        "exact": " ".join(find_identifiers(f"{heading} {body}")),
    }


def find_identifiers(text: str) -> list[str]:
    """Names that must match as they are written, lower case: "--max-size", "v3.5.1", "snake_case", "HTTP"."""
    found = (match.group().strip("-./:") for match in _IDENTIFIER.finditer(text))
    return [name.lower() for name in found if len(name) > 1 and _IDENTIFIER_SIGN.search(name)]


def content_words(text: str, languages: Iterable[str]) -> list[str]:
    """The words of a query that carry meaning, lower case, each once, in order; all words where none does."""
    words = list(dict.fromkeys(split_words(text)))
    stops = {*_ENGLISH_STOP_WORDS}
    for language in languages:
        if language in _STOP_LISTS:
            kept = set(_stop_filter(language).analyze(" ".join(words)))
            stops.update(word for word in words if word not in kept)
    return [word for word in words if word not in stops] or words


def word_forms(word: str, languages: Iterable[str]) -> list[str]:
    """The stems by which `word` may stand in the index: one for each language that is in it, equal ones once."""
    return list(dict.fromkeys(stem for language in languages for stem in stem_words(word, language)))


@cache
def _plain_analyzer() -> tantivy.TextAnalyzer:
    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).filter(tantivy.Filter.lowercase()).build()


def _bigrams(run: str) -> list[str]:
    return [run[start : start + 2] for start in range(len(run) - 1)] or [run]
