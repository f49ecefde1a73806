"""Content words and phrases of a question, most informative first."""

from __future__ import annotations

import re
from typing import Final

from citemesh.text.function_words import is_function_word
from citemesh.text.scripts import is_unspaced
from citemesh.text.word_lists import word_set
from services.query.hints import Hints
from services.query.lexicon import GENERIC_WORDS
from services.query.words import Word, split_words

MOST_KEYWORDS: Final = 20
_LONGEST_PHRASE: Final = 4
_QUOTED: Final = re.compile(r"[\"“„«]([^\"”“»]{2,80})[\"”“»]|(?<!\w)['‘]([^'’]{2,80})['’](?!\w)|`([^`]{1,80})`")
_CJK_RUN: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2,}")
_AUXILIARY: Final = re.compile(
    r"\b(?:do|does|did|can|could|may|might|must|shall|should|will|would)\s+(?:the |a |an |my |our |your |their "
    r"|each )?$",
    re.I,
)
_LONGEST_AUXILIARY: Final = 30  # characters, more than what the pattern above can hold
# Auxiliary verbs of asking that are no topic, on top of the stop words.
_ASKING: Final = word_set(
    "ask asked question say says said tell know want wonder wondering exactly actually according people folks somebody"
)


def find_keywords(question: str, language: str, hints: Hints) -> list[str]:
    """At most 20: quoted phrases, identifiers, labels, names, phrases, words; general words come last. No repeats."""
    quoted = [next(group for group in match.groups() if group) for match in _QUOTED.finditer(question)]
    labels = [reference.surface for reference in hints.references]
    words = split_words(question)
    telling = [word for word in words if not _is_function(word, language)]
    identifiers = [word.text for word in telling if word.is_identifier and not word.text.isdigit()]
    phrases = _find_phrases(question, words, language)
    names = [phrase for phrase in phrases if all(part[:1].isupper() for part in phrase.split())]
    specific = [word.text for word in telling if word.lower not in GENERIC_WORDS and not word.text.isdigit()]
    general = [word.text for word in telling if word.lower in GENERIC_WORDS or word.text.isdigit()]
    specific.sort(key=lambda text: -min(len(text), 12))
    ranked = [*quoted, *identifiers, *labels, *names, *phrases, *specific, *general]
    if is_unspaced(question):
        ranked += _CJK_RUN.findall(question)
    return _without_repeats(ranked)[:MOST_KEYWORDS]


def find_anchors(keywords: list[str], limit: int) -> list[str]:
    """The first `limit` keywords that name a topic; the general ones only where there is nothing else."""
    telling = [keyword for keyword in keywords if not all(part.lower() in GENERIC_WORDS for part in keyword.split())]
    return (telling or keywords)[:limit]


def _find_phrases(question: str, words: list[Word], language: str) -> list[str]:
    """Runs of two to four neighbouring content words with only a space between, one of them telling at least."""
    phrases: list[str] = []
    run: list[Word] = []
    for word in [*words, None]:
        joins = (
            word is not None
            and not _is_function(word, language)
            and (not run or question[run[-1].end : word.start] == " ")
        )
        if joins and word is not None and len(run) < _LONGEST_PHRASE:
            run.append(word)
            continue
        if run and _asks_with_auxiliary(question[max(0, run[0].start - _LONGEST_AUXILIARY) : run[0].start]):
            # "does the pump leak": the last word of the run is the verb.
            run = run[:-1]
        if len(run) > 1 and any(each.lower not in GENERIC_WORDS for each in run):
            phrases.append(question[run[0].start : run[-1].end])
        run = [word] if word is not None and not _is_function(word, language) else []
    return phrases


def _asks_with_auxiliary(before: str) -> bool:
    """Whether a text ends with "does the", "can a" and the like, behind which subject and verb stand side by side."""
    return _AUXILIARY.search(before) is not None


def _is_function(word: Word, language: str) -> bool:
    lower = word.lower
    if word.is_identifier and not lower.isalpha():
        return False
    return is_function_word(lower, language) or lower in _ASKING or (len(lower) == 1 and not word.is_capitalised)


def _without_repeats(ranked: list[str]) -> list[str]:
    seen: set[str] = set()
    kept = []
    for keyword in ranked:
        folded = keyword.casefold().strip("'’")
        if folded and folded not in seen:
            seen.add(folded)
            kept.append(keyword)
    return kept
